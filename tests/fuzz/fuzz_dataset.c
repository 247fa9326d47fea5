/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dataset.c - data sets from arbitrary texts; an accepted one has no negative size or time. */
#include <math.h>
#include <string.h>
#include "model/step/loading.h"
#include "reader.h"

static void dataset(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    static const cm_graph nothing;
    char                 *text = cm__alloc(ctx, size + 1);
    if (size) memcpy(text, bytes, size);
    /* The result must not depend on folders of this machine. */
    if (strncmp(text, "files:", 6) == 0 && !strchr(text, '=')) return;
    cm__dataset d = cm__dataset_of(ctx, text, &nothing);
    if (!(d.bytes >= 0) || !(d.prepare_s >= 0) || !(isnan(d.samples) || d.samples >= 0)) abort();
}

FUZZ_READER(dataset)
