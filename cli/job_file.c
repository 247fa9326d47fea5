/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_file.c - `rank --job FILE`: a question in a YAML file. docs/plans.md describes the keys.
 *
 * A value that begins with '{' or has a line break is the job itself (JSON is YAML), as the server passes it on.
 *
 * The file is not trusted: size, depth and the number of values are limited; anchors, aliases and tags are refused, so
 * no value is larger than its text. Every other key is an option of `rank`, and its value is stored as the command line
 * stores it.
 */
#include <ctype.h>
#include <string.h>
#include <yaml.h>
#include "base/file.h"
#include "base/text.h"
#include "cli.h"

#define FILE_MOST (64 << 10)
#define DEPTH_MOST 6
#define VALUES_MOST 2000
#define NAMES_MOST 160

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

typedef enum kind { SCALAR, LIST, MAP } kind;

typedef struct value {
    kind          kind;
    int           line;
    const char   *key;  /* of a member of a map; NULL: none */
    const char   *text; /* of a scalar */
    struct value *first, *last, *next;
} value;

typedef struct reader {
    cm__ctx      *ctx;
    yaml_parser_t parser;
    int32_t       values;
} reader;

static void free_parser(void *parser) { yaml_parser_delete(parser); }

noreturn static void fail_at(cm__ctx *ctx, int line, const char *reason, const char *about)
{
    cm__place(ctx, "line %d", line);
    cm__fail(ctx, CM_ERR_FORMAT, "%s%.64s%s", reason, about, *about ? "'" : "");
}

/* The next event; its texts are copied, so that it can be deleted at once. */
static yaml_event_type_t next(reader *r, value *v, bool *names)
{
    yaml_event_t event;
    if (!yaml_parser_parse(&r->parser, &event)) {
        const char *problem = r->parser.problem ? r->parser.problem : "it is not YAML";
        fail_at(r->ctx, (int)r->parser.problem_mark.line + 1, problem, "");
    }
    const yaml_char_t *anchor = NULL, *tag = NULL;
    *v = (value){.line = (int)event.start_mark.line + 1};
    if (event.type == YAML_SCALAR_EVENT) {
        v->text = cm__text_copy_n(r->ctx, (const char *)event.data.scalar.value, event.data.scalar.length);
        if (strlen(v->text) != event.data.scalar.length) v->text = "";
        anchor = event.data.scalar.anchor, tag = event.data.scalar.tag;
    } else if (event.type == YAML_SEQUENCE_START_EVENT) {
        v->kind = LIST, anchor = event.data.sequence_start.anchor, tag = event.data.sequence_start.tag;
    } else if (event.type == YAML_MAPPING_START_EVENT) {
        v->kind = MAP, anchor = event.data.mapping_start.anchor, tag = event.data.mapping_start.tag;
    }
    *names = anchor || tag || event.type == YAML_ALIAS_EVENT;
    yaml_event_type_t type = event.type;
    yaml_event_delete(&event);
    return type;
}

static yaml_event_type_t next_plain(reader *r, value *v)
{
    bool              names;
    yaml_event_type_t type = next(r, v, &names);
    if (names) fail_at(r->ctx, v->line, "anchors, aliases and tags are not read: write the value out", "");
    if (++r->values > VALUES_MOST) fail_at(r->ctx, v->line, "too many values for a job", "");
    return type;
}

static value *keep(reader *r, const value *v)
{
    value *kept = cm__alloc(r->ctx, sizeof *kept);
    *kept = *v;
    return kept;
}

static void append(value *to, value *child)
{
    if (to->last) to->last->next = child;
    else to->first = child;
    to->last = child;
}

static value *read_value(reader *r, yaml_event_type_t type, const value *begun, int depth)
{
    value  member, *v = keep(r, begun);
    if (type == YAML_SCALAR_EVENT) return v;
    if (type != YAML_SEQUENCE_START_EVENT && type != YAML_MAPPING_START_EVENT)
        fail_at(r->ctx, begun->line, "a value is missing", "");
    if (depth == DEPTH_MOST) fail_at(r->ctx, begun->line, "lists and keys are nested too deeply for a job", "");
    yaml_event_type_t end = v->kind == LIST ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
    while ((type = next_plain(r, &member)) != end) {
        const char *key = NULL;
        if (v->kind == MAP) {
            key = type == YAML_SCALAR_EVENT ? member.text : "";
            if (!*key || strlen(key) > 64) fail_at(r->ctx, member.line, "a key is a short text", "");
            for (const value *m = v->first; m; m = m->next)
                if (strcmp(m->key, key) == 0) fail_at(r->ctx, member.line, "a second time the key '", key);
            type = next_plain(r, &member);
        }
        value *child = read_value(r, type, &member, depth + 1);
        child->key = key;
        append(v, child);
    }
    return v;
}

static value *read_document(cm__ctx *ctx, const char *text, size_t size)
{
    reader *r = cm__alloc(ctx, sizeof *r);
    value   v;
    r->ctx = ctx;
    if (!yaml_parser_initialize(&r->parser)) cm__fail(ctx, CM_ERR_MEMORY, "out of memory");
    cm__defer(ctx, free_parser, &r->parser);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, size);
    while (next_plain(r, &v) != YAML_DOCUMENT_START_EVENT)
        if (r->values > 1) fail_at(ctx, 1, "the file has no job", "");
    yaml_event_type_t type = next_plain(r, &v);
    if (type != YAML_MAPPING_START_EVENT)
        fail_at(ctx, v.line, "a job begins with a key, such as models: [resnet50]", "");
    value *root = read_value(r, type, &v, 0);
    next_plain(r, &v);
    if (next_plain(r, &v) != YAML_STREAM_END_EVENT) fail_at(ctx, v.line, "a file has one job", "");
    return root;
}

/* ---- the keys ---------------------------------------------------------------------------------------------------- */

typedef struct job_reader {
    cm__ctx       *ctx;
    const command *command;
    settings      *s;
    const char    *path;
} job_reader;

/* "max_devices" -> "--max-devices"; NULL: rank has no such option, or a file cannot have it. */
static const option *option_of(const job_reader *j, const char *key)
{
    static const char *const others[] = {"--job", "--json", "--csv", "--help", "--job-script"};
    char                     name[80] = "-";
    size_t                   used = strlen(key) > 1 ? 2 : 1;
    name[1] = '-';
    for (; *key && used + 1 < sizeof name; key++) name[used++] = *key == '_' ? '-' : *key;
    name[used] = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) return NULL;
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & j->command->takes) && options[i].help && strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

/* own: keys that are possible beside options; with_options: those, too. */
noreturn static void unknown_key(job_reader *j, const value *v, const char *const *own, size_t n, bool with_options)
{
    const char *names[NAMES_MOST];
    size_t      count = 0;
    for (size_t i = 0; i < n; i++) names[count++] = own[i];
    for (int i = 0; with_options && i < n_options && count < NAMES_MOST; i++)
        if ((options[i].taken_by & j->command->takes) && options[i].help)
            names[count++] = options[i].name + strspn(options[i].name, "-");
    const char *near = cm__nearest(v->key, names, count);
    cm__place(j->ctx, "line %d", v->line);
    if (near) cm__fail(j->ctx, CM_ERR_FORMAT, "there is no key '%s'; did you mean '%s'?", v->key, near);
    cm__fail(j->ctx, CM_ERR_FORMAT, "there is no key '%s'%s", v->key,
             with_options ? "; `centimani help rank all` lists the options, which are keys with _ for -" : "");
}

/* Stores a value as an option; a message of the option has the line before it. */
static void store(job_reader *j, const option *o, const value *v, const char *text)
{
    say_at(cm__format(j->ctx, "%s: line %d: ", j->path, v->line));
    bool stored = o->store(o, j->s, (char *)j->s + o->field, text);
    say_at(NULL);
    if (!stored) cm__fail(j->ctx, CM_ERR_ARGUMENT, "%s", "");
}

static const char *scalar(job_reader *j, const value *v)
{
    if (v->kind != SCALAR || !*v->text)
        fail_at(j->ctx, v->line, "one value is expected for '", v->key ? v->key : "an entry");
    return v->text;
}

static const char *joined(job_reader *j, const value *list)
{
    const char *text = "";
    for (const value *v = list->first; v; v = v->next)
        text = cm__format(j->ctx, "%s%s%s", text, *text ? "," : "", scalar(j, v));
    if (!*text) fail_at(j->ctx, list->line, "a list is empty: '", list->key);
    return text;
}

static void set_option(job_reader *j, const option *o, const value *v)
{
    if (!o->argument) {
        const char *text = scalar(j, v);
        bool        on = strcmp(text, "true") == 0;
        if (!on && strcmp(text, "false") != 0) fail_at(j->ctx, v->line, "true or false is expected for '", v->key);
        if (on) store(j, o, v, NULL);
    } else if (v->kind == SCALAR) store(j, o, v, scalar(j, v));
    else if (v->kind == MAP) /* price: {nvidia-h200: 3.5} */
        for (const value *m = v->first; m; m = m->next)
            store(j, o, m, cm__format(j->ctx, "%s=%s", m->key, scalar(j, m)));
    else if (strstr(o->help, "may be repeated"))
        for (const value *m = v->first; m; m = m->next) store(j, o, m, scalar(j, m));
    else store(j, o, v, joined(j, v));
}

/* Numbers of one network are read by the options of the same names. */
static void set_network(job_reader *j, const value *v, network_size *size, double *weight)
{
    static const char *const keys[] = {"model", "weight", "samples", "tokens", "epochs", "seq", "batch"};
    settings                *s = j->s;
    cm_rank_options          rank = s->rank;
    cm__graph_request        graph = s->graph;
    bool                     known = false;
    s->rank.samples = s->rank.tokens = s->rank.epochs = 0;
    s->graph.load.seq = s->graph.batch = 0;
    for (const value *m = v->first; m; m = m->next, known = false) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known |= strcmp(m->key, keys[i]) == 0;
        if (!known) unknown_key(j, m, keys, sizeof keys / sizeof *keys, false);
        if (strcmp(m->key, "model") == 0) continue;
        if (strcmp(m->key, "weight") != 0) set_option(j, option_of(j, m->key), m);
        else if (!cm__parse_real(cm__span_of(scalar(j, m)), weight) || !(*weight > 0))
            fail_at(j->ctx, m->line, "a weight is a number above 0, not '", scalar(j, m));
    }
    *size = (network_size){s->rank.samples, s->rank.tokens, s->rank.epochs, s->graph.load.seq, s->graph.batch};
    s->rank = rank;
    s->graph = graph;
}

static void add_network(job_reader *j, const value *v)
{
    settings    *s = j->s;
    const value *model = v;
    double       weight = 0;
    if (s->n_operands == OPERANDS_MAX) fail_at(j->ctx, v->line, "too many models in one job", "");
    if (v->kind == MAP) {
        for (model = v->first; model && strcmp(model->key, "model") != 0;) model = model->next;
        if (!model) fail_at(j->ctx, v->line, "a network needs the key '", "model");
        set_network(j, v, &s->sizes[s->n_operands], &weight);
    }
    const char *name = scalar(j, model);
    s->operands[s->n_operands++] = weight > 0 && weight != 1 ? cm__format(j->ctx, "%s*%.17g", name, weight) : name;
}

static void set_models(job_reader *j, const value *v)
{
    if (v->kind == SCALAR) add_network(j, v);
    else if (v->kind == MAP) fail_at(j->ctx, v->line, "models is a list: each entry begins with a dash", "");
    else
        for (const value *m = v->first; m; m = m->next) add_network(j, m);
}

static void set_gates(job_reader *j, const value *v)
{
    static const char *const keys[] = {"max_step", "max_memory", "min_throughput"};
    if (v->kind != MAP) fail_at(j->ctx, v->line, "gates has the keys max_step, max_memory and min_throughput", "");
    for (const value *m = v->first; m; m = m->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known |= strcmp(m->key, keys[i]) == 0;
        if (!known) unknown_key(j, m, keys, sizeof keys / sizeof *keys, false);
        set_option(j, option_of(j, m->key), m);
    }
}

static void set_offers(job_reader *j, const value *v) { j->s->job_offers = scalar(j, v); }

static void set_deadline(job_reader *j, const value *v) { set_option(j, option_of(j, "within"), v); }

static void set_schema(job_reader *j, const value *v)
{
    if (strcmp(scalar(j, v), "1") != 0) fail_at(j->ctx, v->line, "this program reads schema 1, not '", v->text);
}

/* Keys that are no option, or more than one. */
static const struct {
    const char *name;
    void (*set)(job_reader *j, const value *v);
} own_keys[] = {{"schema", set_schema}, {"models", set_models}, {"gates", set_gates}, {"deadline", set_deadline},
                {"offers", set_offers}};
#define OWN_KEYS (sizeof own_keys / sizeof *own_keys)

static void set_key(job_reader *j, const value *v)
{
    const char *names[OWN_KEYS];
    for (size_t i = 0; i < OWN_KEYS; i++) {
        names[i] = own_keys[i].name;
        if (strcmp(v->key, names[i]) != 0) continue;
        own_keys[i].set(j, v);
        return;
    }
    const option *o = option_of(j, v->key);
    if (!o) unknown_key(j, v, names, OWN_KEYS, true);
    set_option(j, o, v);
}

/* Numbers of the only network are those of the question. */
static void settle_only(settings *s)
{
    const network_size *n = &s->sizes[0];
    if (s->n_operands != 1) return;
    if (n->samples > 0 || n->tokens > 0) s->rank.samples = n->samples, s->rank.tokens = n->tokens;
    if (n->epochs > 0) s->rank.epochs = n->epochs;
    if (n->seq) s->graph.load.seq = n->seq;
    if (n->batch) s->graph.batch = n->batch;
}

/* A deadline and a budget are limits of single devices, too. */
void settle_job(settings *s)
{
    if (!s->job_file || s->job.max_devices) return;
    if (s->job.within_s > 0) s->rank.max_hours = s->job.within_s / 3600;
    if (s->job.budget_usd > 0) s->rank.max_usd = s->job.budget_usd;
    s->job.within_s = s->job.budget_usd = 0;
}

static void write_json_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') fprintf(out, "\\u%04x", (unsigned char)*text);
        else if (*text == '"' || *text == '\\') fprintf(out, "\\%c", *text);
        else putc(*text, out);
    }
    putc('"', out);
}

/* A JSON string for every scalar. */
static void write_json(FILE *out, const value *v)
{
    if (v->kind == SCALAR) {
        write_json_text(out, v->text);
        return;
    }
    putc(v->kind == MAP ? '{' : '[', out);
    for (const value *m = v->first; m; m = m->next) {
        if (m != v->first) fputs(", ", out);
        if (m->key) write_json_text(out, m->key), fputs(": ", out);
        write_json(out, m);
    }
    putc(v->kind == MAP ? '}' : ']', out);
}

static const value *parse(cm__ctx *ctx, const command *c, settings *s, const char *path, const char *text, size_t size)
{
    job_reader j = {ctx, c, s, path};
    value     *root = read_document(ctx, text, size);
    for (const value *v = root->first; v; v = v->next) set_key(&j, v);
    if (!s->n_operands) fail_at(ctx, root->line, "a job needs models: such as models: [resnet50, bert-large]", "");
    settle_only(s);
    if (!s->show_job) return root;
    fputs("{\"schema\": 1, \"command\": \"job\", \"job\": ", results());
    write_json(results(), root);
    fputs("}\n", results());
    return root;
}

void job_parse(cm__ctx *ctx, const command *c, settings *s, const char *path, const char *text, size_t size)
{
    parse(ctx, c, s, path, text, size);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The job file that the command has read, for messages about its values; NULL: none. */
static _Thread_local const value *asked;
static _Thread_local const char  *asked_path;

static bool is_of_name(char c) { return c == '-' || c == '_' || c == '.' || c == '/' || isalnum((unsigned char)c); }

/* Whether a name is the value, or a part of it: "a,b", "resnet50*3", "price<3". */
static bool is_entry(const char *text, const char *name, size_t length)
{
    for (const char *at = text; length && (at = strstr(at, name)); at++)
        if ((at == text || !is_of_name(at[-1])) && !is_of_name(at[length])) return true;
    return false;
}

static int line_with(const value *v, const char *name)
{
    int line = v->kind == SCALAR && is_entry(v->text, name, strlen(name)) ? v->line : 0;
    for (const value *m = v->first; m && !line; m = m->next) line = line_with(m, name);
    return line;
}

/* Messages of the library are about a file that the job names, or quote the name that they are about. */
const char *job_place(const cm_diag *diag, char *buf, size_t size)
{
    char        name[CLI_PATH_MAX] = "";
    const char *open = strchr(diag->reason, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
    if (*diag->file) cm__join(name, sizeof name, diag->file, NULL);
    else if (close) snprintf(name, sizeof name, "%.*s", (int)(close - open - 1), open + 1);
    int line = asked ? line_with(asked, name) : 0;
    if (line) snprintf(buf, size, "%s: line %d: ", asked_path, line);
    else *buf = 0;
    return buf;
}

void forget_job(settings *s)
{
    cm__ctx_free(s->job_ctx);
    s->job_ctx = NULL;
    asked = NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

bool is_job_text(const char *job) { return *job == '{' || strpbrk(job, "\n\r"); }

static void parse_at(cm__ctx *ctx, const command *c, settings *s, const char *path)
{
    if (is_job_text(path)) {
        ctx->file = "job";
        job_parse(ctx, c, s, ctx->file, path, strlen(path));
        return;
    }
    ctx->file = cm__text_copy(ctx, path);
    cm__mapping *m = cm__file_map(ctx, path, FILE_MOST, "a job has a few kB");
    asked = parse(ctx, c, s, ctx->file, (const char *)m->bytes, m->size);
    asked_path = ctx->file;
    cm__file_unmap(m);
}

bool read_job(const command *c, settings *s, const char *path)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!ctx) return say("out of memory"), false;
    if (setjmp(ctx->trap)) {
        cm_status status = cm__ctx_abandon(ctx);
        if (*diag.reason) say_failed(status, &diag); /* otherwise an option has said what is wrong */
        return false;
    }
    parse_at(ctx, c, s, path);
    ctx->diag = NULL;
    s->job_ctx = ctx;
    return true;
}
