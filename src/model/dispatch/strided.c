/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided.c - how an elementwise kernel iterates over its operands, and thus which of PyTorch's kernels runs.
 *
 * Dimensions are sorted by the result's strides and merged where the strides of every operand allow it. The remaining
 * dimensions select the variant:
 *
 *     ""                one contiguous run: the fast kernel
 *     :row :col :plane  an operand is broadcast along rows, columns or planes
 *     :part             operands have contiguous rows with gaps between them
 *     :turned           an operand is transposed within blocks, and its cache lines are used before they are evicted
 *     :strided          an operand is not contiguous within rows in another way
 *
 * src/device/transposed.c decides between the last two.
 */
#include <math.h>
#include "base/text.h"
#include "device/transposed.h"
#include "model/dispatch/compiler.h"

#define READ 3

typedef struct loop_nest {
    int32_t dims, operands;
    double  bytes[READ]; /* per element of an operand */
    int64_t size[CM__RANK_MAX], result[CM__RANK_MAX], read[READ][CM__RANK_MAX];
    cm_poly elements[CM__RANK_MAX];
} loop_nest;

/* ---- strides over the result's dimensions ------------------------------------------------------------------------ */

/* Lists the dimensions of more than one element, the innermost first. */
static int32_t order_of(const cm_tensor *shape, const int64_t *strides, int32_t *order)
{
    int32_t n = 0;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        if (cm__strides_size(shape->dims[i]) == 1) continue;
        int32_t at = n++;
        for (; at > 0 && strides[order[at - 1]] > strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

/* Strides of the operand along the result's dimensions, 0 where it is broadcast. False: its shape does not fit. */
static bool over(cm__dispatch *d, int32_t tensor, const cm_tensor *shape, int64_t *strides)
{
    const cm_tensor *x = cm__t(d->g, tensor);
    const int64_t   *own = cm__strides_of(d->strides, tensor);
    if (x->rank > shape->rank) return false;
    for (int32_t i = 0; i < shape->rank; i++) {
        int32_t k = i - (shape->rank - x->rank);
        bool    one = k < 0 || cm__dim_is(x->dims[k], 1);
        if (!one && !cm__dim_same(x->dims[k], shape->dims[i])) return false;
        strides[i] = one ? 0 : own[k];
    }
    return true;
}

static bool joins(const loop_nest *w, int64_t result, const int64_t *read)
{
    int32_t last = w->dims - 1;
    bool    all = w->dims > 0 && result == w->size[last] * w->result[last];
    for (int32_t k = 0; all && k < w->operands; k++) all = read[k] == w->size[last] * w->read[k][last];
    return all;
}

static loop_nest loop_nest_of(cm__dispatch *d, const cm_tensor *shape, const int64_t *result, const int32_t *read, int32_t count)
{
    loop_nest    w = {0};
    int64_t strides[READ][CM__RANK_MAX];
    int32_t order[CM__RANK_MAX], n = order_of(shape, result, order);
    for (int32_t i = 0; i < count && w.operands < READ; i++)
        if (read[i] >= 0 && over(d, read[i], shape, strides[w.operands]))
            w.bytes[w.operands++] = (double)cm_dtype_size(cm__t(d->g, read[i])->dtype);
    for (int32_t i = 0; i < n; i++) {
        cm_dim  dim = shape->dims[order[i]];
        int64_t size = cm__strides_size(dim), here[READ];
        for (int32_t k = 0; k < w.operands; k++) here[k] = strides[k][order[i]];
        if (joins(&w, result[order[i]], here)) {
            w.size[w.dims - 1] *= size;
            w.elements[w.dims - 1] = cm__poly_mul(w.elements[w.dims - 1], cm__poly_dim(dim));
            continue;
        }
        for (int32_t k = 0; k < w.operands; k++) w.read[k][w.dims] = here[k];
        w.size[w.dims] = size;
        w.result[w.dims] = result[order[i]];
        w.elements[w.dims++] = cm__poly_dim(dim);
    }
    return w;
}

/* ---- choice of the kernel ---------------------------------------------------------------------------------------- */

static bool is_broadcast(const loop_nest *w, int32_t operand)
{
    for (int32_t i = 0; i < w->dims; i++)
        if (w->read[operand][i] == 0) return true;
    return false;
}

static bool same_strides(const loop_nest *w, int32_t operand)
{
    for (int32_t i = 0; i < w->dims; i++)
        if (w->read[operand][i] != w->result[i]) return false;
    return true;
}

/* The operand whose neighbours in a row lie apart; -1: none, or several. */
static int32_t apart_in_rows(const loop_nest *w)
{
    int32_t found = -1;
    for (int32_t k = 0; k < w->operands; k++) {
        if (w->dims == 0 || w->read[k][0] <= 1) continue;
        if (found >= 0) return -1;
        found = k;
    }
    return found;
}

/* Elements between neighbours in a row, or dimensions outside of it. */
static bool is_between(const loop_nest *w, int32_t operand, int32_t dim)
{
    return w->read[operand][dim] > 0 && w->read[operand][dim] < w->read[operand][0];
}

/* Whether an operand consists of transposed blocks: the elements between neighbours in a row are other rows of the same
   block. */
static bool is_transposed(const loop_nest *w, cm__variant function, cm__transposed *t)
{
    int32_t k = apart_in_rows(w);
    int64_t between = 1;
    bool    copies = function == CM__V_COPY;
    if (k < 0 || w->result[0] != 1) return false;
    *t = (cm__transposed){.row = w->size[0], .blocks = 1, .bytes = w->bytes[k], .copies = copies,
                          .alone = !copies && w->operands == 1};
    for (int32_t i = 1; i < w->dims; i++) *(is_between(w, k, i) ? &between : &t->blocks) *= w->size[i];
    t->apart = between;
    return between == w->read[k][0];
}

/* t: NULL if no operand is transposed. */
static cm__variant_form form_of(const loop_nest *w, const cm__transposed *t)
{
    if (t) return cm__transposed_form(t) == CM__TRANSPOSED_TURNED ? CM__FORM_TURNED : CM__FORM_STRIDED;
    bool    side_by_side = w->dims == 0 || w->result[0] == 1, apart = false;
    int32_t broadcast = -1;
    for (int32_t k = 0; k < w->operands; k++) {
        if (w->dims && w->read[k][0] > 1) side_by_side = false;
        if (is_broadcast(w, k)) broadcast = k;
        else if (!same_strides(w, k)) apart = true;
    }
    if (!side_by_side) return CM__FORM_STRIDED;
    if (broadcast >= 0 && w->operands == 1) return w->dims == 1 ? CM__FORM_STRIDED : CM__FORM_PART; /* rows that are read again */
    if (apart) return CM__FORM_PART;
    if (broadcast < 0) return w->dims > 1 ? CM__FORM_PART : CM__FORM_NONE; /* equal strides, with gaps between rows */
    return w->read[broadcast][0] == 0 ? CM__FORM_COL : w->dims == 2 ? CM__FORM_ROW : CM__FORM_PLANE;
}

/* Replaces the sizes of a call with a transposed operand by those of the rows that time it. */
static void transposed_sizes(const loop_nest *w, const cm__transposed *t, cm_poly *outer, cm_poly *inner)
{
    int32_t           k = apart_in_rows(w);
    cm__transposed_as as = cm__transposed_form(t);
    if (as == CM__TRANSPOSED_STRIDED) return;
    *outer = *inner = cm__poly_const(1);
    for (int32_t i = 0; i < w->dims; i++) {
        cm_poly *into = as == CM__TRANSPOSED_TURNED && is_between(w, k, i) ? outer : inner;
        *into = cm__poly_mul(*into, w->elements[i]);
    }
    if (as == CM__TRANSPOSED_TURNED) return;
    *outer = cm__poly_const(CM__TRANSPOSED_ROWS);
    *inner = cm__poly_scale(*inner, 1.0 / CM__TRANSPOSED_ROWS);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static void call(cm__dispatch *d, int32_t node, const cm__function *m, const loop_nest *w)
{
    cm__transposed t;
    bool           across = is_transposed(w, m->function, &t);
    cm__variant_form       form = form_of(w, across ? &t : NULL);
    cm_poly        inner = w->dims ? w->elements[0] : cm__poly_const(1), outer = cm__poly_const(1);
    for (int32_t i = 1; i < w->dims; i++) outer = cm__poly_mul(outer, w->elements[i]);
    if (!form) {
        inner = cm__poly_mul(inner, outer);
        outer = cm__poly_const(1);
    }
    if (across) transposed_sizes(w, &t, &outer, &inner);
    cm__call_map(d, node, cm__variant_in(m->function, form), m->a, m->b, m->type, outer, inner);
}

void cm__call_strided(cm__dispatch *d, int32_t node, const cm__function *m)
{
    const cm_tensor *y = cm__t(d->g, m->out);
    int32_t          read[] = {m->a, m->b, m->beside};
    loop_nest             w = loop_nest_of(d, y, cm__strides_of(d->strides, m->out), read, 3);
    call(d, node, m, &w);
}

void cm__call_copied(cm__dispatch *d, int32_t node, int32_t tensor, const int64_t *as)
{
    if (cm__copies_recorded(d, cm__node(d, node))) return;
    loop_nest w = loop_nest_of(d, cm__t(d->g, tensor), as, &tensor, 1);
    call(d, node, &(cm__function){.function = CM__V_COPY, .a = tensor, .b = -1, .type = tensor}, &w);
}

/* torch.compile generates the copy: a kernel of its own, or a part of the one that makes the tensor, which then writes
   across its rows and takes about as much longer. */
void cm__call_in_rows(cm__dispatch *d, int32_t node, int32_t tensor)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    if (cm__strides_in_rows(d->strides, tensor) || cm__copies_recorded(d, cm__node(d, node))) return;
    if (cm__is_compiled(d, cm__node(d, node)))
        cm__call_generated(d, node, CM__V_FUSED, cm__poly_scale(cm_tensor_bytes(t), 2));
    else cm__call_copied(d, node, tensor, cm__strides_rows(d->strides, t));
}

static const int64_t *image_strides(const cm__dispatch *d, int32_t tensor, bool channels_last)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    return channels_last && cm__is_image_rank(t->rank) ? cm__strides_image(d->strides, t)
                                                        : cm__strides_rows(d->strides, t);
}

bool cm__is_image(const cm__dispatch *d, int32_t tensor, bool channels_last)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    const int64_t   *own = cm__strides_of(d->strides, tensor), *as = image_strides(d, tensor, channels_last);
    for (int32_t i = 0; i < t->rank; i++)
        if (own[i] != as[i] && cm__strides_size(t->dims[i]) > 1) return false;
    return true;
}

void cm__call_as_image(cm__dispatch *d, int32_t node, int32_t tensor, bool channels_last)
{
    if (!cm__is_image(d, tensor, channels_last))
        cm__call_copied(d, node, tensor, image_strides(d, tensor, channels_last));
}
