/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the option table and its parser. */
#include <string.h>
#include "base/text.h"
#include "values.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- the table --------------------------------------------------------------------------------------------------- */

const option options[] = {
#define OPT(name_, argument_, kind_, field_, taken_by_, help_)                                                         \
    {.name = name_,                                                                                                    \
     .argument = argument_,                                                                                            \
     .help = help_,                                                                                                    \
     .taken_by = taken_by_,                                                                                            \
     .field = offsetof(settings, field_),                                                                              \
     .store = store_##kind_},
#define GROUP(title) {.name = "", .help = title},
#include "options.def"
#undef OPT
};
const int n_options = COUNT(options);

/* ---- the parser -------------------------------------------------------------------------------------------------- */

static bool refuse(const command *c, const char *name)
{
    const char *names[COUNT(options)];
    size_t      count = 0;
    for (int i = 0; i < n_options; i++)
        if (options[i].taken_by & c->takes) names[count++] = options[i].name;
    bool        letter = strlen(name) <= 2; /* "-n" resembles every other letter */
    const char *meant = letter ? NULL : cm__nearest(name, names, count);
    if (meant) say("%s has no option '%s'; did you mean '%s'?", c->name, name, meant);
    else say("%s has no option '%s'; 'centimani %s --help' lists those it has", c->name, name, c->name);
    return false;
}

int no_action(const char *of, const char *action, const char *const *actions, size_t count, const char *usage)
{
    const char *meant = cm__nearest(action, actions, count);
    if (meant && strcmp(meant, action) != 0) say("%s has no action '%s'; did you mean '%s'?", of, action, meant);
    else say("%s: usage: centimani %s %s [options]", of, of, usage);
    return EXIT_USAGE;
}

static const option *find_option(const command *c, const char *name, size_t length)
{
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && cm__span_is((cm__span){name, length}, options[i].name))
            return &options[i];
    return NULL;
}

/* One option, "--name", "--name value" or "--name=value"; moves *at past the words it used. */
static bool take_option(const command *c, settings *s, char **argv, int *at)
{
    const char   *name = argv[(*at)++];
    size_t        length = strcspn(name, "=");
    const option *o = find_option(c, name, length);
    const char   *value = name[length] ? name + length + 1 : NULL;
    if (!o) return refuse(c, name);
    if (!o->argument && value) {
        say("option %s takes no value", o->name);
        return false;
    }
    if (o->argument && !value) value = argv[*at] ? argv[(*at)++] : NULL;
    if (o->argument && !value) {
        say("option %s needs a value: %s %s", o->name, o->name, o->argument);
        return false;
    }
    if (s->n_given < GIVEN_MAX) s->given[s->n_given++] = (given_option){o, o->argument ? value : NULL};
    return o->store(o, s, (char *)s + o->field, value);
}

static bool take_operand(const command *c, settings *s, const char *operand)
{
    if (s->job_file) {
        say("%s: the job file names the models: leave out '%s'", c->name, operand);
        return false;
    }
    if (s->n_operands >= c->max_operands && !(s->help && s->n_operands < OPERANDS_MAX)) {
        say("%s: '%s' is one argument too many; usage: centimani %s %s [options]", c->name, operand, c->name,
            c->operands);
        return false;
    }
    s->operands[s->n_operands++] = operand;
    return true;
}

/* ---- hypothetical devices ---------------------------------------------------------------------------------------- */

/* Appends "?CHANGES" to each name of a list; changes are separated by '&', because names are by commas. False: there is
   no room. */
static bool change_names(const char *names, const char *changes, char *out, size_t size)
{
    char   joined[256];
    size_t used = 0;
    if (strlen(changes) >= sizeof joined) return false;
    strcpy(joined, changes);
    for (char *at = joined; (at = strchr(at, ',')); at++) *at = '&';
    for (const char *at = names; *at && used < size; at += *at == ',') {
        int length = (int)strcspn(at, ",");
        used += (size_t)snprintf(out + used, size - used, "%s%.*s?%s", used ? "," : "", length, at, joined);
        at += length;
    }
    return used < size;
}

static bool change_devices(const command *c, settings *s)
{
    bool fits = true;
    if (!s->what_if) return true;
    if (!s->device && !s->rank.devices) {
        say("%s: --what-if needs the device that it changes: --device ID or --devices ID,ID", c->name);
        return false;
    }
    if (s->device) {
        fits = change_names(s->device, s->what_if, s->changed_device, sizeof s->changed_device);
        s->device = s->changed_device;
    }
    if (s->rank.devices) {
        fits &= change_names(s->rank.devices, s->what_if, s->changed_devices, sizeof s->changed_devices);
        s->rank.devices = s->changed_devices;
    }
    if (!fits) say("%s: --what-if: too many devices or changes", c->name);
    return fits;
}

/* Options of the command line replace those of a job file, so the file comes first. */
static bool take_job(const command *c, settings *s, int argc, char **argv)
{
    for (int at = 0; at < argc && strcmp(argv[at], "--") != 0; at++) {
        bool here = strncmp(argv[at], "--job=", 6) == 0;
        if (!here && (strcmp(argv[at], "--job") != 0 || at + 1 == argc)) continue;
        s->job_file = here ? argv[at] + 6 : argv[at + 1];
        return c->takes & FOR_JOB || read_job(c, s, s->job_file);
    }
    return true;
}

bool parse_options(const command *c, settings *s, int argc, char **argv)
{
    bool only_operands = false;
    if ((c->takes & FOR_RANKING) && !take_job(c, s, argc, argv)) return false;
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            at++;
        } else if (only_operands || word[0] != '-' || !word[1]) {
            if (!take_operand(c, s, argv[at++])) return false;
        } else if (!take_option(c, s, argv, &at)) return false;
    }
    if (s->help) return true;
    settle_job(s);
    if (s->n_operands >= c->min_operands) return change_devices(c, s) && options_fit_together(c, s);
    say("%s needs %s; usage: centimani %s %s [options]", c->name, c->operands, c->name, c->operands);
    return false;
}
