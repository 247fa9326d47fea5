/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.c - a row of a set as a case to predict: its graph, its device, and how it was run.
 *
 * If a device's profile was fitted to results of the row's model, the row is predicted with a profile fitted without
 * that model (left-out-styles.json, written by tools/fit_styles.py). No row is predicted from a fit that used it.
 */
#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "graph/releases.h"
#include "graph/training/options.h"
#include "model/question.h"
#include "validate/validate.h"
#include "device/changed.h"

#define LEFT_OUT "left-out-styles"

const char *cm__text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

double cm__number_of(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

const char *cm__group_of(const json_t *row)
{
    const char *group = cm__text_of(row, "group");
    return group ? group : cm__text_of(row, "model");
}

void cm__case_give_up(cm__case *c, cm_status status, const cm_diag *diag)
{
    if (status == CM_ERR_MEMORY) cm__fail(c->store->ctx, status, "out of memory while predicting a row");
    if (status) c->reason = cm__text_copy(c->store->ctx, *diag->reason ? diag->reason : cm_status_text(status));
}

/* ---- the device ------------------------------------------------------------------------------------------------- */

static void free_device(void *device) { cm_device_free(device); }

static const json_t *families(cm__store *store)
{
    return json_object_get(cm__store_named(store, LEFT_OUT), "families");
}

const char *cm__family_of(cm__store *store, const char *device)
{
    const char *name;
    json_t     *family;
    json_object_foreach((json_t *)families(store), name, family) {
        const json_t *devices = json_object_get(family, "devices");
        for (size_t i = 0; i < json_array_size(devices); i++)
            if (strcmp(json_string_value(json_array_get(devices, i)), device) == 0) return name;
    }
    return device;
}

/* Parameters of the row's device, fitted without the row's model; NULL: the fit did not use that model. */
static const json_t *left_out_parameters(const cm__case *c, const char *device)
{
    const cm__metric *metric = cm__metric_of(c->set, c->run);
    if (metric && metric->kind == CM__METRIC_OWN) return NULL; /* the memory model was not fitted */
    const json_t *family = json_object_get(families(c->store), cm__family_of(c->store, device));
    return json_object_get(json_object_get(family, "without"), cm__group_of(c->run));
}

static const json_t *profile_in_set(const cm__case *c)
{
    return json_object_get(json_object_get(c->set, "profiles"), cm__text_of(c->run, "device"));
}

/* Two sets may have different machines of the same name. */
static const char *machine_of(const cm__case *c)
{
    const char *name = cm__text_of(c->run, "device");
    return profile_in_set(c) ? cm__format(c->store->ctx, "%s of %s", name, cm__text_of(c->set, "id")) : name;
}

/* The device of a profile that was built here or is part of the set. NULL: c->reason has the error. */
static const cm_device *device_of(cm__case *c, const char *name, const json_t *profile)
{
    cm__ctx   *ctx = c->store->ctx;
    cm_diag    diag = {0};
    cm_device *d;
    if (!json_is_object(profile)) {
        c->reason = cm__format(ctx, "the set's profile '%.64s' is not an object as 'bench' writes it", name);
        return NULL;
    }
    char *text = json_dumps(profile, JSON_COMPACT);
    if (!text) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while making a profile");
    cm_status status = cm__device_parse(text, strlen(text), &d, &diag);
    free(text);
    cm__case_give_up(c, status, &diag);
    if (!status) {
        cm__defer(ctx, free_device, d);
        cm__store_keep(c->store, c->device_key, d);
        return d;
    }
    c->reason = cm__format(ctx, "the set's profile '%.64s': %s%s%s", name, diag.place, *diag.place ? ": " : "",
                           c->reason);
    return NULL;
}

/* The row's device with parameters from a fit that left out the row's model. */
static const cm_device *device_without(cm__case *c, const char *device, const json_t *execution)
{
    const json_t *profile = cm__store_json(
        c->store, json_pack("{s:i, s:s, s:s, s:O, s:{s:{s:s, s:s}}}", "schema", 1, "id", "left-out", "base", device,
                            "execution", execution, "sources", "calibration", "title", "left out", "where", LEFT_OUT));
    return device_of(c, device, profile);
}

static const cm_device *built_in(cm__case *c, const char *name)
{
    const char *key = cm__format(c->store->ctx, "device %s", name);
    cm_device  *device = cm__store_find(c->store, key);
    cm_diag     diag = {0};
    if (device) return device;
    cm_status status = cm_device_load(name, &device, &diag);
    cm__case_give_up(c, status, &diag);
    if (status) return NULL;
    cm__defer(c->store->ctx, free_device, device);
    cm__store_keep(c->store, key, device);
    return device;
}

/* The device as if it had no results of its own. NULL: c->reason says why there is no such prediction. */
static const cm_device *device_left_out(cm__case *c, const char *name)
{
    cm__ctx         *ctx = c->store->ctx;
    const cm_device *device = built_in(c, name);
    if (!device) return NULL;
    const json_t *family = json_object_get(families(c->store), cm__family_of(c->store, name));
    const json_t *others = json_object_get(json_object_get(family, "without_device"), name);
    if (others) return device_without(c, name, others);
    if (cm_device_runtime(device) == CM_RUNTIME_NATIVE)
        c->reason = "no parameters are fitted to other devices of its family alone";
    if (device->kernels.count || device->built_in_kernels.count)
        c->reason = "its kernel tables are those that others are transferred from";
    if (c->reason) return NULL;
    cm_device *copy = cm__device_without_results(ctx, device);
    cm__store_keep(c->store, c->device_key, copy);
    return copy;
}

static void load_device(cm__case *c)
{
    const char   *name = cm__text_of(c->run, "device");
    bool          of_family = !profile_in_set(c) && !c->store->leave_device_out;
    const json_t *own = profile_in_set(c), *without = of_family ? left_out_parameters(c, name) : NULL;
    c->left_out = without ? cm__group_of(c->run) : NULL;
    c->device_key = cm__format(c->store->ctx, "device %s%s%s", machine_of(c),
                               without ? " without " : c->store->leave_device_out ? " without its results" : "",
                               without ? c->left_out : "");
    c->device = cm__store_find(c->store, c->device_key);
    if (c->device) return;
    if (own) c->device = device_of(c, name, own);
    else if (c->store->leave_device_out) c->device = device_left_out(c, name);
    else c->device = without ? device_without(c, name, without) : built_in(c, name);
    if (!c->device && !own && json_object_get(c->set, "profiles"))
        c->reason = cm__format(c->store->ctx, "%s, and none of the set's own", c->reason);
}

const char *cm__cluster_of(const cm__case *c)
{
    const char *cluster = cm__text_of(c->run, "cluster");
    return cluster ? cluster : "";
}

static void free_fabric(void *fabric) { cm_fabric_free(fabric); }

/* The links are those of the original device, also if the row uses a left-out fit. */
const cm_fabric *cm__case_fabric(cm__case *c)
{
    cm__ctx         *ctx = c->store->ctx;
    const char      *device = cm__text_of(c->run, "device"), *cluster = cm__text_of(c->run, "cluster");
    const char      *key = cm__format(ctx, "fabric %s %s", machine_of(c), cm__cluster_of(c));
    cm_fabric       *fabric = cm__store_find(c->store, key);
    cm_diag          diag = {0};
    const cm_device *own = fabric ? NULL : profile_in_set(c) ? c->device : built_in(c, device);
    if (fabric || !own) return fabric;
    cm_status status = cm_fabric_new(own, cluster, &fabric, &diag);
    cm__case_give_up(c, status, &diag);
    if (status) return NULL;
    cm__defer(ctx, free_fabric, fabric);
    cm__store_keep(c->store, key, fabric);
    return fabric;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

static void free_graph(void *graph) { cm_graph_free(graph); }

/* Options come from the row, or from the set for all its rows; otherwise they are the defaults of 'predict'. */
static cm_status read_options(cm__case *c, cm_step_options *o, cm_diag *diag)
{
    cm_train_options *train = &o->train;
    const char *precision = cm__text_of(c->run, "precision"), *optimizer = cm__text_of(c->run, "optimizer"),
               *runtime = cm__text_of(c->run, "runtime"), *mode = cm__text_of(c->run, "mode"),
               *recompute = cm__text_of(c->run, "recompute"), *layout = cm__text_of(c->run, "layout"),
               *attention = cm__text_of(c->run, "attention"), *loss = cm__text_of(c->run, "loss_kernel");
    cm_status   status = CM_OK;
    o->load.seq = (int64_t)cm__number_of(c->run, "seq", 0);
    train->software = cm__software_of_year(
        (int32_t)cm__number_of(c->run, "software", cm__number_of(c->set, "software", 0)));
    if (!precision) precision = cm__text_of(c->set, "precision");
    if (precision) status = cm_precision_parse(precision, &train->precision, diag);
    if (!status && optimizer) status = cm_optimizer_parse(optimizer, &train->optimizer, diag);
    if (!status && recompute) status = cm_recompute_set(recompute, train, diag);
    if (!status && runtime) status = cm_runtime_parse(runtime, &o->runtime, diag);
    if (!status && layout) status = cm_layout_parse(layout, &o->layout, diag);
    if (!status && attention) status = cm_attention_parse(attention, &train->attention, diag);
    if (!status && loss) status = cm_loss_kernel_parse(loss, &train->loss_kernel, diag);
    train->script.metrics = (int32_t)cm__number_of(c->run, "train_metrics", 0);
    train->ipu.stable_norms = json_is_true(json_object_get(c->run, "stable_norms"));
    train->ipu.tensorflow = json_is_true(json_object_get(c->run, "tensorflow"));
    train->inference = mode && strcmp(mode, "inference") == 0;
    o->plan.zero = (int32_t)cm__number_of(c->run, "zero", 0);
    if (!status) status = cm_step_settle(cm__text_of(c->run, "model"), c->device, o, diag);
    c->runtime = o->runtime;
    c->layout = o->layout;
    return status;
}

static cm_status load_forward(cm__case *c, const cm_load_options *load, cm_diag *diag)
{
    const char *model = cm__text_of(c->run, "model");
    const char *key = cm__format(c->store->ctx, "forward %s %lld %d", model, (long long)load->seq, (int)load->fuse);
    cm_graph   *forward;
    c->forward = cm__store_find(c->store, key);
    cm_status status = c->forward ? CM_OK : cm_graph_load(model, load, &forward, diag);
    if (status || c->forward) return status;
    cm__defer(c->store->ctx, free_graph, forward);
    cm__store_keep(c->store, key, forward);
    c->forward = forward;
    return CM_OK;
}

static cm_status make_step(cm__case *c, const cm_step_options *o, cm_diag *diag)
{
    cm_graph *step;
    cm_status status = cm_graph_train(c->forward, &o->train, &step, diag);
    if (status) return status;
    cm__defer(c->store->ctx, free_graph, step);
    cm__store_keep(c->store, c->graph_key, step);
    c->step = step;
    return CM_OK;
}

static void load_step(cm__case *c)
{
    cm_step_options         o = {.runtime = CM_RUNTIME_DEFAULT};
    cm_diag                 diag = {0};
    cm_status               status = read_options(c, &o, &diag);
    c->graph_key = cm__format(c->store->ctx, "step %s %lld %d %016llx", cm__text_of(c->run, "model"),
                              (long long)o.load.seq, (int)o.load.fuse, (unsigned long long)cm__train_hash(&o.train));
    c->step = cm__store_find(c->store, c->graph_key);
    c->train = o.train;
    if (!status) status = load_forward(c, &o.load, &diag);
    if (!status && !c->step) status = make_step(c, &o, &diag);
    cm__case_give_up(c, status, &diag);
}

cm_status cm__case_step(const cm__case *c, const cm_plan *plan, cm_step **step, cm_diag *diag)
{
    const cm_step_options o = {.train = c->train, .runtime = c->runtime, .layout = c->layout,
                               .plan = plan ? *plan : (cm_plan){0}};
    return cm__step_new_in(&(cm__shared_step){.forward = c->forward, .graph = c->step}, c->device, &o, step, diag);
}

/* The batch that 'predict' chooses without --batch; 1 if nothing fits. */
static int64_t usual_batch(cm__case *c)
{
    cm_step *step;
    int64_t  batch = 0;
    if (cm__case_step(c, NULL, &step, NULL)) return 1;
    cm_status status = cm_step_usual_batch(step, &batch, NULL);
    cm_step_free(step);
    return !status && batch ? batch : 1;
}

/* ---- the case --------------------------------------------------------------------------------------------------- */

/* Replaces members of the row; `over` as a string replaces the device only. */
static const json_t *merged(cm__store *store, const json_t *row, const json_t *over)
{
    if (!over) return row;
    json_t *run = json_copy((json_t *)row);
    cm__store_json(store, run);
    if (json_is_string(over) ? json_object_set(run, "device", (json_t *)over) : json_object_update(run, (json_t *)over))
        cm__fail(store->ctx, CM_ERR_MEMORY, "out of memory while reading a row");
    return run;
}

/* A figure that a fit excluded is also excluded from validation in that set. The set of its source may still use it. */
static const char *exclusion_of(const cm__case *c)
{
    const char *excluded = cm__text_of(c->run, "left_out"), *validated_in = cm__text_of(c->run, "judged_in");
    return excluded && validated_in ? cm__format(c->store->ctx, "%s; validated in %s", excluded, validated_in)
                                    : excluded;
}

cm__case *cm__case_new(cm__store *store, const json_t *set, const json_t *row, const json_t *over)
{
    cm__case *c = cm__alloc(store->ctx, sizeof *c);
    c->store = store;
    c->counted = cm__alloc(store->ctx, sizeof *c->counted);
    c->set = set;
    c->run = merged(store, row, over);
    c->reason = cm__text_of(c->run, "reason");
    if (!c->reason) c->reason = exclusion_of(c);
    c->devices = (int32_t)cm__number_of(c->run, "devices", 1);
    c->accumulate = (int32_t)cm__number_of(c->run, "accumulate", 1);
    const json_t *of_row = json_object_get(c->run, "per_device");
    c->per_device = json_is_true(of_row ? of_row : json_object_get(set, "per_device"));
    if (c->reason) return c;
    bool named = cm__text_of(c->run, "model") && cm__text_of(c->run, "device");
    if (named) load_device(c);
    else c->reason = "the row names no model or no device";
    bool stepless = json_object_get(c->run, "link_share") || json_object_get(c->run, "tables");
    if (!c->reason && stepless) return c; /* a collective, or look-ups */
    if (!c->reason) load_step(c);
    if (c->reason) return c;
    c->batch = (int64_t)cm__number_of(c->run, "batch", 0);
    const cm__metric *metric = cm__metric_of(set, c->run);
    if (!c->batch && metric && metric->kind != CM__METRIC_OWN) c->batch = usual_batch(c) * c->devices;
    return c;
}
