/* SPDX-License-Identifier: Apache-2.0 */
/* questions.c - predictions, memory, rankings and plan searches, with built-in devices and with user profiles. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "threads.h"

/* A user profile with the tables of a built-in device and twice its peak. */
static const char based_profile[] =
    "{\"schema\": 1, \"id\": \"based\", \"name\": \"Based\", \"base\": \"nvidia-h200\",\n"
    " \"sources\": {\"me\": {\"title\": \"made up\", \"where\": \"tests/threads\", \"date\": \"2026-11\"}},\n"
    " \"peak\": {\"matrix\": {\n"
    "   \"bf16\": {\"value\": 1.9788e15, \"unit\": \"FLOP/s\", \"kind\": \"spec\", \"source\": \"me\"}}}}\n";

static const char model[] = "gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000";

/* ---- shared objects ---------------------------------------------------------------------------------------------- */

static bool write_profile(char *path)
{
    strcpy(path, "/tmp/centimani-threads-XXXXXX.json");
    int   fd = mkstemps(path, 5);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) return false;
    fputs(based_profile, file);
    return fclose(file) == 0;
}

static cm_status open_graphs(shared *s, cm_diag *diag)
{
    cm_load_options   load = {.fuse = CM_FUSE_EAGER};
    cm_train_options  train = {.precision = CM_PRECISION_AMP_BF16};
    cm_memory_options memory = {.runtime = CM_RUNTIME_DEFAULT};
    cm_status         status = cm_graph_load(model, &load, &s->forward, diag);
    if (!status) status = cm_graph_train(s->forward, &train, &s->step, diag);
    if (!status) status = cm_footprint_new(s->step, s->device, &memory, &s->footprint, diag);
    return status;
}

bool shared_open(shared *s, const char *own_profile)
{
    cm_diag   diag = {{0}, {0}, {0}};
    cm_status status = CM_ERR_IO;
    if (write_profile(s->based_path)) status = cm_device_load("nvidia-a100-40g", &s->device, &diag);
    if (!status) status = cm_device_load(s->based_path, &s->based, &diag);
    if (!status) status = cm_device_load(own_profile, &s->own, &diag);
    if (!status) status = open_graphs(s, &diag);
    if (!status) status = cm_fabric_new(s->device, "node=4,net=800Gb", &s->fabric, &diag);
    snprintf(s->own_path, sizeof s->own_path, "%s", own_profile);
    snprintf(s->devices, sizeof s->devices, "nvidia-h200,nvidia-h100,nvidia-v100-16g,%s,%s",
             s->based_path, own_profile);
    if (status) printf("Bail out! %s: %s\n", diag.file, diag.reason);
    return status == CM_OK;
}

void shared_close(shared *s)
{
    if (s->based_path[0]) unlink(s->based_path);
    cm_fabric_free(s->fabric);
    cm_footprint_free(s->footprint);
    cm_graph_free(s->step);
    cm_graph_free(s->forward);
    cm_device_free(s->own);
    cm_device_free(s->based);
    cm_device_free(s->device);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static void write_times(const cm_prediction_info *i, FILE *to)
{
    fprintf(to, "%a %a %a %a %a %a %a %a\n", i->step_time_s, i->interval_s[0], i->interval_s[1], i->device_time_s,
            i->host_time_s, i->clock, i->launches, i->mfu);
}

static void write_prediction(const cm_prediction *p, FILE *to)
{
    write_times(cm_prediction_get_info(p), to);
    for (int32_t i = 0; i < cm_prediction_ops(p); i++) {
        const cm_op_time *op = cm_prediction_op(p, i);
        fprintf(to, "%s %a %d\n", op->call, op->time_s, (int)op->how);
    }
    for (int32_t i = 0; i < cm_prediction_sensitivities(p); i++) {
        const cm_sensitivity *s = cm_prediction_sensitivity(p, i);
        fprintf(to, "%s %a\n", s->what, s->step_time_s);
    }
}

static bool predict_on(const shared *s, const cm_device *device, FILE *to)
{
    for (int64_t batch = 1; batch <= 64; batch *= 8) {
        cm_prediction     *p;
        cm_predict_options options = {.batch = batch, .sensitivities = batch == 8};
        if (cm_predict(s->step, device, &options, &p, NULL)) return false;
        write_prediction(p, to);
        cm_prediction_free(p);
    }
    return true;
}

static bool ask_predict(const shared *s, int threads, FILE *to)
{
    (void)threads;
    return predict_on(s, s->device, to);
}

static bool ask_predict_based(const shared *s, int threads, FILE *to)
{
    (void)threads;
    return predict_on(s, s->based, to);
}

static bool ask_predict_own(const shared *s, int threads, FILE *to)
{
    (void)threads;
    return predict_on(s, s->own, to);
}

/* Each thread loads the model, the profile and the training step itself. */
static bool ask_everything_anew(const shared *s, int threads, FILE *to)
{
    cm_device       *device = NULL;
    cm_graph        *forward = NULL, *step = NULL;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = CM_PRECISION_AMP_BF16};
    bool             ok = cm_device_load(s->based_path, &device, NULL) == CM_OK;
    (void)threads;
    ok = ok && cm_graph_load("resnet18", &load, &forward, NULL) == CM_OK;
    ok = ok && cm_graph_train(forward, &train, &step, NULL) == CM_OK;
    shared own = {.step = step};
    ok = ok && predict_on(&own, device, to);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return ok;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool ask_memory(const shared *s, int threads, FILE *to)
{
    (void)threads;
    for (int64_t batch = 1; batch <= 512; batch *= 8) {
        cm_memory_use use;
        if (cm_footprint_simulate(s->footprint, batch, &use, NULL)) return false;
        fprintf(to, "%a %a\n", (double)use.peak_bytes, (double)use.reserved_bytes);
    }
    cm_batch_choice  choice;
    cm_batch_options options = {.any = true};
    if (cm_batch_choose(s->footprint, &options, &choice, NULL)) return false;
    fprintf(to, "%" PRId64 "\n", choice.batch);
    return true;
}

/* ---- rankings and plans ------------------------------------------------------------------------------------------ */

static bool ask_rank(const shared *s, int threads, FILE *to)
{
    cm_ranking     *ranking;
    cm_rank_options options = {.devices = s->devices, .threads = threads, .batch = 16};
    if (cm_rank(model, &options, &ranking, NULL)) return false;
    for (int32_t i = 0; i < cm_ranking_entries(ranking); i++) {
        const cm_rank_entry *e = cm_ranking_entry(ranking, i);
        fprintf(to, "%s %d %a %a %a %a %" PRId64 " ", cm_device_get_info(e->device)->name, (int)e->state, e->value,
                e->relative, e->peak_bytes, e->price_hour, e->prediction.batch);
        write_times(&e->prediction, to);
    }
    cm_ranking_free(ranking);
    return true;
}

static bool ask_plans(const shared *s, int threads, FILE *to)
{
    cm_search        *search;
    cm_search_options options = {.devices = 2,
                                 .global_batch = 4,
                                 .fabric = s->fabric,
                                 .threads = threads,
                                 .train = {.precision = CM_PRECISION_AMP_BF16}};
    if (cm_search_run(s->forward, s->device, &options, &search, NULL)) return false;
    fprintf(to, "%" PRIu64 "\n", cm_search_get_info(search)->feasible);
    for (int32_t i = 0; i < cm_search_plans(search); i++) {
        const cm_found *f = cm_search_plan(search, i);
        fprintf(to, "%a %a %a %a %a %d\n", f->step_time_s, f->mfu, f->peak_bytes, f->communication_s, f->bubble_s,
                f->pareto);
    }
    cm_search_free(search);
    return true;
}

const question questions[] = {
    {"predict on one device", ask_predict, 2},
    {"predict on a user profile with a built-in base", ask_predict_based, 2},
    {"predict on a user profile of its own", ask_predict_own, 2},
    {"load model and profile, and predict", ask_everything_anew, 1},
    {"memory and the largest batch", ask_memory, 1},
    {"rank built-in devices and user profiles", ask_rank, 1},
    {"search parallel plans", ask_plans, 1},
};
const int n_questions = sizeof questions / sizeof *questions;
