/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.c - MODEL DEVICE: how long a training step takes, whether it fits, and what limits it.
 *
 *     cc predict.c $(pkg-config --cflags --libs centimani) -o predict && ./predict resnet50 nvidia-h200
 */
#include <centimani.h>
#include <stdio.h>

static int fail(const char *what, const cm_diag *diag)
{
    char text[1200];
    fprintf(stderr, "%s: %s\n", what, cm_diag_text(diag, text, sizeof text));
    return 1;
}

static void print(const cm_step *step, const cm_prediction_info *p, const cm_memory_use *memory)
{
    printf("%s, batch %lld, %s, %s\n", cm_graph_name(cm_step_graph(step)), (long long)p->batch,
           cm_precision_name(cm_graph_precision(cm_step_graph(step))), cm_runtime_name(p->runtime));
    printf("step       %.2f ms, 90 %% interval %.2f to %.2f ms\n", 1e3 * p->step_time_s, 1e3 * p->interval_s[0],
           1e3 * p->interval_s[1]);
    printf("throughput %.0f samples/s\n", p->throughput_samples_s);
    printf("memory     %.2f GB, %s\n", memory->peak_bytes / 1e9, memory->fits ? "fits" : "does not fit");
}

int main(int argc, char **argv)
{
    cm_device     *device;
    cm_step       *step;
    cm_prediction *prediction;
    cm_memory_use  memory;
    cm_diag        diag = {0};
    int64_t        batch;
    if (argc != 3) return fprintf(stderr, "usage: %s MODEL DEVICE\n", argv[0]), 2;
    if (cm_device_load(argv[2], &device, &diag)) return fail(argv[2], &diag);
    if (cm_step_new(argv[1], device, NULL, &step, &diag)) return cm_device_free(device), fail(argv[1], &diag);
    int status = cm_step_usual_batch(step, &batch, &diag);
    if (!status && batch == 0) batch = 1; /* not even one sample fits: say how much it lacks */
    if (!status) status = cm_step_memory(step, batch, &memory, &diag);
    if (!status) status = cm_step_predict(step, batch, true, &prediction, &diag);
    if (status) fail(argv[1], &diag);
    else {
        print(step, cm_prediction_get_info(prediction), &memory);
        for (int32_t i = 0; i < cm_prediction_sensitivities(prediction) && i < 3; i++) {
            const cm_sensitivity *s = cm_prediction_sensitivity(prediction, i);
            printf("%-24s x %.2f: %.2f ms\n", s->what, s->factor, 1e3 * s->step_time_s);
        }
        cm_prediction_free(prediction);
    }
    cm_step_free(step);
    cm_device_free(device);
    return status != 0;
}
