/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - help texts, made from the tables of the parser. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

#define LEFT 18        /* characters of an option and its argument; a longer one has a line of its own */
#define LISTED_MOST 35 /* options that --help lists; of more, only those that most users need */

/* Print with lines of any length, which cm__write_wrapped() wraps. */
typedef void printer(const command *c, bool all, FILE *out);

static void print_wrapped(printer *print, const command *c, bool all, FILE *out)
{
    char  *text = NULL;
    size_t size;
    FILE  *lines = open_memstream(&text, &size);
    if (!lines) return;
    print(c, all, lines);
    fclose(lines);
    if (text) cm__write_wrapped(out, text);
    free(text);
}

static void usage(const command *c, bool all, FILE *out)
{
    (void)c, (void)all;
    fputs("usage: centimani COMMAND [MODEL] [options]\n\ncommands:\n", out);
    for (int i = 0; i < n_commands; i++) fprintf(out, "  %-11s  %s\n", commands[i].name, commands[i].summary);
    fputs("\n'centimani COMMAND --help' lists a command's options.\n", out);
}

void print_usage(FILE *out) { print_wrapped(usage, NULL, false, out); }

static void print_option(const option *o, FILE *out)
{
    char left[64];
    snprintf(left, sizeof left, "%s %s", o->name, o->argument ? o->argument : "");
    if (strlen(left) > LEFT) fprintf(out, "  %s\n%*s%s\n", left, LEFT + 4, "", o->help);
    else fprintf(out, "  %-*s  %s\n", LEFT, left, o->help);
}

static bool listed(const option *o, const command *c, bool all)
{
    return (o->taken_by & c->takes) && o->help && (all || (o->taken_by & FOR_MOST));
}

/* Each heading is printed before its first option. Returns the number of options. */
static int print_options(const command *c, bool all, FILE *out)
{
    const char *heading = NULL;
    int         count = 0;
    for (int i = 0; i < n_options; i++) {
        if (!options[i].taken_by) heading = options[i].help;
        if (!listed(&options[i], c, all)) continue;
        if (heading && out) fprintf(out, "\n%s:\n", heading);
        heading = NULL;
        if (out) print_option(&options[i], out);
        count++;
    }
    return count;
}

static void help(const command *c, bool all, FILE *out)
{
    int of = print_options(c, true, NULL), shown;
    fprintf(out, "usage: centimani %s%s%s [options]\n", c->name, *c->operands ? " " : "", c->operands);
    fprintf(out, "\n%s.\n", c->summary);
    if (c->details) fprintf(out, "\n%s\n", c->details);
    shown = print_options(c, all || of <= LISTED_MOST, out);
    if (shown < of)
        fprintf(out, "\n'centimani %s --help all' lists %d more options.\n", c->name, of - shown);
}

static bool asks_for_all(const settings *s)
{
    for (int i = 0; i < s->n_operands; i++)
        if (strcmp(s->operands[i], "all") == 0) return true;
    return false;
}

void print_help(const command *c, const settings *s) { print_wrapped(help, c, asks_for_all(s), results()); }

int run_help(settings *s)
{
    const command *c = s->n_operands ? find_command(s->operands[0]) : NULL;
    if (s->n_operands && !c) return EXIT_USAGE;
    if (c) print_help(c, s);
    else print_usage(results());
    return EXIT_DONE;
}
