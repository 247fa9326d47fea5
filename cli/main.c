/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the commands, and choosing one. */
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "cli.h"

#define KEPT_BYTES (64 << 20)
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char model_details[] =
    "MODEL is a named model ('centimani models' lists them), an .onnx file, a Hugging Face\n"
    "config.json, a captured PyTorch step (.cmt.json), or a one-line description such as\n"
    "  gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200\n"
    "  gemm:m=64,n=1760,k=1760";

static const char device_details[] =
    "'show' takes the id of a device or a cluster, the file of a profile, or this-machine; 'check'\n"
    "says whether a file is a valid profile. docs/profiles.md describes the format.";

static const char fit_details[] =
    "TIMINGS.csv has a header line with the columns op, pass, dtype, d0 ... d6 and latency_ms; device and\n"
    "note are optional. docs/fitting.md says what the dimensions of each operator are. Without a file,\n"
    "--check holds each row of the device's kernel tables against the other rows.";

static const char scale_details[] =
    "MODEL is what 'predict' takes, or one collective of so many bytes: all-reduce:bytes=67108864, and\n"
    "reduce-scatter, all-gather, all-to-all, broadcast, point-to-point alike.";

static const char plan_details[] =
    "Tensor, context, pipeline and data parallel counts, micro-batch, pieces of a stage, schedule, ZeRO,\n"
    "sequence parallelism, recompute, overlap and offloading are searched, and every plan is held against\n"
    "the device's memory. Ctrl-C prints the best found so far. mpirun -n N centimani plan ... divides the\n"
    "search among ranks. docs/plans.md says what is modelled.";

static const char bench_details[] =
    "Without --suite, --cases or --for, all suites that one process can measure. Suites: roofline, host,\n"
    "lookup, primitives, sweep, and collectives (mpirun -n 4 centimani bench --suite collectives). A run\n"
    "with -o FILE that is ended goes on where it was when the same command is given again.";

static const char calibrate_details[] =
    "LOG.csv has a header line with the columns model, batch, precision and step_time_s; seq, runtime and\n"
    "optimizer are optional. docs/calibrating.md says what is fitted.";

const command commands[] = {
    {"graph", "MODEL", "What one training step of a model computes: operators, FLOP, bytes, lifetimes", model_details,
     FOR_GRAPH, 1, 1, run_graph},
    {"memory", "MODEL", "Does a training step fit a device: memory by category and level, and what would help",
     model_details, FOR_MEMORY, 1, 1, run_memory},
    {"batch", "MODEL", "Which batch size to train with on a device", model_details, FOR_BATCH, 1, 1, run_batch},
    {"validate", "", "Predictions against results that others published", NULL, FOR_VALIDATE, 0, 0, run_validate},
    {"models", "[list | show ID]", "The named models, or one with its definition and source", NULL, FOR_MODELS, 0, 2,
     run_models},
    {"devices", "[list | show ID | check FILE]", "The accelerators, one of them with all sources, or a profile checked",
     device_details, FOR_DEVICES, 0, 2, run_devices},
    {"fit", "[TIMINGS.csv]", "Models of operators from measured times, or a profile held against such times",
     fit_details, FOR_FIT, 0, 1, run_fit},
    {"predict", "MODEL", "How long one training step takes on a device, and where the time goes", model_details,
     FOR_PREDICT, 1, 1, run_predict},
    {"scale", "MODEL", "How a training scales over devices, and where efficiency is lost", scale_details, FOR_SCALE, 1,
     1, run_scale},
    {"plan", "MODEL", "The best parallel plan for a number of devices and a global batch", plan_details, FOR_PLAN, 1, 1,
     run_plan},
    {"rank", "MODEL", "Which accelerator: all devices in order, the job's hours and dollars, and how sure that is",
     model_details, FOR_RANK, 1, 1, run_rank},
    {"explain", "MODEL", "Why a step takes its time on a device: operators on its roofline, beside another device",
     model_details, FOR_EXPLAIN, 1, 1, run_explain},
    {"report", "MODEL", "The ranking and its best devices as one HTML page to look at", model_details, FOR_REPORT, 1, 1,
     run_report},
    {"serve", "", "The same as a page on this machine: pick or drop a model, devices, prices", NULL, FOR_SERVE, 0, 0,
     run_serve},
    {"bench", "", "What this machine does, measured: a profile for the other commands", bench_details, FOR_BENCH, 0, 0,
     run_bench},
    {"calibrate", "", "A device's profile mended by real training steps", calibrate_details, FOR_CALIBRATE, 0, 0,
     run_calibrate},
    {"completion", "bash|zsh", "A script that completes commands, options, models and devices in a shell", NULL,
     FOR_COMPLETION, 1, 1, run_completion},
    {"version", "", "The program's version", NULL, FOR_VERSION, 0, 0, run_version},
    {"help", "[COMMAND]", "How to use the program or one command", NULL, FOR_HELP, 0, 1, run_help},
};
const int n_commands = COUNT(commands);

int run_version(settings *s)
{
    cm_diag   diag;
    cm_status status = cm__version_print(format_of(s), results(), &diag);
    return status ? say_failed(status, &diag) : EXIT_DONE;
}

static const char *canonical(const char *name)
{
    if (strcmp(name, "--version") == 0) return "version";
    return strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ? "help" : name;
}

const command *find_command(const char *name)
{
    const char *names[COUNT(commands)];
    for (int i = 0; i < n_commands; i++) {
        names[i] = commands[i].name;
        if (strcmp(canonical(name), names[i]) == 0) return &commands[i];
    }
    const char *meant = cm__nearest(name, names, (size_t)n_commands);
    if (meant) say("no command '%s'; did you mean '%s'?", name, meant);
    else say("no command '%s'; 'centimani help' lists what there is", name);
    return NULL;
}

int run_words(int argc, char **argv)
{
    settings s = {.port = PORT};
    if (argc < 2) {
        print_usage(notes());
        return EXIT_USAGE;
    }
    const command *c = find_command(argv[1]);
    if (!c || !parse_options(c, &s, argc - 2, argv + 2) || !one_format(&s)) return EXIT_USAGE;
    if (!s.help) return c->run(&s);
    print_help(c, results());
    return EXIT_DONE;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES); /* memory given back to the system and taken again is cleared each time */
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a failed write, not a death */
    if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
        say("cannot write the result: stdout is closed");
        return EXIT_FAILED;
    }
    return finish_output(run_words(argc, argv));
}
