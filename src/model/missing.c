/* SPDX-License-Identifier: Apache-2.0 */
/* missing.c - write kernel calls as a case file for the benchmarks: one entry per kernel table, as in a profile. */
#include "model/missing.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *words(const cm__call_kind *kind)
{
    json_t *dims = json_array();
    for (int i = 0; i < kind->n_sizes; i++) json_array_append_new(dims, json_string(kind->sizes[i]));
    return dims;
}

static bool same_table(const cm__call *a, const cm__call *b)
{
    return a->op == b->op && a->pass == b->pass && a->variant == b->variant && a->types == b->types;
}

static json_t *row_of(const cm__call *c)
{
    json_t *row = json_array();
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++) json_array_append_new(row, json_integer(c->sizes[i]));
    return row;
}

static json_t *table_of(const cm__call *calls, int32_t count, int32_t first, bool *taken)
{
    const cm__call *like = &calls[first];
    json_t         *rows = json_array();
    for (int32_t i = first; i < count; i++) {
        if (taken[i] || !same_table(like, &calls[i])) continue;
        json_array_append_new(rows, row_of(&calls[i]));
        taken[i] = true;
    }
    const cm__call_kind *kind = &cm__call_kinds[like->op];
    char                 variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "op", kind->name, "pass", cm__pass_names[like->pass], "variant",
                     cm__variant_text(like->variant, variant), "dtype", cm__types_text(like->types, types), "dims",
                     words(kind), "rows", rows);
}

/* One line per table keeps the file short and diffs readable. */
static char *print(const json_t *tables)
{
    char  *text = NULL;
    size_t size;
    FILE  *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("{\"schema\": 1, \"cases\": [", out);
    for (size_t i = 0; i < json_array_size(tables); i++) {
        fputs(i ? ",\n " : "\n ", out);
        json_dumpf(json_array_get(tables, i), out, 0);
    }
    fputs("\n]}", out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

char *cm__cases_text(const cm__call *calls, int32_t count)
{
    json_t *tables = json_array();
    bool   *taken = calloc((size_t)count + 1, sizeof *taken);
    for (int32_t i = 0; taken && i < count; i++)
        if (!taken[i]) json_array_append_new(tables, table_of(calls, count, i, taken));
    char *text = taken && tables ? print(tables) : NULL;
    free(taken);
    json_decref(tables);
    return text;
}
