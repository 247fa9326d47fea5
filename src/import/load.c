/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - load a model by name, file or description: choose the importer, then run the passes common to all graphs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"
#include "import/import.h"

#define ONNX_MAX ((int64_t)1 << 31)   /* protobuf's limit on a message */
#define CONFIG_MAX ((int64_t)1 << 24) /* a config.json has a few kB */
#define TRACE_MAX ((int64_t)1 << 28)  /* the step of a model of 175 billion parameters has about 20 MB */
#define NET_MAX ((int64_t)1 << 20)    /* a network in the layer language has a few kB */
#define NAMES_MAX 256

/* ---- files ------------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool starts_as_json(const cm__mapping *m)
{
    size_t i = 0;
    while (i < m->size && i < 4096 && strchr(" \t\r\n", m->bytes[i]) && m->bytes[i]) i++;
    return i < m->size && m->bytes[i] == '{';
}

static bool is_hlo(const char *path) { return ends_with(path, ".mlir") || ends_with(path, ".hlo"); }

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The graph refers to its text. */
static cm_graph *load_net(cm__ctx *ctx, const char *name, const cm__mapping *m, const cm_load_options *o)
{
    return cm__import_net(ctx, name, cm__text_copy_n(ctx, (const char *)m->bytes, m->size), m->size, o);
}

static cm_graph *load_file(cm__ctx *ctx, const char *path, const char *name, const cm_load_options *o)
{
    ctx->file = cm__text_copy(ctx, path);
    cm__mapping *m = cm__file_map(ctx, path, ONNX_MAX, "protobuf ends at 2 GiB; export the weights as external data");
    bool         trace = ends_with(path, ".cmt.json"), json = !trace && starts_as_json(m),
                 net = ends_with(path, ".net"), hlo = is_hlo(path);
    int64_t      most = net ? NET_MAX : trace || hlo ? TRACE_MAX : json ? CONFIG_MAX : ONNX_MAX;
    if ((int64_t)m->size > most)
        cm__fail(ctx, CM_ERR_LIMIT, "%zu bytes are too many for a %s", m->size,
                 net ? "network in the layer language" : trace ? "trace" : hlo ? "StableHLO file" : "config.json");
    cm_graph *g = net    ? load_net(ctx, name, m, o)
                  : hlo    ? cm__import_hlo(ctx, name, (const char *)m->bytes, m->size, o)
                  : trace  ? cm__import_trace(ctx, name, (const char *)m->bytes, m->size, o)
                  : json   ? cm__import_config(ctx, name, (const char *)m->bytes, m->size, o)
                           : cm__import_onnx(ctx, name, m->bytes, m->size, o);
    cm__file_unmap(m);
    return g;
}

/* The file that a path refers to, which for a directory is its config.json; NULL: none. */
static const char *file_at(cm__ctx *ctx, const char *path)
{
    struct stat s;
    if (stat(path, &s)) return NULL;
    if (!S_ISDIR(s.st_mode)) return path;
    size_t      length = strlen(path);
    const char *inside = cm__format(ctx, "%s%sconfig.json", path, path[length - 1] == '/' ? "" : "/");
    return stat(inside, &s) ? NULL : inside;
}

noreturn static void no_file(cm__ctx *ctx, const char *path)
{
    struct stat s;
    ctx->file = cm__text_copy(ctx, path);
    cm__fail(ctx, CM_ERR_IO, "%s", stat(path, &s) ? strerror(errno) : "a directory without a config.json");
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static cm_graph *load_named(cm__ctx *ctx, const cm_model_info *info, const cm_load_options *o)
{
    cm_graph   *g;
    size_t      size = 0;
    const char *text = cm__data_file(info->definition, &size);
    cm__place(ctx, "model '%s'", info->id);
    g = text ? cm__import_net(ctx, info->id, text, size, o) : cm__import_description(ctx, info->definition, o);
    cm__place(ctx, "%s", "");
    g->name = info->id;
    g->source = "named";
    g->citation = info->source;
    return g;
}

static const char *nearest_model(const char *name)
{
    const char *names[NAMES_MAX];
    int32_t     n = 0;
    for (int32_t i = 0; i < cm_models() && n < NAMES_MAX; i++) names[n++] = cm_model(i)->id;
    return cm__nearest(name, names, (size_t)n);
}

/* A model of the hub that is neither named nor in the cache, or a path to nothing. */
noreturn static void not_in_cache(cm__ctx *ctx, const char *spec)
{
    const char *cache = cm__hub_cache(ctx), *near = nearest_model(strchr(spec, '/') + 1);
    cm__fail(ctx, CM_ERR_UNKNOWN,
             "'%s' is neither file nor named model%s%s%s, and %s%s%s: run `hf download %s config.json`, or give the "
             "path of a config.json",
             spec, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
             cache ? "the Hugging Face cache has no config.json of it in " : "there is no Hugging Face cache",
             cache ? cm__format(ctx, "%s/", cache) : "", cache ? cm__hub_folder(ctx, spec) : "", spec);
}

noreturn static void unknown(cm__ctx *ctx, const char *spec)
{
    const char *shown = cm__text_copy_n(ctx, spec, strnlen(spec, 128)), *near = nearest_model(shown);
    cm__fail(ctx, CM_ERR_UNKNOWN, "'%s' is neither file nor description nor named model%s%s%s (`centimani models`)",
             shown, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static cm_graph *load(cm__ctx *ctx, const char *spec, const cm_load_options *o)
{
    struct stat          s;
    const char          *file = file_at(ctx, spec);
    const cm_model_info *info = cm_model_find(spec);
    const char          *name = file ? base_name(file) : spec;
    if (!file && !info) file = cm__hub_config(ctx, spec);
    bool net = info && cm__data_file(info->definition, &(size_t){0});
    bool config = file && ends_with(file, ".json") && !ends_with(file, ".cmt.json");
    if (o->past && !cm__is_description(spec) && (net || (!info && !config)))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "generation needs a named transformer, a description or a config.json");
    bool described = cm__is_description(spec), sized = !described && (file ? !ends_with(file, ".json") : net);
    if (o->dims && o->dims[0] && !sized && (described || file || info))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "--dim sets free sizes of ONNX files and layer lists; this model has none");
    bool ending = ends_with(spec, ".onnx") || ends_with(spec, ".json") || ends_with(spec, ".net") || is_hlo(spec);
    bool hub = strchr(spec, '/') && cm__is_hub_name(spec) && !ending && stat(spec, &s);
    bool path = strchr(spec, '/') || ending || !stat(spec, &s);
    if (described) return cm__import_description(ctx, spec, o);
    if (file) return load_file(ctx, file, name, o);
    if (info) return load_named(ctx, info, o);
    if (hub) not_in_cache(ctx, spec);
    if (path) no_file(ctx, spec);
    if (strchr(spec, ':')) return cm__import_description(ctx, spec, o); /* fails with a list of kinds */
    unknown(ctx, spec);
}

static int32_t attentions(const cm_graph *g)
{
    int32_t n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == CM_OP_ATTENTION;
    return n;
}

static cm_graph *load_and_finish(cm__ctx *ctx, const char *spec, const cm_load_options *options)
{
    static const cm_load_options defaults;
    const cm_load_options       *o = options ? options : &defaults;
    cm_graph                    *g = load(ctx, spec, o);
    if ((unsigned)o->fuse >= CM_FUSES) cm__fail(ctx, CM_ERR_ARGUMENT, "an option is out of range");
    bool as_run = strcmp(g->source, "trace") == 0 && o->fuse == CM_FUSE_EAGER; /* recorded as it ran */
    int32_t recorded = attentions(g);
    if (as_run && !g->typed) cm__mark_norms(g);
    cm__finish(g, as_run ? CM_FUSE_NONE : o->fuse);
    if (attentions(g) != recorded) g->has_backward = false; /* fused attention recomputes its scores */
    return g;
}

/* Nothing is decided if the file cannot be read; loading the file reports the error. */
static cm__trace_origin origin_of(const char *spec)
{
    bool       step = spec && (ends_with(spec, ".cmt.json") || is_hlo(spec));
    cm__ctx   *ctx = step ? cm__ctx_new(NULL) : NULL;
    cm__trace_origin open = {CM_PRECISION_DEFAULT, CM_RUNTIME_DEFAULT, {0}}, origin;
    if (!ctx) return open;
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        return open;
    }
    cm__mapping *m = cm__file_map(ctx, spec, TRACE_MAX, "too large for a trace");
    origin = is_hlo(spec)
                 ? cm__import_hlo_origin(ctx, (const char *)m->bytes, m->size)
                 : cm__import_trace_origin(ctx, (const char *)m->bytes, m->size);
    cm__file_unmap(m);
    cm__ctx_free(ctx);
    return origin;
}

cm_precision cm_model_precision(const char *spec) { return origin_of(spec).precision; }
cm_runtime   cm_model_runtime(const char *spec) { return origin_of(spec).runtime; }
cm_plan      cm_model_plan(const char *spec) { return origin_of(spec).plan; }

cm_status cm_graph_load(const char *spec, const cm_load_options *options, cm_graph **graph, cm_diag *diag)
{
    if (!spec || !graph) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *graph = load_and_finish(ctx, spec, options);
    ctx->diag = NULL; /* the graph outlives the caller's diag */
    return CM_OK;
}
