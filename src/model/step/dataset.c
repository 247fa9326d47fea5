/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - the bytes and work of one sample of a data set, given by name, as a folder of files, or by numbers. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "model/step/loading.h"

#define FILES_MOST 10000000
#define DEPTH_MOST 16

/* ---- the model's inputs ----------------------------------------------------------------------------------------- */

static bool is_input(const cm_tensor *t) { return t->role == CM_ROLE_INPUT && t->rank > 0 && t->dims[0].per_batch > 0; }

double cm__sample_bytes(const cm_graph *g)
{
    double bytes = 0;
    for (int32_t i = 0; i < g->n_tensors; i++)
        if (is_input(&g->tensors[i])) bytes += cm_tensor_bytes(&g->tensors[i]).c[1];
    return bytes;
}

/* Length of the longest integer input; 0: none. */
static double sample_tokens(const cm_graph *g)
{
    double most = 0;
    for (int32_t i = 0; i < g->n_tensors; i++) {
        const cm_tensor *t = &g->tensors[i];
        bool             ids = t->dtype == CM_INT64 || t->dtype == CM_INT32;
        if (is_input(t) && ids && t->rank == 2) most = fmax(most, cm_tensor_elements(t).c[1]);
    }
    return most;
}

/* ---- named data sets -------------------------------------------------------------------------------------------- */

static const cm__known_dataset *find(const char *name)
{
    for (int32_t i = 0; i < cm__n_known_datasets; i++)
        if (cm__same_name(name, cm__known_datasets[i].id)) return &cm__known_datasets[i];
    return NULL;
}

static cm__dataset named(cm__ctx *ctx, const cm__known_dataset *known, const cm_graph *g)
{
    cm__dataset d = {.name = known->id, .bytes = known->each, .samples = known->items};
    if (strcmp(known->kind, "jpeg") == 0) {
        d.images = 1;
        return d;
    }
    d.tokens = sample_tokens(g);
    if (!(d.tokens > 0))
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "the data set %s has tokens, but this model takes none; describe another with 'bytes=N,decode=S'",
                 known->id);
    d.bytes *= d.tokens;
    d.samples /= d.tokens;
    return d;
}

/* ---- folders of files ------------------------------------------------------------------------------------------- */

typedef struct folder {
    cm__ctx *ctx;
    double   bytes, files, image_bytes;
} folder;

static bool is_jpeg(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

/* Returns true for a folder. Symbolic links are not followed: a folder could contain itself. */
static bool add_entry(folder *f, const char *path, const char *name)
{
    struct stat s;
    if (lstat(path, &s) != 0) return false;
    if (S_ISDIR(s.st_mode)) return true;
    if (!S_ISREG(s.st_mode)) return false;
    if (++f->files > FILES_MOST)
        cm__fail(f->ctx, CM_ERR_LIMIT, "more than %d files; use 'bytes=N,decode=S,samples=N' instead", FILES_MOST);
    f->bytes += (double)s.st_size;
    if (is_jpeg(name)) f->image_bytes += (double)s.st_size;
    return false;
}

static void close_folder(void *open) { closedir(open); }

static void walk(folder *f, const char *path, int depth)
{
    DIR *open = opendir(path);
    if (!open && depth) return; /* unreadable subfolders are skipped */
    if (!open) cm__fail(f->ctx, CM_ERR_IO, "cannot read the folder '%.200s': %s", path, strerror(errno));
    cm__defer(f->ctx, close_folder, open);
    for (struct dirent *e; (e = readdir(open));) {
        if (e->d_name[0] == '.') continue;
        const char *inner = cm__format(f->ctx, "%s/%s", path, e->d_name);
        if (add_entry(f, inner, e->d_name) && depth < DEPTH_MOST) walk(f, inner, depth + 1);
    }
}

/* JPEGs are decoded; the decoding time grows with their size. */
static cm__dataset of_files(cm__ctx *ctx, const char *text, const char *path)
{
    folder f = {.ctx = ctx};
    walk(&f, path, 0);
    if (!(f.files > 0)) cm__fail(ctx, CM_ERR_ARGUMENT, "no files in the folder '%.200s'", path);
    const cm__known_dataset *images = find("imagenet");
    return (cm__dataset){.name = text, .bytes = f.bytes / f.files, .samples = f.files,
                         .images = images ? f.image_bytes / f.files / images->each : 0};
}

/* ---- data sets given by numbers --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double      factor;
} units[] = {{"", 1},     {"k", 1e3},   {"M", 1e6},   {"G", 1e9},  {"B", 1},   {"kB", 1e3}, {"MB", 1e6},
             {"GB", 1e9}, {"Ki", 1024}, {"KiB", 1024}, {"MiB", 1048576}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};

static double quantity(cm__ctx *ctx, const char *key, cm__span text)
{
    size_t digits = 0;
    double value;
    while (digits < text.length && strchr("0123456789.eE+-", text.text[digits])) digits++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (cm__span_is((cm__span){text.text + digits, text.length - digits}, units[i].name) &&
            cm__parse_real((cm__span){text.text, digits}, &value) && value >= 0)
            return value * units[i].factor;
    cm__fail(ctx, CM_ERR_ARGUMENT, "data set: %s is '%.*s', not a number such as 110k, 2ms or 1e6", key,
             (int)text.length, text.text);
}

static cm__dataset of_numbers(cm__ctx *ctx, const char *text, const char *at)
{
    cm__dataset d = {.name = text, .samples = NAN, .bytes = NAN};
    const struct {
        const char *name;
        double     *value;
    } keys[] = {{"bytes", &d.bytes}, {"decode", &d.prepare_s}, {"samples", &d.samples}, {"begin", &d.begin_s},
              {"rate", &d.rate}, {"turn", &d.turn_s}};
    const size_t n_keys = sizeof keys / sizeof *keys;
    while (*at) {
        size_t length = strcspn(at, ","), equals = strcspn(at, "=");
        size_t key = 0;
        while (key < n_keys && (equals >= length || !cm__span_is((cm__span){at, equals}, keys[key].name))) key++;
        if (key == n_keys)
            cm__fail(ctx, CM_ERR_ARGUMENT,
                     "data set: '%.*s' is none of bytes=N, decode=SECONDS, samples=N, begin=SECONDS, rate=N and "
                     "turn=SECONDS", (int)length, at);
        *keys[key].value = quantity(ctx, keys[key].name, (cm__span){at + equals + 1, length - equals - 1});
        at += length + (at[length] == ',');
    }
    /* what the host does is known, whatever it reads */
    if (isnan(d.bytes) && (d.rate > 0 || d.turn_s > 0)) d.bytes = 0;
    if (isnan(d.bytes)) cm__fail(ctx, CM_ERR_ARGUMENT, "data set: bytes=N, the stored size of a sample, is missing");
    return d;
}

/* ---- choice ----------------------------------------------------------------------------------------------------- */

noreturn static void unknown(cm__ctx *ctx, const char *text)
{
    const char  *known = "";
    const char **ids = cm__alloc_array(ctx, (size_t)cm__n_known_datasets, sizeof *ids);
    for (int32_t i = 0; i < cm__n_known_datasets; i++)
        known = cm__format(ctx, "%s%s, ", known, ids[i] = cm__known_datasets[i].id);
    const char *meant = cm__nearest(text, ids, (size_t)cm__n_known_datasets);
    cm__fail(ctx, CM_ERR_UNKNOWN, "no data set '%.64s'%s%s%s; there are %sfiles:FOLDER and bytes=N,decode=S,samples=N",
             text, meant ? ", did you mean '" : "", meant ? meant : "", meant ? "'?" : "", known);
}

cm__dataset cm__dataset_of(cm__ctx *ctx, const char *text, const cm_graph *g)
{
    if (!text)
        return (cm__dataset){.name = "the model's inputs", .bytes = cm__sample_bytes(g), .samples = NAN};
    const cm__known_dataset *known = find(text);
    const char              *rest = strncmp(text, "files:", 6) == 0 ? text + 6 : text;
    if (known) return named(ctx, known, g);
    static const char *const keys[] = {"bytes=", "decode=", "samples=", "rate=", "turn="};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(rest, keys[i], strlen(keys[i])) == 0) return of_numbers(ctx, text, rest);
    if (rest != text && *rest) return of_files(ctx, text, rest);
    unknown(ctx, text);
}
