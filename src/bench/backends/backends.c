/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c - the tables of backends and fabrics, and look-up by name. */
#include <string.h>
#include "base/text.h"
#include "bench/bench.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const cm_backend *const backends[] = {
#define BACKEND(name) &cm__backend_##name,
#define FABRIC(name)
#include "bench/backends.def"
#undef BACKEND
#undef FABRIC
};

static const cm_fabric *const fabrics[] = {
#define BACKEND(name)
#define FABRIC(name) &cm__fabric_##name,
#include "bench/backends.def"
#undef BACKEND
#undef FABRIC
};

#define BACKEND(name) ", " #name
#define FABRIC(name)
static const char names[] =
#include "bench/backends.def"
    ;
#undef BACKEND
#undef FABRIC

const char *cm_bench_backends(void) { return names + 2; }

const cm_backend *cm__backend_at(int index) { return index < COUNT(backends) ? backends[index] : NULL; }

const cm_fabric *cm__fabric_at(int index) { return index < COUNT(fabrics) ? fabrics[index] : NULL; }

const cm_backend *cm__backend_find(cm__ctx *ctx, const char *name)
{
    const char *known[COUNT(backends)];
    for (int i = 0; i < COUNT(backends); i++) {
        known[i] = backends[i]->name;
        if (strcmp(name, known[i]) == 0) return backends[i];
    }
    const char *meant = cm__nearest(name, known, COUNT(known));
    if (meant) cm__fail(ctx, CM_ERR_UNKNOWN, "no backend '%.64s'; did you mean '%s'?", name, meant);
    cm__fail(ctx, CM_ERR_UNKNOWN, "no backend '%.64s'; the backends are %s", name, cm_bench_backends());
}
