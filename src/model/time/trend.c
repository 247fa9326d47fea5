/* SPDX-License-Identifier: Apache-2.0 */
/* trend.c - evaluate the networks of a trend. */
#include "model/time/trend.h"

#include <math.h>
#include <string.h>
#include "base/text.h"
#include "model/time/features.h"
#include "model/time/four.h"
#include "model/time/tiles.h"

#define PRODUCT_SIZES 4
#define TOGETHER CM__TREND_TOGETHER /* units whose sums stay in registers */

_Static_assert(CM__FEATURES + PRODUCT_SIZES <= CM__TREND_INPUTS, "features of the largest call");
_Static_assert(CM__TREND_INPUTS <= CM__TREND_HIDDEN, "units of the first layer are inputs of the second");
_Static_assert(CM__TREND_HIDDEN % TOGETHER == 0 && TOGETHER % 8 == 0, "units are computed together");

static int product_logs(const cm__call *c, float *out)
{
    double sizes[PRODUCT_SIZES];
    if (!cm__as_product(c, sizes)) return 0;
    for (int i = 0; i < PRODUCT_SIZES; i++) out[i] = logf(fmaxf(1e-3f, (float)sizes[i]));
    return PRODUCT_SIZES;
}

static bool has_word(const cm__call *c, const char *word)
{
    return cm__types_find(word) == c->types || cm__variant_find(word) == c->variant || cm__pass_find(word) == c->pass;
}

int cm__trend_inputs(const cm__call *c, const cm__limits *limits, const cm__trend_nets *nets, float *inputs)
{
    int n = cm__n_features_unpadded(c->op);
    cm__unscaled_features(c, limits, inputs);
    n += product_logs(c, inputs + n);
    n += cm__tiles_of_conv(c, fmax(1, limits->cores), inputs + n);
    for (int i = 0; nets && i < nets->n_words; i++) inputs[n++] = has_word(c, nets->words[i]);
    return n;
}

/* Inputs that are not 0, times their scales. Most words do not apply to a call, and about half of the units of a layer
   are 0. */
typedef struct used {
    float value[CM__TREND_HIDDEN];
    int   place[CM__TREND_HIDDEN], count;
} used;

/* Branch-free: the processor could not predict which inputs are 0. Bits compare faster than numbers; a 0 with a sign
   adds nothing either. */
static inline void find_used(const float *inputs, int count, const float *scales, used *u)
{
    u->count = 0;
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &inputs[i], sizeof bits);
        u->place[u->count] = i;
        u->value[u->count] = inputs[i] * scales[i];
        u->count += bits != 0;
    }
}

/* units := max(0, biases + inputs times weights), for TOGETHER units. */
static inline void some_units(const used *u, const int8_t *weights, int hidden, const float *biases, float *units)
{
    cm__eight sum[TOGETHER / 8];
    memcpy(sum, biases, sizeof sum);
    for (int k = 0; k < u->count; k++) {
        const int8_t *from = weights + u->place[k] * hidden;
        for (int i = 0; i < TOGETHER / 8; i++, from += 8) sum[i] += u->value[k] * CM__EIGHT_OF(from);
    }
    for (int i = 0; i < TOGETHER / 8; i++) sum[i] = (cm__eight)((sum[i] > 0) & (cm__eight_mask)sum[i]);
    memcpy(units, sum, sizeof sum);
}

static inline void layer(const float *inputs, int count, const float *scales, const int8_t *weights, int hidden,
                         const float *biases, float *units)
{
    used u;
    find_used(inputs, count, scales, &u);
    for (int i = 0; i < hidden; i += TOGETHER) some_units(&u, weights + i, hidden, biases + i, units + i);
}

CM__FAST static float result_of(const float *inputs, int count, int hidden, const int8_t *weights, const float *scales)
{
    const float *biases = scales + count + hidden, *last = biases + 2 * hidden;
    float        first_units[CM__TREND_HIDDEN], units[CM__TREND_HIDDEN], sum = last[hidden];
    layer(inputs, count, scales, weights, hidden, biases, first_units);
    layer(first_units, hidden, scales + count, weights + count * hidden, hidden, biases + hidden, units);
    for (int u = 0; u < hidden; u++) sum += units[u] * last[u];
    return sum;
}

/* A call may be looked up in the table of another type or variant. */
float cm__trend(const cm__kernel_table *t, const cm__call *c, const cm__limits *limits)
{
    const cm__trend_nets *nets = &cm__trends[t->op];
    float                 inputs[CM__TREND_INPUTS], sum = 0;
    if (!nets->count || !t->trended) return 0;
    cm__call call = *c;
    call.types = t->types;
    call.variant = t->variant;
    int count = cm__trend_inputs(&call, limits, nets, inputs);
    if (count != nets->n_inputs) return 0;
    int n_weights = (count + nets->hidden) * nets->hidden, n_numbers = count + 4 * nets->hidden + 1;
    for (int i = 0; i < nets->count; i++)
        sum += result_of(inputs, count, nets->hidden, nets->weights + i * n_weights, nets->numbers + i * n_numbers);
    return sum / (float)nets->count;
}
