/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - the layer language: attention, look-ups and the small steps around them. */
#include "import/net/net.h"

static const char *named(const cm__net_call *c, const char *part)
{
    return cm__text_dotted(c->net->ctx, c->name, part);
}

static int64_t fixed_at(const cm__net_call *c, int32_t tensor, int32_t axis)
{
    const cm_tensor *t = cm__t(c->g, tensor);
    if (axis >= t->rank || t->dims[axis].per_batch || t->dims[axis].fixed < 1)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s does not fit %s", c->layer->name, cm__dims_text(c->g, t));
    return t->dims[axis].fixed;
}

static int32_t reshaped(const cm__net_call *c, const char *part, int32_t x, int32_t rank, const int64_t *shape)
{
    cm__attr to = {.key = CM_ATTR_SHAPE, .count = rank, .ints = shape};
    return cm__emit(c->g, CM_OP_RESHAPE, named(c, part), &x, 1, &to, 1);
}

static int32_t turned(const cm__net_call *c, const char *part, int32_t x)
{
    cm__attr order = CM__INTS(CM_ATTR_PERM, 0, 2, 1, 3);
    return cm__emit(c->g, CM_OP_TRANSPOSE, named(c, part), &x, 1, &order, 1);
}

/* Three tensors [B, S, heads * d] -> [B, S, heads * d]; keys and values may have another length. */
int32_t cm__net_emit_attention(const cm__net_call *c)
{
    static const char *const parts[3][2] = {{"q_heads", "q"}, {"k_heads", "k"}, {"v_heads", "v"}};
    int64_t heads = c->values[0].ints[0], causal = c->values[1].ints[0], width = fixed_at(c, c->tensors[0], 2);
    int32_t in[3];
    for (int32_t i = 0; i < 3; i++) {
        int64_t own = fixed_at(c, c->tensors[i], 2);
        if (own % heads)
            cm__fail(c->net->ctx, CM_ERR_FORMAT, "%lld dimensions do not divide into %lld heads", (long long)own,
                     (long long)heads);
        in[i] = reshaped(c, parts[i][0], c->tensors[i], 4, (int64_t[]){0, 0, heads, own / heads});
        in[i] = turned(c, parts[i][1], in[i]);
    }
    cm__attr mask = CM__INTS(CM_ATTR_CAUSAL, 1);
    int32_t  y = cm__emit(c->g, CM_OP_ATTENTION, c->name, in, 3, &mask, causal != 0);
    return reshaped(c, "merged", turned(c, "merge", y), 3, (int64_t[]){0, 0, width});
}

/* Elements start to end - 1 of an axis. */
int32_t cm__net_emit_slice(const cm__net_call *c)
{
    int64_t  axis = c->values[0].ints[0], start = c->values[1].ints[0], end = c->values[2].ints[0];
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXES, axis), CM__INTS(CM_ATTR_STARTS, start), CM__INTS(CM_ATTR_ENDS, end)};
    if (axis < 1 || end <= start || end > fixed_at(c, c->tensors[0], (int32_t)axis))
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "no elements %lld to %lld of axis %lld in %s", (long long)start,
                 (long long)end, (long long)axis, cm__dims_text(c->g, cm__t(c->g, c->tensors[0])));
    return cm__emit(c->g, CM_OP_SLICE, c->name, c->tensors, 1, attrs, 3);
}

/* Add a parameter with a value for every element of a sample: learned positions. */
int32_t cm__net_emit_shift(const cm__net_call *c)
{
    const cm_tensor *x = cm__t(c->g, c->tensors[0]);
    int64_t          dims[CM__RANK_MAX];
    for (int32_t i = 1; i < x->rank; i++) dims[i - 1] = fixed_at(c, c->tensors[0], i);
    int32_t weight = cm__parameter(c->g, named(c, "weight"), x->rank - 1, dims);
    return cm__emit(c->g, CM_OP_ADD, c->name, (int32_t[]){c->tensors[0], weight}, 2, NULL, 0);
}

int32_t cm__net_emit_plus(const cm__net_call *c)
{
    int32_t value = cm__constant_scalar(c->g, named(c, "value"), CM_FP32, (double)c->values[0].ints[0]);
    return cm__emit(c->g, CM_OP_ADD, c->name, (int32_t[]){c->tensors[0], value}, 2, NULL, 0);
}

/* Rows of a table by token numbers. */
int32_t cm__net_emit_embed(const cm__net_call *c)
{
    const cm_tensor *x = cm__t(c->g, c->tensors[0]);
    int64_t          size[] = {c->values[0].ints[0], c->values[1].ints[0]};
    if (x->dtype != CM_INT64)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "embed needs numbers of rows: declare them with tokens");
    int32_t  table = cm__parameter(c->g, named(c, "weight"), 2, size);
    cm__attr first = CM__INTS(CM_ATTR_AXIS, 0);
    return cm__emit(c->g, CM_OP_GATHER, c->name, (int32_t[]){table, c->tensors[0]}, 2, &first, 1);
}
