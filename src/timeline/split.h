/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - the events of a Chrome trace, one at a time, in memory that does not grow with the trace. */
#ifndef CM_TIMELINE_SPLIT_H
#define CM_TIMELINE_SPLIT_H

#include <jansson.h>
#include "base/ctx.h"

/* The source of the bytes: read() fills `buffer` and returns the number of bytes, 0 at the end; rewind() begins anew,
   NULL: it cannot. */
typedef struct cm__bytes {
    size_t (*read)(void *user, char *buffer, size_t size);
    void  *user;
    void (*rewind)(void *user);
} cm__bytes;

typedef struct cm__split_counts {
    int64_t events, unreadable; /* unreadable: objects that are no valid JSON, or too large */
} cm__split_counts;

/* Called for each object of "traceEvents" (or of a top-level array), and for each of "deviceProperties". */
typedef void cm__event_visit(void *user, const json_t *event, bool device);

/* Reads a whole trace. Fails if it has no array of events. */
cm__split_counts cm__split_events(cm__ctx *ctx, const cm__bytes *bytes, cm__event_visit *visit, void *user);

/* A file, plain or compressed by gzip, closed with the context. */
cm__bytes cm__trace_file(cm__ctx *ctx, const char *path);

#endif
