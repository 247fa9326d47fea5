/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - fields of comma-separated values (RFC 4180). */
#ifndef CM_REPORT_CSV_H
#define CM_REPORT_CSV_H

#include <stdio.h>

void cm__csv_text(FILE *out, const char *text, char end);
void cm__csv_number(FILE *out, double value, char end); /* NAN: empty */

#endif
