/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - questions that laws ask: a model, how it is trained, a device and a plan; with what was loaded kept for the next. */
#ifndef CM_TESTS_LAWS_ASK_H
#define CM_TESTS_LAWS_ASK_H

#include "laws.h"

typedef struct law_question {
    const char  *model, *device;
    int64_t      seq;       /* 0: the model's own */
    cm_precision precision;
    cm_recompute recompute;
    cm_runtime   runtime;
    int64_t      batch;     /* of one replica and pass; 0: 1 */
    cm_plan      plan;      /* zeroed: one device */
    bool         inference;
} law_question;

/* The step and the device of a question, kept until the next question needs others; NULL: refused. Never freed by laws. */
const cm_graph  *law_step(const law_question *q);
const cm_device *law_device(const char *id);

/* The prediction, or NULL where the question is refused; law_reason() says why. The caller frees it. */
cm_prediction *law_predict(const law_question *q);
/* Memory of one device at the question's batch; false: refused. */
bool           law_memory(const law_question *q, cm_memory_use *use);
const char    *law_reason(void);

/* The question as text, for messages. */
const char *law_text(const law_question *q);

/* Whether a call is one of the matrix units: gemm, conv, conv3d, attention, rnn. */
bool   law_is_matrix(const char *call);
/* The sizes of a call's text; returns their number. */
int    law_sizes(const char *call, int64_t *sizes, int most);
/* FLOP that a call stands for where a causal mask is not discounted, as nodes count. */
double law_whole_flop(const cm_op_time *op);

#endif
