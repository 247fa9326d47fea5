/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the option table and its parser. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cli.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define NUMBER_MAX 1000000000 /* larger batches and sequences are typing errors */

/* ---- ways to store a value --------------------------------------------------------------------------------------- */

static bool store_flag(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s, (void)value;
    *(bool *)field = true;
    return true;
}

static bool store_text(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s;
    *(const char **)field = value;
    return true;
}

static bool store_whole_number(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    int64_t n;
    if (!cm__parse_int(cm__span_of(value), &n) || n < 1 || n > NUMBER_MAX) {
        say("option %s: '%s' is not a whole number from 1 to %d", o->name, value, NUMBER_MAX);
        return false;
    }
    *(int64_t *)field = n;
    return true;
}

static bool store_batch(const option *o, settings *s, void *field, const char *value)
{
    if (strcmp(value, "auto")) return store_whole_number(o, s, field, value);
    *(int64_t *)field = 0;
    return true;
}

static bool store_dimension(const option *o, settings *s, void *field, const char *value)
{
    const char *equals = strchr(value, '=');
    char       *dims = field;
    size_t      used = strlen(dims), more = strlen(value);
    int64_t     n;
    if (!equals || equals == value || strchr(value, ',') || !cm__parse_int(cm__span_of(equals + 1), &n) || n < 1) {
        say("option %s: '%s' is not NAME=N with a whole number from 1", o->name, value);
        return false;
    }
    if (used + more + 2 > sizeof s->dims) {
        say("option %s: more than %zu characters in all", o->name, sizeof s->dims - 1);
        return false;
    }
    if (used) dims[used++] = ',';
    memcpy(dims + used, value, more + 1);
    s->graph.load.dims = dims;
    return true;
}

static bool store_mode(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "inference") == 0;
    if (*(bool *)field || strcmp(value, "training") == 0) return true;
    say("option %s: unknown mode '%s'; there are training and inference", o->name, value);
    return false;
}

/* On, off, or as a dataset's name says: an explicit off is kept apart from none. */
static bool store_switch(const option *o, settings *s, void *field, const char *value)
{
    *(bool *)field = strcmp(value, "on") == 0;
    s->no_loading = strcmp(value, "off") == 0;
    if (*(bool *)field || s->no_loading) return true;
    say("option %s: '%s' is neither on nor off", o->name, value);
    return false;
}

static bool store_sparsity(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    cm_sparsity *sparsity = field;
    sparsity->structured = strcmp(value, "2:4") == 0;
    sparsity->pruned = 0.5;
    if (sparsity->structured) return true;
    bool number = cm__parse_real(cm__span_of(value), &sparsity->pruned);
    if (number && sparsity->pruned >= 0 && sparsity->pruned < 1) return true;
    say("option %s: '%s' is neither a number from 0 to below 1 nor 2:4", o->name, value);
    return false;
}

#define WORKERS_MAX 100000

static bool store_workers(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    int64_t n;
    if (!cm__parse_int(cm__span_of(value), &n) || n < 0 || n > WORKERS_MAX) {
        say("option %s: '%s' is not a whole number from 0 to %d", o->name, value, WORKERS_MAX);
        return false;
    }
    *(int64_t *)field = n ? n : -1;
    return true;
}

#define COUNT_MAX 1000000

static bool store_count(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    int64_t n;
    if (!cm__parse_int(cm__span_of(value), &n) || n < 1 || n > COUNT_MAX) {
        say("option %s: '%s' is not a whole number from 1 to %d", o->name, value, COUNT_MAX);
        return false;
    }
    *(int32_t *)field = (int32_t)n;
    return true;
}

static bool store_port(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    int64_t n;
    if (!cm__parse_int(cm__span_of(value), &n) || n < 0 || n > UINT16_MAX) {
        say("option %s: '%s' is not a port from 0 to %d", o->name, value, UINT16_MAX);
        return false;
    }
    *(int32_t *)field = (int32_t)n;
    return true;
}

static bool store_zero(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    int64_t n;
    if (!cm__parse_int(cm__span_of(value), &n) || n < 0 || n > 3) {
        say("option %s: '%s' is not 0, 1, 2 or 3", o->name, value);
        return false;
    }
    *(int32_t *)field = (int32_t)n;
    return true;
}

static bool store_candidates(const option *o, settings *s, void *field, const char *value)
{
    int64_t *list = field;
    s->memory.n_candidates = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        if (s->memory.n_candidates == CM_CANDIDATES_MAX) {
            say("option %s: more than %d batch sizes", o->name, CM_CANDIDATES_MAX);
            return false;
        }
        int64_t *n = &list[s->memory.n_candidates++];
        if (!cm__parse_int((cm__span){at, length}, n) || *n < 1 || *n > NUMBER_MAX) {
            say("option %s: '%.*s' is not a whole number from 1 to %d", o->name, (int)length, at, NUMBER_MAX);
            return false;
        }
        at += length;
        if (!*at) return true;
    }
}

static bool store_counts(const option *o, settings *s, void *field, const char *value)
{
    int64_t *list = field;
    s->scale.n_counts = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        if (s->scale.n_counts == CM__POINTS_MAX) {
            say("option %s: more than %d counts", o->name, CM__POINTS_MAX);
            return false;
        }
        int64_t *n = &list[s->scale.n_counts++];
        if (!cm__parse_int((cm__span){at, length}, n) || *n < 1 || *n > COUNT_MAX) {
            say("option %s: '%.*s' is not a whole number from 1 to %d", o->name, (int)length, at, COUNT_MAX);
            return false;
        }
        at += length;
        if (!*at) return true;
    }
}

/* A number and one of `units`, each standing for a factor. */
static bool store_scaled(const option *o, double *field, const char *value, const char *units, const double *factors,
                         const char *example)
{
    char       *end;
    double      number = strtod(value, &end);
    const char *unit = *end && !end[1] ? strchr(units, *end) : NULL;
    if (end == value || !(number > 0) || number > 1e18 || !unit) {
        say("option %s: '%s' is not such a number as %s", o->name, value, example);
        return false;
    }
    *field = number * factors[unit - units];
    return true;
}

static bool store_duration(const option *o, settings *s, void *field, const char *value)
{
    static const double factors[] = {1, 60, 3600, 86400};
    (void)s;
    return store_scaled(o, field, value, "smhd", factors, "24h or 30d");
}

static bool store_schedule(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "gpipe") == 0;
    if (*(bool *)field || strcmp(value, "1f1b") == 0) return true;
    say("option %s: unknown schedule '%s'; there are 1f1b and gpipe", o->name, value);
    return false;
}

static bool store_compress(const option *o, settings *s, void *field, const char *value)
{
    cm_plan *plan = field;
    char    *end;
    double   n = strtod(value, &end);
    (void)s;
    if (end == value || *end || !(n > 0) || n > 32 || (n > 1 && n != (int)n)) {
        say("option %s: '%s' is neither bits from 1 to 32 nor a part below 1", o->name, value);
        return false;
    }
    *(n < 1 ? &plan->gradient_part : &plan->gradient_bits) = n;
    return true;
}

static bool store_offload(const option *o, settings *s, void *field, const char *value)
{
    cm_plan *plan = field;
    (void)s;
    for (const char *at = value; *at; at += *at == ',') {
        cm__span word = {at, strcspn(at, ",")};
        bool    *what = cm__span_is(word, "optimizer")     ? &plan->offload_optimizer
                        : cm__span_is(word, "activations") ? &plan->offload_activations
                        : cm__span_is(word, "weights")     ? &plan->offload_weights
                                                           : NULL;
        if (!what) {
            say("option %s: '%.*s' is none of optimizer, activations and weights", o->name, (int)word.length, at);
            return false;
        }
        *what = true;
        at += word.length;
    }
    return true;
}

static bool store_real(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    double x;
    if (!cm__parse_real(cm__span_of(value), &x) || x <= 0) {
        say("option %s: '%s' is not a number above 0", o->name, value);
        return false;
    }
    *(double *)field = x;
    return true;
}

/* "8e9", "300B": as people write tokens and samples. */
static bool store_amount(const option *o, settings *s, void *field, const char *value)
{
    static const struct {
        char   letter;
        double factor;
    } units[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}};
    size_t length = strlen(value);
    double factor = 1, x;
    for (size_t i = 0; length && i < sizeof units / sizeof *units; i++)
        if (value[length - 1] == units[i].letter) factor = units[i].factor;
    (void)s;
    if (!cm__parse_real((cm__span){value, length - (factor > 1)}, &x) || x <= 0) {
        say("option %s: '%s' is not a number above 0, such as 1281167, 9e9 or 300B", o->name, value);
        return false;
    }
    *(double *)field = x * factor;
    return true;
}

static bool store_price(const option *o, settings *s, void *field, const char *value)
{
    const char *equals = strchr(value, '=');
    double      usd;
    (void)field;
    if (s->rank.n_prices == PRICES_MAX) {
        say("option %s: more than %d prices", o->name, PRICES_MAX);
        return false;
    }
    char *name = s->price_names[s->rank.n_prices];
    if (!equals || equals == value || equals - value >= (long)sizeof s->price_names[0] ||
        !cm__parse_real(cm__span_of(equals + 1), &usd) || usd <= 0) {
        say("option %s: '%s' is not DEVICE=USD", o->name, value);
        return false;
    }
    memcpy(name, value, (size_t)(equals - value));
    s->prices[s->rank.n_prices++] = (cm_rank_price){name, usd};
    return true;
}

#define STORE_NAMED(kind)                                                                                              \
    static bool store_##kind(const option *o, settings *s, void *field, const char *value)                             \
    {                                                                                                                  \
        (void)s;                                                                                                       \
        cm_diag diag;                                                                                                  \
        if (cm_##kind##_parse(value, field, &diag) == CM_OK) return true;                                              \
        say("option %s: %s", o->name, diag.reason);                                                                    \
        return false;                                                                                                  \
    }
STORE_NAMED(precision)
STORE_NAMED(optimizer)
STORE_NAMED(loss)
STORE_NAMED(recompute)
STORE_NAMED(fuse)
STORE_NAMED(runtime)
STORE_NAMED(layout)
STORE_NAMED(objective)
STORE_NAMED(goal)
STORE_NAMED(plan_goal)

static bool store_no_fuse(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s, (void)value;
    *(cm_fuse *)field = CM_FUSE_NONE;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

const option options[] = {
#define OPT(name_, argument_, kind_, field_, taken_by_, help_)                                                         \
    {.name = name_,                                                                                                    \
     .argument = argument_,                                                                                            \
     .help = help_,                                                                                                    \
     .taken_by = taken_by_,                                                                                            \
     .field = offsetof(settings, field_),                                                                              \
     .store = store_##kind_},
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
    const char *meant = cm__nearest(name, names, count);
    if (meant) say("%s has no option '%s'; did you mean '%s'?", c->name, name, meant);
    else say("%s has no option '%s'; 'centimani %s --help' lists those it has", c->name, name, c->name);
    return false;
}

static const option *find_option(const command *c, const char *name, size_t length)
{
    for (int i = 0; i < n_options; i++)
        if ((options[i].taken_by & c->takes) && cm__span_is((cm__span){name, length}, options[i].name))
            return &options[i];
    return NULL;
}

/* One option, "--name", "--name value" or "--name=value"; moves *at past what it used. */
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
    return o->store(o, s, (char *)s + o->field, value);
}

static bool take_operand(const command *c, settings *s, const char *operand)
{
    if (s->n_operands >= c->max_operands) {
        say("%s: '%s' is one argument too many; usage: centimani %s %s [options]", c->name, operand, c->name,
            c->operands);
        return false;
    }
    s->operands[s->n_operands++] = operand;
    return true;
}

bool parse_options(const command *c, settings *s, int argc, char **argv)
{
    bool only_operands = false;
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            at++;
        } else if (only_operands || word[0] != '-' || !word[1]) {
            if (!take_operand(c, s, argv[at++])) return false;
        } else if (!take_option(c, s, argv, &at)) return false;
    }
    if (s->help || s->n_operands >= c->min_operands) return true;
    say("%s needs %s; usage: centimani %s %s [options]", c->name, c->operands, c->name, c->operands);
    return false;
}
