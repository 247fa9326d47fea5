/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - internal interface of the CUDA backend: its state, its cases, and functions that its files share.
 *
 * A call's row in cm__cuda_ops (ops.c) has four functions: `declare` lists the operands, `setup` chooses the algorithm
 * after they are allocated, `launch` queues one call, and `check` compares the results with a reference. The device
 * fills operands from a hash of each element's index. The host's reference recomputes the same values, so that no
 * operand has to be copied back.
 */
#ifndef CM_BENCH_CUDA_CUDA_H
#define CM_BENCH_CUDA_CUDA_H

#include "base/ctx.h"
#include "bench/backends/cuda/load.h"
#include "bench/backends/cuda/values.h"
#include "centimani_backend.h"

#define CUDA_OPERANDS  16
#define CUDA_LAUNCHES  8
#define CUDA_ARGUMENTS 16
#define CUDA_SAMPLES   64

typedef struct cm__cuda_case cm__cuda_case;

typedef struct cm__cuda {
    cm__ctx           *ctx;
    uint64_t           seed;
    cm__driver         driver;
    cm__nvrtc          nvrtc;
    cm__blaslt         blaslt;
    cm__cudnn          cudnn;
    cm__nvml           nvml;
    bool               has_blaslt, has_cudnn, has_nvml;
    char               blaslt_missing[256], cudnn_missing[256]; /* why the library is not used */
    int                device;
    cu_context         context;
    cu_stream          stream;
    cu_event           start, end;
    lt_handle          lt;
    dnn_handle         dnn;
    nvml_device        sensors;
    int                major, minor, processors, clock_khz, l2_bytes, l1_bytes, driver_version;
    size_t             total_bytes;
    char               name[128], driver_text[80], bus_id[32];
    struct cm__kernel *kernels; /* cache of compiled kernels */
    cu_function        spin;
    cm_call_kind      *kinds;
    int32_t            n_kinds;
} cm__cuda;

typedef enum cm__fill { FILL_NONE, FILL_RANDOM, FILL_POSITIVE, FILL_ZERO, FILL_ONE, FILL_INDEX, FILL_BYTE } cm__fill;

typedef struct cm__operand {
    cm__type type;
    int64_t  count;
    cm__fill fill;
    int64_t  limit;  /* FILL_INDEX: values are below this */
    float    scale;  /* FILL_RANDOM, FILL_POSITIVE: a power of two */
    uint64_t key;
    bool     shared; /* all copies share it: a workspace, a parameter */
    size_t   offset;
} cm__operand;

/* A launch of one of our own kernels. Arguments are addresses of operands, or 8 bytes that are passed unchanged. */
typedef struct cm__launch {
    cu_function function;
    unsigned    grid_x, grid_y, block, shared_bytes;
    int         n_arguments;
    struct {
        int      operand; /* -1: `bits` */
        uint64_t bits;
    } arguments[CUDA_ARGUMENTS];
} cm__launch;

typedef struct cm__cuda_op {
    const char *op, *pass, *variants, *dtypes; /* lists separated by blanks; variants "*": `known` decides */
    int32_t     n_dims;
    bool (*known)(const cm_call *call);                   /* NULL: all calls of the lists are supported */
    void (*declare)(cm__cuda_case *c);
    void (*setup)(cm__cuda_case *c);                      /* may be NULL */
    int (*launch)(cm__cuda_case *c, int64_t copy);        /* NULL: use c->launches; not 0: failed with c->failure */
    int64_t (*check)(cm__cuda_case *c);                   /* number of wrong results in copy 0 */
    enum { NEEDS_NOTHING, NEEDS_BLASLT, NEEDS_CUDNN } needs;
} cm__cuda_op;

struct cm__cuda_case {
    cm__ctx           *ctx;
    cm__cuda          *cu;
    const cm__cuda_op *op;
    cm_call            call;
    cm_case_options    options;
    cm__type           type; /* type of the main operands */
    cm__operand        operands[CUDA_OPERANDS];
    int                n_operands;
    cu_address         memory;
    size_t             shared_bytes, copy_bytes;
    int64_t            copies;
    void              *data; /* private data of the operator or probe */
    cm__launch         launches[CUDA_LAUNCHES];
    int                n_launches;
    int32_t            kernels;
    char               algorithm[160], failure[256];
    bool               warmed;
    cu_graph_exec      graph;
    int64_t            graph_calls;
    double (*time)(cm__cuda_case *c, int64_t repetitions); /* NULL: queue the calls and time them with events */
    int64_t            next; /* copy that the next call uses */
    void (*renew)(cm__cuda_case *c); /* restores operands that a call overwrites, before verifying; NULL: none */
};

extern const cm__cuda_op cm__cuda_ops[];
extern const int32_t     cm__n_cuda_ops;

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

/* Fail with the driver's error text if the result is not CU_SUCCESS. */
void cm__cuda_need(cm__ctx *ctx, const cm__cuda *cu, int result, const char *call);
/* Call a driver function; fail in the case's context. */
#define CU(c, call, ...) cm__cuda_need((c)->ctx, (c)->cu, (c)->cu->driver.call(__VA_ARGS__), #call)
/* The same for a cuDNN function. */
void cm__cudnn_need(cm__cuda_case *c, int status, const char *call);
#define DNN(c, call, ...) cm__cudnn_need(c, (c)->cu->cudnn.call(__VA_ARGS__), #call)

/* ---- kernel.c ---------------------------------------------------------------------------------------------------- */

/* The kernel `name` of the source `file` (a literal), compiled for this device with `defines`: "-DTYPE_T=bf16". */
cu_function cm__cuda_kernel(cm__ctx *ctx, cm__cuda *cu, const char *file, const char *name, const char *defines);

void        cm__cuda_unload_kernels(cm__cuda *cu);

/* Compile only. The context owns *cubin. */
size_t cm__cuda_compile(cm__ctx *ctx, const cm__nvrtc *rtc, const char *file, const char *defines, const char *arch,
                        char **cubin);

/* The sources in kernels/, embedded into the program. */
typedef struct cm__cuda_source {
    const char *name, *text;
} cm__cuda_source;
extern const cm__cuda_source cm__cuda_sources[];
extern const int32_t         cm__n_cuda_sources;

/* ---- operands.c, case.c ------------------------------------------------------------------------------------------ */

int        cm__cuda_operand(cm__cuda_case *c, cm__type type, int64_t count, cm__fill fill); /* returns its index */
int        cm__cuda_shared(cm__cuda_case *c, cm__type type, int64_t count, cm__fill fill);  /* shared by all copies */
cu_address cm__cuda_address(const cm__cuda_case *c, int operand, int64_t copy);
int        cm__cuda_vector(const cm__cuda_case *c, int64_t length); /* elements per load for rows of this length */
void       cm__cuda_place(cm__cuda_case *c);     /* allocates and fills all operands */
void       cm__cuda_refill(cm__cuda_case *c);

cm__launch *cm__cuda_add_launch(cm__cuda_case *c, cu_function function, int64_t grid_x, int64_t grid_y, int block);
void        cm__cuda_arg_operand(cm__launch *launch, int operand);
void        cm__cuda_arg_operands(cm__launch *launch, int count, const int *operands);
void        cm__cuda_arg_int(cm__launch *launch, int64_t value);
void        cm__cuda_arg_real(cm__launch *launch, double value); /* float */
int         cm__cuda_launch_all(cm__cuda_case *c, int64_t copy);

#define OPERANDS(launch, ...)                                                                                          \
    cm__cuda_arg_operands(launch, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)), (int[]){__VA_ARGS__})

/* Fail with c->failure. */
noreturn void cm__cuda_fail_case(cm__cuda_case *c);
int           cm__cuda_failed(cm__cuda_case *c, const char *call, const char *why); /* sets c->failure; returns 1 */

/* ---- check.c ----------------------------------------------------------------------------------------------------- */

double  cm__cuda_value(const cm__cuda_case *c, int operand, int64_t index); /* the initial value */
int64_t cm__cuda_index(const cm__cuda_case *c, int operand, int64_t index); /* FILL_INDEX */
double  cm__cuda_result(cm__cuda_case *c, int operand, int64_t index);      /* the current value in copy 0 */
void    cm__cuda_read(cm__cuda_case *c, int operand, int64_t first, int64_t count, double *values);
/* The i-th of n indices spread over 0 to `total` - 1. */
int64_t cm__cuda_sample(const cm__cuda_case *c, int64_t i, int64_t n, int64_t total);
/* Number of samples to check if each costs `terms` operations. */
int64_t cm__cuda_samples(int64_t terms, int64_t total);
/* 1 if `got` differs from `want` by more than the rounding of the result's type plus `slack`. */
int64_t cm__cuda_wrong(cm__type type, double got, double want, double slack);

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

double cm__cuda_time_calls(cm__cuda_case *c, int64_t repetitions); /* queued one by one, without a CUDA graph */
double cm__cuda_time_case(cm__cuda_case *c, int64_t repetitions);
void   cm__cuda_spin(cm__cuda_case *c, double time_s); /* keep the device busy while the host queues */

/* ---- the backend's functions: ops.c, case.c, probe.c, open.c ----------------------------------------------------- */

const cm_call_kind *cm__cuda_calls(void *state, int32_t *count);
bool                cm__cuda_supports(void *state, const cm_call *call);
cm_status           cm__cuda_prepare(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                                     cm_diag *diag);
cm_status           cm__cuda_prepare_probe(void *state, const cm_probe_request *request, void **a_case, double *work,
                                           cm_diag *diag);
cm_status           cm__cuda_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
cm_status           cm__cuda_verify(void *a_case, int64_t *wrong, cm_diag *diag);
int32_t             cm__cuda_kernels(void *a_case);
const char         *cm__cuda_algorithm(void *a_case);
void                cm__cuda_release(void *a_case);
void                cm__cuda_list_kinds(cm__cuda *cu);
const cm__cuda_op  *cm__cuda_find(const cm_call *call); /* NULL: none */
void                cm__cuda_make_probe(cm__cuda_case *c, const cm_probe_request *request, double *work);

/* ---- gemm.c ------------------------------------------------------------------------------------------------------ */

typedef struct cm__cuda_gemm cm__cuda_gemm;
/* `batch` row-major products [m,k] x [k,n] -> [m,n]. a_columns: A is stored as [k,m]; b_columns: B as [n,k]. */
typedef struct cm__cuda_gemm_shape {
    int64_t  batch, m, n, k;
    bool     a_columns, b_columns;
    cm__type type, out;
    bool     tf32;
    int      a, b, d, bias, scales, workspace; /* indices of operands; -1: no bias, no scales */
    float    alpha;
} cm__cuda_gemm_shape;
cm__cuda_gemm *cm__cuda_gemm_make(cm__cuda_case *c, const cm__cuda_gemm_shape *shape);
int       cm__cuda_gemm_launch(cm__cuda_case *c, cm__cuda_gemm *gemm, int64_t copy);
int64_t   cm__cuda_gemm_workspace_bytes(const cm__cuda *cu);

#endif
