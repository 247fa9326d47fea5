/* SPDX-License-Identifier: Apache-2.0 */
/* test_steps.c - devices with the same settings share one step; others share what they can. */
#include "rank_case.h"

#define MODEL "gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100"

static cm__rank_step *step_of(const char *device) { return device_named(device)->step; }

/* The same precision, runtime and library memory. */
TEST(one_step_for_equal_settings)
{
    make_steps(MODEL, "nvidia-h100,nvidia-h100-pcie");
    assert_ptr_equal(step_of("nvidia-h100"), step_of("nvidia-h100-pcie"));
    assert_int_equal(r->n_steps, 1);
    assert_ptr_equal(r->steps[0].first, device_named("nvidia-h100")->device);
}

/* A T4 computes in fp16, an H200 in bf16: two graphs of one model, of which the forward graph is loaded once. */
TEST(another_precision_is_another_step)
{
    make_steps(MODEL, "nvidia-h200,nvidia-t4");
    cm__rank_step *a = step_of("nvidia-h200"), *b = step_of("nvidia-t4");
    assert_ptr_not_equal(a, b);
    assert_int_equal(device_named("nvidia-h200")->entry.precision, CM_PRECISION_AMP_BF16);
    assert_int_equal(device_named("nvidia-t4")->entry.precision, CM_PRECISION_AMP_FP16);
    assert_ptr_not_equal(a->step, b->step);
    assert_ptr_equal(a->forward, b->forward);
    assert_null(b->graph_of);
}

/* Habana's autocast has other lists than a TPU's, with the same runtime, precision and operators. */
TEST(other_lists_are_another_graph)
{
    r->options.load.fuse = CM_FUSE_NORMS;
    r->options.train.precision = CM_PRECISION_AMP_BF16;
    make_steps(MODEL, "habana-gaudi2,google-tpu-v4");
    cm__rank_step *a = step_of("habana-gaudi2"), *b = step_of("google-tpu-v4");
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a->step, b->step);
    assert_int_equal(a->options.runtime, b->options.runtime);
}

/* The library of a runtime reserves another amount on this device: the same graph, with its own footprint. */
TEST(another_library_shares_the_graph)
{
    write_file("mine.json", "{\"schema\": 1, \"id\": \"mine\", \"base\": \"nvidia-h200\", " SOURCES ", \"reserve\": "
               "[{\"runtime\": \"torch-eager\", \"what\": \"library\", \"size\": " NUMBER("123456789", "B") "}]}");
    char names[600];
    snprintf(names, sizeof names, "nvidia-h200,%s", file_named("mine.json"));
    make_steps(MODEL, names);
    cm__rank_step *a = r->devices[0].step, *b = r->devices[1].step;
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(b->graph_of, a);
    assert_ptr_equal(a->step, b->step);
    assert_ptr_equal(cm__rank_owner(b), a);
    assert_ptr_equal(cm__rank_owner(a), a);
    assert_ptr_not_equal(a->like, b->like);
    assert_true(b->library_bytes == 123456789);
}

/* A device that lacks a precision gets the reason, and no step; the others go on. */
TEST(a_device_that_cannot)
{
    r->options.train.precision = CM_PRECISION_FP8;
    make_steps(MODEL, "nvidia-h200,nvidia-v100-16g");
    assert_non_null(step_of("nvidia-h200"));
    assert_null(step_of("nvidia-v100-16g"));
    assert_int_equal(device_named("nvidia-v100-16g")->status, CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(device_named("nvidia-v100-16g")->diag.reason, "fp8"));
}

TEST(no_such_model)
{
    REFUSES(UNKNOWN, "resnet51", make_steps("resnet51", "nvidia-h200,nvidia-t4"));
}

/* Calls are prepared once for all devices of a step; devices that run whole graphs have no calls. */
TEST(calls_are_prepared_once)
{
    make_steps(MODEL, "nvidia-h200,graphcore-bow");
    const cm__common *first = cm__rank_common(r, step_of("nvidia-h200"));
    assert_non_null(first);
    assert_ptr_equal(cm__rank_common(r, step_of("nvidia-h200")), first);
    assert_null(cm__rank_common(r, step_of("graphcore-bow")));
}

/* The layout of images changes calls, not the graph. A model without images has the same calls in both layouts. */
TEST(layouts_share_the_graph)
{
    make_steps("resnet18", "nvidia-a100-40g,amd-mi300x");
    cm__rank_step *a = step_of("nvidia-a100-40g"), *b = step_of("amd-mi300x");
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(a->step, b->step);
    assert_ptr_not_equal(cm__rank_common(r, a), cm__rank_common(r, b));
}

TEST(layouts_share_calls_without_images)
{
    make_steps(MODEL, "nvidia-a100-40g,amd-mi300x");
    cm__rank_step *a = step_of("nvidia-a100-40g"), *b = step_of("amd-mi300x");
    assert_ptr_not_equal(a, b);
    assert_non_null(cm__rank_common(r, a));
    assert_ptr_equal(cm__rank_common(r, a), cm__rank_common(r, b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_for_equal_settings),      cmocka_unit_test(another_precision_is_another_step),
        cmocka_unit_test(other_lists_are_another_graph),    cmocka_unit_test(another_library_shares_the_graph),
        cmocka_unit_test(a_device_that_cannot),             cmocka_unit_test(no_such_model),
        cmocka_unit_test(calls_are_prepared_once),          cmocka_unit_test(layouts_share_the_graph),
        cmocka_unit_test(layouts_share_calls_without_images),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
