/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnn.h - oneDNN, loaded at run time. Only dnn.c depends on its version (2.x): descriptions of memories and operations
 * are opaque blocks of bytes here, which the library's functions fill.
 */
#ifndef CM_BENCH_CPU_DNN_H
#define CM_BENCH_CPU_DNN_H

#include "centimani.h"

#define CM__DNN_ARGS 20
#define CM__DNN_DIMS 6

typedef struct cm__dnn cm__dnn;

typedef struct cm__dnn_memory {
    _Alignas(16) unsigned char bytes[1024]; /* dnnl_memory_desc_t: 696 in 2.6 */
} cm__dnn_memory;

typedef struct cm__dnn_desc {
    _Alignas(16) unsigned char bytes[24576]; /* the largest is dnnl_rnn_desc_t: 15,344 in 2.6 */
} cm__dnn_desc;

/* Values of dnnl.h's enumerations, which are the same in all versions 2.x. */
enum { DNN_FORWARD = 64, DNN_BACKWARD = 128, DNN_CONV_DIRECT = 1, DNN_POOL_MAX = 511, DNN_POOL_AVG = 767 };
enum { DNN_USE_SCALE_SHIFT = 2 };
enum {
    DNN_SRC = 1, DNN_SRC_ITER = 2, DNN_SRC_ITER_C = 3, DNN_DST = 17, DNN_DST_ITER = 18, DNN_DST_ITER_C = 19,
    DNN_WEIGHTS = 33, DNN_WEIGHTS_ITER = 34, DNN_BIAS = 41, DNN_MEAN = 49, DNN_VARIANCE = 50, DNN_WORKSPACE = 64,
    DNN_GRADIENT = 128 /* added to one of the above to name its gradient */
};
enum { DNN_QUERY_WEIGHTS = 131, DNN_QUERY_DIFF_WEIGHTS = 132, DNN_QUERY_WORKSPACE = 135 };

/* Functions that fill a description; they return 0 on success. Memories that the library treats as optional may be
   NULL. */
typedef const cm__dnn_memory *cm__md;
struct cm__dnn {
    char  version[32];
    void *library, *engine, *stream;
    int (*memory_strided)(cm__dnn_memory *, int, const int64_t *, int, const int64_t *);
    int (*memory_tagged)(cm__dnn_memory *, int, const int64_t *, int, int);
    size_t (*memory_size)(cm__md);
    int (*memory_equal)(cm__md, cm__md);
    int (*memory_create)(void **, cm__md, void *, void *);
    int (*memory_destroy)(void *);
    int (*memory_set)(void *, void *);
    int (*pd_create)(void **, const cm__dnn_desc *, const void *, void *, const void *);
    int (*pd_destroy)(void *);
    int (*pd_query)(const void *, int, int, void *);
    cm__md (*pd_memory)(const void *, int, int);
    int (*create)(void **, const void *);
    int (*destroy)(void *);
    int (*execute)(const void *, void *, int, const void *);
    int (*reorder_create)(void **, cm__md, void *, cm__md, void *, const void *);
    int (*stream_wait)(void *);
    int (*conv_forward)(cm__dnn_desc *, int, int, cm__md, cm__md, cm__md, cm__md, const int64_t *, const int64_t *,
                        const int64_t *, const int64_t *);
    int (*conv_backward_data)(cm__dnn_desc *, int, cm__md, cm__md, cm__md, const int64_t *, const int64_t *,
                              const int64_t *, const int64_t *);
    int (*conv_backward_weights)(cm__dnn_desc *, int, cm__md, cm__md, cm__md, cm__md, const int64_t *, const int64_t *,
                                 const int64_t *, const int64_t *);
    int (*pool_forward)(cm__dnn_desc *, int, int, cm__md, cm__md, const int64_t *, const int64_t *, const int64_t *,
                        const int64_t *);
    int (*pool_backward)(cm__dnn_desc *, int, cm__md, cm__md, const int64_t *, const int64_t *, const int64_t *,
                         const int64_t *);
    int (*norm_forward)(cm__dnn_desc *, int, cm__md, float, unsigned);
    int (*norm_backward)(cm__dnn_desc *, int, cm__md, cm__md, float, unsigned);
    int (*lstm_forward)(cm__dnn_desc *, int, int, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md,
                        cm__md, unsigned);
    int (*lstm_backward)(cm__dnn_desc *, int, int, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md,
                         cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, cm__md, unsigned);
};

cm__dnn    *cm__dnn_open(int32_t threads); /* NULL: not installed, or of another major version */
void        cm__dnn_close(cm__dnn *dnn);
const char *cm__dnn_version(const cm__dnn *dnn);

/* One operation and the memories that it uses. */
typedef struct cm__dnn_op {
    cm__dnn *dnn;
    void    *pd, *primitive;
    struct {
        int   arg, operand; /* operand -1: a buffer of `owned`, shared by all operand sets */
        void *memory;
    } args[CM__DNN_ARGS];
    int   n_args;
    void *owned[4]; /* buffers: workspace, weights in the library's layout */
    int   n_owned;
} cm__dnn_op;

/* An fp32 memory. order: the dimensions from outermost to innermost in memory; NULL: 0, 1, 2 ... */
cm__dnn_memory cm__dnn_plain(const cm__dnn *dnn, int n, const int64_t *dims, const int *order);
cm__dnn_memory cm__dnn_any(const cm__dnn *dnn, int n, const int64_t *dims); /* the library chooses the layout */

cm_status cm__dnn_make(cm__dnn_op *op, const cm__dnn_desc *desc, const void *forward_pd, cm_diag *diag);
cm_status cm__dnn_make_reorder(cm__dnn_op *op, cm__md from, cm__md to, cm_diag *diag);
void      cm__dnn_bind(cm__dnn_op *op, int arg, int operand, cm__md memory, void *buffer);
void     *cm__dnn_own(cm__dnn_op *op, cm__md memory); /* a buffer freed with the operation; NULL: out of memory */
void      cm__dnn_run(cm__dnn_op *op, float *const *operands);
void      cm__dnn_free(cm__dnn_op *op);
const char *cm__dnn_implementation(const cm__dnn_op *op);

#endif
