/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - load NVIDIA's libraries at run time: from the folders in CENTIMANI_CUDA_PATH (separated by colons), then
 * from the loader's search path, then from the toolkit's usual folder.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/backends/cuda/load.h"

#define TOOLKIT_FOLDERS "/usr/local/cuda/lib64:/usr/local/cuda/lib"

typedef struct symbol {
    const char *name;
    size_t      offset; /* of the function pointer in the table */
} symbol;

static const char *const driver_names[] = {"libcuda.so.1", NULL};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL};
static const char *const blaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", NULL};
static const char *const cudnn_names[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
static const char *const nvml_names[] = {"libnvidia-ml.so.1", NULL};
static const char *const nccl_names[] = {"libnccl.so.2", NULL};

#define X(field, symbol, arguments) {symbol, offsetof(cm__driver, field)},
static const symbol driver_symbols[] = {CM__DRIVER_CALLS(X){NULL, 0}};
#undef X
#define X(field, symbol, arguments) {symbol, offsetof(cm__nvml, field)},
static const symbol nvml_symbols[] = {CM__NVML_CALLS(X){NULL, 0}};
#undef X
#define X(field, result, arguments) {#field, offsetof(cm__nvrtc, field)},
static const symbol nvrtc_symbols[] = {CM__NVRTC_CALLS(X){NULL, 0}};
#undef X
#define X(field, result, arguments) {#field, offsetof(cm__blaslt, field)},
static const symbol blaslt_symbols[] = {CM__BLASLT_CALLS(X){NULL, 0}};
#undef X
#define X(field, result, arguments) {#field, offsetof(cm__cudnn, field)},
static const symbol cudnn_symbols[] = {CM__CUDNN_CALLS(X){NULL, 0}};
#undef X
#define X(field, result, arguments) {#field, offsetof(cm__nccl, field)},
static const symbol nccl_symbols[] = {CM__NCCL_CALLS(X){NULL, 0}};
#undef X

/* Try `name` in each folder of `folders`. Report a file that exists but does not load as an error. */
static void *open_in(cm__ctx *ctx, const char *folders, const char *name)
{
    for (const char *at = folders; at && *at;) {
        size_t length = strcspn(at, ":");
        char  *path = length ? cm__format(ctx, "%.*s/%s", (int)length, at, name) : NULL;
        FILE  *file = path ? fopen(path, "rb") : NULL;
        if (file) {
            fclose(file);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library) cm__fail(ctx, CM_ERR_IO, "%s", dlerror());
            return library;
        }
        at += length + (at[length] == ':');
    }
    return NULL;
}

static void *open_one(cm__ctx *ctx, const char *name)
{
    void *library = open_in(ctx, getenv("CENTIMANI_CUDA_PATH"), name);
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char *why = dlerror();
    if (why && strncmp(why, name, strlen(name)) != 0) cm__fail(ctx, CM_ERR_IO, "%s is broken: %s", name, why);
    return open_in(ctx, TOOLKIT_FOLDERS, name);
}

/* The toolkit's stub library has all symbols but does nothing, so it must not pass for a driver. */
static void refuse_stub(cm__ctx *ctx, void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && strstr(map->l_name, "/stubs/"))
        cm__fail(ctx, CM_ERR_IO, "%s is the toolkit's stub, not a driver: remove its folder from LD_LIBRARY_PATH",
                 map->l_name);
}

static bool load(cm__ctx *ctx, const char *const *names, const symbol *symbols, void *table, char *missing, size_t size)
{
    void       *library = NULL;
    const char *name = names[0];
    for (int i = 0; names[i] && !library; i++) library = open_one(ctx, name = names[i]);
    if (!library) {
        snprintf(missing, size, "%s is not there", names[0]);
        return false;
    }
    refuse_stub(ctx, library);
    for (; symbols->name; symbols++) {
        void *pointer = dlsym(library, symbols->name);
        if (!pointer)
            cm__fail(ctx, CM_ERR_IO, "%s has no %s: it is too old or incomplete; reinstall it",
                     name, symbols->name);
        memcpy((char *)table + symbols->offset, &pointer, sizeof pointer);
    }
    return true;
}

bool cm__cuda_load_driver(cm__ctx *ctx, cm__driver *driver, char *missing, size_t size)
{
    return load(ctx, driver_names, driver_symbols, driver, missing, size);
}

bool cm__cuda_load_nvrtc(cm__ctx *ctx, cm__nvrtc *nvrtc, char *missing, size_t size)
{
    return load(ctx, nvrtc_names, nvrtc_symbols, nvrtc, missing, size);
}

bool cm__cuda_load_blaslt(cm__ctx *ctx, cm__blaslt *blaslt, char *missing, size_t size)
{
    return load(ctx, blaslt_names, blaslt_symbols, blaslt, missing, size);
}

bool cm__cuda_load_cudnn(cm__ctx *ctx, cm__cudnn *cudnn, char *missing, size_t size)
{
    return load(ctx, cudnn_names, cudnn_symbols, cudnn, missing, size);
}

bool cm__cuda_load_nvml(cm__ctx *ctx, cm__nvml *nvml, char *missing, size_t size)
{
    return load(ctx, nvml_names, nvml_symbols, nvml, missing, size);
}

bool cm__cuda_load_nccl(cm__ctx *ctx, cm__nccl *nccl, char *missing, size_t size)
{
    return load(ctx, nccl_names, nccl_symbols, nccl, missing, size);
}
