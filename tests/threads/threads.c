/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - PROFILE: ask every question of questions.c from several threads at once and compare each answer with the
 * one that a single thread got. `make test` builds it with ThreadSanitizer, which fails it on a data race. TAP.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

#define THREADS 4

typedef struct asker {
    const shared      *shared;
    const question    *question;
    pthread_barrier_t *start;
    const char        *expected;
    int                wrong; /* answers that differ */
} asker;

/* Returns the answer, which the caller frees; NULL: the question was refused. */
static char *answer_to(const question *q, const shared *s, int threads)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *to = open_memstream(&text, &size);
    if (!to) return NULL;
    bool ok = q->ask(s, threads, to);
    fclose(to);
    if (ok && size > 0) return text;
    free(text);
    return NULL;
}

static void *ask_again(void *data)
{
    asker *a = data;
    pthread_barrier_wait(a->start);
    for (int i = 0; i < a->question->repetitions; i++) {
        char *answer = answer_to(a->question, a->shared, 2);
        if (!answer || strcmp(answer, a->expected) != 0) a->wrong++;
        free(answer);
    }
    return NULL;
}

/* Ask `chosen[i]` on thread i; all threads start at the same time. Returns the number of unexpected answers. */
static int ask_together(const shared *s, const question *const *chosen, char *const *expected)
{
    pthread_t         threads[THREADS];
    asker             askers[THREADS];
    pthread_barrier_t start;
    int               wrong = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){s, chosen[i], &start, expected[i], 0};
        if (pthread_create(&threads[i], NULL, ask_again, &askers[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += askers[i].wrong;
    }
    pthread_barrier_destroy(&start);
    return wrong;
}

static int number, failed;

static void report(bool ok, const char *name, const char *how, int wrong)
{
    number++;
    failed += !ok;
    printf("%s %d - %s, %s: %d answers differ\n", ok ? "ok" : "not ok", number, name, how, wrong);
    fflush(stdout);
}

/* The same question on every thread. */
static void check_same(const shared *s, int index, char *const *answers)
{
    const question *asked[THREADS];
    char           *expected[THREADS];
    for (int i = 0; i < THREADS; i++) asked[i] = &questions[index], expected[i] = answers[index];
    int wrong = answers[index] ? ask_together(s, asked, expected) : -1;
    report(wrong == 0, questions[index].name, "asked by all threads", wrong);
}

/* Different questions at the same time. */
static void check_mixed(const shared *s, int first, char *const *answers)
{
    const question *asked[THREADS];
    char           *expected[THREADS];
    bool            known = true;
    for (int i = 0; i < THREADS; i++) {
        int at = (first + i) % n_questions;
        asked[i] = &questions[at], expected[i] = answers[at];
        known = known && answers[at];
    }
    int wrong = known ? ask_together(s, asked, expected) : -1;
    report(wrong == 0, questions[first].name, "with the three questions after it", wrong);
}

int main(int argc, char **argv)
{
    shared s = {NULL};
    char **answers = calloc((size_t)n_questions, sizeof *answers);
    if (argc < 2 || !answers || !shared_open(&s, argv[1])) return 1;
    printf("1..%d\n", n_questions + (n_questions + 2) / 3);
    for (int i = 0; i < n_questions; i++) answers[i] = answer_to(&questions[i], &s, 1);
    for (int i = 0; i < n_questions; i++) check_same(&s, i, answers);
    for (int i = 0; i < n_questions; i += 3) check_mixed(&s, i, answers);
    for (int i = 0; i < n_questions; i++) free(answers[i]);
    free(answers);
    shared_close(&s);
    return failed != 0;
}
