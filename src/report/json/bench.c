/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - print measurements as JSON: options, results, rows of the suites, ceilings and the profile. */
#include "report/json/json.h"
#include "report/render.h"

static void echo(cm__ctx *ctx, json_t *answer, const cm_bench_options *o)
{
    cm__json_set(ctx, answer, "suites", cm__json_text(ctx, o->suites));
    cm__json_set(ctx, answer, "case", cm__json_text(ctx, o->only));
    cm__json_set(ctx, answer, "cases", cm__json_text(ctx, o->cases));
    cm__json_set(ctx, answer, "model", cm__json_text(ctx, o->model));
    cm__json_set(ctx, answer, "scale", json_integer(o->scale ? o->scale : 1));
    cm__json_set(ctx, answer, "budget_s", o->budget_s ? json_integer(o->budget_s) : json_null());
    cm__json_set(ctx, answer, "cold", json_boolean(o->cold));
    cm__json_set(ctx, answer, "search", json_boolean(o->search));
}

static void machine(cm__ctx *ctx, json_t *answer, const cm_bench_machine *m)
{
    json_t *o = cm__json_set(ctx, answer, "machine", json_object());
    cm__json_set(ctx, o, "backend", cm__json_text(ctx, m->backend));
    cm__json_set(ctx, o, "id", cm__json_text(ctx, m->id));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, m->name));
    cm__json_set(ctx, o, "software", cm__json_text(ctx, m->software));
    cm__json_set(ctx, o, "host", cm__json_text(ctx, m->host));
    cm__json_set(ctx, o, "cores", cm__json_number(m->cores));
    cm__json_set(ctx, o, "memory_bytes", cm__json_number(m->memory_bytes));
    cm__json_set(ctx, o, "ranks", m->ranks ? json_integer(m->ranks) : json_null());
}

static void result(cm__ctx *ctx, json_t *o, const cm_bench_result *r)
{
    cm__json_set(ctx, o, "name", cm__json_text(ctx, r->name));
    cm__json_set(ctx, o, "op", cm__json_text(ctx, r->op));
    cm__json_set(ctx, o, "pass", cm__json_text(ctx, r->pass));
    cm__json_set(ctx, o, "variant", cm__json_text(ctx, r->variant));
    cm__json_set(ctx, o, "dtype", cm__json_text(ctx, r->dtype));
    json_t *dims = cm__json_set(ctx, o, "dims", json_array());
    for (int32_t i = 0; i < r->n_dims; i++) cm__json_append(ctx, dims, json_integer(r->dims[i]));
    cm__json_set(ctx, o, "flop", cm__json_number(r->flop));
    cm__json_set(ctx, o, "bytes", cm__json_number(r->bytes));
    cm__json_set(ctx, o, "work", cm__json_number(r->work));
    cm__json_set(ctx, o, "work_unit", cm__json_text(ctx, r->work_unit));
    cm__json_set(ctx, o, "time_s", cm__json_number(r->time_s));
    cm__json_set(ctx, o, "spread", cm__json_number(r->spread));
    cm__json_set(ctx, o, "repetitions", json_integer(r->repetitions));
    cm__json_set(ctx, o, "samples", json_integer(r->samples));
    cm__json_set(ctx, o, "kernels", json_integer(r->kernels));
    cm__json_set(ctx, o, "algorithm", cm__json_text(ctx, r->algorithm));
    cm__json_set(ctx, o, "wrong", json_integer(r->wrong));
    cm__json_set(ctx, o, "skipped", cm__json_text(ctx, r->skipped));
    cm__json_set(ctx, o, "resumed", json_boolean(r->resumed));
}

static void rows(cm__ctx *ctx, json_t *answer, const cm_bench *b)
{
    json_t *all = cm__json_set(ctx, answer, "rows", json_array());
    for (int32_t i = 0; i < cm_bench_rows(b); i++) {
        const cm_bench_row *r = cm_bench_get_row(b, i);
        json_t             *o = cm__json_append(ctx, all, json_object());
        cm__json_set(ctx, o, "suite", cm__json_text(ctx, r->suite));
        cm__json_set(ctx, o, "label", cm__json_text(ctx, r->label));
        cm__json_set(ctx, o, "result", json_integer(r->result));
        cm__json_set(ctx, o, "times", json_integer(r->times));
        cm__json_set(ctx, o, "paper_flop", cm__json_number(r->paper_flop));
    }
}

static void ceilings(cm__ctx *ctx, json_t *answer, const cm_bench *b)
{
    json_t *all = cm__json_set(ctx, answer, "ceilings", json_array());
    for (int32_t i = 0; i < cm_bench_ceilings(b); i++) {
        const cm_bench_ceiling *c = cm_bench_get_ceiling(b, i);
        json_t                 *o = cm__json_append(ctx, all, json_object());
        cm__json_set(ctx, o, "what", cm__json_text(ctx, c->what));
        cm__json_set(ctx, o, "name", cm__json_text(ctx, c->name));
        cm__json_set(ctx, o, "value", cm__json_number(c->value));
        cm__json_set(ctx, o, "unit", cm__json_text(ctx, c->unit));
        cm__json_set(ctx, o, "told", cm__json_number(c->told));
    }
}

void cm__bench_json(cm__ctx *ctx, const cm__bench_report *report, FILE *out)
{
    json_t   *answer = cm__json_answer(ctx, "bench");
    cm_bench *b = report->bench;
    echo(ctx, answer, report->asked);
    machine(ctx, answer, cm_bench_get_machine(b));
    cm__json_set(ctx, answer, "wrong", json_integer(cm_bench_wrong(b)));
    cm__json_set(ctx, answer, "unmeasured", json_integer(cm_bench_unmeasured(b)));
    json_t *results = cm__json_set(ctx, answer, "results", json_array());
    for (int32_t i = 0; i < cm_bench_results(b); i++)
        result(ctx, cm__json_append(ctx, results, json_object()), cm_bench_get_result(b, i));
    rows(ctx, answer, b);
    ceilings(ctx, answer, b);
    const char *profile = report->asked->list ? NULL : cm_bench_profile(b);
    cm__json_set(ctx, answer, "profile", profile ? json_loads(profile, 0, NULL) : json_null());
    cm__json_print(ctx, answer, out);
}
