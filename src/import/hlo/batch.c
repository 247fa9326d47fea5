/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - which dimensions of a step's tensors grow with the batch.
 *
 * The text has the sizes of one batch size. The batch is followed from the arguments' first dimension through every operation,
 * as dimensions are kept, moved, joined and divided, until nothing changes: constants take it from what reads them.
 */
#include <string.h>
#include "import/hlo/hlo.h"

#define SWEEPS_MAX 64

typedef struct follow {
    cm__hlo_step *s;
    bool          changed;
} follow;

static int64_t size(const cm__hlo_value *v, int32_t i) { return v->type.dims[i]; }

static void set(follow *f, cm__hlo_value *v, int32_t i, int64_t per_batch)
{
    if (v->per_batch[i] || !per_batch) return;
    v->per_batch[i] = per_batch;
    f->changed = true;
}

/* Two dimensions of one size are the same. */
static void link(follow *f, cm__hlo_value *a, int32_t i, cm__hlo_value *b, int32_t k)
{
    if (i >= a->type.rank || k >= b->type.rank || i < 0 || k < 0 || size(a, i) != size(b, k)) return;
    set(f, a, i, b->per_batch[k]);
    set(f, b, k, a->per_batch[i]);
}

static void link_all(follow *f, cm__hlo_value *a, cm__hlo_value *b)
{
    for (int32_t i = 0; a->type.rank == b->type.rank && i < a->type.rank; i++) link(f, a, i, b, i);
}

/* Dimensions [i, i_end) of a are the elements of [k, k_end) of b. The batch is the outermost of them, or all of them are one. */
static void regroup(follow *f, cm__hlo_value *a, int32_t i, int32_t i_end, cm__hlo_value *b, int32_t k, int32_t k_end)
{
    int64_t batch = f->s->batch, before = 1, other = 1;
    for (int32_t x = i; x < i_end; before *= size(a, x++)) {
        if (!a->per_batch[x]) continue;
        for (int32_t y = k; y < k_end; other *= size(b, y++)) {
            bool inside = size(b, y) % batch == 0 && size(b, y) > 0;
            if (inside && (k_end - k == 1 || other == before || (before % other == 0 && size(b, y) % (before / other * batch) == 0))) {
                set(f, b, y, size(b, y) / batch);
                return;
            }
        }
        return;
    }
}

static void reshaped(follow *f, cm__hlo_value *a, cm__hlo_value *b)
{
    int32_t i = 0, k = 0;
    while (i < a->type.rank && k < b->type.rank) {
        int32_t i_end = i + 1, k_end = k + 1;
        int64_t of_a = size(a, i), of_b = size(b, k);
        while (of_a != of_b) {
            if (of_a < of_b && i_end < a->type.rank) of_a *= size(a, i_end++);
            else if (of_b < of_a && k_end < b->type.rank) of_b *= size(b, k_end++);
            else return;
        }
        if (i_end - i == 1 && k_end - k == 1) link(f, a, i, b, k);
        else {
            regroup(f, a, i, i_end, b, k, k_end);
            regroup(f, b, k, k_end, a, i, i_end);
        }
        i = i_end;
        k = k_end;
    }
}

static bool listed(const int64_t *list, int32_t n, int64_t x)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

static void spread(follow *f, const cm__hlo_equation *e, cm__hlo_value *x, cm__hlo_value *y)
{
    int64_t dims[CM__RANK_MAX];
    int32_t n = cm__hlo_ints(e->op, "dims", dims, CM__RANK_MAX);
    if (n < 0) n = cm__hlo_ints(e->op, "broadcast_dimensions", dims, CM__RANK_MAX);
    for (int32_t i = 0; i < n && i < x->type.rank; i++)
        if (dims[i] < y->type.rank) link(f, x, i, y, (int32_t)dims[i]);
}

static void ordered(follow *f, const cm__hlo_equation *e, cm__hlo_value *x, cm__hlo_value *y)
{
    int64_t dims[CM__RANK_MAX];
    int32_t n = cm__hlo_ints(e->op, "dims", dims, CM__RANK_MAX);
    if (n < 0) n = cm__hlo_ints(e->op, "permutation", dims, CM__RANK_MAX);
    for (int32_t i = 0; i < n && i < y->type.rank; i++)
        if (dims[i] < x->type.rank) link(f, x, (int32_t)dims[i], y, i);
}

/* Dimensions that are not reduced, in their order. */
static void reduced(follow *f, const cm__hlo_equation *e)
{
    int64_t dims[CM__RANK_MAX];
    int32_t n = cm__hlo_ints(e->op, "dimensions", dims, CM__RANK_MAX);
    for (int32_t k = 0; n >= 0 && k < e->n_out; k++) {
        cm__hlo_value *x = cm__hlo_in(f->s, e, k < e->n_in ? k : 0), *y = &f->s->values[e->first + k];
        for (int32_t i = 0, at = 0; i < x->type.rank && at < y->type.rank; i++)
            if (!listed(dims, n, i)) link(f, x, i, y, at++);
    }
}

static int32_t pair_of(const cm__hlo_op *op, const char *key, int64_t *left, int64_t *right, int32_t *n_right)
{
    cm__span rest = cm__hlo_after(op, key);
    int32_t  n = cm__hlo_ints(op, key, left, CM__RANK_MAX);
    size_t   i = 0;
    *n_right = 0;
    while (i < rest.length && rest.text[i] != 'x') i++;
    if (n < 0 || i >= rest.length) return 0;
    cm__hlo_op other = {.text = {rest.text + i, rest.length - i}};
    *n_right = cm__hlo_ints(&other, "x", right, CM__RANK_MAX);
    return n == *n_right ? n : 0;
}

static void product(follow *f, const cm__hlo_equation *e)
{
    cm__hlo_value *x = cm__hlo_in(f->s, e, 0), *w = cm__hlo_in(f->s, e, 1), *y = cm__hlo_out(f->s, e);
    int64_t        of_x[CM__RANK_MAX], of_w[CM__RANK_MAX], in_x[CM__RANK_MAX], in_w[CM__RANK_MAX];
    int32_t        n, other, inner = pair_of(e->op, "contracting_dims", in_x, in_w, &other), at = 0;
    n = pair_of(e->op, "batching_dims", of_x, of_w, &other);
    for (int32_t i = 0; i < inner; i++) link(f, x, (int32_t)in_x[i], w, (int32_t)in_w[i]);
    for (int32_t i = 0; i < n; i++, at++) {
        link(f, x, (int32_t)of_x[i], w, (int32_t)of_w[i]);
        link(f, x, (int32_t)of_x[i], y, at);
    }
    for (int32_t i = 0; i < x->type.rank; i++)
        if (!listed(of_x, n, i) && !listed(in_x, inner, i)) link(f, x, i, y, at++);
    for (int32_t i = 0; i < w->type.rank; i++)
        if (!listed(of_w, n, i) && !listed(in_w, inner, i)) link(f, w, i, y, at++);
}

cm__hlo_filter_dims cm__hlo_filter_dims_of(cm__ctx *ctx, const cm__hlo_op *op, int32_t rank)
{
    cm__hlo_filter_dims d = {.rank = rank};
    cm__span            rest = cm__hlo_after(op, "dim_numbers");
    int32_t            *lists[] = {d.image, d.filter, d.result}, found[3] = {0}, list = -1, at = 0;
    if (!rest.length) rest = cm__hlo_after(op, "dimension_numbers");
    for (size_t i = 0; i < rest.length; i++) {
        char c = rest.text[i];
        if (c == '[') list++, at = 0;
        else if (c == ']' && list == 2) break;
        else if (list >= 0 && list < 3 && (strchr("bfio", c) || (c >= '0' && c <= '9'))) {
            bool first = list == 1 ? c == 'o' : c == 'b', second = list == 1 ? c == 'i' : c == 'f';
            int  place = first ? 0 : second ? 1 : c >= '0' && c <= '9' ? 2 + (c - '0') : CM__RANK_MAX;
            if (place >= rank || at >= rank) cm__hlo_refuse(ctx, op, "its dimensions do not belong to its operands");
            lists[list][place] = at++;
            found[list]++;
        }
    }
    if (rank < 2 || found[0] != rank || found[1] != rank || found[2] != rank)
        cm__hlo_refuse(ctx, op, "its dimensions do not belong to its operands");
    return d;
}

static void filtered(follow *f, const cm__hlo_equation *e)
{
    cm__hlo_value      *x = cm__hlo_in(f->s, e, 0), *w = cm__hlo_in(f->s, e, 1), *y = cm__hlo_out(f->s, e);
    cm__hlo_filter_dims d = cm__hlo_filter_dims_of(f->s->ctx, e->op, x->type.rank);
    if (w->type.rank != x->type.rank || y->type.rank != x->type.rank)
        cm__hlo_refuse(f->s->ctx, e->op, "its dimensions do not belong to its operands");
    link(f, x, d.image[0], y, d.result[0]);
    link(f, x, d.image[1], w, d.filter[1]);
    link(f, w, d.filter[0], y, d.result[1]);
}

/* A look-up or its opposite: `x` at the places `at` is `part`. The attributes are named differently. */
static void at_places(follow *f, const cm__hlo_equation *e, cm__hlo_value *part, const char *const names[4])
{
    cm__hlo_value *x = cm__hlo_in(f->s, e, 0), *at = cm__hlo_in(f->s, e, 1);
    int64_t        window[CM__RANK_MAX], gone[CM__RANK_MAX], batched[CM__RANK_MAX], of_places[CM__RANK_MAX];
    int32_t        n = cm__hlo_ints(e->op, names[0], window, CM__RANK_MAX), n_gone = cm__hlo_ints(e->op, names[1], gone, CM__RANK_MAX);
    int32_t        n_batched = cm__hlo_ints(e->op, names[2], batched, CM__RANK_MAX);
    int32_t        n_places = cm__hlo_ints(e->op, names[3], of_places, CM__RANK_MAX);
    int64_t        vector = cm__hlo_int(e->op, "index_vector_dim", 0);
    for (int32_t i = 0, k = 0; i < part->type.rank; i++) {
        if (listed(window, n, i)) continue;
        if (k == vector) k++;
        link(f, at, k++, part, i);
    }
    for (int32_t i = 0, k = 0; i < x->type.rank && k < n; i++)
        if (!listed(gone, n_gone, i) && !listed(batched, n_batched, i) && window[k] < part->type.rank) link(f, x, i, part, (int32_t)window[k++]);
    for (int32_t i = 0; i < n_batched && i < n_places; i++) link(f, x, (int32_t)batched[i], at, (int32_t)of_places[i]);
}

static void looked_up(follow *f, const cm__hlo_equation *e)
{
    static const char *const names[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims"};
    at_places(f, e, cm__hlo_out(f->s, e), names);
}

static void written(follow *f, const cm__hlo_equation *e)
{
    static const char *const names[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                                        "scatter_indices_batching_dims"};
    if (e->n_in < 3) return;
    link_all(f, cm__hlo_in(f->s, e, 0), cm__hlo_out(f->s, e));
    at_places(f, e, cm__hlo_in(f->s, e, 2), names);
}

static void joined(follow *f, const cm__hlo_equation *e)
{
    cm__hlo_value *y = cm__hlo_out(f->s, e);
    int64_t        dim = cm__hlo_int(e->op, "dim", cm__hlo_int(e->op, "dimension", -1));
    for (int32_t k = 0; k < e->n_in; k++)
        for (int32_t i = 0; i < y->type.rank && cm__hlo_in(f->s, e, k)->type.rank == y->type.rank; i++)
            if (i != dim) link(f, cm__hlo_in(f->s, e, k), i, y, i);
}

/* The layers of a stack have its other dimensions. */
static void stacked(follow *f, cm__hlo_value *v)
{
    for (int64_t k = 0; v->parts && v->type.rank && k < v->type.dims[0]; k++)
        for (int32_t i = 1; v->parts[k] >= 0 && i < v->type.rank; i++) link(f, v, i, &f->s->values[v->parts[k]], i);
}

static void through(follow *f, const cm__hlo_equation *e)
{
    cm__hlo_step *s = f->s;
    if (!e->n_out || !e->n_in) return;
    cm__hlo_value *x = cm__hlo_in(s, e, 0), *y = cm__hlo_out(s, e);
    switch (cm__hlo_kind_of(e->op)) {
    case CM__HLO_spread: spread(f, e, x, y); break;
    case CM__HLO_view: reshaped(f, x, y); break;
    case CM__HLO_order: ordered(f, e, x, y); break;
    case CM__HLO_reduction: reduced(f, e); break;
    case CM__HLO_product: if (e->n_in > 1) product(f, e); break;
    case CM__HLO_filter: if (e->n_in > 1) filtered(f, e); break;
    case CM__HLO_lookup: if (e->n_in > 1) looked_up(f, e); break;
    case CM__HLO_write: written(f, e); break;
    case CM__HLO_join: joined(f, e); break;
    case CM__HLO_unwindow:
        if (e->n_in > 1 && x->type.rank == cm__hlo_in(s, e, 1)->type.rank)
            for (int32_t i = 0; i < x->type.rank; i++) link(f, x, i, cm__hlo_in(s, e, 1), i);
        link_all(f, x, y);
        break;
    case CM__HLO_best: case CM__HLO_sorted:
        for (int32_t k = 0; k < e->n_out; k++) {
            for (int32_t i = 0; i < x->type.rank && s->values[e->first + k].type.rank == x->type.rank; i++)
                link(f, x, i, &s->values[e->first + k], i);
        }
        break;
    default: /* one by one; where sizes differ, a slice, a pad or a window is taken */
        for (int32_t k = 0; k < e->n_in; k++)
            for (int32_t o = 0; o < e->n_out; o++) link_all(f, cm__hlo_in(s, e, k), &s->values[e->first + o]);
    }
}

void cm__hlo_follow_batch(cm__hlo_step *s)
{
    follow f = {.s = s};
    int32_t sweeps = 0;
    do {
        f.changed = false;
        for (int32_t i = 0; i < s->n_equations; i++) through(&f, &s->equations[i]);
        for (int32_t i = 0; i < s->n_values; i++) stacked(&f, &s->values[i]);
        for (int32_t i = s->n_equations - 1; i >= 0; i--) through(&f, &s->equations[i]);
    } while (f.changed && ++sweeps < SWEEPS_MAX);
}
