/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - parts of the page that `report` writes. */
#ifndef CM_REPORT_PAGE_H
#define CM_REPORT_PAGE_H

#include "report/html/html.h"
#include "report/render.h"

/* page_tables.c: short numbers, device ids, and the numbers of each figure as a table. */
const char *cm__page_number(cm__ctx *ctx, double value);
const char *cm__page_device(const cm__detail *detail);
const char *cm__page_detail_name(cm__ctx *ctx, const cm__page_report *page, int32_t detail);
void cm__page_ranking(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_price(cm__ctx *ctx, FILE *out, const cm__page_report *page, bool only_pareto);
void cm__page_memory(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_levels(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_batch(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_scaling(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_counts(cm__ctx *ctx, FILE *out, const cm__page_report *page);
void cm__page_roof(cm__ctx *ctx, FILE *out, const cm__explain_report *explained);
void cm__page_step(cm__ctx *ctx, FILE *out, const cm__explain_report *explained);

#endif
