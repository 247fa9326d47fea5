/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - the CPU backend's functions: open, find an operator, prepare, time and verify its cases. */
#include "bench/backends/cpu/cpu.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/dnn_ops.h"

const cm__cpu_op *const cm__cpu_tables[] = {cm__cpu_ops_matrix, cm__cpu_ops_rows,   cm__cpu_ops_elements,
                                            cm__cpu_ops_tables, cm__cpu_ops_reduce, cm__cpu_ops_conv,
                                            cm__cpu_ops_lstm,   cm__cpu_ops_pool, cm__cpu_ops_batch_norm, NULL};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Number of physical cores that the process may run on. */
static int32_t usable_cores(const cm__machine *m)
{
    cpu_set_t set;
    int       allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int       cores = m->cores >= 1 ? (int)m->cores : allowed;
    return cores < allowed ? cores : allowed;
}

static void cpu_close(void *state)
{
    cm__cpu *cpu = state;
    cm__dnn_close(cpu->dnn);
    cm__pool_free(cpu->pool);
    free(cpu);
}

static cm_status cpu_open(const cm_backend_options *options, void **state, cm_diag *diag)
{
    cm__cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    cm__machine_discover(&cpu->machine);
    int32_t threads = options->threads > 0 ? options->threads : usable_cores(&cpu->machine);
    for (int i = 0; i < CM__CACHES_MAX; i++)
        cpu->last_cache_bytes = fmax(cpu->last_cache_bytes, cpu->machine.caches[i].bytes);
    cpu->seed = options->seed;
    cm_status status = cm__pool_new(threads, &cpu->pool, diag);
    if (status != CM_OK) {
        free(cpu);
        return status;
    }
    cpu->n_blas = cm__blas_open(cpu->blas, threads);
    cpu->dnn = cm__dnn_open(threads);
    *state = cpu;
    return CM_OK;
}

static void software_of(const cm__cpu *cpu, char *text, size_t size)
{
    int length = snprintf(text, size, "%d threads", cm__pool_threads(cpu->pool));
    for (int i = 0; i < cpu->n_blas; i++)
        length += snprintf(text + length, size - (size_t)length, ", %s %s", cpu->blas[i].name, cpu->blas[i].version);
    if (!cpu->n_blas) length += snprintf(text + length, size - (size_t)length, ", no BLAS library");
    if (cpu->dnn) snprintf(text + length, size - (size_t)length, ", oneDNN %s", cm__dnn_version(cpu->dnn));
    else snprintf(text + length, size - (size_t)length, ", no oneDNN");
}

/* Derive an id from a name: "Neoverse-V1" becomes "neoverse-v1". */
static void id_of(const char *name, char *id, size_t size)
{
    size_t at = 0;
    for (; *name && at + 1 < size; name++) {
        if (isalnum((unsigned char)*name)) id[at++] = (char)tolower((unsigned char)*name);
        else if (at && id[at - 1] != '-') id[at++] = '-';
    }
    while (at && id[at - 1] == '-') at--;
    id[at] = '\0';
}

static void cpu_describe(void *state, cm_bench_device *d)
{
    const cm__cpu     *cpu = state;
    const cm__machine *m = &cpu->machine;
    snprintf(d->name, sizeof d->name, "%s", *m->name ? m->name : "processor of this machine");
    snprintf(d->vendor, sizeof d->vendor, "%s", *m->vendor ? m->vendor : "unknown");
    id_of(*m->name ? m->name : "cpu", d->id, sizeof d->id - 8);
    snprintf(d->id + strlen(d->id), 8, "-%dc", (int)m->cores % 10000);
    strcpy(d->device_class, "cpu");
    strcpy(d->unit, "socket");
    strcpy(d->core_name, "core");
    strcpy(d->memory_name, "memory");
    software_of(cpu, d->software, sizeof d->software);
    d->cores = m->cores;
    d->memory_bytes = m->memory_bytes;
    d->free_bytes = cm__free_bytes();
    d->rates[0].dtype = "fp32";
    for (int i = 0, at = 0; i < CM__CACHES_MAX && at < CM_BENCH_LEVELS; i++) {
        if (m->caches[i].bytes < 1) continue;
        snprintf(d->caches[at].name, sizeof d->caches[at].name, "L%d", i + 1);
        d->caches[at].bytes = m->caches[i].bytes;
        d->caches[at++].per_core = m->caches[i].per_core;
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const cm__cpu_op *find(const cm__cpu *cpu, const cm_call *call)
{
    for (int t = 0; cm__cpu_tables[t]; t++)
        for (const cm__cpu_op *op = cm__cpu_tables[t]; op->op; op++)
            if (!strcmp(op->op, call->op) && !strcmp(op->pass, call->pass) && op->takes(cpu, call)) return op;
    return NULL;
}

static bool cpu_supports(void *state, const cm_call *call) { return find(state, call) != NULL; }

static const cm_call_kind *cpu_calls(void *state, int32_t *count)
{
    static cm_call_kind kinds[64];
    (void)state;
    *count = 0;
    for (int t = 0; cm__cpu_tables[t]; t++)
        for (const cm__cpu_op *op = cm__cpu_tables[t]; op->op && *count < 64; op++)
            kinds[(*count)++] = (cm_call_kind){op->op, op->pass, NULL, "fp32"};
    return kinds;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* The `a_case` of the backend interface: a call or a probe; the other member is NULL. */
typedef struct handle {
    cm__cpu_case  *call;
    cm__cpu_probe *probe;
} handle;

static void copy_call(cm__cpu_case *c, const cm_call *call)
{
    const char *from[4] = {call->op, call->pass, call->variant, call->dtype};
    for (int i = 0; i < 4; i++) snprintf(c->texts[i], CM__CALL_TEXT, "%s", from[i]);
    c->call = *call;
    c->call.op = c->texts[0];
    c->call.pass = c->texts[1];
    c->call.variant = c->texts[2];
    c->call.dtype = c->texts[3];
}

static void free_case(cm__cpu_case *c)
{
    if (!c) return;
    if (c->op->teardown) c->op->teardown(c);
    cm__free_operands(c);
    free(c);
}

/* Choose the fastest BLAS library by two runs of each. */
static void search_blas(cm__cpu_case *c)
{
    double best = INFINITY;
    int    chosen = 0;
    for (int i = 0; i < 2 * c->cpu->n_blas; i++) {
        c->blas = &c->cpu->blas[i % c->cpu->n_blas];
        double began = cm__now_s();
        c->op->run(c, cm__operand_set(c, 0));
        double took = cm__now_s() - began;
        if (took >= best) continue;
        best = took;
        chosen = i % c->cpu->n_blas;
    }
    c->blas = &c->cpu->blas[chosen];
}

static cm_status cpu_prepare(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                             cm_diag *diag)
{
    cm__cpu          *cpu = state;
    const cm__cpu_op *op = find(cpu, call);
    if (!op) return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "no kernel and no installed library supports this call");
    cm__cpu_case *c = calloc(1, sizeof *c);
    handle       *h = calloc(1, sizeof *h);
    cm_status     status = c && h ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    if (status == CM_OK) {
        *c = (cm__cpu_case){.cpu = cpu, .op = op, .blas = cpu->n_blas ? &cpu->blas[0] : NULL};
        copy_call(c, call);
        c->n_operands = op->operands(&c->call, c->operands);
        status = cm__make_operands(c, options->cold, diag);
    }
    if (status == CM_OK && op->setup) status = op->setup(c, diag);
    if (status != CM_OK) {
        if (c && c->op) free_case(c);
        else free(c);
        free(h);
        return status;
    }
    if (options->search && cpu->n_blas > 1 && op->kernels == 0) search_blas(c);
    h->call = c;
    *a_case = h;
    return CM_OK;
}

static cm_status run_call(cm__cpu_case *c, int64_t repetitions, double *time_s)
{
    double began = cm__now_s();
    for (int64_t i = 0; i < repetitions; i++) {
        c->op->run(c, cm__operand_set(c, c->at));
        if (++c->at == c->n_sets) c->at = 0;
    }
    *time_s = cm__now_s() - began;
    return CM_OK;
}

static cm_status cpu_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    handle *h = a_case;
    (void)diag;
    if (h->call) return run_call(h->call, repetitions, time_s);
    double began = cm__now_s();
    for (int64_t i = 0; i < repetitions; i++) cm__probe_once(h->probe);
    *time_s = cm__now_s() - began;
    return CM_OK;
}

/* ---- verifying --------------------------------------------------------------------------------------------------- */

static cm_status cpu_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    handle *h = a_case;
    if (h->call) return cm__verify_case(h->call, wrong, diag);
    *wrong = cm__probe_check(h->probe);
    return CM_OK;
}

/* ---- probes ------------------------------------------------------------------------------------------------------ */

static cm_status cpu_probe(void *state, const cm_probe_request *request, void **a_case, double *work, cm_diag *diag)
{
    static const bool known[CM_PROBES] = {[CM_PROBE_READ] = true, [CM_PROBE_COPY] = true, [CM_PROBE_VECTOR] = true,
                                          [CM_PROBE_LAUNCH] = true, [CM_PROBE_ROUND_TRIP] = true,
                                          [CM_PROBE_LOOKUP] = true};
    cm__cpu *cpu = state;
    if (!known[request->probe])
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "the CPU is its own host: there is nothing to queue or copy");
    cm__cpu_probe *p = calloc(1, sizeof *p);
    handle        *h = calloc(1, sizeof *h);
    cm_status      status = p && h ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    if (status == CM_OK) {
        *p = (cm__cpu_probe){.cpu = cpu, .request = *request, .threads = cm__pool_threads(cpu->pool)};
        status = cm__probe_fill(p, diag);
    }
    if (status != CM_OK) {
        cm__probe_free(p);
        free(h);
        return status;
    }
    *work = cm__probe_work(p);
    h->probe = p;
    *a_case = h;
    return CM_OK;
}

static int32_t cpu_kernels(void *a_case)
{
    const handle *h = a_case;
    return h->call && h->call->op->kernels ? h->call->op->kernels : 1;
}

static const char *cpu_algorithm(void *a_case)
{
    const handle *h = a_case;
    if (!h->call) return NULL;
    return h->call->algorithm ? h->call->algorithm : h->call->op->kernels == 0 ? h->call->blas->name : NULL;
}

static void cpu_release(void *a_case)
{
    handle *h = a_case;
    free_case(h->call);
    cm__probe_free(h->probe);
    free(h);
}

const cm_backend cm__backend_cpu = {
    .version = CM_BACKEND_VERSION,
    .name = "cpu",
    .summary = "the CPU: OpenBLAS or BLIS, oneDNN, and built-in kernels",
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .calls = cpu_calls,
    .supports = cpu_supports,
    .prepare = cpu_prepare,
    .probe = cpu_probe,
    .run = cpu_run,
    .verify = cpu_verify,
    .kernels = cpu_kernels,
    .algorithm = cpu_algorithm,
    .release = cpu_release,
};
