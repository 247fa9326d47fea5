/* SPDX-License-Identifier: Apache-2.0 */
/* mcp.h - the Model Context Protocol: commands as tools for language models. */
#ifndef CM_CLI_MCP_H
#define CM_CLI_MCP_H

#include <jansson.h>

/* mcp_tools.c: the tools with JSON schemas of their arguments, made from the tables of commands and options. */
json_t *mcp_tools(void);
/* Runs a tool; NULL: there is no tool of that name. The answer is new. */
json_t *mcp_call(const char *name, const json_t *arguments);

/* mcp.c: answers one message, a line of JSON-RPC; NULL: it needs no answer. The answer is new. */
json_t *mcp_answer(const char *line, size_t length);

#endif
