/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - the named models: listing, finding, and their descriptions or layer texts. */
#include <string.h>
#include "base/text.h"
#include "import/embedded.h"
#include "import/import.h"

int32_t cm_models(void) { return cm__n_embedded_models; }

const cm_model_info *cm_model(int32_t index)
{
    return index >= 0 && index < cm__n_embedded_models ? &cm__embedded_models[index] : NULL;
}

const cm_model_info *cm_model_find(const char *id)
{
    if (!id) return NULL;
    for (int32_t i = 0; i < cm__n_embedded_models; i++)
        if (cm__same_name(id, cm__embedded_models[i].id)) return &cm__embedded_models[i];
    for (int32_t i = 0; i < cm__n_embedded_aliases; i++)
        if (cm__same_name(id, cm__embedded_aliases[i].id)) return &cm__embedded_models[cm__embedded_aliases[i].model];
    return NULL;
}

const char *cm__data_file(const char *name, size_t *size)
{
    for (int32_t i = 0; i < cm__n_embedded_texts; i++)
        if (strcmp(name, cm__embedded_texts[i].name) == 0) {
            *size = cm__embedded_texts[i].size;
            return cm__embedded_texts[i].text;
        }
    return NULL;
}
