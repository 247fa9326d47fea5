/* SPDX-License-Identifier: Apache-2.0 */
/* rank_parts.h - parts of the text report of `rank`. */
#ifndef CM_REPORT_RANK_PARTS_H
#define CM_REPORT_RANK_PARTS_H

#include "report/render.h"

void        cm__rank_tables(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
const char *cm__rank_number(cm__ctx *ctx, double value); /* "-": unknown or infinite */

#endif
