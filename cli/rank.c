/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - `centimani rank MODEL`: compare accelerators. */
#include <unistd.h>
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

static void show_progress(void *user, int32_t done, int32_t total)
{
    (void)user;
    fprintf(notes(), "\r%d of %d searches", done, total);
    fflush(notes());
}

static int run_job(settings *s)
{
    cm_job *job;
    cm_diag diag = {0};
    bool    terminal = isatty(STDERR_FILENO) && notes() == stderr;
    s->job.rank = s->rank;
    s->job.offers = own_offers(s);
    if (terminal) s->job.progress = show_progress;
    cm_status status = cm_job_run(s->operands[0], &s->job, &job, &diag);
    if (terminal) fprintf(notes(), "\r%40s\r", "");
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    say_warnings(cm_job_graph(job));
    cm__job_report report = {.asked = &s->job, .job = job};
    status = cm__job_report_print(&report, format_of(s), results(), &diag);
    bool any = cm_job_placed(job) > 0;
    cm_job_free(job);
    return status ? say_failed(status, &diag) : any ? EXIT_DONE : EXIT_NOTHING_FITS;
}

/* Options of a whole job need --max-devices; those of single devices exclude it. */
bool job_makes_sense(const settings *s)
{
    const cm_job_options *j = &s->job;
    bool                  other = j->clusters || j->within_s > 0 || j->budget_usd > 0 || j->global_batch || j->region;
    if (!j->max_devices && other)
        say("rank: --clusters, --within, --budget, --global-batch and --carbon need --max-devices N");
    else if (j->max_devices && (s->rank.baseline || s->rank.max_hours > 0 || s->rank.max_usd > 0 || s->rank.batch))
        say("rank: with --max-devices use --within and --budget instead of --max-hours and --max-usd, --global-batch "
            "instead of --batch, and no --baseline");
    else return true;
    return false;
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
    if (!job_makes_sense(s)) return EXIT_USAGE;
    if (s->job.max_devices) return run_job(s);
    cm_status status = cm_rank(s->operands[0], &s->rank, &ranking, &diag);
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    say_warnings(cm_ranking_graph(ranking, 0));
    cm__rank_report report = {.model = s->operands[0], .asked = &s->rank, .ranking = ranking};
    status = cm__rank_report_print(&report, format_of(s), results(), &diag);
    bool any = cm_ranking_placed(ranking) > 0;
    cm_ranking_free(ranking);
    return status ? say_failed(status, &diag) : any ? EXIT_DONE : EXIT_NOTHING_FITS;
}
