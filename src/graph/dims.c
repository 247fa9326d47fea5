/* SPDX-License-Identifier: Apache-2.0 */
/* dims.c - arithmetic on dimensions (a B + b) and on costs (polynomials of B). */
#include <stdio.h>
#include <string.h>
#include "graph/graph.h"

static cm_dim checked(cm_graph *g, bool overflow, int64_t per_batch, int64_t fixed)
{
    if (overflow) cm__fail(g->ctx, CM_ERR_LIMIT, "a size overflows 64 bits");
    return (cm_dim){per_batch, fixed};
}

cm_dim cm__dim_mul(cm_graph *g, cm_dim a, cm_dim b)
{
    if (a.per_batch && b.per_batch)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a dimension grows with the square of the batch size");
    int64_t x, y, fixed;
    bool over = __builtin_mul_overflow(a.per_batch, b.fixed, &x) || __builtin_mul_overflow(b.per_batch, a.fixed, &y) ||
                __builtin_add_overflow(x, y, &x) || __builtin_mul_overflow(a.fixed, b.fixed, &fixed);
    return checked(g, over, x, over ? 0 : fixed);
}

cm_dim cm__dim_add(cm_graph *g, cm_dim a, cm_dim b)
{
    int64_t x, y;
    bool    over = __builtin_add_overflow(a.per_batch, b.per_batch, &x) || __builtin_add_overflow(a.fixed, b.fixed, &y);
    return checked(g, over, x, over ? 0 : y);
}

cm_dim cm__dim_sub(cm_graph *g, cm_dim a, cm_dim b)
{
    int64_t x, y;
    bool    over = __builtin_sub_overflow(a.per_batch, b.per_batch, &x) || __builtin_sub_overflow(a.fixed, b.fixed, &y);
    return checked(g, over, x, over ? 0 : y);
}

bool cm__dim_div(cm_dim a, cm_dim b, cm_dim *quotient)
{
    if (b.per_batch == 0) {
        if (b.fixed == 0 || b.fixed == -1 || a.per_batch % b.fixed || a.fixed % b.fixed) return false;
        *quotient = (cm_dim){a.per_batch / b.fixed, a.fixed / b.fixed};
        return true;
    }
    if (b.per_batch == -1 || a.per_batch % b.per_batch) return false; /* (k a B + k b) / (a B + b) = k */
    int64_t k = a.per_batch / b.per_batch, product;
    if (__builtin_mul_overflow(k, b.fixed, &product) || product != a.fixed) return false;
    *quotient = cm__fixed(k);
    return true;
}

cm_poly cm__poly_mul(cm_poly a, cm_poly b)
{
    cm_poly p = {{0}};
    for (int i = 0; i < CM_POLY_TERMS; i++)
        for (int j = 0; i + j < CM_POLY_TERMS; j++) p.c[i + j] += a.c[i] * b.c[j];
    return p;
}

/* Most dimensions do not depend on B, and at most one does: a product of degree 1 needs two terms only. */
cm_poly cm__poly_product(const cm_dim *dims, int32_t count)
{
    double  constant = 1, linear = 0;
    int32_t first = 0;
    int     degree = 0;
    for (; first < count && (degree == 0 || dims[first].per_batch == 0); first++) {
        double b = (double)dims[first].fixed;
        linear *= b;
        if (dims[first].per_batch != 0) linear = constant * (double)dims[first].per_batch, degree = 1;
        constant *= b;
    }
    cm_poly p = {{constant, linear}};
    for (int32_t i = first; i < count; i++) { /* times a B + b */
        double a = (double)dims[i].per_batch, b = (double)dims[i].fixed;
        if (a != 0 && degree < CM_POLY_TERMS - 1) degree++;
        for (int k = degree; k > 0; k--) p.c[k] = p.c[k] * b + p.c[k - 1] * a;
        p.c[0] *= b;
    }
    return p;
}

bool cm__poly_larger(const cm_poly *a, const cm_poly *b) { return cm_poly_at(a, 1e6) > cm_poly_at(b, 1e6); }

double cm_poly_at(const cm_poly *poly, double batch) { return cm__poly_at(poly, batch); }

cm_poly cm_tensor_elements(const cm_tensor *tensor) { return cm__poly_product(tensor->dims, tensor->rank); }

cm_poly cm_tensor_bytes(const cm_tensor *tensor)
{
    return cm__poly_scale(cm_tensor_elements(tensor), (double)cm_dtype_size(tensor->dtype));
}

static int dim_text(char *buf, size_t size, cm_dim d)
{
    if (!d.per_batch) return snprintf(buf, size, "%lld", (long long)d.fixed);
    int n = d.per_batch == 1 ? snprintf(buf, size, "B") : snprintf(buf, size, "%lldB", (long long)d.per_batch);
    if (d.fixed && n > 0 && (size_t)n < size) n += snprintf(buf + n, size - (size_t)n, "%+lld", (long long)d.fixed);
    return n;
}

const char *cm__dims_text(const cm_graph *g, const cm_tensor *t)
{
    char   text[CM__RANK_MAX * 48] = "[";
    size_t used = 1;
    for (int32_t i = 0; i < t->rank && used < sizeof text - 64; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i ? ", " : "");
        used += (size_t)dim_text(text + used, sizeof text - used, t->dims[i]);
    }
    snprintf(text + used, sizeof text - used, "]");
    return cm__text_copy(g->ctx, text);
}
