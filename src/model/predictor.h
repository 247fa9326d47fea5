/* SPDX-License-Identifier: Apache-2.0 */
/* predictor.h - predictions of one step on many devices that share what does not depend on the device. */
#ifndef CM_MODEL_PREDICTOR_H
#define CM_MODEL_PREDICTOR_H

#include "model/step/step.h"
#include "model/execution/execution.h"

/* As cm_predict(), with parts that the caller has computed already. common NULL: none. */
cm_status cm__predict_in(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                         const cm__prepared *prepared, const cm__common *common, cm_prediction **prediction,
                         cm_diag *diag);

cm_prediction_info *cm__prediction_info(cm_prediction *prediction); /* for callers that count samples differently */

/* The fields of a prediction that are known before timing. */
cm_prediction_info cm__prediction_begin(const cm_device *device, const cm_predict_options *options, int64_t batch);

/* As cm_predictor_new(). `common` and `prepared` may be NULL; otherwise `common` and what `prepared` points to must
   outlive the predictor. */
cm_status cm__predictor_new_in(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                               const cm__common *common, const cm__prepared *prepared, cm_predictor **predictor,
                               cm_diag *diag);

/* As cm_predictor_at(), with every call timed at this batch size, not interpolated: the same result as cm_predict(). */
cm_status cm__predictor_exactly(cm_predictor *predictor, int64_t batch, cm_prediction_info *info, cm_diag *diag);

/* True if fewer samples per second than this are sure at a batch size: its slowest calls alone, or the host, take
   longer. Calls that it times are not timed again. The order of the calls is that of the last prediction. */
bool cm__predictor_below(cm_predictor *predictor, int64_t batch, double samples_s);

#endif
