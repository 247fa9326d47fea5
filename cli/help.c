/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - usage, made from the same rows that the parser reads. */
#include "cli.h"

void print_usage(FILE *out)
{
    fputs("usage: centimani COMMAND [MODEL] [options]\n\ncommands:\n", out);
    for (int i = 0; i < n_commands; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'centimani COMMAND --help' lists a command's options.\n", out);
}

static void print_option(const option *o, FILE *out)
{
    char left[32];
    snprintf(left, sizeof left, "%s %s", o->name, o->argument ? o->argument : "");
    fprintf(out, "  %-18s %s\n", left, o->help);
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
