/* SPDX-License-Identifier: Apache-2.0 */
/* grids.c - carbon intensity of electricity by region (data/grids.tsv). */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "job/job.h"
#include "job/tables.h"

enum { REGION, G_KWH, YEAR, NAME, SOURCE, COLUMNS };

#define REGIONS_MOST 256
#define MOST_G_KWH 5000 /* lignite is near 1,100 */

/* An intensity that the user gives: "56" or "56g". */
static bool is_number(const char *text, double *g_kwh)
{
    char *end;
    *g_kwh = strtod(text, &end);
    return end > text && *g_kwh >= 0 && *g_kwh <= MOST_G_KWH && (!*end || strcmp(end, "g") == 0);
}

cm__grid cm__grid_find(cm__ctx *ctx, const char *region)
{
    cm__lines    rows = {.ctx = ctx, .at = cm__table_grids, .name = "data/grids.tsv", .columns = COLUMNS};
    const char *c[CM__CELLS_MAX], *names[REGIONS_MOST], *wanted = region ? region : "world";
    size_t      n = 0;
    double      given;
    if (is_number(wanted, &given)) return (cm__grid){"given", "given", "--carbon", given};
    while (cm__lines_next(&rows, c)) {
        if (n < REGIONS_MOST) names[n++] = c[REGION];
        if (!cm__same_name(c[REGION], wanted)) continue;
        return (cm__grid){c[REGION], c[NAME],
                          strcmp(c[YEAR], "-") ? cm__format(ctx, "%s (%s)", c[SOURCE], c[YEAR]) : c[SOURCE],
                          cm__lines_number(&rows, c[G_KWH])};
    }
    const char *near = cm__nearest(wanted, names, n), *all = "";
    for (size_t i = 0; i < n; i++) all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", names[i]);
    cm__fail(ctx, CM_ERR_UNKNOWN, "no region '%.40s'%s%s%s; give grams of CO2 per kWh, such as 56, or one of %s",
             wanted, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}
