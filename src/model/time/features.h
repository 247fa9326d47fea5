/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - properties of a call that determine how far its time is from the roofline: sizes, alignments, and how
 * well tiles fill the cores.
 *
 * data/scales.json has the length scale of each feature, the distances between tables, and the tiles.
 */
#ifndef CM_MODEL_FEATURES_H
#define CM_MODEL_FEATURES_H

#include "model/time/blocks.h"
#include "model/time/roofline.h"

#define CM__FEATURES 32 /* maximum */

/* Scales of an operator's calls; 0: the default scale. */
typedef struct cm__scales {
    double noise;                /* variance of a measured log ratio */
    double alike;                /* variance shared by all rows of a table */
    double variant, dtype, pass; /* distance between tables that differ in it */
    double spread;               /* variance of a log ratio around its trend, where no row is near */
    float  scales[CM__FEATURES];
} cm__scales;

#define CM__ALIGNED 3
#define CM__PRODUCT_TILES 6
#define CM__ATTENTION_BLOCKS 3
#define CM__CONV_SIDES 4
#define CM__CONV_TILES 5

/* The cost of cutting groups out of images and padding them: the least time of a cut and of all paddings, bytes read
   and written, and numbers padded in a second. Groups between the narrowest and the widest need neither. */
typedef struct cm__group_costs {
    double  cut_s, cut_bytes_s, pad_s, padded_per_s;
    int64_t narrowest, widest;
} cm__group_costs;

/* The inputs of features besides sizes. */
typedef struct cm__feature_data {
    /* that libraries choose among */
    double product_tiles[CM__PRODUCT_TILES][2], attention_blocks[CM__ATTENTION_BLOCKS];
    float  default_scale;
    float  kinds_apart;                     /* step of a feature that names a kind */
    float  joined_factor;                   /* extra weight of alignment for concatenation */
    int8_t aligned[CM__CALLS][CM__ALIGNED]; /* sizes that are read with vector loads, counted from 1 */
    cm__group_costs groups;
    double          kept_bytes; /* of a channel: what a batch norm keeps from the first reading to the second */
    double conv_sides[CM__CONV_SIDES], conv_tiles[CM__CONV_TILES][2]; /* of the kernels of convolutions */
    double conv_step;                                                 /* inner size of their tiles */
} cm__feature_data;

/* data/scales.json, by tools/embed.py */
extern const cm__scales       cm__call_scales[CM__CALLS], cm__default_scales;
extern const cm__feature_data cm__feature_facts;

const cm__scales *cm__scales_of(int op); /* -1: those of a call without its own */

/* The number of features. */
int cm__n_features_unpadded(int op);
/* The same, padded with zeros to a multiple of four. */
int cm__n_features(int op);

/* Fills in the features of a call on a device with these limits, not divided by their scales and without the alignment of
   products of pixels, as trends have them. Returns the call's roofline time in seconds. */
double cm__unscaled_features(const cm__call *call, const cm__limits *limits, float *features);

/* Fills in the scaled features of a call on a device with these limits. Returns the call's roofline time in seconds. */
double cm__features(const cm__call *call, const cm__limits *limits, float *features);

/* Features of the work are those from cm__work_features_at() on. */
#define CM__WORK_FEATURES 2 /* roofline time, intensity */
int cm__work_features_at(int op);

/* Features of work are rounded: prepared rows store them in 16 bits. */
#define CM__WORK_STEPS 256 /* in a unit */

/* The scaled features of a call. work: the scaled features of its work. */
void cm__features_beside_work(const cm__call *call, const cm__limits *limits, const float work[CM__WORK_FEATURES],
                              float *features);

#endif
