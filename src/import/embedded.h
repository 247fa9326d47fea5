/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h - the files of data/models, embedded into the program by tools/embed.py. */
#ifndef CM_IMPORT_EMBEDDED_H
#define CM_IMPORT_EMBEDDED_H

#include "centimani.h"

typedef struct cm__alias {
    const char *id;
    int32_t     model;
} cm__alias;

typedef struct cm__embedded_text {
    const char *name, *text;
    size_t      size;
} cm__embedded_text;

extern const cm_model_info     cm__embedded_models[];
extern const cm__alias         cm__embedded_aliases[];
extern const cm__embedded_text cm__embedded_texts[];
extern const int32_t           cm__n_embedded_models, cm__n_embedded_aliases, cm__n_embedded_texts;

#endif
