/* SPDX-License-Identifier: Apache-2.0 */
/* offers.c - what cloud providers sell: instances, their devices and prices. */
#include <string.h>
#include "job/job.h"
#include "job/tables.h"

enum { PROVIDER, INSTANCE, DEVICE, DEVICES, CLUSTER, BASIS, USD_HOUR, REGION, DATE, SOURCE, COLUMNS };

#define DEVICES_MOST 100000

cm__offers cm__offers_read(cm__ctx *ctx, const char *text, const char *name)
{
    cm__lines    rows = {.ctx = ctx, .at = text, .name = name, .columns = COLUMNS};
    cm__offers  all = {0};
    const char *c[CM__CELLS_MAX];
    while (cm__lines_next(&rows, c)) {
        cm_basis basis;
        double   devices = cm__lines_number(&rows, c[DEVICES]);
        if (cm_basis_parse(c[BASIS], &basis, NULL) || basis == CM_BASIS_ANY)
            cm__fail(ctx, CM_ERR_FORMAT, "%s, line %d: '%.40s' is not a basis such as on-demand or spot", name,
                     rows.line, c[BASIS]);
        if (devices > DEVICES_MOST || devices != (int32_t)devices)
            cm__fail(ctx, CM_ERR_FORMAT, "%s, line %d: '%.40s' is not a number of devices", name, rows.line, c[DEVICES]);
        all.list = cm__grow(ctx, all.list, all.count, &all.cap, sizeof *all.list);
        all.list[all.count++] = (cm__offer){
            .provider = c[PROVIDER], .instance = c[INSTANCE], .device = c[DEVICE], .cluster = c[CLUSTER],
            .basis = cm_basis_name(basis), .region = strcmp(c[REGION], "-") ? c[REGION] : NULL, .date = c[DATE],
            .source = c[SOURCE], .devices = (int32_t)devices, .usd_hour = cm__lines_number(&rows, c[USD_HOUR])};
    }
    return all;
}
