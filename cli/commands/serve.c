/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - `centimani serve`: serve the interactive page over HTTP. */
#include <string.h>
#include "answer.h"
#include "cli.h"
#include "serve/serve.h"

static void say_where(void *user, const char *host, uint16_t port)
{
    (void)user;
    fprintf(results(), "http://%s:%u/\n", host, port);
    fflush(results());
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

int run_serve(settings *s)
{
    cm_diag           diag = {0};
    cm__serve_options o = {.port = (uint16_t)s->port, .answer = cm_answer,
                           .program = "/proc/self/exe", .ready = say_where, .bind = s->bind,
                           .n_hosts = s->n_hosts};
    memcpy(o.hosts, s->hosts, sizeof s->hosts);
    if (s->bind && !is_loopback(s->bind))
        say("warning: everyone who can reach %s can use this server; there is no password", s->bind);
    cm_status status = cm__serve(&o, &diag);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}
