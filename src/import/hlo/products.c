/* SPDX-License-Identifier: Apache-2.0 */
/* products.c - translate products and convolutions, and count their FLOP. */
#include "import/hlo/rules.h"

#include <math.h>
#include <string.h>

/* ---- products ----------------------------------------------------------------------------------------------------- */

static int32_t pair_of(const cm__hlo_op *op, const char *key, const char *other_key, int64_t *left, int64_t *right)
{
    cm__span rest = cm__hlo_after(op, key);
    int32_t  n = cm__hlo_ints(op, key, left, CM__RANK_MAX);
    size_t   i = 0;
    if (n < 0 && other_key) return 0;
    while (i < rest.length && rest.text[i] != 'x') i++;
    cm__hlo_op other = {.text = {rest.text + i, rest.length - i}};
    return n >= 0 && i < rest.length && cm__hlo_ints(&other, "x", right, CM__RANK_MAX) == n ? n : 0;
}

static bool listed(const int64_t *list, int32_t n, int64_t x)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

static bool inside(const int64_t *list, int32_t n, int32_t rank)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] < 0 || list[i] >= rank || listed(list, i, list[i])) return false;
    return true;
}

/* Which dimensions of a product are shared, multiplied and free. */
typedef struct product_dims {
    int64_t of_x[CM__RANK_MAX], of_w[CM__RANK_MAX], in_x[CM__RANK_MAX], in_w[CM__RANK_MAX], free_x[CM__RANK_MAX], free_w[CM__RANK_MAX];
    int32_t batch, inner, n_x, n_w;
} product_dims;

static product_dims product_dims_of(cm__ctx *ctx, const cm__hlo_op *op, const cm__hlo_shape *x, const cm__hlo_shape *w)
{
    product_dims d = {0};
    d.inner = pair_of(op, "contracting_dims", NULL, d.in_x, d.in_w);
    d.batch = pair_of(op, "batching_dims", "", d.of_x, d.of_w);
    if (op->kind == CM__HLO_dot && x->rank && w->rank) d.inner = 1, d.in_x[0] = x->rank - 1, d.in_w[0] = 0;
    if (!inside(d.in_x, d.inner, x->rank) || !inside(d.of_x, d.batch, x->rank) || !inside(d.in_w, d.inner, w->rank) || !inside(d.of_w, d.batch, w->rank))
        cm__hlo_refuse(ctx, op, "its dimensions do not belong to its operands");
    for (int32_t i = 0; i < x->rank; i++)
        if (!listed(d.of_x, d.batch, i) && !listed(d.in_x, d.inner, i)) d.free_x[d.n_x++] = i;
    for (int32_t i = 0; i < w->rank; i++)
        if (!listed(d.of_w, d.batch, i) && !listed(d.in_w, d.inner, i)) d.free_w[d.n_w++] = i;
    return d;
}

static cm__hlo_extent joined(const cm__hlo_capture *c, const cm__hlo_shape *s, const int64_t *dims, int32_t n)
{
    cm__hlo_extent all = {1, 0};
    for (int32_t i = 0; i < n; i++) all = cm__hlo_times(c, all, cm__hlo_extent_at(s, dims[i]));
    return all;
}

/* [..., M, K] and [..., K, N]: shared dimensions first, dimensions of a kind joined. */
int32_t cm__hlo_multiplied(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), w = cm__hlo_in_shape(c, e, 1), y = cm__hlo_shape_of(cm__hlo_out(c->s, e)), left = {0}, right = {0}, made = {0};
    product_dims d = product_dims_of(c->s->ctx, e->op, &x, &w);
    int64_t      order_x[CM__RANK_MAX], order_w[CM__RANK_MAX];
    int32_t      a = cm__hlo_in_row(c, e, 0), b = cm__hlo_in_row(c, e, 1), k = 0;
    cm__hlo_extent inner = joined(c, &x, d.in_x, d.inner), columns = joined(c, &w, d.free_w, d.n_w);
    for (int32_t i = 0; i < d.batch; i++) cm__hlo_append(&left, cm__hlo_extent_at(&x, d.of_x[i])), cm__hlo_append(&right, cm__hlo_extent_at(&x, d.of_x[i]));
    made = left;
    if (d.batch) cm__hlo_append(&left, joined(c, &x, d.free_x, d.n_x));
    for (int32_t i = 0; !d.batch && i < d.n_x; i++) cm__hlo_append(&left, cm__hlo_extent_at(&x, d.free_x[i]));
    if (!d.batch && !d.n_x) cm__hlo_append(&left, (cm__hlo_extent){1, 0});
    for (int32_t i = made.rank; i < left.rank; i++) cm__hlo_append(&made, cm__hlo_extent_at(&left, i));
    cm__hlo_append(&left, inner);
    cm__hlo_append(&made, columns);
    for (int32_t i = 0; i < d.batch; i++) order_x[k++] = d.of_x[i];
    for (int32_t i = 0; i < d.n_x; i++) order_x[k++] = d.free_x[i];
    for (int32_t i = 0; i < d.inner; i++) order_x[k++] = d.in_x[i];
    a = cm__hlo_ordered(c, a, &x, order_x, cm__hlo_in_type(c, e, 0));
    cm__hlo_shape moved = cm__hlo_permuted(&x, order_x);
    a = cm__hlo_viewed(c, a, &moved, &left, cm__hlo_in_type(c, e, 0));
    k = 0;
    for (int32_t i = 0; i < d.batch; i++) order_w[k++] = d.of_w[i];
    for (int32_t i = 0; i < d.inner; i++) order_w[k++] = d.in_w[i];
    for (int32_t i = 0; i < d.n_w; i++) order_w[k++] = d.free_w[i];
    cm__hlo_append(&right, inner);
    cm__hlo_append(&right, columns);
    b = cm__hlo_ordered(c, b, &w, order_w, cm__hlo_in_type(c, e, 1));
    moved = cm__hlo_permuted(&w, order_w);
    b = cm__hlo_viewed(c, b, &moved, &right, cm__hlo_in_type(c, e, 1));
    int32_t in[] = {a, b}, row = cm__hlo_emit(c, "matmul", in, 2, &made, cm__hlo_out(c->s, e)->type.dtype, NULL);
    return cm__hlo_viewed(c, row, &made, &y, cm__hlo_out(c->s, e)->type.dtype);
}

/* Strides, pads and dilations of a convolution over `n` dimensions of space. */
typedef struct filter_window {
    int64_t stride[CM__RANK_MAX], pads[2 * CM__RANK_MAX], spacing[CM__RANK_MAX], dilation[CM__RANK_MAX], groups, batch_groups;
} filter_window;

static filter_window filter_window_of(cm__ctx *ctx, const cm__hlo_op *op, int32_t n)
{
    static const struct {
        const char *key, *other;
        size_t      at;
    } lists[] = {{"stride", "window_strides", offsetof(filter_window, stride)},
                 {"lhs_dilate", "lhs_dilation", offsetof(filter_window, spacing)},
                 {"rhs_dilate", "rhs_dilation", offsetof(filter_window, dilation)}};
    filter_window w = {.groups = cm__hlo_int(op, "feature_group_count", 1), .batch_groups = cm__hlo_int(op, "batch_group_count", 1)};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        int64_t *list = (int64_t *)((char *)&w + lists[l].at);
        bool     given = cm__hlo_ints(op, lists[l].key, list, CM__RANK_MAX) == n || cm__hlo_ints(op, lists[l].other, list, CM__RANK_MAX) == n;
        for (int32_t i = 0; i < n; i++) {
            if (!given) list[i] = 1;
            if (list[i] < 1 || list[i] > CM__DIM_MAX / 1024) cm__hlo_refuse(ctx, op, "a stride or a dilation is out of range");
        }
    }
    int32_t found = cm__hlo_ints(op, "pad", w.pads, 2 * CM__RANK_MAX);
    if (found < 0) found = cm__hlo_ints(op, "padding", w.pads, 2 * CM__RANK_MAX);
    for (int32_t i = found < 0 ? 0 : found; i < 2 * n; i++) w.pads[i] = found == 1 ? w.pads[0] : 0;
    for (int32_t i = 0; i < 2 * n; i++)
        if (w.pads[i] > CM__DIM_MAX / 1024 || w.pads[i] < -CM__DIM_MAX / 1024) cm__hlo_refuse(ctx, op, "a pad is out of range");
    if (w.groups < 1 || w.batch_groups < 1) cm__hlo_refuse(ctx, op, "a number of groups is out of range");
    return w;
}

static void set_channels_last(const cm__hlo_capture *c, int32_t row)
{
    json_object_set_new(json_array_get(c->tensors, (size_t)row), "layout", json_string("channels_last"));
}

int32_t cm__hlo_filtered(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), w = cm__hlo_in_shape(c, e, 1), y = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    cm__hlo_filter_dims d = cm__hlo_filter_dims_of(c->s->ctx, e->op, x.rank);
    int32_t             n = x.rank - 2, a = cm__hlo_in_row(c, e, 0), b = cm__hlo_in_row(c, e, 1);
    filter_window       v = filter_window_of(c->s->ctx, e->op, n);
    int64_t             order_x[CM__RANK_MAX], order_w[CM__RANK_MAX], back[CM__RANK_MAX], pads[CM__RANK_MAX], beyond[CM__RANK_MAX], around[2 * CM__RANK_MAX] = {0};
    cm__hlo_shape made = {0};
    bool                transposed = false, fits = true, strided = false, cuts = false;
    if (v.batch_groups != 1) cm__hlo_refuse(c->s->ctx, e->op, "groups of samples");
    for (int32_t i = 0; i < x.rank; i++) {
        order_x[i] = d.image[i];
        order_w[i] = d.filter[i];
        back[d.result[i]] = i;
        cm__hlo_append(&made, cm__hlo_extent_at(&y, d.result[i]));
    }
    a = cm__hlo_ordered(c, a, &x, order_x, cm__hlo_in_type(c, e, 0));
    b = cm__hlo_ordered(c, b, &w, order_w, cm__hlo_in_type(c, e, 1));
    cm__hlo_shape image = cm__hlo_permuted(&x, order_x), kernel = cm__hlo_permuted(&w, order_w);
    for (int32_t i = 0; i < n; i++) transposed |= v.spacing[i] > 1, strided |= v.stride[i] > 1;
    json_t *attrs = json_object();
    json_object_set_new(c->root, "pending", attrs);
    if (transposed) {
        if (strided) cm__hlo_refuse(c->s->ctx, e->op, "a transposed convolution with a stride");
        int64_t swap[CM__RANK_MAX] = {1, 0};
        for (int32_t i = 2; i < x.rank; i++) swap[i] = i;
        b = cm__hlo_ordered(c, b, &kernel, swap, cm__hlo_in_type(c, e, 1));
        for (int32_t i = 0; i < n; i++) {
            pads[i] = v.dilation[i] * (kernel.size[2 + i] - 1) - v.pads[2 * i];
            beyond[i] = v.pads[2 * i + 1] > v.pads[2 * i] ? v.pads[2 * i + 1] - v.pads[2 * i] : 0;
            v.stride[i] = v.spacing[i];
        }
        json_object_set_new(attrs, "transposed", json_integer(1));
        json_object_set_new(attrs, "output_padding", cm__hlo_list_json(beyond, n));
    } else {
        for (int32_t i = 0; i < n; i++) {
            int64_t low = v.pads[2 * i], high = v.pads[2 * i + 1];
            pads[i] = (low + high + 1) / 2;
            around[2 * (n - 1 - i)] = low;
            around[2 * (n - 1 - i) + 1] = high;
            cuts |= low < 0 || high < 0;
            fits &= (image.size[2 + i] + 2 * pads[i] - v.dilation[i] * (kernel.size[2 + i] - 1) - 1) / v.stride[i] + 1 == made.size[2 + i];
        }
        if (cuts) cm__hlo_refuse(c->s->ctx, e->op, "pads that cut the image");
        if (!fits) {
            for (int32_t i = 0; i < n; i++) image.size[2 + i] += v.pads[2 * i] + v.pads[2 * i + 1], pads[i] = 0;
            a = cm__hlo_emit(c, "constant_pad_nd", &a, 1, &image, cm__hlo_in_type(c, e, 0), json_pack("{s:o}", "pad", cm__hlo_list_json(around, 2 * n)));
        }
    }
    json_object_set_new(attrs, "stride", cm__hlo_list_json(v.stride, n));
    json_object_set_new(attrs, "padding", cm__hlo_list_json(pads, n));
    json_object_set_new(attrs, "dilation", cm__hlo_list_json(v.dilation, n));
    json_object_set_new(attrs, "groups", json_integer(v.groups));
    bool    last = d.image[1] == x.rank - 1;
    int32_t in[] = {a, b, -1}, row = cm__hlo_emit(c, "convolution", in, 3, &made, cm__hlo_out(c->s, e)->type.dtype, json_incref(attrs));
    if (last) set_channels_last(c, a), set_channels_last(c, row);
    return cm__hlo_ordered(c, row, &made, back, cm__hlo_out(c->s, e)->type.dtype);
}

/* ---- FLOP of products --------------------------------------------------------------------------------------------- */

/* Pairs of an output and an element of the window that meet a number of the image, not a pad. */
static double met(int64_t size, int64_t window, int64_t stride, int64_t low, int64_t dilation, int64_t base, int64_t made)
{
    double total = 0;
    if (size > 100000 || window > 100000 || made > 100000 || made * window > 10000000) return (double)made * (double)window; /* a bound on the work */
    for (int64_t at = 0; at < made; at++)
        for (int64_t w = 0; w < window; w++) {
            int64_t place = at * stride - low + w * dilation;
            total += place >= 0 && place < (size - 1) * base + 1 && place % base == 0;
        }
    return total;
}

double cm__hlo_product_flop(const cm__hlo_step *s, const cm__hlo_equation *e)
{
    cm__hlo_shape x = cm__hlo_shape_of(cm__hlo_in(s, e, 0)), w = cm__hlo_shape_of(cm__hlo_in(s, e, 1)), y = cm__hlo_shape_of(cm__hlo_out(s, e));
    double flop = 2;
    if (cm__hlo_kind_of(e->op) == CM__HLO_product) {
        product_dims d = product_dims_of(s->ctx, e->op, &x, &w);
        for (int32_t i = 0; i < y.rank; i++) flop *= (double)y.size[i];
        for (int32_t i = 0; i < d.inner; i++) flop *= (double)x.size[d.in_x[i]];
        return flop;
    }
    cm__hlo_filter_dims d = cm__hlo_filter_dims_of(s->ctx, e->op, x.rank);
    filter_window       v = filter_window_of(s->ctx, e->op, x.rank - 2);
    flop *= (double)y.size[d.result[0]] * (double)y.size[d.result[1]] * (double)w.size[d.filter[1]];
    for (int32_t i = 0; i + 2 < x.rank; i++)
        flop *= met(x.size[d.image[2 + i]], w.size[d.filter[2 + i]], v.stride[i], v.pads[2 * i], v.dilation[i], v.spacing[i], y.size[d.result[2 + i]]);
    return flop;
}

/* Zeros between the numbers of a dilated image are no work. */
void cm__hlo_record_product(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    c->now = e;
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), w = cm__hlo_in_shape(c, e, 1), y = cm__hlo_shape_of(cm__hlo_out(c->s, e)), one = {0}, two = {0};
    cm__hlo_extent inner = {1, 0};
    if (cm__hlo_kind_of(e->op) == CM__HLO_product) {
        product_dims d = product_dims_of(c->s->ctx, e->op, &x, &w);
        inner = joined(c, &x, d.in_x, d.inner);
    } else {
        cm__hlo_filter_dims d = cm__hlo_filter_dims_of(c->s->ctx, e->op, x.rank);
        filter_window       v = filter_window_of(c->s->ctx, e->op, x.rank - 2);
        int64_t             empty = 1;
        for (int32_t i = 1; i < x.rank; i++) inner = cm__hlo_times(c, inner, cm__hlo_extent_at(&w, d.filter[i]));
        for (int32_t i = 0; i + 2 < x.rank; i++) empty *= v.spacing[i];
        if (empty > 1 && inner.size >= empty) inner.size /= empty, inner.per_batch /= empty;
    }
    cm__hlo_append(&one, (cm__hlo_extent){1, 0});
    cm__hlo_append(&one, inner);
    cm__hlo_append(&two, inner);
    cm__hlo_append(&two, (cm__hlo_extent){1, 0});
    cm_dtype dtype = cm__hlo_out(c->s, e)->type.dtype;
    int32_t  in[] = {cm__hlo_new_row(c, &one, dtype, "gradient", NULL, -1), cm__hlo_new_row(c, &two, dtype, "gradient", NULL, -1)};
    json_t  *op = cm__hlo_new_op(c, "mm", in, 2, NULL);
    cm__hlo_makes(op, cm__hlo_new_row(c, &y, dtype, "gradient", NULL, -1));
    json_object_set_new(op, "phase", json_string("backward"));
}
