/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c - TEST: run the unit tests of one source file; without an argument list the tests. */
#include <stdio.h>
#include <string.h>

#define UNIT(name, function) int function(void);
#include "units.def"
#undef UNIT

static const struct {
    const char *name;
    int (*run)(void);
} units[] = {
#define UNIT(name, function) {name, function},
#include "units.def"
#undef UNIT
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (argc < 2) puts(units[i].name);
        else if (strcmp(argv[1], units[i].name) == 0) return units[i].run();
    }
    return argc > 1;
}
