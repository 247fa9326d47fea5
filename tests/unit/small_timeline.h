/* SPDX-License-Identifier: Apache-2.0 */
/* small_timeline.h - profiler traces as texts, read from memory. */
#ifndef CM_TESTS_UNIT_SMALL_TIMELINE_H
#define CM_TESTS_UNIT_SMALL_TIMELINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "timeline/timeline.h"

/* An operator on thread 1, a launch inside it, and its kernel; times in microseconds. */
#define OP(name, ts, dur, args)                                                                                        \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur               \
    ",\"args\":{" args "}}"
#define LAUNCH(ts, id)                                                                                                 \
    ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":" #ts                    \
    ",\"dur\":1,\"args\":{\"correlation\":" #id "}}"
#define KERNEL(name, ts, dur, id)                                                                                      \
    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur                 \
    ",\"args\":{\"stream\":7,\"correlation\":" #id "}}"
#define SPAN(name, ts, dur)                                                                                            \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"
#define TRACE(events)                                                                                                  \
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"Some GPU\"}],\"traceEvents\":[" events "]}"
#define TWO_MATRICES "\"Input Dims\":[[4,8],[8,2]],\"Input type\":[\"float\",\"float\"],\"Input Strides\":[[8,1],[1,8]]"

typedef struct text_source {
    const char *text;
    size_t      left, most; /* most: bytes per read */
} text_source;

static size_t read_text(void *user, char *buffer, size_t size)
{
    text_source *s = user;
    size_t       n = s->left < s->most ? s->left : s->most;
    if (n > size) n = size;
    memcpy(buffer, s->text, n);
    s->text += n;
    s->left -= n;
    return n;
}

__attribute__((unused)) static cm_timeline *timeline_of(const char *text)
{
    text_source  source = {text, strlen(text), 4096};
    cm__bytes    bytes = {read_text, &source};
    cm_diag      diag = {0};
    cm_timeline *t = NULL;
    if (cm__timeline_read(&bytes, NULL, &t, &diag)) fail_msg("%s", diag.reason);
    return t;
}

#endif
