/* SPDX-License-Identifier: Apache-2.0 */
/* probe_case.c - allocate a probe's buffers and check its results. */
#include <math.h>
#include <stdlib.h>
#include "bench/backends/cpu/cpu.h"

void cm__probe_free(cm__cpu_probe *p)
{
    if (!p) return;
    free(p->buffer);
    free(p->second);
    free(p->results);
    free(p);
}

cm_status cm__probe_fill(cm__cpu_probe *p, cm_diag *diag)
{
    bool      copy = p->request.probe == CM_PROBE_COPY, lookup = p->request.probe == CM_PROBE_LOOKUP;
    cm_status status = cm__need_memory((double)p->request.bytes, diag);
    if (status != CM_OK) return status;
    p->elements = p->request.bytes / (int64_t)sizeof(float) / (copy ? 2 : 1);
    p->results = calloc(lookup ? CM__LOOKUPS : 8 * (size_t)p->threads, sizeof *p->results);
    if (p->elements) p->buffer = cm__buffer_new(p->elements);
    if (copy) p->second = cm__buffer_new(p->elements);
    if (!p->results || (p->elements && !p->buffer) || (copy && !p->second))
        return cm__diag_set(diag, CM_ERR_LIMIT, "the system gives no %.2f GiB", (double)p->request.bytes / 1073741824);
    cm__operand random = {p->elements, CM__FILL_RANDOM, 0}, empty = {p->elements, CM__FILL_RESULT, 0};
    if (p->buffer) cm__fill_buffer(p->cpu->pool, p->buffer, &random, p->cpu->seed);
    if (copy) cm__fill_buffer(p->cpu->pool, p->second, &empty, 0);
    if (lookup) cm__lookup_table(p);
    return CM_OK;
}

int64_t cm__probe_check(cm__cpu_probe *p)
{
    int64_t wrong = 0;
    cm__probe_once(p);
    if (p->request.probe == CM_PROBE_LOOKUP) return cm__lookup_check(p);
    if (p->request.probe == CM_PROBE_COPY)
        for (int64_t i = 0; i < cm__samples(p->elements); i++) {
            int64_t at = cm__sample(i, p->elements);
            wrong += p->buffer[at] != p->second[at];
        }
    if (p->request.probe != CM_PROBE_READ) return wrong;
    double sum = 0, got = 0, size = 0;
    for (int64_t i = 0; i < p->elements; i++) {
        sum += p->buffer[i];
        size += fabs(p->buffer[i]);
    }
    for (int32_t i = 0; i < p->threads; i++) got += p->results[8 * i];
    return cm__differs(got, sum, size);
}
