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

/* What all threads share. */
typedef struct shared {
    cm_device   *device, *based, *own; /* built in; a profile with a built-in base; a profile without one */
    cm_graph    *forward, *step;
    cm_footprint *footprint;
    cm_fabric   *fabric;
    char         based_path[64], own_path[200], devices[400]; /* profiles; built-in and user devices for cm_rank() */
} shared;

/* Load what is shared; `own_profile` is a path. Prints why not, and returns false. */
bool shared_open(shared *s, const char *own_profile);
void shared_close(shared *s);

typedef struct question {
    const char *name;
    bool (*ask)(const shared *s, int threads, FILE *to); /* threads: that the library may start itself; false: refused */
    int repetitions;
} question;

extern const question questions[];
extern const int      n_questions;

#endif
