/* SPDX-License-Identifier: Apache-2.0 */
/* predict_text.c - a prediction as text. */
#include "base/text.h"
#include "report/report.h"
#include "report/table.h"

static const char *seconds(cm__ctx *ctx, double s)
{
    char buf[32];
    return cm__format(ctx, "%ss", cm__si_small(buf, sizeof buf, s));
}

static const char *const pieces[CM_STYLES] = {[CM_STYLE_KERNELS] = "kernels",
                                              [CM_STYLE_SECTIONS] = "sections",
                                              [CM_STYLE_BSP] = "supersteps",
                                              [CM_STYLE_STREAMING] = "layers"};

void cm__predict_text(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    const cm_device_info     *device = cm_device_get_info(r->device);
    fprintf(out, "# centimani %s, %s on %s (%s), batch %lld, %s, %s\n", CM_VERSION, cm__printable(ctx, r->asked.graph.model),
            device->name, device->id, (long long)i->batch, cm_precision_name(cm_graph_precision(r->graph->step)),
            cm_runtime_name(i->runtime));
    fprintf(out, "step       %s (%s to %s)\n", seconds(ctx, i->step_time_s), seconds(ctx, i->interval_s[0]),
            seconds(ctx, i->interval_s[1]));
    fprintf(out, "device     %s in %.0f %s\nhost       %s\n", seconds(ctx, i->device_time_s), i->launches, pieces[i->style],
            seconds(ctx, i->host_time_s));
    if (i->devices > 1) fprintf(out, "devices    %d, as one pipeline: fewer do not hold the model\n", i->devices);
    if (i->micro_batch < i->batch) fprintf(out, "micro-batch %lld samples, the most that fits\n", (long long)i->micro_batch);
    fprintf(out, "throughput %.4g samples/s\nMFU        %.1f %%\n", i->throughput_samples_s, 100 * i->mfu);
}
