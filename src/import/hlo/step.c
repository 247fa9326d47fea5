/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - the training step that a module describes, as a capture: its loss, parameters, update and recomputed layers.
 *
 * The loss is the scalar result that most products lead to, backward's excluded: at most 6 of 10 of a step's products are
 * forward's. Backward and update are derived, as for captures; backward's products check them.
 */
#include <math.h>
#include <string.h>
#include "import/hlo/hlo.h"

#define FORWARD_MOST 0.6

typedef struct arguments {
    const char **roles;
    int32_t     *result; /* the result that replaces it; -1: none */
} arguments;

static bool is_real(cm_dtype d) { return d == CM_FP32 || d == CM_FP64 || d == CM_FP16 || d == CM_BF16; }

/* Marks what a value depends on; returns the products among it. A stack that is read as a whole depends on its layers through
   the equations that wrote them. */
static int32_t mark(const cm__hlo_step *s, int32_t value, bool *needed, int32_t *stack)
{
    int32_t n = 0, products = 0, maker = s->values[value].maker;
    if (maker >= 0 && !needed[maker]) needed[maker] = true, stack[n++] = maker;
    while (n) {
        const cm__hlo_equation *e = &s->equations[stack[--n]];
        products += cm__hlo_is_product(e);
        for (int32_t i = 0; i < e->n_in; i++) {
            int32_t of = s->values[e->in[i]].maker;
            if (of >= 0 && !needed[of]) needed[of] = true, stack[n++] = of;
        }
    }
    return products;
}

static int32_t elements_of(const cm__hlo_type *t)
{
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank && n < INT32_MAX; i++) n *= t->dims[i];
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

static double count_of(const cm__hlo_type *t)
{
    double n = 1;
    for (int32_t i = 0; i < t->rank; i++) n *= (double)t->dims[i];
    return n;
}

/* ---- the loss ----------------------------------------------------------------------------------------------------- */

static int32_t find_loss(cm__hlo_step *s, bool *needed, int32_t *stack)
{
    size_t  bytes = (size_t)s->n_equations + 1;
    int32_t best = -1, most = 0, total = 0, scalars = 0;
    memset(needed, 0, bytes);
    for (int32_t r = 0; r < s->n_results; r++) total += mark(s, s->results[r], needed, stack);
    for (int32_t r = 0; r < s->n_results; r++) {
        const cm__hlo_value *v = &s->values[s->results[r]];
        if (v->type.rank || !is_real(v->type.dtype) || v->maker < 0) continue;
        memset(needed, 0, bytes);
        int32_t products = mark(s, s->results[r], needed, stack);
        scalars += products > 0;
        if (products > most && products <= FORWARD_MOST * total) best = s->results[r], most = products;
    }
    if (best < 0 && scalars)
        cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "the step has no backward: lower the whole training step, with the gradients and the update");
    if (best < 0)
        cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "no result of the step is its loss, a real number that products lead to: return the loss from "
                 "the step");
    memset(needed, 0, bytes);
    mark(s, best, needed, stack);
    for (int32_t i = 0; i < s->n_equations; i++) s->equations[i].forward = needed[i];
    return best;
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static bool same_type(const cm__hlo_type *a, const cm__hlo_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Results that replace arguments: those that alias them, or the next ones of their type. */
static void pair_results(const cm__hlo_step *s, arguments *a)
{
    bool *used = cm__alloc_array(s->ctx, (size_t)s->n_results + 1, sizeof *used);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < s->main->n_arguments; i++) {
            const cm__hlo_argument *x = &s->main->arguments[i];
            cm__hlo_op              text = {.text = x->attributes};
            int64_t                 alias = x->attributes.length ? cm__hlo_int(&text, "tf.aliasing_output", -1) : -1;
            for (int32_t r = 0; r < s->n_results && a->result[i] < 0; r++) {
                bool fits = !used[r] && same_type(&x->type, &s->values[s->results[r]].type);
                if (fits && (pass ? alias < 0 : alias == r)) a->result[i] = r, used[r] = true;
            }
        }
}

static void find_roles(const cm__hlo_step *s, arguments *a)
{
    bool *reads = cm__alloc_array(s->ctx, (size_t)s->main->n_arguments + 1, sizeof *reads);
    for (int32_t i = 0; i < s->n_equations; i++)
        for (int32_t k = 0; s->equations[i].forward && k < s->equations[i].n_in; k++) {
            int32_t leaf = s->values[s->equations[i].in[k]].leaf;
            if (leaf >= 0) reads[leaf] = true;
        }
    for (int32_t i = 0; i < s->main->n_arguments; i++) {
        const cm__hlo_type  *t = &s->main->arguments[i].type;
        const cm__hlo_value *after = a->result[i] < 0 ? NULL : &s->values[s->results[a->result[i]]];
        bool changed = after && after->maker >= 0, real = is_real(t->dtype);
        bool key = t->is_unsigned && t->rank <= 1;
        if (changed && real) a->roles[i] = reads[i] ? "parameter" : t->rank ? "state" : "buffer";
        else a->roles[i] = after || key || !t->rank ? "buffer" : real ? "frozen" : "input";
    }
}

/* The first dimension of the samples: of whole numbers such as tokens and labels, or of the largest real array that the step does
   not return. */
static void find_batch(cm__hlo_step *s, arguments *a)
{
    double most = 0;
    for (int32_t i = 0; i < s->main->n_arguments; i++) {
        const cm__hlo_type *t = &s->main->arguments[i].type;
        bool                whole = strcmp(a->roles[i], "input") == 0;
        if (!whole && strcmp(a->roles[i], "frozen") != 0) continue;
        double weight = count_of(t) + (whole ? 1e18 : 0);
        if (weight > most) most = weight, s->batch = t->dims[0];
    }
    if (!(most > 0)) cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "no argument of the step has samples: all arrays are returned changed");
    if (s->batch < 2)
        cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "the step was lowered with one sample, so sizes do not show where the batch is: lower it with 2 or "
                 "more");
    for (int32_t i = 0; i < s->n_values; i++)
        s->values[i].per_batch = cm__alloc_array(s->ctx, (size_t)s->values[i].type.rank + 1, sizeof *s->values[i].per_batch);
    for (int32_t i = 0; i < s->main->n_arguments; i++) {
        const cm__hlo_type *t = &s->main->arguments[i].type;
        bool given = strcmp(a->roles[i], "input") == 0 || strcmp(a->roles[i], "frozen") == 0;
        if (!given) continue;
        a->roles[i] = t->dims[0] == s->batch ? "input" : strcmp(a->roles[i], "input") == 0 ? "buffer" : "frozen";
        if (t->dims[0] == s->batch) s->values[i].per_batch[0] = 1;
    }
}

/* ---- recomputed layers -------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 29); }

static uint64_t hash_of(const cm__hlo_step *s, const cm__hlo_equation *e)
{
    uint64_t h = mixed((uint64_t)e->op->kind + 1, (uint64_t)e->n_in);
    for (int32_t i = 0; i < e->n_in; i++) {
        const cm__hlo_value *v = cm__hlo_in(s, e, i);
        uint64_t bits;
        memcpy(&bits, &v->number, sizeof bits);
        h = v->known ? mixed(mixed(h, bits), (uint64_t)elements_of(&v->type)) : mixed(h, (uint64_t)(uint32_t)v->same + ((uint64_t)1 << 40));
    }
    return h;
}

/* "%1, %2, dims = [0]": without the names of the operands, which differ. */
static bool same_attributes(const cm__hlo_op *a, const cm__hlo_op *b)
{
    const char *p = a->text.text, *p_end = p + a->text.length, *q = b->text.text, *q_end = q + b->text.length;
    for (;;) {
        while (p < p_end && *p == '%')
            while (p < p_end && !strchr(" ,)", *p)) p++;
        while (q < q_end && *q == '%')
            while (q < q_end && !strchr(" ,)", *q)) q++;
        if (p >= p_end || q >= q_end) return p >= p_end && q >= q_end;
        if (*p++ != *q++) return false;
    }
}

static bool same_equation(const cm__hlo_step *s, const cm__hlo_equation *a, const cm__hlo_equation *b)
{
    bool same = a->op->kind == b->op->kind && a->n_in == b->n_in && a->n_out == b->n_out && a->n_out;
    for (int32_t i = 0; same && i < a->n_in; i++) {
        const cm__hlo_value *x = cm__hlo_in(s, a, i), *y = cm__hlo_in(s, b, i);
        same = x->known && y->known ? x->number == y->number && same_type(&x->type, &y->type) : x->same == y->same;
    }
    for (int32_t i = 0; same && i < a->n_out; i++) same = same_type(&s->values[a->first + i].type, &s->values[b->first + i].type);
    return same && (a->op == b->op || same_attributes(a->op, b->op));
}

/* What backward computes again of forward belongs to a layer that is recomputed, if products are among it. */
static void find_recomputed(cm__hlo_step *s)
{
    uint32_t room = 64;
    while (room < 2 * (uint32_t)s->n_equations + 1) room *= 2;
    int32_t *table = cm__alloc_array(s->ctx, room, sizeof *table), *found = cm__alloc_array(s->ctx, (size_t)s->n_equations + 1, sizeof *found);
    bool    *multiplies = cm__alloc_array(s->ctx, (size_t)s->n_places + 2, sizeof *multiplies);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < s->n_equations; i++) {
            cm__hlo_equation *e = &s->equations[i];
            found[i] = pass ? found[i] : -1;
            if (e->forward != !pass || (!e->n_in && e->op->kind != CM__HLO_iota && e->op->kind != CM__HLO_constant)) continue;
            uint64_t at = hash_of(s, e) >> 20;
            int32_t  same = -1;
            for (int32_t probes = 0; probes < 64; probes++, at++) {
                int32_t other = table[at & (room - 1)] - 1;
                if (other < 0) break;
                if (same_equation(s, &s->equations[other], e)) {
                    same = other;
                    break;
                }
            }
            if (!pass && same < 0 && !table[at & (room - 1)]) table[at & (room - 1)] = i + 1;
            if (same < 0) continue;
            for (int32_t k = 0; k < e->n_out; k++) s->values[e->first + k].same = s->values[s->equations[same].first + k].same;
            if (!pass) continue;
            found[i] = same;
            multiplies[e->place] |= cm__hlo_is_product(e);
        }
    for (int32_t i = 0; i < s->n_equations; i++) {
        cm__hlo_equation *e = &s->equations[i];
        if (found[i] < 0 || !multiplies[e->place]) continue;
        e->again = true;
        s->equations[found[i]].segment = e->place;
    }
}

/* jnp.split() is lowered as slices, one after the other. */
static void find_splits(cm__hlo_step *s)
{
    for (int32_t i = 0; i < s->n_equations; i++) {
        int64_t start, end, covered = 0;
        int32_t dim = cm__hlo_slice_range(s, &s->equations[i], &start, &end), n = 0;
        if (dim < 0 || start) continue;
        const cm__hlo_value *x = cm__hlo_in(s, &s->equations[i], 0);
        for (int32_t k = i; k < s->n_equations && s->equations[k].forward; k++, n++) {
            if (cm__hlo_slice_range(s, &s->equations[k], &start, &end) != dim || cm__hlo_in(s, &s->equations[k], 0) != x || start != covered) break;
            covered = end;
        }
        if (n > 1 && covered == x->type.dims[dim]) s->equations[i].pieces = n;
    }
}

/* StableHLO does not show where a gradient stops. Softmax and its logarithm stop that of the largest element, which they subtract
   from all. */
static void find_detached(cm__hlo_step *s)
{
    for (int32_t i = 0; i < s->n_equations; i++) {
        const cm__hlo_equation *e = &s->equations[i];
        if (!e->forward || e->op->kind != CM__HLO_subtract || e->n_in != 2) continue;
        int32_t at = e->in[1], whole = s->values[e->in[0]].same;
        for (int32_t steps = 0; steps < 8 && at >= 0 && s->values[at].maker >= 0; steps++) {
            cm__hlo_equation *maker = &s->equations[s->values[at].maker];
            cm__hlo_kind      kind = cm__hlo_kind_of(maker->op);
            if (kind == CM__HLO_reduction && maker->n_in && s->values[maker->in[0]].same == whole) maker->detached = true;
            bool passes = kind == CM__HLO_spread || kind == CM__HLO_view || kind == CM__HLO_cast;
            at = passes && maker->n_in ? maker->in[0] : -1;
            for (int32_t k = 0; at < 0 && (kind == CM__HLO_binary || kind == CM__HLO_choice) && k < maker->n_in; k++)
                if (!s->values[maker->in[k]].known && s->values[maker->in[k]].type.dtype != CM_BOOL) at = maker->in[k];
        }
    }
}

/* ---- the capture -------------------------------------------------------------------------------------------------- */

static const char *type_of_most(const cm__hlo_step *s, const arguments *a, double *parameters)
{
    double sizes[CM_DTYPES] = {0};
    int    most = CM_FP32;
    *parameters = 0;
    for (int32_t i = 0; i < s->main->n_arguments; i++) {
        const cm__hlo_type *t = &s->main->arguments[i].type;
        if (strcmp(a->roles[i], "parameter") != 0) continue;
        sizes[t->dtype] += count_of(t);
        *parameters += count_of(t);
    }
    for (int d = 0; d < CM_DTYPES; d++)
        if (sizes[d] > sizes[most]) most = d;
    return most == CM_BF16 || most == CM_FP16 ? cm_dtype_name((cm_dtype)most) : "fp32";
}

/* The 16-bit type of most products of forward; NULL: they are in fp32. */
static const char *type_of_products(const cm__hlo_step *s)
{
    double flop[CM_DTYPES] = {0};
    int    most = CM_FP32;
    for (int32_t i = 0; i < s->n_equations; i++)
        if (s->equations[i].forward && cm__hlo_is_product(&s->equations[i]) && s->equations[i].n_in > 1)
            flop[cm__hlo_in(s, &s->equations[i], 0)->type.dtype] += cm__hlo_product_flop(s, &s->equations[i]);
    for (int d = 0; d < CM_DTYPES; d++)
        if (flop[d] > flop[most]) most = d;
    return most == CM_BF16 || most == CM_FP16 ? cm_dtype_name((cm_dtype)most) : NULL;
}

static void add_update(cm__hlo_capture *c, const arguments *a, double parameters)
{
    static const char *const kinds[] = {"sgd", "momentum", "adam"};
    const cm__hlo_step      *s = c->s;
    double                   kept = 0;
    json_t                  *rows = json_array(), *updates = json_array(), *row = json_object();
    json_object_set_new(c->root, "updates", updates);
    json_array_append_new(updates, row);
    json_object_set_new(row, "parameters", rows);
    for (int32_t i = 0; i < s->main->n_arguments; i++)
        if (strcmp(a->roles[i], "state") == 0) kept += count_of(&s->main->arguments[i].type);
    size_t  i;
    json_t *tensor;
    json_array_foreach(c->tensors, i, tensor)
    {
        const char *role = json_string_value(json_object_get(tensor, "role"));
        if (role && strcmp(role, "parameter") == 0) json_array_append_new(rows, json_integer((json_int_t)i));
    }
    if (!(parameters > 0)) cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "no parameter: the step must return the new parameters, as it was given the old ones");
    double states = fmin(round(kept / parameters), 2);
    if (fabs(kept / parameters - states) > 0.05)
        cm__hlo_warn(c->s, cm__format(s->ctx, "the optimizer keeps %.2f numbers for each parameter; predictions assume those of %s: give --optimizer for "
                                      "another", kept / parameters, kinds[(int)states]));
    json_object_set_new(row, "optimizer", json_string("jax"));
    json_object_set_new(row, "kind", json_string(kinds[(int)states]));
    json_object_set_new(row, "implementation", json_string("fused"));
    json_object_set_new(row, "states", json_integer((json_int_t)states));
    json_object_set_new(row, "tensors", json_integer((json_int_t)json_array_size(rows)));
    json_object_set_new(row, "elements", json_integer((json_int_t)parameters));
}

static void add_types(json_t *root, const char *types, const char *low)
{
    bool half = strcmp(types, "fp32") != 0;
    json_object_set_new(root, "autocast", !half && low ? json_string(low) : json_null());
    json_object_set_new(root, "precision", half ? json_string(types) : low ? json_sprintf("amp-%s", low) : json_string("fp32"));
    if (half || !low) json_object_set_new(root, "types", json_string(types));
}

static void release(void *json) { json_decref(json); }

json_t *cm__hlo_captured(cm__ctx *ctx, const char *name, const char *text, size_t size)
{
    cm__hlo_step *s = cm__hlo_walk(cm__hlo_parse(ctx, text, size));
    bool         *needed = cm__alloc_array(ctx, (size_t)s->n_equations + 1, sizeof *needed);
    int32_t      *stack = cm__alloc_array(ctx, (size_t)s->n_equations + 1, sizeof *stack);
    int32_t       loss = find_loss(s, needed, stack);
    arguments     a = {cm__alloc_array(ctx, (size_t)s->main->n_arguments + 1, sizeof *a.roles),
                       cm__alloc_array(ctx, (size_t)s->main->n_arguments + 1, sizeof *a.result)};
    double        parameters, flop = 0;
    for (int32_t i = 0; i < s->main->n_arguments; i++) a.result[i] = -1;
    pair_results(s, &a);
    find_roles(s, &a);
    find_batch(s, &a);
    cm__hlo_follow_batch(s);
    find_recomputed(s);
    find_detached(s);
    find_splits(s);
    cm__hlo_capture c = {.s = s, .root = json_object(), .roles = a.roles};
    if (!c.root) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a step");
    cm__defer(ctx, release, c.root);
    json_object_set_new(c.root, "tensors", c.tensors = json_array());
    json_object_set_new(c.root, "ops", c.ops = json_array());
    for (int32_t i = 0; i < s->n_equations; i++)
        if (s->equations[i].forward) cm__hlo_translate(&c, &s->equations[i]);
    const cm__hlo_equation *last = c.now;
    memset(needed, 0, (size_t)s->n_equations);
    for (int32_t r = 0; r < s->n_results; r++) mark(s, s->results[r], needed, stack);
    for (int32_t i = 0; i < s->n_equations; i++) {
        const cm__hlo_equation *e = &s->equations[i];
        if (!needed[i] || !cm__hlo_is_product(e) || e->n_in < 2) continue;
        flop += cm__hlo_product_flop(s, e);
        if (!e->forward && !e->again) cm__hlo_record_product(&c, e);
    }
    c.now = last;
    int32_t row = cm__hlo_row_of(&c, loss);
    json_object_set_new(c.root, "schema", json_integer(1));
    json_object_set_new(c.root, "kind", json_string("trace"));
    json_object_set_new(c.root, "name", json_string(name));
    json_object_set_new(c.root, "jax", json_string("StableHLO"));
    json_object_set_new(c.root, "batch", json_integer(s->batch));
    json_object_set_new(c.root, "loss", json_integer(row));
    json_object_set_new(c.root, "outputs", json_pack("[i]", row));
    json_object_set_new(c.root, "product_flop", json_real(flop));
    add_types(c.root, type_of_most(s, &a, &parameters), type_of_products(s));
    add_update(&c, &a, parameters);
    json_object_set_new(c.root, "parameters", json_integer((json_int_t)parameters));
    json_t *plan = cm__hlo_plan(s, a.roles), *warnings = json_array();
    if (plan) json_object_set_new(c.root, "plan", plan);
    json_object_set_new(c.root, "warnings", warnings);
    for (int32_t i = 0; i < s->n_warnings; i++) json_array_append_new(warnings, json_string(s->warnings[i]));
    cm__place(ctx, "%s", "");
    return c.root;
}
