/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - an instruction of HLO text while it is read (module.c), and its attributes as StableHLO writes them (attributes_of.c). */
#ifndef CM_IMPORT_HLO_MODULE_H
#define CM_IMPORT_HLO_MODULE_H

#include "import/hlo/parse.h"

#define CM__HLO_ATTRIBUTES_MAX 64
#define CM__HLO_LIST_MAX       (2 * CM__RANK_MAX)

/* What a name stands for: one value, or those of a tuple. part: where each part of the tuple begins. */
typedef struct cm__hlo_bundle {
    int32_t *slots, *part;
    int32_t  n, parts;
} cm__hlo_bundle;

typedef struct cm__hlo_attribute {
    cm__span key, value;
} cm__hlo_attribute;

typedef struct cm__hlo_instruction {
    cm__hlo_op        op;
    cm__hlo_attribute of[CM__HLO_ATTRIBUTES_MAX];
    int32_t           n, *operands, n_operands, cap_operands; /* operands: bundles */
    cm__hlo_bundle    made;
    cm__span          name, literal; /* literal: the text between the brackets of its operands */
} cm__hlo_instruction;

const cm__hlo_attribute *cm__hlo_given(const cm__hlo_instruction *x, const char *key); /* NULL: it has none */
void                     cm__hlo_write_attributes(cm__hlo_parser *t, cm__hlo_instruction *x);
void                     cm__hlo_write_constant(cm__hlo_parser *t, cm__hlo_instruction *x);

/* The whole numbers of "1x2", "0_1x2_2" or "{1,2}": `each` of them for every dimension, where missing ones are 0. */
int32_t cm__hlo_numbers(cm__span s, int32_t each, int64_t *out);

static inline const char *cm__hlo_copied(cm__hlo_parser *t, cm__span s) { return cm__text_copy_n(t->ctx, s.text, s.length); }
static inline cm__span    cm__hlo_inside(cm__span s) { return s.length > 1 ? (cm__span){s.text + 1, s.length - 2} : (cm__span){s.text, 0}; }

#endif
