/* SPDX-License-Identifier: Apache-2.0 */
/* min_cut.h - a minimum cut of a directed graph: the edges of least weight without which no path from the source to the
   sink is left. */
#ifndef CM_BASE_MIN_CUT_H
#define CM_BASE_MIN_CUT_H

#include "base/ctx.h"

enum { CM__SOURCE, CM__SINK, CM__FIRST_VERTEX };

#define CM__UNCUT 1e300 /* the weight of an edge that no cut goes through */

typedef struct cm__min_cut cm__min_cut;

/* vertices: their number, source and sink included. */
cm__min_cut *cm__min_cut_new(cm__ctx *ctx, int32_t vertices);
void         cm__min_cut_edge(cm__min_cut *cut, int32_t from, int32_t to, double weight);

/* Per vertex: on the sink's side. Of several minimum cuts it is the one nearest to the sink. To be called once. */
const bool  *cm__min_cut_sink_side(cm__min_cut *cut);

#endif
