/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - the algorithm of a recurrent layer, by the rules of PyTorch 2.11 for GPUs as the H200. */
#include "model/time/recurrent.h"

#include <string.h>

/* Largest numbers of a narrow layer: forward and backward. */
static const struct {
    const char *cell;
    int64_t     forward, backward;
} narrow[] = {{"lstm", 192, 128}, {"gru", 192, 128}, {"rnn", 384, 256}};

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
    if (strcmp(c->dtype, "fp16") != 0 || !one || !whole || s[CM__RNN_HIDDEN] > PERSISTENT) return false;
    if (s[CM__RNN_BATCH] % SAMPLES != 0 || s[CM__RNN_BATCH] > MOST_SAMPLES) return false;
    if (strcmp(c->variant, "rnn") == 0) return s[CM__RNN_BATCH] < MANY || s[CM__RNN_HIDDEN] < WIDE;
    return strcmp(c->variant, "lstm") == 0;
}

cm__recurrent_kind cm__recurrent_kind_of(const cm__call *c)
{
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        int64_t most = c->pass == CM__PASS_FORWARD ? narrow[i].forward : narrow[i].backward;
        if (strcmp(c->variant, narrow[i].cell) == 0 && c->sizes[CM__RNN_HIDDEN] <= most) return CM__RECURRENT_NARROW;
    }
    return is_persistent(c) ? CM__RECURRENT_PERSIST : CM__RECURRENT_STEPS;
}
