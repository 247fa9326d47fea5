/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - Einstein sums: the shape of the result, and the equivalent matrix products. */
#include "graph/rules/einsum.h"

#include "graph/rule.h"
#include "graph/rules/rules.h"

/* A label of an equation and the dimension it names. Letters are labels 0 to 51; dimensions under "..." are 52 and
   up. */
enum { LETTERS = 52, LABELS = LETTERS + CM__RANK_MAX };

static int label_of(int64_t c)
{
    if (c >= 'a' && c <= 'z') return (int)(c - 'a');
    if (c >= 'A' && c <= 'Z') return (int)(c - 'A') + 26;
    return -1;
}

typedef struct term {
    int     labels[LETTERS];
    int32_t count, ellipsis; /* position of "...", -1: none */
} term;

/* A parsed equation, matched with the shapes of its inputs. */
typedef struct equation {
    cm_dim  sizes[LABELS];
    int     uses[LABELS];
    int32_t spare; /* number of dimensions under "..." */
    term    first[2], result;
} equation;

static bool follows(const cm__attr *eq, int32_t at, const char *text)
{
    for (; *text; text++, at++)
        if (at >= eq->count || eq->ints[at] != *text) return false;
    return true;
}

/* Parse labels up to the next ',' or "->"; returns the position of that separator. */
static int32_t read_term(cm_graph *g, const cm__attr *eq, int32_t at, term *t)
{
    *t = (term){.ellipsis = -1};
    for (; at < eq->count; at++) {
        int64_t c = eq->ints[at];
        if (c == ' ') continue;
        if (c == ',' || c == '-') break;
        if (c == '.') {
            if (t->ellipsis >= 0 || !follows(eq, at, "..."))
                cm__fail(g->ctx, CM_ERR_FORMAT, "dots in the equation: three in a row, and once in a term, expected");
            t->ellipsis = t->count;
            at += 2;
            continue;
        }
        if (label_of(c) < 0) cm__fail(g->ctx, CM_ERR_FORMAT, "bad character in the equation");
        if (t->count == LETTERS)
            cm__fail(g->ctx, CM_ERR_FORMAT, "a term of the equation has more than %d letters", LETTERS);
        t->labels[t->count++] = label_of(c);
    }
    return at;
}

/* The label of dimension i of a tensor with `extra` dimensions under "...". */
static int label_at(const term *t, int32_t extra, int32_t i)
{
    if (t->ellipsis < 0 || i < t->ellipsis) return t->labels[i];
    return i < t->ellipsis + extra ? LABELS - extra + i - t->ellipsis : t->labels[i - extra];
}

static void bind(cm_graph *g, const cm_tensor *x, const term *t, equation *e)
{
    int32_t extra = x->rank - t->count;
    if (extra < 0 || (extra > 0 && t->ellipsis < 0))
        cm__fail(g->ctx, CM_ERR_FORMAT, "the equation does not fit %s", cm__dims_text(g, x));
    for (int32_t i = 0; i < x->rank; i++) {
        int     label = label_at(t, extra, i);
        cm_dim *size = &e->sizes[label];
        bool    open = e->uses[label]++ == 0 || cm__dim_is(*size, 1);
        if (!open && !cm__dim_same(*size, x->dims[i]) && !cm__dim_is(x->dims[i], 1))
            cm__fail(g->ctx, CM_ERR_FORMAT, "a letter of the equation has two sizes, one in %s", cm__dims_text(g, x));
        if (open) *size = x->dims[i];
    }
    if (extra > e->spare) e->spare = extra;
}

/* Without "->" the result has the letters that are used once, capitals first. */
static term usual_result(const equation *e)
{
    term t = {.ellipsis = e->spare ? 0 : -1};
    for (int at = 0; at < LETTERS; at++) {
        int label = (at + 26) % LETTERS;
        if (e->uses[label] == 1) t.labels[t.count++] = label;
    }
    return t;
}

static void read_result(cm_graph *g, const cm__attr *eq, int32_t at, equation *e)
{
    bool seen[LETTERS] = {false};
    if (!follows(eq, at, "->") || read_term(g, eq, at + 2, &e->result) < eq->count)
        cm__fail(g->ctx, CM_ERR_FORMAT, "the equation does not end in '->' and one result");
    for (int32_t i = 0; i < e->result.count; i++) {
        int label = e->result.labels[i];
        if (!e->uses[label]) cm__fail(g->ctx, CM_ERR_FORMAT, "the equation's result has a letter its inputs lack");
        if (seen[label]) cm__fail(g->ctx, CM_ERR_FORMAT, "the equation's result has a letter twice");
        seen[label] = true;
    }
}

static void read_equation(cm_graph *g, const cm_node *n, equation *e)
{
    const cm__attr *eq = cm__attr_find(n, CM_ATTR_EQUATION);
    int32_t         at = 0;
    term            t;
    if (!eq) cm__fail(g->ctx, CM_ERR_FORMAT, "no equation");
    *e = (equation){.spare = 0};
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__has(n, i)) cm__fail(g->ctx, CM_ERR_FORMAT, "input %d is missing", i);
        if (i > 0 && !follows(eq, at, ","))
            cm__fail(g->ctx, CM_ERR_FORMAT, "the equation has fewer terms than inputs");
        at = read_term(g, eq, at + (i > 0), &t);
        bind(g, cm__in(g, n, i), &t, e);
        if (i < 2) e->first[i] = t;
    }
    if (follows(eq, at, ",")) cm__fail(g->ctx, CM_ERR_FORMAT, "the equation has more terms than inputs");
    if (at < eq->count) read_result(g, eq, at, e);
    else e->result = usual_result(e);
}

/* ---- shape ------------------------------------------------------------------------------------------------------ */

/* Every combination of all letters is multiplied (and added) once per input beyond the first. */
static cm_poly flop_of(cm_graph *g, int32_t inputs, const equation *e)
{
    cm_poly all = cm__poly_const(inputs < 2 ? 1 : 2 * (inputs - 1));
    int     batch_letters = 0;
    for (int label = 0; label < LABELS; label++) {
        if (!e->uses[label]) continue;
        all = cm__poly_mul(all, cm__poly_dim(e->sizes[label]));
        batch_letters += e->sizes[label].per_batch != 0;
    }
    if (batch_letters >= CM_POLY_TERMS)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a product over %d batch dimensions", batch_letters);
    return all;
}

void cm__shape_einsum(cm_graph *g, cm_node *n)
{
    equation e;
    cm_dim   dims[LABELS];
    read_equation(g, n, &e);
    int32_t extra = e.result.ellipsis >= 0 ? e.spare : 0, rank = e.result.count + extra;
    for (int32_t i = 0; i < rank; i++) dims[i] = e.sizes[label_at(&e.result, extra, i)];
    cm__set_output(g, n, 0, cm__widest(g, n, 0, n->n_inputs), rank, dims);
    n->flop = flop_of(g, n->n_inputs, &e);
}

/* ---- products --------------------------------------------------------------------------------------------------- */

static void mark(const term *t, const cm_tensor *x, bool *has)
{
    for (int32_t i = 0; i < x->rank; i++) has[label_at(t, x->rank - t->count, i)] = true;
}

bool cm__einsum_as_product(cm_graph *g, const cm_node *n, int of, cm__einsum_product *p)
{
    equation e;
    bool     has[3][LABELS] = {{false}};
    if (n->n_inputs != 2) return false;
    read_equation(g, n, &e);
    const term      *terms[] = {&e.first[0], &e.first[1], &e.result};
    const cm_tensor *tensors[] = {cm__in(g, n, 0), cm__in(g, n, 1), cm__t(g, n->outputs[0])};
    const int        operand[2] = {of == 0 ? 2 : 0, of == 1 ? 2 : 1};
    for (int i = 0; i < 3; i++) mark(terms[i], tensors[i], has[i]);
    const bool *a = has[operand[0]], *b = has[operand[1]], *c = has[of];
    p->stack = p->m = p->n = p->k = cm__poly_const(1);
    for (int label = 0; label < LABELS; label++) {
        if (!a[label] && !b[label]) continue;
        if (!c[label] && !(a[label] && b[label])) return false;
        cm_poly *size = !c[label] ? &p->k : a[label] && b[label] ? &p->stack : a[label] ? &p->m : &p->n;
        *size = cm__poly_mul(*size, cm__poly_dim(e.sizes[label]));
    }
    for (int i = 0; i < 2; i++) {
        const term      *t = terms[operand[i]];
        const cm_tensor *x = tensors[operand[i]];
        for (int32_t k = 0; k < x->rank; k++) {
            int label = label_at(t, x->rank - t->count, k);
            p->sides[i][k] = !c[label] ? CM__EINSUM_SUMMED : a[label] && b[label] ? CM__EINSUM_STACK : CM__EINSUM_OWN;
        }
    }
    return true;
}
