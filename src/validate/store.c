/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - objects that rows of all sets share: graphs, devices and predictions, each built once, and the parsed
   sets. */
#include <string.h>
#include "validate/validate.h"

struct cm__kept {
    const char *key;
    void       *value;
};

cm__store *cm__store_new(cm__ctx *ctx)
{
    cm__store *store = cm__alloc(ctx, sizeof *store);
    store->ctx = ctx;
    store->sets = cm__alloc_array(ctx, (size_t)cm__n_embedded_sets, sizeof *store->sets);
    return store;
}

void *cm__store_find(const cm__store *store, const char *key)
{
    for (int32_t i = store->n_kept - 1; i >= 0; i--)
        if (strcmp(store->kept[i].key, key) == 0) return store->kept[i].value;
    return NULL;
}

void cm__store_keep(cm__store *store, const char *key, void *value)
{
    store->kept = cm__grow(store->ctx, store->kept, store->n_kept, &store->kept_capacity, sizeof *store->kept);
    store->kept[store->n_kept++] = (struct cm__kept){cm__text_copy(store->ctx, key), value};
}

static void release_json(void *json) { json_decref(json); }

const json_t *cm__store_json(cm__store *store, json_t *json)
{
    if (!json) cm__fail(store->ctx, CM_ERR_MEMORY, "out of memory while reading results");
    cm__defer(store->ctx, release_json, json);
    return json;
}

const json_t *cm__store_set(cm__store *store, int32_t index)
{
    const cm__embedded_set *s = &cm__embedded_sets[index];
    if (store->sets[index]) return store->sets[index];
    store->sets[index] = cm__store_json(store, json_loadb(s->text, s->text_size, 0, NULL));
    return store->sets[index];
}

const json_t *cm__store_named(cm__store *store, const char *id)
{
    for (int32_t i = 0; i < cm__n_embedded_sets; i++)
        if (strcmp(cm__embedded_sets[i].id, id) == 0) return cm__store_set(store, i);
    return NULL;
}
