/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - import a recorded PyTorch step as a forward graph.
 *
 * The forward operators are translated, each by its row of aten.def, into the operators of the other importers. So
 * precision, recomputation, optimizer and inference have the same meaning for a capture as for an ONNX file. An
 * operator without a row, or whose result has another shape than recorded, is opaque: only its bytes are counted, with
 * a warning.
 */
#include "import/hlo/hlo.h"
#include "import/trace/rules.h"

#include <string.h>
#include "base/json.h"

#define FORGOTTEN_MAX (4 * CM__TRACE_ARGUMENTS_MAX) /* tensors that one rule can make */

#define RECORDED_ATTRIBUTES 8
#define TF32_PASSES 3 /* of HIGH, which is TF32 on a GPU */

/* ---- what rules use --------------------------------------------------------------------------------------------- */

const char *cm__trace_name(const cm__trace *t, const cm__trace_op *o)
{
    return *o->module ? cm__format(t->ctx, "%s.%s", o->module, o->name) : o->name;
}

/* The first recorded type is kept: some rules return one tensor for several outputs. */
static int32_t convert(const cm__trace *t, const cm__trace_tensor *x)
{
    cm_tensor *y = cm__t(t->g, x->here);
    if (t->typed && !y->converted) y->converted = 1 + (int32_t)x->low;
    return x->here;
}

static int32_t leaf(cm__trace *t, cm__trace_tensor *x, cm_role role)
{
    x->here = cm__leaf(t->g, x->name, role, x->dtype, x->rank, x->dims);
    return convert(t, x);
}

int32_t cm__trace_here(cm__trace *t, int32_t tensor)
{
    cm__trace_tensor *x = &t->tensors[tensor];
    if (x->here >= 0) return x->here;
    bool made_in_forward = x->role == CM_ROLE_ACTIVATION && !x->rank;
    return leaf(t, x, made_in_forward || x->role == CM_ROLE_CONSTANT ? CM_ROLE_CONSTANT : CM_ROLE_BUFFER);
}

int32_t cm__trace_in(cm__trace *t, const cm__trace_op *o, int32_t index)
{
    return index < o->n_in && o->in[index] >= 0 ? cm__trace_here(t, o->in[index]) : -1;
}

int32_t cm__trace_need(cm__trace *t, const cm__trace_op *o, int32_t index)
{
    int32_t x = cm__trace_in(t, o, index);
    if (x < 0) cm__fail(t->ctx, CM_ERR_FORMAT, "%s without its input %d", o->full, index);
    return x;
}

const cm__trace_tensor *cm__trace_out(const cm__trace *t, const cm__trace_op *o, int32_t index)
{
    if (index >= o->n_out || o->out[index] < 0)
        cm__fail(t->ctx, CM_ERR_FORMAT, "%s without its output %d", o->full, index);
    return &t->tensors[o->out[index]];
}

static bool same_shape(const cm_tensor *a, const cm__trace_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = cm__dim_same(a->dims[i], b->dims[i]);
    return same;
}

void cm__trace_made(cm__trace *t, const cm__trace_op *o, int32_t index, int32_t tensor)
{
    if (index >= o->n_out || o->out[index] < 0) return;
    cm__trace_tensor *x = &t->tensors[o->out[index]];
    if (!same_shape(cm__t(t->g, tensor), x))
        cm__fail(t->ctx, CM_ERR_FORMAT, "%s gives %s", o->full, cm__dims_text(t->g, cm__t(t->g, tensor)));
    x->here = tensor;
    convert(t, x);
}

int32_t cm__trace_shape(cm__trace *t, int32_t rank, const cm_dim *dims)
{
    int32_t  id = cm__leaf(t->g, "shape", CM_ROLE_CONSTANT, CM_INT64, 1, (cm_dim[]){cm__fixed(rank)});
    cm__num *value = cm__alloc_array(t->ctx, (size_t)rank, sizeof *value);
    for (int32_t i = 0; i < rank; i++) value[i].i = dims[i];
    cm__t(t->g, id)->value = value;
    return id;
}

/* ---- outputs as recorded ----------------------------------------------------------------------------------------- */

/* The recorded types and shapes of the outputs, as the attribute that the operator's shape rule reads. */
static cm__attr recorded_outputs(cm__trace *t, const cm__trace_op *o)
{
    int64_t *list = cm__alloc_array(t->ctx, (size_t)o->n_out * (2 + 2 * CM__RANK_MAX), sizeof *list);
    int32_t  n = 0;
    for (int32_t i = 0; i < o->n_out; i++) {
        if (o->out[i] < 0) continue;
        const cm__trace_tensor *x = &t->tensors[o->out[i]];
        list[n++] = x->dtype;
        list[n++] = x->rank;
        for (int32_t k = 0; k < x->rank; k++) {
            list[n++] = x->dims[k].per_batch;
            list[n++] = x->dims[k].fixed;
        }
    }
    return (cm__attr){.key = CM_ATTR_OUTPUTS, .count = n, .ints = list};
}

void cm__trace_recorded(cm__trace *t, const cm__trace_op *o, int op, const cm__attr *further, int32_t n_further)
{
    int32_t *inputs = cm__alloc_array(t->ctx, (size_t)o->n_in + 1, sizeof *inputs), n = 0, made = 0;
    for (int32_t i = 0; i < o->n_out; i++) made += o->out[i] >= 0;
    if (!made) return;
    for (int32_t i = 0; i < o->n_in; i++)
        if (o->in[i] >= 0) inputs[n++] = cm__trace_here(t, o->in[i]);
    cm__attr attrs[RECORDED_ATTRIBUTES] = {recorded_outputs(t, o)};
    for (int32_t i = 0; i < n_further && i + 1 < RECORDED_ATTRIBUTES; i++) attrs[i + 1] = further[i];
    const cm_node *node = cm__emit_node(t->g, op, cm__trace_name(t, o), inputs, n, attrs, 1 + n_further, made);
    for (int32_t i = 0, k = 0; i < o->n_out; i++) {
        if (o->out[i] < 0) continue;
        t->tensors[o->out[i]].here = node->outputs[k++];
        convert(t, &t->tensors[o->out[i]]);
    }
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

static const cm__aten rows[] = {
#define ATEN(name, rule, op) {name, cm__aten_##rule, CM_OP_##op},
#include "import/trace/aten.def"
#undef ATEN
};

static void index_rows(cm__map *index, cm__ctx *ctx)
{
    cm__map_init(index, ctx);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cm__map_put(index, (cm__span){rows[i].name, strlen(rows[i].name)}, (int32_t)i);
}

/* Remove the nodes that a failed rule emitted, and forget their outputs. */
static void forget(cm_graph *g, int32_t nodes)
{
    g->n_nodes = nodes;
    for (int32_t i = g->n_tensors - 1; i >= 0 && i > g->n_tensors - FORGOTTEN_MAX; i--) {
        if (g->tensors[i].producer < nodes) continue;
        g->tensors[i].producer = -1;
        g->tensors[i].storage = i;
    }
}

/* Run a rule; returns false if it fails: then the operator is opaque. Running out of memory is still a failure. */
static bool attempt(cm__trace *t, const cm__aten *row, const cm__trace_op *o)
{
    cm__ctx *ctx = t->ctx;
    jmp_buf  trap;
    cm_diag *diag = ctx->diag;
    int32_t  nodes = t->g->n_nodes;
    volatile bool done = false;
    memcpy(&trap, &ctx->trap, sizeof trap);
    ctx->diag = NULL;
    if (!setjmp(ctx->trap)) {
        row->rule(t, o, row->op);
        done = true;
    }
    memcpy(&ctx->trap, &trap, sizeof trap);
    ctx->diag = diag;
    if (!done && ctx->status == CM_ERR_MEMORY) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    if (!done) forget(t->g, nodes);
    return done;
}

/* Count opaque operators that survived pruning: only those affect the prediction. */
static void list_opaque(cm__trace *t)
{
    for (int32_t i = 0; i < t->n_opaque; i++) {
        const cm__trace_op *o = &t->ops[t->opaque[i]];
        bool                kept = false;
        for (int32_t k = 0; k < o->n_out; k++) {
            int32_t here_now = o->out[k] < 0 ? -1 : t->tensors[o->out[k]].here;
            kept |= here_now >= 0 && cm__t(t->g, here_now)->producer >= 0;
        }
        if (kept) cm__not_supported(t->g, o->full);
    }
}

static bool read_after(const cm__trace *t, int32_t tensor, const cm__trace_op *o)
{
    for (int32_t i = 0; i < t->n_tensors; i++)
        if (t->tensors[i].here == tensor && t->tensors[i].readers && t->tensors[i].reader > o - t->ops) return true;
    return false;
}

/* The tensor of which a tensor is a view; -1: it is no view. If it is a view of a view, the one that is read after this
   operator: (q @ k)[1:] = y writes into a slice of a view of a product, of which only the view is read later. */
static int32_t viewed(const cm__trace *t, int32_t tensor, const cm__trace_op *o)
{
    const cm_graph *g = t->g;
    int32_t         at = tensor, read = -1;
    for (;;) {
        int32_t producer = cm__t(g, at)->producer;
        if (producer < 0 || !g->nodes[producer].view) return at == tensor ? -1 : read >= 0 ? read : at;
        if (g->nodes[producer].op == CM_OP_DETACH) return -1; /* not followed by gradients */
        at = g->nodes[producer].inputs[0];
        if (read_after(t, at, o)) read = at;
    }
}

/* An operator wrote into a view. Later operators that read the tensor of which it is a view read what was written. */
static void write_back(cm__trace *t, const cm__trace_op *o)
{
    if (o->n_in < 1 || o->n_out < 1 || o->in[0] < 0 || o->out[0] < 0) return;
    int32_t into = t->tensors[o->in[0]].here, part = t->tensors[o->out[0]].here;
    int32_t whole = into < 0 ? -1 : viewed(t, into, o);
    if (whole < 0 || part < 0 || part == into || !cm__has_gradient(cm__t(t->g, whole)->dtype)) return;
    bool     copies = strcmp(o->name, "copy") == 0; /* its kernel writes into the part */
    int32_t  producer = cm__t(t->g, part)->producer, from = part;
    cm__attr there = CM__INTS(CM_ATTR_IN_PLACE, !copies);
    int      made_by = copies && producer >= 0 ? t->g->nodes[producer].op : CM_OP_SLICE_WRITE;
    if (made_by == CM_OP_COPY || made_by == CM_OP_CAST) from = t->g->nodes[producer].inputs[0];
    int32_t written = cm__emit(t->g, CM_OP_SLICE_WRITE, cm__trace_name(t, o), (int32_t[]){whole, from}, 2, &there, 1);
    for (int32_t i = 0; i < t->n_tensors; i++)
        if (t->tensors[i].here == whole) t->tensors[i].here = written;
}

/* Before a function overwrites what its gradient needs, autograd clones it. Functions that it does not clone for, such
   as leaky_relu_(), have a gradient of their result. */
static void note_clone(cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_op *before = o > t->ops ? o - 1 : NULL;
    bool                alone = o->phase == CM_FORWARD && o->n_in == 1 && o->n_out == 1;
    bool                cloned = before && before->n_in == 1 && strcmp(before->full, "aten::clone") == 0 &&
                  before->in[0] == o->in[0];
    int32_t             made = alone && o->out[0] >= 0 ? t->tensors[o->out[0]].here : -1;
    int32_t             producer = made < 0 ? -1 : cm__t(t->g, made)->producer;
    if (producer >= 0 && cm__class(&t->g->nodes[producer]) == CM_CLASS_ELEMENTWISE)
        cm__attr_add(t->ctx, &t->g->nodes[producer],
                     cloned ? CM__INTS(CM_ATTR_IN_PLACE, 1) : CM__INTS(CM_ATTR_KEEPS_RESULT, 1));
}

/* A function in place keeps the type of the tensor that it changes: bf16 += fp32 is bf16. */
static void keep_type(cm__trace *t, const cm__trace_op *o)
{
    if (o->n_in < 2 || o->n_out < 1 || o->in[0] < 0 || o->out[0] < 0) return;
    int32_t into = t->tensors[o->in[0]].here, made = t->tensors[o->out[0]].here;
    int32_t producer = made < 0 ? -1 : cm__t(t->g, made)->producer;
    if (into < 0 || into == made || producer < 0 || cm__class(&t->g->nodes[producer]) != CM_CLASS_ELEMENTWISE) return;
    cm__t(t->g, made)->like = 1 + into;
}

/* aten.def has PyTorch's operators and torchvision's. */
static bool is_named(const cm__trace_op *o)
{
    return strncmp(o->full, "aten::", 6) == 0 || strncmp(o->full, "torchvision::", 13) == 0;
}

void cm__trace_translate(cm__trace *t, const cm__map *index, const cm__trace_op *o)
{
    int32_t row = is_named(o) ? cm__map_get(index, (cm__span){o->name, strlen(o->name)}) : -1;
    cm__place(t->ctx, "operator '%.100s'", cm__trace_name(t, o));
    if (row >= 0 && attempt(t, &rows[row], o)) {
        if (o->in_place) keep_type(t, o);
        if (o->in_place) write_back(t, o);
        if (o->in_place) note_clone(t, o);
        return;
    }
    t->opaque = cm__grow(t->ctx, t->opaque, t->n_opaque, &t->cap_opaque, sizeof *t->opaque);
    t->opaque[t->n_opaque++] = (int32_t)(o - t->ops);
    cm__trace_recorded(t, o, CM_OP_OPAQUE, NULL, 0);
}

/* ---- the graph -------------------------------------------------------------------------------------------------- */

static void make_leaves(cm__trace *t)
{
    static const cm_role first[] = {CM_ROLE_INPUT, CM_ROLE_PARAMETER, CM_ROLE_BUFFER};
    for (size_t r = 0; r < sizeof first / sizeof *first; r++)
        for (int32_t i = 0; i < t->n_tensors; i++) {
            cm__trace_tensor *x = &t->tensors[i];
            cm__place(t->ctx, "tensor %d ('%.64s')", i, x->name);
            if (x->role == first[r]) leaf(t, x, x->role);
        }
    cm__place(t->ctx, "%s", "");
}

static void add_output(cm__trace *t, int32_t tensor)
{
    int32_t id = tensor >= 0 ? t->tensors[tensor].here : -1;
    for (int32_t i = 0; i < t->g->n_outputs; i++)
        if (t->g->outputs[i] == id) return;
    if (id >= 0) cm__output(t->g, id);
}

/* Variables of the program that outlive the last use of their tensor. */
static void hold_variables(cm__trace *t)
{
    for (int32_t i = 0; i < t->n_tensors; i++) {
        const cm__trace_tensor *x = &t->tensors[i];
        int32_t                 until = x->until >= 0 ? t->tensors[x->until].here : -1;
        if (x->here >= 0 && until >= 0) cm__hold(t->g, x->here, until);
    }
}

/* The operator that makes the last of the model's outputs. What follows is the script's loss, unless the model itself
   returns the loss. */
static int32_t last_of_model(const cm__trace *t)
{
    int32_t last = -1;
    for (int32_t o = 0; o < t->n_outputs; o++)
        if (t->outputs[o] == t->loss) return t->n_ops;
    for (int32_t i = 0; i < t->n_ops && t->ops[i].phase == CM_FORWARD; i++)
        for (int32_t k = 0; k < t->ops[i].n_out; k++)
            for (int32_t o = 0; o < t->n_outputs; o++)
                if (t->ops[i].out[k] == t->outputs[o]) last = i;
    return last < 0 ? t->n_ops : last;
}

/* Transformers omits masks that mask nothing, but not while a compiler traces it. */
static void read_omitted_masks(cm__trace *t)
{
    const json_t *kind;
    size_t        i;
    json_array_foreach(json_object_get(t->root, "omitted_masks"), i, kind)
    {
        const char *name = json_string_value(kind);
        if (name && strcmp(name, "causal") == 0) t->g->omits_causal = true;
        if (name && strcmp(name, "open") == 0) t->g->omits_open = true;
    }
}

static void set_defaults(cm__trace *t)
{
    const json_t *update = json_array_get(json_object_get(t->root, "updates"), 0);
    const char   *kind = json_string_value(json_object_get(update, "kind"));
    cm_optimizer  optimizer;
    if (kind && cm_optimizer_parse(kind, &optimizer, NULL) == CM_OK) t->g->optimizer = optimizer;
    t->g->precision = cm__trace_precision(t->root);
    t->g->typed = t->typed;
}

static void warn(cm__trace *t, const cm_load_options *o, int32_t lost)
{
    size_t        i;
    json_t       *text;
    const json_t *list = json_object_get(t->root, "warnings");
    int32_t       opaque = t->g->n_unsupported;
    json_array_foreach((json_t *)list, i, text) {
        if (json_is_string(text) && i < 64) cm__warn(t->g, "%.400s", json_string_value(text));
    }
    const json_t *refused = json_object_get(t->root, "refused");
    const char   *why = json_string_value(json_object_get(refused, "warning")), *type = json_string_value(json_object_get(refused, "precision"));
    if (why && type && cm_precision_parse(type, &t->g->refused_in, NULL) == CM_OK) t->g->refused = cm__text_copy(t->ctx, why);
    if (lost)
        cm__warn(t->g, "%d recomputed operators were not found in forward; --recompute full is an approximation",
                 lost);
    if (opaque)
        cm__warn(t->g, "%d kinds of operators are unknown, such as '%s': only the bytes they move are counted", opaque,
                 t->g->unsupported[0]);
    if (o->seq > 0 && json_integer_value(json_object_get(t->root, "seq")) <= 0)
        cm__warn(t->g, "the capture has a fixed sequence length, --seq %lld has no effect: capture with seq_dim=",
                 (long long)o->seq);
}

/* Passes in bf16 that XLA makes on a TPU of each product of fp32 numbers (jax.lax.Precision HIGH and HIGHEST). */
static int32_t passes_of(const json_t *root) 
{
    json_int_t passes = json_integer_value(json_object_get(root, "product_passes"));
    return passes > 1 && passes <= 2 * TF32_PASSES ? (int32_t)passes : 1;
}

/* XLA multiplies fp32 numbers in the type that is fast on a device, so fp32 of a JAX step decides no precision, unless
   its products ask for all digits. */
static cm__trace_origin origin_of(const json_t *root)
{
    bool             jax = json_object_get(root, "jax"), asked = json_object_get(root, "wanted_precision");
    cm__trace_origin o = {cm__trace_precision(root), jax ? CM_RUNTIME_XLA : CM_RUNTIME_DEFAULT, {0}};
    cm__trace_plan(root, &o.plan);
    if (jax && !asked && o.precision == CM_PRECISION_FP32 && passes_of(root) <= TF32_PASSES) o.precision = CM_PRECISION_DEFAULT;
    return o;
}

cm__trace_origin cm__import_trace_origin(cm__ctx *ctx, const char *text, size_t size)
{
    return origin_of(cm__json_read(ctx, text, size, JSON_REJECT_DUPLICATES));
}

cm__trace_origin cm__import_hlo_origin(cm__ctx *ctx, const char *text, size_t size)
{
    return origin_of(cm__hlo_captured(ctx, "", text, size));
}

static cm_graph *import(cm__ctx *ctx, const char *name, const json_t *root, const cm_load_options *o)
{
    cm__trace t = {.ctx = ctx, .root = root};
    cm__map   index;
    cm__trace_read(&t, o);
    const char *own = json_string_value(json_object_get(t.root, "name"));
    t.g = cm__graph_new(ctx, cm__text_copy_n(ctx, own ? own : name, strnlen(own ? own : name, 128)), "trace");
    make_leaves(&t);
    index_rows(&index, ctx);
    int32_t lost = cm__trace_segments(&t), last = last_of_model(&t);
    cm__trace_leave_out(&t);
    cm__trace_find_math(&t);
    for (int32_t i = 0; i < t.n_ops; i++) {
        if (t.ops[i].phase != CM_FORWARD) continue;
        t.g->outside = i > last ? CM__IN_SCRIPT : (cm__outside)t.ops[i].left_out;
        t.g->nodes_read++;
        t.g->segment = t.ops[i].segment;
        t.g->function = t.ops[i].function;
        t.g->plain = t.ops[i].plain;
        cm__trace_translate(&t, &index, &t.ops[i]);
    }
    cm__place(ctx, "%s", "");
    hold_variables(&t);
    t.g->segment = t.g->function = -1;
    t.g->plain = false;
    t.g->outside = CM__COMPILED;
    cm__trace_functions(&t, &index);
    t.g->own_loss = t.loss >= 0 && t.tensors[t.loss].here >= 0;
    add_output(&t, t.loss);
    for (int32_t i = 0; i < t.n_outputs; i++) add_output(&t, t.outputs[i]);
    if (!t.g->n_outputs) cm__fail(ctx, CM_ERR_FORMAT, "the trace has no output");
    if (t.g->own_loss && cm__trace_passes(&t) <= 1) cm__keep_unused(t.g);
    cm__prune(t.g);
    list_opaque(&t);
    cm__find_blocks(t.g);
    set_defaults(&t);
    t.g->product_passes = passes_of(t.root);
    t.g->channels_last = 2 * t.channels_last > t.convolutions; /* one alone may have a transposed matrix as input */
    read_omitted_masks(&t);
    cm__trace_compiled(&t);
    cm__trace_xla(&t);
    cm__trace_jax(&t);
    cm__trace_backward_flop(&t);
    warn(&t, o, lost);
    return t.g;
}

cm_graph *cm__import_trace(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o)
{
    return import(ctx, name, cm__json_read(ctx, text, size, JSON_REJECT_DUPLICATES), o);
}

cm_graph *cm__import_hlo(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o)
{
    return import(ctx, name, cm__hlo_captured(ctx, name, text, size), o);
}
