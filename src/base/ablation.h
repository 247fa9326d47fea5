/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ablation.h - leave out rules of the model by name, to see what each is worth (tools/ablate.py). Only a development
 * build can (meson setup -Dablation=true); in others every rule applies and the names are gone.
 */
#ifndef CM_BASE_ABLATION_H
#define CM_BASE_ABLATION_H

#include <stdbool.h>

#ifdef CM_ABLATION
/* True: the environment's CENTIMANI_WITHOUT names the rule. Asked only where the rule would change something. */
bool cm__rule_off(const char *rule);
#else
static inline bool cm__rule_off(const char *rule)
{
    (void)rule;
    return false;
}
#endif

#endif
