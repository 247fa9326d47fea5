/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_norms.c - the exchange of batch norms' statistics between replicas. */
#include "plan_case.h"
#include "model/parallel/comm.h"
#include "model/parallel/shared_norms.h"

/* ResNet-18 has 20 batch norms, five each of 64, 128, 256 and 512 channels. Each exchanges two fp32 numbers per channel
   in forward and in backward. */
static void each_batch_norm_is_exchanged_twice(void **state)
{
    (void)state;
    static const struct { double norms, channels; } of[] = {{5, 64}, {5, 128}, {5, 256}, {5, 512}};
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("graphcore-gc200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("resnet18", CM_RECOMPUTE_NONE);
    double    sum = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sum += 2 * of[i].norms * cm__comm_time(f, CM__ALL_REDUCE, (cm__group){2, 2}, 8 * of[i].channels);
    is(cm__shared_norms_s(step, f, 2, 2), sum);
    is(cm__shared_norms_s(step, f, 2, 16), sum); /* a node has more devices than the group */
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void layer_norms_are_not_exchanged(void **state)
{
    (void)state;
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("graphcore-gc200", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("bert:layers=2,hidden=64,heads=2,seq=8,vocab=16", CM_RECOMPUTE_NONE);
    is(cm__shared_norms_s(step, f, 2, 2), 0);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_batch_norm_is_exchanged_twice),
        cmocka_unit_test(layer_norms_are_not_exchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
