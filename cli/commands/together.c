/* SPDX-License-Identifier: Apache-2.0 */
/* together.c - options that do nothing without another one are refused with the reason. */
#include "cli.h"

static const cm_plan *plan_of(const settings *s) { return &s->memory.options.plan; }

/* Requirements of an option. The plan of a whole job may recompute. */
static bool full_recomputation(const command *c, const settings *s)
{
    (void)c;
    return s->graph.train.recompute == CM_RECOMPUTE_FULL || s->job.max_devices;
}

static bool stages(const command *c, const settings *s) { return (void)c, plan_of(s)->pp > 1; }
static bool tensor_parallel(const command *c, const settings *s) { return (void)c, plan_of(s)->tp > 1; }
static bool expert_parallel(const command *c, const settings *s) { return (void)c, plan_of(s)->ep > 1; }
static bool divides_gradients(const command *c, const settings *s) { return (void)c, plan_of(s)->zero >= 2; }
static bool may_shard(const command *c, const settings *s) { return c->takes == FOR_PLAN || divides_gradients(c, s); }
static bool script(const command *c, const settings *s) { return (void)c, s->job_script != NULL; }
static bool not_scale(const command *c, const settings *s) { return (void)s, c->takes != FOR_SCALE; }

/* Also a plan for one device: --dp 1 has been said. */
static bool planned(const command *c, const settings *s)
{
    const cm_plan *p = plan_of(s);
    bool always = c->takes == FOR_SCALE || c->takes == FOR_PLAN || c->takes == FOR_COLLECTIVE;
    return always || p->devices || p->tp || p->pp || p->dp || p->cp || p->ep;
}

/* A search tries tensor-parallel plans, too. */
static bool may_divide_tensors(const command *c, const settings *s)
{
    return c->takes == FOR_PLAN || tensor_parallel(c, s);
}

static bool fabric(const command *c, const settings *s) { return c->takes == FOR_PREDICT || planned(c, s); }

/* Whether an option is given. */
static bool reentrant(const settings *s) { return s->graph.train.whole_layers; }
static bool gpipe(const settings *s) { return plan_of(s)->gpipe; }
static bool interleaved(const settings *s) { return plan_of(s)->interleave > 1; }
static bool by_tokens(const settings *s) { return plan_of(s)->sequence_parallel; }
static bool in_pieces(const settings *s) { return plan_of(s)->async_tensor; }
static bool imbalanced(const settings *s) { return plan_of(s)->expert_imbalance > 0; }
static bool routes_behind(const settings *s) { return plan_of(s)->async_experts; }
static bool asynchronous(const settings *s) { return plan_of(s)->asynchronous; }
static bool overlapping(const settings *s) { return plan_of(s)->overlap; }
static bool compressed(const settings *s) { return plan_of(s)->gradient_bits > 0 || plan_of(s)->gradient_part > 0; }
static bool mixed(const settings *s) { return s->graph.train.mixed_precision != CM_MIXED_PRECISION_AUTO; }
static bool undivided(const settings *s) { return plan_of(s)->no_sync; }
static bool sharded(const settings *s) { return plan_of(s)->zero > 0; }
static bool connected(const settings *s) { return s->cluster != NULL; }
static bool replicas(const settings *s) { return plan_of(s)->dp > 0; }
static bool of_script(const settings *s) { return s->entry || s->script.launcher || s->script.scheduler; }

#define SEVERAL "several devices: add -n N, --tp, --pp, --dp or --cp"

static const struct {
    bool (*given)(const settings *s);
    bool (*met)(const command *c, const settings *s);
    const char *reason;
} rules[] = {
    {reentrant, full_recomputation,
     "--reentrant repeats the layers that --recompute full repeats: add --recompute full"},
    {gpipe, stages, "--schedule gpipe is a schedule of pipelines: add --pp N"},
    {interleaved, stages, "--interleave divides the stages of a pipeline: add --pp N"},
    {by_tokens, tensor_parallel, "--sequence-parallel divides what --tp does not: add --tp N"},
    {in_pieces, may_divide_tensors, "--async-tp is of tensor-parallel devices: add --tp N"},
    {imbalanced, expert_parallel, "--expert-imbalance is of expert-parallel devices: add --ep N"},
    {routes_behind, expert_parallel, "--async-ep is of expert-parallel devices: add --ep N"},
    {asynchronous, planned, "--async needs " SEVERAL},
    {overlapping, planned, "--overlap needs " SEVERAL},
    {compressed, planned, "--compress needs " SEVERAL},
    {undivided, divides_gradients, "--no-sync is about gradients that ZeRO divides: add --zero 2 or --zero 3"},
    {mixed, may_shard, "--mixed-precision is about weights that FSDP shards: add --zero 2 or --zero 3"},
    {sharded, planned, "--zero needs " SEVERAL},
    {connected, fabric, "--cluster needs " SEVERAL},
    {replicas, not_scale, "-n gives the numbers of devices: leave out --dp"},
    {of_script, script, "--entry, --launcher and --scheduler describe the batch script: add --job-script FILE"},
};

bool options_fit_together(const command *c, const settings *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].given(s) && !rules[i].met(c, s)) {
            say("%s: %s", c->name, rules[i].reason);
            return false;
        }
    return true;
}
