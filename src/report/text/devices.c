/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - print the lists of devices and clusters, and the result of a validation, as text. */
#include <math.h>
#include <string.h>
#include "report/render.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

static const char *watts(cm__ctx *ctx, double value) { return isnan(value) ? "-" : cm__format(ctx, "%.0f", value); }

/* The provider of an on-demand price ("GCP"); of other prices with the basis ("paper: Emani et al."). */
static const char *provider(cm__ctx *ctx, const cm_price *price)
{
    if (!price) return "-";
    if (strcmp(price->basis, "on-demand") == 0) return cm__printable(ctx, price->provider);
    return cm__printable(ctx, cm__format(ctx, "%s: %s", price->basis, price->provider));
}

static void devices(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    static const cm__column columns[] = {{"device"},     {"vendor"},           {"class"},
                                         {"16 bit", "FLOP/s"}, {"memory", "B"}, {"bandwidth", "B/s"},
                                         {"TDP", "W"},   {"price", "USD/h"},   {"from", NULL, true}};
    fprintf(out, "# centimani %s, %d devices; 'centimani devices show ID' shows one with all numbers and sources\n"
            "# prices: on-demand, per device and hour, of the cheapest provider in the median of its regions; column 'from' names "
            "another basis\n\n",
            CM_VERSION, r->n_devices);
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_devices; i++) {
        const cm__device_row *d = &r->devices[i];
        const char           *cells[] = {d->id,
                                         d->vendor ? d->vendor : "-",
                                         d->device_class,
                                         cm__cell_si(ctx, d->peak_flop_s),
                                         cm__cell_binary(ctx, d->memory_bytes),
                                         cm__cell_si(ctx, d->bw_bytes_s),
                                         watts(ctx, d->tdp_w),
                                         d->price ? cm__format(ctx, "%.2f", d->price->usd_hour) : "-",
                                         provider(ctx, d->price)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static const char *count(cm__ctx *ctx, const cm_number *n) { return cm__format(ctx, "%.0f", n->value); }

static void clusters(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    static const cm__column columns[] = {{"cluster"}, {"device"}, {"per node", ""}, {"nodes", ""},
                                         {"in node", "B/s"}, {"network", "B/s"}};
    fprintf(out, "# centimani %s, %d clusters; 'centimani devices show ID' shows one with all numbers and sources\n\n",
            CM_VERSION, r->n_clusters);
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns));
    for (int32_t i = 0; i < r->n_clusters; i++) {
        const cm_cluster_info *c = r->clusters[i].info;
        const char            *cells[] = {c->id, c->device, count(ctx, &c->devices_per_node), count(ctx, &c->nodes),
                                          cm__cell_si(ctx, r->clusters[i].node_bw_bytes_s),
                                          cm__cell_si(ctx, r->clusters[i].network_bw_bytes_s)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void use(cm__ctx *ctx, const cm_profile_use *u, FILE *out)
{
    const char *precisions = "";
    for (cm_precision p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++)
        if (u->precisions[p])
            precisions = cm__format(ctx, "%s%s%s", precisions, *precisions ? ", " : "", cm_precision_name(p));
    fprintf(out, "%d table%s with %d row%s used under %s in %s by%s%s%s\n", u->tables, u->tables == 1 ? "" : "s", u->rows,
            u->rows == 1 ? "" : "s", cm_runtime_name(u->runtime), precisions, u->forward ? " forward" : "",
            u->backward ? " backward" : "", u->update ? " update" : "");
}

static void check(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    const cm_profile_summary *c = &r->checked;
    fprintf(out, "%s: the %s '%s' is valid: %d number%s, %d source%s%s%s\n", cm__printable(ctx, r->asked.name),
            c->cluster ? "cluster" : c->abstract ? "family" : "device", c->id, c->numbers, c->numbers == 1 ? "" : "s",
            c->sources, c->sources == 1 ? "" : "s", *c->measured_with ? "; kernel tables: " : "", c->measured_with);
    for (int32_t i = 0; i < c->n_uses; i++) use(ctx, &c->uses[i], out);
}

void cm__devices_text(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    static void (*const actions[])(cm__ctx *, const cm__devices_report *, FILE *) = {
        [CM__DEVICES_LIST] = devices, [CM__DEVICES_LIST_CLUSTERS] = clusters, [CM__DEVICES_SHOW] = cm__devices_show,
        [CM__DEVICES_CHECK] = check};
    actions[r->asked.action](ctx, r, out);
}
