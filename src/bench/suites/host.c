/* SPDX-License-Identifier: Apache-2.0 */
/* suite_host.c - what feeds a device: storage, decoding, batching, and copies to the device and back. */
#include "bench/bench.h"

#define COPY_BYTES ((int64_t)64 << 20)

void cm__suite_host(cm_bench *b)
{
    static const cm_probe copies[] = {CM_PROBE_TO_PINNED, CM_PROBE_TO_PAGEABLE, CM_PROBE_FROM_PINNED,
                                      CM_PROBE_FROM_PAGEABLE};
    for (int i = 0; cm__host_tests[i]; i++) cm__plan_host(b, "host", cm__host_tests[i]);
    if (b->backend == &cm__backend_cpu) return; /* it is its own host */
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        cm__plan_probe(b, "host", cm__probe_names[copies[i]], (cm_probe_request){copies[i], COPY_BYTES, NULL});
}
