/* SPDX-License-Identifier: Apache-2.0 */
/* timings.c - convert CSV rows into operators' work: the meaning of d0 to d6 for each operator. */
#include "device/fits/timings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/csv.h"
#include "base/text.h"

#define TIME_MAX_S 1e5
#define PAD_MAX 1e6 /* limit of strides and pads in notes */

/* ---- operators -------------------------------------------------------------------------------------------------- */

typedef struct row {
    double      d[CM__TIMING_DIMS]; /* NAN: empty */
    double      element;            /* bytes */
    const char *pass;
    cm__span    note;
} row;

static double or_one(double d) { return isnan(d) || d <= 0 ? 1 : d; }

static void product(cm__work *w, double batch, double m, double n, double k)
{
    *w = (cm__work){.batch = batch, .m = m, .n = n, .k = k, .flop = 2 * batch * m * n * k};
}

static void gemm_work(const row *r, cm__work *w)
{
    product(w, or_one(r->d[0]), r->d[1], r->d[2], r->d[3]);
    w->bytes = r->element * w->batch * (w->m * w->k + w->k * w->n + w->m * w->n);
}

/* A convolution as a matrix product: pixels by filters in forward and input gradient; over pixels in the weight
   gradient. */
static void conv_as_product(const row *r, cm__work *w, double n, double c, double k, double in_pixels,
                            double out_pixels, double window)
{
    if (!(out_pixels >= 1)) { /* the window is larger than the image: no work, and refused later */
        *w = (cm__work){0};
        return;
    }
    if (strcmp(r->pass, "backward_weight") == 0) product(w, 1, k, c * window, n * out_pixels);
    else if (strcmp(r->pass, "backward_input") == 0) product(w, 1, n * in_pixels, c, k * window);
    else product(w, 1, n * out_pixels, k, c * window);
    w->flop = 2 * n * out_pixels * k * c * window;
    w->bytes = r->element * (n * c * in_pixels + n * k * out_pixels + k * c * window);
}

/* The number of positions of a window; 0: it does not fit. */
static double positions(double size, double window, double pad, double stride)
{
    return fmax(0, floor((size + 2 * pad - window) / stride) + 1);
}

static void conv_work(const row *r, cm__work *w)
{
    double size = r->d[4], out = positions(size, r->d[3], isnan(r->d[6]) ? 0 : r->d[6], or_one(r->d[5]));
    conv_as_product(r, w, r->d[0], r->d[1], r->d[2], size * size, out * out, r->d[3] * r->d[3]);
}

static double noted(const row *r, const char *name, double otherwise)
{
    const char *at = r->note.length ? memmem(r->note.text, r->note.length, name, strlen(name)) : NULL;
    if (!at) return otherwise;
    cm__span number = {at + strlen(name), 0};
    while (number.text + number.length < r->note.text + r->note.length && !strchr(" ;,", number.text[number.length]))
        number.length++;
    double value;
    return cm__parse_real(number, &value) && value >= 0 && value <= PAD_MAX ? value : NAN;
}

static void conv_full_work(const row *r, cm__work *w)
{
    double down = noted(r, "stride_v=", 1), right = noted(r, "stride_h=", 1);
    double h = down >= 1 ? positions(r->d[3], r->d[5], noted(r, "pad_h=", 0), down) : 0;
    double v = right >= 1 ? positions(r->d[4], r->d[6], noted(r, "pad_w=", 0), right) : 0;
    conv_as_product(r, w, r->d[0], r->d[1], r->d[2], r->d[3] * r->d[4], h * v, r->d[5] * r->d[6]);
}

static void attention(const row *r, cm__work *w, bool causal)
{
    double kv = isnan(r->d[3]) || r->d[3] <= 0 ? r->d[2] : r->d[3],
           window = isnan(r->d[5]) || r->d[5] <= 0 ? r->d[1] : r->d[5];
    *w = (cm__work){.batch = r->d[0],
                    .heads = r->d[2],
                    .queries = r->d[1],
                    .keys = fmin(r->d[1], window),
                    .width = r->d[4],
                    .causal = causal};
    w->m = w->n = w->k = 1;
    w->flop = 4 * w->batch * w->heads * w->queries * w->keys * w->width;
    w->bytes = r->element * w->batch * w->queries * w->width * 2 * (w->heads + kv);
}

static void attention_full_work(const row *r, cm__work *w) { attention(r, w, false); }
static void attention_causal_work(const row *r, cm__work *w) { attention(r, w, true); }

static void elements(const row *r, cm__work *w, double inputs)
{
    *w = (cm__work){.batch = 1, .m = or_one(r->d[0]), .n = or_one(r->d[1]), .k = 1};
    w->flop = w->m * w->n;
    w->bytes = r->element * w->m * w->n * (inputs + 1);
}

static void unary_work(const row *r, cm__work *w) { elements(r, w, 1); }
static void binary_work(const row *r, cm__work *w) { elements(r, w, 2); }

static const struct {
    const char *op, *form;
    void (*work)(const row *, cm__work *);
    unsigned needed; /* bit i: di is required */
} operators[] = {
    {"gemm", "tiles", gemm_work, 0xe},
    {"linear", "tiles", gemm_work, 0xe},
    {"bmm", "tiles", gemm_work, 0xe},
    {"conv2d", "tiles", conv_work, 0x1f},
    {"conv2d_full", "tiles", conv_full_work, 0x7f},
    {"attention", "attention", attention_full_work, 0x17},
    {"attention_full", "attention", attention_full_work, 0x17},
    {"attention_causal", "attention", attention_causal_work, 0x17},
    {"softmax", "rows", unary_work, 0x3},
    {"layernorm", "rows", unary_work, 0x3},
    {"add", "stream", binary_work, 0x1},
    {"mul", "stream", binary_work, 0x1},
    {"sub", "stream", binary_work, 0x1},
    {"div", "stream", binary_work, 0x1},
    {"pow", "stream", binary_work, 0x1},
    {"addu", "stream", unary_work, 0x1},
    {"mulu", "stream", unary_work, 0x1},
    {"divu", "stream", unary_work, 0x1},
    {"powu", "stream", unary_work, 0x1},
    {"relu", "stream", unary_work, 0x1},
    {"gelu", "stream", unary_work, 0x1},
    {"tanh", "stream", unary_work, 0x1},
    {"sigmoid", "stream", unary_work, 0x1},
    {"copy", "stream", unary_work, 0x1},
    {"cast", "stream", unary_work, 0x1},
};

double cm__dtype_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        double      bytes;
    } types[] = {{"fp64", 8},           {"fp32", 4}, {"tf32", 4}, {"bf16", 2},   {"fp16", 2},
                 {"fp16in_fp32acc", 2}, {"fp8", 1},  {"int8", 1}, {"nvfp4", 0.5}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].bytes;
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

enum { DEVICE, OP, PASS, DTYPE, LATENCY, NOTE, D0, FIELDS = D0 + CM__TIMING_DIMS };
static const char *const field_names[FIELDS] = {"device", "op", "pass", "dtype", "latency_ms", "note", "d0",
                                                "d1",     "d2", "d3",   "d4",    "d5",         "d6"};

static void check_header(const cm__csv *in)
{
    static const int needed[] = {OP, DTYPE, LATENCY, D0};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!in->found[needed[i]])
            cm__fail(in->ctx, CM_ERR_FORMAT,
                     "line 1: no column '%s'; the header names op, pass, dtype, d0 ... d6, latency_ms",
                     field_names[needed[i]]);
}

static const char *pass_name(cm__span pass)
{
    static const char *const names[][2] = {{"", "forward"},
                                           {"fwd", "forward"},
                                           {"forward", "forward"},
                                           {"bwd", "backward"},
                                           {"bwd_input", "backward_input"},
                                           {"bwd_weight", "backward_weight"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cm__span_is(pass, names[i][0])) return names[i][1];
    return NULL;
}

/* "trtllm-1.3.0:flow" -> "trtllm": the library, if the note begins with a name and a version. */
static cm__span library_of(cm__span note)
{
    size_t name = 0;
    while (name < note.length && ((note.text[name] >= 'a' && note.text[name] <= 'z') || note.text[name] == '_')) name++;
    bool version = name > 2 && name + 1 < note.length && note.text[name] == '-' && note.text[name + 1] >= '0' &&
                   note.text[name + 1] <= '9';
    return version ? (cm__span){note.text, name} : (cm__span){"", 0};
}

static int32_t group_of(cm__ctx *ctx, cm__timings *t, cm__map *index, const cm__span *f, const char *pass,
                        const cm__form *form)
{
    cm__span library = library_of(f[NOTE]);
    char *key = cm__format(ctx, "%.*s|%.*s|%.*s|%s|%.*s", (int)f[DEVICE].length, f[DEVICE].text, (int)library.length,
                           library.text, (int)f[OP].length, f[OP].text, pass, (int)f[DTYPE].length, f[DTYPE].text);
    int32_t  group = cm__map_get(index, cm__span_of(key));
    if (group >= 0) return group;
    t->groups = cm__grow(ctx, t->groups, t->n_groups, &t->cap_groups, sizeof *t->groups);
    group = t->n_groups++;
    t->groups[group] = (cm__timing_group){.device = cm__text_copy_n(ctx, f[DEVICE].text, f[DEVICE].length),
                                          .library = cm__text_copy_n(ctx, library.text, library.length),
                                          .op = cm__text_copy_n(ctx, f[OP].text, f[OP].length),
                                          .pass = pass,
                                          .dtype = cm__text_copy_n(ctx, f[DTYPE].text, f[DTYPE].length),
                                          .form = form};
    cm__map_put(index, cm__span_of(key), group);
    return group;
}

static void skip(cm__ctx *ctx, cm__timings *t, const cm__span *f)
{
    if (!t->skipped++)
        t->first_skipped = cm__format(ctx, "%.*s %.*s %.*s", (int)f[OP].length, f[OP].text, (int)f[PASS].length,
                                      f[PASS].text, (int)f[DTYPE].length, f[DTYPE].text);
}

static void add_row(const cm__csv *in, cm__timings *t, cm__map *index, const cm__span *f)
{
    size_t o = 0;
    while (o < sizeof operators / sizeof *operators && !cm__span_is(f[OP], operators[o].op)) o++;
    char     dtype[32] = "";
    cm__work work;
    double   ms;
    if (f[DTYPE].length < sizeof dtype) memcpy(dtype, f[DTYPE].text, f[DTYPE].length);
    row r = {.element = cm__dtype_bytes(dtype), .pass = pass_name(f[PASS]), .note = f[NOTE]};
    if (o == sizeof operators / sizeof *operators || r.element == 0 || !r.pass) {
        skip(in->ctx, t, f);
        return;
    }
    for (int i = 0; i < CM__TIMING_DIMS; i++) {
        if (f[D0 + i].length == 0) r.d[i] = NAN;
        else if (!cm__parse_real(f[D0 + i], &r.d[i]) || r.d[i] < 0 || r.d[i] > 1e12)
            cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: d%d is no size", in->line, i);
        if (operators[o].needed >> i & 1 && isnan(r.d[i]))
            cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: %s without d%d", in->line, operators[o].op, i);
    }
    if (!cm__parse_real(f[LATENCY], &ms) || ms <= 0 || ms * 1e-3 > TIME_MAX_S)
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: latency_ms is no time", in->line);
    operators[o].work(&r, &work);
    if (!(work.bytes > 0) || !(work.flop > 0))
        cm__fail(in->ctx, CM_ERR_FORMAT, "line %d: %s of nothing", in->line, operators[o].op);
    t->rows = cm__grow(in->ctx, t->rows, t->n_rows, &t->cap_rows, sizeof *t->rows);
    int32_t group = group_of(in->ctx, t, index, f, r.pass, cm__form_find(operators[o].form));
    t->groups[group].rows++;
    t->rows[t->n_rows++] = (cm__timing){.group = group, .work = work, .time_s = ms * 1e-3};
}

cm__timings *cm__timings_read(cm__ctx *ctx, const char *text, size_t size)
{
    cm__csv      in = cm__csv_open(ctx, text, size, field_names, FIELDS);
    cm__timings *t = cm__alloc(ctx, sizeof *t);
    cm__span     fields[FIELDS];
    cm__map      index;
    check_header(&in);
    cm__map_init(&index, ctx);
    while (cm__csv_row(&in, fields)) add_row(&in, t, &index, fields);
    return t;
}
