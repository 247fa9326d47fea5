/* SPDX-License-Identifier: Apache-2.0 */
/* keywords.c - the layer language: one row per keyword (verbs that are not layers), and its function. */
#include "import/net/net.h"

#include <string.h>
#include "base/text.h"

/* ---- keywords: what the model is --------------------------------------------------------------------------------- */

static int32_t run_title(cm__net *net, int32_t line)
{
    if (!net->line->rest.length) cm__fail(net->ctx, CM_ERR_FORMAT, "a title without words");
    return line + 1;
}

#define SOURCE_LENGTH 2000

/* The text of several source lines is joined. */
static int32_t run_source(cm__net *net, int32_t line)
{
    const char *before = net->g->citation ? net->g->citation : "";
    cm__span    rest = net->line->rest;
    if (strlen(before) + rest.length > SOURCE_LENGTH)
        cm__fail(net->ctx, CM_ERR_LIMIT, "a source of more than %d characters", SOURCE_LENGTH);
    net->g->citation = cm__format(net->ctx, "%s%s%.*s", before, *before ? " " : "", (int)rest.length, rest.text);
    return line + 1;
}

/* The index of the line's only word among `names`; 0 means "not given". */
static int choice(cm__net *net, const char *(*name_of)(int), int first, int count)
{
    const char *names[16];
    const cm__net_line *l = net->line;
    if (l->n_words != 1) cm__fail(net->ctx, CM_ERR_FORMAT, "%s takes one name", cm__net_show(net, l->verb));
    for (int i = first; i < count; i++) {
        names[i] = name_of(i);
        if (cm__span_is(l->words[0], names[i])) return i;
    }
    cm__net_unknown(net, cm__net_show(net, l->verb), l->words[0], names + first, (size_t)(count - first));
}

static const char *optimizer_at(int i) { return cm_optimizer_name((cm_optimizer)i); }
static const char *loss_at(int i) { return cm_loss_name((cm_loss)i); }

static int32_t run_optimizer(cm__net *net, int32_t line)
{
    net->g->optimizer = (cm_optimizer)choice(net, optimizer_at, CM_OPTIMIZER_SGD, CM_OPTIMIZERS);
    return line + 1;
}

static int32_t run_loss(cm__net *net, int32_t line)
{
    net->g->loss = (cm_loss)choice(net, loss_at, CM_LOSS_AUTO, CM_LOSSES);
    return line + 1;
}

/* ---- keywords: tensors ------------------------------------------------------------------------------------------- */

static int32_t run_input(cm__net *net, int32_t line)
{
    static const cm__net_param size = {"size", CM__NET_REST, true, 0, 1};
    const cm__net_line *l = net->line;
    cm__net_value       v;
    cm_dim              dims[CM__RANK_MAX] = {{1, 0}};
    if (!l->n_words) cm__fail(net->ctx, CM_ERR_FORMAT, "input takes a name and sizes, such as: input x 3 224 224");
    cm__span name = cm__net_expand(net, l->words[0]);
    bool tokens = cm__span_is(l->verb, "tokens");
    if (tokens && l->n_words == 1) v.count = 0; /* one number per sample */
    else cm__net_bind(net, "input", &size, 1, 1, &v);
    if (v.count >= CM__RANK_MAX) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d sizes", CM__RANK_MAX - 1);
    for (int32_t i = 0; i < v.count; i++) dims[i + 1] = cm__fixed(v.ints[i]);
    const char *text = cm__text_copy_n(net->ctx, name.text, name.length);
    if (!cm__map_put(&net->names, cm__span_of(text), 0))
        cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' is used already", text);
    net->current = cm__leaf(net->g, text, CM_ROLE_INPUT, tokens ? CM_INT64 : CM_FP32, v.count + 1, dims);
    cm__net_name_tensor(net, l->words[0], net->current);
    return line + 1;
}

static int32_t run_output(cm__net *net, int32_t line)
{
    const cm__net_line *l = net->line;
    if (net->g->n_outputs > CM__NET_NAMES) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d outputs", CM__NET_NAMES);
    if (!l->n_words) cm__output(net->g, cm__net_tensor(net, cm__span_of(".")));
    for (int32_t i = 0; i < l->n_words; i++) cm__output(net->g, cm__net_tensor(net, l->words[i]));
    return line + 1;
}

/* ---- keywords: sizes a user may choose --------------------------------------------------------------------------- */

/* The next "name=value" of the sizes that the user gave; false at the end. */
static bool next_choice(cm__net *net, cm__span *list, cm__span *name, int64_t *value)
{
    if (!list->length) return false;
    const char *comma = memchr(list->text, ',', list->length);
    cm__span    item = {list->text, comma ? (size_t)(comma - list->text) : list->length}, number;
    *list = comma ? (cm__span){comma + 1, list->length - item.length - 1} : (cm__span){item.text, 0};
    bool read = cm__net_is_option(item, name, &number) && cm__parse_int(number, value);
    if (!read || *value < 1 || *value > CM__NET_SIZE)
        cm__fail(net->ctx, CM_ERR_ARGUMENT, "'%s' in the sizes given; name=number expected", cm__net_show(net, item));
    return true;
}

static cm__span choices(const cm__net *net)
{
    return net->options && net->options->dims ? cm__span_of(net->options->dims) : (cm__span){"", 0};
}

/* free NAME VALUE: a variable as by let, unless the user gives another value. */
static int32_t run_free(cm__net *net, int32_t line)
{
    const cm__net_line *l = net->line;
    cm__span            list = choices(net), name;
    int64_t             given, value;
    if (l->n_words != 2) cm__fail(net->ctx, CM_ERR_FORMAT, "free takes a name and its usual value");
    value = cm__net_eval(net, l->words[1]);
    if (cm__span_is(l->words[0], "seq") && net->options && net->options->seq > 0) value = net->options->seq;
    while (next_choice(net, &list, &name, &given))
        if (cm__net_same(name, l->words[0])) value = given;
    cm__net_set_variable(net, l->words[0], value);
    return line + 1;
}

static bool is_free(const cm__net *net, cm__span name)
{
    for (int32_t i = 0; i < net->n_lines; i++) {
        const cm__net_line *l = &net->lines[i];
        if (cm__span_is(l->verb, "free") && l->n_words && cm__net_same(l->words[0], name)) return true;
    }
    return false;
}

void cm__net_check_choices(cm__net *net)
{
    cm__span list = choices(net), name;
    int64_t  value;
    if (net->options && net->options->seq > 0 && !is_free(net, cm__span_of("seq")))
        cm__warn(net->g, "this model has no sequence length: --seq %lld has no effect", (long long)net->options->seq);
    while (next_choice(net, &list, &name, &value))
        if (!is_free(net, name))
            cm__fail(net->ctx, CM_ERR_UNKNOWN, "the model has no free size '%s'", cm__net_show(net, name));
}

/* ---- keywords: the program --------------------------------------------------------------------------------------- */

/* let name = expression */
static int32_t run_let(cm__net *net, int32_t line)
{
    cm__span    rest = net->line->rest;
    const char *equals = rest.length ? memchr(rest.text, '=', rest.length) : NULL;
    if (!equals) cm__fail(net->ctx, CM_ERR_FORMAT, "let takes a name, '=' and a number");
    cm__span name = {rest.text, (size_t)(equals - rest.text)};
    while (name.length && (name.text[name.length - 1] == ' ' || name.text[name.length - 1] == '\t')) name.length--;
    int64_t value = cm__net_eval(net, (cm__span){equals + 1, rest.length - (size_t)(equals - rest.text) - 1});
    cm__net_set_variable(net, name, value);
    return line + 1;
}

static void check_definition(cm__net *net, const cm__net_line *l)
{
    if (!l->n_words || !cm__net_is_identifier(l->words[0]))
        cm__fail(net->ctx, CM_ERR_FORMAT, "%s takes a name and parameters", cm__net_show(net, l->verb));
    cm__net_point(net, l->words[0].text);
    if (cm__net_layer_find(l->words[0]) || cm__net_keyword_find(l->words[0]) || cm__net_macro_find(net, l->words[0]))
        cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' is defined already", cm__net_show(net, l->words[0]));
    if (l->n_words - 1 > CM__NET_PARAMS) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d parameters", CM__NET_PARAMS);
    if (net->n_macros == CM__NET_NAMES) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d definitions", CM__NET_NAMES);
}

static cm__net_param *read_params(cm__net *net, const cm__net_line *l)
{
    cm__net_param *params = cm__alloc_array(net->ctx, (size_t)l->n_words, sizeof *params);
    for (int32_t i = 1; i < l->n_words; i++) {
        cm__span word = l->words[i];
        cm__net_point(net, word.text);
        if (!cm__net_is_identifier(word))
            cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' is not a name", cm__net_show(net, word));
        for (int32_t k = 1; k < i; k++)
            if (cm__net_same(l->words[k], word))
                cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' twice", cm__net_show(net, word));
        params[i - 1] = (cm__net_param){.name = cm__text_copy_n(net->ctx, word.text, word.length), .required = true,
                                        .least = INT64_MIN};
    }
    return params;
}

/* def NAME PARAMETER... and block NAME PARAMETER...; calls of a block are numbered. */
static int32_t run_def(cm__net *net, int32_t line)
{
    const cm__net_line *l = net->line;
    check_definition(net, l);
    cm__net_macro macro = {.name = l->words[0], .line = line, .is_block = cm__span_is(l->verb, "block"),
                           .params = read_params(net, l), .n_params = l->n_words - 1};
    net->macros = cm__grow(net->ctx, net->macros, net->n_macros, &net->cap_macros, sizeof *net->macros);
    net->macros[net->n_macros++] = macro;
    return l->end + 1;
}

/* repeat TIMES [COUNTER]: the counter starts at 0. */
static int32_t run_repeat(cm__net *net, int32_t line)
{
    const cm__net_line *l = net->line;
    if (l->n_words < 1 || l->n_words > 2)
        cm__fail(net->ctx, CM_ERR_FORMAT, "repeat takes how often, and a name to count by");
    int64_t times = cm__net_eval(net, l->words[0]);
    cm__net_point(net, l->words[0].text);
    if (times < 0 || times > CM__NET_STEPS) cm__fail(net->ctx, CM_ERR_LIMIT, "repeat %lld times", (long long)times);
    cm__net_enter(net);
    for (int64_t i = 0; i < times; i++) {
        net->line = l;
        if (++net->steps > CM__NET_STEPS) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d lines to run", CM__NET_STEPS);
        if (l->n_words == 2) cm__net_set_variable(net, l->words[1], i);
        cm__net_run(net, line + 1, l->end);
    }
    net->depth--;
    return l->end + 1;
}

static int32_t run_if(cm__net *net, int32_t line)
{
    const cm__net_line *l = net->line;
    cm__net_enter(net);
    if (cm__net_eval(net, l->rest)) cm__net_run(net, line + 1, l->otherwise);
    else if (l->otherwise < l->end) cm__net_run(net, l->otherwise + 1, l->end);
    net->depth--;
    return l->end + 1;
}

const cm__net_keyword cm__net_keywords[] = {
    {"title", CM__NET_RAW, false, run_title},
    {"source", CM__NET_RAW, false, run_source},
    {"optimizer", CM__NET_WORDED, false, run_optimizer},
    {"loss", CM__NET_WORDED, false, run_loss},
    {"input", CM__NET_WORDED, false, run_input},
    {"tokens", CM__NET_WORDED, false, run_input},
    {"output", CM__NET_WORDED, false, run_output},
    {"free", CM__NET_WORDED, false, run_free},
    {"let", CM__NET_RAW, false, run_let},
    {"def", CM__NET_WORDED, true, run_def},
    {"block", CM__NET_WORDED, true, run_def},
    {"repeat", CM__NET_WORDED, true, run_repeat},
    {"if", CM__NET_RAW, true, run_if},
    {"else", CM__NET_WORDED, false, NULL},
    {"end", CM__NET_WORDED, false, NULL},
};
const int32_t cm__net_n_keywords = (int32_t)(sizeof cm__net_keywords / sizeof *cm__net_keywords);

const cm__net_keyword *cm__net_keyword_find(cm__span name)
{
    for (int32_t i = 0; i < cm__net_n_keywords; i++)
        if (cm__span_is(name, cm__net_keywords[i].name)) return &cm__net_keywords[i];
    return NULL;
}
