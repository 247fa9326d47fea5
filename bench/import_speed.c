/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_speed.c - [FOLDER]: time and memory to import a model and build its training graph, compared with onnx.load.
 *
 * Every repetition is a new process, so that only the page cache is warm; memory is the peak of that process. Python's
 * start-up and imports are not timed. FOLDER (or CENTIMANI_MODELS) contains .onnx files; without it, only built-in
 * models and a generated file are imported.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "centimani.h"
#include "vgg_file.h"

#define REPEATS 21
#define PYTHON_REPEATS 5
#define PYTHON "/usr/bin/python3"

typedef struct sample {
    double time_s, memory_bytes;
} sample;

typedef struct timing {
    double time_s, least_s, most_s, memory_bytes; /* median, shortest, longest; peak memory; NAN: not measured */
} timing;

static const timing no_data = {NAN, NAN, NAN, NAN};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool import_once(const char *model, sample *out)
{
    cm_graph *forward, *step;
    cm_diag   diag = {0};
    char      text[1100];
    double    start = now_s();
    cm_status status = cm_graph_load(model, &(cm_load_options){0}, &forward, &diag);
    if (!status) status = cm_graph_train(forward, &(cm_train_options){0}, &step, &diag);
    out->time_s = now_s() - start;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    out->memory_bytes = 1024.0 * (double)usage.ru_maxrss;
    if (status) fprintf(stderr, "import_speed: %s\n", cm_diag_text(&diag, text, sizeof text));
    return !status;
}

/* Run import_once() in a child process. */
static bool ours(const char *model, sample *out)
{
    int pipe_fds[2], status;
    if (pipe(pipe_fds) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        bool done = import_once(model, out) && write(pipe_fds[1], out, sizeof *out) == sizeof *out;
        _exit(done ? 0 : 1);
    }
    close(pipe_fds[1]);
    bool got = child > 0 && read(pipe_fds[0], out, sizeof *out) == sizeof *out;
    close(pipe_fds[0]);
    return child > 0 && waitpid(child, &status, 0) == child && got;
}

static bool python(const char *path, sample *out)
{
    static const char script[] =
        PYTHON " -c 'import onnx, resource, sys, time\n"
               "start = time.perf_counter()\n"
               "onnx.load(sys.argv[1], load_external_data=False)\n"
               "print(time.perf_counter() - start, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)' ";
    char command[4096];
    if (strchr(path, '\'') || (size_t)snprintf(command, sizeof command, "%s'%s'", script, path) >= sizeof command)
        return false;
    FILE *answer = popen(command, "r");
    bool  got = answer && fscanf(answer, "%lf %lf", &out->time_s, &out->memory_bytes) == 2;
    return answer && pclose(answer) == 0 && got;
}

static int by_time(const void *left, const void *right)
{
    const sample *a = left, *b = right;
    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

static timing repeat(bool (*measure)(const char *, sample *), const char *model, int repeats)
{
    sample samples[REPEATS];
    timing t = {0};
    for (int i = 0; i < repeats; i++) {
        if (!measure(model, &samples[i])) return no_data;
        t.memory_bytes = fmax(t.memory_bytes, samples[i].memory_bytes);
    }
    qsort(samples, (size_t)repeats, sizeof *samples, by_time);
    t.time_s = samples[repeats / 2].time_s;
    t.least_s = samples[0].time_s;
    t.most_s = samples[repeats - 1].time_s;
    return t;
}

static void print_timing(const timing *t)
{
    if (isnan(t->time_s)) printf("  %9s %19s %8s", "-", "-", "-");
    else {
        char spread[40];
        snprintf(spread, sizeof spread, "%.2f..%.2f", 1e3 * t->least_s, 1e3 * t->most_s);
        printf("  %9.2f %19s %8.1f", 1e3 * t->time_s, spread, 1e-6 * t->memory_bytes);
    }
}

static bool have_python_onnx(void) { return system(PYTHON " -c 'import onnx' 2>/dev/null") == 0; }

static void row(const char *name, const char *model, bool with_python)
{
    timing mine = repeat(ours, model, REPEATS);
    timing theirs = with_python ? repeat(python, model, PYTHON_REPEATS) : no_data;
    printf("%-28s", name);
    print_timing(&mine);
    print_timing(&theirs);
    if (isnan(mine.time_s) || isnan(theirs.time_s)) printf("  %7s\n", "-");
    else printf("  %7.1f\n", theirs.time_s / mine.time_s);
    fflush(stdout);
}

static void heading(bool with_python)
{
    printf("# centimani %s: import and training graph, compared with Python's onnx.load (which builds no graph)\n",
           CM_VERSION);
    printf("# medians of %d runs (Python: %d), each in a new process; page cache warm\n", REPEATS, PYTHON_REPEATS);
    if (!with_python) printf("# python3-onnx: not installed\n");
    printf("%-28s  %9s %19s %8s  %9s %19s %8s  %7s\n", "model", "ours", "spread", "memory", "onnx.load", "spread",
           "memory", "ratio");
    printf("%-28s  %9s %19s %8s  %9s %19s %8s  %7s\n", "", "ms", "ms", "MB", "ms", "ms", "MB", "");
}

static void files_of(const char *folder, bool with_python)
{
    static const char *const names[] = {"resnet50.raw.onnx", "gpt2_xl.raw.onnx"};
    for (size_t i = 0; folder && i < sizeof names / sizeof *names; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (access(path, R_OK) == 0) row(names[i], path, with_python);
        else printf("%-28s  not in %s\n", names[i], folder);
    }
    if (!folder) printf("# no folder of .onnx files given: only built-in models and a generated file\n");
}

static bool generated(bool with_python)
{
    char  path[] = "/tmp/centimani_vgg16_XXXXXX.onnx";
    int   fd = mkstemps(path, 5);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    bool  written = file && write_vgg_file(file);
    if (file) fclose(file);
    if (written) row("vgg16, generated, 553 MB", path, with_python);
    else perror("import_speed: cannot write a large file in /tmp");
    unlink(path);
    return written;
}

int main(int argc, char **argv)
{
    bool with_python = have_python_onnx();
    heading(with_python);
    row("resnet50 (named)", "resnet50", false);
    row("gpt2-xl (named)", "gpt2-xl", false);
    files_of(argc > 1 ? argv[1] : getenv("CENTIMANI_MODELS"), with_python);
    return generated(with_python) ? 0 : 1;
}
