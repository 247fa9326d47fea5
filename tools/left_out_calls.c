/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out_calls.c - how well the other rows of the H200's tables of PyTorch predict each row: prints the call, its measured time
 * and the time interpolated without it, separated by tabs (tools/thin_tables.py).
 */
#include <stdio.h>
#include "device/device.h"
#include "model/time/timer.h"

static void print_call(void *user, const cm__kernel_table *table, const cm__call *call, double measured_s,
                       double predicted_s)
{
    char text[1024];
    (void)user;
    (void)table;
    printf("%s\t%g\t%g\n", cm__call_text(call, text, sizeof text), measured_s, predicted_s);
}

int main(void)
{
    cm_device *device = NULL;
    cm_diag    diag = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (!ctx || cm_device_load("nvidia-h200", &device, &diag) != CM_OK) return fprintf(stderr, "%s\n", diag.reason), 2;
    cm__timer_cross_validate(cm__timer_new(ctx, device, NULL, CM_RUNTIME_TORCH_EAGER, NULL), print_call, NULL);
    cm_device_free(device);
    return 0;
}
