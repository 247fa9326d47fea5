/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - print devices and clusters as JSON: lists in SI units, or a whole profile with its sources. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static void device(cm__ctx *ctx, json_t *o, const cm__device_row *d)
{
    cm__json_set(ctx, o, "id", cm__json_text(ctx, d->id));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, d->name));
    cm__json_set(ctx, o, "vendor", cm__json_text(ctx, d->vendor));
    cm__json_set(ctx, o, "class", cm__json_text(ctx, d->device_class));
    cm__json_set(ctx, o, "peak_16bit_flop_s", cm__json_number(d->peak_flop_s));
    cm__json_set(ctx, o, "memory_bytes", cm__json_number(d->memory_bytes));
    cm__json_set(ctx, o, "bw_bytes_s", cm__json_number(d->bw_bytes_s));
    cm__json_set(ctx, o, "tdp_w", cm__json_number(d->tdp_w));
    cm__json_set(ctx, o, "price_usd_hour", cm__json_number(d->price ? d->price->usd_hour : NAN));
    cm__json_set(ctx, o, "price_provider", cm__json_text(ctx, d->price ? d->price->provider : NULL));
    cm__json_set(ctx, o, "price_basis", cm__json_text(ctx, d->price ? d->price->basis : NULL));
    cm__json_set(ctx, o, "price_date", cm__json_text(ctx, d->price ? d->price->date : NULL));
}

static void devices(cm__ctx *ctx, json_t *answer, const cm__devices_report *r)
{
    json_t *list = cm__json_set(ctx, answer, "devices", json_array());
    for (int32_t i = 0; i < r->n_devices; i++) device(ctx, cm__json_append(ctx, list, json_object()), &r->devices[i]);
}

static void clusters(cm__ctx *ctx, json_t *answer, const cm__devices_report *r)
{
    json_t *list = cm__json_set(ctx, answer, "clusters", json_array());
    for (int32_t i = 0; i < r->n_clusters; i++) {
        const cm_cluster_info *c = r->clusters[i].info;
        json_t                *o = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, o, "id", cm__json_text(ctx, c->id));
        cm__json_set(ctx, o, "name", cm__json_text(ctx, c->name));
        cm__json_set(ctx, o, "device", cm__json_text(ctx, c->device));
        cm__json_set(ctx, o, "devices_per_node", cm__json_number(c->devices_per_node.value));
        cm__json_set(ctx, o, "nodes", cm__json_number(c->nodes.value));
        cm__json_set(ctx, o, "node_bw_bytes_s", cm__json_number(r->clusters[i].node_bw_bytes_s));
        cm__json_set(ctx, o, "network_bw_bytes_s", cm__json_number(r->clusters[i].network_bw_bytes_s));
    }
}

static void show(cm__ctx *ctx, json_t *answer, const cm__devices_report *r)
{
    json_t *list = cm__json_set(ctx, answer, r->of_cluster ? "clusters" : "devices", json_array());
    cm__json_append(ctx, list, json_loads(r->profile, 0, NULL));
}

static void use(cm__ctx *ctx, json_t *o, const cm_profile_use *u)
{
    const struct {
        const char *name;
        bool        used;
    } all[] = {{"forward", u->forward}, {"backward", u->backward}, {"update", u->update}};
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(u->runtime)));
    cm__json_set(ctx, o, "tables", json_integer(u->tables));
    cm__json_set(ctx, o, "rows", json_integer(u->rows));
    json_t *precisions = cm__json_set(ctx, o, "precisions", json_array());
    for (cm_precision p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++)
        if (u->precisions[p]) cm__json_append(ctx, precisions, json_string(cm_precision_name(p)));
    json_t *passes = cm__json_set(ctx, o, "passes", json_array());
    for (int i = 0; i < 3; i++)
        if (all[i].used) cm__json_append(ctx, passes, json_string(all[i].name));
}

static void check(cm__ctx *ctx, json_t *answer, const cm__devices_report *r)
{
    const cm_profile_summary *c = &r->checked;
    cm__json_set(ctx, answer, "file", cm__json_text(ctx, r->asked.name));
    cm__json_set(ctx, answer, "id", cm__json_text(ctx, c->id));
    cm__json_set(ctx, answer, "kind", json_string(c->cluster ? "cluster" : c->abstract ? "family" : "device"));
    cm__json_set(ctx, answer, "valid", json_true());
    cm__json_set(ctx, answer, "numbers", json_integer(c->numbers));
    cm__json_set(ctx, answer, "sources", json_integer(c->sources));
    if (*c->measured_with) cm__json_set(ctx, answer, "measured_with", json_string(c->measured_with));
    json_t *uses = cm__json_set(ctx, answer, "tables", json_array());
    for (int32_t i = 0; i < c->n_uses; i++) use(ctx, cm__json_append(ctx, uses, json_object()), &c->uses[i]);
    json_t *warnings = cm__json_set(ctx, answer, "warnings", json_array());
    for (int32_t i = 0; i < c->n_warnings; i++) cm__json_append(ctx, warnings, json_string(c->warnings[i]));
}

void cm__devices_json(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    static void (*const actions[])(cm__ctx *, json_t *, const cm__devices_report *) = {
        [CM__DEVICES_LIST] = devices, [CM__DEVICES_LIST_CLUSTERS] = clusters, [CM__DEVICES_SHOW] = show,
        [CM__DEVICES_CHECK] = check};
    json_t *answer = cm__json_answer(ctx, "devices");
    actions[r->asked.action](ctx, answer, r);
    cm__json_print(ctx, answer, out);
}
