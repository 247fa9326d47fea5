/* SPDX-License-Identifier: Apache-2.0 */
/* vgg_file.h - a large ONNX file to read: VGG-16 with its weights inside. */
#ifndef CM_BENCH_VGG_FILE_H
#define CM_BENCH_VGG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the model, its 553 MB of weights as holes of zeros; false: could not. */
bool write_vgg_file(FILE *file);

#endif
