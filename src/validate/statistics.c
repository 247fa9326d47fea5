/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.c - the errors of a predictor, and whether it ranks devices as the measurements do.
 *
 * An error is predicted / measured - 1. Accuracy is defined as in Xie et al. 2024, one minus the absolute error (their
 * 93.1 % is an "average error of 6.9 %"), but never negative. A mean error is not meaningful for values that differ by
 * factors, such as batch sizes. These use the median factor and the number within a factor of two. Rows that a profile
 * was fitted to are not counted. Rows of one comparison (`compare`) are one decision among devices: which device is
 * best, the cost of the choice, and Kendall's tau.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "validate/validate.h"

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool counts(const cm_validation_row *r, int32_t p, const char *device)
{
    return r->evidence != CM_EVIDENCE_FITTED && !isnan(r->predicted[p]) && (!device || strcmp(r->device, device) == 0);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static void add_interval(cm_validation_summary *s, const cm_validation_row *r, int32_t p)
{
    if (p || isnan(r->interval[0]) || isnan(r->interval[1])) return;
    s->intervals++;
    s->inside += r->measured >= r->interval[0] && r->measured <= r->interval[1];
}

static void add_memory(cm_validation_summary *s, const cm_validation_row *r, int32_t p)
{
    if (p || r->fits < 0) return;
    s->false_oom += r->ran && !r->fits;
    s->missed_oom += !r->ran && r->fits;
}

static double factor_of(const cm_validation_row *r, int32_t p)
{
    return fmax(r->predicted[p] / r->measured, r->measured / r->predicted[p]);
}

/* For an even number, the geometric mean of the two middle values. */
static double median_of(double *values, int32_t n)
{
    if (!n) return NAN;
    qsort(values, (size_t)n, sizeof *values, by_size);
    return sqrt(values[(n - 1) / 2] * values[n / 2]);
}

static void add_factors(cm__ctx *ctx, cm_validation_summary *s, const cm_validation_row *rows, int32_t n_rows,
                        int32_t p, const char *device)
{
    double *factors = cm__alloc_array(ctx, (size_t)n_rows + 1, sizeof *factors);
    int32_t n = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        if (rows[i].kind != CM_ROW_FIGURE || !counts(&rows[i], p, device)) continue;
        factors[n] = factor_of(&rows[i], p);
        s->within_two += factors[n++] <= 2;
    }
    s->median_factor = median_of(factors, n);
}

static double accuracy_of(const cm_validation_row *r, int32_t p)
{
    return fmax(0, 1 - fabs(r->predicted[p] / r->measured - 1));
}

static void add_errors(cm__ctx *ctx, cm_validation_summary *s, const cm_validation_row *rows, int32_t n_rows, int32_t p,
                       const char *device)
{
    double *errors = cm__alloc_array(ctx, (size_t)n_rows + 1, sizeof *errors);
    double  sum = 0, signed_sum = 0, accuracy = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        const cm_validation_row *r = &rows[i];
        double                   error = r->predicted[p] / r->measured - 1;
        if (!counts(r, p, device)) continue;
        s->pairs += r->kind == CM_ROW_ORDER ? (int32_t)r->measured : 0;
        s->pairs_right += r->kind == CM_ROW_ORDER ? (int32_t)r->predicted[p] : 0;
        add_memory(s, r, p);
        if (r->kind != CM_ROW_FIGURE) continue;
        add_interval(s, r, p);
        s->equal += error == 0;
        signed_sum += error;
        sum += fabs(error);
        accuracy += accuracy_of(r, p);
        errors[s->n++] = fabs(error);
    }
    if (s->n) qsort(errors, (size_t)s->n, sizeof *errors, by_size);
    s->mape = s->n ? sum / s->n : NAN;
    s->bias = s->n ? signed_sum / s->n : NAN;
    s->accuracy = s->n ? accuracy / s->n : NAN;
    s->worst = s->n ? errors[s->n - 1] : NAN;
    s->median = s->n ? errors[s->n / 2] : NAN;
    s->p90 = s->n ? errors[(int32_t)(0.9 * (s->n - 1) + 0.5)] : NAN;
}

/* Compares with the first predictor on the rows that both answer. */
static void add_shared(cm_validation_summary *s, const cm_validation_row *rows, int32_t n_rows, int32_t p,
                       const char *device)
{
    double mine = 0, first = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        if (rows[i].kind != CM_ROW_FIGURE || !counts(&rows[i], p, device) || !counts(&rows[i], 0, device)) continue;
        s->shared++;
        mine += accuracy_of(&rows[i], p);
        first += accuracy_of(&rows[i], 0);
    }
    s->shared_accuracy = s->shared ? mine / s->shared : NAN;
    s->own_accuracy = s->shared ? first / s->shared : NAN;
}

/* ---- decisions -------------------------------------------------------------------------------------------------- */

typedef struct decision {
    /* measured merit of the best device and of the chosen one; predicted merit of the chosen one */
    double  best, chosen, chosen_by;
    double  agree, pairs;
    int32_t n;
} decision;

/* Larger is better. */
static double merit(const cm_validation_row *r, double value) { return r->better < 0 ? 1 / value : value; }

static decision decide(const cm_validation_row *rows, int32_t n_rows, int32_t p, const char *compare)
{
    decision d = {0};
    for (int32_t i = 0; i < n_rows; i++) {
        const cm_validation_row *a = &rows[i];
        if (!a->compare || strcmp(a->compare, compare) || !counts(a, p, NULL)) continue;
        double measured = merit(a, a->measured), predicted = merit(a, a->predicted[p]);
        d.best = fmax(d.best, measured);
        if (!d.n++ || predicted > d.chosen_by) {
            d.chosen_by = predicted;
            d.chosen = measured;
        }
        for (int32_t k = i + 1; k < n_rows; k++) {
            const cm_validation_row *b = &rows[k];
            if (!b->compare || strcmp(b->compare, compare) || !counts(b, p, NULL)) continue;
            double truth = measured - merit(b, b->measured), guess = predicted - merit(b, b->predicted[p]);
            d.pairs += truth != 0;
            d.agree += truth * guess > 0 ? 1 : truth * guess < 0 ? -1 : 0;
        }
    }
    return d;
}

static bool first_of_its_comparison(const cm_validation_row *rows, int32_t at)
{
    for (int32_t i = 0; i < at; i++)
        if (rows[i].compare && strcmp(rows[i].compare, rows[at].compare) == 0) return false;
    return true;
}

static void add_decisions(cm_validation_summary *s, const cm_validation_row *rows, int32_t n_rows, int32_t p)
{
    double best = 0, regret = 0, agree = 0, pairs = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        if (!rows[i].compare || !first_of_its_comparison(rows, i)) continue;
        decision d = decide(rows, n_rows, p, rows[i].compare);
        if (d.n < 2) continue;
        s->decisions++;
        best += d.chosen == d.best;
        regret += 1 - d.chosen / d.best;
        agree += d.agree;
        pairs += d.pairs;
    }
    s->top1 = s->decisions ? best / s->decisions : NAN;
    s->regret = s->decisions ? regret / s->decisions : NAN;
    s->tau = pairs > 0 ? agree / pairs : NAN;
}

cm_validation_summary cm__summarise(cm__ctx *ctx, const cm_validation_row *rows, int32_t n_rows, int32_t p,
                                    const char *device)
{
    cm_validation_summary s = {.device = device, .top1 = NAN, .regret = NAN, .tau = NAN};
    add_errors(ctx, &s, rows, n_rows, p, device);
    add_factors(ctx, &s, rows, n_rows, p, device);
    add_shared(&s, rows, n_rows, p, device);
    if (!device) add_decisions(&s, rows, n_rows, p);
    return s;
}
