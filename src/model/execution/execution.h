/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style.h - a step on devices that are known by few numbers: one rule per style of execution.
 *
 * Each operator takes the longer of its arithmetic and its traffic, at the share of peak and bandwidth that the
 * profile's `execution` gives its class. How operators become a step differs by style:
 *
 *     kernels    one after the other
 *     sections   parts that fit the chip; samples flow through a part as through a pipeline
 *     bsp        everything on the chip, or on the fewest chips that hold it, as a pipeline of micro-batches
 *     streaming  activations on the chip, the weights of one layer after the other through a link
 *
 * docs/styles.md derives the rules.
 */
#ifndef CM_MODEL_STYLE_H
#define CM_MODEL_STYLE_H

#include "device/device.h"
#include "graph/graph.h"

/* style_held.c: what chips hold of a graph that computes each layer's results again; lives as long as the context. */
typedef struct cm__recomputed cm__recomputed;
const cm__recomputed *cm__recomputed_new(cm__ctx *ctx, const cm_graph *graph);

/* What is found of the step already; NULL: found where it is needed. */
typedef struct cm__at_hand {
    const cm_footprint *footprint; /* on one chip */
    const cm__recomputed     *held;
} cm__at_hand;

/* What a rule works on. */
typedef struct cm__job {
    cm__ctx         *ctx;
    const cm_graph  *g;
    const cm_device *device;
    cm__at_hand      at_hand;
    double           batch;
    int32_t          chips;                           /* of a pipeline that was asked for; 0: as few as it takes */
    int64_t          micro_batch;                     /* that was asked for; 0: as many samples as fit */
    double           peak_flop_s[CM__EFFORTS];        /* reached by each class; memory: unused */
    double           near_bytes_s, near_bytes;        /* where activations are: bandwidth reached, capacity */
    double           far_bytes_s;                     /* where weights come from: bandwidth reached */
    double           edge_bytes_s;                    /* the same, of the memory itself */
    double           section_s, superstep_s, layer_s; /* 0: none */
    double           fill;                            /* samples in a full pipeline, at least 1 */
    double           matrix_scale, vector_scale;      /* of a calibrated profile; 1 otherwise */
    double           kept;                            /* of pruned weights' arithmetic and traffic; 1: all */
    bool             has_blocks;
    bool             alone;                           /* one operator, run over and over: style_alone.c */
    double           operator_s;                      /* the least that it takes then */
} cm__job;

/* What comes of it. */
typedef struct cm__run {
    double *node_s;      /* of every node; their sum is device_s, what the style adds being spread over its nodes */
    double  device_s;
    double  pieces;      /* kernels, sections, supersteps or layers in a step */
    int32_t devices;     /* that one copy of the model takes */
    int64_t micro_batch; /* samples that are on the chip at once */
    bool    recomputes;  /* layers are computed again in backward */
    double  host_s, error;
    cm_how  how;
} cm__run;

/* Whether a device's steps are timed by its style: unless it runs kernel by kernel and more is known of those. */
bool cm__execution_applies(const cm_device *device, cm_runtime runtime);
/* Refuses what a plan asks for and such a device does not take, by its option (style_plan.c). */
void cm__plan_check_execution(cm__ctx *ctx, const cm_device *device, const cm_plan *plan);

/* What is asked of a run. */
typedef struct cm__asked {
    int64_t     batch;
    int64_t     micro_batch; /* the most samples that run at once; 0: as many as fit */
    int32_t     chips;       /* of a pipeline that holds one copy; 0: as few as do */
    cm_sparsity sparsity;
} cm__asked;

/* Fails where the step cannot run on such devices. at_hand NULL: nothing is there already. */
cm__run cm__execution_run(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm__asked *asked,
                      const cm__at_hand *at_hand);
/* Finds what runs at many batch sizes will need, beside a footprint that may be NULL and must outlive them. */
cm__at_hand cm__execution_prepare(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                              const cm_footprint *footprint);

/* ---- for the rules ---------------------------------------------------------------------------------------------- */

typedef void cm__execution_rule(const cm__job *job, cm__run *run);
cm__execution_rule cm__execution_kernels, cm__execution_sections, cm__execution_bsp, cm__execution_streaming;

/* One node at a batch size: the longer of arithmetic and traffic; 0 for views. */
double cm__job_node_s(const cm__job *job, int32_t node, double batch);
/* What is done of a node's arithmetic, and sent of its weights, after pruning. */
double cm__job_kept(const cm__job *job, const cm_node *node);
bool   cm__job_trains(const cm__job *job); /* it has a backward pass */
/* The 16-bit copy of a parameter: made where the parameter is. */
bool   cm__is_parameter_cast(const cm_graph *g, const cm_node *node);
/* Where the graph is one operator and the profile knows such benchmarks, their rates take the place of the style's. */
void   cm__job_find_alone(cm__job *job);
/* The most samples whose step one chip holds; 0: not one. */
int64_t cm__job_largest(const cm__job *job);
/* The same where what enters each layer is kept and the rest is computed again backward, by a pipeline of chips that
   hold the weights; chips 0: by one chip past which the weights stream. */
int64_t       cm__job_largest_again(const cm__job *job, int32_t chips);
/* Memory of one of `chips` chips (0: weights stream past one chip) that computes layers again in backward. `one_chip` is
   the footprint of the whole step. */
void cm__recomputed_use(const cm__recomputed *held, const cm_footprint *one_chip, int32_t chips, int64_t micro_batch,
                  cm_memory_use *use);
cm_memory_use cm__job_use(const cm__job *job, int64_t batch);
/* Gives nodes from `first` to before `end` the time of the piece they make up. */
void cm__run_spread(cm__run *run, int32_t first, int32_t end, double piece_s);
/* Bytes of a number in the step's precision. */
double cm__job_element(const cm__job *job);
double cm__tensor_elements_at(const cm_graph *g, int32_t tensor, double batch);
double cm__tensor_bytes_at(const cm_graph *g, int32_t tensor, double batch);

#endif
