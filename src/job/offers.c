/* SPDX-License-Identifier: Apache-2.0 */
/* offers.c - what cloud providers sell: instances, their devices and prices. */
#include <string.h>
#include "base/file.h"
#include "job/job.h"
#include "job/tables.h"

enum { PROVIDER, INSTANCE, DEVICE, DEVICES, CLUSTER, BASIS, USD_HOUR, REGION, DATE, SOURCE, COLUMNS };

#define DEVICES_MOST 100000

cm__offers cm__offers_read(cm__ctx *ctx, const char *text, const char *name)
{
    cm__lines    rows = {.ctx = ctx, .at = text, .name = name, .columns = COLUMNS};
    cm__offers  all = {0};
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
        all.list[all.count++] = (cm__offer){
            .provider = c[PROVIDER], .instance = c[INSTANCE], .device = c[DEVICE], .cluster = c[CLUSTER],
            .basis = cm_basis_name(basis), .region = strcmp(c[REGION], "-") ? c[REGION] : NULL, .date = c[DATE],
            .source = c[SOURCE], .devices = (int32_t)devices, .usd_hour = cm__lines_number(&rows, c[USD_HOUR])};
    }
    return all;
}

#define FILE_MOST (16 << 20)

cm__offers cm__offers_load(cm__ctx *ctx, const char *path)
{
    if (!path) return cm__offers_read(ctx, cm__table_offers, "data/offers.tsv");
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, FILE_MOST, "a table of offers has thousands of rows at most");
    ctx->file = NULL;
    const char  *text = cm__text_copy_n(ctx, (const char *)file->bytes, file->size);
    cm__file_unmap(file);
    return cm__offers_read(ctx, text, path);
}

cm_status cm_offers_check(const char *path, int32_t *count, cm_diag *diag)
{
    if (!path || !count) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no file given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__offers all = cm__offers_load(ctx, path);
    for (int32_t i = 0; i < all.count; i++) {
        cm_device *device;
        cm_fabric *fabric;
        cm__pass_on(ctx, cm_device_load(all.list[i].device, &device, diag));
        cm_status status = cm_fabric_new(device, all.list[i].cluster, &fabric, diag);
        if (!status) cm_fabric_free(fabric);
        cm_device_free(device);
        cm__pass_on(ctx, status);
    }
    if (!all.count) cm__fail(ctx, CM_ERR_FORMAT, "%s has no offers", path);
    *count = all.count;
    cm__ctx_free(ctx);
    return CM_OK;
}

cm_status cm_offers_list(const char *path, void (*visit)(void *user, const cm_offer *offer), void *user, cm_diag *diag)
{
    if (!visit) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no function to call");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__offers all = cm__offers_load(ctx, path);
    for (int32_t i = 0; i < all.count; i++) visit(user, &all.list[i]);
    cm__ctx_free(ctx);
    return CM_OK;
}

const char *cm_offers_text(void) { return cm__table_offers; }
