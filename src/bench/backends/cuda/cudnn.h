/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudnn.h - functions and constants of cuDNN 8 and 9, loaded at run time.
 *
 * Convolutions and attention use cuDNN's backend descriptors, as PyTorch does. Batch normalisation, pooling and
 * recurrent layers use the legacy functions.
 */
#ifndef CM_BENCH_CUDA_CUDNN_H
#define CM_BENCH_CUDA_CUDNN_H

#include "bench/backends/cuda/driver.h"

typedef struct cudnnContext *dnn_handle;
typedef void                *dnn_object; /* a pointer to any cuDNN descriptor */

/* cudnnDataType_t, cudnnMathType_t, cudnnTensorFormat_t */
enum { DNN_FP32 = 0, DNN_FP16 = 2, DNN_INT32 = 4, DNN_BF16 = 9, DNN_BOOLEAN = 11 };
enum { DNN_MATH_DEFAULT = 0, DNN_MATH_TENSOR = 1, DNN_MATH_CONVERT = 2, DNN_MATH_FMA = 3 };
enum { DNN_NCHW = 0, DNN_NHWC = 1 };
enum { DNN_NAN_PROPAGATE = 1, DNN_POOL_MAX = 0, DNN_POOL_AVERAGE = 1, DNN_BN_SPATIAL = 1, DNN_BN_PERSISTENT = 2 };
enum { DNN_RNN_STANDARD = 0, DNN_RNN_TANH = 1, DNN_LSTM = 2, DNN_GRU = 3, DNN_RNN_DOUBLE_BIAS = 2, DNN_TRAINING = 1 };
enum { DNN_RNN_PACKED = 1, DNN_WGRAD_ADD = 0 };

/* cudnnBackendDescriptorType_t */
enum {
    DNN_POINTWISE = 0,
    DNN_CONVOLUTION = 1,
    DNN_ENGINE = 2,
    DNN_ENGINE_CONFIG = 3,
    DNN_HEURISTICS = 4,
    DNN_PLAN = 5,
    DNN_CONV_FORWARD = 10,
    DNN_CONV_FILTER = 11,
    DNN_CONV_DATA = 12,
    DNN_DO_POINTWISE = 13,
    DNN_GRAPH = 15,
    DNN_VARIANT_PACK = 16,
    DNN_TENSOR = 17,
    DNN_MATMUL = 18,
    DNN_DO_MATMUL = 19,
    DNN_REDUCTION = 21,
    DNN_DO_REDUCTION = 22,
};

/* cudnnBackendAttributeType_t */
enum {
    DNN_T_HANDLE = 0,
    DNN_T_DATA_TYPE = 1,
    DNN_T_BOOLEAN = 2,
    DNN_T_INT64 = 3,
    DNN_T_FLOAT = 4,
    DNN_T_POINTER = 6,
    DNN_T_CONV_MODE = 7,
    DNN_T_HEURISTIC_MODE = 8,
    DNN_T_NUMERICAL_NOTE = 11,
    DNN_T_POINTWISE_MODE = 14,
    DNN_T_DESCRIPTOR = 15,
    DNN_T_REDUCTION = 18,
};

/* cudnnBackendAttributeName_t */
enum {
    DNN_A_POINTWISE_MODE = 0,
    DNN_A_POINTWISE_TYPE = 1,
    DNN_A_POINTWISE_AXIS = 9,
    DNN_A_CONV_TYPE = 100,
    DNN_A_CONV_MODE = 101,
    DNN_A_CONV_DILATIONS = 102,
    DNN_A_CONV_STRIDES = 103,
    DNN_A_CONV_POST_PADDINGS = 104,
    DNN_A_CONV_PRE_PADDINGS = 105,
    DNN_A_CONV_SPATIAL_DIMS = 106,
    DNN_A_HEURISTIC_MODE = 200,
    DNN_A_HEURISTIC_GRAPH = 201,
    DNN_A_HEURISTIC_RESULTS = 202,
    DNN_A_CONFIG_ENGINE = 300,
    DNN_A_PLAN_HANDLE = 400,
    DNN_A_PLAN_CONFIG = 401,
    DNN_A_PLAN_WORKSPACE = 402,
    DNN_A_FORWARD_FIRST = 700, /* alpha, beta, convolution, w, x, y */
    DNN_A_DATA_FIRST = 706,    /* alpha, beta, convolution, w, dx, dy */
    DNN_A_FILTER_FIRST = 712,  /* alpha, beta, convolution, dw, x, dy */
    DNN_A_DO_POINTWISE = 750, /* then x, b, y; and t */
    DNN_A_DO_POINTWISE_T = 758,
    DNN_A_GRAPH_HANDLE = 800,
    DNN_A_GRAPH_OPERATIONS = 801,
    DNN_A_TENSOR_ALIGNMENT = 900,
    DNN_A_TENSOR_TYPE = 901,
    DNN_A_TENSOR_SIZES = 902,
    DNN_A_TENSOR_STRIDES = 903,
    DNN_A_TENSOR_ID = 906,
    DNN_A_TENSOR_VIRTUAL = 907,
    DNN_A_TENSOR_BY_VALUE = 908,
    DNN_A_PACK_IDS = 1000,
    DNN_A_PACK_POINTERS = 1001,
    DNN_A_PACK_WORKSPACE = 1003,
    DNN_A_ENGINE_NUMERICAL_NOTE = 1303,
    DNN_A_MATMUL_TYPE = 1500,
    DNN_A_DO_MATMUL = 1520, /* a, b, c, and the product */
    DNN_A_REDUCTION_OPERATOR = 1600,
    DNN_A_REDUCTION_TYPE = 1601,
    DNN_A_DO_REDUCTION = 1610, /* x, y, and the reduction */
};

/* cudnnPointwiseMode_t, cudnnReduceTensorOp_t */
enum {
    DNN_ADD = 0,
    DNN_MUL = 1,
    DNN_DIV = 6,
    DNN_SUB = 9,
    DNN_EXP = 13,
    DNN_LOG = 15,
    DNN_NOT_LESS = 303,
    DNN_INDEX = 501,
    DNN_SELECT = 601,
};
enum { DNN_REDUCE_ADD = 0, DNN_REDUCE_MAX = 3 };

enum { DNN_CROSS_CORRELATION = 1, DNN_HEUR_INSTANT = 0, DNN_HEUR_FALLBACK = 2, DNN_HEUR_A = 3 };
enum { DNN_NOTE_TENSOR_CORE = 0, DNN_NOTE_DOWN_CONVERT = 1, DNN_NOTE_COUNT = 10 };

#define CM__CUDNN_CALLS(X)                                                                                             \
    X(cudnnGetVersion, size_t, (void))                                                                                 \
    X(cudnnGetErrorString, const char *, (int status))                                                                 \
    X(cudnnCreate, int, (dnn_handle * handle))                                                                         \
    X(cudnnDestroy, int, (dnn_handle handle))                                                                          \
    X(cudnnSetStream, int, (dnn_handle handle, cu_stream stream))                                                      \
    X(cudnnBackendCreateDescriptor, int, (int type, dnn_object *object))                                               \
    X(cudnnBackendDestroyDescriptor, int, (dnn_object object))                                                         \
    X(cudnnBackendFinalize, int, (dnn_object object))                                                                  \
    X(cudnnBackendSetAttribute, int, (dnn_object object, int name, int type, int64_t count, const void *values))       \
    X(cudnnBackendGetAttribute, int,                                                                                   \
        (dnn_object object, int name, int type, int64_t wanted, int64_t *count, void *values))                         \
    X(cudnnBackendExecute, int, (dnn_handle handle, dnn_object plan, dnn_object pack))                                 \
    X(cudnnCreateTensorDescriptor, int, (dnn_object * tensor))                                                         \
    X(cudnnDestroyTensorDescriptor, int, (dnn_object tensor))                                                          \
    X(cudnnSetTensor4dDescriptor, int, (dnn_object tensor, int format, int type, int n, int c, int h, int w))          \
    X(cudnnSetTensorNdDescriptor, int,                                                                                 \
        (dnn_object tensor, int type, int count, const int *sizes, const int *strides))                                \
    X(cudnnCreatePoolingDescriptor, int, (dnn_object * pooling))                                                       \
    X(cudnnDestroyPoolingDescriptor, int, (dnn_object pooling))                                                        \
    X(cudnnSetPooling2dDescriptor, int,                                                                                \
        (dnn_object pooling, int mode, int nan_mode, int window_h, int window_w, int pad_h, int pad_w, int stride_h,   \
            int stride_w))                                                                                             \
    X(cudnnPoolingForward, int,                                                                                        \
        (dnn_handle handle, dnn_object pooling, const void *alpha, dnn_object x_desc, const void *x, const void *beta, \
            dnn_object y_desc, void *y))                                                                               \
    X(cudnnPoolingBackward, int,                                                                                       \
        (dnn_handle handle, dnn_object pooling, const void *alpha, dnn_object y_desc, const void *y,                   \
            dnn_object dy_desc, const void *dy, dnn_object x_desc, const void *x, const void *beta,                    \
            dnn_object dx_desc, void *dx))                                                                             \
    X(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, int,                                                   \
        (dnn_handle handle, int mode, int ops, dnn_object x, dnn_object z, dnn_object y, dnn_object params,            \
            dnn_object activation, size_t *bytes))                                                                     \
    X(cudnnGetBatchNormalizationBackwardExWorkspaceSize, int,                                                          \
        (dnn_handle handle, int mode, int ops, dnn_object x, dnn_object y, dnn_object dy, dnn_object dz,               \
            dnn_object dx, dnn_object params, dnn_object activation, size_t *bytes))                                   \
    X(cudnnGetBatchNormalizationTrainingExReserveSpaceSize, int,                                                       \
        (dnn_handle handle, int mode, int ops, dnn_object activation, dnn_object x, size_t *bytes))                    \
    X(cudnnBatchNormalizationForwardTrainingEx, int,                                                                   \
        (dnn_handle handle, int mode, int ops, const void *alpha, const void *beta, dnn_object x_desc, const void *x,  \
            dnn_object z_desc, const void *z, dnn_object y_desc, void *y, dnn_object params, const void *scale,        \
            const void *bias, double factor, void *running_mean, void *running_variance, double epsilon, void *mean,   \
            void *inverse_deviation, dnn_object activation, void *workspace, size_t workspace_bytes, void *reserve,    \
            size_t reserve_bytes))                                                                                     \
    X(cudnnBatchNormalizationBackwardEx, int,                                                                          \
        (dnn_handle handle, int mode, int ops, const void *alpha, const void *beta, const void *alpha_params,          \
            const void *beta_params, dnn_object x_desc, const void *x, dnn_object y_desc, const void *y,               \
            dnn_object dy_desc, const void *dy, dnn_object dz_desc, void *dz, dnn_object dx_desc, void *dx,            \
            dnn_object params, const void *scale, const void *bias, void *d_scale, void *d_bias, double epsilon,       \
            const void *mean, const void *inverse_deviation, dnn_object activation, void *workspace,                   \
            size_t workspace_bytes, void *reserve, size_t reserve_bytes))                                              \
    X(cudnnCreateDropoutDescriptor, int, (dnn_object * dropout))                                                       \
    X(cudnnDestroyDropoutDescriptor, int, (dnn_object dropout))                                                        \
    X(cudnnSetDropoutDescriptor, int,                                                                                  \
        (dnn_object dropout, dnn_handle handle, float rate, void *states, size_t bytes, unsigned long long seed))      \
    X(cudnnCreateRNNDescriptor, int, (dnn_object * rnn))                                                               \
    X(cudnnDestroyRNNDescriptor, int, (dnn_object rnn))                                                                \
    X(cudnnSetRNNDescriptor_v8, int,                                                                                   \
        (dnn_object rnn, int algorithm, int cell, int bias, int direction, int input, int type, int compute, int math, \
            int32_t input_size, int32_t hidden_size, int32_t projection, int32_t layers, dnn_object dropout,           \
            uint32_t flags))                                                                                           \
    X(cudnnCreateRNNDataDescriptor, int, (dnn_object * data))                                                          \
    X(cudnnDestroyRNNDataDescriptor, int, (dnn_object data))                                                           \
    X(cudnnSetRNNDataDescriptor, int,                                                                                  \
        (dnn_object data, int type, int layout, int steps, int batch, int width, const int *lengths, void *fill))      \
    X(cudnnGetRNNTempSpaceSizes, int,                                                                                  \
        (dnn_handle handle, dnn_object rnn, int mode, dnn_object x, size_t *workspace, size_t *reserve))               \
    X(cudnnGetRNNWeightSpaceSize, int, (dnn_handle handle, dnn_object rnn, size_t *bytes))                             \
    X(cudnnGetRNNWeightParams, int,                                                                                    \
        (dnn_handle handle, dnn_object rnn, int32_t layer, size_t bytes, const void *weights, int32_t matrix,          \
            dnn_object m_desc, void **m, dnn_object b_desc, void **b))                                                 \
    X(cudnnRNNForward, int,                                                                                            \
        (dnn_handle handle, dnn_object rnn, int mode, const int32_t *lengths, dnn_object x_desc, const void *x,        \
            dnn_object y_desc, void *y, dnn_object h_desc, const void *hx, void *hy, dnn_object c_desc,                \
            const void *cx, void *cy, size_t weight_bytes, const void *weights, size_t workspace_bytes,                \
            void *workspace, size_t reserve_bytes, void *reserve))                                                     \
    X(cudnnRNNBackwardData_v8, int,                                                                                    \
        (dnn_handle handle, dnn_object rnn, const int32_t *lengths, dnn_object y_desc, const void *y, const void *dy,  \
            dnn_object x_desc, void *dx, dnn_object h_desc, const void *hx, const void *dhy, void *dhx,                \
            dnn_object c_desc, const void *cx, const void *dcy, void *dcx, size_t weight_bytes, const void *weights,   \
            size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve))                             \
    X(cudnnRNNBackwardWeights_v8, int,                                                                                 \
        (dnn_handle handle, dnn_object rnn, int add, const int32_t *lengths, dnn_object x_desc, const void *x,         \
            dnn_object h_desc, const void *hx, dnn_object y_desc, const void *y, size_t weight_bytes, void *dw,        \
            size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve))

typedef struct cm__cudnn {
#define X(field, result, arguments) result(*field) arguments;
    CM__CUDNN_CALLS(X)
#undef X
} cm__cudnn;

#endif
