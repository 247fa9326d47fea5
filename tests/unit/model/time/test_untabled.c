/* SPDX-License-Identifier: Apache-2.0 */
/* test_untabled.c - products with a vector, norms of few long rows or groups, softmax of long rows and others: times from how
   the kernels work, by hand. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/time/factors.h"
#include "model/time/timer.h"
#include "model/time/untabled.h"

/* 100 cores of 1 GHz, 1e12 B/s behind a cache of 1e7 B */
static const cm__limits limits = {.memory_bytes_s = 1e12, .cache_bytes_s = 4e12, .cache_bytes = 1e7, .cores = 100,
                                  .clock_hz = 1e9, .tile = 128};

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

static void products_with_a_vector(void **state)
{
    static const struct {
        const char *call;
        bool        vector;
    } cases[] = {
        {"gemm forward nn fp32 1,256,1,131072", true},  {"gemm forward nn tf32 1,1,256,131072", true},
        {"gemm forward nn fp32 2,256,1,131072", false}, {"gemm forward nn fp32 1,256,2,131072", false},
        {"gemm forward nn bf16 1,256,1,131072", false}, {"softmax forward - fp32 1,1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        if (cm__is_vector_product(&c) != cases[i].vector) fail_msg("%s", cases[i].call);
    }
    cm__call c = call_of("gemm forward nn fp32 1,256,1,131072");
    near(cm__vector_product_time(&limits, &c), 4. * (256 * 131072. + 131072 + 256) / 0.9e12, 1e-9);
}

/* Gradients of depthwise filters of one image, measured on the H200 in bf16: one block for each number of a filter. More
   places or images take longer than their blocks' start; cuDNN's kernels, of channels last and fp16, have no such blocks. */
static void gradients_of_filters_of_one_image(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } cases[] = {
        {"conv bwd_weight nchw bf16 1,589824,589824,7,7,5,5,1,1,2,2,1,1,589824", 0.008867},
        {"conv bwd_weight nchw bf16 1,122880,122880,8,8,3,3,1,1,1,1,1,1,122880", 0.0006674},
        {"conv bwd_weight nchw bf16 1,344064,344064,14,14,5,5,1,1,2,2,1,1,344064", 0.005349},
        {"conv bwd_weight nchw bf16 1,73728,73728,8,8,5,5,1,1,2,2,1,1,73728", 0.001111},
    };
    cm__limits h200 = {.memory_bytes_s = 4.8e12, .cores = 132, .clock_hz = 1.83e9, .tile = 128};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        near(cm__least_time(&h200, &c), cases[i].measured_s, 0.04);
        near(cm__most_time(&h200, &c), cases[i].measured_s, 0.04);
    }
    cm__call many = call_of("conv bwd_weight nchw bf16 2,1536,1536,7,7,5,5,1,1,2,2,1,1,1536"),
             large = call_of("conv bwd_weight nchw bf16 1,4944,4944,25,25,5,5,1,1,2,2,1,1,4944"),
             last = call_of("conv bwd_weight nhwc bf16 1,73728,73728,8,8,5,5,1,1,2,2,1,1,73728"),
             input = call_of("conv bwd_input nchw bf16 1,73728,73728,8,8,5,5,1,1,2,2,1,1,73728");
    assert_true(cm__most_time(&h200, &many) == 0 && cm__least_time(&h200, &many) > 0);
    assert_true(cm__most_time(&h200, &large) == 0 && cm__least_time(&h200, &large) < 0.0001634);
    assert_true(cm__most_time(&h200, &last) == 0 && cm__least_time(&h200, &last) == 0);
    assert_true(cm__most_time(&h200, &input) == 0 && cm__least_time(&h200, &input) == 0);
}

/* 16 rows of 4,194,304 numbers; measured on an A100 (1.41 GHz): 10.2 ms, on a T4 (1.59 GHz): 9.4, on an L40S (2.52): 6.2 */
static void layer_norms_of_few_rows(void **state)
{
    cm__call          c = call_of("layer_norm forward - fp32 16,4194304"), back = c;
    static const double measured[][2] = {{1.41e9, 10.2e-3}, {1.59e9, 9.4e-3}, {2.52e9, 6.2e-3}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm__limits l = limits;
        l.clock_hz = measured[i][0];
        near(cm__least_time(&l, &c), measured[i][1], 0.06);
    }
    c.sizes[CM__LAYER_NORM_ROWS] = 64; /* other rows are other blocks' */
    near(cm__least_time(&limits, &c), 4194304 * 3.6e-9, 1e-9);
    back.pass = CM__PASS_BACKWARD;
    assert_true(cm__least_time(&limits, &back) == 0);
}

/* Times of loops by hand: numbers that a thread reads one after another, times the cycles of each at 1 GHz. 204,800 threads run
   at once. Half of the cache, 5e6 B, keeps what is read again. */
static void loops_of_threads(void **state)
{
    static const struct {
        const char *call;
        double      time_s;
    } cases[] = {
        {"softmax forward planes fp32 1000,30000", 3 * 30000 * 720e-9},
        {"softmax forward planes fp32 409600,100", 2 * 3 * 100 * 720e-9},
        {"softmax forward planes fp32 1000,1000", 3 * 1000 * 326e-9},
        {"softmax backward planes fp32 1000,1000", 2 * 1000 * 509e-9}, /* results and gradients: 8e6 B */
        {"softmax backward planes bf16 1000,1000", 2 * 1000 * 210e-9},
        {"cross_entropy forward nchw fp32 1000,30000", 3 * 30000 * 720e-9},
        {"softmax forward blocks fp32 16,32768", 3 * 32 * 800e-9},
        {"softmax backward blocks fp32 16,32768", 2 * 32 * 1150e-9},
        {"pool forward im2col:nchw fp32 16,1,1,66560,1024,256,0", 16 * 1024 * 276e-9},
        {"pool forward im2col:nchw fp32 2,3,32,32,16,16,0", 2 * 256 * 276e-9},
        {"pool forward im2col:nchw bf16 64,384,1,128,9,1,4", 64 * 9 * 32 * 14.6e-9}, /* 32 warps of a block take turns */
        {"resize forward adaptive-max:nchw fp32 8,64,288,288,1,1", 288 * 288 * 103e-9},
        {"resize forward adaptive-max:nchw fp32 8,400,30,30,2,2", 4 * 225 * 103e-9}, /* 800 blocks run at once */
        {"resize forward adaptive-max:nchw fp32 8,100,30,30,2,2", 225 * 60e-9},      /* 2.9 MB */
        {"reduce forward nll fp32 1,65536,1", 65536 * 1.85e-9},
        {"reduce forward nll_grad fp32 8,65536,1", 65536 * 1.5e-9},
        {"reduce forward cumsum fp32 64,1024,16", 1024 * 350e-9},
        {"gemm forward nn fp32 100000,16,1,8", 1000 * 220e-9}, /* a matrix of 16 rows of 8 by a vector */
        {"gemm forward tn fp32 100000,8,1,16", 1000 * 340e-9},
        {"gemm forward nt tf32 100000,1,8,12", 1000 * 220e-9}, /* a vector by a matrix */
        {"gemm forward nn tf32 100000,1,8,12", 1000 * 340e-9},
        {"batch_norm backward apart fp32 8192,13,1", 512 * 740e-9}, /* all channels at once */
        {"batch_norm backward apart fp32 8192,800,1", 2 * 512 * 740e-9}, /* 400 blocks of 512 threads at once */
        {"reduce forward cdist fp32 5000,3,1", 50 * 318e-9},    /* 50 pairs for each core */
        {"reduce forward cdist fp32 5000,300,1", 100 * 318e-9}, /* 256 coordinates at a time */
        {"reduce forward cdist_grad fp32 64000,17,1", 20 * 6030e-9}, /* 64 pairs and 16 coordinates */
        {"reduce forward ctc fp32 32,200,29", 200 * 955e-9}, /* 742,400 B of log-probabilities */
        {"reduce forward ctc_beta fp32 32,200,29", 200 * 1400e-9},
        {"reduce forward ctc_labels fp32 32,200,29", 200 * 610e-9},
        {"reduce forward ctc fp32 64,100,5000", 100 * 1800e-9}, /* 128 MB */
        {"reduce forward ctc_beta fp32 64,100,5000", 100 * 1845e-9},
        {"reduce forward ctc_labels fp32 64,100,5000", 100 * 1620e-9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        near(cm__least_time(&limits, &c), cases[i].time_s, 1e-9);
    }
}

/* Cycles per element of 100 multiprocessors at 1 GHz. Narrower results, one type, and one number for all elements have kernels
   whose time is that of the bytes. */
static void elements_of_mixed_types(void **state)
{
    static const struct {
        const char *call;
        double      cycles;
    } cases[] = {
        {"elementwise forward mul:col bool+fp32>fp32 1000,1000", 1.0}, {"elementwise forward copy bool>fp32 1,1000000", 0.7},
        {"elementwise forward add bf16+fp32>fp32 1,1000000", 0.92},    {"elementwise forward mul:row bf16 1000,1000", 0.58},
        {"elementwise forward mul:col bf16 1,1000000", 0},             {"elementwise forward copy fp32>bf16 1,1000000", 0},
        {"elementwise forward unfold_grad fp16 1,1000000", 1.4},       {"elementwise forward shuffle bf16 1,1000000", 0.77},
        {"elementwise forward deform_image fp32 1,1000000", 4.73},
        {"elementwise forward mul fp32 1,1000000", 0},                 {"elementwise forward copy:part fp32 1000,1000", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   time_s = cm__least_time(&limits, &c), expected = cases[i].cycles * 1e6 / 100e9;
        if (fabs(time_s - expected) > 1e-12) fail_msg("%s: %g, expected %g", cases[i].call, time_s, expected);
    }
}

/* Rows of 100 blocks fit into 1e7 B up to 25,000 numbers each. */
static void softmax_of_long_rows(void **state)
{
    cm__call fits = call_of("softmax forward - fp32 4096,25000"), not = call_of("softmax forward - fp32 4096,25001");
    cm__call few = call_of("softmax forward - fp32 2,1000000");
    (void)state;
    assert_true(cm__least_time(&limits, &fits) == 0);
    near(cm__least_time(&limits, &not), 4 * 4. * 4096 * 25001 / 0.9e12, 1e-9);
    assert_true(cm__least_time(&limits, &few) == 0); /* 8 MB at a time */
}

/* 16 images of 64 channels in 8 groups of 524,288 numbers, 0.27 GB; measured on an H100 (1.83 GHz, 3.35 TB/s): 0.66 ms, on an
   MI250's die (1.7 GHz, 1.64 TB/s): 1.0, on an A10 (1.695 GHz, 0.6 TB/s), which only waits for memory: 1.7 */
static void group_norms_of_large_images(void **state)
{
    static const double measured[][3] = {{1.83e9, 3.35e12, 0.66e-3}, {1.7e9, 1.64e12, 1.0e-3}, {1.695e9, 0.6e12, 1.7e-3}};
    cm__call            c = call_of("group_norm forward nchw fp32 16,64,65536,8"), small = call_of("group_norm forward nchw fp32 1,32,65536,8");
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm__limits l = limits;
        l.clock_hz = measured[i][0], l.memory_bytes_s = measured[i][1];
        near(cm__least_time(&l, &c), measured[i][2], 0.15);
    }
    near(cm__least_time(&limits, &c), 524288 * 1.7e-9 + 2 * 16 * 64 * 65536 * 4. / 0.9e12, 1e-9);
    near(cm__least_time(&limits, &small), 262144 * 0.77e-9, 1e-9); /* 8.4 MB are in the cache */
}

/* Two rows of 512 x 1,999 numbers took 431 us on an H200 (1.83 GHz), 33 times in a step. */
static void one_block_sums_a_group_in_the_cache(void **state)
{
    cm__call   c = call_of("group_norm forward nchw fp32 2,512,1999,1");
    cm__limits h200 = limits;
    (void)state;
    h200.clock_hz = 1.83e9;
    near(cm__least_time(&h200, &c), 431e-6, 0.02);
}

/* Indices that are equally frequent among few rows, timed on an H200 (1.83 GHz). The time also has the sorting of the
   indices: 12 us. The equal indices of a single number are transitions between tags of a conditional random field. */
static void gradients_of_equal_indices_are_added_one_after_another(void **state)
{
    static const struct { const char *call; double seconds; } measured[] = {
        {"embedding backward index fp32 4096,4,768", 544.6e-6}, {"embedding backward index fp32 4096,8,768", 290.2e-6},
        {"embedding backward index fp32 65536,8,8", 1552e-6}, {"embedding backward index fp32 3776,1,1", 327e-6},
    };
    cm__limits h200 = limits;
    cm__call   forward = call_of("embedding forward index fp32 4096,4,768");
    (void)state;
    h200.clock_hz = 1.83e9;
    for (int i = 0; i < 4; i++) {
        cm__call c = call_of(measured[i].call);
        near(cm__least_time(&h200, &c), measured[i].seconds, 0.08);
    }
    assert_true(cm__least_time(&h200, &forward) == 0);
}

/* 2,097,152 indices of 524,288 rows of two numbers, in the step of a hashed grid on an H200: two kernels of 445 and
   318 us that start a block for each index or piece, and a sort of 226 us. A block has 1,024 threads at most. */
static void gradients_of_many_rows_start_many_blocks(void **state)
{
    cm__limits h200 = limits;
    cm__call   c = call_of("embedding backward - fp32 2097152,524288,2"), few = c, wide = c, narrow = c;
    (void)state;
    h200.clock_hz = 1.83e9;
    near(cm__least_time(&h200, &c), 445e-6 + 318e-6 + 226e-6, 0.02);
    few.sizes[CM__EMBEDDING_TOKENS] = 3072; /* not sorted: what is left are equal indices */
    assert_true(cm__least_time(&h200, &few) < 1e-9);
    narrow.sizes[CM__EMBEDDING_WIDTH] = 1024;
    near(cm__least_time(&h200, &narrow), cm__least_time(&h200, &c), 1e-9);
    wide.sizes[CM__EMBEDDING_WIDTH] = 1025;
    near(cm__least_time(&h200, &wide) - cm__least_time(&h200, &c), 445e-6 + 318e-6, 0.02);
}

/* A block sums a row if there are more than 512 rows per number of a row, both rounded up to powers of two: 131,072
   rows of 8 took 758 us on an H200 (132 cores, 1.83 GHz), 20 times in a step. */
static void scans_of_short_rows(void **state)
{
    static const char *const others[] = {
        "reduce forward cumsum fp32 4096,8,1", "reduce forward cumsum fp32 131072,256,1"};
    cm__call   c = call_of("reduce forward cumsum fp32 131072,8,1");
    cm__call   wide = call_of("reduce forward cumsum fp32 2097152,1025,1");
    cm__limits h200 = limits;
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    near(cm__least_time(&h200, &c), 758e-6, 0.01);
    near(cm__least_time(&limits, &wide), 2097152 * 2 * cm__time_factors.scan_cycles / (100 * 1e9), 1e-9);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cm__call other = call_of(others[i]);
        if (cm__least_time(&h200, &other) != 0) fail_msg("%s", others[i]);
    }
}

/* Recorded in steps on an H200: rows wait for each other, so that the time follows the rows. 3,072 blocks of 64 right-hand
   sides do not run at once. The law of triangular systems is coarse. */
static void factors_and_triangular_systems(void **state)
{
    static const struct {
        const char *call;
        double      measured_s, error;
    } rows[] = {{"reduce forward cholesky fp32 128,256,256", 240e-6, 0.05},
                {"reduce forward cholesky fp32 32,365,365", 346e-6, 0.05},
                {"reduce forward lu fp32 1,48,48", 63.4e-6, 0.05},
                {"reduce forward substitute fp32 32,365,1", 201e-6, 0.05},
                {"reduce forward substitute fp32 1,63,8192", 32e-6, 0.05},
                {"reduce forward substitute fp32 768,64,256", 335e-6, 0.2},
                {"reduce forward substitute fp32 128,256,256", 339e-6, 0.3},
                {"reduce forward cdist fp32 24000000,4,1", 31.6e-3, 0.02},
                {"reduce forward cdist_grad fp32 24000000,4,1", 9.36e-3, 0.02}};
    cm__limits h200 = limits;
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__call c = call_of(rows[i].call);
        near(cm__least_time(&h200, &c), rows[i].measured_s, rows[i].error);
    }
}

/* Rows of an H200's table, and a variance in the step of ConvNeXt Zepto. 11 numbers have 8 threads. */
static void reductions_of_short_rows(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } rows[] = {{"reduce forward sum bf16 7077888,32,1", 1539e-6}, {"reduce forward mean fp32 2621440,32,1", 583.3e-6},
                {"reduce forward sum bf16 500000,11,1", 29.4e-6},  {"reduce forward sum fp32 636274,64,1", 153.2e-6},
                {"reduce forward var fp16 6422528,32,1", 2612e-6}};
    static const char *const others[] = {"reduce forward sum bf16 262144,144,1", "reduce forward sum bf16 512,32,1024",
                                         "reduce forward sum:nchw bf16 512,32,1"};
    cm__limits h200 = limits;
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__call c = call_of(rows[i].call);
        double   time_s = cm__least_time(&h200, &c);
        if (time_s > 1.005 * rows[i].measured_s || time_s < 0.89 * rows[i].measured_s) fail_msg("%s", rows[i].call);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cm__call other = call_of(others[i]);
        if (cm__least_time(&h200, &other) != 0) fail_msg("%s", others[i]);
    }
}

/* Rows of an H200's table, in and beyond its cache, and the signals of a U-Net that no row is near: two blocks do not take
   longer than one. In 16 bits gradients are added, as many as the signal grows. */
static void interpolated_signals(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } rows[] = {{"resize forward linear1d:nchw fp32 16,64,1,1024,1,2048", 171.9e-6},
                {"resize backward linear1d:nchw fp32 128,256,1,2048,1,4096", 12.15e-3},
                {"resize forward linear1d:nchw fp32 2048,64,1,512,1,1024", 49.0e-3},
                {"resize backward linear1d:nchw bf16 32,256,1,128,1,256", 21.18e-3},
                {"resize backward linear1d:nchw bf16 32,64,1,1000,1,4000", 9.8e-3}};
    cm__limits h200 = limits;
    cm__call   plane = call_of("resize forward bilinear:nchw fp32 16,64,32,32,64,64");
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9, h200.cache_bytes = 50e6;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__call c = call_of(rows[i].call);
        near(cm__line_time(&h200, &c), rows[i].measured_s, 0.08);
    }
    assert_true(cm__line_time(&h200, &plane) == 0);
}

/* Experts and edges of graphs in steps on an H200 (first-sight lists n and o): the kernels of index_put_, of the indices
   before it, and of zeros. */
static void gradients_of_few_equal_indices(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } steps[] = {{"embedding backward index fp32 65536,65536,768", 236e-6},
                 {"embedding backward index fp32 40960,10240,768", 111e-6},
                 {"embedding backward index fp32 16384,8192,768", 68e-6},
                 {"embedding backward index fp32 12288,3072,768", 58e-6}};
    cm__limits h200 = limits;
    cm__call   equal = call_of("embedding backward index fp32 614400,10240,64"),
             forward = call_of("embedding forward index fp32 65536,65536,768");
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9, h200.memory_bytes_s = 4.8e12;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cm__call c = call_of(steps[i].call);
        near(cm__most_time(&h200, &c), steps[i].measured_s, 0.1);
    }
    assert_true(cm__most_time(&h200, &equal) == 0); /* 60 equal indices wait for each other */
    assert_true(cm__most_time(&h200, &forward) == 0);
}

/* Steps and probes on an H200: gather() and scatter_add() with an index that is expanded over rows. Additions follow zeros,
   at 4.3 TB/s. */
static void one_index_for_each_row(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } steps[] = {{"embedding forward gather:rows fp32 68,32,307200", 67e-6},
                 {"embedding forward gather:rows fp32 24000,1000,768", 58.7e-6},
                 {"embedding forward gather:rows bf16 4096,2048,6144", 80.5e-6},
                 {"embedding backward gather:rows fp32 68,32,307200", 72e-6 + 9.5e-6},
                 {"embedding backward gather:rows bf16 4096,2048,6144", 110.4e-6 + 6e-6}};
    cm__limits h200 = limits;
    cm__call   each = call_of("embedding forward gather fp32 68,32,307200");
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9, h200.memory_bytes_s = 4.8e12, h200.floor_s = 2e-6;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cm__call c = call_of(steps[i].call);
        near(cm__line_time(&h200, &c), steps[i].measured_s, 0.1);
    }
    assert_true(cm__line_time(&h200, &each) == 0);
}

/* Rows of the H200's table: x[:, index] of 1,048,576 indices. */
static void columns_by_index(void **state)
{
    cm__limits h200 = limits;
    cm__call   c = call_of("embedding forward index:col fp32 1048576,256,16"),
             low = call_of("embedding forward index:col bf16 1048576,128,64");
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    near(cm__least_time(&h200, &c), 65.5e-6, 0.05);
    near(cm__least_time(&h200, &low), 253e-6, 0.05);
}

/* Recorded in steps on an H200: rows of 16 to 288 bytes by x[index] and by the gradient of index_add(). A row of 8 KiB takes
   two blocks; rows of 12 bytes have another kernel. */
static void copied_rows(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } steps[] = {{"embedding forward select fp32 113280,1920,4", 69.4e-6}, {"embedding forward select fp32 113280,1920,72", 69.6e-6},
                 {"embedding forward - fp32 409600,200000,48", 248e-6}, {"embedding forward select fp32 4915200,262144,64", 2956e-6}};
    cm__limits h200 = limits;
    cm__call   one = call_of("embedding forward select fp32 65536,64,1024"),
             two = call_of("embedding forward select fp32 65536,64,2048"),
             odd = call_of("embedding forward select fp32 65536,64,3");
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cm__call c = call_of(steps[i].call);
        near(cm__least_time(&h200, &c), steps[i].measured_s, 0.03);
    }
    near(cm__least_time(&h200, &two), 2 * cm__least_time(&h200, &one), 1e-9);
    assert_true(cm__least_time(&h200, &odd) == 0);
}

/* Measured on an H200: 8 products of 64 x 64 x 67,584 in tf32 take 666 us in a step, and in bf16 94.7 us alone. */
static void batched_products_of_long_rows(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } rows[] = {{"gemm forward tn tf32 8,64,64,67584", 666e-6}, {"gemm forward tn bf16 8,64,64,67584", 94.7e-6},
                {"gemm forward nt tf32 8,64,64,16384", 52.6e-6}, {"gemm forward nt fp32 12,4,4,32768", 177.1e-6}};
    cm__limits h200 = limits;
    cm__call   one = call_of("gemm forward tn tf32 1,64,64,67584");
    cm__call   odd = call_of("gemm forward tn bf16 14,64,14,11200"); /* measured: 110.5 us, 73 in fp16 */
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm__call c = call_of(rows[i].call);
        near(cm__least_time(&h200, &c), rows[i].measured_s, 0.04);
    }
    assert_true(cm__least_time(&h200, &one) == 0); /* its inner size is split */
    assert_true(cm__least_time(&h200, &odd) > 70e-6 && cm__least_time(&h200, &odd) <= 110.5e-6);
}

/* Measured in a census of operators on an H200: 63.8 us for 32,768 products of 3 x 3 x 3, 123 us for 65,536 of 4 x 4 x 1. */
static void many_small_products(void **state)
{
    cm__call   three = call_of("gemm forward nn fp32 32768,3,3,3"), four = call_of("gemm forward nt tf32 65536,4,4,1");
    cm__call   wide = call_of("gemm forward nt bf16 1000,65,64,1"), vector = call_of("gemm forward nt bf16 65536,4,1,4");
    cm__limits h200 = limits;
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    near(cm__least_time(&h200, &three), 63.8e-6, 0.05);
    near(cm__least_time(&h200, &four), 123e-6, 0.02);
    near(cm__least_time(&limits, &wide), 1000 * 2 * 200 / (100 * 1e9), 1e-9);
    assert_true(cm__least_time(&h200, &vector) < 1e-7);
}

/* 32,768 heads of 51 queries with dropout: 931 us forward and 1,986 us backward in a step on an H200. */
static void attention_of_many_heads(void **state)
{
    cm__call   forward = call_of("attention forward dropout bf16 4096,51,51,8,8,4,0"), plain = forward, wide = forward;
    cm__call   backward = call_of("attention backward dropout bf16 4096,51,51,8,8,4,0");
    cm__limits h200 = limits;
    (void)state;
    h200.cores = 132, h200.clock_hz = 1.83e9;
    memset(plain.variant, 0, sizeof plain.variant);
    memcpy(wide.dtype, "fp32", 5);
    near(cm__least_time(&h200, &forward), 931e-6, 0.01);
    assert_true(cm__least_time(&h200, &backward) < 1986e-6 && cm__least_time(&h200, &plain) < 931e-6);
    near(cm__least_time(&h200, &wide), 32768 * 26e-9, 0.01);
    cm__call tiny = call_of("attention forward - tf32 4096,20,20,4,4,8,0"), back = tiny; /* 430 and 796 us on an H200 */
    back.pass = CM__PASS_BACKWARD;
    near(cm__least_time(&h200, &tiny), 430e-6, 0.01);
    near(cm__least_time(&h200, &back), 796e-6, 0.01);
    backward.sizes[CM__ATTENTION_Q] = 129; /* two blocks of queries for each head */
    near(cm__least_time(&limits, &backward), 2 * 32768 * cm__time_factors.head_cycles_backward / (100 * 1e9), 1e-9);
}

/* 8e9 bytes at 1e12 B/s; calls that may read less than their operands have no such bound. */
static void memory_delivers_the_operands(void **state)
{
    static const char *const parts[] = {"conv forward nhwc bf16 128,256,64,56,56,1,1,2,2,0,0,1,1,1",
                                        "conv3d forward nchw bf16 8,64,64,32,32,32,1,1,1,2,1,1,0,0,0,1,1,1,1",
                                        "embedding forward - fp32 65536,2,3072"};
    cm__call copy = call_of("elementwise forward copy fp32 1,1000000000"), small = copy;
    cm__call window = call_of("conv forward nhwc bf16 128,256,64,56,56,3,3,2,2,1,1,1,1,1");
    (void)state;
    small.sizes[CM__ELEMENTWISE_INNER] = 1000;
    near(cm__traffic_time(&limits, &copy), 8e-3, 1e-4);
    assert_true(cm__traffic_time(&limits, &small) < 1e-12); /* in the cache */
    assert_true(cm__traffic_time(&limits, &window) > 0);
    for (int i = 0; i < 3; i++) {
        cm__call c = call_of(parts[i]);
        if (cm__traffic_time(&limits, &c) != 0) fail_msg("%s", parts[i]);
    }
}

/* The timer uses them on GPUs, with and without tables of their own. */
static void in_the_timer(void **state)
{
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-80g", "nvidia-t4"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm_diag    diag = {0};
        cm__ctx   *ctx = cm__ctx_new(&diag);
        cm_device *d, *h200;
        cm__call   instances = call_of("batch_norm forward nchw fp32 1,1024,65536"); /* was a fifth of it */
        cm__call   norm = call_of("layer_norm forward - fp32 16,4194304"), product = call_of("gemm forward nn fp32 1,256,1,131072");
        assert_int_equal(cm_device_load(devices[i], &d, NULL), CM_OK);
        assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
        cm__limits l = cm__limits_of(d);
        cm__timer *t = cm__timer_new(ctx, d, i ? h200 : NULL, CM_RUNTIME_TORCH_EAGER, NULL);
        assert_true(cm__timer_time(t, &norm).time_s >= cm__least_time(&l, &norm));
        assert_true(cm__timer_time(t, &instances).time_s >= cm__traffic_time(&l, &instances));
        double by_law = cm__vector_product_time(&l, &product); /* the H200 has measured rows of such products */
        near(cm__timer_time(t, &product).time_s, by_law, i ? 1e-9 : 0.1);
        cm__call signal = call_of("resize forward linear1d:nchw fp32 2048,64,1,512,1,1024");
        cm__call moved = call_of("embedding backward index fp32 40960,40960,768");
        near(cm__timer_time(t, &signal).time_s, cm__line_time(&l, &signal), 1e-9);
        assert_true(cm__timer_time(t, &moved).time_s <= cm__most_time(&l, &moved));
        cm__ctx_free(ctx);
        cm_device_free(h200);
        cm_device_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_a_vector),
        cmocka_unit_test(gradients_of_filters_of_one_image), cmocka_unit_test(layer_norms_of_few_rows),
        cmocka_unit_test(softmax_of_long_rows), cmocka_unit_test(loops_of_threads),
        cmocka_unit_test(elements_of_mixed_types),
        cmocka_unit_test(group_norms_of_large_images),
        cmocka_unit_test(one_block_sums_a_group_in_the_cache),
        cmocka_unit_test(gradients_of_equal_indices_are_added_one_after_another),
        cmocka_unit_test(gradients_of_many_rows_start_many_blocks), cmocka_unit_test(scans_of_short_rows),
        cmocka_unit_test(factors_and_triangular_systems),
        cmocka_unit_test(reductions_of_short_rows), cmocka_unit_test(interpolated_signals),
        cmocka_unit_test(gradients_of_few_equal_indices), cmocka_unit_test(columns_by_index), cmocka_unit_test(copied_rows), cmocka_unit_test(one_index_for_each_row), cmocka_unit_test(batched_products_of_long_rows),
        cmocka_unit_test(many_small_products),
        cmocka_unit_test(attention_of_many_heads),
        cmocka_unit_test(memory_delivers_the_operands),
        cmocka_unit_test(in_the_timer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
