/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - write CSV fields: quoted if necessary, numbers exactly. */
#include "report/csv/csv.h"

#include <math.h>
#include <string.h>

void cm__csv_text(FILE *out, const char *text, char end)
{
    if (!strpbrk(text, ",\"\r\n")) fputs(text, out);
    else {
        putc('"', out);
        for (const char *c = text; *c; c++) {
            if (*c == '"') putc('"', out);
            putc(*c, out);
        }
        putc('"', out);
    }
    putc(end, out);
}

void cm__csv_number(FILE *out, double value, char end)
{
    if (!isnan(value)) fprintf(out, "%.17g", value);
    putc(end, out);
}
