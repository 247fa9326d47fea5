/* SPDX-License-Identifier: Apache-2.0 */
/* rank_case.h - a ranking that a test takes through its stages one by one, with its own context and error trap. */
#ifndef CM_TESTS_UNIT_RANK_CASE_H
#define CM_TESTS_UNIT_RANK_CASE_H

#include <math.h>
#include "time_device.h"
#include "rank/rank.h"
#include "refuses.h"

static cm_diag     diag;
static cm_ranking *r;

static inline void begin(void)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
}

#define TEST(name)                                                                                                     \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        begin();                                                                                                       \
        if (setjmp(r->ctx->trap)) fail_msg("refused: %s", diag.reason);                                                \
        name##_body();                                                                                                 \
        cm__ctx_free(r->ctx);                                                                                          \
    }                                                                                                                  \
    static void name##_body(void)

#define REFUSES(status_, reason_, expression) REFUSES_IN(r->ctx, status_, reason_, expression)

/* The devices that take part. */
static inline void list_devices(const char *devices)
{
    r->options.devices = devices;
    r->options.threads = 1;
    cm__rank_list_devices(r);
    cm__defer(r->ctx, cm__rank_free_devices, r);
    cm__parallel(1, r->n_devices, cm__rank_load_device, r);
    cm__rank_take_part(r);
}

/* Their steps of a model. */
static inline void make_steps(const char *model, const char *devices)
{
    r->info.model = model;
    r->memo = cm__memo_new(r->ctx);
    list_devices(devices);
    cm__rank_find_steps(r);
    cm__defer(r->ctx, cm__rank_free_steps, r);
    cm__parallel(1, r->n_steps, cm__rank_load_graph, r);
    cm__rank_share_forward(r);
    cm__parallel(1, r->n_steps, cm__rank_make_step, r);
    cm__rank_share_graphs(r);
    cm__parallel(1, r->n_steps, cm__rank_make_footprint, r);
    cm__rank_share_footprints(r);
}

static inline cm__rank_device *device_named(const char *name)
{
    for (int32_t i = 0; i < r->n_devices; i++)
        if (strcmp(r->devices[i].name, name) == 0) return &r->devices[i];
    return NULL;
}

#endif
