/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - questions that laws ask: a model, how it is trained, a device and a plan. Loaded objects are cached. */
#ifndef CM_TESTS_LAWS_ASK_H
#define CM_TESTS_LAWS_ASK_H

#include "graph/graph.h"
#include "laws.h"

typedef struct law_question {
    const char  *model, *device;
    int64_t      seq;       /* 0: the model's default */
    cm_precision precision;
    cm_recompute recompute;
    cm_runtime   runtime;
    int64_t      batch;     /* per replica and pass; 0: 1 */
    cm_plan      plan;      /* zeroed: one device */
    bool         inference;
    cm_loss_kernel loss_kernel;
    cm_attention attention;
    cm_tuning    tuning;
} law_question;

/* The step and the device of a question, cached until another question replaces them; NULL: refused. Laws do not
   free them. */
const cm_graph  *law_step(const law_question *q);
const cm_device *law_device(const char *id);

/* The prediction; NULL: the question is refused, and law_reason() says why. The caller frees it. */
cm_prediction *law_predict(const law_question *q);
/* Memory of one device at the question's batch; false: refused. */
bool           law_memory(const law_question *q, cm_memory_use *use);
const char    *law_reason(void);

/* The question as text, for messages. */
const char *law_text(const law_question *q);

/* True: the call runs on matrix units: gemm, conv, conv3d, attention, rnn. */
bool   law_is_matrix(const char *call);
/* Parses the sizes in a call's text; returns their number. */
int    law_sizes(const char *call, int64_t *sizes, int most);
/* FLOP of a call without the discount for a causal mask, as graph nodes count them. */
double law_whole_flop(const cm_op_time *op);

#endif
