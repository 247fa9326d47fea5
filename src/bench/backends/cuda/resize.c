/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - image resizing, forward and backward; our own kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define THREADS 256

typedef struct images {
    bool    last, backward, nearest;
    int64_t n, c, h, w, out_h, out_w;
    int     x, y;
} images;

static cu_function kernel(cm__cuda_case *c, const char *name)
{
    const images *s = c->data;
    char          defines[96];
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DLAST=%d -DNEAREST=%d", cm__types[c->type].device, s->last,
             s->nearest);
    return cm__cuda_kernel(c->ctx, c->cu, "images.cu", name, defines);
}

static int64_t place(const images *s, int64_t n, int64_t channel, int64_t pixel, int64_t pixels)
{
    return s->last ? (n * pixels + pixel) * s->c + channel : (n * s->c + channel) * pixels + pixel;
}

bool cm__cuda_resize_known(const cm_call *call)
{
    for (int i = 0; i < 6; i++)
        if (call->dims[i] < 1 || call->dims[i] > 1 << 20) return false;
    return true;
}

void cm__cuda_resize_declare(cm__cuda_case *c)
{
    const int64_t *d = c->call.dims;
    images        *s = c->data = cm__alloc(c->ctx, sizeof *s);
    s->last = strstr(c->call.variant, "nhwc") != NULL;
    s->backward = strcmp(c->call.pass, "backward") == 0;
    s->n = c->call.dims[0];
    s->c = c->call.dims[1];
    s->nearest = strncmp(c->call.variant, "nearest", 7) == 0;
    s->h = d[2];
    s->w = d[3];
    s->out_h = d[4];
    s->out_w = d[5];
    s->x = cm__cuda_operand(c, c->type, s->n * s->c * s->h * s->w, s->backward ? FILL_ZERO : FILL_RANDOM);
    s->y = cm__cuda_operand(c, c->type, s->n * s->c * s->out_h * s->out_w, s->backward ? FILL_RANDOM : FILL_ZERO);
}

void cm__cuda_resize_setup(cm__cuda_case *c)
{
    const images *s = c->data;
    int64_t       count = c->operands[s->backward ? s->x : s->y].count;
    cm__launch   *l = cm__cuda_add_launch(c, kernel(c, s->backward ? "resize_backward" : "resize"),
                                          (count + THREADS - 1) / THREADS, 1, THREADS);
    OPERANDS(l, s->backward ? s->y : s->x, s->backward ? s->x : s->y);
    const int64_t sizes[] = {s->n, s->c, s->h, s->w, s->out_h, s->out_w};
    for (int i = 0; i < 6; i++) cm__cuda_arg_int(l, sizes[i]);
}

typedef struct source {
    int64_t low, high;
    double  part;
} source;

/* In fp32 as in the kernel, so that both round to the same pixel. */
static source source_of(const images *s, int64_t at, int64_t in, int64_t out)
{
    float   ratio = (float)in / (float)out, where = fmaxf(((float)at + 0.5f) * ratio - 0.5f, 0);
    int64_t low = (int64_t)(s->nearest ? floorf((float)at * ratio) : where);
    if (low > in - 1) low = in - 1;
    if (s->nearest) return (source){low, low, 0};
    return (source){low, low + 1 < in ? low + 1 : in - 1, (double)(where - (float)low)};
}

static double weight(source from, int64_t of)
{
    return (of == from.low ? 1 - from.part : 0) + (of == from.high ? from.part : 0);
}

static double resized_at(cm__cuda_case *c, int64_t image, int64_t channel, int64_t row, int64_t column)
{
    const images *s = c->data;
    source        v = source_of(s, row, s->h, s->out_h), u = source_of(s, column, s->w, s->out_w);
    double        total = 0;
    for (int i = 0; i < 4; i++) {
        double  part = (i & 1 ? u.part : 1 - u.part) * (i & 2 ? v.part : 1 - v.part);
        int64_t pixel = (i & 2 ? v.high : v.low) * s->w + (i & 1 ? u.high : u.low);
        total += part * cm__cuda_value(c, s->x, place(s, image, channel, pixel, s->h * s->w));
    }
    return total;
}

static double gathered_at(cm__cuda_case *c, int64_t image, int64_t channel, int64_t row, int64_t column)
{
    const images *s = c->data;
    double        total = 0;
    for (int64_t r = 0; r < s->out_h; r++) {
        double down = weight(source_of(s, r, s->h, s->out_h), row);
        for (int64_t k = 0; down != 0 && k < s->out_w; k++) {
            double across = weight(source_of(s, k, s->w, s->out_w), column);
            if (across != 0)
                total += down * across *
                         cm__cuda_value(c, s->y, place(s, image, channel, r * s->out_w + k, s->out_h * s->out_w));
        }
    }
    return total;
}

int64_t cm__cuda_resize_check(cm__cuda_case *c)
{
    const images *s = c->data;
    int64_t       h = s->backward ? s->h : s->out_h, w = s->backward ? s->w : s->out_w, total = s->n * s->c * h * w,
            wrong = 0;
    int64_t n = cm__cuda_samples(s->backward ? s->out_h + 8 * s->out_w : 4, total);
    for (int64_t i = 0; i < n; i++) {
        int64_t flat = cm__cuda_sample(c, i, n, total), pixel = flat % (h * w), channel = flat / (h * w) % s->c,
                image = flat / (h * w) / s->c;
        double want = (s->backward ? gathered_at : resized_at)(c, image, channel, pixel / w, pixel % w);
        wrong += cm__cuda_wrong(
            c->type, cm__cuda_result(c, s->backward ? s->x : s->y, place(s, image, channel, pixel, h * w)), want, 1e-4);
    }
    return wrong;
}
