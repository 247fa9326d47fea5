/* SPDX-License-Identifier: Apache-2.0 */
/* price_list.c - read the table of offers, and give a device its prices. */
#include "device/price_list.h"

#include <string.h>
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/text.h"

/* ---- the table -------------------------------------------------------------------------------------------------- */

enum { PROVIDER, INSTANCE, DEVICE, DEVICES, CLUSTER, BASIS, USD_HOUR, REGION, DATE, SOURCE, COLUMNS };

#define DEVICES_MOST 100000

static const char *unless_dash(const char *cell) { return strcmp(cell, "-") ? cell : NULL; }

cm_offers cm__offers_read(cm__ctx *ctx, const char *text, const char *name)
{
    cm__lines   rows = {.ctx = ctx, .at = text, .name = name, .columns = COLUMNS};
    cm_offers   all = {.ctx = ctx};
    const char *c[CM__CELLS_MAX];
    while (cm__lines_next(&rows, c)) {
        cm_basis basis;
        double   devices = cm__lines_number(&rows, c[DEVICES]);
        if (cm_basis_parse(c[BASIS], &basis, NULL) || basis == CM_BASIS_ANY)
            cm__fail(ctx, CM_ERR_FORMAT, "%s, line %d: '%.40s' is not a basis such as on-demand or spot", name,
                     rows.line, c[BASIS]);
        if (devices > DEVICES_MOST || devices != (int32_t)devices)
            cm__fail(ctx, CM_ERR_FORMAT, "%s, line %d: '%.40s' is not a number of devices", name, rows.line,
                     c[DEVICES]);
        all.list = cm__grow(ctx, all.list, all.count, &all.cap, sizeof *all.list);
        all.list[all.count++] = (cm_offer){
            .provider = c[PROVIDER], .instance = unless_dash(c[INSTANCE]), .device = c[DEVICE],
            .cluster = unless_dash(c[CLUSTER]), .basis = cm_basis_name(basis), .region = unless_dash(c[REGION]),
            .date = c[DATE], .source = c[SOURCE], .devices = (int32_t)devices,
            .usd_hour = cm__lines_number(&rows, c[USD_HOUR])};
    }
    return all;
}

#define FILE_MOST (16 << 20)

cm_offers cm__offers_load(cm__ctx *ctx, const char *path)
{
    if (!path) return cm__offers_read(ctx, cm__table_offers, "data/offers.tsv");
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, FILE_MOST, "a table of offers has thousands of rows at most");
    ctx->file = NULL;
    const char  *text = cm__text_copy_n(ctx, (const char *)file->bytes, file->size);
    cm__file_unmap(file);
    return cm__offers_read(ctx, text, path);
}

cm_status cm_offers_load(const char *path, cm_offers **offers, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_offers *all = cm__alloc(ctx, sizeof *all);
    *all = cm__offers_load(ctx, path);
    *offers = all;
    return CM_OK;
}

void cm_offers_free(cm_offers *offers)
{
    if (offers) cm__ctx_free(offers->ctx);
}

/* ---- the prices of a device -------------------------------------------------------------------------------------- */

/* The id that the table has for a device: its own if it is built in, else that of its nearest built-in base. */
static const char *id_in_table(const cm_device *d)
{
    for (int32_t i = 0; i < d->lineage.count; i++)
        if (d->lineage.all[i].built_in) return d->lineage.all[i].id;
    return "";
}

void cm_device_use_offers(cm_device *d, const cm_offers *offers)
{
    const char *id = id_in_table(d);
    if (d->own_prices) return;
    d->n_prices = 0;
    d->prices = cm__alloc_array(d->ctx, (size_t)offers->count + 1, sizeof *d->prices);
    for (int32_t i = 0; i < offers->count; i++)
        if (cm__same_name(offers->list[i].device, id)) d->prices[d->n_prices++] = offers->list[i];
}

static cm_price price_of(const json_t *p)
{
    return (cm_price){.provider = cm__text_at(p, "provider"),
                      .basis = cm__text_at(p, "basis"),
                      .date = cm__text_at(p, "date"),
                      .source = cm__text_at(p, "source"),
                      .note = cm__text_at(p, "note"),
                      .usd_hour = json_number_value(json_object_get(p, "usd_hour")),
                      .devices = 1};
}

void cm__device_read_prices(cm_device *d)
{
    const json_t *array = json_object_get(d->tree, "prices");
    d->own_prices = array != NULL;
    if (!array) {
        cm_offers built_in = cm__offers_load(d->ctx, NULL);
        cm_device_use_offers(d, &built_in);
        return;
    }
    d->n_prices = (int32_t)json_array_size(array);
    d->prices = cm__alloc_array(d->ctx, (size_t)d->n_prices, sizeof *d->prices);
    for (int32_t i = 0; i < d->n_prices; i++) d->prices[i] = price_of(json_array_get(array, (size_t)i));
}
