/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - compare options of training steps, member by member of options.def. */
#include "graph/training/options.h"

#include <string.h>

static bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool cm__train_same(const cm_train_options *a, const cm_train_options *b)
{
#define NUMBER(member) if (a->member != b->member) return false;
#define TEXT(member) if (!same(a->member, b->member)) return false;
#include "graph/training/options.def"
    return true;
}

static void mix(uint64_t *hash, uint64_t word)
{
    *hash = (*hash ^ word) * 0xff51afd7ed558ccdu;
    *hash ^= *hash >> 32;
}

static void mix_number(uint64_t *hash, double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    mix(hash, word);
}

static void mix_text(uint64_t *hash, const char *text)
{
    for (; text && *text; text++) mix(hash, (unsigned char)*text);
    mix(hash, 256);
}

uint64_t cm__train_hash(const cm_train_options *o)
{
    uint64_t hash = 0;
#define NUMBER(member) mix_number(&hash, (double)o->member);
#define TEXT(member) mix_text(&hash, o->member);
#include "graph/training/options.def"
    return hash;
}
