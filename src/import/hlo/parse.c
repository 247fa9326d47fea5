/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.c - read StableHLO text. Only the structure is read here: names, operands, types and regions of operations. Attributes
 * stay text, which rules search for their keys.
 */
#include <string.h>
#include "base/text.h"
#include "import/hlo/parse.h"

#define MAKES_SLOTS 50000000

const cm__hlo_row cm__hlo_rows[CM__HLO_OPS] = {
#define HLO(name, kind, aten) {#name, aten, CM__HLO_##kind},
#include "import/hlo/ops.def"
#undef HLO
};

/* ---- types -------------------------------------------------------------------------------------------------------- */

bool cm__hlo_dtype_of(cm__span name, cm_dtype *dtype)
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

static cm__hlo_type tensor_type(cm__hlo_parser *t)
{
    cm__hlo_type type = {.is_tensor = true};
    int64_t      dims[CM__RANK_MAX], size = 1;
    while (cm__hlo_here(t) >= '0' && cm__hlo_here(t) <= '9') {
        int64_t n = 0;
        while (cm__hlo_here(t) >= '0' && cm__hlo_here(t) <= '9' && n <= CM__DIM_MAX) n = 10 * n + (*t->p++ - '0');
        if (type.rank == CM__RANK_MAX || n > CM__DIM_MAX || __builtin_mul_overflow(size, n, &size) || size > (int64_t)1 << 50)
            cm__hlo_fail(t, "a tensor that is too large");
        if (cm__hlo_here(t) != 'x') cm__hlo_fail(t, "'x' is expected");
        if (!n) cm__hlo_fail(t, "a tensor without elements");
        t->p++;
        dims[type.rank++] = n;
    }
    if (cm__hlo_here(t) == '?') cm__hlo_fail(t, "a size that is not known: lower the step with arrays of known shapes");
    bool     complex = cm__hlo_at(t, "complex<");
    cm__span name = complex ? (t->p += 8, cm__hlo_word(t)) : cm__hlo_word(t);
    if (complex) cm__hlo_need(t, ">");
    type.is_unsigned = name.length > 1 && name.text[0] == 'u';
    if (!cm__hlo_dtype_of(name, &type.dtype)) cm__hlo_fail(t, "a type of numbers that is not known");
    if (complex) type.dtype = CM_COMPLEX64;
    type.dims = memcpy(cm__alloc_array(t->ctx, (size_t)type.rank + 1, sizeof *dims), dims, (size_t)type.rank * sizeof *dims);
    while (cm__hlo_here(t) && cm__hlo_here(t) != '>') {
        if (strchr("([{<\"", cm__hlo_here(t))) cm__hlo_balanced(t);
        else cm__hlo_next(t);
    }
    cm__hlo_need(t, ">");
    return type;
}

static cm__hlo_type type_at(cm__hlo_parser *t)
{
    if (cm__hlo_take(t, "tensor<")) return tensor_type(t);
    cm__hlo_skip(t);
    if (cm__hlo_here(t) == '!') t->p++;
    cm__span name = cm__hlo_word(t);
    if (!name.length) cm__hlo_fail(t, "a type is expected");
    if (cm__hlo_here(t) == '<') cm__hlo_balanced(t);
    return (cm__hlo_type){.dtype = CM_INT32, .dims = cm__alloc(t->ctx, sizeof(int64_t))};
}

void cm__hlo_add_type(cm__hlo_parser *t, cm__hlo_op *op, cm__hlo_type type)
{
    if (op->n_types == CM__HLO_RESULTS_MAX) cm__hlo_fail(t, "too many types");
    op->types = cm__grow(t->ctx, op->types, op->n_types, &op->cap_types, sizeof *op->types);
    op->types[op->n_types++] = type;
}

/* T, T or (T, T) */
static void type_list(cm__hlo_parser *t, cm__hlo_op *op)
{
    op->n_types = 0;
    bool many = cm__hlo_take(t, "(");
    if (many && cm__hlo_take(t, ")")) return;
    do {
        cm__hlo_add_type(t, op, type_at(t));
        cm__hlo_skip(t);
        if (many && cm__hlo_here(t) == '{') cm__hlo_balanced(t);
    } while (cm__hlo_take(t, ","));
    if (many) cm__hlo_need(t, ")");
}

static void signature(cm__hlo_parser *t, cm__hlo_op *op)
{
    type_list(t, op);
    if (cm__hlo_take(t, "->")) type_list(t, op);
    else if (op->n_results == 1 && op->n_types > 1) op->types[0] = op->types[op->n_types - 1]; /* select: of its mask and of its cases */
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static cm__span value_name(cm__hlo_parser *t)
{
    cm__hlo_need(t, "%");
    cm__span name = cm__hlo_word(t);
    if (!name.length) cm__hlo_fail(t, "the name of a value is expected");
    return name;
}

int32_t cm__hlo_new_slots(cm__hlo_parser *t, cm__span name, int32_t count)
{
    int32_t first = t->function->n_slots;
    if (count > CM__HLO_RESULTS_MAX || first > MAKES_SLOTS) cm__hlo_fail(t, "too many values");
    t->function->n_slots += count;
    if (name.length) cm__map_put(&t->slots, name, first);
    return first;
}

static int64_t count(cm__hlo_parser *t)
{
    int64_t n = 0;
    while (cm__hlo_here(t) >= '0' && cm__hlo_here(t) <= '9' && n <= CM__HLO_RESULTS_MAX) n = 10 * n + (*t->p++ - '0');
    return n;
}

static int32_t operand(cm__hlo_parser *t)
{
    cm__span name = value_name(t);
    int32_t  slot = cm__map_get(&t->slots, name);
    if (slot < 0) {
        t->p = name.text;
        cm__hlo_fail(t, "a value that nothing has made");
    }
    if (cm__hlo_here(t) == '#') t->p++, slot += (int32_t)count(t);
    if (slot >= t->function->n_slots) cm__hlo_fail(t, "a result that the operation does not have");
    return slot;
}

void cm__hlo_add_operand(cm__hlo_parser *t, cm__hlo_op *op, int32_t slot)
{
    if (op->n_operands == CM__HLO_RESULTS_MAX) cm__hlo_fail(t, "too many operands");
    op->operands = cm__grow(t->ctx, op->operands, op->n_operands, &op->cap_operands, sizeof *op->operands);
    op->operands[op->n_operands++] = slot;
}

static void add_argument(cm__hlo_parser *t, cm__hlo_region *r, cm__span name)
{
    r->arguments = cm__grow(t->ctx, r->arguments, r->n_arguments, &r->cap_arguments, sizeof *r->arguments);
    r->arguments[r->n_arguments++] = cm__hlo_new_slots(t, name, 1);
}

cm__hlo_region *cm__hlo_new_region(cm__hlo_parser *t, cm__hlo_op *op)
{
    op->regions = cm__grow(t->ctx, op->regions, op->n_regions, &op->cap_regions, sizeof *op->regions);
    op->regions[op->n_regions] = (cm__hlo_region){0};
    return &op->regions[op->n_regions++];
}

/* (%a: T, %b: T) */
static void block_arguments(cm__hlo_parser *t, cm__hlo_region *r)
{
    cm__hlo_need(t, "(");
    if (cm__hlo_take(t, ")")) return;
    do {
        add_argument(t, r, value_name(t));
        cm__hlo_need(t, ":");
        type_at(t);
        cm__hlo_skip(t);
        if (cm__hlo_at(t, "loc(")) t->p += 3, cm__hlo_balanced(t);
    } while (cm__hlo_take(t, ","));
    cm__hlo_need(t, ")");
}

static void statement(cm__hlo_parser *t, cm__hlo_region *r);

/* The operations up to the closing brace. */
static void operations(cm__hlo_parser *t, cm__hlo_region *r)
{
    if (++t->depth > CM__HLO_DEPTH_MAX) cm__hlo_fail(t, "regions nested too deeply");
    while (!cm__hlo_take(t, "}")) {
        if (t->p >= t->end) cm__hlo_fail(t, "'}' is expected");
        if (cm__hlo_here(t) == '^') {
            if (r->n_ops || r->n_arguments) cm__hlo_fail(t, "a function of several blocks");
            t->p++;
            cm__hlo_word(t);
            cm__hlo_skip(t);
            if (cm__hlo_here(t) == '(') block_arguments(t, r);
            cm__hlo_need(t, ":");
        } else statement(t, r);
    }
    t->depth--;
}

/* (%iterArg = %x, ...): arguments of the regions, and operands. */
static void loop_arguments(cm__hlo_parser *t, cm__hlo_op *op, cm__hlo_region *both)
{
    cm__hlo_need(t, "(");
    if (cm__hlo_take(t, ")")) return;
    cm__span *names = NULL;
    int32_t   n = 0, capacity = 0;
    do {
        names = cm__grow(t->ctx, names, n, &capacity, sizeof *names);
        names[n++] = value_name(t);
        cm__hlo_need(t, "=");
        cm__hlo_skip(t);
        cm__hlo_add_operand(t, op, operand(t));
    } while (cm__hlo_take(t, ","));
    cm__hlo_need(t, ")");
    for (int32_t i = 0; i < n; i++) add_argument(t, both, names[i]);
}

static void loop_regions(cm__hlo_parser *t, cm__hlo_op *op, const cm__hlo_region *arguments)
{
    if (cm__hlo_take(t, "attributes")) cm__hlo_skip(t), cm__hlo_balanced(t);
    for (int i = 0; i < 2; i++) {
        cm__hlo_need(t, i ? "do" : "cond");
        cm__hlo_need(t, "{");
        cm__hlo_region own = {.arguments = arguments->arguments, .n_arguments = arguments->n_arguments};
        operations(t, &own);
        *cm__hlo_new_region(t, op) = own;
    }
}

/* ({ ... }, { ... }) */
static void listed_regions(cm__hlo_parser *t, cm__hlo_op *op)
{
    t->p++;
    do {
        cm__hlo_need(t, "{");
        cm__hlo_region own = {0};
        operations(t, &own);
        *cm__hlo_new_region(t, op) = own;
    } while (cm__hlo_take(t, ","));
    cm__hlo_need(t, ")");
}

/* Operands and attributes up to the types. */
static void middle(cm__hlo_parser *t, cm__hlo_op *op, cm__hlo_region *loop)
{
    const char *start = t->p;
    int32_t     depth = 0;
    bool        listed = false;
    if (loop) loop_arguments(t, op, loop);
    for (; t->p < t->end; cm__hlo_next(t)) {
        if (*t->p == '\n' && !depth) break;
        if (*t->p == '"') cm__hlo_string(t), t->p--;
        else if (*t->p == '(' && t->p + 1 < t->end && t->p[1] == '{' && !depth) {
            op->text = (cm__span){start, (size_t)(t->p - start)};
            listed_regions(t, op);
            listed = true;
            break;
        } else if (*t->p == ':' && !depth) break;
        else if (cm__hlo_at(t, "->")) t->p++;
        else if (strchr("([{<", *t->p)) depth++;
        else if (strchr(")]}>", *t->p)) {
            if (--depth < 0) break;
        } else if (*t->p == '%') {
            cm__hlo_add_operand(t, op, operand(t));
            t->p--;
        }
    }
    if (!listed) op->text = (cm__span){start, (size_t)(t->p - start)};
}

void cm__hlo_set_kind(cm__hlo_parser *t, cm__hlo_op *op)
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

void cm__hlo_add_op(cm__hlo_parser *t, cm__hlo_region *r, const cm__hlo_op *op)
{
    r->ops = cm__grow(t->ctx, r->ops, r->n_ops, &r->cap_ops, sizeof *r->ops);
    r->ops[r->n_ops++] = *op;
}

static void statement(cm__hlo_parser *t, cm__hlo_region *r)
{
    made   *names = NULL;
    int32_t n = 0, capacity = 0;
    cm__hlo_skip(t);
    cm__hlo_op op = {.line = t->line};
    if (cm__hlo_here(t) == '%') {
        do {
            names = cm__grow(t->ctx, names, n, &capacity, sizeof *names);
            names[n] = (made){value_name(t), 1};
            if (cm__hlo_take(t, ":")) names[n].count = (int32_t)count(t);
            op.n_results += names[n++].count;
            if (op.n_results > CM__HLO_RESULTS_MAX) cm__hlo_fail(t, "too many results");
        } while (cm__hlo_take(t, ","));
        cm__hlo_need(t, "=");
    }
    cm__hlo_skip(t);
    bool quoted = cm__hlo_here(t) == '"';
    if (quoted) t->p++;
    op.name = cm__hlo_word(t);
    if (quoted) cm__hlo_need(t, "\"");
    if (!op.name.length || t->operations++ > CM__HLO_OPERATIONS_MAX) cm__hlo_fail(t, "an operation is expected");
    cm__hlo_set_kind(t, &op);
    bool           loop = cm__hlo_kind_of(&op) == CM__HLO_loop && !quoted;
    cm__hlo_region arguments = {0};
    middle(t, &op, loop ? &arguments : NULL);
    if (cm__hlo_take(t, ":")) signature(t, &op);
    if (loop) loop_regions(t, &op, &arguments);
    if (cm__hlo_take(t, "reducer")) {
        cm__hlo_region own = {0};
        block_arguments(t, &own);
        cm__hlo_skip(t);
        while (cm__hlo_here(t) == '(') block_arguments(t, &own), cm__hlo_skip(t);
        cm__hlo_need(t, "{");
        operations(t, &own);
        *cm__hlo_new_region(t, &op) = own;
    }
    while (cm__hlo_take(t, "loc(")) t->p--, cm__hlo_balanced(t);
    if (op.n_results && !op.n_types) cm__hlo_fail(t, "the type of a result is expected");
    if (op.n_results > 1 && op.n_types < op.n_results) cm__hlo_fail(t, "fewer types than results");
    for (int32_t i = 0; i < n; i++) {
        int32_t first = cm__hlo_new_slots(t, names[i].name, names[i].count);
        if (!i) op.first = first;
    }
    cm__hlo_add_op(t, r, &op);
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

static void function(cm__hlo_parser *t)
{
    cm__hlo_module *m = t->module;
    while (!cm__hlo_at(t, "@")) {
        if (!cm__hlo_word(t).length) cm__hlo_fail(t, "the name of a function is expected");
        cm__hlo_skip(t);
    }
    t->p++;
    m->functions = cm__grow(t->ctx, m->functions, m->n_functions, &m->cap_functions, sizeof *m->functions);
    cm__hlo_function *f = t->function = &m->functions[m->n_functions];
    *f = (cm__hlo_function){.name = cm__hlo_word(t)};
    cm__map_put(&m->by_name, f->name, m->n_functions++);
    cm__map_init(&t->slots, t->ctx);
    cm__hlo_need(t, "(");
    while (!cm__hlo_take(t, ")")) {
        f->arguments = cm__grow(t->ctx, f->arguments, f->n_arguments, &f->cap_arguments, sizeof *f->arguments);
        cm__hlo_argument *a = &f->arguments[f->n_arguments++];
        *a = (cm__hlo_argument){0};
        add_argument(t, &f->body, value_name(t));
        cm__hlo_need(t, ":");
        a->type = type_at(t);
        cm__hlo_skip(t);
        if (cm__hlo_here(t) == '{') a->attributes = cm__hlo_balanced(t);
        if (cm__hlo_take(t, "loc(")) t->p--, cm__hlo_balanced(t);
        cm__hlo_take(t, ",");
        cm__hlo_skip(t);
        if (!cm__hlo_here(t)) cm__hlo_fail(t, "')' is expected");
    }
    if (cm__hlo_take(t, "->")) {
        cm__hlo_op ignored = {0};
        type_list(t, &ignored);
    }
    if (cm__hlo_take(t, "attributes")) cm__hlo_skip(t), cm__hlo_balanced(t);
    cm__hlo_need(t, "{");
    operations(t, &f->body);
}

cm__hlo_module *cm__hlo_parse(cm__ctx *ctx, const char *text, size_t size)
{
    cm__hlo_module *m = cm__alloc(ctx, sizeof *m);
    cm__hlo_parser  t = {.ctx = ctx, .module = m, .p = text, .end = text + size, .line = 1};
    m->ctx = ctx;
    cm__map_init(&m->by_name, ctx);
    cm__map_init(&t.kinds, ctx);
    for (int32_t i = 0; i < CM__HLO_OPS; i++) cm__map_put(&t.kinds, cm__span_of(cm__hlo_rows[i].name), i);
    if (memchr(text, 0, size)) cm__fail(ctx, CM_ERR_FORMAT, "not a text: it has a zero byte");
    cm__hlo_skip(&t);
    if (cm__hlo_at(&t, "HloModule")) return cm__hlo_read_module(&t), m;
    if (!cm__hlo_at(&t, "module") && !cm__hlo_at(&t, "#loc") && !cm__hlo_at(&t, "func.func")) cm__hlo_fail(&t, "StableHLO text starts with 'module', which is expected");
    while (t.p < t.end) {
        cm__hlo_skip(&t);
        if (cm__hlo_take(&t, "func.func")) cm__hlo_skip(&t), function(&t);
        else if (cm__hlo_at(&t, "module")) {
            while (cm__hlo_here(&t) && cm__hlo_here(&t) != '{' && !cm__hlo_at(&t, "attributes")) cm__hlo_next(&t);
            if (cm__hlo_take(&t, "attributes")) cm__hlo_skip(&t), cm__hlo_balanced(&t);
            cm__hlo_need(&t, "{");
        } else { /* a mesh; a line of locations, or the end of the module: not needed */
            bool        mesh = cm__hlo_at(&t, "sdy.mesh") && !m->mesh.length;
            const char *start = t.p;
            while (cm__hlo_here(&t) && cm__hlo_here(&t) != '\n') cm__hlo_next(&t);
            if (mesh) m->mesh = (cm__span){start, (size_t)(t.p - start)};
        }
    }
    return m;
}
