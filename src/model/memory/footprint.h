/* SPDX-License-Identifier: Apache-2.0 */
/*
 * footprint.h - internals of a step's memory footprint: stored pieces with their lifetimes, temporaries of each node,
 * and for every memory level the few nodes that can be its peak.
 */
#ifndef CM_MODEL_FOOTPRINT_H
#define CM_MODEL_FOOTPRINT_H

#include "graph/strides.h"
#include "model/memory/workspace.h"

/* One allocation on one device. */
typedef struct cm__piece {
    cm_poly     bytes;
    int32_t     tensor, born, dies; /* as in cm_tensor; born -1: before the step; dies at node count: after the step */
    cm_category category;
} cm__piece;

/* A node whose memory is the peak at some batch size, and its bytes. */
typedef struct cm__summit {
    cm_poly bytes;
    int32_t node;
    double  least_batch; /* the node does not need this memory at smaller batch sizes */
    double  most_fixed;  /* largest bytes.c[0] of this entry and those before it in the list */
    double  least_grown; /* smallest bytes.c[1] of the same entries */
} cm__summit;

typedef struct cm__summits {
    cm__summit *list;
    int32_t     count, capacity;
    int32_t     higher; /* the entry that last exceeded another one: likely to exceed the next, too */
} cm__summits;

/* Bytes of each category at a summit, without temporaries and library workspaces. */
typedef struct cm__at_peak {
    cm_poly of[CM_CATEGORIES];
} cm__at_peak;

/* The same at one node after the other: `now` is at the node that cm__alive_next() returned last. */
typedef struct cm__alive {
    const struct cm_footprint *f;
    /* lists of pieces that begin or end at each node: twice the piece, at its end 1 more */
    const int32_t *first, *next;
    int32_t        node;
    cm_poly        now[CM_CATEGORIES];
} cm__alive;

/* A memory that programs fill, and the categories placed there. */
typedef struct cm__level {
    int32_t     memory;
    double      capacity_bytes;
    bool        holds[CM_CATEGORIES];
    cm_poly     extra;   /* additional buffers for streamed categories */
    bool        sectioned; /* the graph runs here in sections */
    cm__summits summits;
} cm__level;

/* units.c: bytes of whole weights and whole gradients that sharded training stores beside its shards, before tensor
   parallelism divides them. */
typedef struct cm__units {
    double gathered_bytes, gradient_bytes;
} cm__units;
cm__units cm__units_of(cm__ctx *ctx, const cm_graph *g);

#define CM__BUFFERS_MAX 2 /* pieces that cm__shard() adds, but whole gradients */

/* Fraction of the memory that steps cannot use, for profiles that do not say how much the driver and the framework
   reserve (`outside`). */
#define CM__HEADROOM 0.03

struct cm_footprint {
    cm__ctx          *ctx;
    const cm_graph   *step;
    const cm_device  *device;
    cm_memory_options options; /* with all counts filled in */
    cm__piece        *pieces;
    int32_t           n_pieces, n_nodes;
    cm__piece        *whole;     /* with a plan: the pieces before it divides them */
    int32_t           n_whole;
    cm__units         units;     /* with a plan */
    const bool       *split;     /* with a plan: tensors that tensor parallelism divides */
    cm__temporary    *temporaries; /* different ones: layers repeat most of them */
    int32_t           n_temporaries, cap_temporaries;
    int32_t          *temporary_of; /* per node: index of what it needs while it runs */
    cm__summits       summits;   /* over all categories, without library workspaces */
    cm__at_peak      *peaks;     /* per summit */
    cm__level         levels[CM_LEVELS_MAX];
    int32_t           n_levels;
    double            library_bytes, context_bytes; /* permanent library workspaces; driver and framework */
    double            slack_bytes; /* bytes that the allocator's rounding adds to pieces that outlive the step */
    /* two buffers for the largest share of a streamed one; 0: not known */
    double            largest_bytes[CM_CATEGORIES];
    int8_t           *channels;  /* tiles.c: per tensor, which dimension of an image its channels are; 0: it is none. NULL: no padding */
    cm__alive         alive;     /* of the pieces, if `channels` is given */
    const struct cm_footprint *like; /* of another plan for the same step, perhaps with the same order; NULL: none */
    bool              math;        /* attention is not fused: its scores are stored */
    struct cm__stacks *stacks;     /* recurrent layers that run as one call; NULL: none, or not caching */
    bool              caching;     /* the runtime uses PyTorch's allocator */
    cm__strides            *strides;     /* of the step's tensors; NULL unless caching */
    struct cm__kept_levels *kept_levels; /* peaks of memories of all footprints with the same pieces */
    struct cm__simulations *simulations; /* shared by footprints with the same allocations; NULL: none */
};

static inline const cm__temporary *cm__temporary_of(const cm_footprint *f, int32_t node)
{
    return &f->temporaries[f->temporary_of[node]];
}

/* memory.c: bytes of the libraries' permanent workspaces under a runtime. */
double cm__library_bytes(const cm_device *device, cm_runtime runtime);

/* recurrent.c: what cuDNN allocates while it runs a stack of recurrent layers, at the last layer in forward and at the
   first gradient in backward; and memory that layers of a stack do not need, because nothing between them is stored. */
cm__temporary cm__workspace_recurrent(const cm_footprint *f, const cm_node *n);
void          cm__recurrent_pieces(cm_footprint *f, const int32_t *piece_of);

/* fourier.c: what a Fourier transform allocates while it runs; and gradients of real numbers that are parts of complex
   ones. */
cm__temporary cm__workspace_fourier(const cm_footprint *f, const cm_node *n);
void          cm__fourier_pieces(cm_footprint *f, const int32_t *piece_of);

/* memory.c: bytes of driver and framework outside the runtime's allocator. Convolutions load further libraries. */
double cm__context_bytes(const cm_device *device, cm_runtime runtime, const cm_graph *step);

/* memory.c: the most bytes that the runtime's allocator can have reserved in a memory. If the profile does not know what
   is outside the allocator when the memory is full, a margin of CM__HEADROOM is kept beside the context. */
double cm__allocatable_bytes(const cm_device *device, cm_runtime runtime, const cm_graph *step, double capacity_bytes);

/* memory.c: as cm_footprint_new(). Reuses the device-independent parts of `like`, a footprint of the same step under
   the same runtime, which must outlive the new one: everything if the plans are equal, otherwise what plans share.
   NULL: nothing to reuse. */
cm_status cm__footprint_new_like(const cm_footprint *like, const cm_graph *step, const cm_device *device,
                                 const cm_memory_options *options, cm_footprint **footprint, cm_diag *diag);

/* simulate.c: caches simulations without a memory limit for all footprints with the same allocations. `other` (may
   be NULL): a footprint with such a cache and the same allocations; it must outlive this one. */
void cm__footprint_share_simulations(cm_footprint *footprint, const cm_footprint *other);
/* simulate.c: finds the order of allocations once for all simulations of a footprint that shares none. */
void cm__footprint_keep_order(cm_footprint *footprint);
/* True: library workspaces leave the other allocations of both steps where they are, or are equal. */
bool cm__same_library(const cm_footprint *a, const cm_footprint *b);
/* True: both steps allocate the same sizes in the same order. */
bool cm__footprints_alike(const cm_footprint *a, const cm_footprint *b);

/* fused.c: removes pieces that fused kernels do not store. piece_of: per tensor, -1: none. */
void cm__fused_pieces(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch);

/* copies.c: adds the copies that linear layers make of their inputs; whether a node makes one. */
bool cm__copies_input(const cm_footprint *f, const cm_node *n);
void cm__copied_inputs(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch);

/* recomputed.c: shortens the lives of pieces that a compiler recomputes in backward. */
void cm__recomputed_pieces(cm_footprint *f, const int32_t *piece_of);

/* graphs.c: memory of a step that a vendor's compiler runs as one graph, and of one whose layers are a loop. */
bool cm__loops_layers(const cm_device *device);
bool cm__is_loop(const cm_footprint *f, cm__ctx *scratch); /* the layers of this step are a loop */
void cm__graph_pieces(cm_footprint *f, cm__ctx *scratch);

/* tiles.c: finds the images of convolutions whose padding depends on the batch size; bytes of a piece with it; the peak at
   a batch size, its node and categories. */
void   cm__find_images(cm_footprint *f);
double cm__piece_at(const cm_footprint *f, const cm__piece *x, double batch);
double cm__tiled_peak(const cm_footprint *f, double batch, cm_memory_use *use);

/* saved.c: what a loop over layers stores until backward's loop ends at node `end`. */
void cm__saved_pieces(cm_footprint *f, cm__ctx *scratch, int32_t end);
/* saved.c: per tensor (by storage), the last node of forward that reads it; 0: none. */
const int32_t *cm__last_readers(const cm_graph *g, cm__ctx *scratch);

/* jax.c: what a JAX program stores beside what PyTorch would. */
void cm__jax_pieces(cm_footprint *f, cm__ctx *scratch);

/* retained.c: lengthens the lives of layer inputs that FSDP1 keeps, and adds their gradients. There must be room for
   cm__retained_most() more pieces. last: the last node of backward. */
void    cm__retain_inputs(cm_footprint *f, cm__ctx *scratch, int32_t last);
int32_t cm__retained_most(const cm_footprint *f);

/* module_inputs.c: lengthens the lives of modules' inputs to the end of the module. */
void cm__hold_inputs(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch);

/* module_inputs.c: lengthens the lives of what autograd functions saved, and of layers' outputs with reentrant checkpoints. */
void cm__hold_in_backward(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch);

/* retained.c: lengthens the life of the head's input to the end of the loss. piece_of: per tensor. */
void cm__retain_head_input(cm_footprint *f, const int32_t *piece_of);

/* shards.c: reduces pieces to the part that one device of the plan stores. */
void cm__shard(cm_footprint *f);
/* True: a device stores the same under both plans, at any batch size. */
bool cm__same_shards(const cm_plan *a, const cm_plan *b);

/* simulate.c: whether a step that lacks so many bytes may fit if a convolution goes without its workspace. */
bool cm__may_refuse(const cm_footprint *f, int64_t batch, double lacking);

/* workspace.c: memory that a node allocates while it runs, besides its outputs. */
cm__temporary cm__workspace(const cm_footprint *f, const cm_node *n);
double        cm__temporary_at(const cm__temporary *t, double batch);

/* placement.c: assigns categories to levels, and finds the peak candidates of each level. like: a footprint of the same
   pieces, which outlives this one; NULL: none. */
void cm__place_categories(cm_footprint *f, const cm_footprint *like);
void cm__place_use(const cm_footprint *f, int64_t batch, cm_memory_use *use);

/* compiled_step.c: replaces the bytes of a step by those that the chip's compiler said, or scales them by these. */
void cm__use_compiled(const cm_footprint *f, int64_t batch, double modelled_bytes, cm_memory_use *use);

/* memory.c */
cm__alive cm__alive_of(cm__ctx *ctx, const cm_footprint *f);
int32_t   cm__alive_next(cm__alive *alive); /* -1: there are no more nodes */
/* Adds a node's memory, and its memory with the temporary, unless another node exceeds it at every batch size. */
void cm__summit_add(cm__ctx *ctx, cm__summits *s, cm_poly bytes, const cm__temporary *temporary, int32_t node);
const cm__summit *cm__summit_at(const cm__summits *s, double batch, double *bytes); /* NULL: there is none */
/* The most bytes at a batch size, without what the libraries and the allocator add, and where that is; 0: nothing is stored. */
double            cm__peak_at(const cm_footprint *f, double batch, cm_memory_use *use);

#endif
