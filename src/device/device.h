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

/* What operators are told apart by where a device is known by its end-to-end results alone. */
typedef enum cm__effort {
    CM__EFFORT_GEMM, CM__EFFORT_CONV, CM__EFFORT_ATTENTION, CM__EFFORT_MEMORY, CM__EFFORTS
} cm__effort;

/* How a device runs whole graphs: few numbers for its style (model/style.h). Unknown ones have no value. */
typedef struct cm__execution {
    bool      known;
    cm_number efficiency[CM__EFFORTS]; /* of the matrix peak; memory: of the bandwidth, as if nothing were fused */
    cm_number step_s, section_s, layer_s;
    cm_number superstep;               /* cycles */
    cm_number fill;                    /* samples in a full pipeline */
    cm_number engines;                 /* that run beside each other: 2, one of products and one of all else */
    cm_number lanes;                   /* input channels that the matrix units take at once */
    bool      operator_known;          /* rates of single operators, of benchmarks */
    cm_number operator_gemm;           /* share of the matrix peak */
    cm_number operator_memory;         /* share of the on-chip bandwidth */
    cm_number operator_s;              /* the least that one takes */
    cm_number error, conv_error;       /* of a step time, of convolutions: standard deviation of its logarithm */
} cm__execution;

/* Factors on predicted times, from real steps: of products, of all else on the device, of the host. */
typedef struct cm__calibration {
    cm_number matrix, vector, host;
} cm__calibration;

/* Built-in devices that were loaded together. */
typedef struct cm__peers {
    cm_device **devices;
    int32_t     count;
} cm__peers;

struct cm_device {
    cm__ctx        *ctx;
    const cm__peers *peers; /* that outlive what is made of the device; NULL: none */
    const json_t   *tree;
    cm__lineage     lineage;
    char           *profile; /* made when asked for */
    cm_device_info  info;
    const char     *chip;    /* that devices of other memories or cards have too: "GA100"; NULL: not told */
    cm_number       numbers[CM_QUANTITIES], peaks[CM_ENGINES][CM_RATES], flop_energy[CM_RATES];
    bool            precisions[CM_PRECISIONS];
    cm_runtime      runtimes[CM_RUNTIMES]; /* the usual one first */
    int32_t         n_runtimes;            /* 0: not told */
    cm_precision    best_16bit, usual_precision; /* usual: CM_PRECISION_DEFAULT where nobody says */
    cm_memory      *memories;
    cm_placement    placement[CM_CATEGORIES];
    cm_link        *host_link;
    cm__links       links;
    cm__collectives collectives;
    cm_price       *prices;
    int64_t        *batches;
    cm_fit         *fits;
    int32_t         n_memories, n_prices, n_batches, n_fits;
    cm__kernels     kernels, built_in_kernels; /* in the profile or its bases; of the nearest built-in base */
    const cm_device *kernels_of, *built_in_kernels_of; /* the devices that were measured; NULL: this one */
    cm__host_cost  *host;
    cm__reserve    *reserve;
    int32_t         n_host, n_reserve;
    cm__execution   execution;
    cm__calibration calibration;
    cm_number       sparse_skipped;    /* of the arithmetic of pruned weights: what is left out */
    cm_number       sparse_structured; /* times the peak where two of four weights are pruned */
    cm__sources     sources;
};

/* The built-in device of that id that was loaded together with this one; NULL: none. */
const cm_device *cm__device_peer(const cm_device *device, const char *id);
/* A built-in device for whatever is made of another in this context: its peer, or loaded. NULL: there is none. */
const cm_device *cm__device_beside(cm__ctx *ctx, const cm_device *device, const char *id);

/* A device of a profile that is no file of its own; cm_device_free() frees it. */
cm_status cm__device_parse(const char *text, size_t size, cm_device **device, cm_diag *diag);

/* The typed values of a checked profile, which must outlive them. */
cm_device *cm__device_read(cm__ctx *ctx, const cm__profile *profile);

/* ---- what a device is, wherever its profile comes from ----------------------------------------------------------- */

/* Whether a built-in profile is the device's own or one of its bases. */
bool        cm__device_is(const cm_device *device, const char *built_in_id);
/* The nearest built-in family that it belongs to ("nvidia-hopper"); NULL: none. */
const char *cm__device_family(const cm_device *device);

#endif
