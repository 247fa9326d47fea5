/* SPDX-License-Identifier: Apache-2.0 */
/* detail.h - the details of one device as JSON, for the HTML pages. */
#ifndef CM_REPORT_DETAIL_H
#define CM_REPORT_DETAIL_H

#include <jansson.h>
#include "report/render.h"

void      cm__detail_json_fill(cm__ctx *ctx, json_t *object, const cm__detail *detail);

#endif
