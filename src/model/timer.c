/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - looking calls up in kernel tables, and interpolating between their rows. */
#include "model/timer.h"

#include <math.h>
#include <string.h>
#include "model/kriging.h"
#include "model/own_models.h"

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

enum { OWN, BUILT_IN, RELATIVE, LIBRARIES };

struct cm__timer {
    cm__ctx        *ctx;
    cm__limits      limits;
    cm_runtime      runtime;
    library         libraries[LIBRARIES];
    cm__own_models *own_models;           /* NULL: not asked */
    cm__memo       *memo;                 /* NULL: none */
};

/* ---- tables ----------------------------------------------------------------------------------------------------- */

/* A kernel over contiguous numbers does not know their shape. */
static bool shapeless(const cm__call *c) { return c->op == CM__CALL_ELEMENTWISE && !strchr(c->variant, ':'); }

static cm__call without_shape(const cm__call *c)
{
    cm__call call = *c;
    if (shapeless(c) && c->sizes[0] > 0 && c->sizes[1] <= INT64_MAX / c->sizes[0]) {
        call.sizes[0] = 1;
        call.sizes[1] = c->sizes[0] * c->sizes[1];
    }
    return call;
}

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
        c = without_shape(&c);
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
    open_library(t, &t->libraries[OWN], device->kernels, device, false);
    open_library(t, &t->libraries[BUILT_IN], device->built_in_kernels, device, false);
    if (relative) open_library(t, &t->libraries[RELATIVE], relative->built_in_kernels, relative, true);
    bool plain = relative && !t->libraries[OWN].count && !t->libraries[BUILT_IN].count;
    bool megatron = runtime == CM_RUNTIME_MEGATRON;
    if (plain || megatron) t->own_models = cm__own_models_new(ctx, device, &t->limits, plain, megatron);
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
    {"dropout_add", "dropout"},
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

static ready *table_in(library *l, const cm__call *c)
{
    for (int32_t i = 0; i < l->count; i++)
        if (is_table(l->tables[i].table, c)) return &l->tables[i];
    return NULL;
}

/* Of a relative's kernels both 16-bit types tell the same: the table with more rows. */
static ready *table_of_either(library *l, const cm__call *c)
{
    cm__call other = *c;
    ready   *own = table_in(l, c), *instead = NULL;
    if (l->relative && strcmp(c->dtype, "fp16") == 0) {
        memcpy(other.dtype, "bf16", sizeof "bf16");
        instead = table_in(l, &other);
    }
    return instead && (!own || instead->table->n_rows > own->table->n_rows) ? instead : own;
}

static bool replace(char *text, const char *of, const char *by)
{
    if (strcmp(text, of)) return false;
    memset(text, 0, CM__CALL_TEXT);
    memcpy(text, by, strlen(by));
    return true;
}

/* A table for a call that differs in its variant or type only. */
static ready *stand_in(library *l, const cm__call *c)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        cm__call other = *c;
        if (!replace(other.variant, stand_ins[i].of, stand_ins[i].instead) &&
            !replace(other.dtype, stand_ins[i].of, stand_ins[i].instead))
            continue;
        ready *r = table_in(l, &other);
        if (r) return r;
    }
    return NULL;
}

/* An elementwise kernel of any function that was measured with these types: traffic is what counts. */
static ready *any_function(library *l, const cm__call *c)
{
    for (int32_t i = 0; c->op == CM__CALL_ELEMENTWISE && i < l->count; i++) {
        const cm__kernel_table *k = l->tables[i].table;
        const char             *a = strchr(k->variant, ':'), *b = strchr(c->variant, ':');
        if (k->op != c->op || strcmp(k->dtype, c->dtype) || strcmp(a ? a : "", b ? b : "")) continue;
        return &l->tables[i];
    }
    return NULL;
}

/* What products lose against the roofline they lose everywhere; what other kernels take beyond it is the cores' work,
   not the memory's, and goes with cores and clock. Time steps of recurrent layers wait for each other, each too small
   for all cores: these go with the clock. */
double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *c, double time_s)
{
    double here = cm__roofline(to, c), there = cm__roofline(from, c);
    double clocks = to->clock_hz > 0 ? from->clock_hz / to->clock_hz : 0;
    double cores = to->cores * to->clock_hz > 0 ? from->cores * from->clock_hz / (to->cores * to->clock_hz) : 0;
    if (c->op == CM__CALL_RNN && time_s > there && clocks > 0) return here + (time_s - there) * clocks;
    if (cm__call_kinds[c->op].engine == CM_ENGINE_MATRIX || time_s <= there || cores <= 0) return time_s * here / there;
    return here + (time_s - there) * cores;
}

/* The row that a call without shape is; -1: none. */
static int32_t row_of(const ready *r, const cm__call *c)
{
    size_t count = (size_t)cm__call_kinds[c->op].n_sizes;
    bool   product = shapeless(c);
    for (int32_t i = 0; i < r->table->n_rows; i++) {
        const int64_t *sizes = r->table->sizes + (size_t)i * count;
        if (product ? sizes[0] > 0 && c->sizes[1] / sizes[0] == sizes[1] && c->sizes[1] % sizes[0] == 0
                    : memcmp(sizes, c->sizes, count * sizeof *sizes) == 0)
            return i;
    }
    return -1;
}

/* A call in another type than its table's has the neighbours of one in the table's, where that is the same work. */
static cm__call as_in_table(const ready *r, const cm__call *c, double roofline)
{
    cm__call other = *c;
    memset(other.dtype, 0, sizeof other.dtype);
    memcpy(other.dtype, r->table->dtype, strlen(r->table->dtype));
    double flop[2], bytes[2];
    cm__call_work(c, &flop[0], &bytes[0]);
    cm__call_work(&other, &flop[1], &bytes[1]);
    bool same = flop[0] == flop[1] && bytes[0] == bytes[1] && roofline == cm__roofline(r->limits, &other);
    return same ? other : *c;
}

/* What the neighbours of a call in a table say, on the table's device. */
static cm__told neighbours_of(cm__timer *t, ready *r, const cm__call *given)
{
    cm__told told;
    cm__call call = *given, *c = &call;
    if (t->memo && cm__memo_find(t->memo, r->table, c, &told)) return told;
    double roofline = cm__roofline(r->limits, c);
    if (t->memo && strcmp(call.dtype, r->table->dtype) != 0) call = as_in_table(r, given, roofline);
    if (t->memo && cm__memo_find(t->memo, r->table, c, &told)) return told;
    if (!r->features) prepare(t->ctx, r);
    float      features[CM__FEATURES];
    int        count = cm__features(c, roofline, features);
    cm__kriged k = cm__krige(c->op, r->features, r->excess, r->table->n_rows, features, count, -1);
    told.timed = (cm__timed){.time_s = exp(k.value) * roofline, .launches = r->table->launches[k.row]};
    told.unknown = k.unknown;
    if (t->memo) cm__memo_keep(t->memo, r->table, c, &told);
    return told;
}

/* On the table's device. */
static cm__timed from_table(cm__timer *t, const library *l, ready *r, const cm__call *c, bool same)
{
    int32_t exact = same && !l->relative ? row_of(r, c) : -1;
    if (exact >= 0)
        return (cm__timed){.time_s = (double)r->table->time_s[exact],
                           .launches = r->table->launches[exact],
                           .how = CM_HOW_MEASURED,
                           .error = ERROR_MEASURED};
    cm__told  told = neighbours_of(t, r, c);
    cm__timed timed = {.time_s = told.timed.time_s,
                       .launches = told.timed.launches,
                       .how = CM_HOW_INTERPOLATED,
                       .error = ERROR_INTERPOLATED + ERROR_UNKNOWN * told.unknown};
    if (told.unknown > KNOWN) timed.how = CM_HOW_ROOFLINE;
    if (l->relative && timed.how != CM_HOW_ROOFLINE) timed.how = CM_HOW_TRANSFERRED;
    if (l->relative || !same) timed.error += ERROR_TRANSFERRED;
    return timed;
}

/* By operator models, where the device has no table of its own for such calls. */
static bool by_own_models(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    if (!t->own_models) return false;
    for (int i = 0; i < LIBRARIES; i++)
        if (!t->libraries[i].relative && table_in(&t->libraries[i], c)) return false;
    *timed = (cm__timed){.launches = 1, .how = CM_HOW_INTERPOLATED};
    timed->time_s = cm__own_models_time(t->own_models, c, &timed->error);
    return timed->time_s > 0;
}

/* A table in 16 bits whose rows are far from a call that is traffic: one in 32 bits may have nearer ones. */
static cm__timed nearer_in_fp32(cm__timer *t, library *l, const cm__call *c, cm__timed told)
{
    cm__call wide = *c;
    bool     halves = strcmp(c->dtype, "bf16") == 0 || strcmp(c->dtype, "fp16") == 0;
    if (told.how == CM_HOW_MEASURED || !halves || cm__call_kinds[c->op].engine != CM_ENGINE_VECTOR) return told;
    strcpy(wide.dtype, "fp32");
    ready    *r = table_in(l, &wide);
    cm__timed other = r && r->table->n_rows ? from_table(t, l, r, c, false) : told;
    return other.how != CM_HOW_ROOFLINE && other.error < told.error ? other : told;
}

/* The library that tells most of a call, and what, on its own device; NULL: none does. */
static const library *by_libraries(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < LIBRARIES; i++) {
            library *l = &t->libraries[i];
            ready   *r = pass == 0 ? table_of_either(l, c) : pass == 1 ? stand_in(l, c) : any_function(l, c);
            if (!r || !r->table->n_rows) continue;
            *timed = nearer_in_fp32(t, l, c, from_table(t, l, r, c, pass == 0));
            return l;
        }
    return NULL;
}

/* Devices without tables of their own hear the same of a relative's. */
static const library *by_relative(cm__timer *t, const cm__call *c, cm__timed *timed)
{
    const library *relative = &t->libraries[RELATIVE], *by = relative;
    const void    *key = relative->tables[0].table->sizes; /* of all tables, not of the first */
    cm__told       told;
    if (cm__memo_find(t->memo, key, c, &told)) *timed = told.timed;
    else {
        by = by_libraries(t, c, timed);
        told.timed = by ? *timed : (cm__timed){0};
        cm__memo_keep(t->memo, key, c, &told);
    }
    return told.timed.time_s > 0 ? by : NULL;
}

cm__timed cm__timer_time(cm__timer *t, const cm__call *given)
{
    cm__call  call = without_shape(given);
    cm__call *c = &call;
    cm__timed timed;
    if (by_own_models(t, c, &timed)) return timed;
    bool           tables = t->libraries[OWN].count || t->libraries[BUILT_IN].count;
    bool           alone = t->memo && !tables && t->libraries[RELATIVE].count;
    const library *by = alone ? by_relative(t, c, &timed) : by_libraries(t, c, &timed);
    if (by && by->relative) timed.time_s = cm__transferred(&t->limits, &by->limits, c, timed.time_s);
    if (by) return timed;
    return (cm__timed){
        .time_s = cm__roofline(&t->limits, c), .launches = 1, .error = ERROR_ROOFLINE, .how = CM_HOW_ROOFLINE};
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
