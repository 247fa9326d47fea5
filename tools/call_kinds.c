/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_kinds.c - print the kind of correction of kernel calls.
 *
 * call_kinds reads one call per line and prints the name of its kind in src/device/corrections.def, or "none".
 * tools/fit_forward.py builds and runs it.
 */
#include <stdio.h>
#include <string.h>
#include "model/time/corrections.h"

static const char *const kinds[CM__CORRECTIONS + 1] = {
#define CORRECTION(id, name) name,
#include "device/corrections.def"
#undef CORRECTION
    "none",
};

int main(void)
{
    char line[512];
    while (fgets(line, sizeof line, stdin)) {
        cm__call call;
        double   flop, bytes;
        line[strcspn(line, "\n")] = '\0';
        if (!cm__call_parse(line, &call)) return fprintf(stderr, "call_kinds: '%s' is not a call\n", line), 2;
        cm__call_work(&call, &flop, &bytes);
        printf("%s\n", kinds[cm__correction_of_work(&call, flop, bytes)]);
    }
    return 0;
}
