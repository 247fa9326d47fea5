/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the table of URLs, and the translation of a query into a command line. */
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "base/text.h"
#include "report/html/html.h"
#include "serve/cache.h"
#include "serve/serve.h"

#define WORDS_MOST 96
#define VALUE_MOST 512
#define JOB_MOST 8000 /* characters of several networks, and of a job file */
#define CHILDREN_MOST 2
#define JSON "application/json"
#define ANSWERS_MOST 4 /* computed concurrently in this process; each uses several threads */

struct cm__routes {
    const cm__serve_options *options;
    cm__uploads             *uploads;
    cm__cache               *cache;
    pthread_mutex_t          lock;
    pthread_cond_t           ended; /* signals that one of the counters below decreased */
    int                      children, answers;
};

cm__routes *cm__routes_new(const cm__serve_options *options, cm__uploads *uploads)
{
    cm__routes *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (cm__routes){.options = options, .uploads = uploads, .cache = cm__cache_new()};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->ended, NULL);
    if (r->cache) return r;
    cm__routes_free(r);
    return NULL;
}

void cm__routes_free(cm__routes *r)
{
    if (!r) return;
    cm__cache_free(r->cache);
    pthread_cond_destroy(&r->ended);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- replies ---------------------------------------------------------------------------------------------------- */

static void reply_text(cm__reply *reply, unsigned status, const char *type, char *text)
{
    *reply = (cm__reply){.status = status, .type = type, .text = text, .size = text ? strlen(text) : 0};
}

static void reply_json(cm__reply *reply, unsigned status, char *text) { reply_text(reply, status, JSON, text); }

void cm__reply_error(cm__reply *reply, unsigned status, const char *format, ...)
{
    char    text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = *c == '\n' ? ' ' : '?';
    json_t *answer = json_pack("{s:i,s:s}", "schema", 1, "error", text);
    reply_json(reply, status, answer ? json_dumps(answer, JSON_COMPACT) : NULL);
    json_decref(answer);
}

/* ---- command line ----------------------------------------------------------------------------------------------- */

typedef struct api_call {
    cm__routes      *routes;
    const cm__query *query;
    cm__ctx         *ctx;
    const char      *words[WORDS_MOST];
    int              n_words;
    char             folder[256]; /* of the child process; "": this process answers */
    const char      *type;        /* of the answer */
} api_call;

/* Allowed options of each command. A key of the query is the option's name with '_' for '-'. */
#define RANKING                                                                                                        \
    "objective", "precision", "batch", "devices", "samples", "tokens", "epochs", "max_hours", "max_usd", "vendor",    \
        "provider", "price_basis", "where", "baseline", "port_hours", "rate", "seq", "optimizer", "runtime", "mode",  \
        "recompute", "price", "lora", "quantize", "max_devices", "clusters", "queue", "within", "budget",             \
        "global_batch", "carbon"
static const char *const ranking_options[] = {RANKING, NULL};
static const char *const script_options[] = {RANKING, "entry", "launcher", "scheduler", NULL};
static const char *const device_options[] = {
    "device", "precision", "batch", "seq", "optimizer", "runtime", "mode", "recompute", "lora", "quantize", "n", "tp",
    "pp", "dp", "cp", "ep", "zero", "micro_batch", "global_batch", "cluster", NULL};
static const char *const no_options[] = {NULL};

static void add_word(api_call *a, const char *word)
{
    if (a->n_words == WORDS_MOST) cm__fail(a->ctx, CM_ERR_LIMIT, "too many options");
    a->words[a->n_words++] = word;
}

static const char *option_name(cm__ctx *ctx, const char *key)
{
    char *name = cm__format(ctx, key[1] ? "--%s" : "-%s", key);
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return name;
}

/* Clients may name devices and clusters by id only, so that they cannot read files of the server's machine. */
static bool names_file(const char *key, const char *value)
{
    static const char *const profiles[] = {"devices", "device", "baseline", "cluster", "clusters"};
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(key, profiles[i]) == 0) return strchr(value, '/') || strcasestr(value, ".json");
    return false;
}

static void add_option(api_call *a, const char *key)
{
    const char *value = a->query->value(a->query->request, key), *name = option_name(a->ctx, key);
    if (!value || !*value) return;
    if (strlen(value) > VALUE_MOST) cm__fail(a->ctx, CM_ERR_LIMIT, "%s: more than %d characters", key, VALUE_MOST);
    if (names_file(key, value))
        cm__fail(a->ctx, CM_ERR_ARGUMENT, "%s: devices and clusters must be named by their ids", key);
    bool many = strcmp(key, "price") == 0; /* one --price option per item of the list */
    while (*value) {
        size_t length = many ? strcspn(value, ",") : strlen(value);
        if (length) add_word(a, cm__format(a->ctx, "%s=%.*s", name, (int)length, value));
        value += length + (value[length] == ',');
    }
}

/* ---- models ----------------------------------------------------------------------------------------------------- */

static bool is_description(const char *model)
{
    size_t name = strspn(model, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return name > 0 && model[name] == ':' && !strchr(model, '/');
}

noreturn static void unknown_model(api_call *a, const char *model)
{
    const char **names = cm__alloc_array(a->ctx, (size_t)cm_models(), sizeof *names);
    for (int32_t i = 0; i < cm_models(); i++) names[i] = cm_model(i)->id;
    const char *slash = strrchr(model, '/'), *last = slash ? slash + 1 : model; /* of "organisation/name" */
    const char *meant = strlen(last) <= 64 ? cm__nearest(last, names, (size_t)cm_models()) : NULL;
    cm__fail(a->ctx, CM_ERR_UNKNOWN, "no model '%.64s'%s%s%s", model, meant ? "; did you mean '" : "",
             meant ? meant : "", meant ? "'?" : "; /api/models lists them");
}

/* The name of a model for the program, which runs in the folder of the uploaded file, if there is one. */
static const char *checked_model(api_call *a, const char *model)
{
    char name[CM__UPLOAD_NAME], folder[sizeof a->folder];
    if (!model || !*model) cm__fail(a->ctx, CM_ERR_ARGUMENT, "the query names no model, such as model=resnet50");
    if (strlen(model) > VALUE_MOST) cm__fail(a->ctx, CM_ERR_LIMIT, "model: more than %d characters", VALUE_MOST);
    if (strncmp(model, "upload:", 7) == 0) {
        if (!cm__upload_find(a->routes->uploads, model + 7, folder, name))
            cm__fail(a->ctx, CM_ERR_UNKNOWN, "the server no longer has that file; upload it again");
        if (a->folder[1] && strcmp(a->folder, folder) != 0)
            cm__fail(a->ctx, CM_ERR_ARGUMENT, "only one of several networks can be a file: name the others");
        strcpy(a->folder, folder);
        return cm__format(a->ctx, "./%s", name);
    }
    if (cm_model_find(model)) return model;
    if (!is_description(model)) unknown_model(a, model);
    if (!a->folder[0]) strcpy(a->folder, "/");
    return model;
}

static void add_model(api_call *a) { add_word(a, checked_model(a, a->query->value(a->query->request, "model"))); }

/* ---- several networks and job files ------------------------------------------------------------------------------ */

static void release(void *tree) { json_decref(tree); }
static void release_text(void *text) { free(text); }

/* One network of a question: the members that a job file may have, as texts; the model is one that a client may name. */
static json_t *checked_network(api_call *a, json_t *given)
{
    static const char *const keys[] = {"weight", "samples", "tokens", "epochs", "seq", "batch"};
    json_t *network = json_pack("{s:s}", "model", checked_model(a, json_string_value(json_object_get(given, "model"))));
    if (!network) cm__fail(a->ctx, CM_ERR_ARGUMENT, "networks: a model has letters that are no UTF-8");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = json_string_value(json_object_get(given, keys[i]));
        if (value && *value) json_object_set_new(network, keys[i], json_string(value));
    }
    return network;
}

/* networks=[{"model": ..., "weight": ..., "samples": ...}, ...]: an option --job with the same list; false: not given. */
static bool add_networks(api_call *a)
{
    const char *text = a->query->value(a->query->request, "networks");
    if (!text || !*text) return false;
    if (strlen(text) > JOB_MOST) cm__fail(a->ctx, CM_ERR_LIMIT, "networks: more than %d characters", JOB_MOST);
    json_t *given = json_loads(text, 0, NULL), *job = json_object(), *list = json_array();
    cm__defer(a->ctx, release, given);
    cm__defer(a->ctx, release, job);
    json_object_set_new(job, "models", list);
    if (!json_is_array(given) || !json_array_size(given))
        cm__fail(a->ctx, CM_ERR_ARGUMENT, "networks is a list such as [{\"model\": \"resnet50\", \"weight\": \"2\"}]");
    for (size_t i = 0; i < json_array_size(given); i++)
        json_array_append_new(list, checked_network(a, json_array_get(given, i)));
    char *written = json_dumps(job, JSON_COMPACT);
    if (!written) cm__fail(a->ctx, CM_ERR_MEMORY, "out of memory");
    cm__defer(a->ctx, release_text, written);
    add_word(a, cm__format(a->ctx, "--job=%s", written));
    return true;
}

/* The text of a job file, which `job show` checks and gives back as JSON. It names files, but none is opened. */
static void add_job_text(api_call *a)
{
    const char *text = a->query->value(a->query->request, "text");
    if (!text || !*text) cm__fail(a->ctx, CM_ERR_ARGUMENT, "the query has no text: that of a job file");
    if (strlen(text) > JOB_MOST) cm__fail(a->ctx, CM_ERR_LIMIT, "a job file of more than %d characters", JOB_MOST);
    add_word(a, "show");
    add_word(a, "--"); /* the text may begin with a dash */
    add_word(a, cm__format(a->ctx, "%s\n", text)); /* with a line break it is no path */
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static int run(api_call *a, char **result, char **notes)
{
    cm__routes              *r = a->routes;
    const cm__serve_options *o = r->options;
    bool                     here = !a->folder[0];
    int                     *running = here ? &r->answers : &r->children;
    pthread_mutex_lock(&r->lock);
    while (*running >= (here ? ANSWERS_MOST : CHILDREN_MOST)) pthread_cond_wait(&r->ended, &r->lock);
    ++*running;
    pthread_mutex_unlock(&r->lock);
    int status = here ? o->answer(a->n_words, a->words, result, notes)
                      : cm__child_run(o->program, a->folder, a->n_words, a->words, result, notes);
    pthread_mutex_lock(&r->lock);
    --*running;
    pthread_cond_broadcast(&r->ended);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* The last line of the program's messages, without the program's name. */
static const char *reason_in(char *notes)
{
    static const char prefix[] = "centimani: ";
    if (!notes || !*notes) return "it could not be read";
    size_t length = strlen(notes);
    if (notes[length - 1] == '\n') notes[length - 1] = '\0';
    char *last = strrchr(notes, '\n');
    last = last ? last + 1 : notes;
    return strncmp(last, prefix, sizeof prefix - 1) == 0 ? last + sizeof prefix - 1 : last;
}

static void answer_call(api_call *a, cm__reply *reply)
{
    enum { DONE = 0, USAGE = 2, NOTHING_FITS = 3 };
    const char *question = a->folder;
    size_t      size;
    char       *result = NULL, *notes = NULL;
    for (int i = 0; i < a->n_words; i++) question = cm__format(a->ctx, "%s\n%s", question, a->words[i]);
    if ((result = cm__cache_find(a->routes->cache, question, &size))) {
        reply_text(reply, 200, a->type, result);
        return;
    }
    int status = run(a, &result, &notes);
    if ((status == DONE || status == NOTHING_FITS) && result && *result) {
        cm__cache_keep(a->routes->cache, question, result, strlen(result));
        reply_text(reply, 200, a->type, result);
        result = NULL;
    } else cm__reply_error(reply, status == USAGE ? 400 : 422, "%s", reason_in(notes));
    free(result);
    free(notes);
}

/* ---- table of routes -------------------------------------------------------------------------------------------- */

static const struct {
    const char        *path, *command;
    const char *const *options;
    bool               model, networks; /* networks: may be given instead */
    const char        *flags[2]; /* additional options; NULL: none */
    const char        *type;     /* of the answer */
} routes[] = {
    {"/api/models", "models", no_options, false, false, {"--json"}, JSON},
    {"/api/devices", "devices", no_options, false, false, {"--json"}, JSON},
    {"/api/version", "version", no_options, false, false, {"--json"}, JSON},
    {"/api/rank", "rank", ranking_options, true, true, {"--json"}, JSON},
    {"/api/job", "job", no_options, false, false, {NULL}, JSON},
    {"/api/device", "explain", device_options, true, false, {"--json", "--full"}, JSON},
    {"/api/graph", "graph", no_options, true, false, {"--json"}, JSON},
    {"/api/script", "rank", script_options, true, true, {"--job-script=-"}, "text/plain; charset=utf-8"},
    {"/api/report", "report", ranking_options, true, true, {"-o=-"}, "text/html; charset=utf-8"},
};

/* "/" is index.html; the other files of the page are at their names. The list of embedded files is all there is. */
static bool give_page(const char *path, cm__reply *reply)
{
    const cm__web_file *f = path[0] == '/' ? cm__web_file_named(path[1] ? path + 1 : "index.html") : NULL;
    if (!f) return false;
    *reply = (cm__reply){200, f->type, (char *)(uintptr_t)f->text, f->size, true};
    return true;
}

static bool make_command(api_call *a)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(a->query->path, routes[i].path) != 0) continue;
        add_word(a, routes[i].command);
        if (strcmp(routes[i].command, "job") == 0) add_job_text(a);
        if (routes[i].model && !(routes[i].networks && add_networks(a))) add_model(a);
        for (int k = 0; k < 2 && routes[i].flags[k]; k++) add_word(a, routes[i].flags[k]);
        a->type = routes[i].type;
        for (int k = 0; routes[i].options[k]; k++) add_option(a, routes[i].options[k]);
        return true;
    }
    return false;
}

void cm__routes_get(cm__routes *r, const cm__query *query, cm__reply *reply)
{
    cm_diag diag = {0};
    if (give_page(query->path, reply)) return;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) {
        cm__reply_error(reply, 503, "out of memory");
        return;
    }
    api_call *volatile a = NULL;
    if (setjmp(ctx->trap)) {
        unsigned status = ctx->status == CM_ERR_MEMORY ? 503 : ctx->status == CM_ERR_UNKNOWN ? 404 : 400;
        cm__ctx_free(ctx);
        cm__reply_error(reply, status, "%s", diag.reason);
        return;
    }
    a = cm__alloc(ctx, sizeof *a);
    a->routes = r;
    a->query = query;
    a->ctx = ctx;
    if (make_command(a)) answer_call(a, reply);
    else cm__reply_error(reply, 404, "there is nothing at this address; /openapi.json lists the addresses");
    cm__ctx_free(ctx);
}

/* ---- uploads ---------------------------------------------------------------------------------------------------- */

static const char *only_model(const void *request, const char *key)
{
    return strcmp(key, "model") == 0 ? request : NULL;
}

void cm__routes_uploaded(cm__routes *r, const char *id, cm__reply *reply)
{
    char      model[CM__UPLOAD_ID + 8], folder[256], name[CM__UPLOAD_NAME];
    cm__query query = {.path = "/api/graph", .value = only_model, .request = model};
    snprintf(model, sizeof model, "upload:%s", id);
    if (!cm__upload_find(r->uploads, id, folder, name)) {
        cm__reply_error(reply, 503, "too many files are being uploaded; try again in a few seconds");
        return;
    }
    cm__routes_get(r, &query, reply);
    if (reply->status != 200) {
        cm__upload_forget(r->uploads, id);
        return;
    }
    json_t *graph = json_loadb(reply->text, reply->size, 0, NULL);
    json_t *answer = json_pack("{s:i,s:s,s:s,s:O?,s:O?}", "schema", 1, "model", model, "name", name, "params",
                               json_object_get(graph, "params"), "warnings", json_object_get(graph, "warnings"));
    free(reply->text);
    reply_json(reply, 200, answer ? json_dumps(answer, JSON_COMPACT) : NULL);
    json_decref(answer);
    json_decref(graph);
}
