/* SPDX-License-Identifier: Apache-2.0 */
/* test_graphs.c - memory of graphs that a vendor's compiler runs, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

#define LAYERS "llama:layers=4,hidden=256,heads=4,ffn=512,vocab=1000,seq=128"
#define MATRICES (4.0 * (4 * 256 * 256 + 3 * 256 * 512)) /* of all layers */

static double most_of(const cm_step *step, cm_role role, int32_t node)
{
    const cm_footprint *f = cm_step_footprint(step);
    double              sum = 0;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored p = cm_footprint_piece(f, 2, i);
        bool      alive = p.born <= node && p.dies >= node && p.bytes > 1e4;
        if (alive && cm_tensor_role(cm_graph_tensor(cm_step_graph(step), p.tensor)) == role) sum += p.bytes;
    }
    return sum;
}

static int32_t node_of(const cm_step *step, const char *type)
{
    const cm_graph *g = cm_step_graph(step);
    int32_t         last = -1;
    for (int32_t i = 0; i < cm_graph_nodes(g); i++)
        if (!strcmp(cm_node_type(cm_graph_node(g, i)), type)) last = i;
    return last;
}

static cm_step *step_on(const char *id, cm_device **device)
{
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16, .recompute = CM_RECOMPUTE_FULL}};
    cm_step        *step;
    assert_int_equal(cm_device_load(id, device, NULL), CM_OK);
    assert_int_equal(cm_step_new(LAYERS, *device, &o, &step, NULL), CM_OK);
    return step;
}

/* While the loss's gradient is computed there are logits of 128 x 1,000 x 2 samples in 16 bits and in fp32. */
static void test_loss(void **state)
{
    cm_device *device;
    cm_step   *step = step_on("habana-gaudi2", &device);
    (void)state;
    int32_t node = node_of(step, "SoftmaxGrad");
    double  inputs = most_of(step, CM_ROLE_ACTIVATION, node) - 6.0 * 2 * 128 * 1000;
    assert_true(node > 0 && inputs > 0 && inputs < 5 * 2.0 * 2 * 128 * 256 * 2);
    cm_step_free(step);
    cm_device_free(device);
}

/* In a loop over layers, all casts and gradients of layers exist from the start of backward. */
static void test_loop(void **state)
{
    cm_device *device;
    cm_step   *step = step_on("google-tpu-v6e", &device);
    (void)state;
    int32_t node = node_of(step, "SoftmaxGrad");
    assert_true(most_of(step, CM_ROLE_CAST, node) >= 2 * MATRICES);
    node = node_of(step, "AttentionGrad");
    assert_true(most_of(step, CM_ROLE_PARAMETER_GRADIENT, node) == 4 * MATRICES);
    cm_step_free(step);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loss), cmocka_unit_test(test_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
