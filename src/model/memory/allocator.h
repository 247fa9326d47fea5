/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - PyTorch's caching allocator, simulated: it hands out blocks of memory that does not exist.
 *
 * The rules are those of c10/cuda/CUDACachingAllocator.cpp. Requests are rounded to 512 B. Up to 1 MiB they share
 * segments of 2 MiB, below 10 MiB segments of 20 MiB, larger ones get a segment of their own, a multiple of 2 MiB. The
 * smallest free block that is large enough is taken and split, unless what would remain is too small to be of use
 * (512 B; 1 MiB in large segments): then all of it counts as allocated. Freed blocks join their free neighbours;
 * segments go back to the device only when it has no more memory to give.
 */
#ifndef CM_MODEL_ALLOCATOR_H
#define CM_MODEL_ALLOCATOR_H

#include "base/ctx.h"

typedef struct cm__allocator cm__allocator;

/* Lives as long as the context. limit_bytes: what the device can give; INFINITY: no limit. */
cm__allocator *cm__allocator_new(cm__ctx *ctx, double limit_bytes);

/* A block for so many bytes; -1: the device has not enough. 0 bytes take none: -2, which may be freed. */
int32_t cm__allocator_take(cm__allocator *a, int64_t bytes);
void    cm__allocator_free(cm__allocator *a, int32_t block);

int64_t cm__allocator_size(const cm__allocator *a, int32_t block); /* what counts as allocated for it */
int64_t cm__allocator_allocated(const cm__allocator *a);
int64_t cm__allocator_reserved(const cm__allocator *a);
int64_t cm__allocator_most_reserved(const cm__allocator *a);
int64_t cm__allocator_ever_reserved(const cm__allocator *a); /* with what went back to the device */

#endif
