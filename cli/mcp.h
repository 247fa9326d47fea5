/* SPDX-License-Identifier: Apache-2.0 */
/* mcp.h - the Model Context Protocol: commands as tools for language models. */
#ifndef CM_CLI_MCP_H
#define CM_CLI_MCP_H

#include <jansson.h>
#include "cli.h"

#define MCP_ANSWER_MOST 8192 /* bytes of a message with the answer of a tool */
#define MCP_ENVELOPE 160     /* of it, around the answer */

/* What a shortened answer says of each entry of its list. NULL: all. */
struct brief {
    const char *list, *fields; /* fields: separated by blanks */
};

struct tool {
    const char  *name, *operands[2], *about[2];
    int          needed; /* operands */
    struct brief brief;
};

/* mcp_tools.c: the tools with JSON schemas of their arguments, made from the tables of commands and options. */
extern const struct tool mcp_commands[];
extern const size_t      mcp_n_commands;
json_t        *mcp_tools(void);
json_t        *mcp_options(const char *tool);   /* all options of a tool; NULL: there is no such tool */
const command *mcp_command(const char *name);   /* NULL: this program does not have it */
bool           mcp_takes(const command *c, const option *o);
void           mcp_property(const char *option_name, char *name, size_t size); /* "--global-batch": "global_batch" */

/* mcp_pages.c: of an answer, at most about `room` bytes, and the places of the rest as `more`. place: the value there
   (NULL: the whole answer). NULL: there is no such place. */
json_t *mcp_page(const json_t *answer, const char *place, const struct brief *brief, size_t room);

/* mcp_call.c: runs a tool; NULL: there is no tool of that name. The answer is new. */
json_t *mcp_call(const char *name, const json_t *arguments);

/* mcp.c: answers one message, a line of JSON-RPC; NULL: it needs no answer. The answer is new. */
json_t *mcp_answer(const char *line, size_t length);

#endif
