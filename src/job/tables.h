/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h - tables of data/ that are read at run time, because users may replace them. */
#ifndef CM_JOB_TABLES_H
#define CM_JOB_TABLES_H

#include "base/lines.h"

extern const char cm__table_grids[], cm__table_batches[], cm__table_interruptions[],
    cm__table_queues[];

#endif
