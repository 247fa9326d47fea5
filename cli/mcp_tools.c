/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_tools.c - commands as tools: their schemas from the tables of commands and options, and their calls. */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "base/text.h"
#include "cli.h"

#define WORDS_MOST 128
#define WORD_MOST 512

/* Commands that are tools, with their operands. A command that this program does not have is left out. */
static const struct tool {
    const char *name, *operands[2], *about[2];
    int         needed; /* operands */
} tools[] = {
    {"rank", {"model"}, {"the model"}, 1},
    {"predict", {"model"}, {"the model"}, 1},
    {"fits", {"model"}, {"the model"}, 1},
    {"plan", {"model"}, {"the model"}, 1},
    {"explain", {"model"}, {"the model"}, 1},
    {"devices", {"action", "id"}, {"list (default) or show", "of the device to show"}, 0},
};
#define TOOLS (sizeof tools / sizeof *tools)

/* Options about the output: a tool answers in JSON, and writes no files. */
static const char *const hidden[] = {"--json", "--csv", "--html", "--help", "-h", "-o", "--trace", "--snapshot"};

static bool is_hidden(const char *name)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strcmp(hidden[i], name) == 0) return true;
    return false;
}

static const command *command_of(const char *name)
{
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

/* "--global-batch" -> "global_batch" */
static void property_name(const char *option_name, char *name, size_t size)
{
    size_t n = 0;
    option_name += strspn(option_name, "-");
    for (; option_name[n] && n + 1 < size; n++) name[n] = option_name[n] == '-' ? '_' : option_name[n];
    name[n] = 0;
}

/* ---- schemas ---------------------------------------------------------------------------------------------------- */

static const char model_about[] =
    "a named model such as resnet50 or meta-llama/Llama-3.1-8B, a file (.onnx, config.json, .cmt.json), or a description such as "
    "gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200";

/* Flags are true or false; other options take numbers or texts, as on the command line. */
static json_t *property_of(const option *o)
{
    if (!o->argument) return json_pack("{s:s, s:s}", "type", "boolean", "description", o->help);
    return json_pack("{s:[s, s], s:o}", "type", "string", "number", "description",
                     json_sprintf("%s: %s", o->argument, o->help));
}

static json_t *schema_of(const struct tool *tool, const command *c)
{
    json_t *properties = json_object(), *needed = json_array();
    char    name[WORD_MOST];
    for (int i = 0; i < 2 && tool->operands[i]; i++) {
        const char *about = strcmp(tool->operands[i], "model") == 0 ? model_about : tool->about[i];
        json_object_set_new(properties, tool->operands[i],
                            json_pack("{s:s, s:s}", "type", "string", "description", about));
        if (i < tool->needed) json_array_append_new(needed, json_string(tool->operands[i]));
    }
    for (int i = 0; i < n_options; i++) {
        if (!(options[i].taken_by & c->takes) || !options[i].help || is_hidden(options[i].name)) continue;
        property_name(options[i].name, name, sizeof name);
        json_object_set_new(properties, name, property_of(&options[i]));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", needed,
                     "additionalProperties", 0);
}

json_t *mcp_tools(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < TOOLS; i++) {
        const command *c = command_of(tools[i].name);
        if (!c) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", c->name, "description", c->summary,
                                              "inputSchema", schema_of(&tools[i], c), "annotations", "readOnlyHint",
                                              1));
    }
    return list;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

typedef struct words {
    const char *at[WORDS_MOST];
    char        texts[WORDS_MOST][WORD_MOST];
    int         count;
    const char *wrong; /* an argument that the tool does not have, or of the wrong type; NULL: none */
} words;

static void add(words *w, const char *before, const char *value)
{
    if (w->count == WORDS_MOST || strlen(before) + strlen(value) >= WORD_MOST) {
        w->wrong = "too long";
        return;
    }
    cm__join(w->texts[w->count], WORD_MOST, before, value, NULL);
    w->at[w->count] = w->texts[w->count];
    w->count++;
}

static const char *value_text(const json_t *value, char *buffer, size_t size)
{
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_integer(value)) snprintf(buffer, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value)) snprintf(buffer, size, "%.17g", json_real_value(value));
    else return NULL;
    return buffer;
}

static void add_option(words *w, const command *c, const char *key, const json_t *value)
{
    char name[WORD_MOST], number[40], before[WORD_MOST + 1];
    for (int i = 0; i < n_options; i++) {
        const option *o = &options[i];
        if (!(o->taken_by & c->takes) || !o->help || is_hidden(o->name)) continue;
        property_name(o->name, name, sizeof name);
        if (strcmp(name, key) != 0) continue;
        const char *text = o->argument ? value_text(value, number, sizeof number) : "";
        if (!text || (!o->argument && !json_is_boolean(value))) break;
        if (json_is_false(value)) return;
        snprintf(before, sizeof before, "%s%s", o->name, o->argument ? "=" : "");
        add(w, before, text);
        return;
    }
    w->wrong = key;
}

static bool is_operand(const struct tool *tool, const char *key)
{
    for (int i = 0; i < 2; i++)
        if (tool->operands[i] && strcmp(tool->operands[i], key) == 0) return true;
    return false;
}

static void add_arguments(words *w, const struct tool *tool, const command *c, const json_t *arguments)
{
    const char *key;
    json_t     *value;
    add(w, "", tool->name);
    json_object_foreach((json_t *)(uintptr_t)arguments, key, value)
        if (!is_operand(tool, key)) add_option(w, c, key, value);
    add(w, "", "--json");
    add(w, "", "--"); /* an operand that begins with '-' is no option */
    for (int i = 0; i < 2 && tool->operands[i]; i++) {
        const json_t *given = json_object_get(arguments, tool->operands[i]);
        if (json_is_string(given)) add(w, "", json_string_value(given));
        else if (given) w->wrong = tool->operands[i];
    }
}

static json_t *content(const char *text, bool failed)
{
    return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text, "isError", failed);
}

/* The answer of a command as text and as an object; warnings are in the object. */
/* An answer is one whatever its status, which may say that nothing fits or that a limit is missed. */
static json_t *result_of(const char *result, const char *said)
{
    json_t *object = result ? json_loads(result, 0, NULL) : NULL;
    if (!object) return content(said && *said ? said : "the command failed", true);
    char   *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_t *answer = content(text ? text : "", false);
    if (said && *said)
        json_array_append_new(json_object_get(answer, "content"),
                              json_pack("{s:s, s:s}", "type", "text", "text", said));
    json_object_set_new(answer, "structuredContent", object);
    free(text);
    return answer;
}

json_t *mcp_call(const char *name, const json_t *arguments)
{
    char *result, *said;
    for (size_t i = 0; i < TOOLS; i++) {
        const command *c = strcmp(tools[i].name, name) == 0 ? command_of(name) : NULL;
        if (!c) continue;
        words *w = calloc(1, sizeof *w);
        if (!w) return content("out of memory", true);
        add_arguments(w, &tools[i], c, arguments);
        json_t *answer = NULL;
        if (w->wrong) {
            char text[WORD_MOST + 64];
            snprintf(text, sizeof text, "%s: argument '%.400s' is unknown or of the wrong type", name, w->wrong);
            answer = content(text, true);
        } else {
            cm_answer(w->count, w->at, &result, &said);
            answer = result_of(result, said);
            cm_answer_free(result);
            cm_answer_free(said);
        }
        free(w);
        return answer ? answer : content("the answer is not valid text", true);
    }
    return NULL;
}
