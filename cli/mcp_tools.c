/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_tools.c - commands as tools: their schemas from the tables of commands and options. */
#include <string.h>
#include "cli.h"
#include "mcp.h"

#define NAME_MOST 64
#define HELP_MOST 44 /* characters of an option's help in a schema; the tool `options` has all of it */

/* Commands that are tools, with their operands. A command that this program does not have is left out. */
const struct tool mcp_commands[] = {
    {"rank", {"model"}, {"the model"}, 1,
     {"ranking", "rank device n cluster provider plan job reason batch step_time_s interval_s throughput_samples_s "
                 "price_hour samples_per_usd hours usd tied_with_next time_s cost_usd"}},
    {"predict", {"model"}, {"the model"}, 1, {"ops", "name type phase time_s how"}},
    {"fits", {"model"}, {"the model"}, 1, {0}},
    {"memory", {"model"}, {"the model"}, 1, {0}},
    {"batch", {"model"}, {"the model"}, 1, {0}},
    {"plan", {"model"}, {"the model"}, 1, {0}},
    {"scale", {"model"}, {"the model"}, 1, {0}},
    {"explain", {"model"}, {"the model"}, 1, {"ops", "name type phase time_s how"}},
    {"models", {"action", "id"}, {"list (default) or show", "of the model to show"}, 0,
     {"models", "id title params"}},
    {"devices", {"action", "id"}, {"list (default) or show", "of the device to show"}, 0,
     {"devices", "id name memory_bytes price_usd_hour"}},
};
const size_t mcp_n_commands = sizeof mcp_commands / sizeof *mcp_commands;

/* Options about the output: a tool answers in JSON, and writes no files. */
static const char *const hidden[] = {"--json", "--csv", "--html", "--help", "-h", "-o", "--trace", "--snapshot",
                                     "--job-script"};

static bool is_hidden(const char *name)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strcmp(hidden[i], name) == 0) return true;
    return false;
}

const command *mcp_command(const char *name)
{
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

bool mcp_takes(const command *c, const option *o) { return (o->taken_by & c->takes) && o->help && !is_hidden(o->name); }

/* "--global-batch" -> "global_batch" */
void mcp_property(const char *option_name, char *name, size_t size)
{
    size_t n = 0;
    option_name += strspn(option_name, "-");
    for (; option_name[n] && n + 1 < size; n++) name[n] = option_name[n] == '-' ? '_' : option_name[n];
    name[n] = 0;
}

/* ---- schemas ---------------------------------------------------------------------------------------------------- */

/* The first words of an option's help, which end where a detail begins. */
static json_t *in_short(const char *help)
{
    size_t length = strcspn(help, ":;(,");
    if (length > HELP_MOST)
        for (length = HELP_MOST; length > 0 && help[length] != ' '; length--) continue;
    while (length > 0 && help[length - 1] == ' ') length--;
    return json_stringn(help, length);
}

/* Flags are true or false; other options take numbers, texts or lists of them. */
static json_t *property_of(const option *o)
{
    if (!o->argument) return json_pack("{s:s}", "type", "boolean");
    return json_pack("{s:o}", "description", in_short(o->help));
}

static json_t *schema_of(const struct tool *tool, const command *c)
{
    json_t *properties = json_object(), *needed = json_array();
    char    name[NAME_MOST];
    for (int i = 0; i < 2 && tool->operands[i]; i++) {
        json_object_set_new(properties, tool->operands[i], json_pack("{s:s}", "description", tool->about[i]));
        if (i < tool->needed) json_array_append_new(needed, json_string(tool->operands[i]));
    }
    for (int i = 0; i < n_options; i++) {
        if (!(options[i].taken_by & FOR_MOST) || !mcp_takes(c, &options[i])) continue;
        mcp_property(options[i].name, name, sizeof name);
        json_object_set_new(properties, name, property_of(&options[i]));
    }
    json_object_set_new(properties, "more", json_object());
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", needed);
}

static json_t *tool_of(const char *name, const char *about, json_t *schema)
{
    return json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", name, "description", about, "inputSchema", schema,
                     "annotations", "readOnlyHint", 1);
}

json_t *mcp_tools(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < mcp_n_commands; i++) {
        const command *c = mcp_command(mcp_commands[i].name);
        if (c) json_array_append_new(list, tool_of(c->name, c->summary, schema_of(&mcp_commands[i], c)));
    }
    json_array_append_new(
        list, tool_of("options", "List all arguments of a tool, with their values and meanings",
                      json_pack("{s:s, s:{s:{s:s}, s:{}}, s:[s]}", "type", "object", "properties", "tool",
                                "description", "its name", "more", "required", "tool")));
    return list;
}

json_t *mcp_options(const char *tool)
{
    const command *c = NULL;
    char           name[NAME_MOST];
    for (size_t i = 0; tool && i < mcp_n_commands; i++)
        if (strcmp(mcp_commands[i].name, tool) == 0) c = mcp_command(tool);
    if (!c) return NULL;
    json_t *list = json_array();
    for (int i = 0; i < n_options; i++) {
        if (!mcp_takes(c, &options[i])) continue;
        mcp_property(options[i].name, name, sizeof name);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "value",
                                              options[i].argument ? options[i].argument : "true", "help",
                                              options[i].help));
    }
    return json_pack("{s:s, s:s, s:o}", "tool", tool, "model", c->details ? c->details : "", "options", list);
}
