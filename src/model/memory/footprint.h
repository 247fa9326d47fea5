/* SPDX-License-Identifier: Apache-2.0 */
/*
 * footprint.h - a step's memory from the inside: pieces (what is stored, from when to when), temporaries of each node,
 * and for every level the few nodes that can be its peak.
 */
#ifndef CM_MODEL_FOOTPRINT_H
#define CM_MODEL_FOOTPRINT_H

#include "model/memory/workspace.h"

/* One storage on one device. */
typedef struct cm__piece {
    cm_poly     bytes;
    int32_t     tensor, born, dies; /* as in cm_tensor: -1 before the step, node count: outlives it */
    cm_category category;
} cm__piece;

/* Bytes at one node that can be the most at some batch size. */
typedef struct cm__summit {
    cm_poly bytes;
    int32_t node;
    double  least_batch; /* below it the node needs less */
} cm__summit;

typedef struct cm__summits {
    cm__summit *list;
    int32_t     count, capacity;
    int32_t     higher; /* the one that was above another last: likely above the next, too */
} cm__summits;

/* A memory that programs fill, and what is placed there. */
typedef struct cm__level {
    int32_t     memory;
    double      capacity_bytes;
    bool        holds[CM_CATEGORIES];
    cm_poly     extra;   /* beside what it holds: buffers that what streams through needs */
    cm__summits summits;
} cm__level;

/* Of a memory that an allocator cuts into blocks, the part that stays unusable between them. The simulation sees most
   of that; libraries' own blocks, and the order of a real run, it does not. */
#define CM__HEADROOM 0.03

struct cm_footprint {
    cm__ctx          *ctx;
    const cm_graph   *step;
    const cm_device  *device;
    cm_memory_options options; /* every count filled in */
    cm__piece        *pieces;
    int32_t           n_pieces, n_nodes;
    cm__temporary    *temporary; /* of each node, while it runs */
    cm_poly         **alive;     /* [category][node], without the temporaries and what libraries hold */
    cm__summits       summits;   /* of everything together but what libraries hold */
    cm__level         levels[CM_LEVELS_MAX];
    int32_t           n_levels;
    double            library_bytes, context_bytes; /* workspaces held for good; driver and framework */
    double            slack_bytes; /* what the allocator adds to pieces that outlive the step */
    bool              math;        /* attention is not one kernel: its scores are stored */
    bool              caching;     /* the runtime has PyTorch's allocator */
    struct cm__rehearsals *rehearsals; /* of footprints made like one another; NULL: none */
};

/* memory.c: what libraries hold for good under a runtime. */
double cm__library_bytes(const cm_device *device, cm_runtime runtime);

/* memory.c: as cm_footprint_new(). What `like` has found of the same step under the same runtime and plan is shared
   where it does not depend on the device; it must outlive the footprint. NULL: nothing to share. */
cm_status cm__footprint_new_like(const cm_footprint *like, const cm_graph *step, const cm_device *device,
                                 const cm_memory_options *options, cm_footprint **footprint, cm_diag *diag);

/* simulate.c: steps simulated without a limit are kept for all footprints that will be made like this one. `other`:
   has them kept already, and allocates the same; it must outlive this one. NULL: none. */
void cm__footprint_rehearse(cm_footprint *footprint, const cm_footprint *other);
/* Whether steps allocate the same sizes in the same order. */
bool cm__footprints_alike(const cm_footprint *a, const cm_footprint *b);

/* memory_fused.c: without pieces that fused kernels do not store; piece_of: of each tensor, -1: none. */
void cm__fused_pieces(cm_footprint *f, const int32_t *piece_of);

/* shards.c: pieces as one device of the plan holds them. */
void cm__shard(cm_footprint *f);

/* workspace.c: what a node allocates while it runs, besides its outputs. */
cm__temporary cm__workspace(const cm_footprint *f, const cm_node *n);
double        cm__temporary_at(const cm__temporary *t, double batch);

/* placement.c: which level holds what, and the summits of each. */
void cm__place_categories(cm_footprint *f);
void cm__place_use(const cm_footprint *f, int64_t batch, cm_memory_use *use);

/* memory.c */
/* What a node holds, and that with its temporary; unless another node is above it at every batch size. */
void cm__summit_add(cm__ctx *ctx, cm__summits *s, cm_poly bytes, const cm__temporary *temporary, int32_t node);
const cm__summit *cm__summit_at(const cm__summits *s, double batch, double *bytes); /* NULL: there is none */

#endif
