/* SPDX-License-Identifier: Apache-2.0 */
/* rank_parts.h - parts of the text report of `rank`. */
#ifndef CM_REPORT_RANK_PARTS_H
#define CM_REPORT_RANK_PARTS_H

#include "report/render.h"

void        cm__rank_tables(cm__ctx *ctx, const cm__rank_report *report, FILE *out);
/* A line about a device that is not ranked, below the heading of its state, unless `last` has that state. */
void        cm__rank_unplaced(cm__ctx *ctx, const cm_rank_entry *entry, cm_rank_state *last, FILE *out);
void        cm__rank_basis_line(cm__ctx *ctx, const cm_rank_options *asked, FILE *out); /* which prices */
const char *cm__rank_number(cm__ctx *ctx, double value); /* "-": unknown or infinite */

#endif
