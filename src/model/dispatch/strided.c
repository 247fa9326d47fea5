/* SPDX-License-Identifier: Apache-2.0 */
/* strided.c - elementwise calls and copies by the strides of their operands (device/loop_nest.h). */
#include <math.h>
#include "base/text.h"
#include "device/loop_nest.h"
#include "model/dispatch/compiler.h"

/* The loops of a kernel whose sizes depend on the batch size. */
typedef struct sized_nest {
    cm__loop_nest loops;
    cm_poly       elements[CM__RANK_MAX];
} sized_nest;

_Static_assert(CM__RANK_MAX <= CM__LOOP_DIMS, "every tensor fits");

/* ---- strides over the result's dimensions ------------------------------------------------------------------------ */

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

static sized_nest nest_of(cm__dispatch *d, const cm_tensor *shape, const int64_t *result, const int32_t *read, int32_t count)
{
    sized_nest w = {0};
    int64_t    sizes[CM__RANK_MAX], strides[CM__LOOP_READS][CM__RANK_MAX];
    int32_t    order[CM__RANK_MAX], operands = 0;
    for (int32_t i = 0; i < shape->rank; i++) sizes[i] = cm__strides_size(shape->dims[i]);
    for (int32_t i = 0; i < count; i++)
        if (read[i] >= 0 && over(d, read[i], shape, strides[operands]))
            w.loops.bytes[operands++] = (double)cm_dtype_size(cm__t(d->g, read[i])->dtype);
    w.loops.operands = operands;
    for (int32_t i = 0, n = cm__loop_order(shape->rank, sizes, result, order); i < n; i++) {
        int64_t here[CM__LOOP_READS];
        cm_poly elements = cm__poly_dim(shape->dims[order[i]]);
        for (int32_t k = 0; k < operands; k++) here[k] = strides[k][order[i]];
        bool     added = cm__loop_nest_add(&w.loops, sizes[order[i]], result[order[i]], here);
        cm_poly *last = &w.elements[w.loops.dims - 1];
        *last = added ? elements : cm__poly_mul(*last, elements);
    }
    return w;
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* Replaces the sizes of a call with a transposed operand by those of the rows that time it. */
static void transposed_sizes(const sized_nest *w, const cm__transposed *t, cm_poly *outer, cm_poly *inner)
{
    cm__transposed_as as = cm__transposed_form(t);
    if (as == CM__TRANSPOSED_STRIDED) return;
    *outer = *inner = cm__poly_const(1);
    for (int32_t i = 0; i < w->loops.dims; i++) {
        cm_poly *into = as == CM__TRANSPOSED_TURNED && cm__loop_nest_between(&w->loops, t, i) ? outer : inner;
        *into = cm__poly_mul(*into, w->elements[i]);
    }
    if (as == CM__TRANSPOSED_TURNED) return;
    *outer = cm__poly_const(CM__TRANSPOSED_ROWS);
    *inner = cm__poly_scale(*inner, 1.0 / CM__TRANSPOSED_ROWS);
}

static void call(cm__dispatch *d, int32_t node, const cm__function *m, const sized_nest *w)
{
    cm__transposed   t;
    bool             across = cm__loop_nest_transposed(&w->loops, m->function == CM__V_COPY, &t);
    cm__variant_form form = cm__loop_nest_form(&w->loops, across ? &t : NULL);
    cm_poly          inner = w->loops.dims ? w->elements[0] : cm__poly_const(1), outer = cm__poly_const(1);
    for (int32_t i = 1; i < w->loops.dims; i++) outer = cm__poly_mul(outer, w->elements[i]);
    if (!form) {
        inner = cm__poly_mul(inner, outer);
        outer = cm__poly_const(1);
    }
    if (across) transposed_sizes(w, &t, &outer, &inner);
    cm__call_map(d, node, cm__variant_in(m->function, form), m->a, m->b, m->type, outer, inner);
}

void cm__call_strided(cm__dispatch *d, int32_t node, const cm__function *m)
{
    int32_t    read[CM__LOOP_READS] = {m->a, m->b, m->beside};
    sized_nest w = nest_of(d, cm__t(d->g, m->out), cm__strides_of(d->strides, m->out), read, CM__LOOP_READS);
    call(d, node, m, &w);
}

void cm__call_copied(cm__dispatch *d, int32_t node, int32_t tensor, const int64_t *as)
{
    if (cm__copies_recorded(d, cm__node(d, node))) return;
    sized_nest w = nest_of(d, cm__t(d->g, tensor), as, &tensor, 1);
    call(d, node, &(cm__function){.function = CM__V_COPY, .a = tensor, .b = -1, .type = tensor}, &w);
}

/* torch.compile generates the copy: a kernel of its own, or a part of the one that makes the tensor, which then writes
   across its rows and takes about as much longer. */
void cm__call_in_rows(cm__dispatch *d, int32_t node, int32_t tensor)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    if (cm__strides_in_rows(d->strides, tensor) || cm__copies_recorded(d, cm__node(d, node))) return;
    if (cm__is_compiled(d, cm__node(d, node)))
        cm__call_moved(d, node, CM__V_FUSED, cm__poly_scale(cm_tensor_bytes(t), 2));
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
