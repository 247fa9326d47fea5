/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - `centimani rank MODEL`: compare accelerators. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

/* Options that rank shares with other commands are stored in graph and predict; copy them. */
bool settle_ranking(settings *s)
{
    s->rank.load = s->graph.load;
    s->rank.train = s->graph.train;
    s->rank.batch = s->graph.batch;
    s->rank.prices = s->prices;
    s->rank.offers = s->job_offers ? s->job_offers : own_offers(s);
    if (!loading_makes_sense(s)) return false;
    s->rank.host_file = settle_host(s);
    s->rank.loading = s->predict.options.loading;
    return true;
}

bool rank_gates(settings *s, const cm_rank_entry *const *entries, int32_t count, cm__gates *gates)
{
    if (!s->job_ctx) s->job_ctx = cm__ctx_new(NULL);
    if (!s->job_ctx) return false;
    if (setjmp(s->job_ctx->trap)) {
        cm__ctx_abandon(s->job_ctx);
        s->job_ctx = NULL;
        return forget_job(s), false;
    }
    for (int32_t i = 0; i < count; i++)
        cm__rank_gates(s->job_ctx, gates, &s->predict.limits, entries[i], count > 1 ? s->operands[i] : NULL);
    return true;
}

static void show_progress(void *user, int32_t done, int32_t total)
{
    (void)user;
    fprintf(notes(), "\r%d of %d searches", done, total);
    fflush(notes());
}

/* Writes the script of one entry; EXIT_DONE: there is one, or none is wanted. */
static int write_script(const settings *s, const cm__job_report *report, cm_diag *diag)
{
    int64_t place = s->entry ? s->entry : 1;
    if (!s->job_script || !cm_job_placed(report->job)) return EXIT_DONE;
    if (place > cm_job_placed(report->job)) {
        say("rank: entry %lld is not ranked: there are %d", (long long)place, cm_job_placed(report->job));
        return EXIT_USAGE;
    }
    char              *text = NULL;
    size_t             size = 0;
    FILE              *out = open_memstream(&text, &size);
    cm__script_options script = {s->script.launcher ? s->script.launcher : "torchrun", s->script.scheduler};
    cm_status          status =
        out ? cm__job_script_print(report, cm_job_get_entry(report->job, (int32_t)place - 1), &script,
                                                           out, diag)
                                    : CM_ERR_MEMORY;
    if (out) fclose(out);
    int code = status ? say_failed(status, diag) : save_bytes(s->job_script, text, size);
    free(text);
    return code;
}

/* Warnings of the models, and the gates of the best entry; false: out of memory. */
static bool say_of_job(settings *s, const cm_job *job, cm__gates *gates)
{
    const cm_rank_entry *best[OPERANDS_MAX];
    int32_t              n = cm_job_networks(job);
    for (int32_t i = 0; i < n; i++) {
        say_warnings(cm_job_graph(cm_job_of_network(job, i)));
        if (cm_job_placed(job)) best[i] = &cm_job_part(job, 0, i)->at;
    }
    if (!n) say_warnings(cm_job_graph(job));
    if (!n && cm_job_placed(job)) best[0] = &cm_job_get_entry(job, 0)->at;
    return rank_gates(s, best, cm_job_placed(job) ? n ? n : 1 : 0, gates);
}

/* refused: takes the job if nothing meets its limits, instead of a report; NULL: it is reported. */
static int run_job(settings *s, cm_job **refused)
{
    cm_job *job;
    cm_diag diag = {0};
    bool    terminal = isatty(STDERR_FILENO) && notes() == stderr;
    cm_status status = CM_OK;
    if (s->fewest) s->rank.objective = CM_OBJECTIVE_DEVICES;
    if (terminal) s->job.progress = show_progress;
    give_threads_heaps();
    if (!find_job(s, &job, &status, &diag)) return EXIT_USAGE;
    if (terminal) fprintf(notes(), "\r%40s\r", "");
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    if (refused && !cm_job_placed(job)) return *refused = job, EXIT_NOTHING_FITS;
    cm__gates      gates = {0};
    cm__job_report report = {.asked = &s->job, .job = job, .gates = &gates};
    if (!say_of_job(s, job, &gates)) return cm_job_free(job), EXIT_FAILED;
    bool any = cm_job_placed(job) > 0, instead = s->job_script && strcmp(s->job_script, "-") == 0 && any;
    if (!instead) status = cm__job_report_print(&report, format_of(s), results(), &diag);
    int written = write_script(s, &report, &diag);
    if (!status && written != EXIT_DONE) return cm_job_free(job), written;
    cm_job_free(job);
    return status ? say_failed(status, &diag) : any ? say_missed(s, &gates) : EXIT_NOTHING_FITS;
}

/* The first option given that is only for whole jobs; NULL: none. */
static const char *job_option(const settings *s)
{
    const cm_job_options *j = &s->job;
    const struct {
        const char *name;
        bool        is;
    } given[] = {{"--within", j->within_s > 0}, {"--budget", j->budget_usd > 0}, {"--clusters", j->clusters},
                 {"--queue", j->queue}, {"--global-batch", j->global_batch > 0}, {"--carbon", j->region},
                 {"--job-script", s->job_script}, {"--fewest-devices", s->fewest}, {"--largest", s->largest},
                 {"--tokens-per-parameter", s->per_parameter > 0}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].is) return given[i].name;
    return NULL;
}

/* Options of a whole job need --max-devices; those of single devices exclude it. */
bool job_makes_sense(const settings *s)
{
    const cm_job_options *j = &s->job;
    const char           *whole = job_option(s);
    if (j->max_devices && s->advise)
        say("rank: --advise is about devices, not about whole jobs: leave out --max-devices");
    else if (!j->max_devices && whole)
        say("rank: %s is about a whole job: add --max-devices N, the number of devices that it may use (1: one device)",
            whole);
    else if (j->queue && !j->clusters)
        say("rank: --queue is a queue of a facility: name its cluster, such as --clusters polaris");
    else if (s->largest && !(j->within_s > 0) && !(j->budget_usd > 0))
        say("rank: --largest needs a limit: --within TIME, --budget USD or both");
    else if (j->max_devices && s->rank.try_recompute)
        say("rank: with --max-devices the search tries recomputation by itself: leave out --recompute auto");
    else if (s->per_parameter > 0 && (s->rank.tokens > 0 || s->rank.samples > 0))
        say("rank: give --tokens-per-parameter, --tokens or --samples, one of them");
    else if (j->max_devices && (s->rank.as || s->rank.baseline || s->rank.max_hours > 0 || s->rank.max_usd > 0 || s->rank.batch))
        say("rank: with --max-devices use --within and --budget instead of --max-hours and --max-usd, --global-batch "
            "instead of --batch, and neither --baseline nor --as");
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
    if (!networks_make_sense(s)) return EXIT_USAGE;
    if (s->largest) return run_largest(s, run_job);
    if (s->job.max_devices) return run_job(s, NULL);
    if (several_networks(s)) return run_networks(s);
    cm_status status = cm_rank(s->operands[0], &s->rank, &ranking, &diag);
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    say_warnings(cm_ranking_graph(ranking, 0));
    cm__gates            gates = {0};
    cm__rank_report      report = {.model = s->operands[0], .asked = &s->rank, .ranking = ranking, .gates = &gates,
                                   .advise = s->advise};
    const cm_rank_entry *first = cm_ranking_entry(ranking, 0);
    bool                 any = first && first->state <= CM_RANK_NOT_OFFERED;
    status = CM_ERR_MEMORY;
    if (rank_gates(s, &first, any, &gates)) status = cm__rank_report_print(&report, format_of(s), results(), &diag);
    cm_ranking_free(ranking);
    return status ? say_failed(status, &diag) : any ? say_missed(s, &gates) : EXIT_NOTHING_FITS;
}
