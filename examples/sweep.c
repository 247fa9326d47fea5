/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - MODEL DEVICE: throughput and memory at every power of two that fits; one step, many batch sizes. */
#include <centimani.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    cm_device         *device = NULL;
    cm_step           *step = NULL;
    cm_memory_use      use;
    cm_prediction_info info;
    cm_diag            diag = {0};
    char               text[1200];
    if (argc != 3) return fprintf(stderr, "usage: %s MODEL DEVICE\n", argv[0]), 2;
    int status = cm_device_load(argv[2], &device, &diag);
    if (!status) status = cm_step_new(argv[1], device, NULL, &step, &diag);
    for (int64_t batch = 1; !status && batch <= 65536; batch *= 2) {
        status = cm_step_memory(step, batch, &use, &diag);
        if (status || !use.fits) break;
        status = cm_step_time(step, batch, &info, &diag);
        if (!status)
            printf("%6lld samples  %8.2f ms  %8.0f samples/s  %7.2f GB\n", (long long)batch, 1e3 * info.step_time_s,
                   info.throughput_samples_s, use.peak_bytes / 1e9);
    }
    if (status) fprintf(stderr, "%s\n", cm_diag_text(&diag, text, sizeof text));
    cm_step_free(step);
    cm_device_free(device);
    return status != 0;
}
