/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - translate reductions, windows and look-ups. */
#include "import/hlo/rules.h"

#include <math.h>
#include <string.h>

/* ---- reductions, windows, look-ups -------------------------------------------------------------------------------- */

/* What the body of a reduction, a window or a scatter computes: row of ops.def; -1: it has no body. */
int32_t cm__hlo_body_of(const cm__hlo_op *op)
{
    static const char *const words[] = {"add", "maximum", "minimum", "multiply", "and", "or"};
    static const int32_t     kinds[] = {CM__HLO_add, CM__HLO_maximum, CM__HLO_minimum, CM__HLO_multiply, CM__HLO_and, CM__HLO_or};
    cm__span                 rest = cm__hlo_after(op, "applies");
    for (size_t i = 0; rest.length && i < sizeof words / sizeof *words; i++) {
        const char *dot = memchr(rest.text, '.', rest.length);
        size_t      n = strlen(words[i]);
        if (dot && (size_t)(rest.text + rest.length - dot) > n && memcmp(dot + 1, words[i], n) == 0) return kinds[i];
    }
    for (int32_t k = 0; op->n_regions && k < op->regions[op->n_regions - 1].n_ops; k++)
        if (cm__hlo_kind_of(&op->regions[op->n_regions - 1].ops[k]) != CM__HLO_end) return op->regions[op->n_regions - 1].ops[k].kind;
    return -1;
}

void cm__hlo_reduced(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t dims[CM__RANK_MAX];
    int32_t n = cm__hlo_ints(e->op, "dimensions", dims, CM__RANK_MAX), x = cm__hlo_in_row(c, e, 0), body = cm__hlo_body_of(e->op);
    const char *name = body == CM__HLO_maximum   ? "amax"
                       : body == CM__HLO_minimum ? "amin"
                       : body == CM__HLO_multiply ? "prod"
                       : body == CM__HLO_and      ? "all"
                       : body == CM__HLO_or       ? "any"
                                                  : "sum";
    if (n < 0) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions are not read");
    if (e->n_out == 2 && n == 1) { /* the largest element and its place */
        cm__hlo_bind(c, e, 0, cm__hlo_made_by(c, e, "amax", &x, 1, json_pack("{s:o,s:i}", "dim", cm__hlo_list_json(dims, n), "keepdim", 0)));
        cm__hlo_shape s = cm__hlo_shape_of(&c->s->values[e->first + 1]);
        cm__hlo_bind(c, e, 1, cm__hlo_emit(c, "argmax", &x, 1, &s, c->s->values[e->first + 1].type.dtype, json_pack("{s:I}", "dim", (json_int_t)dims[0])));
        return;
    }
    if (e->n_out != 1) cm__hlo_refuse(c->s->ctx, e->op, "a reduction of several tensors");
    int32_t row = n ? cm__hlo_made_by(c, e, name, &x, 1, json_pack("{s:o,s:i}", "dim", cm__hlo_list_json(dims, n), "keepdim", 0)) : x;
    cm__hlo_bind(c, e, 0, e->detached && n && strcmp(name, "amax") == 0 ? cm__hlo_made_by(c, e, "detach", &row, 1, NULL) : row);
}

int32_t cm__hlo_looked_up(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t offset[CM__RANK_MAX], gone[CM__RANK_MAX], map[CM__RANK_MAX], batched[CM__RANK_MAX], sizes[CM__RANK_MAX];
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), at = cm__hlo_in_shape(c, e, 1), places = at;
    int32_t n = cm__hlo_ints(e->op, "offset_dims", offset, CM__RANK_MAX), n_gone, n_map, n_batched, n_sizes;
    n_gone = cm__hlo_ints(e->op, "collapsed_slice_dims", gone, CM__RANK_MAX);
    n_map = cm__hlo_ints(e->op, "start_index_map", map, CM__RANK_MAX);
    n_batched = cm__hlo_ints(e->op, "operand_batching_dims", batched, CM__RANK_MAX);
    n_sizes = cm__hlo_ints(e->op, "slice_sizes", sizes, CM__RANK_MAX);
    if (places.rank) places.rank--;
    int32_t row = cm__hlo_in_row(c, e, 0), indices = cm__hlo_in_row(c, e, 1);
    bool    one = n_map == 1 && n_gone == 1 && map[0] == gone[0], rows = one && n_batched < 1 && map[0] == 0 && n == x.rank - 1 && n_sizes == x.rank;
    for (int32_t i = 1; rows && i < x.rank; i++) rows = sizes[i] == x.size[i] && offset[i - 1] == places.rank + i - 1;
    if (rows) {
        int32_t in[] = {row, cm__hlo_viewed(c, indices, &at, &places, cm__hlo_in_type(c, e, 1))};
        return cm__hlo_made_by(c, e, "embedding", in, 2, NULL);
    }
    if (one && n_batched + 1 == x.rank && places.rank == x.rank) {
        int32_t in[] = {row, cm__hlo_viewed(c, indices, &at, &places, cm__hlo_in_type(c, e, 1))};
        return cm__hlo_made_by(c, e, "gather", in, 2, json_pack("{s:I}", "dim", (json_int_t)map[0]));
    }
    int32_t in[] = {row, indices};
    return cm__hlo_made_by(c, e, "index", in, 2, NULL);
}

int32_t cm__hlo_windowed(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    static const int64_t channels_last[] = {0, 3, 1, 2}, back[] = {0, 2, 3, 1}, as_is[] = {0, 1, 2, 3};
    int64_t windows[CM__RANK_MAX], strides[CM__RANK_MAX], base[CM__RANK_MAX], pads[2 * CM__RANK_MAX];
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), y = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    int32_t n = cm__hlo_ints(e->op, "window_dimensions", windows, CM__RANK_MAX), row = cm__hlo_in_row(c, e, 0), wide = -1, body = cm__hlo_body_of(e->op);
    if (n != x.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    if (cm__hlo_ints(e->op, "window_strides", strides, CM__RANK_MAX) != n)
        for (int32_t i = 0; i < n; i++) strides[i] = 1;
    int32_t n_pads = cm__hlo_ints(e->op, "padding", pads, 2 * CM__RANK_MAX), widest = 0;
    for (int32_t i = n_pads < 0 ? 0 : n_pads; i < 2 * n; i++) pads[i] = n_pads == 1 ? pads[0] : 0; /* dense<0> */
    bool plain = n == 4 && (cm__hlo_ints(e->op, "base_dilations", base, CM__RANK_MAX) != n || (base[0] == 1 && base[1] == 1 && base[2] == 1 && base[3] == 1));
    for (int32_t i = n - 1; i >= 0; i--)
        if (windows[i] > 1 || strides[i] > 1) wide = i, widest++;
    if (widest == 1 && windows[wide] == x.size[wide] && cm__hlo_same_shape(&x, &y) && body == CM__HLO_add)
        return cm__hlo_made_by(c, e, "cumsum", &row, 1, json_pack("{s:i}", "dim", wide));
    bool last = wide >= 1 && n == 4 && windows[3] == 1 && strides[3] == 1, first = n == 4 && wide >= 2;
    if (!plain || !(last || first)) return cm__hlo_made_by(c, e, "_window", &row, 1, NULL);
    last = last && wide == 1;
    const int64_t *to = last ? channels_last : as_is, *from = last ? back : as_is;
    cm__hlo_shape image = cm__hlo_permuted(&x, to), made = cm__hlo_permuted(&y, to);
    row = cm__hlo_ordered(c, row, &x, to, cm__hlo_in_type(c, e, 0));
    int64_t kernel[2], steps[2], half[2], around[4] = {0};
    bool    fits = true;
    for (int i = 0; i < 2; i++) {
        int64_t d = to[2 + i], low = pads[2 * d], high = pads[2 * d + 1];
        kernel[i] = windows[d];
        steps[i] = strides[d];
        half[i] = (low + high + 1) / 2;
        around[2 * (1 - i)] = low;
        around[2 * (1 - i) + 1] = high;
        fits &= low >= 0 && high >= 0 && steps[i] > 0 && (image.size[2 + i] + 2 * half[i] - kernel[i]) / steps[i] + 1 == made.size[2 + i];
    }
    if (!fits) {
        for (int i = 0; i < 2; i++) {
            int64_t d = to[2 + i];
            if (pads[2 * d] < 0 || pads[2 * d + 1] < 0 || pads[2 * d] > CM__DIM_MAX / 4 || pads[2 * d + 1] > CM__DIM_MAX / 4)
                cm__hlo_refuse(c->s->ctx, e->op, "pads that cut the image");
            image.size[2 + i] += pads[2 * d] + pads[2 * d + 1];
            half[i] = 0;
        }
        row = cm__hlo_emit(c, "constant_pad_nd", &row, 1, &image, cm__hlo_in_type(c, e, 0), json_pack("{s:o}", "pad", cm__hlo_list_json(around, 4)));
    }
    bool    largest = body == CM__HLO_maximum || body == CM__HLO_minimum;
    json_t *op = cm__hlo_new_op(c, largest ? "max_pool2d_with_indices" : "avg_pool2d", &row, 1,
                        json_pack("{s:o,s:o,s:o}", "kernel_size", cm__hlo_list_json(kernel, 2), "stride", cm__hlo_list_json(steps, 2), "padding", cm__hlo_list_json(half, 2)));
    int32_t pooled = cm__hlo_new_row(c, &made, cm__hlo_in_type(c, e, 0), NULL, NULL, -1);
    cm__hlo_makes(op, pooled);
    if (largest) cm__hlo_makes(op, -1);
    return cm__hlo_ordered(c, pooled, &made, from, cm__hlo_in_type(c, e, 0));
}
