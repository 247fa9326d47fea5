/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h - options structs of callers that were compiled with another version of centimani.h. */
#ifndef CM_BASE_SIZED_H
#define CM_BASE_SIZED_H

#include <stddef.h>
#include <string.h>

/* Copies the members that the caller's struct has, of which `size` is the first; all others become zero. given NULL: all
   are zero. */
static inline void cm__take_options(void *own, size_t size, const void *given)
{
    size_t known = 0;
    if (given) memcpy(&known, given, sizeof known);
    memset(own, 0, size);
    if (given) memcpy(own, given, known && known < size ? known : size);
}

#endif
