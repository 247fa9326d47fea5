/* SPDX-License-Identifier: Apache-2.0 */
/* validate_case.h - cases of rows of JSON, with single quotes for readability, in a set that a test may extend. */
#ifndef CM_TESTS_UNIT_VALIDATE_CASE_H
#define CM_TESTS_UNIT_VALIDATE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "validate/validate.h"

static cm_diag    diag;
static cm__ctx   *ctx;
static cm__store *store;
static json_t    *set;

#define TEST(name)                                                                                                     \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        ctx = cm__ctx_new(&diag);                                                                                      \
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);                                                            \
        store = cm__store_new(ctx);                                                                                    \
        set = json_object();                                                                                           \
        name##_body();                                                                                                 \
        json_decref(set);                                                                                              \
        cm__ctx_free(ctx);                                                                                             \
    }                                                                                                                  \
    static void name##_body(void)

static inline void drop_json(void *json) { json_decref(json); }

/* It lives as long as the context. */
static inline json_t *json_of(const char *text)
{
    char *quoted = cm__text_copy(ctx, text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'') *c = '"';
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, NULL);
    if (!json) fail_msg("not JSON: %s", text);
    cm__defer(ctx, drop_json, json);
    return json;
}

static inline cm__case *case_of(const char *text) { return cm__case_new(store, set, json_of(text), NULL); }

static inline void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

#define REASON_HAS(c, text)                                                                                            \
    if (!(c)->reason || !strstr((c)->reason, text)) fail_msg("the reason is '%s'", (c)->reason ? (c)->reason : "")

#endif
