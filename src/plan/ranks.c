/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - Open MPI, loaded at run time. Its handles are addresses of symbols of the library (see
   src/bench/backends/mpi.c). */
#include "plan/ranks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct cm__ranks {
    void *library, *world, *byte;
    int   rank, count;
    int (*init)(int *, char ***);
    int (*finalize)(void);
    int (*comm_rank)(void *, int *);
    int (*comm_size)(void *, int *);
    int (*all_gather)(const void *, int, void *, void *, int, void *, void *);
};

static const struct {
    const char *name;
    size_t      at;
} symbols[] = {{"ompi_mpi_comm_world", offsetof(cm__ranks, world)}, {"ompi_mpi_byte", offsetof(cm__ranks, byte)},
               {"MPI_Init", offsetof(cm__ranks, init)},             {"MPI_Finalize", offsetof(cm__ranks, finalize)},
               {"MPI_Comm_rank", offsetof(cm__ranks, comm_rank)},   {"MPI_Comm_size", offsetof(cm__ranks, comm_size)},
               {"MPI_Allgather", offsetof(cm__ranks, all_gather)}};

static bool load(cm__ranks *r)
{
    r->library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL); /* its plug-ins need its symbols globally */
    if (!r->library) r->library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; r->library && i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(r->library, symbols[i].name);
        if (!address) return false;
        memcpy((char *)r + symbols[i].at, &address, sizeof address);
    }
    return r->library != NULL;
}

cm__ranks *cm__ranks_open(void)
{
    if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK")) return NULL;
    cm__ranks *r = calloc(1, sizeof *r);
    if (r && load(r) && r->init(NULL, NULL) == 0) {
        r->comm_rank(r->world, &r->rank);
        r->comm_size(r->world, &r->count);
        return r;
    }
    free(r);
    return NULL;
}

void cm__ranks_close(cm__ranks *r)
{
    if (r) r->finalize();
    free(r);
}

int32_t cm__rank(const cm__ranks *r) { return r ? r->rank : 0; }
int32_t cm__rank_count(const cm__ranks *r) { return r ? r->count : 1; }

bool cm__ranks_gather(cm__ranks *r, const void *own, size_t size, void *all)
{
    return r->all_gather(own, (int)size, r->byte, all, (int)size, r->byte, r->world) == 0;
}
