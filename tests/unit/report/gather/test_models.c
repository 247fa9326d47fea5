/* SPDX-License-Identifier: Apache-2.0 */
/* test_models.c - all named models can be built; parameters as torchvision and Hugging Face count them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static double parameters(const char *id)
{
    cm__models_report *r;
    if (cm__models_report_new(id, &r, &diag)) fail_msg("%s", diag.reason);
    assert_true(r->in_full && r->n_models == 1);
    double count = r->models[0].parameters;
    cm__models_report_free(r);
    return count;
}

static void test_one(void **state)
{
    (void)state;
    assert_true(parameters("resnet50") == 25557032);
    assert_true(parameters("vgg16") == 138365992); /* torchvision's vgg16_bn */
    assert_true(parameters("gpt2") == 124439808);
    cm__models_report *r;
    assert_int_equal(cm__models_report_new("resnet5", &r, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "did you mean 'resnet50'?"));
}

static void test_list(void **state)
{
    (void)state;
    cm__models_report *r;
    assert_int_equal(cm__models_report_new(NULL, &r, &diag), CM_OK);
    assert_int_equal(r->n_models, cm_models());
    assert_false(r->in_full);
    for (int32_t i = 0; i < r->n_models; i++)
        if (isnan(r->models[i].parameters)) fail_msg("%s cannot be built", r->models[i].info->id);
    cm__models_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one), cmocka_unit_test(test_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
