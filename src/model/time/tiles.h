/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.h - how much of the work of kernels that compute tiles of a product is useful.
 */
#ifndef CM_MODEL_TILES_H
#define CM_MODEL_TILES_H

#include <math.h>
#include "model/time/roofline.h"

/* Utilisation of the cores if this many tiles run in whole waves. */
static inline double cm__waves(double tiles, double cores) { return tiles / (cores * ceil(tiles / cores)); }

/* The useful part of a size that is divided into tiles. */
static inline double cm__filled(double size, double tile) { return size / (tile * ceil(size / tile)); }

/* Fills in how full the tiles of a convolution's kernels are, and returns how many numbers that are; 0 for other calls.
   They are logarithms of useful parts: of tiles' sides along places and along filters (channels in the gradient of the
   input), of the cores' work if tiles run in whole waves, of tiles' inner size, and of vectors of pixels. */
int cm__tiles_of_conv(const cm__call *call, double cores, float *out);

#endif
