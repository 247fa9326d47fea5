/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - check a value against a JSON Schema: one row per keyword; the first violation is an error. */
#include "device/schema.h"

#include <math.h>
#include <regex.h>
#include <string.h>
#include "base/text.h"

#define DEPTH_MAX 64  /* schemas and profiles have a few levels */
#define NAMES_MAX 128 /* most members considered for a suggestion */
#define SHOWN_MAX 48  /* most characters of a user's value in a message */

typedef struct checker {
    cm__ctx          *ctx;
    const json_t     *root;
    const cm__origin *origin;
} checker;

/* A value, its location and its schema. */
typedef struct subject {
    const checker  *checker;
    const json_t   *schema, *value;
    const cm__step *path;
    int             depth;
} subject;

static void check(const subject *s);

#define REFUSE(s, ...) cm__refuse((s)->checker->ctx, (s)->checker->origin, (s)->path, __VA_ARGS__)

/* ---- values as words -------------------------------------------------------------------------------------------- */

static const char *shown(const subject *s, const json_t *value)
{
    static const char *const names[] = {[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_TRUE] = "true",
                                        [JSON_FALSE] = "false", [JSON_NULL] = "null"};
    cm__ctx *ctx = s->checker->ctx;
    if (json_is_string(value)) return cm__format(ctx, "'%.*s'", SHOWN_MAX, json_string_value(value));
    if (json_is_integer(value)) return cm__format(ctx, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) return cm__format(ctx, "%.6g", json_real_value(value));
    return names[json_typeof(value)];
}

/* "'a', 'b' or 'c'" */
static const char *alternatives(const subject *s, const json_t *list)
{
    const char *text = "";
    size_t      last = json_array_size(list) - 1;
    for (size_t i = 0; i <= last; i++)
        text = cm__format(s->checker->ctx, "%s%s%s", text, i == 0 ? "" : i == last ? " or " : ", ",
                          shown(s, json_array_get(list, i)));
    return text;
}

static bool is_number_with_unit(const json_t *schema)
{
    const json_t *members = json_object_get(schema, "properties");
    return json_object_get(members, "value") && json_object_get(members, "unit");
}

/* ---- keywords --------------------------------------------------------------------------------------------------- */

static bool has_type(const json_t *value, const char *type)
{
    if (strcmp(type, "number") == 0) return json_is_number(value);
    if (strcmp(type, "integer") == 0)
        return json_is_number(value) && floor(json_number_value(value)) == json_number_value(value);
    if (strcmp(type, "string") == 0) return json_is_string(value);
    if (strcmp(type, "object") == 0) return json_is_object(value);
    if (strcmp(type, "array") == 0) return json_is_array(value);
    if (strcmp(type, "boolean") == 0) return json_is_boolean(value);
    return strcmp(type, "null") == 0 && json_is_null(value);
}

static void check_type(const subject *s, const json_t *type)
{
    size_t      count = json_is_array(type) ? json_array_size(type) : 1;
    const char *all = "";
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_is_array(type) ? json_array_get(type, i) : type);
        if (has_type(s->value, name)) return;
        all = cm__format(s->checker->ctx, "%s%s%s", all, i ? " or " : "", name);
    }
    if (is_number_with_unit(s->schema))
        REFUSE(s, "%s, expected a number with its origin: {\"value\", \"unit\", \"kind\", \"source\"}",
               shown(s, s->value));
    REFUSE(s, "%s, expected %s", shown(s, s->value), all);
}

/* 1 and 1.0 are equal. */
static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static void check_const(const subject *s, const json_t *expected)
{
    if (!same(s->value, expected)) REFUSE(s, "%s, expected %s", shown(s, s->value), shown(s, expected));
}

static void check_enum(const subject *s, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (same(s->value, json_array_get(list, i))) return;
    REFUSE(s, "%s, expected %s", shown(s, s->value), alternatives(s, list));
}

static void check_minimum(const subject *s, const json_t *limit)
{
    if (json_is_number(s->value) && !(json_number_value(s->value) >= json_number_value(limit)))
        REFUSE(s, "%s is below %g", shown(s, s->value), json_number_value(limit));
}

static void check_maximum(const subject *s, const json_t *limit)
{
    if (json_is_number(s->value) && !(json_number_value(s->value) <= json_number_value(limit)))
        REFUSE(s, "%s is above %g", shown(s, s->value), json_number_value(limit));
}

static void check_min_length(const subject *s, const json_t *limit)
{
    if (json_is_string(s->value) && (json_int_t)json_string_length(s->value) < json_integer_value(limit))
        REFUSE(s, json_string_length(s->value) ? "the text is too short" : "the text is empty");
}

static void check_min_properties(const subject *s, const json_t *limit)
{
    if (json_is_object(s->value) && (json_int_t)json_object_size(s->value) < json_integer_value(limit))
        REFUSE(s, "%zu members, expected %lld or more", json_object_size(s->value),
               (long long)json_integer_value(limit));
}

static void check_pattern(const subject *s, const json_t *pattern)
{
    regex_t regex;
    if (!json_is_string(s->value)) return;
    if (regcomp(&regex, json_string_value(pattern), REG_EXTENDED | REG_NOSUB))
        REFUSE(s, "the schema's pattern %s is not a regular expression", json_string_value(pattern));
    bool matches = regexec(&regex, json_string_value(s->value), 0, NULL, 0) == 0;
    regfree(&regex);
    if (!matches) REFUSE(s, "%s does not match %s", shown(s, s->value), json_string_value(pattern));
}

static void check_required(const subject *s, const json_t *names)
{
    if (!json_is_object(s->value)) return;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!json_object_get(s->value, name)) REFUSE(s, "lacks '%s'", name);
    }
}

static void check_items(const subject *s, const json_t *schema)
{
    if (!json_is_array(s->value)) return;
    for (size_t i = 0; i < json_array_size(s->value); i++) {
        cm__step step = {s->path, NULL, i};
        check(&(subject){s->checker, schema, json_array_get(s->value, i), &step, s->depth + 1});
    }
}

noreturn static void unknown_member(const subject *s, const char *key)
{
    const char *names[NAMES_MAX], *name;
    size_t      count = 0;
    json_t     *unused, *members = json_object_get(s->schema, "properties");
    cm__step    step = {s->path, key, 0};
    json_object_foreach(members, name, unused)
        if (count < NAMES_MAX) names[count++] = name;
    const char *meant = cm__nearest(key, names, count);
    cm__refuse(s->checker->ctx, s->checker->origin, &step, "unknown member '%.*s'%s%s%s", SHOWN_MAX, key,
               meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static void check_members(const subject *s, const json_t *others)
{
    const json_t *members = json_object_get(s->schema, "properties");
    const char   *key;
    json_t       *value;
    json_object_foreach((json_t *)(uintptr_t)s->value, key, value) {
        const json_t *schema = json_object_get(members, key);
        cm__step      step = {s->path, key, 0};
        if (!schema && json_is_false(others)) unknown_member(s, key);
        if (!schema) schema = others;
        if (schema) check(&(subject){s->checker, schema, value, &step, s->depth + 1});
    }
}

static void check_properties(const subject *s, const json_t *members)
{
    (void)members;
    if (json_is_object(s->value)) check_members(s, json_object_get(s->schema, "additionalProperties"));
}

static void check_additional(const subject *s, const json_t *others)
{
    if (!json_object_get(s->schema, "properties") && json_is_object(s->value)) check_members(s, others);
}

/* In the order of checks: a misspelt member is reported before the missing one that it was meant to be. */
static const struct {
    const char *name;
    void (*check)(const subject *s, const json_t *argument);
} keywords[] = {
    {"type", check_type},
    {"const", check_const},
    {"enum", check_enum},
    {"pattern", check_pattern},
    {"minimum", check_minimum},
    {"maximum", check_maximum},
    {"minLength", check_min_length},
    {"minProperties", check_min_properties},
    {"properties", check_properties},
    {"additionalProperties", check_additional},
    {"required", check_required},
    {"items", check_items},
};

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static const json_t *resolved(const subject *s)
{
    static const char prefix[] = "#/definitions/";
    const json_t     *schema = s->schema, *definitions = json_object_get(s->checker->root, "definitions");
    for (int hops = 0; hops < DEPTH_MAX; hops++) {
        const char *ref = json_string_value(json_object_get(schema, "$ref"));
        if (!ref) return schema;
        bool local = strncmp(ref, prefix, sizeof prefix - 1) == 0;
        schema = local ? json_object_get(definitions, ref + sizeof prefix - 1) : NULL;
        if (!schema) REFUSE(s, "the schema refers to '%s', which it does not define", ref);
    }
    REFUSE(s, "the schema's references form a cycle");
}

static void check(const subject *s)
{
    if (s->depth > DEPTH_MAX) REFUSE(s, "nested more than %d levels deep", DEPTH_MAX);
    subject here = *s;
    here.schema = resolved(s);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        const json_t *argument = json_object_get(here.schema, keywords[i].name);
        if (argument) keywords[i].check(&here, argument);
    }
}

void cm__schema_check(cm__ctx *ctx, const json_t *schema, const json_t *value, const cm__origin *origin)
{
    checker c = {ctx, schema, origin};
    check(&(subject){&c, schema, value, NULL, 0});
}
