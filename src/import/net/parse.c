/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - the layer language: split text into lines and words, and match each 'end' with its opening line. */
#include "import/net/net.h"

#include <string.h>
#include "base/text.h"

#define SHOWN 40 /* most characters of the user's text in a message */

void cm__net_point(cm__net *net, const char *at)
{
    const cm__net_line *l = net->line;
    if (!l) cm__place(net->ctx, "%s", net->place);
    else if (at && at >= l->text.text && at <= l->text.text + l->text.length)
        cm__place_numbers(net->ctx, "line %d, column %d", l->number, (int)(at - l->text.text) + 1);
    else cm__place_numbers(net->ctx, "line %d", l->number, 0);
}

const char *cm__net_show(cm__net *net, cm__span text)
{
    size_t length = text.length < SHOWN ? text.length : SHOWN;
    char  *copy = cm__text_copy_n(net->ctx, text.text, length);
    for (size_t i = 0; i < length; i++)
        if (copy[i] < ' ' || copy[i] > '~') copy[i] = '?';
    return copy;
}

void cm__net_unknown(cm__net *net, const char *kind, cm__span name, const char *const *names, size_t count)
{
    const char *shown = cm__net_show(net, name), *near = cm__nearest(shown, names, count);
    cm__net_point(net, name.text);
    if (near) cm__fail(net->ctx, CM_ERR_UNKNOWN, "unknown %s '%s'; did you mean '%s'?", kind, shown, near);
    cm__fail(net->ctx, CM_ERR_UNKNOWN, "unknown %s '%s'", kind, shown);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool cm__net_is_identifier(cm__span text)
{
    static const char *const reserved[] = {"and", "or", "not", "from", "as"};
    if (!text.length || text.length > CM__NET_NAME || !is_letter(text.text[0])) return false;
    for (size_t i = 0; i < text.length; i++)
        if (!is_letter(text.text[i]) && !(text.text[i] >= '0' && text.text[i] <= '9')) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (cm__span_is(text, reserved[i])) return false;
    return true;
}

static cm__span trim(cm__span s)
{
    while (s.length && is_blank(s.text[0])) s.text++, s.length--;
    while (s.length && is_blank(s.text[s.length - 1])) s.length--;
    return s;
}

/* A line without its comment. '#' starts one only at the start or after a blank, so that URLs may contain it. */
static cm__span code_of(cm__span s)
{
    for (size_t i = 0; i < s.length; i++)
        if (s.text[i] == '#' && (i == 0 || is_blank(s.text[i - 1]))) s.length = i;
    return s;
}

/* Take the first word off `rest`. Blanks inside parentheses and braces do not end a word. */
static cm__span next_word(cm__net *net, cm__span *rest)
{
    *rest = trim(*rest);
    size_t length = 0;
    int    depth = 0;
    for (; length < rest->length && (depth > 0 || !is_blank(rest->text[length])); length++) {
        char c = rest->text[length];
        depth += (c == '(' || c == '{') - (c == ')' || c == '}');
        if (depth < 0) break;
    }
    if (depth) {
        cm__net_point(net, rest->text);
        cm__fail(net->ctx, CM_ERR_FORMAT, "unbalanced brackets in '%s'", cm__net_show(net, *rest));
    }
    cm__span word = {rest->text, length};
    *rest = trim((cm__span){rest->text + length, rest->length - length});
    return word;
}

static void split_words(cm__net *net, cm__net_line *l)
{
    cm__span words[CM__NET_WORDS], rest = l->rest;
    while (rest.length) {
        cm__span word = next_word(net, &rest);
        if (l->n_words == CM__NET_WORDS) {
            cm__net_point(net, word.text);
            cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d words in a line", CM__NET_WORDS);
        }
        words[l->n_words++] = word;
    }
    l->words = cm__alloc_array(net->ctx, (size_t)l->n_words, sizeof *words);
    if (l->n_words) memcpy(l->words, words, (size_t)l->n_words * sizeof *words);
}

/* "... from x as y": take both off the end of the words, in either order. */
static void take_names(cm__net *net, cm__net_line *l)
{
    while (l->n_words >= 2) {
        cm__span  key = l->words[l->n_words - 2];
        cm__span *slot = cm__span_is(key, "from") ? &l->from : cm__span_is(key, "as") ? &l->as : NULL;
        if (!slot) return;
        if (slot->text) {
            cm__net_point(net, key.text);
            cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' twice in one line", cm__net_show(net, key));
        }
        *slot = l->words[l->n_words - 1];
        l->n_words -= 2;
    }
}

/* A line that only names or selects a tensor has no verb. */
static bool is_naming(cm__span verb) { return cm__span_is(verb, "from") || cm__span_is(verb, "as"); }

static void parse_line(cm__net *net, cm__net_line *l)
{
    cm__span rest = l->text, word = next_word(net, &rest);
    if (word.length > 1 && word.text[word.length - 1] == ':') {
        l->label = (cm__span){word.text, word.length - 1};
        word = next_word(net, &rest);
    }
    l->verb = word;
    l->rest = rest;
    const cm__net_keyword *k = cm__net_keyword_find(word);
    if (k && l->label.text) {
        cm__net_point(net, l->label.text);
        cm__fail(net->ctx, CM_ERR_FORMAT, "a label before '%s'; only layers and calls have labels", k->name);
    }
    if (k && k->form == CM__NET_RAW) return;
    if (is_naming(word)) l->rest = (cm__span){word.text, (size_t)(rest.text - word.text) + rest.length};
    split_words(net, l);
    if (!k) take_names(net, l);
    if (is_naming(word)) l->verb = l->n_words ? word : (cm__span){word.text, 0};
    if (!l->verb.length && (l->label.text || l->n_words || !(l->from.text || l->as.text))) {
        cm__net_point(net, word.text);
        cm__fail(net->ctx, CM_ERR_FORMAT, "a label without a layer");
    }
}

static void add_line(cm__net *net, cm__span text, int32_t number)
{
    cm__span code = code_of(text);
    if (!trim(code).length) return;
    net->lines = cm__grow(net->ctx, net->lines, net->n_lines, &net->cap_lines, sizeof *net->lines);
    cm__net_line *l = &net->lines[net->n_lines++];
    *l = (cm__net_line){.text = code, .number = number};
    net->line = l;
    cm__net_point(net, NULL);
    parse_line(net, l);
}

typedef struct openings {
    int32_t line[CM__NET_DEPTH];
    int32_t depth;
} openings;

static void open_part(cm__net *net, openings *open, int32_t line)
{
    cm__span verb = net->lines[line].verb;
    if (open->depth && (cm__span_is(verb, "def") || cm__span_is(verb, "block")))
        cm__fail(net->ctx, CM_ERR_FORMAT, "a definition inside another part; move it outside");
    if (open->depth == CM__NET_DEPTH) cm__fail(net->ctx, CM_ERR_LIMIT, "parts nested more than %d deep", CM__NET_DEPTH);
    open->line[open->depth++] = line;
}

static void close_part(cm__net *net, openings *open, int32_t line)
{
    if (!open->depth) cm__fail(net->ctx, CM_ERR_FORMAT, "'end' without def, block, repeat or if");
    cm__net_line *opening = &net->lines[open->line[--open->depth]];
    opening->end = line;
    if (!opening->otherwise) opening->otherwise = line;
}

static void start_else(cm__net *net, openings *open, int32_t line)
{
    cm__net_line *opening = open->depth ? &net->lines[open->line[open->depth - 1]] : NULL;
    if (!opening || !cm__span_is(opening->verb, "if") || opening->otherwise)
        cm__fail(net->ctx, CM_ERR_FORMAT, "'else' without an if before it");
    opening->otherwise = line;
}

static void match_ends(cm__net *net)
{
    openings open = {.depth = 0};
    for (int32_t i = 0; i < net->n_lines; i++) {
        net->line = &net->lines[i];
        cm__net_point(net, NULL);
        const cm__net_keyword *k = cm__net_keyword_find(net->line->verb);
        if (k && k->opens) open_part(net, &open, i);
        if (cm__span_is(net->line->verb, "end")) close_part(net, &open, i);
        if (cm__span_is(net->line->verb, "else")) start_else(net, &open, i);
    }
    if (!open.depth) return;
    net->line = &net->lines[open.line[open.depth - 1]];
    cm__net_point(net, NULL);
    cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' without an end", cm__net_show(net, net->line->verb));
}

void cm__net_parse(cm__net *net, const char *text, size_t size)
{
    if (size > CM__NET_BYTES)
        cm__fail(net->ctx, CM_ERR_LIMIT, "%zu bytes; a layer description has at most %zu", size, CM__NET_BYTES);
    int32_t number = 1;
    for (size_t at = 0; at < size; number++) {
        const char *stop = memchr(text + at, '\n', size - at);
        size_t      length = stop ? (size_t)(stop - text) - at : size - at;
        add_line(net, (cm__span){text + at, length}, number);
        at += length + 1;
    }
    match_ends(net);
    net->line = NULL;
    cm__net_point(net, NULL);
}
