/* SPDX-License-Identifier: Apache-2.0 */
/* untabled.c - products with a vector, scans and reductions of many short rows,
   batched products of long rows or small matrices, attention of many heads, gradients of look-ups, softmax over
   planes, CTC losses, windows as columns, adaptive pools, distances, signals made longer. */
#include "model/time/untabled.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"
#include "model/time/groups.h"
#include "model/time/norms.h"
#include "model/time/places.h"
#include "model/time/transfer.h"

bool cm__is_vector_product(const cm__call *c)
{
    if (c->op != CM__CALL_GEMM || c->sizes[CM__GEMM_BATCH] != 1 || !cm__in_32_bits(c)) return false;
    return c->sizes[CM__GEMM_M] == 1 || c->sizes[CM__GEMM_N] == 1;
}

double cm__vector_product_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return l->floor_s + bytes / (cm__time_factors.reached_bandwidth * l->memory_bytes_s);
}

#define SOFTMAX_PASSES 4 /* over a long row: for its maximum, for the sum, and to read and write the results */

/* A block reads a long row three times. If the rows of all blocks do not fit into the cache, memory has to deliver
   each. */
static double softmax_time(const cm__limits *l, const cm__call *c)
{
    double row = cm__size(c, CM__SOFTMAX_COLS) * cm__call_element(c, 0), rows = cm__size(c, CM__SOFTMAX_ROWS);
    if (row * fmin(rows, l->cores) <= l->cache_bytes || l->memory_bytes_s <= 0) return 0;
    return SOFTMAX_PASSES * row * rows / (cm__time_factors.reached_bandwidth * l->memory_bytes_s);
}

/* True: a softmax over a dimension that is not the last, alone or in a loss. */
static bool over_planes(const cm__call *c)
{
    return (c->op == CM__CALL_SOFTMAX && strcmp(c->variant, "planes") == 0) ||
           (c->op == CM__CALL_CROSS_ENTROPY && strcmp(c->variant, "nchw") == 0);
}

/* Such a softmax (cunn_SpatialSoftMaxForward in ATen/native/cuda/SoftMax.cu): a thread
   reads a column three times, for the maximum, the sum and the results; backward twice. */
static double planes_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double rows = cm__size(c, CM__SOFTMAX_ROWS), cols = cm__size(c, CM__SOFTMAX_COLS);
    double read = rows * cols * cm__call_element(c, 0) * (c->pass == CM__PASS_FORWARD ? 1 : 2);
    bool   cached = read <= l->cache_bytes / 2; /* the other half holds what kernels before it left */
    if (c->pass == CM__PASS_FORWARD)
        return cm__loops_time(l, rows, 3 * cols, cached ? f->plane_cycles_cached : f->plane_cycles);
    return cm__loops_time(l, rows, 2 * cols, cached ? f->plane_cycles_backward_cached : f->plane_cycles_backward);
}

#define BLOCK_THREADS 1024

/* A block divides the axis among its threads. */
static double blocks_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    bool   forward = c->pass == CM__PASS_FORWARD;
    double cycles = forward ? 3 * f->softmax_block_cycles : 2 * f->softmax_block_cycles_backward;
    double passes = ceil(cm__size(c, CM__SOFTMAX_COLS) / BLOCK_THREADS);
    return cm__loops_time(l, cm__size(c, CM__SOFTMAX_ROWS) * BLOCK_THREADS, passes, cycles);
}

#define WARP 32

/* A thread copies all numbers of a window, and there is a kernel for each sample (ATen/native/cuda/im2col.cuh). The
   warps of a block take turns. */
static double columns_time(const cm__limits *l, const cm__call *c)
{
    double window = cm__size(c, CM__POOL_WINDOW), height = cm__size(c, CM__POOL_H);
    double flop, bytes, area = height == 1 ? window : window * window;
    cm__call_work(c, &flop, &bytes); /* its FLOP are the numbers that it writes */
    double threads = flop / (area * cm__size(c, CM__POOL_N)), warps = ceil(fmin(threads, BLOCK_THREADS) / WARP);
    double cycles = fmax(cm__time_factors.window_cycles, warps * cm__time_factors.column_cycles);
    return cm__size(c, CM__POOL_N) * (l->floor_s + cm__loops_time(l, threads, area, cycles));
}

#define ADAPTIVE_BLOCK 256 /* threads for each plane, of which those with a window to read work */

/* An adaptive maximum pool: a thread reads a window (adaptivemaxpool in ATen/native/cuda/AdaptiveMaxPooling2d.cu). */
static double adaptive_time(const cm__limits *l, const cm__call *c)
{
    double planes = cm__size(c, CM__RESIZE_N) * cm__size(c, CM__RESIZE_C);
    double image = cm__size(c, CM__RESIZE_H) * cm__size(c, CM__RESIZE_W);
    double window = image / (cm__size(c, CM__RESIZE_OUT_H) * cm__size(c, CM__RESIZE_OUT_W));
    bool   cached = planes * image * cm__call_element(c, 0) <= l->cache_bytes / 2;
    return cm__loops_time(l, planes * ADAPTIVE_BLOCK, window,
                      cached ? cm__time_factors.adaptive_cycles_cached : cm__time_factors.adaptive_cycles);
}

/* One index for each row, in a kernel with a thread for each number (_scatter_gather_elementwise_kernel in
   ATen/native/cuda/ScatterGatherKernel.cu); additions follow zeros or a copy of what they are added to. */
static double rows_gathered_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double width = cm__size(c, CM__EMBEDDING_WIDTH), element = cm__call_element(c, 0);
    double numbers = cm__size(c, CM__EMBEDDING_TOKENS) * width, table = cm__size(c, CM__EMBEDDING_VOCAB) * width * element;
    bool   adds = c->pass == CM__PASS_BACKWARD;
    double cycles = adds && element < 4 ? f->row_add_cycles_low : f->row_gather_cycles;
    double least_s = l->floor_s + numbers * cycles / (l->cores * l->clock_hz);
    return least_s + (adds ? l->floor_s + table / (f->reached_bandwidth * l->memory_bytes_s) : 0);
}

static bool samples(const cm__limits *l, const cm__call *c)
{
    return c->op == CM__CALL_RESIZE && strcmp(c->variant, "sample:nchw") == 0 && l->clock_hz > 0;
}

double cm__line_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    if (samples(l, c) && !cm__samples_wait(c)) return cm__samples_time(l, c);
    if (c->op == CM__CALL_EMBEDDING && strcmp(c->variant, "gather:rows") == 0 && l->clock_hz > 0 && l->memory_bytes_s > 0)
        return rows_gathered_time(l, c);
    if (c->op == CM__CALL_GROUP_NORM) return cm__group_norm_rows_time(l, c);
    if (c->op != CM__CALL_RESIZE || strcmp(c->variant, "linear1d:nchw") != 0 || l->clock_hz <= 0) return 0;
    double rows = cm__size(c, CM__RESIZE_N) * cm__size(c, CM__RESIZE_C);
    double in = cm__size(c, CM__RESIZE_W), out = cm__size(c, CM__RESIZE_OUT_W), element = cm__call_element(c, 0);
    bool   adds = c->pass == CM__PASS_BACKWARD && element < 4;
    double cycles = rows * (in + out) * element <= l->cache_bytes / 2 ? f->line_cycles_cached : f->line_cycles;
    if (adds) cycles = f->line_add_cycles * fmax(1, out / in);
    return l->floor_s + cm__loops_time(l, out, rows, cycles);
}

/* A CTC loss (ATen/native/cuda/LossCTC.cu): samples have threads of their own, which step from frame to frame. */
static double ctc_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    const struct {
        const char *kernel;
        double      cycles, cached;
    } kernels[] = {{"ctc", f->ctc_cycles, f->ctc_cycles_cached},
                   {"ctc_beta", f->ctc_beta_cycles, f->ctc_beta_cycles_cached},
                   {"ctc_labels", f->ctc_labels_cycles, f->ctc_labels_cycles_cached}};
    double frames = cm__size(c, CM__REDUCE_REDUCE);
    double read = cm__size(c, CM__REDUCE_OUTER) * frames * cm__size(c, CM__REDUCE_INNER) * cm__call_element(c, 0);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(c->variant, kernels[i].kernel) == 0)
            return frames * (read <= l->cache_bytes / 2 ? kernels[i].cached : kernels[i].cycles) / l->clock_hz;
    return 0;
}

#define SIDES 64.     /* rows of a block of a triangular matrix, and right-hand sides that a thread block solves for */
#define SOLVERS 2     /* thread blocks of a multiprocessor at a time */

/* Factors and triangular systems: a row waits for the rows before it. Rows of a block are subtracted from those below. */
static double algebra_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double batch = cm__size(c, CM__REDUCE_OUTER), n = cm__size(c, CM__REDUCE_REDUCE);
    if (strcmp(c->variant, "cholesky") == 0) return n * f->cholesky_cycles / l->clock_hz;
    if (strcmp(c->variant, "lu") == 0) return n * f->lu_cycles / l->clock_hz;
    if (strcmp(c->variant, "substitute") != 0) return 0;
    double waves = fmax(1, batch * ceil(cm__size(c, CM__REDUCE_INNER) / SIDES) / (SOLVERS * l->cores));
    return waves * ceil(n / SIDES) * pow(fmin(n, SIDES), 2) * f->substitute_cycles / l->clock_hz;
}

#define PAIR_THREADS 256.    /* of a block, for one pair of points */
#define PAIR_COORDINATES 16. /* and pairs that a block of the gradient treats */
#define PAIRS 64.

/* Distances (ATen/native/cuda/DistanceKernel.cu): a block for each pair adds up the coordinates, however few these are;
   in the gradient a thread for each pair and coordinate. */
static double distance_time(const cm__limits *l, const cm__call *c)
{
    double pairs = cm__size(c, CM__REDUCE_OUTER), width = cm__size(c, CM__REDUCE_REDUCE);
    double forward = pairs * ceil(width / PAIR_THREADS) * cm__time_factors.distance_cycles;
    double blocks = ceil(pairs / PAIRS) * ceil(width / PAIR_COORDINATES);
    double cycles = strcmp(c->variant, "cdist") == 0 ? forward : blocks * cm__time_factors.distance_cycles_backward;
    return cycles / (l->cores * l->clock_hz);
}

#define SHORT_ROW 128 /* numbers: of longer rows threads read several at once */

/* A reduction of rows: a thread for each number up to a warp, rounded down to a power of two. */
static double short_rows_time(const cm__limits *l, const cm__call *c)
{
    double rows = cm__size(c, CM__REDUCE_OUTER), length = cm__size(c, CM__REDUCE_REDUCE);
    if (cm__size(c, CM__REDUCE_INNER) > 1 || length < 1 || length >= SHORT_ROW || strchr(c->variant, ':')) return 0;
    double threads = rows * fmin(WARP, exp2(floor(log2(length))));
    bool   variance = strcmp(c->variant, "var") == 0;
    return threads * (variance ? cm__time_factors.row_cycles_variance : cm__time_factors.row_cycles) /
           (l->cores * l->clock_hz);
}

#define SCAN_THREADS 512 /* of a block, each of which scans two numbers at a time */

/* PyTorch gives a whole block to each row if there are more than 512 rows per number of a row (scan_cycles in
   data/factors.tsv). Both sizes are rounded up to powers of two. */
static double scan_time(const cm__limits *l, const cm__call *c)
{
    double rows = cm__size(c, CM__REDUCE_OUTER), length = cm__size(c, CM__REDUCE_REDUCE);
    if (strcmp(c->variant, "nll") == 0) return length * cm__time_factors.label_cycles / l->clock_hz;
    if (strcmp(c->variant, "nll_grad") == 0) return length * cm__time_factors.label_cycles_backward / l->clock_hz;
    if (strncmp(c->variant, "ctc", 3) == 0) return ctc_time(l, c);
    double solved_s = algebra_time(l, c);
    if (solved_s > 0) return solved_s;
    if (strncmp(c->variant, "cdist", 5) == 0) return distance_time(l, c);
    if (strncmp(c->variant, "deform", 6) == 0) return cm__deformed_time(l, c);
    if (strstr(c->variant, "_pool3d")) return cm__volume_pool_time(l, c);
    if (strncmp(c->variant, "cum", 3) != 0) return short_rows_time(l, c);
    if (rows < 1 || length < 1) return 0;
    if (c->sizes[CM__REDUCE_INNER] > 1)
        return cm__loops_time(l, rows * cm__size(c, CM__REDUCE_INNER), length, cm__time_factors.scan_cycles_outer);
    if (ceil(log2(rows)) - ceil(log2(length)) <= log2(SCAN_THREADS)) return 0;
    return rows * ceil(length / (2 * SCAN_THREADS)) * cm__time_factors.scan_cycles / (l->cores * l->clock_hz);
}

#define NARROW_ROWS 16 /* of the result, for which cuBLAS has a kernel (gemmSN_TN) if sums run along rows in memory */

/* Cycles per inner index of a tile of a product. */
static double inner_cycles(const cm__call *c)
{
    bool by_columns = c->variant[0] == 't'; /* the left operand */
    bool narrow = c->sizes[CM__GEMM_M] <= NARROW_ROWS && strcmp(c->variant, "nt") == 0;
    if (strcmp(c->dtype, "fp32") == 0) return narrow ? cm__time_factors.inner_cycles_narrow : cm__time_factors.inner_cycles_fp32;
    if (strcmp(c->dtype, "tf32") == 0)
        return by_columns ? cm__time_factors.inner_cycles_tf32 : cm__time_factors.inner_cycles_tf32_rows;
    bool aligned = c->sizes[CM__GEMM_N] % 8 == 0 && c->sizes[by_columns ? CM__GEMM_M : CM__GEMM_K] % 8 == 0;
    return aligned ? cm__time_factors.inner_cycles : cm__time_factors.inner_cycles_unaligned;
}

#define TILE 64. /* rows and columns of a block's result */

/* Cycles of a block for each of many products of a matrix and a vector, at least. cuBLAS has two kernels for them in 32
   bits: one for a matrix whose sums run along its rows in memory (gemvx), one for sums across them (gemv2N). */
static double vector_cycles(const cm__call *c)
{
    bool right = c->sizes[CM__GEMM_M] == 1; /* the matrix is the right operand */
    bool across = right ? c->variant[0] && c->variant[1] == 'n' : c->variant[0] == 't';
    if (!cm__in_32_bits(c)) return 0;
    return across ? cm__time_factors.vector_cycles_across : cm__time_factors.vector_cycles;
}

/* cuBLAS divides the inner size of a single product among blocks, but not that of batched ones. Each matrix has a block
   of its own, however small it is. */
static double batched_time(const cm__limits *l, const cm__call *c)
{
    double m = cm__size(c, CM__GEMM_M), n = cm__size(c, CM__GEMM_N), blocks = ceil(m / TILE) * ceil(n / TILE);
    double cycles = cm__in_32_bits(c) ? cm__time_factors.small_product_cycles : cm__time_factors.small_product_cycles_low;
    if (c->sizes[CM__GEMM_BATCH] < 2) return 0;
    if (m == 1 || n == 1) blocks = 1, cycles = vector_cycles(c);
    double started_s = cm__size(c, CM__GEMM_BATCH) * blocks * cycles / (l->cores * l->clock_hz);
    return fmax(started_s, cm__size(c, CM__GEMM_K) * inner_cycles(c) / l->clock_hz);
}

#define HEAD_QUERIES 128 /* that a block of a fused attention kernel treats */

static double head_cycles(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    bool               backward = c->pass == CM__PASS_BACKWARD;
    if (cm__in_32_bits(c)) return backward ? f->head_cycles_backward_wide : f->head_cycles_wide;
    if (backward) return f->head_cycles_backward;
    return strstr(c->variant, "dropout") ? f->head_cycles_dropout : f->head_cycles;
}

/* A block starts and ends for each head, which takes longer than the work of a short sequence. */
static double attention_time(const cm__limits *l, const cm__call *c)
{
    double heads = cm__size(c, CM__ATTENTION_BATCH) * cm__size(c, CM__ATTENTION_HEADS);
    double blocks = heads * ceil(cm__size(c, CM__ATTENTION_Q) / HEAD_QUERIES);
    return blocks * head_cycles(c) / (l->cores * l->clock_hz);
}

#define NARROW 32 /* numbers of a row that a warp treats at once */

#define SORTED_LEAST 3072 /* indices above which PyTorch sorts them for the gradient of an embedding */
#define PIECE 10.0        /* gradients of equal indices that a block adds up, at most */
#define BLOCK_MAX 1024.0  /* threads of a block, one for each number of a row */
#define DIGIT 8.0         /* bits by which one pass of a radix sort orders indices */

/* Two kernels launch a block for each index that may occur: one for each piece of its gradients, one for their sum.
   The device starts about one block per cycle, however little it does. */
static double sorted_look_up_time(const cm__limits *l, const cm__call *c)
{
    double tokens = cm__size(c, CM__EMBEDDING_TOKENS), rows = fmax(2, cm__size(c, CM__EMBEDDING_VOCAB));
    if (tokens <= SORTED_LEAST) return 0;
    double blocks = (2 * fmin(tokens, rows) + tokens / PIECE) * ceil(cm__size(c, CM__EMBEDDING_WIDTH) / BLOCK_MAX);
    double passes = ceil(ceil(log2(rows)) / DIGIT);
    return (blocks * cm__time_factors.block_cycles + tokens * passes * cm__time_factors.sort_cycles) / l->clock_hz;
}

/* Clock cycles for each equal index, whose gradients are added one after another (data/factors.tsv). */
static double repeat_cycles(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    int64_t            width = c->sizes[CM__EMBEDDING_WIDTH];
    if (!*c->variant) return f->repeat_cycles_dense;
    if (strcmp(c->variant, "index") != 0) return 0;
    return width > NARROW ? f->repeat_cycles : width > 1 ? f->repeat_cycles_narrow : f->repeat_cycles_single;
}

/* Tables of rows have indices that are equally frequent. */
static double look_up_time(const cm__limits *l, const cm__call *c)
{
    double repeats = cm__size(c, CM__EMBEDDING_TOKENS) / fmax(1, cm__size(c, CM__EMBEDDING_VOCAB));
    return fmax(repeats * repeat_cycles(c) / l->clock_hz, *c->variant ? 0 : sorted_look_up_time(l, c));
}

#define FEW_EQUAL 8    /* indices; the kernel adds the gradients of equal ones one after another */
#define INDEX_ROW 128. /* numbers that a warp treats at once: four for each thread */
#define SORTED 5.4e5   /* indices whose sorting takes as long as that of few */

/* The gradient of depthwise filters by PyTorch's own kernel: a block for each number of a filter, with a warp for each
   image up to 8 (filter_block_cycles in data/factors.tsv). */
static bool starts_blocks(const cm__limits *l, const cm__call *c)
{
    return c->op == CM__CALL_CONV && c->pass == CM__PASS_BWD_WEIGHT && l->clock_hz > 0 &&
           cm__groups_kind_of(c) == CM__GROUPS_EACH_OWN;
}

static double numbers_of_filters(const cm__call *c)
{
    return cm__size(c, CM__CONV_K) * cm__size(c, CM__CONV_R) * cm__size(c, CM__CONV_S);
}

static double filters_time(const cm__limits *l, const cm__call *c)
{
    return numbers_of_filters(c) * cm__time_factors.filter_block_cycles / (l->cores * l->clock_hz);
}

/* A single warp adds up so few places before the next block can start that nothing else takes time. */
static bool only_starts(const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return c->sizes[CM__CONV_N] == 1 && flop <= 2 * cm__time_factors.filter_block_places * numbers_of_filters(c);
}

/* Indices are computed and sorted, the result is filled with zeros, and a kernel reads gradients, and reads and writes
   their sums (indexing_backward_kernel in ATen/native/cuda/Indexing.cu). */
double cm__most_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    if (starts_blocks(l, c)) return only_starts(c) ? fmax(l->floor_s, filters_time(l, c)) : 0;
    if (c->op != CM__CALL_EMBEDDING || c->pass != CM__PASS_BACKWARD || strcmp(c->variant, "index") != 0) return 0;
    double tokens = cm__size(c, CM__EMBEDDING_TOKENS), rows = cm__size(c, CM__EMBEDDING_VOCAB);
    double width = cm__size(c, CM__EMBEDDING_WIDTH), bandwidth = f->reached_bandwidth * l->memory_bytes_s;
    if (tokens > FEW_EQUAL * rows || l->clock_hz <= 0 || bandwidth <= 0) return 0;
    double moved_s = (tokens + 2 * fmin(rows, tokens)) * width * cm__call_element(c, 0) / bandwidth;
    double issued_s = tokens * ceil(width / INDEX_ROW) * f->index_cycles / l->clock_hz;
    return f->index_cycles_sorted * (1 + tokens / SORTED) / l->clock_hz +
           rows * width * cm__call_element(c, 0) / bandwidth + fmax(moved_s, issued_s);
}

/* One number for all elements has a faster kernel. */
static bool is_broadcast(const cm__call *c)
{
    const char *form = strchr(c->variant, ':');
    return form && c->sizes[CM__ELEMENTWISE_OUTER] > 1 &&
           (strcmp(form, ":row") == 0 || strcmp(form, ":col") == 0 || strcmp(form, ":plane") == 0);
}

/* Cycles per element of kernels that copy across dimensions, or from and to places that they read; 0: another kernel. */
static double across_cycles(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    const struct {
        const char *variant;
        double      cycles;
    } rows[] = {{"unfold_grad", f->unfold_cycles}, {"shuffle", f->shuffle_cycles},
                {"deform_image", f->deform_add_cycles}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(c->variant, rows[i].variant) == 0) return rows[i].cycles;
    return 0;
}

/* Kernels that compute where each operand lies, or convert types, take as long for each element, however few bytes it
   has. Conversions to narrower types have kernels of their own. */
static double elementwise_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    bool   two = strchr(c->dtype, '+') != NULL, broadcast = is_broadcast(c);
    bool   mixed = strchr(c->dtype, '>') && cm__call_element(c, 0) < cm__call_element(c, -1);
    double cycles = mixed && broadcast ? f->mixed_cycles_spread
                    : mixed            ? two ? f->mixed_cycles_two : f->mixed_cycles
                    : broadcast        ? f->spread_cycles
                                       : across_cycles(c);
    return cm__size(c, CM__ELEMENTWISE_OUTER) * cm__size(c, CM__ELEMENTWISE_INNER) * cycles / (l->cores * l->clock_hz);
}

/* A thread for each number computes its place from the index (index_elementwise_kernel in
   ATen/native/cuda/IndexKernel.cu). */
static double indexed_time(const cm__limits *l, const cm__call *c)
{
    double numbers = cm__size(c, CM__EMBEDDING_TOKENS) * cm__size(c, CM__EMBEDDING_WIDTH);
    return numbers * cm__time_factors.index_read_cycles / (l->cores * l->clock_hz);
}

#define VECTOR_BYTES 16. /* that a thread copies at once */
#define ROW_THREADS 256. /* of a block, at most */

/* Rows of whole vectors are copied by a block for each index and 4 KiB (vectorized_gather_kernel in
   ATen/native/cuda/IndexKernelUtils.cu), which start one after another, however short a row is. */
static double copied_rows_time(const cm__limits *l, const cm__call *c)
{
    double row_bytes = cm__size(c, CM__EMBEDDING_WIDTH) * cm__call_element(c, 0);
    bool   whole = !*c->variant || strcmp(c->variant, "select") == 0;
    if (!whole || fmod(row_bytes, VECTOR_BYTES) != 0) return 0;
    double blocks = cm__size(c, CM__EMBEDDING_TOKENS) * ceil(row_bytes / (VECTOR_BYTES * ROW_THREADS));
    return blocks * cm__time_factors.block_cycles / l->clock_hz;
}

double cm__least_time(const cm__limits *l, const cm__call *c)
{
    static double (*const rules[CM__CALLS])(const cm__limits *l, const cm__call *c) = {
        [CM__CALL_GROUP_NORM] = cm__group_norm_time, [CM__CALL_LAYER_NORM] = cm__layer_norm_time,
        [CM__CALL_REDUCE] = scan_time,           [CM__CALL_GEMM] = batched_time,
        [CM__CALL_ELEMENTWISE] = elementwise_time, [CM__CALL_EMBEDDING] = copied_rows_time,
    };
    if (c->op == CM__CALL_ATTENTION && l->clock_hz > 0) return attention_time(l, c);
    if (c->op == CM__CALL_EMBEDDING && c->pass == CM__PASS_BACKWARD && l->clock_hz > 0) return look_up_time(l, c);
    if (starts_blocks(l, c)) return filters_time(l, c);
    if (samples(l, c)) return cm__samples_wait(c) ? cm__samples_time(l, c) : 0;
    if (over_planes(c) && l->clock_hz > 0) return planes_time(l, c);
    if (strcmp(c->variant, "apart") == 0 && l->clock_hz > 0) return cm__apart_norm_time(l, c);
    if (c->op == CM__CALL_SOFTMAX && strcmp(c->variant, "blocks") == 0 && l->clock_hz > 0) return blocks_time(l, c);
    if (c->pass != CM__PASS_FORWARD || l->memory_bytes_s <= 0) return 0;
    if (strcmp(c->variant, "index:col") == 0 && l->clock_hz > 0) return indexed_time(l, c);
    if (strcmp(c->variant, "im2col:nchw") == 0 && l->clock_hz > 0) return columns_time(l, c);
    if (strcmp(c->variant, "adaptive-max:nchw") == 0 && l->clock_hz > 0) return adaptive_time(l, c);
    if (c->op == CM__CALL_SOFTMAX) return softmax_time(l, c);
    return rules[c->op] && l->clock_hz > 0 ? rules[c->op](l, c) : 0;
}

/* True: the call may read less than all of its operands: some rows of a table, or windows with steps wider than
   themselves. */
static bool reads_a_part(const cm__call *c)
{
    int            axes = c->op == CM__CALL_CONV ? 2 : c->op == CM__CALL_CONV3D ? 3 : 0;
    const int64_t *window = c->sizes + 3 + axes, *stride = window + axes; /* after n, c, k and the image */
    for (int i = 0; i < axes; i++)
        if (stride[i] > window[i]) return true;
    return c->op == CM__CALL_EMBEDDING || c->op == CM__CALL_FFT;
}

double cm__traffic_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return cm__traffic_time_of(l, c, bytes);
}

double cm__traffic_time_of(const cm__limits *l, const cm__call *c, double bytes)
{
    if (l->memory_bytes_s <= 0 || reads_a_part(c)) return 0;
    return bytes * cm__from_memory(l->cache_bytes, bytes) / l->memory_bytes_s;
}
