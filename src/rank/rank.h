/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - one model on many devices.
 *
 * Devices that train in the same precision under the same runtime share one graph of the step (cm__rank_step), and
 * what does not depend on the device of its calls and its memory. Devices are then predicted in several threads; what
 * comes of each does not depend on the others.
 */
#ifndef CM_RANK_RANK_H
#define CM_RANK_RANK_H

#include <pthread.h>
#include "device/device.h"
#include "model/memory/footprint.h"
#include "model/question.h"
#include "rank/where.h"

typedef struct cm__rank_step {
    cm_step_options options; /* settled */
    double        library_bytes;
    cm_graph     *forward; /* of another step too */
    struct cm__rank_step *graph_of; /* the step that has this graph already; NULL: none */
    cm__ctx      *ctx;     /* of what follows; NULL: not made */
    cm_graph     *step;
    cm_footprint *like;
    cm__common    common;  /* made when first asked for, behind the lock */
    pthread_mutex_t lock;
    bool          has_lock;
    cm_device    *first;   /* that asked for it */
    cm_graph     *again;   /* the step that computes activations again; NULL: not needed yet */
    cm_footprint *again_like;
    cm_status     status;
    cm_diag       diag;
} cm__rank_step;

typedef struct cm__rank_device {
    cm_rank_entry  entry;
    cm_device     *device;
    const char    *name; /* as asked for */
    cm__rank_step *step;
    cm_status      status;
    cm_diag        diag;
    char           reason[512];
    double         states_bytes, working_bytes, capacity_bytes; /* of one sample that does not fit */
    bool           unlisted; /* the baseline, where nobody asked to rank it */
} cm__rank_device;

struct cm_ranking {
    cm__ctx         *ctx;
    cm_rank_options  options;
    cm_ranking_info  info;
    cm__conditions   where;
    cm__rank_device *devices;
    cm__peers        peers; /* the built-in ones among them */
    int32_t          n_devices, n_entries, n_placed;
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
/* Why the device has no price, into its reason, with the prices of other bases that it has. */
void cm__rank_explain_price(const cm_ranking *r, cm__rank_device *d);
/* steps.c */
void cm__rank_find_steps(cm_ranking *r);
void cm__rank_load_graph(void *ranking, int32_t index);
void cm__rank_share_forward(cm_ranking *r);
void cm__rank_make_step(void *ranking, int32_t index);
void cm__rank_share_graphs(cm_ranking *r);
cm__rank_step *cm__rank_owner(cm__rank_step *s); /* the step whose graph it has */
/* What predictions of a step share; NULL: nothing, each finds its own. */
const cm__common *cm__rank_common(const cm_ranking *r, cm__rank_step *s);
void cm__rank_make_footprint(void *ranking, int32_t index);
void cm__rank_share_footprints(cm_ranking *r);
void cm__rank_free_steps(void *ranking);
/* order.c */
void cm__rank_settle_state(const cm_ranking *r, cm__rank_device *d);
void cm__rank_sort(cm_ranking *r);
/* rank.c: ends as a call that failed in a thread. */
noreturn void cm__rank_pass_on(cm_ranking *r, cm_status status, const cm_diag *diag);

/* candidate.c: one device at its best batch size; fills the entry's prediction, or says why there is none. */
void cm__rank_evaluate(const cm_ranking *r, cm__rank_device *d);
/* remedy.c: what would make it fit on those devices with a step's graph that it does not fit on. */
void cm__rank_find_remedies(void *ranking, int32_t step);
/* job.c: the whole job, its numbers of each device, and the goal's value. */
void cm__rank_read_job(cm_ranking *r);
void cm__rank_value(const cm_ranking *r, cm__rank_device *d);
void cm__rank_relate(const cm_ranking *r, cm__rank_device *d, const cm_rank_entry *baseline);

/* parallel.c: run(user, 0 .. count - 1), each once, on so many threads; 0: one per core, at most 8. */
void cm__parallel(int32_t threads, int32_t count, void (*run)(void *user, int32_t index), void *user);

#endif
