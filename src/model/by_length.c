/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_length.c - samples of several lengths.
 *
 * A padded micro-batch has rows of its longest sample, an unpadded one as many tokens as its samples have; replicas
 * wait for the one with the most. A packed row of N tokens with attention inside the samples is N / mean short samples:
 * every other operator does the same work for them.
 */
#include "model/by_length.h"

#include <math.h>

typedef struct cm__of_length {
    int64_t               tokens;
    cm_step              *step;
    struct cm__of_length *next;
} of_length;

static void free_step(void *step) { cm_step_free(step); }

double cm_load_tokens(const cm_load_options *load, int64_t seq)
{
    return load->tokens > 0 && load->samples != CM_SAMPLES_PACKED ? load->tokens : (double)seq;
}

void cm__lengths_check(cm__ctx *ctx, double mean, int64_t longest)
{
    if (!longest) cm__fail(ctx, CM_ERR_ARGUMENT, "--tokens-per-sample: the model has no sequences");
    if (mean > (double)longest)
        cm__fail(ctx, CM_ERR_ARGUMENT, "a mean of %g tokens per sample exceeds the longest sample of %lld (--seq)",
                 mean, (long long)longest);
}

int64_t cm__samples_per_row(const cm__by_length *b)
{
    bool packed = b->model && b->options->load.samples == CM_SAMPLES_PACKED;
    return packed ? (int64_t)fmax(1, round((double)b->longest / b->options->load.tokens)) : 1;
}

/* Rows are divided among the devices of a plan, with context parallelism into two parts for each. */
static int64_t unit_of(const cm_plan *plan)
{
    return (int64_t)plan->tp * plan->cp * (plan->cp > 1 ? 2 : 1);
}

int64_t cm__row_tokens(const cm__by_length *b, const cm_plan *plan, int64_t at_once)
{
    const cm_load_options *load = &b->options->load;
    double                 count = (double)at_once, devices = plan->dp > 1 ? plan->dp : 1;
    int64_t                unit = unit_of(plan), sample = b->longest / cm__samples_per_row(b);
    if (load->samples == CM_SAMPLES_PACKED) return sample > unit ? sample / unit * unit : sample;
    cm__lengths lengths = cm__lengths_of(load->tokens, (double)b->longest);
    double      tokens = load->samples == CM_SAMPLES_PADDED ? cm__longest_of(&lengths, count * devices)
                                                            : cm__busiest_of(&lengths, devices, count);
    int64_t     whole = (int64_t)ceil(tokens / (double)unit) * unit; /* tokens are divided among these devices */
    return whole < b->longest ? whole : b->longest;
}

cm_status cm__step_of_length(cm__by_length *b, int64_t tokens, cm_step **step, cm_diag *diag)
{
    for (of_length *x = b->steps; x; x = x->next)
        if (x->tokens == tokens) return *step = x->step, CM_OK;
    cm_step_options o = *b->options;
    int64_t         samples = cm__samples_per_row(b);
    o.load.seq = tokens;
    o.load.tokens = 0;
    o.plan.micro_batch *= samples;
    o.plan.global_batch *= samples;
    cm_status status = cm_step_new(b->model, b->device, &o, step, diag);
    if (status) return status;
    cm__ctx *ctx = b->ctx;
    if (setjmp(ctx->trap)) return cm_step_free(*step), CM_ERR_MEMORY;
    of_length *x = cm__alloc(ctx, sizeof *x);
    cm__defer(ctx, free_step, *step);
    *x = (of_length){tokens, *step, b->steps};
    b->steps = x;
    return CM_OK;
}

#define SHORTEST 8 /* tokens of the longest sample; below them lengths hardly vary */

/* At the longest, and about half and a quarter of it. */
cm_status cm__reserve_varied(cm__by_length *b, const cm_footprint *longest, int64_t at_once, cm_memory_use *use,
                             cm_diag *diag)
{
    const cm_load_options *load = &b->options->load;
    cm__varied v = {.at = {longest}, .length = {(double)b->longest}, .padded = load->samples == CM_SAMPLES_PADDED,
                    .lengths = cm__lengths_of(load->tokens, (double)b->longest)};
    cm_status  status = CM_OK;
    double     reserved = 0;
    int64_t    unit = unit_of(&longest->options.plan);
    if (b->longest < SHORTEST * unit) return CM_OK;
    for (int i = 1; i < CM__VARIED_LENGTHS && !status; i++) {
        cm_step *step;
        int64_t  tokens = (b->longest >> i) / unit * unit;
        v.length[i] = (double)tokens;
        status = cm__step_of_length(b, tokens, &step, diag);
        if (!status) v.at[i] = cm_step_footprint(step);
    }
    if (status || !cm__varied_applies(&v)) return status;
    status = cm__varied_reserved(&v, at_once, &reserved, diag);
    if (status) return status;
    double more = fmax(0, reserved - use->reserved_bytes);
    use->reserved_bytes += more;
    if (use->n_levels == 1) use->levels[0].used_bytes += more;
    return CM_OK;
}
