/* SPDX-License-Identifier: Apache-2.0 */
/* where.h - conditions on devices: "price<3,memory>80GB,class=gpu". */
#ifndef CM_RANK_WHERE_H
#define CM_RANK_WHERE_H

#include "base/ctx.h"

typedef struct cm__condition {
    int         field; /* row of the table of fields */
    const char *sign;  /* "<", "<=", ">", ">=", "=" */
    double      value;
    const char *word;  /* of a field of words */
} cm__condition;

typedef struct cm__conditions {
    cm__condition *list;
    int32_t        count;
} cm__conditions;

/* Fails where the text is none; NULL: no condition. */
cm__conditions cm__where_parse(cm__ctx *ctx, const char *text);
/* The field of the first condition that does not hold, of those that a profile can tell, or of the `predicted` ones;
   NULL: all hold. A number that is not known holds no condition. */
const char *cm__where_fails(const cm__conditions *where, const cm_rank_entry *entry, bool predicted);

#endif
