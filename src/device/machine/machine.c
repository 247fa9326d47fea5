/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the device `this-machine`: a profile made from what the operating system reports. */
#include "device/machine/machine.h"

#include <time.h>
#include "base/json.h"

static json_t *number(double value, const char *unit)
{
    return json_pack("{s:f, s:s, s:s, s:s}", "value", value, "unit", unit, "kind", "measured", "source", "system");
}

static json_t *level(cm__ctx *ctx, int index, double bytes, bool per_core)
{
    const char *name = index < CM__CACHES_MAX ? cm__format(ctx, "L%d", index + 1) : "memory";
    bool        cache = index < CM__CACHES_MAX;
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "place", cache ? "on-chip" : "off-chip", "managed",
                     cache ? "cache" : "explicit", "scope", per_core ? "core" : "device", "capacity",
                     number(bytes, "B"));
}

static json_t *levels(cm__ctx *ctx, const cm__machine *m)
{
    json_t *array = json_array();
    for (int i = 0; i < CM__CACHES_MAX; i++)
        if (m->caches[i].bytes > 0)
            json_array_append_new(array, level(ctx, i, m->caches[i].bytes, m->caches[i].per_core));
    json_array_append_new(array, level(ctx, CM__CACHES_MAX, m->memory_bytes, false));
    return array;
}

static json_t *placement(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "input_output", "memory", "weights_biases", "memory", "gradients",
                     "memory", "algorithm", "memory", "ephemeral", "memory");
}

static json_t *sources(const cm__machine *m)
{
    char      date[16];
    time_t    now = time(NULL);
    struct tm day;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
    return json_pack("{s:{s:s, s:s, s:s}}", "system", "title", "what the operating system reports", "where",
                     m->interface, "date", date);
}

const json_t *cm__machine_profile(cm__ctx *ctx)
{
    cm__machine m = {0};
    json_t    **tree = cm__json_slot(ctx);
    cm__machine_discover(&m);
    if (m.memory_bytes < 1 || m.cores < 1)
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "the operating system does not report its cores and memory");
    *tree = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:[s,s], s:s, s:o, s:s, s:{}, s:[s], s:[s,s,s], s:o, s:o, s:o}",
                      "schema", 1, "id", "this-machine", "name", *m.name ? m.name : "this machine", "vendor",
                      *m.vendor ? m.vendor : "unknown", "class", "cpu", "unit", "socket", "modes", "training",
                      "inference", "style", "kernel-by-kernel", "cores", number(m.cores, "1"), "core_name", "core",
                      "peak", "precisions", "fp32", "runtimes", "native", "torch-eager", "torch-compile", "memory",
                      levels(ctx, &m), "placement", placement(), "sources", sources(&m));
    if (!*tree) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a profile");
    return *tree;
}
