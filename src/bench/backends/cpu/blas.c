/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - load OpenBLAS and BLIS at run time; either, both or neither may be installed. */
#include "bench/backends/cpu/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct library {
    const char *name, *sonames[3], *set_threads, *version;
} library;

static const library libraries[] = {
    {"OpenBLAS", {"libopenblas.so.0", "libopenblas.so", NULL}, "openblas_set_num_threads", "openblas_get_config"},
    {"BLIS", {"libblis.so.4", "libblis.so.3", "libblis.so"}, "bli_thread_set_num_threads", "bli_info_get_version_str"},
};

static void *open_first(const char *const *sonames, int count)
{
    void *handle = NULL;
    for (int i = 0; i < count && sonames[i] && !handle; i++) handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

/* ISO C has no cast from an object pointer to a function pointer. */
static void (*symbol(void *handle, const char *name))(void)
{
    void (*function)(void) = NULL;
    void *address = dlsym(handle, name);
    memcpy(&function, &address, sizeof address);
    return function;
}

/* The version is the first number of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...". */
static void version_of(void *handle, const library *l, char *version, size_t size)
{
    const char *(*ask)(void) = (const char *(*)(void))symbol(handle, l->version);
    const char *text = ask ? ask() : NULL, *digit = text ? strpbrk(text, "0123456789") : NULL;
    snprintf(version, size, "%.*s", digit ? (int)strcspn(digit, " ") : 0, digit ? digit : "");
}

static bool open_one(const library *l, cm__blas *blas, int32_t threads)
{
    void *handle = open_first(l->sonames, 3);
    if (!handle) return false;
    cm__sgemm *sgemm = (cm__sgemm *)symbol(handle, "cblas_sgemm");
    /* The libraries declare int or long; both are passed in one register. */
    void (*set_threads)(long) = (void (*)(long))symbol(handle, l->set_threads);
    if (!sgemm) {
        dlclose(handle);
        return false;
    }
    if (set_threads) set_threads(threads);
    *blas = (cm__blas){.name = l->name, .sgemm = sgemm};
    version_of(handle, l, blas->version, sizeof blas->version);
    return true;
}

int cm__blas_open(cm__blas *found, int32_t threads)
{
    const char *wanted = getenv("CENTIMANI_BLAS"); /* use only this library, for comparisons */
    int         count = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if ((!wanted || strcmp(wanted, libraries[i].name) == 0) && open_one(&libraries[i], &found[count], threads))
            count++;
    return count;
}
