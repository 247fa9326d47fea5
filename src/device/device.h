/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - a device's typed values: read once from its profile (device_read.c), given out one by one (device.c). */
#ifndef CM_DEVICE_DEVICE_H
#define CM_DEVICE_DEVICE_H

#include "device/kernels.h"
#include "device/profile.h"
#include "device/values.h"

/* What a runtime's host thread spends on something. */
typedef struct cm__host_cost {
    const char *runtime, *what;
    cm_number   time_s;
} cm__host_cost;

/* What a runtime holds of the device's memory, whatever runs. */
typedef struct cm__reserve {
    const char *runtime, *what;
    cm_number   size_bytes;
} cm__reserve;

struct cm_device {
    cm__ctx        *ctx;
    const json_t   *tree;
    char           *profile; /* made when asked for */
    cm_device_info  info;
    cm_number       numbers[CM_QUANTITIES], peaks[CM_ENGINES][CM_RATES], flop_energy[CM_RATES];
    bool            precisions[CM_PRECISIONS];
    cm_precision    best_16bit;
    cm_memory      *memories;
    cm_placement    placement[CM_CATEGORIES];
    cm_link        *host_link;
    cm__links       links;
    cm__collectives collectives;
    cm_price       *prices;
    int64_t        *batches;
    cm_fit         *fits;
    int32_t         n_memories, n_prices, n_batches, n_fits;
    cm__kernels     kernels, built_in_kernels; /* of its profile; of its id or base */
    cm__host_cost  *host;
    cm__reserve    *reserve;
    int32_t         n_host, n_reserve;
    cm__sources     sources;
};

/* The typed values of a checked tree, which must outlive them. */
cm_device *cm__device_read(cm__ctx *ctx, const json_t *tree);

#endif
