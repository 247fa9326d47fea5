/* SPDX-License-Identifier: Apache-2.0 */
/* attributes_of.c - attributes of HLO's instructions, as StableHLO's text has them and rules search for them. */
#include <string.h>
#include "base/text.h"
#include "import/hlo/module.h"

const cm__hlo_attribute *cm__hlo_given(const cm__hlo_instruction *x, const char *key)
{
    for (int32_t i = 0; i < x->n; i++)
        if (cm__span_is(x->of[i].key, key)) return &x->of[i];
    return NULL;
}

static void write(cm__hlo_parser *t, cm__hlo_instruction *x, const char *text)
{
    const char *all = cm__format(t->ctx, "%.*s%s ", (int)x->op.text.length, x->op.text.text, text);
    x->op.text = cm__span_of(all);
}

int32_t cm__hlo_numbers(cm__span s, int32_t each, int64_t *out)
{
    int32_t n = 0, of = 0;
    for (size_t i = 0; i < s.length && n < CM__HLO_LIST_MAX; i++) {
        char c = s.text[i];
        if (c == 'x' || c == ',') {
            for (; each > 1 && of % each && n < CM__HLO_LIST_MAX; of++) out[n++] = 0;
            of = 0;
        }
        size_t start = i;
        while (i < s.length && ((s.text[i] >= '0' && s.text[i] <= '9') || (i == start && s.text[i] == '-'))) i++;
        if (i > start) {
            of++;
            if (!cm__parse_int((cm__span){s.text + start, i - start}, &out[n++])) out[n - 1] = 0;
            i--;
        }
    }
    for (; each > 1 && of % each && n < CM__HLO_LIST_MAX; of++) out[n++] = 0;
    return n;
}

/* " key = [1, 2]": every `step`th number from the first on. */
static void write_list(cm__hlo_parser *t, cm__hlo_instruction *x, const char *key, const int64_t *list, int32_t n, int32_t first, int32_t step)
{
    const char *text = cm__format(t->ctx, "%s = [", key);
    for (int32_t i = first; i < n; i += step) text = cm__format(t->ctx, "%s%s%lld", text, i > first ? ", " : "", (long long)list[i]);
    write(t, x, cm__format(t->ctx, "%s]", text));
}

/* window={size=3x3 stride=2x2 pad=1_1x1_1}: of a convolution, or of a window that is reduced. */
static void write_window(cm__hlo_parser *t, cm__hlo_instruction *x, cm__span value)
{
    static const struct {
        const char *key, *filter, *window;
        int32_t     each;
    } keys[] = {{"size", "size", "window_dimensions", 1}, {"stride", "stride", "window_strides", 1}, {"pad", "pad", "padding", 2},
                {"lhs_dilate", "lhs_dilate", "base_dilations", 1}, {"rhs_dilate", "rhs_dilate", "window_dilations", 1}};
    bool filters = x->op.kind == CM__HLO_convolution;
    int64_t list[CM__HLO_LIST_MAX];
    for (size_t i = 0; i < value.length;) {
        size_t start = i;
        while (i < value.length && value.text[i] != '=') i++;
        cm__span key = {value.text + start, i - start};
        start = ++i;
        while (i < value.length && value.text[i] != ' ') i++;
        for (size_t k = 0; k < sizeof keys / sizeof *keys && i > start; k++)
            if (cm__span_is(key, keys[k].key)) {
                int32_t n = cm__hlo_numbers((cm__span){value.text + start, i - start}, keys[k].each, list);
                write_list(t, x, filters ? keys[k].filter : keys[k].window, list, n, 0, 1);
            }
        i++;
    }
}

/* dim_labels=b01f_01io->b01f */
static void write_labels(cm__hlo_parser *t, cm__hlo_instruction *x, cm__span value)
{
    const char *text = "dim_numbers = [";
    for (size_t i = 0; i < value.length && i < 64; i++) {
        char c = value.text[i];
        if (c == '-') continue;
        bool next = c == '_' || c == '>';
        text = next ? cm__format(t->ctx, "%s]%s[", text, c == '_' ? "x" : "->") : cm__format(t->ctx, "%s%c, ", text, c);
    }
    write(t, x, cm__format(t->ctx, "%s]", text));
}

/* lhs_contracting_dims={1}, rhs_contracting_dims={0} */
static void write_pair(cm__hlo_parser *t, cm__hlo_instruction *x, const char *left, const char *right, const char *key)
{
    const cm__hlo_attribute *a = cm__hlo_given(x, left), *b = cm__hlo_given(x, right);
    int64_t          list[CM__HLO_LIST_MAX];
    if (!a || !b) return;
    write_list(t, x, key, list, cm__hlo_numbers(a->value, 1, list), 0, 1);
    const char *text = cm__format(t->ctx, "%.*sx [", (int)x->op.text.length, x->op.text.text);
    int32_t     n = cm__hlo_numbers(b->value, 1, list);
    for (int32_t i = 0; i < n; i++) text = cm__format(t->ctx, "%s%s%lld", text, i ? ", " : "", (long long)list[i]);
    x->op.text = cm__span_of(cm__format(t->ctx, "%s] ", text));
}

static void write_plain(cm__hlo_parser *t, cm__hlo_instruction *x, const cm__hlo_attribute *a)
{
    int64_t list[CM__HLO_LIST_MAX];
    if (a->value.length && a->value.text[0] == '{')
        write_list(t, x, cm__hlo_copied(t, a->key), list, cm__hlo_numbers(a->value, 1, list), 0, 1);
    else write(t, x, cm__format(t->ctx, "%s = %s", cm__hlo_copied(t, a->key), cm__hlo_copied(t, a->value)));
}

/* slice={[0:1], [0:64:2]} */
static void write_ranges(cm__hlo_parser *t, cm__hlo_instruction *x, cm__span value)
{
    char *text = cm__text_copy_n(t->ctx, value.text, value.length);
    size_t n = 0;
    for (size_t i = 0; i < value.length; i++)
        if (!strchr("[]", text[i])) text[n++] = text[i];
    text[n] = 0;
    write(t, x, cm__format(t->ctx, "[%s]", text));
}

static void write_dimensions(cm__hlo_parser *t, cm__hlo_instruction *x, cm__span value)
{
    int64_t list[CM__HLO_LIST_MAX] = {0};
    int32_t n = cm__hlo_numbers(value, 1, list);
    bool    one = x->op.kind == CM__HLO_concatenate || x->op.kind == CM__HLO_sort;
    bool    order = x->op.kind == CM__HLO_broadcast_in_dim || x->op.kind == CM__HLO_transpose || x->op.kind == CM__HLO_reverse;
    if (one) write(t, x, cm__format(t->ctx, "dimension = %lld", (long long)list[0]));
    else write_list(t, x, order ? "dims" : "dimensions", list, n, 0, 1);
}

void cm__hlo_write_attributes(cm__hlo_parser *t, cm__hlo_instruction *x)
{
    static const char *const unread[] = {"metadata", "backend_config", "frontend_attributes", "to_apply", "calls", "body",
                                         "condition", "branch_computations", "true_computation", "false_computation", "select",
                                         "scatter", "index", "control-predecessors", "origin"};
    int64_t list[CM__HLO_LIST_MAX];
    write_pair(t, x, "lhs_batch_dims", "rhs_batch_dims", "batching_dims");
    write_pair(t, x, "lhs_contracting_dims", "rhs_contracting_dims", "contracting_dims");
    for (int32_t i = 0; i < x->n; i++) {
        const cm__hlo_attribute *a = &x->of[i];
        bool             skipped = false;
        for (size_t k = 0; k < sizeof unread / sizeof *unread; k++) skipped |= cm__span_is(a->key, unread[k]);
        if (skipped || (a->key.length > 2 && memcmp(a->key.text + 1, "hs_", 3) == 0)) continue;
        if (cm__span_is(a->key, "window")) write_window(t, x, cm__hlo_inside(a->value));
        else if (cm__span_is(a->key, "dim_labels")) write_labels(t, x, a->value);
        else if (cm__span_is(a->key, "slice")) write_ranges(t, x, cm__hlo_inside(a->value));
        else if (cm__span_is(a->key, "dimensions")) write_dimensions(t, x, a->value);
        else if (cm__span_is(a->key, "sharding")) {
            if (x->op.kind == CM__HLO_custom_call) write(t, x, cm__format(t->ctx, "mhlo.sharding = \"%s\"", cm__hlo_copied(t, a->value)));
        } else if (cm__span_is(a->key, "custom_call_target")) write(t, x, cm__format(t->ctx, "@%s", cm__hlo_copied(t, cm__hlo_inside(a->value))));
        else if (cm__span_is(a->key, "padding") && x->op.kind == CM__HLO_pad) {
            int32_t n = cm__hlo_numbers(a->value, 3, list);
            write_list(t, x, "low", list, n, 0, 3);
            write_list(t, x, "high", list, n, 1, 3);
            write_list(t, x, "interior", list, n, 2, 3);
        } else write_plain(t, x, a);
    }
}

/* constant(1e-05), constant({...}) */
void cm__hlo_write_constant(cm__hlo_parser *t, cm__hlo_instruction *x)
{
    cm__span    s = x->literal;
    const char *number = cm__span_is(s, "inf") || cm__span_is(s, "nan") ? "0x7F800000" : cm__span_is(s, "-inf") ? "0xFF800000" : cm__hlo_copied(t, s);
    bool        list = memchr(s.text, '{', s.length) != NULL;
    write(t, x, list ? "dense<[]>" : cm__format(t->ctx, "dense<%s>", number));
}
