/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - print measurements as text: one table per suite. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/text/bench.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

const char *cm__bench_si(cm__ctx *ctx, double value, const char *unit)
{
    char text[48];
    if (!*unit) return cm__cell_si(ctx, value);
    if (!isfinite(value)) return "-";
    return cm__format(ctx, "%s%s", cm__si_small(text, sizeof text, value), unit);
}

const char *cm__bench_percent(cm__ctx *ctx, double part)
{
    return isfinite(part) ? cm__format(ctx, "%.1f", 100 * part) : "-";
}

static double ceiling(const cm_bench *b, const char *what, const char *name)
{
    double best = NAN;
    for (int32_t i = 0; i < cm_bench_ceilings(b); i++) {
        const cm_bench_ceiling *c = cm_bench_get_ceiling(b, i);
        if (strcmp(c->what, what) == 0 && (!name || strcmp(c->name, name) == 0)) best = c->value;
    }
    return best; /* the last of several memories is the main memory */
}

/* ---- sums of consecutive rows ------------------------------------------------------------------------------------ */

/* Sums over consecutive rows with the same label. */
typedef struct sum {
    const cm_bench_row *first;
    double              time_s, flop, bytes, paper_flop, spread;
    int64_t             wrong;
    const char         *skipped; /* reason of the first row without a time */
    int32_t             next;    /* index of the row after them */
} sum;

static sum sum_from(const cm_bench *b, int32_t at)
{
    sum s = {.first = cm_bench_get_row(b, at), .next = at};
    for (const cm_bench_row *row; (row = cm_bench_get_row(b, s.next)) != NULL; s.next++) {
        if (strcmp(row->suite, s.first->suite) || strcmp(row->label, s.first->label)) break;
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        s.time_s += row->times * r->time_s;
        s.flop += row->times * r->flop;
        s.bytes += row->times * r->bytes;
        s.paper_flop += row->paper_flop;
        s.spread = fmax(s.spread, r->spread);
        s.wrong += r->wrong;
        if (!s.skipped) s.skipped = r->skipped;
    }
    return s;
}

/* ---- primitives -------------------------------------------------------------------------------------------------- */

static const cm__column primitive_columns[] = {
    {"kernel", NULL, false},   {"type", NULL, false},          {"latency", "s", false},
    {"paper", "FLOP/s", false}, {"real", "FLOP/s", false},     {"of peak", "%", false},
    {"memory", "%", false},    {"spread", "%", false},         {"wrong", "", false},
};

static void primitive_row(cm__ctx *ctx, const cm_bench *b, const cm__table *table, const sum *s)
{
    const char *label = s->first->label, *space = strchr(label, ' ');
    const char *dtype = space ? space + 1 : "";
    const char *cells[] = {cm__text_copy_n(ctx, label, space ? (size_t)(space - label) : strlen(label)),
                           dtype,
                           cm__bench_si(ctx, s->time_s, ""),
                           cm__bench_si(ctx, s->paper_flop / s->time_s, ""),
                           cm__bench_si(ctx, s->flop / s->time_s, ""),
                           cm__bench_percent(ctx, s->flop / s->time_s / ceiling(b, "matrix", dtype)),
                           cm__bench_percent(ctx, s->bytes / s->time_s / ceiling(b, "memory", NULL)),
                           cm__bench_percent(ctx, s->spread),
                           cm__cell_count(ctx, s->wrong)};
    cm__table_row(table, cells);
}

/* List cases without a time below the table: at most 8, and each label once. */
static void print_skipped(cm__ctx *ctx, const cm_bench *b, const char *suite, FILE *out)
{
    const char *last = NULL;
    int32_t     count = 0, shown = 0;
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        if (strcmp(row->suite, suite) || !r->skipped) continue;
        count++;
        if (shown >= 8 || (last && strcmp(last, row->label) == 0 && strcmp(last, r->op))) continue;
        const char *what = strcmp(row->label, r->op) ? row->label : r->name;
        fprintf(out, "# not measured: %s: %s\n", cm__printable(ctx, what), cm__printable(ctx, r->skipped));
        last = row->label;
        shown++;
    }
    if (count > shown) fprintf(out, "# not measured: %d cases of this suite; --json has the reason of each\n", count);
}

static void print_primitives(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, primitive_columns, COUNT(primitive_columns));
    for (int32_t i = 0; i < cm_bench_rows(b);) {
        sum s = sum_from(b, i);
        if (strcmp(s.first->suite, "primitives") == 0 && s.time_s > 0) primitive_row(ctx, b, &table, &s);
        i = s.next;
    }
    cm__table_print(&table);
}

/* ---- roofline ---------------------------------------------------------------------------------------------------- */

static const cm__column ceiling_columns[] = {{"ceiling", NULL, false}, {"of", NULL, false}, {"measured", "", false}};
static const cm__column set_columns[] = {
    {"working set", "B", false}, {"read", "B/s", false}, {"copy", "B/s", false}, {"", NULL, false, true}};

#define BAR      40
#define SET_MOST ((int64_t)1 << 40)

static double probe_rate(const cm_bench *b, const char *op, int64_t bytes)
{
    for (int32_t i = 0; i < cm_bench_results(b); i++) {
        const cm_bench_result *r = cm_bench_get_result(b, i);
        if (r->n_dims == 1 && r->dims[0] == bytes && strcmp(r->op, op) == 0 && !*r->pass) return r->work / r->time_s;
    }
    return NAN;
}

static void print_sets(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, set_columns, COUNT(set_columns));
    double    most = 0;
    for (int64_t bytes = 1024; bytes <= SET_MOST; bytes *= 2) most = fmax(most, probe_rate(b, "read", bytes));
    for (int64_t bytes = 1024; bytes <= SET_MOST && most > 0; bytes *= 2) {
        double read = probe_rate(b, "read", bytes);
        char   bar[BAR + 1] = "";
        if (!isfinite(read)) continue;
        for (int i = 0; i < BAR && i < read / most * BAR; i++) strcat(bar, "#");
        const char *cells[] = {cm__cell_binary(ctx, (double)bytes), cm__bench_si(ctx, read, ""),
                               cm__bench_si(ctx, probe_rate(b, "copy", bytes), ""), bar};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void print_roofline(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, ceiling_columns, COUNT(ceiling_columns));
    for (int32_t i = 0; i < cm_bench_ceilings(b); i++) {
        const cm_bench_ceiling *c = cm_bench_get_ceiling(b, i);
        const char             *cells[] = {c->what, c->name, cm__bench_si(ctx, c->value, c->unit)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    fputc('\n', out);
    print_sets(ctx, b, out);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static const cm__column rank_columns[] = {
    {"collective", NULL, false}, {"size", "B", false},    {"time", "s", false},
    {"algbw", "B/s", false},     {"busbw", "B/s", false}, {"wrong", "", false}};

static void print_collectives(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, rank_columns, COUNT(rank_columns));
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        if (strcmp(row->suite, "collectives") || r->skipped) continue;
        double      rate = r->work / r->time_s;
        const char *cells[] = {row->label,
                               cm__cell_count(ctx, r->dims[0]),
                               cm__bench_si(ctx, r->time_s, ""),
                               cm__bench_si(ctx, rate, ""),
                               cm__bench_si(ctx, rate * cm_bench_bus_factor(r->op, cm_bench_get_machine(b)->ranks), ""),
                               cm__cell_count(ctx, r->wrong)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- rates: host and lookup -------------------------------------------------------------------------------------- */

static const cm__column rate_columns[] = {
    {"what", NULL, false}, {"size", "B", false}, {"rate", "1/s", false}, {"spread", "%", false}, {"wrong", "", false}};

static void print_rates(cm__ctx *ctx, const cm_bench *b, const char *suite, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, rate_columns, COUNT(rate_columns));
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row    *row = cm_bench_get_row(b, i);
        const cm_bench_result *r = cm_bench_get_result(b, row->result);
        if (strcmp(row->suite, suite) || r->skipped) continue;
        const char *cells[] = {row->label, r->n_dims ? cm__cell_binary(ctx, (double)r->dims[0]) : "-",
                               cm__bench_si(ctx, r->work / r->time_s, r->work_unit), cm__bench_percent(ctx, r->spread),
                               cm__cell_count(ctx, r->wrong)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void print_host(cm__ctx *ctx, const cm_bench *b, FILE *out) { print_rates(ctx, b, "host", out); }

static void print_lookup(cm__ctx *ctx, const cm_bench *b, FILE *out) { print_rates(ctx, b, "lookup", out); }

/* ---- the report -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *suite, *title;
    void (*print)(cm__ctx *ctx, const cm_bench *b, FILE *out);
} sections[] = {
    {"roofline", "ceilings", print_roofline},
    {"host", "host, one core", print_host},
    {"lookup", "random look-ups", print_lookup},
    {"primitives", "primitives; \"of peak\" and \"memory\" are fractions of the measured ceilings", print_primitives},
    {"sweep", "sweep", cm__bench_sweep},
    {"cases", "cases", cm__bench_cases},
    {"model", "kernel calls of the model", cm__bench_model},
    {"collectives", "collectives, fp32; bandwidths as nccl-tests defines them", print_collectives},
};

static bool has_rows(const cm_bench *b, const char *suite)
{
    for (int32_t i = 0; i < cm_bench_rows(b); i++)
        if (strcmp(cm_bench_get_row(b, i)->suite, suite) == 0) return true;
    return false;
}

static void print_list(cm__ctx *ctx, const cm_bench *b, FILE *out)
{
    for (int32_t i = 0; i < cm_bench_results(b); i++)
        fprintf(out, "%s\n", cm__printable(ctx, cm_bench_get_result(b, i)->name));
}

void cm__bench_text(cm__ctx *ctx, const cm__bench_report *report, FILE *out)
{
    const cm_bench         *b = report->bench;
    const cm_bench_machine *m = cm_bench_get_machine(b);
    char                    buf[32];
    int32_t                 measured = 0, before = 0;
    if (report->asked->list) {
        print_list(ctx, b, out);
        return;
    }
    fprintf(out, "# centimani %s, bench\n", CM_VERSION);
    cm__print_note(ctx, out, "# ", "device", 9, cm__format(ctx, "%s, %.0f cores, %sB", m->name, m->cores,
                                                            cm__binary(buf, sizeof buf, m->memory_bytes)));
    cm__print_note(ctx, out, "# ", "backend", 9, cm__format(ctx, "%s: %s", m->backend, m->software));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (!has_rows(b, sections[i].suite)) continue;
        fprintf(out, "\n# %s\n", sections[i].title);
        /* --case selects single cases, so the sums of the primitives would be incomplete. */
        if (report->asked->only && sections[i].print == print_primitives)
            cm__bench_calls(ctx, b, sections[i].suite, out);
        else sections[i].print(ctx, b, out);
        print_skipped(ctx, b, sections[i].suite, out);
    }
    for (int32_t i = 0; i < cm_bench_results(b); i++) {
        measured += cm_bench_get_result(b, i)->time_s > 0;
        before += cm_bench_get_result(b, i)->resumed;
    }
    fprintf(out, "\n%d cases measured%s, %d without a time, %lld wrong results.\n", measured,
            before ? cm__format(ctx, " (%d by an earlier run)", before) : "", cm_bench_results(b) - measured,
            (long long)cm_bench_wrong(b));
}
