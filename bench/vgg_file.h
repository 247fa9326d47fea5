/* SPDX-License-Identifier: Apache-2.0 */
/* vgg_file.h - generate a large ONNX file: VGG-16 with embedded weights. */
#ifndef CM_BENCH_VGG_FILE_H
#define CM_BENCH_VGG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the model; its 553 MB of weights are holes that read as zeros. Returns false on failure. */
bool write_vgg_file(FILE *file);

#endif
