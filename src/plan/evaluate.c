/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluate.c - the plans at one place of the search: their time by cm__iterate(), their memory in closed form.
 *
 * A device stores:
 *
 *     weights, gradients and optimizer states, divided by ZeRO
 *     activations of the micro-batches in flight: as many as there are stages after this one, a few more with
 *         interleaving, all with GPipe; recomputation leaves each layer's input, or all but attention's activations
 *     the working memory of the current layer
 *     the loss, in the last stage
 *
 * See docs/dev/plans.md.
 */
#include <math.h>
#include "plan/search.h"
#include "graph/runtimes.h"

#define BUCKETS_BYTES (2.0 * 25 * 1024 * 1024) /* PyTorch's gradient buckets: one is filled, one is sent */

/* A plan surely fits whose estimate is below this part of the memory. Estimates of Megatron-LM's plans with 530B and 1T
   parameters are up to 10 % below the exact memory. */
#define SURE 0.8

/* ---- list of the best plans ------------------------------------------------------------------------------------- */

static bool before(const cm__scored *a, const cm__scored *b)
{
    return a->score != b->score ? a->score < b->score : a->index < b->index;
}

bool cm__same_sizes(const cm_plan *a, const cm_plan *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->pp == b->pp && a->ep == b->ep && a->micro_batch == b->micro_batch;
}

/* True: `fast`, a faster plan of the same sizes, makes `slow` unnecessary. Another choice is kept while the exact memory
   of the faster one may not fit, but only if it needs less. */
static bool dominates(const cm__scored *fast, const cm__scored *slow)
{
    return !fast->tight || slow->peak_bytes >= fast->peak_bytes;
}

static void remove_at(cm__best *best, int32_t at)
{
    best->count--;
    for (; at < best->count; at++) best->list[at] = best->list[at + 1];
}

/* Makes room for a plan by removing plans of the same sizes that it makes unnecessary; false: it is unnecessary. */
static bool replaces(cm__best *best, const cm__scored *new)
{
    for (int32_t i = 0; best->distinct && i < best->count; i++)
        if (cm__same_sizes(&best->list[i].plan, &new->plan) && before(&best->list[i], new) &&
            dominates(&best->list[i], new))
            return false;
    for (int32_t i = best->count - 1; best->distinct && i >= 0; i--)
        if (cm__same_sizes(&best->list[i].plan, &new->plan) && before(new, &best->list[i]) &&
            dominates(new, &best->list[i]))
            remove_at(best, i);
    return true;
}

static void add(cm__best *best, const cm__scored *new)
{
    if (!replaces(best, new)) return;
    int32_t at = best->count;
    if (at == CM__KEPT && !before(new, &best->list[at - 1])) return;
    if (at == CM__KEPT) at--;
    else best->count++;
    for (; at > 0 && before(new, &best->list[at - 1]); at--) best->list[at] = best->list[at - 1];
    best->list[at] = *new;
}

static void take_less(double *least, double value)
{
    if (value > 0 && (*least <= 0 || value < *least)) *least = value;
}

void cm__best_merge(cm__best *best, const cm__best *other)
{
    for (int32_t i = 0; i < other->count; i++) add(best, &other->list[i]);
    best->evaluated += other->evaluated;
    best->feasible += other->feasible;
    best->too_slow += other->too_slow;
    take_less(&best->fastest_s, other->fastest_s);
    take_less(&best->least_bytes, other->least_bytes);
}

/* ---- stages ----------------------------------------------------------------------------------------------------- */

static double device_time(const cm__part *p)
{
    return p->forward_s + p->backward_s + p->forward_comm_s + p->backward_comm_s;
}

static double backward_of(const cm__part *p) { return p->backward_s + p->backward_comm_s; }
static double comm_time(const cm__part *p) { return p->forward_comm_s + p->backward_comm_s; }

/* The share of the layers that full recomputation repeats. */
static double repeated_share(const cm__model *m, const cm_plan *p)
{
    return p->recompute_layers > 0 ? (double)p->recompute_layers / m->layers : 1;
}

/* The mean layer with the time of its recomputation. */
static cm__part layer_of(const cm__model *m, const cm__cost *c, const cm_plan *plan)
{
    cm__part p = c->layer;
    if (plan->recompute == CM_RECOMPUTE_FULL) {
        double share = repeated_share(m, plan);
        p.backward_s += share * p.forward_s;
        p.backward_comm_s += share * p.forward_comm_s;
        if (p.launches > 0) p.host_s *= 1 + share * p.forward_launches / p.launches;
    } else if (plan->recompute == CM_RECOMPUTE_SELECTIVE) {
        p.backward_s += c->again_s;
        if (p.launches > 0) p.host_s *= 1 + c->again_launches / p.launches;
    }
    return p;
}

static double host_time(const cm__cost *c, const cm__part *part, const cm_plan *p)
{
    return part->host_s + cm__part_shard_host(&c->parts, part, p);
}

static double stage_time(const cm__cost *c, double device_s, double host_s, double parameters, int32_t accumulate)
{
    double added_s = cm__accumulate_each(&c->parts, accumulate) * parameters;
    return fmax(device_s + added_s, host_s) + c->parts.batch_host_s;
}

static cm__stages stages_of(const cm__model *m, const cm__cost *c, const cm_plan *p)
{
    cm__part layer = layer_of(m, c, p);
    double   each = (double)m->layers / p->pp, inner = each * device_time(&layer),
             host = each * host_time(c, &layer, p);
    double   first_host_s = host_time(c, &c->first, p), last_host_s = host_time(c, &c->last, p);
    double   numbers = each * layer.parameters, first_s = device_time(&c->first), last_s = device_time(&c->last);
    int32_t  count = p->accumulate;
    bool     one = p->pp == 1;
    double   tied = one ? 0 : c->parts.tied_parameters;
    double   head_s = inner + first_s + (one ? last_s : 0);
    double   head_host_s = host + first_host_s + (one ? last_host_s : 0);
    double   head = stage_time(c, head_s, head_host_s,
                               numbers + c->first.parameters + (one ? c->last.parameters : 0), count);
    double   tail = one ? 0
                        : stage_time(c, inner + last_s, host + last_host_s,
                                     numbers + c->last.parameters + tied, count);
    double   middle = p->pp > 2 ? stage_time(c, inner, host, numbers, count) : 0;
    bool     at_tail = tail > head;
    const cm__part *edge = at_tail ? &c->last : &c->first;
    cm__stages st = {.sum_s = head + tail + (p->pp > 2 ? p->pp - 2 : 0) * middle,
                     .longest_s = fmax(head, fmax(tail, middle)),
                     .backward_s = each * (layer.backward_s + layer.backward_comm_s) + backward_of(edge) +
                                   (one ? backward_of(&c->last) : 0),
                     .longest_comm_s = each * comm_time(&layer) + comm_time(edge) + (one ? comm_time(&c->last) : 0),
                     .exchange_bytes = one ? 0 : layer.boundary_bytes,
                     .update_host_s = c->parts.update_host_s,
                     .first_parameters = c->first.parameters,
                     .stretch = head_s > 0 ? fmax(1, head_host_s / head_s) : 1,
                     .parts = (int32_t)(each + 0.5) + (one ? 2 : 1)};
    st.parameters = numbers + fmax(c->first.parameters + (one ? c->last.parameters : 0), c->last.parameters + tied);
    st.experts = each * layer.experts;
    st.frozen_bytes = each * layer.frozen_bytes + c->first.frozen_bytes + (one ? c->last.frozen_bytes : 0);
    st.update_s = c->parts.updated > 0 ? c->parts.update_s * st.parameters / c->parts.updated : 0;
    st.offload_update_s = 2 * st.parameters * c->parts.gradient_bytes / c->parts.host_bytes_s;
    st.offload_weights_s = st.offload_update_s + 2 * st.frozen_bytes / c->parts.host_bytes_s;
    st.offload_kept_s = 2 * each * c->kept_bytes / c->parts.host_bytes_s;
    return st;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Memory terms that all choices at a place share. */
typedef struct place_memory {
    double kept, whole;     /* bytes per layer: stored from forward to backward; while the layer runs */
    double layers, parameters, experts, last_bytes, frozen_bytes; /* experts: part of parameters */
} place_memory;

static place_memory memory_at(const cm__model *m, const cm__cost *c, const cm_plan *p, const cm__stages *st)
{
    double share = repeated_share(m, p);
    double kept = p->recompute == CM_RECOMPUTE_FULL ? share * c->boundary_bytes + (1 - share) * c->kept_bytes
                  : p->recompute == CM_RECOMPUTE_SELECTIVE ? c->selective_bytes
                                                           : c->kept_bytes;
    return (place_memory){.kept = kept, .whole = c->kept_bytes, .layers = (double)m->layers / p->pp,
                          .parameters = st->parameters,
                          .experts = st->parameters > 0 ? st->experts / st->parameters : 0,
                          .last_bytes = c->last_bytes, .frozen_bytes = st->frozen_bytes};
}

static double in_flight(const cm_plan *p)
{
    double stages = p->pp, most = p->accumulate;
    if (p->gpipe) return most;
    double count = p->interleave > 1 ? stages * (1 + (stages - 1) / (stages * p->interleave)) : stages;
    return fmin(count, most);
}

/* Buffers beside gradients and weights, as in shards.c. */
static double buckets_of(const cm__model *m, const cm_plan *p, double gradients)
{
    if (cm__replicas(p) < 2 || (m->buffered && p->zero < 3)) return 0;
    if (p->zero < 2) return p->zero ? BUCKETS_BYTES : gradients;
    return ((p->zero == 3 ? m->units.gathered_bytes : 0) + 2 * m->units.gradient_bytes) / p->tp;
}

static double peak_of(const cm__model *m, const place_memory *h, const cm_plan *p)
{
    double replicas = cm__sharing(p, h->experts);
    double states = p->offload_optimizer ? 0 : m->state_bytes / (p->zero >= 1 ? replicas : 1);
    bool   fsdp = m->step->master && !m->buffered && p->zero >= 2; /* shards of fp32 weights and gradients */
    bool   divided = p->zero >= 2 && !cm__gradients_wait(p, m->runtime);
    double gradients = m->gradient_bytes * (fsdp ? 2 : 1) / (divided ? replicas : 1);
    double weights = fsdp && p->zero == 3 ? 0 : m->weight_bytes / (p->zero >= 3 ? replicas : 1);
    double frozen = m->frozen_copies * h->frozen_bytes / (p->zero >= 3 ? replicas : 1);
    /* one layer's weights are in use, the next layer's are transferred */
    if (p->offload_weights) weights *= fmin(1, 2 / h->layers), frozen *= fmin(1, 2 / h->layers);
    double buckets = buckets_of(m, p, m->gradient_bytes * h->parameters);
    double layers = p->offload_activations ? fmin(2, h->layers) : h->layers;
    double kept = h->kept * layers, most = in_flight(p);
    double first = kept * (p->offload_activations ? 1 : most) + h->whole;
    double last = kept * (p->gpipe && !p->offload_activations ? most : 1) + fmax(h->whole, h->last_bytes);
    return m->reserve_bytes + h->parameters * (weights + gradients + states) + frozen + buckets +
           (p->pp == 1 ? kept + fmax(h->whole, h->last_bytes) : fmax(first, last));
}

/* ---- all choices at a place ------------------------------------------------------------------------------------- */

static bool pieces_fit(const cm__model *m, const cm_plan *p, int32_t pieces)
{
    if (pieces == 1) return true;
    return p->pp > 1 && m->layers / p->pp % pieces == 0 && p->accumulate % p->pp == 0; /* as Megatron-LM requires */
}

/* Choices of early gradient reduction: Megatron-LM has it as an option, PyTorch always does it. */
static unsigned overlaps(const cm__model *m, const cm_plan *p)
{
    return cm__buffers_gradients(m->runtime) && p->dp * p->cp > 1 ? 2 : 1;
}

uint64_t cm__plans_at(const cm__model *m, const cm_plan *p)
{
    if (m->whole) return 1;
    uint64_t pieces = 0, zero = cm__replicas(p) > 1 ? 4 : 1, schedules = p->pp > 1 ? 2 : 1, offloads = 8;
    for (int32_t v = 1; v <= m->layers / p->pp || v == 1; v++) pieces += pieces_fit(m, p, v);
    return (pieces + schedules - 1) * zero * offloads * overlaps(m, p); /* GPipe has no interleaving */
}

/* Values that all choices of a place share, for one step. */
typedef struct at_place {
    const cm__model *m;
    const cm__cost  *c;
    cm_plan          plan;
    cm__stages       st;
    place_memory     h;
    cm__waits        w;
    bool             slow; /* of cm__spot: its costs have no times */
    bool             has_waits; /* false: not computed yet, because no plan has fitted the memory so far */
} at_place;

/* zero: FSDP's modules take time of the host if it shards weights. */
static at_place place_of(const cm__model *m, int32_t cost, cm_plan plan, int32_t zero)
{
    at_place at = {.m = m, .c = &m->costs[cost], .plan = plan};
    at.plan.zero = zero;
    at.st = stages_of(m, at.c, &at.plan);
    at.h = memory_at(m, at.c, &at.plan, &at.st);
    return at;
}

static const cm__waits *waits_of(at_place *at)
{
    if (!at->has_waits) at->w = cm__waits_new(&at->c->parts, &at->st, &at->plan, at->m->fabric);
    at->has_waits = true;
    return &at->w;
}

static void try_plan(at_place *at, const cm_plan *p, uint64_t index, cm__score *score, void *user, cm__best *best)
{
    const cm__model *m = at->m;
    double           peak = peak_of(m, &at->h, p);
    best->evaluated++;
    take_less(&best->least_bytes, peak);
    if (peak > m->capacity_bytes) return;
    if (at->slow) {
        best->feasible++;
        return;
    }
    cm__iteration it = cm__iterate(&at->st, waits_of(at), p, cm__is_megatron(m->runtime));
    cm__scored    new = {.score = score ? score(user, p, it.step_s) : it.step_s, .step_s = it.step_s,
                         .peak_bytes = peak, .tight = peak > SURE * m->capacity_bytes, .index = index};
    if (isinf(new.score)) { /* longer than the time limit */
        best->too_slow++;
        take_less(&best->fastest_s, it.step_s);
        return;
    }
    best->feasible++;
    if (best->count == CM__KEPT && !before(&new, &best->list[CM__KEPT - 1])) return;
    new.plan = *p;
    add(best, &new);
}

/* True: a release of Megatron-LM that shards optimizer states, but neither gradients nor weights. Offloading of
   activations, which it has since Core 0.5, is not searched there. */
static bool shards_states_only(const cm__model *m)
{
    return cm__is_megatron(m->runtime) && !cm__provides(m->step->asked.software, CM__FEATURE_MEGATRON_SHARDING);
}

/* Later releases shard more, which is not in common use there. */
static int32_t stages_of_zero(const cm__model *m, const cm_plan *p)
{
    bool states_only = shards_states_only(m) || (m->usual && cm__is_megatron(m->runtime));
    return cm__replicas(p) < 2 ? 1 : states_only ? 2 : 4;
}

/* The place under each stage of ZeRO. */
typedef struct by_zero {
    at_place plain, gradients, weights, *at[4];
} by_zero;

static void places_of(by_zero *z, const cm__model *m, const cm__spot *place)
{
    const cm__model *shards = m->sharded ? m->sharded : m;
    int32_t          sharded = m->sharded ? place->sharded : place->cost;
    z->plain = place_of(m, place->cost, place->plan, 0);
    for (int i = 0; i < 4; i++) z->at[i] = &z->plain;
    if (stages_of_zero(m, &place->plan) < 3) return;
    if (m->sharded) z->gradients = place_of(shards, sharded, place->plan, 2), z->at[2] = &z->gradients;
    z->weights = place_of(shards, sharded, place->plan, 3), z->at[3] = &z->weights;
}

static bool may_offload(const cm__model *m) { return !m->usual && !shards_states_only(m); }

/* Takes over one of the schedules; false: the place does not have it. 0: GPipe, otherwise so many pieces per stage. */
static bool set_schedule(const cm__model *m, cm_plan *p, int32_t pieces)
{
    if (pieces == 0 ? p->pp == 1 || m->usual : !pieces_fit(m, p, pieces)) return false;
    p->gpipe = pieces == 0;
    p->interleave = pieces ? pieces : 1;
    return true;
}

/* Takes over one of the choices of offloading and overlap; false: the release does not have it. */
static bool set_choice(const cm__model *m, cm_plan *p, unsigned choice)
{
    if (!may_offload(m) && choice & 7) return false;
    p->offload_optimizer = choice & 1;
    p->offload_activations = choice & 2;
    p->offload_weights = choice & 4;
    p->overlap = choice & 8;
    return true;
}

/* The number of choices, and the place of one among them. */
static unsigned choices_of(const cm__model *m, const cm_plan *p) { return (may_offload(m) ? 8 : 1) * overlaps(m, p); }
static unsigned place_in(const cm__model *m, unsigned choice) { return may_offload(m) ? choice : choice / 8; }

/* Counts the choices without looking at each if none of them fits, or if all do and none is fast enough. Each kind of
   offloading makes the peak smaller or leaves it. */
static bool count_choices(const at_place *at, cm_plan *p, cm__best *best)
{
    const cm__model *m = at->m;
    unsigned         count = choices_of(m, p);
    set_choice(m, p, may_offload(m) ? 7 : 0);
    double least = peak_of(m, &at->h, p);
    bool   none = least > m->capacity_bytes;
    set_choice(m, p, 0);
    if (!none && !(at->slow && peak_of(m, &at->h, p) <= m->capacity_bytes)) return false;
    best->evaluated += count;
    if (!none) best->feasible += count;
    take_less(&best->least_bytes, least);
    return true;
}

/* All kinds of offloading together fit if any choice does. */
void cm__find_fitting(const cm__model *m, const cm__spot *place, bool fits[2])
{
    cm_plan p = place->plan;
    by_zero z;
    fits[0] = fits[1] = false;
    places_of(&z, m, place);
    p.offload_optimizer = p.offload_activations = p.offload_weights = may_offload(m);
    for (int32_t v = 0; v <= m->layers / p.pp || v <= 1; v++)
        for (p.zero = set_schedule(m, &p, v) ? 0 : 4; p.zero < stages_of_zero(m, &p); p.zero++) {
            const at_place *at = z.at[p.zero];
            if (peak_of(at->m, &at->h, &p) <= at->m->capacity_bytes) fits[p.zero >= 2] = true;
        }
}

/* Micro-batches pass the slowest stage one after the other, and estimates give each stage the mean of the layers. All
   other terms of an iteration are at least 0. */
static double least_of(const cm__model *m, int32_t cost, const cm_plan *p)
{
    cm__part layer = layer_of(m, &m->costs[cost], p);
    return (double)p->accumulate * m->layers / p->pp * comm_time(&layer);
}

double cm__least_step(const cm__model *m, const cm__spot *place)
{
    double least = least_of(m, place->cost, &place->plan);
    return m->sharded ? fmin(least, least_of(m->sharded, place->sharded, &place->plan)) : least;
}

void cm__evaluate(const cm__model *m, const cm__spot *place, uint64_t index, cm__score *score, void *user,
                  cm__best *best)
{
    cm_plan  p = place->plan;
    unsigned early = overlaps(m, &p);
    by_zero  z;
    if (m->whole) { /* predicted in full later: an execution model has its own rules for time and memory */
        best->evaluated++;
        best->feasible++;
        add(best, &(cm__scored){.score = -(double)p.dp * p.pp + 1.0 / (double)p.micro_batch, .step_s = NAN,
                                         .index = index, .plan = p});
        return;
    }
    places_of(&z, m, place);
    for (int i = 0; i < 4; i++) z.at[i]->slow = place->slow;
    for (int32_t v = 0; v <= m->layers / p.pp || v <= 1; v++) {
        if (!set_schedule(m, &p, v)) continue;
        for (p.zero = 0; p.zero < stages_of_zero(m, &p); p.zero++) {
            if (!count_choices(z.at[p.zero], &p, best))
                for (unsigned choice = 0; choice < 8 * early; choice++)
                    if (set_choice(m, &p, choice))
                        try_plan(z.at[p.zero], &p, index + place_in(m, choice), score, user, best);
            index += choices_of(m, &p);
        }
    }
}
