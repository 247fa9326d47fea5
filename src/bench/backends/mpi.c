/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c - collectives between ranks started by Open MPI: `mpirun -n 4 centimani bench --suite collectives`.
 *
 * The library is loaded at run time. MPI has no common binary interface; this file uses Open MPI's, whose handles are
 * addresses of symbols of its library. It has been stable since version 1.7.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"

typedef struct mpi {
    void *library, *world, *type_float, *type_double, *type_int64, *sum, *max;
    int   rank, ranks;
    char  version[256];
    int (*init)(int *, char ***);
    int (*finalize)(void);
    int (*initialized)(int *);
    int (*comm_rank)(void *, int *);
    int (*comm_size)(void *, int *);
    int (*barrier)(void *);
    int (*all_reduce)(const void *, void *, int, void *, void *, void *);
    int (*all_gather)(const void *, int, void *, void *, int, void *, void *);
    int (*reduce_scatter)(const void *, void *, int, void *, void *, void *);
    int (*broadcast)(void *, int, void *, int, void *);
    int (*send)(const void *, int, void *, int, int, void *);
    int (*receive)(void *, int, void *, int, int, void *, void *);
    int (*library_version)(char *, int *);
    double (*wtime)(void);
} mpi;

typedef struct mpi_case {
    mpi             *m;
    cm_collective_op op;
    int64_t          floats; /* size in floats, as in `prepare` */
    float           *from, *to;
} mpi_case;

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t      at;
} symbols[] = {
    {"ompi_mpi_comm_world", offsetof(mpi, world)},      {"ompi_mpi_float", offsetof(mpi, type_float)},
    {"ompi_mpi_double", offsetof(mpi, type_double)},    {"ompi_mpi_int64_t", offsetof(mpi, type_int64)},
    {"ompi_mpi_op_sum", offsetof(mpi, sum)},            {"ompi_mpi_op_max", offsetof(mpi, max)},
    {"MPI_Init", offsetof(mpi, init)},                  {"MPI_Finalize", offsetof(mpi, finalize)},
    {"MPI_Initialized", offsetof(mpi, initialized)},    {"MPI_Comm_rank", offsetof(mpi, comm_rank)},
    {"MPI_Comm_size", offsetof(mpi, comm_size)},        {"MPI_Barrier", offsetof(mpi, barrier)},
    {"MPI_Allreduce", offsetof(mpi, all_reduce)},       {"MPI_Allgather", offsetof(mpi, all_gather)},
    {"MPI_Reduce_scatter_block", offsetof(mpi, reduce_scatter)}, {"MPI_Bcast", offsetof(mpi, broadcast)},
    {"MPI_Send", offsetof(mpi, send)},                  {"MPI_Recv", offsetof(mpi, receive)},
    {"MPI_Get_library_version", offsetof(mpi, library_version)}, {"MPI_Wtime", offsetof(mpi, wtime)},
};

static cm_status load(mpi *m, cm_diag *diag)
{
    m->library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL); /* global: its plug-ins use its symbols */
    if (!m->library) m->library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (!m->library)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                            "no ranks: libmpi.so.40 of Open MPI is not there; on Debian: apt-get install openmpi-bin");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(m->library, symbols[i].name);
        if (!address)
            return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "no ranks: libmpi is not Open MPI's: it lacks %s",
                                symbols[i].name);
        memcpy((char *)m + symbols[i].at, &address, sizeof address);
    }
    return CM_OK;
}

/* Without this check, MPI_Init outside mpirun would look for a daemon and then start a single rank. */
static bool started_by_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("SLURM_STEP_NUM_TASKS") != NULL;
}

static cm_status mpi_open(const cm_backend_options *options, void **state, cm_diag *diag)
{
    mpi *m = calloc(1, sizeof *m);
    int  length = 0, already = 0;
    (void)options;
    if (!m) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    cm_status status = started_by_mpirun() ? load(m, diag)
                                           : cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                                                          "collectives need ranks: start them with "
                                                          "mpirun -n 2 centimani bench --suite collectives");
    if (status == CM_OK && m->initialized(&already) == 0 && !already && m->init(NULL, NULL) != 0)
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "MPI_Init failed");
    if (status == CM_OK) {
        char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING */
        m->comm_rank(m->world, &m->rank);
        m->comm_size(m->world, &m->ranks);
        m->library_version(version, &length);
        snprintf(m->version, sizeof m->version, "%.*s", (int)strcspn(version, ","), version);
    }
    if (status == CM_OK && m->ranks < 2) {
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "collectives need at least two ranks: mpirun -n 2 ...");
        m->finalize();
    }
    if (status == CM_OK) *state = m;
    else free(m);
    return status;
}

static void mpi_close(void *state)
{
    mpi *m = state;
    m->finalize();
    free(m);
}

static int32_t mpi_rank(void *state) { return ((mpi *)state)->rank; }

static int32_t mpi_ranks(void *state) { return ((mpi *)state)->ranks; }

static void mpi_describe(void *state, char *software, size_t size)
{
    const mpi *m = state;
    snprintf(software, size, "%s, %d ranks", m->version, m->ranks);
}

static void mpi_agree(void *state, double *value)
{
    mpi *m = state;
    m->broadcast(value, 1, m->type_double, 0, m->world);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* Small integers, so that the sum does not depend on the order of additions. */
static float value_of(int rank, int64_t i) { return (float)((i * 7 + rank * 13) % 31 + 1); }

static bool all_agree(mpi *m, bool mine)
{
    double failed = !mine, any = 0;
    m->all_reduce(&failed, &any, 1, m->type_double, m->max, m->world);
    return any == 0;
}

static void mpi_release(void *a_case)
{
    mpi_case *c = a_case;
    if (!c) return;
    free(c->from);
    free(c->to);
    free(c);
}

static cm_status mpi_prepare(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag)
{
    mpi      *m = state;
    mpi_case *c = calloc(1, sizeof *c);
    int64_t   floats = bytes / 4;
    if (op == CM_ALL_GATHER || op == CM_REDUCE_SCATTER) floats -= floats % m->ranks;
    if (c) {
        *c = (mpi_case){.m = m, .op = op, .floats = floats};
        c->from = malloc((size_t)floats * sizeof(float));
        c->to = malloc((size_t)floats * sizeof(float));
    }
    if (!all_agree(m, c && c->from && c->to)) {
        mpi_release(c);
        return cm__diag_set(diag, CM_ERR_LIMIT, "not enough memory: %lld B for each of %d ranks",
                            (long long)(2 * bytes), m->ranks);
    }
    for (int64_t i = 0; i < floats; i++) {
        c->from[i] = value_of(m->rank, i);
        c->to[i] = 0;
    }
    *a_case = c;
    return CM_OK;
}

/* Send to the last rank and back; mpi_run() halves the time. */
static void exchange(mpi_case *c)
{
    mpi *m = c->m;
    int  last = m->ranks - 1, n = (int)c->floats;
    if (m->rank == 0) {
        m->send(c->from, n, m->type_float, last, 0, m->world);
        m->receive(c->to, n, m->type_float, last, 0, m->world, NULL);
    } else if (m->rank == last) {
        m->receive(c->to, n, m->type_float, 0, 0, m->world, NULL);
        m->send(c->to, n, m->type_float, 0, 0, m->world);
    }
}

static void once(mpi_case *c)
{
    mpi *m = c->m;
    int  n = (int)c->floats, part = n / m->ranks;
    switch (c->op) {
    case CM_ALL_REDUCE: m->all_reduce(c->from, c->to, n, m->type_float, m->sum, m->world); break;
    case CM_ALL_GATHER: m->all_gather(c->from, part, m->type_float, c->to, part, m->type_float, m->world); break;
    case CM_REDUCE_SCATTER: m->reduce_scatter(c->from, c->to, part, m->type_float, m->sum, m->world); break;
    case CM_BROADCAST: m->broadcast(m->rank ? c->to : c->from, n, m->type_float, 0, m->world); break;
    default: exchange(c);
    }
}

static cm_status mpi_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    mpi_case *c = a_case;
    mpi      *m = c->m;
    (void)diag;
    m->barrier(m->world);
    double began = m->wtime();
    for (int64_t i = 0; i < repetitions; i++) once(c);
    double took = m->wtime() - began;
    m->all_reduce(&took, time_s, 1, m->type_double, m->max, m->world);
    if (c->op == CM_SEND) *time_s /= 2;
    return CM_OK;
}

/* Expected element i of this rank's result; -1: this rank receives no result. */
static double expected(const mpi_case *c, int64_t i)
{
    const mpi *m = c->m;
    int64_t    part = c->floats / m->ranks;
    double     sum = 0;
    switch (c->op) {
    case CM_ALL_GATHER: return value_of((int)(i / part), i % part);
    case CM_BROADCAST: return m->rank ? value_of(0, i) : -1;
    case CM_SEND: return m->rank == 0 || m->rank == m->ranks - 1 ? value_of(0, i) : -1;
    default: break;
    }
    int64_t at = c->op == CM_REDUCE_SCATTER ? m->rank * part + i : i;
    if (c->op == CM_REDUCE_SCATTER && i >= part) return -1;
    for (int r = 0; r < m->ranks; r++) sum += value_of(r, at);
    return sum;
}

static cm_status mpi_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    mpi_case *c = a_case;
    mpi      *m = c->m;
    int64_t   mine = 0;
    (void)diag;
    memset(c->to, 0, (size_t)c->floats * sizeof(float));
    once(c);
    for (int64_t i = 0; i < c->floats; i++) {
        double want = expected(c, i);
        mine += want >= 0 && c->to[i] != (float)want;
    }
    m->all_reduce(&mine, wrong, 1, m->type_int64, m->sum, m->world);
    return CM_OK;
}

const cm_fabric cm__fabric_mpi = {
    .version = CM_BACKEND_VERSION,
    .name = "mpi",
    .summary = "ranks of Open MPI",
    .open = mpi_open,
    .close = mpi_close,
    .rank = mpi_rank,
    .ranks = mpi_ranks,
    .describe = mpi_describe,
    .prepare = mpi_prepare,
    .run = mpi_run,
    .verify = mpi_verify,
    .release = mpi_release,
    .agree = mpi_agree,
};
