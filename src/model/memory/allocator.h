/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - a simulation of PyTorch's caching allocator.
 *
 * The rules are those of c10/cuda/CUDACachingAllocator.cpp. Requests are rounded up to 512 B. Requests up to 1 MiB
 * share segments of 2 MiB, those below 10 MiB segments of 20 MiB; larger ones get a segment each, a multiple of 2 MiB.
 * The allocator takes the smallest free block that is large enough and splits it, unless the remainder would be too
 * small (512 B; 1 MiB in large segments): then the whole block counts as allocated. Freed blocks merge with their free
 * neighbours. Segments return to the device only when it is out of memory.
 *
 * With expandable_segments:True each pool has one segment, which grows by pages of 2 MiB (small requests) or 20 MiB.
 * Blocks are always split, and a device that is out of memory gets back every page that is completely free. Addresses of
 * such pages are not used again here; PyTorch does, which changes the addresses but hardly the pages in use.
 */
#ifndef CM_MODEL_ALLOCATOR_H
#define CM_MODEL_ALLOCATOR_H

#include "base/ctx.h"

typedef struct cm__allocator cm__allocator;

/* CUDA streams: a block is used again by the stream that it was allocated for, and by no other (PyTorch keeps the free
   blocks of each stream apart). */
typedef enum cm__stream { CM__STREAM_COMPUTE, CM__STREAM_EXCHANGE, CM__STREAMS } cm__stream;

/* Lives as long as the context. limit_bytes: memory of the device; INFINITY: no limit. */
cm__allocator *cm__allocator_new(cm__ctx *ctx, double limit_bytes);

/* Before the first block: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. */
void cm__allocator_expand(cm__allocator *a);

/* Allocates a block; -1: the device is out of memory. 0 bytes need no block: returns -2, which may be freed. */
int32_t cm__allocator_take(cm__allocator *a, int64_t bytes, cm__stream stream);
void    cm__allocator_free(cm__allocator *a, int32_t block);
/* Returns every completely free segment to the device, as torch.cuda.empty_cache() does. */
void    cm__allocator_release_cached(cm__allocator *a);

/* The segment of a block that is larger than any free block at the start of a step, if nothing else can be in it;
   0: there may be. Such a block does not change where others are. */
int64_t cm__allocator_alone(int64_t bytes);

int64_t cm__allocator_size(const cm__allocator *a, int32_t block); /* bytes that count as allocated */
int64_t cm__allocator_allocated(const cm__allocator *a);
int64_t cm__allocator_most_reserved(const cm__allocator *a);
int64_t cm__allocator_ever_reserved(const cm__allocator *a); /* including segments returned to the device */

#endif
