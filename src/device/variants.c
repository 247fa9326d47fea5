/* SPDX-License-Identifier: Apache-2.0 */
/* variants.c - texts of variants and types. */
#include <string.h>
#include "base/text.h"
#include "device/variants.h"

static const char *const names[] = {
#define VARIANT(id, text) text,
#include "device/variants.def"
    "unknown"};

/* before: it stands before the name ("flash1-mask"), otherwise behind it ("copy:part"). */
static const struct {
    const char *text;
    bool        before;
} forms[CM__FORMS] = {
    [CM__FORM_NONE] = {"", false},       [CM__FORM_PART] = {"part", false},  [CM__FORM_STRIDED] = {"strided", false},
    [CM__FORM_TURNED] = {"turned", false}, [CM__FORM_ROW] = {"row", false},  [CM__FORM_COL] = {"col", false},
    [CM__FORM_PLANE] = {"plane", false}, [CM__FORM_NCHW] = {"nchw", false},  [CM__FORM_NHWC] = {"nhwc", false},
    [CM__FORM_FLASH1] = {"flash1", true}, [CM__FORM_FLASH] = {"flash", true},
    [CM__FORM_EFFICIENT] = {"efficient", true}, [CM__FORM_CUDNN] = {"cudnn", true},
};

static bool is(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && !name[length];
}

/* Names are sorted; -1: none. */
static int name_find(const char *text, size_t length)
{
    int low = 0, high = CM__VARIANT_NAMES;
    while (low < high) {
        int middle = (low + high) / 2, order = strncmp(names[middle], text, length);
        if (!order && !names[middle][length]) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

static int form_find(const char *text, size_t length, bool before)
{
    for (int i = 1; i < CM__FORMS; i++)
        if (forms[i].before == before && is(forms[i].text, text, length)) return i;
    return -1;
}

cm__variant cm__variant_find(const char *text)
{
    size_t length = strcspn(text, ":"), front = strcspn(text, "-");
    int    name = name_find(text, length);
    int    form = text[length] ? form_find(text + length + 1, strlen(text + length + 1), false) : 0;
    if (name < 0 && !text[length]) {
        const char *rest = text + front + (text[front] == '-');
        form = form_find(text, front, true);
        name = name_find(rest, strlen(rest));
    }
    return name < 0 || form < 0 ? CM__NO_VARIANT : (cm__variant)(name * 16 + form);
}

const char *cm__variant_word(cm__variant v) { return names[cm__variant_name(v)]; }

char *cm__variant_text(cm__variant v, char text[CM__CALL_TEXT])
{
    const char *name = cm__variant_word(v), *form = forms[cm__form_of(v)].text;
    bool        before = forms[cm__form_of(v)].before;
    if (before) cm__join(text, CM__CALL_TEXT, form, *name ? "-" : "", name, NULL);
    else cm__join(text, CM__CALL_TEXT, name, *form ? ":" : "", form, NULL);
    return text;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    double      bytes;
    cm_rate     rate;
} types[] = {
    [CM_FP32] = {"fp32", 4, CM_RATE_FP32},   [CM__TF32] = {"tf32", 4, CM_RATE_TF32},
    [CM_BF16] = {"bf16", 2, CM_RATE_BF16},   [CM_FP16] = {"fp16", 2, CM_RATE_FP16},
    [CM_FP64] = {"fp64", 8, CM_RATE_FP64},   [CM_FP8] = {"fp8", 1, CM_RATE_FP8},
    [CM_INT8] = {"int8", 1, CM_RATE_INT8},   [CM_UINT8] = {"uint8", 1, CM_RATE_INT8},
    [CM_INT64] = {"int64", 8, CM_RATE_FP32}, [CM_INT32] = {"int32", 4, CM_RATE_FP32},
    [CM_BOOL] = {"bool", 1, CM_RATE_FP32},   [CM_INT16] = {"int16", 2, CM_RATE_FP32},
    [CM_COMPLEX64] = {"complex64", 8, CM_RATE_FP32}, [CM_STRING] = {"string", 4, CM_RATE_FP32},
    [CM__NO_TYPE - 1] = {"unknown", 4, CM_RATE_FP32}, [CM__NO_TYPE] = {"unknown", 4, CM_RATE_FP32},
};

static int type_find(const char *text, size_t length)
{
    for (int i = 0; i <= CM__TF32; i++)
        if (is(types[i].name, text, length)) return i;
    return -1;
}

cm__types cm__types_find(const char *text)
{
    size_t first = strcspn(text, "+>"), both = strcspn(text, ">");
    int    a = type_find(text, first), b = first < both ? type_find(text + first + 1, both - first - 1) : a,
           c = text[both] ? type_find(text + both + 1, strlen(text + both + 1)) : a;
    return a < 0 || b < 0 || c < 0 ? CM__NO_TYPES : CM__TYPES(a, b, c);
}

char *cm__types_text(cm__types t, char text[CM__CALL_TEXT])
{
    int         a = cm__type_of(t, 0), b = cm__type_of(t, 1), c = cm__type_of(t, -1);
    const char *other = b == a ? "" : types[b].name, *result = c == a && b == a ? "" : types[c].name;
    cm__join(text, CM__CALL_TEXT, types[a].name, *other ? "+" : "", other, *result ? ">" : "", result, NULL);
    return text;
}

double  cm__type_bytes(int type) { return types[type].bytes; }
cm_rate cm__type_rate(cm__types t) { return types[cm__type_of(t, -1)].rate; }
