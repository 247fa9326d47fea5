/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_log.c - read step times and progress from the log of a training run.
 *
 * A table of forms says which words precede a step's time and what its unit is: Megatron-LM, DeepSpeed, torchtitan,
 * nanoGPT, progress bars (tqdm), and "step_time_s" as this project writes it. The first form that a line has counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/file.h"
#include "base/text.h"

#define LOG_MOST (1 << 30)
#define RECENT 20     /* the current speed is the median of so many steps */
#define WARM_UP 3     /* the first steps compile kernels and fill caches */
#define LINE_MOST 4096

static const struct {
    const char *before; /* the time follows it, after spaces, '=' or ':' */
    double      unit_s;
} forms[] = {
    {"elapsed time per iteration (ms)", 1e-3}, /* Megatron-LM */
    {"iter_time (ms)", 1e-3},                  /* DeepSpeed */
    {"step_time_ms", 1e-3},
    {"step_avg", 1e-3},                        /* modded-nanoGPT: milliseconds */
    {"step_time_s", 1},
    {"step_time", 1},
    {"time_per_step", 1},
    {"time/step", 1},
    {"dt_ms", 1e-3},
    {"iter time", 1},
};

static bool number_after(const char *at, double *value)
{
    at += strspn(at, " =:\"'\t");
    char *end;
    *value = strtod(at, &end);
    return end > at && isfinite(*value) && *value > 0;
}

/* "1.25s/it" or "8.0it/s", as progress bars print them. */
static bool from_bar(const char *line, double *time_s)
{
    const char *per = strstr(line, "s/it"), *rate = strstr(line, "it/s"), *end = per ? per : rate;
    if (!end) return false;
    const char *at = end;
    while (at > line && strchr("0123456789.", at[-1])) at--;
    double value = strtod(at, NULL);
    if (at == end || !(value > 0)) return false;
    *time_s = per ? value : 1 / value;
    return true;
}

static bool time_of(const char *line, double *time_s)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = strcasestr(line, forms[i].before);
        if (at && number_after(at + strlen(forms[i].before), time_s)) {
            *time_s *= forms[i].unit_s;
            return true;
        }
    }
    return from_bar(line, time_s);
}

/* "iteration 120/ 5000" or "120/5000 [": steps done, and steps in all. */
static void progress_of(const char *line, cm_train_log *log)
{
    for (const char *at = line; (at = strchr(at, '/')); at++) {
        const char *begin = at;
        while (begin > line && begin[-1] == ' ') begin--;
        while (begin > line && strchr("0123456789", begin[-1])) begin--;
        char  *end;
        double done = strtod(begin, NULL), total = strtod(at + 1, &end);
        if (begin == at || end == at + 1 || !(total >= done) || total < 2 || done != floor(done)) continue;
        log->done = done;
        log->total = total;
        return;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(cm__ctx *ctx, const double *times, int32_t count)
{
    double *sorted = cm__alloc_array(ctx, (size_t)count, sizeof *sorted);
    memcpy(sorted, times, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void read_log(cm__ctx *ctx, const char *path, cm_train_log *log)
{
    ctx->file = path;
    cm__mapping *file = cm__file_map(ctx, path, LOG_MOST, "give the last part of it");
    ctx->file = NULL;
    const char  *at = (const char *)file->bytes, *end = at + file->size;
    double      *times = NULL;
    int32_t      count = 0, capacity = 0;
    while (at < end) {
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        char   line[LINE_MOST];
        double time_s;
        snprintf(line, sizeof line, "%.*s", (int)(stop - at < LINE_MOST ? stop - at : LINE_MOST - 1), at);
        if (time_of(line, &time_s)) {
            times = cm__grow(ctx, times, count, &capacity, sizeof *times);
            times[count++] = time_s;
            progress_of(line, log);
        }
        at = stop + 1;
    }
    cm__file_unmap(file);
    if (!count)
        cm__fail(ctx, CM_ERR_FORMAT,
                 "%s: no line has a step's time, such as 'step_time_s: 0.25', 'elapsed time per iteration (ms): 250' "
                 "or '4.0it/s'", path);
    int32_t skip = count > 2 * WARM_UP ? WARM_UP : 0, recent = count - skip < RECENT ? count - skip : RECENT;
    log->rows = count;
    log->median_s = median(ctx, times + skip, count - skip);
    log->recent_s = median(ctx, times + count - recent, recent);
    if (!(log->done > 0)) log->done = count;
}

cm_status cm_train_log_read(const char *path, cm_train_log *log, cm_diag *diag)
{
    if (!path || !log) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no log given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *log = (cm_train_log){.total = NAN};
    read_log(ctx, path, log);
    cm__ctx_free(ctx);
    return CM_OK;
}
