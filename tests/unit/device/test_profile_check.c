/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_check.c - what a schema cannot say: sources exist, assumptions have reasons, names refer to something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "device/profile.h"
#include "profile_texts.h"

#define SPEC "{\"value\": 1, \"kind\": \"spec\", \"source\": \"sheet\"}"
#define SHEETS "\"sources\": {\"sheet\": {}, \"paper\": {}}"
#define FAMILY(more) "{\"abstract\": true, " SHEETS more "}"
#define WHOLE(memory, more)                                                                                            \
    "{\"name\": \"a\", \"vendor\": \"b\", \"class\": \"gpu\", \"style\": \"s\", \"modes\": [], \"peak\": {}, "         \
    "\"precisions\": [], \"memory\": " memory ", " SHEETS more "}"
#define HBM "[{\"name\": \"HBM\"}]"

static cm_diag diag;

static cm_status check(cm__profile_kind kind, const char *text, const char *file)
{
    json_t  *tree = json_loads(text, 0, NULL);
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!tree) fail_msg("not JSON: %s", text);
    cm__origin origin = {.file = file, .text = text, .size = strlen(text)};
    if (setjmp(ctx->trap) == 0) cm__profile_check(ctx, kind, tree, &origin);
    cm_status status = ctx->status;
    cm__ctx_free(ctx);
    json_decref(tree);
    return status;
}

static void refused(cm__profile_kind kind, const char *text, const char *place, const char *reason)
{
    cm_status status = check(kind, text, "/nowhere/a.json");
    if (status != CM_ERR_FORMAT || !strstr(diag.place, place) || !strstr(diag.reason, reason))
        fail_msg("%s: %d '%s: %s'", text, (int)status, diag.place, diag.reason);
}

static void accepted(cm__profile_kind kind, const char *text)
{
    if (check(kind, text, NULL) != CM_OK) fail_msg("%s: %s", text, diag.reason);
}

#define DEVICE_REFUSED(text, place, reason) refused(CM__PROFILE_DEVICE, text, place, reason)

static void sources_exist(void **state)
{
    (void)state;
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"cores\": " SPEC));
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"cores\": {\"value\": 1}")); /* the schema asks for a source */
    DEVICE_REFUSED(FAMILY(", \"cores\": {\"source\": \"shet\"}"), "cores.source", "did you mean 'sheet'?");
    DEVICE_REFUSED(FAMILY(", \"cores\": {\"source\": \"zzzzzzzzzzzz\"}"), "cores.source",
                   "'zzzzzzzzzzzz' is not among the sources");
    assert_null(strstr(diag.reason, "did you mean"));
    DEVICE_REFUSED(FAMILY(", \"prices\": [" SPEC ", {\"source\": \"x\"}]"), "prices[1].source", "not among");
    DEVICE_REFUSED("{\"abstract\": true, \"cores\": {\"source\": \"sheet\"}}", "cores.source", "not among");
}

/* A source may itself have a member of that name. */
static void sources_are_not_searched(void **state)
{
    (void)state;
    accepted(CM__PROFILE_DEVICE, "{\"abstract\": true, \"sources\": {\"a\": {\"source\": \"b\"}}}");
}

static void assumptions_have_reasons(void **state)
{
    (void)state;
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"cores\": {\"kind\": \"assumed\", \"note\": \"as before\"}"));
    DEVICE_REFUSED(FAMILY(", \"peak\": {\"matrix\": {\"bf16\": {\"kind\": \"assumed\"}}}"), "peak.matrix.bf16",
                   "no 'note' says why");
}

static void a_device_is_complete(void **state)
{
    static const char *const members[] = {"name", "vendor", "class", "style", "modes", "peak", "memory", "precisions"};
    (void)state;
    accepted(CM__PROFILE_DEVICE, WHOLE(HBM, ""));
    accepted(CM__PROFILE_DEVICE, FAMILY(""));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *tree = json_loads(WHOLE(HBM, ""), 0, NULL);
        char    lacks[64];
        json_object_del(tree, members[i]);
        char *text = json_dumps(tree, 0);
        snprintf(lacks, sizeof lacks, "lacks '%s'", members[i]);
        DEVICE_REFUSED(text, "", lacks);
        free(text);
        json_decref(tree);
    }
    DEVICE_REFUSED(WHOLE("[]", ""), "memory", "at least one memory");
}

static void placements_name_memories(void **state)
{
    (void)state;
    accepted(CM__PROFILE_DEVICE, WHOLE(HBM, ", \"placement\": {\"gradients\": \"HBM\", \"streamed\": [\"gradients\"]}"));
    DEVICE_REFUSED(WHOLE(HBM, ", \"placement\": {\"gradients\": \"DDR\"}"), "placement.gradients", "no memory 'DDR'");
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"placement\": {\"gradients\": \"HBM\"}")); /* its devices have the memory */
    DEVICE_REFUSED(FAMILY(", \"memory\": " HBM ", \"placement\": {\"gradients\": \"DDR\"}"), "placement.gradients",
                   "no memory 'DDR'");
}

static void references_have_tables(void **state)
{
    (void)state;
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"reference\": \"nvidia-h200\""));
    accepted(CM__PROFILE_DEVICE, FAMILY(", \"reference\": \"none\""));
    DEVICE_REFUSED(FAMILY(", \"reference\": \"graphcore-bow\""), "reference", "no built-in kernel tables of 'graphcore-bow'");
}

static void clusters_name_devices(void **state)
{
    (void)state;
    accepted(CM__PROFILE_CLUSTER, "{\"device\": \"nvidia-h200\"}");
    refused(CM__PROFILE_CLUSTER, "{\"device\": \"nothing\"}", "device", "no device 'nothing'");
    write_file("beside.json", "{}");
    char cluster[512];
    snprintf(cluster, sizeof cluster, "%s", file_named("cluster.json"));
    assert_int_equal(check(CM__PROFILE_CLUSTER, "{\"device\": \"beside.json\"}", cluster), CM_OK);
    assert_int_equal(check(CM__PROFILE_CLUSTER, "{\"device\": \"absent.json\"}", cluster), CM_ERR_FORMAT);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void count_number(void *sum, const json_t *number, const cm__step *path)
{
    assert_non_null(path->key);
    *(double *)sum += json_number_value(json_object_get(number, "value"));
}

/* Every object with a value, at any depth: 1 + 2 + 4 + 8 */
static void every_number_is_visited(void **state)
{
    json_t *tree = json_loads("{\"a\": {\"value\": 1}, \"b\": {\"c\": {\"value\": 2}}, \"d\": [{\"e\": {\"value\": 4}}, "
                              "{\"f\": {\"value\": 8}}], \"g\": 16, \"h\": \"value\"}", 0, NULL);
    double  sum = 0;
    (void)state;
    cm__profile_numbers(tree, NULL, count_number, &sum);
    assert_true(sum == 15);
    json_decref(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_exist),         cmocka_unit_test(sources_are_not_searched),
        cmocka_unit_test(assumptions_have_reasons), cmocka_unit_test(a_device_is_complete),
        cmocka_unit_test(placements_name_memories), cmocka_unit_test(references_have_tables),
        cmocka_unit_test(clusters_name_devices), cmocka_unit_test(every_number_is_visited),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
