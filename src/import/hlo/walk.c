/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - run over a step's operations without their numbers: calls are inlined, loops unrolled.
 *
 * A loop ends if its test is known, so whole numbers are computed where they are known. Layers of stacked weights that a loop
 * slices are tensors of their own, as are the results that it stacks: later loops read them one by one.
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "import/hlo/hlo.h"

#define CALLS_MAX 64
#define EQUATIONS_MAX 1000000
#define ITERATIONS_MAX 100000
#define LAYERS_MAX 4096 /* layers of a stack of weights whose slices are remembered */
#define WORK_MAX 10000000
#define CELLS_MAX 10000000

typedef struct place {
    const cm__hlo_function *function;
    int32_t                *env; /* the value of each name of the text, by its number */
    int32_t                 depth, number, iteration;
} place;

noreturn void cm__hlo_refuse(cm__ctx *ctx, const cm__hlo_op *op, const char *why)
{
    cm__place(ctx, "line %d", op->line);
    cm__fail(ctx, CM_ERR_UNSUPPORTED, "%.*s: %s", (int)(op->name.length > 64 ? 64 : op->name.length), op->name.text, why);
}

void cm__hlo_warn(cm__hlo_step *s, const char *text)
{
    for (int32_t i = 0; i < s->n_warnings; i++)
        if (strcmp(s->warnings[i], text) == 0) return;
    s->warnings = cm__grow(s->ctx, s->warnings, s->n_warnings, &s->cap_warnings, sizeof *s->warnings);
    s->warnings[s->n_warnings++] = text;
}

bool cm__hlo_is_product(const cm__hlo_equation *e)
{
    cm__hlo_kind kind = cm__hlo_kind_of(e->op);
    return kind == CM__HLO_product || kind == CM__HLO_filter;
}

static void work(cm__hlo_step *s, const cm__hlo_op *op, int64_t amount)
{
    s->work += amount;
    if (s->work > WORK_MAX) cm__hlo_refuse(s->ctx, op, "the step has too many operations with its loops unrolled");
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

int32_t cm__hlo_value_new(cm__hlo_step *s, cm__hlo_type type)
{
    s->values = cm__grow_unset(s->ctx, s->values, s->n_values, &s->cap_values, sizeof *s->values, 1024);
    s->values[s->n_values] = (cm__hlo_value){.type = type, .maker = -1, .leaf = -1, .part = -1, .row = -1, .same = s->n_values};
    return s->n_values++;
}

static bool same_shape(const cm__hlo_type *a, const cm__hlo_type *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static int32_t add_typed(cm__hlo_step *s, const cm__hlo_op *op, const int32_t *in, int32_t n_in, const cm__hlo_type *types, int32_t n_out,
                         const place *p)
{
    if (s->n_equations >= EQUATIONS_MAX) cm__hlo_refuse(s->ctx, op, "the step has too many operations with its loops unrolled");
    s->equations = cm__grow_unset(s->ctx, s->equations, s->n_equations, &s->cap_equations, sizeof *s->equations, 1024);
    int32_t *inputs = cm__alloc_array(s->ctx, (size_t)n_in + 1, sizeof *inputs);
    memcpy(inputs, in, (size_t)n_in * sizeof *inputs);
    s->equations[s->n_equations] = (cm__hlo_equation){.op = op, .in = inputs, .n_in = n_in, .first = s->n_values, .n_out = n_out,
                                                      .place = p->number, .iteration = p->iteration, .segment = -1};
    for (int32_t i = 0; i < n_out; i++) {
        int32_t made = cm__hlo_value_new(s, types[i]);
        s->values[made].maker = s->n_equations;
    }
    return s->equations[s->n_equations++].first;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

static void read_constant(const cm__hlo_op *op, cm__hlo_value *v)
{
    const char *text = op->text.text, *end = text + op->text.length, *start = memchr(text, '<', op->text.length);
    if (!start || ++start >= end || *start == '[' || *start == '"') return;
    const char *stop = memchr(start, '>', (size_t)(end - start));
    cm__span    number = {start, stop ? (size_t)(stop - start) : 0};
    int64_t     whole;
    v->known = true;
    if (cm__span_is(number, "true") || cm__span_is(number, "false")) v->number = number.text[0] == 't';
    else if (number.length > 2 && number.text[0] == '0' && number.text[1] == 'x') { /* bits of infinities and of no number */
        char first = number.text[2];
        v->number = first == 'F' || first == 'f' ? -INFINITY : INFINITY;
    } else if (cm__parse_int(number, &whole)) v->number = (double)whole;
    else v->known = cm__parse_real(number, &v->number);
}

static bool compares(const cm__hlo_op *op, double a, double b)
{
    return cm__hlo_has(op, "LT")   ? a < b
           : cm__hlo_has(op, "LE") ? a <= b
           : cm__hlo_has(op, "GT") ? a > b
           : cm__hlo_has(op, "GE") ? a >= b
           : cm__hlo_has(op, "EQ") ? a == b
                                   : a != b;
}

static bool whole(const cm__hlo_value *v) { return v->type.dtype != CM_FP32 && v->type.dtype != CM_BF16 && v->type.dtype != CM_FP16; }

static bool computed(const cm__hlo_op *op, const cm__hlo_value *y, double a, double b, double *number)
{
    switch (op->kind) {
    case CM__HLO_add: *number = a + b; break;
    case CM__HLO_subtract: *number = a - b; break;
    case CM__HLO_multiply: *number = a * b; break;
    case CM__HLO_divide: *number = whole(y) && b != 0 ? trunc(a / b) : a / b; break;
    case CM__HLO_remainder: *number = b != 0 ? fmod(a, b) : 0; break;
    case CM__HLO_maximum: *number = fmax(a, b); break;
    case CM__HLO_minimum: *number = fmin(a, b); break;
    case CM__HLO_compare: *number = compares(op, a, b); break;
    case CM__HLO_and: *number = a != 0 && b != 0; return y->type.dtype == CM_BOOL;
    case CM__HLO_or: *number = a != 0 || b != 0; return y->type.dtype == CM_BOOL;
    default: return false;
    }
    return true;
}

static void fold(cm__hlo_step *s, const cm__hlo_equation *e)
{
    cm__hlo_value *y = cm__hlo_out(s, e);
    const cm__hlo_op *op = e->op;
    if (op->kind == CM__HLO_constant) read_constant(op, y);
    for (int32_t i = 0; i < e->n_in; i++)
        if (!cm__hlo_in(s, e, i)->known) {
            bool chosen = op->kind == CM__HLO_select && cm__hlo_in(s, e, 0)->known;
            const cm__hlo_value *x = chosen ? cm__hlo_in(s, e, cm__hlo_in(s, e, 0)->number != 0 ? 1 : 2) : NULL;
            if (x && x->known) y->known = true, y->number = x->number;
            return;
        }
    if (!e->n_in || e->n_out != 1) return;
    double a = cm__hlo_in(s, e, 0)->number, b = e->n_in > 1 ? cm__hlo_in(s, e, 1)->number : 0;
    cm__hlo_kind kind = cm__hlo_kind_of(op);
    bool         spreads = kind == CM__HLO_spread || kind == CM__HLO_view || kind == CM__HLO_order || kind == CM__HLO_cast;
    y->number = a;
    y->known = spreads || (e->n_in == 2 && computed(op, y, a, b, &y->number));
    if (op->kind == CM__HLO_negate) y->known = true, y->number = -a;
    if (op->kind == CM__HLO_not && y->type.dtype == CM_BOOL) y->known = true, y->number = a == 0;
    if (op->kind == CM__HLO_select && e->n_in == 3) y->known = true, y->number = a != 0 ? b : cm__hlo_in(s, e, 2)->number;
    if (kind == CM__HLO_cast && y->known && whole(y)) y->number = y->type.dtype == CM_BOOL ? a != 0 : trunc(a);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------- */

static bool is_real(const cm__hlo_value *v) { return !whole(v) || v->type.dtype == CM_FP64; }

/* The layer that a slice takes of a stack: all other dimensions are whole. -1: it is no layer. */
static int64_t layer_of(const cm__hlo_value *x, const cm__hlo_type *made, int64_t start)
{
    const cm__hlo_type *t = &x->type;
    if (t->rank < 1 || t->rank != made->rank || made->dims[0] != 1 || t->dims[0] < 2 || t->dims[0] > LAYERS_MAX) return -1;
    for (int32_t i = 1; i < t->rank; i++)
        if (t->dims[i] != made->dims[i]) return -1;
    return start < 0 ? 0 : start >= t->dims[0] ? t->dims[0] - 1 : start;
}

static int32_t *parts_of(cm__hlo_step *s, int32_t value)
{
    cm__hlo_value *v = &s->values[value];
    if (!v->parts) {
        s->cells += v->type.dims[0];
        if (s->cells > CELLS_MAX) cm__fail(s->ctx, CM_ERR_LIMIT, "loops stack too many results");
        v->parts = cm__alloc_array(s->ctx, (size_t)v->type.dims[0], sizeof *v->parts);
        for (int64_t i = 0; i < v->type.dims[0]; i++) v->parts[i] = -1;
    }
    return v->parts;
}

/* An operation that the text does not have, in the place of one that it has. */
static const cm__hlo_op *instead(cm__hlo_step *s, const cm__hlo_op *op, int32_t kind)
{
    cm__hlo_op *own = cm__alloc(s->ctx, sizeof *own);
    *own = *op;
    own->kind = kind;
    own->text.length = 0;
    return own;
}

/* A layer of a stack as a tensor: of an argument, of its cast, or what a loop has stacked. -1: a slice takes it. Slices have a first
   dimension of one, layers do not. */
static int32_t layer(cm__hlo_step *s, const cm__hlo_op *op, int32_t value, int64_t at, const cm__hlo_type *type, const place *p)
{
    cm__hlo_type own = {.dtype = type->dtype, .rank = type->rank - 1, .is_tensor = true, .dims = type->dims + 1};
    const cm__hlo_value    *v = &s->values[value];
    const cm__hlo_equation *maker = v->maker >= 0 ? &s->equations[v->maker] : NULL;
    if (v->parts && v->parts[at] >= 0) return v->parts[at];
    if (v->leaf >= 0 && v->part < 0 && is_real(v)) {
        int32_t part = cm__hlo_value_new(s, own), leaf = s->values[value].leaf;
        s->values[part].leaf = leaf;
        s->values[part].part = (int32_t)at;
        s->stacked[leaf] = 1;
        int32_t made = add_typed(s, instead(s, op, CM__HLO_reshape), &part, 1, type, 1, p);
        parts_of(s, value)[at] = made;
        return made;
    }
    if (!maker || cm__hlo_kind_of(maker->op) != CM__HLO_cast) return -1;
    const cm__hlo_value *from = cm__hlo_in(s, maker, 0);
    if (from->leaf < 0 || from->part >= 0 || !is_real(from)) return -1;
    cm__hlo_type whole_type = *type;
    whole_type.dtype = from->type.dtype;
    const cm__hlo_op *cast = maker->op;
    int32_t           view = layer(s, op, maker->in[0], at, &whole_type, p), part = s->equations[s->values[view].maker].in[0];
    int32_t           narrow = add_typed(s, cast, &part, 1, &own, 1, p);
    int32_t           made = add_typed(s, instead(s, op, CM__HLO_reshape), &narrow, 1, type, 1, p);
    parts_of(s, value)[at] = made;
    return made;
}

/* A loop writes one layer of a stack. */
static bool replaces_layer(cm__hlo_step *s, const int32_t *in, int32_t n_in, int32_t made)
{
    if (n_in < 3 || !s->values[in[2]].known) return false;
    int64_t at = layer_of(&s->values[in[0]], &s->values[in[1]].type, (int64_t)s->values[in[2]].number);
    if (at < 0) return false;
    int32_t *before = s->values[in[0]].parts, *parts = parts_of(s, made);
    for (int64_t i = 0; before && i < s->values[made].type.dims[0]; i++) parts[i] = before[i];
    parts[at] = in[1];
    return true;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static void run(cm__hlo_step *s, const cm__hlo_region *r, const place *p, int32_t *results, int32_t n_results);

static const cm__hlo_type *type_of(const cm__hlo_op *op, int32_t i) { return &op->types[i < op->n_types ? i : op->n_types - 1]; }

static void bind(const cm__hlo_op *op, const place *p, int32_t i, int32_t value) { p->env[op->first + i] = value; }

static int32_t read(cm__hlo_step *s, const cm__hlo_op *op, const place *p, int32_t i)
{
    int32_t value = p->env[op->operands[i]];
    if (value < 0) cm__hlo_refuse(s->ctx, op, "an operand is not computed before it");
    return value;
}

static void check_type(cm__hlo_step *s, const cm__hlo_op *op, int32_t value, const cm__hlo_type *type)
{
    if (!same_shape(&s->values[value].type, type)) cm__hlo_refuse(s->ctx, op, "an operand has another shape than its type says");
}

static const cm__hlo_function *callee(cm__hlo_step *s, const cm__hlo_op *op)
{
    cm__span rest = op->text;
    size_t   i = 0, start;
    while (i < rest.length && rest.text[i] != '@') i++;
    start = ++i;
    while (i < rest.length && !strchr("( \n,>}", rest.text[i])) i++;
    int32_t f = start < rest.length ? cm__map_get(&s->module->by_name, (cm__span){rest.text + start, i - start}) : -1;
    if (f < 0) cm__hlo_refuse(s->ctx, op, "the function that it calls is not in the module");
    return &s->module->functions[f];
}

static void call(cm__hlo_step *s, const cm__hlo_op *op, const place *p)
{
    const cm__hlo_function *f = callee(s, op);
    place inner = {.function = f, .depth = p->depth + 1, .number = p->depth || p->iteration >= 0 ? p->number : ++s->n_places, .iteration = p->iteration};
    if (inner.depth > CALLS_MAX) cm__hlo_refuse(s->ctx, op, "calls are nested too deeply");
    if (f->n_arguments != op->n_operands) cm__hlo_refuse(s->ctx, op, "the function has another number of arguments");
    work(s, op, f->n_slots);
    inner.env = cm__alloc_array(s->ctx, (size_t)f->n_slots + 1, sizeof *inner.env);
    memset(inner.env, -1, (size_t)f->n_slots * sizeof *inner.env);
    for (int32_t i = 0; i < op->n_operands; i++) {
        int32_t value = read(s, op, p, i);
        check_type(s, op, value, &f->arguments[i].type);
        inner.env[f->body.arguments[i]] = value;
    }
    int32_t *results = cm__alloc_array(s->ctx, (size_t)op->n_results + 1, sizeof *results);
    run(s, &f->body, &inner, results, op->n_results);
    for (int32_t i = 0; i < op->n_results; i++) {
        check_type(s, op, results[i], type_of(op, i));
        bind(op, p, i, results[i]);
    }
}

static void loop(cm__hlo_step *s, const cm__hlo_op *op, const place *p)
{
    int32_t  n = op->n_operands, test;
    int32_t *carried = cm__alloc_array(s->ctx, (size_t)n + 1, sizeof *carried);
    if (op->n_regions != 2 || op->regions[0].n_arguments != n || op->regions[1].n_arguments != n || op->n_results > n)
        cm__hlo_refuse(s->ctx, op, "its test and body do not have its operands as arguments");
    for (int32_t i = 0; i < n; i++) carried[i] = read(s, op, p, i);
    for (int32_t at = 0;; at++) {
        place inner = *p;
        inner.depth++;
        if (inner.depth > CALLS_MAX) cm__hlo_refuse(s->ctx, op, "loops are nested too deeply");
        if (p->iteration < 0) inner.number = ++s->n_places, inner.iteration = at;
        for (int32_t i = 0; i < n; i++) p->env[op->regions[0].arguments[i]] = carried[i];
        run(s, &op->regions[0], &inner, &test, 1);
        if (!s->values[test].known) cm__hlo_refuse(s->ctx, op, "the number of iterations depends on the data");
        if (s->values[test].number == 0) break;
        if (at >= ITERATIONS_MAX) cm__hlo_refuse(s->ctx, op, "more than 100,000 iterations");
        for (int32_t i = 0; i < n; i++) p->env[op->regions[1].arguments[i]] = carried[i];
        run(s, &op->regions[1], &inner, carried, n);
    }
    for (int32_t i = 0; i < op->n_results; i++) bind(op, p, i, carried[i]);
}

static int32_t products_in(cm__hlo_step *s, const cm__hlo_region *r, int32_t depth)
{
    int32_t n = 0;
    for (int32_t i = 0; i < r->n_ops && depth < 8; i++) {
        const cm__hlo_op *op = &r->ops[i];
        cm__hlo_kind      kind = cm__hlo_kind_of(op);
        work(s, op, 1);
        n += kind == CM__HLO_product || kind == CM__HLO_filter;
        if (kind == CM__HLO_called) n += products_in(s, &callee(s, op)->body, depth + 1);
        for (int32_t k = 0; k < op->n_regions; k++) n += products_in(s, &op->regions[k], depth + 1);
    }
    return n;
}

/* The branch with most products, unless the number that decides is known. */
static void branch(cm__hlo_step *s, const cm__hlo_op *op, const place *p)
{
    const cm__hlo_value *which = &s->values[read(s, op, p, 0)];
    int32_t              taken = 0, most = -1;
    if (!op->n_regions) cm__hlo_refuse(s->ctx, op, "it has no branches");
    for (int32_t i = 0; i < op->n_regions; i++) {
        int32_t n = products_in(s, &op->regions[i], 0);
        if (n > most) taken = i, most = n;
    }
    bool is_if = op->kind == CM__HLO_if; /* its first branch is that of true */
    if (which->known) {
        double number = is_if ? which->number == 0 : which->number;
        taken = number >= 0 && number < op->n_regions ? (int32_t)number : op->n_regions - 1;
    } else cm__hlo_warn(s, cm__format(s->ctx, "line %d: the branch with most products is assumed", op->line));
    place inner = *p;
    if (++inner.depth > CALLS_MAX) cm__hlo_refuse(s->ctx, op, "branches are nested too deeply");
    int32_t *results = cm__alloc_array(s->ctx, (size_t)op->n_results + 1, sizeof *results);
    run(s, &op->regions[taken], &inner, results, op->n_results);
    for (int32_t i = 0; i < op->n_results; i++) bind(op, p, i, results[i]);
}

static bool is_alias(const cm__hlo_op *op)
{
    static const char *const targets[] = {"@Sharding", "@SPMDFullToShardShape", "@SPMDShardToFullShape", "@annotate_device_placement",
                                          "@MoveToHost", "@MoveToDevice", "@LayoutConstraint"};
    bool alias = cm__hlo_kind_of(op) == CM__HLO_alias;
    for (size_t i = 0; !alias && op->kind == CM__HLO_custom_call && i < sizeof targets / sizeof *targets; i++)
        for (size_t k = 0; !alias && k + strlen(targets[i]) < op->text.length && k < 256; k++)
            alias = memcmp(op->text.text + k, targets[i], strlen(targets[i])) == 0;
    return alias;
}

static int32_t slice_of(cm__hlo_step *s, const cm__hlo_op *op, const int32_t *in, const place *p)
{
    int64_t start[CM__RANK_MAX + 1] = {0};
    bool    moving = op->kind == CM__HLO_dynamic_slice;
    if (moving && (op->n_operands < 2 || !s->values[in[1]].known)) return -1;
    if (!moving) { /* [0:1, 0:64] */
        const char *open = memchr(op->text.text, '[', op->text.length);
        size_t      n = 0;
        while (open && open + 1 + n < op->text.text + op->text.length && open[1 + n] >= '0' && open[1 + n] <= '9') n++;
        if (!open || !cm__parse_int((cm__span){open + 1, n}, start)) return -1;
    } else start[0] = (int64_t)s->values[in[1]].number;
    int64_t at = layer_of(&s->values[in[0]], type_of(op, 0), start[0]);
    return at < 0 ? -1 : layer(s, op, in[0], at, type_of(op, 0), p);
}

/* The equation that makes a value, if it is of this kind; NULL: it is another one. */
static const cm__hlo_equation *made_by(const cm__hlo_step *s, int32_t value, int32_t kind)
{
    int32_t maker = s->values[value].maker;
    return maker >= 0 && s->equations[maker].op->kind == kind ? &s->equations[maker] : NULL;
}

static int64_t elements(const cm__hlo_type *t)
{
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}

/* What a loop stacked as [1, ...] and slices again is the tensor that it stacked; -1: it has another shape. */
static int32_t reshaped_of(const cm__hlo_step *s, int32_t value, const cm__hlo_type *type)
{
    const cm__hlo_value    *v = &s->values[value];
    const cm__hlo_equation *maker = v->maker >= 0 ? &s->equations[v->maker] : NULL;
    bool views = maker && (cm__hlo_kind_of(maker->op) == CM__HLO_spread || cm__hlo_kind_of(maker->op) == CM__HLO_view);
    bool same = views && maker->n_in == 1 && same_shape(&cm__hlo_in(s, maker, 0)->type, type) && cm__hlo_in(s, maker, 0)->type.dtype == type->dtype;
    return same && elements(type) == elements(&v->type) ? maker->in[0] : -1;
}

static bool is_one(const cm__hlo_value *v) { return v->known && v->number == 1; }

/* 1 / (1 + exp(-x)), as which sigmoids are lowered: x; -1: it is something else. */
static int32_t of_sigmoid(const cm__hlo_step *s, const cm__hlo_op *op, const int32_t *in)
{
    if (op->kind != CM__HLO_divide || op->n_operands != 2 || !is_one(&s->values[in[0]])) return -1;
    const cm__hlo_equation *sum = made_by(s, in[1], CM__HLO_add), *power = NULL, *minus = NULL;
    for (int32_t i = 0; sum && sum->n_in == 2 && i < 2; i++)
        if (is_one(cm__hlo_in(s, sum, i))) power = made_by(s, sum->in[1 - i], CM__HLO_exponential);
    if (power && power->n_in == 1) minus = made_by(s, power->in[0], CM__HLO_negate);
    return minus && minus->n_in == 1 ? minus->in[0] : -1;
}

/* x multiplied by itself, as which whole powers are lowered: its exponent; 0: it is another product. */
static int32_t power_of(const cm__hlo_step *s, const cm__hlo_op *op, const int32_t *in, int32_t *x)
{
    if (op->kind != CM__HLO_multiply || op->n_operands != 2 || s->values[in[0]].known) return 0;
    *x = in[0];
    if (in[0] == in[1]) return 2;
    for (int i = 0; i < 2; i++) {
        const cm__hlo_equation *e = made_by(s, in[i], CM__HLO_power);
        *x = in[1 - i];
        if (e && e->n_in == 2 && e->in[0] == *x && cm__hlo_in(s, e, 1)->known && cm__hlo_in(s, e, 1)->number == 2) return 3;
    }
    return 0;
}

static void plain(cm__hlo_step *s, const cm__hlo_op *op, const place *p)
{
    int32_t *in = cm__alloc_array(s->ctx, (size_t)op->n_operands + 1, sizeof *in), n = op->n_operands;
    for (int32_t i = 0; i < n; i++) in[i] = read(s, op, p, i);
    if (is_alias(op) && n >= op->n_results) {
        for (int32_t i = 0; i < op->n_results; i++) {
            check_type(s, op, in[i], type_of(op, i));
            bind(op, p, i, in[i]);
        }
        return;
    }
    cm__hlo_kind kind = cm__hlo_kind_of(op);
    if (kind == CM__HLO_choice && n == 3 && s->values[in[0]].known) { /* of a condition that is known */
        int32_t chosen = in[s->values[in[0]].number != 0 ? 1 : 2];
        check_type(s, op, chosen, type_of(op, 0));
        bind(op, p, 0, chosen);
        return;
    }
    int32_t before = n == 1 && kind == CM__HLO_view ? reshaped_of(s, in[0], type_of(op, 0)) : -1;
    if (before >= 0) {
        bind(op, p, 0, before);
        return;
    }
    int32_t x = n ? of_sigmoid(s, op, in) : -1;
    if (x >= 0 && same_shape(&s->values[x].type, type_of(op, 0))) {
        bind(op, p, 0, add_typed(s, instead(s, op, CM__HLO_logistic), &x, 1, type_of(op, 0), 1, p));
        return;
    }
    int32_t exponent = is_real(&s->values[n ? in[0] : 0]) ? power_of(s, op, in, &x) : 0;
    if (exponent && !s->values[x].known) {
        int32_t both[] = {x, cm__hlo_value_new(s, (cm__hlo_type){.dtype = type_of(op, 0)->dtype, .is_tensor = true, .dims = type_of(op, 0)->dims})};
        s->values[both[1]].known = true;
        s->values[both[1]].number = exponent;
        bind(op, p, 0, add_typed(s, instead(s, op, CM__HLO_power), both, 2, type_of(op, 0), 1, p));
        return;
    }
    int32_t part = n && (kind == CM__HLO_part || kind == CM__HLO_moving_part) ? slice_of(s, op, in, p) : -1;
    if (part >= 0) {
        bind(op, p, 0, part);
        return;
    }
    cm__hlo_type *types = cm__alloc_array(s->ctx, (size_t)op->n_results + 1, sizeof *types);
    for (int32_t i = 0; i < op->n_results; i++) types[i] = *type_of(op, i);
    int32_t first = add_typed(s, op, in, n, types, op->n_results, p);
    for (int32_t i = 0; i < op->n_results; i++) bind(op, p, i, first + i);
    if (op->n_results && kind == CM__HLO_replace) replaces_layer(s, in, n, first);
    if (op->n_results) fold(s, &s->equations[s->n_equations - 1]);
}

static void run(cm__hlo_step *s, const cm__hlo_region *r, const place *p, int32_t *results, int32_t n_results)
{
    for (int32_t i = 0; i < r->n_ops; i++) {
        const cm__hlo_op *op = &r->ops[i];
        work(s, op, 1);
        switch (cm__hlo_kind_of(op)) {
        case CM__HLO_called: call(s, op, p); break;
        case CM__HLO_loop: loop(s, op, p); break;
        case CM__HLO_branch: branch(s, op, p); break;
        case CM__HLO_end:
            if (op->n_operands != n_results) cm__hlo_refuse(s->ctx, op, "it returns another number of results");
            for (int32_t k = 0; k < n_results; k++) results[k] = read(s, op, p, k);
            return;
        default: plain(s, op, p); break;
        }
    }
    cm__place(s->ctx, "%s", "");
    cm__fail(s->ctx, CM_ERR_FORMAT, "a function or a region without a return");
}

cm__hlo_step *cm__hlo_walk(cm__hlo_module *m)
{
    int32_t at = cm__map_get(&m->by_name, cm__span_of("main"));
    if (at < 0) cm__fail(m->ctx, CM_ERR_FORMAT, "the module has no function 'main'");
    cm__hlo_step           *s = cm__alloc(m->ctx, sizeof *s);
    const cm__hlo_function *f = &m->functions[at];
    *s = (cm__hlo_step){.ctx = m->ctx, .module = m, .main = f};
    place top = {.function = f, .iteration = -1};
    top.env = cm__alloc_array(m->ctx, (size_t)f->n_slots + 1, sizeof *top.env);
    memset(top.env, -1, (size_t)f->n_slots * sizeof *top.env);
    s->stacked = cm__alloc_array(m->ctx, (size_t)f->n_arguments + 1, sizeof *s->stacked);
    for (int32_t i = 0; i < f->n_arguments; i++) {
        int32_t v = cm__hlo_value_new(s, f->arguments[i].type);
        s->values[v].leaf = i;
        top.env[f->body.arguments[i]] = v;
    }
    const cm__hlo_op *last = f->body.n_ops ? &f->body.ops[f->body.n_ops - 1] : NULL;
    s->n_results = last ? last->n_operands : 0;
    s->results = cm__alloc_array(m->ctx, (size_t)s->n_results + 1, sizeof *s->results);
    run(s, &f->body, &top, s->results, s->n_results);
    return s;
}
