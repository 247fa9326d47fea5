/* SPDX-License-Identifier: Apache-2.0 */
/* releases.h - which features the releases of software have that a question names (data/releases.tsv). */
#ifndef CM_GRAPH_RELEASES_H
#define CM_GRAPH_RELEASES_H

#include "centimani.h"

typedef enum cm__feature {
#define FEATURE(id, name) CM__FEATURE_##id,
#include "graph/features.def"
#undef FEATURE
    CM__FEATURES
} cm__feature;

typedef struct cm__release {
    const char *component, *version, *date; /* date: year-month */
    cm__feature feature; /* CM__FEATURES: none that the model knows */
} cm__release;

extern const cm__release cm__releases[]; /* made of data/releases.tsv */
extern const int32_t     cm__n_releases;

static inline bool cm__provides(cm_software software, cm__feature feature)
{
    return !(software.lacks >> feature & 1);
}

/* The releases of a year; 0: the newest. */
cm_software cm__software_of_year(int32_t year);

#endif
