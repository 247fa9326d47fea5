/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - build JSON in insertion order; failures call cm__fail(). */
#ifndef CM_REPORT_JSON_H
#define CM_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>
#include "report/report.h"

/* A new object with the members that every report starts with: schema, command, version. Released with the context. */
json_t *cm__json_answer(cm__ctx *ctx, const char *command);
void    cm__json_print(cm__ctx *ctx, const json_t *answer, FILE *out);

/* Add `value` (which is consumed; NULL: out of memory) under a key, or at the end of an array. */
json_t *cm__json_set(cm__ctx *ctx, json_t *object, const char *key, json_t *value);
json_t *cm__json_append(cm__ctx *ctx, json_t *array, json_t *value);

/* Values. Unknown (NULL, NAN) becomes null; a whole number below 2^53 becomes an integer. */
json_t *cm__json_text(cm__ctx *ctx, const char *text);
json_t *cm__json_number(double value);

/* "seq" and "tokens_s" of a model of token sequences; null for others. samples_s NAN: no time was predicted. */
void cm__json_sequence(cm__ctx *ctx, json_t *object, int64_t seq, double samples_s);
/* `storage`: the type of the stored weights; CM_DTYPES: that of the computation, written as null. */
void cm__json_storage(cm__ctx *ctx, json_t *object, cm_dtype stored);
/* `precision`: what the step computes in; `storage`: the type of the stored weights where it is another one, or null. */
void cm__json_precision(cm__ctx *ctx, json_t *object, const cm_graph *step);
/* With samples of several lengths: their mean, and how they are put together. */
void cm__json_samples(cm__ctx *ctx, json_t *object, const cm_load_options *load);
/* With samples of several lengths: their mean, how they are put together, and tokens/s without padding. */
void cm__json_lengths(cm__ctx *ctx, json_t *object, const cm_load_options *load, int64_t row_tokens, double samples_s);
/* "loop", if it was asked for. timed: with the times of its phases. */
struct cm__predict_request;
struct cm__loop;
void cm__json_loop(cm__ctx *ctx, json_t *answer, const struct cm__predict_request *asked, const struct cm__loop *loop,
                   bool timed);
/* "assumed": what the device's profile does not state. */
void cm__json_assumed(cm__ctx *ctx, json_t *object, const cm_device *device);
/* "warnings" of a graph; graph NULL: none. */
void cm__json_warnings(cm__ctx *ctx, json_t *object, const cm_graph *graph);
/* "gates", if there are any. */
void cm__json_gates(cm__ctx *ctx, json_t *object, const cm__gates *gates);
/* "interval_s": the 90 % interval of a step's time; NULL: no time was predicted. */
void cm__json_interval(cm__ctx *ctx, json_t *object, const double interval_s[2]);

/* Add the sizes of a plan to an object. */
void cm__json_plan(cm__ctx *ctx, json_t *object, const cm_plan *plan);
/* Add the times and rates of a prediction. */
void cm__json_times(cm__ctx *ctx, json_t *object, const cm_prediction_info *info, double peak_bytes,
                    const cm_chance *chance);
/* "verdict", "probability" and "fits", which is chance->likely. */
/* "compiler": present only if a captured step has the answer of the chip's compiler. */
void cm__json_compiled(cm__ctx *ctx, json_t *object, const cm_graph *step, const cm_memory_use *use);
void cm__json_verdict(cm__ctx *ctx, json_t *object, const cm_chance *chance);
/* "sensitivity": improvements of the device that would shorten the step. */
void cm__json_sensitivities(cm__ctx *ctx, json_t *object, const cm_prediction *prediction);
/* "roofs": the roofs of a cache-aware roofline; "level" and "attainable_flop_s" of an operator under them. */
struct cm__roof;
struct cm__explain_side;
void cm__json_roofs(cm__ctx *ctx, json_t *object, const struct cm__roof *roof);
void cm__json_level(cm__ctx *ctx, json_t *object, const struct cm__roof *roof, const struct cm__explain_side *side);
/* Add the fields of one device of a ranking of several networks. place 0: it is not ranked. */
void cm__mix_json_total(cm__ctx *ctx, json_t *object, const cm_rank_entry *total, int32_t place);
struct cm__mix_report;
void cm__mix_json_fill(cm__ctx *ctx, json_t *object, const struct cm__mix_report *report);
/* Add the fields of one device of a ranking. place 0: it is not ranked; seq: tokens of the longest sample, 0: none;
   tokens: of the mean one. */
void cm__rank_json_entry(cm__ctx *ctx, json_t *object, const cm_rank_entry *entry, int32_t place, int64_t seq,
                         double tokens);
/* Add the fields of a ranking. */
struct cm__rank_report;
void cm__rank_json_fill(cm__ctx *ctx, json_t *object, const struct cm__rank_report *report);
struct cm__job_report;
void cm__job_json_fill(cm__ctx *ctx, json_t *object, const struct cm__job_report *report);

#endif
