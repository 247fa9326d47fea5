/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - `centimani completion bash|zsh`: print a completion script made from the tables of the parser. */
#include <string.h>
#include "cli.h"

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void list_options(const command *c, FILE *out)
{
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && options[i].help) fprintf(out, " %s", options[i].name);
}

static const char *device_at(int i) { return i == 0 ? "this-machine" : cm_device_id(i - 1); }
static const char *collective_at(int i) { return cm_collective_name(i); }
static const char *model_at(int i) { return i < cm_models() ? cm_model(i)->id : NULL; }
static const char *cluster_at(int i) { return i < cm_clusters() ? cm_cluster_id(i) : NULL; }

/* Names of an enum whose first value, the default, has no name. */
#define NAMES_AFTER_DEFAULT(kind, KINDS)                                                                               \
    static const char *kind##_at(int i) { return i + 1 < KINDS ? cm_##kind##_name((cm_##kind)(i + 1)) : NULL; }
#define NAMES(kind, KINDS)                                                                                             \
    static const char *kind##_at(int i) { return i < KINDS ? cm_##kind##_name((cm_##kind)i) : NULL; }
NAMES_AFTER_DEFAULT(precision, CM_PRECISIONS)
NAMES_AFTER_DEFAULT(optimizer, CM_OPTIMIZERS)
NAMES_AFTER_DEFAULT(runtime, CM_RUNTIMES + 1)
NAMES(loss, CM_LOSSES)
static const char *recompute_at(int i)
{
    return i < CM_RECOMPUTES ? cm_recompute_name((cm_recompute)i) : cm_recompute_policy(i - CM_RECOMPUTES);
}
NAMES(attention, CM_ATTENTIONS)
NAMES(loss_kernel, CM_LOSS_KERNELS)
NAMES(logits, CM_LOGITS)
NAMES_AFTER_DEFAULT(mixed_precision, CM_MIXED_PRECISIONS)
NAMES(quantize, CM_QUANTIZES)
NAMES(fuse, CM_FUSES)
NAMES(layout, CM_LAYOUTS)
NAMES(basis, CM_BASES)

#define OBJECTIVES(of, CHOICE)                                                                                         \
    static const char *objective_##of##_at(int i)                                                                      \
    {                                                                                                                  \
        return i < cm_choice_objectives(CHOICE) ? cm_objective_name(cm_choice_objective(CHOICE, i)) : NULL;            \
    }
OBJECTIVES(batch, CM_CHOICE_BATCH)
OBJECTIVES(device, CM_CHOICE_DEVICE)
OBJECTIVES(plan, CM_CHOICE_PLAN)

#define WORDS(name, ...)                                                                                               \
    static const char *name##_at(int i)                                                                                \
    {                                                                                                                  \
        static const char *const words[] = {__VA_ARGS__, NULL};                                                        \
        return words[i];                                                                                               \
    }
WORDS(mode, "training", "inference")
WORDS(on_off, "on", "off")
WORDS(schedule, "1f1b", "gpipe")
WORDS(moments, "fp32", "bf16", "weights")
WORDS(zero, "0", "1", "2", "3")
WORDS(offload, "optimizer", "activations", "weights")
WORDS(sparsity, "2:4")
WORDS(batch, "auto")

/* Word `i` of a list such as "primitives, host and roofline"; NULL: the list is shorter. */
static const char *listed_at(const char *text, int i, char *word, size_t size)
{
    for (; *text; i--) {
        size_t length = strcspn(text, ", ");
        if (i == 0) return snprintf(word, size, "%.*s", (int)length, text), word;
        text += length + strspn(text + length, ", ");
        if (strncmp(text, "and ", 4) == 0) text += 4;
    }
    return NULL;
}

static const char *suite_at(int i)
{
    static char word[64];
    return listed_at(cm_bench_suites(), i, word, sizeof word);
}

static const char *backend_at(int i)
{
    static char word[64];
    return listed_at(cm_bench_backends(), i, word, sizeof word);
}

/* The values that are offered for an option. */
static const struct {
    const char *option;
    const char *(*at)(int i); /* NULL: the list has ended */
    unsigned    of;           /* commands whose option has these values */
} values[] = {
    {"--device", device_at, FOR_ALL},      {"--devices", device_at, FOR_ALL},       {"--versus", device_at, FOR_ALL},
    {"--baseline", device_at, FOR_ALL},    {"--cluster", cluster_at, FOR_ALL},      {"--for", model_at, FOR_ALL},
    {"--precision", precision_at, FOR_ALL}, {"--optimizer", optimizer_at, FOR_ALL}, {"--loss", loss_at, FOR_ALL},
    {"--recompute", recompute_at, FOR_ALL}, {"--attention", attention_at, FOR_ALL},
    {"--loss-kernel", loss_kernel_at, FOR_ALL}, {"--logits", logits_at, FOR_ALL},
    {"--mixed-precision", mixed_precision_at, FOR_ALL}, {"--quantize", quantize_at, FOR_ALL},
    {"--mode", mode_at, FOR_ALL},
    {"--runtime", runtime_at, FOR_ALL},
    {"--objective", objective_device_at, FOR_RANKING}, {"--objective", objective_plan_at, FOR_PLAN},
    {"--objective", objective_batch_at, FOR_BATCH}, {"--price-basis", basis_at, FOR_ALL},
    {"--layout", layout_at, FOR_ALL},
    {"--fuse", fuse_at, FOR_ALL},          {"--host-io", on_off_at, FOR_ALL},
    {"--schedule", schedule_at, FOR_ALL},
    {"--moments", moments_at, FOR_ALL},
    {"--backend", backend_at, FOR_ALL},    {"--suite", suite_at, FOR_ALL},          {"--zero", zero_at, FOR_ALL},
    {"--offload", offload_at, FOR_ALL},    {"--sparsity", sparsity_at, FOR_ALL},
    {"--batch", batch_at, FOR_PREDICT | FOR_EXPLAIN | FOR_RANKING},
};
#define VALUES (sizeof values / sizeof *values)

static void list(const char *(*at)(int i), FILE *out)
{
    for (int i = 0; at(i); i++) fprintf(out, "%s%s", i ? " " : "", at(i));
}

/* Operands of commands that take no model. */
static const struct {
    const char *command, *actions;
    const char *(*at)(int i);
} operands[] = {{"devices", "list show check add", device_at}, {"models", "list show", model_at},
                {"collective", "", collective_at}, {"job", "init show", model_at}};

static bool takes_model(const command *c) { return strncmp(c->operands, "MODEL", 5) == 0; }

/* ---- bash ------------------------------------------------------------------------------------------------------- */

static void print_operands(const command *c, FILE *out)
{
    if (takes_model(c)) list(model_at, out);
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (strcmp(operands[i].command, c->name) != 0) continue;
        fprintf(out, "%s ", operands[i].actions);
        list(operands[i].at, out);
        if (operands[i].at == device_at) putc(' ', out), list(cluster_at, out);
    }
    if (strcmp(c->name, "completion") == 0) fputs("bash zsh", out);
}

static bool names_file(const option *o) { return strstr(o->argument, "FILE") || strstr(o->argument, "csv"); }

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
    bool files = values[at].at == device_at || values[at].at == cluster_at || values[at].at == model_at;
    fputs(") words='", out);
    if (values[at].at == device_at) fputs("'$devices'", out);
    else list(values[at].at, out);
    fputs(files ? "' ;;\n" : "' files= ;;\n", out);
}

/* Options whose values are not listed: complete file names for files, nothing for numbers and free text. */
static void print_bash_others(FILE *out)
{
    for (int i = 0; i < n_options; i++) {
        bool known = !options[i].argument;
        for (size_t k = 0; k < VALUES && !known; k++)
            known = strcmp(values[k].option, options[i].name) == 0 && values[k].of == (unsigned)FOR_ALL;
        for (int k = 0; k < i && !known; k++) known = strcmp(options[k].name, options[i].name) == 0;
        if (known) continue;
        bool file = names_file(&options[i]) || strstr(options[i].argument, "FOLDER");
        fprintf(out, "    *:%s) %sreturn ;;\n", options[i].name,
                file ? "COMPREPLY=($(compgen -f -- \"$current\")); " : "");
    }
}

/* "a,b,c" is completed after its last comma. Bash splits words at '='. */
#define BASH_HEAD                                                                                                      \
    "# bash completion of centimani: made by 'centimani completion bash'\n_centimani()\n{\n"                           \
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words files=yes list=\n"           \
    "    COMPREPLY=()\n"                                                                                               \
    "    if [[ $current == = ]]; then current=\n"                                                                      \
    "    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"                                      \
    "    if [[ ($before == --devices || $before == --suite || $before == --offload) && $current == *,* ]]; then\n"     \
    "        list=${current%,*},; current=${current##*,}; fi\n"

static void print_bash(FILE *out)
{
    fputs(BASH_HEAD "    local devices='", out);
    list(device_at, out);
    fputs("'\n    case ${COMP_WORDS[1]}:$before in\n", out);
    for (size_t i = 0; i < VALUES; i++) print_bash_values(i, out);
    print_bash_others(out);
    fputs("    *) case ${COMP_CWORD}:${COMP_WORDS[1]} in\n    1:*) words='", out);
    for (int i = 0; i < n_commands; i++) fprintf(out, "%s%s", i ? " " : "", commands[i].name);
    fputs("' ;;\n", out);
    for (int i = 0; i < n_commands; i++) {
        fprintf(out, "    *:%s) words='", commands[i].name);
        print_operands(&commands[i], out);
        list_options(&commands[i], out);
        fputs("' ;;\n", out);
    }
    fputs("    esac ;;\n    esac\n    COMPREPLY=($(compgen -P \"$list\" -W \"$words\" -- \"$current\"))\n"
          "    [[ $files && ! $list && $current != -* && $COMP_CWORD -gt 1 ]] && "
          "COMPREPLY+=($(compgen -f -- \"$current\"))\n    return 0\n}\n"
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

static void print_zsh_values(const option *o, const command *c, FILE *out)
{
    for (size_t i = 0; i < VALUES; i++) {
        if (strcmp(values[i].option, o->name) != 0 || !(values[i].of & c->takes)) continue;
        bool many = strcmp(o->name, "--devices") == 0;
        if (values[i].at == device_at) fputs(many ? "_values -s , device $devices" : "($devices)", out);
        else if (values[i].at == model_at) fputs("($models)", out);
        else {
            fputc('(', out);
            for (int k = 0; values[i].at(k); k++) {
                if (k) fputc(' ', out);
                print_quoted(values[i].at(k), out);
            }
            fputc(')', out);
        }
        return;
    }
    if (names_file(o)) fputs("_files", out);
}

static void print_zsh_option(const option *o, const command *c, FILE *out)
{
    fprintf(out, "        '%s[", o->name);
    print_quoted(o->help, out);
    fputc(']', out);
    if (o->argument) {
        fputc(':', out);
        print_quoted(o->argument, out);
        fputc(':', out);
        print_zsh_values(o, c, out);
    }
    fputs("' \\\n", out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef centimani\n# zsh completion of centimani: made by 'centimani completion zsh'\n_centimani() {\n"
          "  local -a commands devices models\n  devices=(", out);
    list(device_at, out);
    fputs(")\n  models=(", out);
    list(model_at, out);
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
            if ((options[k].taken_by & commands[i].takes) && options[k].help)
                print_zsh_option(&options[k], &commands[i], out);
        fputs("        '*:operand:{ compadd -- ", out);
        print_operands(&commands[i], out);
        fputs("; _files }' ;;\n", out);
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
