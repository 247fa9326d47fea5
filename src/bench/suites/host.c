/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - suite of the input pipeline: reading storage, decoding images, gathering batches, copies to the device. */
#include "bench/bench.h"

#define COPY_BYTES ((int64_t)64 << 20)

void cm__suite_host(cm_bench *b)
{
    static const cm_probe copies[] = {CM_PROBE_TO_PINNED, CM_PROBE_TO_PAGEABLE, CM_PROBE_FROM_PINNED,
                                      CM_PROBE_FROM_PAGEABLE};
    for (int i = 0; cm__host_tests[i]; i++) cm__add_host_test(b, "host", cm__host_tests[i]);
    if (b->backend == &cm__backend_cpu) return; /* a CPU is its own host: no copies */
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        cm__add_probe(b, "host", cm__probe_names[copies[i]], (cm_probe_request){copies[i], COPY_BYTES, NULL});
}
