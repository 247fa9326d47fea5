/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - print the version of the program. */
#include "report/json/json.h"
#include "report/render.h"

void cm__version_text(cm__ctx *ctx, FILE *out)
{
    (void)ctx;
    fputs("centimani " CM_VERSION "\n", out);
}

void cm__version_json(cm__ctx *ctx, FILE *out) { cm__json_print(ctx, cm__json_answer(ctx, "version"), out); }
