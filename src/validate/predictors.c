/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.c - predictors of batch sizes and peak memory that a set can name. */
#include <math.h>
#include <string.h>
#include "validate/validate.h"

static double chosen_by(cm__case *c, cm_objective objective)
{
    const cm_batch_options by_objective = {.objective = objective};
    cm_step               *step;
    cm_batch_choice        choice = {0};
    cm_diag                diag = {0};
    cm_status              status = cm__case_step(c, NULL, &step, &diag);
    if (!status) {
        status = cm_step_choose_batch(step, &by_objective, &choice, &diag);
        cm_step_free(step);
    }
    cm__case_give_up(c, status, &diag);
    if (!status && !choice.batch) c->reason = "predicted not to fit at any batch size";
    return choice.batch ? (double)choice.batch : NAN;
}

static double predict_batch(cm__case *c) { return chosen_by(c, CM_OBJECTIVE_MEMORY); }
static double predict_knee(cm__case *c) { return chosen_by(c, CM_OBJECTIVE_KNEE); }

static double peak_of(cm__case *c, bool exact)
{
    cm_step      *step;
    cm_memory_use use = {.peak_bytes = NAN};
    cm_diag       diag = {0};
    cm_status     status = cm__case_step(c, NULL, &step, &diag);
    if (!status) {
        if (exact) status = cm_step_memory(step, c->batch, &use, &diag);
        else cm_footprint_at(cm_step_footprint(step), c->batch, &use);
        cm_step_free(step);
    }
    cm__case_give_up(c, status, &diag);
    return status ? NAN : use.peak_bytes;
}

static double predict_memory(cm__case *c) { return peak_of(c, true); }
static double predict_polynomials(cm__case *c) { return peak_of(c, false); }

static double predict_lifetimes(cm__case *c)
{
    cm_totals totals;
    cm_graph_totals(c->step, c->batch, &totals);
    return totals.peak_bytes;
}

static double predict_published(cm__case *c) { return cm__number_of(c->run, "published", NAN); }

static const struct {
    const char        *name;
    cm__own_predictor *predict;
} predictors[] = {
    {"batch", predict_batch},
    {"knee", predict_knee},
    {"lifetimes", predict_lifetimes},
    {"memory", predict_memory},
    {"polynomials", predict_polynomials},
    {"published", predict_published},
    {"shares", cm__predict_by_shares},
};

cm__own_predictor *cm__own_predictor_named(const char *name)
{
    for (size_t i = 0; i < sizeof predictors / sizeof *predictors; i++)
        if (strcmp(predictors[i].name, name) == 0) return predictors[i].predict;
    return NULL;
}
