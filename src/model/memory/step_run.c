/* SPDX-License-Identifier: Apache-2.0 */
/* step_run.c - the allocations of one step, in their order, in the simulated allocator. */
#include "model/memory/step_run.h"

#include <math.h>
#include <string.h>
#include "base/map.h"
#include "graph/plan/counts.h"
#include "graph/runtimes.h"

/* ---- order of allocations --------------------------------------------------------------------------------------- */

static int32_t *filled(cm__ctx *ctx, int32_t count)
{
    int32_t *list = cm__alloc_unset(ctx, (size_t)count + 1, sizeof *list);
    for (int32_t i = 0; i <= count; i++) list[i] = -1;
    return list;
}

#define KEY_MOST 128 /* numbers of a key; convolutions have at most 4 tensors of 5 dimensions */

static int32_t append_tensor(const cm_tensor *t, int64_t *key, int32_t count)
{
    if (count + 2 + 2 * t->rank > KEY_MOST) return count;
    key[count++] = (int64_t)t->dtype;
    key[count++] = t->rank;
    for (int32_t i = 0; i < t->rank; i++) {
        key[count++] = t->dims[i].per_batch;
        key[count++] = t->dims[i].fixed;
    }
    return count;
}

/* Whether no convolution before this one has its sizes and types. */
static bool is_new(cm__map *seen, cm__ctx *ctx, const cm_graph *step, const cm_node *n)
{
    int64_t key[KEY_MOST];
    int32_t count = 0;
    key[count++] = n->op;
    for (int32_t i = 0; i < n->n_inputs + n->n_outputs; i++) {
        int32_t id = i < n->n_inputs ? n->inputs[i] : n->outputs[i - n->n_inputs];
        if (id >= 0) count = append_tensor(cm__t(step, id), key, count);
    }
    size_t   length = (size_t)count * sizeof *key;
    cm__span span = {(const char *)key, length};
    if (cm__map_get(seen, span) >= 0) return false;
    span.text = memcpy(cm__alloc_unset(ctx, length, 1), key, length);
    return cm__map_put(seen, span, 0);
}

static const bool *find_kinds(cm__ctx *ctx, const cm_footprint *f)
{
    bool   *first = cm__alloc_array(ctx, (size_t)f->n_nodes + 1, sizeof *first);
    cm__map seen;
    cm__map_init(&seen, ctx);
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const cm_node *n = &f->step->nodes[i];
        first[i] = cm__class(n) == CM_CLASS_CONV && is_new(&seen, ctx, f->step, n);
    }
    return first;
}

/* Lists of pieces by node are in the order of tensors. */
cm__step_order cm__step_order_of(cm__ctx *ctx, const cm_footprint *f)
{
    int32_t *first_born = filled(ctx, f->n_nodes), *first_dead = filled(ctx, f->n_nodes);
    int32_t *next_born = filled(ctx, f->n_pieces), *next_dead = filled(ctx, f->n_pieces);
    for (int32_t p = f->n_pieces - 1; p >= 0; p--) {
        const cm__piece *x = &f->pieces[p];
        int32_t          born = x->born < 0 ? f->n_nodes : x->born;
        if (x->born < 0 && x->dies < 0) continue;
        next_born[p] = first_born[born];
        first_born[born] = p;
        if (x->dies >= f->n_nodes) continue;
        next_dead[p] = first_dead[x->dies];
        first_dead[x->dies] = p;
    }
    return (cm__step_order){first_born, next_born, first_dead, next_dead, find_kinds(ctx, f)};
}

cm__sizes cm__sizes_of(cm__ctx *ctx, const cm_footprint *f, double batch)
{
    cm__sizes z = {cm__alloc_unset(ctx, (size_t)f->n_pieces + 1, sizeof(int64_t)),
                   cm__alloc_unset(ctx, (size_t)f->n_nodes + 1, sizeof(int64_t))};
    for (int32_t p = 0; p < f->n_pieces; p++) z.pieces[p] = llround(cm__poly_at(&f->pieces[p].bytes, batch));
    int64_t *different = cm__alloc_unset(ctx, (size_t)f->n_temporaries + 1, sizeof *different);
    for (int32_t i = 0; i < f->n_temporaries; i++)
        different[i] = llround(cm__temporary_at(&f->temporaries[i], batch));
    for (int32_t i = 0; i < f->n_nodes; i++) z.temporary[i] = different[f->temporary_of[i]];
    return z;
}

/* ---- allocation ------------------------------------------------------------------------------------------------- */

/* A block of so many bytes, rounded; -1: there is no room. */
static int32_t try_take_on(cm__step_run *s, int64_t bytes, cm_category c, cm__stream stream)
{
    int32_t block = cm__allocator_take(s->allocator, bytes, stream);
    if (block >= 0) s->now[c] += (double)cm__allocator_size(s->allocator, block);
    return block;
}

static int32_t try_take(cm__step_run *s, int64_t bytes, cm_category c)
{
    return try_take_on(s, bytes, c, CM__STREAM_COMPUTE);
}

static int32_t take(cm__step_run *s, double bytes, cm_category c)
{
    int32_t block = try_take(s, llround(bytes), c);
    if (block == -1) s->lacking += bytes;
    return block;
}

static void give(cm__step_run *s, int32_t block, cm_category c)
{
    if (block < 0) return; /* of no bytes, or there was no room */
    s->now[c] -= (double)cm__allocator_size(s->allocator, block);
    cm__allocator_free(s->allocator, block);
}

static void note_peak(cm__step_run *s, int32_t node)
{
    double all = (double)cm__allocator_allocated(s->allocator);
    if (!s->use || all <= s->use->peak_bytes) return;
    s->use->peak_bytes = all;
    s->use->peak_node = node;
    memcpy(s->use->categories, s->now, sizeof s->now);
}

/* Weights are allocated where they are gathered and sharded gradients where they are scattered, on streams beside the
   computation (torch.distributed.fsdp, _unshard(), _post_backward_hook(); foreach_reduce()), and stay in their pools:
   activations cannot use their memory while there are none. */
static cm__stream stream_of(const cm__step_run *s, const cm__piece *x)
{
    const cm_memory_options *o = &s->f->options;
    bool shards = o->plan.zero >= 2 && cm__replicas(&o->plan) > 1 && cm__is_pytorch(o->runtime);
    bool exchanged = x->category == CM_CATEGORY_GRADIENTS || x->category == CM_CATEGORY_EPHEMERAL; /* buffers: shards.c */
    return shards && exchanged ? CM__STREAM_EXCHANGE : CM__STREAM_COMPUTE;
}

static void make_pieces(cm__step_run *s, int32_t node)
{
    for (int32_t p = s->order.first_born[node]; p >= 0; p = s->order.next_born[p]) {
        const cm__piece *x = &s->f->pieces[p];
        if (s->block[p] != -1) continue; /* outlived the previous step */
        s->block[p] = try_take_on(s, s->sizes.pieces[p], x->category, stream_of(s, x));
        if (s->block[p] == -1) s->lacking += (double)s->sizes.pieces[p];
    }
}

static void drop_pieces(cm__step_run *s, int32_t node)
{
    for (int32_t p = s->order.first_dead[node]; p >= 0; p = s->order.next_dead[p]) {
        give(s, s->block[p], s->f->pieces[p].category);
        s->block[p] = -1;
    }
}

/* An update has a temporary tensor for each parameter, all at once (PyTorch's foreach): they need not be in one piece.
   Returns the number of blocks. */
static int32_t take_for_update(cm__step_run *s, const cm_node *n, int32_t node, int32_t *blocks)
{
    double  all = 0, bytes = (double)s->sizes.temporary[node];
    int32_t count = 0;
    blocks[0] = try_take(s, s->sizes.temporary[node], CM_CATEGORY_EPHEMERAL);
    if (blocks[0] != -1) return 1;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < n->n_inputs; i++) {
            const cm_tensor *x = cm__t(s->f->step, n->inputs[i]);
            double           elements = x->role == CM_ROLE_PARAMETER ? cm_tensor_elements(x).c[0] : 0;
            if (!pass) all += elements;
            else if (elements > 0) blocks[count++] = take(s, bytes * elements / all, CM_CATEGORY_EPHEMERAL);
        }
    return count;
}

/* A convolution without room for its workspace runs another algorithm, which needs none: PyTorch skips algorithms whose
   workspace it cannot allocate. */
static int32_t take_for_node(cm__step_run *s, const cm_node *n, int32_t node)
{
    int32_t block = try_take(s, s->sizes.temporary[node], CM_CATEGORY_EPHEMERAL);
    if (block == -1 && cm__class(n) != CM_CLASS_CONV) s->lacking += (double)s->sizes.temporary[node];
    return block;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* PyTorch chooses the algorithm of a convolution by timing all of them when its sizes first occur, and returns cached
   segments afterwards (github.com/pytorch/pytorch, issue 50190 and pull request 101038). After the first step there
   are therefore few large blocks that later tensors would split. */
static void search_algorithm(cm__step_run *s, int32_t node)
{
    if (!s->use && !s->searched && s->order.first_of_kind[node]) cm__allocator_release_cached(s->allocator);
}

static void run_update(cm__step_run *s, const cm_node *n, int32_t node)
{
    int32_t *blocks = cm__alloc_array(s->ctx, (size_t)n->n_inputs + 1, sizeof *blocks);
    int32_t  count = take_for_update(s, n, node, blocks);
    note_peak(s, node);
    for (int32_t i = 0; i < count; i++) give(s, blocks[i], CM_CATEGORY_EPHEMERAL);
}

static void run_node(cm__step_run *s, int32_t node)
{
    const cm_node *n = &s->f->step->nodes[node];
    make_pieces(s, node);
    if (n->op == CM_OP_UPDATE) run_update(s, n, node);
    else {
        search_algorithm(s, node);
        int32_t block = take_for_node(s, n, node);
        note_peak(s, node);
        give(s, block, CM_CATEGORY_EPHEMERAL);
    }
    drop_pieces(s, node);
}

/* One workspace each for the forward thread and the backward thread. */
static void take_library(cm__step_run *s)
{
    for (int i = 0; i < 2; i++) take(s, s->library_bytes / 2, CM_CATEGORY_EPHEMERAL);
}

void cm__step_run_begin(cm__step_run *s)
{
    s->sizes = cm__sizes_of(s->ctx, s->f, s->batch);
    s->block = filled(s->ctx, s->f->n_pieces);
    if (!s->order.first_born) s->order = cm__step_order_of(s->ctx, s->f);
    make_pieces(s, s->f->n_nodes);
    take_library(s);
}

void cm__step_run_once(cm__step_run *s)
{
    for (int32_t i = 0; i < s->f->n_nodes; i++) run_node(s, i);
    s->searched = true;
}
