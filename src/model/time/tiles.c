/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - how full the tiles of a convolution's kernels are. */
#include "model/time/tiles.h"

#include "model/time/features.h"

#define PIXELS 8 /* of 16 bits, that kernels load at once */

/* Indices of a convolution's sizes: channels, filters, groups, and for each dimension the image and the window. */
typedef struct shape {
    int channels, filters, groups, dimensions, image, window;
} shape;

static const shape shapes[CM__CALLS] = {
    [CM__CALL_CONV] = {CM__CONV_C, CM__CONV_K, CM__CONV_GROUPS, 2, CM__CONV_H, CM__CONV_R},
    [CM__CALL_CONV3D] = {CM__CONV3D_C, CM__CONV3D_K, CM__CONV3D_GROUPS, 3, CM__CONV3D_D, CM__CONV3D_T},
};

static double size(const cm__call *c, int which) { return fmax(1, cm__size(c, which)); } /* any size may be given */

static double all_sizes(const cm__call *c, int first, int count)
{
    double product = 1;
    for (int i = 0; i < count; i++) product *= size(c, first + i);
    return product;
}

/* The sides of the product of a convolution, and its inner size. Places lie along one side of a tile, and filters along
   the other: channels in the gradient of the input. In the gradient of the filters places are summed; the numbers of a
   filter take their side. */
typedef struct sides {
    double groups, places, filters, inner;
} sides;

static sides sides_of(const cm__call *c, const shape *s)
{
    double flop, bytes, groups = size(c, s->groups), in = fmax(1, size(c, s->channels) / groups),
                        out = fmax(1, size(c, s->filters) / groups), window = all_sizes(c, s->window, s->dimensions);
    cm__call_work(c, &flop, &bytes);
    double places = fmax(1, flop / (2 * groups * in * out * window));
    if (c->pass == CM__PASS_BWD_WEIGHT) return (sides){groups, in * window, out, places};
    if (c->pass == CM__PASS_BWD_INPUT) return (sides){groups, places, in, out * window};
    return (sides){groups, places, out, in * window};
}

static float part(double useful) { return logf((float)useful); }

int cm__tiles_of_conv(const cm__call *c, double cores, float *out)
{
    const cm__feature_data *facts = &cm__feature_facts;
    const shape            *s = &shapes[c->op];
    float                  *at = out;
    if (!s->dimensions) return 0;
    sides p = sides_of(c, s);
    for (int i = 0; i < CM__CONV_SIDES; i++) *at++ = part(cm__filled(p.places, facts->conv_sides[i]));
    for (int i = 0; i < CM__CONV_SIDES; i++) *at++ = part(cm__filled(p.filters, facts->conv_sides[i]));
    for (int i = 0; i < CM__CONV_TILES; i++) {
        const double *tile = facts->conv_tiles[i];
        *at++ = part(cm__waves(p.groups * ceil(p.places / tile[0]) * ceil(p.filters / tile[1]), cores));
    }
    *at++ = part(cm__filled(p.inner, facts->conv_step));
    *at++ = part(cm__filled(all_sizes(c, s->image, s->dimensions), PIXELS));
    return (int)(at - out);
}
