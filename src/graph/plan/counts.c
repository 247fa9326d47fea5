/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c - the counts of a parallel plan: devices, replicas, micro-batches. */
#include "graph/plan/counts.h"

/* ---- counts ----------------------------------------------------------------------------------------------------- */

static int32_t at_least_one(int32_t n) { return n > 0 ? n : 1; }

void cm__plan_fill(cm__ctx *ctx, cm_plan *p)
{
    if (p->devices < 0 || p->tp < 0 || p->pp < 0 || p->dp < 0 || p->cp < 0 || p->ep < 0 || p->zero < 0 || p->zero > 3 ||
        p->norm_replicas < 0 || p->interleave < 0 || p->accumulate < 0 || p->micro_batch < 0 || p->global_batch < 0)
        cm__fail(ctx, CM_ERR_ARGUMENT, "a number of the plan is out of range");
    p->tp = at_least_one(p->tp);
    p->pp = at_least_one(p->pp);
    p->cp = at_least_one(p->cp);
    p->ep = at_least_one(p->ep);
    p->interleave = at_least_one(p->interleave);
    int64_t each = (int64_t)p->tp * p->cp * p->pp;
    if (!p->dp) p->dp = p->devices ? (int32_t)(p->devices / each) : 1;
    if (!p->devices) p->devices = (int32_t)(each * p->dp);
    if (p->dp < 1 || each * p->dp != p->devices)
        cm__fail(ctx, CM_ERR_ARGUMENT, "tp %d x%s pp %d x dp %d are not the %d devices of the plan", p->tp,
                 p->cp > 1 ? cm__format(ctx, " cp %d x", p->cp) : "", p->pp, p->dp, p->devices);
    if (p->dp % p->ep && ((int64_t)p->dp * p->tp) % p->ep)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%d replicas%s cannot share experts in groups of %d: --ep divides --dp%s", p->dp,
                 p->tp > 1 ? cm__format(ctx, " of %d tensor-parallel devices", p->tp) : "", p->ep,
                 p->tp > 1 ? ", or --dp x --tp" : "");
    if (p->norm_replicas && p->dp % p->norm_replicas)
        cm__fail(ctx, CM_ERR_ARGUMENT, "batch norms over %d replicas need a multiple of that number; the plan has %d",
                 p->norm_replicas, p->dp);
    p->accumulate = at_least_one(p->accumulate);
    if (p->global_batch && p->micro_batch)
        p->accumulate = at_least_one((int32_t)(p->global_batch / p->micro_batch / p->dp));
    bool one = p->global_batch && p->micro_batch && p->accumulate == 1;
    if (p->async_experts && (one || (p->pp > 1 && p->interleave == 1))) /* as Megatron-LM asserts */
        cm__fail(ctx, CM_ERR_ARGUMENT, "--async-ep computes one micro-batch while another one's tokens are sent: it "
                 "needs several of them, and model chunks (--interleave) in a pipeline");
}

double cm__offloaded_layers(const cm_plan *p, int32_t parts)
{
    return p->offload_layers > 0 && p->offload_layers < parts - 2 ? p->offload_layers / (parts - 2.0) : 1;
}

bool cm__plan_same(const cm_plan *a, const cm_plan *b)
{
#define NUMBER(member) if (a->member != b->member) return false;
#include "graph/plan/counts.def"
    return true;
}
