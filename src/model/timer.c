/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - looking calls up in kernel tables, and interpolating between their rows. */
#include "model/timer.h"

#include <math.h>
#include <string.h>

#define NEIGHBOURS 8
#define OTHER_KERNEL 4.0   /* squared distance that a size which must be equal adds where it is not */
#define OTHER_GROUPS 25.0
#define NEAR 1.5           /* log distance within which a neighbour tells of a call: a factor of 4.5 in one size */
#define ERROR_MEASURED 0.02
#define ERROR_NEAR 0.05
#define ERROR_PER_DISTANCE 0.10
#define ERROR_TRANSFERRED 0.15
#define ERROR_ROOFLINE 0.5

/* A table made ready: logarithms of its sizes, and of its times over the roofline of the device it is of. */
typedef struct ready {
    const cm__kernel_table *table;
    const cm__limits       *limits;
    float                  *place;  /* n_rows times n_sizes */
    float                  *excess; /* NULL: not ready yet */
} ready;

typedef struct library {
    ready     *tables;
    int32_t    count;
    cm__limits limits;
    bool       relative;
} library;

#define LIBRARIES 3

struct cm__timer {
    cm__ctx    *ctx;
    cm__limits  limits;
    const char *runtime;
    library     libraries[LIBRARIES]; /* own, built in, a relative's */
};

/* ---- distance --------------------------------------------------------------------------------------------------- */

static float logarithm(int64_t size) { return size > 0 ? logf((float)size) : -1; }

static int group_kind(const int64_t *sizes, int at)
{
    return sizes[at] <= 1 ? 0 : sizes[at] == sizes[1] ? 1 : 2; /* all sizes named groups follow channels in, the second */
}

/* Powers of two in a size, up to the eight that vector loads want. */
static int alignment(int64_t size) { return size <= 0 ? 3 : __builtin_ctzll((unsigned long long)size | 8); }

static double misaligned(const int64_t *a, const int64_t *b)
{
    double sum = 0;
    for (int i = 1; i < 4; i++) {
        double off = alignment(a[i]) - alignment(b[i]);
        sum += 0.25 * off * off;
    }
    return sum;
}

static double distance(int op, const int64_t *a, const float *la, const int64_t *b, const float *lb, double most)
{
    const char *like = cm__call_kinds[op].likeness;
    double      sum = op == CM__CALL_GEMM ? misaligned(a, b) : 0;
    for (int i = 0; like[i] && sum < most; i++) {
        if (a[i] == b[i]) continue;
        double off = la[i] - lb[i];
        if (like[i] == 'e') sum += OTHER_KERNEL;
        if (like[i] != 'g') sum += off * off;
        else sum += group_kind(a, i) != group_kind(b, i) ? OTHER_GROUPS : group_kind(a, i) == 2 ? off * off : 0;
    }
    return sum;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static void call_of_row(const cm__kernel_table *t, int32_t row, cm__call *c)
{
    int count = cm__call_kinds[t->op].n_sizes;
    *c = (cm__call){.op = t->op, .pass = t->pass};
    memcpy(c->variant, t->variant, strlen(t->variant));
    memcpy(c->dtype, t->dtype, strlen(t->dtype));
    memcpy(c->sizes, t->sizes + (size_t)row * (size_t)count, (size_t)count * sizeof *c->sizes);
}

static void prepare(cm__ctx *ctx, ready *r)
{
    int    count = cm__call_kinds[r->table->op].n_sizes;
    size_t rows = (size_t)r->table->n_rows;
    r->place = cm__alloc_array(ctx, rows * (size_t)count, sizeof *r->place);
    r->excess = cm__alloc_array(ctx, rows, sizeof *r->excess);
    for (size_t i = 0; i < rows * (size_t)count; i++) r->place[i] = logarithm(r->table->sizes[i]);
    for (size_t i = 0; i < rows; i++) {
        cm__call c;
        call_of_row(r->table, (int32_t)i, &c);
        r->excess[i] = (float)log((double)r->table->time_s[i] / cm__roofline(r->limits, &c));
    }
}

static void open_library(cm__timer *t, library *l, cm__kernels kernels, const cm_device *of, bool relative)
{
    l->limits = cm__limits_of(of);
    l->relative = relative;
    l->tables = cm__alloc_array(t->ctx, (size_t)kernels.count, sizeof *l->tables);
    for (int32_t i = 0; i < kernels.count; i++)
        if (strcmp(kernels.tables[i].runtime, t->runtime) == 0)
            l->tables[l->count++] = (ready){.table = &kernels.tables[i], .limits = &l->limits};
}

cm__timer *cm__timer_new(cm__ctx *ctx, const cm_device *device, const cm_device *relative, cm_runtime runtime)
{
    cm__timer *t = cm__alloc(ctx, sizeof *t);
    t->ctx = ctx;
    t->runtime = cm_runtime_name(runtime);
    t->limits = cm__limits_of(device);
    open_library(t, &t->libraries[0], device->kernels, device, false);
    open_library(t, &t->libraries[1], device->built_in_kernels, device, false);
    if (relative) open_library(t, &t->libraries[2], relative->built_in_kernels, relative, true);
    return t;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

typedef struct neighbours {
    double  distance[NEIGHBOURS]; /* squared, nearest first */
    int32_t row[NEIGHBOURS];
    int     count;
} neighbours;

static void keep(neighbours *n, int32_t row, double distance)
{
    int at = n->count < NEIGHBOURS ? n->count++ : NEIGHBOURS - 1;
    for (; at > 0 && n->distance[at - 1] > distance; at--) {
        n->distance[at] = n->distance[at - 1];
        n->row[at] = n->row[at - 1];
    }
    n->distance[at] = distance;
    n->row[at] = row;
}

static neighbours nearest(const ready *r, const cm__call *c, int32_t without)
{
    int        count = cm__call_kinds[c->op].n_sizes;
    float      place[CM__CALL_SIZES];
    neighbours n = {.count = 0};
    for (int i = 0; i < count; i++) place[i] = logarithm(c->sizes[i]);
    for (int32_t row = 0; row < r->table->n_rows; row++) {
        if (row == without) continue;
        double most = n.count < NEIGHBOURS ? INFINITY : n.distance[NEIGHBOURS - 1];
        double d = distance(c->op, c->sizes, place, r->table->sizes + (size_t)row * (size_t)count,
                            r->place + (size_t)row * (size_t)count, most);
        if (d < most) keep(&n, row, d);
        if (d == 0) break;
    }
    return n;
}

/* What the neighbours take beyond the roofline, the nearer the more. */
static double excess_by(const ready *r, const neighbours *n)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < n->count; i++) {
        double w = 1 / pow(n->distance[i] + 1e-4, 2);
        sum += w * r->excess[n->row[i]];
        weights += w;
    }
    return sum / weights;
}

/* ---- looking up ------------------------------------------------------------------------------------------------- */

/* Types and variants that take about as long, where a call's own was never measured. */
static const struct {
    const char *of, *instead;
} stand_ins[] = {
    {"fp16", "bf16"},   {"fp8", "bf16"},         {"tt", "nn"},     {"nn-bias", "nt-bias"}, {"nt-bias", "nt"},
    {"mask", ""},       {"log", ""},             {"max", "sum"},   {"mean", "sum"},        {"gru", "lstm"},
    {"rnn", "lstm"},    {"gelu_tanh", "gelu"},   {"sub", "add"},   {"div", "mul"},         {"clip", "relu"},
    {"neg", "scale"},   {"hardswish", "silu"},   {"erf", "gelu"},  {"rsqrt", "sqrt"},      {"log", "exp"},
    {"cat", "copy"},    {"where", "add"},        {"hardswish_grad", "silu_grad"},          {"gelu_tanh_grad", "gelu_grad"},
    {"int64", "fp32"},  {"add:part", "add:strided"}, {"copy:part", "copy:strided"}, {"mul:plane", "mul:col"}, {"add:plane", "add:col"},
    {"sqrt", "exp"},    {"exp", "tanh"},         {"silu", "sigmoid"},
};

static bool is_table(const cm__kernel_table *t, const cm__call *c)
{
    return t->op == c->op && t->pass == c->pass && strcmp(t->dtype, c->dtype) == 0 && strcmp(t->variant, c->variant) == 0;
}

static ready *prepared(cm__timer *t, ready *r)
{
    if (!r->excess) prepare(t->ctx, r);
    return r;
}

static ready *table_in(cm__timer *t, library *l, const cm__call *c)
{
    for (int32_t i = 0; i < l->count; i++)
        if (is_table(l->tables[i].table, c)) return prepared(t, &l->tables[i]);
    return NULL;
}

static bool replace(char *text, const char *of, const char *by)
{
    if (strcmp(text, of)) return false;
    memset(text, 0, CM__CALL_TEXT);
    memcpy(text, by, strlen(by));
    return true;
}

/* A table for a call that differs in its variant or type only. */
static ready *stand_in(cm__timer *t, library *l, const cm__call *c)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        cm__call other = *c;
        if (!replace(other.variant, stand_ins[i].of, stand_ins[i].instead) &&
            !replace(other.dtype, stand_ins[i].of, stand_ins[i].instead))
            continue;
        ready *r = table_in(t, l, &other);
        if (r) return r;
    }
    return NULL;
}

/* An elementwise kernel of any function that was measured with these types: traffic is what counts. */
static ready *any_function(cm__timer *t, library *l, const cm__call *c)
{
    for (int32_t i = 0; c->op == CM__CALL_ELEMENTWISE && i < l->count; i++) {
        const cm__kernel_table *k = l->tables[i].table;
        const char *a = strchr(k->variant, ':'), *b = strchr(c->variant, ':');
        if (k->op != c->op || strcmp(k->dtype, c->dtype) || strcmp(a ? a : "", b ? b : "")) continue;
        return prepared(t, &l->tables[i]);
    }
    return NULL;
}

static cm__timed from_table(cm__timer *t, const library *l, const ready *r, const cm__call *c, bool same)
{
    neighbours n = nearest(r, c, -1);
    double     d = sqrt(n.distance[0]), excess = exp(excess_by(r, &n));
    cm__timed  timed = {.launches = r->table->launches[n.row[0]], .how = CM_HOW_INTERPOLATED,
                        .error = ERROR_NEAR + ERROR_PER_DISTANCE * fmin(d, 3)};
    timed.time_s = excess * cm__roofline(&t->limits, c);
    if (d == 0 && same && !l->relative) {
        timed.time_s = (double)r->table->time_s[n.row[0]];
        timed.how = CM_HOW_MEASURED;
        timed.error = ERROR_MEASURED;
    } else if (d > NEAR) timed.how = CM_HOW_ROOFLINE;
    if (l->relative && timed.how != CM_HOW_ROOFLINE) timed.how = CM_HOW_TRANSFERRED;
    if (l->relative || !same) timed.error += ERROR_TRANSFERRED;
    return timed;
}

cm__timed cm__timer_time(cm__timer *t, const cm__call *c)
{
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < LIBRARIES; i++) {
            library *l = &t->libraries[i];
            ready   *r = pass == 0 ? table_in(t, l, c) : pass == 1 ? stand_in(t, l, c) : any_function(t, l, c);
            if (r && r->table->n_rows) return from_table(t, l, r, c, pass == 0);
        }
    return (cm__timed){.time_s = cm__roofline(&t->limits, c), .launches = 1, .error = ERROR_ROOFLINE, .how = CM_HOW_ROOFLINE};
}

void cm__timer_cross_validate(cm__timer *t, cm__left_out *visit, void *user)
{
    for (int k = 0; k < LIBRARIES; k++) {
        library *l = &t->libraries[k];
        for (int32_t i = 0; !l->relative && i < l->count; i++) {
            ready *r = &l->tables[i];
            if (!r->excess) prepare(t->ctx, r);
            for (int32_t row = 0; r->table->n_rows > 1 && row < r->table->n_rows; row++) {
                cm__call c;
                call_of_row(r->table, row, &c);
                neighbours n = nearest(r, &c, row);
                visit(user, r->table, &c, (double)r->table->time_s[row], exp(excess_by(r, &n)) * cm__roofline(r->limits, &c));
            }
        }
    }
}
