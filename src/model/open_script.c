/* SPDX-License-Identifier: Apache-2.0 */
/* open_script.c - whether a step that does not fit as asked fits as other scripts run it. */
#include "model/open_script.h"
#include "device/device.h"
#include "device/number.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/chance.h"

/* True: the options leave open which cross-entropy the script has, and the model's logits are large. */
static bool leaves_loss_open(const cm_graph *step, const cm_step_options *o)
{
    if (!cm__is_eager(o->runtime) && !cm__compiles(o->runtime)) return false;
    return !o->train.inference && o->train.loss_kernel == CM_LOSS_KERNEL_AUTO && !step->own_loss &&
           step->loss == CM_LOSS_CROSS_ENTROPY && cm_graph_seq(step) > 0;
}

/* Adapters and quantised weights are those of Hugging Face's PEFT. Its trainer, TRL's, has a chunked loss by default since
   release 1.7 (pull request 5846, 2026). The rest is then that trainer's, too: adapters are fp32 beside 16-bit weights
   (PEFT's pull request 1706, 2024) and 16-bit beside quantised ones (TRL's trainers, as its pull request 7272 describes),
   and PEFT's guide to FSDP with quantised weights checkpoints reentrantly (docs/source/accelerate/fsdp.md,
   run_peft_qlora_fsdp.sh), where the guide without them does not. */
static void take_trainer(cm_train_options *train, const cm_plan *plan)
{
    bool quantized = train->tuning.quantize != CM_QUANTIZE_NONE, sharded = plan->zero == 3 && plan->dp > 1;
    train->loss_kernel = CM_LOSS_KERNEL_CHUNKED;
    train->tuning.wide |= !quantized && !train->tuning.narrow;
    train->whole_layers |= quantized && sharded && train->recompute == CM_RECOMPUTE_FULL;
}

/* Scripts for vendors' compilers recompute layers where memory is short (Optimum Habana's --gradient_checkpointing), and
   those for TPUs keep layers' inputs and, if needed, optimizer states in the host's memory (MaxText's remat_policy and
   optimizer_memory_host_offload). Published results rarely say so. A question that asks for all of this leaves nothing
   open. */
static bool may_recompute(const cm_footprint *f, const cm_step_options *o)
{
    const cm_plan *plan = &f->options.plan;
    bool offloads = !cm__loops_layers(f->device) || (plan->offload_activations && plan->offload_optimizer);
    if (o->train.recompute == CM_RECOMPUTE_FULL && offloads) return false;
    return cm__is_vendors(o->runtime) && !o->train.inference && cm__facts_of(f->step).blocks > 1;
}

/* A fused or chunked loss saves fewer than four copies of the logits in fp32. */
static bool may_help(const cm_graph *step, int64_t batch, const cm_memory_use *use)
{
    cm_poly logits = cm_tensor_elements(cm__t(step, step->outputs[0]));
    return !cm__hopeless(use, 4 * sizeof(float) * cm__poly_at(&logits, (double)batch));
}

/* ---- the step of such a script --------------------------------------------------------------------------------- */

bool cm__open_script_graph_init(cm__open_script_graph *open)
{
    *open = (cm__open_script_graph){.graph = NULL};
    return pthread_mutex_init(&open->lock, NULL) == 0;
}

void cm__open_script_graph_free(cm__open_script_graph *open)
{
    cm_footprint_free(open->like);
    cm_graph_free(open->graph);
    pthread_mutex_destroy(&open->lock);
}

static cm_status make_graph(const cm_graph *forward, const cm_footprint *f, const cm_step_options *o, cm_graph **graph,
                            cm_diag *diag)
{
    cm_train_options train = o->train;
    if (may_recompute(f, o)) train.recompute = CM_RECOMPUTE_FULL;
    else train.loss_kernel = CM_LOSS_KERNEL_FUSED;
    if (train.tuning.rank > 0 || train.tuning.quantize != CM_QUANTIZE_NONE) take_trainer(&train, &f->options.plan);
    return cm_graph_train(forward, &train, graph, diag);
}

static cm_memory_options options_of(const cm_footprint *f, const cm_step_options *o)
{
    cm_memory_options m = f->options;
    if (may_recompute(f, o) && cm__loops_layers(f->device)) m.plan.offload_activations = m.plan.offload_optimizer = true;
    return m;
}

/* Makes what is still missing of the shared graph; the next device tries again what failed. */
static cm_status make_shared(cm__open_script_graph *open, const cm_graph *forward, const cm_footprint *f,
                             const cm_step_options *o, cm_diag *diag)
{
    pthread_mutex_lock(&open->lock);
    cm_status status = open->graph ? CM_OK : make_graph(forward, f, o, &open->graph, diag);
    if (!status && !open->like) {
        const cm_memory_options m = options_of(f, o);
        status = cm_footprint_new(open->graph, f->device, &m, &open->like, diag);
        if (!status) cm__footprint_share_simulations(open->like, NULL);
    }
    pthread_mutex_unlock(&open->lock);
    return status;
}

static cm_status build(cm__open_script *open, const cm_graph *forward, const cm_footprint *f, const cm_step_options *o,
                       cm_diag *diag)
{
    cm__open_script_graph *shared = open->shared;
    cm_status              status = CM_OK;
    if (shared) status = make_shared(shared, forward, f, o, diag);
    else if (!open->graph) status = make_graph(forward, f, o, &open->graph, diag);
    if (status) return status;
    const cm_graph         *graph = shared ? shared->graph : open->graph;
    const cm_memory_options m = options_of(f, o);
    return cm__footprint_new_like(shared ? shared->like : NULL, graph, f->device, &m, &open->footprint, diag);
}

/* ---- the question ----------------------------------------------------------------------------------------------- */

static cm_status simulate(cm__open_script *open, const cm_graph *forward, const cm_footprint *f, const cm_step_options *o,
                          int64_t batch, cm_memory_use *least, cm_diag *diag)
{
    cm_status status = open->footprint ? CM_OK : build(open, forward, f, o, diag);
    return status ? status : cm_footprint_simulate(open->footprint, batch, least, diag);
}

/* The time is that of the step as asked: a step that fits only if recomputed keeps use->fits. */
static void add_recomputed(const cm_footprint *f, const cm_memory_use *least, cm_memory_use *use)
{
    const char *name = cm__loops_layers(f->device) ? "recomputed and offloaded" : "recomputed";
    if (least->fits) cm__add_alternative(use, CM_OPEN_MEMORY, "as asked", name, least);
}

static void add_loss(const cm_graph *step, const cm_memory_use *least, cm_memory_use *use)
{
    bool chunked = step->asked.loss_kernel == CM_LOSS_KERNEL_CHUNKED;
    cm__add_alternative(use, CM_OPEN_LOSS, "plain loss", chunked ? "chunked loss" : "fused loss", least);
    if (use->fits || !least->fits) return;
    use->fits = true;
    use->sure = false;
    use->shortfall_bytes = 0;
}

cm_status cm__open_script_use(cm__open_script *open, const cm_graph *forward, const cm_footprint *footprint,
                              const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    cm_memory_use least;
    bool          recompute = forward && may_recompute(footprint, options);
    bool          loss = forward && leaves_loss_open(footprint->step, options) && may_help(footprint->step, batch, use);
    if (!recompute && !loss) return CM_OK;
    cm_status status = simulate(open, forward, footprint, options, batch, &least, diag);
    if (status) return status;
    if (recompute) add_recomputed(footprint, &least, use);
    else add_loss(open->shared ? open->shared->graph : open->graph, &least, use);
    return CM_OK;
}

void cm__open_script_free(cm__open_script *open)
{
    cm_footprint_free(open->footprint);
    cm_graph_free(open->graph);
}
