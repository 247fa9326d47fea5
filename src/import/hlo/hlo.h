/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hlo.h - a training step as StableHLO text (.mlir), as jax.jit(step).lower(...).as_text() prints it.
 *
 * parse.c reads the text into functions and operations; module.c does so with the text of XLA's HLO (.hlo). walk.c runs over the
 * step: calls are inlined, loops of known length unrolled. batch.c follows the batch through all dimensions, so that sizes are
 * functions of it. step.c finds the loss, the parameters and the update, shardings.c the plan; rules.c translates forward into the
 * operators of a capture, which trace/ imports.
 */
#ifndef CM_IMPORT_HLO_HLO_H
#define CM_IMPORT_HLO_HLO_H

#include <jansson.h>
#include "base/map.h"
#include "graph/graph.h"

/* ---- the text (parse.c) ------------------------------------------------------------------------------------------- */

typedef struct cm__hlo_type {
    cm_dtype       dtype;
    int32_t        rank;
    bool           is_tensor, is_unsigned;
    const int64_t *dims;
} cm__hlo_type;

typedef struct cm__hlo_region {
    struct cm__hlo_op *ops;
    int32_t           *arguments; /* slots */
    int32_t            n_ops, cap_ops, n_arguments, cap_arguments;
} cm__hlo_region;

typedef struct cm__hlo_op {
    cm__span        name, text; /* without its dialect; the text between name and types, with the attributes */
    int32_t         line, kind; /* kind: row of ops.def */
    int32_t         first, n_results; /* slots of the results */
    int32_t        *operands;         /* slots */
    int32_t         n_operands, cap_operands, n_types, n_regions, cap_types, cap_regions;
    cm__hlo_type   *types; /* of the results; all of the last type where only one is written */
    cm__hlo_region *regions;
} cm__hlo_op;

typedef struct cm__hlo_argument {
    cm__hlo_type type;
    cm__span     attributes;
} cm__hlo_argument;

typedef struct cm__hlo_function {
    cm__span          name;
    cm__hlo_region    body;
    cm__hlo_argument *arguments;
    int32_t           n_arguments, cap_arguments, n_slots;
} cm__hlo_function;

typedef struct cm__hlo_module {
    cm__ctx          *ctx;
    cm__hlo_function *functions;
    int32_t           n_functions, cap_functions;
    cm__map           by_name;
    cm__span          mesh; /* the line of the first mesh with named axes; length 0: none */
} cm__hlo_module;

enum {
#define HLO(name, kind, aten) CM__HLO_##name,
#include "import/hlo/ops.def"
#undef HLO
    CM__HLO_OPS
};

/* What an operation is: how the batch passes through it, and which rule translates it. */
typedef enum cm__hlo_kind {
    CM__HLO_unary, CM__HLO_binary, CM__HLO_comparison, CM__HLO_choice, CM__HLO_bounds, CM__HLO_cast, CM__HLO_alias,
    CM__HLO_splat, CM__HLO_made, CM__HLO_spread, CM__HLO_view, CM__HLO_order, CM__HLO_flip, CM__HLO_part, CM__HLO_moving_part,
    CM__HLO_replace, CM__HLO_border, CM__HLO_join, CM__HLO_reduction, CM__HLO_product, CM__HLO_filter, CM__HLO_lookup,
    CM__HLO_write, CM__HLO_window, CM__HLO_unwindow, CM__HLO_sorted, CM__HLO_best, CM__HLO_transform, CM__HLO_called,
    CM__HLO_loop, CM__HLO_branch, CM__HLO_custom, CM__HLO_gathered, CM__HLO_end
} cm__hlo_kind;

typedef struct cm__hlo_row {
    const char  *name, *aten; /* aten: the operator of a capture */
    cm__hlo_kind kind;
} cm__hlo_row;
extern const cm__hlo_row cm__hlo_rows[CM__HLO_OPS];

cm__hlo_module *cm__hlo_parse(cm__ctx *ctx, const char *text, size_t size);

/* Attributes in the text of an operation: the whole numbers of "key = [..]", "array<i64: ..>" or "dense<..>"; -1: absent. */
int32_t  cm__hlo_ints(const cm__hlo_op *op, const char *key, int64_t *out, int32_t max);
int64_t  cm__hlo_int(const cm__hlo_op *op, const char *key, int64_t otherwise);
bool     cm__hlo_has(const cm__hlo_op *op, const char *word);
cm__span cm__hlo_after(const cm__hlo_op *op, const char *key); /* the text after "key"; length 0: absent */

/* ---- the step (walk.c) -------------------------------------------------------------------------------------------- */

/* A tensor of the step. */
typedef struct cm__hlo_value {
    cm__hlo_type type;
    double       number;    /* of every element, if known */
    bool         known;
    int32_t      maker;     /* equation; -1: an argument, or a part of one */
    int32_t      leaf;      /* argument of the step; -1: none */
    int32_t      part;      /* layer of a stacked argument; -1: all of it */
    int32_t      same;      /* the value of forward that this one computes again; itself otherwise */
    int32_t     *parts;     /* what a loop has stacked along the first dimension; -1: nothing yet. NULL: no stack */
    int64_t     *per_batch; /* of each dimension: its size at batch size 1 if it grows with the batch, or 0 */
    int32_t      row;       /* tensor of the capture; -1: none */
} cm__hlo_value;

typedef struct cm__hlo_equation {
    const cm__hlo_op *op;
    const int32_t    *in;
    int32_t           n_in, first, n_out; /* values */
    int32_t           place; /* iteration of a loop, or call from the step itself, that contains it */
    int32_t           iteration;          /* of the outermost loop; -1: none */
    int32_t           segment;            /* recomputed layer; -1: none */
    bool              forward, again;     /* the loss depends on it; backward computes it again */
    int32_t           pieces;             /* slices from this one on that divide their operand without a rest; 0: it is no first one */
    bool              detached;           /* a largest element that is subtracted, as softmax does: it has no gradient */
} cm__hlo_equation;

typedef struct cm__hlo_step {
    cm__ctx                *ctx;
    const cm__hlo_module   *module;
    const cm__hlo_function *main;
    cm__hlo_value          *values;
    cm__hlo_equation       *equations;
    int32_t                 n_values, n_equations, cap_values, cap_equations;
    int32_t                *results, n_results, n_places;
    int32_t                *stacked; /* arguments that are read as layers */
    int64_t                 batch, work, cells; /* work: operations that were run over; cells: of stacks */
    const char            **warnings;
    int32_t                 n_warnings, cap_warnings;
} cm__hlo_step;

cm__hlo_step *cm__hlo_walk(cm__hlo_module *module);
int32_t       cm__hlo_value_new(cm__hlo_step *s, cm__hlo_type type);
noreturn void cm__hlo_refuse(cm__ctx *ctx, const cm__hlo_op *op, const char *why);
void          cm__hlo_warn(cm__hlo_step *s, const char *text);

static inline cm__hlo_value *cm__hlo_in(const cm__hlo_step *s, const cm__hlo_equation *e, int32_t i) { return &s->values[e->in[i]]; }
static inline cm__hlo_value *cm__hlo_out(const cm__hlo_step *s, const cm__hlo_equation *e) { return &s->values[e->first]; }
static inline cm__hlo_kind   cm__hlo_kind_of(const cm__hlo_op *op) { return cm__hlo_rows[op->kind].kind; }
bool cm__hlo_is_product(const cm__hlo_equation *e); /* a product or a convolution */

/* ---- batch.c ------------------------------------------------------------------------------------------------------ */

/* Finds how the sizes of all values grow with the batch, from those of the arguments. */
void cm__hlo_follow_batch(cm__hlo_step *s);

/* dim_numbers of a convolution: which dimension of the image, the filter and the result is batch (or output features of the
   filter), features, and the nth of space. */
typedef struct cm__hlo_filter_dims {
    int32_t image[CM__RANK_MAX], filter[CM__RANK_MAX], result[CM__RANK_MAX], rank; /* [batch, features, space...] */
} cm__hlo_filter_dims;
cm__hlo_filter_dims cm__hlo_filter_dims_of(cm__ctx *ctx, const cm__hlo_op *op, int32_t rank);

/* ---- rules.c, step.c ---------------------------------------------------------------------------------------------- */

/* The capture that a step becomes: tensors and operators as trace/ reads them. */
typedef struct cm__hlo_capture {
    cm__hlo_step *s;
    json_t       *root, *tensors, *ops;
    const char *const *roles; /* of each argument */
    const cm__hlo_equation *now;
} cm__hlo_capture;

/* The range of a slice with a step of one along one dimension; -1: it is another slice. */
int32_t cm__hlo_slice_range(const cm__hlo_step *s, const cm__hlo_equation *e, int64_t *start, int64_t *end);
void    cm__hlo_translate(cm__hlo_capture *c, cm__hlo_equation *e);
void    cm__hlo_record_product(cm__hlo_capture *c, const cm__hlo_equation *e); /* of backward, for its FLOP */
int32_t cm__hlo_row_of(cm__hlo_capture *c, int32_t value);
double  cm__hlo_product_flop(const cm__hlo_step *s, const cm__hlo_equation *e); /* as XLA counts them, without pads */

/* shardings.c: the plan by which the arguments are divided, as a capture has it; NULL: one device has them. */
json_t *cm__hlo_plan(cm__hlo_step *s, const char *const *roles);

/* The step as a capture's JSON, released with the context. */
json_t *cm__hlo_captured(cm__ctx *ctx, const char *name, const char *text, size_t size);

#endif
