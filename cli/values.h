/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - one function per kind of value in options.def: store a value in its field, or print why it is invalid. */
#ifndef CM_CLI_VALUES_H
#define CM_CLI_VALUES_H

#include "cli.h"

typedef bool store_value(const option *o, settings *s, void *field, const char *value);

#define OPT(name, argument, kind, field, taken_by, help) store_value store_##kind;
#include "options.def"
#undef OPT

#endif
