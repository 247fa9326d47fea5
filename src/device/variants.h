/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variants.h - variants and types of kernel calls.
 *
 * A variant is a name of variants.def and a form: the way in which the kernel reads memory ("add:row", "max:nhwc"), or the
 * attention kernel that the user names ("efficient-mask"). Both variants and types are numbers; texts have them only in
 * files and output.
 */
#ifndef CM_DEVICE_VARIANTS_H
#define CM_DEVICE_VARIANTS_H

#include "centimani.h"

#define CM__CALL_TEXT 32

typedef enum cm__variant_form {
    CM__FORM_NONE, CM__FORM_PART, CM__FORM_STRIDED, CM__FORM_TURNED, CM__FORM_ROW, CM__FORM_COL, CM__FORM_PLANE,
    CM__FORM_NCHW, CM__FORM_NHWC, CM__FORM_FLASH1, CM__FORM_FLASH, CM__FORM_EFFICIENT, CM__FORM_CUDNN,
    CM__FORMS
} cm__variant_form;

enum {
#define VARIANT(id, text) CM__NAME_##id,
#include "device/variants.def"
    CM__VARIANT_NAMES
};

/* A name with a form. Those without one are CM__V_COPY and so on. */
typedef uint16_t cm__variant;
#define CM__V(name, form) ((cm__variant)(CM__NAME_##name * 16 + CM__FORM_##form))
enum {
#define VARIANT(id, text) CM__V_##id = CM__NAME_##id * 16,
#include "device/variants.def"
    CM__NO_VARIANT = CM__VARIANT_NAMES * 16 /* of a text that is none */
};

static inline int         cm__variant_name(cm__variant v) { return v / 16; }
static inline cm__variant_form    cm__form_of(cm__variant v) { return (cm__variant_form)(v % 16); }
static inline cm__variant cm__variant_in(cm__variant v, cm__variant_form form) { return (cm__variant)(v / 16 * 16 + form); }

static inline bool cm__variant_cumulates(cm__variant v) { return v == CM__V_CUMSUM || v == CM__V_CUMPROD; }

cm__variant cm__variant_find(const char *text);                          /* CM__NO_VARIANT: none */
char       *cm__variant_text(cm__variant v, char text[CM__CALL_TEXT]);   /* returns text */
const char *cm__variant_word(cm__variant v);                             /* the name alone */

/* The type of an operand or a result: a cm_dtype, or fp32 numbers that matrix units round. */
enum { CM__TF32 = CM_DTYPES, CM__NO_TYPE = 15 };

/* Types of the first operand, of all others and of the result. */
typedef uint16_t cm__types;
#define CM__TYPES(first, others, result) ((cm__types)((first) | (others) << 4 | (result) << 8))
#define CM__ALL(type) CM__TYPES(type, type, type)
#define CM__NO_TYPES CM__ALL(CM__NO_TYPE)

/* The type of operand `index`, or of the result: -1. */
static inline int cm__type_of(cm__types t, int index) { return t >> (index < 0 ? 8 : index ? 4 : 0) & 15; }
static inline cm__types cm__types_cast(int from, int to) { return CM__TYPES(from, from, to); }
static inline bool      cm__types_16_bits(cm__types t) { return t == CM__ALL(CM_BF16) || t == CM__ALL(CM_FP16); }

cm__types cm__types_find(const char *text); /* "bf16", "fp32>bf16", "bf16+fp32>fp32"; CM__NO_TYPES: none */
char     *cm__types_text(cm__types t, char text[CM__CALL_TEXT]);
double    cm__type_bytes(int type);
cm_rate   cm__type_rate(cm__types t); /* of the type in which a call with these types computes */

#endif
