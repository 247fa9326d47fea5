/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - `centimani completion bash|zsh`: the shell's script, made from the rows that the parser reads. */
#include <string.h>
#include "cli.h"

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void list_options(const command *c, FILE *out)
{
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && options[i].help) fprintf(out, " %s", options[i].name);
}

static void list_devices(FILE *out)
{
    for (int32_t i = 0; i < cm_devices(); i++) fprintf(out, " %s", cm_device_id(i));
}

static void list_models(FILE *out)
{
    for (int32_t i = 0; i < cm_models(); i++) fprintf(out, " %s", cm_model(i)->id);
}

/* Options whose values are words of a short list. */
static const struct {
    const char *option, *values;
    unsigned    of; /* commands that have these */
} values[] = {
    {"--precision", "fp32 tf32 amp-bf16 amp-fp16 bf16 fp16 fp8", FOR_ALL},
    {"--optimizer", "sgd momentum adam adamw", FOR_ALL},
    {"--loss", "auto cross-entropy mse bce none", FOR_ALL},
    {"--recompute", "none selective full", FOR_ALL},
    {"--attention", "auto flash math", FOR_ALL},
    {"--mode", "training inference", FOR_ALL},
    {"--objective", "throughput price energy time cost", FOR_RANKING},
    {"--objective", "throughput cost energy devices", FOR_PLAN},
    {"--objective", "memory throughput", FOR_BATCH},
    {"--runtime", "torch-eager torch-compile megatron native", FOR_ALL},
    {"--layout", "auto nchw nhwc", FOR_ALL},
    {"--fuse", "all eager none", FOR_ALL},
    {"--host-io", "on off", FOR_ALL},
    {"--schedule", "1f1b gpipe", FOR_ALL},
    {"--backend", "cpu cuda null", FOR_ALL},
    {"--suite", "primitives collectives host roofline", FOR_ALL},
    {"--zero", "0 1 2 3", FOR_ALL},
};

static bool takes_model(const command *c) { return strncmp(c->operands, "MODEL", 5) == 0; }

/* ---- bash ------------------------------------------------------------------------------------------------------- */

static void print_bash_values(size_t at, FILE *out)
{
    const char *between = "    ";
    bool        all = values[at].of == (unsigned)FOR_ALL;
    if (all) fprintf(out, "    *:%s", values[at].option);
    for (int i = 0; !all && i < n_commands; i++) {
        if (!(values[at].of & commands[i].takes)) continue;
        fprintf(out, "%s%s:%s", between, commands[i].name, values[at].option);
        between = "|";
    }
    fprintf(out, ") words='%s' files= ;;\n", values[at].values);
}

static void print_bash(FILE *out)
{
    fputs("# bash completion of centimani: made by 'centimani completion bash'\n_centimani()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words files=yes\n"
          "    case ${COMP_WORDS[1]}:$before in\n"
          "    *:--device|*:--devices|*:--versus|*:--baseline) words='this-machine", out);
    list_devices(out);
    fputs("' ;;\n", out);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) print_bash_values(i, out);
    fputs("    *:-o|*:--from|*:--cases|*:--storage) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
          "    *) case ${COMP_CWORD}:${COMP_WORDS[1]} in\n    1:*) words='", out);
    for (int i = 0; i < n_commands; i++) fprintf(out, "%s%s", i ? " " : "", commands[i].name);
    fputs("' ;;\n", out);
    for (int i = 0; i < n_commands; i++) {
        fprintf(out, "    *:%s) words='", commands[i].name);
        list_options(&commands[i], out);
        if (takes_model(&commands[i])) list_models(out);
        fputs("' ;;\n", out);
    }
    fputs("    esac ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    [[ $files && $current != -* && $COMP_CWORD -gt 1 ]] && COMPREPLY+=($(compgen -f -- \"$current\"))\n}\n"
          "complete -o filenames -F _centimani centimani\n", out);
}

/* ---- zsh -------------------------------------------------------------------------------------------------------- */

static void print_quoted(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", out);
        else if (strchr(":[]", *text)) fprintf(out, "\\%c", *text);
        else putc(*text, out);
    }
}

static const char *values_of(const option *o)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].option, o->name) == 0 && (values[i].of & o->taken_by)) return values[i].values;
    return NULL;
}

static bool names_device(const char *name)
{
    return strncmp(name, "--device", 8) == 0 || strcmp(name, "--versus") == 0 || strcmp(name, "--baseline") == 0;
}

static void print_zsh_option(const option *o, FILE *out)
{
    fprintf(out, "        '%s[", o->name);
    print_quoted(o->help, out);
    fputc(']', out);
    if (o->argument) {
        fputc(':', out);
        print_quoted(o->argument, out);
        fputc(':', out);
        if (values_of(o)) fprintf(out, "(%s)", values_of(o));
        else if (names_device(o->name)) fputs("($devices)", out);
        else if (strstr(o->argument, "FILE") || strstr(o->argument, "csv")) fputs("_files", out);
    }
    fputs("' \\\n", out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef centimani\n# zsh completion of centimani: made by 'centimani completion zsh'\n_centimani() {\n"
          "  local -a commands devices models\n  devices=(this-machine", out);
    list_devices(out);
    fputs(")\n  models=(", out);
    list_models(out);
    fputs(")\n  commands=(\n", out);
    for (int i = 0; i < n_commands; i++) {
        fprintf(out, "    '%s:", commands[i].name);
        print_quoted(commands[i].summary, out);
        fputs("'\n", out);
    }
    fputs("  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n  local command=$words[2]\n"
          "  shift words; (( CURRENT-- ))\n  case $command in\n", out);
    for (int i = 0; i < n_commands; i++) {
        fprintf(out, "    %s) _arguments \\\n", commands[i].name);
        for (int k = 0; k < n_options; k++)
            if ((options[k].taken_by & commands[i].takes) && options[k].help) print_zsh_option(&options[k], out);
        fputs(takes_model(&commands[i]) ? "        '1:model:{ compadd $models; _files }' ;;\n"
                                        : "        '*:operand:_files' ;;\n", out);
    }
    fputs("  esac\n}\n_centimani \"$@\"\n", out);
}

int run_completion(settings *s)
{
    const char *shell = s->operands[0];
    bool        bash = strcmp(shell, "bash") == 0;
    if (!bash && strcmp(shell, "zsh") != 0) {
        say("completion: no shell '%s'; there are bash and zsh", shell);
        return EXIT_USAGE;
    }
    (bash ? print_bash : print_zsh)(results());
    return EXIT_DONE;
}
