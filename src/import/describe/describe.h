/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - the state of parsing a one-line description: "kind:key=value,key=value".
 *
 * The builder of a kind takes its keys one by one, calls cm__take_end(), and only then emits nodes. The keys it took,
 * except those with default values, form the canonical description. Keys that it did not take are refused.
 */
#ifndef CM_IMPORT_DESCRIBE_DESCRIBE_H
#define CM_IMPORT_DESCRIBE_DESCRIBE_H

#include "import/builder.h"

#define CM__PAIRS_MAX 64
#define CM__LIST_MAX 64
#define CM__REQUIRED INT64_MIN

typedef struct cm__pair {
    cm__span key, value;
} cm__pair;

typedef struct cm__description {
    cm__ctx    *ctx;
    const char *kind;
    cm__pair    pairs[CM__PAIRS_MAX];
    int32_t     n_pairs;
    const char *taken[CM__PAIRS_MAX]; /* keys the builder knows */
    int32_t     n_taken;
    int64_t     seq;                  /* given in addition to the description; 0: not given */
    int64_t     past;                 /* likewise */
    bool        seq_taken;
    const char *text;                 /* canonical description so far */
} cm__description;

/* An integer; CM__REQUIRED: no default. */
int64_t cm__take_int(cm__description *d, const char *key, int64_t otherwise, int64_t min, int64_t max);
/* The same, for the key that --seq replaces. */
int64_t cm__take_seq(cm__description *d, const char *key, int64_t otherwise);
/* A size; if it is not given, it is the batch size. */
cm_dim cm__take_batch(cm__description *d, const char *key);
double cm__take_ratio(cm__description *d, const char *key, double otherwise);
/* One of names (ends with NULL); otherwise -1: required. */
int32_t cm__take_choice(cm__description *d, const char *key, const char *const *names, int32_t otherwise);
/* Sizes as "512x256"; returns their number, 0 if the key is not given. */
int32_t cm__take_list(cm__description *d, const char *key, int64_t list[CM__LIST_MAX], int64_t max);
/* End of the keys: refuse those that were not taken. */
void cm__take_end(cm__description *d);

/* Builder of a kind that is not a transformer (describe/ops.c); NULL: no such kind. */
typedef void cm__describe_fn(cm__description *d, cm_graph *g);
typedef struct cm__plain_kind {
    const char      *kind;
    cm__describe_fn *build;
    bool             bare_operator;
} cm__plain_kind;
extern const cm__plain_kind cm__plain_kinds[];
extern const int32_t        cm__n_plain_kinds;

#endif
