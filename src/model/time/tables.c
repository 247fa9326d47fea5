/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - look up kernel tables by call, and interpolate between their rows. */
#include "model/time/tables.h"

#include <math.h>
#include <string.h>
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
                      bool reference, cm__memo *memo)
{
    const cm__catalogue *c =
        cm__catalogue_of(ctx, memo ? cm__memo_catalogues(memo) : NULL, kernels, cm_runtime_base(runtime));
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
    int kind = cm__kind_of(t->op, t->variant, t->dtype);
    return (family){l->catalogue->families[t->op][kind], &l->rows[t->op][kind]};
}

static cm__members members_of(const cm__library *l, int op, const cm__call *c)
{
    return l->catalogue->families[op][cm__kind_of(op, c->variant, c->dtype)];
}

static bool is_table(const cm__kernel_table *t, const cm__call *c)
{
    return t->pass == c->pass && cm__same_text(t->variant, c->variant) && cm__same_text(t->dtype, c->dtype);
}

static int32_t table_in(const cm__library *l, const cm__call *c)
{
    if (!l->count) return -1;
    cm__members f = members_of(l, c->op, c);
    for (int32_t i = f.first; i < f.first + f.count; i++)
        if (is_table(l->tables[i], c)) return i;
    return -1;
}

static bool replace(char *text, const char *of, const char *by)
{
    if (strcmp(text, of)) return false;
    memset(text, 0, CM__CALL_TEXT);
    memcpy(text, by, strlen(by));
    return true;
}

/* Uses the larger of the reference device's bf16 and fp16 tables, if they are alike. */
int32_t cm__library_own(const cm__library *l, const cm__call *c)
{
    int32_t own = table_in(l, c);
    if (!l->reference || !cm__alike_in_16_bits(c->op) || strcmp(c->dtype, "fp16")) return own;
    cm__call other = *c;
    replace(other.dtype, "fp16", "bf16");
    int32_t instead = table_in(l, &other);
    if (instead < 0 || own < 0) return own < 0 ? instead : own;
    return l->tables[instead]->n_rows > l->tables[own]->n_rows ? instead : own;
}

/* Types and variants of similar speed, for calls without a table of their own. */
static const struct {
    const char *of, *instead;
} stand_ins[] = {
    {"fp16", "bf16"},
    {"fp8", "bf16"},
    {"tt", "nn"},
    {"nt-exact", "nt"},
    {"nn-bias", "nt-bias"},
    {"nt-bias", "nt"},
    {"mask", ""},
    {"log", ""},
    {"planes", ""},
    {"blocks", ""},
    {"nll", "mean"},
    {"nll_grad", "mean"},
    {"ctc", "mean"},
    {"ctc_beta", "mean"},
    {"ctc_labels", "mean"},
    {"cholesky", "mean"},
    {"lu", "mean"},
    {"substitute", "mean"},
    {"cdist", "sum"},
    {"cdist_grad", "sum"},
    {"max", "sum"},
    {"mean", "sum"},
    {"gru", "lstm"},
    {"apart", "rows"},
    {"rows", "nhwc"},
    {"plain", "nchw"},
    {"rnn", "lstm"},
    {"gelu_tanh", "gelu"},
    {"dropout_add", "dropout"},
    {"sub", "add"},
    {"div", "mul"},
    {"clip", "relu"},
    {"neg", "scale"},
    {"hardswish", "silu"},
    {"mish", "silu"},
    {"erf", "gelu"},
    {"rsqrt", "sqrt"},
    {"log", "exp"},
    {"cat", "copy"},
    {"fused", "copy"},
    {"plain_column_sum", "column_sum"},
    {"column_sum", "copy"},
    {"many_sums", "partial_sums"},
    {"partial_sums", "copy"},
    {"row_sum", "copy"},
    {"long_row_sum", "copy"},
    {"strided_row_sum", "long_row_sum"},
    {"where", "add"},
    {"hardswish_grad", "silu_grad"},
    {"mish_grad", "silu_grad"},
    {"gelu_tanh_grad", "gelu_grad"},
    {"int64", "fp32"},
    {"add:part", "add:strided"},
    {"copy:part", "copy:strided"},
    {"mul:plane", "mul:col"},
    {"add:plane", "add:col"},
    {"sqrt", "exp"},
    {"exp", "tanh"},
    {"silu", "sigmoid"},
    {"bias", "mask"},
    {"bias-dropout", "mask-dropout"},
    {"argmax", "max"},
    {"argmax", "sum"},
    {"var", "mean"},
    {"norm", "sum"},
    {"prod", "sum"},
    {"cumprod", "cumsum"},
    {"roll", "copy"},
    {"flip", "copy"},
    {"select", ""},
    {"nearest1d:nchw", "nearest:nchw"},
    {"bicubic:nchw", "bilinear:nchw"},
    {"bicubic:nhwc", "bilinear:nhwc"},
    {"bilinear-aa:nchw", "bilinear:nchw"},
    {"bilinear-aa:nhwc", "bilinear:nhwc"},
};

int32_t cm__library_stand_in(const cm__library *l, const cm__call *c)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        cm__call other = *c;
        if (!replace(other.variant, stand_ins[i].of, stand_ins[i].instead) &&
            !replace(other.dtype, stand_ins[i].of, stand_ins[i].instead))
            continue;
        int32_t table = table_in(l, &other);
        if (table < 0 && replace(other.dtype, "fp16", "bf16")) table = table_in(l, &other); /* of both */
        if (table >= 0) return table;
    }
    return -1;
}

/* The table of any elementwise function with these types: traffic determines the time, not the function. */
int32_t cm__library_any_function(const cm__library *l, const cm__call *c)
{
    cm__members f = members_of(l, CM__CALL_ELEMENTWISE, c);
    for (int32_t i = f.first; c->op == CM__CALL_ELEMENTWISE && i < f.first + f.count; i++) {
        const char *a = strchr(l->tables[i]->variant, ':'), *b = strchr(c->variant, ':');
        if (strcmp(l->tables[i]->dtype, c->dtype) == 0 && strcmp(a ? a : "", b ? b : "") == 0) return i;
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
    memset(other.dtype, 0, sizeof other.dtype);
    memcpy(other.dtype, t->dtype, strlen(t->dtype));
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

cm__memo_value cm__library_neighbours(cm__library *l, int32_t table, const cm__call *given, cm__memo *memo)
{
    const cm__kernel_table *t = l->tables[table];
    cm__memo_value          value;
    cm__call                call = *given, *c = &call;
    float                   features[CM__FEATURES];
    cm__memo_key            key = {t, l->runtime};
    if (memo && cm__memo_find(memo, key, c, &value)) return value;
    if (memo && strcmp(call.dtype, t->dtype) != 0) call = as_in_table(l, t, given);
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
