/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contribute.c - add measured results of others to a set of results.
 *
 * A contribution is a set of results like those in data/results. Beyond the schema, it must say who measured what,
 * when, and where the evidence is, so that others can check it: a URL, or a file (a log, a profiler trace) beside it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device/file.h"
#include "device/profile.h"
#include "validate/validate.h"

/* Members that do not change what was measured. */
static const char *const remarks[] = {"where", "source", "note", "reason", "compare", "group"};
/* Without these, the measurement cannot be repeated. */
static const char *const needed[] = {"model", "device", "precision"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

/* "2026", "2026-11" or "2026-11-16" */
static bool is_date(const char *text)
{
    static const char form[] = "0000-00-00";
    size_t            n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (i >= sizeof form - 1 || (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9')) return false;
    return n == 4 || n == 7 || n == 10;
}

static bool is_file_beside(cm__ctx *ctx, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return access(cm__format(ctx, "%.*s%s", slash && name[0] != '/' ? (int)(slash + 1 - path) : 0, path, name),
                  R_OK) == 0;
}

static bool is_evidence(cm__ctx *ctx, const char *path, const char *text)
{
    return strstr(text, "https://") || strstr(text, "http://") || (*text && is_file_beside(ctx, path, text));
}

static void check_source(cm__ctx *ctx, const json_t *set, const cm__origin *origin)
{
    static const char *const members[] = {"title", "where", "date"};
    const json_t            *source = json_object_get(set, "source");
    cm__step                 step = {NULL, "source", 0};
    for (size_t i = 0; i < COUNT(members); i++)
        if (!*text_of(source, members[i]))
            cm__refuse(ctx, origin, &step,
                       "has no '%s': who measured (title), where it can be read (where), when (date)", members[i]);
    cm__step date = {&step, "date", 0};
    if (!is_date(text_of(source, "date")))
        cm__refuse(ctx, origin, &date, "'%s' is no date such as 2026-11-16", text_of(source, "date"));
}

static void check_row(cm__ctx *ctx, const json_t *set, const json_t *row, const cm__step *step,
                      const cm__origin *origin, const char *path)
{
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!*text_of(row, needed[i]) && !*text_of(set, needed[i]))
            cm__refuse(ctx, origin, step, "has no '%s'; the measurement could not be repeated", needed[i]);
    if (!json_object_get(row, "batch") && !json_object_get(row, "micro_batch"))
        cm__refuse(ctx, origin, step, "has no 'batch'; the measurement could not be repeated");
    if (!is_evidence(ctx, path, text_of(row, "where")) &&
        !is_evidence(ctx, path, text_of(json_object_get(set, "source"), "where")))
        cm__refuse(ctx, origin, step,
                   "has no evidence: 'where' of the row or of the source must be a URL or a file beside %s", path);
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* The row without remarks; a new reference. */
static json_t *bare(const json_t *row)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)row);
    for (size_t i = 0; copy && i < COUNT(remarks); i++) json_object_del(copy, remarks[i]);
    return copy;
}

static bool is_in(const json_t *rows, size_t count, const json_t *row)
{
    json_t *wanted = bare(row);
    bool    found = false;
    for (size_t i = 0; i < count && !found; i++) {
        json_t *other = bare(json_array_get(rows, i));
        found = json_equal(other, wanted);
        json_decref(other);
    }
    json_decref(wanted);
    return found;
}

/* The rows of many contributions are joined: the set lists their sources by the contributions' ids, which rows name. */
static void add_source(cm__ctx *ctx, json_t *into, const json_t *set, const cm__origin *origin)
{
    const json_t *source = json_object_get(set, "source");
    const char   *id = text_of(set, "id");
    cm__step      step = {NULL, "id", 0};
    char         *text =
        cm__format(ctx, "%s, %s, %s", text_of(source, "title"), text_of(source, "where"), text_of(source, "date"));
    if (!json_object_get(into, "sources")) json_object_set_new(into, "sources", json_object());
    json_t *sources = json_object_get(into, "sources");
    if (*text_of(sources, id) && strcmp(text_of(sources, id), text) != 0)
        cm__refuse(ctx, origin, &step, "'%s' is the id of another source in the set: %s", id, text_of(sources, id));
    json_object_set_new(sources, id, json_string(text));
}

static json_t *with_source(const json_t *set, const json_t *row)
{
    json_t *copy = json_deep_copy(row);
    if (copy) json_object_set_new(copy, "source", json_string(text_of(set, "id")));
    return copy;
}

void cm__results_join(cm__ctx *ctx, json_t *into, const json_t *set, const cm__origin *origin, const char *path)
{
    json_t       *rows = json_object_get(into, "rows");
    const json_t *added = json_object_get(set, "rows");
    check_source(ctx, set, origin);
    add_source(ctx, into, set, origin);
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *row = json_array_get(added, i);
        cm__step      list = {NULL, "rows", 0}, step = {&list, NULL, i};
        check_row(ctx, set, row, &step, origin, path);
        if (is_in(rows, json_array_size(rows), row))
            cm__refuse(ctx, origin, &step, "is in the set already: same model, device, settings and value");
        json_array_append_new(rows, with_source(set, row));
    }
}

static json_t *new_set(cm__ctx *ctx)
{
    json_t *set = json_pack("{s:i, s:s, s:s, s:{s:s}, s:[]}", "schema", 1, "id", "contributed", "title",
                            "Results measured by users",
                            "source", "where", "cited row by row", "rows");
    if (!set) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    return set;
}

static void release(void *json) { json_decref(json); }

/* A set from a file, checked; *origin says where it came from. */
static json_t *read_set(cm__ctx *ctx, const char *path, cm__origin *origin)
{
    *origin = cm__file_read(ctx, path);
    json_t *set = cm__json_read(ctx, origin->text, origin->size, JSON_REJECT_DUPLICATES);
    cm__set_check(ctx, set, origin);
    return set;
}

cm_status cm_results_add(const char *path, const char *into, char **joined, int32_t *rows, cm_diag *diag)
{
    if (!path || !joined) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no file of results given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__origin origin, other;
    json_t    *set = read_set(ctx, path, &origin), *all;
    if (into && access(into, F_OK) == 0) all = json_deep_copy(read_set(ctx, into, &other));
    else all = new_set(ctx);
    cm__defer(ctx, release, all);
    cm__results_join(ctx, all, set, &origin, path);
    *joined = json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    if (!*joined) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for the result");
    if (rows) *rows = (int32_t)json_array_size(json_object_get(set, "rows"));
    cm__ctx_free(ctx);
    return CM_OK;
}
