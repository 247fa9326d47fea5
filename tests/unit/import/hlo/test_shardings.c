/* SPDX-License-Identifier: Apache-2.0 */
/* test_shardings.c - shardings of a step's arguments become the degrees of a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/ctx.h"
#include "graph/graph.h"
#include "import/import.h"

/* A linear layer whose weights, momentum and samples have these attributes. */
#define STEP                                                                                                           \
    "module @step {\n  %s\n  func.func public @main(%%w: tensor<8x4xf32> {%s}, %%m: tensor<8x4xf32> {%s}, %%x: tensor<16x8xf32> {%s}) "       \
    "-> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) {\n"                                                           \
    "    %%p = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>\n%s" \
    "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"                                                       \
    "    %%loss = stablehlo.reduce(%%p init: %%zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<f32>\n" \
    "    %%one = stablehlo.constant dense<1.0> : tensor<f32>\n"                                                        \
    "    %%g = stablehlo.broadcast_in_dim %%one, dims = [] : (tensor<f32>) -> tensor<16x4xf32>\n"                       \
    "    %%d = stablehlo.dot_general %%x, %%g, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>\n" \
    "    %%k = stablehlo.add %%m, %%d : tensor<8x4xf32>\n"                                                             \
    "    %%new = stablehlo.subtract %%w, %%k : tensor<8x4xf32>\n"                                                      \
    "    return %%new, %%k, %%loss : tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>\n  }\n}\n"

#define TILES(text) "mhlo.sharding = \"{" text "}\""
#define AXES(text)  "sdy.sharding = #sdy.sharding<@mesh, [" text "]>"
#define MESH        "sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>"

static cm_plan plan_with(const char *mesh, const char *weights, const char *states, const char *samples, const char *constraint)
{
    char     text[4096];
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    int      size = snprintf(text, sizeof text, STEP, mesh, weights, states, samples, constraint);
    assert_true(ctx && size > 0 && (size_t)size < sizeof text);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_plan plan = cm__import_hlo_origin(ctx, text, (size_t)size).plan;
    cm__ctx_free(ctx);
    return plan;
}

static cm_plan plan_of(const char *mesh, const char *weights, const char *states, const char *samples)
{
    return plan_with(mesh, weights, states, samples, "");
}

static void expect(cm_plan p, int devices, int tp, int dp, int zero)
{
    assert_int_equal(p.devices, devices);
    if (!devices) return;
    assert_int_equal(p.tp, tp);
    assert_int_equal(p.dp, dp);
    assert_int_equal(p.zero, zero);
}

static void test_named(void **state)
{
    (void)state;
    expect(plan_of(MESH, AXES("{\"data\"}, {\"model\"}"), AXES("{\"data\"}, {\"model\"}"), AXES("{\"data\"}, {}")), 8, 2, 4, 3);
    expect(plan_of(MESH, AXES("{}, {\"model\"}"), AXES("{}, {\"model\"}"), AXES("{\"data\"}, {}")), 8, 2, 4, 0);
    expect(plan_of(MESH, AXES("{}, {}"), AXES("{\"data\"}, {}"), AXES("{\"data\"}, {}")), 4, 1, 4, 1);
    cm_plan p = plan_of("sdy.mesh @mesh = <[\"data\"=4, \"expert\"=2]>", AXES("{\"expert\"}, {}"), AXES("{\"expert\"}, {}"), AXES("{\"data\"}, {}"));
    assert_int_equal(p.ep, 2);
}

/* The same by numbers of devices: in their order, transposed, and with a part that is copied. */
static void test_tiles(void **state)
{
    (void)state;
    const char *samples = TILES("devices=[4,1,2]<=[8] last_tile_dim_replicate");
    expect(plan_of("", TILES("devices=[4,2]<=[8]"), TILES("devices=[4,2]<=[8]"), samples), 8, 2, 4, 3);
    expect(plan_of("", TILES("devices=[2,4]<=[4,2]T(1,0)"), TILES("devices=[2,4]<=[4,2]T(1,0)"), samples), 8, 2, 4, 3);
    expect(plan_of("", TILES("devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate"), TILES("replicated"), samples), 8, 2, 4, 0);
    expect(plan_of("", TILES("replicated"), TILES("replicated"), TILES("devices=[8,1]<=[8]")), 8, 1, 8, 0);
    expect(plan_of("", "", "", ""), 0, 0, 0, 0);
}

/* A constraint of activations counts where no samples are divided. */
static void test_constraints(void **state)
{
    (void)state;
    const char *by_name = "    %q = sdy.sharding_constraint %p <@mesh, [{\"data\"}, {\"model\"}]> : tensor<16x4xf32>\n";
    const char *by_tiles = "    %q = stablehlo.custom_call @Sharding(%p) {mhlo.sharding = \"{devices=[8,1]<=[8]}\"} : (tensor<16x4xf32>) -> tensor<16x4xf32>\n";
    expect(plan_with(MESH, "", "", "", by_name), 4, 1, 4, 0);
    expect(plan_with(MESH, AXES("{}, {\"model\"}"), "", "", by_name), 8, 2, 4, 0);
    expect(plan_with(MESH, "", "", AXES("{\"model\"}, {}"), by_name), 2, 1, 2, 0);
    expect(plan_with("", "", "", "", by_tiles), 8, 1, 8, 0);
}

/* Text from outside that is no sharding. */
static void test_others(void **state)
{
    (void)state;
    static const char *const texts[] = {"devices=[", "devices=[0,0]<=[0]", "devices=[2,1]0,1", "devices=[3,1]<=[4]", "devices=[2,1]<=[2]T(7)",
                                        "devices=[9999999,9999999]<=[9999999,9999999]", "maximal device=0", "manual"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char of[128];
        snprintf(of, sizeof of, TILES("%s"), texts[i]);
        expect(plan_of("", of, of, of), 0, 0, 0, 0);
    }
    expect(plan_of("sdy.mesh @mesh = <[\"data\"=99999999, \"model\"]>", AXES("{\"data\"}, {\"a\"}"), "", AXES("{\"a\"}, {}")), 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_named), cmocka_unit_test(test_tiles), cmocka_unit_test(test_constraints),
                                       cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
