/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - the command line. Commands are rows of commands[] in main.c, options are rows of options.def. The parser
 * fills a struct settings; a command reads it, calls the library and prints a report.
 */
#ifndef CM_CLI_CLI_H
#define CM_CLI_CLI_H

#include "report/report.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOTHING_FITS = 3 };
enum { EXIT_DOES_NOT_FIT = 1, EXIT_UNSURE = 3 }; /* of the commands that decide whether a step fits */

#define OPERANDS_MAX 16
#define PRICES_MAX 32
#define HOSTS_MAX 16
#define CLI_PATH_MAX 4096
#define GIVEN_MAX 64
#define PORT 8377 /* default port of serve */

/* Of one network of a job file; 0: as in the question. */
typedef struct network_size {
    double  samples, tokens, epochs;
    int64_t seq, batch;
} network_size;

/* An option as it was given; NULL: a flag. */
typedef struct given_option {
    const struct option *option;
    const char          *value;
} given_option;

typedef struct settings {
    const char       *operands[OPERANDS_MAX];
    int               n_operands;
    cm__graph_request graph;
    cm__memory_request memory;    /* run_memory() copies graph and device into it */
    char              dims[1024]; /* the --dim options, joined by commas */
    cm__predict_request predict;
    cm__plan_request  plan;       /* device counts and batch sizes of plan, predict and scale are in memory.options */
    cm__scale_request scale;
    const char       *device, *versus, *cluster, *output, *set, *from, *trace, *snapshot;
    bool              leave_device_out;
    const char       *what_if;
    char              changed_device[512], changed_devices[CLI_PATH_MAX]; /* device and rank.devices with what_if */
    cm_rank_options   rank;
    char              offers[CLI_PATH_MAX]; /* path of the user's table of offers */
    const char       *job_script;
    cm__script_options script;
    int64_t           entry;
    bool              fewest;
    const char       *largest;       /* other models of rank --largest */
    double            fail_above;    /* diff: largest relative change; 0: none */
    double            per_parameter; /* tokens of the job for each parameter; 0: not given */
    cm_job_options    job;        /* rank --max-devices; run_rank() copies rank into it */
    cm_rank_price     prices[PRICES_MAX]; /* --price, rank.n_prices of them */
    char              price_names[PRICES_MAX][64];
    cm__lookups_request lookups; /* run_lookups() copies the device into it */
    cm_bench_options  bench;
    int32_t           port;
    const char       *bind;
    const char       *hosts[HOSTS_MAX]; /* --allow-host, n_hosts of them */
    int32_t           n_hosts;
    given_option      given[GIVEN_MAX]; /* n_given of them; `job init` writes them down */
    int32_t           n_given;
    const char       *job_file, *job_offers; /* rank --job, and the table of offers that it names */
    bool              show_job;              /* `job show`: print the file as JSON once it is read */
    network_size      sizes[OPERANDS_MAX];
    struct cm__ctx   *job_ctx;               /* owns the texts of the job file */
    bool              advise, full, clusters, check, json, csv, html, help, no_loading, calls, fuse_all;
} settings;

/* Which commands take an option. */
enum {
    FOR_GRAPH = 1, FOR_MODELS = 2, FOR_VERSION = 4, FOR_HELP = 8, FOR_DEVICES = 16, FOR_FIT = 32, FOR_PREDICT = 64,
    FOR_MEMORY = 128, FOR_FITS = 1 << 22, FOR_BATCH = 256, FOR_VALIDATE = 512, FOR_BENCH = 1024, FOR_CALIBRATE = 2048,
    FOR_RANK = 4096, FOR_EXPLAIN = 8192, FOR_REPORT = 16384, FOR_SERVE = 32768, FOR_COMPLETION = 65536,
    FOR_COMPARE = 1 << 17, FOR_MERGE = 1 << 18, FOR_COLLECTIVE = 1 << 19, FOR_PLAN = 1 << 20, FOR_SCALE = 1 << 21,
    FOR_RESULTS = 1 << 23, FOR_RANKING = FOR_RANK | FOR_REPORT,
    FOR_ON_DEVICE = FOR_PREDICT | FOR_MEMORY | FOR_FITS | FOR_BATCH | FOR_PLAN | FOR_SCALE | FOR_EXPLAIN,
    FOR_PRICES = 1 << 24, FOR_LOOKUPS = 1 << 25, FOR_WATCH = 1 << 26, FOR_DIFF = 1 << 27, FOR_GATES = 1 << 28, FOR_JOB = 1 << 29,
    FOR_PLANNED = FOR_PREDICT | FOR_MEMORY | FOR_FITS | FOR_BATCH | FOR_SCALE | FOR_EXPLAIN, FOR_ALL = ~0,
    FOR_MOST = 1 << 30
};

typedef struct command {
    const char *name, *operands, *summary, *details; /* details NULL: none */
    unsigned    takes;                               /* one of FOR_ above */
    int         min_operands, max_operands;
    int (*run)(settings *s);
} command;
extern const command commands[];
extern const int     n_commands;

typedef struct option {
    const char *name, *argument, *help; /* argument NULL: a flag; help NULL: an alias, not listed */
    unsigned    taken_by;               /* FOR_ commands, and FOR_MOST for an option that most users need; 0: a heading,
                                           which is the help */
    size_t      field;                  /* offset in settings */
    /* Store `value` in the field; false: the value is invalid and a message was printed. */
    bool (*store)(const struct option *option, settings *s, void *field, const char *value);
} option;

extern const option options[];
extern const int    n_options;

/* Print the most similar action of a command, or its usage; return EXIT_USAGE. */
int no_action(const char *of, const char *action, const char *const *actions, size_t count, const char *usage);

/* The functions below print a message before they return false or NULL. */
bool           options_fit_together(const command *c, const settings *s); /* together.c; false: says the reason */
bool           parse_options(const command *c, settings *s, int argc, char **argv);
const command *find_command(const char *name);
bool           loading_makes_sense(settings *s); /* false: loading options without a dataset */
/* predict.c: takes the file that --host names, which was measured, out of the options; NULL: it names an id, or nothing */
const char    *settle_host(settings *s);
bool           says_recompute(const settings *s); /* predict.c: --recompute was given */
void           settle_prediction(settings *s, const char *model); /* predict.c: copy the options of a prediction */
/* Says so if --fuse all was given and the runtime runs operators one by one. settled: as the report has it. */
void warn_of_fusion(const settings *s, const cm__predict_request *settled);
const char    *own_offers(settings *s);          /* prices.c: path of the user's offers; NULL: none */
bool           settle_ranking(settings *s);      /* rank.c: copy the options that rank and report share */
bool           job_makes_sense(const settings *s); /* rank.c: false: options of a job and of single devices together */

int  run_graph(settings *s);
int  run_models(settings *s);
int  run_devices(settings *s);
int  run_fit(settings *s);
int  run_calibrate(settings *s);
int  run_compare(settings *s);
int  run_merge(settings *s);
int  run_mcp(settings *s);
int  run_predict(settings *s);
int  run_memory(settings *s);
int  run_fits(settings *s);
int  run_batch(settings *s);
int  run_plan(settings *s);
int  run_scale(settings *s);
int  run_collective(settings *s);
int  run_validate(settings *s);
int  run_bench(settings *s);
int  run_rank(settings *s);
/* job_file.c: stores what a job file says; false: a message was printed. */
bool read_job(const command *c, settings *s, const char *path);
void job_parse(struct cm__ctx *ctx, const command *c, settings *s, const char *path, const char *text, size_t size);
/* Where the job file names what a message is about: "job.yaml: line 3: ", or "". */
const char *job_place(const cm_diag *diag, char *buf, size_t size);
void forget_job(settings *s);
bool is_job_text(const char *job); /* a job itself, not the path of a file */
void settle_job(settings *s); /* after all options: limits of a whole job or of single devices */
int  run_job_file(settings *s);
double weight_in(const char *operand, size_t *length); /* networks.c: "resnet50*3": 3, and the length of the name */
/* networks.c: one ranking for several networks, or for one with a weight. */
bool several_networks(const settings *s);
/* The networks among the operands; names: OPERANDS_MAX texts that hold their names. false: a message was printed. */
bool fill_networks(const settings *s, cm_network *networks, char (*names)[CLI_PATH_MAX]);
const char *all_networks(const settings *s, char *text, size_t size); /* as the user wrote them */
int  run_networks(settings *s);
bool networks_make_sense(const settings *s); /* false: an option is about one network */
bool find_job(settings *s, cm_job **job, cm_status *status, cm_diag *diag); /* false: a message was printed */
/* largest.c: runs a job for each model of --largest, the largest first, until one meets the limits. */
typedef int job_runner(settings *s, cm_job **refused);
int    run_largest(settings *s, job_runner *run);
double model_parameters(const settings *s, const char *model); /* 0: it cannot be read, and a message was printed */
int  run_results(settings *s);
int  run_report(settings *s);
int  run_serve(settings *s);
int  run_completion(settings *s);
int  run_explain(settings *s);
int  run_prices(settings *s);
int  run_lookups(settings *s);
int  run_watch(settings *s);
int  run_diff(settings *s);
int  run_version(settings *s);
int  run_help(settings *s);
void print_usage(FILE *out);
void print_help(const command *c, const settings *s); /* operand 'all': also options that few users need */

/* Standard output and standard error, or the buffers of a caller of cm_answer(). */
FILE *results(void);
FILE *notes(void);
FILE *beside_output(const settings *s); /* stream for the report: notes() if "-o -" uses standard output */
void  divert_output(FILE *to_results, FILE *to_notes); /* in this thread; NULL: back to the standard streams */
int   run_words(int argc, char **argv);                /* arguments of main(); returns the exit status */
/* Threads that are started later have heaps of their own. Those that search for a whole job waited for the common one
   500 times a second. */
void  give_threads_heaps(void);

/* Print "centimani: ..." on stderr; control characters are replaced. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What say() prints next is about a place in a file, "job.yaml: line 7: "; NULL: no longer. */
void say_at(const char *place);
/* Print the diagnosis on stderr; return EXIT_FAILED, or EXIT_NOTHING_FITS for CM_ERR_FIT. */
int  say_failed(cm_status status, const cm_diag *diag);
/* Print the warnings of a graph; `graph` may be NULL. */
void say_warnings(const cm_graph *graph);
/* The gates of rank, for an entry or several of them; they live as long as the settings' context. False: no memory. */
bool rank_gates(settings *s, const cm_rank_entry *const *entries, int32_t count, cm__gates *gates);
/* Print the gates that are missed on stderr, beside an answer that is not text; EXIT_FAILED if there are any. */
int  say_missed(const settings *s, const cm__gates *gates);
/* Write a text to a file, which is replaced atomically; to a device or a pipe; or, for "-", to results(). EXIT_FAILED:
   it could not be written, and a message was printed. */
int  save_text(const char *path, const char *text);
int  save_bytes(const char *path, const char *bytes, size_t size); /* the same without a line end */
/* Flush standard output. Return `status`, or print a message and return EXIT_FAILED if the output could not be
   written. */
int  finish_output(int status);
bool one_format(const settings *s); /* false: several formats were requested, and a message was printed */
cm__output_format format_of(const settings *s);

#endif
