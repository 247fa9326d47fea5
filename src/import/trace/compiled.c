/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - what a compiler said of a recorded step: the kernels that PyTorch's generates (capture(compile=True)), and the
   memory of a TPU's program (capture_jax(compile_for=...)). */
#include <math.h>
#include <string.h>
#include "import/trace/trace.h"

#define KERNELS_MAX 200000
#define OLD_UNIT 2.5 /* FLOP; before 0.3 captures had functions as bytes of a copy: 1.6 for an exponential of 4 FLOP */
#define LARGEST 1e18 /* bytes, or numbers */

static const char *const kinds[] = {"fused", "row_sum", "long_row_sum", "strided_row_sum", "column_sum", "plain_column_sum",
                                    "partial_sums"};

/* False: the member is no kind. An absent kind is NULL. */
static bool read_kind(const json_t *kernel, const char **kind)
{
    const json_t *value = json_object_get(kernel, "kind");
    const char   *name = json_string_value(value);
    *kind = NULL;
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]) == 0) *kind = kinds[i];
    return json_is_null(value) || *kind;
}

/* [per sample, fixed] of a size; 0 if it is absent. */
static cm_poly terms_of(cm__trace *t, const json_t *terms, const char *key)
{
    const json_t *pair = json_object_get(terms, key);
    double        per_sample = json_number_value(json_array_get(pair, 0)), fixed = json_number_value(json_array_get(pair, 1));
    if (pair && (json_array_size(pair) != 2 || !(fabs(per_sample) < LARGEST) || !(fabs(fixed) < LARGEST)))
        cm__fail(t->ctx, CM_ERR_FORMAT, "'%s' is not a pair of numbers", key);
    return (cm_poly){{fixed, per_sample}};
}

static cm__recorded_kernel kernel_of(cm__trace *t, const json_t *kernel, cm_phase phase)
{
    static const char *const moved[CM__NUMBER_SIZES] = {"moved1", "moved2", "moved4", "moved8"};
    cm__recorded_kernel k = {.phase = phase};
    const json_t       *terms = json_object_get(kernel, "terms");
    if (!read_kind(kernel, &k.kind)) cm__fail(t->ctx, CM_ERR_FORMAT, "its kind is not known");
    for (int i = 0; i < CM__NUMBER_SIZES; i++) k.moved[i] = terms_of(t, terms, moved[i]);
    k.functions = cm__poly_add(terms_of(t, terms, "function_flop"), cm__poly_scale(terms_of(t, terms, "functions"), OLD_UNIT));
    k.random = terms_of(t, terms, "random");
    k.sums = terms_of(t, terms, "sums");
    return k;
}

/* The kernels of all graphs; -1: some have no sizes, because the compiler's answer depends on the batch size. */
static int32_t count_kernels(cm__trace *t, const json_t *graphs)
{
    const json_t *graph, *kernel;
    size_t        i, k, count = 0;
    json_array_foreach((json_t *)graphs, i, graph) json_array_foreach(json_object_get(graph, "kernels"), k, kernel)
    {
        if (!json_is_object(json_object_get(kernel, "terms"))) return -1;
        count++;
    }
    if (count > KERNELS_MAX) cm__fail(t->ctx, CM_ERR_LIMIT, "%zu generated kernels, at most %d", count, KERNELS_MAX);
    return (int32_t)count;
}

void cm__trace_compiled(cm__trace *t)
{
    const json_t *graphs = json_object_get(t->root, "compiled"), *graph, *kernel;
    const char   *name = json_string_value(json_object_get(t->root, "compiled_precision"));
    int32_t       count = count_kernels(t, graphs), n = 0;
    cm_precision  precision;
    size_t        i, k;
    if (count <= 0 || !name || cm_precision_parse(name, &precision, NULL) != CM_OK) return;
    cm__recorded_kernel *kernels = cm__alloc_array(t->ctx, (size_t)count, sizeof *kernels);
    json_array_foreach((json_t *)graphs, i, graph)
    {
        const char *pass = json_string_value(json_object_get(graph, "pass"));
        cm_phase    phase = pass && strcmp(pass, "backward") == 0 ? CM_BACKWARD : CM_FORWARD;
        json_array_foreach(json_object_get(graph, "kernels"), k, kernel)
        {
            cm__place(t->ctx, "generated kernel %d", n);
            kernels[n++] = kernel_of(t, kernel, phase);
        }
    }
    cm__place(t->ctx, "%s", "");
    cm__recorded *r = cm__alloc(t->ctx, sizeof *r);
    bool          plain = precision == CM_PRECISION_TF32;
    *r = (cm__recorded){.kernels = kernels, .n_kernels = n, .precision = plain ? CM_PRECISION_FP32 : precision};
    t->g->recorded = r;
}

/* ---- the compiler of a chip -------------------------------------------------------------------------------------- */

#define DEVICES_MAX (1 << 20)
#define ITERATIONS_MAX (1 << 17)
#define SAMPLES_MAX ((int64_t)1 << 32)

/* A whole number of at least `least`; -1: it is none, or too large. */
static int64_t count_at(const json_t *object, const char *key, int64_t least, int64_t most)
{
    const json_t *value = json_object_get(object, key);
    int64_t       n = json_is_integer(value) ? json_integer_value(value) : -1;
    return n >= least && n <= most ? n : -1;
}

bool cm__trace_plan(const json_t *root, cm_plan *plan)
{
    const json_t *p = json_object_get(root, "plan");
    int64_t       tp = count_at(p, "tp", 1, DEVICES_MAX), cp = count_at(p, "cp", 1, DEVICES_MAX);
    int64_t       dp = count_at(p, "dp", 1, DEVICES_MAX), ep = count_at(p, "ep", 1, DEVICES_MAX), zero = count_at(p, "zero", 0, 3);
    if (tp < 0 || cp < 0 || dp < 0 || ep < 0 || zero < 0 || tp * cp > DEVICES_MAX || tp * cp * dp > DEVICES_MAX) return false;
    *plan = (cm_plan){.devices = (int32_t)(tp * cp * dp), .tp = (int32_t)tp, .cp = (int32_t)cp, .dp = (int32_t)dp, .ep = (int32_t)ep,
                      .pp = 1, .zero = (int32_t)zero};
    return true;
}

static double bytes_at(cm__trace *t, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double        number = json_is_number(value) ? json_number_value(value) : 0;
    if (!(number >= 0 && number < LARGEST)) cm__fail(t->ctx, CM_ERR_FORMAT, "'%s' of the compiler is out of range", key);
    return number;
}

void cm__trace_xla(cm__trace *t)
{
    const json_t *x = json_object_get(t->root, "xla");
    if (!json_is_object(x)) return;
    const char *device = json_string_value(json_object_get(x, "device"));
    cm_plan     plan = {.devices = 1, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .pp = 1};
    cm__trace_plan(t->root, &plan);
    int64_t batch = count_at(x, "batch", 1, SAMPLES_MAX);
    if (!device || batch < 0 || count_at(x, "devices", 1, DEVICES_MAX) < 0)
        cm__fail(t->ctx, CM_ERR_FORMAT, "the compiler's answer has no device, number of devices or batch");
    cm__compiled_step *c = cm__alloc(t->ctx, sizeof *c);
    *c = (cm__compiled_step){.device = cm__text_copy_n(t->ctx, device, strnlen(device, 64)), .plan = plan, .batch = batch,
                             .fits = json_is_true(json_object_get(x, "fits")), .peak_bytes = bytes_at(t, x, "peak_bytes"),
                             .capacity_bytes = bytes_at(t, x, "capacity_bytes"), .cycles = bytes_at(t, x, "cycles")};
    if (c->peak_bytes > 0) t->g->compiled = c;
}

void cm__trace_jax(cm__trace *t)
{
    const json_t *loops = json_object_get(t->root, "loops");
    cm__jax      *jax = &t->g->jax;
    int64_t       iterations = count_at(loops, "iterations", 1, ITERATIONS_MAX);
    cm_poly       stored = terms_of(t, loops, "stored_bytes");
    jax->keeps_arguments = json_is_true(json_object_get(t->root, "keeps_arguments"));
    if (!loops) return;
    if (iterations < 0 || stored.c[1] < 0 || cm__poly_at(&stored, 1) <= 0)
        cm__fail(t->ctx, CM_ERR_FORMAT, "'loops' has no iterations, or they store nothing");
    jax->iterations = (int32_t)iterations;
    jax->stored = stored;
}
