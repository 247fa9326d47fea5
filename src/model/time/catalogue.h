/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalogue.h - the kernel tables of one runtime, sorted into families.
 *
 * A family has the tables of one operator, which complement each other. Kinds are separate families: 16-bit and 32-bit
 * products are different kernels, so are contiguous and non-contiguous elementwise kernels, and attention kernels that
 * a user may name.
 */
#ifndef CM_MODEL_CATALOGUE_H
#define CM_MODEL_CATALOGUE_H

#include "base/ctx.h"
#include "device/kernels.h"

#define CM__KINDS 4

typedef struct cm__members {
    int32_t first, count;
} cm__members;

typedef struct cm__catalogue {
    struct cm__catalogue    *next;
    cm__kernels              kernels; /* that it was made of */
    cm_runtime               runtime;
    cm_versions              asked;
    const cm__kernel_table **tables;  /* sorted by family, those of a family in their order */
    int32_t                  count;
    cm__members              families[CM__CALLS][CM__KINDS];
} cm__catalogue;

/* The catalogues of a question: devices that share tables share them. */
typedef struct cm__catalogues cm__catalogues;

cm__catalogues *cm__catalogues_new(cm__ctx *ctx); /* lives as long as the context */

/* The tables of a runtime, followed by those of eager PyTorch for runtimes that run its kernels, too. A family has the
   tables of one release: the one that is asked for, otherwise the newest. kept: NULL for none; then the catalogue
   belongs to the context. The tables must outlive it. */
const cm__catalogue *cm__catalogue_of(cm__ctx *ctx, cm__catalogues *kept, cm__kernels kernels, cm_runtime runtime,
                                      cm_versions asked);

/* The kind of a call or table of this operator. */
int cm__kind_of(int op, cm__variant variant, cm__types types);

#endif
