/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - what the readers of both texts share: parse.c reads StableHLO, module.c the text of XLA's HLO. */
#ifndef CM_IMPORT_HLO_PARSE_H
#define CM_IMPORT_HLO_PARSE_H

#include "import/hlo/hlo.h"

#define CM__HLO_DEPTH_MAX      64
#define CM__HLO_OPERATIONS_MAX 4000000
#define CM__HLO_RESULTS_MAX    4096

typedef struct cm__hlo_parser {
    cm__ctx          *ctx;
    cm__hlo_module   *module;
    cm__hlo_function *function;
    cm__map           slots, kinds;
    const char       *p, *end;
    int32_t           line, depth, operations;
} cm__hlo_parser;

/* ---- words.c ------------------------------------------------------------------------------------------------------ */

noreturn void cm__hlo_fail(const cm__hlo_parser *t, const char *why);

static inline char cm__hlo_here(const cm__hlo_parser *t) { return t->p < t->end ? *t->p : 0; }
static inline void cm__hlo_next(cm__hlo_parser *t) { t->line += *t->p++ == '\n'; }
bool     cm__hlo_at(const cm__hlo_parser *t, const char *text);
void     cm__hlo_skip(cm__hlo_parser *t); /* spaces, lines and comments */
bool     cm__hlo_take(cm__hlo_parser *t, const char *text);
void     cm__hlo_need(cm__hlo_parser *t, const char *text);
cm__span cm__hlo_word(cm__hlo_parser *t);
void     cm__hlo_string(cm__hlo_parser *t);
cm__span cm__hlo_bracketed(cm__hlo_parser *t, const char *open, const char *close); /* from a bracket to the one that closes it */
static inline cm__span cm__hlo_balanced(cm__hlo_parser *t) { return cm__hlo_bracketed(t, "([{<", ")]}>"); }

/* ---- parse.c ------------------------------------------------------------------------------------------------------ */

bool            cm__hlo_dtype_of(cm__span name, cm_dtype *dtype);
void            cm__hlo_add_type(cm__hlo_parser *t, cm__hlo_op *op, cm__hlo_type type);
int32_t         cm__hlo_new_slots(cm__hlo_parser *t, cm__span name, int32_t count);
void            cm__hlo_add_operand(cm__hlo_parser *t, cm__hlo_op *op, int32_t slot);
cm__hlo_region *cm__hlo_new_region(cm__hlo_parser *t, cm__hlo_op *op);
void            cm__hlo_set_kind(cm__hlo_parser *t, cm__hlo_op *op);
void            cm__hlo_add_op(cm__hlo_parser *t, cm__hlo_region *r, const cm__hlo_op *op);

/* ---- module.c ----------------------------------------------------------------------------------------------------- */

/* Reads "HloModule ..." into the functions and operations of StableHLO. */
void cm__hlo_read_module(cm__hlo_parser *t);

#endif
