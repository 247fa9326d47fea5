/* SPDX-License-Identifier: Apache-2.0 */
/* csv_out.h - fields of comma-separated values (RFC 4180), each followed by `end`. */
#ifndef CM_REPORT_CSV_OUT_H
#define CM_REPORT_CSV_OUT_H

#include <stdio.h>

void cm__csv_text(FILE *out, const char *text, char end);
void cm__csv_number(FILE *out, double value, char end); /* exact; NAN: empty */

#endif
