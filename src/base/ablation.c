/* SPDX-License-Identifier: Apache-2.0 */
/* ablation.c - rules that the environment leaves out, and a list of those that mattered on stderr when the program ends. */
#include "base/ablation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES 256

static const char *used[RULES];
static size_t      n_used;

static void print_used(void)
{
    for (size_t i = 0; i < n_used; i++) fprintf(stderr, "rule: %s\n", used[i]);
}

static void remember(const char *rule)
{
    for (size_t i = 0; i < n_used; i++)
        if (strcmp(used[i], rule) == 0) return;
    if (!n_used) atexit(print_used);
    if (n_used < RULES) used[n_used++] = rule;
}

bool cm__rule_off(const char *rule)
{
    const char *names = getenv("CENTIMANI_WITHOUT");
    size_t      length = strlen(rule);
    remember(rule);
    for (const char *at = names; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && memcmp(at, rule, length) == 0) return true;
    return false;
}
