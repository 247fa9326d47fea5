/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - help texts, made from the tables of the parser. */
#include <string.h>
#include "cli.h"

#define COLUMNS 100

/* Print `text` to the right of `left`, wrapped at COLUMNS. */
static void print_beside(int left_columns, const char *left, const char *text, FILE *out)
{
    int at = fprintf(out, "  %-*s", left_columns, left), indent = 2 + left_columns;
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        if (at + 1 + (int)length > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        at += fprintf(out, " %.*s", (int)length, text);
    }
    fputc('\n', out);
}

void print_usage(FILE *out)
{
    fputs("usage: centimani COMMAND [MODEL] [options]\n\ncommands:\n", out);
    for (int i = 0; i < n_commands; i++) print_beside(10, commands[i].name, commands[i].summary, out);
    fputs("\n'centimani COMMAND --help' lists a command's options.\n", out);
}

static void print_option(const option *o, FILE *out)
{
    char left[32];
    snprintf(left, sizeof left, "%s %s", o->name, o->argument ? o->argument : "");
    print_beside(18, left, o->help, out);
}

void print_help(const command *c, FILE *out)
{
    fprintf(out, "usage: centimani %s%s%s [options]\n", c->name, *c->operands ? " " : "", c->operands);
    fprintf(out, "\n%s.\n", c->summary);
    if (c->details) fprintf(out, "\n%s\n", c->details);
    fputs("\noptions:\n", out);
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && options[i].help) print_option(&options[i], out);
}

int run_help(settings *s)
{
    const command *c = s->n_operands ? find_command(s->operands[0]) : NULL;
    if (s->n_operands && !c) return EXIT_USAGE;
    if (c) print_help(c, results());
    else print_usage(results());
    return EXIT_DONE;
}
