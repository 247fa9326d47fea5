/* SPDX-License-Identifier: Apache-2.0 */
/* dnn.c - load oneDNN 2, and create and run its operations. */
#include "bench/backends/cpu/dnn.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/ctx.h"

enum { F32 = 3, TAG_ANY = 1, CPU = 1, STREAM_DEFAULT = 1, QUERY_IMPLEMENTATION = 8 };

/* dnnl_exec_arg_t */
typedef struct argument {
    int   arg;
    void *memory;
} argument;

/* dnnl_version_t */
typedef struct version {
    int         major, minor, patch;
    const char *hash;
    unsigned    cpu_runtime, gpu_runtime;
} version;

static const struct {
    const char *name;
    size_t      at;
} symbols[] = {
#define SYMBOL(name, field) {"dnnl_" name, offsetof(struct cm__dnn, field)}
    SYMBOL("memory_desc_init_by_strides", memory_strided),
    SYMBOL("memory_desc_init_by_tag", memory_tagged),
    SYMBOL("memory_desc_get_size", memory_size),
    SYMBOL("memory_desc_equal", memory_equal),
    SYMBOL("memory_create", memory_create),
    SYMBOL("memory_destroy", memory_destroy),
    SYMBOL("memory_set_data_handle", memory_set),
    SYMBOL("primitive_desc_create", pd_create),
    SYMBOL("primitive_desc_destroy", pd_destroy),
    SYMBOL("primitive_desc_query", pd_query),
    SYMBOL("primitive_desc_query_md", pd_memory),
    SYMBOL("primitive_create", create),
    SYMBOL("primitive_destroy", destroy),
    SYMBOL("primitive_execute", execute),
    SYMBOL("reorder_primitive_desc_create", reorder_create),
    SYMBOL("stream_wait", stream_wait),
    SYMBOL("dilated_convolution_forward_desc_init", conv_forward),
    SYMBOL("dilated_convolution_backward_data_desc_init", conv_backward_data),
    SYMBOL("dilated_convolution_backward_weights_desc_init", conv_backward_weights),
    SYMBOL("pooling_forward_desc_init", pool_forward),
    SYMBOL("pooling_backward_desc_init", pool_backward),
    SYMBOL("batch_normalization_forward_desc_init", norm_forward),
    SYMBOL("batch_normalization_backward_desc_init", norm_backward),
    SYMBOL("lstm_forward_desc_init", lstm_forward),
    SYMBOL("lstm_backward_desc_init", lstm_backward),
#undef SYMBOL
};

static void (*function(void *library, const char *name))(void)
{
    void (*f)(void) = NULL;
    void *address = dlsym(library, name);
    memcpy(&f, &address, sizeof address);
    return f;
}

static bool load(cm__dnn *d)
{
    const version *(*ask)(void);
    d->library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!d->library) return false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(d->library, symbols[i].name);
        if (!address) return false;
        memcpy((char *)d + symbols[i].at, &address, sizeof address);
    }
    ask = (const version *(*)(void))function(d->library, "dnnl_version");
    int (*engine_create)(void **, int, size_t) =
        (int (*)(void **, int, size_t))function(d->library, "dnnl_engine_create");
    int (*stream_create)(void **, void *, unsigned) =
        (int (*)(void **, void *, unsigned))function(d->library, "dnnl_stream_create");
    if (!ask || !engine_create || !stream_create || ask()->major != 2) return false;
    snprintf(d->version, sizeof d->version, "%d.%d.%d", ask()->major, ask()->minor, ask()->patch);
    return engine_create(&d->engine, CPU, 0) == 0 && stream_create(&d->stream, d->engine, STREAM_DEFAULT) == 0;
}

/* The library uses OpenMP's threads, so the number of threads is set there. */
static void set_threads(int32_t threads)
{
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*set)(int) = openmp ? (void (*)(int))function(openmp, "omp_set_num_threads") : NULL;
    if (set) set(threads);
    if (openmp) dlclose(openmp);
}

cm__dnn *cm__dnn_open(int32_t threads)
{
    cm__dnn *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    if (!load(d)) {
        cm__dnn_close(d);
        return NULL;
    }
    set_threads(threads);
    return d;
}

/* The library stays loaded, because OpenMP's threads may be running in it. */
void cm__dnn_close(cm__dnn *d)
{
    if (!d) return;
    int (*end)(void *) = d->stream ? (int (*)(void *))function(d->library, "dnnl_stream_destroy") : NULL;
    if (end) end(d->stream);
    end = d->engine ? (int (*)(void *))function(d->library, "dnnl_engine_destroy") : NULL;
    if (end) end(d->engine);
    free(d);
}

const char *cm__dnn_version(const cm__dnn *d) { return d->version; }

/* ---- memories ---------------------------------------------------------------------------------------------------- */

cm__dnn_memory cm__dnn_plain(const cm__dnn *d, int n, const int64_t *dims, const int *order)
{
    cm__dnn_memory m;
    int64_t        all[12] = {0}, strides[12] = {0}, step = 1;
    memcpy(all, dims, (size_t)n * sizeof *dims);
    for (int i = n - 1; i >= 0; i--) {
        int at = order ? order[i] : i;
        strides[at] = step;
        step *= dims[at];
    }
    memset(&m, 0, sizeof m);
    d->memory_strided(&m, n, all, F32, strides);
    return m;
}

cm__dnn_memory cm__dnn_any(const cm__dnn *d, int n, const int64_t *dims)
{
    cm__dnn_memory m;
    int64_t        all[12] = {0};
    memcpy(all, dims, (size_t)n * sizeof *dims);
    memset(&m, 0, sizeof m);
    d->memory_tagged(&m, n, all, F32, TAG_ANY);
    return m;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static cm_status make_primitive(cm__dnn_op *op, int failed, cm_diag *diag)
{
    if (!failed) failed = op->dnn->create(&op->primitive, op->pd);
    return failed ? cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support it (status %d)",
                                 op->dnn->version, failed)
                  : CM_OK;
}

cm_status cm__dnn_make(cm__dnn_op *op, const cm__dnn_desc *desc, const void *forward_pd, cm_diag *diag)
{
    return make_primitive(op, op->dnn->pd_create(&op->pd, desc, NULL, op->dnn->engine, forward_pd), diag);
}

cm_status cm__dnn_make_reorder(cm__dnn_op *op, cm__md from, cm__md to, cm_diag *diag)
{
    cm__dnn *d = op->dnn;
    return make_primitive(op, d->reorder_create(&op->pd, from, d->engine, to, d->engine, NULL), diag);
}

void cm__dnn_bind(cm__dnn_op *op, int arg, int operand, cm__md memory, void *buffer)
{
    if (op->n_args >= CM__DNN_ARGS) return;
    op->args[op->n_args].arg = arg;
    op->args[op->n_args].operand = operand;
    op->dnn->memory_create(&op->args[op->n_args++].memory, memory, op->dnn->engine, buffer);
}

void *cm__dnn_own(cm__dnn_op *op, cm__md memory)
{
    size_t bytes = (op->dnn->memory_size(memory) + 4095) / 4096 * 4096;
    void  *buffer = op->n_owned < 4 ? aligned_alloc(4096, bytes ? bytes : 4096) : NULL;
    if (buffer) op->owned[op->n_owned++] = memset(buffer, 0, bytes);
    return buffer;
}

void cm__dnn_run(cm__dnn_op *op, float *const *operands)
{
    argument arguments[CM__DNN_ARGS];
    for (int i = 0; i < op->n_args; i++) {
        if (op->args[i].operand >= 0) op->dnn->memory_set(op->args[i].memory, operands[op->args[i].operand]);
        arguments[i] = (argument){op->args[i].arg, op->args[i].memory};
    }
    op->dnn->execute(op->primitive, op->dnn->stream, op->n_args, arguments);
    op->dnn->stream_wait(op->dnn->stream);
}

void cm__dnn_free(cm__dnn_op *op)
{
    if (!op->dnn) return;
    for (int i = 0; i < op->n_args; i++) op->dnn->memory_destroy(op->args[i].memory);
    for (int i = 0; i < op->n_owned; i++) free(op->owned[i]);
    if (op->primitive) op->dnn->destroy(op->primitive);
    if (op->pd) op->dnn->pd_destroy(op->pd);
    memset(op, 0, sizeof *op);
}

const char *cm__dnn_implementation(const cm__dnn_op *op)
{
    const char *name = NULL;
    return op->dnn->pd_query(op->pd, QUERY_IMPLEMENTATION, 0, &name) == 0 ? name : NULL;
}
