/* SPDX-License-Identifier: Apache-2.0 */
/*
 * algorithms.c - latency and volume of each algorithm for a collective operation among p devices.
 *
 *     ring              p - 1 neighbours, each step sends 1/p of the buffer
 *     tree              ⌈log2 p⌉ levels up and down, pipelined; a device forwards all it receives
 *     double tree       two trees with half of the buffer each; every device is a leaf of one: links are used both ways
 *     direct            every pair of devices exchanges over a switch
 *     in the network    switches do the reduction (SwarmX, SHARP); a device sends once and receives once
 *     parameter server  all devices send to one, which answers
 */
#include <math.h>
#include "model/parallel/comm.h"

const char *const cm__operation_names[CM__OPERATIONS] = {
    [CM__ALL_REDUCE] = "all-reduce", [CM__REDUCE_SCATTER] = "reduce-scatter", [CM__ALL_GATHER] = "all-gather",
    [CM__ALL_TO_ALL] = "all-to-all", [CM__BROADCAST] = "broadcast",           [CM__POINT_TO_POINT] = "point-to-point",
};

const char *const cm__algorithm_names[CM__ALGORITHMS] = {
    [CM__RING] = "ring",     [CM__TREE] = "tree",           [CM__DOUBLE_TREE] = "double tree",
    [CM__DIRECT] = "direct", [CM__IN_NETWORK] = "in-network", [CM__PARAMETER_SERVER] = "parameter server",
};

/* How the number of steps and the volume grow with p. */
typedef enum growth { NONE, ONE, PART, RING_STEPS, LEVELS, ALL } growth;

static double grown(growth g, double p)
{
    const double grows[] = {[NONE] = 0, [ONE] = 1, [PART] = (p - 1) / p, [RING_STEPS] = p - 1, [ALL] = p};
    return g == LEVELS ? ceil(log2(p)) : grows[g]; /* the logarithm would take most of the time of a plan search */
}

/* An algorithm takes times * steps(p) latencies and transfers times * volume(p) buffers; times 0: not supported. */
static const struct {
    int8_t times;
    int8_t steps, volume;
} costs[CM__ALGORITHMS][CM__OPERATIONS] = {
    [CM__RING] = {{2, RING_STEPS, PART}, {1, RING_STEPS, PART}, {1, RING_STEPS, PART}, {0}, {1, RING_STEPS, ONE},
                  {1, ONE, ONE}},
    [CM__TREE] = {{2, LEVELS, ONE}, {0}, {0}, {0}, {1, LEVELS, ONE}, {0}},
    [CM__DOUBLE_TREE] = {{2, LEVELS, PART}, {0}, {0}, {0}, {1, LEVELS, ONE}, {0}},
    [CM__DIRECT] = {{2, ONE, PART}, {1, ONE, PART}, {1, ONE, PART}, {1, ONE, PART}, {1, ONE, ONE}, {1, ONE, ONE}},
    [CM__IN_NETWORK] = {{1, ONE, ONE}, {1, ONE, ONE}, {1, ONE, ONE}, {0}, {1, ONE, ONE}, {0}},
    [CM__PARAMETER_SERVER] = {{2, ONE, ALL}, {0}, {0}, {0}, {1, ONE, ALL}, {0}},
};

double cm__algorithm_time(cm__algorithm algorithm, cm__operation operation, int32_t p, double bytes, double latency_s,
                          double bw_bytes_s)
{
    int times = costs[algorithm][operation].times;
    if (!times) return NAN;
    if (p < 2) return 0;
    return times * (grown((growth)costs[algorithm][operation].steps, p) * latency_s +
                    grown((growth)costs[algorithm][operation].volume, p) * bytes / bw_bytes_s);
}

double cm__bus_part(cm__operation operation, int32_t p)
{
    double part = (double)(p - 1) / p;
    bool   whole = operation == CM__BROADCAST || operation == CM__POINT_TO_POINT;
    return p < 2 ? 0 : whole ? 1 : operation == CM__ALL_REDUCE ? 2 * part : part;
}

/* ---- compression ------------------------------------------------------------------------------------------------ */

#define NUMBER_BITS 32.0   /* of an uncompressed gradient */
#define POSITION_BITS 32.0 /* index of a gradient that is sent in sparse form */

double cm__compressed_bytes(const cm__compression *c, double bytes, double bits)
{
    if (c->bits > 0 && c->bits < bits) bits = c->bits;
    if (c->fraction > 0 && c->fraction < 1) return bytes / NUMBER_BITS * c->fraction * (bits + POSITION_BITS);
    return bytes / NUMBER_BITS * bits;
}

double cm__compression_time(const cm__compression *c, double bytes)
{
    bool none = (c->bits <= 0 || c->bits >= NUMBER_BITS) && (c->fraction <= 0 || c->fraction >= 1);
    return none || c->compute_bytes_s <= 0 ? 0 : 2 * bytes / c->compute_bytes_s; /* compress and decompress */
}
