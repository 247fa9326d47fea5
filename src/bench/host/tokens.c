/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - gather batches of tokens: random windows of a long text of 16-bit ids, widened to 64 bits. */
#include <stdlib.h>
#include "bench/host/host.h"

#define TEXT_TOKENS ((int64_t)32 << 20)
#define BATCH       32
#define WINDOW      1025 /* 1,024 inputs; the labels are the same tokens shifted by one */

typedef struct tokens {
    uint16_t *text;
    int64_t  *batch;
    uint64_t  state;
} tokens;

static void tokens_release(void *a_case)
{
    tokens *t = a_case;
    if (!t) return;
    free(t->text);
    free(t->batch);
    free(t);
}

static uint16_t token_at(int64_t i) { return (uint16_t)((uint64_t)i * 2654435761u >> 8); }

static cm_status tokens_prepare(const char *storage, void **a_case, double *work, cm_diag *diag)
{
    tokens *t = calloc(1, sizeof *t);
    (void)storage;
    if (t) {
        t->text = malloc((size_t)TEXT_TOKENS * sizeof *t->text);
        t->batch = malloc((size_t)BATCH * WINDOW * sizeof *t->batch);
    }
    if (!t || !t->text || !t->batch) {
        tokens_release(t);
        return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    }
    for (int64_t i = 0; i < TEXT_TOKENS; i++) t->text[i] = token_at(i);
    *work = BATCH * (WINDOW - 1);
    *a_case = t;
    return CM_OK;
}

static int64_t next_start(tokens *t)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((t->state >> 33) % (uint64_t)(TEXT_TOKENS - WINDOW));
}

static void make_batch(tokens *t)
{
    for (int b = 0; b < BATCH; b++) {
        const uint16_t *from = t->text + next_start(t);
        int64_t        *to = t->batch + b * WINDOW;
        for (int i = 0; i < WINDOW; i++) to[i] = from[i];
    }
}

static cm_status tokens_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    double began = cm__now_s();
    (void)diag;
    for (int64_t i = 0; i < repetitions; i++) make_batch(a_case);
    *time_s = cm__now_s() - began;
    return CM_OK;
}

static cm_status tokens_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    tokens  *t = a_case;
    uint64_t state = t->state;
    (void)diag;
    make_batch(t);
    t->state = state;
    for (int b = 0; b < BATCH; b++) {
        int64_t start = next_start(t);
        for (int i = 0; i < WINDOW; i++) *wrong += t->batch[b * WINDOW + i] != token_at(start + i);
    }
    return CM_OK;
}

const cm__host_test cm__host_tokens = {"tokens", "tokens", tokens_prepare, tokens_run, tokens_verify, tokens_release};

const cm__host_test *const cm__host_tests[] = {&cm__host_storage, &cm__host_jpeg, &cm__host_tokens, NULL};
