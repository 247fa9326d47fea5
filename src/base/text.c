/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - parse numbers, format quantities, and suggest names for misspelt ones. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 /* characters */
#define NAME_MAX_LENGTH 64

static const char *number_text(cm__span text, char buf[NUMBER_MAX])
{
    if (text.length == 0 || text.length >= NUMBER_MAX || strchr(" \t\n\r\v\f", text.text[0])) return NULL;
    memcpy(buf, text.text, text.length);
    buf[text.length] = 0;
    return strlen(buf) == text.length ? buf : NULL;
}

bool cm__parse_int(cm__span text, int64_t *value)
{
    char        buf[NUMBER_MAX], *end;
    const char *start = number_text(text, buf);
    if (!start) return false;
    errno = 0;
    long long n = strtoll(start, &end, 10);
    if (*end || end == start || errno) return false;
    *value = n;
    return true;
}

bool cm__parse_real(cm__span text, double *value)
{
    char        buf[NUMBER_MAX], *end;
    const char *start = number_text(text, buf);
    if (!start) return false;
    double x = strtod(start, &end);
    if (*end || end == start || !isfinite(x)) return false;
    *value = x;
    return true;
}

static char *scaled(char *buf, size_t size, double value, double step, const char *const *prefixes)
{
    int p = 0;
    if (!isfinite(value)) return snprintf(buf, size, "- "), buf;
    for (; prefixes[p + 1] && fabs(value) >= step * 0.9995; p++) value /= step;
    if (p == 0 && value == floor(value)) snprintf(buf, size, "%.0f ", value);
    else snprintf(buf, size, "%.*f %s", fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value, prefixes[p]);
    return buf;
}

char *cm__si(char *buf, size_t size, double value)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E", NULL};
    return scaled(buf, size, value, 1000, prefixes);
}

char *cm__si_small(char *buf, size_t size, double value)
{
    static const char *const prefixes[] = {"m", "u", "n", "p", NULL};
    int                      p = -1;
    if (value == 0 || !(fabs(value) < 0.9995)) return cm__si(buf, size, value);
    for (; prefixes[p + 1] && fabs(value) < 0.9995; p++) value *= 1000;
    snprintf(buf, size, "%.*f %s", fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value, prefixes[p]);
    return buf;
}

char *cm__cell(char *buf, size_t size, double value)
{
    double far = fabs(value);
    if (!isfinite(value)) return snprintf(buf, size, "-"), buf;
    if (far >= 99999.5 || (far < 0.00995 && far > 0)) return cm__si_small(buf, size, value);
    snprintf(buf, size, "%.*f", far < 9.995 ? 2 : far < 99.95 ? 1 : 0, value);
    return buf;
}

char *cm__amount(char *buf, size_t size, double value)
{
    static const struct {
        const char *name;
        double      value;
    } words[] = {{"trillion", 1e12}, {"billion", 1e9}, {"million", 1e6}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (value >= 0.9995 * words[i].value && value < 999.5e12)
            return snprintf(buf, size, "%.3g %s", value / words[i].value, words[i].name), buf;
    if (value >= 9999.5 && value < 999.5e12) return cm__grouped(buf, size, (int64_t)(value + 0.5));
    return snprintf(buf, size, "%.4g", value), buf;
}

const cm__time_unit *cm__time_unit_for(double s)
{
    static const cm__time_unit units[] = {{"days", 86400, 172800}, {"h", 3600, 5400}, {"min", 60, 90}, {"s", 1, 0}};
    const cm__time_unit       *u = units;
    while (s < u->from_s) u++;
    return u;
}

char *cm__duration(char *buf, size_t size, double s, double like_s, int digits)
{
    const cm__time_unit *u = cm__time_unit_for(like_s);
    double               value = s / u->seconds;
    if (fabs(value) < pow(10, digits) - 0.5) snprintf(buf, size, "%.*g %s", digits, value, u->name);
    else snprintf(buf, size, "%.0f %s", value, u->name);
    return buf;
}

char *cm__binary(char *buf, size_t size, double value)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", NULL};
    return scaled(buf, size, value, 1024, prefixes);
}

char *cm__grouped(char *buf, size_t size, int64_t value)
{
    char   digits[32];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value), out = 0;
    for (size_t i = 0; i < length && out + 2 < size; i++) {
        if (i && digits[i - 1] != '-' && (length - i) % 3 == 0) buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = 0;
    return buf;
}

static int letter(char c) { return c == '_' ? '-' : tolower((unsigned char)c); }

void cm__join(char *buf, size_t size, const char *first, ...)
{
    va_list texts;
    size_t  used = 0;
    va_start(texts, first);
    for (const char *t = first; t; t = va_arg(texts, const char *))
        while (*t && used + 1 < size) buf[used++] = *t++;
    va_end(texts);
    if (size) buf[used] = 0;
}

bool cm__same_name(const char *a, const char *b)
{
    for (; *a && letter(*a) == letter(*b); a++, b++) continue;
    return !*a && !*b;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1], m = strlen(a), n = strlen(b);
    if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            row[j] = least(least(row[j] + 1, row[j - 1] + 1), corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[n];
}

const char *cm__nearest(const char *name, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t      length = strlen(name), best_distance = length / 3 + 2; /* up to a third of the letters may differ, */
    if (best_distance > length) best_distance = length;                  /* but not all letters */
    for (size_t i = 0; i < count; i++) {
        size_t d = edit_distance(name, names[i]);
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}
