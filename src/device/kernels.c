/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - tables of measured kernel calls, from JSON and built in. */
#include <string.h>
#include "base/text.h"
#include "base/versions.h"
#include "device/kernels.h"
#include "device/row_sizes.h"
#include "device/values.h"

#define TIME_MIN 1e-9
#define TIME_MAX 1e5
#define LAUNCHES_MAX 65535
#define ROWS_MOST 65535

typedef struct reading {
    cm__ctx          *ctx;
    const cm__origin *origin;
    const json_t     *table, *sources;
    cm__step          path;
    int               op, n_sizes;
} reading;

static int operator_of(const reading *r)
{
    const char *names[CM__CALLS], *name = cm__text_at(r->table, "op");
    cm__step    step = {&r->path, "op", 0};
    int         op = cm__call_find(name);
    if (op >= 0) return op;
    for (int i = 0; i < CM__CALLS; i++) names[i] = cm__call_kinds[i].name;
    const char *meant = cm__nearest(name, names, CM__CALLS);
    cm__refuse(r->ctx, r->origin, &step, "no call '%.64s'%s%s%s; docs/devices.md lists them", name,
               meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static void check_dims(const reading *r)
{
    const json_t        *dims = json_object_get(r->table, "dims");
    const cm__call_kind *kind = &cm__call_kinds[r->op];
    cm__step             step = {&r->path, "dims", 0};
    bool                 same = json_array_size(dims) == (size_t)kind->n_sizes;
    for (int i = 0; same && i < kind->n_sizes; i++)
        same = strcmp(json_string_value(json_array_get(dims, (size_t)i)), kind->sizes[i]) == 0;
    if (same) return;
    const char *all = kind->sizes[0];
    for (int i = 1; i < kind->n_sizes; i++) all = cm__format(r->ctx, "%s, %s", all, kind->sizes[i]);
    cm__refuse(r->ctx, r->origin, &step, "the sizes of %s are %s", kind->name, all);
}

static cm__variant variant_of(const reading *r)
{
    const char *text = cm__text_at(r->table, "variant");
    cm__step    step = {&r->path, "variant", 0};
    cm__variant variant = cm__variant_find(text ? text : "");
    if (variant == CM__NO_VARIANT) cm__refuse(r->ctx, r->origin, &step, "no variant '%.64s' of a call", text);
    return variant;
}

static cm__types types_of(const reading *r)
{
    const char *text = cm__text_at(r->table, "dtype");
    cm__step    step = {&r->path, "dtype", 0};
    cm__types   types = cm__types_find(text);
    if (types == CM__NO_TYPES) cm__refuse(r->ctx, r->origin, &step, "no types '%.64s'", text);
    return types;
}

/* Store the numbers of a row. */
static void read_row(const reading *r, size_t index, int64_t *sizes, float *time_s, uint16_t *launches)
{
    const json_t *rows = json_object_get(r->table, "rows"), *row = json_array_get(rows, index);
    cm__step      list = {&r->path, "rows", 0}, step = {&list, NULL, index};
    if (json_array_size(row) != (size_t)r->n_sizes + 2)
        cm__refuse(r->ctx, r->origin, &step, "%zu numbers, expected %d sizes, a time and a count of kernels",
                   json_array_size(row), r->n_sizes);
    for (int i = 0; i < r->n_sizes; i++) {
        const json_t *size = json_array_get(row, (size_t)i);
        if (!json_is_integer(size)) cm__refuse(r->ctx, r->origin, &step, "size %d is not a whole number", i + 1);
        sizes[i] = json_integer_value(size);
    }
    double time = json_number_value(json_array_get(row, (size_t)r->n_sizes)),
           count = json_number_value(json_array_get(row, (size_t)r->n_sizes + 1));
    if (!(time >= TIME_MIN && time <= TIME_MAX))
        cm__refuse(r->ctx, r->origin, &step, "a time of %g s; %g to %g expected", time, TIME_MIN, TIME_MAX);
    if (!(count >= 0 && count <= LAUNCHES_MAX)) cm__refuse(r->ctx, r->origin, &step, "%g kernels", count);
    *time_s = (float)time;
    *launches = (uint16_t)count;
}

static void read_rows(const reading *r, cm__kernel_table *t)
{
    size_t    count = json_array_size(json_object_get(r->table, "rows"));
    cm__step  list = {&r->path, "rows", 0};
    if (count > ROWS_MOST) cm__refuse(r->ctx, r->origin, &list, "%zu rows; a table may have %d", count, ROWS_MOST);
    int64_t  *sizes = cm__alloc_array(r->ctx, count * (size_t)r->n_sizes, sizeof *sizes);
    float    *time_s = cm__alloc_array(r->ctx, count, sizeof *time_s);
    uint16_t *launches = cm__alloc_array(r->ctx, count, sizeof *launches);
    for (size_t i = 0; i < count; i++)
        read_row(r, i, sizes + i * (size_t)r->n_sizes, &time_s[i], &launches[i]);
    t->n_rows = (int32_t)count;
    t->time_s = time_s;
    t->many_launches = launches;
    cm__rows_pack(r->ctx, t, sizes);
}

static void read_table(reading *r, cm__kernel_table *t)
{
    r->op = operator_of(r);
    r->n_sizes = cm__call_kinds[r->op].n_sizes;
    check_dims(r);
    *t = (cm__kernel_table){.runtime = cm__text_at(r->table, "runtime"),
                            .variant = variant_of(r),
                            .types = types_of(r),
                            .kind = cm__text_at(r->table, "kind"),
                            .source = cm__text_at(r->table, "source"),
                            .date = cm__text_at(r->table, "date"),
                            .software = cm__versions_at(r->sources, cm__text_at(r->table, "source")),
                            .op = (int16_t)r->op,
                            .pass = (int16_t)cm__pass_find(cm__text_at(r->table, "pass"))};
    read_rows(r, t);
}

cm__kernels cm__kernels_of(cm__ctx *ctx, const json_t *array, const json_t *sources, const cm__origin *origin)
{
    size_t            count = json_array_size(array);
    cm__kernel_table *tables = cm__alloc_array(ctx, count, sizeof *tables);
    cm__step          kernels = {NULL, "kernels", 0};
    for (size_t i = 0; i < count; i++) {
        reading r = {.ctx = ctx, .origin = origin, .table = json_array_get(array, i), .sources = sources,
                     .path = {&kernels, NULL, i}};
        read_table(&r, &tables[i]);
    }
    return (cm__kernels){tables, (int32_t)count};
}

float cm__short_time(uint16_t number)
{
    static const double per_second[] = {1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3}; /* steps of the last of four digits */
    int                 above = number - 10000;
    return (float)(above < 0 ? number / 1e10 : (1000 + above % 9000) / per_second[above / 9000]);
}

cm__kernels cm__kernels_built_in(const char *device)
{
    for (int32_t i = 0; i < cm__n_embedded_kernels; i++)
        if (strcmp(cm__all_embedded_kernels[i].device, device) == 0)
            return (cm__kernels){cm__all_embedded_kernels[i].tables, cm__all_embedded_kernels[i].count};
    return (cm__kernels){0};
}

static bool measured_alike(const cm__kernel_table *a, const cm__kernel_table *b)
{
    return cm__same_text(a->runtime, b->runtime) && memcmp(&a->software, &b->software, sizeof a->software) == 0;
}

const char *cm__kernels_text(cm__ctx *ctx, cm__kernels k)
{
    const char *text = NULL;
    for (int32_t i = 0; i < k.count; i++) {
        int32_t first = 0, alike = 0;
        while (!measured_alike(&k.tables[first], &k.tables[i])) first++;
        if (first < i) continue;
        for (int32_t other = i; other < k.count; other++) alike += measured_alike(&k.tables[other], &k.tables[i]);
        const char *with = cm__versions_text(ctx, k.tables[i].software);
        text = cm__format(ctx, "%s%s%d of %s%s%s", text ? text : "", text ? "; " : "", (int)alike, k.tables[i].runtime,
                          with ? " with " : ", software not stated", with ? with : "");
    }
    return text;
}
