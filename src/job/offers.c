/* SPDX-License-Identifier: Apache-2.0 */
/* offers.c - check and list tables of offers. */
#include "device/price_list.h"

cm_status cm_offers_check(const char *path, int32_t *count, cm_diag *diag)
{
    if (!path || !count) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no file given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_offers all = cm__offers_load(ctx, path);
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
    cm_offers all = cm__offers_load(ctx, path);
    for (int32_t i = 0; i < all.count; i++) visit(user, &all.list[i]);
    cm__ctx_free(ctx);
    return CM_OK;
}

const char *cm_offers_text(void) { return cm__table_offers; }
