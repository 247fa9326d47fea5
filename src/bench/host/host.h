/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the host tests; each is in its own file. */
#ifndef CM_BENCH_HOST_H
#define CM_BENCH_HOST_H

#include "bench/bench.h"

extern const cm__host_test cm__host_storage; /* bytes read */
extern const cm__host_test cm__host_jpeg;    /* images decoded, resized and cropped, on one core */
extern const cm__host_test cm__host_tokens;  /* tokens gathered into batches, on one core */

#endif
