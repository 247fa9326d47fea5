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
#include "device/variants.h"

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

/* A kernel that a compiler generated does more than move bytes. Its elementwise call has that work in the elements of `sizes`
   after outer and inner; src/model/time/generated.c turns it into time. In tables and for other kernels they are 0. */
enum {
    CM__WORK_NUMBERS = CM__ELEMENTWISE_SIZES, /* that are read or written */
    CM__WORK_FUNCTIONS,    /* FLOP of exponentials and the like */
    CM__WORK_RANDOM,       /* random numbers */
    CM__WORK_WINDOWS,      /* of a pool, that its gradient goes through */
    CM__WORK_ADDS,         /* atomic additions */
    CM__WORK_ADDS_IN_LINE, /* the same, each as often as neighbours of a row add to one number and wait for each other */
    CM__WORK_ADDS_NHWC,    /* atomic additions to images with channels last */
    CM__WORK_RETRIED,      /* additions in bf16, which are tried again if another one came first */
    CM__WORK_COLLISIONS,   /* the square of those to each number */
    CM__WORK_END
};

typedef struct cm__call {
    int16_t     op;   /* row of calls.def */
    int16_t     pass; /* cm__pass */
    cm__variant variant;
    cm__types   types;
    int64_t     sizes[CM__CALL_SIZES];
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

/* Bytes per element of operand `index`, or of the result: -1. */
static inline double cm__call_element(const cm__call *call, int index)
{
    return cm__type_bytes(cm__type_of(call->types, index));
}

/* The type in which a call computes. */
static inline cm_rate cm__call_rate(const cm__call *call) { return cm__type_rate(call->types); }

/* The variant of a product without its bias or sums: nn, nt, tn or tt. */
static inline cm__variant cm__product_variant(const cm__call *c)
{
    bool exact_or_bias = c->variant == CM__V_NT_BIAS || c->variant == CM__V_NT_EXACT;
    return exact_or_bias ? CM__V_NT : c->variant == CM__V_NN_BIAS ? CM__V_NN : c->variant;
}

/* Write "gemm forward nt-bias bf16 1,8192,3072,768" into buf; returns buf. */
char *cm__call_text(const cm__call *call, char *buf, size_t size);
/* Parse such a text; false: it is invalid. */
bool  cm__call_parse(const char *text, cm__call *call);

#endif
