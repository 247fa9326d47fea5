/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_profile.c - device and cluster profiles from arbitrary bytes. */
#include "device/device.h"
#include "reader.h"

static void any_profile(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm__origin       origin = {"fuzz.json", cm__text_copy_n(ctx, (const char *)bytes, size), size};
    cm__profile_kind kind = cm__profile_kind_of(ctx, &origin);
    cm__profile      profile = cm__profile_parse(ctx, kind, &origin);
    if (kind == CM__PROFILE_DEVICE && !cm_device_profile(cm__device_read(ctx, &profile))) abort();
}

FUZZ_READER(any_profile)
