/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precompute_devices.c - built-in devices as C initializers.
 *
 * Lists are compound literals, which are static outside of functions. Texts that are NULL are left out.
 */
#include "precompute.h"

#include <math.h>
#include <string.h>
#include "base/text.h"

/* ---- plain values ------------------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *member, const char *text)
{
    if (!text) return;
    fprintf(out, ".%s = \"", member);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 32 || c > 126 || strchr("\"\\?", c)) fprintf(out, "\\%03o", c);
        else fputc(c, out);
    }
    fprintf(out, "\", ");
}

/* Exact: %a writes all bits. */
static void put_value(FILE *out, double value)
{
    if (isnan(value)) fprintf(out, "NAN, ");
    else fprintf(out, "%a, ", value);
}

static void put_real(FILE *out, const char *member, double value)
{
    fprintf(out, ".%s = ", member);
    put_value(out, value);
}

static void put_integer(FILE *out, const char *member, int64_t value)
{
    fprintf(out, ".%s = %lld, ", member, (long long)value);
}

static void put_reals(FILE *out, const char *member, const double *values, size_t count)
{
    fprintf(out, ".%s = (const double[]){", member);
    for (size_t i = 0; i < count; i++) put_value(out, values[i]);
    fprintf(out, "}, ");
}

#define TEXT(member) put_text(out, #member, x->member)
#define REAL(member) put_real(out, #member, x->member)
#define INTEGER(member) put_integer(out, #member, x->member)
#define NUMBER(member) put_number(out, #member, &x->member)

/* A list that is a pointer member and its length. An empty list has one unused item, because C has no empty arrays. */
#define LIST(type, member, length, put)                                                                                \
    do {                                                                                                               \
        fprintf(out, "\n    .%s = (%s[]){", #member, #type);                                                           \
        for (int32_t i = 0; i < x->length; i++) put(out, &x->member[i]);                                               \
        fprintf(out, "%s}, ", x->length ? "" : "0");                                                                   \
        put_integer(out, #length, x->length);                                                                          \
    } while (0)

/* An array that is a member. */
#define ARRAY(member, put)                                                                                             \
    do {                                                                                                               \
        fprintf(out, "\n    .%s = {", #member);                                                                        \
        for (size_t i = 0; i < sizeof x->member / sizeof *x->member; i++) put(out, &x->member[i]);                     \
        fprintf(out, "}, ");                                                                                           \
    } while (0)

/* ---- parts of a device ------------------------------------------------------------------------------------------- */

static void put_number_item(FILE *out, const cm_number *x)
{
    fprintf(out, "{");
    REAL(value);
    INTEGER(known);
    TEXT(unit);
    TEXT(kind);
    TEXT(source);
    TEXT(date);
    TEXT(note);
    fprintf(out, "}, ");
}

static void put_number(FILE *out, const char *member, const cm_number *x)
{
    fprintf(out, ".%s = ", member);
    put_number_item(out, x);
}

static void put_peaks(FILE *out, const cm_number (*peaks)[CM_RATES])
{
    fprintf(out, "{");
    for (int r = 0; r < CM_RATES; r++) put_number_item(out, &(*peaks)[r]);
    fprintf(out, "}, ");
}

static void put_flag(FILE *out, const bool *flag) { fprintf(out, "%d, ", *flag); }
static void put_runtime(FILE *out, const cm_runtime *runtime) { fprintf(out, "%d, ", (int)*runtime); }
static void put_count(FILE *out, const int64_t *count) { fprintf(out, "%lld, ", (long long)*count); }
static void put_width(FILE *out, const int32_t *width) { fprintf(out, "%d, ", (int)*width); }

static void put_word(FILE *out, const char *const *word)
{
    fprintf(out, "\"%s\", ", *word); /* an id or the name of an operator */
}

static void put_info(FILE *out, const cm_device_info *x)
{
    fprintf(out, ".info = {");
    TEXT(id);
    TEXT(name);
    TEXT(vendor);
    TEXT(base);
    TEXT(device_class);
    TEXT(unit);
    TEXT(core_name);
    TEXT(released);
    TEXT(availability);
    INTEGER(style);
    INTEGER(training);
    INTEGER(inference);
    fprintf(out, "}, ");
}

static void put_memory(FILE *out, const cm_memory *x)
{
    fprintf(out, "{");
    TEXT(name);
    INTEGER(place);
    INTEGER(cache);
    INTEGER(per_core);
    NUMBER(capacity_bytes);
    NUMBER(bw_bytes_s);
    fprintf(out, "}, ");
}

static void put_placement(FILE *out, const cm_placement *x)
{
    fprintf(out, "{");
    INTEGER(memory);
    INTEGER(replicated);
    INTEGER(streamed);
    fprintf(out, "}, ");
}

static void put_link(FILE *out, const cm_link *x)
{
    fprintf(out, "{");
    TEXT(name);
    INTEGER(reach);
    NUMBER(bw_bytes_s);
    NUMBER(latency_s);
    INTEGER(devices);
    INTEGER(in_network_reduction);
    INTEGER(mesh);
    fprintf(out, "}, ");
}

static void put_collective(FILE *out, const cm_collective *x)
{
    fprintf(out, "{");
    TEXT(op);
    TEXT(algorithm);
    INTEGER(devices);
    NUMBER(latency_s);
    NUMBER(bw_bytes_s);
    fprintf(out, "}, ");
}

static void put_price(FILE *out, const cm_price *x)
{
    fprintf(out, "{");
    TEXT(provider);
    TEXT(basis);
    TEXT(date);
    TEXT(source);
    TEXT(note);
    REAL(usd_hour);
    fprintf(out, "}, ");
}

static void put_parameter(FILE *out, const cm_parameter *x)
{
    fprintf(out, "{");
    TEXT(name);
    put_reals(out, "values", x->values, (size_t)x->count);
    INTEGER(count);
    fprintf(out, "}, ");
}

static void put_fit(FILE *out, const cm_fit *x)
{
    fprintf(out, "{");
    TEXT(op);
    TEXT(pass);
    TEXT(dtype);
    TEXT(runtime);
    TEXT(form);
    LIST(cm_parameter, parameters, n_parameters, put_parameter);
    INTEGER(n);
    REAL(mape);
    REAL(bias);
    REAL(p90);
    TEXT(source);
    TEXT(date);
    TEXT(note);
    fprintf(out, "}, ");
}

static void put_surface(FILE *out, const cm__surface *x)
{
    size_t weights = 0;
    for (int i = 0; i < CM__SURFACE_LAYERS; i++) weights += (size_t)((x->widths[i] + 1) * x->widths[i + 1]);
    fprintf(out, "{");
    TEXT(op);
    REAL(cores);
    REAL(times);
    REAL(mape);
    ARRAY(widths, put_width);
    put_reals(out, "low", x->low, (size_t)x->widths[0]);
    put_reals(out, "high", x->high, (size_t)x->widths[0]);
    put_reals(out, "weights", x->weights, weights);
    fprintf(out, "}, ");
}

static void put_host_cost(FILE *out, const cm__host_cost *x)
{
    fprintf(out, "{");
    TEXT(runtime);
    TEXT(what);
    NUMBER(time_s);
    TEXT(host);
    fprintf(out, "}, ");
}

static void put_reserve(FILE *out, const cm__reserve *x)
{
    fprintf(out, "{");
    TEXT(runtime);
    TEXT(what);
    NUMBER(size_bytes);
    fprintf(out, "}, ");
}

static void put_execution(FILE *out, const cm__execution *x)
{
    fprintf(out, "\n    .execution = {");
    INTEGER(known);
    ARRAY(efficiency, put_number_item);
    NUMBER(step_s);
    NUMBER(section_s);
    NUMBER(layer_s);
    NUMBER(superstep);
    NUMBER(fill);
    NUMBER(engines);
    NUMBER(stored_scores);
    NUMBER(sums_behind);
    NUMBER(overlap);
    NUMBER(segmented);
    NUMBER(lanes);
    NUMBER(interval_s);
    NUMBER(copies);
    INTEGER(operator_known);
    NUMBER(operator_gemm);
    NUMBER(operator_memory);
    NUMBER(operator_s);
    NUMBER(error);
    NUMBER(conv_error);
    fprintf(out, "}, ");
}

static void put_source(FILE *out, const cm_source *x)
{
    fprintf(out, "{");
    TEXT(key);
    TEXT(title);
    TEXT(where);
    TEXT(date);
    fprintf(out, "}, ");
}

static void put_ancestor(FILE *out, const cm__ancestor *x)
{
    fprintf(out, "{");
    TEXT(id);
    INTEGER(built_in);
    INTEGER(abstract);
    INTEGER(has_kernels);
    fprintf(out, "}, ");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void put_lists(FILE *out, const cm_device *x)
{
    LIST(const char *, aliases, n_aliases, put_word);
    LIST(const char *, unsupported, n_unsupported, put_word);
    LIST(cm_memory, memories, n_memories, put_memory);
    LIST(cm_link, links.items, links.count, put_link);
    LIST(cm_collective, collectives.items, collectives.count, put_collective);
    LIST(cm_price, prices, n_prices, put_price);
    LIST(int64_t, batches, n_batches, put_count);
    LIST(cm_fit, fits, n_fits, put_fit);
    LIST(cm__surface, surfaces.all, surfaces.count, put_surface);
    LIST(cm__host_cost, host, n_host, put_host_cost);
    LIST(cm__reserve, reserve, n_reserve, put_reserve);
    LIST(cm_source, sources.items, sources.count, put_source);
}

static void put_arrays(FILE *out, const cm_device *x)
{
    ARRAY(numbers, put_number_item);
    ARRAY(peaks, put_peaks);
    ARRAY(flop_energy, put_number_item);
    ARRAY(precisions, put_flag);
    ARRAY(runtimes, put_runtime);
    ARRAY(placement, put_placement);
    ARRAY(corrections, put_number_item);
    fprintf(out, "\n    .lineage = {.all = {");
    for (int32_t i = 0; i < x->lineage.count; i++) put_ancestor(out, &x->lineage.all[i]);
    fprintf(out, "}, .count = %d}, ", (int)x->lineage.count);
}

/* A base with tables is itself a built-in device. */
static void put_measured(FILE *out, const cm_device *x)
{
    const cm_device *base = x->built_in_kernels_of;
    int32_t          at = 0;
    if (!base) return;
    while (at < cm_devices() && strcmp(cm_device_id(at), base->info.id)) at++;
    if (at == cm_devices()) stop("tables of a family are not supported");
    fprintf(out, ".built_in_kernels_of = &cm__compiled_devices[%d], ", (int)at);
}

void write_device(FILE *out, const cm_device *x)
{
    put_info(out, &x->info);
    TEXT(chip);
    INTEGER(n_runtimes);
    INTEGER(usual_runtime);
    REAL(tile);
    TEXT(reference);
    INTEGER(layout);
    INTEGER(best_16bit);
    INTEGER(usual_precision);
    put_arrays(out, x);
    put_lists(out, x);
    put_execution(out, &x->execution);
    if (x->host_link) {
        fprintf(out, "\n    .host_link = &(cm_link)");
        put_link(out, x->host_link);
    }
    NUMBER(calibration.matrix);
    NUMBER(calibration.vector);
    NUMBER(calibration.host);
    NUMBER(sparse_skipped);
    NUMBER(sparse_structured);
    put_measured(out, x);
}

void precompute_devices(const char *path)
{
    FILE *out = open_file(path);
    fprintf(out, "/* Made by tools/precompute_devices.c; do not edit. */\n#include <math.h>\n#include \"device/compiled.h\"\n\n"
                 "const cm_device cm__compiled_devices[] = {\n");
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *device = load_device(cm_device_id(i));
        if (device->kernels.count) stop("tables of built-in devices belong to data/kernels");
        fprintf(out, "{");
        write_device(out, device);
        fprintf(out, "},\n");
        cm_device_free(device);
    }
    fprintf(out, "};\nconst int32_t cm__n_compiled_devices = sizeof cm__compiled_devices / sizeof *cm__compiled_devices;\n");
    if (fclose(out)) stop(path);
}
