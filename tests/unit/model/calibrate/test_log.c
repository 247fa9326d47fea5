/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - a log of measured steps: columns in any order, and every malformed line is refused with its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "model/calibrate/log.h"

static void test_columns(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail_msg("refused");
    const char text[] = "step_time_s,host,model,precision,batch,seq,runtime,optimizer\n"
                        "0.25,a,resnet50,amp-bf16,64,,torch-compile,sgd\n"
                        "1e-3,b,gpt2,fp32,8,512,,\n";
    cm__steps *s = cm__steps_read(ctx, text, sizeof text - 1);
    assert_int_equal(s->n_rows, 2);
    assert_string_equal(s->rows[0].model, "resnet50");
    assert_true(s->rows[0].measured_s == 0.25 && s->rows[0].batch == 64 && s->rows[0].seq == 0);
    assert_int_equal(s->rows[0].runtime, CM_RUNTIME_TORCH_COMPILE);
    assert_int_equal(s->rows[0].optimizer, CM_OPTIMIZER_SGD);
    assert_int_equal(s->rows[0].precision, CM_PRECISION_AMP_BF16);
    assert_true(s->rows[1].measured_s == 1e-3 && s->rows[1].seq == 512 && s->rows[1].line == 3);
    assert_int_equal(s->rows[1].runtime, CM_RUNTIME_DEFAULT);
    cm__ctx_free(ctx);
}

static void refused(const char *text, size_t size, cm_status status, const char *reason)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) {
        assert_int_equal(cm__ctx_abandon(ctx), status);
        if (!strstr(diag.reason, reason)) fail_msg("'%s' does not say '%s'", diag.reason, reason);
        return;
    }
    cm__steps_read(ctx, text, size);
    fail_msg("'%s' is accepted", text);
}

#define HEAD "model,batch,precision,step_time_s,seq,runtime\n"

static void test_malformed(void **state)
{
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"model,batch,precision\nresnet50,1,fp32\n", "no column 'step_time_s'"},
        {HEAD, "no steps"},
        {"", "no column 'model'"},
        {HEAD ",1,fp32,1,,\n", "line 2: no model"},
        {HEAD "a,0,fp32,1,,\n", "line 2: batch"},
        {HEAD "a,1.5,fp32,1,,\n", "line 2: batch"},
        {HEAD "a,1,fp32,1,,\nb,-1,fp32,1,,\n", "line 3: batch"},
        {HEAD "a,1,fp32,0,,\n", "line 2: step_time_s"},
        {HEAD "a,1,fp32,nan,,\n", "line 2: step_time_s"},
        {HEAD "a,1,fp32,1e9,,\n", "line 2: step_time_s"},
        {HEAD "a,1,fp32,1 s,,\n", "line 2: step_time_s"},
        {HEAD "a,1,fp32,1,x,\n", "line 2: seq"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(rows[i].text, strlen(rows[i].text), CM_ERR_FORMAT, rows[i].reason);
    refused(HEAD "a,1,fp31,1,,\n", strlen(HEAD "a,1,fp31,1,,\n"), CM_ERR_UNKNOWN, "line 2: unknown precision");
    refused(HEAD "a,1,fp32,1,,jax\n", strlen(HEAD "a,1,fp32,1,,jax\n"), CM_ERR_UNKNOWN, "line 2: unknown runtime");
}

static void test_too_many(void **state)
{
    static char text[64 + 20 * (CM__STEPS_MAX + 1)];
    size_t      used = (size_t)snprintf(text, sizeof text, HEAD);
    (void)state;
    for (int i = 0; i <= CM__STEPS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "a,1,fp32,1,,\n");
    refused(text, used, CM_ERR_LIMIT, "mean step time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns), cmocka_unit_test(test_malformed),
                                       cmocka_unit_test(test_too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
