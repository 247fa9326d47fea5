/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c - queues of facilities (data/queues.tsv): which one takes a job, in how many parts, and what it charges. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "job/job.h"
#include "job/tables.h"

enum { CLUSTER, NAME, CLASS, SCHEDULER, NODES_MIN, NODES_MAX, WALL_S, CHARGE, UNIT, REQUEST, NOTE, SOURCE, COLUMNS };

static const char *given(const char *cell) { return strcmp(cell, "-") == 0 ? NULL : cell; }

static cm__queue read_queue(const cm__lines *lines, const char *const *c)
{
    return (cm__queue){.name = c[NAME], .class = c[CLASS], .scheduler = c[SCHEDULER], .unit = c[UNIT],
                       .request = given(c[REQUEST]), .note = given(c[NOTE]),
                       .nodes_min = (int32_t)cm__lines_number(lines, c[NODES_MIN]),
                       .nodes_max = (int32_t)cm__lines_number(lines, c[NODES_MAX]),
                       .wall_s = cm__lines_number(lines, c[WALL_S]), .charge = cm__lines_number(lines, c[CHARGE])};
}

cm__queues cm__queues_of(cm__ctx *ctx, const char *cluster, const char *name)
{
    cm__lines   lines = {.ctx = ctx, .at = cm__table_queues, .name = "data/queues.tsv", .columns = COLUMNS};
    cm__queues  found = {0};
    const char *c[CM__CELLS_MAX], *known = "";
    while (cm__lines_next(&lines, c)) {
        if (strcmp(c[CLUSTER], cluster) != 0) continue;
        bool routed = strcmp(c[NAME], c[CLASS]) != 0;
        known = cm__format(ctx, "%s%s%s%s%s%s", known, *known ? ", " : "", c[NAME], routed ? " (" : "",
                           routed ? c[CLASS] : "", routed ? ")" : "");
        if (name && strcmp(name, c[NAME]) != 0 && strcmp(name, c[CLASS]) != 0) continue;
        if (found.count < CM__QUEUES_MAX) found.list[found.count++] = read_queue(&lines, c);
    }
    if (name && *known && !found.count)
        cm__fail(ctx, CM_ERR_UNKNOWN, "%s has no queue '%.40s'; there are %s", cluster, name, known);
    return found;
}

const cm__queue *cm__queue_for(const cm__queues *all, int32_t nodes, double time_s)
{
    const cm__queue *best = NULL;
    for (int32_t i = 0; i < all->count; i++) {
        const cm__queue *q = &all->list[i];
        if (nodes < q->nodes_min || nodes > q->nodes_max) continue;
        if (!best || ceil(time_s / q->wall_s) < ceil(time_s / best->wall_s)) best = q;
    }
    return best;
}

const char *cm__queues_refuse(cm__ctx *ctx, const cm__queues *all, const char *name, int32_t nodes)
{
    int32_t least = INT32_MAX, most = 0;
    for (int32_t i = 0; i < all->count; i++) {
        if (all->list[i].nodes_min < least) least = all->list[i].nodes_min;
        if (all->list[i].nodes_max > most) most = all->list[i].nodes_max;
    }
    return cm__format(ctx, "%s%s take%s jobs of %d to %d nodes, not of %d", name ? "queue " : "the queues",
                      name ? name : "", name ? "s" : "", least, most, nodes);
}
