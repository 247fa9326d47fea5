/* SPDX-License-Identifier: Apache-2.0 */
/* captured.c - rules of aten.def for operators that ONNX does not have: transforms, borders, windows, sorting. */
#include "import/trace/rules.h"

#include <string.h>

/* ---- images ----------------------------------------------------------------------------------------------------- */

/* The start of an operator's name, and how it makes an image of another size. */
static const struct {
    const char *name;
    int64_t     mode;
} modes[] = {
    {"upsample_nearest", CM__MODE_NEAREST},        {"_upsample_nearest", CM__MODE_NEAREST},
    {"upsample_linear", CM__MODE_LINEAR},          {"upsample_bilinear", CM__MODE_LINEAR},
    {"upsample_trilinear", CM__MODE_LINEAR},       {"upsample_bicubic", CM__MODE_CUBIC},
    {"_upsample_bilinear", CM__MODE_LINEAR_SMOOTH}, {"_upsample_bicubic", CM__MODE_CUBIC_SMOOTH},
    {"reflection_pad", CM__MODE_REFLECT},          {"replication_pad", CM__MODE_REPLICATE},
};

static int64_t mode_of(const cm__trace_op *o)
{
    int64_t mode = CM__MODE_NEAREST;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strncmp(o->name, modes[i].name, strlen(modes[i].name)) == 0) mode = modes[i].mode;
    return mode;
}

void cm__aten_upsample(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 inputs[] = {cm__trace_need(t, o, 0), -1, -1, cm__trace_shape(t, y->rank, y->dims)};
    cm__attr                mode = CM__INTS(CM_ATTR_MODE, mode_of(o));
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 4, &mode, 1));
}

void cm__aten_border(cm__trace *t, const cm__trace_op *o, int op)
{
    cm__attr mode = CM__INTS(CM_ATTR_MODE, mode_of(o));
    cm__trace_recorded(t, o, op, &mode, 1);
}

#define CUDNN_CHANNELS 1024 /* at most, of images that cuDNN samples */

/* cuDNN samples planes linearly, with -1 and 1 at the centres of the outer pixels and zeros outside
   (cond_cudnn_grid_sampler in ATen/native/GridSampler.cpp). */
static bool cudnn_samples(cm__trace *t, const cm__trace_op *o, const cm_tensor *x)
{
    return x->rank == 4 && x->dims[1].fixed <= CUDNN_CHANNELS && cm__trace_int(t, o, "align_corners", 0) &&
           !cm__trace_int(t, o, "interpolation_mode", 0) && !cm__trace_int(t, o, "padding_mode", 0);
}

void cm__aten_sample(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1)};
    bool     cudnn = inputs[0] >= 0 && cudnn_samples(t, o, cm__t(t->g, inputs[0]));
    cm__attr mode = CM__INTS(CM_ATTR_MODE, cudnn ? CM__MODE_SAMPLE_CORNERS : CM__MODE_SAMPLE);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &mode, 1));
}

void cm__aten_columns(cm__trace *t, const cm__trace_op *o, int op)
{
    cm__attr attrs[] = {cm__trace_per_dimension(t, o, "kernel_size", CM_ATTR_KERNEL_SHAPE, 2, 1, 1),
                        cm__trace_per_dimension(t, o, "stride", CM_ATTR_STRIDES, 2, 1, 1),
                        cm__trace_per_dimension(t, o, "padding", CM_ATTR_PADS, 2, 0, 2),
                        cm__trace_per_dimension(t, o, "dilation", CM_ATTR_DILATIONS, 2, 1, 1)};
    cm__trace_recorded(t, o, op, attrs, 4);
}

/* ---- transforms and orders -------------------------------------------------------------------------------------- */

static cm__attr axes_of(cm__trace *t, const cm__trace_op *o, const char *key)
{
    int64_t *axes = cm__alloc_array(t->ctx, CM__RANK_MAX, sizeof *axes);
    int32_t  count = cm__trace_ints(t, o, key, axes, CM__RANK_MAX);
    return (cm__attr){.key = CM_ATTR_AXES, .count = count < 0 ? 0 : count, .ints = axes};
}

/* A scale of other than one is a kernel of its own. */
void cm__aten_fft(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    cm__attr                attrs[] = {axes_of(t, o, "dim"),
                                       CM__INTS(CM_ATTR_SCALE, cm__trace_int(t, o, "normalization", 0) != 0)};
    for (int32_t i = 0; i < attrs[0].count; i++) cm__axis(t->g, attrs[0].ints[i], y->rank);
    if (attrs[0].count < 1) cm__fail(t->ctx, CM_ERR_FORMAT, "%s along no dimension", o->full);
    cm__trace_recorded(t, o, op, attrs, 2);
}

void cm__aten_roll(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr axes = axes_of(t, o, "dims");
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &axes, axes.count > 0));
}

/* All elements of a dimension in their order. */
void cm__aten_sort(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t          x = cm__trace_need(t, o, 0);
    const cm_tensor *from = cm__t(t->g, x);
    int64_t          dim = cm__trace_int(t, o, "dim", -1);
    int32_t          axis = cm__axis(t->g, dim, from->rank);
    if (from->dims[axis].per_batch) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "the samples are sorted");
    cm__attr attrs[] = {CM__INTS(CM_ATTR_K, from->dims[axis].fixed), CM__INTS(CM_ATTR_AXIS, axis)};
    cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, 2);
    const int32_t *made = cm__last(t->g)->outputs;
    for (int32_t i = 0; i < 2; i++) cm__trace_made(t, o, i, made[i]);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

void cm__aten_add_product(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1), cm__trace_need(t, o, 2)};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, NULL, 0));
}

/* One kernel computes variance and mean. What reads the mean gets it from a second reduction if both are read. */
void cm__aten_moments(cm__trace *t, const cm__trace_op *o, int op)
{
    cm__trace_op mean = *o;
    cm__aten_reduce(t, o, op);
    if (o->n_out < 2 || o->out[1] < 0 || !t->tensors[o->out[1]].readers) return;
    mean.out++;
    mean.n_out--;
    cm__aten_reduce(t, &mean, CM_OP_REDUCE_MEAN);
}
