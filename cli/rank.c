/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - `centimani rank MODEL`: compare accelerators. */
#include "cli.h"

/* Options that rank shares with other commands are stored in graph and predict; copy them. */
bool settle_ranking(settings *s)
{
    s->rank.load = s->graph.load;
    s->rank.train = s->graph.train;
    s->rank.batch = s->graph.batch;
    s->rank.prices = s->prices;
    if (!loading_makes_sense(s)) return false;
    s->rank.loading = s->predict.options.loading;
    return true;
}

int run_rank(settings *s)
{
    cm_ranking *ranking;
    cm_diag     diag = {0};
    if ((s->rank.port_hours > 0) != (s->rank.port_usd_hour > 0) || (s->rank.port_hours > 0 && !s->rank.baseline)) {
        say("rank: porting needs --port-hours H, --rate USD and --baseline ID (the device that the model runs on now)");
        return EXIT_USAGE;
    }
    if (!settle_ranking(s)) return EXIT_USAGE;
    cm_status status = cm_rank(s->operands[0], &s->rank, &ranking, &diag);
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    say_warnings(cm_ranking_graph(ranking, 0));
    cm__rank_report report = {.model = s->operands[0], .asked = &s->rank, .ranking = ranking};
    status = cm__rank_report_print(&report, format_of(s), results(), &diag);
    bool any = cm_ranking_placed(ranking) > 0;
    cm_ranking_free(ranking);
    return status ? say_failed(status, &diag) : any ? EXIT_DONE : EXIT_NOTHING_FITS;
}
