/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - a recorded training step (.cmt.json, docs/capture.md) during import.
 *
 * trace/read.c reads the file into these tables and checks all numbers. trace.c walks the forward operators. aten.def
 * names the rule for each; the rules are in trace/ops.c, trace/views.c and trace/layers.c.
 */
#ifndef CM_IMPORT_TRACE_TRACE_H
#define CM_IMPORT_TRACE_TRACE_H

#include <jansson.h>
#include "graph/rule.h"
#include "import/import.h"

#define CM__TRACE_ARGUMENTS_MAX 4096 /* tensors that one operator reads or writes */

typedef struct cm__trace_tensor {
    const char   *name;
    const cm_dim *dims;
    int32_t       rank, storage;
    cm_dtype      own;   /* as recorded */
    cm_dtype      dtype; /* in an fp32 model */
    cm_dtype      low;   /* in a 16-bit model; valid if cm__trace.typed */
    cm_role       role;
    bool          channels_last;
    int32_t       until;           /* made last before forward released this one; -1: not released in forward */
    int32_t       here;            /* the graph's tensor; -1: not made yet */
    int32_t       readers, reader; /* number of forward operators that read it; the last of them */
} cm__trace_tensor;

typedef struct cm__trace_op {
    const char    *full;  /* "aten::add.Tensor" */
    const char    *name;  /* "add": without namespace, overload and in-place suffix */
    const char    *module;
    cm_phase       phase;
    const int32_t *in, *out; /* tensors of the trace; -1: none */
    int32_t        n_in, n_out;
    bool           in_place;
    int32_t        function; /* the call of a custom autograd function that ran it; -1: none */
    bool           plain;    /* autocast is off */
    uint8_t        left_out; /* torch.compile leaves it to eager PyTorch: cm__outside; 0: no */
    int32_t        segment;  /* recomputed in backward together with operators of the same number; -1: not */
    const json_t  *attrs; /* NULL: none */
} cm__trace_op;

typedef struct cm__trace {
    cm__ctx          *ctx;
    cm_graph         *g;
    const json_t     *root;
    int64_t           seq;
    cm__trace_tensor *tensors;
    cm__trace_op     *ops;
    int32_t           n_tensors, n_ops;
    int32_t           loss; /* -1: none */
    int32_t          *outputs, n_outputs;
    int32_t           convolutions, channels_last; /* convolutions; those with channels-last images */
    int32_t          *opaque, n_opaque, cap_opaque; /* operators without a row, or whose rule failed */
    cm_dtype          autocast; /* the type that autocast cast to during recording; CM_FP32: autocast was off */
    cm_dtype          types;    /* type of the recorded model: CM_FP32, CM_BF16 or CM_FP16 */
    bool              typed;    /* the tensors' types in a 16-bit model are known */
} cm__trace;

/* One row of aten.def. The rule emits nodes and reports its outputs with cm__trace_made(). */
typedef struct cm__aten {
    const char *name;
    void (*rule)(cm__trace *t, const cm__trace_op *o, int op);
    int op;
} cm__aten;

/* ---- trace/read.c ----------------------------------------------------------------------------------------------- */

int32_t *cm__trace_indices(cm__trace *t, const json_t *object, const char *key, int32_t *count); /* of tensors */
void cm__trace_read(cm__trace *t, const cm_load_options *o); /* from t->root */
cm_precision cm__trace_precision(const json_t *root); /* for predictions; default: not recorded */

/* Attributes. A number that may depend on the batch size is a cm_dim. */
bool    cm__trace_has(const cm__trace_op *o, const char *key);
cm_dim  cm__trace_dim(cm__trace *t, const cm__trace_op *o, const char *key, int64_t otherwise);
int64_t cm__trace_int(cm__trace *t, const cm__trace_op *o, const char *key, int64_t otherwise);
double  cm__trace_real(const cm__trace_op *o, const char *key, double otherwise);
int32_t cm__trace_ints(cm__trace *t, const cm__trace_op *o, const char *key, int64_t *out, int32_t max); /* -1: none */

/* ---- trace.c ---------------------------------------------------------------------------------------------------- */

int32_t     cm__trace_in(cm__trace *t, const cm__trace_op *o, int32_t index); /* -1: absent */
int32_t     cm__trace_need(cm__trace *t, const cm__trace_op *o, int32_t index); /* fails if absent */
const char *cm__trace_name(const cm__trace *t, const cm__trace_op *o);
const cm__trace_tensor *cm__trace_out(const cm__trace *t, const cm__trace_op *o, int32_t index);
void        cm__trace_made(cm__trace *t, const cm__trace_op *o, int32_t index, int32_t tensor);
int32_t     cm__trace_shape(cm__trace *t, int32_t rank, const cm_dim *dims); /* a shape as a known tensor */
/* Outputs with their recorded shapes; `further` attributes, at most 7. */
void        cm__trace_recorded(cm__trace *t, const cm__trace_op *o, int op, const cm__attr *further, int32_t n_further);

/* Translate one operator by its row; without one it is opaque. rows: indices of aten.def by name. */
void    cm__trace_translate(cm__trace *t, const cm__map *rows, const cm__trace_op *o);
int32_t cm__trace_here(cm__trace *t, int32_t tensor); /* the graph's tensor for a tensor of the trace, made if needed */

/* trace/layers.c: whether PyTorch runs this attention as separate operators: its fused kernels need masks whose last
   dimension is contiguous, and broadcast no keys. `mask`: its place among the operator's inputs, after q, k and v. */
bool cm__trace_unfused(cm__trace *t, const cm__trace_op *o, int32_t mask);

/* ---- trace/compiled.c ------------------------------------------------------------------------------------------- */

/* Sets cm_graph.recorded, if the capture has the kernels that torch.compile generates. */
void cm__trace_compiled(cm__trace *t);
/* The plan that a step's shardings describe, with all counts filled in; false: none, or one that is out of range. */
bool cm__trace_plan(const json_t *root, cm_plan *plan);
/* Sets cm_graph.compiled, if the capture has the answer of a chip's compiler. */
void cm__trace_xla(cm__trace *t);
/* Sets cm_graph.jax. */
void cm__trace_jax(cm__trace *t);

/* ---- trace/untraced.c ------------------------------------------------------------------------------------------- */

void cm__trace_leave_out(cm__trace *t); /* sets cm__trace_op.left_out */

/* ---- trace/math.c ----------------------------------------------------------------------------------------------- */

void cm__trace_find_math(cm__trace *t); /* sets cm__trace_op.plain of products in attention without a fused kernel */

/* ---- trace/functions.c ------------------------------------------------------------------------------------------ */

void cm__trace_functions(cm__trace *t, const cm__map *rows); /* custom autograd functions: sets cm_graph.functions */

/* ---- trace/backward.c ------------------------------------------------------------------------------------------- */

int32_t cm__trace_passes(const cm__trace *t); /* recorded backward passes; more than one accumulate gradients */
void cm__trace_backward_flop(cm__trace *t); /* sets the recorded backward's FLOP in the graph */
int32_t cm__trace_segments(cm__trace *t); /* marks recomputed operators; returns how many were not found in forward */

#endif
