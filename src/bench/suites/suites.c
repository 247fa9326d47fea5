/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the table of suites, the choice among them, and helper functions that suites share. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "bench/bench.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* In the order in which the time budget is spent: the most important suite first. */
static const struct suite {
    const char *name;
    void (*add_cases)(cm_bench *b);
    bool usual; /* runs if the user names no suite */
} suites[] = {
    {"roofline", cm__suite_roofline, true},       {"host", cm__suite_host, true},
    {"lookup", cm__suite_lookup, true},           {"primitives", cm__suite_primitives, true},
    {"sweep", cm__suite_sweep, true},             {"collectives", cm__suite_collectives, false},
};

const char *cm_bench_suites(void) { return "roofline, host, lookup, primitives, sweep, collectives"; }

static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
    return false;
}

/* Fail if a name in the list is not a suite's. */
static void check_names(cm__ctx *ctx, const char *list)
{
    const char *names[COUNT(suites)];
    for (int i = 0; i < COUNT(suites); i++) names[i] = suites[i].name;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *name = cm__text_copy_n(ctx, at, strcspn(at, ","));
        bool        known = false;
        for (int i = 0; i < COUNT(suites); i++) known = known || strcmp(name, names[i]) == 0;
        if (known) continue;
        const char *meant = cm__nearest(name, names, COUNT(names));
        if (meant) cm__fail(ctx, CM_ERR_UNKNOWN, "no suite '%.64s'; did you mean '%s'?", name, meant);
        cm__fail(ctx, CM_ERR_UNKNOWN, "no suite '%.64s'; there are %s", name, cm_bench_suites());
    }
}

/* Requested cases that the backend cannot run are listed with the reason. */
static bool can_run_any(const cm_bench *b)
{
    for (int32_t i = 0; i < b->n_cases; i++)
        if (!b->results[i].skipped) return true;
    return false;
}

void cm__list_cases(cm_bench *b)
{
    const cm_bench_options *o = &b->options;
    if (o->suites) check_names(b->ctx, o->suites);
    if (o->cases) cm__add_cases_of_file(b, o->cases);
    if (o->model) cm__add_calls_of_model(b);
    bool usual = !o->suites && !o->cases && !o->model;
    for (int i = 0; i < COUNT(suites); i++)
        if (usual ? suites[i].usual : o->suites && listed(o->suites, suites[i].name)) suites[i].add_cases(b);
    if (!b->n_cases && o->only)
        cm__fail(b->ctx, CM_ERR_UNKNOWN, "no selected case matches '%.128s'; --list prints their names", o->only);
    if (!can_run_any(b))
        cm__fail(b->ctx, CM_ERR_UNSUPPORTED, "the backend '%s' supports none of the selected cases",
                 b->backend->name);
}

/* ---- helper functions of the suites ------------------------------------------------------------------------------ */

cm__call cm__call_of(const char *format, ...)
{
    char     text[256];
    cm__call call;
    va_list  args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!cm__call_parse(text, &call)) call = (cm__call){0};
    return call;
}

cm_call cm__call_for_backend(const cm__call *call, cm__call_texts *texts)
{
    cm_call c = {.op = cm__call_kinds[call->op].name,
                 .pass = cm__pass_names[call->pass],
                 .variant = cm__variant_text(call->variant, texts->variant),
                 .dtype = cm__types_text(call->types, texts->types),
                 .n_dims = cm__call_kinds[call->op].n_sizes};
    memcpy(c.dims, call->sizes, sizeof call->sizes);
    return c;
}

const char *cm__bench_dtype(const cm_bench *b, int index)
{
    return index < CM_BENCH_RATES ? b->device.rates[index].dtype : NULL;
}

bool cm__is_half(const char *dtype) { return strcmp(dtype, "bf16") == 0 || strcmp(dtype, "fp16") == 0; }

#define CORE_FLOP_S 5e10 /* of one CPU core: 16 lanes, 2 FLOP each, 1.6 GHz */

double cm__claimed_flop_s(const cm_bench *b)
{
    double claimed = 0;
    for (int i = 0; i < CM_BENCH_RATES && b->device.rates[i].dtype; i++)
        claimed = fmax(claimed, fmax(b->device.rates[i].matrix_flop_s, b->device.rates[i].vector_flop_s));
    return claimed > 0 ? claimed : CORE_FLOP_S * fmax(b->device.cores, 2);
}
