/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - repeated layers, found by the names of parameters; pipeline parts; and warnings about an imported
   model. */
#include "graph/rewrite/roles.h"

#include <string.h>

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Bytes of a name up to and including its first all-digit component ("transformer.h.0" of "transformer.h.0.ln_1"). */
static size_t block_prefix(const char *name)
{
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, "./"), digits = strspn(at, "0123456789");
        if (digits == length && length && at > name) return (size_t)(at - name) + length;
        at += length + (at[length] != 0);
    }
    return 0;
}

/* The name of a parameter that the node reads and that contains its position in the model; NULL: there is none. */
static const char *positional_name(const cm_graph *g, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        const cm_tensor *t = n->inputs[i] >= 0 ? cm__t(g, n->inputs[i]) : NULL;
        if (!t || t->role != CM_ROLE_PARAMETER || cm__name_is_invented(t->name)) continue;
        if (strncmp(t->name, n->name, strlen(n->name)) == 0 && !block_prefix(t->name))
            continue; /* derived from the node's name */
        return t->name;
    }
    return NULL;
}

void cm__find_blocks(cm_graph *g)
{
    cm__map blocks;
    int32_t current = -1;
    cm__map_init(&blocks, g->ctx);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const char *name = positional_name(g, &g->nodes[i]);
        cm__span    prefix = {name, name ? block_prefix(name) : 0};
        if (name) current = prefix.length ? cm__map_get(&blocks, prefix) : -1;
        if (prefix.length && current < 0) cm__map_put(&blocks, prefix, current = (int32_t)blocks.count);
        g->nodes[i].block = current;
    }
}

/* ---- review ----------------------------------------------------------------------------------------------------- */

typedef struct census {
    int32_t convolutions, biased, normalisations, transformer_signs, parameters;
} census;

/* BatchNormalization folding leaves no bias, or one with an invented name. A bias with a real name is the model's
   own. */
static bool has_named_bias(const cm_graph *g, const cm_node *n)
{
    return n->n_inputs > 2 && n->inputs[2] >= 0 && !cm__name_is_invented(cm__t(g, n->inputs[2])->name);
}

static census count_features(const cm_graph *g)
{
    census c = {0};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool conv = n->op == CM_OP_CONV || n->op == CM_OP_CONV_TRANSPOSE;
        c.convolutions += conv;
        c.biased += conv && has_named_bias(g, n);
        c.normalisations += cm__class(n) == CM_CLASS_NORM;
        c.transformer_signs += n->op == CM_OP_ATTENTION || n->op == CM_OP_LAYER_NORM || n->op == CM_OP_RMS_NORM ||
                               n->op == CM_OP_GELU || n->op == CM_OP_SIMPLIFIED_LAYER_NORM;
    }
    for (int32_t t = 0; t < g->n_tensors; t++) c.parameters += g->tensors[t].role == CM_ROLE_PARAMETER;
    return c;
}

void cm__review(cm_graph *g)
{
    census c = count_features(g);
    bool   file = strcmp(g->source, "onnx") == 0;
    if (g->optimizer == CM_OPTIMIZER_DEFAULT)
        g->optimizer = c.convolutions && !c.transformer_signs ? CM_OPTIMIZER_MOMENTUM : CM_OPTIMIZER_ADAMW;
    if (file && c.convolutions >= 3 && !c.normalisations && 2 * c.biased <= c.convolutions)
        cm__warn(
            g,
            "no normalisation is left between %d convolutions: an exporter folds BatchNormalization away. If the model "
            "trains with it, export with torch.onnx.export(..., dynamo=True, optimize=False) or with "
            "training=TrainingMode.TRAINING",
            c.convolutions);
    if (file && !c.parameters && !g->bare_operator)
        cm__warn(g, "no trainable parameter was found: the weights may be inputs of this graph");
}

/* ---- parts of a pipeline ---------------------------------------------------------------------------------------- */

int32_t cm__part_count(const cm_graph *g) { return cm__facts_of(g).blocks + 2; }

static int32_t first_in_blocks(const cm_graph *g)
{
    int32_t i = 0;
    while (i < g->n_nodes && g->nodes[i].block < 0) i++;
    return i;
}

/* Assign a node outside the layers by its forward node: before the first layer, or after the last. */
static int32_t part_of(const cm_graph *g, int32_t node, int32_t first, int32_t blocks)
{
    const cm_node *n = &g->nodes[node];
    if (n->block >= 0) return n->block + 1;
    int32_t forward = n->phase == CM_FORWARD ? node : n->source;
    return blocks && forward >= 0 && forward < first ? 0 : blocks + 1;
}

const int32_t *cm__part_map(cm__ctx *ctx, const cm_graph *g)
{
    if (g->part) return g->part;
    int32_t *part = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *part);
    int32_t  first = first_in_blocks(g), blocks = cm__facts_of(g).blocks;
    for (int32_t i = 0; i < g->n_nodes; i++) part[i] = part_of(g, i, first, blocks);
    return part;
}
