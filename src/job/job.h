/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a whole training job: where to run it, on how many devices, with which plan.
 *
 *     sites    who offers which device over which interconnect at which price (offers of providers, clusters)
 *     searches one for each pair of device and interconnect; several sites may share one
 *     entries  one for each site and number of devices, with the job's time and cost
 */
#ifndef CM_JOB_JOB_H
#define CM_JOB_JOB_H

#include "device/price_list.h"
#include "plan/search.h"
#include "rank/where.h"

#define CM__COUNTS_MAX 32

/* grids.c: carbon intensity of a region, g/kWh; NULL: the world's average. Fails if the region is unknown. */
typedef struct cm__grid {
    const char *region, *name, *source;
    double      g_kwh;
} cm__grid;
cm__grid cm__grid_find(cm__ctx *ctx, const char *region);

/* spot.c: Young's and Daly's best checkpoint interval of interrupted jobs, and what checkpoints and restarts cost. */
typedef struct cm__interruptions {
    double per_day, write_bytes_s, restart_s; /* of one instance */
} cm__interruptions;
cm__interruptions cm__interruptions_of(cm__ctx *ctx, const char *provider);
/* The time of checkpoints, lost work and restarts as a fraction of the time without them; interval_s: between two
   checkpoints. */
double cm__interruption_overhead(const cm__interruptions *i, int32_t instances, double state_bytes, double *interval_s);

/* queues.c: rows of data/queues.tsv. */
typedef struct cm__queue {
    const char *name, *class, *scheduler, *unit, *request, *note; /* request, note: NULL: none */
    int32_t     nodes_min, nodes_max;
    double      wall_s, charge; /* charge: units per node and hour */
} cm__queue;

#define CM__QUEUES_MAX 16
typedef struct cm__queues {
    cm__queue list[CM__QUEUES_MAX];
    int32_t   count;
} cm__queues;

/* The queues of a cluster, or those of a name; none if the facility is not known. Fails if the facility has no queue of
   that name. */
cm__queues       cm__queues_of(cm__ctx *ctx, const char *cluster, const char *name);
/* The queue that takes so many nodes and needs the fewest jobs in a row; NULL: none takes them. */
const cm__queue *cm__queue_for(const cm__queues *queues, int32_t nodes, double time_s);
/* Why none of them takes so many nodes. name: of the queue that the user asked for, or NULL. */
const char      *cm__queues_refuse(cm__ctx *ctx, const cm__queues *queues, const char *name, int32_t nodes);

/* One device with one interconnect: the best plan for each number of devices. */
typedef struct cm__job_search {
    cm_device      *device; /* owned by the job's device list */
    const char     *cluster; /* NULL: the default of cm_fabric_new() */
    cm_fabric      *fabric;
    cm_step_options options; /* with all defaults filled in */
    const cm_graph *forward;
    cm__count       counts[CM__COUNTS_MAX];
    int32_t         n_counts;
    cm__ctx        *ctx;     /* of the search; NULL: not run */
    cm_status       status;
    cm_diag         diag;
} cm__job_search;

typedef struct cm__site {
    int32_t         search_index;
    const cm_offer *offer; /* NULL: a cluster, or a device without offers */
    double          usd_hour; /* per device; NAN: unknown */
    const char     *basis;    /* NULL: no price */
    int32_t         block;    /* devices that are rented together */
} cm__site;

struct cm_job {
    cm__ctx        *ctx;
    cm_job_options  options;
    cm_job_info     info;
    cm_offers       offers;
    cm__plan_shared *shared;
    cm__peers       peers;
    cm_device     **devices;
    int32_t         n_devices, cap_devices;
    cm__job_search *searches;
    int32_t         n_searches, cap_searches;
    cm__site       *sites;
    int32_t         n_sites, cap_sites;
    cm_graph       *forward[CM_FUSES];
    double          state_bytes; /* of a checkpoint */
    cm__conditions  where;
    cm_job_entry   *entries, **order;
    int32_t         n_entries, n_placed;
    cm_job_advice   advices[3];
    int32_t         n_advices;
    /* of several networks: each with its own job, whose entries have the same indices */
    cm_network     *networks;
    cm_job        **parts;
    int32_t         n_networks; /* 0: one network, which is info.model */
};

/* sites.c: lists the sites and the searches that they need. */
void cm__job_list_sites(cm_job *job);
void cm__job_free_sites(void *job);
/* size.c: the number of samples of the job, and the global batch. Needs the forward graphs. */
void cm__job_read_size(cm_job *job);
/* entries.c: entries from the searches' results, and their order. */
void cm__job_make_entries(cm_job *job);
void cm__job_sort(cm_job *job);
/* advice.c */
const char *cm__job_time_text(const cm_job *job, double time_s); /* "5.1 h", "3.2 days" */
void cm__job_advise(cm_job *job);

#endif
