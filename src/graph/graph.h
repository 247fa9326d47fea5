/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - the internal interface of a graph: how importers and passes build it.
 *
 * A graph is a list of nodes in execution order and a list of tensors; both are referred to by index. Every dimension
 * is per_batch * B + fixed. An importer makes leaves (inputs, parameters, constants) with cm__leaf() and nodes with
 * cm__emit(). The operator's shape rule (ops.def) makes the outputs and fails with a message if the inputs do not fit.
 * Contents that can be known (shapes, small constants) are computed at the same time.
 *
 *     int32_t x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, (cm_dim[]){{1,0},{0,3},{0,224},{0,224}});
 *     int32_t w = cm__parameter(g, "conv1.weight", 4, (int64_t[]){64, 3, 7, 7});
 *     cm__attr a[] = {CM__INTS(CM_ATTR_STRIDES, 2, 2), CM__INTS(CM_ATTR_PADS, 3, 3, 3, 3)};
 *     int32_t y = cm__emit(g, CM_OP_CONV, "conv1", (int32_t[]){x, w}, 2, a, 2);
 */
#ifndef CM_GRAPH_GRAPH_H
#define CM_GRAPH_GRAPH_H

#include "base/ctx.h"
#include "base/map.h"

struct cm__backward; /* the state of the backward pass: backward.h */
struct cm__function; /* a custom autograd function: function.h */

/* ---- operators ------------------------------------------------------------------------------------------------- */

enum {
#define OP(id, ...) CM_OP_##id,
#include "graph/ops.def"
    CM_OPS
};

/* For tables of one column of ops.def: the column's value, or what follows it if the row does not have the column. */
#define CM__FIRST(first, ...) first

/* How autocast treats an operator (precision.c). */
typedef enum cm__cast_policy {
    CM__CAST_KEEP,
    CM__CAST_LOW,
    CM__CAST_FULL,
    CM__CAST_WIDEN,
    CM__CAST_WIDEST
} cm__cast_policy;

/* How devices that share a layer divide an operator (split.c). Products, from `product` on, are divided if they read a
   parameter. */
typedef enum cm__shard_rule {
    CM__SHARD_inputs,         /* as its inputs */
    CM__SHARD_table,          /* a look-up: by rows of the table */
    CM__SHARD_copy,           /* of a matrix: each device copies its own part */
    CM__SHARD_choice,         /* not at all: every device must choose the same */
    CM__SHARD_classes,        /* a loss: by classes */
    CM__SHARD_product,        /* by columns or by rows of the parameter */
    CM__SHARD_input_gradient, /* of a product; its parameter's; either, depending on its operands */
    CM__SHARD_weight_gradient,
    CM__SHARD_either_gradient
} cm__shard_rule;

typedef struct cm__op {
    const char     *name;
    cm_class        op_class;
    int8_t          min_inputs, max_inputs; /* max -1: any number */
    bool            view;                   /* changes shape and strides, moves no data */
    cm__cast_policy cast;
    double          flop_per_element;       /* of the first output, without matrix products */
    void (*shape)(cm_graph *, cm_node *);   /* makes the outputs */
    void (*fold)(cm_graph *, cm_node *);    /* computes contents that are known; NULL: none are */
    void (*cost)(const cm_graph *, cm_node *);
    void (*gradient)(struct cm__backward *, const cm_node *); /* NULL: no gradient */
    uint16_t        weights, statistics, table; /* inputs that are trained, stored, tables: bit i for input i */
    int8_t          matrix;                 /* the input whose weight identifies a layer; 0: none */
    bool            operands, passes_weight, saved_first, gate;
    cm__shard_rule  shard;
} cm__op;

extern const cm__op cm__ops[CM_OPS];

/* ---- attributes ------------------------------------------------------------------------------------------------- */

typedef enum cm__attr_key {
#define ATTR(id, name) CM_ATTR_##id,
#include "graph/attrs.def"
#undef ATTR
    CM_ATTRS
} cm__attr_key;

extern const char *const cm__attr_names[CM_ATTRS];

/* A list of integers or one real number. */
typedef struct cm__attr {
    cm__attr_key   key;
    int32_t        count;
    const int64_t *ints;
    double         real;
} cm__attr;

#define CM__INTS(k, ...)                                                                                               \
    ((cm__attr){.key = (k), .count = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                    \
                .ints = (int64_t[]){__VA_ARGS__}})
#define CM__REAL(k, x) ((cm__attr){.key = (k), .real = (x)})

const cm__attr *cm__attr_find(const cm_node *node, cm__attr_key key); /* NULL: not set */
bool            cm__is_causal(const cm_graph *g); /* the model has attention that sees earlier tokens alone (loss.c) */
int64_t         cm__attr_int(const cm_node *node, cm__attr_key key, int64_t otherwise);
double          cm__attr_real(const cm_node *node, cm__attr_key key, double otherwise);
void            cm__attr_add(cm__ctx *ctx, cm_node *node, cm__attr attr); /* copies `attr` */

/* ---- known contents --------------------------------------------------------------------------------------------- */

/* One element: integers (and truth values) may depend on the batch size, reals may not. */
typedef union cm__num {
    cm_dim i;
    double f;
} cm__num;

#define CM__VALUE_MAX 1024 /* contents of more elements are not kept */

/* ---- the graph -------------------------------------------------------------------------------------------------- */

/* Facts about a graph that several answers need (facts.c). */
typedef struct cm__facts {
    bool    known;
    bool    convolves;   /* it has convolutions */
    bool    images;      /* it has convolutions or inputs of four or more dimensions, whose layout can be chosen */
    int64_t most_keys;   /* of an attention node */
    int64_t seq;         /* tokens per sample; 0: no sequence */
    cm_poly matrix_flop; /* of matrix products, without repeated ones */
    int32_t blocks;      /* number of repeated layers */
    double  updated;     /* parameters that the update reads */
    int32_t attention_end; /* one past the last attention node of forward */
    double  product_flop;    /* of all products, for one sample */
    double  replicated_flop; /* the same of products that tensor parallelism does not divide */
} cm__facts;

/* The type in which a parameter is stored: as the precision says, in 16 bits (if it has any) or in fp32. */
typedef enum cm__stored { CM__STORED_AS_PRECISION, CM__STORED_NARROW, CM__STORED_WIDE, CM__STORED_FP8 } cm__stored;

struct cm_tensor {
    const char   *name;
    const cm_dim *dims;
    int32_t       rank;
    cm_dtype      dtype;
    cm_role       role;
    int32_t       producer; /* node that writes it, -1: none */
    int32_t       storage;  /* tensor whose memory it uses: itself, or the base of a view */
    int32_t       born;     /* node that first writes its storage, -1: allocated before the step */
    int32_t       dies;     /* last node that needs its storage, node count: it outlives the step */
    const cm__num *value;    /* known contents, in dimension order; NULL: unknown */
    int32_t       until;    /* stored at least until this tensor is made: a program's variable; -1: none is known */
    bool          master;    /* fp32 master weights of a 16-bit parameter, with role CM_ROLE_STATE */
    bool          frozen;    /* a parameter that is not trained */
    cm__stored    stored;    /* a parameter's type, if the precision does not decide it */
    int32_t       converted; /* 1 + its type after model.to(a 16-bit type); 0: follows its operands */
    int32_t       like;      /* 1 + the tensor whose type it was made with (new_empty, ones_like); 0: it has its own */
};

/* Whether a compiler of the model sees a node. It does not if the training script computes the node from the model's
   outputs (the loss), or if it lies in a function that the compiler cannot trace: whatever the types are, or unless its
   weights are in bf16 (a forward graph only; precision.c decides). */
typedef enum cm__outside { CM__COMPILED, CM__IN_SCRIPT, CM__UNTRACED, CM__UNTRACED_BUT_BF16 } cm__outside;

struct cm_node {
    const char    *name;
    const int32_t *inputs;  /* tensor ids; -1 where an optional input is absent */
    const int32_t *outputs;
    int32_t        n_inputs, n_outputs;
    int16_t        op;      /* row of the operator table */
    uint8_t        phase;   /* cm_phase */
    bool           view;    /* changes shape and strides only; moves no data */
    bool           plain;   /* the model switches autocast off for it */
    uint8_t        outside; /* cm__outside */
    int32_t        source;  /* forward node of a backward or recompute node, -1: none */
    int32_t        block;   /* index of the repeated layer that contains it, -1: none */
    int32_t        function; /* the call of a custom autograd function that contains it, -1: none */
    int32_t        segment; /* activation-checkpointing segment of the model that contains it, -1: none */
    cm_poly        flop, read_bytes, write_bytes;
    const cm__attr *attrs;  /* ends with key CM_ATTRS */
};

#define CM__RANK_MAX 16
#define CM__DIM_MAX ((int64_t)1 << 40)

/* A kernel that torch.compile generates, as PyTorch's own compiler said when the step was recorded. */
#define CM__NUMBER_SIZES 4 /* of 1, 2, 4 and 8 bytes */
typedef struct cm__recorded_kernel {
    cm_phase    phase;
    const char *kind;                     /* its kernel table; NULL: timed by the rules for pools and sums by index */
    cm_poly     moved[CM__NUMBER_SIZES];  /* bytes read and written, by the size of the numbers */
    cm_poly     functions, random;        /* FLOP of functions; random numbers */
    cm_poly     sums;                     /* results of a reduction */
} cm__recorded_kernel;

typedef struct cm__recorded {
    const cm__recorded_kernel *kernels;
    int32_t                    n_kernels;
    cm_precision               precision; /* that it was recorded in */
} cm__recorded;

/* What a vendor's compiler said of this very step for one of its chips (capture_jax(compile_for=...)). */
typedef struct cm__compiled_step {
    const char *device;         /* the chip's profile */
    cm_plan     plan;           /* of the compiled program, with all counts filled in */
    int64_t     batch;          /* samples of one replica */
    bool        fits;
    double      peak_bytes;     /* of one chip; of a step that does not fit, what it needs */
    double      capacity_bytes; /* that the compiler may use; 0: not known */
    double      cycles;         /* sum of the compiler's estimates for its fusions; 0: not known */
} cm__compiled_step;

/* How a JAX program is written: what PyTorch decides for its programs. */
typedef struct cm__jax {
    bool    keeps_arguments; /* the step does not donate them: old and new parameters and states exist side by side */
    int32_t iterations;      /* of the loops of forward; 0: there are none */
    cm_poly stored;          /* bytes that these loops store for backward */
} cm__jax;

struct cm_graph {
    cm__ctx    *ctx;
    const char *name, *source, *description, *citation;
    cm_node    *nodes;
    cm_tensor  *tensors;
    int32_t    *inputs, *outputs;
    const char **warnings, **unsupported;
    const char  *refused;    /* a warning for predictions in `refused_in` only; NULL: none */
    cm_precision refused_in;
    int32_t     n_nodes, n_tensors, n_inputs, n_outputs, n_warnings, n_unsupported;
    int32_t     cap_nodes, cap_tensors, cap_inputs, cap_outputs, cap_warnings, cap_unsupported;
    const struct cm__function *functions; /* NULL in a step, which contains their backward */
    int32_t     n_functions;
    int32_t     nodes_read;
    int32_t     block, segment, function; /* assigned to nodes when they are emitted; -1: none */
    bool        plain;       /* assigned likewise */
    cm__outside outside;     /* assigned likewise */
    cm_phase    phase;       /* assigned likewise */
    int32_t     origin;      /* assigned likewise, to cm_node.source */
    bool        own_loss;    /* the first output is the loss that the model was recorded with */
    int32_t     layer_graphs; /* layers of which torch.compile makes graphs of their own (trace/untraced.c) */
    /* the same around experts, unless weights are in bf16 (CM__UNTRACED_BUT_BF16); layer_graphs of a step has them */
    int32_t     expert_graphs;
    bool        channels_last; /* convolutions were recorded in channels-last memory format */
    bool        omits_causal, omits_open; /* attention masks that the model makes only if a compiler traces it */
    int32_t     product_passes; /* in bf16 of a TPU, for each product of fp32 numbers; 0 or 1: the compiler's default */
    cm__jax     jax;
    const cm__compiled_step *compiled; /* NULL: not known, or not for this very step */
    const cm__recorded *recorded; /* kernels that torch.compile generates for this very step; NULL: not known */
    bool    tuned, joined_adapters; /* some parameters are frozen; FSDP shards adapters with their layer */
    bool    exempt_adapters; /* FSDP does not shard adapters: the units of layers are frozen */
    bool        loaded_narrow; /* weights were loaded in 16 bits: under autocast too, norms cast their results back */
    bool        typed;       /* tensors have recorded types for a 16-bit model (cm_tensor.converted) */
    bool        has_backward; /* backward was recorded too, with this many matrix FLOP; train.c compares them */
    cm_poly     backward_flop;
    bool        as_exported; /* from a file that no graph optimizer has processed: constants are not folded yet */
    bool        bare_operator; /* a single operator, not a model: no loss, no update by default */
    cm_optimizer optimizer;
    cm_precision precision;
    cm_loss     loss;
    bool        drops_logits; /* the script drops the model's outputs when the loss is known */
    bool        wraps_units; /* the checkpoints are around FSDP's units (cm_train_options.whole_layers, as asked for) */
    cm_dtype    autocast;    /* the type of products under autocast; CM_FP32: there is none */
    bool        master;      /* 16-bit parameters have fp32 master weights among the optimizer states */
    /* the question that a step answers, without options that do nothing in it; of a forward graph: nothing is asked */
    cm_train_options asked;
    const cm_graph *retyped_of; /* the same step in another 16-bit type; NULL: none (retype.h) */
    cm__facts   facts;       /* set by cm__lifetimes() */
    const int32_t *part;     /* set likewise; see cm__part_map() */
};

cm_graph *cm__graph_new(cm__ctx *ctx, const char *name, const char *source);

static inline cm_tensor *cm__t(const cm_graph *g, int32_t id) { return &g->tensors[id]; }
static inline cm_class   cm__class(const cm_node *n) { return cm__ops[n->op].op_class; }
/* A backward node is compiled with its forward node. */
static inline cm__outside cm__outside_of(const cm_graph *g, const cm_node *n)
{
    return (cm__outside)(n->source >= 0 && !n->outside ? g->nodes[n->source].outside : n->outside);
}

/* facts.c: those of a finished graph are stored; others are found anew. */
cm__facts cm__facts_of(const cm_graph *g);

/* Reserve room for `times` the nodes and tensors of another graph: growing lists would leave their old room unused. */
void cm__graph_reserve(cm_graph *g, const cm_graph *other, int32_t times);

/* Leaves. A parameter is fp32 and trainable; inputs are listed in g->inputs. Names are copied. */
int32_t cm__leaf(cm_graph *g, const char *name, cm_role role, cm_dtype dtype, int32_t rank, const cm_dim *dims);
int32_t cm__parameter(cm_graph *g, const char *name, int32_t rank, const int64_t *dims);
void    cm__copy_value(cm_graph *g, int32_t tensor, const cm_tensor *from); /* of a graph that may be freed first */
int32_t cm__constant_ints(cm_graph *g, const char *name, int32_t count, const int64_t *values); /* 1-D */
int32_t cm__constant_scalar(cm_graph *g, const char *name, cm_dtype dtype, double value);       /* 0-D */

/* Emit a node with as many outputs as its shape rule makes; returns the id of the first (the others follow it in
   g->nodes[last].outputs). Inputs of -1 are absent. Attributes and name are copied. */
int32_t  cm__emit(cm_graph *g, int op, const char *name, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                  int32_t n_attrs);
int32_t  cm__emit_cast(cm_graph *g, const char *name, int32_t tensor, cm_dtype to);
cm_node *cm__last(cm_graph *g); /* the node just emitted */
/* The same, with n_outputs outputs (Split, and importers that know the number). */
cm_node *cm__emit_node(cm_graph *g, int op, const char *name, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                       int32_t n_attrs, int32_t n_outputs);
void cm__output(cm_graph *g, int32_t tensor); /* make the model return `tensor` */
void cm__hold(cm_graph *g, int32_t tensor, int32_t until); /* store `tensor` at least until `until` is made */

void cm__warn(cm_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3))); /* each text once */
void cm__not_supported(cm_graph *g, const char *what);                                      /* each text once */

/* For shape rules: make output `index` of a node. Views share the storage of input 0. */
void cm__set_output(cm_graph *g, cm_node *node, int32_t index, cm_dtype dtype, int32_t rank, const cm_dim *dims);

/* ---- dimensions and polynomials --------------------------------------------------------------------------------- */

static inline cm_dim cm__fixed(int64_t n) { return (cm_dim){0, n}; }
static inline bool   cm__dim_same(cm_dim a, cm_dim b) { return a.per_batch == b.per_batch && a.fixed == b.fixed; }
static inline bool   cm__dim_is(cm_dim a, int64_t n) { return a.per_batch == 0 && a.fixed == n; }
cm_dim  cm__dim_mul(cm_graph *g, cm_dim a, cm_dim b); /* fails where B^2 would be needed, or on overflow */
cm_dim  cm__dim_add(cm_graph *g, cm_dim a, cm_dim b);
cm_dim  cm__dim_sub(cm_graph *g, cm_dim a, cm_dim b);
/* a / b where it is exact for every batch size; false otherwise. */
bool    cm__dim_div(cm_dim a, cm_dim b, cm_dim *quotient);
static inline cm_poly cm__poly_const(double c) { return (cm_poly){{c}}; }
static inline cm_poly cm__poly_dim(cm_dim d) { return (cm_poly){{(double)d.fixed, (double)d.per_batch}}; }
static inline cm_poly cm__poly_add(cm_poly a, cm_poly b)
{
    for (int i = 0; i < CM_POLY_TERMS; i++) a.c[i] += b.c[i];
    return a;
}
static inline cm_poly cm__poly_scale(cm_poly a, double factor)
{
    for (int i = 0; i < CM_POLY_TERMS; i++) a.c[i] *= factor;
    return a;
}
static inline double cm__poly_at(const cm_poly *p, double batch)
{
    _Static_assert(CM_POLY_TERMS == 4, "one factor for each term");
    return ((p->c[3] * batch + p->c[2]) * batch + p->c[1]) * batch + p->c[0];
}
cm_poly cm__poly_mul(cm_poly a, cm_poly b); /* terms past B^3 are dropped: graphs with such terms are refused earlier */
cm_poly cm__poly_product(const cm_dim *dims, int32_t count);
bool    cm__poly_larger(const cm_poly *a, const cm_poly *b); /* at large batch sizes */
const char *cm__dims_text(const cm_graph *g, const cm_tensor *t); /* "[B, 3, 224, 224]" */

/* recompute_policy.c: reads a policy's name, or "custom:" and tensors; false: it is none. Per node of forward, which of a
   layer's tensors (cm_kept) it makes; 0: none. */
bool     cm__policy_read(const char *text, cm_train_options *train);
uint8_t *cm__policy_tensors(cm__ctx *ctx, const cm_graph *g, int32_t nodes);

/* ---- passes over a graph, in the order they run ----------------------------------------------------------------- */

void cm__fuse(cm_graph *g, cm_fuse what);    /* fuse.c: attention, GELU, norms, linear layers written out */
void cm__mark_norms(cm_graph *g);            /* fuse.c: norms written out that PyTorch computes in fp32 */
void cm__prune(cm_graph *g);                 /* graph.c: drop nodes that lead to no output */
/* Eager frameworks also run layers whose result nobody uses, in forward only: makes those with products outputs, and
   holds what autograd stores of them until the program releases the result. */
void cm__keep_unused(cm_graph *g);
void cm__find_roles(cm_graph *g);            /* roles.c: parameters, buffers, constants of an imported file */
void cm__find_blocks(cm_graph *g);           /* blocks.c: repeated layers, by the parameters' names */
/* blocks.c: the parts that a pipeline distributes: all nodes before the layers, each layer, all nodes after them. */
void     cm__hold_products(cm_graph *g); /* recompute_groups.c: stores kept outputs until their layer is recomputed */
int32_t  cm__part_count(const cm_graph *g); /* at least 2 */
const int32_t *cm__part_map(cm__ctx *ctx, const cm_graph *g); /* per node: its part */
void cm__review(cm_graph *g);                /* blocks.c: warnings about an imported model */
void cm__layout(cm_graph *g);                /* layout.c: reshapes that copy */
void cm__cost_all(cm_graph *g);              /* cost.c */
void cm__lifetimes(cm_graph *g);             /* graph.c: born, dies */
/* graph.c: bytes in memory while each node runs: the storages whose lifetime includes the node. */
cm_poly *cm__alive_bytes(cm__ctx *ctx, const cm_graph *g);
void cm__check(const cm_graph *g);           /* check.c: fails if the graph is not valid */
void cm__finish(cm_graph *g, cm_fuse what);  /* graph.c: run after an importer: the passes above */

#endif
