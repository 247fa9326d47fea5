/* SPDX-License-Identifier: Apache-2.0 */
/* divisors.c - whether a plan divides a model's heads, tokens and experts. Megatron-LM has the same conditions. */
#include "graph/plan/counts.h"
#include "graph/rule.h"
#include "graph/plan/split.h"

#define DIVISORS_NAMED 12

/* The divisors of a number as text: "1, 2, 4 and 8". */
static const char *divisors_of(cm__ctx *ctx, int64_t number)
{
    int64_t     found[DIVISORS_NAMED];
    int         count = 0;
    const char *text = "";
    for (int64_t i = 1; i <= number && i <= 4096 && count < DIVISORS_NAMED; i++)
        if (number % i == 0) found[count++] = i;
    for (int i = 0; i < count; i++)
        text = cm__format(ctx, "%s%s%lld", text, i == 0 ? "" : i == count - 1 ? " or " : ", ", (long long)found[i]);
    return text;
}

static int64_t heads_of(const cm_tensor *t, int64_t given) { return t->rank == 4 ? t->dims[1].fixed : given; }

static void check_heads(cm__ctx *ctx, const cm_graph *g, const cm_node *n, int32_t tp)
{
    int64_t given = cm__attr_int(n, CM_ATTR_Q_NUM_HEADS, 1), heads = heads_of(cm__in(g, n, 0), given),
            keys = heads_of(cm__in(g, n, 1), cm__attr_int(n, CM_ATTR_KV_NUM_HEADS, given));
    if (heads % tp)
        cm__fail(ctx, CM_ERR_ARGUMENT, "--tp %d does not divide the %lld attention heads: --tp %s does", tp,
                 (long long)heads, divisors_of(ctx, heads));
    if (keys > 0 && keys % tp && tp % keys)
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "--tp %d neither divides the %lld heads of keys and values nor is a multiple of them: --tp %s does",
                 tp,
                 (long long)keys, divisors_of(ctx, keys));
}

/* Under a causal mask each device takes two parts, one from each end, so that all have the same work. */
static void check_tokens(cm__ctx *ctx, const cm_graph *g, const cm_node *n, int32_t cp)
{
    const cm_tensor *q = cm__in(g, n, 0);
    int64_t          tokens = q->dims[q->rank - 2].fixed, parts = cm__attr_int(n, CM_ATTR_CAUSAL, 0) ? 2 : 1;
    if (tokens % (parts * cp))
        cm__fail(ctx, CM_ERR_ARGUMENT, "--cp %d does not divide the %lld tokens of a sequence%s: --cp %s does", cp,
                 (long long)tokens, parts > 1 ? " into two parts for each device" : "",
                 divisors_of(ctx, tokens % parts ? 1 : tokens / parts));
}

static void check_experts(cm__ctx *ctx, const cm_graph *g, int32_t ep)
{
    int64_t experts = 0;
    for (int32_t i = 0; i < g->n_nodes && !experts; i++)
        if (cm__is_expert(g, &g->nodes[i])) experts = cm__in(g, &g->nodes[i], 1)->dims[0].fixed;
    if (!experts) cm__fail(ctx, CM_ERR_ARGUMENT, "--ep %d: the model has no experts to share", ep);
    if (experts % ep)
        cm__fail(ctx, CM_ERR_ARGUMENT, "--ep %d does not divide the %lld experts: --ep %s does", ep, (long long)experts,
                 divisors_of(ctx, experts));
}

static void check_products(cm__ctx *ctx, const cm__facts *f, int32_t tp)
{
    if (f->replicated_flop > f->product_flop / 2)
        cm__fail(ctx, CM_ERR_UNSUPPORTED,
                 "--tp %d: tensor parallelism divides linear layers and attention, and this model is mostly "
                 "convolutions or recurrent layers; --dp divides its samples", tp);
}

/* A state is passed on from token to token: devices that share a sequence would have to wait for each other. */
static void check_states(cm__ctx *ctx, const cm_graph *g, int32_t cp)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_STATE_SPACE)
            cm__fail(ctx, CM_ERR_UNSUPPORTED, "--cp %d: state-space layers whose tokens devices share are not modelled",
                     cp);
}

void cm__plan_check(cm__ctx *ctx, const cm_graph *g, const cm_plan *p)
{
    bool            attends = false;
    const cm__facts facts = cm__facts_of(g);
    if (p->ep > 1) check_experts(ctx, g, p->ep);
    if (p->tp > 1) check_products(ctx, &facts, p->tp);
    if (p->cp > 1) check_states(ctx, g, p->cp);
    for (int32_t i = 0; i < facts.attention_end && (p->tp > 1 || p->cp > 1); i++) {
        const cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_ATTENTION || n->phase != CM_FORWARD || cm__in(g, n, 0)->rank < 3) continue;
        attends = true;
        if (p->tp > 1) check_heads(ctx, g, n, p->tp);
        if (p->cp > 1) check_tokens(ctx, g, n, p->cp);
    }
    if (p->cp > 1 && !attends)
        cm__fail(ctx, CM_ERR_ARGUMENT, "--cp %d: the model has no attention whose tokens devices could share", p->cp);
}

bool cm__plan_divides(const cm_graph *g, const cm_plan *plan)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx) return false;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx) == CM_OK;
    cm__plan_check(ctx, g, plan);
    cm__ctx_free(ctx);
    return true;
}
