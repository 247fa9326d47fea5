/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - one model on many devices.
 *
 * Devices with the same precision and runtime share one graph of the step (cm__rank_step) and the device-independent
 * parts of its memory; with the same layout of images also its calls. Devices are then predicted in several threads.
 * The result for a device does not depend on the others.
 */
#ifndef CM_RANK_RANK_H
#define CM_RANK_RANK_H

#include <pthread.h>
#include "device/device.h"
#include "model/memory/footprint.h"
#include "model/question.h"
#include "rank/parallel.h"
#include "rank/preset.h"
#include "rank/where.h"

typedef struct cm__rank_step {
    cm_step_options options; /* with all defaults filled in */
    double        library_bytes;
    cm_graph     *forward; /* may belong to another step */
    struct cm__rank_step *graph_of; /* an earlier step with the same graph; NULL: none */
    struct cm__rank_step *retype_of; /* an earlier step with the same graph in another 16-bit type; NULL: none */
    struct cm__rank_step *calls_of; /* an earlier step with the same graph and layout of images; NULL: none */
    cm__ctx      *ctx;     /* context of the members below; NULL: not created */
    cm_graph     *step;
    cm_footprint *like;
    cm__common    common;  /* created on first use, under the lock */
    pthread_mutex_t lock;
    bool          has_lock, has_open_script;
    cm__open_script_graph open_script; /* the step as other scripts run it; only of the step that owns the graph */
    cm_device    *first;   /* the first device that needs it */
    cm_graph     *again;   /* the step with recomputation, created on first use; NULL: not needed yet */
    cm_footprint *again_like;
    pthread_mutex_t again_lock;
    cm_status     status;
    cm_diag       diag;
} cm__rank_step;

typedef struct cm__rank_device {
    cm_rank_entry  entry;
    cm_device     *device;
    const char    *name; /* as the user wrote it */
    cm__rank_step *step;
    cm_status      status;
    cm_diag        diag;
    char           reason[512];
    double         states_bytes, working_bytes, capacity_bytes; /* of one sample that does not fit */
    cm__preset     as;
    cm_fabric     *fabric; /* of the devices that the preset counts as one; NULL: one alone */
    bool           unlisted; /* the baseline, if the user did not ask to rank it */
} cm__rank_device;

struct cm_ranking {
    cm__ctx         *ctx;
    cm_rank_options  options;
    cm_ranking_info  info;
    cm_runtime       own; /* of the model: cm_model_runtime() */
    cm__conditions   where;
    cm__rank_device *devices;
    cm__peers        peers; /* the built-in devices among them */
    int32_t          n_devices, cap_devices, n_entries, n_placed;
    cm__rank_step   *steps;
    int32_t          n_steps;
    cm__rank_device **order;
    cm__memo        *memo;
};

/* devices.c */
void cm__rank_list_devices(cm_ranking *r);
void cm__rank_load_device(void *ranking, int32_t index);
void cm__rank_free_devices(void *ranking);
void cm__rank_take_part(cm_ranking *r);
/* Writes into the device's reason why it has no price, and which other price bases it has. */
void cm__rank_explain_price(const cm_ranking *r, cm__rank_device *d);
/* steps.c */
void cm__rank_find_steps(cm_ranking *r);
void cm__rank_load_graph(void *ranking, int32_t index);
void cm__rank_share_forward(cm_ranking *r);
cm_step_options cm__rank_asked(const cm_ranking *r); /* options of each step as the user gave them */
void cm__rank_check_options(cm_ranking *r);          /* fails if the model has no use for one of them */
void cm__rank_make_step(void *ranking, int32_t index);
void cm__rank_share_graphs(cm_ranking *r);
cm__rank_step *cm__rank_owner(cm__rank_step *s); /* the step that owns its graph */
/* Objects that predictions of a step share; NULL: none, each prediction builds its own. */
const cm__common *cm__rank_common(const cm_ranking *r, cm__rank_step *s);
void cm__rank_make_footprint(void *ranking, int32_t index);
void cm__rank_share_footprints(cm_ranking *r);
void cm__rank_free_steps(void *ranking);
/* order.c */
void cm__rank_settle_state(const cm_ranking *r, cm__rank_device *d);
void cm__rank_sort(cm_ranking *r);
/* rank.c: ends the call with a failure that occurred in a thread. */
noreturn void cm__rank_pass_on(cm_ranking *r, cm_status status, const cm_diag *diag);

/* candidate.c: predicts one device at its best batch size. Fills in the entry's prediction, or the reason why there
   is none. */
void cm__rank_evaluate(const cm_ranking *r, cm__rank_device *d);
/* candidate.c: the usual or the requested batch size, its memory and its time. */
cm_status cm__rank_evaluate_step(const cm_ranking *r, cm__rank_device *d, cm_step *step);
/* again.c: takes the step that recomputes activations instead of `stored`, if the user lets it and it is faster. */
void cm__rank_try_again(const cm_ranking *r, cm__rank_device *d, cm_step *stored);
/* remedy.c: makes the training graph of `owner` with recomputation, unless it has one; false: that fails. */
bool cm__rank_make_again(cm__rank_step *owner);
/* remedy.c: how to make the step fit, if it does not and no other reason is known. */
void cm__rank_find_remedy(const cm_ranking *r, cm__rank_device *d);
/* job.c: the whole job, its numbers for each device, and the objective's value. */
void cm__rank_read_job(cm_ranking *r);
void cm__rank_value(const cm_ranking *r, cm__rank_device *d);
void cm__rank_relate(const cm_ranking *r, cm__rank_device *d, const cm_rank_entry *baseline);

#endif
