/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - reports, which are independent of the output format.
 *
 * A command fills a request, a function such as cm__graph_report_new() makes a report from it, and a row of
 * cm__renderers[] prints the report (render.h). Renderers use reports and the public API only; a new format is one row.
 */
#ifndef CM_REPORT_REPORT_H
#define CM_REPORT_REPORT_H

#include <stdio.h>
#include "base/ctx.h"

/* Options of `graph`. A report stores the request that it was made from, with defaults replaced. */
typedef struct cm__graph_request {
    const char      *model;
    int64_t          batch; /* 0: one sample */
    cm_load_options  load;
    cm_train_options train;
    bool             list_nodes, list_tensors;
} cm__graph_request;

typedef struct cm__op_count {
    const char *type;
    int32_t     count;
} cm__op_count;

#define CM__TOP_NODES 10

typedef struct cm__graph_report {
    cm__ctx          *ctx;
    cm__graph_request asked;
    const cm_graph   *forward, *step;
    cm_totals         totals;         /* of the step, at asked.batch */
    double            forward_flop, training_flop; /* of matrix units */
    const char       *peak_op;        /* NULL: the step computes nothing */
    cm__op_count     *ops;            /* of the forward graph, most frequent first */
    const char      **warnings, **unsupported;
    int32_t           n_ops, n_warnings, n_unsupported;
    bool             *used;           /* per tensor of the step: some node reads or writes it */
    int32_t           top[CM__TOP_NODES], n_top; /* nodes of the step, most FLOP first */
} cm__graph_report;

cm_status cm__graph_report_new(const cm__graph_request *asked, cm__graph_report **report, cm_diag *diag);
/* The same for an existing step, which must outlive the report. */
cm_status cm__graph_report_of(const cm__graph_request *asked, const cm_step *step, cm__graph_report **report,
                              cm_diag *diag);
void      cm__graph_report_free(cm__graph_report *report);

typedef struct cm__known_model {
    const cm_model_info *info;
    double               parameters; /* NAN: it could not be built */
} cm__known_model;

/* The named models, or one of them. */
typedef struct cm__models_report {
    cm__ctx         *ctx;
    cm__known_model *models;
    int32_t          n_models;
    bool             in_full; /* one model with all details instead of a list */
} cm__models_report;

/* `id` NULL: all of them. */
cm_status cm__models_report_new(const char *id, cm__models_report **report, cm_diag *diag);
void      cm__models_report_free(cm__models_report *report);

typedef enum cm__devices_action {
    CM__DEVICES_LIST, CM__DEVICES_LIST_CLUSTERS, CM__DEVICES_SHOW, CM__DEVICES_CHECK
} cm__devices_action;

typedef struct cm__devices_request {
    cm__devices_action action;
    const char        *name;   /* what to show or check */
    const char        *offers; /* file that replaces the built-in offers; NULL: none */
} cm__devices_request;

/* One line of the list of devices. */
typedef struct cm__device_row {
    const char     *id, *name, *vendor, *device_class;
    double          peak_flop_s, memory_bytes, bw_bytes_s, tdp_w; /* NAN: unknown */
    const cm_price *price;                                        /* NULL: unknown */
} cm__device_row;

typedef struct cm__cluster_row {
    const cm_cluster_info *info;
    double                 node_bw_bytes_s, network_bw_bytes_s; /* NAN: no such link */
} cm__cluster_row;

/* The result of asked.action: a list of devices, a list of clusters, one profile, or a validation. */
typedef struct cm__devices_report {
    cm__ctx            *ctx;
    cm__devices_request asked;
    cm__device_row     *devices;
    cm__cluster_row    *clusters;
    int32_t             n_devices, n_clusters;
    const char         *profile;  /* JSON; NULL: nothing is shown */
    const char         *measured_with; /* its kernel tables; NULL: none */
    bool                of_cluster;
    cm_profile_summary  checked;
} cm__devices_report;

cm_status cm__devices_report_new(const cm__devices_request *asked, cm__devices_report **report, cm_diag *diag);
void      cm__devices_report_free(cm__devices_report *report);

typedef struct cm__fit_report {
    const char       *path, *device; /* device NULL: from the rows */
    bool              check, calls;
    const cm_fitting *fitting;
} cm__fit_report;

typedef struct cm__calibrate_report {
    const char           *device, *log;
    const cm_calibration *calibration;
} cm__calibrate_report;

/* A step of post-training with rewards: answers are generated and scored, then the policy is trained on them. */
typedef enum cm__loop_kind {
    CM__LOOP_NONE,
    CM__LOOP_GRPO, /* a group of answers to each prompt; no critic */
    CM__LOOP_PPO,  /* one answer; a critic as large as the policy is trained, too */
    CM__LOOPS
} cm__loop_kind;

typedef struct cm__loop_options {
    cm__loop_kind kind;
    int32_t       group, epochs; /* answers to each prompt; passes over them in training. 0: the usual number */
    bool          alone;         /* no reference model */
    bool          in_place;      /* the trained weights generate; false: a copy of them in 16 bits, as vLLM has it */
    /* the model that scores answers; empty: a rule, or with a critic one like the policy */
    char          reward[256];
} cm__loop_options;

/* Options of `predict`. */
/* Limits that an answer must keep; 0: none. */
typedef struct cm__limits {
    double step_s, memory_bytes, throughput_samples_s; /* of predict */
    double speed;                                      /* of watch-log: a fraction of the prediction */
} cm__limits;

/* One limit beside the predicted value, which decides. */
typedef struct cm__gate {
    const char *name, *unit;         /* of the option, without dashes; "s", "B", "samples/s", or "" for a fraction */
    double      limit, value, interval[2]; /* interval: 90 % */
    bool        least;               /* the value must be at least the limit; false: at most */
    bool        held, sure;          /* sure: the limit is outside the interval */
    const char *text;                /* a sentence */
} cm__gate;

#define CM__GATES_MOST 48 /* three of each of 16 networks */
typedef struct cm__gates {
    cm__gate all[CM__GATES_MOST];
    int32_t  count, missed;
} cm__gates;

/* Judge a limit and add it; a limit of 0 adds nothing. */
void cm__gates_add(cm__ctx *ctx, cm__gates *gates, cm__gate gate);

/* The same of the best entry of a ranking. network: named before each sentence; NULL: not named. */
void cm__rank_gates(cm__ctx *ctx, cm__gates *gates, const cm__limits *limits, const cm_rank_entry *entry, const char *network);

typedef struct cm__predict_request {
    cm__graph_request  graph;
    const char        *device, *cluster; /* cluster NULL: the default of cm_fabric_new() */
    const char        *host_file; /* profile with times of the host; NULL: none. Only users of this machine name files */
    cm_predict_options options;
    bool               list_ops, list_missing;
    bool               recompute_open; /* nobody said what is recomputed: Megatron-LM's jobs recompute what memory requires */
    cm__limits         limits;
    int32_t            prompt, generate; /* tokens of a prompt and of its answer; 0: no generation */
    cm__loop_options   loop;
} cm__predict_request;

/* Reads "grpo,group=8,epochs=1,reference=off,copy=off,reward=MODEL". Returns false if a part of the text is not one of
   these options; *wrong then points to that part. */
bool cm__loop_parse(const char *text, cm__loop_options *loop, const char **wrong);
const char *cm__loop_name(cm__loop_kind kind);

/* One phase of a loop, on one device. */
typedef struct cm__phase {
    const char *name;
    double      time_s, interval_s[2], peak_bytes;
} cm__phase;

enum { CM__GENERATE, CM__SCORE, CM__TRAIN, CM__PHASES };

typedef struct cm__loop {
    cm__phase phases[CM__PHASES];
    double    total_s, interval_s[2];
    double    new_tokens_s;  /* generated tokens per second of the whole step, on one replica */
    double    resident_bytes; /* weights and states that stay in memory in all phases */
    double    beside_bytes;   /* those of them that are not the policy's */
} cm__loop;

/* Add generation and scoring to a training step of `train` on answers of prompt + generate tokens. `use`: the memory of
   that step; becomes that of the phase with the highest peak. at_once: answers of one pass. */
void cm__loop_add(cm__ctx *ctx, const cm__predict_request *asked, const cm_prediction_info *train, int64_t at_once,
                  cm_memory_use *use, cm__loop *loop);

/* Generation of text after a prompt, for the whole batch. */
typedef struct cm__generation {
    double prefill_s, decode_s;    /* the pass over the prompt; all new tokens */
    double token_s[2];             /* the first and the last new token */
    double tokens_s;               /* new tokens per second over both phases */
    double cache_bytes, peak_bytes; /* keys and values at the end; the whole */
} cm__generation;

typedef struct cm__predict_report {
    cm__ctx             *ctx;
    cm__predict_request  asked;      /* with every default replaced */
    cm_device           *device;     /* owned, like the members below */
    cm_fabric           *fabric;
    cm_step             *step;
    cm__graph_report    *graph;
    cm_prediction       *prediction;
    cm_memory_use        use;
    double               peak_bytes;
    bool                 fits;
    cm__generation       generation; /* if it was asked for */
    cm__loop             loop;       /* if it was asked for */
    cm__gates            gates;      /* of the limits that were asked for */
    const char          *doubt;      /* why the prediction is doubtful: the device does not support it; NULL: fine */
    cm_chance            chance;
    const char          *unsure;     /* why the script decides whether it fits; NULL: it does not decide */
} cm__predict_report;

/* Options for cm_step_new() from those of a request. */
cm_step_options cm__step_options_of(const cm__graph_request *graph, const cm_predict_options *options,
                                    const cm_fabric *fabric);

/* Add the times and the memory of generation to a report of the pass over the prompt. */
void cm__generation_add(cm__predict_report *r);

/* Judge the request's limits. */
void cm__predict_gates(cm__predict_report *r);

cm_status cm__predict_report_new(const cm__predict_request *asked, cm__predict_report **report, cm_diag *diag);
void      cm__predict_report_free(cm__predict_report *report);

/* Options of `plan`. */
typedef struct cm__plan_request {
    cm__graph_request graph;
    const char       *device, *cluster;
    cm_search_options options; /* its fabric is made from device and cluster */
    bool              pareto;  /* only plans that no other plan beats in both time and memory */
    const char       *offers;  /* file that replaces the built-in offers; NULL: none */
    const char       *host_file; /* as in cm__predict_request */
} cm__plan_request;

typedef struct cm__plan_report {
    cm__ctx          *ctx;
    cm__plan_request  asked;
    cm_device        *device; /* owned, like the members below */
    cm_offers        *offers; /* NULL: the built-in ones */
    cm_fabric        *fabric;
    cm_graph         *forward;
    cm_search        *search;
} cm__plan_report;

cm_status cm__plan_report_new(const cm__plan_request *asked, cm__plan_report **report, cm_diag *diag);
void      cm__plan_report_free(cm__plan_report *report);

/* Options of `scale`. */
#define CM__POINTS_MAX 64
typedef struct cm__scale_request {
    cm__graph_request  graph;
    const char        *device, *cluster;
    const char        *host_file; /* as in cm__predict_request */
    double             bytes;     /* of a collective, if the model is its name */
    cm_predict_options options; /* the number of replicas in its plan is ignored */
    bool               recompute_open; /* as in cm__predict_request */
    int64_t            counts[CM__POINTS_MAX]; /* of devices */
    int32_t            n_counts;
} cm__scale_request;

typedef struct cm__scale_point {
    int32_t            n;          /* requested devices; if one copy of the model needs several devices, copies */
    cm_prediction_info info;
    double             efficiency; /* throughput per device relative to the first point */
    double             lost[3];    /* fractions of a step: communication, bubble, host; the rest is computing */
    double             peak_bytes; /* of one device */
    bool               sure;       /* as in cm_memory_use */
    cm_chance          chance;
} cm__scale_point;

typedef struct cm__scale_report {
    cm__ctx           *ctx;
    cm__scale_request  asked;
    cm_device         *device; /* owned, like the members below */
    cm_fabric         *fabric;
    cm_step           *step;
    cm__graph_report  *graph;
    cm__scale_point   *points;
    bool               strong; /* strong scaling: one global batch; otherwise weak: one batch size per replica */
} cm__scale_report;

/* Sets options->train to recompute the fewest layers with which a step of Megatron-LM likely fits, and returns their number;
   0: it does not fit even then, or another runtime. `like`: a step of the same model. */
int32_t cm__recompute_as_needed(const cm_step *like, const cm_device *device, cm_step_options *options, int64_t batch);

/* Predict the step `like` of a model with data parallelism on n devices. open: as recompute_open. `batch`: samples per replica, used if the plan sets none.
   `first`: the point that efficiency is relative to; NULL: the point itself. */
cm_status cm__scale_point_at(const char *model, const cm_step *like, const cm_device *device, const cm_fabric *fabric,
                             int64_t batch, int32_t n, bool open, const cm__scale_point *first, cm__scale_point *point,
                             cm_diag *diag);
cm_status cm__scale_report_new(const cm__scale_request *asked, cm__scale_report **report, cm_diag *diag);
void      cm__scale_report_free(cm__scale_report *report);
/* A collective such as "all-reduce" or "all-reduce:bytes=N", for cm__collective_report(). */
bool      cm__is_collective(const char *text);

/* Options of `memory` and `batch`. */
typedef struct cm__memory_request {
    cm__graph_request graph; /* its fuse option is ignored: it follows the runtime */
    const char       *device;
    const char       *host, *host_file; /* as in cm_loading_options and cm__predict_request */
    cm_memory_options options;
    cm_objective      objective;
    int64_t           candidates[CM_CANDIDATES_MAX];
    int32_t           n_candidates; /* 0: the batch sizes that the device allows, or powers of two */
    bool              any;
    int32_t           prompt, generate; /* of a loop */
    cm__loop_options  loop;
} cm__memory_request;

/* A setting that makes a step fit. */
typedef struct cm__remedy {
    const char *option, *value;
    double      peak_bytes;
    double      step_time_s; /* NAN: unknown */
    const char *cost;
} cm__remedy;

typedef struct cm__curve_point {
    int64_t batch;
    double  peak_bytes;
    cm_chance chance;
} cm__curve_point;

#define CM__ALIVE_SHOWN 8
#define CM__CURVE_POINTS 24
#define CM__REMEDIES 12
#define CM__BATCH_TRIED 65536 /* largest micro-batch that `fits` tries */

typedef struct cm__memory_report {
    cm__ctx           *ctx;
    cm__memory_request asked;
    cm_device         *device;         /* owned, like the members below */
    cm_step           *on_device;
    const cm_graph    *forward, *step;
    const cm_footprint *footprint;
    cm_plan            plan;
    int64_t            batch, at_once; /* samples per step; samples on a device at a time */
    cm_memory_use      use;
    const char        *unsure;    /* as in cm__predict_report */
    cm_alive           alive[CM__ALIVE_SHOWN];
    cm__curve_point    curve[CM__CURVE_POINTS];
    cm__remedy         remedies[CM__REMEDIES];
    int32_t            n_alive, n_curve, n_remedies;
    cm_batch_choice    choice;         /* of `batch` */
    double             interval_s[2];  /* 90 % interval of the step time at `batch`; valid if `timed` */
    bool               timed;          /* the step time was predicted */
    double             step_time_s;    /* NAN: it was not */
    cm_chance          chance;
    int64_t            largest;        /* `fits`: the largest micro-batch that fits; 0: none does */
    cm__loop           loop;           /* if it was asked for */
} cm__memory_report;

cm_status cm__memory_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag);
/* The same with the largest micro-batch and with the time of each remedy. */
cm_status cm__fits_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag);
cm_status cm__batch_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag);
void      cm__memory_report_free(cm__memory_report *report);

typedef struct cm__bench_report {
    const cm_bench_options *asked;
    cm_bench               *bench;
} cm__bench_report;

typedef struct cm__rank_report {
    const char            *model;
    const cm_rank_options *asked;
    const cm_ranking      *ranking;
    bool                   brief; /* omit the lists of devices that are not ranked */
    const cm__gates       *gates; /* NULL: none; also in the reports below */
    bool                   advise;
} cm__rank_report;

/* `rank` of several networks. */
typedef struct cm__mix_report {
    const char            *models; /* as the user wrote them, separated by blanks */
    const cm_rank_options *asked;
    const cm_mix          *mix;
    const cm__gates       *gates;
} cm__mix_report;

/* "resnet50*3": a network with its weight, as a heading; and the unit of the total. */
const char *cm__network_name(cm__ctx *ctx, const cm_network *network);
const char *cm__mix_unit(const cm_mix *mix);

/* `rank --max-devices`: a whole job. */
typedef struct cm__job_report {
    const cm_job_options *asked;
    const cm_job         *job;
    const cm__gates      *gates;
} cm__job_report;

const char *cm__job_unit(const cm_job *job); /* of the number by which the entries of a job are ordered: "h", "USD" ... */

/* The offers of a table as JSON; path NULL: the built-in ones. */
cm_status cm__prices_json(const char *path, FILE *out, cm_diag *diag);

/* `lookups`: random look-ups per second of one device or of all, the fastest first; then those without a prediction. */
typedef struct cm__lookups_request {
    const char       *device; /* NULL: all */
    cm_lookup_options options;
} cm__lookups_request;
typedef struct cm__lookups_row {
    const char    *id, *reason; /* reason NULL: there is a rate */
    cm_lookup_rate rate;
} cm__lookups_row;
typedef struct cm__lookups_report {
    cm__ctx            *ctx;
    cm__lookups_request asked;
    cm__lookups_row    *rows;
    int32_t             n_rows, n_rated;
} cm__lookups_report;

cm_status   cm__lookups_report_new(const cm__lookups_request *asked, cm__lookups_report **report, cm_diag *diag);
void        cm__lookups_report_free(cm__lookups_report *report);
const char *cm__lookup_bound_name(cm_lookup_bound bound);

/* `watch-log`: a training log beside the prediction of its step. */
typedef struct cm__watch_report {
    cm__ctx            *ctx;
    const char         *path, *verdict;
    cm_train_log        log;
    cm__predict_report *predicted;   /* owned */
    bool                inside;      /* recent steps are inside the prediction's interval */
    cm__gates           gates;
    double              remaining_s; /* at the measured speed; NAN: unknown */
} cm__watch_report;

cm_status cm__watch_report_new(const char *path, const cm__predict_request *asked, cm__watch_report **report,
                               cm_diag *diag);
void      cm__watch_report_free(cm__watch_report *report);
void      cm__watch_text(cm__ctx *ctx, const cm__watch_report *report, FILE *out);
void      cm__watch_json(cm__ctx *ctx, const cm__watch_report *report, FILE *out);
void      cm__watch_csv(cm__ctx *ctx, const cm__watch_report *report, FILE *out);

/* `diff`: what changed between two saved answers. A number that an answer lacks is NAN. */
typedef struct cm__changed {
    const char *name;                  /* "stages.load_s", "ranking[nvidia-h200].step_time_s" */
    double      before, after, change; /* change: relative; INFINITY: from zero, or missing; NAN: words */
    const char *old_words, *new_words; /* of what is no number; NULL: missing */
    bool        counts;                /* it is one of the answer's figures: a limit applies to it */
} cm__changed;

typedef struct cm__changes {
    cm__changed *rows;
    int32_t      count, capacity;
} cm__changes;

typedef struct cm__diff_report {
    cm__ctx    *ctx;
    const char *paths[2], *command;
    cm__changes fields;          /* figures first, then details; the largest relative change first */
    cm__changes kernels, layers; /* the largest difference of times first; layers: sums over "h.0", "h.1" as "h.*" */
    double      limit, largest;  /* limit 0: none; largest relative change of a figure */
    bool        exceeded;
} cm__diff_report;

/* `limit`: of the relative change of figures, 0 for none. */
cm_status cm__diff_report_new(const char *old, const char *new, double limit, cm__diff_report **report, cm_diag *diag);
void      cm__diff_report_free(cm__diff_report *report);

/* A batch script for an entry of a job. */
typedef struct cm__script_options {
    const char *launcher;  /* "torchrun", "deepspeed" or "megatron" */
    const char *scheduler; /* "pbs" or "slurm"; NULL: the facility's, otherwise slurm */
} cm__script_options;

bool      cm__is_launcher(const char *name);
cm_status cm__job_script_print(const cm__job_report *report, const cm_job_entry *entry,
                               const cm__script_options *options,
                               FILE *out, cm_diag *diag);

/* Price basis of an entry: a name of cm_basis, "given" for --price, or "-" without a price. */
const char *cm__rank_basis(const cm_rank_entry *entry);
const char *cm__rank_state_name(const cm_rank_entry *entry); /* "placed", "too-uncertain" */
/* Whether the price is that of instances with more devices than the entry uses. */
bool        cm__rank_in_larger(const cm_rank_entry *entry);
/* The provider, with the devices of its instances if the entry uses fewer: "Hyperstack (8x)"; "-": no price. */
const char *cm__rank_seller(cm__ctx *ctx, const cm_rank_entry *entry);

/* `explain`: one operator of a step on one device. */
typedef struct cm__explain_side {
    double time_s, flop, bytes;
    double intensity;    /* FLOP per byte; NAN: no bytes */
    double of_ceiling;   /* roofline time divided by the time; NAN: no time */
    bool   memory_bound;
    cm_how how;          /* of its longest kernel call */
    int32_t level;            /* of cm__roof: the nearest memory with room for its bytes; -1: no bandwidth is known */
    double  attainable_flop_s; /* under the roof of that level; NAN: unknown */
} cm__explain_side;

typedef struct cm__explain_op {
    const char      *name, *type;
    cm_phase         phase;
    cm_class         op_class;
    cm__explain_side on[2]; /* on the device and on --versus; zeroed if it does not run there */
    double           weight; /* sort key: the difference of the times, or the time */
    int32_t          first;  /* place of its first node in the step */
} cm__explain_op;

/* Sum over the operators of a type in a phase. */
typedef struct cm__explain_kind {
    const char *type;
    cm_phase    phase;
    double      time_s[2], best_s[2]; /* best: at the roofline */
    int32_t     first;                /* as of operators */
} cm__explain_kind;

/* The roof of one memory level. `ridge_flop_byte`: the intensity from which on arithmetic decides. */
typedef struct cm__roof_level {
    const char *name;
    double      capacity_bytes, bw_bytes_s, ridge_flop_byte; /* capacity NAN: unknown */
} cm__roof_level;

#define CM__ROOF_LEVELS 6

typedef struct cm__roof {
    double         peak_flop_s, bw_bytes_s; /* NAN: unknown */
    const char    *memory;
    cm__roof_level levels[CM__ROOF_LEVELS]; /* with a known bandwidth, nearest to the cores first */
    int32_t        n_levels;
} cm__roof;

typedef struct cm__explain_report {
    cm__ctx            *ctx;
    const char         *versus;   /* NULL: none */
    cm__predict_report *sides[2]; /* owned */
    cm__roof            roofs[2];
    double              samples, memory_s[2], compute_s[2]; /* time of memory-bound and compute-bound operators */
    cm__explain_op     *ops;
    cm__explain_kind   *kinds;
    int32_t             n_ops, cap_ops, n_kinds, cap_kinds;
    const char         *bottleneck;
} cm__explain_report;

cm_status cm__explain_report_new(const cm__predict_request *asked, const char *versus, cm__explain_report **report,
                                 cm_diag *diag);
void      cm__explain_report_free(cm__explain_report *report);

/* `compare`: a profiler trace beside the prediction of the same step. */
typedef struct cm__difference {
    const char *what;  /* "conv", "idle: the host launches too slowly" */
    cm_phase    phase; /* CM_PHASES: of the whole step */
    double      measured_s, predicted_s;
} cm__difference;

/* One kernel call on both sides. */
typedef struct cm__compared_call {
    const char *call;
    cm_phase    phase;
    double      measured_s, predicted_s, measured_runs, predicted_runs; /* totals of a step */
    cm_how      how; /* of the prediction; CM_HOWS: not predicted */
} cm__compared_call;

typedef struct cm__compare_report {
    cm__ctx                *ctx;
    const char             *trace;
    cm__predict_report     *predicted; /* owned, like the timeline */
    cm_timeline            *timeline;
    cm__difference         *differences; /* the largest first; they add up to the whole difference */
    cm__compared_call      *calls;
    int32_t                 n_differences, cap_differences, n_calls, cap_calls;
    double                  matched_s; /* measured time of calls that the prediction has too */
} cm__compare_report;

cm_status cm__compare_report_new(const char *trace, const cm__predict_request *asked, cm__compare_report **report,
                                 cm_diag *diag);
void      cm__compare_report_free(cm__compare_report *report);

/* `fit --trace`. */
typedef struct cm__trace_fit_report {
    const char  *path, *device;
    cm_timeline *timeline;
    int32_t      rows, tables;
} cm__trace_fit_report;

/* Details of one device: operators, memory, and throughput at other batch sizes and on more devices. */
typedef struct cm__batch_point {
    int64_t batch;
    double  throughput_samples_s, interval[2], peak_bytes;
    cm_chance chance;
} cm__batch_point;

#define CM__BATCH_POINTS 16
#define CM__SCALE_POINTS 8

/* The contents of one track of a timeline: a slice is a run of calls of one phase. */
typedef struct cm__lane_slice {
    const char *name;  /* type of the operator with the longest call */
    const char *phase; /* "forward", ..., "communication", "launch" */
    double      begin_s, time_s, longest_s;
    int32_t     count; /* calls */
} cm__lane_slice;

typedef struct cm__lane {
    const char     *name;
    cm__lane_slice *slices;
    int32_t         n_slices, cap_slices;
} cm__lane;

#define CM__LANES_MOST 9
typedef struct cm__lanes {
    cm__lane    lanes[CM__LANES_MOST];
    int32_t     n_lanes;
    double      end_s;
    const char *about;
} cm__lanes;

typedef struct cm__detail {
    cm__ctx            *ctx;
    cm__explain_report *explain; /* owned; one device */
    cm_memory_use       use;
    cm__batch_point     curve[CM__BATCH_POINTS];
    cm__scale_point     scaling[CM__SCALE_POINTS]; /* data parallel, with the same batch size per replica */
    const char         *scaling_ends;              /* why there are no more points; NULL: the array is full */
    cm__lanes           lanes; /* timeline of the step */
    const cm_source    *sources[16];
    int32_t             n_curve, n_scaling, n_sources;
} cm__detail;

cm_status cm__detail_new(const cm__predict_request *asked, cm__detail **detail, cm_diag *diag);
void      cm__detail_free(cm__detail *detail);
cm_status cm__detail_print(const cm__detail *detail, FILE *out, cm_diag *diag); /* JSON */

/* The contents of a page: a ranking, and details of a few devices. */
#define CM__PAGE_DETAILS 8
#define CM__PAGE_PROFILES 32

typedef struct cm__page_report {
    cm__ctx               *ctx;
    const char            *model;
    const cm_rank_options *asked;
    const cm_job_options  *job_asked; /* NULL: single devices */
    const cm_network      *networks;  /* of several networks; `model` has all their names */
    int32_t                n_networks;
    cm_ranking            *ranking;   /* owned, like the others and the details; NULL: a job or several networks */
    cm_mix                *mix;       /* several networks on single devices */
    cm_job                *job;
    cm__detail            *details[CM__PAGE_DETAILS]; /* of the best devices; of each network on the best one */
    int32_t                n_details, n_profiles;
    struct {
        const char *id, *path;
    } profiles[CM__PAGE_PROFILES]; /* devices that were given as profile files */
} cm__page_report;

/* `job`: rank numbers of devices, plans and places for a whole job; NULL: rank single devices as `asked`.
   `networks`: several of them, which live as long as the report; n_networks 0: `model` alone. */
cm_status cm__page_report_new(const char *model, const cm_rank_options *asked, const cm_job_options *job,
                              const cm_network *networks, int32_t n_networks, cm__page_report **report, cm_diag *diag);
/* The ranking of any kind. */
int32_t              cm__page_entries(const cm__page_report *report);
int32_t              cm__page_placed(const cm__page_report *report);
const cm_rank_entry *cm__page_entry(const cm__page_report *report, int32_t index);
const cm_job_entry  *cm__page_job_entry(const cm__page_report *report, int32_t index); /* NULL: single devices */
const cm_rank_entry *cm__page_part(const cm__page_report *report, int32_t index, int32_t network); /* of several */
int32_t              cm__page_graphs(const cm__page_report *report);
const cm_graph      *cm__page_graph(const cm__page_report *report, int32_t index);
void      cm__page_report_free(cm__page_report *report);
cm_status cm__page_report_print(const cm__page_report *report, FILE *out, cm_diag *diag); /* HTML */

typedef enum cm__output_format {
    CM__FORMAT_TEXT, CM__FORMAT_JSON, CM__FORMAT_CSV, CM__FORMAT_HTML, CM__FORMATS
} cm__output_format;

cm_status cm__graph_report_print(const cm__graph_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__models_report_print(const cm__models_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__devices_report_print(const cm__devices_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag);
cm_status cm__lookups_report_print(const cm__lookups_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag);
cm_status cm__calibrate_report_print(const cm__calibrate_report *report, cm__output_format format, FILE *out,
                                     cm_diag *diag);
cm_status cm__fit_report_print(const cm__fit_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__predict_report_print(const cm__predict_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag);
cm_status cm__memory_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__batch_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__fits_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__scoreboard_print(const cm_scoreboard *scoreboard, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__bench_report_print(const cm__bench_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__plan_report_print(const cm__plan_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__collective_report(const cm__scale_request *asked, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__scale_report_print(const cm__scale_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__explain_report_print(const cm__explain_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag);
cm_status cm__watch_report_print(const cm__watch_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__diff_report_print(const cm__diff_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__job_report_print(const cm__job_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__mix_report_print(const cm__mix_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__rank_report_print(const cm__rank_report *report, cm__output_format format, FILE *out, cm_diag *diag);
/* The step as a Chrome trace; the tensors of the step as a memory snapshot of PyTorch (a pickle). */
cm_status cm__predict_report_trace(const cm__predict_report *report, FILE *out, cm_diag *diag);
cm_status cm__predict_report_snapshot(const cm__predict_report *report, FILE *out, cm_diag *diag);
cm_status cm__compare_report_print(const cm__compare_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag);
cm_status cm__trace_fit_print(const cm__trace_fit_report *report, cm__output_format format, FILE *out, cm_diag *diag);
cm_status cm__version_print(cm__output_format format, FILE *out, cm_diag *diag);

/* Replace control characters and bytes that are not UTF-8 by '?'. */
char       *cm__make_printable(char *text);

/* Write a text with lines of any length, wrapped at blanks for the width of the terminal or $COLUMNS (sheet.c). */
void cm__write_wrapped(FILE *out, const char *text);

#endif
