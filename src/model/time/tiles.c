/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - how full the tiles of a convolution's kernels are. */
#include "model/time/tiles.h"

#include "model/time/features.h"

#define PIXELS 8 /* of 16 bits, that kernels load at once */

/* The product of a convolution has places along one side of a tile, and filters along the other: channels in the
   gradient of the input. In the gradient of the filters places are summed; the numbers of a filter take their side. */
static void sides_of(const cm__call *c, double p[4])
{
    cm__as_product(c, p);
    double filters = p[1];
    if (c->pass == CM__PASS_BWD_WEIGHT) p[1] = p[2], p[2] = filters;
    for (int i = 0; i < 4; i++) p[i] = fmax(1, p[i]); /* any size may be given */
}

static float part(double useful) { return logf((float)useful); }

int cm__tiles_of_conv(const cm__call *c, double cores, float *out)
{
    const cm__feature_data *facts = &cm__feature_facts;
    double                  p[4], pixels = fmax(1, cm__size(c, CM__CONV_H) * cm__size(c, CM__CONV_W));
    float                  *at = out;
    if (c->op != CM__CALL_CONV) return 0;
    sides_of(c, p);
    for (int side = 1; side <= 2; side++)
        for (int i = 0; i < CM__CONV_SIDES; i++) *at++ = part(cm__filled(p[side], facts->conv_sides[i]));
    for (int i = 0; i < CM__CONV_TILES; i++) {
        const double *tile = facts->conv_tiles[i];
        *at++ = part(cm__waves(p[0] * ceil(p[1] / tile[0]) * ceil(p[2] / tile[1]), cores));
    }
    *at++ = part(cm__filled(p[3], facts->conv_step));
    *at++ = part(cm__filled(pixels, PIXELS));
    return (int)(at - out);
}
