/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides.h - the strides of each tensor.
 *
 * Strides are computed at one batch size. The questions that they answer have the same answer at all batch sizes.
 */
#ifndef CM_GRAPH_STRIDES_H
#define CM_GRAPH_STRIDES_H

#include "graph/rule.h"

typedef struct cm__strides {
    cm__ctx        *ctx;
    const cm_graph *g;
    int64_t       **of;            /* per tensor; NULL: contiguous */
    bool           *copied;        /* per node: a view that needs a copy */
    bool            compiled;      /* torch.compile chooses the order of what its kernels write */
    bool            traced;        /* operators were decomposed by torch.compile before they had strides */
    bool            relaid;        /* and converts the images of all convolutions (not sequences) to channels-last */
    bool           *as_image;      /* per tensor, if relaid: a convolution's image, which generated code writes so */
    int64_t       **wanted;        /* per tensor, if not relaid: strides that generated code must write; NULL: its choice */
} cm__strides;

/* channels_last: images, and weights of convolutions, are in that memory format. */
cm__strides *cm__strides_new(cm__ctx *ctx, const cm_graph *g, bool channels_last);
void         cm__strides_relay(cm__strides *s); /* call it before placing nodes: torch.compile converts all images */
/* Call it before placing nodes: torch.compile gives convolutions their operands with the strides of `traced`. */
void         cm__strides_want(cm__strides *s, const cm__strides *traced);
void         cm__strides_place(cm__strides *s, int32_t node); /* of its outputs; call it in node order */

/* Whether torch.compile converts this operand of a convolution (torch/_inductor/kernel/conv.py: ndim == 2). */
static inline bool cm__strides_converts(const cm__strides *s, int32_t tensor)
{
    return s->relaid && cm__t(s->g, tensor)->rank == 4;
}

int64_t        cm__strides_size(cm_dim d); /* at the batch size of the strides */
const int64_t *cm__strides_of(cm__strides *s, int32_t tensor);
bool           cm__strides_in_rows(cm__strides *s, int32_t tensor);       /* contiguous: no gaps, dimensions in order */
/* All dimensions but the last `inner` ones can be viewed as one. */
bool           cm__strides_joined(cm__strides *s, int32_t tensor, int32_t inner);
static inline bool cm__is_image_rank(int32_t rank) { return rank == 4 || rank == 5; } /* planes, volumes */
bool           cm__repeats_pixels(const cm_node *forward); /* a pad by reflected or repeated pixels */
bool           cm__joins_directions(const cm_graph *g, const cm_node *n); /* of one bidirectional layer */
bool           cm__strides_channels_last(cm__strides *s, int32_t tensor); /* an image, by PyTorch's definition */

/* strides_ops.c: the strides of an operator's output; NULL: contiguous. */
int64_t *cm__strides_written(cm__strides *s, const cm_node *n, int32_t output);
/* For strides_ops.c. */
int64_t *cm__strides_rows(const cm__strides *s, const cm_tensor *t);
int64_t *cm__strides_image(const cm__strides *s, const cm_tensor *t);

/* Whether convolutions get channels-last images if the user does not choose. */
bool cm__channels_last(const cm_graph *g);

#endif
