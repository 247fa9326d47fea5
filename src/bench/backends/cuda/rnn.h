/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - sizes and weights of a recurrent network, shared by rnn.c and its reference. */
#ifndef CM_BENCH_CUDA_RNN_H
#define CM_BENCH_CUDA_RNN_H

#include "bench/backends/cuda/ops.h"

typedef enum cm__cuda_cell { CELL_RNN, CELL_LSTM, CELL_GRU } cm__cuda_cell;

typedef struct cm__cuda_rnn {
    cm__cuda  *cu;
    cm__cuda_cell   cell;
    int        gates, direction_count;
    bool       backward;
    int64_t    batch, seq, input, hidden, layers;
    dnn_object rnn, dropout, x_desc, y_desc, state, matrix, vector;
    size_t     weight_bytes, workspace_bytes, reserve_bytes;
    cu_address workspace, reserve;
    int        x, y, weights, dy, dx, dw;
} cm__cuda_rnn;

/* Offsets of a gate's matrix and bias in the weights, in elements. gate: the gates of the input, then of the state. */
void cm__cuda_rnn_weight(cm__cuda_case *c, int64_t layer, int direction, int gate, int64_t *matrix, int64_t *bias);
/* Multiply-adds of one batch element's forward pass. */
double  cm__cuda_rnn_cost(const cm__cuda_rnn *r);
int64_t cm__cuda_rnn_reference(cm__cuda_case *c); /* number of wrong samples */

#define RNN_MOST_COST 2e9 /* takes the host a few seconds */

#endif
