/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h - kernel tables from the calls of a trace, and kernel tables joined. */
#ifndef CM_TIMELINE_TABLES_H
#define CM_TIMELINE_TABLES_H

#include "timeline/timeline.h"

/* A profile with the calls of a trace as kernel tables; the caller frees it. NULL: out of memory. base NULL: none.
   rows, tables: their numbers. */
char *cm__timeline_tables(const struct cm_timeline *timeline, const char *base, int32_t *rows, int32_t *tables);

#endif
