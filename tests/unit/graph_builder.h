/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_builder.h - build small graphs for the tests of src/graph, and query them.
 *
 *     TEST(a_convolution_halves_an_image)
 *     {
 *         int32_t y = OP(CONV, IN(input("B,3,8,8"), weight("w", "6,3,2,2")), INTS(STRIDES, 2, 2));
 *         SHAPE_IS(y, "[B, 6, 4, 4]");
 *         REFUSES(FORMAT, "inner dimensions differ", op(CM_OP_MATMUL, IN(y, y)));
 *     }
 *
 * Every test has its own context, graph `g` and error trap. An error outside REFUSES() fails the test.
 */
#ifndef CM_TESTS_GRAPH_BUILDER_H
#define CM_TESTS_GRAPH_BUILDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "graph/rule.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cm_diag   diag;
static cm__ctx  *ctx;
static cm_graph *g;
static cm_graph *step; /* the training step of g, after train() */

static inline void begin_test(void)
{
    ctx = cm__ctx_new(&diag);
    g = cm__graph_new(ctx, "test", "test");
    step = NULL;
}

static inline void end_test(void)
{
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Start a new graph within a test, for its next case. */
static inline void start_over(void)
{
    jmp_buf trap;
    memcpy(&trap, &ctx->trap, sizeof trap);
    end_test();
    begin_test();
    memcpy(&ctx->trap, &trap, sizeof trap);
}

#define TEST(name)                                                                                                     \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        begin_test();                                                                                                  \
        if (setjmp(ctx->trap)) fail_msg("refused: %s: %s", diag.place, diag.reason);                                   \
        name##_body();                                                                                                 \
        end_test();                                                                                                    \
    }                                                                                                                  \
    static void name##_body(void)

static inline void check_refusal(cm_status status, const char *reason, const char *what)
{
    if (ctx->status != status || !strstr(diag.reason, reason))
        fail_msg("%s: refused with '%s' (%s)", what, diag.reason, cm_status_text(ctx->status));
}

/* `expression` must fail with this status and a reason that contains this text. */
#define REFUSES(status_, reason_, expression)                                                                          \
    do {                                                                                                               \
        jmp_buf outer;                                                                                                 \
        memcpy(&outer, &ctx->trap, sizeof outer);                                                                      \
        if (setjmp(ctx->trap) == 0) {                                                                                  \
            (void)(expression);                                                                                        \
            fail_msg("not refused: %s", #expression);                                                                  \
        }                                                                                                              \
        memcpy(&ctx->trap, &outer, sizeof outer);                                                                      \
        check_refusal(CM_ERR_##status_, reason_, #expression);                                                         \
    } while (0)

/* ---- building --------------------------------------------------------------------------------------------------- */

/* Parse dimensions such as "B,3,2B+1"; return their number. */
static inline int32_t dims_of(const char *text, cm_dim *dims)
{
    int32_t rank = 0;
    while (*text) {
        char   *end;
        cm_dim  d = {0, strtoll(text, &end, 10)};
        int64_t digits = end - text;
        if (*end == 'B') {
            d = (cm_dim){digits ? d.fixed : 1, 0};
            end++;
            if (*end == '+' || *end == '-') d.fixed = strtoll(end, &end, 10);
        } else if (!digits) {
            fail_msg("'%s' is no dimension", text);
        }
        dims[rank++] = d;
        text = *end == ',' ? end + 1 : end;
    }
    return rank;
}

static inline int32_t leaf(const char *name, cm_role role, cm_dtype dtype, const char *shape)
{
    cm_dim  dims[CM__RANK_MAX + 1] = {{0, 0}};
    int32_t rank = dims_of(shape, dims);
    return cm__leaf(g, name, role, dtype, rank, dims);
}

static inline int32_t input(const char *shape) { return leaf("x", CM_ROLE_INPUT, CM_FP32, shape); }
static inline int32_t typed(cm_dtype dtype, const char *shape) { return leaf("t", CM_ROLE_INPUT, dtype, shape); }
static inline int32_t weight(const char *name, const char *shape)
{
    return leaf(name, CM_ROLE_PARAMETER, CM_FP32, shape);
}
static inline int32_t number(double value) { return cm__constant_scalar(g, "number", CM_FP32, value); }
static inline int32_t integer(int64_t value) { return cm__constant_scalar(g, "integer", CM_INT64, (double)value); }

/* A vector of known integers "B,3,4". */
static inline int32_t known(const char *text)
{
    cm_dim   dims[CM__RANK_MAX + 1], length;
    int32_t  count = dims_of(text, dims);
    cm__num *value = cm__alloc_array(ctx, (size_t)count, sizeof *value);
    for (int32_t i = 0; i < count; i++) value[i].i = dims[i];
    length = cm__fixed(count);
    int32_t t = cm__leaf(g, "known", CM_ROLE_CONSTANT, CM_INT64, 1, &length);
    cm__t(g, t)->value = value;
    return t;
}

/* A vector of known reals. */
static inline int32_t reals(int32_t count, const double *values)
{
    cm__num *value = cm__alloc_array(ctx, (size_t)count, sizeof *value);
    cm_dim   length = cm__fixed(count);
    for (int32_t i = 0; i < count; i++) value[i].f = values[i];
    int32_t t = cm__leaf(g, "reals", CM_ROLE_CONSTANT, CM_FP32, 1, &length);
    cm__t(g, t)->value = value;
    return t;
}

#define IN(...) (int32_t[]){__VA_ARGS__}, (int32_t)COUNT(((int32_t[]){__VA_ARGS__}))
#define NO_INPUTS NULL, 0
#define INTS(key, ...) CM__INTS(CM_ATTR_##key, __VA_ARGS__)
#define REAL(key, value) CM__REAL(CM_ATTR_##key, value)
#define KNOWN(...) cm__constant_ints(g, "known", (int32_t)COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

static inline int32_t op(int code, const int32_t *inputs, int32_t count)
{
    return cm__emit(g, code, NULL, inputs, count, NULL, 0);
}

/* The same with attributes and several outputs. */
#define OP(code, in, ...)                                                                                              \
    cm__emit(g, CM_OP_##code, NULL, in, (cm__attr[]){__VA_ARGS__}, (int32_t)COUNT(((cm__attr[]){__VA_ARGS__})))
#define OUTPUTS(count, code, in, ...)                                                                                  \
    cm__emit_node(g, CM_OP_##code, NULL, in, (cm__attr[]){__VA_ARGS__}, (int32_t)COUNT(((cm__attr[]){__VA_ARGS__})),   \
                  count)

/* Name a tensor and the node that computes it, so that tests can find them. */
static inline int32_t as(const char *name, int32_t tensor)
{
    cm__t(g, tensor)->name = name;
    if (cm__t(g, tensor)->producer >= 0) g->nodes[cm__t(g, tensor)->producer].name = name;
    return tensor;
}

/* ---- training --------------------------------------------------------------------------------------------------- */

/* Build the training step of g with `output` as its output, without fusion. */
static inline void train_with(int32_t output, cm_train_options options)
{
    cm_status status;
    if (output >= 0) cm__output(g, output);
    cm__finish(g, CM_FUSE_NONE);
    status = cm_graph_train(g, &options, &step, &diag);
    if (status != CM_OK) fail_msg("training: %s: %s", diag.place, diag.reason);
}

/* In fp32, with plain gradient descent; the output's shape selects the loss. */
static inline void train(int32_t output)
{
    train_with(output, (cm_train_options){.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD});
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

#define SHAPE_IS(tensor, text) assert_string_equal(cm__dims_text(g, cm__t(g, tensor)), text)

/* A tensor's known integers as "B,3,4", in memory order. */
static inline void value_is(int32_t tensor, const char *text)
{
    cm_dim           dims[64];
    int32_t          count = dims_of(text, dims);
    const cm_tensor *t = cm__t(g, tensor);
    assert_int_equal(cm__small_count(t), count);
    if (count) assert_non_null(t->value);
    for (int32_t i = 0; i < count; i++)
        if (!cm__dim_same(t->value[i].i, dims[i]))
            fail_msg("element %d is %lld B + %lld, not as in %s", i, (long long)t->value[i].i.per_batch,
                     (long long)t->value[i].i.fixed, text);
}

static inline bool is_known(int32_t tensor) { return cm__t(g, tensor)->value != NULL; }

/* A polynomial of the batch size, constant term first. */
static inline void poly_is(cm_poly p, double c0, double c1, double c2)
{
    const double want[CM_POLY_TERMS] = {c0, c1, c2, 0};
    for (int i = 0; i < CM_POLY_TERMS; i++)
        if (p.c[i] != want[i])
            fail_msg("%g + %g B + %g B^2, not %g + %g B + %g B^2", p.c[0], p.c[1], p.c[2], c0, c1, c2);
}

static inline int32_t count_type(const cm_graph *graph, const char *type)
{
    int32_t count = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) count += strcmp(cm_node_type(&graph->nodes[i]), type) == 0;
    return count;
}

static inline int32_t count_phase(const cm_graph *graph, cm_phase phase)
{
    int32_t count = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) count += graph->nodes[i].phase == phase;
    return count;
}

/* The first node of a type; fails the test if there is none. */
static inline const cm_node *find_node(const cm_graph *graph, const char *type)
{
    for (int32_t i = 0; i < graph->n_nodes; i++)
        if (strcmp(cm_node_type(&graph->nodes[i]), type) == 0) return &graph->nodes[i];
    fail_msg("no node of type %s", type);
    return NULL;
}

/* The backward node of a type that was derived from the forward node of this name. */
static inline const cm_node *find_back(const char *name, const char *type)
{
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->phase == CM_BACKWARD && strcmp(n->name, name) == 0 && strcmp(cm_node_type(n), type) == 0) return n;
    }
    fail_msg("backward of '%s' has no %s", name, type);
    return NULL;
}

/* The first tensor with this name: the forward one, if a gradient has the same name. */
static inline int32_t find_tensor(const cm_graph *graph, const char *name)
{
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (strcmp(graph->tensors[t].name, name) == 0) return t;
    fail_msg("no tensor '%s'", name);
    return -1;
}

static inline bool reads(const cm_node *n, int32_t tensor)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] == tensor) return true;
    return false;
}

static inline bool reads_name(const cm_node *n, const char *name) { return reads(n, find_tensor(step, name)); }

/* Does the backward pass use a forward tensor? Not for inputs and outputs of the step, which always stay in memory. */
static inline bool is_kept(const char *name)
{
    const cm_tensor *t = cm__t(step, find_tensor(step, name));
    return t->dies < step->n_nodes && step->nodes[t->dies].phase != CM_FORWARD;
}

/* The gradient that updates a parameter; -1: the parameter is not updated. */
static inline int32_t gradient_for(const char *name)
{
    const cm_node *update = count_type(step, "Update") ? find_node(step, "Update") : NULL;
    int32_t        parameter = find_tensor(step, name);
    for (int32_t i = 0; update && i + 1 < update->n_inputs; i++)
        if (update->inputs[i] == parameter) return update->inputs[i + 1];
    return -1;
}

/* The type of the node that computes a parameter's gradient. */
static inline const char *gradient_made_by(const char *name)
{
    int32_t gradient = gradient_for(name);
    if (gradient < 0) fail_msg("'%s' has no gradient", name);
    return cm_node_type(&step->nodes[cm__t(step, gradient)->producer]);
}

#endif
