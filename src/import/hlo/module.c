/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - read the text of XLA's HLO ("HloModule ..."), as lowered.as_text(dialect="hlo") and compiled.as_text() print it.
 *
 * It becomes the functions and operations that StableHLO text would: names and attributes are written as there, tuples become
 * several values, and loops and branches call the computations that they name.
 */
#include <string.h>
#include "base/text.h"
#include "import/hlo/module.h"

typedef struct parameter {
    const cm__hlo_type *types;
    const int32_t      *slots;
    int32_t             n; /* 0: not read yet */
    const char         *sharding;
} parameter;

typedef struct reader {
    cm__hlo_parser *t;
    cm__map         bundles_of;
    cm__hlo_bundle *bundles;
    int32_t         n_bundles, cap_bundles;
    parameter      *parameters; /* of the computation that is read */
    int32_t         n_parameters, cap_parameters;
} reader;

/* ---- text --------------------------------------------------------------------------------------------------------- */

/* Spaces and comments, lines only if asked. */
static void blank(cm__hlo_parser *t, bool lines)
{
    while (t->p < t->end)
        if (*t->p == ' ' || *t->p == '\t' || *t->p == '\r' || (lines && *t->p == '\n')) cm__hlo_next(t);
        else if (cm__hlo_at(t, "/*"))
            while (t->p < t->end && !cm__hlo_at(t, "*/")) cm__hlo_next(t);
        else if (cm__hlo_at(t, "*/")) t->p += 2;
        else return;
}

static bool takes(cm__hlo_parser *t, char c)
{
    blank(t, false);
    if (cm__hlo_here(t) != c) return false;
    cm__hlo_next(t);
    return true;
}

/* "<=" is no bracket here. */
static cm__span enclosed(cm__hlo_parser *t) { return cm__hlo_bracketed(t, "([{", ")]}"); }

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

/* The last name in a text: "f32[8]{0} %x.1" is x.1. */
static cm__span last_name(cm__span s)
{
    size_t end = s.length, start;
    while (end && !is_name(s.text[end - 1])) end--;
    for (start = end; start && is_name(s.text[start - 1]); start--) {}
    return (cm__span){s.text + start, end - start};
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

/* pred, s32, u8, bf16, c64 */
static bool number_type(cm__span name, cm__hlo_type *type)
{
    char text[16];
    if (!name.length || name.length + 2 > sizeof text) return false;
    type->is_unsigned = name.text[0] == 'u';
    type->dtype = CM_COMPLEX64;
    if (name.text[0] == 'c') return true;
    if (cm__span_is(name, "token") || cm__span_is(name, "opaque")) return type->is_tensor = false, type->dtype = CM_INT32, true;
    bool whole = name.text[0] == 's' || name.text[0] == 'u';
    cm__span digits = {name.text + whole, name.length - whole};
    const char *before = cm__span_is(name, "pred") ? "i1" : type->is_unsigned ? "ui" : whole ? "i" : "";
    if (cm__span_is(name, "pred")) digits.length = 0;
    size_t used = strlen(before);
    memcpy(text, before, used);
    memcpy(text + used, digits.text, digits.length);
    return cm__hlo_dtype_of((cm__span){text, used + digits.length}, &type->dtype);
}

static cm__hlo_type array_type(cm__hlo_parser *t)
{
    cm__hlo_type type = {.is_tensor = true};
    int64_t      dims[CM__RANK_MAX], size = 1;
    if (!number_type(cm__hlo_word(t), &type)) cm__hlo_fail(t, "a type of numbers that is not known");
    if (!takes(t, '[')) cm__hlo_fail(t, "'[' is expected");
    while (!takes(t, ']')) {
        int64_t n = 0;
        if (cm__hlo_here(t) == '<' || cm__hlo_here(t) == '?') cm__hlo_fail(t, "a size that is not known: lower the step with arrays of known shapes");
        if (cm__hlo_here(t) < '0' || cm__hlo_here(t) > '9') cm__hlo_fail(t, "a size is expected");
        while (cm__hlo_here(t) >= '0' && cm__hlo_here(t) <= '9' && n <= CM__DIM_MAX) n = 10 * n + (*t->p++ - '0');
        if (type.rank == CM__RANK_MAX || n > CM__DIM_MAX || __builtin_mul_overflow(size, n, &size) || size > (int64_t)1 << 50)
            cm__hlo_fail(t, "a tensor that is too large");
        if (!n) cm__hlo_fail(t, "a tensor without elements");
        dims[type.rank++] = n;
        takes(t, ',');
    }
    if (cm__hlo_here(t) == '{') enclosed(t); /* its layout */
    type.dims = memcpy(cm__alloc_array(t->ctx, (size_t)type.rank + 1, sizeof *dims), dims, (size_t)type.rank * sizeof *dims);
    return type;
}

/* A type, or "(T, (T, T), T)". The bundle's parts are those of the outermost tuple. */
static void types(cm__hlo_parser *t, cm__hlo_op *op, cm__hlo_bundle *made, int32_t depth)
{
    if (depth > CM__HLO_DEPTH_MAX) cm__hlo_fail(t, "tuples nested too deeply");
    if (!takes(t, '(')) {
        cm__hlo_add_type(t, op, array_type(t));
        return;
    }
    int32_t capacity = 0;
    while (!takes(t, ')')) {
        if (t->p >= t->end) cm__hlo_fail(t, "')' is expected");
        if (!depth) {
            made->part = cm__grow(t->ctx, made->part, made->parts, &capacity, sizeof *made->part);
            made->part[made->parts++] = op->n_types;
        }
        types(t, op, made, depth + 1);
        takes(t, ',');
    }
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static int32_t add_bundle(reader *r, cm__span name, cm__hlo_bundle b)
{
    r->bundles = cm__grow(r->t->ctx, r->bundles, r->n_bundles, &r->cap_bundles, sizeof *r->bundles);
    r->bundles[r->n_bundles] = b;
    cm__map_put(&r->bundles_of, name, r->n_bundles);
    return r->n_bundles++;
}

static int32_t *count_up(cm__hlo_parser *t, int32_t first, int32_t n)
{
    int32_t *slots = cm__alloc_array(t->ctx, (size_t)n + 1, sizeof *slots);
    for (int32_t i = 0; i < n; i++) slots[i] = first + i;
    return slots;
}

/* ---- computations that others name -------------------------------------------------------------------------------- */

static const cm__hlo_function *computation(cm__hlo_parser *t, cm__span name)
{
    cm__span plain = last_name(name);
    int32_t  at = cm__map_get(&t->module->by_name, plain);
    if (at < 0) cm__hlo_fail(t, cm__format(t->ctx, "no computation '%.*s' comes before it", (int)(plain.length > 64 ? 64 : plain.length), plain.text));
    return &t->module->functions[at];
}

/* A region that calls a computation with these values and returns what it returns. */
static void add_calling(cm__hlo_parser *t, cm__hlo_op *op, cm__span name, const int32_t *given, int32_t n, const cm__hlo_op *results)
{
    const cm__hlo_function *f = computation(t, name);
    cm__hlo_op              call = {.name = cm__span_of("call"), .line = op->line, .n_results = results->n_types, .types = results->types,
                                    .n_types = results->n_types};
    cm__hlo_op              end = {.name = cm__span_of("return"), .text = cm__span_of(""), .line = op->line};
    call.text = cm__span_of(cm__format(t->ctx, "@%.*s(", (int)f->name.length, f->name.text));
    cm__hlo_set_kind(t, &call);
    cm__hlo_set_kind(t, &end);
    for (int32_t i = 0; i < n; i++) cm__hlo_add_operand(t, &call, given[i]);
    call.first = cm__hlo_new_slots(t, cm__span_of(""), call.n_results);
    for (int32_t i = 0; i < call.n_results; i++) cm__hlo_add_operand(t, &end, call.first + i);
    cm__hlo_region *region = cm__hlo_new_region(t, op);
    cm__hlo_add_op(t, region, &call);
    cm__hlo_add_op(t, region, &end);
}

static void loop(cm__hlo_parser *t, cm__hlo_instruction *x)
{
    const cm__hlo_attribute *parts[] = {cm__hlo_given(x, "condition"), cm__hlo_given(x, "body")};
    int32_t                  n = x->op.n_operands;
    cm__hlo_op               test = {0};
    if (!parts[0] || !parts[1]) cm__hlo_fail(t, "a loop needs a condition and a body");
    cm__hlo_add_type(t, &test, (cm__hlo_type){.dtype = CM_BOOL, .is_tensor = true, .dims = cm__alloc(t->ctx, sizeof(int64_t))});
    for (int i = 0; i < 2; i++) {
        int32_t *given = count_up(t, cm__hlo_new_slots(t, cm__span_of(""), n), n);
        add_calling(t, &x->op, parts[i]->value, given, n, i ? &x->op : &test);
        cm__hlo_region *region = &x->op.regions[i];
        region->arguments = given;
        region->n_arguments = n;
    }
}

/* The index or the condition alone is the operand; each branch has a value of its own. */
static void branches(reader *r, cm__hlo_instruction *x)
{
    cm__hlo_parser          *t = r->t;
    const cm__hlo_attribute *list = cm__hlo_given(x, "branch_computations");
    const cm__hlo_attribute *yes = cm__hlo_given(x, "true_computation"), *no = cm__hlo_given(x, "false_computation");
    cm__span                 names = list ? cm__hlo_inside(list->value) : cm__span_of("");
    bool                     both = yes && no;
    size_t                   at = 0;
    for (int32_t i = 1; i < x->n_operands; i++) {
        const cm__hlo_bundle *given = &r->bundles[x->operands[i]];
        cm__span              name = both ? (i == 1 ? yes : no)->value : (cm__span){names.text + at, 0};
        while (!both && at + name.length < names.length && names.text[at + name.length] != ',') name.length++;
        at += name.length + 1;
        if (!name.length || (both && i > 2)) cm__hlo_fail(t, "a branch without a computation");
        add_calling(t, &x->op, name, given->slots, given->n, &x->op);
    }
    if (x->op.n_operands < 1 || r->bundles[x->operands[0]].n != 1) cm__hlo_fail(t, "a branch without an index");
    x->op.n_operands = 1;
}

static void add_regions(reader *r, cm__hlo_instruction *x)
{
    static const char *const reducers[] = {"select", "scatter", "to_apply"};
    cm__hlo_parser          *t = r->t;
    cm__hlo_kind             kind = cm__hlo_kind_of(&x->op);
    const cm__hlo_attribute *called = cm__hlo_given(x, "to_apply") ? cm__hlo_given(x, "to_apply") : cm__hlo_given(x, "calls");
    if (kind == CM__HLO_loop) loop(t, x);
    else if (kind == CM__HLO_branch) branches(r, x);
    else if (kind == CM__HLO_called) {
        if (!called) cm__hlo_fail(t, "a call without a computation");
        const cm__hlo_function *f = computation(t, called->value);
        x->op.text = cm__span_of(cm__format(t->ctx, "@%.*s(", (int)f->name.length, f->name.text));
    } else
        for (int i = 0; i < 3; i++) /* what it computes; nothing runs it */
            if (cm__hlo_given(x, reducers[i])) *cm__hlo_new_region(t, &x->op) = computation(t, cm__hlo_given(x, reducers[i])->value)->body;
}

/* ---- instructions ------------------------------------------------------------------------------------------------- */

static void read_operands(reader *r, cm__hlo_instruction *x, bool plain)
{
    cm__hlo_parser *t = r->t;
    if (cm__hlo_here(t) != '(') cm__hlo_fail(t, "'(' is expected");
    const char *open = t->p + 1;
    int32_t     line = t->line;
    cm__span    all = enclosed(t);
    x->literal = cm__hlo_inside(all);
    const char *end = t->p - 1, *from = open;
    int32_t     depth = 0;
    for (const char *p = open; plain && p <= end; p++) {
        if (p < end && strchr("([{", *p)) depth++;
        else if (p < end && strchr(")]}", *p)) depth--;
        if ((p < end && *p != ',') || depth) continue;
        cm__span name = last_name((cm__span){from, (size_t)(p - from)});
        int32_t  at = name.length ? cm__map_get(&r->bundles_of, name) : -1;
        from = p + 1;
        if (!name.length && p == end) break;
        if (at < 0) {
            t->p = name.length ? name.text : p;
            t->line = line;
            cm__hlo_fail(t, "a value that nothing has made");
        }
        x->operands = cm__grow(t->ctx, x->operands, x->n_operands, &x->cap_operands, sizeof *x->operands);
        x->operands[x->n_operands++] = at;
        for (int32_t i = 0; i < r->bundles[at].n; i++) cm__hlo_add_operand(t, &x->op, r->bundles[at].slots[i]);
    }
}

static void read_attributes(cm__hlo_parser *t, cm__hlo_instruction *x)
{
    while (takes(t, ',')) {
        blank(t, false);
        cm__hlo_attribute a = {.key = cm__hlo_word(t)};
        if (!a.key.length || cm__hlo_here(t) != '=') cm__hlo_fail(t, "an attribute is expected");
        t->p++;
        const char *start = t->p;
        while (t->p < t->end && !strchr(", \r\n", *t->p)) {
            if (strchr("([{", *t->p)) enclosed(t);
            else if (*t->p == '"') cm__hlo_string(t);
            else t->p++;
        }
        a.value = (cm__span){start, (size_t)(t->p - start)};
        if (x->n == CM__HLO_ATTRIBUTES_MAX) cm__hlo_fail(t, "too many attributes");
        x->of[x->n++] = a;
    }
}

/* Names that differ from StableHLO's by more than their dashes. */
static void name_operation(cm__hlo_parser *t, cm__hlo_instruction *x, cm__span name)
{
    static const char *const names[][2] = {{"dot", "dot_general"},           {"broadcast", "broadcast_in_dim"}, {"opt-barrier", "optimization_barrier"},
                                           {"topk", "top_k"},                {"fusion", "call"},                {"bitcast", "reshape"},
                                           {"copy", "optimization_barrier"}, {"after-all", "create_token"},     {"bitcast-convert", "bitcast_convert"},
                                           {"conditional", "case"}};
    char *text = cm__text_copy_n(t->ctx, name.text, name.length);
    for (char *c = text; *c; c++)
        if (*c == '-') *c = '_';
    x->op.name = cm__span_of(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cm__span_is(name, names[i][0])) x->op.name = cm__span_of(names[i][1]);
}

/* Values that an instruction only renames; false: it computes. */
static bool renames(reader *r, cm__hlo_instruction *x, cm__span what)
{
    cm__hlo_parser *t = r->t;
    cm__hlo_bundle *b = &x->made;
    if (cm__span_is(what, "tuple")) {
        b->n = x->op.n_operands;
        b->slots = memcpy(cm__alloc_array(t->ctx, (size_t)b->n + 1, sizeof *b->slots), x->op.operands ? x->op.operands : b->slots, (size_t)b->n * sizeof *b->slots);
        if (b->n != x->op.n_types) cm__hlo_fail(t, "a tuple of another type than its parts");
        return true;
    }
    if (!cm__span_is(what, "get-tuple-element")) return false;
    const cm__hlo_attribute *index = cm__hlo_given(x, "index");
    int64_t                  i = -1;
    if (index) cm__parse_int(index->value, &i);
    const cm__hlo_bundle *of = x->n_operands == 1 ? &r->bundles[x->operands[0]] : NULL;
    if (!of || i < 0 || i >= of->parts) cm__hlo_fail(t, "a part that the tuple does not have");
    int32_t first = of->part[i], end = i + 1 < of->parts ? of->part[i + 1] : of->n;
    b->n = end - first;
    b->slots = of->slots + first;
    if (b->n != x->op.n_types) cm__hlo_fail(t, "a part of another type than the tuple's");
    return true;
}

static void keep_parameter(reader *r, const cm__hlo_instruction *x)
{
    const cm__hlo_attribute *sharding = cm__hlo_given(x, "sharding");
    int64_t                  number;
    if (!cm__parse_int(x->literal, &number) || number < 0 || number >= CM__HLO_RESULTS_MAX) cm__hlo_fail(r->t, "the number of a parameter is expected");
    while (r->n_parameters <= number) {
        r->parameters = cm__grow(r->t->ctx, r->parameters, r->n_parameters, &r->cap_parameters, sizeof *r->parameters);
        r->parameters[r->n_parameters++] = (parameter){0};
    }
    r->parameters[number] = (parameter){x->op.types, x->made.slots, x->made.n, sharding ? cm__hlo_copied(r->t, sharding->value) : NULL};
}

/* NAME = TYPE OPERATION(OPERANDS), ATTRIBUTES. Returns the bundle that it makes. */
static int32_t statement(reader *r, cm__hlo_function *f, bool *root)
{
    cm__hlo_parser     *t = r->t;
    cm__hlo_instruction x = {.op = {.line = t->line, .text = cm__span_of("")}};
    *root = cm__hlo_take(t, "ROOT ");
    blank(t, false);
    takes(t, '%');
    x.name = cm__hlo_word(t);
    if (!x.name.length || !takes(t, '=')) cm__hlo_fail(t, "an instruction is expected");
    blank(t, false);
    types(t, &x.op, &x.made, 0);
    blank(t, false);
    cm__span what = cm__hlo_word(t);
    if (!what.length || t->operations++ > CM__HLO_OPERATIONS_MAX) cm__hlo_fail(t, "an operation is expected");
    bool given = cm__span_is(what, "parameter"), constant = cm__span_is(what, "constant");
    read_operands(r, &x, !given && !constant);
    read_attributes(t, &x);
    if (!x.made.part) x.made.part = count_up(t, 0, 1), x.made.parts = x.op.n_types == 1;
    if (!renames(r, &x, what)) {
        x.made.n = x.op.n_results = x.op.n_types;
        x.op.first = cm__hlo_new_slots(t, cm__span_of(""), x.made.n);
        x.made.slots = count_up(t, x.op.first, x.made.n);
        if (given) keep_parameter(r, &x);
        else {
            name_operation(t, &x, what);
            if (cm__span_is(x.op.name, "case") && cm__hlo_given(&x, "true_computation")) x.op.name = cm__span_of("if");
            cm__hlo_set_kind(t, &x.op);
            if (constant) cm__hlo_write_constant(t, &x);
            else cm__hlo_write_attributes(t, &x);
            add_regions(r, &x);
            cm__hlo_add_op(t, &f->body, &x.op);
        }
    }
    return add_bundle(r, x.name, x.made);
}

/* ---- computations ------------------------------------------------------------------------------------------------- */

typedef struct slices {
    int32_t *first, *next; /* per value: its first slice; per operation: the next slice of the same value. Plus 1; 0: none */
} slices;

/* "[0:4, 8:16]" before "[0:4, 16:24]" */
static bool starts_before(const cm__hlo_op *a, const cm__hlo_op *b)
{
    int64_t at[CM__HLO_LIST_MAX], other[CM__HLO_LIST_MAX];
    int32_t n = cm__hlo_numbers(a->text, 1, at), m = cm__hlo_numbers(b->text, 1, other);
    for (int32_t i = 0; i < n && i < m; i++)
        if (at[i] != other[i]) return at[i] < other[i];
    return false;
}

static bool is_slice(const cm__hlo_op *op) { return op->kind == CM__HLO_slice && op->n_operands == 1; }

#define SORTED_MOST 64

static void insert_slice(slices *s, const cm__hlo_op *ops, int32_t at)
{
    int32_t *place = &s->first[ops[at].operands[0]];
    for (int i = 0; *place && i < SORTED_MOST && !starts_before(&ops[at], &ops[*place - 1]); i++) place = &s->next[*place - 1];
    s->next[at] = *place;
    *place = at + 1;
}

/* The text is in the order of the results' needs. Slices of one value come together, as programs that split it write them. */
static void join_slices(cm__hlo_parser *t, cm__hlo_region *body, int32_t n_slots)
{
    slices      s = {.first = cm__alloc_array(t->ctx, (size_t)n_slots + 1, sizeof *s.first),
                     .next = cm__alloc_array(t->ctx, (size_t)body->n_ops + 1, sizeof *s.next)};
    cm__hlo_op *ordered = cm__alloc_array(t->ctx, (size_t)body->n_ops + 1, sizeof *ordered);
    int32_t     n = 0;
    for (int32_t i = 0; i < body->n_ops; i++)
        if (is_slice(&body->ops[i])) insert_slice(&s, body->ops, i);
    for (int32_t i = 0; i < body->n_ops; i++) {
        if (!is_slice(&body->ops[i])) {
            ordered[n++] = body->ops[i];
            continue;
        }
        int32_t *first = &s.first[body->ops[i].operands[0]];
        for (; *first; *first = s.next[*first - 1]) ordered[n++] = body->ops[*first - 1];
    }
    body->ops = ordered;
    body->cap_ops = body->n_ops;
}

static void add_arguments(reader *r, cm__hlo_function *f)
{
    cm__hlo_parser *t = r->t;
    for (int32_t k = 0; k < r->n_parameters; k++) {
        const parameter *p = &r->parameters[k];
        for (int32_t i = 0; i < p->n; i++) {
            f->arguments = cm__grow(t->ctx, f->arguments, f->n_arguments, &f->cap_arguments, sizeof *f->arguments);
            f->arguments[f->n_arguments] = (cm__hlo_argument){.type = p->types[i]};
            if (p->sharding) f->arguments[f->n_arguments].attributes = cm__span_of(cm__format(t->ctx, "mhlo.sharding = \"%s\" ", p->sharding));
            f->n_arguments++;
            f->body.arguments = cm__grow(t->ctx, f->body.arguments, f->body.n_arguments, &f->body.cap_arguments, sizeof *f->body.arguments);
            f->body.arguments[f->body.n_arguments++] = p->slots[i];
        }
    }
}

static void add_end(reader *r, cm__hlo_function *f, const cm__hlo_bundle *made)
{
    cm__hlo_op end = {.name = cm__span_of("return"), .text = cm__span_of(""), .line = r->t->line};
    cm__hlo_set_kind(r->t, &end);
    for (int32_t i = 0; i < made->n; i++) cm__hlo_add_operand(r->t, &end, made->slots[i]);
    cm__hlo_add_op(r->t, &f->body, &end);
}

/* [ENTRY] NAME [(PARAMETERS) -> TYPE] { INSTRUCTIONS } */
static void read_computation(reader *r, cm__span header)
{
    cm__hlo_parser *t = r->t;
    cm__hlo_module *m = t->module;
    bool            entry = header.length > 6 && memcmp(header.text, "ENTRY ", 6) == 0, root = false;
    size_t          start = entry ? 6 : 0, end = start;
    int32_t         made = -1;
    while (end < header.length && !strchr(" ({", header.text[end])) end++;
    cm__hlo_function f = {.name = last_name((cm__span){header.text + start, end - start})};
    t->function = &f;
    cm__map_init(&r->bundles_of, t->ctx);
    r->n_bundles = r->n_parameters = 0;
    while (blank(t, true), !takes(t, '}')) {
        if (t->p >= t->end) cm__hlo_fail(t, "'}' is expected");
        int32_t at = statement(r, &f, &root);
        if (root || made < 0) made = at;
    }
    if (made < 0) cm__hlo_fail(t, "a computation without instructions");
    add_arguments(r, &f);
    join_slices(t, &f.body, f.n_slots);
    add_end(r, &f, &r->bundles[made]);
    m->functions = cm__grow(t->ctx, m->functions, m->n_functions, &m->cap_functions, sizeof *m->functions);
    m->functions[m->n_functions] = f;
    cm__map_put(&m->by_name, entry ? cm__span_of("main") : f.name, m->n_functions++);
}

/* input_output_alias={ {0}: (2, {}, may-alias), ...}: result 0 replaces argument 2. */
static void add_aliases(cm__hlo_parser *t, cm__span header)
{
    int32_t           at = cm__map_get(&t->module->by_name, cm__span_of("main"));
    cm__hlo_function *f = at < 0 ? NULL : &t->module->functions[at];
    static const char key[] = "input_output_alias={";
    const char       *p = header.text, *end = p + header.length;
    while (p + sizeof key < end && memcmp(p, key, sizeof key - 1) != 0) p++;
    for (p += sizeof key - 1; f && p < end && *p != '}' && *p != '\n'; p++) {
        int64_t pair[CM__HLO_LIST_MAX] = {0};
        while (p < end && *p != '{' && *p != '}') p++;
        const char *open = p;
        if (p >= end || *p == '}') return;
        while (p < end && *p != ',') p++;
        bool    whole = open + 1 < end && open[1] == '}'; /* the only result */
        int32_t n = cm__hlo_numbers((cm__span){open, (size_t)(p - open)}, 1, pair);
        int64_t result = whole ? 0 : pair[0], argument = n ? pair[n - 1] : -1;
        if (n == 2 - whole && argument >= 0 && argument < f->n_arguments) {
            cm__span *text = &f->arguments[argument].attributes;
            *text = cm__span_of(cm__format(t->ctx, "tf.aliasing_output = %lld %.*s", (long long)result, (int)text->length, text->length ? text->text : ""));
        }
        while (p < end && *p != ')') p++;
    }
}

void cm__hlo_read_module(cm__hlo_parser *t)
{
    reader   r = {.t = t};
    cm__span first = {0};
    while (blank(t, true), t->p < t->end) {
        const char *start = t->p, *stop = memchr(start, '\n', (size_t)(t->end - start)), *last;
        if (!stop) stop = t->end;
        for (last = stop; last > start && strchr(" \t\r", last[-1]); last--) {}
        cm__span line = {start, (size_t)(last - start)};
        if (!first.length) first = line;
        t->p = last;
        if (line.length > 1 && last[-1] == '{') read_computation(&r, line); /* other lines: the name, tables of source lines */
    }
    add_aliases(t, first);
}
