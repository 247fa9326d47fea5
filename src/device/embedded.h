/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h - data/devices, data/clusters and data/schema, embedded into the program by tools/embed.py. */
#ifndef CM_DEVICE_EMBEDDED_H
#define CM_DEVICE_EMBEDDED_H

#include "centimani.h"

/* One JSON text. */
typedef struct cm__embedded_profile {
    const char *id;
    bool        abstract;
    const char *text;
    size_t      text_size;
} cm__embedded_profile;

extern const cm__embedded_profile cm__embedded_devices[], cm__embedded_clusters[], cm__embedded_schemas[];
extern const int32_t              cm__n_embedded_devices, cm__n_embedded_clusters, cm__n_embedded_schemas;

#endif
