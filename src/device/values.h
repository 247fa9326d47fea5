/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - values that devices and clusters share, from JSON to typed values. Texts stay in the tree. */
#ifndef CM_DEVICE_VALUES_H
#define CM_DEVICE_VALUES_H

#include <jansson.h>
#include "base/ctx.h"

/* A list of typed values. */
typedef struct cm__links {
    cm_link *items;
    int32_t  count;
} cm__links;

typedef struct cm__collectives {
    cm_collective *items;
    int32_t        count;
} cm__collectives;

typedef struct cm__sources {
    cm_source *items;
    int32_t    count;
} cm__sources;

const char *cm__text_at(const json_t *object, const char *key); /* NULL: absent */
/* Unknown if absent. `sources` gives the date of a number without its own date. */
cm_number       cm__number_at(const json_t *object, const char *key, const json_t *sources);
cm_link         cm__link_of(const json_t *link, const json_t *sources);
cm__links       cm__links_of(cm__ctx *ctx, const json_t *array, const json_t *sources);
cm__collectives cm__collectives_of(cm__ctx *ctx, const json_t *array, const json_t *sources);
/* The software with which a source measured; zero: it does not say. */
cm_versions     cm__versions_at(const json_t *sources, const char *source);
cm__sources     cm__sources_of(cm__ctx *ctx, const json_t *sources);
const cm_source *cm__source_find(const cm__sources *sources, const char *key);

/* The index of a text among names; 0 if it is not among them. */
int cm__index_of(const char *text, const char *const *names, int count);

extern const char *const cm__style_names[CM_STYLES], *const cm__rate_names[CM_RATES];
extern const char *const cm__category_names[CM_CATEGORIES], *const cm__reach_names[CM_REACHES];

#endif
