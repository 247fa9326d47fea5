/* SPDX-License-Identifier: Apache-2.0 */
/* defaults.h - members that a device's class decides if its profile does not have them: data/class-defaults.tsv. */
#ifndef CM_DEVICE_DEFAULTS_H
#define CM_DEVICE_DEFAULTS_H

#include <stdint.h>

typedef struct cm__class_default {
    const char *device_class; /* "any": every class */
    const char *member, *value, *kind, *source;
} cm__class_default;

extern const cm__class_default cm__class_defaults[];
extern const int32_t           cm__n_class_defaults;

/* NULL: none. `device_class` may be NULL, for a family without a class. */
const char *cm__default_of(const char *device_class, const char *member);

#endif
