/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - print a ranking for several networks as CSV, one device per line, with the time and cost of each network. */
#include <math.h>
#include "report/csv/csv.h"
#include "report/render.h"

void cm__mix_csv(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    int32_t n = cm_mix_networks(r->mix), placed = cm_mix_placed(r->mix);
    fputs("rank,device,vendor,fits,hours,hours_low,hours_high,usd,kwh,tied_with_next,pareto,state,reason,", out);
    for (int32_t i = 0; i < n; i++) {
        const char *name = cm__network_name(ctx, cm_mix_network(r->mix, i));
        cm__csv_text(out, cm__format(ctx, "%s hours", name), ',');
        cm__csv_text(out, cm__format(ctx, "%s usd", name), ',');
        cm__csv_text(out, cm__format(ctx, "%s batch", name), i + 1 < n ? ',' : '\n');
    }
    for (int32_t k = 0; k < cm_mix_entries(r->mix); k++) {
        const cm_mix_entry  *entry = cm_mix_get_entry(r->mix, k);
        const cm_rank_entry *e = &entry->total;
        double               none = e->fits ? 0 : NAN; /* NAN makes the numbers added to it empty cells */
        const double numbers[] = {e->hours, e->prediction.interval_s[0] / 3600, e->prediction.interval_s[1] / 3600,
                                  e->usd, e->kwh};
        cm__csv_number(out, k < placed ? k + 1 : NAN, ',');
        cm__csv_text(out, cm_device_get_info(e->device)->id, ',');
        cm__csv_text(out, cm_device_get_info(e->device)->vendor, ',');
        cm__csv_text(out, e->chance.verdict == CM_FITS ? "true" : "false", ',');
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cm__csv_number(out, numbers[i] + none, ',');
        cm__csv_text(out, e->tied_with_next ? "true" : "false", ',');
        cm__csv_text(out, e->pareto ? "true" : "false", ',');
        cm__csv_text(out, cm__rank_state_name(e), ',');
        cm__csv_text(out, e->reason ? cm__printable(ctx, e->reason) : "", n ? ',' : '\n');
        for (int32_t i = 0; i < n; i++) {
            const cm_rank_entry *part = entry->parts[i];
            double               times = part->fits ? cm_mix_network(r->mix, i)->weight : NAN;
            cm__csv_number(out, times * part->hours, ',');
            cm__csv_number(out, times * part->usd, ',');
            cm__csv_number(out, part->fits ? (double)part->prediction.batch : NAN, i + 1 < n ? ',' : '\n');
        }
    }
}
