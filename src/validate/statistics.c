/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.c - the errors of a predictor, and whether it ranks devices as the measurements do.
 *
 * An error is predicted / measured - 1. Accuracy is defined as in Xie et al. 2024, one minus the absolute error (their
 * 93.1 % is an "average error of 6.9 %"), but never negative. A mean error is not meaningful for values that differ by
 * factors, such as batch sizes. These use the median factor and the number within a factor of two. Rows that a profile
 * was fitted to are not counted, neither are look-ups and siblings unless a set has nothing else. Rows of one
 * comparison (`compare`) are one decision among devices: which device is best, the cost of the choice, and Kendall's
 * tau.
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

/* The rows of one summary. */
typedef struct selection {
    const cm_validation_row *rows;
    int32_t                  n, p;      /* p: the predictor */
    const char              *device;    /* NULL: all */
    cm_evidence              last;      /* evidence classes up to this one count */
} selection;

static cm_evidence last_counted(const cm_validation_row *rows, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (rows[i].evidence <= CM_EVIDENCE_FIRST_SIGHT && (rows[i].refused || !rows[i].reason))
            return CM_EVIDENCE_FIRST_SIGHT;
    return CM_EVIDENCE_LOOKUP;
}

static bool is_refused(const cm_validation_row *r, int32_t p) { return !p && r->refused; }

static bool counts(const selection *s, int32_t i, int32_t p)
{
    const cm_validation_row *r = &s->rows[i];
    bool answered = !isnan(r->predicted[p]) || is_refused(r, p);
    return r->evidence <= s->last && answered && (!s->device || strcmp(r->device, s->device) == 0);
}

/* A refusal of what ran is an error of 100 %, as if a result of 0 were predicted. */
static double error_of(const cm_validation_row *r, int32_t p)
{
    return isnan(r->predicted[p]) ? -1 : r->predicted[p] / r->measured - 1;
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
    if (isnan(r->predicted[p])) return INFINITY;
    return fmax(r->predicted[p] / r->measured, r->measured / r->predicted[p]);
}

/* For an even number, the geometric mean of the two middle values. */
static double median_of(double *values, int32_t n)
{
    if (!n) return NAN;
    qsort(values, (size_t)n, sizeof *values, by_size);
    return sqrt(values[(n - 1) / 2] * values[n / 2]);
}

static void add_factors(cm__ctx *ctx, cm_validation_summary *s, const selection *of)
{
    double *factors = cm__alloc_array(ctx, (size_t)of->n + 1, sizeof *factors);
    int32_t n = 0;
    for (int32_t i = 0; i < of->n; i++) {
        if (of->rows[i].kind != CM_ROW_FIGURE || !counts(of, i, of->p)) continue;
        factors[n] = factor_of(&of->rows[i], of->p);
        s->within_two += factors[n++] <= 2;
    }
    s->median_factor = median_of(factors, n);
}

static double accuracy_of(const cm_validation_row *r, int32_t p) { return fmax(0, 1 - fabs(error_of(r, p))); }

static void add_order(cm_validation_summary *s, const cm_validation_row *r, int32_t p)
{
    if (r->kind != CM_ROW_ORDER) return;
    s->pairs += (int32_t)r->measured;
    s->pairs_right += is_refused(r, p) ? 0 : (int32_t)r->predicted[p];
}

static void add_errors(cm__ctx *ctx, cm_validation_summary *s, const selection *of)
{
    double *errors = cm__alloc_array(ctx, (size_t)of->n + 1, sizeof *errors);
    double  sum = 0, signed_sum = 0, accuracy = 0;
    for (int32_t i = 0; i < of->n; i++) {
        const cm_validation_row *r = &of->rows[i];
        double                   error = error_of(r, of->p);
        if (!counts(of, i, of->p)) continue;
        add_order(s, r, of->p);
        add_memory(s, r, of->p);
        if (r->kind != CM_ROW_FIGURE) continue;
        add_interval(s, r, of->p);
        s->refused += is_refused(r, of->p);
        s->equal += error == 0;
        signed_sum += error;
        sum += fabs(error);
        accuracy += accuracy_of(r, of->p);
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

/* Compares with the first predictor on the rows that both answer. A refusal of the first one is an answer. */
static void add_shared(cm_validation_summary *s, const selection *of)
{
    double mine = 0, first = 0;
    for (int32_t i = 0; i < of->n; i++) {
        const cm_validation_row *r = &of->rows[i];
        if (r->kind != CM_ROW_FIGURE || !counts(of, i, of->p) || !counts(of, i, 0)) continue;
        s->shared++;
        mine += accuracy_of(r, of->p);
        first += accuracy_of(r, 0);
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

/* A refused device is never chosen. */
static double predicted_merit(const cm_validation_row *r, int32_t p)
{
    return isnan(r->predicted[p]) ? 0 : merit(r, r->predicted[p]);
}

static bool takes_part(const selection *s, int32_t i, const char *compare)
{
    const char *own = s->rows[i].compare;
    return own && strcmp(own, compare) == 0 && counts(s, i, s->p);
}

static decision decide(const selection *s, const char *compare)
{
    decision d = {0};
    for (int32_t i = 0; i < s->n; i++) {
        const cm_validation_row *a = &s->rows[i];
        if (!takes_part(s, i, compare)) continue;
        double measured = merit(a, a->measured), predicted = predicted_merit(a, s->p);
        d.best = fmax(d.best, measured);
        if (!d.n++ || predicted > d.chosen_by) {
            d.chosen_by = predicted;
            d.chosen = measured;
        }
        for (int32_t k = i + 1; k < s->n; k++) {
            const cm_validation_row *b = &s->rows[k];
            if (!takes_part(s, k, compare)) continue;
            double truth = measured - merit(b, b->measured), guess = predicted - predicted_merit(b, s->p);
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

static void add_decisions(cm_validation_summary *s, const selection *of)
{
    double best = 0, regret = 0, agree = 0, pairs = 0;
    for (int32_t i = 0; i < of->n; i++) {
        if (!of->rows[i].compare || !first_of_its_comparison(of->rows, i)) continue;
        decision d = decide(of, of->rows[i].compare);
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
    const selection       of = {rows, n_rows, p, device, last_counted(rows, n_rows)};
    cm_validation_summary s = {.device = device, .top1 = NAN, .regret = NAN, .tau = NAN,
                               .headline = of.last == CM_EVIDENCE_FIRST_SIGHT};
    add_errors(ctx, &s, &of);
    add_factors(ctx, &s, &of);
    add_shared(&s, &of);
    if (!device) add_decisions(&s, &of);
    return s;
}
