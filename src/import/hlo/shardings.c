/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shardings.c - how the arguments of a step are divided over devices, as the degrees of a parallel plan.
 *
 * The text names axes of a mesh (sdy.sharding) or tiles of an order of device numbers (mhlo.sharding). Both are intervals of
 * these numbers: a stride and a size. What divides batch and parameters is ZeRO 3, the batch alone data parallelism, parameters
 * alone tensor parallelism, and so on, as python/centimani/jax_shardings.py reads them.
 */
#include <string.h>
#include "base/text.h"
#include "import/hlo/hlo.h"

#define AXES_MAX    16
#define LIST_MAX    32
#define DEVICES_MAX ((int64_t)1 << 24)

typedef struct axis {
    int64_t  stride, size;
    cm__span name; /* length 0: none */
    bool     data, weights, states, tokens;
} axis;

typedef struct mesh {
    axis    axes[AXES_MAX];
    int32_t n;
    int64_t devices;
} mesh;

typedef struct tiles { /* the intervals that divide an argument, and the dimension of each */
    axis    of[AXES_MAX];
    int32_t n, dim[AXES_MAX];
} tiles;

/* The text after a key; length 0: it is absent. */
static cm__span after(cm__span s, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i + n <= s.length; i++)
        if (memcmp(s.text + i, key, n) == 0) return (cm__span){s.text + i + n, s.length - i - n};
    return (cm__span){s.text, 0};
}

/* "2,1,2]": numbers up to the bracket; -1: not that. */
static int32_t list(cm__span s, char end, int64_t *out)
{
    int32_t n = 0;
    for (size_t i = 0, start = 0; i < s.length; i++) {
        if (s.text[i] != ',' && s.text[i] != end) continue;
        if (n == LIST_MAX || !cm__parse_int((cm__span){s.text + start, i - start}, &out[n]) || out[n] < 0 || out[n] > DEVICES_MAX) return -1;
        n++;
        start = i + 1;
        if (s.text[i] == end) return n;
    }
    return -1;
}

static bool add(tiles *t, int64_t stride, int64_t size, int32_t dim, cm__span name)
{
    if (size == 1) return true;
    if (t->n == AXES_MAX) return false;
    t->of[t->n] = (axis){.stride = stride, .size = size, .name = name};
    t->dim[t->n++] = dim;
    return true;
}

/* The last tiles that are copies of each other: "last_tile_dim_replicate", "last_tile_dims={manual, replicated}". */
static int32_t copies(cm__span text)
{
    cm__span kinds = after(text, "last_tile_dims={");
    int32_t  n = kinds.length || after(text, "last_tile_dim_replicate").text != text.text;
    for (size_t i = 0; i < kinds.length && kinds.text[i] != '}'; i++) n += kinds.text[i] == ',';
    return n;
}

/* devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate: numbers of devices, reshaped, transposed and reshaped to tiles. */
static bool read_order(cm__span text, tiles *t, int64_t *devices)
{
    int64_t  to[LIST_MAX], from[LIST_MAX], turn[LIST_MAX], stride[LIST_MAX];
    cm__span shape = after(text, "devices=["), source = after(text, "<=["), order = after(source, "]T(");
    int32_t  n = list(shape, ']', to), m = list(source, ']', from), turned = order.length ? list(order, ')', turn) : 0, k = 0;
    if (n < 1 || m < 1 || (turned && turned != m)) return false;
    n -= copies(text);
    *devices = 1;
    for (int32_t i = m - 1; i >= 0; i--) {
        stride[i] = *devices;
        if (from[i] < 1 || __builtin_mul_overflow(*devices, from[i], devices) || *devices > DEVICES_MAX) return false;
        if (!turned) turn[i] = i;
    }
    for (int32_t i = 0; i < m; i++)
        if (turn[i] >= m) return false;
    int64_t left = from[turn[0]];
    for (int32_t i = 0; i < n; i++)
        for (int64_t rest = to[i]; rest > 1;) { /* the most significant part of what is left */
            while (left == 1 && k + 1 < m) left = from[turn[++k]];
            int64_t part = rest < left ? rest : left;
            if (part < 2 || left % part || rest % part) return false;
            left /= part;
            rest /= part;
            if (!add(t, stride[turn[k]] * left, part, i, (cm__span){0})) return false;
        }
    return true;
}

/* #sdy.sharding<@mesh, [{"data"}, {}]> */
static bool read_axes(cm__span text, const mesh *known, tiles *t)
{
    int32_t dim = -1;
    for (size_t i = 0; i < text.length && text.text[i] != ']'; i++) {
        if (text.text[i] == '{') dim++;
        if (text.text[i] != '"') continue;
        size_t start = ++i;
        while (i < text.length && text.text[i] != '"') i++;
        cm__span name = {text.text + start, i - start};
        for (int32_t k = 0; k < known->n; k++)
            if (known->axes[k].name.length == name.length && memcmp(known->axes[k].name.text, name.text, name.length) == 0 &&
                !add(t, known->axes[k].stride, known->axes[k].size, dim, known->axes[k].name)) return false;
    }
    return true;
}

/* sdy.mesh @mesh = <["data"=4, "model"=2]> */
static mesh read_mesh(cm__span text)
{
    mesh     m = {.devices = 1};
    cm__span rest = after(text, "<[");
    for (size_t i = 0; i < rest.length && rest.text[i] != ']' && m.n < AXES_MAX; i++) {
        if (rest.text[i] != '"') continue;
        size_t start = ++i;
        while (i < rest.length && rest.text[i] != '"') i++;
        cm__span name = {rest.text + start, i - start};
        for (start = i += 2; i < rest.length && rest.text[i] >= '0' && rest.text[i] <= '9';) i++;
        int64_t size;
        if (start > rest.length || !cm__parse_int((cm__span){rest.text + start, i - start}, &size) || size < 1 || size > DEVICES_MAX) break;
        m.axes[m.n++] = (axis){.size = size, .name = name};
        i--;
    }
    for (int32_t k = m.n - 1; k >= 0; k--) {
        m.axes[k].stride = m.devices;
        if (__builtin_mul_overflow(m.devices, m.axes[k].size, &m.devices) || m.devices > DEVICES_MAX) return (mesh){.devices = 1};
    }
    return m;
}

/* ---- all arguments ------------------------------------------------------------------------------------------------ */

/* Cuts the numbers of devices where an interval begins or ends. */
static bool cut(mesh *m, int64_t at)
{
    for (int32_t k = 0; k < m->n; k++) {
        axis *x = &m->axes[k];
        if (at <= x->stride || at >= x->stride * x->size) continue;
        if (at % x->stride || x->size % (at / x->stride) || m->n == AXES_MAX) return false;
        axis rest = *x;
        rest.stride = at;
        rest.size = x->size / (at / x->stride);
        x->size = at / x->stride;
        m->axes[m->n++] = rest;
    }
    return true;
}

static bool read_tiles(const cm__hlo_step *s, cm__span attributes, mesh *known, tiles *t)
{
    cm__span named = after(attributes, "<@"), order = after(attributes, "sharding = \"{");
    int64_t  devices = 1;
    if (named.length && known->n) return read_axes(named, known, t);
    if (!order.length || memcmp(order.text, "devices=", order.length < 8 ? order.length : 8) != 0) return true; /* whole */
    if (!read_order(order, t, &devices)) {
        cm__hlo_warn((cm__hlo_step *)s, "a sharding of the step is not read as a part of the plan");
        return true;
    }
    if (!known->n) known->axes[known->n++] = (axis){.stride = 1, .size = devices}, known->devices = devices;
    return devices == known->devices;
}

static void mark(mesh *m, const tiles *t, const char *role)
{
    for (int32_t i = 0; i < t->n; i++)
        for (int32_t k = 0; k < m->n; k++) {
            axis *x = &m->axes[k];
            if (x->stride < t->of[i].stride || x->stride * x->size > t->of[i].stride * t->of[i].size) continue;
            x->weights |= strcmp(role, "parameter") == 0;
            x->states |= strcmp(role, "state") == 0;
            x->data |= strcmp(role, "input") == 0 && t->dim[i] == 0;
            x->tokens |= strcmp(role, "input") == 0 && t->dim[i] == 1;
        }
}

static bool is_one_of(cm__span name, const char *const *names)
{
    for (; *names; names++)
        if (cm__span_is(name, *names)) return true;
    return false;
}

static void warn(cm__hlo_step *s, const axis *x, const char *why)
{
    cm__hlo_warn(s, x->name.length ? cm__format(s->ctx, "mesh axis '%.*s' (%lld devices) %s", (int)x->name.length, x->name.text, (long long)x->size, why)
                                   : cm__format(s->ctx, "a mesh axis of %lld devices %s", (long long)x->size, why));
}

static json_t *plan_of(cm__hlo_step *s, const mesh *m)
{
    static const char *const experts[] = {"ep", "expert", "experts", NULL}, *const stages[] = {"pp", "pipe", "pipeline", "stage", "stages", NULL};
    int64_t tp = 1, cp = 1, ep = 1, dp = 1, sharded = 1;
    bool    divided_states = false;
    for (int32_t k = 0; k < m->n; k++) {
        const axis *x = &m->axes[k];
        if (x->size == 1) continue;
        if (x->data) dp *= x->size;
        if (x->data && x->weights) sharded *= x->size;
        else if (x->weights && is_one_of(x->name, experts)) ep *= x->size;
        else if (is_one_of(x->name, stages)) warn(s, x, "divides layers, which is not read: give --pp");
        else if (x->weights) tp *= x->size;
        else if (x->tokens && !x->data) cp *= x->size;
        else if (x->data) divided_states |= x->states;
        else warn(s, x, "divides no argument: it was not read");
    }
    if (sharded > 1 && sharded < dp)
        cm__hlo_warn(s, cm__format(s->ctx, "parameters are sharded by %lld of %lld replicas and copied by the others; the plan shards them by all",
                                   (long long)sharded, (long long)dp));
    if (ep > 1 && dp % ep) {
        cm__hlo_warn(s, cm__format(s->ctx, "experts are divided by %lld, which the %lld replicas are no multiple of: give --ep", (long long)ep, (long long)dp));
        ep = 1;
    }
    return json_pack("{s:I,s:I,s:I,s:I,s:i,s:I}", "devices", (json_int_t)(tp * cp * dp), "tp", (json_int_t)tp, "cp", (json_int_t)cp, "dp", (json_int_t)dp,
                     "zero", sharded > 1 ? 3 : divided_states, "ep", (json_int_t)ep);
}

static bool add_cuts(mesh *m, const tiles *t)
{
    bool read = true;
    for (int32_t k = 0; k < t->n && read; k++) read = cut(m, t->of[k].stride) && cut(m, t->of[k].stride * t->of[k].size);
    return read;
}

/* Where no samples are divided, sharding constraints of activations divide them: their first dimension is the batch. */
static bool constrained(const cm__hlo_step *s, mesh *m)
{
    bool read = true;
    for (int32_t f = 0; f < s->module->n_functions; f++)
        for (int32_t i = 0; i < s->module->functions[f].body.n_ops && read; i++) {
            const cm__hlo_op *op = &s->module->functions[f].body.ops[i];
            bool              given = op->kind == CM__HLO_sharding_constraint || (op->kind == CM__HLO_custom_call && after(op->text, "@Sharding").length);
            tiles             t = {.n = 0};
            if (!given) continue;
            read = read_tiles(s, op->text, m, &t) && add_cuts(m, &t);
            for (int32_t k = 0; k < t.n; k++) t.dim[k] = t.dim[k] ? -1 : 0;
            if (read) mark(m, &t, "input");
        }
    return read;
}

json_t *cm__hlo_plan(cm__hlo_step *s, const char *const *roles)
{
    int32_t n = s->main->n_arguments;
    tiles  *of = cm__alloc_array(s->ctx, (size_t)n + 1, sizeof *of);
    mesh    m = read_mesh(s->module->mesh);
    bool    read = true, divided = false;
    for (int32_t i = 0; i < n && read; i++) {
        read = read_tiles(s, s->main->arguments[i].attributes, &m, &of[i]);
        for (int32_t k = 0; k < of[i].n; k++) divided |= strcmp(roles[i], "input") == 0 && of[i].dim[k] == 0;
    }
    for (int32_t i = 0; i < n && read; i++) read = add_cuts(&m, &of[i]);
    for (int32_t i = 0; i < n && read; i++) mark(&m, &of[i], roles[i]);
    if (read && !divided) read = constrained(s, &m);
    if (!read) cm__hlo_warn(s, "the shardings of the step are not read as a plan");
    return read && m.devices > 1 ? plan_of(s, &m) : NULL;
}
