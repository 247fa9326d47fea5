/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_inputs.c - inputs of modules that eager PyTorch holds until the module returns.
 *
 * The caller of a module refers to its input, and the module's function to its own variables, until the function
 * returns: the input of attention or of a feed-forward block outlives the products that read it, and queries, keys and
 * values outlive attention. It hardly changes the peak, but decides which free block the module's result finds: a
 * layer's output takes the block of the module's input, which has the same size, instead of a part of a larger one.
 * (transformers, models/llama/modeling_llama.py: LlamaDecoderLayer.forward(), LlamaAttention.forward().)
 *
 * A module is the longest common part of the names of the nodes that read a tensor.
 */
#include <string.h>
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"

/* Facts about the readers of a tensor in the pass that makes it. */
typedef struct readers {
    const char *name;     /* of the first */
    int32_t     length;   /* of the module's name; 0: none */
    int32_t     last, count;
} readers;

/* The length of the common start of two names, up to the last dot in it. */
static int32_t common_module(const char *a, const char *b, int32_t most)
{
    int32_t length = 0;
    for (int32_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
        if (a[i + 1] == '.' && b[i + 1] == '.') length = i + 1;
    return length;
}

/* The module that a node belongs to: its name without the last part. */
static int32_t parent_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (int32_t)(dot - name) : 0;
}

static void note_reader(const cm_graph *g, int32_t node, int32_t tensor, readers *all)
{
    const cm_node *n = &g->nodes[node];
    readers       *r = &all[cm__t(g, tensor)->storage];
    bool           attention = n->op == CM_OP_ATTENTION; /* its inputs are variables of the module around it */
    int32_t        length = attention ? parent_length(n->name) : (int32_t)strlen(n->name);
    if (!r->count) *r = (readers){n->name, length, node, 0};
    else r->length = common_module(r->name, n->name, r->length < length ? r->length : length);
    r->last = node;
    r->count += attention ? 2 : 1;
}

/* The last node after `from` that belongs to the same module and the same phase. */
static int32_t end_of_module(const cm_graph *g, const readers *r, int32_t from)
{
    int32_t at = from;
    while (at + 1 < g->n_nodes) {
        const cm_node *n = &g->nodes[at + 1];
        bool           inside = strncmp(n->name, r->name, (size_t)r->length) == 0 && n->name[r->length] == '.';
        if (!inside || n->phase != g->nodes[from].phase || n->block != g->nodes[from].block) break;
        at++;
    }
    return at;
}

static bool made_in_block(const cm_graph *g, int32_t tensor, const cm_node *reader)
{
    int32_t producer = cm__t(g, cm__t(g, tensor)->storage)->producer;
    if (producer < 0 || reader->phase == CM_BACKWARD || reader->phase == CM_UPDATE) return false;
    return g->nodes[producer].phase == reader->phase && g->nodes[producer].block == reader->block;
}

void cm__hold_inputs(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    if (!cm__is_eager(f->options.runtime)) return;
    readers *all = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *all);
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].block >= 0 && k < g->nodes[i].n_inputs; k++) {
            int32_t tensor = g->nodes[i].inputs[k];
            if (tensor >= 0 && made_in_block(g, tensor, &g->nodes[i])) note_reader(g, i, tensor, all);
        }
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm__piece *x = piece_of[t] >= 0 ? &f->pieces[piece_of[t]] : NULL;
        if (!x || x->born < 0 || all[t].count < 2 || !all[t].length || x->dies < all[t].last) continue;
        int32_t last = end_of_module(g, &all[t], all[t].last);
        if (x->dies < last) x->dies = last;
    }
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

/* An autograd function computes the gradients of all its inputs before it frees what forward saved: the factors of an
   elementwise product live until both gradients exist (torch/csrc/autograd: release_variables() after apply()). Other
   operators read what they saved in the last of their nodes anyway. */
static void hold_saved(cm_footprint *f, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    int32_t        *last = cm__alloc_array(scratch, (size_t)g->n_nodes + 1, sizeof *last);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &g->nodes[i], *next = n + 1;
        bool           same = i + 1 < g->n_nodes && n->phase == CM_BACKWARD && n->source >= 0 &&
                              next->phase == CM_BACKWARD && next->source == n->source &&
                              g->nodes[n->source].op == CM_OP_MUL;
        last[i] = same ? last[i + 1] : i;
    }
    for (int32_t p = 0; p < f->n_pieces; p++) {
        cm__piece *x = &f->pieces[p];
        bool       saved = x->born >= 0 && x->dies < g->n_nodes && g->nodes[x->born].phase != CM_BACKWARD;
        if (saved && x->dies > x->born) x->dies = last[x->dies];
    }
}

/* A reentrant checkpoint computes the layer's output again and keeps it until the layer's backward has run
   (torch/utils/checkpoint.py, CheckpointFunction.backward(): outputs). */
static void hold_outputs(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    int32_t        *last = cm__alloc_array(scratch, (size_t)g->n_nodes + 1, sizeof *last);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].phase == CM_BACKWARD && g->nodes[i].block >= 0) last[g->nodes[i].block] = i;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           more = i + 1 < g->n_nodes && n[1].phase == CM_RECOMPUTE && n[1].block == n->block;
        bool           ends = n->phase == CM_RECOMPUTE && n->block >= 0 && n->outputs[0] >= 0 && !more;
        int32_t        at = ends ? piece_of[cm__t(g, n->outputs[0])->storage] : -1;
        if (at >= 0 && f->pieces[at].dies < last[n->block]) f->pieces[at].dies = last[n->block];
    }
}

void cm__hold_in_backward(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    if (!cm__is_eager(f->options.runtime)) return;
    hold_saved(f, scratch);
    if (f->step->asked.whole_layers) hold_outputs(f, piece_of, scratch);
}
