/* SPDX-License-Identifier: Apache-2.0 */
/* laws.c - evaluate the table of laws. */
#include "model/time/laws.h"

#include <math.h>
#include "base/ablation.h"

#define RESIDENT_THREADS 2048 /* of a multiprocessor */

/* How long so much work takes, in clock cycles, if each unit of it takes `cycles`. */
struct cm__law_form {
    double (*cycles)(double cores, double work, double steps, double cycles);
};

/* Work that all cores share. */
static double blocks(double cores, double work, double steps, double cycles) { return work * steps * cycles / cores; }

/* Steps that wait for each other. */
static double serial(double cores, double work, double steps, double cycles) { return (void)cores, work * steps * cycles; }

/* Threads that each loop: their loop, times how often all multiprocessors are full of threads. */
static double loops(double cores, double work, double steps, double cycles)
{
    return fmax(1, work / (cores * RESIDENT_THREADS)) * steps * cycles;
}

const cm__law_form cm__law_blocks = {blocks}, cm__law_serial = {serial}, cm__law_loops = {loops};

static bool is_about(const cm__law *law, const cm__call *c)
{
    bool variant = law->n_variants == 0;
    for (int i = 0; i < law->n_variants; i++) variant |= law->variants[i] == c->variant;
    return variant && (law->pass < 0 || law->pass == c->pass);
}

static double time_by(const cm__law *law, const cm__limits *l, const cm__call *c)
{
    double sizes[CM__CALL_SIZES], element = cm__call_element(c, 0);
    if (!is_about(law, c)) return 0;
    for (int i = 0; i < cm__call_kinds[c->op].n_sizes; i++) sizes[i] = cm__size(c, i);
    double work = law->work(sizes, element, l->cache_bytes), steps = law->steps ? law->steps(sizes, element, l->cache_bytes) : 1;
    return work > 0 ? law->form->cycles(l->cores, work, steps, law->cycles) / l->clock_hz : 0;
}

double cm__by_laws(const cm__limits *l, const cm__call *c, double estimate_s, bool *replaced)
{
    double time_s = estimate_s;
    *replaced = false;
    for (int i = cm__first_laws[c->op]; l->clock_hz > 0 && i < cm__first_laws[c->op + 1]; i++) {
        const cm__law *law = &cm__laws[i];
        double         law_s = time_by(law, l, c);
        if (law_s <= (law->role == CM__LAW_FLOOR ? time_s : 0) || cm__rule_off(law->name)) continue;
        *replaced |= law->role == CM__LAW_REPLACE;
        time_s = law->role == CM__LAW_REPLACE ? l->floor_s + law_s : law_s;
    }
    return time_s;
}
