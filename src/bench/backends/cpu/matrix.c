/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - matrix products and attention with a BLAS library. */
#include <math.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/kernels.h"

#define INT_SIZE_MAX 2147483647 /* BLAS takes sizes as int */

/* ---- gemm -------------------------------------------------------------------------------------------------------- */

enum { A, B, C, BIAS };

typedef struct product {
    int64_t batch, m, n, k;
    bool    a_transposed, b_transposed, bias;
} product;

static product product_of(const cm_call *call)
{
    const int64_t *d = call->dims;
    return (product){.batch = d[0], .m = d[1], .n = d[2], .k = d[3],
                     .a_transposed = strcmp(call->variant, "tn") == 0,
                     .b_transposed = strncmp(call->variant, "nt", 2) == 0,
                     .bias = strcmp(call->variant, "nt-bias") == 0};
}

static bool sizes_fit(const cm_call *call, int count)
{
    for (int i = 0; i < count; i++)
        if (call->dims[i] < 1 || call->dims[i] > INT_SIZE_MAX) return false;
    return true;
}

static bool takes_gemm(const cm__cpu *cpu, const cm_call *call)
{
    static const char *const variants[] = {"nn", "nt", "tn", "nt-bias"};
    bool known = false;
    for (int i = 0; i < 4; i++) known = known || strcmp(call->variant, variants[i]) == 0;
    return known && cpu->n_blas > 0 && strcmp(call->dtype, "fp32") == 0 && sizes_fit(call, 4);
}

static int operands_gemm(const cm_call *call, cm__operand *o)
{
    product p = product_of(call);
    o[A] = (cm__operand){p.batch * p.m * p.k, CM__FILL_RANDOM, 0};
    o[B] = (cm__operand){p.batch * p.k * p.n, CM__FILL_RANDOM, 0};
    o[C] = (cm__operand){p.batch * p.m * p.n, CM__FILL_RESULT, 0};
    o[BIAS] = (cm__operand){p.n, CM__FILL_RANDOM, 0};
    return p.bias ? 4 : 3;
}

/* Copy the bias into the result first and add the product to it, as frameworks do. */
static void run_gemm(cm__cpu_case *c, float *const *o)
{
    product p = product_of(&c->call);
    int     m = (int)p.m, n = (int)p.n, k = (int)p.k;
    if (p.bias) cm__spread_row(c->cpu->pool, o[C], o[BIAS], p.batch * p.m, p.n);
    for (int64_t i = 0; i < p.batch; i++)
        c->blas->sgemm(CM__ROW_MAJOR, p.a_transposed ? CM__TRANSPOSED : CM__AS_STORED,
                       p.b_transposed ? CM__TRANSPOSED : CM__AS_STORED, m, n, k, 1, o[A] + i * p.m * p.k,
                       p.a_transposed ? m : k, o[B] + i * p.k * p.n, p.b_transposed ? k : n, p.bias ? 1 : 0,
                       o[C] + i * p.m * p.n, n);
}

static int64_t check_gemm(cm__cpu_case *c, float *const *o, float *const *before)
{
    product p = product_of(&c->call);
    int64_t wrong = 0, total = p.batch * p.m * p.n;
    (void)before;
    for (int64_t s = 0; s < cm__samples(total); s++) {
        int64_t at = cm__sample(s, total), i = at / (p.m * p.n), row = at / p.n % p.m, column = at % p.n;
        double  sum = p.bias ? o[BIAS][column] : 0, size = fabs(sum);
        for (int64_t k = 0; k < p.k; k++) {
            double a = o[A][i * p.m * p.k + (p.a_transposed ? k * p.m + row : row * p.k + k)];
            double b = o[B][i * p.k * p.n + (p.b_transposed ? column * p.k + k : k * p.n + column)];
            sum += a * b;
            size += fabs(a * b);
        }
        wrong += cm__differs(o[C][at], sum, size);
    }
    return wrong;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

enum { Q, K, V, P, O, DO, DQ, DK, DV, DP };

typedef struct heads {
    int64_t batch, q, kv, heads, kv_heads, width;
    bool    causal;
} heads;

static heads heads_of(const cm_call *call)
{
    const int64_t *d = call->dims;
    return (heads){d[0], d[1], d[2], d[3], d[4], d[5], d[6] != 0};
}

static bool takes_attention(const cm__cpu *cpu, const cm_call *call)
{
    return cpu->n_blas > 0 && !*call->variant && strcmp(call->dtype, "fp32") == 0 && sizes_fit(call, 6) &&
           call->dims[3] % call->dims[4] == 0 && (!call->dims[6] || call->dims[2] >= call->dims[1]);
}

/* P stores the attention weights of one head at a time; backward recomputes them. */
static int operands_attention(const cm_call *call, cm__operand *o)
{
    heads   h = heads_of(call);
    int64_t queries = h.batch * h.heads * h.q * h.width, keys = h.batch * h.kv_heads * h.kv * h.width;
    o[Q] = (cm__operand){queries, CM__FILL_RANDOM, 0};
    o[K] = o[V] = (cm__operand){keys, CM__FILL_RANDOM, 0};
    o[P] = (cm__operand){h.q * h.kv, CM__FILL_RESULT, 0};
    o[O] = (cm__operand){queries, CM__FILL_RESULT, 0};
    if (strcmp(call->pass, "forward") == 0) return O + 1;
    o[DO] = (cm__operand){queries, CM__FILL_RANDOM, 0};
    o[DQ] = (cm__operand){queries, CM__FILL_RESULT, 0};
    o[DK] = o[DV] = (cm__operand){keys, CM__FILL_RESULT, 0};
    o[DP] = (cm__operand){h.q * h.kv, CM__FILL_RESULT, 0};
    return DP + 1;
}

static void multiply(const cm__cpu_case *c, bool at, bool bt, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, const float *b, float beta, float *to)
{
    c->blas->sgemm(CM__ROW_MAJOR, at ? CM__TRANSPOSED : CM__AS_STORED, bt ? CM__TRANSPOSED : CM__AS_STORED, (int)m,
                   (int)n, (int)k, alpha, a, (int)(at ? m : k), b, (int)(bt ? k : n), beta, to, (int)n);
}

static void weights_of(cm__cpu_case *c, const heads *h, float *const *o, int64_t query, int64_t key)
{
    multiply(c, false, true, h->q, h->kv, h->width, 1 / sqrtf((float)h->width), o[Q] + query, o[K] + key, 0, o[P]);
    cm__softmax_rows(c->cpu->pool, o[P], o[P], h->q, h->kv, h->causal, false);
}

static void run_attention(cm__cpu_case *c, float *const *o)
{
    heads h = heads_of(&c->call);
    for (int64_t i = 0; i < h.batch * h.heads; i++) {
        int64_t query = i * h.q * h.width;
        int64_t key = (i / h.heads * h.kv_heads + i % h.heads / (h.heads / h.kv_heads)) * h.kv * h.width;
        weights_of(c, &h, o, query, key);
        multiply(c, false, false, h.q, h.width, h.kv, 1, o[P], o[V] + key, 0, o[O] + query);
    }
}

static void run_attention_backward(cm__cpu_case *c, float *const *o)
{
    heads   h = heads_of(&c->call);
    int64_t group = h.heads / h.kv_heads;
    float   scale = 1 / sqrtf((float)h.width);
    for (int64_t i = 0; i < h.batch * h.heads; i++) {
        int64_t query = i * h.q * h.width, key = (i / h.heads * h.kv_heads + i % h.heads / group) * h.kv * h.width;
        float   again = i % h.heads % group ? 1 : 0; /* gradients of heads that share keys are added */
        weights_of(c, &h, o, query, key);
        multiply(c, true, false, h.kv, h.width, h.q, 1, o[P], o[DO] + query, again, o[DV] + key);
        multiply(c, false, true, h.q, h.kv, h.width, 1, o[DO] + query, o[V] + key, 0, o[DP]);
        cm__softmax_rows_backward(c->cpu->pool, o[DP], o[P], o[DP], h.q, h.kv, false);
        multiply(c, false, false, h.q, h.width, h.kv, scale, o[DP], o[K] + key, 0, o[DQ] + query);
        multiply(c, true, false, h.kv, h.width, h.q, scale, o[DP], o[Q] + query, again, o[DK] + key);
    }
}

/* Compute one row of attention weights in double precision; return the number of keys that the mask leaves. */
static int64_t row_of_weights(const heads *h, float *const *o, int64_t i, int64_t key, int64_t row, double *w)
{
    const float *q = o[Q] + (i * h->q + row) * h->width;
    int64_t      visible = h->causal ? row + 1 + h->kv - h->q : h->kv;
    double       most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < visible; j++) {
        double dot = 0;
        for (int64_t d = 0; d < h->width; d++) dot += (double)q[d] * o[K][key + j * h->width + d];
        w[j] = dot / sqrt((double)h->width);
        most = fmax(most, w[j]);
    }
    for (int64_t j = 0; j < visible; j++) sum += w[j] = exp(w[j] - most);
    for (int64_t j = 0; j < visible; j++) w[j] /= sum;
    return visible;
}

#define CHECKED_ROWS 16
#define KEYS_MAX     65536

static int64_t check_attention(cm__cpu_case *c, float *const *o, float *const *before)
{
    static double w[KEYS_MAX];
    heads         h = heads_of(&c->call);
    int64_t       wrong = 0, rows = h.batch * h.heads * h.q;
    (void)before;
    if (h.kv > KEYS_MAX) return 1; /* too long to check: report it as wrong */
    for (int64_t s = 0; s < CHECKED_ROWS; s++) {
        int64_t at = (int64_t)((double)s / (CHECKED_ROWS - 1) * (double)(rows - 1)), i = at / h.q;
        int64_t key = (i / h.heads * h.kv_heads + i % h.heads / (h.heads / h.kv_heads)) * h.kv * h.width;
        int64_t visible = row_of_weights(&h, o, i, key, at % h.q, w);
        for (int64_t d = 0; d < h.width; d++) {
            double sum = 0;
            for (int64_t j = 0; j < visible; j++) sum += w[j] * o[V][key + j * h.width + d];
            wrong += cm__differs(o[O][at * h.width + d], sum, 1);
        }
    }
    return wrong;
}

/* The gradient of a query: with weights w and g = dO V, the sum over keys of w (g - mean of g under w) K. */
static int64_t check_attention_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    static double w[KEYS_MAX], g[KEYS_MAX];
    heads         h = heads_of(&c->call);
    int64_t       wrong = 0, rows = h.batch * h.heads * h.q;
    (void)before;
    if (h.kv > KEYS_MAX) return 1;
    for (int64_t s = 0; s < CHECKED_ROWS; s++) {
        int64_t at = (int64_t)((double)s / (CHECKED_ROWS - 1) * (double)(rows - 1)), i = at / h.q;
        int64_t key = (i / h.heads * h.kv_heads + i % h.heads / (h.heads / h.kv_heads)) * h.kv * h.width;
        int64_t visible = row_of_weights(&h, o, i, key, at % h.q, w);
        double  mean = 0;
        for (int64_t j = 0; j < visible; j++) {
            g[j] = 0;
            for (int64_t d = 0; d < h.width; d++) g[j] += (double)o[DO][at * h.width + d] * o[V][key + j * h.width + d];
            mean += w[j] * g[j];
        }
        for (int64_t d = 0; d < h.width; d++) {
            double sum = 0;
            for (int64_t j = 0; j < visible; j++) sum += w[j] * (g[j] - mean) * o[K][key + j * h.width + d];
            wrong += cm__differs(o[DQ][at * h.width + d], sum / sqrt((double)h.width), 1);
        }
    }
    return wrong;
}

/* The last column is 0: the number of kernels inside the library is unknown. */
const cm__cpu_op cm__cpu_ops_matrix[] = {
    {"gemm", "forward", takes_gemm, operands_gemm, NULL, NULL, run_gemm, check_gemm, 0},
    {"attention", "forward", takes_attention, operands_attention, NULL, NULL, run_attention, check_attention, 0},
    {"attention", "backward", takes_attention, operands_attention, NULL, NULL, run_attention_backward,
     check_attention_backward, 0},
    {0},
};
