/* SPDX-License-Identifier: Apache-2.0 */
/* collective.c - `centimani collective`: the time and the bandwidth of one collective among devices. */
#include <string.h>
#include "base/text.h"
#include "cli.h"

/* The name without a size; NULL: there is none like it, and a message was printed. */
static const char *name_of(const char *text)
{
    const char *names[16], *all = "";
    size_t      count = 0;
    for (; count < 16 && cm_collective_name((int32_t)count); count++) {
        names[count] = all = cm_collective_name((int32_t)count);
        if (strcmp(text, all) == 0) return all;
    }
    const char *meant = cm__nearest(text, names, count);
    say("no collective '%.64s'%s%s%s 'centimani collective --help' lists them", text, meant ? "; did you mean '" : ";",
        meant ? meant : "", meant ? "'?" : "");
    return NULL;
}

int run_collective(settings *s)
{
    cm_diag     diag = {0};
    const char *name = name_of(s->operands[0]);
    const char *lacks = !s->device ? "--device ID; 'centimani devices' lists them"
                        : !(s->scale.bytes > 0) ? "--bytes N, the size of the buffer on each device, such as --bytes 240M"
                        : !s->scale.n_counts ? "-n N: the number of devices, such as -n 8 or -n 2,4,8"
                                             : NULL;
    if (name && lacks) say("collective needs %s", lacks);
    if (!name || lacks) return EXIT_USAGE;
    s->scale.graph.model = name;
    s->scale.device = s->device;
    s->scale.cluster = s->cluster;
    cm_status status = cm__collective_report(&s->scale, format_of(s), results(), &diag);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
