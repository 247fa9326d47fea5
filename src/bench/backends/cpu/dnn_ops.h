/* SPDX-License-Identifier: Apache-2.0 */
/* dnn_ops.h - the operators that oneDNN runs. */
#ifndef CM_BENCH_CPU_DNN_OPS_H
#define CM_BENCH_CPU_DNN_OPS_H

#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/dnn.h"

extern const int cm__nhwc_order[4];

bool cm__dnn_forward(const cm_call *call);
bool cm__dnn_sizes(const cm_call *call, int count); /* all sizes are at least 1 */

/* Operators that consist of a forward operation and, for the backward pass, a backward one. */
cm__dnn_op *cm__dnn_pair(cm__cpu_case *c); /* NULL: out of memory */
void        cm__dnn_pair_free(cm__cpu_case *c);
void        cm__dnn_pair_run(cm__cpu_case *c, float *const *operands);

extern const cm__cpu_op cm__cpu_ops_conv[], cm__cpu_ops_lstm[], cm__cpu_ops_pool[], cm__cpu_ops_batch_norm[];

#endif
