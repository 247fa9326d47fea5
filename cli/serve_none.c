/* SPDX-License-Identifier: Apache-2.0 */
/* serve_none.c - `centimani serve` where there is none: in a build without libmicrohttpd, and in the library. */
#include "cli.h"

int run_serve(settings *s)
{
    (void)s;
    say("serve: not in this build, which has no libmicrohttpd; 'centimani report MODEL -o FILE' writes a page instead");
    return EXIT_FAILED;
}
