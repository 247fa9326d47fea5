/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - internal interface of the layer language. net/parse.c parses the lines once, net.c executes them.
   Expressions (net/eval.c) are integers; layers (net/layers.c) emit operators. docs/dev/layer-language.md describes the
   language. */
#ifndef CM_IMPORT_NET_NET_H
#define CM_IMPORT_NET_NET_H

#include <string.h>
#include "import/import.h"

struct cm__net;

#define CM__NET_BYTES   ((size_t)1 << 20) /* longest text */
#define CM__NET_WORDS   64                /* per line */
#define CM__NET_NAME    200               /* characters of a full name, scopes included */
#define CM__NET_DEPTH   32                /* nesting of calls, repeats, ifs and parentheses */
#define CM__NET_NAMES   1024              /* variables, or named tensors, per frame */
#define CM__NET_STEPS   400000            /* lines executed */
#define CM__NET_NODES   100000
#define CM__NET_PARAMS  16                /* per layer or definition */
#define CM__NET_SIZE    ((int64_t)1 << 31) /* largest argument of a layer */

static inline bool cm__net_same(cm__span a, cm__span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

/* ---- lines (net/parse.c) ----------------------------------------------------------------------------------------- */

/* One line: [label:] verb words... [from name] [as name]. An absent part is an empty span. */
typedef struct cm__net_line {
    cm__span  text; /* without its comment; columns in messages count from here */
    int32_t   number;
    cm__span  label, verb, from, as;
    cm__span  rest; /* everything after the verb: titles and expressions */
    cm__span *words;
    int32_t   n_words;
    int32_t   end;       /* if this line opens a part: the line that closes it */
    int32_t   otherwise; /* of an if: its else, or its end */
} cm__net_line;

typedef enum cm__net_form { CM__NET_WORDED, CM__NET_RAW } cm__net_form; /* RAW: `rest` is not split into words */

/* Keywords: the verbs that are not layers. */
typedef struct cm__net_keyword {
    const char  *name;
    cm__net_form form;
    bool         opens; /* the lines up to the matching end belong to it */
    int32_t (*run)(struct cm__net *, int32_t line); /* returns the next line; NULL: handled by the parser */
} cm__net_keyword;

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef enum cm__net_kind {
    CM__NET_INT,  /* one integer */
    CM__NET_LIST, /* "3" or "3,1": one integer per spatial dimension */
    CM__NET_REST, /* all remaining words, one integer each */
    CM__NET_REAL
} cm__net_kind;

typedef struct cm__net_param {
    const char  *name; /* NULL ends a list of parameters */
    cm__net_kind kind;
    bool         required;
    double       otherwise; /* the default */
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

/* The names of one call. Frame 0 is the text outside all definitions; its names are visible everywhere. */
typedef struct cm__net_frame {
    cm__net_table variables, tensors;
} cm__net_frame;

typedef struct cm__net_macro {
    cm__span       name;
    int32_t        line; /* of its def or block */
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
    const cm__net_line *line; /* being executed; NULL: none */
    const char         *place; /* the caller's place, for errors that concern no line */
    cm__net_macro      *macros;
    int32_t             n_macros, cap_macros;
    cm__net_frame       frames[CM__NET_DEPTH + 1];
    int32_t             frame, depth, steps, n_blocks;
    int32_t             current; /* current tensor, -1: no input yet */
    char                scope[CM__NET_NAME + 1]; /* "layer1.0." */
    size_t              scope_length;
    cm__map             names; /* of nodes, to keep them unique */
} cm__net;

void    cm__net_run(cm__net *net, int32_t first, int32_t last); /* lines first to last - 1 */
void    cm__net_enter(cm__net *net);                            /* enter a part; net->depth-- leaves it */
void    cm__net_set_variable(cm__net *net, cm__span name, int64_t value);
int32_t cm__net_tensor(cm__net *net, cm__span word); /* by name; "." is the current tensor */
void    cm__net_name_tensor(cm__net *net, cm__span word, int32_t tensor);
const cm__net_macro *cm__net_macro_find(const cm__net *net, cm__span name); /* NULL: none */

/* ---- layers (net/layers.c) and keywords (net/keywords.c) --------------------------------------------------------- */

/* A layer's row, and one use of it. */
typedef struct cm__net_call {
    cm__net             *net;
    cm_graph            *g;
    const struct cm__net_layer *layer;
    const char          *name; /* name of the node, prefix of its parameters */
    const int32_t       *tensors;
    int32_t              n_tensors;
    const cm__net_value *values; /* one per parameter of the row */
} cm__net_call;

typedef struct cm__net_layer {
    const char *name;
    int32_t (*emit)(const cm__net_call *); /* returns the result tensor */
    int         op;
    int32_t     operands; /* 0: the current tensor; else the number of named tensors, -1: one or more */
    cm__net_param params[CM__NET_PARAMS];
} cm__net_layer;

extern const cm__net_layer   cm__net_layers[];
extern const int32_t         cm__net_n_layers;
extern const cm__net_keyword cm__net_keywords[];
extern const int32_t         cm__net_n_keywords;

/* Layers of net/tokens.c. */
int32_t cm__net_emit_attention(const cm__net_call *c);
int32_t cm__net_emit_slice(const cm__net_call *c);
int32_t cm__net_emit_shift(const cm__net_call *c);
int32_t cm__net_emit_plus(const cm__net_call *c);
int32_t cm__net_emit_embed(const cm__net_call *c);

const cm__net_keyword *cm__net_keyword_find(cm__span name); /* NULL: none */
const cm__net_layer   *cm__net_layer_find(cm__span name);

void cm__net_check_choices(cm__net *net); /* checks that the sizes the user sets are free in this text */

/* Set the position that errors refer to: a span of the current line; NULL: the whole line. Outside lines: the
   caller's place. */
void        cm__net_point(cm__net *net, const char *at);
const char *cm__net_show(cm__net *net, cm__span text); /* made printable */
noreturn void cm__net_unknown(cm__net *net, const char *kind, cm__span name, const char *const *names, size_t count);

void cm__net_parse(cm__net *net, const char *text, size_t size);
bool cm__net_is_identifier(cm__span text);

int64_t  cm__net_eval(cm__net *net, cm__span expression);
int64_t  cm__net_variable(cm__net *net, cm__span name); /* fails if there is none */
cm__span cm__net_expand(cm__net *net, cm__span name);   /* "layer{i}.{2*i}" */
/* Evaluate the words of the current line from `first` on as parameter values. */
void     cm__net_bind(cm__net *net, const char *owner, const cm__net_param *params, int32_t n, int32_t first,
                      cm__net_value *values);
bool     cm__net_is_option(cm__span word, cm__span *key, cm__span *value); /* key=value */

#endif
