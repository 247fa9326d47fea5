/* SPDX-License-Identifier: Apache-2.0 */
/* norms.c - layer norm and root-mean-square norm over rows, and their gradients. */
#include <math.h>
#include <string.h>
#include "bench/backends/cpu/kernels.h"
#include "bench/backends/cpu/rows.h"

#define EPSILON 1e-5f

enum { X, GAMMA, BETA, Y, DY = Y, DX, DGAMMA, DBETA, STATS };

typedef struct norm {
    float *const *o;
    int64_t       rows, columns;
    bool          centred; /* layer norm subtracts the mean */
} norm;

static norm norm_of(const cm_call *call, float *const *o)
{
    return (norm){o, call->dims[0], call->dims[1], strcmp(call->op, "layer_norm") == 0};
}

static int64_t grain_of(const norm *n) { return n->columns > 8192 ? 1 : 8192 / n->columns; }

int cm__operands_norm(const cm_call *call, cm__operand *o)
{
    int64_t rows = call->dims[0], columns = call->dims[1];
    bool    forward = strcmp(call->pass, "forward") == 0;
    o[X] = (cm__operand){rows * columns, CM__FILL_RANDOM, 0};
    o[GAMMA] = o[BETA] = (cm__operand){columns, CM__FILL_RANDOM, 0};
    o[Y] = (cm__operand){rows * columns, forward ? CM__FILL_RESULT : CM__FILL_RANDOM, 0};
    if (forward) return Y + 1;
    o[DX] = (cm__operand){rows * columns, CM__FILL_RESULT, 0};
    o[DGAMMA] = o[DBETA] = (cm__operand){columns, CM__FILL_RESULT, 0};
    o[STATS] = (cm__operand){2 * rows, CM__FILL_RESULT, 0};
    return STATS + 1;
}

/* A row's mean (0 for the root-mean-square norm) and the inverse of its deviation. */
static inline void statistics(const norm *n, const float *x, float *mean, float *scale)
{
    float sum = 0, squares = 0, inverse = 1 / (float)n->columns;
    for (int64_t j = 0; n->centred && j < n->columns; j++) sum += x[j];
    *mean = sum * inverse;
    for (int64_t j = 0; j < n->columns; j++) squares += (x[j] - *mean) * (x[j] - *mean);
    *scale = 1 / sqrtf(squares * inverse + EPSILON);
}

CM__VECTORS static void forward(void *arg, int64_t first, int64_t last)
{
    const norm  *n = arg;
    const float *gamma = n->o[GAMMA], *beta = n->o[BETA];
    for (int64_t i = first; i < last; i++) {
        const float *x = n->o[X] + i * n->columns;
        float       *y = n->o[Y] + i * n->columns, mean, scale;
        statistics(n, x, &mean, &scale);
        for (int64_t j = 0; n->centred && j < n->columns; j++) y[j] = (x[j] - mean) * scale * gamma[j] + beta[j];
        for (int64_t j = 0; !n->centred && j < n->columns; j++) y[j] = x[j] * scale * gamma[j];
    }
}

void cm__run_norm(cm__cpu_case *c, float *const *o)
{
    norm n = norm_of(&c->call, o);
    cm__pool_run(c->cpu->pool, forward, &n, n.rows, grain_of(&n));
}

CM__VECTORS static void backward_rows(void *arg, int64_t first, int64_t last)
{
    const norm  *n = arg;
    const float *gamma = n->o[GAMMA];
    for (int64_t i = first; i < last; i++) {
        const float *x = n->o[X] + i * n->columns, *dy = n->o[DY] + i * n->columns;
        float       *dx = n->o[DX] + i * n->columns, mean, scale, sum = 0, weighted = 0;
        statistics(n, x, &mean, &scale);
        for (int64_t j = 0; j < n->columns; j++) {
            float g = dy[j] * gamma[j];
            sum += g;
            weighted += g * (x[j] - mean) * scale;
        }
        float centre = n->centred ? sum / (float)n->columns : 0, slope = weighted / (float)n->columns;
        for (int64_t j = 0; j < n->columns; j++)
            dx[j] = scale * (dy[j] * gamma[j] - centre - (x[j] - mean) * scale * slope);
        n->o[STATS][2 * i] = mean;
        n->o[STATS][2 * i + 1] = scale;
    }
}

/* Each thread sums its own columns over all rows. */
CM__VECTORS static void backward_columns(void *arg, int64_t first, int64_t last)
{
    const norm *n = arg;
    float      *dgamma = n->o[DGAMMA], *dbeta = n->o[DBETA];
    memset(dgamma + first, 0, (size_t)(last - first) * sizeof(float));
    memset(dbeta + first, 0, (size_t)(last - first) * sizeof(float));
    for (int64_t i = 0; i < n->rows; i++) {
        const float *x = n->o[X] + i * n->columns, *dy = n->o[DY] + i * n->columns;
        float        mean = n->o[STATS][2 * i], scale = n->o[STATS][2 * i + 1];
        for (int64_t j = first; j < last; j++) {
            dgamma[j] += dy[j] * (x[j] - mean) * scale;
            dbeta[j] += dy[j];
        }
    }
}

void cm__run_norm_backward(cm__cpu_case *c, float *const *o)
{
    norm n = norm_of(&c->call, o);
    cm__pool_run(c->cpu->pool, backward_rows, &n, n.rows, grain_of(&n));
    cm__pool_run(c->cpu->pool, backward_columns, &n, n.columns, n.rows > 256 ? 16 : n.columns);
}

/* ---- references -------------------------------------------------------------------------------------------------- */

static void exact_statistics(const norm *n, const float *x, double *mean, double *scale)
{
    double sum = 0, squares = 0;
    for (int64_t j = 0; n->centred && j < n->columns; j++) sum += x[j];
    *mean = sum / (double)n->columns;
    for (int64_t j = 0; j < n->columns; j++) squares += (x[j] - *mean) * (x[j] - *mean);
    *scale = 1 / sqrt(squares / (double)n->columns + EPSILON);
}

static int64_t check_row(const void *arg, int64_t row, int64_t columns)
{
    const norm  *n = arg;
    const float *x = n->o[X] + row * columns;
    double       mean, scale;
    int64_t      wrong = 0;
    exact_statistics(n, x, &mean, &scale);
    for (int64_t i = 0; i < cm__samples(columns); i++) {
        int64_t j = cm__sample(i, columns);
        double  want = (x[j] - mean) * scale * n->o[GAMMA][j] + (n->centred ? n->o[BETA][j] : 0);
        wrong += cm__differs(n->o[Y][row * columns + j], want, fmax(1, scale));
    }
    return wrong;
}

int64_t cm__check_norm(cm__cpu_case *c, float *const *o, float *const *before)
{
    norm n = norm_of(&c->call, o);
    (void)before;
    return cm__check_rows(&c->call, check_row, &n);
}

static int64_t check_row_backward(const void *arg, int64_t row, int64_t columns)
{
    const norm  *n = arg;
    const float *x = n->o[X] + row * columns, *dy = n->o[DY] + row * columns;
    double       mean, scale, sum = 0, weighted = 0;
    int64_t      wrong = 0;
    exact_statistics(n, x, &mean, &scale);
    for (int64_t j = 0; j < columns; j++) {
        double g = (double)dy[j] * n->o[GAMMA][j];
        sum += n->centred ? g : 0;
        weighted += g * (x[j] - mean) * scale;
    }
    for (int64_t i = 0; i < cm__samples(columns); i++) {
        int64_t j = cm__sample(i, columns);
        double  inner = (double)dy[j] * n->o[GAMMA][j] - sum / (double)columns -
                       (x[j] - mean) * scale * weighted / (double)columns;
        wrong += cm__differs(n->o[DX][row * columns + j], scale * inner, 10 * fmax(1, scale));
    }
    return wrong;
}

#define CHECKED_COLUMNS 5

static int64_t check_columns(const norm *n)
{
    double  got[2], want[2], size[2], mean, scale;
    int64_t wrong = 0;
    for (int s = 0; s < CHECKED_COLUMNS && s < n->columns; s++) {
        int64_t j = s * (n->columns - 1) / (CHECKED_COLUMNS - 1);
        want[0] = want[1] = size[0] = size[1] = 0;
        for (int64_t i = 0; i < n->rows; i++) {
            const float *x = n->o[X] + i * n->columns;
            double       g = n->o[DY][i * n->columns + j];
            exact_statistics(n, x, &mean, &scale);
            want[0] += g * (x[j] - mean) * scale;
            want[1] += g;
            size[0] += fabs(g * (x[j] - mean) * scale);
            size[1] += fabs(g);
        }
        got[0] = n->o[DGAMMA][j];
        got[1] = n->o[DBETA][j];
        for (int k = 0; k < 2; k++) wrong += cm__differs(got[k], want[k], 5 * size[k]);
    }
    return wrong;
}

int64_t cm__check_norm_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    norm n = norm_of(&c->call, o);
    (void)before;
    int64_t wrong = cm__check_rows(&c->call, check_row_backward, &n);
    return n.rows * n.columns <= (1 << 24) ? wrong + check_columns(&n) : wrong; /* larger ones take too long */
}
