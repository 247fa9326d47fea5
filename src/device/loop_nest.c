/* SPDX-License-Identifier: Apache-2.0 */
/* loop_nest.c - the loops of an elementwise kernel, and the form that follows from them. */
#include "device/loop_nest.h"

int32_t cm__loop_order(int32_t rank, const int64_t *sizes, const int64_t *strides, int32_t *order)
{
    int32_t n = 0;
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (sizes[i] == 1) continue;
        int32_t at = n++;
        for (; at > 0 && strides[order[at - 1]] > strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

static bool joins(const cm__loop_nest *w, int64_t result, const int64_t *read)
{
    int32_t last = w->dims - 1;
    bool    all = w->dims > 0 && result == w->size[last] * w->result[last];
    for (int32_t k = 0; all && k < w->operands; k++) all = read[k] == w->size[last] * w->read[k][last];
    return all;
}

bool cm__loop_nest_add(cm__loop_nest *w, int64_t size, int64_t result, const int64_t *read)
{
    if (joins(w, result, read)) {
        w->size[w->dims - 1] *= size;
        return false;
    }
    for (int32_t k = 0; k < w->operands; k++) w->read[k][w->dims] = read[k];
    w->size[w->dims] = size;
    w->result[w->dims++] = result;
    return true;
}

static bool is_broadcast(const cm__loop_nest *w, int32_t operand)
{
    for (int32_t i = 0; i < w->dims; i++)
        if (w->read[operand][i] == 0) return true;
    return false;
}

static bool same_strides(const cm__loop_nest *w, int32_t operand)
{
    for (int32_t i = 0; i < w->dims; i++)
        if (w->read[operand][i] != w->result[i]) return false;
    return true;
}

/* The operand whose neighbours in a row are not neighbours in memory; -1: none, or several. */
static int32_t strided_in_rows(const cm__loop_nest *w)
{
    int32_t found = -1;
    for (int32_t k = 0; k < w->operands; k++) {
        if (w->dims == 0 || w->read[k][0] <= 1) continue;
        if (found >= 0) return -1;
        found = k;
    }
    return found;
}

bool cm__loop_nest_between(const cm__loop_nest *w, const cm__transposed *t, int32_t dim)
{
    return w->read[t->operand][dim] > 0 && w->read[t->operand][dim] < w->read[t->operand][0];
}

bool cm__loop_nest_transposed(const cm__loop_nest *w, bool copies, cm__transposed *t)
{
    int32_t k = strided_in_rows(w);
    if (k < 0 || w->result[0] != 1) return false;
    *t = (cm__transposed){.operand = k, .distance = 1, .row = w->size[0], .blocks = 1, .bytes = w->bytes[k],
                          .copies = copies, .alone = !copies && w->operands == 1};
    for (int32_t i = 1; i < w->dims; i++) *(cm__loop_nest_between(w, t, i) ? &t->distance : &t->blocks) *= w->size[i];
    return t->distance == w->read[k][0];
}

cm__variant_form cm__loop_nest_form(const cm__loop_nest *w, const cm__transposed *t)
{
    if (t) return cm__transposed_form(t) == CM__TRANSPOSED_TURNED ? CM__FORM_TURNED : CM__FORM_STRIDED;
    bool    side_by_side = w->dims == 0 || w->result[0] == 1, other_strides = false;
    int32_t broadcast = -1;
    for (int32_t k = 0; k < w->operands; k++) {
        if (w->dims && w->read[k][0] > 1) side_by_side = false;
        if (is_broadcast(w, k)) broadcast = k;
        else if (!same_strides(w, k)) other_strides = true;
    }
    if (!side_by_side) return CM__FORM_STRIDED;
    if (broadcast >= 0 && w->operands == 1) return w->dims == 1 ? CM__FORM_STRIDED : CM__FORM_PART; /* rows that are read again */
    if (other_strides) return CM__FORM_PART;
    if (broadcast < 0) return w->dims > 1 ? CM__FORM_PART : CM__FORM_NONE; /* equal strides, with gaps between rows */
    return w->read[broadcast][0] == 0 ? CM__FORM_COL : w->dims == 2 ? CM__FORM_ROW : CM__FORM_PLANE;
}
