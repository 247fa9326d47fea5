/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.h - the layer language from the inside: lines are parsed once (net_parse.c), run as a program (net.c), whose
 * expressions (net_eval.c) are integers and whose layers (net_layers.c) emit operators. docs/layer-language.md is the
 * language itself.
 */
#ifndef CM_IMPORT_NET_H
#define CM_IMPORT_NET_H

#include <string.h>
#include "import/import.h"

struct cm__net;

#define CM__NET_BYTES   ((size_t)1 << 20) /* longest text */
#define CM__NET_WORDS   64                /* in one line */
#define CM__NET_NAME    200               /* characters of a whole name, scopes included */
#define CM__NET_DEPTH   32                /* calls, repeats, ifs and parentheses inside each other */
#define CM__NET_NAMES   1024              /* variables, or named tensors, in one frame */
#define CM__NET_STEPS   400000            /* lines executed */
#define CM__NET_NODES   100000
#define CM__NET_PARAMS  16                /* of one layer or definition */
#define CM__NET_SIZE    ((int64_t)1 << 31) /* largest number a layer takes */

static inline bool cm__net_same(cm__span a, cm__span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

/* ---- lines (net_parse.c) ----------------------------------------------------------------------------------------- */

/* One line: [label:] verb words... [from name] [as name]. A span without text is absent. */
typedef struct cm__net_line {
    cm__span  text; /* without its comment; columns count from here */
    int32_t   number;
    cm__span  label, verb, from, as;
    cm__span  rest; /* all after the verb: titles and expressions */
    cm__span *words;
    int32_t   n_words;
    int32_t   end;       /* of a line that opens a part: the line that closes it */
    int32_t   otherwise; /* of an if: its else, or its end */
} cm__net_line;

typedef enum cm__net_form { CM__NET_WORDED, CM__NET_RAW } cm__net_form; /* RAW: `rest` is not split into words */

/* The words that are not layers. */
typedef struct cm__net_keyword {
    const char  *name;
    cm__net_form form;
    bool         opens; /* lines up to the matching end belong to it */
    int32_t (*run)(struct cm__net *, int32_t line); /* returns the line to go on with; NULL: the parser's, never run */
} cm__net_keyword;

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef enum cm__net_kind {
    CM__NET_INT,  /* one number */
    CM__NET_LIST, /* "3" or "3,1": a number for each spatial dimension */
    CM__NET_REST, /* all words left, a number each */
    CM__NET_REAL
} cm__net_kind;

typedef struct cm__net_param {
    const char  *name; /* NULL ends a list of them */
    cm__net_kind kind;
    bool         required;
    double       otherwise; /* the value where it is not given */
    int64_t      least;
} cm__net_param;

typedef struct cm__net_value {
    bool    given;
    int32_t count;
    int64_t ints[CM__RANK_MAX];
    double  real;
} cm__net_value;

/* ---- the program under way (net.c) ------------------------------------------------------------------------------- */

typedef struct cm__net_binding {
    cm__span name;
    int64_t  value; /* a number, or a tensor's id */
} cm__net_binding;

typedef struct cm__net_table {
    cm__net_binding *rows;
    int32_t          count, capacity;
} cm__net_table;

/* Names of one call; frame 0 is the text outside all definitions, seen from everywhere. */
typedef struct cm__net_frame {
    cm__net_table variables, tensors;
} cm__net_frame;

typedef struct cm__net_macro {
    cm__span       name;
    int32_t        line; /* its def or block */
    bool           is_block;
    cm__net_param *params;
    int32_t        n_params;
} cm__net_macro;

typedef struct cm__net {
    cm__ctx            *ctx;
    cm_graph           *g;
    const cm_load_options *options;
    cm__net_line       *lines;
    int32_t             n_lines, cap_lines;
    const cm__net_line *line; /* under way; NULL: none */
    const char         *place; /* the caller's, for errors about no line */
    cm__net_macro      *macros;
    int32_t             n_macros, cap_macros;
    cm__net_frame       frames[CM__NET_DEPTH + 1];
    int32_t             frame, depth, steps, n_blocks;
    int32_t             current; /* tensor, -1: no input yet */
    char                scope[CM__NET_NAME + 1]; /* "layer1.0." */
    size_t              scope_length;
    cm__map             names; /* of nodes, so that none is used twice */
} cm__net;

void    cm__net_run(cm__net *net, int32_t first, int32_t last); /* lines first to last - 1 */
void    cm__net_enter(cm__net *net);                            /* one part deeper; net->depth-- leaves it */
void    cm__net_set_variable(cm__net *net, cm__span name, int64_t value);
int32_t cm__net_tensor(cm__net *net, cm__span word); /* by its name; "." is the current one */
void    cm__net_name_tensor(cm__net *net, cm__span word, int32_t tensor);
const cm__net_macro *cm__net_macro_find(const cm__net *net, cm__span name); /* NULL: none */

/* ---- layers (net_layers.c) and keywords (net_keywords.c) --------------------------------------------------------- */

/* A layer's row, and one use of it. */
typedef struct cm__net_call {
    cm__net             *net;
    cm_graph            *g;
    const struct cm__net_layer *layer;
    const char          *name; /* of the node; prefix of its parameters */
    const int32_t       *tensors;
    int32_t              n_tensors;
    const cm__net_value *values; /* one for each parameter of the row */
} cm__net_call;

typedef struct cm__net_layer {
    const char *name;
    int32_t (*emit)(const cm__net_call *); /* returns the result */
    int         op;
    int32_t     operands; /* 0: the current tensor; else tensors to be named, -1: one or more */
    cm__net_param params[CM__NET_PARAMS];
} cm__net_layer;

extern const cm__net_layer   cm__net_layers[];
extern const int32_t         cm__net_n_layers;
extern const cm__net_keyword cm__net_keywords[];
extern const int32_t         cm__net_n_keywords;

const cm__net_keyword *cm__net_keyword_find(cm__span name); /* NULL: none */
const cm__net_layer   *cm__net_layer_find(cm__span name);

void cm__net_check_choices(cm__net *net); /* that the sizes the user gives are free in this text */

/* Errors are about this spot of the line under way; NULL: about the line. Outside all lines, what the caller said. */
void        cm__net_point(cm__net *net, const char *at);
const char *cm__net_show(cm__net *net, cm__span text); /* fit to be printed */
noreturn void cm__net_unknown(cm__net *net, const char *kind, cm__span name, const char *const *names, size_t count);

void cm__net_parse(cm__net *net, const char *text, size_t size);
bool cm__net_is_identifier(cm__span text);

int64_t  cm__net_eval(cm__net *net, cm__span expression);
int64_t  cm__net_variable(cm__net *net, cm__span name); /* fails where there is none */
cm__span cm__net_expand(cm__net *net, cm__span name);   /* "layer{i}.{2*i}" */
/* Words `first`... of the line under way as values of parameters. */
void     cm__net_bind(cm__net *net, const char *owner, const cm__net_param *params, int32_t n, int32_t first,
                      cm__net_value *values);
bool     cm__net_is_option(cm__span word, cm__span *key, cm__span *value); /* key=value */

#endif
