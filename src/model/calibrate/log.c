/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - read a log of real training steps. */
#include "model/calibrate/log.h"

#include "base/csv.h"
#include "base/text.h"

#define NUMBER_MAX 1000000000
#define TIME_LEAST_S 1e-9
#define TIME_MAX_S 1e6

enum { MODEL, BATCH, PRECISION, STEP_TIME, SEQ, RUNTIME, OPTIMIZER, FIELDS };
static const char *const field_names[FIELDS] = {"model", "batch",   "precision", "step_time_s",
                                                "seq",   "runtime", "optimizer"};
#define NEEDED 4 /* the first columns are mandatory */

static int64_t whole(const cm__csv *in, const cm__span *f, int field)
{
    int64_t value;
    if (f[field].length == 0 && field == SEQ) return 0;
    if (!cm__parse_int(f[field], &value) || value < 1 || value > NUMBER_MAX)
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: %s is not a whole number from 1 to %d", in->line, field_names[field],
                 NUMBER_MAX);
    return value;
}

static const char *text_of(cm__ctx *ctx, cm__span field) { return cm__text_copy_n(ctx, field.text, field.length); }

static void check(const cm__csv *in, cm_status status, const cm_diag *diag)
{
    if (status) cm__fail(in->ctx, status, "line %d: %s", in->line, diag->reason);
}

static cm__step_time step_of(const cm__csv *in, const cm__span *f)
{
    cm_diag       diag = {0};
    cm__step_time s = {.model = text_of(in->ctx, f[MODEL]),
                       .batch = whole(in, f, BATCH),
                       .seq = whole(in, f, SEQ),
                       .line = in->line};
    if (!*s.model) cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: no model", in->line);
    if (!cm__parse_real(f[STEP_TIME], &s.measured_s) || !(s.measured_s >= TIME_LEAST_S) || s.measured_s > TIME_MAX_S)
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: step_time_s is not a time in seconds", in->line);
    check(in, cm_precision_parse(text_of(in->ctx, f[PRECISION]), &s.precision, &diag), &diag);
    if (f[RUNTIME].length) check(in, cm_runtime_parse(text_of(in->ctx, f[RUNTIME]), &s.runtime, &diag), &diag);
    if (f[OPTIMIZER].length) check(in, cm_optimizer_parse(text_of(in->ctx, f[OPTIMIZER]), &s.optimizer, &diag), &diag);
    return s;
}

cm__steps *cm__steps_read(cm__ctx *ctx, const char *text, size_t size)
{
    cm__csv    in = cm__csv_open(ctx, text, size, field_names, FIELDS);
    cm__steps *s = cm__alloc(ctx, sizeof *s);
    cm__span   fields[FIELDS];
    for (int i = 0; i < NEEDED; i++)
        if (!in.found[i])
            cm__fail(ctx, CM_ERR_FORMAT,
                     "line 1: no column '%s'; the header must name model, batch, precision and step_time_s",
                     field_names[i]);
    while (cm__csv_row(&in, fields)) {
        if (s->n_rows == CM__STEPS_MAX)
            cm__fail(ctx, CM_ERR_LIMIT, "more than %d steps; give the mean step time of each run", CM__STEPS_MAX);
        s->rows = cm__grow(ctx, s->rows, s->n_rows, &s->cap_rows, sizeof *s->rows);
        s->rows[s->n_rows++] = step_of(&in, fields);
    }
    if (!s->n_rows) cm__fail(ctx, CM_ERR_FORMAT, "no steps under the header");
    return s;
}
