/* SPDX-License-Identifier: Apache-2.0 */
/* dnn_ops.h - the operators that oneDNN runs. */
#ifndef CM_BENCH_CPU_DNN_OPS_H
#define CM_BENCH_CPU_DNN_OPS_H

#include "bench/cpu/cpu.h"
#include "bench/cpu/dnn.h"

extern const cm__cpu_op cm__cpu_ops_conv[], cm__cpu_ops_lstm[], cm__cpu_ops_pool[], cm__cpu_ops_batch_norm[];

#endif
