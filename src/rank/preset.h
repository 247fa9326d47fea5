/* SPDX-License-Identifier: Apache-2.0 */
/* preset.h - devices as a study ran them (`rank --as NAME`, data/presets.tsv). */
#ifndef CM_RANK_PRESET_H
#define CM_RANK_PRESET_H

#include "base/ctx.h"

/* Of one device; zeroed: no preset. */
typedef struct cm__preset {
    int64_t      batch;
    cm_precision precision; /* 0: as without a preset */
    int32_t      chips;     /* counted as one device */
    double       usd_hour;  /* of all of them; 0: no preset */
} cm__preset;

/* The devices of a preset for a model, the first one its baseline, as a list for cm_rank_options. Fails if there is no
   such preset, or none for the model. */
const char *cm__preset_devices(cm__ctx *ctx, const char *name, const char *model);
cm__preset  cm__preset_of(cm__ctx *ctx, const char *name, const char *model, const char *device);

#endif
