/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - Einstein sums: the shape of their result, and the matrix products that they are. */
#include "graph/einsum.h"

#include "graph/rule.h"
#include "graph/rules.h"

/* One label of an equation: the dimension it stands for. Upper and lower case letters; "..." as labels 52 and up. */
enum { LABELS = 52 + CM__RANK_MAX };

static int label_of(int64_t c)
{
    if (c >= 'a' && c <= 'z') return (int)(c - 'a');
    if (c >= 'A' && c <= 'Z') return (int)(c - 'A') + 26;
    return -1;
}

typedef struct term {
    int     labels[2 * CM__RANK_MAX];
    int32_t count, ellipsis; /* where "..." stands, -1: nowhere */
} term;

/* An equation read against its inputs. */
typedef struct equation {
    cm_dim  sizes[LABELS];
    int     uses[LABELS];
    int32_t spare; /* dimensions that "..." stands for */
    term    first[2], result;
} equation;

/* Labels up to the next ',' or "->"; returns the position of what stopped it. */
static int32_t read_term(cm_graph *g, const cm__attr *eq, int32_t at, term *t)
{
    *t = (term){.ellipsis = -1};
    for (; at < eq->count; at++) {
        int64_t c = eq->ints[at];
        if (c == ' ') continue;
        if (c == ',' || c == '-') break;
        if (c == '.') {
            t->ellipsis = t->count;
            at += 2;
            continue;
        }
        if (label_of(c) < 0 || t->count >= CM__RANK_MAX)
            cm__fail(g->ctx, CM_ERR_FORMAT, "bad character in the equation");
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
        cm_dim *size = &e->sizes[label_at(t, extra, i)];
        bool    open = cm__dim_is(*size, 0) || cm__dim_is(*size, 1);
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
    for (int at = 0; at < 52; at++) {
        int label = (at + 26) % 52;
        if (e->uses[label] == 1 && t.count < CM__RANK_MAX) t.labels[t.count++] = label;
    }
    return t;
}

static void read_equation(cm_graph *g, const cm_node *n, equation *e)
{
    const cm__attr *eq = cm__attr_find(n, CM_ATTR_EQUATION);
    int32_t         at = 0;
    term            t;
    if (!eq) cm__fail(g->ctx, CM_ERR_FORMAT, "no equation");
    *e = (equation){.spare = 0};
    for (int32_t i = 0; i < n->n_inputs; i++) {
        at = read_term(g, eq, at, &t);
        bind(g, cm__in(g, n, i), &t, e);
        for (int32_t k = 0; k < t.count; k++) e->uses[t.labels[k]]++;
        if (i < 2) e->first[i] = t;
        if (at < eq->count && eq->ints[at] == ',') at++;
    }
    if (at > 0 && eq->ints[at - 1] == ',') cm__fail(g->ctx, CM_ERR_FORMAT, "the equation has more terms than inputs");
    if (at < eq->count) read_term(g, eq, at + 2, &e->result);
    else e->result = usual_result(e);
}

/* ---- shape ------------------------------------------------------------------------------------------------------ */

/* Every combination of all letters is multiplied (and added) once per input beyond the first. */
static cm_poly flop_of(cm_graph *g, int32_t inputs, const equation *e)
{
    cm_poly all = cm__poly_const(inputs < 2 ? 1 : 2 * (inputs - 1));
    int     batch_letters = 0;
    for (int label = 0; label < LABELS; label++) {
        if (label < 52 ? !e->uses[label] : label < LABELS - e->spare) continue;
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
    cm_dim   dims[3 * CM__RANK_MAX];
    read_equation(g, n, &e);
    int32_t extra = e.result.ellipsis >= 0 ? e.spare : 0, rank = e.result.count + extra;
    for (int32_t i = 0; i < rank; i++) {
        int label = label_at(&e.result, extra, i);
        if (label < 52 && !e.uses[label])
            cm__fail(g->ctx, CM_ERR_FORMAT, "the equation's result has a letter its inputs lack");
        dims[i] = e.sizes[label];
    }
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
