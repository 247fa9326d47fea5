/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - profiles as JSON trees: found by id or path, parsed, merged with their bases, checked.
 *
 * device.c and cluster.c convert such a tree into typed values.
 */
#ifndef CM_DEVICE_PROFILE_H
#define CM_DEVICE_PROFILE_H

#include "base/json.h"
#include "device/embedded.h"
#include "device/locate.h"

typedef enum cm__profile_kind { CM__PROFILE_DEVICE, CM__PROFILE_CLUSTER, CM__PROFILE_KINDS } cm__profile_kind;

typedef enum cm__profile_extent {
    CM__PROFILE_FULL,
    CM__PROFILE_CHECKED, /* check built-in profiles too */
} cm__profile_extent;

/* A profile or one of its bases. */
typedef struct cm__ancestor {
    const char   *id;
    bool          built_in, abstract;
    bool          has_kernels; /* has own tables: a `kernels` member, or built-in tables */
    const json_t *tree;        /* with its bases merged in; NULL: it has no tables, or is the profile itself */
} cm__ancestor;

#define CM__BASES_MAX 8

/* The profile itself, its base, the base of that, and so on. */
typedef struct cm__lineage {
    cm__ancestor all[CM__BASES_MAX + 2];
    int32_t      count;
} cm__lineage;

typedef struct cm__profile {
    const json_t *tree; /* with its bases merged in; lives as long as the context */
    cm__origin    origin;
    cm__lineage   lineage;
} cm__profile;

/* Checks a user's profile before it is returned. Built-in profiles are checked by tests. */
cm__profile cm__profile_load(cm__ctx *ctx, cm__profile_kind kind, const char *name_or_path, cm__profile_extent extent);
/* The same for a text. `file` is used in messages and as the folder of bases; NULL: built-in bases only. */
cm__profile cm__profile_parse(cm__ctx *ctx, cm__profile_kind kind, const cm__origin *origin);
/* The kind of a profile text, by the members that only clusters have. */
cm__profile_kind cm__profile_kind_of(cm__ctx *ctx, const cm__origin *origin);

/* A built-in schema, such as "device.schema"; it must exist. */
const json_t *cm__schema_named(cm__ctx *ctx, const char *id);

bool cm__is_path(const char *name_or_path);
/* A built-in profile by id; NULL: none. */
const cm__embedded_profile *cm__profile_find(cm__profile_kind kind, const char *id);
/* The built-in profiles that are not families: their number, and the n-th. */
int32_t                     cm__profiles(cm__profile_kind kind);
const cm__embedded_profile *cm__profile_at(cm__profile_kind kind, int32_t index);

/* Checks that a schema cannot express: sources exist, placements name memories, a device is complete. Or
   cm__refuse(). */
void cm__profile_check(cm__ctx *ctx, cm__profile_kind kind, const json_t *tree, const cm__origin *origin);
/* Checks objects that are numbers with their origin; `path` is that of `value`. */
typedef void cm__number_visitor(void *state, const json_t *number, const cm__step *path);
void cm__profile_numbers(const json_t *value, const cm__step *path, cm__number_visitor *visit, void *state);

/* Merge `over` into `tree`: objects by member, numbers and arrays replaced, null removes. */
void cm__json_merge(cm__ctx *ctx, json_t *tree, const json_t *over);

#endif
