/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - a one-line description being read: "kind:key=value,key=value".
 *
 * A kind's builder takes its keys one by one, says where it has taken them all, and only then emits. What it took,
 * but for defaults, becomes the canonical description; what it did not take is refused.
 */
#ifndef CM_IMPORT_DESCRIBE_H
#define CM_IMPORT_DESCRIBE_H

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
    int64_t     seq;                  /* asked for beside the description; 0: not */
    bool        seq_taken;
    const char *text;                 /* canonical, so far */
} cm__description;

/* A whole number; CM__REQUIRED: no default. */
int64_t cm__take_int(cm__description *d, const char *key, int64_t otherwise, int64_t min, int64_t max);
/* The same where --seq applies. */
int64_t cm__take_seq(cm__description *d, const char *key, int64_t otherwise);
/* A size that is the batch where it is not given. */
cm_dim cm__take_batch(cm__description *d, const char *key);
double cm__take_ratio(cm__description *d, const char *key, double otherwise);
/* One of names (NULL at the end); otherwise -1: required. */
int32_t cm__take_choice(cm__description *d, const char *key, const char *const *names, int32_t otherwise);
/* "512x256"; returns how many, 0 where it is not given. */
int32_t cm__take_list(cm__description *d, const char *key, int64_t list[CM__LIST_MAX], int64_t max);
/* All taken: refuse the rest. */
void cm__take_end(cm__description *d);

/* Kinds that are not transformers (describe_ops.c). NULL: no such kind. */
typedef void cm__describe_fn(cm__description *d, cm_graph *g);
typedef struct cm__plain_kind {
    const char      *kind;
    cm__describe_fn *build;
    bool             bare_operator;
} cm__plain_kind;
extern const cm__plain_kind cm__plain_kinds[];
extern const int32_t        cm__n_plain_kinds;

#endif
