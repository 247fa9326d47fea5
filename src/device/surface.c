/* SPDX-License-Identifier: Apache-2.0 */
/* surface.c - read fitted surfaces from a profile. */
#include "device/surface.h"

#include <stdbool.h>

static const double *numbers(cm__ctx *ctx, const json_t *array, size_t count, const char *op, const char *what)
{
    double *values = cm__alloc_array(ctx, count, sizeof *values);
    if (json_array_size(array) != count)
        cm__fail(ctx, CM_ERR_FORMAT, "surface '%s': %zu numbers in '%s', expected %zu", op, json_array_size(array),
                 what, count);
    for (size_t i = 0; i < count; i++) values[i] = json_number_value(json_array_get(array, i));
    return values;
}

static void read_widths(cm__ctx *ctx, const json_t *array, cm__surface *s)
{
    bool good = json_array_size(array) == CM__SURFACE_LAYERS + 1;
    for (int i = 0; good && i <= CM__SURFACE_LAYERS; i++) {
        double width = json_number_value(json_array_get(array, (size_t)i));
        good = width >= 1 && width <= CM__SURFACE_WIDTH;
        s->widths[i] = good ? (int32_t)width : 0;
    }
    if (!good || s->widths[CM__SURFACE_LAYERS] != 1)
        cm__fail(ctx, CM_ERR_FORMAT, "surface '%s': 'widths' must be %d numbers from 1 to %d, the last one 1", s->op,
                 CM__SURFACE_LAYERS + 1, CM__SURFACE_WIDTH);
}

size_t cm__surface_weights(const cm__surface *s)
{
    size_t count = 0;
    for (int i = 0; i < CM__SURFACE_LAYERS; i++) count += (size_t)((s->widths[i] + 1) * s->widths[i + 1]);
    return count;
}

/* Weights by unit become weights by input, so that several units are computed at a time. */
static const double *by_input(cm__ctx *ctx, const cm__surface *s, const double *by_unit)
{
    double *weights = cm__alloc_array(ctx, cm__surface_weights(s), sizeof *weights), *to = weights;
    for (int l = 0; l < CM__SURFACE_LAYERS; l++) {
        int32_t inputs = s->widths[l], units = s->widths[l + 1];
        for (int32_t i = 0; i < inputs; i++)
            for (int32_t u = 0; u < units; u++) *to++ = by_unit[u * inputs + i];
        for (int32_t u = 0; u < units; u++) *to++ = by_unit[inputs * units + u];
        by_unit += (inputs + 1) * units;
    }
    return weights;
}

static cm__surface surface_of(cm__ctx *ctx, const char *op, const json_t *value)
{
    const json_t *times = json_object_get(value, "times");
    cm__surface   s = {.op = op, .times = times ? json_number_value(times) : 1,
                       .cores = json_number_value(json_object_get(value, "cores")),
                       .mape = json_number_value(json_object_get(json_object_get(value, "error"), "mape"))};
    read_widths(ctx, json_object_get(value, "widths"), &s);
    s.low = numbers(ctx, json_object_get(value, "low"), (size_t)s.widths[0], op, "low");
    s.high = numbers(ctx, json_object_get(value, "high"), (size_t)s.widths[0], op, "high");
    s.weights = by_input(ctx, &s, numbers(ctx, json_object_get(value, "weights"), cm__surface_weights(&s), op, "weights"));
    return s;
}

cm__surfaces cm__surfaces_of(cm__ctx *ctx, const json_t *object)
{
    cm__surfaces found = {.all = cm__alloc_array(ctx, json_object_size(object), sizeof *found.all)};
    const char  *op;
    json_t      *value;
    json_object_foreach((json_t *)(uintptr_t)object, op, value)
        if (json_object_get(value, "weights")) found.all[found.count++] = surface_of(ctx, op, value);
    return found;
}
