/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c - sort nodes topologically.
 *
 * ONNX requires sorted nodes, and nearly all files are sorted; then this sort changes nothing. Names of outer scopes
 * that branches and loop bodies read count as inputs of the node that contains them.
 */
#include "import/onnx/onnx.h"

/* The state of sorting one body. */
typedef struct sorter {
    cm__onnx            *im;
    const cm__onnx_body *body;
    cm__map              writers; /* names to nodes */
    int32_t             *needs_first, *needs; /* nodes that node i needs: needs[needs_first[i]] ... */
    int32_t              n_needs, cap_needs;
} sorter;

static void index_writers(sorter *s)
{
    for (int32_t i = 0; i < s->body->nodes.count; i++) {
        const cm__onnx_spans *out = &s->body->nodes.items[i].outputs;
        for (int32_t o = 0; o < out->count; o++) {
            if (!out->items[o].length || cm__map_put(&s->writers, out->items[o], i)) continue;
            cm__onnx_place(s->im, &s->body->nodes.items[i], i);
            cm__fail(s->im->ctx, CM_ERR_FORMAT, "tensor '%s' is written twice",
                     cm__onnx_text(s->im->ctx, out->items[o]));
        }
    }
}

/* Names defined in a node's bodies hide outer names. */
typedef struct hidden {
    const cm__onnx_body *body;
    const struct hidden *outer;
    cm__map              names;
} hidden;

static bool is_hidden(const hidden *h, cm__span name)
{
    for (; h; h = h->outer)
        if (cm__map_get(&h->names, name) >= 0) return true;
    return false;
}

static void hide_names(sorter *s, hidden *h)
{
    const cm__onnx_body *b = h->body;
    cm__map_init(&h->names, s->im->ctx);
    for (int32_t i = 0; i < b->inputs.count; i++) cm__map_put(&h->names, b->inputs.items[i].name, 0);
    for (int32_t i = 0; i < b->initializers.count; i++) cm__map_put(&h->names, b->initializers.items[i].name, 0);
    for (int32_t i = 0; i < b->nodes.count; i++)
        for (int32_t o = 0; o < b->nodes.items[i].outputs.count; o++)
            cm__map_put(&h->names, b->nodes.items[i].outputs.items[o], 0);
}

static void add_need(sorter *s, const hidden *h, cm__span name)
{
    int32_t writer = name.length && !is_hidden(h, name) ? cm__map_get(&s->writers, name) : -1;
    if (writer < 0) return;
    s->needs = cm__grow(s->im->ctx, s->needs, s->n_needs, &s->cap_needs, sizeof *s->needs);
    s->needs[s->n_needs++] = writer;
}

/* The decoder limits the recursion depth. */
static void add_needs(sorter *s, const hidden *h, const cm__onnx_node *node)
{
    for (int32_t i = 0; i < node->inputs.count; i++) add_need(s, h, node->inputs.items[i]);
    for (int32_t a = 0; a < node->attributes.count; a++) {
        hidden inner = {.body = node->attributes.items[a].graph, .outer = h};
        if (!inner.body) continue;
        hide_names(s, &inner);
        for (int32_t i = 0; i < inner.body->nodes.count; i++) add_needs(s, &inner, &inner.body->nodes.items[i]);
        for (int32_t i = 0; i < inner.body->outputs.count; i++) add_need(s, &inner, inner.body->outputs.items[i].name);
    }
}

static bool collect_needs(sorter *s)
{
    int32_t count = s->body->nodes.count;
    bool    sorted = true;
    s->needs_first = cm__alloc_array(s->im->ctx, (size_t)count + 1, sizeof *s->needs_first);
    for (int32_t i = 0; i < count; i++) {
        s->needs_first[i] = s->n_needs;
        add_needs(s, NULL, &s->body->nodes.items[i]);
        for (int32_t n = s->needs_first[i]; n < s->n_needs; n++) sorted &= s->needs[n] < i;
    }
    s->needs_first[count] = s->n_needs;
    return sorted;
}

/* Depth first with an explicit stack, so that a chain of 100,000 nodes does not overflow the call stack. */
static void visit(sorter *s, int32_t start, int32_t *next, bool *done, int32_t *stack, int32_t *order, int32_t *count)
{
    int32_t height = 0;
    stack[height++] = start;
    while (height) {
        int32_t i = stack[height - 1];
        if (next[i] == s->needs_first[i + 1]) {
            done[i] = true;
            order[(*count)++] = i;
            height--;
            continue;
        }
        int32_t needed = s->needs[next[i]++];
        if (done[needed]) continue;
        if (next[needed] != s->needs_first[needed] || needed == i) { /* visited, not finished: it is on the stack */
            cm__onnx_place(s->im, &s->body->nodes.items[needed], needed);
            cm__fail(s->im->ctx, CM_ERR_FORMAT, "needs its own output: the graph has a cycle");
        }
        stack[height++] = needed;
    }
}

void cm__onnx_sort(cm__onnx *im, cm__onnx_body *body)
{
    sorter  s = {.im = im, .body = body};
    size_t  n = (size_t)body->nodes.count;
    int32_t count = 0;
    if (body->order) return;
    cm__map_init(&s.writers, im->ctx);
    index_writers(&s);
    int32_t *order = cm__alloc_array(im->ctx, n + 1, sizeof *order);
    if (collect_needs(&s)) {
        for (int32_t i = 0; i < body->nodes.count; i++) order[i] = i;
    } else {
        int32_t *next = cm__alloc_array(im->ctx, n, sizeof *next), *stack = cm__alloc_array(im->ctx, n, sizeof *stack);
        bool    *done = cm__alloc_array(im->ctx, n, sizeof *done);
        for (int32_t i = 0; i < body->nodes.count; i++) next[i] = s.needs_first[i];
        for (int32_t i = 0; i < body->nodes.count; i++)
            if (!done[i]) visit(&s, i, next, done, stack, order, &count);
    }
    body->order = order;
}
