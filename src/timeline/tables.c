/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - write the calls of a trace as kernel tables of a profile, in the format of data/kernels. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "timeline/tables.h"

/* A call summed over phases. */
typedef struct entry {
    cm__call call;
    double   time_s, runs, kernels;
} entry;

static int by_call(const void *a, const void *b)
{
    const cm__call *x = &((const entry *)a)->call, *y = &((const entry *)b)->call;
    int             d = strcmp(cm__call_kinds[x->op].name, cm__call_kinds[y->op].name);
    if (!d) d = x->pass - y->pass;
    char texts[2][2][CM__CALL_TEXT];
    if (!d) d = strcmp(cm__variant_text(x->variant, texts[0][0]), cm__variant_text(y->variant, texts[1][0]));
    if (!d) d = strcmp(cm__types_text(x->types, texts[0][1]), cm__types_text(y->types, texts[1][1]));
    for (int i = 0; !d && i < cm__call_kinds[x->op].n_sizes; i++)
        d = (x->sizes[i] > y->sizes[i]) - (x->sizes[i] < y->sizes[i]);
    return d;
}

static bool same_table(const cm__call *a, const cm__call *b)
{
    return a->op == b->op && a->pass == b->pass && a->variant == b->variant && a->types == b->types;
}

/* A cross-entropy is the logarithm of a softmax and then a choice: the trace has both, a table has their sum. */
static void add_softmax(entry *entries, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        entry *loss = &entries[i];
        if (loss->call.op != CM__CALL_CROSS_ENTROPY) continue;
        for (int32_t k = 0; k < count; k++) {
            const cm__call *c = &entries[k].call;
            bool same = c->op == CM__CALL_SOFTMAX && c->pass == loss->call.pass && c->variant == CM__V_LOG &&
                        c->types == loss->call.types &&
                        memcmp(c->sizes, loss->call.sizes, 2 * sizeof *c->sizes) == 0;
            if (!same) continue;
            loss->time_s += entries[k].time_s / entries[k].runs * loss->runs;
            loss->kernels += entries[k].kernels / entries[k].runs * loss->runs;
        }
    }
}

/* The calls that ran, sorted, each of them once. */
static int32_t gather(const struct cm_timeline *t, entry *entries)
{
    int32_t count = 0, n = 0;
    for (int32_t i = 0; i < t->n_rows; i++) {
        const cm__traced *r = &t->rows[i];
        if (r->is_call && r->runs > 0 && r->time_s > 0)
            entries[count++] = (entry){r->call, r->time_s, r->runs, r->kernels};
    }
    if (count) qsort(entries, (size_t)count, sizeof *entries, by_call);
    for (int32_t i = 0; i < count; i++) {
        if (n == 0 || by_call(&entries[n - 1], &entries[i]) != 0) {
            entries[n++] = entries[i];
            continue;
        }
        entries[n - 1].time_s += entries[i].time_s;
        entries[n - 1].runs += entries[i].runs;
        entries[n - 1].kernels += entries[i].kernels;
    }
    add_softmax(entries, n);
    return n;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

/* "NVIDIA H200" -> "nvidia-h200" */
static void slug(const char *name, char *id, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++) {
        bool word = isalnum((unsigned char)*name) != 0;
        if (word) id[n++] = (char)tolower((unsigned char)*name);
        else if (n && id[n - 1] != '-') id[n++] = '-';
    }
    while (n && id[n - 1] == '-') n--;
    id[n] = 0;
}

static void print_text(FILE *out, const char *text)
{
    json_t *value = json_string(text);
    if (value) json_dumpf(value, out, JSON_ENCODE_ANY);
    json_decref(value);
}

static void print_dims(FILE *out, const cm__call_kind *kind)
{
    for (int i = 0; i < kind->n_sizes; i++) fprintf(out, "%s\"%s\"", i ? "," : "", kind->sizes[i]);
}

static void print_row(FILE *out, const entry *e)
{
    fputc('[', out);
    for (int i = 0; i < cm__call_kinds[e->call.op].n_sizes; i++) fprintf(out, "%lld,", (long long)e->call.sizes[i]);
    fprintf(out, "%.4g,%.0f]", e->time_s / e->runs, e->kernels / e->runs);
}

static int32_t print_table(FILE *out, const entry *entries, int32_t count, const char *date)
{
    const cm__call *c = &entries->call;
    int32_t         n = 0;
    char            variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    fprintf(out,
            "{\"runtime\":\"torch-eager\",\"op\":\"%s\",\"pass\":\"%s\",\"variant\":\"%s\",\"dtype\":\"%s\","
            "\"dims\":[",
            cm__call_kinds[c->op].name, cm__pass_names[c->pass], cm__variant_text(c->variant, variant),
            cm__types_text(c->types, types));
    print_dims(out, &cm__call_kinds[c->op]);
    fprintf(out, "],\"kind\":\"measured\",\"source\":\"trace\",\"date\":\"%.7s\",\"rows\":[", date);
    for (; n < count && same_table(c, &entries[n].call); n++) {
        if (n) fputc(',', out);
        print_row(out, &entries[n]);
    }
    fputs("]}", out);
    return n;
}

static void print_head(FILE *out, const char *name, const char *base, const char *date)
{
    char id[64];
    slug(name, id, sizeof id);
    fprintf(out, "{\"schema\":1,\n\"id\":\"%s-trace\",\n\"name\":", *id ? id : "device");
    print_text(out, name);
    fputs(base ? ",\n\"base\":" : ",\n\"abstract\":true,\n\"class\":\"gpu\"", out);
    if (base) print_text(out, base);
    fputs(",\n\"sources\":{\"trace\":{\"title\":\"calls of a torch.profiler trace on ", out);
    json_t *text = json_string(name);
    char   *dumped = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    if (dumped && strlen(dumped) > 2) fprintf(out, "%.*s", (int)strlen(dumped) - 2, dumped + 1);
    free(dumped);
    json_decref(text);
    fprintf(out, "; operands as cold as a training step finds them\",\"where\":\"centimani fit "
                 "--trace\",\"date\":\"%s\"}},\n", date);
}

char *cm__timeline_tables(const struct cm_timeline *t, const char *base, int32_t *rows, int32_t *tables)
{
    char   *text = NULL, date[16];
    size_t  size;
    entry  *entries = calloc((size_t)t->n_rows + 1, sizeof *entries);
    FILE   *out = entries ? open_memstream(&text, &size) : NULL;
    time_t  now = time(NULL);
    int32_t count = entries ? gather(t, entries) : 0;
    struct tm day;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
    *rows = count;
    *tables = 0;
    if (out) {
        print_head(out, t->info.device ? t->info.device : "device", base, date);
        fputs("\"kernels\":[", out);
        for (int32_t i = 0; i < count; (*tables)++) {
            fputs(i ? ",\n" : "\n", out);
            i += print_table(out, entries + i, count - i, date);
        }
        fputs("\n]}", out);
        if (fclose(out) != 0) free(text), text = NULL;
    }
    free(entries);
    return text;
}
