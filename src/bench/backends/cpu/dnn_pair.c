/* SPDX-License-Identifier: Apache-2.0 */
/* dnn_pair.c - oneDNN operators that consist of a forward operation and, for the backward pass, a backward one. */
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/dnn_ops.h"

const int cm__nhwc_order[4] = {0, 2, 3, 1};

bool cm__dnn_forward(const cm_call *call) { return strcmp(call->pass, "forward") == 0; }

bool cm__dnn_sizes(const cm_call *call, int count)
{
    for (int i = 0; i < count; i++)
        if (call->dims[i] < 1 || call->dims[i] > INT32_MAX) return false;
    return true;
}

cm__dnn_op *cm__dnn_pair(cm__cpu_case *c)
{
    cm__dnn_op *ops = calloc(2, sizeof *ops);
    c->extra = ops;
    if (ops) ops[0].dnn = ops[1].dnn = c->cpu->dnn;
    return ops;
}

void cm__dnn_pair_free(cm__cpu_case *c)
{
    cm__dnn_op *ops = c->extra;
    if (!ops) return;
    cm__dnn_free(&ops[1]);
    cm__dnn_free(&ops[0]);
    free(ops);
}

void cm__dnn_pair_run(cm__cpu_case *c, float *const *operands)
{
    cm__dnn_run((cm__dnn_op *)c->extra + !cm__dnn_forward(&c->call), operands);
}
