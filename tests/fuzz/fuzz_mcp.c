/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mcp.c - messages of the Model Context Protocol from arbitrary bytes: every answer is a response of JSON-RPC, and
 * the words of a tool's command line are its command, options that the command has, and operands. An answer is not too
 * long to read, which the long one of the command below tries.
 *
 * The command itself does not run, because one that does may take long.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "cli.h"
#include "mcp.h"

#define ANSWER_BYTES 20000
#define TOOLS_MOST 12288

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool takes(const command *c, const char *word)
{
    size_t length = strcspn(word, "=");
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && strlen(options[i].name) == length && memcmp(options[i].name, word, length) == 0)
            return true;
    return false;
}

int cm_answer(int argc, const char *const *argv, char **result, char **notes)
{
    const command *c = argc > 0 ? find_command(argv[0]) : NULL;
    bool           operands = false;
    if (!c) abort();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) operands = true;
        else if (!operands && (argv[i][0] != '-' || !takes(c, argv[i]))) abort();
    }
    *result = malloc(ANSWER_BYTES + 64);
    if (!*result) abort();
    char *at = *result + sprintf(*result, "{\"schema\":1,\"ranking\":[0");
    while (at < *result + ANSWER_BYTES) at += sprintf(at, ",{\"device\":\"a\",\"x/y\":[1.5,null]}");
    strcpy(at, "]}");
    *notes = strdup("warning: none\n");
    return EXIT_DONE;
}

void cm_answer_free(char *text) { free(text); }

int run_bench(settings *s) { return s->n_operands; }
int run_serve(settings *s) { return s->n_operands; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *answer = mcp_answer((const char *)bytes, size);
    if (!answer) return 0;
    const char *protocol = json_string_value(json_object_get(answer, "jsonrpc"));
    bool        result = json_object_get(answer, "result"), error = json_object_get(answer, "error");
    char       *text = json_dumps(answer, JSON_COMPACT);
    if (!protocol || strcmp(protocol, "2.0") != 0 || result == error || !json_object_get(answer, "id") || !text) abort();
    bool tools = json_object_get(json_object_get(answer, "result"), "tools");
    if (strlen(text) > (tools ? TOOLS_MOST : MCP_ANSWER_MOST) + 6 * size) abort(); /* 6: the id, escaped */
    free(text);
    json_decref(answer);
    return 0;
}
