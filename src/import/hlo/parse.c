/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.c - read StableHLO text. Only the structure is read here: names, operands, types and regions of operations. Attributes
 * stay text, which rules search for their keys.
 */
#include <string.h>
#include "base/text.h"
#include "import/hlo/hlo.h"

#define DEPTH_MAX 64
#define OPERATIONS_MAX 4000000
#define RESULTS_MAX 4096
#define MAKES_SLOTS 50000000

const cm__hlo_row cm__hlo_rows[CM__HLO_OPS] = {
#define HLO(name, kind, aten) {#name, aten, CM__HLO_##kind},
#include "import/hlo/ops.def"
#undef HLO
};

typedef struct parser {
    cm__ctx          *ctx;
    cm__hlo_module   *module;
    cm__hlo_function *function;
    cm__map           slots, kinds;
    const char       *p, *end;
    int32_t           line, depth, operations;
} parser;

noreturn static void fail(const parser *t, const char *why)
{
    const char *stop = memchr(t->p, '\n', (size_t)(t->end - t->p));
    int         length = (int)((stop ? stop : t->end) - t->p);
    cm__place(t->ctx, "line %d", t->line);
    cm__fail(t->ctx, CM_ERR_FORMAT, "%s at '%.*s'", why, length > 40 ? 40 : length, t->p);
}

/* ---- words -------------------------------------------------------------------------------------------------------- */

static bool at(const parser *t, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(t->end - t->p) >= length && memcmp(t->p, text, length) == 0;
}

static char here(const parser *t) { return t->p < t->end ? *t->p : 0; }

static void next(parser *t) { t->line += *t->p++ == '\n'; }

static void skip(parser *t)
{
    while (t->p < t->end)
        if (strchr(" \t\r\n", *t->p) && *t->p) next(t);
        else if (at(t, "//"))
            while (t->p < t->end && *t->p != '\n') t->p++;
        else return;
}

static bool take(parser *t, const char *text)
{
    skip(t);
    if (!at(t, text)) return false;
    t->p += strlen(text);
    return true;
}

static void need(parser *t, const char *text)
{
    if (!take(t, text)) fail(t, cm__format(t->ctx, "'%s' is expected", text));
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$' || c == '-';
}

static cm__span word(parser *t)
{
    const char *start = t->p;
    while (t->p < t->end && is_word(*t->p) && !at(t, "->")) t->p++;
    return (cm__span){start, (size_t)(t->p - start)};
}

static void string(parser *t)
{
    for (t->p++; t->p < t->end && *t->p != '"'; next(t))
        if (*t->p == '\\' && t->p + 1 < t->end) t->p++;
    if (t->p >= t->end) fail(t, "a text without an end");
    t->p++;
}

/* Everything between a bracket and the one that closes it. */
static cm__span balanced(parser *t)
{
    const char *start = t->p;
    int32_t     depth = 0;
    do {
        if (t->p >= t->end) fail(t, "a bracket that nothing closes");
        if (*t->p == '"') {
            string(t);
            continue;
        }
        if (at(t, "->")) t->p++;
        else if (strchr("([{<", *t->p)) depth++;
        else if (strchr(")]}>", *t->p)) depth--;
        next(t);
    } while (depth > 0);
    return (cm__span){start, (size_t)(t->p - start)};
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

static bool dtype_of(cm__span name, cm_dtype *dtype)
{
    static const struct {
        const char *name;
        cm_dtype    dtype;
    } types[] = {{"f32", CM_FP32},   {"bf16", CM_BF16},  {"f16", CM_FP16},   {"f64", CM_FP64},   {"i1", CM_BOOL},
                 {"i32", CM_INT32},  {"ui32", CM_INT32}, {"i64", CM_INT64},  {"ui64", CM_INT64}, {"i8", CM_INT8},
                 {"ui8", CM_UINT8},  {"i16", CM_INT16},  {"ui16", CM_INT16}, {"i4", CM_INT8},    {"ui4", CM_UINT8},
                 {"i2", CM_INT8},    {"ui2", CM_UINT8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (cm__span_is(name, types[i].name)) {
            *dtype = types[i].dtype;
            return true;
        }
    *dtype = CM_FP8;
    return name.length > 2 && memcmp(name.text, "f8", 2) == 0;
}

static cm__hlo_type tensor_type(parser *t)
{
    cm__hlo_type type = {.is_tensor = true};
    int64_t      dims[CM__RANK_MAX], size = 1;
    while (here(t) >= '0' && here(t) <= '9') {
        int64_t n = 0;
        while (here(t) >= '0' && here(t) <= '9' && n <= CM__DIM_MAX) n = 10 * n + (*t->p++ - '0');
        if (type.rank == CM__RANK_MAX || n > CM__DIM_MAX || __builtin_mul_overflow(size, n, &size) || size > (int64_t)1 << 50)
            fail(t, "a tensor that is too large");
        if (here(t) != 'x') fail(t, "'x' is expected");
        if (!n) fail(t, "a tensor without elements");
        t->p++;
        dims[type.rank++] = n;
    }
    if (here(t) == '?') fail(t, "a size that is not known: lower the step with arrays of known shapes");
    bool     complex = at(t, "complex<");
    cm__span name = complex ? (t->p += 8, word(t)) : word(t);
    if (complex) need(t, ">");
    type.is_unsigned = name.length > 1 && name.text[0] == 'u';
    if (!dtype_of(name, &type.dtype)) fail(t, "a type of numbers that is not known");
    if (complex) type.dtype = CM_COMPLEX64;
    type.dims = memcpy(cm__alloc_array(t->ctx, (size_t)type.rank + 1, sizeof *dims), dims, (size_t)type.rank * sizeof *dims);
    while (here(t) && here(t) != '>') {
        if (strchr("([{<\"", here(t))) balanced(t);
        else next(t);
    }
    need(t, ">");
    return type;
}

static cm__hlo_type type_at(parser *t)
{
    if (take(t, "tensor<")) return tensor_type(t);
    skip(t);
    if (here(t) == '!') t->p++;
    cm__span name = word(t);
    if (!name.length) fail(t, "a type is expected");
    if (here(t) == '<') balanced(t);
    return (cm__hlo_type){.dtype = CM_INT32, .dims = cm__alloc(t->ctx, sizeof(int64_t))};
}

static void add_type(parser *t, cm__hlo_op *op, cm__hlo_type type)
{
    if (op->n_types == RESULTS_MAX) fail(t, "too many types");
    op->types = cm__grow(t->ctx, op->types, op->n_types, &op->cap_types, sizeof *op->types);
    op->types[op->n_types++] = type;
}

/* T, T or (T, T) */
static void type_list(parser *t, cm__hlo_op *op)
{
    op->n_types = 0;
    bool many = take(t, "(");
    if (many && take(t, ")")) return;
    do {
        add_type(t, op, type_at(t));
        skip(t);
        if (many && here(t) == '{') balanced(t);
    } while (take(t, ","));
    if (many) need(t, ")");
}

static void signature(parser *t, cm__hlo_op *op)
{
    type_list(t, op);
    if (take(t, "->")) type_list(t, op);
    else if (op->n_results == 1 && op->n_types > 1) op->types[0] = op->types[op->n_types - 1]; /* select: of its mask and of its cases */
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static cm__span value_name(parser *t)
{
    need(t, "%");
    cm__span name = word(t);
    if (!name.length) fail(t, "the name of a value is expected");
    return name;
}

static int32_t new_slots(parser *t, cm__span name, int32_t count)
{
    int32_t first = t->function->n_slots;
    if (count > RESULTS_MAX || first > MAKES_SLOTS) fail(t, "too many values");
    t->function->n_slots += count;
    cm__map_put(&t->slots, name, first);
    return first;
}

static int64_t count(parser *t)
{
    int64_t n = 0;
    while (here(t) >= '0' && here(t) <= '9' && n <= RESULTS_MAX) n = 10 * n + (*t->p++ - '0');
    return n;
}

static int32_t operand(parser *t)
{
    cm__span name = value_name(t);
    int32_t  slot = cm__map_get(&t->slots, name);
    if (slot < 0) {
        t->p = name.text;
        fail(t, "a value that nothing has made");
    }
    if (here(t) == '#') t->p++, slot += (int32_t)count(t);
    if (slot >= t->function->n_slots) fail(t, "a result that the operation does not have");
    return slot;
}

static void add_operand(parser *t, cm__hlo_op *op, int32_t slot)
{
    if (op->n_operands == RESULTS_MAX) fail(t, "too many operands");
    op->operands = cm__grow(t->ctx, op->operands, op->n_operands, &op->cap_operands, sizeof *op->operands);
    op->operands[op->n_operands++] = slot;
}

static void add_argument(parser *t, cm__hlo_region *r, cm__span name)
{
    r->arguments = cm__grow(t->ctx, r->arguments, r->n_arguments, &r->cap_arguments, sizeof *r->arguments);
    r->arguments[r->n_arguments++] = new_slots(t, name, 1);
}

static cm__hlo_region *new_region(parser *t, cm__hlo_op *op)
{
    op->regions = cm__grow(t->ctx, op->regions, op->n_regions, &op->cap_regions, sizeof *op->regions);
    op->regions[op->n_regions] = (cm__hlo_region){0};
    return &op->regions[op->n_regions++];
}

/* (%a: T, %b: T) */
static void block_arguments(parser *t, cm__hlo_region *r)
{
    need(t, "(");
    if (take(t, ")")) return;
    do {
        add_argument(t, r, value_name(t));
        need(t, ":");
        type_at(t);
        skip(t);
        if (at(t, "loc(")) t->p += 3, balanced(t);
    } while (take(t, ","));
    need(t, ")");
}

static void statement(parser *t, cm__hlo_region *r);

/* The operations up to the closing brace. */
static void operations(parser *t, cm__hlo_region *r)
{
    if (++t->depth > DEPTH_MAX) fail(t, "regions nested too deeply");
    while (!take(t, "}")) {
        if (t->p >= t->end) fail(t, "'}' is expected");
        if (here(t) == '^') {
            if (r->n_ops || r->n_arguments) fail(t, "a function of several blocks");
            t->p++;
            word(t);
            skip(t);
            if (here(t) == '(') block_arguments(t, r);
            need(t, ":");
        } else statement(t, r);
    }
    t->depth--;
}

/* (%iterArg = %x, ...): arguments of the regions, and operands. */
static void loop_arguments(parser *t, cm__hlo_op *op, cm__hlo_region *both)
{
    need(t, "(");
    if (take(t, ")")) return;
    cm__span *names = NULL;
    int32_t   n = 0, capacity = 0;
    do {
        names = cm__grow(t->ctx, names, n, &capacity, sizeof *names);
        names[n++] = value_name(t);
        need(t, "=");
        skip(t);
        add_operand(t, op, operand(t));
    } while (take(t, ","));
    need(t, ")");
    for (int32_t i = 0; i < n; i++) add_argument(t, both, names[i]);
}

static void loop_regions(parser *t, cm__hlo_op *op, const cm__hlo_region *arguments)
{
    if (take(t, "attributes")) skip(t), balanced(t);
    for (int i = 0; i < 2; i++) {
        need(t, i ? "do" : "cond");
        need(t, "{");
        cm__hlo_region own = {.arguments = arguments->arguments, .n_arguments = arguments->n_arguments};
        operations(t, &own);
        *new_region(t, op) = own;
    }
}

/* ({ ... }, { ... }) */
static void listed_regions(parser *t, cm__hlo_op *op)
{
    t->p++;
    do {
        need(t, "{");
        cm__hlo_region own = {0};
        operations(t, &own);
        *new_region(t, op) = own;
    } while (take(t, ","));
    need(t, ")");
}

/* Operands and attributes up to the types. */
static void middle(parser *t, cm__hlo_op *op, cm__hlo_region *loop)
{
    const char *start = t->p;
    int32_t     depth = 0;
    bool        listed = false;
    if (loop) loop_arguments(t, op, loop);
    for (; t->p < t->end; next(t)) {
        if (*t->p == '\n' && !depth) break;
        if (*t->p == '"') string(t), t->p--;
        else if (*t->p == '(' && t->p + 1 < t->end && t->p[1] == '{' && !depth) {
            op->text = (cm__span){start, (size_t)(t->p - start)};
            listed_regions(t, op);
            listed = true;
            break;
        } else if (*t->p == ':' && !depth) break;
        else if (at(t, "->")) t->p++;
        else if (strchr("([{<", *t->p)) depth++;
        else if (strchr(")]}>", *t->p)) {
            if (--depth < 0) break;
        } else if (*t->p == '%') {
            add_operand(t, op, operand(t));
            t->p--;
        }
    }
    if (!listed) op->text = (cm__span){start, (size_t)(t->p - start)};
}

static void set_kind(parser *t, cm__hlo_op *op)
{
    static const char *const dialects[] = {"stablehlo.", "chlo.", "func.", "mhlo.", "sdy."};
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        size_t length = strlen(dialects[i]);
        if (op->name.length > length && memcmp(op->name.text, dialects[i], length) == 0)
            op->name = (cm__span){op->name.text + length, op->name.length - length};
    }
    op->kind = cm__map_get(&t->kinds, op->name);
    if (op->kind < 0) {
        cm__place(t->ctx, "line %d", op->line);
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "operation '%.*s' is not known", (int)(op->name.length > 64 ? 64 : op->name.length), op->name.text);
    }
}

typedef struct made {
    cm__span name;
    int32_t  count;
} made;

static void statement(parser *t, cm__hlo_region *r)
{
    made   *names = NULL;
    int32_t n = 0, capacity = 0;
    skip(t);
    cm__hlo_op op = {.line = t->line};
    if (here(t) == '%') {
        do {
            names = cm__grow(t->ctx, names, n, &capacity, sizeof *names);
            names[n] = (made){value_name(t), 1};
            if (take(t, ":")) names[n].count = (int32_t)count(t);
            op.n_results += names[n++].count;
            if (op.n_results > RESULTS_MAX) fail(t, "too many results");
        } while (take(t, ","));
        need(t, "=");
    }
    skip(t);
    bool quoted = here(t) == '"';
    if (quoted) t->p++;
    op.name = word(t);
    if (quoted) need(t, "\"");
    if (!op.name.length || t->operations++ > OPERATIONS_MAX) fail(t, "an operation is expected");
    set_kind(t, &op);
    bool           loop = cm__hlo_kind_of(&op) == CM__HLO_loop && !quoted;
    cm__hlo_region arguments = {0};
    middle(t, &op, loop ? &arguments : NULL);
    if (take(t, ":")) signature(t, &op);
    if (loop) loop_regions(t, &op, &arguments);
    if (take(t, "reducer")) {
        cm__hlo_region own = {0};
        block_arguments(t, &own);
        skip(t);
        while (here(t) == '(') block_arguments(t, &own), skip(t);
        need(t, "{");
        operations(t, &own);
        *new_region(t, &op) = own;
    }
    while (take(t, "loc(")) t->p--, balanced(t);
    if (op.n_results && !op.n_types) fail(t, "the type of a result is expected");
    if (op.n_results > 1 && op.n_types < op.n_results) fail(t, "fewer types than results");
    for (int32_t i = 0; i < n; i++) {
        int32_t first = new_slots(t, names[i].name, names[i].count);
        if (!i) op.first = first;
    }
    r->ops = cm__grow(t->ctx, r->ops, r->n_ops, &r->cap_ops, sizeof *r->ops);
    r->ops[r->n_ops++] = op;
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

static void function(parser *t)
{
    cm__hlo_module *m = t->module;
    while (!at(t, "@")) {
        if (!word(t).length) fail(t, "the name of a function is expected");
        skip(t);
    }
    t->p++;
    m->functions = cm__grow(t->ctx, m->functions, m->n_functions, &m->cap_functions, sizeof *m->functions);
    cm__hlo_function *f = t->function = &m->functions[m->n_functions];
    *f = (cm__hlo_function){.name = word(t)};
    cm__map_put(&m->by_name, f->name, m->n_functions++);
    cm__map_init(&t->slots, t->ctx);
    need(t, "(");
    while (!take(t, ")")) {
        f->arguments = cm__grow(t->ctx, f->arguments, f->n_arguments, &f->cap_arguments, sizeof *f->arguments);
        cm__hlo_argument *a = &f->arguments[f->n_arguments++];
        *a = (cm__hlo_argument){0};
        add_argument(t, &f->body, value_name(t));
        need(t, ":");
        a->type = type_at(t);
        skip(t);
        if (here(t) == '{') a->attributes = balanced(t);
        if (take(t, "loc(")) t->p--, balanced(t);
        take(t, ",");
        skip(t);
        if (!here(t)) fail(t, "')' is expected");
    }
    if (take(t, "->")) {
        cm__hlo_op ignored = {0};
        type_list(t, &ignored);
    }
    if (take(t, "attributes")) skip(t), balanced(t);
    need(t, "{");
    operations(t, &f->body);
}

cm__hlo_module *cm__hlo_parse(cm__ctx *ctx, const char *text, size_t size)
{
    cm__hlo_module *m = cm__alloc(ctx, sizeof *m);
    parser          t = {.ctx = ctx, .module = m, .p = text, .end = text + size, .line = 1};
    m->ctx = ctx;
    cm__map_init(&m->by_name, ctx);
    cm__map_init(&t.kinds, ctx);
    for (int32_t i = 0; i < CM__HLO_OPS; i++) cm__map_put(&t.kinds, cm__span_of(cm__hlo_rows[i].name), i);
    if (memchr(text, 0, size)) cm__fail(ctx, CM_ERR_FORMAT, "not a text: it has a zero byte");
    skip(&t);
    if (!at(&t, "module") && !at(&t, "#loc") && !at(&t, "func.func")) fail(&t, "StableHLO text starts with 'module', which is expected");
    while (t.p < t.end) {
        skip(&t);
        if (take(&t, "func.func")) skip(&t), function(&t);
        else if (at(&t, "module")) {
            while (here(&t) && here(&t) != '{' && !at(&t, "attributes")) next(&t);
            if (take(&t, "attributes")) skip(&t), balanced(&t);
            need(&t, "{");
        } else /* a line of locations or meshes, or the end of the module: not needed */
            while (here(&t) && here(&t) != '\n') next(&t);
    }
    return m;
}
