/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric.c - collectives by formula: algorithms, measured rows inside a node, the network between nodes. */
#include <math.h>
#include "time_device.h"
#include "model/parallel/comm.h"

#define LATENCY 2e-6
#define WIDTH 1e11
#define BYTES 1e8

static void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static double by(cm__algorithm a, cm__operation o, int32_t p)
{
    return cm__algorithm_time(a, o, p, BYTES, LATENCY, WIDTH);
}

static void algorithms(void **state)
{
    (void)state;
    double n = BYTES / WIDTH;
    is(by(CM__RING, CM__ALL_REDUCE, 8), 14 * LATENCY + 2 * 7.0 / 8 * n);
    is(by(CM__RING, CM__ALL_GATHER, 8), 7 * LATENCY + 7.0 / 8 * n);
    is(by(CM__RING, CM__REDUCE_SCATTER, 3), 2 * LATENCY + 2.0 / 3 * n);
    is(by(CM__TREE, CM__ALL_REDUCE, 5), 2 * 3 * LATENCY + 2 * n);
    is(by(CM__DOUBLE_TREE, CM__ALL_REDUCE, 16), 2 * 4 * LATENCY + 2 * 15.0 / 16 * n);
    is(by(CM__DIRECT, CM__ALL_TO_ALL, 4), LATENCY + 3.0 / 4 * n);
    is(by(CM__IN_NETWORK, CM__ALL_REDUCE, 64), LATENCY + n);
    is(by(CM__PARAMETER_SERVER, CM__ALL_REDUCE, 4), 2 * (LATENCY + 4 * n));
    is(by(CM__RING, CM__POINT_TO_POINT, 2), LATENCY + n);
    is(by(CM__RING, CM__ALL_REDUCE, 1), 0);
    assert_true(isnan(by(CM__TREE, CM__ALL_TO_ALL, 4)));
}

/* The ring is faster for large buffers, the tree for small ones; the size at which both are equal has a formula. */
static void crossover(void **state)
{
    (void)state;
    double p = 16, equal = (2 * (p - 1) - 2 * 4) * LATENCY / (2 - 2 * (p - 1) / p) * WIDTH;
    for (int side = -1; side <= 1; side += 2) {
        double bytes = equal * (1 + side * 0.01);
        double ring = cm__algorithm_time(CM__RING, CM__ALL_REDUCE, 16, bytes, LATENCY, WIDTH);
        double tree = cm__algorithm_time(CM__TREE, CM__ALL_REDUCE, 16, bytes, LATENCY, WIDTH);
        assert_true(side < 0 ? tree < ring : ring < tree);
    }
}

static void compression(void **state)
{
    (void)state;
    cm__compression none = {0}, eight = {.bits = 8, .compute_bytes_s = 1e12}, sparse = {.fraction = 0.01};
    is(cm__compressed_bytes(&none, BYTES, 32), BYTES);
    is(cm__compressed_bytes(&eight, BYTES, 32), BYTES / 4);
    is(cm__compressed_bytes(&none, BYTES, 16), BYTES / 2);
    is(cm__compressed_bytes(&sparse, BYTES, 32), BYTES * 0.01 * 2); /* each gradient with its position */
    is(cm__compression_time(&eight, BYTES), 2 * BYTES / 1e12);
    assert_true(cm__compression_time(&none, BYTES) == 0);
}

#define ROW(op, n, latency, bandwidth)                                                                                 \
    "{\"op\": \"" op "\", \"algorithm\": \"x\", \"devices\": " n ", \"latency\": " NUMBER(latency, "s")                \
    ", \"bandwidth\": " NUMBER(bandwidth, "B/s") "}"
#define LINKED                                                                                                         \
    TIME_DEVICE(",\n\"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER("2e11", "B/s")       \
                ", \"devices\": 8}],\n\"collectives\": [" ROW("all-reduce", "4", "1e-5", "2e10") ", "                  \
                ROW("all-reduce", "4", "4e-5", "2e11") "]")

static cm_diag diag;

static cm_fabric *fabric_of(const cm_device *d, const char *cluster)
{
    cm_fabric *f;
    if (cm_fabric_new(d, cluster, &f, &diag)) fail_msg("%s", diag.reason);
    return f;
}

/* The faster of two measured lines counts. */
static void rows_of_a_profile(void **state)
{
    (void)state;
    cm_device *d = device_of(LINKED);
    cm_fabric *f = fabric_of(d, NULL);
    cm__group  four = {4, 4};
    assert_int_equal(cm_fabric_node(f), 8);
    assert_false(cm_fabric_joins_nodes(f));
    is(cm__comm_time(f, CM__ALL_REDUCE, four, 1e4), 1e-5 + 1.5 * 1e4 / 2e10);
    is(cm__comm_time(f, CM__ALL_REDUCE, four, 1e9), 4e-5 + 1.5 * 1e9 / 2e11);
    assert_true(cm__comm_time(f, CM__ALL_REDUCE, (cm__group){1, 1}, 1e9) == 0);
    is(cm_fabric_time(f, "all-reduce", 4, 1e9), cm__comm_time(f, CM__ALL_REDUCE, four, 1e9));
    assert_true(isnan(cm_fabric_time(f, "all-reduced", 4, 1e9)));
    /* more devices: the same bandwidth, more steps */
    assert_true(cm__comm_time(f, CM__ALL_REDUCE, (cm__group){8, 8}, 1e9) > cm__comm_time(f, CM__ALL_REDUCE, four, 1e9));
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The rate of another node's links replaces the profile's rows: a ring of four sends 3/4 of the data twice. */
static void links_of_a_node(void **state)
{
    (void)state;
    cm_device *d = device_of(LINKED);
    cm_fabric *f = fabric_of(d, "node=4,link=25GB");
    double     large = 1e13; /* latencies are negligible */
    double     expected = 1.5 * large / (25e9 * cm__share_of("link-part"));
    assert_int_equal(cm_fabric_node(f), 4);
    assert_true(cm_fabric_link_bytes_s(f) == 25e9);
    assert_true(fabs(cm_fabric_time(f, "all-reduce", 4, large) / expected - 1) < 1e-4);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* A group of one device per node has an eighth of the node's network; a group of all eight has all of it. */
static void across_nodes(void **state)
{
    (void)state;
    cm_device *d = device_of(LINKED);
    cm_fabric *f = fabric_of(d, "node=8,net=800Gb");
    double     large = 1e12; /* latencies are negligible */
    double     alone = cm__comm_time(f, CM__ALL_REDUCE, (cm__group){4, 1}, large),
           all = cm__comm_time(f, CM__ALL_REDUCE, (cm__group){32, 8}, large);
    assert_true(cm_fabric_joins_nodes(f));
    /* one of eight groups that share the network */
    assert_true(fabs(alone / (2 * 3.0 / 4 * large / (1e11 * 0.91 / 8)) - 1) < 0.01);
    assert_true(fabs(all / (2 * 31.0 / 32 * large / (1e11 * 0.91)) - 1) < 0.01);     /* a ring over all members */
    cm_fabric_free(f);
    cm_device_free(d);
}

#define SWITCHED(name, more)                                                                                           \
    "{\"schema\": 1, \"id\": \"c\", \"name\": \"C\", \"device\": \"timed\", \"devices_per_node\": " NUMBER("1", "1")      \
    ", \"nodes\": " NUMBER("4", "1") ", \"tiers\": [{\"name\": \"" name "\", \"reach\": \"network\", \"bandwidth\": "         \
    NUMBER("1e11", "B/s") more "}], " SOURCES "}"

static double on_four(const cm_device *d, const char *cluster)
{
    write_file("c.json", cluster);
    cm_fabric *f = fabric_of(d, file_named("c.json"));
    double     time_s = cm_fabric_time(f, "all-reduce", 4, 1e12); /* latencies are negligible */
    cm_fabric_free(f);
    return time_s;
}

/* A ring of four moves the buffer 2 * 3 / 4 times, switches that add it up move it once. The name does not matter. */
static void switches_that_add(void **state)
{
    (void)state;
    cm_device *d = device_of(LINKED);
    double     ring = on_four(d, SWITCHED("SwarmX", ""));
    double     switched = on_four(d, SWITCHED("Quantum", ", \"in_network_reduction\": true"));
    assert_true(fabs(ring / switched / 1.5 - 1) < 0.01);
    is(on_four(d, SWITCHED("Quantum", ", \"in_network_reduction\": false")), ring);
    cm_device_free(d);
}

/* 64,500,000 numbers on 16 A100, two DGX: 33.5 % of 300 GB/s (Emani et al. 2022, section V-D1). */
static void two_nodes(void **state)
{
    (void)state;
    cm_device *d;
    double     bytes = 4 * 64.5e6;
    if (cm_device_load("nvidia-a100-40g", &d, &diag)) fail_msg("%s", diag.reason);
    cm_fabric *f = fabric_of(d, "dgx-a100");
    assert_true(fabs(bytes / cm_fabric_time(f, "all-reduce", 16, bytes) / (0.335 * 300e9) - 1) < 0.1);
    cm_fabric *half = fabric_of(d, "node=8,net=800Gb"); /* 256 MiB on 32: 5.715 ms (stas00/ml-engineering) */
    assert_true(fabs(cm_fabric_time(half, "all-reduce", 32, 256.0 * 1024 * 1024) / 5.715e-3 - 1) < 0.05);
    cm_fabric_free(half);
    assert_true(isnan(cm_fabric_time(f, "reduce-all", 16, bytes)) && isnan(cm_collective_bus_part("", 2)));
    assert_true(cm_fabric_link_bytes_s(f) == 3e11 && cm_collective_bus_part("all-reduce", 4) == 1.5);
    assert_string_equal(cm_collective_name(0), "all-reduce");
    assert_null(cm_collective_name(100));
    cm_fabric_free(f);
    cm_device_free(d);
}

#define IN_MESH(rows)                                                                                                  \
    TIME_DEVICE(",\n\"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER("7e11", "B/s")       \
                ", \"topology\": \"mesh\", \"devices\": 8}],\n\"collectives\": [" rows "]")

/* In a mesh p devices use p - 1 of their seven links; a pair uses one, of any number of devices. */
static void mesh(void **state)
{
    (void)state;
    double     large = 1e13, part = 0.74; /* latencies are negligible; link-part of shares.tsv */
    cm_device *d = device_of(IN_MESH(""));
    cm_fabric *f = fabric_of(d, NULL);
    for (int32_t p = 2; p <= 8; p++) {
        double expected = 2 * (p - 1.0) / p * large / (1e11 * (p - 1) * part);
        assert_true(fabs(cm_fabric_time(f, "all-reduce", p, large) / expected - 1) < 1e-6);
        assert_true(fabs(cm_fabric_time(f, "point-to-point", p, large) / (large / (1e11 * part)) - 1) < 1e-6);
    }
    cm_fabric_free(f);
    cm_device_free(d);
}

/* Measured on two devices only: more devices use more links. */
static void mesh_with_rows(void **state)
{
    (void)state;
    cm_device *d = device_of(IN_MESH(ROW("all-reduce", "2", "1e-5", "5e10")));
    cm_fabric *f = fabric_of(d, NULL);
    assert_true(fabs(cm_fabric_time(f, "all-reduce", 2, 1e13) / (1e13 / 5e10) - 1) < 1e-6);
    assert_true(fabs(cm_fabric_time(f, "all-reduce", 4, 1e13) / (1.5 * 1e13 / 15e10) - 1) < 1e-6);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* 4 GiB on two and on eight MI300X: 47.7 and 312.9 GB/s of bus bandwidth (stas00/ml-engineering); an MI325X has the
   same links. */
static void mi300x_nodes(void **state)
{
    (void)state;
    static const char *const ids[] = {"amd-mi300x", "amd-mi325x"};
    static const int32_t     counts[] = {2, 8};
    static const double      bus[] = {47.671e9, 312.912e9};
    for (int i = 0; i < 4; i++) {
        cm_device *d;
        double     bytes = 4294967296.0;
        if (cm_device_load(ids[i / 2], &d, &diag)) fail_msg("%s", diag.reason);
        cm_fabric *f = fabric_of(d, NULL);
        double     time_s = cm_fabric_time(f, "all-reduce", counts[i % 2], bytes);
        double     got = cm_collective_bus_part("all-reduce", counts[i % 2]) * bytes / time_s;
        if (!(fabs(got / bus[i % 2] - 1) < 0.1)) fail_msg("%s, %d: %g B/s", ids[i / 2], counts[i % 2], got);
        cm_fabric_free(f);
        cm_device_free(d);
    }
}

static void refused(void **state)
{
    (void)state;
    cm_device *d = device_of(LINKED);
    cm_fabric *f;
    static const char *const bad[] = {"node=0", "net=8", "net=xGb", "node=8,nett=1Gb", "node=8;net=1Gb", "net=-1Gb",
                                      "link=", "link=8", "link=0GB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cm_fabric_new(d, bad[i], &f, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_fabric_new(d, "no-such-cluster", &f, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_fabric_new(NULL, NULL, &f, &diag), CM_ERR_ARGUMENT);
    cm_device_free(d);
}

/* NCCL on 8 A100: values of AIConfigurator's table, which the profile's lines fit within 10 %. */
static void measured(void **state)
{
    (void)state;
    static const struct {
        double bytes, time_s;
    } rows[] = {{8192, 21.3e-6}, {1048576, 38.9e-6}, {16777216, 216.5e-6}, {134217728, 1169.1e-6}};
    cm_device *d;
    if (cm_device_load("nvidia-a100-80g", &d, &diag)) fail_msg("%s", diag.reason);
    cm_fabric *f = fabric_of(d, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double t = cm__comm_time(f, CM__ALL_REDUCE, (cm__group){8, 8}, rows[i].bytes);
        if (fabs(t / rows[i].time_s - 1) > 0.1) fail_msg("%g B: %g s, measured %g s", rows[i].bytes, t, rows[i].time_s);
    }
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms),   cmocka_unit_test(crossover), cmocka_unit_test(compression),
        cmocka_unit_test(rows_of_a_profile), cmocka_unit_test(links_of_a_node), cmocka_unit_test(across_nodes), cmocka_unit_test(refused),
        cmocka_unit_test(measured),          cmocka_unit_test(two_nodes),
        cmocka_unit_test(switches_that_add), cmocka_unit_test(mesh), cmocka_unit_test(mesh_with_rows),
        cmocka_unit_test(mi300x_nodes),
    };
    return cmocka_run_group_tests_name("comm", tests, make_folder, remove_folder);
}
