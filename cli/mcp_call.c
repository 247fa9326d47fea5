/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_call.c - the calls of tools: arguments in JSON become a command line, and its answer a message. */
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "base/text.h"
#include "cli.h"
#include "mcp.h"

#define WORDS_MOST 128
#define WORD_MOST 512
#define SAID_MOST 1500                   /* bytes of messages and warnings; the rest is cut off */
#define ROOM_MOST (MCP_ANSWER_MOST / 2)  /* of an answer in JSON, which a message has twice */

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

/* A list of numbers and texts as the command line has it, separated by commas. */
static bool list_text(const json_t *list, char *text, size_t size)
{
    char          number[40];
    size_t        i, used = 0;
    const json_t *entry;
    text[0] = 0;
    json_array_foreach(list, i, entry) {
        const char *one = value_text(entry, number, sizeof number);
        if (!one || used + strlen(one) + 2 > size) return false;
        cm__join(text + used, size - used, i ? "," : "", one, NULL);
        used += strlen(text + used);
    }
    return i > 0;
}

static bool is_repeated(const option *o) { return strstr(o->help, "may be repeated") != NULL; }

static void add_value(words *w, const option *o, const json_t *value)
{
    char        number[40], text[WORD_MOST], before[WORD_MOST];
    const char *one = text;
    if (!json_is_array(value)) one = value_text(value, number, sizeof number);
    else if (!list_text(value, text, sizeof text)) one = NULL;
    snprintf(before, sizeof before, "%s=", o->name);
    if (one) add(w, before, one);
    else w->wrong = o->name;
}

static void add_option(words *w, const command *c, const char *key, const json_t *value)
{
    char          name[WORD_MOST];
    size_t        entry;
    const json_t *one;
    for (int i = 0; i < n_options; i++) {
        const option *o = &options[i];
        if (!mcp_takes(c, o)) continue;
        mcp_property(o->name, name, sizeof name);
        if (strcmp(name, key) != 0) continue;
        if (!o->argument) {
            if (!json_is_boolean(value)) break;
            if (json_is_true(value)) add(w, o->name, "");
        } else if (json_is_array(value) && is_repeated(o)) {
            json_array_foreach(value, entry, one) add_value(w, o, one);
        } else add_value(w, o, value);
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

static void add_operand(words *w, const char *name, const json_t *given)
{
    size_t        i;
    const json_t *one;
    if (json_is_string(given)) add(w, "", json_string_value(given));
    else if (json_is_array(given)) {
        json_array_foreach(given, i, one) add_operand(w, name, json_is_array(one) ? NULL : one);
    } else w->wrong = name;
}

static void add_arguments(words *w, const struct tool *tool, const command *c, const json_t *arguments)
{
    const char *key;
    json_t     *value;
    add(w, "", tool->name);
    json_object_foreach((json_t *)(uintptr_t)arguments, key, value)
        if (!is_operand(tool, key) && strcmp(key, "more") != 0) add_option(w, c, key, value);
    add(w, "", "--json");
    add(w, "", "--"); /* an operand that begins with '-' is no option */
    for (int i = 0; i < 2 && tool->operands[i]; i++)
        if (json_object_get(arguments, tool->operands[i]))
            add_operand(w, tool->operands[i], json_object_get(arguments, tool->operands[i]));
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static json_t *text_block(const char *text)
{
    size_t length = strnlen(text, SAID_MOST + 1);
    if (length <= SAID_MOST) return json_pack("{s:s, s:s}", "type", "text", "text", text);
    for (length = SAID_MOST; length > 0 && (text[length] & 0xC0) == 0x80; length--) continue;
    return json_pack("{s:s, s:o}", "type", "text", "text", json_sprintf("%.*s...", (int)length, text));
}

static json_t *failure(const char *text)
{
    return json_pack("{s:[o], s:b}", "content", text_block(text), "isError", 1);
}

/* An answer as text and as an object; warnings follow. */
static json_t *message_of(json_t *object, const char *said)
{
    char   *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_t *message = json_pack("{s:[{s:s, s:s}], s:b, s:O}", "content", "type", "text", "text", text ? text : "",
                                "isError", 0, "structuredContent", object);
    if (said && *said) json_array_append_new(json_object_get(message, "content"), text_block(said));
    free(text);
    return message;
}

static bool fits(const json_t *message)
{
    return json_dumpb(message, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(12)) <= MCP_ANSWER_MOST - MCP_ENVELOPE;
}

static json_t *paged(const json_t *object, const char *place, const struct brief *brief, const char *said)
{
    for (size_t room = ROOM_MOST; room > ROOM_MOST / 8; room -= room / 16) {
        json_t *page = mcp_page(object, place, brief, room);
        if (!page) return failure("more: the answer has no such place; an answer lists its places as `more`");
        json_t *message = message_of(page, said);
        json_decref(page);
        if (message && fits(message)) return message;
        json_decref(message);
    }
    return failure("the answer is too long");
}

/* An answer is one whatever its status, which may say that nothing fits or that a limit is missed. */
static json_t *result_of(json_t *object, const char *said, const json_t *arguments, const struct brief *brief)
{
    const char *place = json_string_value(json_object_get(arguments, "more"));
    if (!object) return failure(said && *said ? said : "the command failed");
    json_t *message = place ? NULL : message_of(object, said);
    if (!message || !fits(message)) {
        json_decref(message);
        message = paged(object, place, brief, said);
    }
    return message;
}

static json_t *run(const struct tool *tool, const command *c, const json_t *arguments)
{
    char   *result, *said, text[WORD_MOST + 64];
    words  *w = calloc(1, sizeof *w);
    if (!w) return failure("out of memory");
    add_arguments(w, tool, c, arguments);
    if (w->wrong) {
        snprintf(text, sizeof text, "%s: argument '%.400s' is unknown or of the wrong type", tool->name, w->wrong);
        free(w);
        return failure(text);
    }
    cm_answer(w->count, w->at, &result, &said);
    json_t *object = result ? json_loads(result, 0, NULL) : NULL;
    json_t *answer = result_of(object, said, arguments, &tool->brief);
    json_decref(object);
    cm_answer_free(result);
    cm_answer_free(said);
    free(w);
    return answer;
}

static json_t *list_options(const json_t *arguments)
{
    static const struct brief none;
    json_t *list = mcp_options(json_string_value(json_object_get(arguments, "tool")));
    if (!list) return failure("options: the argument `tool` names no tool");
    json_t *answer = result_of(list, NULL, arguments, &none);
    json_decref(list);
    return answer;
}

json_t *mcp_call(const char *name, const json_t *arguments)
{
    json_t *answer = NULL;
    if (strcmp(name, "options") == 0) answer = list_options(arguments);
    for (size_t i = 0; i < mcp_n_commands && !answer; i++) {
        const command *c = strcmp(mcp_commands[i].name, name) == 0 ? mcp_command(name) : NULL;
        if (!c) continue;
        answer = run(&mcp_commands[i], c, arguments);
        if (!answer) answer = failure("the answer is not valid text");
    }
    return answer;
}
