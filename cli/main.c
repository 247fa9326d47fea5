/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the table of commands, and the selection of one. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "answer.h"
#include "base/text.h"
#include "cli.h"

#define KEPT_BYTES (64 << 20)
#define LARGE_PAGE ((uintptr_t)2 << 20)
#define SMALL_PAGES_BYTES (6 << 20)   /* most answers about one device need less */
#define LARGE_PAGES_BYTES (256 << 20) /* addresses, not memory */
#define SMALL_BYTES (256 << 10)
#define HEAPS_MOST 8 /* one for each thread: rank/parallel.c starts at most 8 */
#define TOP_PAD (128 << 10) /* glibc's default */
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define MODEL_DETAILS                                                                                                  \
    "MODEL is a named model ('centimani models' lists them), an .onnx file, a Hugging Face config.json or name "       \
    "(ORG/NAME, from the local cache), a captured PyTorch or JAX step (.cmt.json), or a one-line description such as\n" \
    "  gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200\n"                                                      \
    "  gemm:m=64,n=1760,k=1760"

static const char model_details[] = MODEL_DETAILS;

static const char rank_details[] =
    "Several models are ranked by the total time of their jobs, by cost or by energy, each WEIGHT times: "
    "resnet50*3 bert-large. Without a size, a job has a million samples.\n" MODEL_DETAILS;

static const char job_details[] =
    "'show FILE' checks a file and prints it as JSON. The options are those of 'rank'. In the file each is a key, with _ for -; models have keys of their own: weight, "
    "samples, tokens, epochs, seq, batch. docs/plans.md describes the file.";

static const char device_details[] =
    "'show' takes the id of a device or a cluster, the file of a profile, or this-machine; 'check' validates "
    "the file of a profile; 'add' joins a measured profile with the file of its device. docs/devices.md describes the format.";

static const char fit_details[] =
    "TIMINGS.csv has a header line with the columns op, pass, dtype, d0 ... d6 and latency_ms; device and note "
    "are optional. docs/dev/fitting.md lists the dimensions of each operator. Without a file, --check predicts each"
    " row of the device's kernel tables from the other rows (leave-one-out).";

static const char collective_details[] =
    "NAME is all-reduce, reduce-scatter, all-gather, all-to-all, broadcast or point-to-point. Bus bandwidth is defined as in "
    "nccl-tests. docs/dev/plans.md derives the time.";

static const char plan_details[] =
    "The search covers tensor, context, pipeline and data parallel sizes, micro-batch, interleaving, schedule, "
    "ZeRO stage, sequence parallelism, recomputation, overlap and offloading. Plans that do not fit into the "
    "device's memory are discarded. Ctrl-C ends the search and prints the best plan so far. mpirun -n N "
    "centimani plan ... divides the search among ranks. docs/dev/plans.md describes the model.";

static const char bench_details[] =
    "Without --suite, --cases or --for, all suites that run in one process are measured. Suites: roofline, "
    "host, lookup, primitives, sweep, and collectives (mpirun -n 4 centimani bench --suite collectives). An "
    "interrupted run with -o FILE continues where it stopped when the same command is run again.";

static const char calibrate_details[] =
    "LOG.csv has a header line with the columns model, batch, precision and step_time_s; seq, runtime and "
    "optimizer are optional. docs/measuring.md describes what is fitted.";

static const char compare_details[] =
    "TRACE is a Chrome trace of torch.profiler, plain or compressed by gzip, of steps with the same batch size "
    "and precision. Record it with record_shapes=True; docs/traces.md shows how. MODEL is a model as for "
    "'predict'; a capture of the same network (docs/capture.md) fits best.";

static const char results_details[] =
    "FILE is a set of results with evidence for its rows. docs/dev/adding-results.md describes the format.";

static const char watch_details[] =
    "LOG is the output of Megatron-LM or DeepSpeed, a progress bar with 's/it' or 'it/s', or has lines with "
    "'step_time_s: SECONDS'. Give the same batch size, precision and plan as the run has.";

static const char diff_details[] =
    "OLD.json and NEW.json are answers that were saved with --json, of the same command. A limit applies to the\n"
    "figures of the answer and of the rows of its table, in both directions; details and kernels show where a\n"
    "change comes from. docs/gates.md shows how to use it in a pipeline.";

static const char prices_details[] =
    "FILE has the columns of 'centimani prices': provider, instance, device, devices, cluster, basis, usd_hour,"
    " region, date and source, separated by tabs. It is copied to $CENTIMANI_OFFERS, or to centimani/offers.tsv"
    " in $XDG_CONFIG_HOME or ~/.config; 'reset' removes it.";

static const char lookups_details[] =
    "A look-up finds an energy in sorted grids and interpolates five cross sections for each nuclide of a "
    "material, as in Monte Carlo particle transport. Without options: XSBench's large reactor. docs/dev/lookups.md "
    "derives the rule.";

const command commands[] = {
    {"graph", "MODEL", "Show one training step of a model: operators, FLOP, bytes, lifetimes of tensors",
     model_details, FOR_GRAPH, 1, 1, run_graph},
    {"memory", "MODEL", "Predict the memory of a training step by category and level, and what makes it fit",
     model_details, FOR_MEMORY, 1, 1, run_memory},
    {"fits", "MODEL", "Say whether a training step fits into a device's memory, how likely, and what would make it fit",
     model_details, FOR_FITS, 1, 1, run_fits},
    {"batch", "MODEL", "Choose the batch size to train with on a device", model_details, FOR_BATCH, 1, 1, run_batch},
    {"validate", "", "Compare predictions with published results", NULL, FOR_VALIDATE, 0, 0, run_validate},
    {"results", "add FILE", "Check measured results of your own and add them to a set",
     results_details, FOR_RESULTS, 2, 2, run_results},
    {"models", "[list | show ID]", "List the named models, or show one with its definition and source", NULL,
     FOR_MODELS, 0, 2, run_models},
    {"devices", "[list | show ID | check FILE | add FILE]",
     "List the accelerators, show one with all numbers and sources, validate a profile, or add a measured one", device_details,
     FOR_DEVICES, 0, 2, run_devices},
    {"fit", "[TIMINGS.csv]", "Fit operator models to measured times, or compare a profile with measured times",
     fit_details, FOR_FIT, 0, 1, run_fit},
    {"predict", "MODEL", "Predict the time of one training step on a device, and where the time goes", model_details,
     FOR_PREDICT | FOR_GATES, 1, 1, run_predict},
    {"scale", "MODEL", "Predict how training scales over several devices, and where efficiency is lost",
     model_details, FOR_SCALE, 1, 1, run_scale},
    {"collective", "NAME", "Predict one collective among devices: time, latency and bus bandwidth", collective_details,
     FOR_COLLECTIVE, 1, 1, run_collective},
    {"plan", "MODEL", "Find the best parallel plan for a number of devices and a global batch", plan_details, FOR_PLAN,
     1, 1, run_plan},
    {"rank", "MODEL[*WEIGHT]...", "Rank all accelerators for a model: speed, hours and cost of the job, with 90 % intervals",
     rank_details, FOR_RANK | FOR_GATES, 1, OPERANDS_MAX, run_rank},
    {"job", "init MODEL[*WEIGHT]...", "Write a question to rank as a YAML file, for 'rank --job', or show one", job_details,
     FOR_RANK | FOR_GATES | FOR_JOB, 1, OPERANDS_MAX, run_job_file},
    {"explain", "MODEL", "Explain where the time of a step goes: operators on the roofline, or beside another device",
     model_details, FOR_EXPLAIN, 1, 1, run_explain},
    {"report", "MODEL[*WEIGHT]...", "Write the ranking and details of its best devices as one HTML page", model_details,
     FOR_REPORT, 1, OPERANDS_MAX, run_report},
    {"serve", "", "Serve an interactive page on this machine: choose models, devices and prices", NULL, FOR_SERVE, 0,
     0, run_serve},
    {"mcp", "", "Serve the commands as tools for language models: Model Context Protocol over stdin and stdout", NULL,
     FOR_HELP, 0, 0, run_mcp},
    {"bench", "", "Measure this machine and write a profile for the other commands", bench_details, FOR_BENCH, 0, 0,
     run_bench},
    {"calibrate", "", "Correct a device's profile with measured training steps", calibrate_details, FOR_CALIBRATE, 0,
     0, run_calibrate},
    {"compare", "TRACE MODEL", "Compare a torch.profiler trace with the prediction: where the time differs, and why",
     compare_details, FOR_COMPARE, 2, 2, run_compare},
    {"watch-log", "LOG MODEL",
     "Compare a running training with its prediction: is it as fast as it should be, when does it end",
     watch_details, FOR_PREDICT | FOR_WATCH, 2, 2, run_watch},
    {"diff", "OLD.json NEW.json", "Compare two saved answers of one command: which numbers and which kernels changed",
     diff_details, FOR_DIFF, 2, 2, run_diff},
    {"merge", "TABLES.json NEW.json...", "Join kernel tables of profiles; a call that several have keeps the last time",
     NULL, FOR_MERGE, 2, OPERANDS_MAX, run_merge},
    {"prices", "[list | update FILE | reset]",
     "Print the offers of cloud providers that 'rank --max-devices' uses, or replace them by your own table",
     prices_details,
     FOR_PRICES, 0, 2, run_prices},
    {"lookups", "", "Predict random look-ups per second in tables of cross sections (XSBench), on one device or all",
     lookups_details, FOR_LOOKUPS, 0, 0, run_lookups},
    {"completion", "bash|zsh", "Print a shell script that completes commands, options, models and devices", NULL,
     FOR_COMPLETION, 1, 1, run_completion},
    {"version", "", "Print the version", NULL, FOR_VERSION, 0, 0, run_version},
    {"help", "[COMMAND [all]]", "Explain how to use the program or one command", NULL, FOR_HELP, 0, 2, run_help},
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
    else say("no command '%s'; 'centimani help' lists the commands", name);
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
    int code = EXIT_USAGE;
    if (c && parse_options(c, &s, argc - 2, argv + 2) && one_format(&s)) {
        code = s.help ? EXIT_DONE : c->run(&s);
        if (s.help) print_help(c, &s);
    }
    forget_job(&s);
    return code;
}

#if defined(__GLIBC__)
/* Lets the heap grow over addresses for which the kernel may use large pages. No memory is touched. */
static void ask_for_large_pages(void)
{
    char *heap = sbrk(0);
    mallopt(M_TOP_PAD, LARGE_PAGES_BYTES);
    void *volatile block = malloc(SMALL_BYTES); /* more than the heap has: it grows by this and the pad */
    mallopt(M_TOP_PAD, TOP_PAD);
    uintptr_t from = ((uintptr_t)heap + SMALL_PAGES_BYTES) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t to = (uintptr_t)sbrk(0) / LARGE_PAGE * LARGE_PAGE;
    if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE); /* a hint */
    free(block);
}

static bool keeps_memory; /* keep_memory() has run; it does not where another program calls cm_answer() */

/* The kernel clears memory whenever it gives it out, page by page: a sixth of the time of a large ranking. The program
   keeps what it has, in one heap for all threads, and takes it in large pages beyond the first ones. */
static void keep_memory(void)
{
    keeps_memory = true;
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, 4 * LARGE_PAGES_BYTES);
    mallopt(M_ARENA_MAX, 1);
    ask_for_large_pages();
}

void give_threads_heaps(void)
{
    if (keeps_memory) mallopt(M_ARENA_MAX, HEAPS_MOST);
}
#else
static void keep_memory(void) {}
void        give_threads_heaps(void) {}
#endif

int cm_main(int argc, char **argv)
{
    keep_memory();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe becomes a write error instead of killing the process */
    if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
        say("cannot write the result: stdout is closed");
        return EXIT_FAILED;
    }
    return finish_output(run_words(argc, argv));
}

int main(int argc, char **argv) { return cm_main(argc, argv); }
