/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - a step's footprint on a device: built once, evaluated at any batch size.
 *
 * Lifetimes are the graph's, except where PyTorch differs: it accumulates gradients in place. All sizes are polynomials
 * of the batch size. The peak is therefore the maximum of a few polynomials: those that no other one exceeds in every
 * coefficient.
 */
#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "model/memory/allocator.h"
#include "device/device.h"
#include "graph/runtimes.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/dispatch.h"
#include "model/memory/footprint.h"
#include "graph/plan/counts.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/memory/simulate.h"

static const cm_category category_of_role[CM_ROLES] = {
    [CM_ROLE_ACTIVATION] = CM_CATEGORY_INPUT_OUTPUT, [CM_ROLE_INPUT] = CM_CATEGORY_INPUT_OUTPUT,
    [CM_ROLE_PARAMETER] = CM_CATEGORY_WEIGHTS_BIASES, [CM_ROLE_BUFFER] = CM_CATEGORY_WEIGHTS_BIASES,
    [CM_ROLE_CONSTANT] = CM_CATEGORY_WEIGHTS_BIASES, [CM_ROLE_SAVED] = CM_CATEGORY_INPUT_OUTPUT,
    [CM_ROLE_CAST] = CM_CATEGORY_ALGORITHM, [CM_ROLE_GRADIENT] = CM_CATEGORY_INPUT_OUTPUT,
    [CM_ROLE_PARAMETER_GRADIENT] = CM_CATEGORY_GRADIENTS, [CM_ROLE_STATE] = CM_CATEGORY_ALGORITHM,
};

/* ---- peak candidates -------------------------------------------------------------------------------------------- */

static bool above(const cm_poly *a, const cm_poly *b)
{
    _Static_assert(CM_POLY_TERMS == 4, "one comparison for each term");
    return a->c[0] >= b->c[0] && a->c[1] >= b->c[1] && a->c[2] >= b->c[2] && a->c[3] >= b->c[3];
}

static bool hides(const cm__summit *a, const cm__summit *b)
{
    return above(&a->bytes, &b->bytes) && a->least_batch <= b->least_batch;
}

/* The newest summits are compared first: they are of the nodes just before. In backward, gradients add to the bytes
   that do not depend on the batch size, and activations are freed: then the search ends soon. */
static bool is_hidden(cm__summits *s, const cm__summit *new)
{
    if (s->higher < s->count && hides(&s->list[s->higher], new)) return true;
    for (int32_t i = s->count - 1; i >= 0 && s->list[i].most_fixed >= new->bytes.c[0]; i--)
        if (hides(&s->list[i], new)) {
            s->higher = i;
            return true;
        }
    return false;
}

static void append(cm__summits *s, cm__summit new)
{
    const cm__summit *last = s->count ? &s->list[s->count - 1] : &new;
    new.most_fixed = s->count ? fmax(last->most_fixed, new.bytes.c[0]) : new.bytes.c[0];
    new.least_grown = s->count ? fmin(last->least_grown, new.bytes.c[1]) : new.bytes.c[1];
    s->list[s->count++] = new;
}

static void drop_hidden(cm__summits *s, const cm__summit *new)
{
    int32_t first = s->count, end = s->count;
    while (first > 0 && s->list[first - 1].least_grown <= new->bytes.c[1]) first--;
    while (first < end && !hides(new, &s->list[first])) first++;
    s->count = first;
    for (int32_t i = first + 1; i < end; i++)
        if (!hides(new, &s->list[i])) append(s, s->list[i]);
}

static void add_summit(cm__ctx *ctx, cm__summits *s, cm__summit new)
{
    if (is_hidden(s, &new)) return;
    drop_hidden(s, &new);
    s->list = cm__grow(ctx, s->list, s->count, &s->capacity, sizeof *s->list);
    s->higher = s->count;
    append(s, new);
}

void cm__summit_add(cm__ctx *ctx, cm__summits *s, cm_poly bytes, const cm__temporary *temporary, int32_t node)
{
    add_summit(ctx, s, (cm__summit){.bytes = cm__poly_add(bytes, temporary->bytes), .node = node,
                                    .least_batch = temporary->least_batch});
    if (temporary->least_batch > 0) add_summit(ctx, s, (cm__summit){.bytes = bytes, .node = node});
}

const cm__summit *cm__summit_at(const cm__summits *s, double batch, double *bytes)
{
    const cm__summit *highest = NULL;
    *bytes = 0;
    for (int32_t i = 0; i < s->count; i++) {
        if (batch < s->list[i].least_batch) continue;
        double here = cm__poly_at(&s->list[i].bytes, batch);
        if (highest && here <= *bytes) continue;
        *bytes = here;
        highest = &s->list[i];
    }
    return highest;
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static bool is_stored(const cm_graph *g, int32_t t)
{
    const cm_tensor *x = cm__t(g, t);
    bool             unused = x->dies < 0 || (x->producer >= 0 && x->born < 0);
    return x->storage == t && !unused && x->role != CM_ROLE_CONSTANT;
}

static void gather_pieces(cm_footprint *f, int32_t *piece_of)
{
    const cm_graph *g = f->step;
    f->pieces = cm__alloc_unset(f->ctx, 4 * (size_t)g->n_tensors + 2 * (size_t)g->n_nodes + CM__BUFFERS_MAX,
                                sizeof *f->pieces);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = cm__t(g, t);
        piece_of[t] = -1;
        if (!is_stored(g, t)) continue;
        piece_of[t] = f->n_pieces;
        bool weights = x->master && !cm__is_megatron(f->options.runtime); /* FSDP: the parameters themselves */
        f->pieces[f->n_pieces++] = (cm__piece){cm_tensor_bytes(x), t, x->born, x->dies,
                                               weights ? CM_CATEGORY_WEIGHTS_BIASES : category_of_role[x->role]};
    }
}

/* The last node that reads an attention node's scores: its backward, if the node is the last to compute them before
   it; otherwise the node itself. */
static int32_t reader_of_scores(const cm_graph *g, int32_t node)
{
    int32_t forward = g->nodes[node].source >= 0 ? g->nodes[node].source : node;
    for (int32_t i = node + 1; i < g->n_nodes; i++) {
        if (g->nodes[i].source != forward) continue;
        if (g->nodes[i].op == CM_OP_ATTENTION) return node; /* computed again */
        if (g->nodes[i].op == CM_OP_ATTENTION_GRAD) return i;
    }
    return node;
}

/* PyTorch repeats grouped keys and values for each head of queries, and its products save the copies, not the
   originals. */
static cm_poly repeated(const cm_graph *g, const cm_node *n)
{
    cm_poly          extra = {{0}};
    const cm_tensor *q = cm__in(g, n, 0);
    for (int32_t i = 1; i < 3 && cm__attention_grouped(g, n); i++) {
        const cm_tensor *x = cm__in(g, n, i);
        cm_poly all = cm__poly_mul(cm__poly_product(q->dims, 2), cm__poly_product(x->dims + 2, 2));
        extra = cm__poly_add(extra, cm__poly_scale(all, (double)cm_dtype_size(x->dtype)));
        extra = cm__poly_add(extra, cm__poly_scale(cm_tensor_bytes(x), -1));
    }
    return extra;
}

/* Queries and keys are scaled before the product, which saves the copies; the originals stay with the values if they
   are views of one tensor. */
static cm_poly scaled(const cm_graph *g, const cm_node *n)
{
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1), *v = cm__in(g, n, 2);
    if (q->dtype != CM_FP32 || q->storage != v->storage || cm__attention_grouped(g, n)) return cm__poly_const(0);
    return cm__poly_add(cm_tensor_bytes(q), cm_tensor_bytes(k));
}

/* Unfused attention stores its scores. */
static void add_scores(cm_footprint *f)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_ATTENTION || n->outputs[0] < 0) continue;
        if (!cm__attention_unfused(g, n, f->options.runtime, f->math)) continue;
        const cm_tensor *q = cm__t(g, n->inputs[0]), *k = cm__t(g, n->inputs[1]);
        if (q->rank != 4 || k->rank != 4) continue;
        cm_poly pairs = cm__poly_mul(cm__poly_product(q->dims, 3), cm__poly_dim(k->dims[2]));
        cm_poly bytes = cm__poly_scale(pairs, cm__score_bytes(g, n, f->options.runtime));
        cm_poly copies = cm__poly_add(repeated(g, n), scaled(g, n));
        if (!cm__is_megatron(f->options.runtime)) bytes = cm__poly_add(bytes, copies);
        f->pieces[f->n_pieces++] =
            (cm__piece){bytes, n->outputs[0], i, reader_of_scores(g, i), CM_CATEGORY_INPUT_OUTPUT};
    }
}

static bool same_poly(const cm_poly *a, const cm_poly *b) { return above(a, b) && above(b, a); }

/* Autograd adds a gradient to an earlier one in place, if nothing else references that one. */
static void add_in_place(cm_footprint *f, int32_t *piece_of)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_ADD || n->phase != CM_BACKWARD || n->outputs[0] < 0) continue;
        int32_t out = piece_of[cm__t(g, n->outputs[0])->storage], in = piece_of[cm__t(g, n->inputs[0])->storage];
        if (out < 0 || in < 0 || in == out || f->pieces[in].dies != i || f->pieces[out].born != i) continue;
        if (f->pieces[in].born < 0 || !same_poly(&f->pieces[in].bytes, &f->pieces[out].bytes)) continue;
        f->pieces[in].dies = f->pieces[out].dies;
        f->pieces[in].category = f->pieces[out].category;
        f->pieces[out].dies = f->pieces[out].born = -1; /* no memory of its own */
        f->pieces[out].bytes = (cm_poly){{0}};
        piece_of[cm__t(g, n->outputs[0])->storage] = in;
    }
}

/* ---- sums over pieces ------------------------------------------------------------------------------------------- */

static void push(int32_t *first, int32_t *next, int32_t node, int32_t entry)
{
    next[entry] = first[node];
    first[node] = entry;
}

/* The lists are in the order of the pieces. */
cm__alive cm__alive_of(cm__ctx *ctx, const cm_footprint *f)
{
    int32_t *first = cm__alloc_unset(ctx, (size_t)f->n_nodes + 2, sizeof *first);
    int32_t *next = cm__alloc_unset(ctx, 2 * (size_t)f->n_pieces + 1, sizeof *next);
    for (int32_t i = 0; i < f->n_nodes + 2; i++) first[i] = -1;
    for (int32_t p = f->n_pieces - 1; p >= 0; p--) {
        const cm__piece *x = &f->pieces[p];
        push(first, next, x->dies < f->n_nodes ? x->dies + 1 : f->n_nodes, 2 * p + 1);
        push(first, next, x->born < 0 ? 0 : x->born, 2 * p);
    }
    return (cm__alive){.f = f, .first = first, .next = next};
}

int32_t cm__alive_next(cm__alive *a)
{
    cm_poly  change[CM_CATEGORIES];
    unsigned changed = 0; /* a bit for each category */
    int32_t  node = a->node++;
    if (node >= a->f->n_nodes) return -1;
    for (int32_t e = a->first[node]; e >= 0; e = a->next[e]) {
        const cm__piece *x = &a->f->pieces[e / 2];
        cm_poly          bytes = e % 2 ? cm__poly_scale(x->bytes, -1) : x->bytes, *of = &change[x->category];
        *of = changed >> x->category & 1 ? cm__poly_add(*of, bytes) : bytes;
        changed |= 1u << x->category;
    }
    for (cm_category c = 0; changed >> c; c++)
        if (changed >> c & 1) a->now[c] = cm__poly_add(change[c], a->now[c]);
    return node;
}

static cm_poly all_alive(const cm__alive *alive)
{
    cm_poly all = alive->now[0];
    for (cm_category c = 1; c < CM_CATEGORIES; c++) all = cm__poly_add(all, alive->now[c]);
    return all;
}

/* Bytes of each category at the peaks, of which there are few: these are found first. */
static void describe_peaks(cm_footprint *f, cm__alive alive, cm__ctx *scratch)
{
    const cm__summits *s = &f->summits;
    bool              *peak = cm__alloc_array(scratch, (size_t)f->n_nodes + 1, sizeof *peak);
    f->peaks = cm__alloc_array(f->ctx, (size_t)s->count + 1, sizeof *f->peaks);
    int32_t            last = -1;
    for (int32_t i = 0; i < s->count; i++) {
        peak[s->list[i].node] = true;
        if (s->list[i].node > last) last = s->list[i].node;
    }
    for (int32_t node = -1; node < last && (node = cm__alive_next(&alive)) >= 0;)
        for (int32_t i = 0; peak[node] && i < s->count; i++)
            if (s->list[i].node == node) memcpy(f->peaks[i].of, alive.now, sizeof alive.now);
}

#define RECENT_BITS 8

/* recent: per hash value, the temporary that had it last, plus 1; 0: none. */
static void add_temporary(cm_footprint *f, int32_t node, const cm__temporary *t, int32_t *recent)
{
    uint64_t words[sizeof *t / sizeof(uint64_t)], hash = 0;
    memcpy(words, t, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    int32_t *at = &recent[hash >> (64 - RECENT_BITS)];
    if (!*at || memcmp(&f->temporaries[*at - 1], t, sizeof *t) != 0) {
        f->temporaries =
            cm__grow(f->ctx, f->temporaries, f->n_temporaries, &f->cap_temporaries, sizeof *f->temporaries);
        f->temporaries[f->n_temporaries] = *t;
        *at = ++f->n_temporaries;
    }
    f->temporary_of[node] = *at - 1;
}

static void sum_up(cm_footprint *f)
{
    cm__ctx  *scratch = cm__scratch_new(f->ctx);
    cm__alive start = cm__alive_of(scratch, f), alive = start;
    int32_t   recent[1 << RECENT_BITS] = {0};
    f->temporary_of = cm__alloc_unset(f->ctx, (size_t)f->n_nodes + 1, sizeof *f->temporary_of);
    for (int32_t i; (i = cm__alive_next(&alive)) >= 0;) {
        cm__temporary t = cm__workspace(f, &f->step->nodes[i]);
        add_temporary(f, i, &t, recent);
        cm__summit_add(f->ctx, &f->summits, all_alive(&alive), &t, i);
    }
    describe_peaks(f, start, scratch);
    cm__scratch_free(scratch);
}

/* ---- construction ----------------------------------------------------------------------------------------------- */

static double reserve_of(const cm_device *device, cm_runtime runtime, const char *what)
{
    cm_number n = cm_device_reserve(device, runtime, what);
    if (!n.known) n = cm_device_reserve(device, CM_RUNTIME_TORCH_EAGER, what);
    return n.known ? n.value : 0;
}

/* XLA plans the libraries' workspaces among the other tensors. */
double cm__library_bytes(const cm_device *device, cm_runtime runtime)
{
    return cm__is_xla(runtime) ? 0 : reserve_of(device, runtime, "library");
}

double cm__context_bytes(const cm_device *device, cm_runtime runtime, const cm_graph *step)
{
    bool convolves = cm__facts_of(step).convolves;
    return reserve_of(device, runtime, "context") + (convolves ? reserve_of(device, runtime, "convolutions") : 0);
}

double cm__allocatable_bytes(const cm_device *device, cm_runtime runtime, const cm_graph *step, double capacity_bytes)
{
    bool   convolves = cm__facts_of(step).convolves;
    double outside = reserve_of(device, runtime, "outside");
    if (outside == 0) return capacity_bytes * (1 - CM__HEADROOM) - cm__context_bytes(device, runtime, step);
    return capacity_bytes - outside - (convolves ? reserve_of(device, runtime, "convolutions") : 0);
}

/* The pieces of the whole step, before a plan divides them. */
static void find_whole(cm_footprint *f)
{
    cm__ctx *scratch = cm__scratch_new(f->ctx);
    int32_t *piece_of = cm__alloc_array(scratch, (size_t)f->step->n_tensors + 1, sizeof *piece_of);
    if (f->caching) f->strides = cm__strides_new(f->ctx, f->step, cm__in_nhwc(f->step, f->options.layout));
    for (int32_t i = 0; f->caching && i < f->n_nodes; i++) cm__strides_place(f->strides, i);
    gather_pieces(f, piece_of);
    add_in_place(f, piece_of);
    cm__recurrent_pieces(f, piece_of);
    cm__fourier_pieces(f, piece_of);
    cm__fused_pieces(f, piece_of, scratch);
    cm__retain_head_input(f, piece_of);
    if (f->caching) cm__hold_inputs(f, piece_of, scratch);
    if (f->caching) cm__hold_in_backward(f, piece_of, scratch);
    if (f->caching) cm__copied_inputs(f, piece_of, scratch);
    cm__recomputed_pieces(f, piece_of);
    if (!cm__is_loop(f, scratch)) add_scores(f);
    cm__graph_pieces(f, scratch);
    cm__jax_pieces(f, scratch);
    cm__scratch_free(scratch);
    if (f->options.plan.devices < 2) return;
    f->n_whole = f->n_pieces;
    f->whole = cm__alloc_array(f->ctx, (size_t)f->n_whole + 1, sizeof *f->whole);
    memcpy(f->whole, f->pieces, (size_t)f->n_whole * sizeof *f->whole);
    f->units = cm__units_of(f->ctx, f->step);
    bool *split = cm__alloc_array(f->ctx, (size_t)f->step->n_tensors + 1, sizeof *split);
    cm__find_split(f->step, split);
    f->split = split;
}

/* Takes them from a step with another plan. */
static void take_whole(cm_footprint *f, const cm_footprint *like)
{
    f->strides = like->strides;
    f->whole = like->whole;
    f->units = like->units;
    f->split = like->split;
    f->n_pieces = f->n_whole = like->n_whole;
    size_t most = 2 * (size_t)f->n_whole + (size_t)cm__retained_most(f) + CM__BUFFERS_MAX;
    f->pieces = cm__alloc_unset(f->ctx, most, sizeof *f->pieces);
    memcpy(f->pieces, f->whole, (size_t)f->n_whole * sizeof *f->pieces);
}

/* Builds the parts that all devices share which run layers alike. like: a step with the same whole pieces; NULL: none. */
static void find_pieces(cm_footprint *f, const cm_footprint *like)
{
    if (like && like->whole) take_whole(f, like);
    else find_whole(f);
    cm__shard(f);
    sum_up(f);
    cm__find_images(f);
    if (f->channels) f->alive = cm__alive_of(f->ctx, f);
    f->slack_bytes = f->caching ? cm__simulate_slack(f) : 0;
}

/* The same step, or one with tensors of the same sizes. */
static bool same_sizes(const cm_graph *a, const cm_graph *b, cm_runtime runtime)
{
    bool retyped = a == b->retyped_of || b == a->retyped_of;
    return a == b || (retyped && cm__gradient_copies(a, runtime) == cm__gradient_copies(b, runtime));
}

static bool shares_whole(const cm_footprint *f, const cm_footprint *like)
{
    return like && same_sizes(like->step, f->step, f->options.runtime) && like->math == f->math &&
           cm__in_nhwc(like->step, like->options.layout) == cm__in_nhwc(f->step, f->options.layout) &&
           like->options.runtime == f->options.runtime && cm__loops_layers(like->device) == cm__loops_layers(f->device);
}

static void take_pieces(cm_footprint *f, const cm_footprint *like)
{
    f->strides = like->strides;
    f->pieces = like->pieces;
    f->n_pieces = like->n_pieces;
    f->peaks = like->peaks;
    f->temporaries = like->temporaries;
    f->n_temporaries = like->n_temporaries;
    f->temporary_of = like->temporary_of;
    f->summits = like->summits;
    f->channels = like->channels;
    f->alive = like->alive;
    f->slack_bytes = like->slack_bytes;
    if (cm__same_library(f, like)) f->simulations = like->simulations;
}

/* True: the plan divides the step, as that of `like` does (cm__plan_check()). */
static bool is_checked(const cm_footprint *f, const cm_footprint *like)
{
    const cm_plan *a = like ? &like->options.plan : NULL, *b = &f->options.plan;
    return a && like->step == f->step && a->tp == b->tp && a->cp == b->cp && a->ep == b->ep;
}

cm_status cm_footprint_new(const cm_graph *step, const cm_device *device, const cm_memory_options *options,
                           cm_footprint **footprint, cm_diag *diag)
{
    cm_memory_options own;
    cm__take_options(&own, sizeof own, options);
    return cm__footprint_new_like(NULL, step, device, &own, footprint, diag);
}

cm_status cm__footprint_new_like(const cm_footprint *like, const cm_graph *step, const cm_device *device,
                                 const cm_memory_options *options, cm_footprint **footprint, cm_diag *diag)
{
    if (!step || !device || !footprint) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph or no device given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_footprint *f = cm__alloc(ctx, sizeof *f);
    f->ctx = ctx;
    f->step = step;
    f->device = device;
    f->n_nodes = step->n_nodes;
    if (options) f->options = *options;
    f->options.runtime = cm__runtime_on(device, f->options.runtime);
    cm__plan_fill(ctx, &f->options.plan);
    if (!is_checked(f, like)) cm__plan_check(ctx, step, &f->options.plan);
    f->caching = cm__runtime_of(f->options.runtime)->memory == CM__MEMORY_CACHED;
    f->math = cm__attention_math(step, device, f->options.runtime);
    bool same_step = like && like->step == step && like->caching == f->caching;
    f->stacks = same_step ? like->stacks : f->caching ? cm__stacks_of(ctx, step) : NULL;
    f->library_bytes = cm__library_bytes(device, f->options.runtime);
    f->context_bytes = cm__context_bytes(device, f->options.runtime, step);
    bool whole = shares_whole(f, like), shares = whole && cm__same_shards(&like->options.plan, &f->options.plan);
    if (shares) take_pieces(f, like);
    else find_pieces(f, whole ? like : NULL);
    if (whole && same_step && !shares) f->like = like;
    cm__place_categories(f, shares ? like : NULL);
    ctx->diag = NULL;
    *footprint = f;
    return CM_OK;
}

void cm_footprint_free(cm_footprint *footprint)
{
    if (footprint) cm__ctx_free(footprint->ctx);
}

cm_plan    cm_footprint_plan(const cm_footprint *footprint) { return footprint->options.plan; }
cm_runtime cm_footprint_runtime(const cm_footprint *footprint) { return footprint->options.runtime; }

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

double cm__peak_at(const cm_footprint *f, double batch, cm_memory_use *use)
{
    double total;
    use->peak_node = -1;
    if (f->channels) return cm__tiled_peak(f, batch, use);
    const cm__summit *peak = cm__summit_at(&f->summits, batch, &total);
    if (!peak) return 0;
    use->peak_node = peak->node;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) use->categories[c] = cm__poly_at(&f->peaks[peak - f->summits.list].of[c], batch);
    return total;
}

void cm_footprint_at(const cm_footprint *f, int64_t batch, cm_memory_use *use)
{
    memset(use, 0, sizeof *use);
    double total = cm__peak_at(f, (double)batch, use), beside = (use->peak_node >= 0 ? f->library_bytes : 0) + f->slack_bytes;
    if (use->peak_node >= 0) use->categories[CM_CATEGORY_EPHEMERAL] += cm_footprint_temporary(f, batch, use->peak_node);
    use->categories[CM_CATEGORY_EPHEMERAL] += beside;
    use->peak_bytes = use->reserved_bytes = total + beside;
    use->context_bytes = f->context_bytes;
    use->compiled = CM_COMPILED_NOT;
    cm__place_use(f, batch, use);
    cm__use_compiled(f, batch, total + beside, use);
}

static void insert_alive(cm_alive *alive, int32_t *count, int32_t most, cm_alive new)
{
    int32_t at = *count < most ? (*count)++ : most;
    if (at == most && alive[--at].bytes >= new.bytes) return;
    for (; at > 0 && alive[at - 1].bytes < new.bytes; at--) alive[at] = alive[at - 1];
    alive[at] = new;
}

int32_t cm_footprint_alive(const cm_footprint *f, int64_t batch, int32_t node, cm_alive *alive, int32_t most)
{
    int32_t count = 0;
    for (int32_t p = 0; most > 0 && p < f->n_pieces; p++) {
        const cm__piece *x = &f->pieces[p];
        double           bytes = cm__piece_at(f, x, (double)batch);
        if (x->born > node || x->dies < node || bytes <= 0) continue;
        insert_alive(alive, &count, most, (cm_alive){x->tensor, x->category, bytes});
    }
    return count;
}

int32_t cm_footprint_pieces(const cm_footprint *f) { return f->n_pieces; }

cm_stored cm_footprint_piece(const cm_footprint *f, int64_t batch, int32_t piece)
{
    const cm__piece *x = &f->pieces[piece];
    return (cm_stored){x->tensor, x->born, x->dies, x->category, fmax(0, cm__piece_at(f, x, (double)batch))};
}

double cm_footprint_temporary(const cm_footprint *f, int64_t batch, int32_t node)
{
    return cm__temporary_at(cm__temporary_of(f, node), (double)batch);
}
