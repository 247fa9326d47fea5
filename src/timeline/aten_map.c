/* SPDX-License-Identifier: Apache-2.0 */
/* aten_map.c - kernel calls of elementwise operators and copies in a trace, named as src/model/dispatch/strided.c does. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "device/loop_nest.h"
#include "timeline/aten.h"

_Static_assert(CM__TRACED_RANK <= CM__LOOP_DIMS, "every tensor fits");

/* The result of broadcasting; false: the shapes do not fit. */
static bool broadcast(const cm__traced_tensor *a, const cm__traced_tensor *b, cm__traced_tensor *y)
{
    *y = *(a->rank >= b->rank ? a : b);
    for (int32_t i = 1; i <= y->rank; i++) {
        int64_t m = i <= a->rank ? a->dims[a->rank - i] : 1, n = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (m != n && m != 1 && n != 1) return false;
        y->dims[y->rank - i] = m == 1 ? n : m;
    }
    return true;
}

static void in_rows(cm__traced_tensor *t)
{
    int64_t next = 1;
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        t->strides[i] = next;
        next *= t->dims[i] > 0 ? t->dims[i] : 1;
    }
}

/* Every element once, without gaps. */
static bool is_dense(const cm__traced_tensor *t)
{
    double reach = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] > 1 && t->strides[i] == 0) return false;
        reach += (double)(t->dims[i] - 1) * (double)t->strides[i];
    }
    return reach == (double)cm__traced_elements(t);
}

/* A result has the strides of the first operand of its shape, if that is dense. */
static void lay_out(cm__traced_tensor *y, const cm__traced_tensor *a, const cm__traced_tensor *b)
{
    const cm__traced_tensor *both[] = {a, b};
    int64_t                elements = cm__traced_elements(y);
    in_rows(y);
    for (int i = 0; i < 2; i++)
        if (both[i]->rank == y->rank && cm__traced_elements(both[i]) == elements && is_dense(both[i])) {
            memcpy(y->strides, both[i]->strides, sizeof y->strides);
            return;
        }
}

static int64_t stride_over(const cm__traced_tensor *x, const cm__traced_tensor *y, int32_t dim)
{
    int32_t k = dim - (y->rank - x->rank);
    return k < 0 || x->dims[k] == 1 ? 0 : x->strides[k];
}

static double width_of(const char *type) { return cm__type_bytes(cm__type_of(cm__types_find(type), 0)); }

static cm__loop_nest nest_of(const cm__traced_tensor *y, const cm__traced_tensor *const *read, int32_t operands)
{
    cm__loop_nest w = {.operands = operands};
    int32_t       order[CM__TRACED_RANK];
    for (int32_t k = 0; k < operands; k++) w.bytes[k] = width_of(read[k]->type);
    for (int32_t i = 0, n = cm__loop_order(y->rank, y->dims, y->strides, order); i < n; i++) {
        int64_t here[CM__LOOP_READS] = {0};
        for (int32_t k = 0; k < operands; k++) here[k] = stride_over(read[k], y, order[i]);
        cm__loop_nest_add(&w, y->dims[order[i]], y->strides[order[i]], here);
    }
    return w;
}

static void call(cm__traced_op *a, const char *function, const char *dtype, const cm__loop_nest *w)
{
    static const char *const forms[CM__FORMS] = {
        [CM__FORM_NONE] = "",      [CM__FORM_PART] = ":part", [CM__FORM_STRIDED] = ":strided", [CM__FORM_TURNED] = ":turned",
        [CM__FORM_ROW] = ":row", [CM__FORM_COL] = ":col",   [CM__FORM_PLANE] = ":plane"};
    char              variant[CM__CALL_TEXT];
    cm__transposed    t;
    bool              across = cm__loop_nest_transposed(w, strcmp(function, "copy") == 0, &t);
    cm__transposed_as as = across ? cm__transposed_form(&t) : CM__TRANSPOSED_STRIDED;
    cm__variant_form  form = cm__loop_nest_form(w, across ? &t : NULL);
    int64_t           elements = cm__traced_product(w->size, w->dims), inner = w->dims ? w->size[0] : 1;
    if (!form) inner = elements;
    if (as != CM__TRANSPOSED_STRIDED)
        inner = elements / (as == CM__TRANSPOSED_TURNED ? t.distance : CM__TRANSPOSED_ROWS);
    cm__join(variant, sizeof variant, function, forms[form], NULL);
    cm__call *c = cm__traced_call(a, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, variant, dtype);
    c->sizes[CM__ELEMENTWISE_INNER] = inner;
    c->sizes[CM__ELEMENTWISE_OUTER] = inner > 0 ? elements / inner : 0;
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

static void type_text(char *text, size_t size, const char *first, const char *second, const char *result)
{
    if (width_of(first) > width_of(second)) {
        const char *wider = first;
        first = second;
        second = wider;
    }
    bool same = strcmp(first, second) == 0;
    if (same && strcmp(first, result) == 0) cm__join(text, size, result, NULL);
    else if (same) cm__join(text, size, first, ">", result, NULL);
    else cm__join(text, size, first, "+", second, ">", result, NULL);
}

static bool in_place(const cm__traced_op *a) { return a->kind->name[strlen(a->kind->name) - 1] == '_'; }

static const char *function_of(const cm__traced_op *a, bool number)
{
    static const char *const arithmetic[] = {"add", "sub", "mul", "div"};
    for (int i = 0; number && i < 4; i++)
        if (strcmp(a->function, arithmetic[i]) == 0) return "scale";
    if (strncmp(a->function, "gelu", 4) == 0 &&
        (strcmp(cm__traced_word(a, 1), "tanh") == 0 || strcmp(cm__traced_word(a, 2), "tanh") == 0))
        return strcmp(a->function, "gelu") == 0 ? "gelu_tanh" : "gelu_tanh_grad";
    return a->function;
}

void cm__traced_map(cm__traced_op *a)
{
    const cm__traced_tensor *x = &a->in[0], *z = &a->in[1];
    cm__traced_tensor        y;
    char                   dtype[CM__CALL_TEXT];
    if (x->rank < 0) return;
    bool two = z->rank >= 0 && strncmp(a->function, "dropout", 7) != 0,
         number = !two || cm__traced_elements(z) == 1 || cm__traced_elements(x) == 1;
    if (two && number && cm__traced_elements(x) == 1) x = z;
    const cm__traced_tensor *other = two && !number ? z : x;
    if (!broadcast(x, other, &y)) return;
    if (in_place(a)) y = *x;
    else lay_out(&y, x, other);
    const char *wide = width_of(x->type) >= width_of(other->type) ? x->type : other->type;
    type_text(dtype, sizeof dtype, x->type, other->type, in_place(a) ? x->type : wide);
    const cm__traced_tensor *read[] = {x, other};
    cm__loop_nest            w = nest_of(&y, read, two && !number ? 2 : 1);
    call(a, function_of(a, number), dtype, &w);
}

/* copy_(to, from, ...): also casts. */
void cm__traced_copy(cm__traced_op *a)
{
    const cm__traced_tensor *y = &a->in[0], *x = &a->in[1];
    char                   dtype[CM__CALL_TEXT];
    if (x->rank < 0 || y->rank < 0 || x->rank > y->rank) return;
    cm__traced_tensor        to = *y;
    const cm__traced_tensor *read[] = {x};
    type_text(dtype, sizeof dtype, x->type, x->type, y->type);
    cm__loop_nest w = nest_of(&to, read, 1);
    call(a, "copy", dtype, &w);
}

void cm__traced_fill(cm__traced_op *a)
{
    const cm__traced_tensor *y = &a->in[0];
    if (y->rank < 0) return;
    cm__call *c = cm__traced_call(a, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "fill", y->type);
    c->sizes[CM__ELEMENTWISE_OUTER] = 1;
    c->sizes[CM__ELEMENTWISE_INNER] = cm__traced_elements(y);
}

/* ---- concatenation ---------------------------------------------------------------------------------------------- */

/* True: the tensor is contiguous rows, or channels last if `channels`. */
static bool laid_out(const cm__traced_tensor *t, bool channels)
{
    cm__traced_tensor rows = *t;
    in_rows(&rows);
    if (channels) return cm__traced_channels_last(t);
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] > 1 && t->strides[i] != rows.strides[i]) return false;
    return true;
}

/* cat(tensors, dim). The trace does not have their type; the kernel's name has its width (rows.c). */
void cm__traced_cat(cm__traced_op *a)
{
    cm__traced_tensor first = cm__traced_listed(a, 0), t = first;
    int64_t           dim = cm__traced_number(a, 1, 0, 0), joined = 0;
    bool              channels = true, rows = true;
    if (dim < 0) dim += first.rank;
    if (first.rank < 1 || dim < 0 || dim >= first.rank) return;
    for (size_t i = 0; t.rank == first.rank; t = cm__traced_listed(a, ++i)) {
        joined += t.dims[dim];
        channels = channels && dim == 1 && laid_out(&t, true);
        rows = rows && laid_out(&t, false);
    }
    const char *variant = channels ? "cat:nhwc" : rows ? "cat" : "cat:part";
    cm__call   *c = cm__traced_call(a, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, variant, "");
    int64_t     after = cm__traced_product(first.dims + dim + 1, (int32_t)(first.rank - dim - 1));
    c->sizes[CM__ELEMENTWISE_OUTER] = channels ? first.dims[0] * after : cm__traced_product(first.dims, (int32_t)dim);
    c->sizes[CM__ELEMENTWISE_INNER] = channels ? joined : joined * after;
}
