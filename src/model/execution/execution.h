/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.h - steps on devices without kernel tables: one rule per execution model.
 *
 * Each operator takes the longer of its arithmetic and its traffic, at the fraction of peak and bandwidth that the
 * profile's `execution` gives for its class. The execution model combines operators into a step:
 *
 *     kernels    operators run one after the other
 *     sections   parts of the graph that fit the chip run in turn; samples are pipelined through each
 *     bsp        everything on the chip, or on the fewest chips it fits, as a pipeline of micro-batches
 *     streaming  activations stay on the chip; weights are streamed in layer by layer
 *
 * docs/dev/execution-models.md derives the rules.
 */
#ifndef CM_MODEL_EXECUTION_H
#define CM_MODEL_EXECUTION_H

#include "device/device.h"
#include "graph/graph.h"
#include "model/dispatch/dispatch.h"
#include "model/time/timer.h"

/* measured.c: the calls of a step on a device that has kernel tables; NULL: it has none. Lives as long as the context. */
typedef struct cm__measured cm__measured;
const cm__measured *cm__measured_new(cm__ctx *ctx, const cm_graph *step, const cm_device *device);

/* recompute.c: memory of chips that recompute each layer's activations in backward. Lives as long as the context. */
typedef struct cm__recomputed cm__recomputed;
const cm__recomputed *cm__recomputed_new(cm__ctx *ctx, const cm_graph *graph);

/* Parts of a step that the caller has computed already; NULL: computed when needed. */
typedef struct cm__prepared {
    const cm_footprint   *footprint; /* on one chip */
    const cm__recomputed *recomputed;
    const double         *section_bytes; /* of cm__section_bytes() */
    const cm__measured   *measured;
    bool                  no_operators; /* operators are not listed, except for the latency of inference */
} cm__prepared;

/* The input of a rule. */
typedef struct cm__job {
    cm__ctx         *ctx;
    const cm_graph  *g;
    const cm_device *device;
    cm__prepared     prepared;
    double           batch;
    int32_t          chips;                           /* length of a requested pipeline; 0: as short as possible */
    int64_t          micro_batch;                     /* requested micro-batch; 0: the largest that fits */
    double           peak_flop_s[CM__EFFORTS];        /* effective, per class; the entry for memory is unused */
    double           near_bytes_s, near_bytes;        /* memory of the activations: effective bandwidth, capacity */
    double           far_bytes_s;                     /* effective bandwidth of the memory that has the weights */
    double           section_s, superstep_s, layer_s; /* fixed costs; 0: none */
    double           score_s;                         /* of each attention score in each pass, on all cores; 0: none */
    double           older;                           /* step time with the asked software over today's */
    double           fill;                            /* samples in a full pipeline, at least 1 */
    double           matrix_scale, vector_scale;      /* of a calibrated profile; otherwise 1 */
    double           kept;                            /* fraction of pruned weights' work that remains; 1: all */
    bool             has_blocks;
    bool             single_operator;                 /* one operator, run repeatedly: single_operator.c */
    double           operator_s;                      /* minimum time of that operator */
    double           joined_chips;                    /* chips that run each operator together */
} cm__job;

/* The result of a rule. */
typedef struct cm__run {
    /* per node; the sum is device_s, with the execution model's fixed costs spread over the nodes */
    double *node_s;
    double  device_s;
    double  pieces;      /* kernels, sections, supersteps or layers in a step */
    int32_t devices;     /* devices per copy of the model */
    int64_t micro_batch; /* samples on the chip at the same time */
    bool    recomputes;  /* layers are recomputed in backward */
    double  host_s, error;
    uint8_t *how;           /* per node: a cm_how */
    double  share[CM_HOWS]; /* of the nodes' time */
} cm__run;

/* True: the execution model gives the device's step time. False: the device runs kernel by kernel and kernel tables
   do. */
bool cm__execution_applies(const cm_device *device, cm_runtime runtime);
/* plan_options.c: refuses options of a plan that the device's execution model does not support. */
void cm__plan_check_execution(cm__ctx *ctx, const cm_device *device, const cm_plan *plan);

/* The requested run. */
typedef struct cm__run_request {
    int64_t     batch;
    int64_t     micro_batch; /* maximum number of samples at a time; 0: as many as fit */
    int32_t     chips;       /* chips in the pipeline of one copy; 0: as few as possible */
    cm_sparsity sparsity;
} cm__run_request;

/* Fails if the step cannot run on such devices. prepared NULL: nothing was computed before. */
cm__run cm__execution_run(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm__run_request *request,
                          const cm__prepared *prepared);
/* Computes what runs at many batch sizes share. `footprint` may be NULL; otherwise it must outlive them. */
cm__prepared cm__execution_prepare(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                   const cm_footprint *footprint);

/* ---- functions for the rules ------------------------------------------------------------------------------------ */

typedef void cm__execution_rule(const cm__job *job, cm__run *run);
cm__execution_rule cm__execution_kernels, cm__execution_sections, cm__execution_bsp, cm__execution_streaming;
/* Bytes that each node stores on a chip that runs sections: its weights, and its results for one sample. */
const double *cm__section_bytes(cm__ctx *ctx, const cm_graph *step);
/* stages.c: the longest stage of a pipeline for one micro-batch. node_s: of each node, forward once; again: stages are
   recomputed in backward. */
double cm__longest_stage_s(const cm__job *job, int32_t chips, const double *node_s, bool again);
cm__execution_rule cm__execution_resident; /* resident.c: of streaming devices whose profile has `sample_interval` */

/* The time of a node's calls by the device's kernel tables, all costs of the operator included; NAN: they have none. */
cm__timed cm__job_measured(const cm__job *job, int32_t node, double batch);
/* What XLA's kernels move for a node without products: 0 for one that is computed inside another's kernel; NAN: not XLA. */
double    cm__job_joined_bytes(const cm__job *job, int32_t node, double batch);
/* Time of one node at a batch size: measured, or the longer of arithmetic and traffic; 0 for views. */
double cm__job_node_s(const cm__job *job, int32_t node, double batch);
/* Steps of a recurrent layer, or of its gradient, that wait for each other; 0: another operator. */
double cm__job_time_steps(const cm__job *job, const cm_node *node, double batch);
/* True: the node has traffic alone, no products. */
bool   cm__job_is_traffic(const cm_node *node);
/* Attention scores of a node or of the one whose gradient it is. */
double cm__job_scores(const cm__job *job, const cm_node *node, double batch);
/* The share of the 16-bit peak that the profile gives for a class of operators; the one of products where it has
   none. */
double cm__job_share(const cm__job *job, cm__effort effort);
/* The FLOP/s reached in the step's precision at a share of the 16-bit peak. Units that are fed from memory lose the
   rest on feeding and waiting. That takes the same time per FLOP in every precision: a precision with a higher peak
   gains less than its peak promises, one with a lower peak loses less. Operands on the chip grow and shrink with the
   precision. */
double cm__job_rate(const cm__job *job, double share);
/* The fraction of a node's arithmetic and weight traffic that remains after pruning. */
double cm__job_kept(const cm__job *job, const cm_node *node);
bool   cm__job_trains(const cm__job *job); /* the graph has a backward pass */
/* True: the node makes the 16-bit copy of a parameter. The copy is stored with the parameter. */
bool   cm__is_parameter_cast(const cm_graph *g, const cm_node *node);
/* If the graph is a single operator and the profile has rates of operator benchmarks, uses those rates. */
void   cm__job_use_operator_rates(cm__job *job);
/* The largest batch whose whole step fits one chip; 0: not even one sample. */
int64_t cm__job_largest(const cm__job *job);
/* The same if only each layer's input is stored and the rest is recomputed in backward. The weights are divided over
   a pipeline of `chips` chips; chips 0: weights are streamed through one chip, and inputs of layers may leave it. */
int64_t       cm__job_largest_recomputed(const cm__job *job, int32_t chips);
/* Bytes of weights and gradients per chip that do not fit the chip beside the activations of a micro-batch, and are
   copied from and to the streaming memory instead; 0: all fit. */
double        cm__job_spilled_bytes(const cm__job *job, int32_t chips, int64_t micro_batch);
/* Bytes of the inputs of all layers of a micro-batch. */
double        cm__job_layer_input_bytes(const cm__job *job, int64_t micro_batch);
/* The part of them that a chip through which weights are streamed does not hold beside its largest layer. */
double        cm__job_inputs_out_bytes(const cm__job *job, int64_t micro_batch);
/* The largest micro-batch if weights and gradients may be spilled; 0: the activations of one sample do not fit. */
int64_t       cm__job_largest_spilled(const cm__job *job, int32_t chips);
/* Memory use per chip with recomputation, on `chips` chips (0: weights are streamed through one chip), with what is
   spilled in the memory of the optimizer states. `one_chip` is the footprint of the whole step. */
void cm__recomputed_use(const cm__recomputed *recomputed, const cm_footprint *one_chip, int32_t chips,
                        int64_t micro_batch, cm_memory_use *use);
cm_memory_use cm__job_use(const cm__job *job, int64_t batch);
/* Spreads the time of one section, superstep or layer over its nodes, from `first` to before `end`. */
void cm__run_spread(cm__run *run, int32_t first, int32_t end, double piece_s);
/* section_traffic.c: bytes between a chip and its memory, at the job's batch size. */
typedef struct cm__section_traffic {
    double *node; /* of each node, wherever the cuts are */
    /* Results that later nodes of their phase read, by node: a list of those that the node makes, and what it reads. */
    int32_t *made, *next_made;  /* by node, by tensor; -1: none */
    int32_t *reads, *read, *again; /* first of each node's reads; of each read the tensor and the next node with it */
    int32_t *first, *last;      /* by tensor: nodes that read it */
    double  *result;            /* by tensor: bytes */
    bool    *kept;              /* by tensor: written for backward in any case */
} cm__section_traffic;
cm__section_traffic cm__section_traffic_new(const cm__job *job);
/* Changes what a section before node `end` reads and writes when `node` becomes its first one. */
void cm__section_extend(const cm__section_traffic *traffic, int32_t node, int32_t end, double *read, double *written);
double              cm__job_operand_bytes(const cm__job *job, const cm_node *node); /* all operands of a node */
/* Bytes per number in the step's precision. */
double cm__job_element(const cm__job *job);
double cm__element_bytes(const cm_graph *g);
/* Bytes of a result as a chip of sections hands it on. */
double cm__handed_bytes(const cm_graph *g, int32_t tensor, double batch);
double cm__tensor_elements_at(const cm_graph *g, int32_t tensor, double batch);
double cm__tensor_bytes_at(const cm_graph *g, int32_t tensor, double batch);

#endif
