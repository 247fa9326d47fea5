/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c - time a model's layers for a plan search, once per tensor-parallel size and micro-batch. All layers are
   assumed to be alike: each has the mean time. */
#include <math.h>
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "graph/training/train.h"
#include "model/memory/footprint.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/execution/execution.h"
#include "plan/search.h"

/* ---- independent of the plan ------------------------------------------------------------------------------------ */

static void find_shape(cm__model *m)
{
    m->tokens = m->heads = 1;
    m->layers = cm__part_count(m->step) - 2;
    for (int32_t i = 0; i < m->step->n_nodes; i++) {
        const cm_node   *n = &m->step->nodes[i];
        const cm_tensor *q = n->op == CM_OP_ATTENTION && cm__has(n, 0) ? cm__in(m->step, n, 0) : NULL;
        if (cm__is_expert(m->step, n)) m->experts = (int32_t)cm__in(m->step, n, 1)->dims[0].fixed;
        if (!q || q->rank < 2) continue;
        m->tokens = q->dims[q->rank - 2].fixed;
        m->heads = q->rank == 4 ? (int32_t)q->dims[1].fixed : (int32_t)cm__attr_int(n, CM_ATTR_Q_NUM_HEADS, 1);
    }
}

/* The parameter of which a tensor is a copy in another type, or the tensor itself. */
static const cm_tensor *origin_of(const cm_graph *g, const cm_tensor *x)
{
    while (x->role == CM_ROLE_CAST && x->producer >= 0 && g->nodes[x->producer].n_inputs > 0)
        x = cm__in(g, &g->nodes[x->producer], 0);
    return x;
}

/* True: it is in memory when backward begins. Backward of a frozen weight may make its own copy. */
static bool outlives_forward(const cm_graph *g, const cm_tensor *x)
{
    bool made = x->born < 0 || g->nodes[x->born].phase == CM_FORWARD;
    return made && (x->dies >= g->n_nodes || (x->dies >= 0 && g->nodes[x->dies].phase != CM_FORWARD));
}

static void find_bytes(cm__model *m)
{
    const cm_graph *g = m->step;
    double          numbers = 0, weights = 0, gradients = 0, states = 0, frozen = 0, copies = 0;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = cm__t(g, t), *from = origin_of(g, x);
        bool             weight = x->role == CM_ROLE_PARAMETER || x->role == CM_ROLE_CAST;
        double          *sum = weight && from->frozen                      ? (x == from ? &frozen : &copies)
                               : weight                                    ? &weights
                               : x->role == CM_ROLE_PARAMETER_GRADIENT     ? &gradients
                               : x->role == CM_ROLE_STATE                  ? &states
                                                                           : NULL;
        if (x->role == CM_ROLE_PARAMETER && !x->frozen) numbers += cm_tensor_elements(x).c[0];
        if (x->producer >= 0 && g->nodes[x->producer].op == CM_OP_UNPACK) continue;
        if (x->role == CM_ROLE_CAST && (g->asked.megatron.narrow_weights || !outlives_forward(g, x))) continue;
        if (sum && x->storage == t) *sum += cm_tensor_bytes(x).c[0];
    }
    if (numbers <= 0) cm__fail(m->ctx, CM_ERR_ARGUMENT, "the model has no parameters to train");
    m->weight_bytes = weights / numbers;
    m->buffered = cm__buffers_gradients(m->runtime);
    m->gradient_bytes = gradients / numbers * cm__gradient_copies(g, m->runtime);
    m->state_bytes = states / numbers;
    m->frozen_copies = frozen > 0 ? 1 + copies / frozen : 1;
}

static void find_kept(cm__model *m)
{
    int32_t *block = cm__alloc_array(m->ctx, (size_t)m->step->n_nodes + 1, sizeof *block);
    for (int32_t i = 0; i < m->step->n_nodes; i++) block[i] = m->step->nodes[i].block;
    m->keeps = cm__kept_products(m->ctx, m->step, block, m->step->n_nodes);
}

/* Lists the tensors that the memory of a cost depends on: those made in the last part, and those of the middle layer
   that selective recomputation keeps. */
static void list_tensors(cm__model *m)
{
    const cm_graph *g = m->step;
    m->last = cm__alloc_array(m->ctx, (size_t)g->n_tensors + 1, sizeof *m->last);
    m->middle = cm__alloc_array(m->ctx, (size_t)g->n_nodes + 1, sizeof *m->middle);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = cm__t(g, t);
        if (x->storage != t || x->born < 0 || x->dies >= g->n_nodes) continue;
        if (cm__class(&g->nodes[x->born]) == CM_CLASS_UPDATE || m->part[x->born] != m->layers + 1) continue;
        m->last[m->n_last++] = t;
    }
    for (int32_t i = 0; m->keeps && i < g->n_nodes; i++)
        if (m->keeps[i] && m->part[i] == cm__part_count(g) / 2 && g->nodes[i].outputs[0] >= 0)
            m->middle[m->n_middle++] = g->nodes[i].outputs[0];
}

cm__model *cm__model_of_step(cm__ctx *ctx, const cm_graph *step, cm_runtime runtime)
{
    cm__model *m = cm__alloc(ctx, sizeof *m);
    *m = (cm__model){.ctx = ctx, .step = step, .runtime = runtime};
    m->part = cm__part_map(ctx, step);
    m->units = cm__units_of(ctx, step);
    if (cm__is_pytorch(runtime)) find_kept(m);
    find_shape(m);
    find_bytes(m);
    list_tensors(m);
    return m;
}

cm__model *cm__model_on(cm__ctx *ctx, const cm__model *step, const cm_device *device, const cm_fabric *fabric)
{
    cm__model       *m = cm__alloc(ctx, sizeof *m);
    const cm_memory *main = cm_device_main_memory(device);
    *m = *step;
    m->ctx = ctx;
    m->device = device;
    m->fabric = fabric;
    m->timer = cm__alloc(ctx, sizeof *m->timer);
    if (!main || !main->capacity_bytes.known)
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "the device's memory capacity is unknown, so no plan can be checked to fit");
    m->reserve_bytes = cm__library_bytes(device, m->runtime);
    m->capacity_bytes = cm__allocatable_bytes(device, m->runtime, m->step, main->capacity_bytes.value);
    m->whole = cm__execution_applies(device, m->runtime);
    return m;
}

cm__model *cm__model_new(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_fabric *fabric,
                         cm_runtime runtime)
{
    return cm__model_on(ctx, cm__model_of_step(ctx, step, runtime), device, fabric);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

static void add_part(cm__part *sum, const cm__part *p, double weight)
{
    sum->forward_s += weight * p->forward_s;
    sum->backward_s += weight * p->backward_s;
    sum->forward_comm_s += weight * p->forward_comm_s;
    sum->backward_comm_s += weight * p->backward_comm_s;
    sum->host_s += weight * p->host_s;
    sum->parameters += weight * p->parameters;
    sum->experts += weight * p->experts;
    sum->frozen_bytes += weight * p->frozen_bytes;
    sum->boundary_bytes += weight * p->boundary_bytes;
    sum->launches += weight * p->launches;
    sum->forward_launches += weight * p->forward_launches;
    sum->units += weight * p->units;
}

/* Adds forward calls of a layer that selective recomputation repeats. */
static void add_repeated(const cm__model *m, const cm__step_model *s, const cm__timed *timed, cm__cost *c)
{
    for (int32_t i = 0; i < s->calls->n_of; i++) {
        int32_t        at = s->calls->node[i];
        const cm_node *n = &m->step->nodes[at];
        bool           again = m->keeps ? n->block >= 0 && !m->keeps[at] : cm__class(n) == CM_CLASS_ATTENTION;
        if (n->phase != CM_FORWARD || !again || m->layers < 1) continue;
        double count = (double)cm__twin_count(s->calls->twins, m->step, m->part, at) / m->layers;
        c->again_s += count * timed[s->calls->of[i]].time_s;
        c->again_launches += count * timed[s->calls->of[i]].launches;
    }
}

/* Bytes of a layer that selective recomputation keeps. */
static double selective_bytes(const cm__model *m, const cm__step_model *s, const cm__cost *c)
{
    double sum = c->boundary_bytes;
    if (!m->keeps) return c->kept_bytes - c->parts.scores_bytes;
    for (int32_t i = 0; i < m->n_middle; i++) {
        int32_t y = m->middle[i];
        cm_poly bytes = cm_tensor_bytes(cm__t(m->step, y));
        bool    shared = c->tp > 1 && (s->calls->shards.split[y] || c->sequence);
        sum += cm__poly_at(&bytes, c->samples) / (shared ? c->tp : 1);
    }
    return fmin(sum, c->kept_bytes);
}

static void add_memory(const cm__model *m, const cm__step_model *s, cm__cost *c)
{
    const cm_graph *g = m->step;
    double          largest = 0;
    for (int32_t i = 0; i < m->n_last; i++) {
        int32_t          t = m->last[i];
        const cm_tensor *x = cm__t(g, t);
        cm_poly bytes = cm_tensor_bytes(x);
        bool    shared = c->tp > 1 && (s->calls->shards.split[t] || c->sequence);
        double  here = cm__poly_at(&bytes, c->samples) / (shared ? c->tp : 1);
        bool    kept = g->nodes[x->born].phase == CM_FORWARD && g->nodes[x->dies].phase != CM_FORWARD;
        if (kept) c->last_bytes += here;
        else largest = fmax(largest, here);
    }
    c->last_bytes += largest;
    c->kept_bytes = c->parts.kept_bytes;
    c->boundary_bytes = c->layer.boundary_bytes / (c->sequence ? c->tp : 1);
    c->selective_bytes = selective_bytes(m, s, c);
}

static cm__step_model *step_for(cm__model *m, const cm_plan *plan)
{
    int64_t key = (((int64_t)plan->cp * 65536 + plan->tp) * (m->experts + 1) + plan->ep) * 2 + plan->sequence_parallel;
    int32_t capacity = m->cap_steps;
    cm_plan layers = {.tp = plan->tp, .ep = plan->ep, .cp = plan->cp, .sequence_parallel = plan->sequence_parallel,
                      .async_tensor = plan->async_tensor}; /* the same for all plans of a search */
    for (int32_t i = 0; i < m->n_steps; i++)
        if (m->step_key[i] == key) return &m->steps[i];
    m->steps = cm__grow(m->ctx, m->steps, m->n_steps, &m->cap_steps, sizeof *m->steps);
    m->step_key = cm__grow(m->ctx, m->step_key, m->n_steps, &capacity, sizeof *m->step_key);
    m->step_key[m->n_steps] = key;
    const cm__common *common =
        m->shared ? cm__shared_layers(m->shared, m->step, m->device, m->runtime, &layers) : NULL;
    m->steps[m->n_steps] = cm__step_model_new(m->ctx, m->step, m->device,
                                              &(cm_predict_options){.runtime = m->runtime, .plan = layers}, common);
    /* a small part of an iteration, if devices share it or micro-batches precede it */
    m->steps[m->n_steps].updates = 0;
    /* plans differ in which calls they make, not in how long a call takes */
    if (*m->timer) m->steps[m->n_steps].timer = *m->timer;
    else cm__timer_remember(*m->timer = m->steps[0].timer);
    return &m->steps[m->n_steps++];
}

static bool is_cost(const cm__cost *c, const cm_plan *p, double samples)
{
    return c->tp == p->tp && c->ep == p->ep && c->sequence == p->sequence_parallel && c->cp == p->cp &&
           c->samples == samples;
}

static int32_t *newest_of(cm__model *m, const cm_plan *p, double samples)
{
    uint64_t key = ((uint64_t)(samples * p->cp) * 31 + (uint64_t)p->tp) * 31 + (uint64_t)p->cp;
    key = (key * 31 + (uint64_t)p->ep) * 2 + p->sequence_parallel;
    return &m->newest[key * 0x9e3779b97f4a7c15u >> 32 & (CM__NEWEST - 1)];
}

int32_t cm__cost_keep(cm__model *m, const cm__cost *cost)
{
    cm_plan  at = {.tp = cost->tp, .ep = cost->ep, .cp = cost->cp, .sequence_parallel = cost->sequence};
    int32_t *newest = newest_of(m, &at, cost->samples);
    m->costs = cm__grow(m->ctx, m->costs, m->n_costs, &m->cap_costs, sizeof *m->costs);
    m->costs[m->n_costs] = *cost;
    m->costs[m->n_costs].older = *newest;
    *newest = m->n_costs + 1;
    return m->n_costs++;
}

static void join_parts(const cm__model *m, cm__cost *c)
{
    c->first = c->layer = c->last = (cm__part){0};
    add_part(&c->first, &c->parts.all[0], 1);
    add_part(&c->last, &c->parts.all[c->parts.count - 1], 1);
    for (int32_t i = 1; i < c->parts.count - 1; i++) add_part(&c->layer, &c->parts.all[i], 1.0 / m->layers);
}

/* The parts themselves end with the scratch memory. */
static void forget_parts(cm__cost *c)
{
    c->parts.all = NULL;
    c->parts.gradients = NULL;
    c->parts.count = c->parts.n_gradients = 0;
}

static cm__cost cost_of(cm__model *m, cm__step_model *s, const cm_plan *p, int64_t micro_batch)
{
    cm__ctx *scratch = cm__scratch_new(m->ctx);
    cm__cost c = {.tp = p->tp, .ep = p->ep, .sequence = p->sequence_parallel, .cp = p->cp,
                  .samples = (double)micro_batch / p->cp};
    c.parts = cm__parts_sizes(scratch, s, m->fabric, (double)micro_batch, p->cp);
    join_parts(m, &c);
    add_memory(m, s, &c);
    forget_parts(&c);
    cm__scratch_free(scratch);
    return c;
}

int32_t cm__cost_sizes_at(cm__model *m, const cm_plan *plan, int64_t micro_batch, int32_t cp)
{
    cm_plan at = *plan, *p = &at;
    double  samples = (double)micro_batch / cp;
    p->cp = cp;
    for (int32_t i = *newest_of(m, p, samples); i; i = m->costs[i - 1].older)
        if (is_cost(&m->costs[i - 1], p, samples)) return i - 1;
    /* sizes depend on whether the tokens of a sequence are divided; the number of parts is in the batch */
    cm_plan  like = at;
    if (cp > 1) like.cp = 2;
    cm__cost c = cost_of(m, step_for(m, &like), p, micro_batch);
    return cm__cost_keep(m, &c);
}

void cm__cost_time(cm__model *m, int32_t cost, const cm_plan *plan, int64_t micro_batch)
{
    cm__cost *c = &m->costs[cost];
    cm_plan   at = *plan;
    if (c->timed) return;
    at.cp = c->cp;
    cm__step_model *s = step_for(m, &at);
    cm__ctx        *scratch = cm__scratch_new(m->ctx);
    cm__timed      *timed = cm__alloc_array(scratch, (size_t)s->calls->n_calls, sizeof *timed);
    c->parts = cm__parts_new(scratch, s, m->fabric, (double)micro_batch, c->cp, timed);
    join_parts(m, c);
    add_repeated(m, s, timed, c);
    c->timed = true;
    forget_parts(c);
    cm__scratch_free(scratch);
}

int32_t cm__cost_at(cm__model *m, const cm_plan *plan, int64_t micro_batch, int32_t cp)
{
    int32_t cost = cm__cost_sizes_at(m, plan, micro_batch, cp);
    cm__cost_time(m, cost, plan, micro_batch);
    return cost;
}
