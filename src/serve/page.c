/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - the page with the answer to the question of its address inside.
 *
 * The address of the page contains the question as the fields of its form (web/question.js). The server translates them
 * into a query for the ranking, and writes query and answer into the empty element `first` of the document. The page
 * takes that answer if its own query is the same; otherwise it asks. So a question that is not translated here costs
 * time only.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "report/html/html.h"
#include "serve/serve.h"

#define HOLE "id=\"first\">" /* the answer is inserted after it */
#define FIELDS_MOST 40

typedef struct question {
    const char *pairs[2 * FIELDS_MOST + 1]; /* key, value, ..., NULL */
    int         n;
} question;

struct cm__page {
    cm__routes *routes;
    cm__ctx    *ctx;
    question    query;             /* n 0: none */
    int         at;                /* the part that is being sent: FORM, ANSWER or REST */
    const char *part, *after;      /* the rest of it; the part after the answer */
    size_t      left, after_left;
    char       *answer;            /* malloc'ed */
};

/* ---- values of the form's fields --------------------------------------------------------------------------------- */

static bool is_whole(const char *text, size_t length)
{
    return length > 0 && length < 16 && text[0] != '0' && strspn(text, "0123456789") >= length;
}

/* "24h" and "3d" as hours. Other deadlines are left to the page. */
static const char *hours(cm__ctx *ctx, const char *text, bool many)
{
    size_t digits = strspn(text, "0123456789");
    bool   days = strcmp(text + digits, "d") == 0, in_hours = !text[digits] || strcmp(text + digits, "h") == 0;
    if (!is_whole(text, digits) || digits > 6 || !(days || in_hours)) return NULL;
    return cm__format(ctx, many ? "%lldh" : "%lld", strtoll(text, NULL, 10) * (days ? 24 : 1));
}

static const char *dollars(cm__ctx *ctx, const char *text, bool many)
{
    (void)ctx, (void)many;
    return is_whole(text, strlen(text)) ? text : NULL;
}

static const char *count(cm__ctx *ctx, const char *text, bool many)
{
    char *copy = cm__text_copy(ctx, text), *end = copy;
    (void)many;
    for (const char *c = text; *c; c++)
        if (!strchr(", _", *c)) *end++ = *c;
    *end = '\0';
    return copy;
}

/* A field of the form, and the option of the ranking on one device and on many. */
static const struct {
    const char *field, *one, *many;
    const char *(*value)(cm__ctx *ctx, const char *text, bool many); /* NULL: not translated; no function: unchanged */
} fields[] = {
    {"model", "model", "model", NULL},
    {"data", "samples", "samples", count}, /* or tokens, by the unit */
    {"epochs", "epochs", "epochs", NULL},
    {"within", "max_hours", "within", hours},
    {"budget", "max_usd", "budget", dollars},
    {"max_devices", NULL, "max_devices", NULL},
    {"clusters", NULL, "clusters", NULL},
    {"queue", NULL, "queue", NULL},
    {"carbon", NULL, "carbon", NULL},
    {"batch", "batch", "global_batch", NULL},
    {"baseline", "baseline", "", NULL}, /* ignored on many devices */
    {"precision", "precision", "precision", NULL},
    {"seq", "seq", "seq", NULL},
    {"optimizer", "optimizer", "optimizer", NULL},
    {"lora", "lora", "lora", NULL},
    {"quantize", "quantize", "quantize", NULL},
    {"recompute", "recompute", "recompute", NULL},
    {"price_basis", "price_basis", "price_basis", NULL},
    {"price", "price", "price", NULL},
    {"where", "where", "where", NULL},
    {"devices", "devices", "devices", NULL},
    {"networks", NULL, NULL, NULL}, /* several networks are left to the page */
};
#define N_FIELDS (sizeof fields / sizeof *fields)

/* request: pairs of a key and its value, of which the last key is NULL. */
static const char *value_in(const void *request, const char *key)
{
    for (const char *const *pair = request; pair[0]; pair += 2)
        if (strcmp(pair[0], key) == 0) return pair[1];
    return NULL;
}

static const char *field_of(const cm__query *address, const char *name)
{
    const char *value = address->value(address->request, name);
    return value && *value ? value : NULL;
}

static void add(question *q, const char *key, const char *value)
{
    q->pairs[q->n++] = key;
    q->pairs[q->n++] = value;
}

static bool add_field(cm__ctx *ctx, question *q, const cm__query *address, size_t i, bool tokens)
{
    bool        many = field_of(address, "max_devices");
    const char *text = field_of(address, fields[i].field), *key = many ? fields[i].many : fields[i].one;
    if (!text || (key && !*key)) return true;
    if (!key || isspace((unsigned char)text[0]) || isspace((unsigned char)text[strlen(text) - 1])) return false;
    const char *value = fields[i].value ? fields[i].value(ctx, text, many) : text;
    if (value) add(q, tokens && fields[i].value == count ? "tokens" : key, cm__text_copy(ctx, value));
    return value;
}

/* The ranking's query for the fields of an address. Without a result, the page asks itself. */
static void translate(cm__ctx *ctx, question *q, const cm__query *address)
{
    const char *unit = field_of(address, "unit"), *objective = field_of(address, "objective");
    bool        tokens = unit && strcmp(unit, "tokens") == 0, known = !unit || tokens || strcmp(unit, "samples") == 0;
    for (size_t i = 0; known && i < N_FIELDS; i++) known = add_field(ctx, q, address, i, tokens);
    if (!known || !value_in(q->pairs, "model")) *q = (question){.n = 0};
    else if (objective) add(q, "objective", cm__text_copy(ctx, objective));
    else if (field_of(address, "budget") && !field_of(address, "within")) add(q, "objective", "time");
    else if (!field_of(address, "max_devices")) add(q, "objective", "cost");
}

static bool is_empty(const cm__query *address)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (field_of(address, fields[i].field)) return false;
    return !field_of(address, "unit") && !field_of(address, "objective");
}

/* The first question as the fields of an address. */
static void read_first(cm__ctx *ctx, question *q)
{
    char *rest = NULL, *text = cm__text_copy(ctx, CM__FIRST_QUESTION);
    for (char *word = strtok_r(text, "=&", &rest); word && q->n < 2 * FIELDS_MOST; word = strtok_r(NULL, "=&", &rest))
        q->pairs[q->n++] = word;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* {"query": {...}, "answer": {...}} */
static char *inside_script(const char *query, const char *answer)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("{\"query\":", out);
    cm__html_json(out, query);
    fputs(",\"answer\":", out);
    cm__html_json(out, answer);
    putc('}', out);
    bool written = !ferror(out);
    if (fclose(out) == 0 && written) return text;
    free(text);
    return NULL;
}

/* The query and its answer, malloc'ed; NULL: the page asks itself, and reports what is wrong. */
static char *compute(cm__routes *routes, const question *q)
{
    cm__query query = {.path = "/api/rank", .value = value_in, .request = q->pairs};
    cm__reply reply;
    if (!q->n) return NULL;
    cm__routes_get(routes, &query, &reply);
    json_t *asked = reply.status == 200 && reply.text ? json_object() : NULL;
    for (int i = 0; asked && i < q->n; i += 2) json_object_set_new(asked, q->pairs[i], json_string(q->pairs[i + 1]));
    char *asked_text = asked ? json_dumps(asked, JSON_COMPACT) : NULL;
    char *text = asked_text ? inside_script(asked_text, reply.text) : NULL;
    free(asked_text);
    json_decref(asked);
    if (!reply.kept) free(reply.text);
    return text;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

enum { FORM, ANSWER, REST, END };

static void begin(cm__page *page, const cm__query *address)
{
    question            first = {.n = 0};
    cm__query           first_address = {.value = value_in, .request = first.pairs};
    const cm__web_file *f = cm__web_file_named("index.html");
    const char         *hole = f ? strstr(f->text, HOLE) : NULL;
    if (is_empty(address)) read_first(page->ctx, &first);
    translate(page->ctx, &page->query, first.n ? &first_address : address);
    page->part = f ? f->text : "";
    page->left = hole ? (size_t)(hole - f->text) + strlen(HOLE) : f ? f->size : 0;
    page->after = page->part + page->left;
    page->after_left = f ? f->size - page->left : 0;
}

cm__page *cm__page_new(cm__routes *routes, const cm__query *address)
{
    cm_diag   diag = {0};
    cm__ctx  *ctx = cm__ctx_new(&diag);
    if (!ctx) return NULL;
    if (setjmp(ctx->trap)) {
        cm__ctx_free(ctx);
        return NULL;
    }
    cm__page *page = cm__alloc(ctx, sizeof *page);
    page->routes = routes;
    page->ctx = ctx;
    begin(page, address);
    ctx->diag = NULL;
    return page;
}

void cm__page_free(cm__page *page)
{
    if (!page) return;
    free(page->answer);
    cm__ctx_free(page->ctx); /* contains the page */
}

/* Start to send the next part of the document; the answer is computed when it is due. */
static void advance(cm__page *page)
{
    if (++page->at == ANSWER) {
        page->answer = compute(page->routes, &page->query);
        page->part = page->answer ? page->answer : "";
        page->left = strlen(page->part);
    } else if (page->at == REST) {
        page->part = page->after;
        page->left = page->after_left;
    }
}

size_t cm__page_read(cm__page *page, char *buf, size_t size)
{
    while (!page->left && page->at < END) advance(page);
    size_t length = page->left < size ? page->left : size;
    memcpy(buf, page->part, length);
    page->part += length;
    page->left -= length;
    return length;
}

void cm__page_prepare(cm__routes *routes)
{
    const char *const nothing[] = {NULL};
    cm__query         address = {.value = value_in, .request = nothing};
    cm__page         *page = cm__page_new(routes, &address);
    if (page) free(compute(routes, &page->query));
    cm__page_free(page);
}
