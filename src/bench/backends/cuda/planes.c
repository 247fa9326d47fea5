/* SPDX-License-Identifier: Apache-2.0 */
/* planes.c - image tensor descriptors for cuDNN's legacy functions. */
#include "bench/backends/cuda/planes.h"

dnn_object cm__cudnn_image(cm__cuda_case *c, int type, bool channels_last, int64_t n, int64_t channels, int64_t h,
                            int64_t w)
{
    dnn_object t = NULL;
    if (n > INT32_MAX || channels > INT32_MAX || h > INT32_MAX || w > INT32_MAX)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "a size beyond 31 bits");
    DNN(c, cudnnCreateTensorDescriptor, &t);
    int status = c->cu->cudnn.cudnnSetTensor4dDescriptor(t, channels_last ? DNN_NHWC : DNN_NCHW, type, (int)n,
                                                         (int)channels, (int)h, (int)w);
    if (status) c->cu->cudnn.cudnnDestroyTensorDescriptor(t);
    cm__cudnn_need(c, status, "cudnnSetTensor4dDescriptor");
    return t;
}
