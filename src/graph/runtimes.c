/* SPDX-License-Identifier: Apache-2.0 */
/* runtimes.c - names of runtimes and their modes. */
#include <string.h>

#include "graph/runtimes.h"

#include "base/ctx.h"
#include "base/text.h"
#include "centimani.h"

#define NAMES (CM_RUNTIMES + 1) /* and `usual` */

static const struct {
    const char *name;
    cm_runtime  base;   /* without a mode */
    cm_runtime  graphs; /* the mode that replays CUDA graphs; CM_RUNTIME_DEFAULT: none */
} runtimes[NAMES] = {
    [CM_RUNTIME_DEFAULT] = {"default", CM_RUNTIME_DEFAULT, CM_RUNTIME_EAGER_GRAPHS},
    [CM_RUNTIME_TORCH_EAGER] = {"torch-eager", CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_EAGER_GRAPHS},
    [CM_RUNTIME_TORCH_COMPILE] = {"torch-compile", CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_COMPILE_GRAPHS},
    [CM_RUNTIME_MEGATRON] = {"megatron", CM_RUNTIME_MEGATRON, CM_RUNTIME_DEFAULT},
    [CM_RUNTIME_NATIVE] = {"native", CM_RUNTIME_NATIVE, CM_RUNTIME_DEFAULT},
    [CM_RUNTIME_TUNED] = {"tuned", CM_RUNTIME_TUNED, CM_RUNTIME_TUNED},
    [CM_RUNTIME_EAGER_GRAPHS] = {"torch-eager:cuda-graphs", CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_EAGER_GRAPHS},
    [CM_RUNTIME_COMPILE_GRAPHS] = {"torch-compile:reduce-overhead", CM_RUNTIME_TORCH_COMPILE,
                                   CM_RUNTIME_COMPILE_GRAPHS},
    [CM_RUNTIME_COMPILE_TUNED] = {"torch-compile:max-autotune", CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_COMPILE_TUNED},
    [CM_RUNTIME_USUAL] = {"usual", CM_RUNTIME_USUAL, CM_RUNTIME_COMPILE_GRAPHS},
};

const char *cm_runtime_name(cm_runtime runtime) { return runtimes[runtime].name; }
cm_runtime  cm_runtime_base(cm_runtime runtime) { return runtimes[runtime].base; }

bool cm__is_pytorch(cm_runtime runtime)
{
    cm_runtime base = cm_runtime_base(runtime);
    return base == CM_RUNTIME_TORCH_EAGER || base == CM_RUNTIME_TORCH_COMPILE || base == CM_RUNTIME_TUNED;
}

bool cm__is_megatron_core(cm_runtime runtime, int32_t software)
{
    const int32_t since = 2024; /* Megatron Core 0.5 and later */
    return runtime == CM_RUNTIME_MEGATRON && (!software || software >= since);
}

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
                        "torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, usual", name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

cm_status cm_runtime_with_graphs(cm_runtime *runtime, cm_diag *diag)
{
    if (!runtimes[*runtime].graphs)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s has no CUDA graphs", cm_runtime_name(*runtime));
    *runtime = runtimes[*runtime].graphs;
    return CM_OK;
}
