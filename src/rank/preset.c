/* SPDX-License-Identifier: Apache-2.0 */
/* preset.c - read presets of devices from data/presets.tsv. */
#include "rank/preset.h"

#include <string.h>
#include "base/lines.h"
#include "base/text.h"

enum { NAME, MODEL, DEVICE, BATCH, PRECISION, CHIPS, USD_HOUR, SOURCE, COLUMNS };

extern const char cm__table_presets[];

static cm__lines rows_of(cm__ctx *ctx)
{
    return (cm__lines){.ctx = ctx, .at = cm__table_presets, .name = "data/presets.tsv", .columns = COLUMNS};
}

/* Adds a name to a list, unless it is its last one: rows of one preset and model are together. */
static void add(cm__ctx *ctx, const char **list, const char *name)
{
    const char *last = strrchr(*list, ' ');
    if (!cm__same_name(last ? last + 1 : *list, name)) *list = cm__format(ctx, "%s%s%s", *list, **list ? ", " : "", name);
}

const char *cm__preset_devices(cm__ctx *ctx, const char *name, const char *model)
{
    const char *c[CM__CELLS_MAX], *devices = "", *names = "", *models = "";
    cm__lines   rows = rows_of(ctx);
    while (cm__lines_next(&rows, c)) {
        add(ctx, &names, c[NAME]);
        if (!cm__same_name(c[NAME], name)) continue;
        add(ctx, &models, c[MODEL]);
        if (cm__same_name(c[MODEL], model)) devices = cm__format(ctx, "%s%s%s", devices, *devices ? "," : "", c[DEVICE]);
    }
    if (!*models) cm__fail(ctx, CM_ERR_UNKNOWN, "no preset '%.64s'; there are %s", name, names);
    if (!*devices) cm__fail(ctx, CM_ERR_UNKNOWN, "preset %s has no '%.64s'; it has %s", name, model, models);
    return devices;
}

cm__preset cm__preset_of(cm__ctx *ctx, const char *name, const char *model, const char *device)
{
    const char *c[CM__CELLS_MAX];
    cm__preset  p = {0};
    cm__lines   rows = rows_of(ctx);
    while (name && cm__lines_next(&rows, c)) {
        if (!cm__same_name(c[NAME], name) || !cm__same_name(c[MODEL], model) || !cm__same_name(c[DEVICE], device)) continue;
        p.batch = (int64_t)cm__lines_number(&rows, c[BATCH]);
        p.chips = (int32_t)cm__lines_number(&rows, c[CHIPS]);
        p.usd_hour = cm__lines_number(&rows, c[USD_HOUR]);
        if (strcmp(c[PRECISION], "-") != 0) cm_precision_parse(c[PRECISION], &p.precision, NULL);
    }
    return p;
}
