/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - look up kernel tables by call, and interpolate between their rows. */
#include "model/time/tables.h"

#include <math.h>
#include "base/text.h"
#include "device/row_sizes.h"
#include "model/time/features.h"
#include "model/time/trend.h"

cm__call cm__without_shape(const cm__call *c)
{
    cm__call call = *c;
    cm__drop_shape(&call);
    return call;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

void cm__library_open(cm__ctx *ctx, cm__library *l, cm__kernels kernels, const cm_device *of, cm_runtime runtime,
                      cm_versions asked, bool reference, cm__memo *memo)
{
    const cm__catalogue *c =
        cm__catalogue_of(ctx, memo ? cm__memo_catalogues(memo) : NULL, kernels, cm_runtime_base(runtime), asked);
    *l = (cm__library){.ctx = ctx, .limits = cm__limits_of(of), .runtime = runtime, .reference = reference,
                       .catalogue = c, .tables = c->tables, .count = c->count};
}

/* The tables of a family, and their rows once they are prepared. */
typedef struct family {
    cm__members      of;
    const cm__rows **rows;
} family;

static family family_of(cm__library *l, const cm__kernel_table *t)
{
    int kind = cm__kind_of(t->op, t->variant, t->types);
    return (family){l->catalogue->families[t->op][kind], &l->rows[t->op][kind]};
}

static cm__members members_of(const cm__library *l, int op, const cm__call *c)
{
    return l->catalogue->families[op][cm__kind_of(op, c->variant, c->types)];
}

static bool is_table(const cm__kernel_table *t, const cm__call *c)
{
    return t->pass == c->pass && t->variant == c->variant && t->types == c->types;
}

static int32_t table_in(const cm__library *l, const cm__call *c)
{
    if (!l->count) return -1;
    cm__members f = members_of(l, c->op, c);
    for (int32_t i = f.first; i < f.first + f.count; i++)
        if (is_table(l->tables[i], c)) return i;
    return -1;
}

/* Uses the larger of the reference device's bf16 and fp16 tables, if they are alike. */
int32_t cm__library_own(const cm__library *l, const cm__call *c)
{
    int32_t own = table_in(l, c);
    if (!l->reference || !cm__alike_in_16_bits(c->op) || c->types != CM__ALL(CM_FP16)) return own;
    cm__call other = *c;
    other.types = CM__ALL(CM_BF16);
    int32_t instead = table_in(l, &other);
    if (instead < 0 || own < 0) return own < 0 ? instead : own;
    return l->tables[instead]->n_rows > l->tables[own]->n_rows ? instead : own;
}

/* Types and variants of similar speed, for calls without a table of their own. */
#define TYPES(type, by) {true, CM__ALL(CM_##type), CM__ALL(CM_##by)}
#define LIKE(variant, by) {false, CM__V_##variant, CM__V_##by}
#define FORMS(variant, form, by, its) {false, CM__V(variant, form), CM__V(by, its)}
static const struct {
    bool     of_types;
    uint16_t of, instead;
} stand_ins[] = {
    TYPES(FP16, BF16), TYPES(FP8, BF16), LIKE(TT, NN), LIKE(NT_EXACT, NT), LIKE(NN_BIAS, NT_BIAS), LIKE(NT_BIAS, NT),
    LIKE(MASK, NONE), LIKE(LOG, NONE), LIKE(PLANES, NONE), LIKE(BLOCKS, NONE), LIKE(MAX, SUM),
    LIKE(MEAN, SUM), LIKE(GRU, LSTM), LIKE(APART, ROWS), LIKE(ROWS, NHWC), LIKE(PLAIN, NCHW), LIKE(RNN, LSTM), LIKE(GELU_TANH, GELU),
    LIKE(DROPOUT_ADD, DROPOUT), LIKE(SUB, ADD), LIKE(DIV, MUL), LIKE(CLIP, RELU), LIKE(NEG, SCALE),
    LIKE(HARDSWISH, SILU), LIKE(MISH, SILU), LIKE(ERF, GELU), LIKE(RSQRT, SQRT), LIKE(LOG, EXP), LIKE(CAT, COPY),
    LIKE(FUSED, COPY), LIKE(PLAIN_COLUMN_SUM, COLUMN_SUM), LIKE(COLUMN_SUM, COPY),
    LIKE(MANY_SUMS, PARTIAL_SUMS), LIKE(PARTIAL_SUMS, COPY), LIKE(ROW_SUM, COPY), LIKE(LONG_ROW_SUM, COPY),
    LIKE(STRIDED_ROW_SUM, LONG_ROW_SUM),
    LIKE(WHERE, ADD), LIKE(HARDSWISH_GRAD, SILU_GRAD), LIKE(MISH_GRAD, SILU_GRAD), LIKE(GELU_TANH_GRAD, GELU_GRAD),
    TYPES(INT64, FP32), FORMS(ADD, PART, ADD, STRIDED), FORMS(COPY, PART, COPY, STRIDED), FORMS(MUL, PLANE, MUL, COL),
    FORMS(ADD, PLANE, ADD, COL), LIKE(SQRT, EXP), LIKE(EXP, TANH), LIKE(SILU, SIGMOID), LIKE(BIAS, MASK),
    LIKE(BIAS_DROPOUT, MASK_DROPOUT), LIKE(ARGMAX, MAX), LIKE(ARGMAX, SUM), LIKE(VAR, MEAN), LIKE(NORM, SUM),
    LIKE(PROD, SUM), LIKE(CUMPROD, CUMSUM), LIKE(ROLL, COPY), LIKE(FLIP, COPY), LIKE(SELECT, NONE),
    FORMS(NEAREST1D, NCHW, NEAREST, NCHW), FORMS(BICUBIC, NCHW, BILINEAR, NCHW), FORMS(BICUBIC, NHWC, BILINEAR, NHWC),
    FORMS(BILINEAR_AA, NCHW, BILINEAR, NCHW), FORMS(BILINEAR_AA, NHWC, BILINEAR, NHWC),
};

int32_t cm__library_stand_in(const cm__library *l, const cm__call *c)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        cm__call other = *c;
        uint16_t *key = stand_ins[i].of_types ? &other.types : &other.variant;
        if (*key != stand_ins[i].of) continue;
        *key = stand_ins[i].instead;
        int32_t table = table_in(l, &other);
        if (table < 0 && other.types == CM__ALL(CM_FP16)) { /* of both */
            other.types = CM__ALL(CM_BF16);
            table = table_in(l, &other);
        }
        if (table >= 0) return table;
    }
    return -1;
}

/* The table of any elementwise function with these types: traffic determines the time, not the function. */
int32_t cm__library_any_function(const cm__library *l, const cm__call *c)
{
    cm__members f = members_of(l, CM__CALL_ELEMENTWISE, c);
    for (int32_t i = f.first; c->op == CM__CALL_ELEMENTWISE && i < f.first + f.count; i++) {
        const cm__kernel_table *t = l->tables[i];
        if (t->types == c->types && cm__form_of(t->variant) == cm__form_of(c->variant)) return i;
    }
    return -1;
}

/* ---- times from tables ------------------------------------------------------------------------------------------ */

_Static_assert(CM__ELEMENTWISE_OUTER == 0 && CM__ELEMENTWISE_INNER == 1, "their product is the number of elements");

int32_t cm__library_row(const cm__library *l, int32_t table, const cm__call *c)
{
    const cm__kernel_table *t = l->tables[table];
    return cm__shapeless(c) ? cm__row_with_product(t, c->sizes[CM__ELEMENTWISE_INNER]) : cm__row_find(t, c->sizes);
}

/* If the table has another type but the same work, the call is compared to the rows in the table's type. */
static cm__call as_in_table(const cm__library *l, const cm__kernel_table *t, const cm__call *c)
{
    cm__call other = *c;
    other.types = t->types;
    double flop[2], bytes[2];
    cm__call_work(c, &flop[0], &bytes[0]);
    cm__call_work(&other, &flop[1], &bytes[1]);
    bool same = flop[0] == flop[1] && bytes[0] == bytes[1] &&
                cm__roofline(&l->limits, c) == cm__roofline(&l->limits, &other);
    return same ? other : *c;
}

static cm__kriged krige(cm__library *l, int32_t table, const float *features, int32_t without)
{
    int    op = l->tables[table]->op;
    family f = family_of(l, l->tables[table]);
    return cm__krige(cm__scales_of(op), *f.rows, f.of.count, table - f.of.first, features, cm__n_features(op), without);
}

static const cm__rows *rows_of(cm__library *l, int32_t table, cm__memo *memo)
{
    family     f = family_of(l, l->tables[table]);
    cm__tables tables = {l->tables + f.of.first, f.of.count};
    if (!*f.rows) *f.rows = cm__rows_of(l->ctx, memo ? cm__memo_shelf(memo) : NULL, tables, &l->limits);
    return &(*f.rows)[table - f.of.first];
}

const cm__rows *cm__library_rows(cm__library *l, int32_t table) { return rows_of(l, table, NULL); }

void cm__library_nearest(cm__library *l, int32_t table, const cm__call *c, cm__neighbours *found)
{
    float           features[CM__FEATURES];
    const cm__rows *rows = rows_of(l, table, NULL);
    found->count = 0;
    cm__features(c, &l->limits, features);
    cm__nearest_at_home(found, rows, 0, features, cm__n_features(c->op), -1);
}

cm__memo_value cm__library_neighbours(cm__library *l, int32_t table, const cm__call *given, cm__memo *memo)
{
    const cm__kernel_table *t = l->tables[table];
    cm__memo_value          value;
    cm__call                call = *given, *c = &call;
    float                   features[CM__FEATURES];
    cm__memo_key            key = {t, l->runtime};
    if (memo && cm__memo_find(memo, key, c, &value)) return value;
    if (memo && call.types != t->types) call = as_in_table(l, t, given);
    if (memo && cm__memo_find(memo, key, c, &value)) return value;
    rows_of(l, table, memo);
    double     roofline = cm__features(c, &l->limits, features);
    cm__kriged k = krige(l, table, features, -1);
    double     trend = (double)cm__trend(t, c, &l->limits);
    value.timed = (cm__timed){.time_s = exp(k.value + trend) * roofline, .launches = cm__row_launches(t, k.row)};
    value.unknown = k.unknown;
    if (memo) cm__memo_keep(memo, key, c, &value);
    return value;
}

double cm__library_left_out(cm__library *l, int32_t table, int32_t row, cm__call *c)
{
    const cm__rows *rows = cm__library_rows(l, table);
    float           features[CM__FEATURES];
    *c = cm__call_of_table(l->tables[table]);
    cm__set_row(c, l->tables[table], row);
    cm__call   flat = cm__without_shape(c);
    cm__row_features(rows, cm__row_numbered(rows, row), cm__n_features(c->op), features, 1);
    cm__kriged k = krige(l, table, features, row);
    return exp(k.value + (double)cm__trend(l->tables[table], &flat, &l->limits)) * cm__roofline(&l->limits, &flat);
}
