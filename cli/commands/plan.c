/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - `centimani plan`: search the best parallel plan. SIGINT ends the search and prints the best plan so far. */
#include <math.h>
#include <signal.h>
#include <unistd.h>
#include "cli.h"

static volatile bool interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = true;
}

static void show(void *user, const cm_search_progress *p)
{
    (void)user;
    fprintf(notes(), "\r%5.1f %% of %llu plans", 100 * (double)p->done / (double)p->total,
            (unsigned long long)p->total);
    if (!isnan(p->best_step_s)) fprintf(notes(), ", best so far %.4g s", p->best_step_s);
    fflush(notes());
}

static bool complete(const settings *s)
{
    const cm_plan *p = &s->memory.options.plan;
    if (!s->device) say("plan needs --device ID; 'centimani devices' lists them");
    else if (!p->devices) say("plan needs -n N: the number of devices");
    else if (!p->global_batch) say("plan needs --global-batch N: samples per update over all devices");
    else if (s->plan.options.within_s > 0 && s->plan.options.tokens <= 0)
        say("--within needs --tokens N: the tokens to train on in that time");
    else if (s->predict.options.loading.host) say("plan --host needs a FILE of 'bench --suite host': plans load no data");
    else return true;
    return false;
}

static cm_status search(settings *s, cm__plan_report **report, cm_diag *diag)
{
    bool             terminal = isatty(STDERR_FILENO) && notes() == stderr;
    struct sigaction act = {.sa_handler = interrupt}, before;
    interrupted = false;
    s->plan.options.stop = &interrupted;
    s->plan.options.progress = terminal ? show : NULL;
    sigaction(SIGINT, &act, &before);
    cm_status status = cm__plan_report_new(&s->plan, report, diag);
    sigaction(SIGINT, &before, NULL);
    if (terminal) fprintf(notes(), "\r%60s\r", "");
    return status;
}

int run_plan(settings *s)
{
    cm__plan_report *report;
    cm_diag          diag = {0};
    s->plan.host_file = settle_host(s);
    if (!complete(s)) return EXIT_USAGE;
    s->plan.graph = s->graph;
    s->plan.graph.model = s->operands[0];
    s->plan.device = s->device;
    s->plan.offers = own_offers(s);
    s->plan.cluster = s->cluster;
    s->plan.options.runtime = s->memory.options.runtime;
    s->plan.options.layout = s->predict.options.layout;
    s->plan.options.async_tensor = s->memory.options.plan.async_tensor;
    s->plan.options.devices = s->memory.options.plan.devices;
    s->plan.options.global_batch = s->memory.options.plan.global_batch;
    cm_status status = search(s, &report, &diag);
    if (status) return say_failed(status, &diag);
    bool fits = cm_search_plans(report->search) > 0, speaks = cm_search_get_info(report->search)->speaks;
    if (speaks) say_warnings(report->forward);
    if (speaks) status = cm__plan_report_print(report, format_of(s), results(), &diag);
    cm__plan_report_free(report);
    return status ? say_failed(status, &diag) : fits ? EXIT_DONE : EXIT_NOTHING_FITS;
}
