/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_profile.c - device and cluster profiles from arbitrary bytes. */
#include <stdio.h>
#include <stdlib.h>
#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) return 0;
    if (setjmp(ctx->trap)) {
        if (!*diag.reason) abort(); /* refused without a reason */
        cm__ctx_free(ctx);
        return 0;
    }
    cm__origin       origin = {"fuzz.json", cm__text_copy_n(ctx, (const char *)bytes, size), size};
    cm__profile_kind kind = cm__profile_kind_of(ctx, &origin);
    cm__profile      profile = cm__profile_parse(ctx, kind, &origin);
    if (kind == CM__PROFILE_DEVICE && !cm_device_profile(cm__device_read(ctx, profile.tree))) abort();
    cm__ctx_free(ctx);
    return 0;
}
