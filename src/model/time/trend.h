/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend.h - the expected logarithm of time over roofline time of a call, for tables to which a trend was fitted.
 *
 * A trend is the mean of small neural networks, fitted to the rows of all tables of a call by tools/fit_trends.py
 * (data/trends.json). Where rows are near, they determine the time; far from all rows the trend does.
 */
#ifndef CM_MODEL_TREND_H
#define CM_MODEL_TREND_H

#include "device/kernels.h"
#include "model/time/roofline.h"

#define CM__TREND_INPUTS 64 /* maximum */
#define CM__TREND_TOGETHER 48 /* units that are computed together: a layer has a multiple of them */
#define CM__TREND_HIDDEN 144  /* maximum of units of each of two hidden layers */

/* Inputs of a network: the unscaled features of the call, the logarithms of the sizes of the product that it computes,
   how full the tiles of a convolution are, and for each word 1 if it is the call's type, pass or variant. weights: of
   each network in turn, for each input and then for each unit of the first layer those of the next layer's units, as
   integers that are multiplied by the scale of that input or unit. numbers: of each network in turn, these scales, the
   biases of both layers, the weights of the result and its bias. */
typedef struct cm__trend_nets {
    int32_t            n_inputs, n_words, count, hidden; /* count: of networks, 0: no trend; hidden: units of a layer */
    const char *const *words;
    const int8_t      *weights;
    const float       *numbers;
} cm__trend_nets;

extern const cm__trend_nets cm__trends[CM__CALLS]; /* data/trends.json, by tools/embed.py */

/* Fills in the inputs; returns their number. Words: NULL for none. */
int cm__trend_inputs(const cm__call *call, const cm__limits *limits, const cm__trend_nets *nets, float *inputs);

/* The trend of a call that is looked up in `table`; 0 for calls and tables without one. */
float cm__trend(const cm__kernel_table *table, const cm__call *call, const cm__limits *limits);

#endif
