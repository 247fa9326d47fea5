/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.c - search for the nearest rows.
 *
 * A squared distance is a sum over groups of four features, the last group first: the last features differ most
 * between rows. The sum for a box is not greater than that for any row in it, because rounding is monotonic and the
 * order of the additions is the same.
 */
#include "model/time/nearest.h"

#include <math.h>
#include <stdbool.h>
#include "model/time/four.h"

typedef struct search {
    const cm__rows *rows;
    const float    *features;
    int             count;
    float           offset;
    int32_t         table, without;
    cm__neighbours *found;
} search;

/* A row of a table and its distance in one number, which sorts by distance and then by number, or by number. The bits
   of floats that are not negative sort as the floats do. */
typedef uint64_t packed;
_Static_assert(CM__ROWS_MOST <= UINT16_MAX, "two rows' indices have 32 bits");
_Static_assert(CM__NEIGHBOURS % 4 == 0, "rows are moved four at a time");

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline packed by_distance(float squared, uint16_t number, int32_t row)
{
    return (packed)bits_of(squared) << 32 | (packed)number << 16 | (packed)row;
}

static inline packed by_number(float squared, uint16_t number, int32_t row)
{
    return (packed)number << 48 | (packed)row << 32 | bits_of(squared);
}

/* Inserts into a sorted list that has a place left behind `at`. */
static inline void insert(packed *list, int at, packed new)
{
    for (; at > 0 && new < list[at - 1]; at--) list[at] = list[at - 1];
    list[at] = new;
}

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t blocks_of(const search *s) { return (int32_t)cm__blocks((size_t)s->rows->count); }

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

/* ---- distances -------------------------------------------------------------------------------------------------- */

static inline cm__four squared_sum(cm__four a, cm__four b, cm__four c, cm__four d)
{
    return (a * a + b * b) + (c * c + d * d);
}

/* Bits of the rows that a block has; the last block of a table is filled up. */
static inline unsigned rows_in(const search *s, int32_t block)
{
    int32_t end = least(CM__BLOCK, s->rows->count - block * CM__BLOCK);
    return (2u << (end - 1)) - 1;
}

/* Squared distances to the rows of a block. Returns a bit for each row that is as near as `most`. */
static unsigned near_rows_by_four(const search *s, int32_t block, float most, float squared[CM__BLOCK])
{
    const float *rows = cm__block_at(s->rows, block, s->count);
    cm__four     sum[CM__BLOCK / 4] = {{0}};
    unsigned     which = 0;
    for (int f = s->count - 4; f >= 0; f -= 4) {
        const float *x = s->features + f, *from = rows + f * CM__BLOCK;
        which = 0;
        for (int i = 0; i < CM__BLOCK / 4; i++, from += 4) {
            sum[i] += squared_sum(x[0] - cm__four_at(from), x[1] - cm__four_at(from + CM__BLOCK),
                                  x[2] - cm__four_at(from + 2 * CM__BLOCK), x[3] - cm__four_at(from + 3 * CM__BLOCK));
            which |= cm__four_which(sum[i] <= most) << 4 * i;
        }
        if (!which) return 0;
    }
    memcpy(squared, sum, sizeof sum);
    return which & rows_in(s, block);
}

/* How far a feature is outside a range. */
static inline cm__four outside(float x, cm__four low, cm__four high)
{
    return cm__four_most(cm__four_most(low - x, x - high), (cm__four){0});
}

static inline cm__four outside_of(const float *x, const uint16_t *boxes, int f)
{
    const uint16_t *from = boxes + 2 * f * CM__BOXES;
    return outside(x[f], cm__four_bounds(from), cm__four_bounds(from + CM__BOXES));
}

/* Squared distances to the boxes of CM__BOXES blocks. Returns a bit for each that is as near as `most`. */
CM__FAST static unsigned near_four(const search *s, int32_t group, float most, float *squared)
{
    const uint16_t *boxes = cm__boxes_at(s->rows, group, s->count);
    const float    *x = s->features;
    cm__four        sum = {0};
    unsigned        near = 0;
    for (int f = s->count - 4; f >= 0; f -= 4) {
        sum += squared_sum(outside_of(x, boxes, f), outside_of(x, boxes, f + 1), outside_of(x, boxes, f + 2),
                           outside_of(x, boxes, f + 3));
        near = cm__four_which(sum <= most);
        if (!near) return 0;
    }
    memcpy(squared, &sum, sizeof sum);
    return near;
}

#ifdef CM__AVX2
/* How far a feature is outside the ranges of two groups of boxes, with either sign. */
CM__AVX2 static inline __m256 outside_eight(const float *x, const uint16_t *one, const uint16_t *other, int f)
{
    const void *from[] = {one + 2 * f * CM__BOXES, other + 2 * f * CM__BOXES};
    __m256i     both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(from[0])),
                                               _mm_loadu_si128(from[1]), 1), zero = _mm256_setzero_si256();
    __m256 low = _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, both)), at = _mm256_set1_ps(x[f]);
    __m256 high = _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, both));
    return at - _mm256_min_ps(_mm256_max_ps(at, low), high);
}

/* Squared distances of four features of a call to those of eight rows. */
CM__AVX2 static inline __m256 squared_eight(const __m256 x[4], const float *from)
{
    __m256 a = x[0] - _mm256_loadu_ps(from), b = x[1] - _mm256_loadu_ps(from + CM__BLOCK),
           c = x[2] - _mm256_loadu_ps(from + 2 * CM__BLOCK), d = x[3] - _mm256_loadu_ps(from + 3 * CM__BLOCK);
    return (a * a + b * b) + (c * c + d * d);
}

/* As near_rows_by_four(). */
CM__AVX2 static unsigned near_rows_by_eight(const search *s, int32_t block, float most, float squared[CM__BLOCK])
{
    const float *rows = cm__block_at(s->rows, block, s->count);
    __m256       zero = _mm256_setzero_ps(), bound = _mm256_set1_ps(most), sum[] = {zero, zero}, near[] = {zero, zero};
    for (int f = s->count - 4; f >= 0; f -= 4) {
        const float *from = rows + f * CM__BLOCK, *at = s->features + f;
        const __m256 x[] = {_mm256_set1_ps(at[0]), _mm256_set1_ps(at[1]), _mm256_set1_ps(at[2]), _mm256_set1_ps(at[3])};
        sum[0] += squared_eight(x, from);
        sum[1] += squared_eight(x, from + 8);
        near[0] = _mm256_cmp_ps(sum[0], bound, _CMP_LE_OQ);
        near[1] = _mm256_cmp_ps(sum[1], bound, _CMP_LE_OQ);
        if (!_mm256_movemask_ps(_mm256_or_ps(near[0], near[1]))) return 0;
    }
    _mm256_storeu_ps(squared, sum[0]);
    _mm256_storeu_ps(squared + 8, sum[1]);
    unsigned which = (unsigned)_mm256_movemask_ps(near[0]) | (unsigned)_mm256_movemask_ps(near[1]) << 8;
    return which & rows_in(s, block);
}

/* As near_four(), of two groups. */
CM__AVX2 static unsigned near_eight(const search *s, int32_t group, float most, float *squared)
{
    const uint16_t *one = cm__boxes_at(s->rows, group, s->count), *other = cm__boxes_at(s->rows, group + 1, s->count);
    const float    *x = s->features;
    __m256          sum = _mm256_setzero_ps();
    unsigned        near = 0;
    for (int f = s->count - 4; f >= 0; f -= 4) {
        __m256 a = outside_eight(x, one, other, f), b = outside_eight(x, one, other, f + 1),
               c = outside_eight(x, one, other, f + 2), d = outside_eight(x, one, other, f + 3);
        sum += (a * a + b * b) + (c * c + d * d);
        near = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(sum, _mm256_set1_ps(most), _CMP_LE_OQ));
        if (!near) return 0;
    }
    _mm256_storeu_ps(squared, sum);
    return near;
}

/* As insert() into the nearest rows behind a 0. Each becomes the lesser of itself and the greater of the new one and the
   one before it: no branch depends on the place of the new one. The numbers have no sign. */
CM__AVX2 static void insert_at_once(packed rows[1 + CM__NEIGHBOURS], packed new)
{
    __m256i it = _mm256_set1_epi64x((int64_t)new);
    for (int at = CM__NEIGHBOURS - 3; at > 0; at -= 4) { /* the last ones first: they need those before them */
        void   *to = rows + at;
        __m256i row = _mm256_loadu_si256(to), before = _mm256_loadu_si256((const void *)(rows + at - 1));
        __m256i greater = _mm256_blendv_epi8(it, before, _mm256_cmpgt_epi64(before, it));
        _mm256_storeu_si256(to, _mm256_blendv_epi8(row, greater, _mm256_cmpgt_epi64(row, greater)));
    }
}

static bool by_eight(void) { return __builtin_cpu_supports("avx2"); }
#else
#define near_rows_by_eight near_rows_by_four

static void insert_at_once(packed rows[1 + CM__NEIGHBOURS], packed new) { insert(rows, CM__NEIGHBOURS, new); }

static unsigned near_eight(const search *s, int32_t group, float most, float *squared)
{
    unsigned first = near_four(s, group, most, squared), second = near_four(s, group + 1, most, squared + CM__BOXES);
    return first | second << CM__BOXES;
}

static bool by_eight(void) { return false; }
#endif

static unsigned near_rows(const search *s, int32_t block, float most, float squared[CM__BLOCK])
{
    return (by_eight() ? near_rows_by_eight : near_rows_by_four)(s, block, most, squared);
}

/* As near_four(), of the next groups of a table: of two, if there are two and the processor has them at once. *boxes:
   of how many blocks. Distances that the result has no bit for are not set. */
static unsigned near_boxes(const search *s, int32_t block, int32_t end, float most, float *squared, int32_t *boxes)
{
    bool two = by_eight() && end - block > CM__BOXES;
    *boxes = two ? 2 * CM__BOXES : CM__BOXES;
    return two ? near_eight(s, block / CM__BOXES, most, squared) : near_four(s, block / CM__BOXES, most, squared);
}

/* Squared distance to the box of the table. */
static float table_distance(const search *s, float most)
{
    const uint16_t *low = s->rows->boxes, *high = low + s->count;
    float           sum = 0;
    for (int f = s->count - 4; f >= 0 && sum <= most; f -= 4) {
        cm__four x = cm__four_at(s->features + f),
                 d = cm__four_most(cm__four_bounds(low + f) - x, x - cm__four_bounds(high + f));
        d = cm__four_most(d, (cm__four){0});
        sum += cm__four_sum(d * d);
    }
    return sum;
}

/* ---- the call's own table: nearest blocks first ------------------------------------------------------------------ */

#define BLOCKS 256 /* whose boxes are compared at once */

/* The nearest rows of the table, nearest first, behind a 0; FARTHEST where there are none yet. */
#define FARTHEST ((packed)INT64_MAX)
typedef struct nearest {
    packed rows[1 + CM__NEIGHBOURS];
} nearest;

static inline float most_at_home(const nearest *n)
{
    packed last = n->rows[CM__NEIGHBOURS];
    return last == FARTHEST ? INFINITY : float_of((uint32_t)(last >> 32));
}

static void offer_near(nearest *n, packed new)
{
    if (by_eight()) insert_at_once(n->rows, new);
    else insert(n->rows, CM__NEIGHBOURS, new);
}

/* Among equally near rows the first one in the table counts, whatever the order of the search. */
static void search_block(const search *s, int32_t block, nearest *n)
{
    float   squared[CM__BLOCK];
    int32_t first = block * CM__BLOCK;
    for (unsigned near = near_rows(s, block, most_at_home(n), squared); near; near &= near - 1) {
        int32_t  row = first + __builtin_ctz(near);
        uint16_t number = s->rows->number[row];
        packed   new = by_distance(squared[row - first], number, row);
        if (number != s->without && new < n->rows[CM__NEIGHBOURS]) offer_near(n, new);
    }
}

/* Blocks that may have a near row, and behind them infinitely far ones up to a multiple of TOGETHER. */
#define TOGETHER 8
typedef struct pending {
    float   squared[BLOCKS];
    int32_t block[BLOCKS], count;
} pending;

_Static_assert(BLOCKS % TOGETHER == 0 && TOGETHER == 2 * CM__BOXES, "distances are compared eight at a time");

static inline float lesser(float a, float b) { return a < b ? a : b; }

/* The index of the nearest block, the first one of equally near ones; -1: none is as near as `most`. */
CM__FAST static int32_t nearest_of(const pending *p, float most)
{
    cm__eight      least_of = *(const cm__eight *)p->squared;
    cm__eight_mask at = {0, 1, 2, 3, 4, 5, 6, 7}, from = at;
    for (int32_t i = TOGETHER; i < p->count; i += TOGETHER) {
        cm__eight      x = *(const cm__eight *)(p->squared + i);
        cm__eight_mask nearer = x < least_of;
        from += TOGETHER;
        at = (nearer & from) | (~nearer & at);
        least_of = (cm__eight)((nearer & (cm__eight_mask)x) | (~nearer & (cm__eight_mask)least_of));
    }
    float least = least_of[0];
    for (int i = 1; i < TOGETHER; i++) least = lesser(least, least_of[i]);
    if (isinf(least) || least > most) return -1;
    at |= least_of != least; /* -1 is the largest number without a sign */
    uint32_t first = (uint32_t)at[0];
    for (int i = 1; i < TOGETHER; i++) first = (uint32_t)at[i] < first ? (uint32_t)at[i] : first;
    return (int32_t)first;
}

static void fill_up(pending *p, int32_t from)
{
    while (from % TOGETHER) p->squared[from++] = INFINITY;
}

/* Removes blocks that are farther away than `most`, or taken already. */
static void remove_far(pending *p, float most)
{
    int32_t left = 0;
    for (int32_t i = 0; i < p->count; i += 4) {
        if (!cm__four_any(cm__four_at(p->squared + i) <= most)) continue;
        for (int32_t at = i; at < i + 4; at++) {
            p->block[left] = p->block[at];
            p->squared[left] = p->squared[at];
            left += p->squared[left] <= most;
        }
    }
    p->count = left;
    fill_up(p, left);
}

/* Nearest first, so that the bound falls quickly and most blocks are skipped. */
static void search_blocks(const search *s, int32_t first, int32_t count, nearest *n)
{
    pending p; /* large: only what is used is written */
    bool    bounded = false;
    int32_t compared = 0;
    p.count = count;
    for (int32_t boxes; compared < count; compared += boxes)
        near_boxes(s, first + compared, first + count, INFINITY, p.squared + compared, &boxes);
    fill_up(&p, compared);
    for (int32_t i = 0; i < compared; i++) p.block[i] = first + i;
    for (int32_t at; p.count && (at = nearest_of(&p, most_at_home(n))) >= 0;) {
        p.squared[at] = INFINITY;
        search_block(s, p.block[at], n);
        if (!bounded && !isinf(most_at_home(n))) bounded = true, remove_far(&p, most_at_home(n));
    }
}

void cm__nearest_at_home(cm__neighbours *found, const cm__rows *tables, int32_t table, const float *features, int count,
                         int32_t without)
{
    const search s = {&tables[table], features, count, 0, table, without, found};
    nearest      n = {{0}};
    for (int i = 1; i <= CM__NEIGHBOURS; i++) n.rows[i] = FARTHEST;
    for (int32_t first = 0; first < blocks_of(&s); first += BLOCKS)
        search_blocks(&s, first, least(BLOCKS, blocks_of(&s) - first), &n);
    for (found->count = 0; found->count < CM__NEIGHBOURS && n.rows[1 + found->count] != FARTHEST; found->count++) {
        packed row = n.rows[1 + found->count];
        found->of[found->count] = (cm__neighbour){float_of((uint32_t)(row >> 32)), (int32_t)(row & UINT16_MAX),
                                                  (int32_t)(row >> 16 & UINT16_MAX), table};
    }
}

/* ---- another table: rows in the order of the table --------------------------------------------------------------- */

#define COLLECTED 96 /* rows; usually there are fewer than 20 */

typedef struct collected {
    packed rows[COLLECTED]; /* in the order of the table */
    int    count;
} collected;

/* Collects the rows of a block that are nearer than `most`. Returns false if they are too many. */
static bool collect_block(const search *s, int32_t block, float most, collected *c)
{
    float   squared[CM__BLOCK];
    int32_t first = block * CM__BLOCK;
    for (unsigned near = near_rows(s, block, most, squared); near; near &= near - 1) {
        int32_t i = __builtin_ctz(near);
        if (!(squared[i] < most)) continue;
        if (c->count == COLLECTED) return false;
        insert(c->rows, c->count++, by_number(squared[i], s->rows->number[first + i], first + i));
    }
    return true;
}

static bool collect(const search *s, float most, collected *c)
{
    int32_t blocks = blocks_of(s);
    float   squared[2 * CM__BOXES];
    for (int32_t first = 0, boxes; first < blocks; first += boxes)
        for (unsigned near = near_boxes(s, first, blocks, most, squared, &boxes); near; near &= near - 1) {
            int32_t i = __builtin_ctz(near);
            if (squared[i] < most && !collect_block(s, first + i, most, c)) return false;
        }
    return true;
}

static void offer(const search *s, cm__neighbour row)
{
    if (!(row.squared < most_of(s->found) - s->offset)) return;
    row.squared += s->offset;
    keep(s->found, row);
}

#define PART 512 /* rows that are brought into the order of the table at a time */

/* Finds the rows with the numbers from `from` on. */
static void find_part(const search *s, int32_t from, cm__neighbour part[PART])
{
    float squared[CM__BLOCK];
    for (int32_t row = 0; row < s->rows->count; row++) {
        if (row % CM__BLOCK == 0) near_rows(s, row / CM__BLOCK, INFINITY, squared);
        int32_t number = s->rows->number[row];
        if (number >= from && number - from < PART)
            part[number - from] = (cm__neighbour){squared[row % CM__BLOCK], row, number, s->table};
    }
}

static void offer_all(const search *s)
{
    cm__neighbour part[PART];
    for (int32_t from = 0, count = s->rows->count; from < count; from += PART) {
        find_part(s, from, part);
        for (int32_t i = 0; i < PART && from + i < count; i++) offer(s, part[i]);
    }
}

/* The order matters: with an offset, rounding decides between equally near rows. */
void cm__nearest_beside(cm__neighbours *found, const cm__rows *tables, int32_t table, float offset,
                        const float *features, int count)
{
    const search s = {&tables[table], features, count, offset, table, -1, found};
    float        most = most_of(found) - offset;
    collected    c;
    c.count = 0;
    if (!(most > 0) || !(table_distance(&s, most) < most)) return;
    if (isinf(most) || !collect(&s, most, &c)) offer_all(&s);
    else
        for (int i = 0; i < c.count; i++)
            offer(&s, (cm__neighbour){float_of((uint32_t)c.rows[i]), (int32_t)(c.rows[i] >> 32 & UINT16_MAX),
                                      (int32_t)(c.rows[i] >> 48), table});
}
