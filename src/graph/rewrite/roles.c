/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roles.c - find which tensors of an ONNX file are trained.
 *
 * ONNX does not record it. A tensor stored in the file (role buffer at first) is a parameter in two cases: some
 * operator reads it as its weight or bias, directly or through views; or it is an operand of an elementwise operator
 * and is named like a parameter. Integers, scalars, statistics, masks and constants invented by the exporter are not
 * trained.
 */
#include "graph/rewrite/roles.h"

#include <string.h>

#define LOOK_THROUGH_MAX 256 /* most uses visited for one tensor */

/* ---- names ------------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *end)
{
    size_t a = strlen(name), b = strlen(end);
    return a >= b && strcmp(name + a - b, end) == 0;
}

static bool is_buffer_name(const char *name)
{
    static const char *const ends[] = {"running_mean",
                                       "running_var",
                                       "num_batches_tracked",
                                       "moving_mean",
                                       "moving_variance",
                                       "position_ids",
                                       "token_type_ids",
                                       "mask",
                                       "inv_freq",
                                       "freqs",
                                       "freqs_cis",
                                       "anchors",
                                       "relative_position_index",
                                       "cos_cached",
                                       "sin_cached",
                                       "cos_cache",
                                       "sin_cache",
                                       ".mean",
                                       ".std",
                                       "pixel_mean",
                                       "pixel_std",
                                       ".pe",
                                       "grid"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i])) return true;
    return false;
}

static bool all_digits(const char *s)
{
    if (!*s) return false;
    while (*s >= '0' && *s <= '9') s++;
    return !*s;
}

bool cm__name_is_invented(const char *name)
{
    static const char *const begins[] = {"onnx::", "val_", "Constant", "const_", "_to_copy", "lifted_tensor", "_val_",
                                         "/", "node_", "initializer_", "c_lifted"};
    const char *end = strrchr(name, '_');
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return all_digits(name) || (end && !strchr(name, '.') && all_digits(end + 1));
}

static bool is_parameter_name(const char *name)
{
    static const char *const words[] = {"weight", "bias", "gamma", "beta", "kernel", "embed", "token", "scale", "param",
                                        "."};
    if (cm__name_is_invented(name) || is_buffer_name(name)) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static bool passes_weight(const cm_node *n) { return cm__ops[n->op].passes_weight; }

int32_t cm__origin_of(const cm_graph *g, int32_t tensor)
{
    for (int steps = 0; tensor >= 0 && steps < 16; steps++) {
        int32_t producer = cm__t(g, tensor)->producer;
        if (producer < 0) return cm__t(g, tensor)->role == CM_ROLE_INPUT ? -1 : tensor;
        if (!passes_weight(&g->nodes[producer])) return -1;
        tensor = g->nodes[producer].inputs[0];
    }
    return -1;
}

static int32_t producer_op(const cm_graph *g, int32_t tensor)
{
    int32_t producer = tensor >= 0 ? cm__t(g, tensor)->producer : -1;
    return producer < 0 ? -1 : g->nodes[producer].op;
}

static bool feeds(const cm_graph *g, const cm__uses *uses, const cm_node *n, int16_t op)
{
    int32_t out = n->outputs[0];
    for (int32_t u = out < 0 ? 0 : uses->first[out]; out >= 0 && u < uses->first[out + 1]; u++)
        if (g->nodes[uses->list[u].node].op == op) return true;
    return false;
}

/* Add, Sub, Mul, Div: a bias after a matrix product, a mean subtracted from an input, a mask before a softmax, or
   none. */
static cm__place_kind operand_kind(const cm_graph *g, const cm__uses *uses, const cm_node *n, int32_t slot)
{
    int32_t other = n->inputs[n->n_inputs == 2 ? 1 - slot : 0];
    int32_t rank = cm__t(g, n->inputs[slot])->rank;
    if (n->op == CM_OP_ADD && rank == 1 && producer_op(g, other) == CM_OP_MATMUL) return CM__PLACE_WEIGHT;
    if ((n->op == CM_OP_SUB || n->op == CM_OP_DIV) && other >= 0 && cm__t(g, other)->role == CM_ROLE_INPUT)
        return CM__PLACE_STATISTICS;
    if (n->op == CM_OP_ADD && rank >= 2 && feeds(g, uses, n, CM_OP_SOFTMAX)) return CM__PLACE_STATISTICS;
    return CM__PLACE_OPERAND;
}

cm__place_kind cm__place_of(const cm_graph *g, const cm__uses *uses, cm__use use)
{
    const cm_node *n = &g->nodes[use.node];
    const cm__op  *op = &cm__ops[n->op];
    unsigned       slot = use.slot < 16 ? 1u << use.slot : 0;
    if (op->weights & slot) return CM__PLACE_WEIGHT;
    if (op->statistics & slot) return CM__PLACE_STATISTICS;
    if (op->table & slot && cm__t(g, n->inputs[use.slot])->rank == 2) return CM__PLACE_WEIGHT;
    if (op->operands) return operand_kind(g, uses, n, use.slot);
    return CM__PLACE_OTHER;
}

/* ---- roles ------------------------------------------------------------------------------------------------------ */

typedef struct search {
    const cm_graph *g;
    const cm__uses *uses;
    int32_t         left;  /* uses that may still be visited */
    bool            found[CM__PLACE_OPERAND + 1];
} search;

static void look(search *s, int32_t tensor, int depth)
{
    if (tensor < 0) return;
    for (int32_t u = s->uses->first[tensor]; u < s->uses->first[tensor + 1] && s->left-- > 0; u++) {
        cm__use        use = s->uses->list[u];
        const cm_node *n = &s->g->nodes[use.node];
        s->found[cm__place_of(s->g, s->uses, use)] = true;
        bool on = passes_weight(n) && (use.slot == 0 || n->op == CM_OP_CONCAT) && depth < 8;
        for (int32_t o = 0; on && o < n->n_outputs; o++) look(s, n->outputs[o], depth + 1);
    }
}

static cm_role role_of(const cm_graph *g, const cm__uses *uses, int32_t tensor)
{
    const cm_tensor *t = cm__t(g, tensor);
    search           s = {.g = g, .uses = uses, .left = LOOK_THROUGH_MAX};
    if (t->rank == 0) return CM_ROLE_CONSTANT;
    if (t->dtype > CM_FP8) return t->value ? CM_ROLE_CONSTANT : CM_ROLE_BUFFER;
    look(&s, tensor, 0);
    bool merged = s.found[CM__PLACE_STATISTICS] && s.found[CM__PLACE_WEIGHT]; /* separated in sharing.c */
    if (merged) return CM_ROLE_PARAMETER;
    if (s.found[CM__PLACE_STATISTICS] || is_buffer_name(t->name)) return CM_ROLE_BUFFER;
    if (s.found[CM__PLACE_WEIGHT]) return CM_ROLE_PARAMETER;
    if (s.found[CM__PLACE_OPERAND] && is_parameter_name(t->name)) return CM_ROLE_PARAMETER;
    return t->value ? CM_ROLE_CONSTANT : CM_ROLE_BUFFER;
}

void cm__find_roles(cm_graph *g)
{
    if (strcmp(g->source, "onnx") != 0) return; /* other importers set the roles themselves */
    cm__uses uses = cm__uses_of(g);
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].producer < 0 && g->tensors[t].role == CM_ROLE_BUFFER)
            g->tensors[t].role = role_of(g, &uses, t);
    cm__split_merged(g);
}
