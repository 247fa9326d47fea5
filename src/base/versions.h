/* SPDX-License-Identifier: Apache-2.0 */
/* versions.h - releases of software: those that numbers were measured on, and those that a question names. */
#ifndef CM_BASE_VERSIONS_H
#define CM_BASE_VERSIONS_H

#include "base/ctx.h"

extern const char *const cm__component_names[CM_COMPONENTS];

/* The component of that name; CM_COMPONENTS: it is none that kernel times depend on. */
cm_component cm__component_find(const char *name);

static inline uint16_t cm__version(long major, long minor) { return (uint16_t)(256 * major + minor); }

/* "2.11", or what a program calls itself: "2.11.0+cu130". 0: it is no version. */
uint16_t cm__version_of(const char *text);

/* Both name a component, and name different releases of it. */
bool cm__versions_differ(cm_versions a, cm_versions b);

/* Whether numbers of release `a` are better for a question than those of `b`: its own release, otherwise the newer one. */
bool cm__versions_better(cm_versions a, cm_versions b, cm_versions asked);

/* "torch 2.11, cudnn 9.19, cuda 13.0"; NULL: none is known. */
const char *cm__versions_text(cm__ctx *ctx, cm_versions versions);

#endif
