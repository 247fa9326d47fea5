/* SPDX-License-Identifier: Apache-2.0 */
/* test_strides_ops.c - strides of operators' outputs, by PyTorch's rules (batch size 7): operators keep the order of
   dimensions of their inputs, and products write rows. */
#include "graph/strides.h"
#include "graph_builder.h"

static cm__strides *placed_in(const cm_graph *graph, bool channels_last)
{
    cm__strides *s = cm__strides_new(ctx, graph, channels_last);
    for (int32_t i = 0; i < graph->n_nodes; i++) cm__strides_place(s, i);
    return s;
}

static cm__strides *placed(bool channels_last) { return placed_in(g, channels_last); }

static void lies(cm__strides *s, int32_t tensor, int32_t rank, const int64_t *want)
{
    const int64_t *is = cm__strides_of(s, tensor);
    for (int i = 0; i < rank; i++) assert_int_equal(is[i], want[i]);
}

#define LIES(s, tensor, ...)                                                                                           \
    lies(s, tensor, (int32_t)COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

static int32_t image(void) { return op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3"))); } /* [B, 6, 6, 6] */
static int32_t turned(int32_t x) { return OP(TRANSPOSE, IN(x), INTS(PERM, 0, 2, 1, 3)); }

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

/* A turned matrix plus a contiguous one: the first operand decides. One row, spread, decides nothing. */
TEST(the_first_operand_decides)
{
    int32_t rows = op(CM_OP_TANH, IN(input("5,9")));
    int32_t columns = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("9,5")))), INTS(PERM, 1, 0));
    int32_t a = op(CM_OP_ADD, IN(rows, columns)), b = op(CM_OP_ADD, IN(columns, rows));
    int32_t c = op(CM_OP_ADD, IN(input("1,9"), columns)), d = op(CM_OP_ADD, IN(input("9"), columns));
    cm__strides *s = placed(false);
    LIES(s, columns, 1, 5);
    LIES(s, a, 9, 1);
    LIES(s, b, 1, 5);
    LIES(s, c, 1, 5);
    LIES(s, d, 1, 5);
}

static cm__strides *compiled(bool relaid)
{
    cm__strides *s = cm__strides_new(ctx, g, false);
    s->compiled = true;
    s->relaid = relaid;
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(s, i);
    return s;
}

/* torch.compile counts operands: two against one decide, and without a majority the result is contiguous. */
TEST(compiled_operands_vote)
{
    int32_t rows = op(CM_OP_TANH, IN(input("5,9")));
    int32_t columns = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("9,5")))), INTS(PERM, 1, 0));
    int32_t tie = op(CM_OP_ADD, IN(columns, rows)), all = op(CM_OP_ADD, IN(input("9"), columns));
    int32_t most = op(CM_OP_WHERE, IN(columns, rows, columns));
    cm__strides *s = compiled(false);
    LIES(s, tie, 9, 1);
    LIES(s, all, 1, 5);
    LIES(s, most, 1, 5);
}

/* A generated kernel normalises rows that lie apart, where a library's writes contiguous ones. */
TEST(compiled_norms_keep_the_order)
{
    int32_t columns = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("9,5")))), INTS(PERM, 1, 0));
    int32_t y = op(CM_OP_SOFTMAX, IN(columns));
    LIES(compiled(false), y, 1, 5);
    LIES(placed(false), y, 9, 1);
}

/* Channels first, and a compiler that converts the images of convolutions. */
TEST(compiled_images_are_converted)
{
    int32_t x = image();
    LIES(compiled(true), x, 216, 1, 36, 6);
    LIES(compiled(false), x, 216, 36, 6, 1);
}

/* A norm over the channels of an image in rows, then a convolution. Generated code would keep the order of the image; it
   writes what the convolution reads as eager PyTorch does, which is channels-last. */
TEST(compiled_convolutions_read_what_eager_ones_do)
{
    int32_t normed = op(CM_OP_SOFTMAX, IN(OP(TRANSPOSE, IN(image()), INTS(PERM, 0, 2, 3, 1))));
    int32_t x = OP(TRANSPOSE, IN(normed), INTS(PERM, 0, 3, 1, 2));
    int32_t y = op(CM_OP_CONV, IN(x, weight("v", "5,6,3,3"))); /* [B, 5, 4, 4] */
    LIES(compiled(false), y, 80, 16, 4, 1);
    cm__strides *s = cm__strides_new(ctx, g, false);
    s->compiled = true;
    cm__strides_want(s, placed(false));
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(s, i);
    LIES(s, normed, 216, 36, 6, 1);
    LIES(s, x, 216, 1, 36, 6);
    LIES(s, y, 80, 1, 20, 5);
}

/* Tensors that backward reads, the compiled forward pass returns to autograd, with the strides of eager PyTorch: a
   softmax of columns lies in rows. What forward alone reads keeps the order of generated code. */
TEST(compiled_code_stores_what_eager_code_would)
{
    int32_t columns = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("9,5")))), INTS(PERM, 1, 0));
    int32_t stored = op(CM_OP_SOFTMAX, IN(columns)), passed = op(CM_OP_SOFTMAX, IN(columns));
    op(CM_OP_TANH, IN(passed));
    g->phase = CM_BACKWARD;
    op(CM_OP_TANH, IN(stored));
    g->phase = CM_FORWARD;
    cm__strides *s = cm__strides_new(ctx, g, false);
    s->compiled = true;
    cm__strides_want(s, placed(false));
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(s, i);
    LIES(s, stored, 9, 1);
    LIES(s, passed, 1, 5);
}

/* A scalar and one number per channel do not change an image's layout. */
TEST(images_stay_images)
{
    int32_t x = image(), scale = weight("s", "6,1,1");
    int32_t y = op(CM_OP_MUL, IN(x, scale)), z = op(CM_OP_ADD, IN(number(1), y));
    LIES(placed(true), y, 216, 1, 36, 6);
    LIES(placed(true), z, 216, 1, 36, 6);
    LIES(placed(false), z, 216, 36, 6, 1);
}

/* Three dimensions, turned around: [2, 3, 4] of memory 4, 3, 2 keeps that order through any number of functions. */
TEST(any_order_is_kept)
{
    int32_t x = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("4,3,2")))), INTS(PERM, 2, 1, 0));
    int32_t y = op(CM_OP_RELU, IN(op(CM_OP_EXP, IN(x))));
    LIES(placed(false), x, 1, 2, 6);
    LIES(placed(false), y, 1, 2, 6);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

TEST(norms_and_pools_keep_the_order)
{
    int32_t x = image(), v[4];
    for (int i = 0; i < 4; i++) v[i] = weight("v", "6");
    int32_t n = op(CM_OP_BATCH_NORM, IN(x, v[0], v[1], v[2], v[3]));
    int32_t p = OP(MAX_POOL, IN(n), INTS(KERNEL_SHAPE, 2, 2), INTS(STRIDES, 2, 2));
    int32_t r = op(CM_OP_RESIZE, IN(p, -1, reals(4, (double[]){1, 1, 2, 2})));
    LIES(placed(true), n, 216, 1, 36, 6);
    LIES(placed(true), p, 54, 1, 18, 6);
    LIES(placed(true), r, 216, 1, 36, 6);
    LIES(placed(false), p, 54, 9, 3, 1);
}

static cm__strides *traced(void)
{
    cm__strides *s = cm__strides_new(ctx, g, false);
    s->traced = true;
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(s, i);
    return s;
}

/* torch.compile brings resized planes with enough channels back into the order of the image, but no volumes. */
TEST(decomposed_resizes_write_rows)
{
    int32_t volume = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("B,3,3,3,5")))), INTS(PERM, 0, 4, 1, 2, 3));
    int32_t five = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("B,3,3,5")))), INTS(PERM, 0, 3, 1, 2));
    int32_t three = OP(TRANSPOSE, IN(op(CM_OP_TANH, IN(input("B,3,3,3")))), INTS(PERM, 0, 3, 1, 2));
    int32_t to3 = reals(5, (double[]){1, 1, 2, 2, 2}), to2 = reals(4, (double[]){1, 1, 2, 2});
    int32_t v = op(CM_OP_RESIZE, IN(volume, -1, to3)), p = op(CM_OP_RESIZE, IN(five, -1, to2));
    int32_t few = op(CM_OP_RESIZE, IN(three, -1, to2));
    int32_t linear = OP(RESIZE, IN(five, -1, to2), INTS(MODE, CM__MODE_LINEAR));
    LIES(placed(false), v, 1080, 1, 180, 30, 5);
    LIES(placed(false), few, 108, 1, 18, 3);
    LIES(traced(), v, 1080, 216, 36, 6, 1);
    LIES(traced(), p, 180, 1, 30, 5);
    LIES(traced(), few, 108, 36, 6, 1);
    LIES(traced(), linear, 180, 36, 6, 1);
}

/* A channels-last weight is enough: the image was in rows. */
TEST(a_weight_turns_the_result)
{
    int32_t rows = op(CM_OP_SOFTMAX, IN(image())), y = op(CM_OP_CONV, IN(rows, weight("w", "5,6,3,3")));
    LIES(placed(true), rows, 216, 36, 6, 1);
    LIES(placed(true), y, 80, 1, 20, 5); /* [B, 5, 4, 4] */
    LIES(placed(false), y, 80, 16, 4, 1);
}

/* Signals and volumes are no images: their convolutions write rows. */
TEST(only_two_dimensions_are_images)
{
    int32_t y = op(CM_OP_CONV, IN(input("B,3,8"), weight("w", "6,3,3")));
    int32_t z = op(CM_OP_CONV, IN(input("B,3,4,4,4"), weight("w", "6,3,3,3,3")));
    cm__strides *s = placed(true);
    LIES(s, y, 36, 6, 1);
    LIES(s, z, 48, 8, 4, 2, 1);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

TEST(products_write_rows)
{
    int32_t x = turned(op(CM_OP_TANH, IN(input("B,10,8,6")))); /* [B, 8, 10, 6] */
    int32_t y = op(CM_OP_MATMUL, IN(x, weight("w", "6,4"))), z = op(CM_OP_SOFTMAX, IN(x));
    LIES(placed(false), x, 480, 6, 48, 1);
    LIES(placed(false), y, 320, 40, 4, 1);
    LIES(placed(false), z, 480, 60, 6, 1);
}

/* [B, heads, S, d] is written as [B, S, heads, d]. */
TEST(attention_writes_heads_inside)
{
    int32_t q = input("B,8,10,6"), k = input("B,8,12,6"), v = input("B,8,12,6");
    int32_t y = op(CM_OP_ATTENTION, IN(q, k, v));
    SHAPE_IS(y, "[B, 8, 10, 6]");
    LIES(placed(false), y, 480, 6, 48, 1);
    assert_true(cm__strides_in_rows(placed(false), turned(y))); /* so the next layer reads rows without a copy */
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* The gradients that enter a channels-last convolution, norm or activation are channels-last too. */
TEST(gradients_lie_as_their_tensors)
{
    int32_t x = as("conv", image()), v[4];
    for (int i = 0; i < 4; i++) v[i] = weight("v", "6");
    int32_t n = as("norm", op(CM_OP_BATCH_NORM, IN(x, v[0], v[1], v[2], v[3]))), r = as("relu", op(CM_OP_RELU, IN(n)));
    train(op(CM_OP_GEMM, IN(op(CM_OP_FLATTEN, IN(op(CM_OP_GLOBAL_AVERAGE_POOL, IN(r)))), weight("head", "6,10"))));
    cm__strides *s = placed_in(step, true);
    int32_t      found = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node   *b = &step->nodes[i];
        const cm_tensor *t = b->n_outputs ? cm__t(step, b->outputs[0]) : NULL;
        bool             image_like = t && t->rank == 4 && cm__dim_is(t->dims[2], 6);
        if (b->phase != CM_BACKWARD || !image_like || strcmp(b->name, "conv") == 0) continue;
        if (strcmp(b->name, "norm") == 0 || strcmp(b->name, "relu") == 0) {
            LIES(s, b->outputs[0], 216, 1, 36, 6);
            found++;
        }
    }
    assert_true(found >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_operand_decides),      cmocka_unit_test(images_stay_images),
        cmocka_unit_test(any_order_is_kept),              cmocka_unit_test(norms_and_pools_keep_the_order),
        cmocka_unit_test(a_weight_turns_the_result),      cmocka_unit_test(only_two_dimensions_are_images),
        cmocka_unit_test(products_write_rows),            cmocka_unit_test(attention_writes_heads_inside),
        cmocka_unit_test(gradients_lie_as_their_tensors), cmocka_unit_test(compiled_operands_vote),
        cmocka_unit_test(compiled_norms_keep_the_order),  cmocka_unit_test(compiled_images_are_converted),
        cmocka_unit_test(compiled_convolutions_read_what_eager_ones_do),
        cmocka_unit_test(compiled_code_stores_what_eager_code_would), cmocka_unit_test(decomposed_resizes_write_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
