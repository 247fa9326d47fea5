/* SPDX-License-Identifier: Apache-2.0 */
/* lengths.h - how the lengths of samples are distributed if only their mean and the longest one are known. */
#ifndef CM_MODEL_LENGTHS_H
#define CM_MODEL_LENGTHS_H

#include <stdint.h>

/* The distribution of maximum entropy on (0, longest] with a given mean: its density is exp(-rate x / longest). */
typedef struct cm__lengths {
    double longest, rate;
} cm__lengths;

/* 0 < mean < longest; other means are moved into that range. */
cm__lengths cm__lengths_of(double mean, double longest);

/* the length that this fraction of samples has at most */
double cm__length_at(const cm__lengths *l, double fraction);
double cm__length_deviation(const cm__lengths *l);                /* standard deviation of one length */
double cm__longest_of(const cm__lengths *l, double count);        /* expected longest of so many samples */
/* Expected mean length of the device with the most tokens, of `devices` with `count` samples each. */
double cm__busiest_of(const cm__lengths *l, double devices, double count);

#endif
