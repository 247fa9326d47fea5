/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_attention.c - fuse attention that is written as MatMul, scale, mask, Softmax, MatMul.
 *
 * The match starts at the Softmax. It goes down through dropout and PyTorch's guard against rows of NaN to the product
 * with V, and up through the scale and the mask to the product of Q and K. A mask that does not depend on the model's
 * inputs is dropped: it is causal if it compares positions or is a square of constants; otherwise it masks nothing.
 *
 * Two cases stay unfused, because no runtime treats them as attention: a trained mask (relative positions), and
 * products of three dimensions without a scale (a non-local block). With a trained mask PyTorch's
 * scaled_dot_product_attention runs these operators itself, in fp32; they are marked.
 */
#include "graph/rewrite/fuse.h"

#define CHAIN 8       /* most operators from a product to the softmax, or from Q, K to the product */
#define MASK_NODES 128 /* most tensors visited to find where a mask comes from */

typedef struct match {
    int32_t q, k, v, mask, last;
    int32_t operand; /* second operand of the first product: K transposed */
    int32_t transpose; /* Transpose that makes it directly from [B, S, H, d]; -1: K itself is in the graph */
    bool    scaled, q_scaled, k_scaled, guarded, causal;
    double  dropout;
    int32_t passed[2 * CHAIN + 3], n_passed; /* nodes from Q and K to the last product */
} match;

/* ---- down to V -------------------------------------------------------------------------------------------------- */

/* Where(IsNaN(p), 0, p): a row that is masked completely counts as zero. */
static int32_t past_nan_guard(const cm__fuser *f, int32_t p)
{
    int32_t where = -1;
    bool    tested = false;
    if (p >= f->tensors || f->returned[p]) return -1;
    int32_t first = f->uses.first[p];
    if (f->uses.first[p + 1] - first != 2) return -1;
    for (int32_t u = first; u < first + 2; u++) {
        int32_t node = f->uses.list[u].node;
        tested |= f->g->nodes[node].op == CM_OP_IS_NAN;
        if (f->g->nodes[node].op == CM_OP_WHERE) where = node;
    }
    return tested && where >= 0 ? f->g->nodes[where].outputs[0] : -1;
}

static bool find_v(const cm__fuser *f, int32_t p, match *m)
{
    for (int step = 0; step < CHAIN; step++) {
        int32_t guarded = past_nan_guard(f, p), next = guarded >= 0 ? -1 : cm__only_reader(f, p);
        if (guarded < 0 && next < 0) return false;
        const cm_node *n = next < 0 ? NULL : &f->g->nodes[next];
        if (next >= 0) m->passed[m->n_passed++] = next;
        if (guarded >= 0) {
            m->guarded = true;
            p = guarded;
        } else if (n->op == CM_OP_DROPOUT) {
            if (!(cm__has(n, 1) && cm__is_number(f, n->inputs[1], &m->dropout)))
                m->dropout = cm__attr_real(n, CM_ATTR_RATIO, 0.5);
            p = n->outputs[0];
        } else if (n->op == CM_OP_CAST) {
            p = n->outputs[0];
        } else {
            m->last = next;
            m->v = n->inputs[1];
            return n->op == CM_OP_MATMUL && n->inputs[0] == p;
        }
    }
    return false;
}

/* ---- up to Q and K ---------------------------------------------------------------------------------------------- */

/* The input of Add(scores, mask) or Where(condition, ., .) that leads to the product; the other one is the mask. */
static int32_t past_mask(const cm__fuser *f, const cm_node *n, match *m)
{
    double  number;
    int32_t scores = -1, mask = -1;
    if (n->op == CM_OP_WHERE) {
        scores = cm__is_number(f, n->inputs[1], &number) ? n->inputs[2] : n->inputs[1];
        mask = n->inputs[0];
    } else if (n->op == CM_OP_ADD) {
        int32_t made = cm__t(f->g, n->inputs[0])->producer;
        int     op = made < 0 ? -1 : f->g->nodes[made].op;
        bool    first = op == CM_OP_MATMUL || op == CM_OP_MUL || op == CM_OP_DIV;
        scores = n->inputs[first ? 0 : 1];
        mask = n->inputs[first ? 1 : 0];
    }
    if (scores >= 0 && m->mask >= 0) return -1; /* two masks: not fused */
    if (scores >= 0) m->mask = mask;
    return scores;
}

static int32_t find_product(const cm__fuser *f, int32_t scores, match *m)
{
    for (int step = 0; step < CHAIN; step++) {
        int32_t node = cm__t(f->g, scores)->producer, scaled;
        if (node < 0 || cm__only_reader(f, scores) < 0) return -1; /* scores that other nodes read must exist */
        const cm_node *n = &f->g->nodes[node];
        m->passed[m->n_passed++] = node;
        if (n->op == CM_OP_MATMUL) return node;
        if (n->op == CM_OP_CAST) scores = n->inputs[0];
        else if ((scaled = cm__scaled_input(f, node)) >= 0) {
            scores = scaled;
            m->scaled = true;
        } else scores = past_mask(f, n, m);
        if (scores < 0) return -1;
    }
    return -1;
}

static int32_t past_scale(const cm__fuser *f, int32_t t, bool *found)
{
    int32_t node = cm__t(f->g, t)->producer, scaled = node < 0 ? -1 : cm__scaled_input(f, node);
    *found |= scaled >= 0;
    return scaled >= 0 ? scaled : t;
}

static bool is_transposed(const cm_tensor *k, const cm_tensor *transposed)
{
    bool fits = k->rank == transposed->rank && k->rank >= 3;
    for (int32_t i = 0; fits && i < k->rank - 2; i++) fits = cm__dim_same(k->dims[i], transposed->dims[i]);
    return fits && cm__dim_same(k->dims[k->rank - 1], transposed->dims[k->rank - 2]) &&
           cm__dim_same(k->dims[k->rank - 2], transposed->dims[k->rank - 1]);
}

/* K was transposed from [B, S, H, d] to [B, H, d, S] in one step: transpose to [B, H, S, d] instead. */
static void transpose_less(cm__fuser *f, match *m)
{
    const cm_node *n = &f->g->nodes[m->transpose];
    int64_t       *perm = (int64_t *)cm__attr_find(n, CM_ATTR_PERM)->ints, third = perm[2];
    cm_dim        *dims = (cm_dim *)cm__t(f->g, n->outputs[0])->dims, size = dims[2];
    perm[2] = perm[3];
    perm[3] = third;
    dims[2] = dims[3];
    dims[3] = size;
    m->k = n->outputs[0];
}

static bool can_transpose_less(const cm__fuser *f, int32_t node, int32_t operand)
{
    const cm_node  *n = &f->g->nodes[node];
    const cm__attr *perm = cm__attr_find(n, CM_ATTR_PERM);
    return perm && perm->count == 4 && cm__only_reader(f, n->outputs[0]) >= 0 &&
           cm__same_shape(cm__t(f->g, n->outputs[0]), cm__t(f->g, operand));
}

/* K for the operand [.., d, S]: the nearest tensor shaped [.., S, d] through views and scales. */
static bool find_k(const cm__fuser *f, match *m)
{
    int32_t t = past_scale(f, m->operand, &m->k_scaled), first_transpose = -1;
    for (int step = 0; step < CHAIN; step++) {
        int32_t node = cm__t(f->g, t)->producer;
        if (node < 0) break;
        const cm_node *n = &f->g->nodes[node];
        if (n->op == CM_OP_TRANSPOSE && first_transpose < 0) first_transpose = node;
        if (n->op != CM_OP_TRANSPOSE && n->op != CM_OP_RESHAPE && cm__scaled_input(f, node) < 0) break;
        t = cm__scaled_input(f, node) >= 0 ? past_scale(f, t, &m->k_scaled) : n->inputs[0];
        if (first_transpose >= 0 && is_transposed(cm__t(f->g, t), cm__t(f->g, m->operand))) {
            m->k = t;
            return true;
        }
    }
    if (first_transpose >= 0 && can_transpose_less(f, first_transpose, m->operand)) m->transpose = first_transpose;
    return m->transpose >= 0;
}

/* The operator's shape rule requires equal heads and lengths. */
static bool fits(const cm__fuser *f, const match *m)
{
    const cm_tensor *q = cm__t(f->g, m->q), *transposed = cm__t(f->g, m->operand), *v = cm__t(f->g, m->v);
    int32_t          r = q->rank;
    if ((r != 4 && !(r == 3 && (m->scaled || m->q_scaled || m->k_scaled))) || transposed->rank != r || v->rank != r)
        return false;
    bool same = cm__dim_same(q->dims[r - 1], transposed->dims[r - 2]) &&
                cm__dim_same(transposed->dims[r - 1], v->dims[r - 2]);
    for (int32_t i = 0; i < r - 2; i++)
        same &= cm__dim_same(q->dims[i], transposed->dims[i]) && cm__dim_same(q->dims[i], v->dims[i]);
    return same;
}

/* For grouped queries exporters repeat each head of keys or values for n heads of queries, which the kernel does
   while it reads. Returns the tensor [B, K, S, d] before the repetition, or the tensor itself if it is not repeated. */
static int32_t past_repeat(const cm__fuser *f, int32_t tensor)
{
    int32_t          joined = cm__made_by(f, tensor, CM_OP_RESHAPE);
    int32_t          spread = joined < 0 ? -1 : cm__made_by(f, f->g->nodes[joined].inputs[0], CM_OP_EXPAND);
    int32_t          grouped = spread < 0 ? -1 : f->g->nodes[spread].inputs[0], made = -1;
    const cm_tensor *all = cm__t(f->g, tensor), *one = grouped < 0 ? NULL : cm__t(f->g, grouped);
    if (!one || all->rank != 4 || one->rank != 5 || !cm__dim_is(one->dims[2], 1)) return tensor;
    made = cm__made_by(f, grouped, CM_OP_UNSQUEEZE);
    if (made < 0) made = cm__made_by(f, grouped, CM_OP_RESHAPE);
    const cm_tensor *few = made < 0 ? NULL : cm__in(f->g, &f->g->nodes[made], 0);
    bool same = few && few->rank == 4 && !few->dims[1].per_batch && few->dims[1].fixed > 0 &&
                all->dims[1].fixed % few->dims[1].fixed == 0;
    for (int32_t i = 0; same && i < 4; i++) same = i == 1 || cm__dim_same(few->dims[i], all->dims[i]);
    return same ? f->g->nodes[made].inputs[0] : tensor;
}

/* ---- masks ------------------------------------------------------------------------------------------------------ */

static bool compares_positions(int op)
{
    return op == CM_OP_LESS || op == CM_OP_LESS_OR_EQUAL || op == CM_OP_GREATER || op == CM_OP_GREATER_OR_EQUAL ||
           op == CM_OP_TRILU;
}

static bool is_square(const cm_tensor *t)
{
    return t->rank >= 2 && t->dims[t->rank - 1].fixed > 1 && cm__dim_same(t->dims[t->rank - 1], t->dims[t->rank - 2]);
}

static bool in_queue(const int32_t *queue, int32_t count, int32_t tensor)
{
    for (int32_t i = 0; i < count; i++)
        if (queue[i] == tensor) return true;
    return false;
}

typedef enum mask_kind { MASK_FIXED, MASK_FED, MASK_TRAINED, MASK_UNKNOWN } mask_kind;

/* Find the origin of a mask: positions only, the model's inputs, or a parameter; or unknown after MASK_NODES
   tensors. */
static mask_kind trace_mask(const cm__fuser *f, int32_t tensor, bool *causal)
{
    int32_t   queue[MASK_NODES] = {tensor}, count = 1;
    mask_kind kind = MASK_FIXED;
    for (int32_t i = 0; i < count; i++) {
        const cm_tensor *t = cm__t(f->g, queue[i]);
        if (t->role == CM_ROLE_PARAMETER) return MASK_TRAINED;
        if (t->role == CM_ROLE_INPUT) kind = MASK_FED;
        if (t->producer < 0) {
            *causal |= is_square(t);
            continue;
        }
        const cm_node *n = &f->g->nodes[t->producer];
        *causal |= compares_positions(n->op);
        if (n->op == CM_OP_SHAPE || n->op == CM_OP_SIZE) continue; /* a shape depends on no data */
        for (int32_t k = 0; k < n->n_inputs; k++) {
            if (n->inputs[k] < 0) continue;
            if (in_queue(queue, count, n->inputs[k])) continue;
            if (count == MASK_NODES) return MASK_UNKNOWN;
            queue[count++] = n->inputs[k];
        }
    }
    return kind;
}

/* ---- the operator ----------------------------------------------------------------------------------------------- */

/* Whether this is an exported scaled_dot_product_attention: both factors are scaled, and there is a guard against
   NaN. */
static bool is_sdpa(const match *m) { return m->guarded || (m->q_scaled && m->k_scaled); }

/* PyTorch exports the dropout inside scaled_dot_product_attention in inference mode, so optimizers remove it. Assume
   the rate of the model's other dropouts; 0: it has none. */
static double dropout_elsewhere(const cm__fuser *f)
{
    for (int32_t i = 0; i < f->g->n_nodes; i++) {
        const cm_node *n = &f->g->nodes[i];
        double         ratio;
        if (n->op != CM_OP_DROPOUT) continue;
        if (!(cm__has(n, 1) && cm__is_number(f, n->inputs[1], &ratio))) ratio = cm__attr_real(n, CM_ATTR_RATIO, 0.5);
        if (ratio > 0) return ratio;
    }
    return 0;
}

/* If an operand of a product is scaled, the scale is part of the attention. */
static void mark_scale(const cm__fuser *f, int32_t operand)
{
    int32_t node = cm__t(f->g, operand)->producer;
    if (node >= 0 && cm__scaled_input(f, node) >= 0)
        cm__attr_add(f->g->ctx, &f->g->nodes[node], CM__INTS(CM_ATTR_MATH, 1));
}

static void mark_math(const cm__fuser *f, const match *m, int32_t softmax, int32_t product)
{
    for (int32_t i = 0; i < m->n_passed; i++)
        cm__attr_add(f->g->ctx, &f->g->nodes[m->passed[i]], CM__INTS(CM_ATTR_MATH, m->passed[i] == m->last ? 2 : 1));
    cm__attr_add(f->g->ctx, &f->g->nodes[softmax], CM__INTS(CM_ATTR_MATH, 1));
    for (int i = 0; i < 2; i++) mark_scale(f, f->g->nodes[product].inputs[i]);
}

static bool over_keys(const cm__fuser *f, const cm_node *n)
{
    int64_t axis = cm__attr_int(n, CM_ATTR_AXIS, -1);
    return axis == -1 || axis == cm__in(f->g, n, 0)->rank - 1;
}

void cm__fuse_attention(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    match          m = {.mask = -1, .transpose = -1};
    if (n->op != CM_OP_SOFTMAX || cm__attr_find(n, CM_ATTR_MATH)) return; /* known to stay unfused */
    if (!over_keys(f, n) || !find_v(f, n->outputs[0], &m)) return;
    int32_t product = find_product(f, n->inputs[0], &m);
    if (product < 0) return;
    m.q = past_scale(f, f->g->nodes[product].inputs[0], &m.q_scaled);
    m.operand = f->g->nodes[product].inputs[1];
    if (!find_k(f, &m) || !fits(f, &m)) return;
    if (f->eager && !is_sdpa(&m)) return; /* written by hand */
    mask_kind kind = m.mask < 0 ? MASK_FIXED : trace_mask(f, m.mask, &m.causal);
    if (kind == MASK_TRAINED && is_sdpa(&m)) mark_math(f, &m, node, product);
    if (kind == MASK_TRAINED || kind == MASK_UNKNOWN) return; /* fused kernels compute no gradient of a mask */
    if (m.transpose >= 0) transpose_less(f, &m);
    if (m.dropout == 0 && is_sdpa(&m) && !f->g->as_exported) m.dropout = dropout_elsewhere(f);
    bool     pytorchs = is_sdpa(&m) && cm__t(f->g, m.q)->rank == 4;
    int32_t  inputs[4] = {m.q, pytorchs ? past_repeat(f, m.k) : m.k, pytorchs ? past_repeat(f, m.v) : m.v, m.mask};
    if (cm__t(f->g, inputs[1])->dims[1].fixed != cm__t(f->g, inputs[2])->dims[1].fixed) {
        inputs[1] = m.k;
        inputs[2] = m.v;
    }
    cm__attr attrs[4] = {CM__INTS(CM_ATTR_CAUSAL, kind == MASK_FIXED && m.causal), CM__REAL(CM_ATTR_DROPOUT, m.dropout),
                         CM__INTS(CM_ATTR_Q_NUM_HEADS, 1), CM__INTS(CM_ATTR_KV_NUM_HEADS, 1)};
    cm__rewrite(f, m.last, CM_OP_ATTENTION, inputs, kind == MASK_FED ? 4 : 3, attrs,
                cm__t(f->g, m.q)->rank == 3 ? 4 : 2);
}
