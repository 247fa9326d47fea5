/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_script.c - batch scripts: directives, ranks and launchers follow from the entry. */
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

static char *script_of(const cm__job_report *r, cm__script_options o)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    if (cm__job_script_print(r, cm_job_get_entry(r->job, 0), &o, out, &diag)) fail_msg("%s", diag.reason);
    fclose(out);
    return text;
}

static void has(char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in\n%s", part, text);
}

static void scripts(void **state)
{
    (void)state;
    cm_job_options o = {.max_devices = 64, .clusters = "polaris", .global_batch = 512,
                        .rank = {.samples = 1e6, .where = "devices>=64", .objective = CM_OBJECTIVE_TIME}};
    cm_job        *job;
    if (cm_job_run("gpt2", &o, &job, &diag)) fail_msg("%s", diag.reason);
    cm__job_report r = {.asked = &o, .job = job};
    char          *text = script_of(&r, (cm__script_options){.launcher = "torchrun"});
    has(text, "#PBS -l select=16\n"); /* 64 GPUs in nodes of four; Polaris has PBS */
    has(text, "#PBS -q prod\n");
    has(text, "#PBS -l filesystems="); /* Polaris refuses jobs that name no file system */
    has(text, "--nproc-per-node 4 ");
    free(text);
    text = script_of(&r, (cm__script_options){.launcher = "megatron", .scheduler = "slurm"});
    has(text, "#SBATCH --nodes=16\n");
    has(text, "--global-batch-size 512");
    free(text);
    text = script_of(&r, (cm__script_options){.launcher = "deepspeed"});
    has(text, "\"train_batch_size\": 512");
    has(text, "\"bf16\": {\"enabled\": true}");
    free(text);
    assert_true(cm__is_launcher("torchrun") && !cm__is_launcher("horovod"));
    cm_job_free(job);
}

static void hides(char *text, const char *part)
{
    if (strstr(text, part)) fail_msg("'%s' is in\n%s", part, text);
}

/* Parts of a plan that deepspeed.json expresses: tensor parallelism up to ZeRO 2, and the type that the model is cast
   to. */
static void deepspeed(void **state)
{
    (void)state;
    cm_job_options o = {.max_devices = 8, .clusters = "dgx-h100", .global_batch = 8,
                        .rank = {.samples = 1e6, .where = "devices>=8", .train.precision = CM_PRECISION_FP32}};
    cm_job        *job;
    if (cm_job_run("gpt2", &o, &job, &diag)) fail_msg("%s", diag.reason);
    cm__job_report r = {.asked = &o, .job = job};
    cm_job_entry   e = *cm_job_get_entry(job, 0);
    char          *text = NULL;
    size_t         size = 0;
    for (int32_t zero = 2; zero < 4; zero++) {
        FILE *out = open_memstream(&text, &size);
        e.at.prediction.plan.tp = 2;
        e.at.prediction.plan.zero = zero;
        if (cm__job_script_print(&r, &e, &(cm__script_options){.launcher = "deepspeed"}, out, &diag)) fail_msg("%s", diag.reason);
        fclose(out);
        hides(text, "enabled"); /* fp32 */
        if (zero == 2) has(text, "\"tensor_parallel\": {\"autotp_size\": 2}}\nEND\n"), hides(text, "cannot express");
        else hides(text, "autotp"), has(text, "# deepspeed.json cannot express this plan");
        free(text);
    }
    cm_job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scripts), cmocka_unit_test(deepspeed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
