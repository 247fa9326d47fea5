/* SPDX-License-Identifier: Apache-2.0 */
/* size.c - the size of a job: samples in all, and samples per update. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "graph/graph.h"
#include "job/job.h"
#include "job/tables.h"
#include "model/step/loading.h"

#define ASSUMED_SAMPLES 1e6   /* if the user gives no size, as in rank/job.c */
#define UPDATES_LEAST 100     /* of an epoch: an assumed batch leaves at least so many (our choice) */
#define BATCH_LEAST 32

enum { KIND, PARAMETERS, BATCH, UNIT, SOURCE, COLUMNS };

static double parameters_of(const cm_graph *forward)
{
    double sum = 0;
    for (int32_t t = 0; t < cm_graph_tensors(forward); t++) {
        const cm_tensor *x = cm_graph_tensor(forward, t);
        if (cm_tensor_role(x) == CM_ROLE_PARAMETER) sum += cm_tensor_elements(x).c[0];
    }
    return sum;
}

static int64_t power_below(double x)
{
    int64_t n = 1;
    while (2.0 * (double)n <= x) n *= 2;
    return n;
}

/* The batch size of published recipes of such models. */
static double recipe_batch(cm_job *j, const cm_graph *forward)
{
    const cm_tuning *t = &j->options.rank.train.tuning;
    bool             tuning = t->rank > 0 || t->quantize || t->freeze;
    double           seq = j->info.tokens_per_sample, parameters = parameters_of(forward);
    const char      *kind = tuning ? "tuning" : seq > 0 ? "tokens" : "samples", *c[CM__CELLS_MAX];
    cm__lines         rows = {.ctx = j->ctx, .at = cm__table_batches, .name = "data/batches.tsv", .columns = COLUMNS};
    while (cm__lines_next(&rows, c)) {
        if (strcmp(c[KIND], kind) != 0 || parameters > cm__lines_number(&rows, c[PARAMETERS])) continue;
        double batch = cm__lines_number(&rows, c[BATCH]);
        return strcmp(c[UNIT], "tokens") == 0 ? batch / seq : batch;
    }
    return BATCH_LEAST;
}

/* Bytes of a checkpoint: fp32 weights and optimizer states. Adapters are small; their checkpoints take no time. */
static double state_bytes(const cm_job *j, const cm_graph *forward)
{
    static const double numbers[CM_OPTIMIZERS] = {[CM_OPTIMIZER_SGD] = 1, [CM_OPTIMIZER_MOMENTUM] = 2,
                                                  [CM_OPTIMIZER_ADAM] = 3, [CM_OPTIMIZER_ADAMW] = 3};
    const cm_train_options *t = &j->options.rank.train;
    cm_optimizer            optimizer = t->optimizer ? t->optimizer : cm_graph_optimizer(forward);
    bool                    adapters = t->tuning.rank > 0;
    return adapters ? 0 : sizeof(float) * numbers[optimizer] * parameters_of(forward);
}

static void choose_batch(cm_job *j, const cm_graph *forward, double epoch)
{
    j->info.global_batch = j->options.global_batch;
    if (j->info.global_batch) return;
    double recipe = exp2(round(log2(recipe_batch(j, forward)))); /* 2M tokens are 244 sequences of 8,192: 256 */
    double batch = fmin(recipe, fmax(epoch / UPDATES_LEAST, BATCH_LEAST));
    j->info.global_batch = power_below(fmax(1, fmin(batch, epoch)));
    j->info.batch_assumed = true;
}

/* Samples of an epoch: as the user says, or of the data set. */
static double epoch_of(cm_job *j, const cm_graph *forward, double seq)
{
    const cm_rank_options *o = &j->options.rank;
    if (o->tokens > 0 && seq > 0) return o->tokens / seq;
    if (o->samples > 0) return o->samples;
    return o->loading.dataset ? cm__dataset_of(j->ctx, o->loading.dataset, forward).samples : 0;
}

void cm__job_read_size(cm_job *j)
{
    const cm_rank_options *o = &j->options.rank;
    const cm_graph        *forward = j->searches[0].forward;
    double                 seq = (double)cm_graph_seq(forward), epochs = o->epochs > 0 ? o->epochs : 1;
    char                   amount[32];
    bool by_tokens = o->tokens > 0 && seq > 0;
    if (o->tokens > 0 && !by_tokens && !(o->samples > 0))
        cm__fail(j->ctx, CM_ERR_ARGUMENT, "this model takes no tokens; give --samples N instead");
    double each = epoch_of(j, forward, seq);
    j->info.assumed = !(each > 0);
    if (j->info.assumed) each = ASSUMED_SAMPLES;
    j->info.tokens_per_sample = seq;
    j->info.samples = epochs * each;
    cm__amount(amount, sizeof amount, epochs * (by_tokens ? o->tokens : each));
    j->info.text = cm__format(j->ctx, "%s %s", amount, by_tokens ? "tokens" : "samples");
    if (o->epochs > 0) j->info.text = cm__format(j->ctx, "%s in %g epochs", j->info.text, epochs);
    choose_batch(j, forward, each);
    j->state_bytes = state_bytes(j, forward);
}
