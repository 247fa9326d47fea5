/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - a device's typed values: read from its profile by device_read.c, returned by the getters in device.c. */
#ifndef CM_DEVICE_DEVICE_H
#define CM_DEVICE_DEVICE_H

#include "device/kernels.h"
#include "device/profile.h"
#include "device/surface.h"
#include "device/values.h"

/* Host time that a runtime needs for one kind of work. */
typedef struct cm__host_cost {
    const char *runtime, *what;
    cm_number   time_s;
    const char *host; /* on which it was timed, a row of data/hosts.tsv; NULL: the device's own, or not stated */
    cm_versions software; /* with which it was timed */
} cm__host_cost;

/* Device memory that a runtime reserves, independent of the model. */
typedef struct cm__reserve {
    const char *runtime, *what;
    cm_number   size_bytes;
} cm__reserve;

/* Operator classes with separate efficiencies, for devices with known end-to-end results only. */
typedef enum cm__effort {
    CM__EFFORT_GEMM, CM__EFFORT_CONV, CM__EFFORT_ATTENTION, CM__EFFORT_MEMORY, CM__EFFORTS
} cm__effort;

/* How a device runs whole graphs: the few parameters of its execution model (model/execution/). Unknown ones have no
   value. */
typedef struct cm__execution {
    bool      known;
    cm_number efficiency[CM__EFFORTS]; /* of the matrix peak; memory: of the bandwidth, without fusion */
    cm_number step_s, section_s, layer_s, score_s;
    cm_number tensor_s;                /* of each parameter tensor in an update, beside its traffic */
    cm_number superstep;               /* cycles */
    cm_number steps_per_call;          /* training steps that users run in a loop on the device, unless stated */
    cm_number fill;                    /* samples in a full pipeline */
    cm_number engines;                 /* that run concurrently: 2, one for products and one for the rest */
    cm_number overlap;                 /* 1: gradients of copies are summed while backward goes on */
    cm_number older_software;            /* step time of causal models before release `wafer-gpt`, over today's */
    cm_number sums_behind;             /* 1: sums of input gradients run behind the products of weight gradients */
    cm_number stored_scores;           /* 1: operators run as the model writes them; attention is products and a
                                          softmax, unless flash attention is asked for */
    cm_number layer_loop;              /* 1: programs run their layers as a loop, which the compiler keeps (JAX) */
    cm_number joined;                  /* 1: the compiler joins elementwise operators to one kernel; 2: it is XLA */
    cm_number gradient_bucket;         /* bytes of gradients that copies sum together while backward runs */
    cm_number tiles;                   /* parts of the chip with their own memory; a head of attention is laid out on one */
    cm_number segmented;               /* tokens from which on attention's softmax is computed in segments */
    cm_number compiler_mapped;         /* 1: the compiler alone lays out the graph */
    cm_number compiler_share;          /* rate of products then, over that with a mapping made by hand */
    cm_number lanes;                   /* input channels that the matrix units process together */
    cm_number weight_load;             /* rows of a product that pass while the units take its next weights */
    cm_number time_step_s;             /* of recurrent layers, beside its arithmetic */
    cm_number interval_s;              /* least time between samples of one copy whose layers are all on the chip */
    cm_number copies;                  /* of such a model on one chip, at most */
    bool      operator_known;          /* rates of single operators, for benchmarks */
    cm_number operator_gemm;           /* fraction of the matrix peak */
    cm_number operator_conv;           /* the same of convolutions; unknown: they gain as much as products */
    cm_number operator_memory;         /* fraction of the on-chip bandwidth */
    cm_number operator_s;              /* least time of an operator */
    cm_number error, conv_error;       /* standard deviation of log(step time); the same for convolutions */
} cm__execution;

/* Correction factors from measured steps: for matrix products, for other kernels, for host time. */
typedef struct cm__calibration {
    cm_number matrix, vector, host;
} cm__calibration;

typedef enum cm__correction {
#define CORRECTION(id, name) CM__CORRECT_##id,
#include "device/corrections.def"
#undef CORRECTION
    CM__CORRECTIONS
} cm__correction;

/* Built-in devices that were loaded together. */
typedef struct cm__peers {
    const cm_device **devices;
    int32_t     count;
} cm__peers;

struct cm_device {
    cm__ctx        *ctx;
    const cm__peers *peers; /* must outlive everything derived from the device; NULL: none */
    const json_t   *tree;  /* NULL: of a built-in device, whose profile is not parsed */
    cm__lineage     lineage;
    char           *profile; /* made on first use */
    cm_device_info  info;
    const char     *chip;    /* "GA100"; devices with other memories or cards share it; NULL: unknown */
    cm_number       numbers[CM_QUANTITIES], peaks[CM_ENGINES][CM_RATES], flop_energy[CM_RATES];
    bool            precisions[CM_PRECISIONS];
    cm_runtime      runtimes[CM_RUNTIMES]; /* the default first */
    int32_t         n_runtimes;            /* 0: not listed */
    cm_runtime      usual_runtime;         /* if none is listed */
    double          tile;                  /* rows and columns of a product that one core computes at a time */
    const char     *reference;             /* id of the device whose kernel tables are transferred; NULL: none */
    cm_layout       layout; /* of images if the user does not choose; CM_LAYOUT_AUTO: by model */
    cm_precision    best_16bit, usual_precision; /* usual: CM_PRECISION_DEFAULT if not given */
    cm_memory      *memories;
    cm_placement    placement[CM_CATEGORIES];
    cm_link        *host_link;
    cm__links       links;
    cm__collectives collectives;
    const char    **aliases, **unsupported; /* other names; operators that the device does not run */
    cm_price       *prices;
    bool            own_prices; /* the profile states them; else they are rows of the table of offers */
    int64_t        *batches;
    cm_fit         *fits;
    cm__surfaces    surfaces;
    cm_assumption  *assumed; /* none of a built-in device */
    int32_t         n_assumed;
    int32_t         n_aliases, n_unsupported, n_memories, n_prices, n_batches, n_fits;
    cm__kernels     kernels, built_in_kernels; /* of the profile or its bases; of the nearest built-in base */
    const cm_device *kernels_of, *built_in_kernels_of; /* the measured devices; NULL: this one */
    cm__host_cost  *host;
    cm__reserve    *reserve;
    int32_t         n_host, n_reserve;
    cm__execution   execution;
    cm__calibration calibration;
    cm_number       corrections[CM__CORRECTIONS]; /* factors on times transferred from a reference device */
    cm_number       sparse_skipped;    /* fraction of the arithmetic of pruned weights that is skipped */
    cm_number       sparse_structured; /* factor on the peak if two of four weights are pruned */
    cm__sources     sources;
};

/* The built-in device of that id that was loaded together with this one; NULL: none. */
const cm_device *cm__device_peer(const cm_device *device, const char *id);
/* A built-in device, for use with another in this context: its peer, or newly loaded. NULL: none. */
const cm_device *cm__device_beside(cm__ctx *ctx, const cm_device *device, const char *id);

/* cm_device_use_host() if a host launches the device's kernels: devices that run whole graphs have hosts of their own.
   file NULL: nothing is done. */
cm_status        cm__device_use_launcher(cm_device *device, const char *file, cm_diag *diag);

/* The device, with host times of several releases ordered by how well they suit a question: callers take the first. */
const cm_device *cm__device_of_release(cm__ctx *ctx, const cm_device *device, cm_versions asked);

/* A device whose profile is not a file; cm_device_free() frees it. */
cm_status cm__device_parse(const char *text, size_t size, cm_device **device, cm_diag *diag);

/* A device without values, whose profile text the context frees. */
cm_device *cm__device_new(cm__ctx *ctx);
/* Read the typed values of a checked profile, which must outlive them. */
cm_device *cm__device_read(cm__ctx *ctx, const cm__profile *profile);

/* ---- what a device is, wherever its profile comes from ----------------------------------------------------------- */

/* Whether a built-in profile is the device's own or one of its bases. */
bool        cm__device_is(const cm_device *device, const char *built_in_id);
/* The runtime that answers a question: the default or usual one if the question is about it. */
cm_runtime  cm__runtime_on(const cm_device *device, cm_runtime asked);
/* The nearest built-in family that the device belongs to ("nvidia-hopper"); NULL: none. */
const char *cm__device_family(const cm_device *device);

/* Whether the device's own compiler is XLA, which joins operators to the kernels that it also generates for GPUs. */
static inline bool cm__joins_as_xla(const cm_device *d) { return d->execution.joined.known && d->execution.joined.value > 1; }

#endif
