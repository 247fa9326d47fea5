/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - questions that several threads ask at the same time.
 *
 * A question writes its whole answer as text; numbers are written with "%a", so equal texts mean equal bits.
 */
#ifndef CM_TESTS_THREADS_H
#define CM_TESTS_THREADS_H

#include <stdbool.h>
#include <stdio.h>

#include "centimani.h"

/* Objects that all threads share. */
typedef struct shared {
    cm_device   *device, *based, *own; /* a built-in device; a user profile with a built-in base; one without a base */
    cm_graph    *forward, *step;
    cm_footprint *footprint;
    cm_fabric   *fabric;
    char         based_path[64], own_path[200], devices[400]; /* profiles; built-in and user devices for cm_rank() */
} shared;

/* Load the shared objects; `own_profile` is a path. On failure, prints the reason and returns false. */
bool shared_open(shared *s, const char *own_profile);
void shared_close(shared *s);

typedef struct question {
    const char *name;
    bool (*ask)(const shared *s, int threads, FILE *to); /* threads: for the library to start; false: refused */
    int repetitions;
} question;

extern const question questions[];
extern const int      n_questions;

#endif
