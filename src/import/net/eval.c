/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - the layer language: integer expressions, names that contain expressions, arguments. */
#include "import/net/net.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* All return false if the result does not exist or overflows. */
static bool op_or(int64_t a, int64_t b, int64_t *r) { return *r = a || b, true; }
static bool op_and(int64_t a, int64_t b, int64_t *r) { return *r = a && b, true; }
static bool op_equal(int64_t a, int64_t b, int64_t *r) { return *r = a == b, true; }
static bool op_differ(int64_t a, int64_t b, int64_t *r) { return *r = a != b, true; }
static bool op_below(int64_t a, int64_t b, int64_t *r) { return *r = a < b, true; }
static bool op_above(int64_t a, int64_t b, int64_t *r) { return *r = a > b, true; }
static bool op_at_most(int64_t a, int64_t b, int64_t *r) { return *r = a <= b, true; }
static bool op_at_least(int64_t a, int64_t b, int64_t *r) { return *r = a >= b, true; }
static bool op_add(int64_t a, int64_t b, int64_t *r) { return !__builtin_add_overflow(a, b, r); }
static bool op_sub(int64_t a, int64_t b, int64_t *r) { return !__builtin_sub_overflow(a, b, r); }
static bool op_mul(int64_t a, int64_t b, int64_t *r) { return !__builtin_mul_overflow(a, b, r); }
static bool op_div(int64_t a, int64_t b, int64_t *r) { return b && !(a == INT64_MIN && b == -1) && (*r = a / b, true); }
static bool op_mod(int64_t a, int64_t b, int64_t *r) { return b && !(a == INT64_MIN && b == -1) && (*r = a % b, true); }

/* Longer names come before names that they begin with. */
static const struct operation {
    const char *name;
    int         binds; /* precedence; higher binds tighter */
    bool (*apply)(int64_t, int64_t, int64_t *);
} operations[] = {
    {"or", 1, op_or},     {"and", 2, op_and},  {"==", 3, op_equal}, {"!=", 3, op_differ}, {"<=", 3, op_at_most},
    {">=", 3, op_at_least}, {"<", 3, op_below}, {">", 3, op_above},  {"+", 4, op_add},     {"-", 4, op_sub},
    {"*", 5, op_mul},     {"/", 5, op_div},    {"%", 5, op_mod},
};
#define COMPARES 3 /* precedence of comparisons: 'not' applies to a whole comparison */

/* ---- expressions ------------------------------------------------------------------------------------------------- */

typedef struct cursor {
    cm__net    *net;
    const char *at, *end;
    int         depth;
} cursor;

static int64_t expression(cursor *c, int binds);

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t')) c->at++;
}

static bool is_word_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The letters and digits at this position: a number or a name. */
static cm__span peek_word(const cursor *c)
{
    const char *p = c->at;
    while (p < c->end && is_word_character(*p)) p++;
    return (cm__span){c->at, (size_t)(p - c->at)};
}

static noreturn void unexpected(cursor *c, const char *wanted)
{
    cm__net_point(c->net, c->at);
    if (c->at == c->end) cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s expected, found the end", wanted);
    cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s expected, found '%s'", wanted,
             cm__net_show(c->net, (cm__span){c->at, (size_t)(c->end - c->at)}));
}

static bool accept(cursor *c, const char *text)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != *text) return false; /* mostly */
    size_t length = strlen(text);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) return false;
    if (text[0] >= 'a' && peek_word(c).length != length) return false; /* "order" is not "or" */
    c->at += length;
    return true;
}

static int64_t number_or_name(cursor *c)
{
    cm__span word = peek_word(c);
    int64_t  value;
    if (!word.length) unexpected(c, "a number or a name");
    cm__net_point(c->net, c->at);
    if (word.text[0] < '0' || word.text[0] > '9') value = cm__net_variable(c->net, word);
    else if (!cm__parse_int(word, &value))
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "'%s' is not a whole number below 2^63", cm__net_show(c->net, word));
    c->at += word.length;
    return value;
}

static int64_t parenthesised(cursor *c)
{
    int64_t value = expression(c, 1);
    if (!accept(c, ")")) unexpected(c, "')'");
    return value;
}

static int64_t negated(cursor *c)
{
    int64_t value = expression(c, 6), result;
    if (op_sub(0, value, &result)) return result;
    cm__net_point(c->net, c->at);
    cm__fail(c->net->ctx, CM_ERR_LIMIT, "a number past 2^63");
}

static int64_t operand(cursor *c)
{
    if (accept(c, "(")) return parenthesised(c);
    if (accept(c, "-")) return negated(c);
    if (accept(c, "not")) return !expression(c, COMPARES);
    return number_or_name(c);
}

static const struct operation *next_operation(cursor *c, int binds)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].binds >= binds && accept(c, operations[i].name)) return &operations[i];
    return NULL;
}

static int64_t apply(cursor *c, const struct operation *o, int64_t left, int64_t right)
{
    int64_t result;
    if (o->apply(left, right, &result)) return result;
    cm__net_point(c->net, c->at);
    if (right == 0) cm__fail(c->net->ctx, CM_ERR_FORMAT, "division by zero");
    cm__fail(c->net->ctx, CM_ERR_LIMIT, "%lld %s %lld is past 2^63", (long long)left, o->name, (long long)right);
}

/* Precedence climbing: operators with at least the precedence `binds`. */
static int64_t expression(cursor *c, int binds)
{
    if (++c->depth > CM__NET_DEPTH) {
        cm__net_point(c->net, c->at);
        cm__fail(c->net->ctx, CM_ERR_LIMIT, "an expression nested more than %d deep", CM__NET_DEPTH);
    }
    int64_t value = operand(c);
    for (const struct operation *o; (o = next_operation(c, binds));)
        value = apply(c, o, value, expression(c, o->binds + 1));
    c->depth--;
    return value;
}

int64_t cm__net_eval(cm__net *net, cm__span text)
{
    cursor  c = {.net = net, .at = text.text, .end = text.text + text.length};
    int64_t value = expression(&c, 1);
    skip_blanks(&c);
    if (c.at != c.end) unexpected(&c, "an operator");
    return value;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_name_character(char c) { return is_word_character(c) || c == '.' || c == '-'; }

static size_t put_number(cm__net *net, cm__span expr, char *out, size_t room)
{
    int written = snprintf(out, room, "%lld", (long long)cm__net_eval(net, expr));
    return written > 0 && (size_t)written < room ? (size_t)written : room;
}

cm__span cm__net_expand(cm__net *net, cm__span name)
{
    char   out[CM__NET_NAME + 1];
    size_t used = 0;
    for (size_t i = 0; i < name.length && used < CM__NET_NAME; i++) {
        const char *close = name.text[i] == '{' ? memchr(name.text + i, '}', name.length - i) : NULL;
        cm__net_point(net, name.text + i);
        if (close) {
            cm__span inner = {name.text + i + 1, (size_t)(close - name.text) - i - 1};
            used += put_number(net, inner, out + used, CM__NET_NAME - used);
            i = (size_t)(close - name.text);
        } else if (is_name_character(name.text[i])) out[used++] = name.text[i];
        else cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' is not a name", cm__net_show(net, name));
    }
    cm__net_point(net, name.text);
    if (!used) cm__fail(net->ctx, CM_ERR_FORMAT, "an empty name");
    if (used >= CM__NET_NAME) cm__fail(net->ctx, CM_ERR_LIMIT, "a name of more than %d characters", CM__NET_NAME);
    if (memchr(name.text, '{', name.length)) name = (cm__span){cm__text_copy_n(net->ctx, out, used), used};
    return name;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

bool cm__net_is_option(cm__span word, cm__span *key, cm__span *value)
{
    const char *equals = memchr(word.text, '=', word.length);
    if (!equals) return false;
    size_t   length = (size_t)(equals - word.text);
    cm__span left = {word.text, length}, right = {equals + 1, word.length - length - 1};
    if (!cm__net_is_identifier(left) || (right.length && right.text[0] == '=')) return false;
    *key = left;
    *value = right;
    return true;
}

static int64_t number(cm__net *net, const cm__net_param *p, cm__span text)
{
    int64_t value = cm__net_eval(net, text);
    cm__net_point(net, text.text);
    if (value < p->least)
        cm__fail(net->ctx, CM_ERR_ARGUMENT, "%s is %lld, at least %lld expected", p->name, (long long)value,
                 (long long)p->least);
    if (value > CM__NET_SIZE)
        cm__fail(net->ctx, CM_ERR_LIMIT, "%s is %lld, at most 2^31 expected", p->name, (long long)value);
    return value;
}

static void append(cm__net *net, const cm__net_param *p, cm__span text, cm__net_value *v)
{
    cm__net_point(net, text.text);
    if (v->count == CM__RANK_MAX) cm__fail(net->ctx, CM_ERR_LIMIT, "%s: more than %d numbers", p->name, CM__RANK_MAX);
    v->ints[v->count++] = number(net, p, text);
}

static void read_list(cm__net *net, const cm__net_param *p, cm__span text, cm__net_value *v)
{
    for (const char *comma; (comma = memchr(text.text, ',', text.length));) {
        size_t length = (size_t)(comma - text.text);
        append(net, p, (cm__span){text.text, length}, v);
        text = (cm__span){comma + 1, text.length - length - 1};
    }
    append(net, p, text, v);
}

static void read_real(cm__net *net, const cm__net_param *p, cm__span text, cm__net_value *v)
{
    if (!cm__parse_real(text, &v->real)) v->real = (double)cm__net_eval(net, text);
    cm__net_point(net, text.text);
    if (v->real < 0 || v->real > 1) cm__fail(net->ctx, CM_ERR_ARGUMENT, "%s must be between 0 and 1", p->name);
}

static void read_int(cm__net *net, const cm__net_param *p, cm__span text, cm__net_value *v)
{
    append(net, p, text, v);
}

static void (*const readers[])(cm__net *, const cm__net_param *, cm__span, cm__net_value *) = {
    [CM__NET_INT] = read_int, [CM__NET_LIST] = read_list, [CM__NET_REST] = read_list, [CM__NET_REAL] = read_real};

static void give(cm__net *net, const cm__net_param *p, cm__span text, cm__net_value *v)
{
    cm__net_point(net, text.text);
    if (v->given && p->kind != CM__NET_REST) cm__fail(net->ctx, CM_ERR_FORMAT, "%s is given twice", p->name);
    v->given = true;
    readers[p->kind](net, p, text, v);
}

static int32_t option_index(cm__net *net, const cm__net_param *params, int32_t n, cm__span key)
{
    const char *names[CM__NET_PARAMS];
    for (int32_t i = 0; i < n; i++) {
        names[i] = params[i].name;
        if (cm__span_is(key, params[i].name)) return i;
    }
    cm__net_unknown(net, "option", key, names, (size_t)n);
}

static void set_default(cm__net *net, const char *owner, const cm__net_param *p, cm__net_value *v)
{
    if (v->given) return;
    cm__net_point(net, NULL);
    if (p->required) cm__fail(net->ctx, CM_ERR_FORMAT, "%s needs '%s'", owner, p->name);
    v->real = p->otherwise;
    v->ints[0] = (int64_t)p->otherwise;
    v->count = 1;
}

/* The next positional parameter; one that takes all remaining words stays the next. */
static int32_t positional_index(cm__net *net, const char *owner, const cm__net_param *params, int32_t n, int32_t *turn,
                                cm__span word)
{
    int32_t index = *turn;
    cm__net_point(net, word.text);
    if (index >= n)
        cm__fail(net->ctx, CM_ERR_FORMAT, "%s takes no more than %d arguments: '%s'", owner, n,
                 cm__net_show(net, word));
    *turn += params[index].kind != CM__NET_REST;
    return index;
}

void cm__net_bind(cm__net *net, const char *owner, const cm__net_param *params, int32_t n, int32_t first,
                  cm__net_value *values)
{
    int32_t turn = 0;
    for (int32_t i = 0; i < n; i++) values[i] = (cm__net_value){.given = false};
    for (int32_t w = first; w < net->line->n_words; w++) {
        cm__span key, text = net->line->words[w];
        int32_t  index = cm__net_is_option(text, &key, &text) ? option_index(net, params, n, key)
                                                              : positional_index(net, owner, params, n, &turn, text);
        give(net, &params[index], text, &values[index]);
    }
    for (int32_t i = 0; i < n; i++) set_default(net, owner, &params[i], &values[i]);
}
