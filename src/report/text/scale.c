/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c - print scaling over devices as text. */
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

void cm__scale_text(cm__ctx *ctx, const cm__scale_report *r, FILE *out)
{
    static const cm__column columns[] = {{"devices", "", false},   {"batch", "", false},         {"step", "s", false},
                                         {"90 %", "s"},
                                         {"samples", "1/s"}, {"efficiency", "%", false},
                                         {"communication", "%", false}, {"bubble", "%", false}, {"host", "%", false},
                                         {"memory", "B", false}, {"fits", NULL, true},
                                         {"tokens", "1/s"}}; /* only for models of token sequences */
    const cm_load_options *load = &r->asked.graph.load;
    double    tokens = cm_load_tokens(load, cm_graph_seq(r->graph->step));
    cm__table table = cm__table_new(ctx, out, columns, COUNT(columns) - !(tokens > 0));
    fprintf(out, "# centimani %s, %s scaling of %s on %s\n", CM_VERSION, r->strong ? "strong" : "weak",
            cm__printable(ctx, r->asked.graph.model), cm_device_get_info(r->device)->name);
    fprintf(out, "# %s, %s%s%s; %s\n\n", cm__precision_text(ctx, r->graph->step),
            cm_runtime_name(r->asked.options.runtime), cm__seq_text(ctx, r->graph->step),
            cm__lengths_text(ctx, load, NULL, 0),
            r->strong ? "one global batch, divided among the devices" : "the same batch size on every replica");
    for (int32_t i = 0; i < r->asked.n_counts; i++) {
        const cm__scale_point *p = &r->points[i];
        const char            *cells[] = {cm__cell_count(ctx, r->asked.counts[i]),
                                          cm__cell_count(ctx, p->info.batch),
                                          cm__cell_si(ctx, p->info.step_time_s),
                                          cm__cell_interval(ctx, p->info.interval_s),
                                          cm__cell_si(ctx, p->info.throughput_samples_s),
                                          cm__cell_percent(ctx, p->efficiency, 1),
                                          cm__cell_percent(ctx, p->lost[0], 1),
                                          cm__cell_percent(ctx, p->lost[1], 1),
                                          cm__cell_percent(ctx, p->lost[2], 1),
                                          cm__cell_binary(ctx, p->peak_bytes),
                                          cm__fits_word(&p->chance),
                                          cm__cell_si(ctx, tokens * p->info.throughput_samples_s)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}
