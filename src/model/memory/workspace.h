/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - memory that operators allocate while they run, besides their outputs. */
#ifndef CM_MODEL_WORKSPACE_H
#define CM_MODEL_WORKSPACE_H

#include "graph/graph.h"

/* Memory that one node allocates and frees. */
typedef struct cm__temporary {
    cm_poly bytes;
    double  least_batch; /* smaller batches use another algorithm, which allocates nothing */
} cm__temporary;

/* Sizes from which a version of cuDNN takes an algorithm that allocates memory: data/workspaces.tsv. */
typedef struct cm__cudnn_rules {
    const char *version;
    double      winograd_channels, winograd_product;
    double      fft_channels, fft_product, fft_side_most, fft_filled;
    double      fft_tiles_channels, fft_tiles_side;
    double      fft_outputs, padded_channels, product_pixels, product_channels, volume_channels;
} cm__cudnn_rules;

extern const cm__cudnn_rules cm__cudnn_versions[];

typedef enum cm__conv_pass { CM__CONV_FORWARD, CM__CONV_INPUT, CM__CONV_WEIGHT } cm__conv_pass;

/* Workspace of one pass of a convolution, given its forward node. channels_last: image and filter are in that
   format. */
cm__temporary cm__workspace_conv(const cm_graph *g, const cm_node *forward, cm__conv_pass pass, bool channels_last);

#endif
