/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - suite of collectives from 4 B to 1 GB, and of a paper's all-reduce: 16,777,216 floats on 2, 4 and 8 ranks,
 * 64,500,000 on 16 (Emani et al., PMBS 2022, Section IV-D).
 */
#include <string.h>
#include "bench/bench.h"

#define BYTES_MOST ((int64_t)1 << 30)

static const struct {
    int32_t ranks;
    int64_t floats;
} papers[] = {{2, 16777216}, {4, 16777216}, {8, 16777216}, {16, 64500000}};

/* As defined in PERFORMANCE.md of nccl-tests. */
double cm__bus_factor(cm_collective_op op, int32_t ranks)
{
    double n = ranks;
    static const int twice[CM_COLLECTIVE_OPS] = {[CM_ALL_REDUCE] = 2, [CM_ALL_GATHER] = 1, [CM_REDUCE_SCATTER] = 1};
    return twice[op] ? twice[op] * (n - 1) / n : 1;
}

double cm_bench_bus_factor(const char *collective, int32_t ranks)
{
    for (int op = 0; op < CM_COLLECTIVE_OPS; op++)
        if (strcmp(cm__collective_names[op], collective) == 0) return cm__bus_factor((cm_collective_op)op, ranks);
    return 1;
}

/* The ranks of one machine share its memory; each allocates a send buffer and a receive buffer. */
static bool fits(const cm_bench *b, int64_t bytes, int32_t ranks)
{
    return 3.0 * (double)bytes * ranks <= b->device.free_bytes / 2 || bytes < (1 << 20);
}

void cm__suite_collectives(cm_bench *b)
{
    int32_t ranks = b->fabric->ranks(b->fabric_state);
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++)
        if (papers[i].ranks == ranks)
            cm__add_collective(b, "collectives", "papers' all-reduce", CM_ALL_REDUCE, 4 * papers[i].floats);
    for (int64_t bytes = 4; bytes <= BYTES_MOST; bytes *= 4)
        for (int op = 0; op < CM_COLLECTIVE_OPS; op++) {
            bool split = op == CM_ALL_GATHER || op == CM_REDUCE_SCATTER;
            if (split && bytes / 4 < ranks) continue; /* some ranks would get no element */
            double go = fits(b, bytes, ranks);
            b->fabric->agree(b->fabric_state, &go);
            if (go != 0)
                cm__add_collective(b, "collectives", cm__collective_names[op], (cm_collective_op)op, bytes);
        }
}
