/* SPDX-License-Identifier: Apache-2.0 */
/* serve_none.c - `centimani serve` in builds without libmicrohttpd and in the library: print why it is missing. */
#include "cli.h"

int run_serve(settings *s)
{
    (void)s;
    say("serve: this build has no libmicrohttpd; 'centimani report MODEL -o FILE' writes a page instead");
    return EXIT_FAILED;
}
