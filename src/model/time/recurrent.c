/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - the algorithm of a recurrent layer, by the rules of PyTorch 2.11 for GPUs as the H200. */
#include "model/time/recurrent.h"

/* Largest numbers of a narrow layer: forward and backward. */
static const struct {
    cm__variant cell;
    int64_t     forward, backward;
} narrow[] = {{CM__V_LSTM, 192, 128}, {CM__V_GRU, 192, 128}, {CM__V_RNN, 384, 256}};

#define WHOLE 128          /* numbers of which sizes of persistent layers are multiples */
#define PERSISTENT 1024    /* largest number of a persistent layer */
#define SAMPLES 8          /* of which the batch is a multiple */
#define MOST_SAMPLES 128
#define MANY 96            /* samples of a plain layer from which on it has fewer than WIDE numbers */
#define WIDE 896

static bool is_persistent(const cm__call *c)
{
    const int64_t *s = c->sizes;
    bool           one = s[CM__RNN_LAYERS] == 1 && s[CM__RNN_DIRECTIONS] == 1;
    bool           whole = s[CM__RNN_HIDDEN] % WHOLE == 0 && s[CM__RNN_INPUT] % WHOLE == 0;
    if (c->types != CM__ALL(CM_FP16) || !one || !whole || s[CM__RNN_HIDDEN] > PERSISTENT) return false;
    if (s[CM__RNN_BATCH] % SAMPLES != 0 || s[CM__RNN_BATCH] > MOST_SAMPLES) return false;
    if (c->variant == CM__V_RNN) return s[CM__RNN_BATCH] < MANY || s[CM__RNN_HIDDEN] < WIDE;
    return c->variant == CM__V_LSTM;
}

cm__recurrent_kind cm__recurrent_kind_of(const cm__call *c)
{
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        int64_t most = c->pass == CM__PASS_FORWARD ? narrow[i].forward : narrow[i].backward;
        if (c->variant == narrow[i].cell && c->sizes[CM__RNN_HIDDEN] <= most) return CM__RECURRENT_NARROW;
    }
    return is_persistent(c) ? CM__RECURRENT_PERSIST : CM__RECURRENT_STEPS;
}
