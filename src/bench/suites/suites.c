/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - which suites there are, and those asked for in their order. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "bench/bench.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* In the order in which a budget is spent: what all else rests on comes first. */
static const struct suite {
    const char *name;
    void (*plan)(cm_bench *b);
    bool usual; /* part of a run that names no suite */
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

/* Every name of the list is a suite's. */
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

void cm__plan(cm_bench *b)
{
    const cm_bench_options *o = &b->asked;
    if (o->suites) check_names(b->ctx, o->suites);
    if (o->cases) cm__plan_cases(b, o->cases);
    if (o->model) cm__plan_model(b);
    bool usual = !o->suites && !o->cases && !o->model;
    for (int i = 0; i < COUNT(suites); i++)
        if (usual ? suites[i].usual : o->suites && listed(o->suites, suites[i].name)) suites[i].plan(b);
    if (!b->n_cases && o->only)
        cm__fail(b->ctx, CM_ERR_UNKNOWN, "no case '%.128s' in what was asked for; --list tells the names", o->only);
    if (!b->n_cases)
        cm__fail(b->ctx, CM_ERR_UNSUPPORTED, "the backend '%s' can measure nothing of what was asked for",
                 b->backend->name);
}

/* ---- what suites share ------------------------------------------------------------------------------------------- */

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

cm_call cm__call_for_backend(const cm__call *call)
{
    cm_call c = {.op = cm__call_kinds[call->op].name,
                 .pass = cm__pass_names[call->pass],
                 .variant = call->variant,
                 .dtype = call->dtype,
                 .n_dims = cm__call_kinds[call->op].n_sizes};
    memcpy(c.dims, call->sizes, sizeof call->sizes);
    return c;
}

const char *cm__bench_dtype(const cm_bench *b, int index)
{
    return index < CM_BENCH_RATES ? b->device.rates[index].dtype : NULL;
}

bool cm__is_half(const char *dtype) { return strcmp(dtype, "bf16") == 0 || strcmp(dtype, "fp16") == 0; }

#define CORE_FLOP_S 5e10 /* of a processor's core: 16 lanes, two operations, 1.6 GHz */

double cm__told_flop_s(const cm_bench *b)
{
    double told = 0;
    for (int i = 0; i < CM_BENCH_RATES && b->device.rates[i].dtype; i++)
        told = fmax(told, fmax(b->device.rates[i].matrix_flop_s, b->device.rates[i].vector_flop_s));
    return told > 0 ? told : CORE_FLOP_S * fmax(b->device.cores, 2);
}
