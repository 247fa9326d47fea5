/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - the table of output formats, the functions that print reports in them, and the words that these share. */
#ifndef CM_REPORT_RENDER_H
#define CM_REPORT_RENDER_H

#include "report/report.h"

/* An output format. NULL: the format does not support that report. Failures call cm__fail(). */
typedef struct cm__renderer {
    const char *name;
    void (*graph)(cm__ctx *ctx, const cm__graph_report *report, FILE *out);
    void (*models)(cm__ctx *ctx, const cm__models_report *report, FILE *out);
    void (*devices)(cm__ctx *ctx, const cm__devices_report *report, FILE *out);
    void (*lookups)(cm__ctx *ctx, const cm__lookups_report *report, FILE *out);
    void (*version)(cm__ctx *ctx, FILE *out);
    void (*fit)(cm__ctx *ctx, const cm__fit_report *report, FILE *out);
    void (*calibrate)(cm__ctx *ctx, const cm__calibrate_report *report, FILE *out);
    void (*predict)(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
    void (*memory)(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
    void (*batch)(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
    void (*fits)(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
    void (*validate)(cm__ctx *ctx, const cm_scoreboard *scoreboard, FILE *out);
    void (*bench)(cm__ctx *ctx, const cm__bench_report *report, FILE *out);
    void (*plan)(cm__ctx *ctx, const cm__plan_report *report, FILE *out);
    void (*scale)(cm__ctx *ctx, const cm__scale_report *report, FILE *out);
    void (*explain)(cm__ctx *ctx, const cm__explain_report *report, FILE *out);
    void (*rank)(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
    void (*mix)(cm__ctx *ctx, const cm__mix_report *report, FILE *out);
    void (*watch)(cm__ctx *ctx, const cm__watch_report *report, FILE *out);
    void (*job)(cm__ctx *ctx, const cm__job_report *report, FILE *out);
    void (*compare)(cm__ctx *ctx, const cm__compare_report *report, FILE *out);
    void (*trace_fit)(cm__ctx *ctx, const cm__trace_fit_report *report, FILE *out);
    void (*diff)(cm__ctx *ctx, const cm__diff_report *report, FILE *out);
} cm__renderer;

extern const cm__renderer cm__renderers[CM__FORMATS];

void cm__graph_text(cm__ctx *ctx, const cm__graph_report *report, FILE *out);
void cm__graph_json(cm__ctx *ctx, const cm__graph_report *report, FILE *out);
void cm__graph_csv(cm__ctx *ctx, const cm__graph_report *report, FILE *out);
void cm__models_text(cm__ctx *ctx, const cm__models_report *report, FILE *out);
void cm__models_json(cm__ctx *ctx, const cm__models_report *report, FILE *out);
void cm__models_csv(cm__ctx *ctx, const cm__models_report *report, FILE *out);
void cm__devices_text(cm__ctx *ctx, const cm__devices_report *report, FILE *out);
void cm__devices_show(cm__ctx *ctx, const cm__devices_report *report, FILE *out); /* text, one device or cluster */
void cm__devices_json(cm__ctx *ctx, const cm__devices_report *report, FILE *out);
void cm__devices_csv(cm__ctx *ctx, const cm__devices_report *report, FILE *out);
void cm__lookups_text(cm__ctx *ctx, const cm__lookups_report *report, FILE *out);
void cm__lookups_json(cm__ctx *ctx, const cm__lookups_report *report, FILE *out);
void cm__lookups_csv(cm__ctx *ctx, const cm__lookups_report *report, FILE *out);
void cm__calibrate_text(cm__ctx *ctx, const cm__calibrate_report *report, FILE *out);
void cm__calibrate_json(cm__ctx *ctx, const cm__calibrate_report *report, FILE *out);
void cm__fit_text(cm__ctx *ctx, const cm__fit_report *report, FILE *out);
void cm__fit_json(cm__ctx *ctx, const cm__fit_report *report, FILE *out);
void cm__fit_csv(cm__ctx *ctx, const cm__fit_report *report, FILE *out);
void cm__predict_text(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
void cm__predict_json(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
void cm__predict_csv(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
/* A sentence about the bottleneck of a step. */
const char *cm__bottleneck(cm__ctx *ctx, const cm__predict_report *report);
/* How a device that divides batches itself makes a step fit: micro-batches, several devices, recomputation; NULL: none
   of these was necessary. */
/* "none", "selective", "full", or "full:20" if 20 layers are recomputed, as --recompute takes it. */
const char *cm__recompute_text(cm__ctx *ctx, const cm_plan *plan);
/* "cores 154, clock_hz 1.8 GHz": what the device's profile does not state; NULL: nothing. */
const char *cm__assumed_text(cm__ctx *ctx, const cm_device *device);
/* "3.2 days", "5.1 h", "12 min", "45 s" */
const char *cm__duration_text(cm__ctx *ctx, double s);
/* Time that the place adds to the steps of a job: interruptions, or the queue of a facility. NULL: nothing. */
const char *cm__place_sentence(cm__ctx *ctx, const cm_job_entry *entry);
/* What the chip's compiler said of a captured step; NULL: nothing. */
const char *cm__compiled_text(cm__ctx *ctx, const cm_graph *step, const cm_memory_use *use);
const char *cm__division_text(cm__ctx *ctx, int64_t batch, int64_t micro_batch, int32_t devices, bool recomputes);
void cm__fits_text(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__fits_json(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__fits_csv(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__memory_text(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__memory_json(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__memory_csv(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__batch_text(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__batch_json(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__batch_csv(cm__ctx *ctx, const cm__memory_report *report, FILE *out);
void cm__validate_text(cm__ctx *ctx, const cm_scoreboard *scoreboard, FILE *out);
void cm__validate_json(cm__ctx *ctx, const cm_scoreboard *scoreboard, FILE *out);
void cm__validate_csv(cm__ctx *ctx, const cm_scoreboard *scoreboard, FILE *out);
void cm__validate_html(cm__ctx *ctx, const cm_scoreboard *scoreboard, FILE *out);
void cm__bench_text(cm__ctx *ctx, const cm__bench_report *report, FILE *out);
void cm__bench_json(cm__ctx *ctx, const cm__bench_report *report, FILE *out);
void cm__plan_text(cm__ctx *ctx, const cm__plan_report *report, FILE *out);
void cm__plan_json(cm__ctx *ctx, const cm__plan_report *report, FILE *out);
void cm__plan_csv(cm__ctx *ctx, const cm__plan_report *report, FILE *out);
void cm__scale_text(cm__ctx *ctx, const cm__scale_report *report, FILE *out);
void cm__scale_json(cm__ctx *ctx, const cm__scale_report *report, FILE *out);
void cm__scale_csv(cm__ctx *ctx, const cm__scale_report *report, FILE *out);
void cm__explain_text(cm__ctx *ctx, const cm__explain_report *report, FILE *out);
void cm__explain_json(cm__ctx *ctx, const cm__explain_report *report, FILE *out);
void cm__explain_csv(cm__ctx *ctx, const cm__explain_report *report, FILE *out);
void cm__mix_text(cm__ctx *ctx, const cm__mix_report *report, FILE *out);
void cm__mix_json(cm__ctx *ctx, const cm__mix_report *report, FILE *out);
void cm__mix_csv(cm__ctx *ctx, const cm__mix_report *report, FILE *out);
void cm__rank_text(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
void cm__rank_json(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
/* json/rank.c: commands that measure a device for a model; NULL: none. */
void cm__rank_commands(cm__ctx *ctx, const char *model, const cm_measurement *m, char *commands[2]);
void cm__rank_csv(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
void cm__job_text(cm__ctx *ctx, const cm__job_report *report, FILE *out);
void cm__job_json(cm__ctx *ctx, const cm__job_report *report, FILE *out);
void cm__job_csv(cm__ctx *ctx, const cm__job_report *report, FILE *out);
void cm__job_script(cm__ctx *ctx, const cm__job_report *report, const cm_job_entry *entry,
                    const cm__script_options *options, FILE *out);
void cm__compare_text(cm__ctx *ctx, const cm__compare_report *report, FILE *out);
void cm__compare_json(cm__ctx *ctx, const cm__compare_report *report, FILE *out);
void cm__trace_fit_text(cm__ctx *ctx, const cm__trace_fit_report *report, FILE *out);
void cm__trace_fit_json(cm__ctx *ctx, const cm__trace_fit_report *report, FILE *out);
void cm__version_text(cm__ctx *ctx, FILE *out);
void cm__version_json(cm__ctx *ctx, FILE *out);

/* Plain name of a category of memory: "activations" for input_output. JSON uses cm_category_name(). */
const char *cm__category_words(cm_category category);
const char *cm__optimizer_used(const cm__graph_report *report); /* NULL: inference */
const char *cm__loss_used(const cm__graph_report *report);      /* NULL: inference */

/* Costs of one node at a batch size. */
typedef struct cm__node_cost {
    double flop, read_bytes, write_bytes;
    double intensity; /* FLOP per byte; NAN: no bytes */
} cm__node_cost;

cm__node_cost cm__node_cost_at(const cm_node *node, int64_t batch);

/* text/loop.c: a table of a loop's phases. timed: with their times. */
void cm__print_loop(cm__ctx *ctx, const cm__loop *loop, bool timed, FILE *out);
/* ", sequence length 1024", or "" if the model's inputs are not tokens. */
const char *cm__seq_text(cm__ctx *ctx, const cm_graph *graph);
/* " at most, samples of 300 tokens in the mean, padded to 410"; "" if all samples have one length. step NULL: without
   the length that they are padded to. */
/* "amp-bf16"; where the name does not imply in which type the trained weights are stored: "bf16 with fp32 master weights". */
const char *cm__precision_text(cm__ctx *ctx, const cm_graph *step);
const char *cm__lengths_text(cm__ctx *ctx, const cm_load_options *load, const cm_step *step, int64_t batch);
/* "Bx3x224x224", "scalar"; B is the batch size. */
const char *cm__shape_text(cm__ctx *ctx, const cm_tensor *tensor);
/* Shape of the first output of a node, or "-". */
const char *cm__node_shape(cm__ctx *ctx, const cm_graph *graph, const cm_node *node);
const char *cm__fits_word(const cm_chance *chance); /* yes, unsure, no */
/* Whether it fits with each kind of script that is open, and how to say which one it is; NULL: nothing is open. */
const char *cm__open_text(cm__ctx *ctx, const cm_memory_use *use);
const char *cm__unsure(cm__ctx *ctx, const cm_memory_use *use); /* a warning if the script decides; NULL: it does not */
const char *cm__printable(cm__ctx *ctx, const char *text); /* a copy by cm__make_printable() */
/* The limits that were asked for, a sentence each. */
void cm__print_gates(cm__ctx *ctx, FILE *out, int label_width, const cm__gates *gates);
void cm__diff_text(cm__ctx *ctx, const cm__diff_report *report, FILE *out);
void cm__diff_json(cm__ctx *ctx, const cm__diff_report *report, FILE *out);
/* Print "# label       text" with the prefix "# "; nothing if `text` is NULL or empty. */
void cm__print_note(cm__ctx *ctx, FILE *out, const char *prefix, const char *label, int label_width, const char *text);

#endif
