/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - statuses and diagnostics as text. */
#include <stdio.h>
#include "centimani.h"

const char *cm_status_text(cm_status status)
{
    switch (status) {
#define X(id, value, text)                                                                                             \
    case id: return text;
        CM_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *cm_diag_text(const cm_diag *diag, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", diag->file, *diag->file ? ": " : "", diag->place, *diag->place ? ": " : "",
             diag->reason);
    return buf;
}
