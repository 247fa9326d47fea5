/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices_show.c - print everything that is known about one device or cluster as text.
 *
 * It walks over the JSON of the profile, so every member is shown: texts first, then every number with its kind, source
 * and date, then prices, fits and notes, and finally the sources.
 */
#include <string.h>
#include "base/text.h"
#include "report/json/json.h"
#include "report/render.h"
#include "report/table.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))
#define LABEL_WIDTH 18
#define INDENT_WIDTH 5
#define ELEMENTS_MAX 64 /* of a list of texts; the others are only counted */

typedef struct view {
    cm__ctx      *ctx;
    FILE         *out;
    const json_t *profile, *sources;
    const char  **title; /* of the next list; NULL: already printed */
} view;

/* ---- values as text --------------------------------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool is_number(const json_t *value) { return json_object_get(value, "value") && json_object_get(value, "unit"); }

static const char *joined(cm__ctx *ctx, const char *left, const char *separator, const char *right)
{
    return *left && *right ? cm__format(ctx, "%s%s%s", left, separator, right) : *left ? left : right;
}

/* Texts, plain numbers and lists of them as text. Numbers with a source are omitted: they have their own table. */
static const char *words(cm__ctx *ctx, const json_t *value)
{
    const char *text = "", *key;
    json_t     *member;
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_boolean(value)) return json_is_true(value) ? "yes" : "no";
    if (json_is_number(value)) return cm__format(ctx, "%.12g", json_number_value(value));
    if (is_number(value)) return "";
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        const char *part = words(ctx, member);
        bool        plain = strcmp(key, "name") == 0 || strcmp(key, "op") == 0;
        if (*part) text = joined(ctx, text, ", ", plain ? part : cm__format(ctx, "%s %s", key, part));
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        if (i == ELEMENTS_MAX) return cm__format(ctx, "%s and %zu more", text, json_array_size(value) - i);
        text = joined(ctx, text, json_is_object(element) ? "; " : ", ", words(ctx, element));
    }
    return text;
}

/* "[3]": the position of a source in the list at the end of the report. */
static const char *source_mark(const view *v, const char *wanted)
{
    int         index = 0;
    const char *key;
    json_t     *unused;
    json_object_foreach((json_t *)(uintptr_t)v->sources, key, unused) {
        index++;
        if (wanted && strcmp(key, wanted) == 0) return cm__format(v->ctx, "[%d]", index);
    }
    return "-";
}

static const char *date_of(const view *v, const json_t *object)
{
    const char *date = text_at(object, "date");
    if (!date) date = text_at(json_object_get(v->sources, text_at(object, "source")), "date");
    return date ? cm__printable(v->ctx, date) : "-";
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static void heading(const view *v, bool of_cluster)
{
    static const char *const elsewhere[] = {"schema", "id",     "collectives", "prices",
                                            "fits",   "limits", "notes",       "sources"};
    const char *key;
    json_t     *value;
    fprintf(v->out, "# centimani %s, %s %s\n", CM_VERSION, of_cluster ? "cluster" : "device",
            text_at(v->profile, "id"));
    json_object_foreach((json_t *)(uintptr_t)v->profile, key, value) {
        int32_t i = 0;
        while (i < COUNT(elsewhere) && strcmp(key, elsewhere[i])) i++;
        if (i == COUNT(elsewhere)) cm__print_note(v->ctx, v->out, "# ", key, LABEL_WIDTH, words(v->ctx, value));
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* The name of an element, or for a collective its operation, algorithm and number of devices. */
static const char *element_name(cm__ctx *ctx, const json_t *element)
{
    const char *name = text_at(element, "name");
    if (name) return name;
    return cm__format(ctx, "%s %s %lld", text_at(element, "op"), text_at(element, "algorithm"),
                      (long long)json_integer_value(json_object_get(element, "devices")));
}

typedef void visitor(const view *v, const cm__table *table, const char *label, const json_t *number);

static void each_number(const view *v, const cm__table *table, const char *label, const json_t *value, visitor *visit)
{
    const char *key;
    json_t     *member;
    if (is_number(value)) {
        visit(v, table, label, value);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
        if (!json_is_string(member)) each_number(v, table, joined(v->ctx, label, " ", key), member, visit);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        if (json_is_object(element) && (text_at(element, "name") || text_at(element, "algorithm")))
            each_number(v, table, joined(v->ctx, label, " ", element_name(v->ctx, element)), element, visit);
    }
}

static const char *amount(cm__ctx *ctx, const json_t *number)
{
    char        buf[32];
    double      value = json_number_value(json_object_get(number, "value"));
    const char *unit = text_at(number, "unit");
    if (strcmp(unit, "1") == 0) return cm__format(ctx, "%.7g  ", value);
    if (strcmp(unit, "B") == 0) return cm__text_copy(ctx, cm__binary(buf, sizeof buf, value));
    cm__si_small(buf, sizeof buf, value);
    return cm__format(ctx, "%s%s", buf, buf[strlen(buf) - 1] == ' ' ? " " : "");
}

static void number_row(const view *v, const cm__table *table, const char *label, const json_t *number)
{
    const char *unit = text_at(number, "unit"), *kind = text_at(number, "kind");
    const char *cells[] = {cm__printable(v->ctx, label), amount(v->ctx, number), strcmp(unit, "1") ? unit : "", kind,
                           source_mark(v, text_at(number, "source")), date_of(v, number)};
    cm__table_row(table, cells);
}


static void numbers(const view *v)
{
    static const cm__column columns[] = {{"number", NULL, true}, {"value", ""}, {"unit"},
                                         {"kind"}, {"source"}, {"date"}};
    cm__table table = cm__table_new(v->ctx, v->out, columns, COUNT(columns));
    putc('\n', v->out);
    each_number(v, &table, "", v->profile, number_row);
    cm__table_print(&table);
}

/* ---- prices and fits -------------------------------------------------------------------------------------------- */

/* A profile's price names one of its sources; an offer states its source. */
static const char *price_source(const view *v, const char *source)
{
    return json_object_get(v->sources, source) ? source_mark(v, source) : cm__printable(v->ctx, source);
}

static void prices(const view *v)
{
    static const cm__column columns[] = {{"price", "USD/h"}, {"provider", NULL, true}, {"instance", NULL, true},
                                         {"basis"}, {"date"}, {"source", NULL, true}};
    const json_t           *list = json_object_get(v->profile, "prices");
    if (!json_array_size(list)) return;
    cm__table table = cm__table_new(v->ctx, v->out, columns, COUNT(columns));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        const char   *instance = text_at(p, "instance");
        const char   *cells[] = {cm__format(v->ctx, "%.3f", json_number_value(json_object_get(p, "usd_hour"))),
                                 cm__printable(v->ctx, text_at(p, "provider")),
                                 instance ? cm__printable(v->ctx, instance) : "-", text_at(p, "basis"), date_of(v, p),
                                 price_source(v, text_at(p, "source"))};
        cm__table_row(&table, cells);
    }
    putc('\n', v->out);
    cm__table_print(&table);
}

static const char *percent(cm__ctx *ctx, const json_t *fit, const char *key)
{
    return cm__format(ctx, "%.1f", 100 * json_number_value(json_object_get(json_object_get(fit, "error"), key)));
}

static void fits(const view *v)
{
    static const cm__column columns[] = {{"fitted operator", NULL, true}, {"pass"}, {"dtype"}, {"runtime"}, {"form"},
                                         {"rows", ""}, {"error", "%"}, {"bias", "%"}, {"source"}, {"date"}};
    const json_t           *list = json_object_get(v->profile, "fits");
    cm__ctx                *ctx = v->ctx;
    if (!json_array_size(list)) return;
    cm__table table = cm__table_new(ctx, v->out, columns, COUNT(columns));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *f = json_array_get(list, i);
        const char   *cells[] = {cm__printable(ctx, text_at(f, "op")), text_at(f, "pass"),
                                 cm__printable(ctx, text_at(f, "dtype")), cm__printable(ctx, text_at(f, "runtime")),
                                 cm__printable(ctx, text_at(f, "form")), words(ctx, json_object_get(f, "n")),
                                 percent(ctx, f, "mape"), percent(ctx, f, "bias"), source_mark(v, text_at(f, "source")),
                                 date_of(v, f)};
        cm__table_row(&table, cells);
    }
    putc('\n', v->out);
    cm__table_print(&table);
    fputs("(--json has the parameters)\n", v->out);
}

/* ---- notes ------------------------------------------------------------------------------------------------------ */

static void item(const view *v, const char *text)
{
    if (*v->title) fprintf(v->out, "\n%s\n", *v->title);
    *v->title = NULL;
    cm__print_note(v->ctx, v->out, "  ", "-", 2, text);
}

static void note_of(const view *v, const cm__table *table, const char *label, const json_t *number)
{
    (void)table;
    const char *note = text_at(number, "note");
    if (note) item(v, cm__format(v->ctx, "%s: %s", label, note));
}

static void notes_of_elements(const view *v, const char *key, const char *name)
{
    const json_t *list = json_object_get(v->profile, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        note_of(v, NULL, cm__format(v->ctx, "%s %s", key, text_at(element, name)), element);
    }
}

static void texts(const view *v, const char *key)
{
    const json_t *list = json_object_get(v->profile, key);
    for (size_t i = 0; i < json_array_size(list); i++) item(v, json_string_value(json_array_get(list, i)));
}

static void limits_and_notes(const view *v)
{
    *v->title = "limits";
    texts(v, "limits");
    *v->title = "notes";
    each_number(v, NULL, "", v->profile, note_of);
    notes_of_elements(v, "prices", "provider");
    notes_of_elements(v, "fits", "op");
    texts(v, "notes");
}

static void sources(const view *v)
{
    const char *key;
    json_t     *s;
    fputs("\nsources\n", v->out);
    json_object_foreach((json_t *)(uintptr_t)v->sources, key, s)
        cm__print_note(v->ctx, v->out, "  ", source_mark(v, key), INDENT_WIDTH,
                       cm__format(v->ctx, "%s: %s; %s (%s)", key, text_at(s, "title"), text_at(s, "where"),
                                  text_at(s, "date")));
}

static void release(void *slot) { json_decref(*(json_t **)slot); }

void cm__devices_show(cm__ctx *ctx, const cm__devices_report *r, FILE *out)
{
    json_t **profile = cm__alloc(ctx, sizeof *profile);
    cm__defer(ctx, release, profile);
    *profile = json_loads(r->profile, 0, NULL);
    if (!*profile) cm__fail(ctx, CM_ERR_MEMORY, "out of memory for a profile");
    const char *title = NULL;
    view        v = {ctx, out, *profile, json_object_get(*profile, "sources"), &title};
    heading(&v, r->of_cluster);
    numbers(&v);
    prices(&v);
    fits(&v);
    limits_and_notes(&v);
    if (r->measured_with) fprintf(out, "\nkernel tables\n  %s\n", cm__printable(ctx, r->measured_with));
    sources(&v);
}
