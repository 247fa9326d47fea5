/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - compare two saved answers of the same command: which numbers, words and kernels changed.
 *
 * The answers are files of users, so nothing is expected of them but the head that every answer has. Objects of a list
 * are matched by what names them, such as "device" or "name", and the k-th of a name with the k-th of the other answer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "report/report.h"

#define FILE_MOST ((int64_t)256 << 20)
#define DEPTH_MOST 32 /* of objects in each other; answers have five */

typedef struct differing {
    cm__diff_report *r;
    bool             kernels; /* below a list of kernel calls or operators */
} differing;

/* ---- what changed ----------------------------------------------------------------------------------------------- */

static cm__changed *new_row(cm__ctx *ctx, cm__changes *c)
{
    c->rows = cm__grow(ctx, c->rows, c->count, &c->capacity, sizeof *c->rows);
    return &c->rows[c->count++];
}

static double number_of(const json_t *value) { return json_is_number(value) ? json_number_value(value) : NAN; }

static const char *words_of(cm__ctx *ctx, const json_t *value)
{
    if (!value) return NULL;
    if (json_is_string(value)) return cm__text_copy(ctx, json_string_value(value));
    return json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : json_is_null(value) ? "null" : "list";
}

/* Relative change; infinite from zero, or where only one answer has the number. */
static double change_of(double from, double to)
{
    if (from == to) return 0;
    return from != 0 && isfinite(from) && isfinite(to) ? (to - from) / fabs(from) : INFINITY;
}

static void add_change(differing *d, const char *name, const json_t *from, const json_t *to, bool counts)
{
    if (from && to && json_equal((json_t *)(uintptr_t)from, (json_t *)(uintptr_t)to)) return;
    double       x = number_of(from), y = number_of(to);
    bool         number = json_is_number(from) || json_is_number(to);
    if (number && x == y) return; /* 1 and 1.0 */
    cm__changed *c = new_row(d->r->ctx, d->kernels ? &d->r->kernels : &d->r->fields);
    *c = (cm__changed){.name = name, .before = x, .after = y, .change = number ? change_of(x, y) : NAN,
                       .old_words = words_of(d->r->ctx, from), .new_words = words_of(d->r->ctx, to)};
    bool truth = json_is_boolean(from) || json_is_boolean(to);
    c->counts = counts && !d->kernels && (number || truth);
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

/* What names an object of a list, the first that it has; with its type and phase, if it has them. */
static const char *identity(cm__ctx *ctx, const json_t *object)
{
    static const char *const names[] = {"id", "device", "name", "what", "call", "op", "n", "batch"};
    static const char *const kinds[] = {"type", "phase", "cluster"};
    const char              *text = "";
    for (size_t i = 0; !*text && i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get(object, names[i]);
        if (json_is_string(value)) text = cm__text_copy(ctx, json_string_value(value));
        else if (json_is_number(value)) text = cm__format(ctx, "%.10g", json_number_value(value));
    }
    for (size_t i = 0; *text && i < sizeof kinds / sizeof *kinds; i++) {
        const char *kind = json_string_value(json_object_get(object, kinds[i]));
        if (kind && *kind) text = cm__format(ctx, "%s %s", text, kind);
    }
    return text;
}

/* Names of all objects of a list: the second of a name is "name #2". */
static const char **named(cm__ctx *ctx, const json_t *list, cm__map *at)
{
    cm__map      seen;
    size_t       count = json_array_size(list);
    const char **names = cm__alloc_array(ctx, count + 1, sizeof *names);
    cm__map_init(&seen, ctx);
    cm__map_init(at, ctx);
    for (size_t i = 0; i < count; i++) {
        const char *name = identity(ctx, json_array_get(list, i));
        int32_t     n = cm__map_get(&seen, cm__span_of(name));
        n = n < 0 ? 1 : n + 1;
        cm__map_put(&seen, cm__span_of(name), n);
        names[i] = n > 1 || !*name ? cm__format(ctx, "%s%s#%d", name, *name ? " " : "", n) : name;
        cm__map_put(at, cm__span_of(names[i]), (int32_t)i);
    }
    return names;
}

static void compare(differing *d, const char *name, const json_t *from, const json_t *to, int depth, bool counts);

/* Kernel calls and operators have one number to compare, their time. */
static const json_t *time_of(const json_t *kernel)
{
    const json_t *time = json_object_get(kernel, "time_s");
    return time ? time : json_object_get(kernel, "predicted_s");
}

static void compare_objects(differing *d, const char *name, const json_t *from, const json_t *to, int depth,
                            bool counts)
{
    if (d->kernels) add_change(d, name, time_of(from), time_of(to), false);
    else compare(d, name, from, to, depth, counts);
}

static void compare_lists(differing *d, const char *name, const json_t *from, const json_t *to, int depth, bool counts)
{
    cm__ctx     *ctx = d->r->ctx;
    cm__map      old_at, new_at;
    const char **old_names = named(ctx, from, &old_at), **new_names = named(ctx, to, &new_at);
    for (size_t i = 0; i < json_array_size(from); i++) {
        int32_t     at = cm__map_get(&new_at, cm__span_of(old_names[i]));
        const char *row = d->kernels ? old_names[i] : cm__format(ctx, "%s[%s]", name, old_names[i]);
        compare_objects(d, row, json_array_get(from, i), at < 0 ? NULL : json_array_get(to, (size_t)at), depth, counts);
    }
    for (size_t i = 0; i < json_array_size(to); i++) {
        if (cm__map_get(&old_at, cm__span_of(new_names[i])) >= 0) continue;
        const char *row = d->kernels ? new_names[i] : cm__format(ctx, "%s[%s]", name, new_names[i]);
        compare_objects(d, row, NULL, json_array_get(to, i), depth, counts);
    }
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

static bool listed(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* The head of an answer, and times of the program itself. */
static const char *const ignored[] = {"schema", "command", "version", "search_time_s", NULL};
static const char *const kernel_lists[] = {"ops", "calls", NULL};
/* Lists whose rows are answers, as `rank` has. Other lists and objects say where a number comes from. */
static const char *const tables[] = {"ranking", "points", "best", "candidates", "results", "classes", NULL};

/* `counts`: a number at this place is one of the answer's figures, to which a limit applies. */
static void compare_members(differing *d, const char *name, const json_t *from, const json_t *to, int depth,
                            bool counts)
{
    cm__ctx    *ctx = d->r->ctx;
    const char *key;
    json_t     *member;
    for (int side = 0; side < 2; side++) {
        json_t *of = (json_t *)(uintptr_t)(side ? to : from);
        json_object_foreach(of, key, member) {
            if ((side && json_object_get(from, key)) || (depth == 0 && listed(key, ignored))) continue;
            const char *path = *name ? cm__format(ctx, "%s.%s", name, key) : cm__text_copy(ctx, key);
            bool        nested = json_is_object(member) || json_is_array(member), table = depth == 0 && listed(key, tables);
            differing   inner = {d->r, d->kernels || (json_is_array(member) && listed(key, kernel_lists))};
            compare(&inner, path, json_object_get(from, key), json_object_get(to, key), depth + 1,
                    counts && (table || !nested));
        }
    }
}

static void compare(differing *d, const char *name, const json_t *from, const json_t *to, int depth, bool counts)
{
    if (depth > DEPTH_MOST) cm__fail(d->r->ctx, CM_ERR_LIMIT, "more than %d objects inside each other", DEPTH_MOST);
    bool object = json_is_object(from) || json_is_object(to), list = json_is_array(from) || json_is_array(to);
    if (object && (!from || json_is_object(from)) && (!to || json_is_object(to)))
        compare_members(d, name, from, to, depth, counts);
    else if (list && (!from || json_is_array(from)) && (!to || json_is_array(to)))
        compare_lists(d, name, from, to, depth + 1, counts);
    else add_change(d, name, from, to, counts);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

/* "h.12.attn" -> "h.*.attn" */
static const char *without_numbers(cm__ctx *ctx, const char *name)
{
    char  *text = cm__text_copy(ctx, name), *to = text;
    bool   begins = true;
    for (const char *at = name; *at;) {
        size_t digits = begins ? strspn(at, "0123456789") : 0;
        if (digits && (at[digits] == '.' || at[digits] == ' ' || !at[digits])) {
            *to++ = '*';
            at += digits;
            begins = false;
        } else {
            begins = *at == '.';
            *to++ = *at++;
        }
    }
    *to = 0;
    return text;
}

static double plus(double sum, double term) { return isnan(sum) ? term : isnan(term) ? sum : sum + term; }

static void sum_layers(cm__diff_report *r)
{
    cm__map at;
    cm__map_init(&at, r->ctx);
    for (int32_t i = 0; i < r->kernels.count; i++) {
        const cm__changed *k = &r->kernels.rows[i];
        const char        *name = without_numbers(r->ctx, k->name);
        int32_t            found = cm__map_get(&at, cm__span_of(name));
        if (found < 0) {
            cm__map_put(&at, cm__span_of(name), r->layers.count);
            *new_row(r->ctx, &r->layers) = (cm__changed){.name = name, .before = k->before, .after = k->after};
            continue;
        }
        cm__changed *sum = &r->layers.rows[found];
        sum->before = plus(sum->before, k->before);
        sum->after = plus(sum->after, k->after);
    }
    for (int32_t i = 0; i < r->layers.count; i++)
        r->layers.rows[i].change = change_of(r->layers.rows[i].before, r->layers.rows[i].after);
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static const json_t *read_answer(cm__diff_report *r, const char *path)
{
    cm__mapping *file = cm__file_map(r->ctx, path, FILE_MOST, "too large for an answer");
    r->ctx->file = cm__text_copy(r->ctx, path);
    const json_t *answer = cm__json_read(r->ctx, (const char *)file->bytes, file->size, 0);
    if (!json_is_integer(json_object_get(answer, "schema")) || !json_is_string(json_object_get(answer, "command")))
        cm__fail(r->ctx, CM_ERR_FORMAT, "not an answer of this program: save one with '--json > FILE'");
    r->ctx->file = NULL;
    return answer;
}

static void check_alike(cm__diff_report *r, const json_t *from, const json_t *to)
{
    const char *old = json_string_value(json_object_get(from, "command"));
    json_int_t  schema[] = {json_integer_value(json_object_get(from, "schema")),
                            json_integer_value(json_object_get(to, "schema"))};
    r->command = json_string_value(json_object_get(to, "command"));
    if (strcmp(old, r->command) != 0)
        cm__fail(r->ctx, CM_ERR_ARGUMENT, "%s is an answer of '%.64s', %s of '%.64s': compare answers of one command",
                 r->paths[0], old, r->paths[1], r->command);
    if (schema[0] != schema[1])
        cm__fail(r->ctx, CM_ERR_ARGUMENT, "%s has schema %lld, %s has %lld: ask both questions with one version",
                 r->paths[0], (long long)schema[0], r->paths[1], (long long)schema[1]);
}

/* Figures before details; the largest relative change first, numbers before words. */
static int by_change(const void *a, const void *b)
{
    const cm__changed *p = a, *q = b;
    if (p->counts != q->counts) return p->counts ? -1 : 1;
    double x = isnan(p->change) ? -1 : fabs(p->change), y = isnan(q->change) ? -1 : fabs(q->change);
    return x != y ? (x < y) - (x > y) : strcmp(p->name, q->name);
}

static double magnitude(const cm__changed *c)
{
    return fabs((isnan(c->after) ? 0 : c->after) - (isnan(c->before) ? 0 : c->before));
}

static int by_time(const void *a, const void *b)
{
    double x = magnitude(a), y = magnitude(b);
    return x != y ? (x < y) - (x > y) : strcmp(((const cm__changed *)a)->name, ((const cm__changed *)b)->name);
}

static void sort(cm__changes *c, int (*order)(const void *, const void *))
{
    if (c->count) qsort(c->rows, (size_t)c->count, sizeof *c->rows, order);
}

/* A truth value that changed exceeds every limit: "fits" was true. */
static void find_largest(cm__diff_report *r)
{
    for (int32_t i = 0; i < r->fields.count; i++) {
        const cm__changed *c = &r->fields.rows[i];
        if (c->counts) r->largest = fmax(r->largest, isnan(c->change) ? INFINITY : fabs(c->change));
    }
}

cm_status cm__diff_report_new(const char *old, const char *new, double limit, cm__diff_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__diff_report *r = cm__alloc(ctx, sizeof *r);
    *r = (cm__diff_report){.ctx = ctx, .paths = {cm__text_copy(ctx, old), cm__text_copy(ctx, new)}, .limit = limit};
    const json_t *from = read_answer(r, old), *to = read_answer(r, new);
    check_alike(r, from, to);
    compare(&(differing){r, false}, "", from, to, 0, true);
    sort(&r->fields, by_change);
    sort(&r->kernels, by_time);
    sum_layers(r);
    sort(&r->layers, by_time);
    find_largest(r);
    r->exceeded = limit > 0 && r->largest > limit;
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__diff_report_free(cm__diff_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
