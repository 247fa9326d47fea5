/* SPDX-License-Identifier: Apache-2.0 */
/* where.c - parse and test conditions on devices: a table of fields. */
#include "rank/where.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"

#define CONDITIONS_MOST 16

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static double number(cm_number n) { return n.known ? n.value : NAN; }
static double price(const cm_rank_entry *e) { return e->price_hour; }
static double memory(const cm_rank_entry *e)
{
    const cm_memory *m = cm_device_main_memory(e->device);
    return m ? number(m->capacity_bytes) : NAN;
}
static double bandwidth(const cm_rank_entry *e)
{
    const cm_memory *m = cm_device_main_memory(e->device);
    return m ? number(m->bw_bytes_s) : NAN;
}
static double peak(const cm_rank_entry *e) { return number(cm_device_peak_16bit(e->device)); }
static double power(const cm_rank_entry *e) { return number(cm_device_number(e->device, CM_TDP_W)); }
static double throughput(const cm_rank_entry *e) { return e->prediction.throughput_samples_s; }
static double hours(const cm_rank_entry *e) { return e->hours; }
static double usd(const cm_rank_entry *e) { return e->usd; }
static double energy(const cm_rank_entry *e) { return e->energy_j_per_sample; }
static double mfu(const cm_rank_entry *e) { return e->prediction.mfu; }
static double batch(const cm_rank_entry *e) { return (double)e->prediction.batch; }
static double devices(const cm_rank_entry *e) { return (double)e->prediction.devices; }
static const char *vendor(const cm_rank_entry *e) { return cm_device_get_info(e->device)->vendor; }
static const char *class_of(const cm_rank_entry *e) { return cm_device_get_info(e->device)->device_class; }
static const char *style(const cm_rank_entry *e) { return cm_style_name(cm_device_get_info(e->device)->style); }

/* The kind of quantity of a field, which selects its units below. */
typedef enum measure { COUNT, MONEY, BYTES, RATE, FLOPS, POWER, HOURS, ENERGY, SHARE, MEASURES } measure;

static const struct {
    const char *name;
    bool        predicted;
    double (*value)(const cm_rank_entry *e); /* NULL: a text field */
    const char *(*word)(const cm_rank_entry *e);
    measure     in;
} fields[] = {
    {"price", false, price, NULL, MONEY},        {"memory", false, memory, NULL, BYTES},
    {"bandwidth", false, bandwidth, NULL, RATE}, {"peak", false, peak, NULL, FLOPS},
    {"power", false, power, NULL, POWER},        {"vendor", false, NULL, vendor, COUNT},
    {"class", false, NULL, class_of, COUNT},     {"style", false, NULL, style, COUNT},
    {"throughput", true, throughput, NULL, COUNT}, {"hours", true, hours, NULL, HOURS},
    {"usd", true, usd, NULL, MONEY},             {"energy", true, energy, NULL, ENERGY},
    {"mfu", true, mfu, NULL, SHARE},             {"batch", true, batch, NULL, COUNT},
    {"devices", true, devices, NULL, COUNT},
};
#define FIELDS ((int)(sizeof fields / sizeof *fields))

/* ---- parsing ---------------------------------------------------------------------------------------------------- */

/* Memory sizes use powers of 1024, also when written as GB, as memory vendors do. A quantity without an unnamed unit
   needs a unit: a plain number would be ambiguous. */
static const struct {
    measure     in;
    const char *name;
    double      factor;
} units[] = {
    {COUNT, "", 1},         {COUNT, "k", 1e3},      {COUNT, "M", 1e6},     {COUNT, "G", 1e9},
    {MONEY, "", 1},         {MONEY, "USD", 1},      {MONEY, "k", 1e3},     {MONEY, "M", 1e6},
    {BYTES, "GB", 0x1p30},  {BYTES, "GiB", 0x1p30}, {BYTES, "MB", 0x1p20}, {BYTES, "MiB", 0x1p20},
    {BYTES, "TB", 0x1p40},  {BYTES, "TiB", 0x1p40}, {RATE, "TB/s", 1e12},  {RATE, "GB/s", 1e9},
    {FLOPS, "TFLOPS", 1e12}, {FLOPS, "T", 1e12},    {FLOPS, "PFLOPS", 1e15}, {FLOPS, "P", 1e15},
    {POWER, "W", 1},        {POWER, "", 1},         {POWER, "kW", 1e3},    {HOURS, "h", 1},
    {HOURS, "", 1},         {ENERGY, "J", 1},       {ENERGY, "", 1},       {SHARE, "%", 0.01},
    {SHARE, "", 1},
};
#define UNITS ((int)(sizeof units / sizeof *units))

static int find_field(cm__ctx *ctx, cm__span name)
{
    const char *names[FIELDS], *all = "";
    for (int i = 0; i < FIELDS; i++) {
        names[i] = fields[i].name;
        if (cm__span_is(name, fields[i].name)) return i;
        all = cm__format(ctx, "%s%s%s", all, i ? ", " : "", fields[i].name);
    }
    const char *requested = cm__text_copy_n(ctx, name.text, name.length < 64 ? name.length : 64);
    const char *meant = cm__nearest(requested, names, FIELDS);
    cm__fail(ctx, CM_ERR_ARGUMENT, "no field '%s'%s%s%s; there are %s", requested, meant ? ", did you mean '" : "",
             meant ? meant : "", meant ? "'?" : "", all);
}

/* The units of a quantity as text: "GB, GiB, MB". */
static const char *units_of(cm__ctx *ctx, measure in)
{
    const char *all = "";
    for (int i = 0; i < UNITS; i++)
        if (units[i].in == in && *units[i].name) all = cm__format(ctx, "%s%s%s", all, *all ? ", " : "", units[i].name);
    return all;
}

static const char *first_unit(measure in)
{
    int i = 0;
    while (units[i].in != in || !*units[i].name) i++;
    return units[i].name;
}

static double read_value(cm__ctx *ctx, int field, const char *sign, cm__span text)
{
    size_t      digits = text.length;
    double      value;
    measure     in = fields[field].in;
    const char *name = fields[field].name;
    while (digits > 0 && !strchr("0123456789.", text.text[digits - 1])) digits--;
    if (!cm__parse_real((cm__span){text.text, digits}, &value))
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%s%s%.*s' has no number after the sign, such as 3, 80GB or 2TB/s", name, sign,
                 (int)text.length, text.text);
    cm__span unit = {text.text + digits, text.length - digits};
    bool     percent_meant = in == SHARE && !unit.length && value > 1;
    for (int i = 0; i < UNITS; i++)
        if (units[i].in == in && cm__span_is(unit, units[i].name) && !percent_meant) return value * units[i].factor;
    if (!unit.length)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%s needs a unit: %s%s%.*s%s; there are %s", name, name, sign, (int)text.length,
                 text.text, first_unit(in), units_of(ctx, in));
    cm__fail(ctx, CM_ERR_ARGUMENT, "%s is not in '%.*s'; its units are %s", name, (int)unit.length, unit.text,
             units_of(ctx, in));
}

static cm__condition read_one(cm__ctx *ctx, const char *text, size_t length)
{
    static const char *const signs[] = {"<=", ">=", "<", ">", "="};
    size_t                   name = strcspn(text, "<>=");
    cm__condition            c = {0};
    if (name == 0 || name >= length)
        cm__fail(ctx, CM_ERR_ARGUMENT, "'%.*s' is not a condition such as price<3", (int)length, text);
    c.field = find_field(ctx, (cm__span){text, name});
    for (int i = 4; i >= 0; i--)
        if (strncmp(text + name, signs[i], strlen(signs[i])) == 0) c.sign = signs[i];
    cm__span value = {text + name + strlen(c.sign), length - name - strlen(c.sign)};
    if (fields[c.field].value) c.value = read_value(ctx, c.field, c.sign, value);
    else if (strcmp(c.sign, "=") != 0)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%s is a text field: write %s=TEXT", fields[c.field].name, fields[c.field].name);
    else c.word = cm__text_copy_n(ctx, value.text, value.length);
    return c;
}

cm__conditions cm__where_parse(cm__ctx *ctx, const char *text)
{
    cm__conditions w = {.list = cm__alloc_array(ctx, CONDITIONS_MOST, sizeof *w.list)};
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, ",");
        if (w.count == CONDITIONS_MOST) cm__fail(ctx, CM_ERR_LIMIT, "more than %d conditions", CONDITIONS_MOST);
        w.list[w.count++] = read_one(ctx, at, length);
        at += length + (at[length] == ',');
    }
    return w;
}

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

static bool holds(const cm__condition *c, const cm_rank_entry *e)
{
    if (c->word) return strcasestr(fields[c->field].word(e), c->word) != NULL;
    double value = fields[c->field].value(e);
    bool   equal = value == c->value, less = value < c->value, more = value > c->value;
    return (c->sign[0] == '<' && less) || (c->sign[0] == '>' && more) || (strchr(c->sign, '=') && equal);
}

const char *cm__where_fails(const cm__conditions *w, const cm_rank_entry *e, bool predicted)
{
    for (int32_t i = 0; i < w->count; i++)
        if (fields[w->list[i].field].predicted == predicted && !holds(&w->list[i], e))
            return fields[w->list[i].field].name;
    return NULL;
}
