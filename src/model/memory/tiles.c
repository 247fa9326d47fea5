/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.c - how Google's compiler pads the images of convolutions, which depends on the batch size.
 *
 * The last two dimensions of a layout are multiples of a tile of 8 x 128. The compiler makes the channels last and the batch
 * before them, or the batch last and the channels before it, whichever is padded less: 32 channels of 8 images take the
 * place of 128. An image of fewer channels than a tile has rows is given with its own rows last, and copied so.
 * These sizes are no polynomials of the batch size, so the peak is found again for each one that is asked.
 */
#include <math.h>
#include <string.h>
#include "device/device.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"

#define ROWS    8
#define COLUMNS 128

static int8_t *at(int8_t *channels, const cm_graph *g, int32_t tensor)
{
    return tensor >= 0 && cm__t(g, tensor)->rank > 2 ? &channels[tensor] : NULL;
}

/* The dimension of a transposed tensor that another one's was. */
static int8_t moved(const cm_node *n, int8_t dim, bool back)
{
    const cm__attr *perm = cm__attr_find(n, CM_ATTR_PERM);
    for (int32_t i = 0; perm && !back && i < perm->count; i++)
        if (perm->ints[i] == dim) return (int8_t)i;
    return perm && back && dim < perm->count ? (int8_t)perm->ints[dim] : 0;
}

/* The transposition that a node makes or, as the gradient of a transposed view, reverses (*back); NULL: none. */
static const cm_node *turn_of(const cm_graph *g, const cm_node *n, bool *back)
{
    const cm_node *source = n->op == CM_OP_VIEW && n->source >= 0 ? &g->nodes[n->source] : n;
    *back = source != n;
    return source->op == CM_OP_TRANSPOSE ? source : NULL;
}

/* Operators between images of equal rank keep the place of the channels. */
static void pass_on(const cm_graph *g, const cm_node *n, int8_t *channels)
{
    bool           back;
    const cm_node *turn = turn_of(g, n, &back);
    int8_t *to = at(channels, g, n->n_outputs ? n->outputs[0] : -1);
    for (int32_t k = 0; to && k < n->n_inputs; k++) {
        int8_t *from = at(channels, g, n->inputs[k]);
        if (!from || cm__t(g, n->inputs[k])->rank != cm__t(g, n->outputs[0])->rank) continue;
        if (!*to) *to = turn ? moved(turn, *from, back) : *from;
        if (!*from) *from = turn ? moved(turn, *to, !back) : *to;
    }
}

static void start(const cm_graph *g, const cm_node *n, int8_t *channels)
{
    if (cm__class(n) != CM_CLASS_CONV) return;
    for (int32_t k = 0; k < n->n_inputs + n->n_outputs; k++) {
        int32_t t = k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs];
        int8_t *of = at(channels, g, t);
        if (of && cm__t(g, t)->dims[0].per_batch) *of = 1;
    }
}

void cm__find_images(cm_footprint *f)
{
    const cm_graph *g = f->step;
    if (!cm__is_vendors(f->options.runtime) || !cm__loops_layers(f->device) || !cm__facts_of(g).convolves) return;
    if (cm__is_loop(f, f->ctx)) return; /* its images are those of patches, which are read once */
    f->channels = cm__alloc_array(f->ctx, (size_t)g->n_tensors + 1, sizeof *f->channels);
    for (int32_t i = 0; i < g->n_nodes; i++) start(g, &g->nodes[i], f->channels);
    for (int32_t i = 0; i < g->n_nodes; i++) pass_on(g, &g->nodes[i], f->channels);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) pass_on(g, &g->nodes[i], f->channels);
}

static double filled(double n, double unit) { return n > 0 ? ceil(n / unit) * unit / n : 1; }

static double filled_by(const cm_tensor *t, int32_t dim, double unit)
{
    return dim > 0 && dim < t->rank ? filled((double)t->dims[dim].fixed, unit) : 1;
}

/* The layout of a few channels has tiles of fewer rows. */
static double padding(const cm_tensor *t, int32_t channel, double batch, bool given)
{
    bool   few = t->dims[channel].fixed < ROWS, at_end = channel == t->rank - 1;
    double rows = few ? exp2(ceil(log2((double)t->dims[channel].fixed))) : ROWS;
    double batch_last = filled(batch, COLUMNS) * filled_by(t, channel, rows);
    double channels_last = filled_by(t, channel, COLUMNS) * filled(batch, ROWS);
    double rows_last = filled_by(t, t->rank - 1 - at_end, COLUMNS) * filled_by(t, t->rank - 2 - at_end, ROWS);
    return given && few ? rows_last : fmin(channels_last, batch_last);
}

double cm__piece_at(const cm_footprint *f, const cm__piece *x, double batch)
{
    double bytes = cm__poly_at(&x->bytes, batch);
    bool   image = f->channels && f->channels[x->tensor] && x->category == CM_CATEGORY_INPUT_OUTPUT;
    return image ? rint(bytes * padding(cm__t(f->step, x->tensor), f->channels[x->tensor], batch, x->born < 0)) : bytes;
}

double cm__tiled_peak(const cm_footprint *f, double batch, cm_memory_use *use)
{
    double now[CM_CATEGORIES] = {0}, most = 0;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        double all = cm__temporary_at(cm__temporary_of(f, i), batch);
        for (int32_t e = f->alive.first[i]; e >= 0; e = f->alive.next[e])
            now[f->pieces[e / 2].category] += (e % 2 ? -1 : 1) * cm__piece_at(f, &f->pieces[e / 2], batch);
        for (cm_category c = 0; c < CM_CATEGORIES; c++) all += now[c];
        if (all <= most) continue;
        most = all;
        use->peak_node = i;
        memcpy(use->categories, now, sizeof now);
    }
    return most;
}
