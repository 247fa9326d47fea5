/* SPDX-License-Identifier: Apache-2.0 */
/* laws.c - [NAME]: check every law, or those whose name contains NAME, and print one TAP line with its case count
   each. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "laws.h"

#define SHOWN 5 /* failures printed per law */

struct law_run {
    uint64_t state;
    int64_t  cases, broken;
};

static const struct law {
    const char *name;
    law_check  *check;
} laws[] = {
#define LAW(function, name) {name, function},
#include "laws.def"
#undef LAW
};

void law_case(law_run *run, bool holds, const char *format, ...)
{
    run->cases++;
    if (holds) return;
    if (run->broken++ >= SHOWN) return;
    va_list args;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
uint32_t law_random(law_run *run, uint32_t count)
{
    uint64_t z = run->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % count);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("LAWS_SEED");
    size_t      n = sizeof laws / sizeof *laws;
    int64_t     cases = 0;
    int         failed = 0;
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        law_run run = {.state = seed ? strtoull(seed, NULL, 10) : 20261115u};
        bool    skip = argc > 1 && !strstr(laws[i].name, argv[1]);
        if (!skip) laws[i].check(&run);
        bool holds = run.broken == 0 && (skip || run.cases > 0);
        printf("%s %zu - %s: %lld cases, %lld broken\n", holds ? "ok" : "not ok", i + 1, laws[i].name,
               (long long)run.cases, (long long)run.broken);
        fflush(stdout);
        cases += run.cases;
        failed += !holds;
    }
    printf("# %lld cases of %zu laws\n", (long long)cases, n);
    return failed != 0;
}
