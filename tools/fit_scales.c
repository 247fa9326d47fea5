/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_scales.c - fit the kriging scales of one call (data/scales.json) to the H200's built-in kernel tables.
 *
 * fit_scales CALL [ROUNDS [ROWS]] predicts each row from the others and prints, for the stored scales, for the defaults
 * and for scales fitted from the defaults, the likelihood: the mean over rows of the log density
 *
 *     -1/2 (log v + r^2 / v)      r: error of the predicted log ratio; v = unknown + spread noise, its predicted variance
 *
 * Each round changes one parameter after the other by a factor and keeps what raises the likelihood; after a round
 * without a change the factor becomes its square root. A scale whose feature is the same in all rows keeps its value.
 * In large tables only every nth row is left out, so that about ROWS are predicted; all rows are neighbours.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/time/features.h"
#include "model/time/tables.h"
#include "model/time/trend.h"

#define DEVICE "nvidia-h200"
#define ROUNDS 24
#define ROWS 1000
#define FIRST_FACTOR 2.0
#define ALIKE_MOST 0.1
#define LEAST 1e-4 /* of a variance or distance */
#define SCALE_LEAST 0.1
#define SCALE_MOST 60.0
#define HEAD 6 /* noise, alike, variant, type, pass, spread */

/* Rows in the order of their table. */
typedef struct table {
    float   *raw, *values; /* unscaled features, log ratios */
    float   *scaled;       /* features over the scales that are tried */
    float   *floats;       /* for cm__rows_arrange() */
    uint16_t *numbers;
    cm__rows rows;         /* arranged */
} table;

/* The tables of a call in one family. */
typedef struct family {
    table  *tables;
    int32_t count;
} family;

typedef struct fit {
    int     op, n; /* n: features without padding */
    family  families[CM__KINDS];
    bool    varies[CM__FEATURES];
    double *residual, *variance;
    int32_t n_rows, every; /* every: of so many rows, one is predicted */
} fit;

static double *parameter(cm__scales *s, float *scales, int i, double *copy)
{
    double *head[HEAD] = {&s->noise, &s->alike, &s->variant, &s->dtype, &s->pass, &s->spread};
    if (i < HEAD) return head[i];
    *copy = (double)scales[i - HEAD];
    return copy;
}

static double value_of(cm__scales *s, int i)
{
    double copy;
    return *parameter(s, s->scales, i, &copy);
}

static void set(cm__scales *s, int i, double value)
{
    double copy, *at = parameter(s, s->scales, i, &copy);
    if (i < HEAD) *at = value;
    else s->scales[i - HEAD] = (float)value;
}

static double bounded(int i, double value)
{
    double least = i < HEAD ? LEAST : SCALE_LEAST, most = i == 1 ? ALIKE_MOST : i < HEAD ? 10 : SCALE_MOST;
    return fmin(most, fmax(least, value));
}

/* ---- likelihood -------------------------------------------------------------------------------------------------- */

static void scale_features(const fit *f, family *of, const cm__scales *s)
{
    int padded = cm__n_features(f->op);
    for (table *t = of->tables; t < of->tables + of->count; t++)
        for (int32_t r = 0; r < t->rows.count; r++)
            for (int i = 0; i < f->n; i++) {
                size_t at = (size_t)r * (size_t)padded + (size_t)i;
                t->scaled[at] = t->raw[at] / s->scales[i];
            }
}

static void predict_family(fit *f, family *of, const cm__scales *s)
{
    int       padded = cm__n_features(f->op);
    cm__rows *tables = calloc((size_t)of->count + 1, sizeof *tables);
    if (!tables) exit(2);
    scale_features(f, of, s);
    for (int32_t t = 0; t < of->count; t++) {
        const table *from = &of->tables[t];
        tables[t] = cm__rows_arrange(from->scaled, from->values, padded, (size_t)from->rows.count, from->floats,
                                     from->numbers);
        tables[t].variant = from->rows.variant;
        tables[t].dtype = from->rows.dtype;
        tables[t].pass = from->rows.pass;
    }
    for (int32_t t = 0; t < of->count; t++)
        for (int32_t r = t % f->every; r < tables[t].count; r += f->every) {
            const float *features = of->tables[t].scaled + (size_t)r * (size_t)padded;
            cm__kriged   k = cm__krige(s, tables, of->count, t, features, padded, r);
            f->residual[f->n_rows] = (double)of->tables[t].values[r] - k.value;
            f->variance[f->n_rows++] = k.unknown + s->spread * s->noise;
        }
    free(tables);
}

static double likelihood(fit *f, const cm__scales *s)
{
    double sum = 0;
    f->n_rows = 0;
    for (int k = 0; k < CM__KINDS; k++) predict_family(f, &f->families[k], s);
    for (int32_t i = 0; i < f->n_rows; i++)
        sum += log(f->variance[i]) + f->residual[i] * f->residual[i] / f->variance[i];
    return -0.5 * sum / f->n_rows;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

static bool improve(fit *f, cm__scales *s, int i, double factor, double *best)
{
    double before = value_of(s, i);
    for (int up = 0; up < 2; up++) {
        double tried = bounded(i, up ? before * factor : before / factor);
        if (tried == before) continue;
        set(s, i, tried);
        double now = likelihood(f, s);
        if (now > *best) {
            *best = now;
            return true;
        }
        set(s, i, before);
    }
    return false;
}

/* Calls without a trend keep the spread 1. */
static bool is_free(const fit *f, int i)
{
    if (i == HEAD - 1) return cm__trends[f->op].count > 0;
    return i < HEAD || f->varies[i - HEAD];
}

static double search(fit *f, cm__scales *s, int rounds)
{
    double best = likelihood(f, s), factor = FIRST_FACTOR;
    for (int round = 0; round < rounds; round++) {
        bool changed = false;
        for (int i = 0; i < HEAD + f->n; i++)
            if (is_free(f, i)) changed |= improve(f, s, i, factor, &best);
        if (!changed) factor = sqrt(factor);
        fprintf(stderr, "round %d: likelihood %.4f\n", round + 1, best);
    }
    return best;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void mark_varying(fit *f, const family *of, int padded)
{
    for (const table *t = of->tables; t < of->tables + of->count; t++)
        for (int32_t r = 0; r < t->rows.count; r++)
            for (int i = 0; i < f->n; i++)
                f->varies[i] |= t->raw[(size_t)r * (size_t)padded + (size_t)i] != of->tables[0].raw[i];
}

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) exit(2);
    return memory;
}

/* Copies a table's rows with features that are not divided by the stored scales. */
static void take_table(const fit *f, const cm__rows *rows, const cm__scales *stored, table *t)
{
    int    padded = cm__n_features(f->op);
    size_t width = (size_t)padded, count = (size_t)rows->count;
    *t = (table){room(count * width, sizeof *t->raw), room(count, sizeof *t->values),
                 room(count * width, sizeof *t->scaled), room(cm__rows_floats(count, padded), sizeof *t->floats),
                 room(cm__rows_numbers(count, padded), sizeof *t->numbers), *rows};
    for (size_t r = 0; r < count; r++) {
        size_t number = (size_t)rows->number[r];
        float *raw = t->raw + number * width;
        t->values[number] = cm__row_value(rows, r);
        cm__row_features(rows, (int32_t)r, padded, raw, 1);
        for (int i = 0; i < f->n; i++) raw[i] *= stored->scales[i];
    }
}

/* Copies the rows of a family. */
static void take(fit *f, cm__library *l, int kind, const cm__scales *stored)
{
    family     *of = &f->families[kind];
    cm__members from = l->catalogue->families[f->op][kind];
    int         padded = cm__n_features(f->op);
    of->count = from.count;
    of->tables = room((size_t)of->count, sizeof *of->tables);
    for (int32_t t = 0; t < of->count; t++) {
        take_table(f, cm__library_rows(l, from.first + t), stored, &of->tables[t]);
        f->n_rows += of->tables[t].rows.count;
    }
    mark_varying(f, of, padded);
}

static void print(const char *title, const fit *f, cm__scales s, double likelihood)
{
    printf("%s %.4f\n  noise %.3g alike %.3g variant %.3g dtype %.3g pass %.3g scales", title, likelihood, s.noise, s.alike,
           s.variant, s.dtype, s.pass);
    for (int i = 0; i < f->n; i++) printf(" %.3g", (double)s.scales[i]);
    printf("\n  spread %.3g, %d rows\n", s.spread, f->n_rows);
}

static int op_named(const char *name)
{
    for (int op = 0; op < CM__CALLS; op++)
        if (strcmp(cm__call_kinds[op].name, name) == 0) return op;
    return -1;
}

static cm__scales defaults(const fit *f)
{
    cm__scales s = *cm__scales_of(-1);
    for (int i = 0; i < f->n; i++) s.scales[i] = cm__feature_facts.default_scale;
    return s;
}

static int fit_op(cm__ctx *ctx, const cm_device *device, int op, int rounds, int rows)
{
    fit         f = {.op = op, .n = cm__n_features_unpadded(op), .every = 1};
    cm__scales  stored = *cm__scales_of(op), s = defaults(&f);
    cm__library l;
    cm__library_open(ctx, &l, device->built_in_kernels, device, CM_RUNTIME_TORCH_EAGER, (cm_versions){{0}}, false, NULL);
    for (int k = 0; k < CM__KINDS; k++) take(&f, &l, k, &stored);
    f.residual = calloc((size_t)f.n_rows + 1, sizeof *f.residual);
    f.variance = calloc((size_t)f.n_rows + 1, sizeof *f.variance);
    if (!f.n_rows || !f.residual || !f.variance) return fprintf(stderr, "fit_scales: no rows\n"), 1;
    f.every = f.n_rows > rows ? f.n_rows / rows : 1;
    print("stored", &f, stored, likelihood(&f, &stored));
    print("default", &f, s, likelihood(&f, &s));
    double best = search(&f, &s, rounds);
    print("fitted", &f, s, best);
    return 0;
}

int main(int argc, char **argv)
{
    cm_device *device = NULL;
    cm_diag    diag = {0};
    int        op = argc > 1 ? op_named(argv[1]) : -1;
    int        rounds = argc > 2 ? atoi(argv[2]) : ROUNDS, rows = argc > 3 ? atoi(argv[3]) : ROWS;
    if (op < 0 || rounds < 0 || rows < 1 || cm_device_load(DEVICE, &device, &diag) != CM_OK) {
        fprintf(stderr, "usage: fit_scales CALL [ROUNDS [ROWS]]; %s\n", op < 0 ? "no such call" : diag.reason);
        return 2;
    }
    int status = fit_op(device->ctx, device, op, rounds, rows);
    cm_device_free(device);
    return status;
}
