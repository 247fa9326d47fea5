/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the keys of a Hugging Face config.json and the transformer fields they set. */
#ifndef CM_IMPORT_CONFIG_H
#define CM_IMPORT_CONFIG_H

#include "import/transformer.h"

typedef struct cm__config_key {
    const char *key;
    const char *field;
    const char *otherwise; /* default of transformers, as text; NULL: the family's */
} cm__config_key;

typedef struct cm__config_type {
    const char           *model_type;
    cm__family            family;
    const cm__config_key *keys;       /* ends with a NULL key */
    int64_t               seq_max;    /* the sequence length is the model's longest, up to this limit */
    int64_t               positions_offset; /* unused rows that max_position_embeddings includes */
} cm__config_type;

extern const cm__config_type cm__config_types[];
extern const int32_t         cm__n_config_types;

#endif
