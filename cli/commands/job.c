/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - `centimani job init MODEL ... [options of rank]`: write the question as a file for `rank --job`; `job show FILE`: print
   such a file as JSON. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static void write_text(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-%";
    bool              safe = *text && strspn(text, plain) == strlen(text) && !strchr("-%", *text);
    if (safe) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') putc('\\', out);
        if ((unsigned char)*c < ' ') fprintf(out, "\\x%02x", (unsigned char)*c);
        else putc(*c, out);
    }
    putc('"', out);
}

static void write_list(FILE *out, const char *text)
{
    char item[CLI_PATH_MAX];
    putc('[', out);
    for (const char *at = text; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        if (at > text) fputs(", ", out);
        write_text(out, item);
        at += length;
    }
    putc(']', out);
}

static void write_key(FILE *out, const char *name)
{
    for (name += strspn(name, "-"); *name; name++) putc(*name == '-' ? '_' : *name, out);
    fputs(": ", out);
}

static bool is_gate(const option *o) { return (o->taken_by & FOR_GATES) && o->argument; }

static void write_option(FILE *out, const settings *s, int i)
{
    const option *o = s->given[i].option;
    const char   *text = s->given[i].value;
    if (strstr(o->help, "may be repeated")) { /* a list of all its values, where it comes first */
        for (int k = 0; k < i; k++)
            if (s->given[k].option == o) return;
        write_key(out, o->name);
        for (int k = i; k < s->n_given; k++)
            if (s->given[k].option == o) fputs(k == i ? "[" : ", ", out), write_text(out, s->given[k].value);
        fputs("]\n", out);
        return;
    }
    for (int k = i + 1; k < s->n_given; k++)
        if (s->given[k].option == o) return; /* the last one counts */
    bool deadline = strcmp(o->name, "--within") == 0;
    if (deadline) fputs("deadline: ", out);
    else write_key(out, o->name);
    if (!o->argument) fputs("true", out);
    else if (strchr(text, ',') && strstr(o->argument, ",...")) write_list(out, text);
    else write_text(out, text);
    putc('\n', out);
}

static void write_job(FILE *out, const settings *s)
{
    bool gates = false;
    fputs("# A question to centimani: centimani rank --job FILE. Every option of rank is a key.\nschema: 1\nmodels:\n",
          out);
    for (int i = 1; i < s->n_operands; i++) {
        size_t length;
        double weight = weight_in(s->operands[i], &length);
        char   name[CLI_PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)length, s->operands[i]);
        fputs("  - model: ", out);
        write_text(out, name);
        fprintf(out, "\n    weight: %.17g\n", weight);
    }
    for (int i = 0; i < s->n_given; i++)
        if (!is_gate(s->given[i].option) && s->given[i].value != s->output) write_option(out, s, i);
    for (int i = 0; i < s->n_given; i++) {
        if (!is_gate(s->given[i].option)) continue;
        fputs(gates ? "  " : "gates:\n  ", out);
        gates = true;
        write_option(out, s, i);
    }
}

/* The file is checked as `rank --job` would. */
static int show(const char *path)
{
    settings s = {.show_job = true, .job_file = path};
    bool     read = read_job(find_command("rank"), &s, path);
    forget_job(&s);
    return read ? EXIT_DONE : EXIT_USAGE;
}

int run_job_file(settings *s)
{
    static const char *const actions[] = {"init", "show"};
    if (!s->job_file && strcmp(s->operands[0], "show") == 0 && s->n_operands == 2) return show(s->operands[1]);
    if (s->job_file) return say("job init writes a job; it reads none: leave out --job"), EXIT_USAGE;
    if (strcmp(s->operands[0], "init") != 0 || s->n_operands < 2)
        return no_action("job", s->operands[0], actions, 2, "init MODEL[*WEIGHT]...");
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    if (!out) return EXIT_FAILED;
    write_job(out, s);
    fclose(out);
    int code = save_bytes(s->output ? s->output : "-", text, size);
    free(text);
    return code;
}
