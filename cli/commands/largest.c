/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest.c - `rank MODEL --largest MODEL,MODEL,...`: the largest of several models whose job meets the limits.
 *
 * The models are tried from the largest to the smallest, until the job of one meets --within and --budget. With several
 * networks they take the place of the first, whose weight stays, and the limits are those of all.
 */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cli.h"

#define CONTENDERS_MAX 64
#define NAME_MAX_BYTES 256
#define WEIGHT_MOST 40

typedef struct contender {
    char   model[NAME_MAX_BYTES];
    double parameters;
} contender;

typedef struct contest {
    contender list[CONTENDERS_MAX];
    int32_t   count;
} contest;

/* 0: the model cannot be read, and a message was printed. */
double model_parameters(const settings *s, const char *model)
{
    cm_graph *graph;
    cm_totals totals;
    cm_diag   diag = {0};
    cm_status status = cm_graph_load(model, &s->graph.load, &graph, &diag);
    if (status) return say_failed(status, &diag), 0;
    cm_graph_totals(graph, 1, &totals);
    cm_graph_free(graph);
    return (double)totals.parameters;
}

static bool add(const settings *s, contest *c, const char *name, size_t length)
{
    contender *new = &c->list[c->count];
    if (c->count == CONTENDERS_MAX || length >= sizeof new->model) {
        say("rank: --largest takes up to %d names of models of up to %d characters", CONTENDERS_MAX - 1,
            NAME_MAX_BYTES - 1);
        return false;
    }
    memcpy(new->model, name, length);
    new->model[length] = 0;
    for (int32_t i = 0; i < c->count; i++)
        if (strcmp(c->list[i].model, new->model) == 0) return true;
    new->parameters = model_parameters(s, new->model);
    c->count++;
    return new->parameters > 0;
}

/* "qwen3-*": all named models that begin so. */
static bool add_all(const settings *s, contest *c, const char *name, size_t length)
{
    int32_t before = c->count;
    for (int32_t i = 0; i < cm_models(); i++) {
        const char *id = cm_model(i)->id;
        if (strncmp(id, name, length - 1) == 0 && !add(s, c, id, strlen(id))) return false;
    }
    if (c->count == before)
        say("rank: no named model begins with '%.*s': 'centimani models' lists them", (int)length - 1, name);
    return c->count > before;
}

static bool gather(const settings *s, contest *c)
{
    const char *at = s->largest;
    size_t own;
    weight_in(s->operands[0], &own);
    if (!add(s, c, s->operands[0], own)) return false;
    while (*at) {
        size_t length = strcspn(at, ",");
        bool   pattern = length > 1 && at[length - 1] == '*';
        if (length && !(pattern ? add_all(s, c, at, length) : add(s, c, at, length))) return false;
        at += length + (at[length] == ',');
    }
    return true;
}

static int by_size(const void *left, const void *right)
{
    const contender *a = left, *b = right;
    return a->parameters != b->parameters ? (a->parameters > b->parameters ? -1 : 1) : strcmp(a->model, b->model);
}

/* The limits that a model would need which does not meet them. */
static void say_why(const contender *c, const cm_job *job)
{
    const cm_job_advice *advice = cm_job_get_advice(job, 0);
    say("%s (%.3g billion parameters) does not meet the limits%s%s", c->model, c->parameters / 1e9, advice ? ": " : "",
        advice ? advice->text : "");
}

int run_largest(settings *s, job_runner *run)
{
    contest     c = {0};
    int         code = EXIT_NOTHING_FITS;
    size_t      own;
    char        operand[NAME_MAX_BYTES + WEIGHT_MOST];
    const char *weight = s->operands[0] + (weight_in(s->operands[0], &own), own);
    if (!gather(s, &c) || strlen(weight) >= WEIGHT_MOST) return EXIT_USAGE;
    qsort(c.list, (size_t)c.count, sizeof *c.list, by_size);
    for (int32_t i = 0; i < c.count && code == EXIT_NOTHING_FITS; i++) {
        cm_job *refused = NULL;
        cm__join(operand, sizeof operand, c.list[i].model, weight, NULL);
        s->operands[0] = operand;
        code = run(s, i + 1 < c.count ? &refused : NULL);
        if (refused) say_why(&c.list[i], refused);
        cm_job_free(refused);
    }
    return code;
}
