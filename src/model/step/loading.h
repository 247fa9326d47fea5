/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loading.h - a step's samples: read from storage, decoded and batched by the host's cores, copied to the device.
 *
 * Rates come from the device's own profile (`bench --suite host` writes them), from a named host, or from the one
 * measured host, scaled by the ratio of the clocks. See docs/dev/loading.md.
 */
#ifndef CM_MODEL_LOADING_H
#define CM_MODEL_LOADING_H

#include "device/device.h"
#include "graph/graph.h"

/* A row of data/datasets.tsv. */
typedef struct cm__known_dataset {
    const char *id, *kind; /* kind: "jpeg" or "tokens" */
    double      items, each;
    const char *title, *source;
} cm__known_dataset;

/* A row of data/hosts.tsv; NAN: unknown. */
typedef struct cm__known_host {
    const char *id, *devices;
    double      cores, clock_hz, boost_hz, read_bytes_s, images_s, tokens_s;
    const char *name, *source;
} cm__known_host;

extern const cm__known_dataset cm__known_datasets[];
extern const cm__known_host    cm__known_hosts[];
extern const int32_t           cm__n_known_datasets, cm__n_known_hosts;

/* The named host, or the usual host of the device (id NULL) or of its base, with all rates filled in. device may be
   NULL if a host is named. */
cm__known_host cm__host_of(cm__ctx *ctx, const cm_device *device, const char *id);

/* Host-independent cost of one sample: its bytes in storage, and images, tokens or core seconds to prepare. */
typedef struct cm__dataset {
    const char *name;
    double      bytes, images, tokens, prepare_s;
    double      begin_s; /* time to start the workers, once per epoch */
    /* one process supplies all copies: samples/s at most, 0: no limit; time per copy and step */
    double      rate, turn_s;
    double      samples; /* NAN: unknown */
} cm__dataset;

/* `text`: cm_loading_options.dataset; NULL: samples with the sizes of the model's inputs. */
cm__dataset cm__dataset_of(cm__ctx *ctx, const char *text, const cm_graph *step);
/* Bytes of the model's inputs per sample, and tokens per sample. */
double      cm__sample_bytes(const cm_graph *step);

typedef struct cm__loading {
    bool        on;
    bool        in_turn; /* true: reading and preparing alternate; false: they overlap */
    bool        waits;   /* the step waits for its samples */
    double      read_s, prepare_s, copy_s; /* per sample */
    double      begin_s; /* once per epoch, before its first sample */
    double      shared_s, turn_s; /* of one process that feeds all copies: per sample of any; per copy and step */
    double      copies;  /* that it feeds; 0: one */
    double      first_s; /* per sample of an epoch's first batch, which one worker makes while the device waits */
    double      together; /* steps per host call, whose samples are loaded together */
    double      per_call; /* steps that share the host's time for a call; may be the device's usual number */
    double      samples; /* per epoch; NAN: unknown */
    int64_t     workers;
    const char *dataset, *host;
} cm__loading;

cm__loading cm__loading_of(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_loading_options *o);
/* Adds loading to the prediction of a step without it. */
/* Averages the power over a longer step, of which the device idles the rest. */
void        cm__power_dilute(cm_prediction_info *info, double busy);
void        cm__loading_add(const cm__loading *loading, cm_prediction_info *info);

#endif
