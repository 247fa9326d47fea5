/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_calls.c - times of kernel calls of a training step of PyTorch on the H200. Reads one call per line and prints it with its
 * seconds, separated by a tab; nan: no call. tools/census.py builds and runs it.
 */
#include <stdio.h>
#include <string.h>
#include "device/device.h"
#include "model/time/timer.h"

int main(void)
{
    cm_device *device = NULL;
    cm_diag    diag = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (!ctx || cm_device_load("nvidia-h200", &device, &diag) != CM_OK) {
        fprintf(stderr, "time_calls: %s\n", diag.reason);
        return 2;
    }
    cm__timer *timer = cm__timer_new(ctx, device, NULL, CM_RUNTIME_TORCH_EAGER, NULL);
    cm__timer_trains(timer, true);
    for (char line[1024]; fgets(line, sizeof line, stdin);) {
        cm__call call;
        line[strcspn(line, "\n")] = 0;
        if (cm__call_parse(line, &call)) printf("%s\t%g\n", line, cm__timer_time(timer, &call).time_s);
        else printf("%s\tnan\n", line);
    }
    cm_device_free(device);
    cm__ctx_free(ctx);
    return 0;
}
