/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables_used.c - which questions about a device use its kernel tables, by runtime, precision and pass.
 *
 * A question uses the tables of its runtime. An execution model answers questions about the vendor's runtime alone.
 */
#include "device/tables_used.h"

#include <string.h>

static bool answers(const cm_device *d, cm_runtime runtime)
{
    bool whole = d->info.style != CM_STYLE_KERNELS;
    return cm_device_supports_runtime(d, runtime) && (!whole || runtime == CM_RUNTIME_NATIVE);
}

/* Products of a mixed precision are in the 16-bit type in its name. */
static bool is_of(const cm__kernel_table *t, cm_precision precision)
{
    char        types[CM__CALL_TEXT];
    const char *name = cm_precision_name(precision);
    return strstr(cm__types_text(t->types, types), strncmp(name, "amp-", 4) ? name : name + 4) != NULL;
}

static void note(const cm_device *d, const cm__kernel_table *t, cm_profile_use *use)
{
    use->tables++;
    use->rows += t->n_rows;
    use->forward |= t->pass == CM__PASS_FORWARD;
    use->backward |= t->pass != CM__PASS_FORWARD && t->pass != CM__PASS_UPDATE;
    use->update |= t->pass == CM__PASS_UPDATE;
    for (cm_precision p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++)
        use->precisions[p] |= cm_device_supports(d, p) && is_of(t, p);
}

void cm__tables_used(cm__ctx *ctx, const cm_device *d, const cm__origin *origin, cm_profile_summary *s)
{
    static const cm__step kernels = {NULL, "kernels", 0};
    cm_profile_use        all[CM_RUNTIMES] = {{0}};
    cm_runtime            other = CM_RUNTIME_DEFAULT;
    for (int32_t i = 0; i < d->kernels.count; i++) {
        cm_runtime runtime = CM_RUNTIME_DEFAULT;
        if (cm_runtime_parse(d->kernels.tables[i].runtime, &runtime, NULL)) continue;
        if (answers(d, runtime)) note(d, &d->kernels.tables[i], &all[runtime]);
        else other = runtime;
    }
    for (cm_runtime r = CM_RUNTIME_TORCH_EAGER; r < CM_RUNTIMES; r++) {
        all[r].runtime = r;
        if (all[r].tables && s->n_uses < CM_PROFILE_USES) s->uses[s->n_uses++] = all[r];
    }
    if (!s->n_uses && other)
        cm__refuse(ctx, origin, &kernels,
                   "no question uses these tables: they are of %s, and %s runs %s; if the calls were timed through that, "
                   "write it as their \"runtime\", otherwise name a \"base\" that runs %s",
                   cm_runtime_name(other), d->info.id, cm_runtime_name(cm_device_runtime(d)), cm_runtime_name(other));
}
