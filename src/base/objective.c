/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - the quantities that batch sizes, devices and parallel plans are chosen by. */
#include <stdio.h>
#include <string.h>
#include "base/ctx.h"
#include "base/text.h"

static const struct {
    const char *name;
    bool        less;
} objectives[CM_OBJECTIVES] = {
    [CM_OBJECTIVE_THROUGHPUT] = {"throughput", false}, [CM_OBJECTIVE_MEMORY] = {"memory", true},
    [CM_OBJECTIVE_PRICE] = {"price", false},           [CM_OBJECTIVE_COST] = {"cost", true},
    [CM_OBJECTIVE_ENERGY] = {"energy", true},          [CM_OBJECTIVE_TIME] = {"time", true},
    [CM_OBJECTIVE_DEVICES] = {"devices", true},        [CM_OBJECTIVE_KNEE] = {"knee", false},
};

static const struct {
    int32_t      count;
    cm_objective list[CM_OBJECTIVES];
} choices[CM_CHOICES] = {
    [CM_CHOICE_BATCH] = {3, {CM_OBJECTIVE_THROUGHPUT, CM_OBJECTIVE_MEMORY, CM_OBJECTIVE_KNEE}},
    [CM_CHOICE_DEVICE] = {5, {CM_OBJECTIVE_THROUGHPUT, CM_OBJECTIVE_PRICE, CM_OBJECTIVE_ENERGY, CM_OBJECTIVE_TIME,
                              CM_OBJECTIVE_COST}},
    [CM_CHOICE_PLAN] = {4, {CM_OBJECTIVE_THROUGHPUT, CM_OBJECTIVE_COST, CM_OBJECTIVE_ENERGY, CM_OBJECTIVE_DEVICES}},
};

const char *cm_objective_name(cm_objective objective) { return objectives[objective].name; }
bool        cm_objective_is_less(cm_objective objective) { return objectives[objective].less; }

int32_t      cm_choice_objectives(cm_choice choice) { return choices[choice].count; }
cm_objective cm_choice_objective(cm_choice choice, int32_t index) { return choices[choice].list[index]; }

bool cm_objective_applies(cm_objective objective, cm_choice choice)
{
    for (int32_t i = 0; i < choices[choice].count; i++)
        if (choices[choice].list[i] == objective) return true;
    return false;
}

cm_status cm_objective_parse(const char *name, cm_choice choice, cm_objective *objective, cm_diag *diag)
{
    const char *names[CM_OBJECTIVES];
    char        known[128] = "";
    int32_t     count = choices[choice].count;
    size_t      used = 0;
    for (int32_t i = 0; i < count; i++) {
        names[i] = objectives[choices[choice].list[i]].name;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", names[i]);
        if (strcmp(name, names[i]) != 0) continue;
        *objective = choices[choice].list[i];
        return CM_OK;
    }
    const char *near = cm__nearest(name, names, (size_t)count);
    return cm__diag_set(diag, CM_ERR_UNKNOWN, "unknown objective '%.64s'%s%s%s; known: %s", name,
                        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", known);
}
