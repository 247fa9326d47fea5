/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - `centimani serve`: the page, on this machine. */
#include "answer.h"
#include "cli.h"
#include "serve/serve.h"

static void say_where(void *user, uint16_t port)
{
    (void)user;
    fprintf(results(), "http://127.0.0.1:%u/\n", port);
    fflush(results());
}

int run_serve(settings *s)
{
    cm_diag           diag = {0};
    cm__serve_options o = {.port = (uint16_t)s->port, .answer = cm_answer,
                           .program = "/proc/self/exe", .ready = say_where};
    cm_status status = cm__serve(&o, &diag);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
