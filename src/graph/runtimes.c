/* SPDX-License-Identifier: Apache-2.0 */
/* runtimes.c - the rows of runtimes.def, and the names of runtimes and their modes. */
#include <string.h>

#include "graph/runtimes.h"

#include "base/ctx.h"
#include "base/text.h"
#include "centimani.h"

#define NAMES (CM_RUNTIMES + 1) /* and `usual` */

#define RUNTIME(id, text, graph, table, hosted, kernel, compile, exchange, gradient, mem)                                \
    [CM_RUNTIME_##id] = {text, CM_RUNTIME_##id, CM_RUNTIME_##graph, CM_RUNTIME_##table, CM_RUNTIME_##hosted,            \
                         CM__KERNELS_##kernel, CM__COMPILER_##compile, CM__EXCHANGES_##exchange,                        \
                         CM__GRADIENTS_##gradient, CM__MEMORY_##mem},
#define MODE(id, text, of) [CM_RUNTIME_##id] = {.name = text, .base = CM_RUNTIME_##of, .graphs = CM_RUNTIME_##id},
static const cm__runtime runtimes[NAMES] = {
#include "graph/runtimes.def"
    [CM_RUNTIME_USUAL] = {.name = "usual", .base = CM_RUNTIME_USUAL, .graphs = CM_RUNTIME_COMPILE_GRAPHS},
};
#undef RUNTIME
#undef MODE

const char *cm_runtime_name(cm_runtime runtime) { return runtimes[runtime].name; }
cm_runtime  cm_runtime_base(cm_runtime runtime) { return runtimes[runtime].base; }

const cm__runtime *cm__runtime_of(cm_runtime runtime) { return &runtimes[runtimes[runtime].base]; }

cm_status cm_runtime_parse(const char *name, cm_runtime *runtime, cm_diag *diag)
{
    const char *names[NAMES];
    if (strcmp(name, "torch-compile:default") == 0) name = "torch-compile";
    for (int i = 0; i < NAMES; i++) {
        names[i] = runtimes[i].name;
        if (strcmp(names[i], name) != 0) continue;
        *runtime = (cm_runtime)i;
        return CM_OK;
    }
    const char *near = cm__nearest(name, names, NAMES);
    return cm__diag_set(diag, CM_ERR_UNKNOWN, "unknown runtime '%s'%s%s%s; known: torch-eager[:cuda-graphs], "
                        "torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, xla, usual", name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

cm_status cm_runtime_with_graphs(cm_runtime *runtime, cm_diag *diag)
{
    if (!runtimes[*runtime].graphs)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s has no CUDA graphs", cm_runtime_name(*runtime));
    *runtime = runtimes[*runtime].graphs;
    return CM_OK;
}
