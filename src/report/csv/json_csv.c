/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_csv.c - make CSV from the JSON of a report: one line per element of its main list, or one line for the report.
 * Nested members are named "outer.inner". Nested lists of objects are omitted; --json has them.
 */
#include <stdlib.h>
#include <string.h>
#include "report/csv/csv.h"
#include "report/json/json.h"
#include "report/render.h"

#define CELLS_MOST 512

typedef struct cells {
    const char   *names[CELLS_MOST];
    const json_t *values[CELLS_MOST];
    int           count;
} cells;

static void add(cm__ctx *ctx, cells *c, const char *name, const json_t *value)
{
    const char *key;
    json_t     *member;
    size_t      i;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
            add(ctx, c, *name ? cm__format(ctx, "%s.%s", name, key) : key, member);
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, member)
            if (!json_is_object(member) && !json_is_array(member))
                add(ctx, c, cm__format(ctx, "%s.%zu", name, i), member);
    } else if (c->count < CELLS_MOST) {
        c->names[c->count] = name;
        c->values[c->count++] = value;
    }
}

static void print_value(const json_t *value, char end, FILE *out)
{
    if (json_is_integer(value)) fprintf(out, "%" JSON_INTEGER_FORMAT "%c", json_integer_value(value), end);
    else if (json_is_real(value)) cm__csv_number(out, json_real_value(value), end);
    else if (json_is_boolean(value)) cm__csv_text(out, json_is_true(value) ? "true" : "false", end);
    else cm__csv_text(out, json_is_string(value) ? json_string_value(value) : "", end);
}

static const json_t *value_of(const cells *c, int at, const char *name)
{
    if (at < c->count && strcmp(c->names[at], name) == 0) return c->values[at];
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0) return c->values[i];
    return NULL;
}

/* The first row determines the columns; other members of later rows are omitted. */
static void print_rows(cm__ctx *ctx, const json_t *rows, FILE *out)
{
    cells *first = cm__alloc(ctx, sizeof *first), *row = cm__alloc(ctx, sizeof *row);
    add(ctx, first, "", json_array_get(rows, 0));
    for (int i = 0; i < first->count; i++) cm__csv_text(out, first->names[i], i + 1 < first->count ? ',' : '\n');
    for (size_t r = 0; first->count && r < json_array_size(rows); r++) {
        row->count = 0;
        add(ctx, row, "", json_array_get(rows, r));
        for (int i = 0; i < first->count; i++)
            print_value(value_of(row, i, first->names[i]), i + 1 < first->count ? ',' : '\n', out);
    }
}

static void release(void *tree) { json_decref(tree); }

/* `lists`: names of members, separated by spaces; the first one that exists gives the rows. */
static void print_text(cm__ctx *ctx, const char *text, const char *lists, FILE *out)
{
    json_t *answer = json_loads(text, 0, NULL), *rows = NULL;
    if (!answer) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing values");
    cm__defer(ctx, release, answer);
    for (const char *at = lists; *at && !rows; at += strcspn(at, " "), at += strspn(at, " "))
        rows = json_object_get(answer, cm__text_copy_n(ctx, at, strcspn(at, " ")));
    if (!rows) {
        rows = json_array();
        if (!rows) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing values");
        cm__defer(ctx, release, rows);
        cm__json_append(ctx, rows, json_incref(answer));
    }
    print_rows(ctx, rows, out);
}

/* A stream that writes to memory; released with the context. */
typedef struct stream {
    FILE  *file;
    char  *text;
    size_t size;
} stream;

static void release_stream(void *object)
{
    stream *s = object;
    if (s->file) fclose(s->file);
    free(s->text);
}

static stream *open_stream(cm__ctx *ctx)
{
    stream *s = cm__alloc(ctx, sizeof *s);
    cm__defer(ctx, release_stream, s);
    s->file = open_memstream(&s->text, &s->size);
    if (!s->file) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing values");
    return s;
}

static const char *close_stream(cm__ctx *ctx, stream *s)
{
    bool failed = fclose(s->file) != 0;
    s->file = NULL;
    if (failed || !s->text) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing values");
    return s->text;
}

#define CSV(name, type, lists)                                                                                         \
    void cm__##name##_csv(cm__ctx *ctx, const type *report, FILE *out)                                                 \
    {                                                                                                                  \
        stream *s = open_stream(ctx);                                                                                  \
        cm__##name##_json(ctx, report, s->file);                                                                       \
        print_text(ctx, close_stream(ctx, s), lists, out);                                                             \
    }
CSV(models, cm__models_report, "models")
CSV(devices, cm__devices_report, "devices clusters")
CSV(lookups, cm__lookups_report, "devices")
CSV(fit, cm__fit_report, "classes")
CSV(predict, cm__predict_report, "ops missing")
CSV(memory, cm__memory_report, "")
CSV(batch, cm__memory_report, "candidates")
CSV(fits, cm__memory_report, "")
CSV(plan, cm__plan_report, "best")
CSV(watch, cm__watch_report, "")
CSV(job, cm__job_report, "ranking")
CSV(scale, cm__scale_report, "points")
CSV(explain, cm__explain_report, "ops")
