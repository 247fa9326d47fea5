/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - looking calls up in kernel tables, and interpolating between their rows. */
#include "model/timer.h"

#include <math.h>
#include <string.h>
#include "model/kriging.h"

#define KNOWN 0.85 /* unknown part above which a table tells no more than the roofline does */
#define ERROR_MEASURED 0.02
#define ERROR_INTERPOLATED 0.05 /* where neighbours are all around */
#define ERROR_UNKNOWN 0.30      /* where there are none */
#define ERROR_TRANSFERRED 0.15
#define ERROR_ROOFLINE 0.5

/* A table made ready: features of its rows, and the logarithms of their times over the roofline of its device. */
typedef struct ready {
    const cm__kernel_table *table;
    const cm__limits       *limits;
    float                  *features; /* NULL: not ready yet */
    float                  *excess;
    int                     n_features;
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
    cm_runtime runtime;
    cm__memo   *memo; /* NULL: none */
    library     libraries[LIBRARIES]; /* own, built in, a relative's */
};

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
    float   features[CM__FEATURES];
    int32_t rows = r->table->n_rows;
    r->n_features = cm__call_kinds[r->table->op].n_sizes + 5;
    r->features = cm__alloc_array(ctx, (size_t)rows * (size_t)r->n_features, sizeof *r->features);
    r->excess = cm__alloc_array(ctx, (size_t)rows, sizeof *r->excess);
    for (int32_t i = 0; i < rows; i++) {
        cm__call c;
        call_of_row(r->table, i, &c);
        double roofline = cm__roofline(r->limits, &c);
        cm__features(&c, roofline, features);
        memcpy(r->features + (size_t)i * (size_t)r->n_features, features, (size_t)r->n_features * sizeof *features);
        r->excess[i] = (float)log((double)r->table->time_s[i] / roofline);
    }
}

static void take_tables(library *l, cm__kernels kernels, cm_runtime runtime)
{
    for (int32_t i = 0; i < kernels.count; i++)
        if (strcmp(kernels.tables[i].runtime, cm_runtime_name(runtime)) == 0)
            l->tables[l->count++] = (ready){.table = &kernels.tables[i], .limits = &l->limits};
}

/* The runtime's own tables first. Products and convolutions of compiled programs are the same libraries' as eager
 * ones'. */
static void open_library(cm__timer *t, library *l, cm__kernels kernels, const cm_device *of, bool relative)
{
    l->limits = cm__limits_of(of);
    l->relative = relative;
    l->tables = cm__alloc_array(t->ctx, (size_t)kernels.count, sizeof *l->tables);
    take_tables(l, kernels, t->runtime);
    if (t->runtime == CM_RUNTIME_TORCH_COMPILE || t->runtime == CM_RUNTIME_MEGATRON)
        take_tables(l, kernels, CM_RUNTIME_TORCH_EAGER);
}

cm__timer *cm__timer_new(cm__ctx *ctx, const cm_device *device, const cm_device *relative, cm_runtime runtime)
{
    cm__timer *t = cm__alloc(ctx, sizeof *t);
    t->ctx = ctx;
    t->runtime = runtime;
    t->limits = cm__limits_of(device);
    open_library(t, &t->libraries[0], device->kernels, device, false);
    open_library(t, &t->libraries[1], device->built_in_kernels, device, false);
    if (relative) open_library(t, &t->libraries[2], relative->built_in_kernels, relative, true);
    return t;
}

void cm__timer_share(cm__timer *t, cm__memo *memo) { t->memo = memo; }

/* ---- looking up ------------------------------------------------------------------------------------------------- */

/* Types and variants that take about as long, where a call's own was never measured. */
static const struct {
    const char *of, *instead;
} stand_ins[] = {
    {"fp16", "bf16"},
    {"fp8", "bf16"},
    {"tt", "nn"},
    {"nn-bias", "nt-bias"},
    {"nt-bias", "nt"},
    {"mask", ""},
    {"log", ""},
    {"max", "sum"},
    {"mean", "sum"},
    {"gru", "lstm"},
    {"rnn", "lstm"},
    {"gelu_tanh", "gelu"},
    {"sub", "add"},
    {"div", "mul"},
    {"clip", "relu"},
    {"neg", "scale"},
    {"hardswish", "silu"},
    {"erf", "gelu"},
    {"rsqrt", "sqrt"},
    {"log", "exp"},
    {"cat", "copy"},
    {"where", "add"},
    {"hardswish_grad", "silu_grad"},
    {"gelu_tanh_grad", "gelu_grad"},
    {"int64", "fp32"},
    {"add:part", "add:strided"},
    {"copy:part", "copy:strided"},
    {"mul:plane", "mul:col"},
    {"add:plane", "add:col"},
    {"sqrt", "exp"},
    {"exp", "tanh"},
    {"silu", "sigmoid"},
};

static bool is_table(const cm__kernel_table *t, const cm__call *c)
{
    return t->op == c->op && t->pass == c->pass && strcmp(t->dtype, c->dtype) == 0 &&
           strcmp(t->variant, c->variant) == 0;
}

static ready *prepared(cm__timer *t, ready *r)
{
    if (!r->features) prepare(t->ctx, r);
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
        const char             *a = strchr(k->variant, ':'), *b = strchr(c->variant, ':');
        if (k->op != c->op || strcmp(k->dtype, c->dtype) || strcmp(a ? a : "", b ? b : "")) continue;
        return prepared(t, &l->tables[i]);
    }
    return NULL;
}

/* A call's time on another device. What products lose against the roofline they lose everywhere; what other kernels
   take beyond it is the cores' work, not the memory's, and goes with cores and clock. */
static double transferred(const cm__limits *to, const cm__limits *from, const cm__call *c, double there, double time_s)
{
    double here = cm__roofline(to, c);
    double cores = to->cores * to->clock_hz > 0 ? from->cores * from->clock_hz / (to->cores * to->clock_hz) : 0;
    if (cm__call_kinds[c->op].engine == CM_ENGINE_MATRIX || time_s <= there || cores <= 0) return time_s * here / there;
    return here + (time_s - there) * cores;
}

static bool same_sizes(const ready *r, int32_t row, const cm__call *c)
{
    size_t count = (size_t)cm__call_kinds[c->op].n_sizes;
    return memcmp(r->table->sizes + (size_t)row * count, c->sizes, count * sizeof *c->sizes) == 0;
}

static cm__told from_table(const ready *r, const cm__call *c, bool same)
{
    float      features[CM__FEATURES];
    double     roofline = cm__roofline(r->limits, c);
    int        count = cm__features(c, roofline, features);
    cm__kriged k = cm__krige(c->op, r->features, r->excess, r->table->n_rows, features, count, -1);
    bool       measured = k.nearest == 0 && same && same_sizes(r, k.row, c);
    return (cm__told){.time_s = exp(k.value) * roofline,
                      .measured_s = measured ? (double)r->table->time_s[k.row] : NAN,
                      .roofline_s = roofline,
                      .launches = r->table->launches[k.row],
                      .unknown = k.unknown,
                      .same = same,
                      .found = true};
}

/* The best that tables say. */
static const library *look_up(cm__timer *t, const cm__call *c, cm__told *told)
{
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < LIBRARIES; i++) {
            library *l = &t->libraries[i];
            ready   *r = pass == 0 ? table_in(t, l, c) : pass == 1 ? stand_in(t, l, c) : any_function(t, l, c);
            if (!r || !r->table->n_rows) continue;
            *told = from_table(r, c, pass == 0);
            return l;
        }
    told->found = false;
    return NULL;
}

/* The one library that has tables; NULL: none or several have. */
static const library *only_library(const cm__timer *t)
{
    const library *only = NULL;
    for (int i = 0; i < LIBRARIES; i++) {
        if (!t->libraries[i].count) continue;
        if (only) return NULL;
        only = &t->libraries[i];
    }
    return only;
}

/* Where all that is known is one device's tables, others may have asked the same of them. */
static const library *look_up_once(cm__timer *t, const cm__call *c, cm__told *told)
{
    const library *only = t->memo ? only_library(t) : NULL;
    if (!only) return look_up(t, c, told);
    const void *tables = only->tables[0].table;
    if (!cm__memo_find(t->memo, tables, c, told)) {
        look_up(t, c, told);
        cm__memo_keep(t->memo, tables, c, told);
    }
    return told->found ? only : NULL;
}

cm__timed cm__timer_time(cm__timer *t, const cm__call *c)
{
    cm__told       told;
    const library *l = look_up_once(t, c, &told);
    if (!l)
        return (cm__timed){
            .time_s = cm__roofline(&t->limits, c), .launches = 1, .error = ERROR_ROOFLINE, .how = CM_HOW_ROOFLINE};
    cm__timed timed = {.time_s = told.time_s,
                       .launches = told.launches,
                       .how = told.unknown > KNOWN ? CM_HOW_ROOFLINE : CM_HOW_INTERPOLATED,
                       .error = ERROR_INTERPOLATED + ERROR_UNKNOWN * told.unknown};
    if (!l->relative && !isnan(told.measured_s))
        timed = (cm__timed){told.measured_s, told.launches, ERROR_MEASURED, CM_HOW_MEASURED};
    if (l->relative) timed.time_s = transferred(&t->limits, &l->limits, c, told.roofline_s, told.time_s);
    if (l->relative && timed.how != CM_HOW_ROOFLINE) timed.how = CM_HOW_TRANSFERRED;
    if (l->relative || !told.same) timed.error += ERROR_TRANSFERRED;
    return timed;
}

void cm__timer_cross_validate(cm__timer *t, cm__left_out *visit, void *user)
{
    for (int at = 0; at < LIBRARIES; at++) {
        library *l = &t->libraries[at];
        for (int32_t i = 0; !l->relative && i < l->count; i++) {
            ready *r = &l->tables[i];
            if (!r->features) prepare(t->ctx, r);
            for (int32_t row = 0; r->table->n_rows > 1 && row < r->table->n_rows; row++) {
                cm__call c;
                call_of_row(r->table, row, &c);
                cm__kriged k = cm__krige(c.op, r->features, r->excess, r->table->n_rows,
                                         r->features + (size_t)row * (size_t)r->n_features, r->n_features, row);
                visit(user, r->table, &c, (double)r->table->time_s[row], exp(k.value) * cm__roofline(r->limits, &c));
            }
        }
    }
}
