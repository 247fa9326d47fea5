/* SPDX-License-Identifier: Apache-2.0 */
/* defaults.c - members that a device's class decides. */
#include "device/defaults.h"

#include <stddef.h>
#include <string.h>

static int is_of(const cm__class_default *row, const char *device_class)
{
    return strcmp(row->device_class, "any") == 0 || (device_class && strcmp(row->device_class, device_class) == 0);
}

const char *cm__default_of(const char *device_class, const char *member)
{
    for (int32_t i = 0; i < cm__n_class_defaults; i++) {
        const cm__class_default *row = &cm__class_defaults[i];
        if (strcmp(row->member, member) == 0 && is_of(row, device_class))
            return strcmp(row->value, "none") == 0 ? NULL : row->value;
    }
    return NULL;
}
