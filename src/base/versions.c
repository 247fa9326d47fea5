/* SPDX-License-Identifier: Apache-2.0 */
/* versions.c - compare releases of software. */
#include "base/versions.h"

#include <stdlib.h>
#include <string.h>

const char *const cm__component_names[CM_COMPONENTS] = {"torch", "cudnn", "cuda", "jax"};

cm_component cm__component_find(const char *name)
{
    int i = 0;
    while (i < CM_COMPONENTS && strcmp(cm__component_names[i], name) != 0) i++;
    return (cm_component)i;
}

uint16_t cm__version_of(const char *text)
{
    char *dot, *end;
    long  major = strtol(text, &dot, 10), minor = *dot == '.' ? strtol(dot + 1, &end, 10) : 0;
    return dot == text || major < 0 || major > 255 || minor < 0 || minor > 255 ? 0 : cm__version(major, minor);
}

bool cm__versions_differ(cm_versions a, cm_versions b)
{
    for (int i = 0; i < CM_COMPONENTS; i++)
        if (a.of[i] && b.of[i] && a.of[i] != b.of[i]) return true;
    return false;
}

/* What states nothing agrees with nothing. */
static bool agree(cm_versions a, cm_versions b)
{
    bool common = false;
    for (int i = 0; i < CM_COMPONENTS; i++) common |= a.of[i] && b.of[i];
    return common && !cm__versions_differ(a, b);
}

bool cm__versions_better(cm_versions a, cm_versions b, cm_versions asked)
{
    bool agrees = agree(a, asked);
    if (agrees != agree(b, asked)) return agrees;
    for (int i = 0; i < CM_COMPONENTS; i++)
        if (a.of[i] != b.of[i]) return a.of[i] > b.of[i];
    return false;
}

const char *cm__versions_text(cm__ctx *ctx, cm_versions v)
{
    const char *text = NULL;
    for (int i = 0; i < CM_COMPONENTS; i++)
        if (v.of[i])
            text = cm__format(ctx, "%s%s%s %d.%d", text ? text : "", text ? ", " : "", cm__component_names[i], v.of[i] / 256,
                              v.of[i] % 256);
    return text;
}
