/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the operator table, and a node's attributes. */
#include "graph/graph.h"
#include "graph/rules/rules.h"

/* Sets of inputs. */
enum { IN0 = 1, IN1 = 1 << 1, IN2 = 1 << 2, IN3 = 1 << 3, IN4 = 1 << 4, IN5 = 1 << 5, IN6 = 1 << 6, IN7 = 1 << 7,
       ALL = 0xffff };

const cm__op cm__ops[CM_OPS] = {
#define FOLD(rule) .fold = cm__fold_##rule,
#define GRADIENT(rule) .gradient = cm__gradient_##rule,
#define VIEW(rule) .view = true,
#define SAVED_FIRST .saved_first = true,
#define WEIGHTS(inputs) .weights = (inputs),
#define STATISTICS(inputs) .statistics = (inputs),
#define TABLE(inputs) .table = (inputs),
#define OPERANDS .operands = true,
#define PASSES_WEIGHT .passes_weight = true,
#define MATRIX(input) .matrix = (input),
#define GATE .gate = true,
#define SHARD(rule) .shard = CM__SHARD_##rule,
#define OP(id, name_, class_, min_, max_, cast_, flop_, shape_, cost_, columns)                                        \
    [CM_OP_##id] = {.name = name_,                                                                                     \
                    .op_class = CM_CLASS_##class_,                                                                     \
                    .min_inputs = min_,                                                                                \
                    .max_inputs = max_,                                                                                \
                    .cast = CM__CAST_##cast_,                                                                          \
                    .flop_per_element = flop_,                                                                         \
                    .shape = cm__shape_##shape_,                                                                       \
                    .cost = cm__cost_##cost_,                                                                          \
                    columns},
#include "graph/ops.def"
};

const char *const cm__attr_names[CM_ATTRS] = {
#define ATTR(id, name) [CM_ATTR_##id] = name,
#include "graph/attrs.def"
#undef ATTR
};

const cm__attr *cm__attr_find(const cm_node *node, cm__attr_key key)
{
    for (const cm__attr *a = node->attrs; a && a->key < CM_ATTRS; a++)
        if (a->key == key) return a;
    return NULL;
}

int64_t cm__attr_int(const cm_node *node, cm__attr_key key, int64_t otherwise)
{
    const cm__attr *a = cm__attr_find(node, key);
    return a && a->count > 0 ? a->ints[0] : otherwise;
}

double cm__attr_real(const cm_node *node, cm__attr_key key, double otherwise)
{
    const cm__attr *a = cm__attr_find(node, key);
    return !a ? otherwise : a->count > 0 ? (double)a->ints[0] : a->real;
}

