/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - translate the operations of forward into the operators of a capture.
 *
 * They are those that python/centimani/jax_rules.py makes of the primitives of a jaxpr, so that a step is the same by both ways.
 */
#include "import/hlo/rules.h"

#include <math.h>
#include <string.h>

static const char *aten(const cm__hlo_equation *e) { return cm__hlo_rows[e->op->kind].aten; }

/* ---- elementwise -------------------------------------------------------------------------------------------------- */

static int32_t binary(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name)
{
    const cm__hlo_value *a = cm__hlo_in(c->s, e, 0), *b = cm__hlo_in(c->s, e, e->n_in > 1);
    if (b->known && !a->known) {
        double  number = b->number;
        int32_t x = cm__hlo_in_row(c, e, 0);
        return strcmp(name, "pow") == 0 ? cm__hlo_made_by(c, e, name, &x, 1, json_pack("{s:o}", "exponent", cm__hlo_number_json(number)))
                                        : cm__hlo_made_by(c, e, name, &x, 1, json_pack("{s:o}", "other", cm__hlo_number_json(number)));
    }
    if (a->known && !b->known) {
        double  number = a->number;
        int32_t in[] = {-1, cm__hlo_in_row(c, e, 1)};
        return cm__hlo_made_by(c, e, name, in, 2, json_pack("{s:o}", "self", cm__hlo_number_json(number)));
    }
    return cm__hlo_all_operands(c, e, name, NULL);
}

static int32_t comparison(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    static const char *const words[][2] = {{"LT", "lt"}, {"LE", "le"}, {"GT", "gt"}, {"GE", "ge"}, {"EQ", "eq"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cm__hlo_has(e->op, words[i][0])) return binary(c, e, words[i][1]);
    return binary(c, e, "ne");
}

static int32_t choice(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    if (e->n_in != 3) cm__hlo_refuse(c->s->ctx, e->op, "three operands are expected");
    const cm__hlo_value *yes = cm__hlo_in(c->s, e, 1), *no = cm__hlo_in(c->s, e, 2);
    bool                 known_yes = yes->known, known_no = no->known;
    double               of_yes = yes->number, of_no = no->number;
    json_t              *attrs = json_object();
    json_object_set_new(c->root, "pending", attrs); /* released with the capture if an operand is refused */
    if (known_yes) json_object_set_new(attrs, "self", cm__hlo_number_json(of_yes));
    if (known_no) json_object_set_new(attrs, "other", cm__hlo_number_json(of_no));
    int32_t in[3] = {cm__hlo_in_row(c, e, 0), known_yes ? -1 : cm__hlo_in_row(c, e, 1), known_no ? -1 : cm__hlo_in_row(c, e, 2)};
    cm__hlo_shape s = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    if (known_yes && known_no) in[1] = cm__hlo_emit(c, "full", NULL, 0, &s, cm__hlo_out(c->s, e)->type.dtype, NULL);
    return cm__hlo_made_by(c, e, "where", in, 3, json_incref(attrs));
}

static int32_t bounds(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    if (e->n_in != 3) cm__hlo_refuse(c->s->ctx, e->op, "three operands are expected");
    const cm__hlo_value *low = cm__hlo_in(c->s, e, 0), *high = cm__hlo_in(c->s, e, 2);
    if (low->known && high->known) {
        double  a = low->number, b = high->number;
        int32_t x = cm__hlo_in_row(c, e, 1);
        return cm__hlo_made_by(c, e, "clamp", &x, 1, json_pack("{s:o,s:o}", "min", cm__hlo_number_json(a), "max", cm__hlo_number_json(b)));
    }
    int32_t in[] = {cm__hlo_in_row(c, e, 1), cm__hlo_in_row(c, e, 0), cm__hlo_in_row(c, e, 2)};
    return cm__hlo_made_by(c, e, "clamp", in, 3, NULL);
}

static int32_t cast(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int32_t x = cm__hlo_in_row(c, e, 0);
    return cm__hlo_in_type(c, e, 0) == cm__hlo_out(c->s, e)->type.dtype ? x : cm__hlo_made_by(c, e, "_to_copy", &x, 1, NULL);
}

/* ---- moving ------------------------------------------------------------------------------------------------------- */

static int32_t spread(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t dims[CM__RANK_MAX];
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), y = cm__hlo_shape_of(cm__hlo_out(c->s, e)), ones = {.rank = y.rank};
    int32_t n = cm__hlo_ints(e->op, "dims", dims, CM__RANK_MAX), row = cm__hlo_in_row(c, e, 0);
    if (n < 0) n = cm__hlo_ints(e->op, "broadcast_dimensions", dims, CM__RANK_MAX);
    for (int32_t i = 0; i < ones.rank; i++) ones.size[i] = 1;
    if (n != x.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    for (int32_t i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] >= y.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
        ones.size[dims[i]] = x.size[i];
        ones.per_batch[dims[i]] = x.per_batch[i];
    }
    row = cm__hlo_viewed(c, row, &x, &ones, cm__hlo_in_type(c, e, 0));
    return cm__hlo_same_shape(&ones, &y) ? row : cm__hlo_emit_view(c, "expand", row, &y, cm__hlo_in_type(c, e, 0), NULL);
}

static int32_t view(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0), y = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    return cm__hlo_viewed(c, cm__hlo_in_row(c, e, 0), &x, &y, cm__hlo_in_type(c, e, 0));
}

static int32_t order(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t dims[CM__RANK_MAX];
    cm__hlo_shape x = cm__hlo_in_shape(c, e, 0);
    int32_t n = cm__hlo_ints(e->op, "dims", dims, CM__RANK_MAX), row = cm__hlo_in_row(c, e, 0);
    if (n < 0) n = cm__hlo_ints(e->op, "permutation", dims, CM__RANK_MAX);
    bool valid = n == x.rank;
    for (int32_t i = 0; valid && i < n; i++) valid = dims[i] >= 0 && dims[i] < n;
    if (!valid) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    return cm__hlo_ordered(c, row, &x, dims, cm__hlo_in_type(c, e, 0));
}

static int32_t sliced(cm__hlo_capture *c, int32_t row, cm__hlo_shape *s, int32_t d, int64_t start, int64_t end, int64_t step, cm_dtype dtype)
{
    if (step < 1 || start < 0 || end < start || end > s->size[d]) cm__hlo_refuse(c->s->ctx, c->now->op, "a slice outside of its operand");
    if (start == 0 && end == s->size[d] && step == 1) return row;
    if (s->per_batch[d]) cm__hlo_refuse(c->s->ctx, c->now->op, "it takes a part of the batch");
    s->size[d] = (end - start + step - 1) / step;
    json_t *attrs = json_pack("{s:i,s:I,s:I,s:I}", "dim", d, "start", (json_int_t)start, "end", (json_int_t)end, "step", (json_int_t)step);
    return cm__hlo_emit_view(c, "slice", row, s, dtype, attrs);
}

/* [0:4, 1:33:2], or lists of starts, limits and strides */
static int32_t part(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    cm__hlo_shape s = cm__hlo_in_shape(c, e, 0);
    int32_t row = cm__hlo_in_row(c, e, 0), d = 0;
    int64_t starts[CM__RANK_MAX], limits[CM__RANK_MAX], steps[CM__RANK_MAX];
    if (cm__hlo_ints(e->op, "start_indices", starts, CM__RANK_MAX) == s.rank) {
        bool valid = cm__hlo_ints(e->op, "limit_indices", limits, CM__RANK_MAX) == s.rank;
        if (cm__hlo_ints(e->op, "strides", steps, CM__RANK_MAX) != s.rank || !valid) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
        for (d = 0; d < s.rank; d++) row = sliced(c, row, &s, d, starts[d], limits[d], steps[d], cm__hlo_in_type(c, e, 0));
        return row;
    }
    const char *p = memchr(e->op->text.text, '[', e->op->text.length), *end = e->op->text.text + e->op->text.length;
    int64_t     numbers[3] = {0, 0, 1};
    int32_t     k = 0;
    bool        any = false;
    for (p = p ? p + 1 : end; p < end; p++) {
        if (*p >= '0' && *p <= '9') {
            if (!any) numbers[k] = 0;
            any = true;
            if (numbers[k] < CM__DIM_MAX) numbers[k] = 10 * numbers[k] + (*p - '0');
        } else if (*p == ':' && k < 2) k++, any = false;
        else if (*p == ',' || *p == ']') {
            if (k < 1 || d >= s.rank) break;
            row = sliced(c, row, &s, d++, numbers[0], numbers[1], numbers[2], cm__hlo_in_type(c, e, 0));
            numbers[0] = numbers[1] = k = 0;
            numbers[2] = 1;
            any = false;
            if (*p == ']') break;
        }
    }
    if (d != s.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    return row;
}

int32_t cm__hlo_slice_range(const cm__hlo_step *s, const cm__hlo_equation *e, int64_t *start, int64_t *end)
{
    if (e->op->kind != CM__HLO_slice || e->n_in != 1 || e->n_out != 1) return -1;
    cm__hlo_shape x = cm__hlo_shape_of(cm__hlo_in(s, e, 0)), y = cm__hlo_shape_of(cm__hlo_out(s, e));
    const char *p = memchr(e->op->text.text, '[', e->op->text.length), *stop = e->op->text.text + e->op->text.length;
    int32_t     found = -1, d = 0;
    if (x.rank != y.rank) return -1;
    for (; d < x.rank; d++) {
        if (x.size[d] == y.size[d]) continue;
        if (found >= 0) return -1;
        found = d;
    }
    for (d = 0; p && p < stop && d < found; p++) d += *p == ',';
    while (p && p < stop && (*p < '0' || *p > '9')) p++;
    for (*start = 0; p && p < stop && *p >= '0' && *p <= '9' && *start < CM__DIM_MAX; p++) *start = 10 * *start + (*p - '0');
    *end = *start + (found < 0 ? 0 : y.size[found]);
    return found >= 0 && *end <= x.size[found] && !x.per_batch[found] ? found : -1;
}

/* All slices of one operand as one operator. */
static void split(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t start, end;
    int32_t axis = cm__hlo_slice_range(c->s, e, &start, &end), x = cm__hlo_in_row(c, e, 0);
    json_t *op = cm__hlo_new_op(c, "split_with_sizes", &x, 1, json_pack("{s:i}", "dim", axis));
    for (int32_t i = 0; i < e->pieces; i++) {
        cm__hlo_shape s = cm__hlo_shape_of(cm__hlo_out(c->s, e + i));
        int32_t row = cm__hlo_new_row(c, &s, cm__hlo_in_type(c, e, 0), NULL, NULL, cm__hlo_storage_of(c, x));
        cm__hlo_makes(op, row);
        cm__hlo_bind(c, e + i, 0, row);
    }
}

static int32_t moving_part(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    cm__hlo_shape s = cm__hlo_in_shape(c, e, 0), y = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    int32_t row = cm__hlo_in_row(c, e, 0);
    if (s.rank != y.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    for (int32_t d = 0; d < s.rank; d++) row = sliced(c, row, &s, d, 0, y.size[d], 1, cm__hlo_in_type(c, e, 0));
    return row;
}

static int32_t border(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    int64_t low[CM__RANK_MAX], high[CM__RANK_MAX], inner[CM__RANK_MAX], pads[2 * CM__RANK_MAX];
    cm__hlo_shape s = cm__hlo_in_shape(c, e, 0);
    bool    valid = cm__hlo_ints(e->op, "low", low, CM__RANK_MAX) == s.rank, padded = false, between = false;
    valid &= cm__hlo_ints(e->op, "high", high, CM__RANK_MAX) == s.rank && cm__hlo_ints(e->op, "interior", inner, CM__RANK_MAX) == s.rank;
    if (!valid) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
    int32_t row = cm__hlo_in_row(c, e, 0);
    for (int32_t d = 0; d < s.rank; d++) between |= inner[d] != 0;
    if (between) return cm__hlo_made_by(c, e, "_pad_between", &row, 1, NULL);
    for (int32_t d = 0; d < s.rank; d++)
        row = sliced(c, row, &s, d, low[d] < 0 ? -low[d] : 0, s.size[d] + (high[d] < 0 ? high[d] : 0), 1, cm__hlo_in_type(c, e, 0));
    for (int32_t d = 0; d < s.rank; d++) {
        pads[2 * d] = low[s.rank - 1 - d] > 0 ? low[s.rank - 1 - d] : 0;
        pads[2 * d + 1] = high[s.rank - 1 - d] > 0 ? high[s.rank - 1 - d] : 0;
        padded |= pads[2 * d] || pads[2 * d + 1];
    }
    return padded ? cm__hlo_made_by(c, e, "constant_pad_nd", &row, 1, json_pack("{s:o}", "pad", cm__hlo_list_json(pads, 2 * s.rank))) : row;
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static void several(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name, int64_t axis)
{
    int32_t x = cm__hlo_in_row(c, e, 0);
    bool    sorts = cm__hlo_kind_of(e->op) == CM__HLO_sorted;
    int64_t k = sorts ? 0 : cm__hlo_shape_of(cm__hlo_out(c->s, e)).size[axis];
    json_t *op = cm__hlo_new_op(c, name, &x, 1, sorts ? json_pack("{s:I}", "dim", (json_int_t)axis) : json_pack("{s:I,s:I}", "k", (json_int_t)k, "dim", (json_int_t)axis));
    for (int32_t i = 0; i < e->n_out; i++) {
        cm__hlo_shape s = cm__hlo_shape_of(&c->s->values[e->first + i]);
        if (i < 2) {
            int32_t row = cm__hlo_new_row(c, &s, c->s->values[e->first + i].type.dtype, NULL, NULL, -1);
            cm__hlo_makes(op, row);
            cm__hlo_bind(c, e, i, row);
        } else cm__hlo_bind(c, e, i, cm__hlo_in_row(c, e, i < e->n_in ? i : 0));
    }
    if (e->n_out == 1) cm__hlo_makes(op, -1);
}

static int32_t translated(cm__hlo_capture *c, const cm__hlo_equation *e)
{
    switch (cm__hlo_kind_of(e->op)) {
    case CM__HLO_unary:
        return cm__hlo_all_operands(c, e, aten(e), e->op->kind == CM__HLO_square ? json_pack("{s:i}", "exponent", 2) : NULL);
    case CM__HLO_binary: return binary(c, e, aten(e));
    case CM__HLO_comparison: return comparison(c, e);
    case CM__HLO_choice: return choice(c, e);
    case CM__HLO_bounds: return bounds(c, e);
    case CM__HLO_cast: return cast(c, e);
    case CM__HLO_splat: case CM__HLO_made: return cm__hlo_made_by(c, e, aten(e), NULL, 0, NULL);
    case CM__HLO_spread: return spread(c, e);
    case CM__HLO_view: return view(c, e);
    case CM__HLO_order: return order(c, e);
    case CM__HLO_flip: return cm__hlo_all_operands(c, e, "flip", NULL);
    case CM__HLO_part: return part(c, e);
    case CM__HLO_moving_part: return moving_part(c, e);
    case CM__HLO_replace: {
        int32_t in[] = {cm__hlo_in_row(c, e, 0), cm__hlo_in_row(c, e, 1), cm__hlo_in_row(c, e, 1)};
        return cm__hlo_made_by(c, e, "index_put", in, 3, NULL);
    }
    case CM__HLO_border: return border(c, e);
    case CM__HLO_join: {
        int64_t axis = cm__hlo_int(e->op, "dim", cm__hlo_int(e->op, "dimension", 0));
        return cm__hlo_all_operands(c, e, "cat", json_pack("{s:I}", "dim", (json_int_t)axis));
    }
    case CM__HLO_product: return cm__hlo_multiplied(c, e);
    case CM__HLO_filter: return cm__hlo_filtered(c, e);
    case CM__HLO_lookup: return cm__hlo_looked_up(c, e);
    case CM__HLO_write: return cm__hlo_all_operands(c, e, "index_put", json_pack("{s:i}", "accumulate", cm__hlo_body_of(e->op) == CM__HLO_add));
    case CM__HLO_window: return cm__hlo_windowed(c, e);
    case CM__HLO_gathered: return cm__hlo_all_operands(c, e, "cat", NULL);
    case CM__HLO_custom: {
        const char *name = memchr(e->op->text.text, '@', e->op->text.length);
        int32_t     n = 0, most = name ? (int32_t)(e->op->text.text + e->op->text.length - name) : 0;
        while (n < most && n < 64 && !strchr("( {\n", name[n])) n++;
        cm__hlo_refuse(c->s->ctx, e->op, cm__format(c->s->ctx, "what '%.*s' computes is not known", n, n ? name : ""));
    }
    default: cm__hlo_refuse(c->s->ctx, e->op, "forward has an operation that no operator stands for");
    }
}

void cm__hlo_translate(cm__hlo_capture *c, cm__hlo_equation *e)
{
    cm__hlo_kind kind = cm__hlo_kind_of(e->op);
    c->now = e;
    if (!e->n_out) return;
    const cm__hlo_value *y = cm__hlo_out(c->s, e);
    if (y->known || (y->parts && y->leaf < 0)) return; /* made where it is read */
    const cm__hlo_value *before = &c->s->values[y->same]; /* forward computes the same of the same once, as XLA does */
    if (before != y && before->row >= 0) {
        for (int32_t i = 0; i < e->n_out; i++) cm__hlo_bind(c, e, i, c->s->values[c->s->values[e->first + i].same].row);
        return;
    }
    if (y->row >= 0) return;
    if (e->pieces) split(c, e);
    else if (kind == CM__HLO_reduction) cm__hlo_reduced(c, e);
    else if (kind == CM__HLO_sorted || kind == CM__HLO_best) {
        int32_t rank = cm__hlo_in(c->s, e, 0)->type.rank;
        int64_t axis = kind == CM__HLO_best ? rank - 1 : cm__hlo_int(e->op, "dimension", rank - 1);
        if (rank < 1 || axis < 0 || axis >= rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimension does not belong to its operand");
        several(c, e, aten(e), axis);
    } else if (kind == CM__HLO_made && e->n_out > 1)
        for (int32_t i = 0; i < e->n_out; i++) {
            cm__hlo_shape s = cm__hlo_shape_of(&c->s->values[e->first + i]);
            cm__hlo_bind(c, e, i, cm__hlo_emit(c, aten(e), NULL, 0, &s, c->s->values[e->first + i].type.dtype, NULL));
        }
    else if (kind == CM__HLO_transform) {
        cm__hlo_shape x = cm__hlo_in_shape(c, e, 0);
        int64_t lengths[CM__RANK_MAX], dims[CM__RANK_MAX];
        int32_t n = cm__hlo_ints(e->op, "length", lengths, CM__RANK_MAX), row = cm__hlo_in_row(c, e, 0);
        if (n < 0) n = cm__hlo_ints(e->op, "fft_length", lengths, CM__RANK_MAX);
        if (n < 1 || n > x.rank) cm__hlo_refuse(c->s->ctx, e->op, "its dimensions do not belong to its operand");
        for (int32_t i = 0; i < n; i++) dims[i] = x.rank - n + i;
        const char *name = cm__hlo_has(e->op, "IRFFT") ? "_fft_c2r" : cm__hlo_has(e->op, "RFFT") ? "_fft_r2c" : "_fft_c2c";
        cm__hlo_bind(c, e, 0, cm__hlo_made_by(c, e, name, &row, 1, json_pack("{s:o}", "dim", cm__hlo_list_json(dims, n))));
    } else cm__hlo_bind(c, e, 0, translated(c, e));
}
