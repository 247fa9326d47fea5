/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_timeline.c - profiler traces from arbitrary bytes; every time of an accepted trace is finite, its recorded calls can
   be parsed again, and its tables are JSON. */
#include <math.h>
#include <string.h>
#include "reader.h"
#include "timeline/timeline.h"

typedef struct memory {
    const uint8_t *bytes;
    size_t         left;
} memory;

static size_t read_memory(void *user, char *buffer, size_t size)
{
    memory *m = user;
    size_t  n = m->left < size ? m->left : size;
    memcpy(buffer, m->bytes, n);
    m->bytes += n;
    m->left -= n;
    return n;
}

static void check(cm_timeline *t)
{
    int32_t  rows, tables;
    cm__call call;
    for (int32_t i = 0; i < cm_timeline_calls(t); i++) {
        const cm_timeline_call *c = cm_timeline_get_call(t, i);
        if (!isfinite(c->time_s) || c->time_s < 0 || c->phase >= CM_PHASES) abort();
        if (c->call && !cm_timeline_get_info(t)->predicted && !cm__call_parse(c->call, &call)) abort();
    }
    json_t *profile = json_loads(cm_timeline_profile(t, NULL, &rows, &tables), 0, NULL);
    if (!profile || json_array_size(json_object_get(profile, "kernels")) != (size_t)tables) abort();
    json_decref(profile);
}

static void timeline(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    memory       from = {bytes, size};
    cm__bytes    source = {read_memory, &from};
    cm_timeline *t;
    cm__pass_on(ctx, cm__timeline_read(&source, NULL, &t, ctx->diag));
    check(t);
    cm_timeline_free(t);
}

FUZZ_READER(timeline)
