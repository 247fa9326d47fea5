/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - print the memory of a step as text: by category and level, the largest tensors, growth with the batch. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define LABEL_WIDTH 12
#define BAR_WIDTH 40
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *bar(cm__ctx *ctx, double part, double whole)
{
    int   length = whole > 0 && part > 0 ? (int)lround(BAR_WIDTH * fmin(part / whole, 1)) : 0;
    char *text = cm__alloc(ctx, BAR_WIDTH + 2);
    memset(text, '#', (size_t)length);
    if (part > whole) text[length] = '>';
    return text;
}

static void note(cm__ctx *ctx, FILE *out, const char *label, const char *text)
{
    cm__print_note(ctx, out, "# ", label, LABEL_WIDTH, text);
}

static const char *bytes(cm__ctx *ctx, double value)
{
    char buf[32];
    return cm__format(ctx, "%sB", cm__binary(buf, sizeof buf, value));
}

static const char *plan_text(cm__ctx *ctx, const cm__memory_report *r)
{
    const cm_plan *p = &r->plan;
    if (p->devices == 1 && p->accumulate == 1) return NULL;
    return cm__format(ctx, "%d devices: tp %d, pp %d, dp %d, zero %d%s; micro-batch %lld, accumulated %d times",
                      p->devices, p->tp, p->pp, p->dp, p->zero, p->sequence_parallel ? ", sequence parallel" : "",
                      (long long)r->at_once, p->accumulate);
}

static void heading(cm__ctx *ctx, const cm__memory_report *r, const char *command, FILE *out)
{
    const cm_memory_use *u = &r->use;
    fprintf(out, "# centimani %s, %s of %s on %s\n", CM_VERSION, command, cm__printable(ctx, cm_graph_name(r->forward)),
            cm__printable(ctx, cm_device_get_info(r->device)->name));
    note(ctx, out, "step", cm__format(ctx, "batch %lld%s%s, %s, %s, recompute %s, %s", (long long)r->batch,
                                      cm__seq_text(ctx, r->step),
                                      cm__lengths_text(ctx, &r->asked.graph.load, r->on_device, r->batch),
                                      cm__precision_text(ctx, r->step),
                                      cm_optimizer_name(cm_graph_optimizer(r->step)),
                                      cm_recompute_asked(&r->asked.graph.train),
                                      cm_runtime_name(cm_footprint_runtime(r->footprint))));
    note(ctx, out, "plan", plan_text(ctx, r));
    if (r->plan.devices == 1 && r->plan.accumulate == 1)
        note(ctx, out, "fits", cm__division_text(ctx, r->batch, u->micro_batch, u->devices, u->recomputes));
    if (u->peak_node < 0) return;
    const cm_node *n = cm_graph_node(r->step, u->peak_node);
    note(ctx, out, "peak", cm__format(ctx, "%s, at %s '%s' (%s)", bytes(ctx, u->peak_bytes), cm_node_type(n),
                                      cm__printable(ctx, cm_node_name(n)), cm_phase_name(cm_node_phase(n))));
    if (u->context_bytes > 0)
        note(ctx, out, "reserved", cm__format(ctx, "%s by the allocator in total, and %s by driver and framework",
                                               bytes(ctx, u->reserved_bytes), bytes(ctx, u->context_bytes)));
    putc('\n', out);
}

static void categories(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const cm__column columns[] = {{"category"}, {"at the peak", "B"}, {"share", "%"}, {"", NULL, false, true}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (cm_category c = 0; c < CM_CATEGORIES; c++) {
        const char *cells[] = {cm__category_words(c), cm__cell_binary(ctx, r->use.categories[c]),
                               cm__cell_percent(ctx, r->use.categories[c], r->use.peak_bytes),
                               bar(ctx, r->use.categories[c], r->use.peak_bytes)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void levels(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const cm__column columns[] = {{"memory"}, {"used", "B"}, {"of", "B"}, {"share", "%"}, {"", NULL, false, true}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->use.n_levels; i++) {
        const cm_level_use *l = &r->use.levels[i];
        const char         *cells[] = {cm__printable(ctx, cm_device_memory(r->device, l->memory)->name),
                                       cm__cell_binary(ctx, l->used_bytes), cm__cell_binary(ctx, l->capacity_bytes),
                                       cm__cell_percent(ctx, l->used_bytes, l->capacity_bytes),
                                       bar(ctx, l->used_bytes, l->capacity_bytes)};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

static void largest(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const cm__column columns[] = {{"largest tensors at the peak", NULL, true}, {"category"}, {"shape"},
                                         {"size", "B"}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_alive; i++) {
        const cm_tensor *t = cm_graph_tensor(r->step, r->alive[i].tensor);
        const char      *cells[] = {cm__printable(ctx, cm_tensor_name(t)), cm__category_words(r->alive[i].category),
                                    cm__shape_text(ctx, t), cm__cell_binary(ctx, r->alive[i].bytes)};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    if (r->n_alive) cm__table_print(&table);
}

static void curve(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const cm__column columns[] = {{"batch", ""}, {"peak", "B"}, {"", NULL, false, true}, {""}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    double    most = 0;
    for (int32_t i = 0; i < r->n_curve; i++)
        if (r->curve[i].chance.verdict != CM_DOES_NOT_FIT && r->curve[i].peak_bytes > most) most = r->curve[i].peak_bytes;
    for (int32_t i = 0; i < r->n_curve; i++) {
        const cm__curve_point *p = &r->curve[i];
        const char *cells[] = {cm__cell_count(ctx, p->batch), cm__cell_binary(ctx, p->peak_bytes),
                               bar(ctx, p->peak_bytes, most),
                               p->chance.verdict == CM_FITS ? "" : cm_verdict_name(p->chance.verdict)};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

static void ways_to_fit(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const cm__column columns[] = {{"would fit with"}, {"peak", "B"}, {"step", "s"}, {"cost"}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_remedies; i++) {
        const cm__remedy *k = &r->remedies[i];
        const char       *cells[] = {
            cm__format(ctx, "--%s %s", k->option, k->value), cm__cell_binary(ctx, k->peak_bytes),
            isnan(k->step_time_s) ? "-" : cm__cell_si(ctx, k->step_time_s), k->cost};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    if (r->n_remedies) cm__table_print(&table);
    else fputs("No single change makes it fit.\n", out);
}

/* The memory that lacks most; the first one if none does. */
static const char *scarcest(cm__ctx *ctx, const cm__memory_report *r)
{
    const cm_memory_use *u = &r->use;
    const cm_level_use  *worst = &u->levels[0];
    for (int32_t i = 1; i < u->n_levels; i++)
        if (u->levels[i].used_bytes - u->levels[i].capacity_bytes > worst->used_bytes - worst->capacity_bytes)
            worst = &u->levels[i];
    return cm__printable(ctx, cm_device_memory(r->device, worst->memory)->name);
}

/* The answer in words, and that of each kind of script if the question leaves it open. */
static void verdict(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    static const char *const words[CM_VERDICTS] = {"It does not fit", "Unsure whether it fits", "It fits"};
    const cm_memory_use     *u = &r->use;
    if (!u->n_levels) {
        fputs("The profile of this device lists no memory.\n", out);
        return;
    }
    fprintf(out, "%s: ", words[r->chance.verdict]);
    if (r->unsure) {
        fputs("the script decides.\n", out);
        cm__print_note(ctx, out, "  ", "", 0, cm__open_text(ctx, u));
    } else {
        fprintf(out, "probability %.0f %%", 100 * r->chance.probability);
        if (u->shortfall_bytes > 0)
            fprintf(out, "; %s is too small by %s", scarcest(ctx, r), bytes(ctx, u->shortfall_bytes));
        fputs(".\n", out);
    }
    const char *compiled = cm__compiled_text(ctx, r->step, u);
    if (compiled) cm__print_note(ctx, out, "  ", "", 0, compiled);
    fprintf(out, "Peak %s", bytes(ctx, u->peak_bytes));
    if (u->compiled != CM_COMPILED_SAME)
        fprintf(out, ", 90 %% interval %s to %s", bytes(ctx, r->chance.interval_bytes[0]),
                bytes(ctx, r->chance.interval_bytes[1]));
}

void cm__memory_text(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    heading(ctx, r, "memory", out);
    if (r->asked.loop.kind) cm__print_loop(ctx, &r->loop, false, out);
    categories(ctx, r, out);
    levels(ctx, r, out);
    largest(ctx, r, out);
    curve(ctx, r, out);
    putc('\n', out);
    verdict(ctx, r, out);
    fputs(".\n", out);
    if (r->chance.verdict != CM_FITS) ways_to_fit(ctx, r, out);
}

/* ---- fits ------------------------------------------------------------------------------------------------------- */

void cm__fits_text(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    heading(ctx, r, "fits", out);
    verdict(ctx, r, out);
    fprintf(out, "; largest micro-batch that fits: %lld.\n", (long long)r->largest);
    if (r->asked.loop.kind) putc('\n', out), cm__print_loop(ctx, &r->loop, false, out);
    levels(ctx, r, out);
    if (r->chance.verdict != CM_FITS) ways_to_fit(ctx, r, out);
}

/* ---- choice of a batch size ------------------------------------------------------------------------------------- */

static void candidates(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    double           seq = (double)cm_graph_seq(r->step);
    const cm__column columns[] = {{"batch", ""}, {"peak", "B"}, {"fits"}, {"samples", "1/s"},
                                  {seq > 0 ? "tokens" : "", seq > 0 ? "1/s" : NULL}, {""}};
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns) - !(seq > 0));
    for (int32_t i = 0; i < r->choice.n_candidates; i++) {
        const cm_batch_candidate *c = &r->choice.candidates[i];
        const char *chosen = c->batch == r->choice.batch ? "<- chosen" : "";
        const char *cells[] = {cm__cell_count(ctx, c->batch),
                               cm__cell_binary(ctx, c->peak_bytes),
                               cm__fits_word(&c->chance),
                               cm__cell_si(ctx, c->throughput_samples_s),
                               seq > 0 ? cm__cell_si(ctx, seq * c->throughput_samples_s) : chosen, chosen};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

void cm__batch_text(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    heading(ctx, r, "batch size", out);
    candidates(ctx, r, out);
    levels(ctx, r, out);
    static const char *const reasons[CM_OBJECTIVES] = {
        [CM_OBJECTIVE_THROUGHPUT] = "the smallest within 2 % of the highest throughput",
        [CM_OBJECTIVE_MEMORY] = "it leaves the least memory unused",
        [CM_OBJECTIVE_KNEE] = "the smallest with at least half of the highest throughput"};
    if (r->choice.batch)
        fprintf(out, "\nBatch size %lld: %s.\n", (long long)r->choice.batch, reasons[r->asked.objective]);
    putc('\n', out);
    verdict(ctx, r, out);
    fputs(".\n", out);
    if (!r->choice.batch) ways_to_fit(ctx, r, out);
}
