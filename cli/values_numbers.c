/* SPDX-License-Identifier: Apache-2.0 */
/* values_numbers.c - options whose values are numbers. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "values.h"

#define NUMBER_MAX 1000000000 /* a larger batch size or sequence length is a typing error */
#define COUNT_MAX 1000000
#define FIRST_YEAR 2012
#define LAST_YEAR 2100
#define WORKERS_MAX 100000

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

static bool read_whole(const option *o, cm__span text, int64_t least, int64_t most, int64_t *n)
{
    if (cm__parse_int(text, n) && *n >= least && *n <= most) return true;
    say("option %s: '%.*s' is not a whole number from %lld to %lld", o->name, (int)text.length, text.text,
        (long long)least, (long long)most);
    return false;
}

bool store_whole_number(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    return read_whole(o, cm__span_of(value), 1, NUMBER_MAX, field);
}

bool store_batch(const option *o, settings *s, void *field, const char *value)
{
    if (strcmp(value, "auto")) return store_whole_number(o, s, field, value);
    *(int64_t *)field = 0;
    return true;
}

/* Stored as -1 if the user asks for no workers, because 0 means the default. */
bool store_workers(const option *o, settings *s, void *field, const char *value)
{
    int64_t n;
    (void)s;
    if (!read_whole(o, cm__span_of(value), 0, WORKERS_MAX, &n)) return false;
    *(int64_t *)field = n ? n : -1;
    return true;
}

bool store_count(const option *o, settings *s, void *field, const char *value)
{
    int64_t n;
    (void)s;
    if (!read_whole(o, cm__span_of(value), 1, COUNT_MAX, &n)) return false;
    *(int32_t *)field = (int32_t)n;
    return true;
}

bool store_port(const option *o, settings *s, void *field, const char *value)
{
    int64_t n;
    (void)s;
    if (!read_whole(o, cm__span_of(value), 0, UINT16_MAX, &n)) return false;
    *(int32_t *)field = (int32_t)n;
    return true;
}

bool store_zero(const option *o, settings *s, void *field, const char *value)
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

/* ---- lists of numbers -------------------------------------------------------------------------------------------- */

typedef struct list {
    int64_t *numbers;
    int32_t *count, room;
    int64_t  most;      /* largest allowed number */
    const char *what;
} list;

static bool read_list(const option *o, list l, const char *value)
{
    *l.count = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        if (*l.count == l.room) {
            say("option %s: more than %d %s", o->name, l.room, l.what);
            return false;
        }
        if (!read_whole(o, (cm__span){at, length}, 1, l.most, &l.numbers[(*l.count)++])) return false;
        at += length;
        if (!*at) return true;
    }
}

bool store_candidates(const option *o, settings *s, void *field, const char *value)
{
    list l = {field, &s->memory.n_candidates, CM_CANDIDATES_MAX, NUMBER_MAX, "batch sizes"};
    return read_list(o, l, value);
}

bool store_counts(const option *o, settings *s, void *field, const char *value)
{
    list l = {field, &s->scale.n_counts, CM__POINTS_MAX, COUNT_MAX, "counts"};
    return read_list(o, l, value);
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

/* A number followed by one of the letters in `units`; factors[i] is the factor of units[i]. */
static bool store_scaled(const option *o, double *field, const char *value, const char *units, const double *factors,
                         const char *expected)
{
    char       *end;
    double      number = strtod(value, &end);
    const char *unit = *end && !end[1] ? strchr(units, *end) : NULL;
    if (end == value || !(number > 0) || number > 1e18 || !unit) {
        say("option %s: '%s' is not %s", o->name, value, expected);
        return false;
    }
    *field = number * factors[unit - units];
    return true;
}

bool store_duration(const option *o, settings *s, void *field, const char *value)
{
    static const double factors[] = {1, 60, 3600, 86400, 604800};
    size_t              length = strlen(value);
    char                minutes[32];
    (void)s;
    if (length > 3 && length < sizeof minutes && strcmp(value + length - 3, "min") == 0) /* 90min is 90m */
        snprintf(minutes, sizeof minutes, "%.*s", (int)length - 2, value), value = minutes;
    return store_scaled(o, field, value, "smhdw", factors, "a time with its unit, such as 90min, 24h, 30d or 2w");
}

typedef struct value_unit {
    const char *name;
    double      factor;
} value_unit;

/* A number above 0 and its unit. */
static bool store_with_unit(const option *o, double *field, const char *value, const value_unit *units, const char *expected)
{
    size_t digits = strspn(value, "0123456789.");
    double number;
    for (; units->name && strcmp(units->name, value + digits) != 0; units++) continue;
    if (!units->name || !cm__parse_real((cm__span){value, digits}, &number) || !(number > 0) || number > 1e18) {
        say("option %s: '%s' is not %s", o->name, value, expected);
        return false;
    }
    *field = number * units->factor;
    return true;
}

bool store_step_limit(const option *o, settings *s, void *field, const char *value)
{
    static const value_unit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {NULL, 0}};
    (void)s;
    return store_with_unit(o, field, value, units, "a time with its unit (us, ms, s, min or h), such as 130ms");
}

static const value_unit sizes[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"B", 1},
                                   {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"KiB", 0x1p10},
                                   {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0}};
#define WITH_BYTES 6 /* the first that names bytes */

bool store_size(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    return store_with_unit(o, field, value, sizes, "a number of bytes, such as 240000000, 240M or 64MiB");
}

bool store_bytes(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    return store_with_unit(o, field, value, sizes + WITH_BYTES,
                           "a number of bytes with its unit (B, kB, MB, GB, TB, KiB, MiB, GiB or TiB), such as 70GiB");
}

bool store_fraction(const option *o, settings *s, void *field, const char *value)
{
    static const value_unit units[] = {{"%", 0.01}, {"", 1}, {NULL, 0}};
    (void)s;
    return store_with_unit(o, field, value, units, "a fraction or a percentage, such as 0.8 or 80%");
}

bool store_compress(const option *o, settings *s, void *field, const char *value)
{
    cm_plan *plan = field;
    char    *end;
    double   n = strtod(value, &end);
    (void)s;
    if (end == value || *end || !(n > 0) || n > 32 || (n > 1 && n != (int)n)) {
        say("option %s: '%s' is neither a number of bits from 1 to 32 nor a fraction below 1", o->name, value);
        return false;
    }
    *(n < 1 ? &plan->gradient_part : &plan->gradient_bits) = n;
    return true;
}

bool store_real(const option *o, settings *s, void *field, const char *value)
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

/* Amounts of money: "500", "500USD", "20k". */
bool store_usd(const option *o, settings *s, void *field, const char *value)
{
    size_t length = strlen(value), unit = length > 3 && strcmp(value + length - 3, "USD") == 0 ? 3 : 0;
    char   number[64];
    if (length - unit >= sizeof number) unit = length;
    snprintf(number, sizeof number, "%.*s", (int)(length - unit), value);
    double factor = 1, x;
    size_t digits = strlen(number);
    if (digits && strchr("kKM", number[digits - 1])) {
        factor = number[digits - 1] == 'M' ? 1e6 : 1e3;
        digits--;
    }
    (void)s;
    if (!cm__parse_real((cm__span){number, digits}, &x) || x <= 0) {
        say("option %s: '%s' is not an amount such as 500USD or 20k", o->name, value);
        return false;
    }
    *(double *)field = x * factor;
    return true;
}

/* Numbers of tokens and samples: "8e9", "300B". */
bool store_amount(const option *o, settings *s, void *field, const char *value)
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
