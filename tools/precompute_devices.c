/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precompute_devices.c - built-in devices as C initializers without addresses (src/device/compiled.h).
 *
 * The items of lists and the texts are collected while devices are written, and written behind them. Texts that are
 * NULL are left out.
 */
#include "precompute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "device/compiled.h"

/* ---- lists and texts --------------------------------------------------------------------------------------------- */

enum {
#define RECORD(type, name, ...)
#define LISTED(name) LIST_##name,
#include "device/compiled.def"
#undef RECORD
#undef LISTED
    LIST_double, LIST_int64_t, LIST_texts, LISTS
};

/* The items of all lists of one type. Places of a struct refer to `count`. */
typedef struct list {
    FILE  *out;
    char  *text;
    size_t size, count;
} list;

struct written {
    cm__ctx *ctx;
    cm__map  places; /* of texts */
    list     lists[LISTS];
};

written *written_new(void)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    written *w = cm__alloc(ctx, sizeof *w);
    w->ctx = ctx;
    cm__map_init(&w->places, ctx);
    for (int i = 0; i < LISTS; i++) w->lists[i].out = open_memstream(&w->lists[i].text, &w->lists[i].size);
    fprintf(w->lists[LIST_texts].out, "0,");
    w->lists[LIST_texts].count = 1;
    return w;
}

void written_free(written *w)
{
    for (int i = 0; i < LISTS; i++) {
        fclose(w->lists[i].out);
        free(w->lists[i].text);
    }
    cm__ctx_free(w->ctx);
}

/* The place of a text. Equal texts are stored once. */
static int32_t place_of(written *w, const char *text)
{
    list   *l = &w->lists[LIST_texts];
    int32_t place = cm__map_get(&w->places, cm__span_of(text));
    if (place >= 0) return place;
    place = (int32_t)l->count;
    cm__map_put(&w->places, cm__span_of(cm__text_copy(w->ctx, text)), place);
    for (size_t i = 0; i <= strlen(text); i++, l->count++) fprintf(l->out, "%d,", text[i]);
    fprintf(l->out, "\n");
    return place;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void put_text(written *w, FILE *out, const char *member, const char *text)
{
    if (text) fprintf(out, ".%s = (void *)(uintptr_t)%d, ", member, (int)place_of(w, text));
}

/* Exact: %a writes all bits. */
static void put_double(FILE *out, double value)
{
    if (isnan(value)) fprintf(out, "NAN, ");
    else fprintf(out, "%a, ", value);
}

static void put_int64_t(FILE *out, int64_t value) { fprintf(out, "%lld, ", (long long)value); }

/* The number of a built-in device, from 1; 0: none. */
static int32_t number_of(const cm_device *x)
{
    int32_t at = 0;
    if (!x) return 0;
    while (at < cm_devices() && strcmp(cm_device_id(at), x->info.id)) at++;
    if (at == cm_devices()) stop("tables of a family are not supported");
    return at + 1;
}

#define BEGIN(member) fprintf(out, "\n.%s = ", #member);
#define PLACE(place) fprintf(out, "(void *)(uintptr_t)%zu, ", (size_t)(place));

#define TEXT(member) put_text(w, out, #member, x->member);
#define REAL(member) BEGIN(member) put_double(out, x->member);
#define VALUE(member) BEGIN(member) put_int64_t(out, (int64_t)x->member);
#define VALUES(member)                                                                                                 \
    BEGIN(member) fprintf(out, "{");                                                                                   \
    for (size_t i = 0; i < sizeof x->member / sizeof *x->member; i++) put_int64_t(out, (int64_t)x->member[i]);         \
    fprintf(out, "}, ");
#define PART(name, member) BEGIN(member) put_##name(w, out, &x->member);
#define ALL(name, array)                                                                                               \
    fprintf(out, "{");                                                                                                 \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++) put_##name(w, out, &(array)[i]);                      \
    fprintf(out, "}, ");
#define PARTS(name, member) BEGIN(member) ALL(name, x->member)
#define TABLE(name, member)                                                                                            \
    BEGIN(member) fprintf(out, "{");                                                                                   \
    for (size_t row = 0; row < sizeof x->member / sizeof *x->member; row++) { ALL(name, x->member[row]) }              \
    fprintf(out, "}, ");
#define LIST(name, member, length)                                                                                     \
    BEGIN(member) PLACE(add_##name(w, (const void *)x->member, (size_t)x->length)) VALUE(length)
#define ONE(name, member)                                                                                              \
    BEGIN(member) PLACE(x->member ? add_##name(w, (const void *)x->member, 1) + 1 : 0)
#define OTHER(member) BEGIN(member) PLACE(number_of(x->member))
#define PLAIN(type, member, length) BEGIN(member) PLACE(add_##type(w, x->member, (size_t)(length)))

/* add_...(): appends items to their list and returns the index of the first one. */
#define RECORD(type, name, ...)                                                                                        \
    static void put_##name(written *w, FILE *out, const type *x)                                                       \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        fprintf(out, "{");                                                                                             \
        __VA_ARGS__                                                                                                    \
        fprintf(out, "}, ");                                                                                           \
    }
#define LISTED(name)                                                                                                   \
    static size_t add_##name(written *w, const cm__record_##name *items, size_t count)                                 \
    {                                                                                                                  \
        list  *l = &w->lists[LIST_##name];                                                                             \
        size_t first = l->count;                                                                                       \
        for (size_t i = 0; i < count; i++) put_##name(w, l->out, &items[i]);                                           \
        l->count += count;                                                                                             \
        return first;                                                                                                  \
    }
#define NUMBERS(type)                                                                                                  \
    static size_t add_##type(written *w, const type *items, size_t count)                                              \
    {                                                                                                                  \
        list  *l = &w->lists[LIST_##type];                                                                             \
        size_t first = l->count;                                                                                       \
        for (size_t i = 0; i < count; i++) put_##type(l->out, items[i]);                                               \
        l->count += count;                                                                                             \
        return first;                                                                                                  \
    }
NUMBERS(double)
NUMBERS(int64_t)
#include "device/compiled.def"
#undef RECORD
#undef LISTED

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void write_device(written *w, FILE *out, const cm_device *device) { put_device(w, out, device); }

/* An empty array has one item, because C has no empty arrays. */
static void write_list(list *l, FILE *out, const char *type, const char *name)
{
    fflush(l->out);
    fprintf(out, "const %s cm__compiled_%s[] = {%s};\n", type, name, l->count ? l->text : "0");
}

void write_lists(written *w, FILE *out)
{
#define RECORD(type, name, ...)
#define LISTED(name) write_list(&w->lists[LIST_##name], out, "cm__record_" #name, #name);
#include "device/compiled.def"
    write_list(&w->lists[LIST_double], out, "double", "double");
    write_list(&w->lists[LIST_int64_t], out, "int64_t", "int64_t");
    write_list(&w->lists[LIST_texts], out, "char", "texts");
}

void precompute_devices(const char *path)
{
    FILE    *out = open_file(path);
    written *w = written_new();
    fprintf(out, "/* Made by tools/precompute_devices.c; do not edit. */\n#include <math.h>\n#include \"device/compiled.h\"\n\n"
                 "const cm_device cm__compiled_devices[] = {\n");
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *device = load_device(cm_device_id(i));
        if (device->kernels.count) stop("tables of built-in devices belong to data/kernels");
        write_device(w, out, device);
        cm_device_free(device);
    }
    fprintf(out, "};\nconst int32_t cm__n_compiled_devices = %d;\n", (int)cm_devices());
    write_lists(w, out);
    written_free(w);
    if (fclose(out)) stop(path);
}
