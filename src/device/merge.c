/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - join the kernel tables of profiles: one table per runtime, call, pass, variant and type, rows sorted. */
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json.h"
#include "device/merge.h"

#define FILE_MOST (256 << 20)

static const char *const keys[] = {"runtime", "op", "pass", "variant", "dtype"};

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static int by_key(const json_t *a, const json_t *b)
{
    int d = 0;
    for (size_t i = 0; !d && i < sizeof keys / sizeof *keys; i++) d = strcmp(text(a, keys[i]), text(b, keys[i]));
    return d;
}

static int by_table(const void *a, const void *b) { return by_key(*(json_t *const *)a, *(json_t *const *)b); }

/* The last two numbers of a row are its time and its count of kernels. */
static int by_sizes(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);
    for (size_t i = 0; i + 2 < n && i + 2 < json_array_size(b); i++) {
        double x = json_number_value(json_array_get(a, i)), y = json_number_value(json_array_get(b, i));
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

static int by_row(const void *a, const void *b) { return by_sizes(*(json_t *const *)a, *(json_t *const *)b); }

static json_t *checked(cm__ctx *ctx, json_t *value)
{
    if (!value) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for tables");
    return value;
}

/* Sorts an array; its elements stay owned by it. */
static void sort(cm__ctx *ctx, json_t *array, int (*order)(const void *, const void *))
{
    size_t   n = json_array_size(array);
    json_t **items = cm__alloc_array(ctx, n + 1, sizeof *items);
    for (size_t i = 0; i < n; i++) items[i] = json_incref(json_array_get(array, i));
    if (n) qsort(items, n, sizeof *items, order);
    json_array_clear(array);
    for (size_t i = 0; i < n; i++) json_array_append_new(array, items[i]);
}

/* Both lists of rows are sorted; rows of `from` replace equal ones. */
static json_t *joined(cm__ctx *ctx, const json_t *into, const json_t *from, cm_merge_counts *counts)
{
    json_t *rows = checked(ctx, json_array());
    size_t  i = 0, k = 0, n = json_array_size(into), m = json_array_size(from);
    while (i < n || k < m) {
        json_t *a = json_array_get(into, i), *b = json_array_get(from, k);
        int     d = i == n ? 1 : k == m ? -1 : by_sizes(a, b);
        json_array_append(rows, d < 0 ? a : b);
        counts->added += d > 0;
        counts->replaced += d == 0;
        i += d <= 0;
        k += d >= 0;
    }
    return rows;
}

static void merge_table(cm__ctx *ctx, json_t *tables, json_t *from, cm_merge_counts *counts)
{
    json_t *into = NULL;
    for (size_t i = 0; i < json_array_size(tables) && !into; i++)
        if (by_key(json_array_get(tables, i), from) == 0) into = json_array_get(tables, i);
    if (!into) {
        into = checked(ctx, json_copy(from));
        json_object_set_new(into, "rows", checked(ctx, json_array()));
        json_array_append_new(tables, into);
    }
    json_t *new_rows = json_object_get(from, "rows"), *old = json_object_get(into, "rows");
    sort(ctx, new_rows, by_row);
    sort(ctx, old, by_row);
    json_object_set_new(into, "rows", joined(ctx, old, new_rows, counts));
    if (strcmp(text(from, "date"), text(into, "date")) > 0)
        json_object_set(into, "date", json_object_get(from, "date"));
}

void cm__tables_merge(cm__ctx *ctx, json_t *into, const json_t *from, cm_merge_counts *counts)
{
    json_t *tables = json_object_get(into, "kernels"), *sources = json_object_get(into, "sources");
    if (!tables) json_object_set_new(into, "kernels", tables = checked(ctx, json_array()));
    const json_t *list = json_object_get(from, "kernels");
    for (size_t i = 0; i < json_array_size(list); i++) merge_table(ctx, tables, json_array_get(list, i), counts);
    sort(ctx, tables, by_table);
    json_t *more = json_object_get(from, "sources");
    if (more && sources) json_object_update_missing(sources, more);
    else if (more) json_object_set(into, "sources", more);
    counts->tables = (int32_t)json_array_size(tables);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static json_t *read(cm__ctx *ctx, const char *path)
{
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, FILE_MOST, "");
    json_t      *profile = cm__json_read(ctx, (const char *)file->bytes, file->size, 0);
    const json_t *tables = json_object_get(profile, "kernels");
    if (!json_is_object(profile) || !json_is_array(tables))
        cm__fail(ctx, CM_ERR_FORMAT, "no kernel tables: a profile with an array \"kernels\" is expected");
    for (size_t i = 0; i < json_array_size(tables); i++)
        if (!json_is_array(json_object_get(json_array_get(tables, i), "rows")))
            cm__fail(ctx, CM_ERR_FORMAT, "kernels[%zu] has no array \"rows\"", i);
    return profile;
}

static void print_member(FILE *out, const char *key, const json_t *value)
{
    bool tables = strcmp(key, "kernels") == 0;
    fprintf(out, "\"%s\":", key);
    if (!tables) json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
    for (size_t i = 0; tables && i < json_array_size(value); i++) {
        fputs(i ? ",\n" : "[\n", out);
        json_dumpf(json_array_get(value, i), out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
    if (tables) fputs(json_array_size(value) ? "\n]" : "[]", out);
}

char *cm__tables_print(cm__ctx *ctx, json_t *profile)
{
    char       *result = NULL;
    size_t      size;
    const char *key;
    json_t     *value;
    bool        first = true;
    FILE       *out = open_memstream(&result, &size);
    if (!out) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for the result");
    fputc('{', out);
    json_object_foreach(profile, key, value) {
        fputs(first ? "" : ",\n", out);
        first = false;
        print_member(out, key, value);
    }
    fputs("}", out);
    if (fclose(out) != 0) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for the result");
    return result;
}

cm_status cm_tables_merge(const char *const *paths, int32_t count, char **profile, cm_merge_counts *counts,
                          cm_diag *diag)
{
    if (!paths || count < 1 || !profile) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no profiles or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    json_t         *into = read(ctx, paths[0]);
    cm_merge_counts all = {0};
    for (int32_t i = 1; i < count; i++) cm__tables_merge(ctx, into, read(ctx, paths[i]), &all);
    *profile = cm__tables_print(ctx, into);
    if (counts) *counts = all;
    cm__ctx_free(ctx);
    return CM_OK;
}
