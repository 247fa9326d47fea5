/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c - sort table rows into blocks of near rows, and search them. */
#include "model/time/nearest.h"

#include <math.h>
#include <string.h>
#include "model/time/features.h"
#include "model/time/four.h"

/* ---- order ------------------------------------------------------------------------------------------------------ */

typedef struct sorting {
    const float *features;
    int          count;
    int32_t     *number;
} sorting;

static const float *row_of(const sorting *s, size_t at)
{
    return s->features + (size_t)s->number[at] * (size_t)s->count;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the rows with the smallest values of a feature before `middle` (Hoare's selection). */
static void divide(const sorting *s, size_t from, size_t to, size_t middle, int feature)
{
    while (to - from > 1) {
        float  pivot = row_of(s, from + (to - from - 1) / 2)[feature];
        size_t low = from, high = to - 1;
        for (;;) {
            while (row_of(s, low)[feature] < pivot) low++;
            while (row_of(s, high)[feature] > pivot) high--;
            if (low >= high) break;
            swap(&s->number[low++], &s->number[high--]);
        }
        if (middle <= high) to = high + 1;
        else from = high + 1;
        if (from == middle) return;
    }
}

static void extend(cm__four low[], cm__four high[], const float *row, int count)
{
    for (int i = 0; i < count / 4; i++) {
        cm__four x = cm__four_at(row + 4 * i);
        low[i] = cm__four_least(low[i], x);
        high[i] = cm__four_most(high[i], x);
    }
}

static int widest(const sorting *s, size_t from, size_t to)
{
    cm__four low[CM__FEATURES / 4], high[CM__FEATURES / 4];
    float    most = -1;
    int      found = 0;
    for (int i = 0; i < s->count / 4; i++) low[i] = high[i] = cm__four_at(row_of(s, from) + 4 * i);
    for (size_t at = from + 1; at < to; at++) extend(low, high, row_of(s, at), s->count);
    for (int i = 0; i < s->count; i++) {
        float width = high[i / 4][i % 4] - low[i / 4][i % 4];
        if (width > most) most = width, found = i;
    }
    return found;
}

static void sort(const sorting *s, size_t from, size_t to)
{
    size_t blocks = cm__blocks(to - from), middle = from + blocks / 2 * CM__BLOCK;
    if (blocks < 2) return;
    divide(s, from, to, middle, widest(s, from, to));
    sort(s, from, middle);
    sort(s, middle, to);
}

static void make_boxes(const float *features, int count, size_t rows, float *boxes)
{
    size_t width = (size_t)count, bytes = width * sizeof *boxes;
    for (size_t first = 0; first < rows; first += CM__BLOCK, boxes += 2 * width) {
        cm__four low[CM__FEATURES / 4], high[CM__FEATURES / 4];
        size_t   end = first + CM__BLOCK < rows ? first + CM__BLOCK : rows;
        memcpy(low, features + first * width, bytes);
        memcpy(high, low, bytes);
        for (size_t at = first + 1; at < end; at++) extend(low, high, features + at * width, count);
        memcpy(boxes, low, bytes);
        memcpy(boxes + width, high, bytes);
    }
}

cm__rows cm__rows_arrange(const float *features, const float *values, int count, size_t rows, float *floats,
                          int32_t *numbers)
{
    size_t   width = (size_t)count;
    float   *sorted = floats, *sorted_values = floats + rows * width, *boxes = sorted_values + rows;
    int32_t *number = numbers, *place = numbers + rows;
    for (size_t i = 0; i < rows; i++) number[i] = (int32_t)i;
    sort(&(sorting){features, count, number}, 0, rows);
    for (size_t i = 0; i < rows; i++) {
        memcpy(sorted + i * width, features + (size_t)number[i] * width, width * sizeof *sorted);
        sorted_values[i] = values[number[i]];
        place[number[i]] = (int32_t)i;
    }
    make_boxes(sorted, count, rows, boxes);
    return (cm__rows){.features = sorted, .values = sorted_values, .boxes = boxes, .number = number, .place = place,
                      .count = (int32_t)rows};
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

typedef struct search {
    const cm__rows *rows;
    const float    *features;
    int             count;
    float           offset;
    int32_t         table, without;
    cm__neighbours *found;
} search;

/* Squared distance to a box, not greater than that to any row in it: rounding is monotonic, and the sums have the same
   order as those of cm__squared_distance(). Stops at `most`. */
static inline float box_distance(const float *a, const float *box, int count, float most)
{
    float sum = 0;
    for (int i = count - 4; i >= 0 && sum <= most; i -= 4) {
        cm__four x = cm__four_at(a + i), low = cm__four_at(box + i) - x, high = x - cm__four_at(box + count + i);
        cm__four d = cm__four_most(cm__four_most(low, high), (cm__four){0});
        sum += cm__four_sum(d * d);
    }
    return sum;
}

static float most_of(const cm__neighbours *n)
{
    return n->count < CM__NEIGHBOURS ? INFINITY : n->of[CM__NEIGHBOURS - 1].squared;
}

static bool before(const cm__neighbour *a, const cm__neighbour *b)
{
    return a->squared < b->squared || (a->squared == b->squared && a->table == b->table && a->number < b->number);
}

static void keep(cm__neighbours *n, cm__neighbour found)
{
    int at = n->count < CM__NEIGHBOURS ? n->count++ : CM__NEIGHBOURS - 1;
    for (; at > 0 && before(&found, &n->of[at - 1]); at--) n->of[at] = n->of[at - 1];
    n->of[at] = found;
}

static const float *row_at(const search *s, int32_t row) { return s->rows->features + (size_t)row * (size_t)s->count; }

static const float *box_of(const search *s, int32_t block)
{
    return s->rows->boxes + (size_t)block * 2 * (size_t)s->count;
}

static int32_t end_of(const search *s, int32_t block)
{
    int32_t end = (block + 1) * CM__BLOCK;
    return end < s->rows->count ? end : s->rows->count;
}

/* ---- the call's own table: nearest blocks first ------------------------------------------------------------------ */

/* Among equally near rows the first one in the table counts, whatever the order of the search. */
static void search_block(const search *s, int32_t block)
{
    for (int32_t row = block * CM__BLOCK; row < end_of(s, block); row++) {
        float         most = most_of(s->found);
        cm__neighbour new = {.row = row, .number = s->rows->number[row], .table = s->table};
        new.squared = cm__squared_distance(s->features, row_at(s, row), s->count, most);
        if (new.squared > most || new.number == s->without) continue;
        if (s->found->count < CM__NEIGHBOURS || before(&new, &s->found->of[CM__NEIGHBOURS - 1])) keep(s->found, new);
    }
}

static int32_t nearest_block(const search *s, int32_t blocks)
{
    float   least = INFINITY;
    int32_t found = 0;
    for (int32_t i = 0; i < blocks; i++) {
        float d = box_distance(s->features, box_of(s, i), s->count, least);
        if (d < least) least = d, found = i;
    }
    return found;
}

/* Starts with the nearest block and its neighbour, so that most others can be skipped. */
void cm__nearest_at_home(cm__neighbours *found, const cm__rows *tables, int32_t table, const float *features, int count,
                         int32_t without)
{
    const search s = {&tables[table], features, count, 0, table, without, found};
    int32_t      blocks = (int32_t)cm__blocks((size_t)s.rows->count);
    int32_t      done = blocks > 2 ? nearest_block(&s, blocks) | 1 : -1;
    if (done >= 0) search_block(&s, done - 1);
    if (done >= 0 && done < blocks) search_block(&s, done);
    for (int32_t i = 0; i < blocks; i++) {
        float most = most_of(found);
        if ((i | 1) != done && box_distance(features, box_of(&s, i), count, most) <= most) search_block(&s, i);
    }
}

/* ---- another table: rows in the order of the table --------------------------------------------------------------- */

#define COLLECTED 96 /* rows; usually there are fewer than 20 */

typedef struct collected {
    int32_t rows[COLLECTED]; /* in the order of the table */
    int     count;
} collected;

static void collect_row(const search *s, int32_t row, collected *c)
{
    int at = c->count++;
    for (; at > 0 && s->rows->number[c->rows[at - 1]] > s->rows->number[row]; at--) c->rows[at] = c->rows[at - 1];
    c->rows[at] = row;
}

/* Collects the rows that are nearer than `most`. Returns false if they are too many. */
static bool collect(const search *s, float most, collected *c)
{
    int32_t blocks = (int32_t)cm__blocks((size_t)s->rows->count);
    for (int32_t i = 0; i < blocks; i++) {
        if (!(box_distance(s->features, box_of(s, i), s->count, most) < most)) continue;
        for (int32_t row = i * CM__BLOCK; row < end_of(s, i); row++) {
            if (!(cm__squared_distance(s->features, row_at(s, row), s->count, most) < most)) continue;
            if (c->count == COLLECTED) return false;
            collect_row(s, row, c);
        }
    }
    return true;
}

static void offer(const search *s, int32_t row)
{
    float most = most_of(s->found) - s->offset;
    float d = cm__squared_distance(s->features, row_at(s, row), s->count, most);
    if (d < most) keep(s->found, (cm__neighbour){d + s->offset, row, s->rows->number[row], s->table});
}

/* The order matters: with an offset, rounding decides between equally near rows. */
void cm__nearest_beside(cm__neighbours *found, const cm__rows *tables, int32_t table, float offset,
                        const float *features, int count)
{
    const search s = {&tables[table], features, count, offset, table, -1, found};
    float        most = most_of(found) - offset;
    collected    c;
    c.count = 0;
    if (!(most > 0)) return;
    if (isinf(most) || !collect(&s, most, &c))
        for (int32_t i = 0; i < s.rows->count; i++) offer(&s, s.rows->place[i]);
    else
        for (int i = 0; i < c.count; i++) offer(&s, c.rows[i]);
}
