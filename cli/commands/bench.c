/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - `centimani bench`: measure this machine and write the result as a profile. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

#define BAR 24

static void show_progress(void *user, const cm_bench_progress *p)
{
    char bar[BAR + 1];
    int  full = p->total ? BAR * p->done / p->total : 0;
    (void)user;
    for (int i = 0; i < BAR; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K");
    if (p->done < p->total) {
        fprintf(stderr, "[%s] %d/%d ", bar, p->done, p->total);
        if (!isnan(p->left_s)) fprintf(stderr, "%.0f s left ", p->left_s);
        fprintf(stderr, "%.60s", p->what);
    }
    fflush(stderr);
}

/* The id of a profile is its file's base name: "mine" for "results/mine.json". NULL: that name is not a valid id. */
static const char *id_of(const char *path, char *id, size_t size)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t      length = strcspn(name, ".");
    if (length == 0 || length >= size || !isalnum((unsigned char)name[0])) return NULL;
    for (size_t i = 0; i < length; i++) {
        id[i] = (char)tolower((unsigned char)name[i]);
        if (!isalnum((unsigned char)id[i]) && id[i] != '-') return NULL;
    }
    id[length] = '\0';
    return id;
}

static bool usable(const settings *s)
{
    const cm_bench_options *o = &s->bench;
    if (o->cases && (o->model || o->suites)) say("bench: --cases cannot be combined with --suite or --for");
    else if (o->model && o->suites) say("bench: --for cannot be combined with --suite");
    else if (s->output && o->list) say("bench: --list measures nothing, so -o has nothing to write");
    else return true;
    return false;
}

/* The exit status is a failure if any result is wrong, even if the profile was written. */
static int finish(const settings *s, cm_bench *bench)
{
    int     code = EXIT_DONE;
    int64_t wrong = cm_bench_wrong(bench);
    if (s->output) {
        const char *profile = cm_bench_profile(bench);
        code = profile ? save_text(s->output, profile) : EXIT_FAILED;
        if (!profile) say("out of memory for the profile");
    }
    if (code == EXIT_DONE && s->output && cm_bench_unmeasured(bench))
        say("%d cases were not measured within the budget; run the same command again to continue with them",
            cm_bench_unmeasured(bench));
    if (code == EXIT_DONE && s->output) cm_bench_forget(bench);
    if (wrong) say("%lld results are wrong", (long long)wrong);
    return wrong ? EXIT_FAILED : code;
}

int run_bench(settings *s)
{
    cm_bench        *bench;
    cm_diag          diag = {0};
    char             id[64], journal[4096];
    cm_bench_options o = s->bench;
    if (!usable(s)) return EXIT_USAGE;
    o.load = s->graph.load;
    o.train = s->graph.train;
    o.batch = s->graph.batch;
    o.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    if (s->output) {
        o.id = id_of(s->output, id, sizeof id);
        if (snprintf(journal, sizeof journal, "%s.journal", s->output) < (int)sizeof journal) o.journal = journal;
    }
    cm_status status = cm_bench_run(&o, &bench, &diag);
    if (o.progress && status) fprintf(stderr, "\r\033[K");
    if (status) return say_failed(status, &diag);
    int code = EXIT_DONE;
    if (cm_bench_speaks(bench)) {
        cm__bench_report report = {.asked = &o, .bench = bench};
        status = cm__bench_report_print(&report, format_of(s), beside_output(s), &diag);
        code = status ? say_failed(status, &diag) : finish(s, bench);
    }
    cm_bench_free(bench);
    return code;
}
