/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - constant folding: tensor contents known without running the model, such as shapes and what exporters compute
 * from shapes.
 *
 * Integers have the form a B + b, so that Shape -> Gather -> Mul -> Concat -> Reshape chains keep the batch size
 * symbolic. A rule that cannot compute its output leaves it unknown. Only small tensors (CM__VALUE_MAX) are folded.
 */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <math.h>
#include <string.h>

/* Allocate the contents of output `index` if all inputs are known and it is small; NULL otherwise. */
static cm__num *begin(cm_graph *g, const cm_node *n, int32_t index, int64_t *count)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (cm__has(n, i) && !cm__in(g, n, i)->value && cm__small_count(cm__in(g, n, i)) != 0) return NULL;
    *count = cm__small_count(cm__t(g, n->outputs[index]));
    return *count < 0 ? NULL : cm__alloc_array(g->ctx, (size_t)*count, sizeof(cm__num));
}

static void finish(cm_graph *g, const cm_node *n, int32_t index, const cm__num *value)
{
    cm__t(g, n->outputs[index])->value = value;
}

/* Position in `t` of element `flat` of a shape it broadcasts to. */
static int64_t source_of(const cm_tensor *t, const cm_tensor *out, int64_t flat)
{
    int64_t index = 0, stride = 1;
    for (int32_t i = out->rank - 1; i >= 0; i--) {
        int64_t at = flat % out->dims[i].fixed;
        int32_t own = i - (out->rank - t->rank);
        flat /= out->dims[i].fixed;
        if (own < 0) continue;
        if (t->dims[own].fixed != 1) index += at * stride;
        stride *= t->dims[own].fixed;
    }
    return index;
}

void cm__fold_copy(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    if (x->value) finish(g, n, 0, x->value);
}

void cm__fold_cast(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dtype         to = cm__t(g, n->outputs[0])->dtype;
    int64_t          count = cm__small_count(x);
    if (!x->value || count < 0) return;
    cm__num *value = cm__alloc_array(g->ctx, (size_t)count, sizeof *value);
    for (int64_t i = 0; i < count; i++) {
        cm__num v = x->value[i];
        bool    from_float = cm__is_float(x->dtype), to_float = cm__is_float(to);
        if (!from_float && to_float && v.i.per_batch) return; /* a real cannot depend on B */
        if (from_float && !to_float && !(fabs(v.f) < 9e18)) return;
        if (from_float == to_float) value[i] = v;
        else if (to_float) value[i].f = (double)v.i.fixed;
        else value[i].i = cm__fixed(to == CM_BOOL ? v.f != 0 : (int64_t)v.f);
        if (!from_float && to == CM_BOOL) {
            if (v.i.per_batch && v.i.fixed < 0) return; /* zero at one batch size, nonzero at others */
            value[i].i = cm__fixed(v.i.per_batch || v.i.fixed);
        }
    }
    finish(g, n, 0, value);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static double real_unary(int op, double x)
{
    switch (op) {
    case CM_OP_CEIL: return ceil(x);
    case CM_OP_FLOOR: return floor(x);
    case CM_OP_ROUND: return nearbyint(x);
    case CM_OP_SQRT: return sqrt(x);
    case CM_OP_EXP: return exp(x);
    case CM_OP_LOG: return log(x);
    case CM_OP_RECIPROCAL: return 1 / x;
    case CM_OP_SIGN: return (x > 0) - (x < 0);
    default: return -x; /* Neg */
    }
}

static bool int_unary(cm_graph *g, int op, cm_dim x, cm_dim *out)
{
    if (op == CM_OP_NEG) *out = cm__dim_sub(g, cm__fixed(0), x);
    else if (op == CM_OP_NOT && !x.per_batch) *out = cm__fixed(!x.fixed);
    else if (op == CM_OP_SIGN && !x.per_batch) *out = cm__fixed((x.fixed > 0) - (x.fixed < 0));
    else return false;
    return true;
}

void cm__fold_unary(cm_graph *g, cm_node *n)
{
    int64_t          count;
    cm__num         *value = begin(g, n, 0, &count);
    const cm_tensor *x = cm__in(g, n, 0);
    for (int64_t i = 0; value && i < count; i++) {
        if (cm__is_float(x->dtype)) value[i].f = real_unary(n->op, x->value[i].f);
        else if (!int_unary(g, n->op, x->value[i].i, &value[i].i)) return;
    }
    if (value) finish(g, n, 0, value);
}

static bool real_binary(int op, double a, double b, cm__num *out)
{
    switch (op) {
    case CM_OP_ADD: out->f = a + b; return true;
    case CM_OP_SUB: out->f = a - b; return true;
    case CM_OP_MUL: out->f = a * b; return true;
    case CM_OP_DIV: out->f = a / b; return true;
    case CM_OP_POW: out->f = pow(a, b); return true;
    case CM_OP_MIN: out->f = fmin(a, b); return true;
    case CM_OP_MAX: out->f = fmax(a, b); return true;
    case CM_OP_EQUAL: out->i = cm__fixed(a == b); return true;
    case CM_OP_LESS: out->i = cm__fixed(a < b); return true;
    case CM_OP_LESS_OR_EQUAL: out->i = cm__fixed(a <= b); return true;
    case CM_OP_GREATER: out->i = cm__fixed(a > b); return true;
    case CM_OP_GREATER_OR_EQUAL: out->i = cm__fixed(a >= b); return true;
    default: return false;
    }
}

/* a < b for every batch size of one or more? 1 yes, 0 no, -1 it depends. */
static int less(cm_dim a, cm_dim b)
{
    int64_t slope, offset, at_one;
    if (__builtin_sub_overflow(a.per_batch, b.per_batch, &slope) || __builtin_sub_overflow(a.fixed, b.fixed, &offset) ||
        __builtin_add_overflow(slope, offset, &at_one)) return -1;
    if (at_one < 0 && slope <= 0) return 1;
    return at_one >= 0 && slope >= 0 ? 0 : -1;
}

static bool int_compare(int op, cm_dim a, cm_dim b, cm_dim *out)
{
    bool swap = op == CM_OP_GREATER || op == CM_OP_LESS_OR_EQUAL,
         negate = op == CM_OP_LESS_OR_EQUAL || op == CM_OP_GREATER_OR_EQUAL;
    int  answer = swap ? less(b, a) : less(a, b);
    if (answer < 0) return false;
    *out = cm__fixed(negate ? !answer : answer);
    return true;
}

static bool int_divide(int op, cm_dim a, cm_dim b, cm_dim *out)
{
    if (op == CM_OP_DIV && cm__dim_div(a, b, out)) return true;
    if (a.per_batch || b.per_batch || b.fixed == 0 || b.fixed == -1) return false;
    *out = cm__fixed(op == CM_OP_DIV ? a.fixed / b.fixed : ((a.fixed % b.fixed) + b.fixed) % b.fixed);
    return true;
}

static bool int_binary(cm_graph *g, int op, cm_dim a, cm_dim b, cm_dim *out)
{
    bool fixed = !a.per_batch && !b.per_batch;
    int  order;
    switch (op) {
    case CM_OP_ADD: *out = cm__dim_add(g, a, b); return true;
    case CM_OP_SUB: *out = cm__dim_sub(g, a, b); return true;
    case CM_OP_MUL:
        if (a.per_batch && b.per_batch) return false;
        *out = cm__dim_mul(g, a, b);
        return true;
    case CM_OP_DIV: return int_divide(op, a, b, out);
    case CM_OP_MOD: return b.fixed < CM__DIM_MAX && b.fixed > -CM__DIM_MAX && int_divide(op, a, b, out);
    case CM_OP_MIN:
    case CM_OP_MAX:
        if ((order = less(a, b)) < 0) return false;
        *out = (order == 1) == (op == CM_OP_MIN) ? a : b;
        return true;
    case CM_OP_EQUAL: /* sizes that are equal at no batch size, or at one only, count as different */
        *out = cm__fixed(cm__dim_same(a, b));
        return true;
    case CM_OP_AND: *out = cm__fixed(a.fixed && b.fixed); return fixed;
    case CM_OP_OR: *out = cm__fixed(a.fixed || b.fixed); return fixed;
    case CM_OP_POW: {
        double power = pow((double)a.fixed, (double)b.fixed);
        *out = cm__fixed(fabs(power) < 9e15 ? (int64_t)power : 0);
        return fixed && fabs(power) < 9e15;
    }
    default: return int_compare(op, a, b, out);
    }
}

void cm__fold_binary(cm_graph *g, cm_node *n)
{
    int64_t  count;
    cm__num *value = n->n_inputs == 2 && !cm__attr_find(n, CM_ATTR_BROADCAST) ? begin(g, n, 0, &count) : NULL;
    if (!value) return;
    const cm_tensor *a = cm__in(g, n, 0), *b = cm__in(g, n, 1), *out = cm__t(g, n->outputs[0]);
    if (cm__is_float(a->dtype) != cm__is_float(b->dtype)) return;
    for (int64_t i = 0; i < count; i++) {
        cm__num x = a->value[source_of(a, out, i)], y = b->value[source_of(b, out, i)];
        bool known = cm__is_float(a->dtype) ? real_binary(n->op, x.f, y.f, &value[i])
                                            : int_binary(g, n->op, x.i, y.i, &value[i].i);
        if (!known) return;
    }
    finish(g, n, 0, value);
}

void cm__fold_where(cm_graph *g, cm_node *n)
{
    int64_t          count;
    cm__num         *value = begin(g, n, 0, &count);
    const cm_tensor *out = cm__t(g, n->outputs[0]), *t[3] = {cm__in(g, n, 0), cm__in(g, n, 1), cm__in(g, n, 2)};
    if (!value || cm__is_float(t[1]->dtype) != cm__is_float(t[2]->dtype) || cm__is_float(t[0]->dtype)) return;
    for (int64_t i = 0; i < count; i++) {
        const cm_tensor *chosen = t[0]->value[source_of(t[0], out, i)].i.fixed ? t[1] : t[2];
        value[i] = chosen->value[source_of(chosen, out, i)];
    }
    finish(g, n, 0, value);
}

/* Dot products and sums of whole vectors, which exporters compute from shapes. */
void cm__fold_reduce(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          count;
    cm__num         *value = x->rank <= 1 ? begin(g, n, 0, &count) : NULL;
    int64_t          size = cm__small_count(x);
    if (!value || cm__is_float(x->dtype) || size < 1 || count != 1) return;
    cm_dim total = x->value[0].i;
    int    op = n->op == CM_OP_REDUCE_PROD ? CM_OP_MUL : n->op == CM_OP_REDUCE_SUM ? CM_OP_ADD
                : n->op == CM_OP_REDUCE_MAX ? CM_OP_MAX : CM_OP_MIN;
    for (int64_t i = 1; i < size; i++)
        if (!int_binary(g, op, total, x->value[i].i, &total)) return;
    value->i = total;
    finish(g, n, 0, value);
}

/* ---- movement --------------------------------------------------------------------------------------------------- */

void cm__fold_expand(cm_graph *g, cm_node *n)
{
    int64_t          count;
    cm__num         *value = begin(g, n, 0, &count);
    const cm_tensor *x = cm__in(g, n, 0), *out = cm__t(g, n->outputs[0]);
    for (int64_t i = 0; value && i < count; i++) value[i] = x->value[source_of(x, out, i)];
    if (value) finish(g, n, 0, value);
}

/* Pick elements of a small tensor by a start and a stride per dimension of the result. */
static void pick(cm_graph *g, cm_node *n, int64_t first, const int64_t *stride)
{
    int64_t          count;
    cm__num         *value = begin(g, n, 0, &count);
    const cm_tensor *x = cm__in(g, n, 0), *out = cm__t(g, n->outputs[0]);
    for (int64_t i = 0; value && i < count; i++) {
        int64_t at = first, flat = i;
        for (int32_t d = out->rank - 1; d >= 0; d--) {
            at += flat % out->dims[d].fixed * stride[d];
            flat /= out->dims[d].fixed;
        }
        if (at < 0 || at >= cm__small_count(x)) return;
        value[i] = x->value[at];
    }
    if (value) finish(g, n, 0, value);
}

static void strides_of(const cm_tensor *x, int64_t *stride)
{
    int64_t step = 1;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= x->dims[d].fixed;
    }
}

void cm__fold_transpose(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    const cm__attr  *perm = cm__attr_find(n, CM_ATTR_PERM);
    int64_t          own[CM__RANK_MAX], stride[CM__RANK_MAX];
    if (!x->value) return;
    strides_of(x, own);
    for (int32_t d = 0; d < x->rank; d++) stride[d] = own[perm ? cm__axis(g, perm->ints[d], x->rank) : x->rank - 1 - d];
    pick(g, n, 0, stride);
}

/* The first index of a slice, clamped to the dimension as in the shape rule. */
static int64_t slice_first(int64_t start, int64_t size, int64_t step)
{
    if (start < 0) start = start < -size ? 0 : start + size;
    return step < 0 && start >= size ? size - 1 : start;
}

void cm__fold_slice(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *out = cm__t(g, n->outputs[0]);
    int64_t          stride[CM__RANK_MAX], first = 0;
    cm__slices       s;
    if (!x->value || cm__small_count(out) < 0) return;
    strides_of(x, stride);
    cm__slices_read(g, n, &s);
    for (int32_t i = 0; i < s.count; i++) {
        int32_t d = s.axis[i];
        if (s.start[i].per_batch || s.step[i] > CM__VALUE_MAX || s.step[i] < -CM__VALUE_MAX) return;
        int64_t at = slice_first(s.start[i].fixed, x->dims[d].fixed, s.step[i]);
        if (at > CM__VALUE_MAX) return;
        first += at * stride[d];
        stride[d] *= s.step[i];
    }
    pick(g, n, first, stride);
}

void cm__fold_split(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          at = 0;
    if (!x->value || x->rank != 1) return;
    for (int32_t o = 0; o < n->n_outputs && n->outputs[o] >= 0; o++) {
        finish(g, n, o, x->value + at);
        at += cm__t(g, n->outputs[o])->dims[0].fixed;
    }
}

void cm__fold_concat(cm_graph *g, cm_node *n)
{
    int64_t  count, at = 0;
    cm__num *value = cm__in(g, n, 0)->rank == 1 ? begin(g, n, 0, &count) : NULL;
    for (int32_t k = 0; value && k < n->n_inputs; k++) {
        const cm_tensor *t = cm__in(g, n, k);
        if (cm__is_float(t->dtype) != cm__is_float(cm__in(g, n, 0)->dtype)) return;
        for (int64_t i = 0; i < t->dims[0].fixed; i++) value[at++] = t->value[i];
    }
    if (value) finish(g, n, 0, value);
}

void cm__fold_gather(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *index = cm__in(g, n, 1);
    int64_t          count;
    cm__num         *value = x->rank == 1 ? begin(g, n, 0, &count) : NULL;
    if (!value || cm__is_float(index->dtype)) return;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = index->value[i].i.fixed, size = x->dims[0].fixed;
        if (index->value[i].i.per_batch || at < -size || at >= size) return;
        value[i] = x->value[at < 0 ? at + size : at];
    }
    finish(g, n, 0, value);
}

/* ---- generators ------------------------------------------------------------------------------------------------- */

void cm__fold_constant_of_shape(cm_graph *g, cm_node *n)
{
    const cm_tensor *out = cm__t(g, n->outputs[0]);
    int64_t          count = cm__small_count(out);
    double           fill = cm__attr_real(n, CM_ATTR_VALUE, 0);
    if (count < 0 || !(fabs(fill) < 9e18)) return;
    cm__num *value = cm__alloc_array(g->ctx, (size_t)count, sizeof *value);
    for (int64_t i = 0; i < count; i++) {
        if (cm__is_float(out->dtype)) value[i].f = fill;
        else value[i].i = cm__fixed((int64_t)fill);
    }
    finish(g, n, 0, value);
}

void cm__fold_range(cm_graph *g, cm_node *n)
{
    int64_t          count;
    cm__num         *value = begin(g, n, 0, &count);
    const cm_tensor *start = cm__in(g, n, 0), *delta = cm__in(g, n, 2);
    if (!value || cm__is_float(start->dtype)) return;
    cm_dim at = start->value->i;
    for (int64_t i = 0; i < count; i++) {
        value[i].i = at;
        at = cm__dim_add(g, at, delta->value->i);
    }
    finish(g, n, 0, value);
}
