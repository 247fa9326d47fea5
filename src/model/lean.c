/* SPDX-License-Identifier: Apache-2.0 */
/* lean.c - whether a step that does not fit with the usual loss fits with one that stores less. */
#include "model/lean.h"

/* True: the options leave open which cross-entropy the script has, and the model's logits are large. Adapters and
   quantised weights are those of Hugging Face's PEFT, whose trainers had PyTorch's plain one unless they were told.
   TRL's has a chunked one since its pull request 5846 of May 2026; docs/results/fine-tuning.md says what public runs,
   which are older, make of either. */
static bool leaves_loss_open(const cm_graph *step, const cm_step_options *o)
{
    cm_runtime base = cm_runtime_base(o->runtime);
    bool       pytorch = base == CM_RUNTIME_TORCH_EAGER || base == CM_RUNTIME_TORCH_COMPILE;
    bool       trainer = o->train.tuning.rank > 0 || o->train.tuning.quantize != CM_QUANTIZE_NONE;
    return pytorch && !trainer && !o->train.inference && o->train.loss_kernel == CM_LOSS_KERNEL_AUTO && !step->own_loss &&
           step->loss == CM_LOSS_CROSS_ENTROPY && cm_graph_seq(step) > 0;
}

/* A fused loss saves fewer than four copies of the logits in fp32: a step that lacks more does not fit with it. */
static bool may_help(const cm_graph *step, int64_t batch, const cm_memory_use *use)
{
    cm_poly logits = cm_tensor_elements(cm__t(step, step->outputs[0]));
    return use->shortfall_bytes <= 4 * sizeof(float) * cm__poly_at(&logits, (double)batch);
}

/* ---- the step with a fused loss --------------------------------------------------------------------------------- */

bool cm__lean_graph_init(cm__lean_graph *lean)
{
    *lean = (cm__lean_graph){.graph = NULL};
    return pthread_mutex_init(&lean->lock, NULL) == 0;
}

void cm__lean_graph_free(cm__lean_graph *lean)
{
    cm_footprint_free(lean->like);
    cm_graph_free(lean->graph);
    pthread_mutex_destroy(&lean->lock);
}

static cm_status make_graph(const cm_graph *forward, const cm_step_options *o, cm_graph **graph, cm_diag *diag)
{
    cm_train_options train = o->train;
    train.loss_kernel = CM_LOSS_KERNEL_FUSED;
    return cm_graph_train(forward, &train, graph, diag);
}

/* Makes what is still missing of the shared graph; the next device tries again what failed. */
static cm_status make_shared(cm__lean_graph *lean, const cm_graph *forward, const cm_footprint *f,
                             const cm_step_options *o, cm_diag *diag)
{
    pthread_mutex_lock(&lean->lock);
    cm_status status = lean->graph ? CM_OK : make_graph(forward, o, &lean->graph, diag);
    if (!status && !lean->like) {
        status = cm_footprint_new(lean->graph, f->device, &f->options, &lean->like, diag);
        if (!status) cm__footprint_share_simulations(lean->like, NULL);
    }
    pthread_mutex_unlock(&lean->lock);
    return status;
}

static cm_status build(cm__lean *lean, const cm_graph *forward, const cm_footprint *f, const cm_step_options *o,
                       cm_diag *diag)
{
    cm__lean_graph *shared = lean->shared;
    cm_status       status = shared        ? make_shared(shared, forward, f, o, diag)
                             : lean->graph ? CM_OK
                                           : make_graph(forward, o, &lean->graph, diag);
    if (status) return status;
    const cm_graph *graph = shared ? shared->graph : lean->graph;
    return cm__footprint_new_like(shared ? shared->like : NULL, graph, f->device, &f->options, &lean->footprint, diag);
}

/* ---- the question ----------------------------------------------------------------------------------------------- */

cm_status cm__lean_use(cm__lean *lean, const cm_graph *forward, const cm_footprint *footprint,
                       const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    cm_memory_use least;
    if (!forward || !leaves_loss_open(footprint->step, options)) return CM_OK;
    if (!may_help(footprint->step, batch, use)) return CM_OK;
    cm_status status = lean->footprint ? CM_OK : build(lean, forward, footprint, options, diag);
    if (!status) status = cm_footprint_simulate(lean->footprint, batch, &least, diag);
    if (status || !least.fits) return status;
    use->fits = true;
    use->sure = false;
    use->shortfall_bytes = 0;
    use->least_bytes = least.peak_bytes;
    return CM_OK;
}

void cm__lean_free(cm__lean *lean)
{
    cm_footprint_free(lean->footprint);
    cm_graph_free(lean->graph);
}
