/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forms.c - the forms of operator time: tiles, attention, stream, rows.
 *
 * tiles      Matrix products and convolutions. The library picks the fastest of a few tile shapes and splits of K.
 *            Tiles run in waves of S. A tile costs its FLOP at a fraction of a core's peak, a pipeline fill and a
 *            start. All cores load operands through the shared cache. A partial last wave costs a full one; a fitted
 *            parameter smooths this step. The power limit slows cores as utilisation and duration grow.
 * attention  Blocks of queries in waves over the cores; each block loops over the keys. A causal mask halves the keys
 *            on average, but the last block has all of them. A window leaves its own width plus the block's.
 * stream     Elementwise: bytes at a fraction of the memory bandwidth; faster if the data fits into the cache.
 * rows       Softmax and normalisation: a stream, and rows in waves over the cores. A whole block processes a row of
 *            more than 1,024 columns, a warp a narrower one (PyTorch's two kernels).
 *
 * In all forms compute and data movement overlap: the p-norm of both (p: sharpness), plus a fixed overhead.
 */
#include "device/fits/forms.h"

#include <math.h>
#include <string.h>

static double p_norm(double a, double b, double p)
{
    double most = fmax(a, b), least = fmin(a, b);
    return most <= 0 ? 0 : most * pow(1 + pow(least / most, p), 1 / p);
}

static double waves(double blocks, double cores, double smoothing)
{
    double exact = blocks / cores;
    return ceil(exact) * (1 - smoothing) + fmax(exact, 1) * smoothing;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

#define TILES 16
static const struct {
    double m, n;
} tiles[TILES] = {{32, 32}, {64, 32}, {32, 64}, {64, 64}, {128, 32}, {32, 128}, {128, 64}, {64, 128}, {128, 128},
                  {256, 64}, {64, 256}, {256, 128}, {128, 256}, {192, 128}, {128, 192}, {256, 256}};
static const double splits[] = {1, 2, 4, 8, 16};

enum {
    T_OVERHEAD, T_MEMORY, T_START, T_SMOOTHING, T_SHARPNESS, T_CACHE, T_REDUCE, T_FILL, T_SUSTAINED, T_HEATED,
    T_HEATING, T_EFFICIENCY
};
static const cm__parameter_row tile_rows[] = {
    {"overhead_s", CM__POSITIVE, 1, {3e-6}},       {"memory_fraction", CM__FRACTION, 1, {0.8}},
    {"tile_start_s", CM__POSITIVE, 1, {8e-7}},     {"wave_smoothing", CM__FRACTION, 1, {0.3}},
    {"sharpness", CM__ABOVE_ONE, 1, {4}},          {"cache_bytes_s", CM__POSITIVE, 1, {9e12}},
    {"reduce_s", CM__POSITIVE, 1, {3e-6}},         {"fill_k", CM__POSITIVE, 1, {50}},
    {"sustained_fraction", CM__FRACTION, 1, {0.85}}, {"heated_fraction", CM__FRACTION, 1, {0.95}},
    {"heating_s", CM__POSITIVE, 1, {1e-3}},
    {"tile_efficiency", CM__FRACTION, TILES, {.3, .4, .4, .55, .5, .5, .65, .65, .75, .7, .7, .8, .8, .75, .75, .8}},
};

#define ELEMENT_BYTES(w) ((w)->bytes / ((w)->batch * ((w)->m * (w)->k + (w)->k * (w)->n + (w)->m * (w)->n)))

static double tiles_time(const double *p, const cm__work *w, const cm__ceilings *c)
{
    double core_flop_s = c->peak_flop_s / c->cores, memory_s = w->bytes / (c->bandwidth_bytes_s * p[T_MEMORY]),
           best = INFINITY;
    double element = fmin(4, fmax(1, ELEMENT_BYTES(w)));
    for (int t = 0; t < TILES; t++) {
        double blocks = w->batch * ceil(w->m / tiles[t].m) * ceil(w->n / tiles[t].n), area = tiles[t].m * tiles[t].n;
        for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
            double split = splits[s], k = w->k / split, all = blocks * split;
            if (split > 1 && (blocks >= c->cores || k < 32)) break;
            double compute_s = 2 * area * (k + p[T_FILL]) / (core_flop_s * p[T_EFFICIENCY + t]) + p[T_START];
            double load_s = (tiles[t].m + tiles[t].n) * k * element * fmin(all, c->cores) / p[T_CACHE];
            double total = waves(all, c->cores, p[T_SMOOTHING]) * fmax(compute_s, load_s);
            if (split > 1)
                total += p[T_REDUCE] + w->batch * w->m * w->n * 4 * split / (2 * c->bandwidth_bytes_s * p[T_MEMORY]);
            best = fmin(best, total);
        }
    }
    double busy = fmin(1, w->flop / c->peak_flop_s / best); /* power: busier cores have a lower clock */
    best *= 1 + (1 / p[T_SUSTAINED] - 1) * busy * busy;
    best *= 1 + (1 / p[T_HEATED] - 1) * best / (best + p[T_HEATING]); /* and so do cores that are busy for longer */
    return p[T_OVERHEAD] + p_norm(best, memory_s, p[T_SHARPNESS]);
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

#define QUERY_BLOCKS 3
#define WIDTHS 8
static const double query_block[QUERY_BLOCKS] = {64, 128, 256},
                    width_up_to[WIDTHS] = {64, 72, 80, 96, 128, 192, 256, INFINITY};

enum { A_OVERHEAD, A_MEMORY, A_START, A_SMOOTHING, A_SHARPNESS, A_KEY, A_BLOCK, A_WIDTH = A_BLOCK + QUERY_BLOCKS };
static const cm__parameter_row attention_rows[] = {
    {"overhead_s", CM__POSITIVE, 1, {8e-6}},   {"memory_fraction", CM__FRACTION, 1, {0.5}},
    {"block_start_s", CM__POSITIVE, 1, {1e-6}}, {"wave_smoothing", CM__FRACTION, 1, {0.5}},
    {"sharpness", CM__ABOVE_ONE, 1, {2}},       {"key_s", CM__POSITIVE, 1, {1e-10}},
    {"block_efficiency", CM__FRACTION, QUERY_BLOCKS, {.6, .6, .6}},
    {"width_efficiency", CM__FRACTION, WIDTHS, {.8, .7, .7, .8, .9, .8, .7, .5}},
};

static double attention_time(const double *p, const cm__work *w, const cm__ceilings *c)
{
    double core_flop_s = c->peak_flop_s / c->cores, memory_s = w->bytes / (c->bandwidth_bytes_s * p[A_MEMORY]),
           best = INFINITY;
    int    width = 0;
    while (w->width > width_up_to[width]) width++;
    for (int i = 0; i < QUERY_BLOCKS; i++) {
        double q = query_block[i], rate = core_flop_s * p[A_BLOCK + i] * p[A_WIDTH + width];
        double key_s = 4 * q * w->width / rate + p[A_KEY] * q; /* one key: products, softmax */
        double blocks = w->batch * w->heads * ceil(w->queries / q),
               most = w->keys < w->queries ? fmin(w->keys + q, w->queries) : w->keys;
        double keys = w->causal ? fmin(most, (w->queries + q) / 2) : most;
        double mean_s = ceil(keys / 64) * 64 * key_s + p[A_START],
               longest_s = ceil(most / 64) * 64 * key_s + p[A_START];
        best = fmin(best, fmax(longest_s, waves(blocks, c->cores, p[A_SMOOTHING]) * mean_s));
    }
    return p[A_OVERHEAD] + p_norm(best, memory_s, p[A_SHARPNESS]);
}

/* ---- streams and rows ------------------------------------------------------------------------------------------- */

enum { S_OVERHEAD, S_MEMORY, S_SPEEDUP, S_SHARE, S_ELEMENT, S_SHARPNESS, STREAM_PARAMETERS };
#define STREAM_ROWS                                                                                                    \
    {"overhead_s", CM__POSITIVE, 1, {5e-6}}, {"memory_fraction", CM__FRACTION, 1, {0.8}},                              \
    {"cache_speedup", CM__ABOVE_ONE, 1, {2}}, {"cache_share", CM__POSITIVE, 1, {0.5}},                                 \
    {"element_s", CM__POSITIVE, 1, {1e-12}}, {"sharpness", CM__ABOVE_ONE, 1, {3}}
static const cm__parameter_row stream_rows[] = {STREAM_ROWS};

static double stream_memory_s(const double *p, const cm__work *w, const cm__ceilings *c)
{
    double fill = w->bytes / (c->cache_bytes * p[S_SHARE]), cached = 1 / (1 + fill * fill);
    return w->bytes / (c->bandwidth_bytes_s * p[S_MEMORY]) * (1 - cached + cached / p[S_SPEEDUP]);
}

static double stream_time(const double *p, const cm__work *w, const cm__ceilings *c)
{
    return p[S_OVERHEAD] + p_norm(stream_memory_s(p, w, c), w->m * w->n * p[S_ELEMENT], p[S_SHARPNESS]);
}

#define WIDE_COLUMNS 1024 /* limit of PyTorch's persistent softmax */
enum { R_ROWS = STREAM_PARAMETERS, R_ROW = R_ROWS + 2, R_COLUMN = R_ROW + 2 };
static const cm__parameter_row row_rows[] = {
    STREAM_ROWS,
    {"rows_per_core", CM__POSITIVE, 2, {16, 2}}, /* concurrent rows: narrow, wide */
    {"row_s", CM__POSITIVE, 2, {1e-6, 1e-6}},
    {"column_s", CM__POSITIVE, 2, {1e-9, 1e-9}},
};

static double rows_time(const double *p, const cm__work *w, const cm__ceilings *c)
{
    int    wide = w->n > WIDE_COLUMNS;
    double exact = w->m / (c->cores * p[R_ROWS + wide]), rounds = fmax(1, exact);
    double row_s = rounds * (p[R_ROW + wide] + w->n * p[R_COLUMN + wide]);
    return p[S_OVERHEAD] + p_norm(stream_memory_s(p, w, c), row_s, p[S_SHARPNESS]);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

#define ROWS(table) .rows = table, .n_rows = (int)(sizeof table / sizeof *table)
static const cm__form forms[] = {
    {.name = "tiles", ROWS(tile_rows), .time = tiles_time},
    {.name = "attention", ROWS(attention_rows), .time = attention_time},
    {.name = "stream", ROWS(stream_rows), .time = stream_time},
    {.name = "rows", ROWS(row_rows), .time = rows_time},
};

const cm__form *cm__form_find(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, name) == 0) return &forms[i];
    return NULL;
}

int cm__form_size(const cm__form *form)
{
    int size = 0;
    for (int r = 0; r < form->n_rows; r++) size += form->rows[r].count;
    return size;
}

static double bound(cm__scale scale, double x)
{
    if (scale == CM__FRACTION) return 1 / (1 + exp(-x));
    return (scale == CM__ABOVE_ONE) + exp(fmax(-70, fmin(70, x)));
}

static double unbound(cm__scale scale, double p)
{
    if (scale == CM__FRACTION) return log(p / (1 - p));
    return log(p - (scale == CM__ABOVE_ONE));
}

void cm__form_from_free(const cm__form *form, const double *x, double *p)
{
    for (int r = 0, i = 0; r < form->n_rows; r++)
        for (int k = 0; k < form->rows[r].count; k++, i++) p[i] = bound(form->rows[r].scale, x[i]);
}

void cm__form_to_free(const cm__form *form, const double *p, double *x)
{
    for (int r = 0, i = 0; r < form->n_rows; r++)
        for (int k = 0; k < form->rows[r].count; k++, i++) x[i] = unbound(form->rows[r].scale, p[i]);
}

void cm__form_first(const cm__form *form, double *p)
{
    for (int r = 0, i = 0; r < form->n_rows; r++)
        for (int k = 0; k < form->rows[r].count; k++, i++) p[i] = form->rows[r].first[k];
}
