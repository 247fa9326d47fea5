/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - checks a JSON value against a JSON Schema.
 *
 * Supports the keywords that data/schema uses: type, required, properties, additionalProperties, items, enum, const,
 * pattern, minimum, maximum, minLength, minProperties, and $ref to "#/definitions/NAME". Other keywords are ignored.
 */
#ifndef CM_DEVICE_SCHEMA_H
#define CM_DEVICE_SCHEMA_H

#include <jansson.h>
#include "device/locate.h"

/* The first violation calls cm__refuse(). */
void cm__schema_check(cm__ctx *ctx, const json_t *schema, const json_t *value, const cm__origin *origin);

#endif
