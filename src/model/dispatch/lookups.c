/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.c - kernel calls of look-ups by index, scatters, sorting, and writes into a part of a tensor. */
#include "device/fits/timings.h"
#include "model/dispatch/rules.h"

#include <math.h>
#include <stdio.h>

static cm_poly others(const cm_tensor *t, int32_t axis)
{
    return cm__poly_mul(cm__poly_product(t->dims, axis), cm__poly_product(t->dims + axis + 1, t->rank - axis - 1));
}

static int32_t axis_of(const cm_node *forward, int32_t rank)
{
    int64_t given = cm__attr_int(forward, CM_ATTR_AXIS, 0), axis = given < 0 ? given + rank : given;
    return axis < 0 || axis >= rank ? 0 : (int32_t)axis;
}

/* The dimension of the table that the index selects from: the result has the dimensions before it, those of the index,
   and the dimensions after it. */
static int32_t indexed_axis(const cm_tensor *table, const cm_tensor *index, const cm_tensor *y)
{
    for (int32_t axis = 0; axis < table->rank && y->rank == table->rank - 1 + index->rank; axis++) {
        bool same = true;
        for (int32_t i = 0; same && i < table->rank; i++)
            if (i != axis) same = cm__dim_same(table->dims[i], y->dims[i < axis ? i : i - 1 + index->rank]);
        for (int32_t i = 0; same && i < index->rank; i++) same = cm__dim_same(index->dims[i], y->dims[axis + i]);
        if (same) return axis;
    }
    return 0;
}

#define CHOSEN_ROWS 4   /* equally frequent rows with the same longest run of equal indices as computed ones */
#define CHOSEN_MAX 512  /* largest table for which that is assumed: tables of relative positions or of experts */
#define CHOSEN_BEFORE 8 /* operators between the choice and the look-up */

/* The model computes the index by operators that give many places the same value. Such indices are not equally
   frequent: distances end in a last bucket, and routers prefer some experts. In seven recorded look-ups (two of T5,
   LongT5, wav2vec 2 BERT, GPT-OSS, a trunk that folds proteins, a recommender) the most frequent one has 11 to 50 % of
   all, 29 % in the geometric mean. */
static bool is_chosen(const cm_graph *g, int32_t tensor, int depth)
{
    static const bool chooses[CM_OPS] = {
        [CM_OP_CLAMP] = true, [CM_OP_CLAMP_ONE] = true, [CM_OP_CLAMP_TENSOR] = true,
        [CM_OP_MIN] = true,   [CM_OP_WHERE] = true,     [CM_OP_TOP_K] = true,
    };
    int32_t producer = tensor < 0 ? -1 : cm__t(g, tensor)->producer;
    if (producer < 0 || !depth) return false;
    const cm_node *n = &g->nodes[producer];
    bool           found = chooses[n->op];
    for (int32_t i = 0; i < n->n_inputs && !found; i++) found = is_chosen(g, n->inputs[i], depth - 1);
    return found;
}

/* The model computes the indices of a look-up into a table of so many rows, and gives many places the same one. */
static bool index_is_chosen(const cm_graph *g, int32_t index, cm_dim rows)
{
    bool few = !rows.per_batch && rows.fixed <= CHOSEN_MAX && rows.fixed > CHOSEN_ROWS;
    return few && is_chosen(g, index, CHOSEN_BEFORE);
}

/* Rows of a table among which the indices count as equally frequent. */
static cm_poly rows_hit(const cm_graph *g, int32_t index, cm__pass pass, cm_dim rows)
{
    bool few = pass == CM__PASS_BACKWARD && index_is_chosen(g, index, rows);
    return few ? cm__poly_const(CHOSEN_ROWS) : cm__poly_dim(rows);
}

static void look_up_sizes(cm__dispatch *d, int32_t node, cm__pass pass, cm__variant variant, cm_dtype dtype,
                          cm_poly tokens, cm_poly vocabulary, cm_poly width)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_EMBEDDING, pass, variant, dtype, false);
    CM__CALL_SIZED(d, node, c, tokens, vocabulary, width);
}

static void look_up(cm__dispatch *d, int32_t node, cm__pass pass, cm__variant variant, const cm_tensor *table,
                    cm_poly tokens, int32_t axis)
{
    look_up_sizes(d, node, pass, variant, table->dtype, tokens, cm__poly_dim(table->dims[axis]), others(table, axis));
}

/* Rows or slices of the first input, at the indices of the second. */
static void look_up_rows(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass, cm__variant variant,
                         int32_t axis)
{
    const cm_tensor *table = cm__in(d->g, forward, 0), *index = cm__in(d->g, forward, 1);
    look_up_sizes(d, node, pass, variant, table->dtype, cm_tensor_elements(index),
                  rows_hit(d->g, forward->inputs[1], pass, table->dims[axis]), others(table, axis));
}

#define VECTOR_BYTES 16 /* that a thread copies at once (vectorized_gather_kernel in ATen/native/cuda/IndexKernelUtils.cu) */

/* Whether gather() copies whole rows, as an embedding does. PyTorch does so if the index selects along the first
   dimension and is the same for all numbers of a row (expanded), and if rows are contiguous and aligned. */
static bool copies_rows(cm__dispatch *d, int32_t table, int32_t index, cm_dtype dtype)
{
    const cm_tensor *x = cm__t(d->g, table), *t = cm__t(d->g, index);
    double           width = (double)cm_dtype_size(dtype);
    for (int32_t i = 1; i < t->rank && i < x->rank; i++) {
        if (cm__strides_of(d->strides, index)[i] && cm__strides_size(t->dims[i]) > 1) return false;
        width *= (double)cm__strides_size(t->dims[i]);
    }
    return cm__strides_in_rows(d->strides, table) && fmod(width, VECTOR_BYTES) == 0;
}

/* One number for each element of the index, or whole rows. */
static void look_up_elements(cm__dispatch *d, int32_t node, cm__pass pass, int32_t whole, int32_t index, int32_t axis,
                             cm_dim count)
{
    const cm_tensor *table = cm__t(d->g, whole);
    bool             copies = !axis && pass == CM__PASS_FORWARD && copies_rows(d, whole, index, table->dtype);
    cm__variant      kind = !copies ? CM__V_GATHER : table->rank == 2 ? CM__V_NONE : CM__V_SELECT;
    look_up(d, node, pass, kind, table, cm__poly_dim(count), axis);
}

/* The elements with the highest values along an axis; backward writes their gradients into zeros. */
static void chosen(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    int64_t          given = cm__attr_int(forward, CM_ATTR_AXIS, -1);
    int32_t          axis = (int32_t)(given < 0 ? given + x->rank : given);
    if (cm__node(d, node) != forward) {
        look_up(d, node, CM__PASS_BACKWARD, CM__V_GATHER, x, cm__poly_dim(y->dims[axis]), axis);
        return;
    }
    bool           all = cm__dim_same(x->dims[axis], y->dims[axis]);
    cm__sized_call c = cm__call_begin(d, CM__CALL_SORT, CM__PASS_FORWARD, all ? CM__V_SORT : CM__V_TOPK, x->dtype, false);
    CM__CALL_SIZED(d, node, c, others(x, axis), cm__poly_dim(x->dims[axis]), cm__poly_dim(y->dims[axis]));
}

void cm__dispatch_sort(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (cm__in(d->g, n, 0)->rank) chosen(d, node, cm__forward_of(d, n));
}

/* Indices of the first dimensions of a table, which together select rows of the others. */
static int32_t indices_of(const cm_node *forward, const cm_tensor *table)
{
    int32_t count = 0;
    while (count < table->rank && 1 + count < forward->n_inputs && cm__has(forward, 1 + count)) count++;
    return count;
}

#define SHORT_ROW 32 /* numbers of a row up to which index_put_ has other kernels */

/* The gradient of rows along a later dimension: the kernel that adds rows has blocks for each of the tables before that
   dimension (nElemBefore in ATen/native/cuda/Indexing.cu), so that they count as rows of one table. False: columns. */
static bool rows_of_tables(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass, int32_t axis)
{
    const cm_tensor *table = cm__in(d->g, forward, 0), *index = cm__in(d->g, forward, 1);
    int32_t          after = table->rank - axis - 1;
    int64_t          width = after > 0;
    for (int32_t i = 0; i < after; i++) width *= cm__strides_size(table->dims[axis + 1 + i]);
    if (!axis || pass != CM__PASS_BACKWARD || width <= SHORT_ROW) return false;
    cm_poly tables = cm__poly_product(table->dims, axis);
    look_up_sizes(d, node, pass, CM__V_INDEX, table->dtype, cm__poly_mul(tables, cm_tensor_elements(index)),
                  cm__poly_mul(tables, rows_hit(d->g, forward->inputs[1], pass, table->dims[axis])),
                  cm__poly_product(table->dims + axis + 1, after));
    return true;
}

/* A single index of the first dimension copies contiguous rows of whole vectors by the kernel of index_select(); a thread
   reads each number of other rows, and of rows that several indices select. */
static cm__variant indexed_kernel(cm__dispatch *d, const cm_node *forward, cm__pass pass, int32_t axis)
{
    const cm_tensor *table = cm__in(d->g, forward, 0);
    if (axis) return CM__V(INDEX, COL);
    if (pass != CM__PASS_FORWARD) return CM__V_INDEX;
    if (!cm__strides_in_rows(d->strides, forward->inputs[0])) return CM__V_GATHER;
    double width = (double)cm_dtype_size(table->dtype);
    for (int32_t i = 1; i < table->rank; i++) width *= (double)cm__strides_size(table->dims[i]);
    return fmod(width, VECTOR_BYTES) != 0 ? CM__V_INDEX : CM__V_SELECT;
}

static void indexed(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *table = cm__in(d->g, forward, 0), *index = cm__in(d->g, forward, 1),
                    *y = cm__t(d->g, forward->outputs[0]);
    int32_t count = indices_of(forward, table), axis = count > 1 ? 0 : indexed_axis(table, index, y);
    int32_t after = table->rank - count;
    if (pass == CM__PASS_BACKWARD) cm__call_in_rows(d, node, cm__node(d, node)->inputs[0]); /* index_put_ sorts rows */
    if (count > 1 && y->rank >= after)
        look_up_sizes(d, node, pass, CM__V_INDEX, table->dtype, cm__poly_product(y->dims, y->rank - after),
                      cm__poly_product(table->dims, count), cm__poly_product(table->dims + count, after));
    else if (!rows_of_tables(d, node, forward, pass, axis))
        look_up_rows(d, node, forward, pass, indexed_kernel(d, forward, pass, axis), axis);
}

/* Rows of a table, slices of a tensor along an axis, or one element for each index. */
static void gathered(cm__dispatch *d, int32_t node, const cm_node *forward, cm__pass pass)
{
    const cm_tensor *table = cm__in(d->g, forward, 0), *index = cm__in(d->g, forward, 1);
    int32_t          axis = axis_of(forward, table->rank);
    if (forward->op == CM_OP_GATHER_ELEMENTS && index->rank == table->rank)
        look_up_elements(d, node, pass, forward->inputs[0], forward->inputs[1], axis, index->dims[axis]);
    else if (forward->op == CM_OP_GATHER_ELEMENTS) look_up(d, node, pass, CM__V_GATHER, table, cm__poly_const(1), axis);
    else if (forward->op == CM_OP_INDEX) indexed(d, node, forward, pass);
    else look_up_rows(d, node, forward, pass, table->rank == 2 && axis == 0 ? CM__V_NONE : CM__V_SELECT, axis);
}

static bool is_scatter(const cm_node *n)
{
    return n->op == CM_OP_SCATTER || n->op == CM_OP_SCATTER_ELEMENTS || n->op == CM_OP_SCATTER_ND;
}

/* One index for each row if a dimension is given, otherwise for each place; or one for each element. */
static cm__variant scatter_kind(const cm_node *n)
{
    return n->op != CM_OP_SCATTER_ND ? CM__V_GATHER : cm__attr_find(n, CM_ATTR_AXIS) ? CM__V_SELECT : CM__V_INDEX;
}

static bool indexes_elements(const cm__dispatch *d, const cm_node *n)
{
    return n->op == CM_OP_SCATTER_ELEMENTS && cm__in(d->g, n, 1)->rank == cm__in(d->g, n, 0)->rank;
}

/* True: of numbers scattered to the same place, the largest or smallest one remains. */
static bool is_extreme(const cm__dispatch *d, const cm_node *n)
{
    return indexes_elements(d, n) && cm__attr_int(n, CM_ATTR_REDUCTION, 0) == CM__EXTREME;
}

/* A kernel over the numbers of a tensor. */
static void over_numbers(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, int32_t tensor)
{
    cm__call_pass(d, node, function, types, cm_tensor_elements(cm__t(d->g, tensor)));
}

/* Numbers equal to the extreme one of their place share its gradient (scatter_reduce_backward in autograd's
   FunctionsManual.cpp). What was there and what was scattered are compared to the result, the equal ones counted, and
   compared once more for the products with the divided gradient. */
static void extreme_back(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    int32_t into = forward->inputs[0], index = forward->inputs[1], from = forward->inputs[2];
    int32_t axis = axis_of(forward, cm__t(d->g, into)->rank), both[] = {into, from};
    cm_dim   count = cm__t(d->g, from)->dims[axis];
    cm_dtype type[] = {cm__t(d->g, into)->dtype, cm__t(d->g, from)->dtype};
    look_up_elements(d, node, CM__PASS_FORWARD, forward->outputs[0], index, axis, count);
    for (int i = 0; i < 2; i++) {
        over_numbers(d, node, CM__V_COMPARE, cm__types_cast(type[i], CM_BOOL), both[i]);
        over_numbers(d, node, CM__V_COPY, cm__types_cast(CM_BOOL, type[i]), both[i]);
    }
    look_up_elements(d, node, CM__PASS_BACKWARD, into, index, axis, count);
    cm__call_over(d, node, CM__V_DIV, into, -1, into);
    for (int i = 0; i < 2; i++) {
        if (i) look_up_elements(d, node, CM__PASS_FORWARD, into, index, axis, count);
        over_numbers(d, node, CM__V_COMPARE, cm__types_cast(type[i], CM_BOOL), both[i]);
        over_numbers(d, node, CM__V_MUL, CM__TYPES(CM_BOOL, type[i], type[i]), both[i]);
    }
}

/* The gradient of what was scattered is looked up in that of the result. */
static void scattered_back(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *whole = cm__in(d->g, n, 0), *y = cm__t(d->g, n->outputs[0]);
    int32_t          axis = axis_of(forward, whole->rank);
    if (is_extreme(d, forward)) extreme_back(d, node, forward);
    else if (y->rank > axis && whole->rank && !cm__dim_same(y->dims[axis], whole->dims[axis]) && indexes_elements(d, forward))
        look_up_elements(d, node, CM__PASS_FORWARD, n->inputs[0], forward->inputs[1], axis, y->dims[axis]);
    else if (y->rank > axis && whole->rank && !cm__dim_same(y->dims[axis], whole->dims[axis]))
        look_up(d, node, CM__PASS_FORWARD, scatter_kind(forward), whole, cm__poly_dim(y->dims[axis]), axis);
    else cm__call_over(d, node, CM__V_COPY, n->inputs[0], -1, n->outputs[0]);
}

void cm__dispatch_gather(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool           known = forward->n_inputs > 1 && cm__has(forward, 1) && cm__in(d->g, forward, 0)->rank &&
                 (forward->op == CM_OP_GATHER || forward->op == CM_OP_GATHER_ELEMENTS || forward->op == CM_OP_INDEX);
    if (forward->op == CM_OP_TOP_K && cm__in(d->g, forward, 0)->rank) chosen(d, node, forward);
    else if (is_scatter(forward)) scattered_back(d, node, forward);
    else if (known) gathered(d, node, forward, cm__pass_of(n, forward));
    else cm__call_over(d, node, CM__V_COPY, n->outputs[0], -1, n->outputs[0]);
}

/* Elements or rows are added at the places of an index: the kernels of the gradient of a look-up. Or they are written
   there, after a copy of the rest. */
void cm__dispatch_scatter(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *into = cm__in(d->g, n, 0), *from = cm__in(d->g, n, 2);
    int32_t          axis = axis_of(n, into->rank);
    if (!into->rank || from->rank <= axis || !cm__attr_int(n, CM_ATTR_REDUCTION, 0)) {
        cm__call_over(d, node, CM__V_COPY, n->inputs[0], -1, n->outputs[0]);
        cm__call_over(d, node, CM__V_COPY, n->inputs[2], -1, n->inputs[2]);
        return;
    }
    if (indexes_elements(d, n))
        look_up_elements(d, node, CM__PASS_BACKWARD, n->inputs[0], n->inputs[1], axis, from->dims[axis]);
    else look_up(d, node, CM__PASS_BACKWARD, scatter_kind(n), into, cm__poly_dim(from->dims[axis]), axis);
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

/* A copy between a tensor of its own and a part with the strides of the whole. */
static void part_copy(cm__dispatch *d, int32_t node, int32_t part, int32_t whole)
{
    const cm_tensor *p = cm__t(d->g, part), *w = cm__t(d->g, whole);
    if (p->rank == w->rank) cm__call_copied(d, node, part, cm__strides_rows(d->strides, w));
    else
        cm__call_map(d, node, CM__V(COPY, PART), part, -1, part, cm__poly_product(p->dims, p->rank ? p->rank - 1 : 0),
                     p->rank ? cm__poly_dim(p->dims[p->rank - 1]) : cm__poly_const(1));
}

void cm__dispatch_written(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm__call_whole_copy(d, node, n->outputs[0]);
    if (!cm__attr_int(n, CM_ATTR_IN_PLACE, 0)) part_copy(d, node, n->inputs[1], n->outputs[0]);
}

void cm__dispatch_written_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm__call_over(d, node, CM__V_COPY, n->inputs[0], -1, n->outputs[0]);
    part_copy(d, node, n->outputs[1], n->outputs[0]);
    if (!cm__attr_int(n, CM_ATTR_COPIES, 0)) return;
    cm__call_over(d, node, CM__V_FILL, n->outputs[1], -1, n->outputs[1]); /* zeros, which are copied into the whole */
    part_copy(d, node, n->outputs[1], n->outputs[0]);
}
