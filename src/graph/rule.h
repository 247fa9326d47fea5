/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h - helpers of the shape, fold and gradient rules: inputs, lists of numbers, axes. */
#ifndef CM_GRAPH_RULE_H
#define CM_GRAPH_RULE_H

#include "graph/graph.h"

static inline bool cm__has(const cm_node *n, int32_t input) { return input < n->n_inputs && n->inputs[input] >= 0; }

static inline const cm_tensor *cm__in(const cm_graph *g, const cm_node *n, int32_t input)
{
    return cm__t(g, n->inputs[input]);
}

/* Values of CM_ATTR_MODE: how an image of another size is made. Smooth: with antialiasing. Corners: of samples at places
   between the centres of the outer pixels. */
enum {
    CM__MODE_NEAREST, CM__MODE_LINEAR, CM__MODE_CUBIC, CM__MODE_LINEAR_SMOOTH, CM__MODE_CUBIC_SMOOTH, CM__MODE_REFLECT,
    CM__MODE_REPLICATE, CM__MODE_AVERAGE, CM__MODE_MAX, CM__MODE_SAMPLE, CM__MODE_SAMPLE_CORNERS,
    CM__MODES
};

#define CM__ADDS 1 /* of a scatter, CM_ATTR_REDUCTION: it adds to the present values */
#define CM__EXTREME 2 /* likewise: the larger or the smaller number remains */

static inline bool cm__is_float(cm_dtype d) { return d <= CM_FP8; }
/* True: PyTorch's autocast chooses the type of each operator, between fp32 and 16 bits. */
static inline bool cm__autocasts(cm_precision p) { return p == CM_PRECISION_AMP_BF16 || p == CM_PRECISION_AMP_FP16; }
static inline bool cm__has_gradient(cm_dtype d) { return cm__is_float(d) || d == CM_COMPLEX64; }

/* Elements of a tensor of fixed shape; -1: it depends on the batch size or is above CM__VALUE_MAX. */
int64_t cm__small_count(const cm_tensor *t);

/* Integers given as an attribute or, in later opsets, as an input of known contents. -1: neither is given. */
int32_t cm__int_list(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t input, int64_t *out, int32_t max);
/* The same; entries may depend on the batch size. */
int32_t cm__dim_list(cm_graph *g, const cm_node *n, int32_t input, cm_dim *out, int32_t max);
/* The same for real numbers. */
int32_t cm__real_list(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t input, double *out, int32_t max);

int32_t cm__copy_dims(const cm_tensor *t, cm_dim *dims); /* returns the rank */
cm_dim  cm__dims_product(cm_graph *g, const cm_dim *dims, int32_t count);

/* Inputs of a deformed convolution. The bias is last, and backward does not read it. */
enum {
    CM__DEFORMED_IMAGE, CM__DEFORMED_FILTERS, CM__DEFORMED_OFFSETS, CM__DEFORMED_MASK, CM__DEFORMED_BIAS,
    CM__DEFORMED_INPUTS
};

#define CM__SECOND_POINTS 5 /* inputs of the gradient of the second points of distances */

/* True: a function with a threshold made some of the numbers exactly zero. */
bool cm__has_zeros(const cm_graph *g, int32_t tensor);
int32_t cm__axis(cm_graph *g, int64_t axis, int32_t rank); /* negative axes count from the end */
void    cm__need_rank(cm_graph *g, const cm_tensor *t, int32_t least);

/* The shape that two shapes broadcast to; fails with both in the message. Returns its rank. */
int32_t cm__broadcast(cm_graph *g, int32_t rank_a, const cm_dim *a, int32_t rank_b, const cm_dim *b, cm_dim *out);

/* The type of a result: the wider operand's; scalars (rank 0) do not widen tensors. */
cm_dtype cm__widest(const cm_graph *g, const cm_node *n, int32_t first, int32_t count);

/* Start, end and step of each axis that a Slice names, from attributes or inputs. */
typedef struct cm__slices {
    int32_t count, axis[CM__RANK_MAX];
    cm_dim  start[CM__RANK_MAX], end[CM__RANK_MAX];
    int64_t step[CM__RANK_MAX];
} cm__slices;
void cm__slices_read(cm_graph *g, const cm_node *n, cm__slices *s);

/* Spatial parameters of convolution and pooling, checked. */
#define CM__SPATIAL_MAX 6
typedef struct cm__window {
    int32_t dims;
    int64_t kernel[CM__SPATIAL_MAX], stride[CM__SPATIAL_MAX], dilation[CM__SPATIAL_MAX];
    int64_t pad_begin[CM__SPATIAL_MAX], pad_end[CM__SPATIAL_MAX];
    int64_t auto_pad;
} cm__window;
cm_dim cm__conv_groups(const cm_node *n); /* fixed, or as many for each sample */
void   cm__window_read(cm_graph *g, const cm_node *n, int32_t dims, const int64_t *kernel, cm__window *w);
cm_dim cm__window_output(cm_graph *g, const cm__window *w, int32_t axis, cm_dim size, bool ceil_mode);

bool cm__same_shape(const cm_tensor *a, const cm_tensor *b);

/* Whether a product reads a weight that is stored in fewer bits and unpacked for it. */
bool cm__reads_unpacked(const cm_graph *g, const cm_node *n);
/* Whether a weight is unpacked by operators of PyTorch, and kept in 16 bits until backward. */
bool cm__unpacks_by_operators(const cm_graph *g, const cm_node *n);

#endif
