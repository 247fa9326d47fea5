/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - `centimani results add FILE`: check measured results of others, compare them with predictions, add
   them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

#define CONTRIBUTED "data/results/contributed.json" /* in a checkout of the sources */

static const char *target(const settings *s)
{
    if (s->output) return s->output;
    return access("data/results", W_OK) == 0 ? CONTRIBUTED : NULL;
}

/* The rows beside their predictions, so that a wrong unit or batch size is seen before the rows are added. */
static int print_beside(settings *s)
{
    cm_scoreboard *scoreboard;
    cm_diag        diag = {0};
    cm_status      status = cm_scoreboard_run(s->operands[1], false, &scoreboard, &diag);
    if (status) return say_failed(status, &diag);
    status = cm__scoreboard_print(scoreboard, format_of(s), beside_output(s), &diag);
    cm_scoreboard_free(scoreboard);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}

static int add(settings *s)
{
    const char *to = target(s);
    char       *joined;
    int32_t     rows = 0;
    cm_diag     diag = {0};
    if (!to) {
        say("results needs -o FILE: the set to add to; '-o -' prints it. In a checkout it is " CONTRIBUTED);
        return EXIT_USAGE;
    }
    cm_status status = cm_results_add(s->operands[1], strcmp(to, "-") == 0 ? NULL : to, &joined, &rows, &diag);
    if (status) return say_failed(status, &diag);
    int code = print_beside(s);
    if (!code) code = save_text(to, joined);
    if (!code) say("%d %s added to %s", rows, rows == 1 ? "row" : "rows", to);
    free(joined);
    return code;
}

int run_results(settings *s)
{
    static const char *const actions[] = {"add"};
    if (strcmp(s->operands[0], "add") == 0) return add(s);
    return no_action("results", s->operands[0], actions, 1, "add FILE");
}
