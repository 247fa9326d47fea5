/* SPDX-License-Identifier: Apache-2.0 */
/* where.h - conditions on devices: "price<3,memory>80GB,class=gpu". */
#ifndef CM_RANK_WHERE_H
#define CM_RANK_WHERE_H

#include "base/ctx.h"

typedef struct cm__condition {
    int         field; /* index in the table of fields */
    const char *sign;  /* "<", "<=", ">", ">=", "=" */
    double      value;
    const char *word;  /* for text fields */
} cm__condition;

typedef struct cm__conditions {
    cm__condition *list;
    int32_t        count;
} cm__conditions;

/* Fails if the text is not a valid condition; NULL: no condition. */
cm__conditions cm__where_parse(cm__ctx *ctx, const char *text);
/* The field of the first condition that is not met; NULL: all are met. predicted: tests the fields that need a
   prediction, otherwise those of the profile. An unknown number meets no condition. */
const char *cm__where_fails(const cm__conditions *where, const cm_rank_entry *entry, bool predicted);

#endif
