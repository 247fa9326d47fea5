/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - what the rules share that translate operations: shapes, and the rows and operators of the capture. */
#ifndef CM_IMPORT_HLO_RULES_H
#define CM_IMPORT_HLO_RULES_H

#include "import/hlo/hlo.h"

/* A shape whose dimensions may grow with the batch. */
typedef struct cm__hlo_shape {
    int32_t rank;
    int64_t size[CM__RANK_MAX], per_batch[CM__RANK_MAX];
} cm__hlo_shape;

typedef struct cm__hlo_extent {
    int64_t size, per_batch;
} cm__hlo_extent;

/* ---- emit.c -------------------------------------------------------------------------------------------------- */

cm__hlo_shape cm__hlo_shape_of(const cm__hlo_value *v);
void cm__hlo_append(cm__hlo_shape *s, cm__hlo_extent d);
cm__hlo_extent cm__hlo_extent_at(const cm__hlo_shape *s, int64_t i);
cm__hlo_extent cm__hlo_times(const cm__hlo_capture *c, cm__hlo_extent a, cm__hlo_extent b);
bool cm__hlo_same_shape(const cm__hlo_shape *a, const cm__hlo_shape *b);
cm__hlo_shape cm__hlo_permuted(const cm__hlo_shape *s, const int64_t *order);
int32_t cm__hlo_new_row(cm__hlo_capture *c, const cm__hlo_shape *s, cm_dtype dtype, const char *role, const char *name, int32_t storage);
int32_t cm__hlo_storage_of(const cm__hlo_capture *c, int32_t row);
json_t *cm__hlo_new_op(cm__hlo_capture *c, const char *name, const int32_t *in, int32_t n, json_t *attrs);
void cm__hlo_makes(json_t *op, int32_t row);
int32_t cm__hlo_emit(cm__hlo_capture *c, const char *name, const int32_t *in, int32_t n, const cm__hlo_shape *s, cm_dtype dtype, json_t *attrs);
int32_t cm__hlo_emit_view(cm__hlo_capture *c, const char *name, int32_t in, const cm__hlo_shape *s, cm_dtype dtype, json_t *attrs);
json_t *cm__hlo_list_json(const int64_t *list, int32_t n);
int32_t cm__hlo_viewed(cm__hlo_capture *c, int32_t row, const cm__hlo_shape *from, const cm__hlo_shape *to, cm_dtype dtype);
int32_t cm__hlo_ordered(cm__hlo_capture *c, int32_t row, const cm__hlo_shape *from, const int64_t *order, cm_dtype dtype);
json_t *cm__hlo_number_json(double x);
int32_t cm__hlo_in_row(cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i);
cm__hlo_shape cm__hlo_in_shape(const cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i);
cm_dtype cm__hlo_in_type(const cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i);
void cm__hlo_bind(cm__hlo_capture *c, const cm__hlo_equation *e, int32_t i, int32_t row);
int32_t cm__hlo_made_by(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name, const int32_t *in, int32_t n, json_t *attrs);
int32_t cm__hlo_all_operands(cm__hlo_capture *c, const cm__hlo_equation *e, const char *name, json_t *attrs);

/* ---- windows.c ----------------------------------------------------------------------------------------------- */

int32_t cm__hlo_body_of(const cm__hlo_op *op);
void cm__hlo_reduced(cm__hlo_capture *c, const cm__hlo_equation *e);
int32_t cm__hlo_looked_up(cm__hlo_capture *c, const cm__hlo_equation *e);
int32_t cm__hlo_windowed(cm__hlo_capture *c, const cm__hlo_equation *e);

/* ---- products.c ---------------------------------------------------------------------------------------------- */

int32_t cm__hlo_multiplied(cm__hlo_capture *c, const cm__hlo_equation *e);
int32_t cm__hlo_filtered(cm__hlo_capture *c, const cm__hlo_equation *e);

#endif
