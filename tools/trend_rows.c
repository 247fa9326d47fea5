/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend_rows.c - the rows to which tools/fit_trends.py fits a trend: trend_rows CALL prints one line per row of the H200's
 * built-in tables of PyTorch: type, variant, pass, the logarithm of time over roofline time, and the numeric
 * inputs of a trend. The inputs that name type, variant and pass are left out: fit_trends.py adds them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include "device/device.h"
#include "model/time/features.h"
#include "model/time/rows.h"
#include "model/time/trend.h"

#define DEVICE "nvidia-h200"

static void print_row(const cm__kernel_table *t, int32_t row, const cm__limits *limits)
{
    float    inputs[CM__TREND_INPUTS];
    char     variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    cm__call c = cm__call_of_table(t);
    cm__set_row(&c, t, row);
    cm__drop_shape(&c);
    int count = cm__trend_inputs(&c, limits, NULL, inputs);
    printf("%s\t%s\t%s\t%.6g", cm__types_text(t->types, types),
           t->variant ? cm__variant_text(t->variant, variant) : "-", cm__pass_names[t->pass],
           log((double)cm__row_time(t, row) / cm__roofline(limits, &c)));
    for (int i = 0; i < count; i++) printf("\t%.7g", (double)inputs[i]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    cm_device *device = NULL;
    cm_diag    diag = {0};
    if (argc != 2 || cm_device_load(DEVICE, &device, &diag) != CM_OK)
        return fprintf(stderr, "usage: trend_rows CALL; %s\n", diag.reason), 2;
    cm__limits  limits = cm__limits_of(device);
    cm__kernels all = device->built_in_kernels;
    for (int32_t i = 0; i < all.count; i++)
        for (int32_t row = 0; strcmp(cm__call_kinds[all.tables[i].op].name, argv[1]) == 0 &&
                              strcmp(all.tables[i].runtime, "torch-eager") == 0 && row < all.tables[i].n_rows; row++)
            print_row(&all.tables[i], row, &limits);
    cm_device_free(device);
    return 0;
}
