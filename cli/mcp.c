/* SPDX-License-Identifier: Apache-2.0 */
/* mcp.c - `centimani mcp`: the Model Context Protocol over standard input and output, one JSON-RPC message a line. */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>
#include "cli.h"

#define LINE_MOST (4 << 20)

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 }; /* of JSON-RPC */

static json_t *error(const json_t *id, int code, const char *text)
{
    return json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? id : json_null(), "error", "code", code,
                     "message", text);
}

/* ---- methods ---------------------------------------------------------------------------------------------------- */

/* The versions whose messages for tools this program sends; the newest first. */
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static json_t *initialize(const json_t *params)
{
    const char *asked = json_string_value(json_object_get(params, "protocolVersion")), *version = versions[0];
    for (size_t i = 0; asked && i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i], asked) == 0) version = asked;
    return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities", "tools",
                     "serverInfo", "name", "centimani", "version", CM_VERSION, "instructions",
                     "Predicts on which accelerator to train a neural network, how fast, at what cost and how "
                     "certainly. Times are seconds, sizes bytes; intervals are 90 % intervals. A model is a named model "
                     "(tool models), a Hugging Face name, a config.json, .onnx or .cmt.json file, or a description "
                     "such as gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200. Schemas have the common "
                     "options in short; the tool options lists all of a tool. A long answer is shortened and has "
                     "`more`: call the tool again with the same arguments and one of these places as the argument "
                     "`more`. /ranking/12- is the list from its 13th entry on, /ranking/0 all fields of the first.");
}

static json_t *ping(const json_t *params)
{
    (void)params;
    return json_object();
}

static json_t *list_tools(const json_t *params)
{
    (void)params;
    return json_pack("{s:o}", "tools", mcp_tools());
}

static json_t *call_tool(const json_t *params)
{
    const char   *name = json_string_value(json_object_get(params, "name"));
    const json_t *arguments = json_object_get(params, "arguments");
    if (!name || (arguments && !json_is_object(arguments))) return NULL;
    return mcp_call(name, arguments);
}

/* A method returns NULL if its parameters are invalid. */
static const struct {
    const char *name;
    json_t *(*run)(const json_t *params);
} methods[] = {{"initialize", initialize}, {"ping", ping}, {"tools/list", list_tools}, {"tools/call", call_tool}};

static json_t *run_method(const json_t *id, const char *name, const json_t *params)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, name) != 0) continue;
        json_t *result = methods[i].run(params);
        if (!result) return error(id, INVALID_PARAMS, "no such tool, or invalid parameters");
        return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
    }
    return error(id, NO_METHOD, "no such method");
}

json_t *mcp_answer(const char *line, size_t length)
{
    json_t       *message = json_loadb(line, length, 0, NULL), *answer = NULL;
    const json_t *id = json_object_get(message, "id");
    const char   *method = json_string_value(json_object_get(message, "method"));
    const char   *protocol = json_string_value(json_object_get(message, "jsonrpc"));
    bool          valid_id = json_is_string(id) || json_is_integer(id);
    if (!message) answer = error(NULL, PARSE_ERROR, "not JSON");
    else if (!protocol || strcmp(protocol, "2.0") != 0 || (id && !valid_id && method))
        answer = error(NULL, INVALID_REQUEST, "not a message of JSON-RPC 2.0");
    else if (method && id) answer = run_method(id, method, json_object_get(message, "params"));
    else if (!method && !json_object_get(message, "result") && !json_object_get(message, "error"))
        answer = error(id && valid_id ? id : NULL, INVALID_REQUEST, "no method");
    json_decref(message); /* notifications and responses need no answer */
    return answer;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static bool send(json_t *answer)
{
    bool sent = json_dumpf(answer, results(), JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0;
    json_decref(answer);
    fputc('\n', results());
    return sent && fflush(results()) == 0;
}

int run_mcp(settings *s)
{
    char   *line = NULL;
    size_t  capacity = 0;
    ssize_t length;
    bool    open = true;
    (void)s;
    while (open && (length = getline(&line, &capacity, stdin)) > 0) {
        if (strspn(line, " \t\r\n") == (size_t)length) continue;
        json_t *answer = length > LINE_MOST ? error(NULL, INVALID_REQUEST, "the message is too long")
                                            : mcp_answer(line, (size_t)length);
        if (answer) open = send(answer);
    }
    free(line);
    return EXIT_DONE;
}
