/* SPDX-License-Identifier: Apache-2.0 */
/* aten.c - the table of ATen operators, and their arguments as a trace records them. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "timeline/aten.h"

#define SIZE_MOST 1e15

static const struct row {
    const char    *name;
    cm__traced_rule *rule;
    const char    *function;
    cm__traced_scope scope;
} rows[] = {
#define ATEN(name, rule, function, scope) {name, cm__traced_##rule, function, CM__TRACED_##scope},
#include "timeline/aten.def"
#undef ATEN
};

static const struct row *find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

bool cm__traced_known(const char *name) { return find(name) != NULL; }

/* ---- arguments -------------------------------------------------------------------------------------------------- */

/* PyTorch writes C++ names of types. */
static const char *type_of(const char *name)
{
    static const char *const types[][2] = {
        {"float", "fp32"}, {"c10::BFloat16", "bf16"}, {"c10::Half", "fp16"}, {"double", "fp64"}, {"long int", "int64"},
        {"long", "int64"}, {"int", "int32"}, {"bool", "bool"}, {"unsigned char", "uint8"}, {"signed char", "int8"}};
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i][0], name) == 0) return types[i][1];
    return NULL;
}

static int64_t size_of(const json_t *number)
{
    double value = json_number_value(number);
    return value >= 0 && value < SIZE_MOST ? (int64_t)value : 0;
}

static cm__traced_tensor tensor_of(const json_t *dims, const json_t *strides, const char *type)
{
    cm__traced_tensor t = {.rank = -1, .type = type_of(type)};
    size_t          rank = json_array_size(dims);
    if (!t.type || !json_is_array(dims) || rank > CM__TRACED_RANK || json_is_array(json_array_get(dims, 0))) return t;
    t.rank = (int32_t)rank;
    t.strided = json_array_size(strides) == rank;
    for (size_t i = 0; i < rank; i++) t.dims[i] = size_of(json_array_get(dims, i));
    int64_t next = 1;
    for (size_t i = rank; i-- > 0;) {
        t.strides[i] = t.strided ? size_of(json_array_get(strides, i)) : next;
        next = t.dims[i] > 0 && next < (int64_t)SIZE_MOST / t.dims[i] ? next * t.dims[i] : next;
    }
    return t;
}

cm__traced_tensor cm__traced_listed(const cm__traced_op *a, size_t index)
{
    return tensor_of(json_array_get(a->listed, index), json_array_get(a->listed_strides, index), "float");
}

static void read_arguments(cm__traced_op *a, const json_t *args)
{
    const json_t *dims = json_object_get(args, "Input Dims"), *strides = json_object_get(args, "Input Strides"),
                 *types = json_object_get(args, "Input type");
    for (size_t i = 0; i < CM__TRACED_ARGS; i++)
        a->in[i] = tensor_of(json_array_get(dims, i), json_array_get(strides, i),
                             json_string_value(json_array_get(types, i)));
    a->numbers = json_object_get(args, "Concrete Inputs");
    const json_t *list = json_array_get(dims, 0);
    a->listed = list;
    a->listed_strides = json_array_get(strides, 0);
    for (size_t i = 0; json_is_array(json_array_get(list, 0)) && i < json_array_size(list); i++) {
        const json_t *shape = json_array_get(list, i);
        double        elements = 1;
        for (size_t k = 0; k < json_array_size(shape); k++) elements *= (double)size_of(json_array_get(shape, k));
        a->kind->tensors++;
        a->kind->elements += elements;
    }
}

const char *cm__traced_word(const cm__traced_op *a, size_t argument)
{
    const char *text = json_string_value(json_array_get(a->numbers, argument));
    return text ? text : "";
}

/* The start of element `index` of a text like "[2, 2]"; of "2" for index 0. */
static const char *element_at(const char *text, size_t index)
{
    const char *at = text + (*text == '[');
    for (; index > 0; index--) {
        const char *comma = strchr(at, ',');
        if (!comma) return text[0] == '[' && strchr(text, ',') == NULL ? text + 1 : ""; /* one number for all axes */
        at = comma + 1;
    }
    return at;
}

int64_t cm__traced_number(const cm__traced_op *a, size_t argument, size_t index, int64_t otherwise)
{
    char   *end;
    const char *at = element_at(cm__traced_word(a, argument), index);
    double  value = strtod(at, &end);
    return end == at || !(value > -SIZE_MOST && value < SIZE_MOST) ? otherwise : (int64_t)value;
}

bool cm__traced_true(const cm__traced_op *a, size_t argument, size_t index, bool otherwise)
{
    const char *at = element_at(cm__traced_word(a, argument), index);
    at += strspn(at, " ");
    return strncmp(at, "True", 4) == 0 ? true : strncmp(at, "False", 5) == 0 ? false : otherwise;
}

int64_t cm__traced_product(const int64_t *dims, int32_t count)
{
    double p = 1;
    for (int32_t i = 0; i < count; i++) p *= (double)dims[i];
    return p < SIZE_MOST ? (int64_t)p : (int64_t)SIZE_MOST;
}

int64_t cm__traced_elements(const cm__traced_tensor *t) { return cm__traced_product(t->dims, t->rank); }

/* Images of one pixel or one channel are both. */
bool cm__traced_channels_last(const cm__traced_tensor *t)
{
    return t->rank == 4 && t->strided && t->strides[1] == 1 && t->dims[1] > 1 && t->strides[3] == t->dims[1];
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

cm__call *cm__traced_call(cm__traced_op *a, int op, cm__pass pass, const char *variant, const char *dtype)
{
    cm__call *c = &a->kind->calls[a->kind->n_calls++];
    *c = (cm__call){.op = (int16_t)op, .pass = (int16_t)pass, .variant = cm__variant_find(variant),
                    .types = cm__types_find(dtype)};
    return c;
}

/* Sizes that are not recorded would be 0: then there is no call. */
static void check_sizes(cm__op_kind *k)
{
    for (int32_t i = 0; i < k->n_calls; i++)
        for (int n = 0; n < cm__call_kinds[k->calls[i].op].n_sizes; n++) {
            const char *name = cm__call_kinds[k->calls[i].op].sizes[n];
            bool        may_be_0 = strncmp(name, "pad", 3) == 0 || strcmp(name, "causal") == 0;
            if (k->calls[i].sizes[n] < (may_be_0 ? 0 : 1)) {
                k->n_calls = 0;
                return;
            }
        }
}

cm__op_kind *cm__traced_read(cm__ctx *ctx, const char *name, const json_t *args)
{
    const struct row *row = find(name);
    cm__op_kind      *kind = cm__alloc(ctx, sizeof *kind);
    *kind = (cm__op_kind){.name = name, .known = row != NULL, .scope = row ? row->scope : CM__TRACED_LEAF};
    if (!row) return kind;
    cm__traced_op a = {.ctx = ctx, .kind = kind, .function = row->function};
    read_arguments(&a, args);
    row->rule(&a);
    check_sizes(kind);
    return kind;
}
