/* SPDX-License-Identifier: Apache-2.0 */
/* refuses.h - an expression that must fail in a context. The including file has a `diag` that the context fills in. */
#ifndef CM_TESTS_UNIT_REFUSES_H
#define CM_TESTS_UNIT_REFUSES_H

#include <string.h>
#include "base/ctx.h"

/* `expression` must fail with this status in this context, and a reason that contains this text. */
#define REFUSES_IN(ctx_, status_, reason_, expression)                                                                 \
    do {                                                                                                               \
        jmp_buf outer;                                                                                                 \
        memcpy(&outer, &(ctx_)->trap, sizeof outer);                                                                   \
        if (setjmp((ctx_)->trap) == 0) {                                                                               \
            expression;                                                                                                \
            fail_msg("not refused: %s", #expression);                                                                  \
        }                                                                                                              \
        memcpy(&(ctx_)->trap, &outer, sizeof outer);                                                                   \
        assert_int_equal((ctx_)->status, CM_ERR_##status_);                                                            \
        if (!strstr(diag.reason, reason_)) fail_msg("refused with '%s'", diag.reason);                                 \
    } while (0)

#endif
