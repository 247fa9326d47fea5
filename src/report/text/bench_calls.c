/* SPDX-License-Identifier: Apache-2.0 */
/* bench_calls.c - tables of measured kernel calls: one row per call, or the range per operator. */
#include <math.h>
#include <string.h>
#include "report/text/bench.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/* ---- kernel calls ------------------------------------------------------------------------------------------------ */

static const cm__column call_columns[] = {
    {"kernel call", NULL, true},  {"time", "s", false},   {"rate", "FLOP/s", false},
    {"bandwidth", "B/s", false}, {"spread", "%", false}, {"wrong", "", false}};

void cm__bench_calls(cm__ctx *ctx, const cm_bench *b, const char *suite, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, call_columns, COUNT(call_columns));
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        if (strcmp(row->suite, suite) || r->skipped) continue;
        const char *cells[] = {cm__printable(ctx, r->name),      cm__bench_si(ctx, r->time_s, ""),
                               cm__bench_si(ctx, r->flop / r->time_s, ""), cm__bench_si(ctx, r->bytes / r->time_s, ""),
                               cm__bench_percent(ctx, r->spread),          cm__cell_count(ctx, r->wrong)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

void cm__bench_cases(cm__ctx *ctx, const cm_bench *b, FILE *out) { cm__bench_calls(ctx, b, "cases", out); }

void cm__bench_model(cm__ctx *ctx, const cm_bench *b, FILE *out) { cm__bench_calls(ctx, b, "model", out); }

static const cm__column sweep_columns[] = {
    {"operator", NULL, false}, {"pass", NULL, false}, {"type", NULL, false}, {"calls", "", false},
    {"shortest", "s", false},  {"longest", "s", false}, {"best", "FLOP/s", false}, {"best", "B/s", false}};

typedef struct extent {
    int32_t count;
    double  shortest, longest, flop_s, bytes_s;
} extent;

static extent extent_of(const cm_bench *b, int32_t first, bool *fresh)
{
    const cm_bench_result *like = cm_bench_get_result(b, cm_bench_get_row(b, first)->result);
    extent                 e = {0, INFINITY, 0, 0, 0};
    *fresh = true;
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        if (strcmp(row->suite, "sweep") || r->skipped || !(r->time_s > 0)) continue;
        if (strcmp(r->op, like->op) || strcmp(r->pass, like->pass) || strcmp(r->dtype, like->dtype)) continue;
        if (i < first) *fresh = false;
        e.count++;
        e.shortest = fmin(e.shortest, r->time_s);
        e.longest = fmax(e.longest, r->time_s);
        e.flop_s = fmax(e.flop_s, r->flop / r->time_s);
        e.bytes_s = fmax(e.bytes_s, r->bytes / r->time_s);
    }
    return e;
}

void cm__bench_sweep(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, sweep_columns, COUNT(sweep_columns));
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        bool                   fresh;
        if (strcmp(row->suite, "sweep") || r->skipped || !(r->time_s > 0)) continue;
        extent e = extent_of(b, i, &fresh);
        if (!fresh) continue;
        const char *cells[] = {r->op,
                               r->pass,
                               r->dtype,
                               cm__cell_count(ctx, e.count),
                               cm__bench_si(ctx, e.shortest, ""),
                               cm__bench_si(ctx, e.longest, ""),
                               cm__bench_si(ctx, e.flop_s, ""),
                               cm__bench_si(ctx, e.bytes_s, "")};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}
