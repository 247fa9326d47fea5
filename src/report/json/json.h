/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - building JSON in insertion order; whatever fails ends through cm__fail(). */
#ifndef CM_REPORT_JSON_H
#define CM_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>
#include "base/ctx.h"

/* An object that begins as every answer does: schema, command, version. Released with the context. */
json_t *cm__json_answer(cm__ctx *ctx, const char *command);
void    cm__json_print(cm__ctx *ctx, const json_t *answer, FILE *out);

/* Add `value` (which is consumed; NULL: out of memory) under a key, or at the end of an array. */
json_t *cm__json_set(cm__ctx *ctx, json_t *object, const char *key, json_t *value);
json_t *cm__json_append(cm__ctx *ctx, json_t *array, json_t *value);

/* Values. Unknown (NULL, NAN) is null; a whole number below 2^53 is an integer. */
json_t *cm__json_text(cm__ctx *ctx, const char *text);
json_t *cm__json_number(double value);

/* "seq" and "tokens_s" of a model that reads token ids; null for others. samples_s NAN: no time was predicted. */
void cm__json_sequence(cm__ctx *ctx, json_t *object, int64_t seq, double samples_s);
/* "warnings": what was found odd about a model; graph NULL: nothing. */
void cm__json_warnings(cm__ctx *ctx, json_t *object, const cm_graph *graph);
/* "interval_s": the 90 % interval of a step's time; NULL: no time was predicted. */
void cm__json_interval(cm__ctx *ctx, json_t *object, const double interval_s[2]);

/* The counts of a plan into an object. */
void cm__json_plan(cm__ctx *ctx, json_t *object, const cm_plan *plan);
/* The times and rates of a prediction, as `predict` tells them. */
void cm__json_times(cm__ctx *ctx, json_t *object, const cm_prediction_info *info, double peak_bytes, bool fits);
/* What would make a step faster: "sensitivity". */
void cm__json_sensitivities(cm__ctx *ctx, json_t *object, const cm_prediction *prediction);
/* A ranking's fields. */
struct cm__rank_report;
void cm__rank_json_fill(cm__ctx *ctx, json_t *object, const struct cm__rank_report *report);

#endif
