/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.c - import an ONNX file as a forward graph.
 *
 * The batch size is symbolic. If the file names a free dimension, that one is the batch. If all dimensions are fixed,
 * axis 0 of the inputs is tried as the batch. If that fails (a constant of that size is combined with it), the file is
 * imported again with its fixed batch, with a warning.
 */
#include "import/onnx/onnx.h"

#include <string.h>

#define OPSET_OLDEST 7
#define OPSET_NEWEST 23

/* The length of the UTF-8 character at the start of a text; 0: there is none, or it is not printable. */
static size_t character(const unsigned char *s, size_t left)
{
    if (*s < 0x80) return *s >= 0x20 && *s != 0x7f;
    size_t size = *s >= 0xc2 && *s <= 0xdf ? 2 : *s >= 0xe1 && *s <= 0xec ? 3 : 0; /* no surrogates */
    if (!size || size > left) return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return size;
}

char *cm__onnx_text(cm__ctx *ctx, cm__span span)
{
    char *copy = cm__text_copy_n(ctx, span.text, span.length);
    for (size_t i = 0; i < span.length;) {
        size_t size = character((unsigned char *)copy + i, span.length - i);
        if (!size) copy[i] = '?';
        i += size ? size : 1;
    }
    return copy;
}

/* ---- once a file ------------------------------------------------------------------------------------------------ */

static void index_names(cm__onnx *im)
{
    const cm__onnx_body *graph = im->model->graph;
    cm__map_init(&im->ops, im->ctx);
    cm__map_init(&im->attributes, im->ctx);
    cm__map_init(&im->weights, im->ctx);
    for (int32_t op = 0; op < CM_OP_MSE_LOSS; op++) cm__map_put(&im->ops, cm__span_of(cm__ops[op].name), op);
    for (int32_t key = 0; key < CM_ATTRS; key++) cm__map_put(&im->attributes, cm__span_of(cm__attr_names[key]), key);
    for (int32_t i = 0; i < graph->initializers.count; i++)
        cm__map_put(&im->weights, graph->initializers.items[i].name, i);
    for (int32_t i = 0; i < graph->sparse_initializers.count; i++)
        cm__map_put(&im->weights, graph->sparse_initializers.items[i].values.name, i);
    cm__onnx_index_functions(im);
}

static int64_t opset_of(const cm__onnx_model *model)
{
    for (int32_t i = 0; i < model->opsets.count; i++) {
        cm__span domain = model->opsets.items[i].domain;
        if (cm__onnx_standard(domain)) return model->opsets.items[i].version;
    }
    return OPSET_NEWEST;
}

static void warn_about_file(cm__onnx *im)
{
    if (im->options && im->options->seq > 0 && !im->seq_taken)
        cm__warn(im->g, "no input has a free sequence length: --seq %lld has no effect",
                 (long long)im->options->seq);
    if (im->opset > OPSET_NEWEST)
        cm__warn(im->g, "opset %lld is newer than %d: read as the latter", (long long)im->opset, OPSET_NEWEST);
    if (im->opset < OPSET_OLDEST)
        cm__warn(im->g, "opset %lld is older than %d: read as the latter", (long long)im->opset, OPSET_OLDEST);
    if (im->biases.count)
        cm__warn(im->g, "%u matrix products had lost their bias in the export (it was zero): restored as parameters",
                 im->biases.count);
    if (im->open_branches)
        cm__warn(im->g, "'%s'%s: the condition is not known before the model runs; the longer branch was taken",
                 im->open_branch, im->open_branches > 1 ? " and others like it" : "");
}

/* ---- a graph ---------------------------------------------------------------------------------------------------- */

static bool same_shape(const cm__onnx *im, const cm_tensor *t, const cm__onnx_shape *declared)
{
    if (t->rank != declared->dims.count) return false;
    for (int32_t i = 0; i < t->rank; i++) {
        const cm__onnx_dim *d = &declared->dims.items[i];
        int64_t             size;
        if (__builtin_mul_overflow(t->dims[i].per_batch, im->fixed_batch, &size)) return false;
        if (d->self.length && !d->param.length && (im->fixed_batch || !t->dims[i].per_batch) &&
            size + t->dims[i].fixed != d->value)
            return false;
    }
    return true;
}

/* The computed outputs must have the shapes that the file states. With a symbolic batch, this confirms the batch
   dimension. */
static void check_outputs(cm__onnx *im)
{
    const cm__onnx_body *graph = im->model->graph;
    for (int32_t i = 0; i < graph->outputs.count; i++) {
        const cm__onnx_tensor_type *type = graph->outputs.items[i].type.tensor;
        const cm_tensor            *t = cm__t(im->g, im->g->outputs[i]);
        if (!type || !type->shape || same_shape(im, t, type->shape)) continue;
        const char *name = cm__onnx_text(im->ctx, graph->outputs.items[i].name);
        if (im->fixed_batch) cm__fail(im->ctx, CM_ERR_FORMAT, "output '%s' is %s", name, cm__dims_text(im->g, t));
        cm__warn(im->g, "the shape of output '%s' is computed as %s; the file states another", name,
                 cm__dims_text(im->g, t));
        return; /* one warning is enough */
    }
}

static void add_outputs(cm__onnx *im, const cm__onnx_scope *scope)
{
    const cm__onnx_body *graph = im->model->graph;
    cm__place(im->ctx, "%s", "");
    if (!graph->outputs.count) cm__fail(im->ctx, CM_ERR_FORMAT, "the graph has no outputs");
    for (int32_t i = 0; i < graph->outputs.count; i++) {
        if (!graph->outputs.items[i].name.length) cm__fail(im->ctx, CM_ERR_FORMAT, "output %d has no name", i);
        cm__output(im->g, cm__onnx_need(im, scope, graph->outputs.items[i].name, "output"));
    }
}

/* Exporters write the square root of attention's scale as an operator; graph optimizers fold it. */
static bool computes_roots(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_SQRT && cm__t(g, g->nodes[i].outputs[0])->value) return true;
    return false;
}

static cm_graph *build(cm__onnx *im, const char *name)
{
    cm__onnx_body  *graph = im->model->graph;
    cm__onnx_scope *scope = cm__alloc(im->ctx, sizeof *scope);
    scope->prefix = "";
    cm__map_init(&scope->names, im->ctx);
    im->g = cm__graph_new(im->ctx, name, "onnx");
    im->g->nodes_read = graph->nodes.count;
    im->inlined = im->free_dims = im->open_branches = im->n_sequences = 0;
    im->seq_taken = false;
    cm__map_init(&im->biases, im->ctx);
    cm__onnx_initializers(im, scope, graph);
    for (int32_t i = 0; i < graph->inputs.count; i++)
        if (cm__onnx_is_data(im, graph->inputs.items[i].name)) cm__onnx_input(im, scope, &graph->inputs.items[i]);
    cm__onnx_run(im, scope, graph);
    add_outputs(im, scope);
    check_outputs(im);
    warn_about_file(im);
    im->g->as_exported = computes_roots(im->g);
    cm__prune(im->g); /* nodes that only compute shapes read weights too; they must not decide roles */
    cm__find_roles(im->g);
    cm__find_blocks(im->g);
    return im->g;
}

/* build(), but returns NULL if it fails, since the caller tries another way. Running out of memory is still a
   failure. */
static cm_graph *attempt(cm__onnx *im, const char *name)
{
    cm__ctx *ctx = im->ctx;
    jmp_buf  trap;
    cm_diag *diag = ctx->diag;
    cm_graph *volatile g = NULL;
    memcpy(&trap, &ctx->trap, sizeof trap);
    ctx->diag = NULL;
    if (!setjmp(ctx->trap)) g = build(im, name);
    memcpy(&ctx->trap, &trap, sizeof trap);
    ctx->diag = diag;
    if (!g && ctx->status == CM_ERR_MEMORY) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    return g;
}

cm_graph *cm__import_onnx(cm__ctx *ctx, const char *name, const uint8_t *bytes, size_t size, const cm_load_options *o)
{
    int64_t  batch;
    cm__onnx im = {.ctx = ctx, .options = o, .model = cm__onnx_decode(ctx, bytes, size)};
    im.opset = opset_of(im.model);
    im.restore_bias = cm__span_is(im.model->producer, "pytorch");
    index_names(&im);
    cm__onnx_find_batch(&im);
    if (im.batch_name.length || !cm__onnx_common_batch(&im, &batch)) return build(&im, name);
    im.fixed_batch = batch;
    cm_graph *g = attempt(&im, name);
    if (g) return g;
    im.fixed_batch = 0;
    g = build(&im, name);
    cm__warn(
        g,
        "the file fixes the batch at %lld: export it with a dynamic one (torch.onnx.export(..., dynamic_shapes=...)) "
        "to see other batch sizes",
        (long long)batch);
    return g;
}
