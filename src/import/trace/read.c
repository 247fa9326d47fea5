/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - read a trace into tables, and check every number, index and name before it is used. */
#include "import/trace/trace.h"

#include <string.h>
#include "base/json.h"

#define TENSORS_MAX 4000000
#define OPS_MAX 2000000
#define NAME_MAX_BYTES 512

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static const json_t *array_at(cm__trace *t, const json_t *object, const char *key, size_t max)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_array(value)) cm__fail(t->ctx, CM_ERR_FORMAT, "'%s' is not an array", key);
    if (json_array_size(value) > max)
        cm__fail(t->ctx, CM_ERR_LIMIT, "%zu entries in '%s', at most %zu", json_array_size(value), key, max);
    return value;
}

static const char *text_of(cm__trace *t, const json_t *value, const char *otherwise)
{
    const char *text = json_string_value(value);
    if (!text) return otherwise;
    return strlen(text) <= NAME_MAX_BYTES ? text : cm__text_copy_n(t->ctx, text, NAME_MAX_BYTES);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static bool checked_add(int64_t *sum, int64_t factor, int64_t times)
{
    int64_t product;
    return !__builtin_mul_overflow(factor, times, &product) && !__builtin_add_overflow(*sum, product, sum);
}

/* [per batch, fixed] or [per batch, fixed, per sequence position, per both], at the requested sequence length. */
static cm_dim terms_of(cm__trace *t, const json_t *list)
{
    int64_t v[4] = {0};
    size_t  n = json_array_size(list);
    for (size_t i = 0; i < n && i < 4; i++) {
        const json_t *x = json_array_get(list, i);
        if (!json_is_integer(x)) cm__fail(t->ctx, CM_ERR_FORMAT, "a size that is not a whole number");
        v[i] = json_integer_value(x);
    }
    if (n != 2 && n != 4) cm__fail(t->ctx, CM_ERR_FORMAT, "a size of %zu terms, expected 2 or 4", n);
    cm_dim d = {v[0], v[1]};
    if (!checked_add(&d.fixed, v[2], t->seq) || !checked_add(&d.per_batch, v[3], t->seq))
        cm__fail(t->ctx, CM_ERR_LIMIT, "a size overflows");
    return d;
}

static cm_dim number_of(cm__trace *t, const json_t *value)
{
    if (json_is_object(value)) value = json_object_get(value, "terms");
    if (json_is_array(value)) return terms_of(t, value);
    if (json_is_integer(value)) return cm__fixed(json_integer_value(value));
    if (json_is_boolean(value)) return cm__fixed(json_is_true(value));
    cm__fail(t->ctx, CM_ERR_FORMAT, "a whole number is expected");
}

static int64_t whole_at(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static int32_t index_of(cm__trace *t, const json_t *value)
{
    json_int_t i = json_is_integer(value) ? json_integer_value(value) : -2;
    if (i < -1 || i >= t->n_tensors) cm__fail(t->ctx, CM_ERR_FORMAT, "there is no tensor %lld", (long long)i);
    return (int32_t)i;
}

int32_t *cm__trace_indices(cm__trace *t, const json_t *object, const char *key, int32_t *count)
{
    const json_t *list = array_at(t, object, key, CM__TRACE_ARGUMENTS_MAX);
    int32_t      *indices = cm__alloc_array(t->ctx, json_array_size(list), sizeof *indices);
    *count = (int32_t)json_array_size(list);
    for (int32_t i = 0; i < *count; i++) indices[i] = index_of(t, json_array_get(list, (size_t)i));
    return indices;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static cm_dtype dtype_of(cm__trace *t, const json_t *value)
{
    const char *name = json_string_value(value);
    for (int d = 0; name && d < CM_DTYPES; d++)
        if (strcmp(name, cm_dtype_name((cm_dtype)d)) == 0) return (cm_dtype)d;
    cm__fail(t->ctx, CM_ERR_FORMAT, "data type '%.32s' is not known", name ? name : "");
}

static cm_role role_of(cm__trace *t, const json_t *value)
{
    static const struct {
        const char *name;
        cm_role     role;
    } roles[] = {
        {"activation", CM_ROLE_ACTIVATION}, {"input", CM_ROLE_INPUT},       {"parameter", CM_ROLE_PARAMETER},
        {"frozen", CM_ROLE_BUFFER},         {"buffer", CM_ROLE_BUFFER},     {"constant", CM_ROLE_CONSTANT},
        {"gradient", CM_ROLE_GRADIENT},     {"parameter_gradient", CM_ROLE_PARAMETER_GRADIENT},
        {"state", CM_ROLE_STATE},
    };
    const char *name = value ? json_string_value(value) : "activation";
    for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(name, roles[i].name) == 0) return roles[i].role;
    cm__fail(t->ctx, CM_ERR_FORMAT, "role '%.32s' is not known", name ? name : "");
}

static void read_tensor(cm__trace *t, const json_t *row, int32_t index)
{
    cm__place(t->ctx, "tensor %d", index);
    if (!json_is_object(row)) cm__fail(t->ctx, CM_ERR_FORMAT, "not an object");
    const json_t *dims = array_at(t, row, "dims", CM__RANK_MAX);
    int32_t       rank = (int32_t)json_array_size(dims);
    cm_dim       *own = cm__alloc_array(t->ctx, (size_t)rank, sizeof *own);
    for (int32_t i = 0; i < rank; i++) own[i] = number_of(t, json_array_get(dims, (size_t)i));
    const char *name = text_of(t, json_object_get(row, "name"), NULL);
    const char *layout = json_string_value(json_object_get(row, "layout"));
    t->tensors[index] = (cm__trace_tensor){
        .name = name ? name : cm__format(t->ctx, "t%d", index), .dims = own, .rank = rank,
        .channels_last = layout && strcmp(layout, "channels_last") == 0,
        .own = dtype_of(t, json_object_get(row, "dtype")), .role = role_of(t, json_object_get(row, "role")),
        .storage = (int32_t)(whole_at(row, "storage", 0) & INT32_MAX), .here = -1, .reader = -1, .until = -1};
    if (json_object_get(row, "until")) t->tensors[index].until = index_of(t, json_object_get(row, "until"));
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static bool has_16_bits(cm_dtype dtype) { return dtype == CM_BF16 || dtype == CM_FP16; }

/* The type of most parameters, or of most inputs if there are none. */
static cm_dtype types_of(const cm__trace *t)
{
    static const cm_role roles[] = {CM_ROLE_PARAMETER, CM_ROLE_INPUT};
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        double elements[CM_DTYPES] = {0};
        for (int32_t i = 0; i < t->n_tensors; i++) {
            const cm__trace_tensor *x = &t->tensors[i];
            cm_poly                 size = cm__poly_product(x->dims, x->rank);
            if (x->role == roles[r]) elements[x->own] += cm_poly_at(&size, 1);
        }
        double sixteen = elements[CM_BF16] + elements[CM_FP16];
        if (sixteen + elements[CM_FP32] > 0)
            return sixteen <= elements[CM_FP32] ? CM_FP32 : elements[CM_BF16] >= elements[CM_FP16] ? CM_BF16 : CM_FP16;
    }
    return CM_FP32;
}

/* In a model recorded in 16 bits, the recorded types are the 16-bit ones; without a second recording, fp32 replaces
   them. */
static void settle_types(cm__trace *t, const json_t *tensors)
{
    bool second = json_is_string(json_object_get(t->root, "other_types"));
    t->types = t->autocast == CM_FP32 ? types_of(t) : CM_FP32;
    t->typed = t->types != CM_FP32 || second;
    for (int32_t i = 0; i < t->n_tensors; i++) {
        cm__trace_tensor *x = &t->tensors[i];
        const json_t     *other = json_object_get(json_array_get(tensors, (size_t)i), "other_dtype");
        cm__place(t->ctx, "tensor %d", i);
        cm_dtype given = other ? dtype_of(t, other) : x->own;
        if (!second && t->types != CM_FP32) given = has_16_bits(x->own) ? CM_FP32 : x->own;
        x->dtype = t->types == CM_FP32 ? x->own : given;
        x->low = t->types == CM_FP32 ? given : x->own;
    }
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

static const char *base_name(cm__trace *t, const char *full, bool *in_place)
{
    const char *start = strstr(full, "::"), *dot;
    start = start ? start + 2 : full;
    dot = strchr(start, '.');
    size_t length = dot ? (size_t)(dot - start) : strlen(start);
    *in_place = length > 1 && start[length - 1] == '_' && start[length - 2] != '_';
    return cm__text_copy_n(t->ctx, start, *in_place ? length - 1 : length);
}

static cm_phase phase_of(cm__trace *t, const json_t *value)
{
    const char *name = value ? json_string_value(value) : cm_phase_name(CM_FORWARD);
    for (int p = 0; name && p < CM_PHASES; p++)
        if (strcmp(name, cm_phase_name((cm_phase)p)) == 0) return (cm_phase)p;
    cm__fail(t->ctx, CM_ERR_FORMAT, "phase '%.32s' is not known", name ? name : "");
}

static void read_op(cm__trace *t, const json_t *row, int32_t index)
{
    cm__trace_op *o = &t->ops[index];
    cm__place(t->ctx, "operator %d", index);
    o->full = text_of(t, json_object_get(row, "op"), NULL);
    if (!o->full || !*o->full) cm__fail(t->ctx, CM_ERR_FORMAT, "no name");
    cm__place(t->ctx, "operator %d (%.64s)", index, o->full);
    o->name = base_name(t, o->full, &o->in_place);
    o->module = text_of(t, json_object_get(row, "module"), "");
    o->phase = phase_of(t, json_object_get(row, "phase"));
    int64_t segment = whole_at(row, "segment", -1), function = whole_at(row, "function", -1);
    o->segment = segment >= 0 && segment < t->n_ops ? (int32_t)segment : -1;
    o->function = function >= 0 && function < INT32_MAX ? (int32_t)function : -1;
    o->plain = whole_at(row, "autocast", 1) == 0;
    o->in = cm__trace_indices(t, row, "in", &o->n_in);
    o->out = cm__trace_indices(t, row, "out", &o->n_out);
    o->attrs = json_object_get(row, "attrs");
    if (o->attrs && !json_is_object(o->attrs)) cm__fail(t->ctx, CM_ERR_FORMAT, "'attrs' is not an object");
    if (o->phase != CM_FORWARD) return;
    for (int32_t i = 0; i < o->n_in; i++) {
        if (o->in[i] < 0) continue;
        t->tensors[o->in[i]].readers++;
        t->tensors[o->in[i]].reader = index;
    }
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static const json_t *attr_at(const cm__trace_op *o, const char *key)
{
    return o->attrs ? json_object_get(o->attrs, key) : NULL;
}

bool cm__trace_has(const cm__trace_op *o, const char *key) { return attr_at(o, key) != NULL; }

cm_dim cm__trace_dim(cm__trace *t, const cm__trace_op *o, const char *key, int64_t otherwise)
{
    const json_t *value = attr_at(o, key);
    return value && !json_is_null(value) ? number_of(t, value) : cm__fixed(otherwise);
}

int64_t cm__trace_int(cm__trace *t, const cm__trace_op *o, const char *key, int64_t otherwise)
{
    cm_dim d = cm__trace_dim(t, o, key, otherwise);
    if (d.per_batch) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "'%s' depends on the batch size", key);
    return d.fixed;
}

double cm__trace_real(const cm__trace_op *o, const char *key, double otherwise)
{
    const json_t *value = attr_at(o, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

int32_t cm__trace_ints(cm__trace *t, const cm__trace_op *o, const char *key, int64_t *out, int32_t max)
{
    const json_t *value = attr_at(o, key);
    if (!value || json_is_null(value)) return -1;
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    if (n > (size_t)max) cm__fail(t->ctx, CM_ERR_LIMIT, "%zu entries in '%s', at most %d", n, key, max);
    for (size_t i = 0; i < n; i++) {
        cm_dim d = number_of(t, json_is_array(value) ? json_array_get(value, i) : value);
        if (d.per_batch) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "'%s' depends on the batch size", key);
        out[i] = d.fixed;
    }
    return (int32_t)n;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void check_kind(cm__trace *t)
{
    const char *kind = json_string_value(json_object_get(t->root, "kind"));
    int64_t     schema = whole_at(t->root, "schema", -1);
    if (!kind || strcmp(kind, "trace") != 0)
        cm__fail(t->ctx, CM_ERR_FORMAT, "not a trace: \"kind\": \"trace\" is expected (python -m centimani capture)");
    if (schema != 1)
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "schema %lld, this program reads 1: capture the model again",
                 (long long)schema);
}

static void read_header(cm__trace *t, const cm_load_options *o)
{
    int64_t own = whole_at(t->root, "seq", 0);
    t->seq = o->seq > 0 && own > 0 ? o->seq : own;
    if (t->seq < 0 || t->seq > CM__DIM_MAX) cm__fail(t->ctx, CM_ERR_LIMIT, "a sequence of %lld", (long long)t->seq);
    const char *autocast = json_string_value(json_object_get(t->root, "autocast"));
    t->autocast = !autocast                        ? CM_FP32
                  : strcmp(autocast, "fp16") == 0 ? CM_FP16
                                                  : CM_BF16;
}

/* If a file does not record the types of the model, only the requested precision or autocast's type counts. */
cm_precision cm__trace_precision(const json_t *root)
{
    const char  *wanted = json_string_value(json_object_get(root, "wanted_precision"));
    cm_precision precision;
    if (!wanted) wanted = json_string_value(json_object_get(root, "types"));
    if (!wanted && json_is_string(json_object_get(root, "autocast")))
        wanted = json_string_value(json_object_get(root, "precision"));
    return wanted && cm_precision_parse(wanted, &precision, NULL) == CM_OK ? precision : CM_PRECISION_DEFAULT;
}

void cm__trace_read(cm__trace *t, const cm_load_options *o)
{
    check_kind(t);
    read_header(t, o);
    const json_t *tensors = array_at(t, t->root, "tensors", TENSORS_MAX), *ops = array_at(t, t->root, "ops", OPS_MAX);
    t->n_tensors = (int32_t)json_array_size(tensors);
    t->n_ops = (int32_t)json_array_size(ops);
    t->tensors = cm__alloc_array(t->ctx, (size_t)t->n_tensors, sizeof *t->tensors);
    t->ops = cm__alloc_array(t->ctx, (size_t)t->n_ops, sizeof *t->ops);
    for (int32_t i = 0; i < t->n_tensors; i++) read_tensor(t, json_array_get(tensors, (size_t)i), i);
    settle_types(t, tensors);
    for (int32_t i = 0; i < t->n_ops; i++) read_op(t, json_array_get(ops, (size_t)i), i);
    cm__place(t->ctx, "%s", "");
    const json_t *loss = json_object_get(t->root, "loss");
    t->loss = loss ? index_of(t, loss) : -1;
    t->outputs = cm__trace_indices(t, t->root, "outputs", &t->n_outputs);
}
