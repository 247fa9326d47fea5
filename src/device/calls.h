/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - kernel calls (operator calls on a CPU): their sizes, FLOP and bytes.
 *
 * A call is an operator of calls.def, a pass, a variant (layout, function) and types; docs/devices.md lists them.
 * Kernel tables contain calls with measured times, the predictor converts a graph into calls, and the benchmarks run
 * them.
 */
#ifndef CM_DEVICE_CALLS_H
#define CM_DEVICE_CALLS_H

#include "base/ctx.h"

enum {
#define CALL(id, ...) CM__CALL_##id,
#include "device/calls.def"
    CM__CALLS
};

/* Per call: the index of each of its sizes, such as CM__GEMM_M, and their number, CM__GEMM_SIZES. */
#define CALL(id, ...) enum { CM__##id##_NONE = -1,
#define SIZE(call, id, name) CM__##call##_##id,
#define END(call) CM__##call##_SIZES };
#include "device/calls.def"

typedef enum cm__pass {
    CM__PASS_FORWARD, CM__PASS_BACKWARD, CM__PASS_BWD_INPUT, CM__PASS_BWD_WEIGHT, CM__PASS_UPDATE, CM__PASSES
} cm__pass;

#define CM__CALL_SIZES CM__CONV3D_SIZES /* of the call that has most */
#define CM__CALL_TEXT 32

typedef struct cm__call {
    int16_t  op;    /* row of calls.def */
    int16_t  pass;  /* cm__pass */
    char     variant[CM__CALL_TEXT]; /* "" if there is only one */
    char     dtype[CM__CALL_TEXT];   /* "bf16", or operands and result: "bf16+fp32>fp32" */
    int64_t  sizes[CM__CALL_SIZES];
} cm__call;

typedef struct cm__call_kind {
    const char *name;
    cm_engine   engine;
    void (*work)(const cm__call *call, double *flop, double *bytes);
    const char *sizes[CM__CALL_SIZES];
    int         n_sizes;
} cm__call_kind;

extern const cm__call_kind cm__call_kinds[CM__CALLS];
extern const char *const   cm__pass_names[CM__PASSES];

static inline double cm__size(const cm__call *call, int at) { return (double)call->sizes[at]; }

int  cm__call_find(const char *name); /* row of calls.def; -1: none */
int  cm__pass_find(const char *name); /* -1: none */

/* FLOP of one call, and its memory traffic with cold caches. */
void cm__call_work(const cm__call *call, double *flop, double *bytes);
/* Scores that an attention computes; a causal mask halves them. */
double cm__attention_scores(const cm__call *call);

/* Bytes per element of operand `index` (the last type applies to all further operands), or of the result: -1. */
double cm__call_element(const cm__call *call, int index);

/* The type in which a call computes. */
cm_rate cm__call_rate(const cm__call *call);
cm_rate cm__type_rate(const char dtype[CM__CALL_TEXT]); /* the same, from the types alone */

/* Write "gemm forward nt-bias bf16 1,8192,3072,768" into buf; returns buf. */
char *cm__call_text(const cm__call *call, char *buf, size_t size);
/* Parse such a text; false: it is invalid. */
bool  cm__call_parse(const char *text, cm__call *call);

#endif
