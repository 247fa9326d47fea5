/* SPDX-License-Identifier: Apache-2.0 */
/* test_min_cut.c - minimum cuts, compared with all cuts of small graphs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/min_cut.h"

enum { A = CM__FIRST_VERTEX, B };

static int make(void **state) { return !(*state = cm__ctx_new(NULL)); }

static int drop(void **state)
{
    cm__ctx_free(*state);
    return 0;
}

static void the_narrowest_edge_is_cut(void **state)
{
    cm__min_cut *cut = cm__min_cut_new(*state, 4);
    cm__min_cut_edge(cut, CM__SOURCE, A, 3);
    cm__min_cut_edge(cut, A, B, 2);
    cm__min_cut_edge(cut, B, CM__SINK, 5);
    const bool *sink_side = cm__min_cut_sink_side(cut);
    assert_false(sink_side[CM__SOURCE] || sink_side[A]);
    assert_true(sink_side[B] && sink_side[CM__SINK]);
}

static void of_equal_cuts_the_one_at_the_sink_is_taken(void **state)
{
    cm__min_cut *cut = cm__min_cut_new(*state, 4);
    cm__min_cut_edge(cut, CM__SOURCE, A, 2);
    cm__min_cut_edge(cut, A, B, CM__UNCUT);
    cm__min_cut_edge(cut, B, CM__SINK, 2);
    const bool *sink_side = cm__min_cut_sink_side(cut);
    assert_false(sink_side[A] || sink_side[B]);
}

enum { VERTICES = 7, EDGES = 16, GRAPHS = 300 };

typedef struct edge {
    int32_t from, to;
    double  weight;
} edge;

/* Weight of the edges from one side to the other; bit v of `sides` is set for a vertex on the sink's side. */
static double weight_of(const edge *edges, unsigned sides)
{
    double sum = 0;
    for (int i = 0; i < EDGES; i++)
        if (!(sides >> edges[i].from & 1) && sides >> edges[i].to & 1) sum += edges[i].weight;
    return sum;
}

static void no_cut_weighs_less(void **state)
{
    uint32_t random = 1;
    for (int graph = 0; graph < GRAPHS; graph++) {
        edge         edges[EDGES];
        cm__min_cut *cut = cm__min_cut_new(*state, VERTICES);
        for (int i = 0; i < EDGES; i++) {
            random = random * 1664525u + 1013904223u;
            edges[i] = (edge){(int32_t)(random >> 8) % VERTICES, (int32_t)(random >> 16) % VERTICES, random >> 28};
            cm__min_cut_edge(cut, edges[i].from, edges[i].to, edges[i].weight);
        }
        const bool *sink_side = cm__min_cut_sink_side(cut);
        unsigned    found = 0;
        for (int v = 0; v < VERTICES; v++) found |= (unsigned)sink_side[v] << v;
        assert_true((found >> CM__SINK & 1) && !(found >> CM__SOURCE & 1));
        for (unsigned sides = 0; sides < 1u << VERTICES; sides++)
            if (sides >> CM__SINK & 1 && !(sides >> CM__SOURCE & 1))
                assert_true(weight_of(edges, found) <= weight_of(edges, sides));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_narrowest_edge_is_cut, make, drop),
        cmocka_unit_test_setup_teardown(of_equal_cuts_the_one_at_the_sink_is_taken, make, drop),
        cmocka_unit_test_setup_teardown(no_cut_weighs_less, make, drop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
