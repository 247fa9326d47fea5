/* SPDX-License-Identifier: Apache-2.0 */
/* law_step_options.c - an option of a step changes its time, its memory or its batch, or it is refused or warned of by
   name. */
#include <math.h>
#include <string.h>
#include "laws.h"

#define BATCH 8
#define VALUES 2

/* The values of an option beside the default. If none of them changes the answer, all have to be refused. */
static const struct option {
    const char     *name; /* a word of the refusal */
    cm_step_options with[VALUES];
    int             count;
} options[] = {
    {"--layout", {{.layout = CM_LAYOUT_NCHW}, {.layout = CM_LAYOUT_NHWC}}, 2},
    {"--attention", {{.train.attention = CM_ATTENTION_FLASH}, {.train.attention = CM_ATTENTION_MATH}}, 2},
    {"--attention", {{.train.attention = CM_ATTENTION_EFFICIENT}}, 1},
    {"--attention", {{.train.attention = CM_ATTENTION_CUDNN}, {.train.attention = CM_ATTENTION_MATH}}, 2},
    {"--software", {{.train.software = {.given = true, .lacks = UINT32_MAX}}}, 1},
    {"--quantize", {{.train.tuning = {.quantize = CM_QUANTIZE_NF4, .freeze = "*"}}}, 1},
    {"--host", {{.loading.host = "neoverse-v1"}, {.loading.host = "dgx-a100"}}, 2},
    {"--steps-per-call", {{.steps_per_call = 16}}, 1},
    {"--recompute", {{.train.recompute = CM_RECOMPUTE_SELECTIVE}}, 1},
    {"--recompute", {{.train.recompute = CM_RECOMPUTE_FULL}}, 1},
    {"--loss-kernel", {{.train.loss_kernel = CM_LOSS_KERNEL_FUSED}}, 1},
    {"--logits", {{.train.script.logits = CM_LOGITS_BOTH}}, 1},
};

typedef struct reply {
    cm_status status;
    double    step_s, device_s, host_s, low_s, peak_bytes;
    int32_t   nodes; /* of the graph: recomputation adds nodes, even where they add no time */
    bool      warns; /* of the option */
    cm_diag   diag;
} reply;

static reply ask(const char *model, const cm_device *d, const cm_step_options *o, const char *name)
{
    reply              r = {0};
    cm_step           *step = NULL;
    cm_memory_use      use = {0};
    cm_prediction_info info = {0};
    r.status = cm_step_new(model, d, o, &step, &r.diag);
    if (!r.status) r.status = cm_step_memory(step, BATCH, &use, &r.diag);
    cm_prediction *p = NULL;
    if (!r.status) r.status = cm_step_predict(step, BATCH, false, &p, &r.diag);
    if (!r.status) info = *cm_prediction_get_info(p);
    r.step_s = info.step_time_s, r.device_s = info.device_time_s, r.host_s = info.host_time_s;
    r.low_s = info.interval_s[0], r.peak_bytes = use.peak_bytes;
    r.nodes = r.status ? 0 : cm_graph_nodes(cm_step_graph(step));
    for (int32_t i = 0; !r.status && name && i < cm_graph_warnings(cm_step_graph(step)); i++)
        r.warns |= strstr(cm_graph_warning(cm_step_graph(step), i), name) != NULL;
    cm_prediction_free(p);
    cm_step_free(step);
    return r;
}

static bool differs(const reply *a, const reply *b)
{
    return a->step_s != b->step_s || a->device_s != b->device_s || a->host_s != b->host_s || a->low_s != b->low_s ||
           a->peak_bytes != b->peak_bytes || a->nodes != b->nodes;
}

static void check(law_run *run, const char *model, const cm_device *d, const reply *usual, const struct option *o)
{
    bool changes = false, refused[VALUES] = {false};
    for (int v = 0; v < o->count; v++) {
        reply r = ask(model, d, &o->with[v], o->name);
        refused[v] = r.status == CM_ERR_UNSUPPORTED || r.warns;
        changes |= r.status == CM_OK && differs(&r, usual);
        if (r.status == CM_ERR_UNSUPPORTED) law_case(run, strstr(r.diag.reason, o->name), "%s on %s: %s refused: %s", model,
                                 cm_device_get_info(d)->id, o->name, r.diag.reason);
    }
    for (int v = 0; v < o->count; v++)
        law_case(run, changes || refused[v], "%s on %s: %s (%d) changes nothing", model, cm_device_get_info(d)->id,
                 o->name, v);
}

void law_step_options_count(law_run *run)
{
    static const char *const models[] = {"resnet18", "gpt:layers=2,hidden=256,heads=4,seq=256,vocab=1000", "lstm"};
    for (int32_t i = 0; cm_device_id(i); i++) {
        cm_device *d;
        if (cm_device_load(cm_device_id(i), &d, NULL)) continue;
        for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
            reply usual = ask(models[m], d, &(cm_step_options){.steps_per_call = 0}, NULL);
            for (size_t o = 0; o < sizeof options / sizeof *options && !usual.status; o++)
                check(run, models[m], d, &usual, &options[o]);
        }
        cm_device_free(d);
    }
}
