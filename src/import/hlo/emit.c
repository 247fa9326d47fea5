/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - the tensors and operators of the capture that a step becomes, and views of them. */
#include "import/hlo/rules.h"

#include <math.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

cm__hlo_shape cm__hlo_shape_of(const cm__hlo_value *v)
{
    cm__hlo_shape s = {.rank = v->type.rank};
    memcpy(s.size, v->type.dims, (size_t)s.rank * sizeof *s.size);
    if (v->per_batch) memcpy(s.per_batch, v->per_batch, (size_t)s.rank * sizeof *s.per_batch);
    return s;
}

void cm__hlo_append(cm__hlo_shape *s, cm__hlo_extent d)
{
    if (s->rank == CM__RANK_MAX) return;
    s->size[s->rank] = d.size;
    s->per_batch[s->rank++] = d.per_batch;
}

cm__hlo_extent cm__hlo_extent_at(const cm__hlo_shape *s, int64_t i)
{
    return i >= 0 && i < s->rank ? (cm__hlo_extent){s->size[i], s->per_batch[i]} : (cm__hlo_extent){1, 0};
}

cm__hlo_extent cm__hlo_times(const cm__hlo_capture *c, cm__hlo_extent a, cm__hlo_extent b)
{
    if (a.per_batch && b.per_batch) cm__hlo_refuse(c->s->ctx, c->now->op, "a size grows with the square of the batch");
    return (cm__hlo_extent){a.size * b.size, a.per_batch ? a.per_batch * b.size : a.size * b.per_batch};
}

bool cm__hlo_same_shape(const cm__hlo_shape *a, const cm__hlo_shape *b)
{
    return a->rank == b->rank && memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size) == 0;
}

cm__hlo_shape cm__hlo_permuted(const cm__hlo_shape *s, const int64_t *order)
{
    cm__hlo_shape made = {0};
    for (int32_t i = 0; i < s->rank; i++) cm__hlo_append(&made, cm__hlo_extent_at(s, order[i]));
    return made;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static json_t *dims_json(const cm__hlo_shape *s)
{
    json_t *dims = json_array();
    for (int32_t i = 0; i < s->rank; i++)
        json_array_append_new(dims, s->per_batch[i] ? json_pack("[I,i]", (json_int_t)s->per_batch[i], 0) : json_integer(s->size[i]));
    return dims;
}

int32_t cm__hlo_new_row(cm__hlo_capture *c, const cm__hlo_shape *s, cm_dtype dtype, const char *role, const char *name, int32_t storage)
{
    int32_t id = (int32_t)json_array_size(c->tensors);
    json_t *row = json_object();
    json_array_append_new(c->tensors, row);
    json_object_set_new(row, "dims", dims_json(s));
    json_object_set_new(row, "dtype", json_string(cm_dtype_name(dtype)));
    json_object_set_new(row, "storage", json_integer(storage < 0 ? id : storage));
    if (role) json_object_set_new(row, "role", json_string(role));
    if (name) json_object_set_new(row, "name", json_string(name));
    return id;
}

int32_t cm__hlo_storage_of(const cm__hlo_capture *c, int32_t row)
{
    return (int32_t)json_integer_value(json_object_get(json_array_get(c->tensors, (size_t)row), "storage"));
}

/* Takes `attrs`; NULL: none. */
json_t *cm__hlo_new_op(cm__hlo_capture *c, const char *name, const int32_t *in, int32_t n, json_t *attrs)
{
    json_t *op = json_object(), *inputs = json_array();
    json_array_append_new(c->ops, op);
    json_object_set_new(op, "op", json_string(cm__format(c->s->ctx, "aten::%s", name)));
    json_object_set_new(op, "in", inputs);
    for (int32_t i = 0; i < n; i++) json_array_append_new(inputs, json_integer(in[i]));
    json_object_set_new(op, "out", json_array());
    if (attrs) json_object_set_new(op, "attrs", attrs);
    if (c->now->segment >= 0) json_object_set_new(op, "segment", json_integer(c->now->segment));
    return op;
}

void cm__hlo_makes(json_t *op, int32_t row) { json_array_append_new(json_object_get(op, "out"), json_integer(row)); }

int32_t cm__hlo_emit(cm__hlo_capture *c, const char *name, const int32_t *in, int32_t n, const cm__hlo_shape *s, cm_dtype dtype, json_t *attrs)
{
    json_t *op = cm__hlo_new_op(c, name, in, n, attrs);
    int32_t made = cm__hlo_new_row(c, s, dtype, NULL, NULL, -1);
    cm__hlo_makes(op, made);
    return made;
}

int32_t cm__hlo_emit_view(cm__hlo_capture *c, const char *name, int32_t in, const cm__hlo_shape *s, cm_dtype dtype, json_t *attrs)
{
    json_t *op = cm__hlo_new_op(c, name, &in, 1, attrs);
    int32_t made = cm__hlo_new_row(c, s, dtype, NULL, NULL, cm__hlo_storage_of(c, in));
    cm__hlo_makes(op, made);
    return made;
}

json_t *cm__hlo_list_json(const int64_t *list, int32_t n)
{
    json_t *made = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(made, json_integer(list[i]));
    return made;
}

int32_t cm__hlo_viewed(cm__hlo_capture *c, int32_t row, const cm__hlo_shape *from, const cm__hlo_shape *to, cm_dtype dtype)
{
    return cm__hlo_same_shape(from, to) ? row : cm__hlo_emit_view(c, "view", row, to, dtype, NULL);
}

int32_t cm__hlo_ordered(cm__hlo_capture *c, int32_t row, const cm__hlo_shape *from, const int64_t *order, cm_dtype dtype)
{
    bool moved = false;
    for (int32_t i = 0; i < from->rank; i++) moved |= order[i] != i;
    cm__hlo_shape to = cm__hlo_permuted(from, order);
    return moved ? cm__hlo_emit_view(c, "permute", row, &to, dtype, json_pack("{s:o}", "dims", cm__hlo_list_json(order, from->rank))) : row;
}

json_t *cm__hlo_number_json(double x)
{
    if (isinf(x)) return json_string(x > 0 ? "inf" : "-inf");
    return x == trunc(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
}

static int32_t joined_layers(cm__hlo_capture *c, int32_t value)
{
    const cm__hlo_value *v = &c->s->values[value];
    int32_t              n = (int32_t)v->type.dims[0], *in = cm__alloc_array(c->s->ctx, (size_t)n, sizeof *in);
    cm__hlo_shape s = cm__hlo_shape_of(v), one = s;
    one.size[0] = 1;
    one.per_batch[0] = 0;
    for (int32_t i = 0; i < n; i++)
        in[i] = v->parts[i] < 0 ? cm__hlo_emit(c, "full", NULL, 0, &one, v->type.dtype, NULL) : cm__hlo_row_of(c, v->parts[i]);
    return cm__hlo_emit(c, "cat", in, n, &s, v->type.dtype, json_pack("{s:i}", "dim", 0));
}

int32_t cm__hlo_row_of(cm__hlo_capture *c, int32_t value)
{
    cm__hlo_value *v = &c->s->values[value];
    if (v->row >= 0) return v->row;
    cm__hlo_shape s = cm__hlo_shape_of(v);
    int32_t made;
    if (v->parts && (v->leaf < 0 || v->part < 0) && (v->leaf < 0 || c->s->stacked[v->leaf])) {
        if (v->leaf >= 0)
            for (int64_t i = 0; i < v->type.dims[0]; i++)
                if (v->parts[i] < 0) { /* a layer that no loop reads */
                    cm__hlo_type type = {.dtype = v->type.dtype, .rank = v->type.rank, .is_tensor = true};
                    int64_t     *dims = cm__alloc_array(c->s->ctx, (size_t)type.rank, sizeof *dims);
                    memcpy(dims, v->type.dims, (size_t)type.rank * sizeof *dims);
                    dims[0] = 1;
                    type.dims = dims;
                    int32_t part = cm__hlo_value_new(c->s, type);
                    v = &c->s->values[value];
                    c->s->values[part].leaf = v->leaf;
                    c->s->values[part].part = (int32_t)i;
                    v->parts[i] = part;
                }
        made = joined_layers(c, value);
    } else if (v->known && v->type.rank && v->leaf < 0) made = cm__hlo_emit(c, "full", NULL, 0, &s, v->type.dtype, NULL);
    else {
        const char *role = v->leaf >= 0 ? c->roles[v->leaf] : "constant", *name = NULL;
        if (v->leaf >= 0) name = v->part >= 0 ? cm__format(c->s->ctx, "layers.%d.arg%d", v->part, v->leaf) : cm__format(c->s->ctx, "arg%d", v->leaf);
        made = cm__hlo_new_row(c, &s, v->type.dtype, role, name, -1);
    }
    c->s->values[value].row = made;
    return made;
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

int32_t cm__hlo_in_row(cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i)
{
    if (i >= e->n_in) cm__hlo_refuse(c->s->ctx, e->op, "an operand is missing");
    return cm__hlo_row_of(c, e->in[i]);
}

cm__hlo_shape cm__hlo_in_shape(const cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i) { return cm__hlo_shape_of(cm__hlo_in(c->s, e, i)); }
cm_dtype cm__hlo_in_type(const cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i) { return cm__hlo_in(c->s, e, i)->type.dtype; }

void cm__hlo_bind(cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i, int32_t row) { c->s->values[e->first + i].row = row; }

int32_t cm__hlo_made_by(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name, const int32_t *in, int32_t n, json_t *attrs)
{
    cm__hlo_shape s = cm__hlo_shape_of(cm__hlo_out(c->s, e));
    return cm__hlo_emit(c, name, in, n, &s, cm__hlo_out(c->s, e)->type.dtype, attrs);
}

int32_t cm__hlo_all_operands(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name, json_t *attrs)
{
    int32_t *in = cm__alloc_array(c->s->ctx, (size_t)e->n_in + 1, sizeof *in);
    for (int32_t i = 0; i < e->n_in; i++) in[i] = cm__hlo_in_row(c, e, i);
    return cm__hlo_made_by(c, e, name, in, e->n_in, attrs);
}
