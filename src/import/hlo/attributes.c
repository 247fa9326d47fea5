/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.c - find the attributes of an operation in its text. */
#include "import/hlo/hlo.h"

#include <string.h>
#include "base/text.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$' || c == '-';
}

cm__span cm__hlo_after(const cm__hlo_op *op, const char *key)
{
    size_t      length = strlen(key);
    const char *end = op->text.text + op->text.length;
    for (const char *p = op->text.text; p && p + length < end; p++) {
        bool starts = p == op->text.text || !is_word(p[-1]);
        if (starts && memcmp(p, key, length) == 0 && !is_word(p[length])) return (cm__span){p + length, (size_t)(end - p) - length};
    }
    return (cm__span){end, 0};
}

bool cm__hlo_has(const cm__hlo_op *op, const char *word_of) { return cm__hlo_after(op, word_of).length > 0; }

/* From the first bracket to the one that closes it. "array<i64: 1>" begins after its type. */
int32_t cm__hlo_ints(const cm__hlo_op *op, const char *key, int64_t *out, int32_t max)
{
    cm__span rest = cm__hlo_after(op, key);
    size_t   i = 0;
    int32_t  n = 0, depth = 0;
    while (i < rest.length && strchr(" =", rest.text[i])) i++;
    bool array = rest.length - i > 10 && memcmp(rest.text + i, "array<i64:", 10) == 0;
    if (i < rest.length && rest.text[i] != '[' && !array && !(rest.length - i > 6 && memcmp(rest.text + i, "dense<", 6) == 0) &&
        rest.text[i] != 'a')
        return -1;
    if (i >= rest.length) return -1;
    while (i < rest.length && !strchr("[<", rest.text[i])) i++;
    if (array) i += 5; /* <i64: */
    for (depth = array ? 1 : 0; i < rest.length; i++) {
        char c = rest.text[i];
        if (strchr("[<", c)) depth++;
        else if (strchr("]>", c)) {
            if (--depth <= 0) break;
        } else if ((c >= '0' && c <= '9') || c == '-') {
            size_t start = i;
            while (i + 1 < rest.length && rest.text[i + 1] >= '0' && rest.text[i + 1] <= '9') i++;
            int64_t value;
            if (n == max || !cm__parse_int((cm__span){rest.text + start, i - start + 1}, &value)) return -1;
            out[n++] = value;
        }
    }
    return n;
}

int64_t cm__hlo_int(const cm__hlo_op *op, const char *key, int64_t otherwise)
{
    cm__span rest = cm__hlo_after(op, key);
    size_t   i = 0, start;
    int64_t  value;
    while (i < rest.length && strchr(" =", rest.text[i])) i++;
    start = i;
    while (i < rest.length && ((rest.text[i] >= '0' && rest.text[i] <= '9') || (i == start && rest.text[i] == '-'))) i++;
    return cm__parse_int((cm__span){rest.text + start, i - start}, &value) ? value : otherwise;
}
