/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the host's timeline: operators dispatched, kernels launched, tensors updated. */
#include "model/host.h"

#include <string.h>

static const cm__host_cost *find(const cm_device *device, cm_runtime runtime, const char *what)
{
    for (int32_t i = 0; device && i < device->n_host; i++)
        if (strcmp(device->host[i].what, what) == 0 && strcmp(device->host[i].runtime, cm_runtime_name(runtime)) == 0)
            return &device->host[i];
    return NULL;
}

double cm__host_number(const cm_device *device, const cm_device *relative, cm_runtime runtime, const char *what)
{
    const cm__host_cost *h = find(device, runtime, what);
    if (!h) h = find(relative, runtime, what);
    return h ? h->time_s.value : 0;
}

typedef struct counts {
    double forward, backward, views, tensors;
} counts;

static counts count(const cm_graph *g)
{
    counts c = {0};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->view) c.views++;
        else if (n->phase == CM_UPDATE) c.tensors += n->n_inputs;
        else if (n->phase == CM_BACKWARD) c.backward++;
        else c.forward++;
    }
    return c;
}

double cm__host_time(const cm_device *device, const cm_device *relative, cm_runtime runtime, const cm__dispatch *calls,
                     double launches)
{
    counts c = count(calls->g);
    const struct {
        const char *what;
        double      times;
    } parts[] = {{"forward-op", c.forward}, {"backward-op", c.backward}, {"view-op", c.views},
                 {"update-op", c.tensors},  {"launch", launches},        {"step", 1}};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += parts[i].times * cm__host_number(device, relative, runtime, parts[i].what);
    return sum;
}
