/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loading.h - a step's samples: read from storage, decoded and batched by the host's cores, copied to the device.
 *
 * Rates are those of the device's own profile (`bench --suite host` writes them), of a named host, or of the one host
 * that was measured, by the ratio of the clocks: docs/loading.md.
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

/* A row of data/hosts.tsv; NAN: not known. */
typedef struct cm__known_host {
    const char *id, *devices;
    double      cores, clock_hz, read_bytes_s, images_s, tokens_s;
    const char *name, *source;
} cm__known_host;

extern const cm__known_dataset cm__known_datasets[];
extern const cm__known_host    cm__known_hosts[];
extern const int32_t           cm__n_known_datasets, cm__n_known_hosts;

/* What one sample costs whatever the host: its bytes in storage, and images, tokens or seconds of a core to prepare. */
typedef struct cm__dataset {
    const char *name;
    double      bytes, images, tokens, prepare_s;
    double      begin_s; /* of an epoch, before its first sample is asked for: workers are started */
    double      samples; /* NAN: not known */
} cm__dataset;

/* `text`: cm_loading_options.dataset; NULL: samples as the model takes them. */
cm__dataset cm__dataset_of(cm__ctx *ctx, const char *text, const cm_graph *step);
/* Bytes of a sample as the model takes it, and tokens in it. */
double      cm__sample_bytes(const cm_graph *step);

typedef struct cm__loading {
    bool        on;
    bool        in_turn; /* what was read is then prepared; otherwise workers do both at once */
    bool        waits;   /* the step waits for its samples */
    double      read_s, prepare_s, copy_s; /* of one sample */
    double      begin_s; /* of an epoch, before its first sample is asked for */
    double      first_s; /* of one sample of an epoch's first batch, which one worker makes while the device waits */
    double      together; /* steps whose samples are handed over at once */
    double      samples; /* of an epoch; NAN: not known */
    int64_t     workers;
    const char *dataset, *host;
} cm__loading;

cm__loading cm__loading_of(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_loading_options *o);
/* Adds the loading to a step that has been timed without. */
void        cm__loading_add(const cm__loading *loading, cm_prediction_info *info);

#endif
