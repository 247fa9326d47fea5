/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - find a compiled device and make it a device of a context. */
#include "device/compiled.h"

#include <string.h>
#include "base/text.h"

/* ---- places and indices become pointers -------------------------------------------------------------------------- */

static const char *text_at(const char *place) { return place ? cm__compiled_texts + (uintptr_t)place : NULL; }

#define TEXT(member) x->member = text_at(x->member);
#define REAL(member)
#define VALUE(member)
#define VALUES(member)
#define PART(name, member) set_##name(ctx, &x->member);
#define PARTS(name, member)                                                                                            \
    for (size_t i = 0; i < sizeof x->member / sizeof(cm__record_##name); i++)                                          \
        set_##name(ctx, (cm__record_##name *)x->member + i);
#define TABLE(name, member) PARTS(name, member)
#define LIST(name, member, length) x->member = (void *)items_of_##name(ctx, (uintptr_t)x->member, x->length);
#define ONE(name, member) x->member = x->member ? items_of_##name(ctx, (uintptr_t)x->member - 1, 1) : NULL;
#define OTHER(member) /* a number: cm__compiled_load() loads it */
#define PLAIN(type, member, length) x->member = (void *)(uintptr_t)(cm__compiled_##type + (uintptr_t)x->member);

#define RECORD(type, name, ...)                                                                                        \
    static void set_##name(cm__ctx *ctx, type *x)                                                                      \
    {                                                                                                                  \
        (void)ctx, (void)x;                                                                                            \
        __VA_ARGS__                                                                                                    \
    }
#define LISTED(name)                                                                                                   \
    static cm__record_##name *items_of_##name(cm__ctx *ctx, uintptr_t first, int32_t count)                            \
    {                                                                                                                  \
        cm__record_##name *items = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *items);                             \
        memcpy(items, cm__compiled_##name + first, (size_t)count * sizeof *items);                                     \
        for (int32_t i = 0; i < count; i++) set_##name(ctx, &items[i]);                                                \
        return items;                                                                                                  \
    }
#include "device/compiled.def"

/* ---- devices ----------------------------------------------------------------------------------------------------- */

int32_t cm__compiled_find(const char *id)
{
    for (int32_t i = 0; i < cm__n_compiled_devices; i++)
        if (cm__same_name(id, text_at(cm__compiled_devices[i].info.id))) return i;
    return -1;
}

/* Those of the device itself, or of its nearest base that has some. */
static cm__kernels tables_of(const cm__lineage *lineage)
{
    cm__kernels found = {0};
    for (int32_t i = 0; i < lineage->count && !found.count; i++) found = cm__kernels_built_in(lineage->all[i].id);
    return found;
}

static void make(cm__ctx *ctx, cm_device *d, uintptr_t number)
{
    *d = cm__compiled_devices[number];
    set_device(ctx, d);
    d->ctx = ctx;
}

cm_device *cm__compiled_load(cm__ctx *ctx, int32_t number)
{
    cm_device *d = cm__device_new(ctx), *measured;
    make(ctx, d, (uintptr_t)number);
    d->built_in_kernels = tables_of(&d->lineage);
    if (d->built_in_kernels_of) {
        measured = cm__alloc_unset(ctx, 1, sizeof *measured);
        make(ctx, measured, (uintptr_t)d->built_in_kernels_of - 1);
        d->built_in_kernels_of = measured;
    }
    return d;
}
