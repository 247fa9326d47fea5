/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - print a ranking as CSV, one device per line. */
#include <math.h>
#include "report/csv/csv.h"
#include "report/render.h"

void cm__rank_csv(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    int32_t placed = cm_ranking_placed(r->ranking);
    const cm_ranking_info *info = cm_ranking_get_info(r->ranking);
    double  tokens = info->seq ? info->tokens_per_sample : NAN, seq = info->seq ? (double)info->seq : NAN;
    fputs("rank,device,vendor,precision,runtime,batch,devices,fits,throughput_samples_s,step_time_s,step_low_s,"
          "step_high_s,peak_bytes,price_hour,samples_per_usd,energy_j_per_sample,hours,usd,kwh,relative,"
          "tokens_s,seq,price_basis,"
          "provider,tied_with_next,pareto,state,reason\n", out);
    for (int32_t i = 0; i < cm_ranking_entries(r->ranking); i++) {
        const cm_rank_entry      *e = cm_ranking_entry(r->ranking, i);
        const cm_prediction_info *p = &e->prediction;
        double                    none = e->fits ? 0 : NAN; /* NAN makes the numbers added to it empty cells */
        cm__csv_number(out, i < placed ? i + 1 : NAN, ',');
        cm__csv_text(out, cm_device_get_info(e->device)->id, ',');
        cm__csv_text(out, cm_device_get_info(e->device)->vendor, ',');
        cm__csv_text(out, cm_precision_name(e->precision), ',');
        cm__csv_text(out, e->fits ? cm_runtime_name(p->runtime) : "", ',');
        cm__csv_number(out, (double)p->batch + none, ',');
        cm__csv_number(out, p->devices + none, ',');
        cm__csv_text(out, e->chance.likely ? "true" : "false", ',');
        const double numbers[] = {p->throughput_samples_s + none, p->step_time_s + none, p->interval_s[0] + none,
                                  p->interval_s[1] + none, e->peak_bytes, e->price_hour, e->samples_per_usd,
                                  e->energy_j_per_sample, e->hours, e->usd, e->kwh, e->relative,
                                  p->throughput_samples_s * tokens + none, seq};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) cm__csv_number(out, numbers[k], ',');
        cm__csv_text(out, isnan(e->price_hour) ? "" : cm__rank_basis(e), ',');
        cm__csv_text(out, e->price ? cm__printable(ctx, e->price->provider) : "", ',');
        cm__csv_text(out, e->tied_with_next ? "true" : "false", ',');
        cm__csv_text(out, e->pareto ? "true" : "false", ',');
        cm__csv_text(out, cm__rank_state_name(e), ',');
        cm__csv_text(out, e->reason ? cm__printable(ctx, e->reason) : "", '\n');
    }
}
