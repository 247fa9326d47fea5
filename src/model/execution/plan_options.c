/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_options.c - which options of a parallel plan each execution model supports.
 *
 * Devices with an execution model run whole graphs. The user chooses the number of copies, how their batch is divided,
 * and how gradients are exchanged (equation (4) of Xie et al. 2024). IPUs and RDUs lay one copy out over several chips
 * (--pp); HPUs, TPUs and Trainium divide layers and operators as GPUs do. A wafer streams all layers through itself:
 * its software knows data parallelism only. Compilers place optimizer states; the user does not.
 */
#include "model/execution/execution.h"

#define ALL ((1u << CM_STYLES) - 1)
#define NONE 0u
#define ONLY(style) (1u << (style))

static bool tp(const cm_plan *p) { return p->tp > 1; }
static bool pp(const cm_plan *p) { return p->pp > 1; }
static bool cp(const cm_plan *p) { return p->cp > 1; }
static bool ep(const cm_plan *p) { return p->ep > 1; }
static bool zero(const cm_plan *p) { return p->zero > 0; }
static bool zero_alone(const cm_plan *p) { return p->zero > 0 && p->dp <= 1 && p->devices <= 1; }
static bool interleave(const cm_plan *p) { return p->interleave > 1; }
static bool sequence_parallel(const cm_plan *p) { return p->sequence_parallel; }
static bool async_alone(const cm_plan *p) { return p->async_tensor && p->tp <= 1; }
static bool interleave_alone(const cm_plan *p) { return p->interleave > 1 && p->pp <= 1; }
static bool sequence_alone(const cm_plan *p) { return p->sequence_parallel && p->tp <= 1; }
static bool gpipe(const cm_plan *p) { return p->gpipe; }
static bool asynchronous(const cm_plan *p) { return p->asynchronous; }
static bool compress(const cm_plan *p) { return p->gradient_bits > 0 || p->gradient_part > 0; }
static bool overlap(const cm_plan *p) { return p->overlap; }
static bool offload(const cm_plan *p) { return p->offload_optimizer || p->offload_activations || p->offload_weights; }
static bool devices(const cm_plan *p) { return p->devices > 1; }
static bool dp(const cm_plan *p) { return p->dp > 1; }
static bool micro_batch(const cm_plan *p) { return p->micro_batch > 0; }
static bool accumulate(const cm_plan *p) { return p->accumulate > 1; }
static bool norms(const cm_plan *p) { return p->norm_replicas > 1; }
static bool global_batch(const cm_plan *p) { return p->global_batch > 0; }

static const struct {
    const char *option;
    bool (*is_set)(const cm_plan *plan);
    unsigned styles; /* bit mask of the execution models that support it */
} fields[] = {
    {"-n", devices, ALL},
    {"--dp", dp, ALL},
    {"--micro-batch", micro_batch, ALL},
    {"--accumulate", accumulate, ALL},
    {"--global-batch", global_batch, ALL},
    {"--sync-batchnorm", norms, ALL},
    {"--pp", pp, ONLY(CM_STYLE_BSP) | ONLY(CM_STYLE_SECTIONS) | ONLY(CM_STYLE_KERNELS)},
    {"--tp", tp, ONLY(CM_STYLE_KERNELS)},
    {"--cp", cp, NONE},
    {"--ep", ep, NONE},
    {"--zero", zero, ONLY(CM_STYLE_KERNELS)},
    {"--zero on one device", zero_alone, NONE},
    {"--interleave", interleave, ONLY(CM_STYLE_KERNELS)},
    {"--interleave without --pp", interleave_alone, NONE},
    {"--sequence-parallel", sequence_parallel, ONLY(CM_STYLE_KERNELS)},
    {"--sequence-parallel without --tp", sequence_alone, NONE},
    {"--async-tp without --tp", async_alone, NONE},
    {"--schedule gpipe", gpipe, NONE},
    {"--async", asynchronous, ALL},
    {"--compress", compress, ALL},
    {"--overlap", overlap, ALL & ~ONLY(CM_STYLE_KERNELS)}, /* which overlap it anyway */
    {"--offload", offload, NONE},
};
#define FIELDS (sizeof fields / sizeof *fields)

static bool takes(const cm_device *device, size_t field) { return fields[field].styles >> device->info.style & 1; }

void cm__plan_check_execution(cm__ctx *ctx, const cm_device *device, const cm_plan *plan)
{
    const char *all = "";
    size_t      refused = FIELDS, last = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        if (takes(device, i)) last = i;
        else if (refused == FIELDS && fields[i].is_set(plan)) refused = i;
    }
    if (refused == FIELDS) return;
    for (size_t i = 0; i <= last; i++)
        if (takes(device, i))
            all = cm__format(ctx, "%s%s%s", all, !i ? "" : i == last ? " and " : ", ", fields[i].option);
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "%s runs graphs as a whole and does not support %s; its plan options are %s",
             device->info.id, fields[refused].option, all);
}
