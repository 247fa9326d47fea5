/* SPDX-License-Identifier: Apache-2.0 */
/* layering.c - find the parameters, tensors and sums of each part in a few passes over the graph. */
#include "model/parallel/layering.h"

#include "graph/rule.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/compiler.h"
#include "model/dispatch/routing.h"
#include "model/dispatch/tensor_parallel.h"

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static bool divides(const cm_graph *g, const cm__shards *s, const cm_node *n)
{
    return s->tp > 1 && (cm__division_of(g, n, s->split) != CM__WHOLE || cm__is_table(n));
}

static bool has_shared_experts(const cm_graph *g, const cm__shards *s, const cm_node *n)
{
    return s->ep > 1 && cm__is_expert(g, n);
}

static double elements_here(const cm_graph *g, const cm__shards *s, const cm_node *n, int32_t parameter)
{
    bool   expert = has_shared_experts(g, s, n), divided = divides(g, s, n) && !(expert && s->whole_experts);
    double here = cm_tensor_elements(cm__t(g, parameter)).c[0] / (divided ? s->tp : 1);
    return expert ? here / s->ep : here;
}

typedef struct owning {
    const cm_graph *g;
    cm__layering   *l;
    int32_t        *owner;     /* per tensor: index of the first part that reads it, plus 1 */
    double         *on_device; /* per tensor: elements that this device has */
    bool           *expert;    /* per tensor: of experts that devices share */
    double          alone;     /* 1: trained modules among frozen ones are one unit each */
} owning;

static void add_parameter(owning *o, int32_t parameter, int32_t part, double here)
{
    const cm_tensor      *x = cm__t(o->g, parameter);
    cm__layer_parameters *p = &o->l->parameters[part];
    if (x->frozen) {
        if (o->owner[parameter] != part + 1) p->frozen_bytes += here * (double)cm_dtype_size(x->dtype);
        o->owner[parameter] = part + 1;
    } else if (!o->owner[parameter]) {
        o->owner[parameter] = part + 1;
        p->trained += o->on_device[parameter] = here;
        p->experts += o->expert[parameter] ? here : 0;
        p->units += o->alone;
        o->l->all_parameters += here;
        o->l->weight_bytes = (double)cm_dtype_size(x->dtype);
    } else if (o->owner[parameter] != part + 1) o->l->tied_parameters += here;
}

static owning add_parameters(cm__ctx *ctx, const cm_graph *g, const cm__shards *s, cm__layering *l)
{
    size_t tensors = (size_t)g->n_tensors + 1;
    l->parameters = cm__alloc_array(ctx, (size_t)l->count, sizeof *l->parameters);
    owning o = {.g = g, .l = l, .owner = cm__alloc_array(ctx, tensors, sizeof *o.owner),
                .on_device = cm__alloc_array(ctx, tensors, sizeof *o.on_device),
                .expert = cm__alloc_array(ctx, tensors, sizeof *o.expert),
                .alone = g->tuned && !g->joined_adapters};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t j = 0; n->phase == CM_FORWARD && j < n->n_inputs; j++) {
            int32_t parameter = cm__parameter_read(g, n, j);
            if (parameter < 0) continue;
            if (!o.owner[parameter]) o.expert[parameter] = has_shared_experts(g, s, n);
            add_parameter(&o, parameter, l->part[i], elements_here(g, s, n, parameter));
        }
    }
    for (int32_t t = 0; t < g->n_tensors; t++)
        l->tensors += cm__t(g, t)->role == CM_ROLE_PARAMETER && !cm__t(g, t)->frozen;
    return o;
}

/* Those of another plan that gives a device the same parts of them. */
static void take_parameters(cm__layering *l, const cm__layering *other)
{
    l->parameters = other->parameters;
    l->all_parameters = other->all_parameters;
    l->tied_parameters = other->tied_parameters;
    l->weight_bytes = other->weight_bytes;
    l->tensors = other->tensors;
}

static void add_gradients(cm__ctx *ctx, const owning *o, cm__layering *l)
{
    const cm_graph *g = o->g;
    int32_t at = g->n_nodes - 1;
    while (at >= 0 && g->nodes[at].op != CM_OP_UPDATE) at--;
    if (at < 0) return;
    const cm_node *update = &g->nodes[at];
    l->gradients = cm__alloc_array(ctx, (size_t)update->n_inputs + 1, sizeof *l->gradients);
    for (int32_t i = update->n_inputs - 1; i > 0; i--) {
        const cm_tensor *gradient = cm__t(g, update->inputs[i]);
        if (gradient->role != CM_ROLE_PARAMETER_GRADIENT || gradient->producer < 0) continue;
        int32_t parameter = update->inputs[i - 1];
        l->gradients[l->n_gradients++] = (cm__layer_gradient){.elements = o->on_device[parameter],
                                                              .producer = gradient->producer,
                                                              .part = l->part[gradient->producer],
                                                              .expert = o->expert[parameter]};
    }
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A tensor made in one part and read in a later one crosses all boundaries between them. */
static void add_boundaries(cm__ctx *ctx, const cm_graph *g, cm__layering *l)
{
    int32_t *last = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *last);
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; g->nodes[i].phase == CM_FORWARD && j < g->nodes[i].n_inputs; j++)
            if (cm__has(&g->nodes[i], j) && l->part[i] > last[g->nodes[i].inputs[j]])
                last[g->nodes[i].inputs[j]] = l->part[i];
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = cm__t(g, t);
        if (x->producer < 0 || g->nodes[x->producer].phase != CM_FORWARD || g->nodes[x->producer].view) continue;
        for (int32_t b = l->part[x->producer]; b < last[t]; b++) {
            l->boundaries = cm__grow(ctx, l->boundaries, l->n_boundaries, &l->cap_boundaries, sizeof *l->boundaries);
            l->boundaries[l->n_boundaries++] =
                (cm__layer_tensor){.tensor = t, .part = b, .bytes = cm_tensor_bytes(x), .by = 1};
        }
    }
}

/* True: the activation of a gated product, such as SwiGLU's. */
static bool is_gate(const cm_graph *g, int32_t tensor)
{
    const cm_tensor *x = cm__t(g, tensor);
    if (x->producer < 0 || !cm__ops[g->nodes[x->producer].op].gate) return false;
    for (int32_t i = x->producer + 1; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        for (int32_t k = 0; g->nodes[i].op == CM_OP_MUL && k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] == tensor) return true;
    return false;
}

/* True: a product before reads another 8-bit copy of the same tensor. */
static bool is_cast_again(const cm_graph *g, const cm__layering *l, int32_t tensor)
{
    int32_t        from = cm__t(g, tensor)->producer;
    const cm_node *n = from >= 0 ? &g->nodes[from] : NULL;
    if (!n || !cm__is_scaled_cast(g, n)) return false;
    for (int32_t i = from - 1; i >= 0 && l->part[i] == l->part[from]; i--)
        if (cm__is_scaled_cast(g, &g->nodes[i]) && g->nodes[i].inputs[0] == n->inputs[0]) return true;
    return false;
}

/* Activations that the middle layer's forward makes and backward reads. */
static bool is_kept(const cm_graph *g, const cm__layering *l, int32_t t)
{
    const cm_tensor *x = cm__t(g, t);
    if (x->storage != t || x->born < 0 || l->part[x->born] != l->count / 2) return false;
    if (x->role == CM_ROLE_CAST) return false; /* a copy of a weight */
    if (g->nodes[x->born].phase != CM_FORWARD || x->dies >= g->n_nodes) return false;
    return g->nodes[x->dies].phase != CM_FORWARD;
}

/* True: experts' results that the kernel of their activation has weighed. */
static bool is_weighed(const cm_graph *g, int32_t tensor)
{
    int32_t from = cm__t(g, tensor)->producer;
    if (from < 0 || !cm__weighs_inside(CM_RUNTIME_MEGATRON, g->asked.software)) return false;
    for (int32_t i = from + 1; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        if (g->nodes[i].op == CM_OP_MUL && g->nodes[i].inputs[0] == tensor) return cm__weighs_results(g, &g->nodes[i]);
    return false;
}

/* Values of an attention that lie in a tensor; -1: there are none. */
static int32_t values_in(const cm_graph *g, int32_t tensor)
{
    int32_t from = cm__t(g, tensor)->producer;
    for (int32_t i = from + 1; from >= 0 && i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++) {
        int32_t values = g->nodes[i].op == CM_OP_ATTENTION ? cm__values_alone(g, &g->nodes[i]) : -1;
        if (values >= 0 && cm__t(g, values)->storage == tensor) return values;
        if (g->nodes[i].block != g->nodes[from].block) return -1;
    }
    return -1;
}

static cm__layer_tensor kept_tensor(const cm_graph *g, const cm__layering *l, int32_t t)
{
    int32_t values = values_in(g, t);
    cm_poly bytes = cm_tensor_bytes(cm__t(g, t)), stored = values >= 0 ? cm_tensor_bytes(cm__t(g, values)) : bytes;
    if (is_gate(g, t) || is_cast_again(g, l, t) || is_weighed(g, t)) stored = (cm_poly){{0}};
    return (cm__layer_tensor){.tensor = t, .part = l->count / 2, .bytes = bytes, .fused_bytes = stored};
}

/* Plans differ in the part of each that a device has. */
static void add_kept(cm__ctx *ctx, const cm_graph *g, const cm__shards *s, cm__layering *l, const cm__layering *other)
{
    int32_t count = other ? other->n_kept : g->n_tensors;
    for (int32_t i = 0; i < count; i++) {
        if (!other && !is_kept(g, l, i)) continue;
        cm__layer_tensor x = other ? other->kept[i] : kept_tensor(g, l, i);
        x.by = s->tp > 1 && (s->split[x.tensor] || s->sequence) ? s->tp : 1;
        l->kept = cm__grow(ctx, l->kept, l->n_kept, &l->cap_kept, sizeof *l->kept);
        l->kept[l->n_kept++] = x;
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Follows casts and views back to their source; each product that reads the source has a cast of its own. */
static int32_t before_casts(const cm_graph *g, int32_t tensor)
{
    for (int32_t from = cm__t(g, tensor)->producer; from >= 0; from = cm__t(g, tensor)->producer) {
        const cm_node *n = &g->nodes[from];
        if (n->op != CM_OP_CAST && !n->view) break;
        tensor = n->inputs[0];
    }
    return tensor;
}

/* How tensor-parallel devices divide the parameter of a product. */
static cm__division division_of(const cm_graph *g, const cm__shards *s, const cm_node *forward)
{
    if (s->whole_experts && cm__is_expert(g, forward)) return CM__WHOLE;
    return cm__division_of(g, forward, s->split);
}

/* The tensor that devices sum after a node; -1: none. */
static int32_t summed(const cm_graph *g, const cm__shards *s, const cm_node *n, int32_t *counted)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    cm__division   division = division_of(g, s, forward);
    if (n->phase != CM_BACKWARD) {
        bool table = cm__is_table(n) && cm__has(n, 0) && cm__in(g, n, 0)->role == CM_ROLE_PARAMETER && cm__has(n, 1) &&
                     cm__in(g, n, 1)->dims && cm__in(g, n, 1)->dims[0].per_batch > 0;
        return division == CM__ROWS || table ? n->outputs[0] : -1;
    }
    int32_t read = before_casts(g, forward->inputs[0]);
    if (!cm__is_input_gradient(n, forward) || division != CM__COLUMNS) return -1;
    /* Products that read the same input (Q, K and V) share one all-reduce: their gradients are added first. */
    return counted[read]++ ? -1 : n->outputs[0];
}

/* Whether a product reads what an all-gather joins: in backward the gradient of a product divided by rows, in other
   passes the input of one divided by columns. */
static bool reads_gathered(const cm_graph *g, const cm__shards *s, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    if (n->view || n->phase == CM_UPDATE || cm__class(forward) != CM_CLASS_GEMM) return false;
    cm__division division = division_of(g, s, forward);
    if (n->phase != CM_BACKWARD) return division == CM__COLUMNS;
    return division == CM__ROWS && cm__is_input_gradient(n, forward);
}

/* The operand of a product of backward, before casts; -1: another pass. */
static int32_t input_of(const cm_graph *g, const cm_node *n)
{
    return n->phase == CM_BACKWARD && n->source >= 0 ? before_casts(g, g->nodes[n->source].inputs[0]) : -1;
}

static int32_t *none_per_node(cm__ctx *ctx, const cm_graph *g)
{
    int32_t *numbers = cm__alloc_unset(ctx, (size_t)g->n_nodes + 1, sizeof *numbers);
    for (int32_t i = 0; i <= g->n_nodes; i++) numbers[i] = -1;
    return numbers;
}

static void find_weight_inputs(cm__ctx *ctx, const cm_graph *g, cm__layering *l)
{
    l->weight_input = none_per_node(ctx, g);
    for (int32_t i = cm__twin_next(l->twins, -1); i < g->n_nodes; i = cm__twin_next(l->twins, i)) {
        const cm_node *n = &g->nodes[i], *forward = n->source >= 0 ? &g->nodes[n->source] : n;
        bool           makes = n->phase == CM_BACKWARD && cm__class(forward) == CM_CLASS_GEMM &&
                               !cm__is_input_gradient(n, forward);
        if (makes) l->weight_input[i] = input_of(g, n);
    }
}

static void add_sum(cm__ctx *ctx, cm__layering *l, cm__layer_sum sum)
{
    l->sums = cm__grow(ctx, l->sums, l->n_sums, &l->cap_sums, sizeof *l->sums);
    l->sums[l->n_sums++] = sum;
}

/* A layer's recomputation while add_sums() passes over it. */
typedef struct repeating {
    bool    attention;
    int32_t node;  /* product that reads gathered tokens, after the last sum; -1: none */
    cm_poly bytes; /* of the last sum */
} repeating;

/* A layer that is recomputed with its attention, but without its last product: no sum follows the last products that
   read gathered tokens, so their all-gather has an entry of its own. As many bytes as in the sum before it. */
static void add_gather(cm__ctx *ctx, cm__layering *l, const repeating *r, int32_t *order)
{
    if (!r->attention || r->node < 0) return;
    add_sum(ctx, l, (cm__layer_sum){.part = l->part[r->node], .gathers = true, .node = r->node, .input = -1,
                                    .order = (*order)++, .products = 1, .bytes = r->bytes});
}

static void follow(repeating *r, const cm_node *n, int32_t node, int32_t summed, bool gathered, const cm_graph *g)
{
    if (n->op == CM_OP_ATTENTION) r->attention = true;
    if (gathered) r->node = node;
    if (summed < 0) return;
    r->node = -1;
    r->bytes = cm_tensor_bytes(cm__t(g, summed));
}

static void add_sums(cm__ctx *ctx, const cm_graph *g, const cm__shards *s, cm__layering *l)
{
    repeating again = {.node = -1};
    int32_t *counted = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *counted), orders[2] = {0};
    l->gathered_for = none_per_node(ctx, g);
    for (int32_t i = cm__twin_next(l->twins, -1); i < g->n_nodes; i = cm__twin_next(l->twins, i)) {
        const cm_node *n = &g->nodes[i];
        bool           back = n->phase == CM_BACKWARD;
        int32_t        tensor = n->view || n->phase == CM_UPDATE ? -1 : summed(g, s, n, counted);
        bool           loss = cm__ops[n->op].shard == CM__SHARD_classes && s->split[n->inputs[0]];
        bool           gathered = reads_gathered(g, s, n);
        if (n->phase != CM_RECOMPUTE) {
            add_gather(ctx, l, &again, &orders[0]);
            again = (repeating){.node = -1};
        }
        if (gathered) l->gathered_for[i] = orders[back];
        if (loss)
            add_sum(ctx, l, (cm__layer_sum){.part = l->part[i], .forward = true, .loss = true, .input = -1, .node = i,
                                            .bytes = cm_tensor_elements(cm__in(g, n, 1))});
        if (tensor >= 0)
            add_sum(ctx, l, (cm__layer_sum){.part = l->part[i], .forward = n->phase == CM_FORWARD, .node = i,
                                            .input = input_of(g, n), .order = orders[back]++,
                                            .products = !cm__is_table(n),
                                            .bytes = cm_tensor_bytes(cm__t(g, tensor))});
        if (n->phase == CM_RECOMPUTE) follow(&again, n, i, tensor, gathered, g);
    }
    for (int32_t i = 0; i < l->n_sums; i++)
        if (l->sums[i].input >= 0) l->sums[i].products = counted[l->sums[i].input];
}

/* The sums depend on which tensors are divided, not on the number of devices that divide them. */
static void find_sums(cm__ctx *ctx, const cm_graph *g, const cm__shards *s, cm__layering *l, const cm__layering *other)
{
    const cm__shards *its = other ? other->shards : NULL;
    if (its && its->tp > 1 && its->split == s->split && its->whole_experts == s->whole_experts) {
        l->sums = other->sums;
        l->n_sums = other->n_sums;
        l->gathered_for = other->gathered_for;
        l->weight_input = other->weight_input;
        return;
    }
    add_sums(ctx, g, s, l);
    find_weight_inputs(ctx, g, l);
}

static void find_attentions(cm__ctx *ctx, const cm_graph *g, cm__layering *l)
{
    for (int32_t i = cm__twin_next(l->twins, -1); i < g->n_nodes; i = cm__twin_next(l->twins, i)) {
        const cm_node *n = &g->nodes[i], *forward = n->source >= 0 ? &g->nodes[n->source] : n;
        if (cm__class(n) != CM_CLASS_ATTENTION || forward->n_inputs < 3) continue;
        l->attentions = cm__grow(ctx, l->attentions, l->n_attentions, &l->cap_attentions, sizeof *l->attentions);
        l->attentions[l->n_attentions++] = i;
    }
}

static void find_experts(cm__ctx *ctx, const cm_graph *g, cm__layering *l)
{
    for (int32_t i = cm__twin_next(l->twins, -1); i < g->n_nodes; i = cm__twin_next(l->twins, i)) {
        const cm_node *n = &g->nodes[i];
        if (!cm__is_expert(g, n->source >= 0 ? &g->nodes[n->source] : n)) continue;
        l->experts = cm__grow(ctx, l->experts, l->n_experts, &l->cap_experts, sizeof *l->experts);
        l->experts[l->n_experts++] = i;
    }
}

/* True: the layers of both plans have the same tensors. How many parts a sequence has does not matter, since the batch
   counts the samples of one part. */
static bool same_layering(const cm__shards *a, const cm__shards *b)
{
    return cm__same_parameters(a, b) && a->sequence == b->sequence && (a->cp > 1) == (b->cp > 1);
}

cm__layering *cm__layering_new(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *calls, const cm__layering *other)
{
    const cm__shards *s = &calls->shards;
    cm__layering     *l = cm__alloc(ctx, sizeof *l);
    if (other && calls->twins && other->twins == calls->twins && same_layering(s, other->shards)) {
        *l = *other;
        l->shards = s;
        return l;
    }
    l->count = cm__part_count(g);
    l->part = cm__part_map(ctx, g);
    l->shards = s;
    l->twins = calls->twins;
    if (other && l->twins && cm__same_parameters(s, other->shards)) take_parameters(l, other);
    else {
        owning o = add_parameters(ctx, g, s, l);
        if (!l->twins) add_gradients(ctx, &o, l);
    }
    if (!other) add_boundaries(ctx, g, l);
    else l->boundaries = other->boundaries, l->n_boundaries = other->n_boundaries;
    add_kept(ctx, g, s, l, other);
    if (s->tp > 1) find_sums(ctx, g, s, l, other);
    if (s->cp > 1) find_attentions(ctx, g, l);
    if (s->ep > 1) find_experts(ctx, g, l);
    return l;
}
