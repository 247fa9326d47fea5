/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - 2-D and 3-D convolutions with cuDNN: forward, input gradient and weight gradient. */
#include <math.h>
#include <string.h>

#include "bench/backends/cuda/graph.h"
#include "bench/backends/cuda/ops.h"

#define AXES 3

typedef enum direction { FORWARD, BACKWARD_DATA, BACKWARD_FILTER } direction;

typedef struct conv {
    direction        pass;
    int              axes; /* 2 or 3; the arrays below have 3 entries, and for 2 axes the first one is 1 */
    bool             channels_last;
    int64_t          n, c, k, groups, in[AXES], window[AXES], out[AXES], stride[AXES], pad[AXES], dilation[AXES];
    int              x, w, y; /* operands */
    cm__cudnn_graph *graph;
} conv;

static void sizes_2d(conv *s, const int64_t *d)
{
    *s = (conv){.axes = 2,
                .n = d[0],
                .c = d[1],
                .k = d[2],
                .groups = d[13],
                .in = {1, d[3], d[4]},
                .window = {1, d[5], d[6]},
                .stride = {1, d[7], d[8]},
                .pad = {0, d[9], d[10]},
                .dilation = {1, d[11], d[12]}};
}

static void sizes_3d(conv *s, const int64_t *d)
{
    *s = (conv){.axes = 3,
                .n = d[0],
                .c = d[1],
                .k = d[2],
                .groups = d[18],
                .in = {d[3], d[4], d[5]},
                .window = {d[6], d[7], d[8]},
                .stride = {d[9], d[10], d[11]},
                .pad = {d[12], d[13], d[14]},
                .dilation = {d[15], d[16], d[17]}};
}

static bool sizes(conv *s, const cm_call *call)
{
    (strcmp(call->op, "conv3d") == 0 ? sizes_3d : sizes_2d)(s, call->dims);
    s->channels_last = strcmp(call->variant, "nhwc") == 0;
    s->pass = strcmp(call->pass, "forward") == 0     ? FORWARD
              : strcmp(call->pass, "bwd_input") == 0 ? BACKWARD_DATA
                                                     : BACKWARD_FILTER;
    if (s->groups < 1 || s->n < 1 || s->c < 1 || s->k < 1 || s->c % s->groups || s->k % s->groups) return false;
    for (int i = 0; i < AXES; i++) {
        if (s->in[i] < 1 || s->window[i] < 1 || s->stride[i] < 1 || s->pad[i] < 0 || s->dilation[i] < 1) return false;
        int64_t left = s->in[i] + 2 * s->pad[i] - s->dilation[i] * (s->window[i] - 1) - 1;
        if (left < 0) return false;
        s->out[i] = left / s->stride[i] + 1;
    }
    return true;
}

bool cm__cuda_conv_known(const cm_call *call)
{
    conv s;
    return sizes(&s, call);
}

static int64_t volume(const int64_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

void cm__cuda_conv_declare(cm__cuda_case *c)
{
    conv *s = c->data = cm__alloc(c->ctx, sizeof *s);
    if (!sizes(s, &c->call)) cm__fail(c->ctx, CM_ERR_ARGUMENT, "the sizes are not those of a convolution");
    s->x = cm__cuda_operand(c, c->type, s->n * s->c * volume(s->in),
                            s->pass == BACKWARD_DATA ? FILL_ZERO : FILL_RANDOM);
    s->w = cm__cuda_operand(c, c->type, s->k * (s->c / s->groups) * volume(s->window),
                            s->pass == BACKWARD_FILTER ? FILL_ZERO : FILL_RANDOM);
    s->y = cm__cuda_operand(c, c->type, s->n * s->k * volume(s->out), s->pass == FORWARD ? FILL_ZERO : FILL_RANDOM);
}

static dnn_object tensor(const conv *s, int operand, int64_t outer, int64_t channels, const int64_t *axes)
{
    int64_t sizes[AXES + 2] = {outer, channels}, strides[AXES + 2];
    int64_t step = s->channels_last ? channels : 1;
    int     first = AXES - s->axes, rank = s->axes + 2;
    for (int i = s->axes - 1; i >= 0; i--) {
        sizes[2 + i] = axes[first + i];
        strides[2 + i] = step;
        step *= axes[first + i];
    }
    strides[1] = s->channels_last ? 1 : step;
    strides[0] = s->channels_last ? step : step * channels;
    return cm__cudnn_tensor(s->graph, operand, rank, sizes, strides);
}

static dnn_object convolution(const conv *s)
{
    int        type = DNN_FP32, mode = DNN_CROSS_CORRELATION, first = AXES - s->axes;
    int64_t    axes = s->axes;
    dnn_object d = cm__cudnn_make(s->graph, DNN_CONVOLUTION);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_TYPE, DNN_T_DATA_TYPE, 1, &type);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_MODE, DNN_T_CONV_MODE, 1, &mode);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_SPATIAL_DIMS, DNN_T_INT64, 1, &axes);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_DILATIONS, DNN_T_INT64, axes, s->dilation + first);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_STRIDES, DNN_T_INT64, axes, s->stride + first);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_PRE_PADDINGS, DNN_T_INT64, axes, s->pad + first);
    cm__cudnn_set(s->graph, d, DNN_A_CONV_POST_PADDINGS, DNN_T_INT64, axes, s->pad + first);
    cm__cudnn_finish(s->graph, d, "convolution");
    return d;
}

void cm__cuda_conv_setup(cm__cuda_case *c)
{
    /* Each operation's attributes follow in cuDNN's order: alpha, beta, convolution, filter, and two tensors. */
    static const struct {
        int type, first;
    } operations[] = {{DNN_CONV_FORWARD, DNN_A_FORWARD_FIRST},
                      {DNN_CONV_DATA, DNN_A_DATA_FIRST},
                      {DNN_CONV_FILTER, DNN_A_FILTER_FIRST}};
    conv *s = c->data;
    float one = 1, zero = 0;
    s->graph = cm__cudnn_graph_new(c);
    dnn_object x = tensor(s, s->x, s->n, s->c, s->in), w = tensor(s, s->w, s->k, s->c / s->groups, s->window),
               y = tensor(s, s->y, s->n, s->k, s->out);
    dnn_object conv_desc = convolution(s), operation = cm__cudnn_make(s->graph, operations[s->pass].type);
    int        first = operations[s->pass].first;
    cm__cudnn_set(s->graph, operation, first, DNN_T_FLOAT, 1, &one);
    cm__cudnn_set(s->graph, operation, first + 1, DNN_T_FLOAT, 1, &zero);
    cm__cudnn_set(s->graph, operation, first + 2, DNN_T_DESCRIPTOR, 1, &conv_desc);
    cm__cudnn_set(s->graph, operation, first + 3, DNN_T_DESCRIPTOR, 1, &w);
    cm__cudnn_set(s->graph, operation, first + 4, DNN_T_DESCRIPTOR, 1, &x);
    cm__cudnn_set(s->graph, operation, first + 5, DNN_T_DESCRIPTOR, 1, &y);
    cm__cudnn_finish(s->graph, operation, "operation");
    cm__cudnn_plan(s->graph, 1, &operation);
}

int cm__cuda_conv_call(cm__cuda_case *c, int64_t copy)
{
    return cm__cudnn_execute(((conv *)c->data)->graph, copy);
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static int64_t place(const conv *s, int64_t outer, int64_t channel, int64_t channels, const int64_t *at,
                     const int64_t *axes)
{
    int64_t flat = (at[0] * axes[1] + at[1]) * axes[2] + at[2];
    return s->channels_last ? (outer * volume(axes) + flat) * channels + channel
                            : (outer * channels + channel) * volume(axes) + flat;
}

/* The coordinates of an index into a tensor [outer, channels, axes]. */
static void coordinates(const conv *s, int64_t index, int64_t channels, const int64_t *axes, int64_t *outer,
                        int64_t *channel, int64_t *at)
{
    int64_t flat = s->channels_last ? index / channels % volume(axes) : index % volume(axes);
    *channel = s->channels_last ? index % channels : index / volume(axes) % channels;
    *outer = index / channels / volume(axes);
    at[2] = flat % axes[2];
    at[1] = flat / axes[2] % axes[1];
    at[0] = flat / axes[2] / axes[1];
}

typedef struct sum {
    double value, size;
} sum;

static void add(sum *total, double a, double b)
{
    total->value += a * b;
    total->size += fabs(a * b);
}

/* The input position that window position `r` of output position `p` reads; false: it is in the padding. */
static bool reads(const conv *s, const int64_t *p, const int64_t *r, int64_t *h)
{
    for (int i = 0; i < AXES; i++) {
        h[i] = p[i] * s->stride[i] - s->pad[i] + r[i] * s->dilation[i];
        if (h[i] < 0 || h[i] >= s->in[i]) return false;
    }
    return true;
}

/* The output position whose window reads input position `h` at its position `r`; false: there is none. */
static bool read_by(const conv *s, const int64_t *h, const int64_t *r, int64_t *p)
{
    for (int i = 0; i < AXES; i++) {
        int64_t at = h[i] + s->pad[i] - r[i] * s->dilation[i];
        p[i] = at / s->stride[i];
        if (at < 0 || at % s->stride[i] || p[i] >= s->out[i]) return false;
    }
    return true;
}

static void next(int64_t *at, const int64_t *axes)
{
    if (++at[2] < axes[2]) return;
    at[2] = 0;
    if (++at[1] < axes[1]) return;
    at[1] = 0;
    at[0]++;
}

static sum forward_at(cm__cuda_case *c, const conv *s, int64_t n, int64_t k, const int64_t *p)
{
    sum     total = {0, 0};
    int64_t width = s->c / s->groups, base = k / (s->k / s->groups) * width, r[AXES] = {0}, h[AXES];
    for (; r[0] < s->window[0]; next(r, s->window))
        for (int64_t ci = 0; reads(s, p, r, h) && ci < width; ci++)
            add(&total, cm__cuda_value(c, s->x, place(s, n, base + ci, s->c, h, s->in)),
                cm__cuda_value(c, s->w, place(s, k, ci, width, r, s->window)));
    return total;
}

static sum data_at(cm__cuda_case *c, const conv *s, int64_t n, int64_t channel, const int64_t *h)
{
    sum     total = {0, 0};
    int64_t width = s->c / s->groups, filters = s->k / s->groups, first = channel / width * filters, r[AXES] = {0},
            p[AXES];
    for (; r[0] < s->window[0]; next(r, s->window))
        for (int64_t k = first; read_by(s, h, r, p) && k < first + filters; k++)
            add(&total, cm__cuda_value(c, s->y, place(s, n, k, s->k, p, s->out)),
                cm__cuda_value(c, s->w, place(s, k, channel % width, width, r, s->window)));
    return total;
}

static sum filter_at(cm__cuda_case *c, const conv *s, int64_t k, int64_t ci, const int64_t *r)
{
    sum     total = {0, 0};
    int64_t width = s->c / s->groups, channel = k / (s->k / s->groups) * width + ci, h[AXES];
    for (int64_t n = 0; n < s->n; n++) {
        int64_t p[AXES] = {0};
        for (; p[0] < s->out[0]; next(p, s->out))
            if (reads(s, p, r, h))
                add(&total, cm__cuda_value(c, s->x, place(s, n, channel, s->c, h, s->in)),
                    cm__cuda_value(c, s->y, place(s, n, k, s->k, p, s->out)));
    }
    return total;
}

int64_t cm__cuda_conv_check(cm__cuda_case *c)
{
    const conv *s = c->data;
    const struct {
        sum (*at)(cm__cuda_case *, const conv *, int64_t, int64_t, const int64_t *);
        int            operand;
        int64_t        channels, terms;
        const int64_t *axes;
    } passes[] =
        {
            {forward_at, s->y, s->k, s->c / s->groups * volume(s->window), s->out},
            {data_at, s->x, s->c, s->k / s->groups * volume(s->window), s->in},
            {filter_at, s->w, s->c / s->groups, s->n * volume(s->out), s->window},
        },
      *pass = &passes[s->pass];
    int64_t total = c->operands[pass->operand].count, n = cm__cuda_samples(2 * pass->terms, total), wrong = 0;
    /* Winograd and tf32 lose up to 1 % of a typical result, and a typical result is sum |x w| / sqrt(terms). */
    double  loss = (strcmp(c->call.dtype, "fp32") == 0 ? 0x1p-11 : 0x1p-6) / sqrt((double)pass->terms);
    for (int64_t i = 0; i < n; i++) {
        int64_t index = cm__cuda_sample(c, i, n, total), outer, channel, at[AXES];
        coordinates(s, index, pass->channels, pass->axes, &outer, &channel, at);
        sum want = pass->at(c, s, outer, channel, at);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, pass->operand, index), want.value, loss * want.size);
    }
    return wrong;
}
