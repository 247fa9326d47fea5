/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides.h - where the elements of each tensor lie.
 *
 * Strides are followed through a graph at one batch size; what is asked of them has the same answer at all others.
 */
#ifndef CM_GRAPH_STRIDES_H
#define CM_GRAPH_STRIDES_H

#include "graph/rule.h"

typedef struct cm__strides {
    cm__ctx        *ctx;
    const cm_graph *g;
    int64_t       **of;            /* per tensor; NULL: one row after the other */
    bool           *copied;        /* per node: a view that takes a copy */
} cm__strides;

/* channels_last: images, and weights of convolutions, are given so. */
cm__strides *cm__strides_new(cm__ctx *ctx, const cm_graph *g, bool channels_last);
void         cm__strides_place(cm__strides *s, int32_t node); /* its results; after those of all before it */

int64_t        cm__strides_size(cm_dim d); /* at the batch size that strides are for */
const int64_t *cm__strides_of(cm__strides *s, int32_t tensor);
bool           cm__strides_in_rows(cm__strides *s, int32_t tensor);       /* no gaps, in the order of its sizes */
bool           cm__strides_channels_last(cm__strides *s, int32_t tensor); /* an image, as PyTorch tells it */

/* strides_ops.c: what an operator writes; NULL: in rows. */
int64_t *cm__strides_written(cm__strides *s, const cm_node *n, int32_t output);
/* For it. */
int64_t *cm__strides_rows(const cm__strides *s, const cm_tensor *t);
int64_t *cm__strides_image(const cm__strides *s, const cm_tensor *t);

/* Whether convolutions get images with their channels last if nobody says otherwise. */
bool cm__channels_last(const cm_graph *g);

#endif
