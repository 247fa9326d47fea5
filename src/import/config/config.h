/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the keys of a Hugging Face config.json and the transformer fields they set. */
#ifndef CM_IMPORT_CONFIG_CONFIG_H
#define CM_IMPORT_CONFIG_CONFIG_H

#include "base/json.h"
#include "graph/rules/state_space.h"
#include "import/transformer/transformer.h"

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

/* ---- config/guess.c ---------------------------------------------------------------------------------------------- */

/* The object that describes the language model: "text_config" of a model that also reads images or sound. */
const json_t *cm__config_language(const json_t *config);
/* With the keys of attn_config and ffn_config beside the others; the same object if it has none of them. */
const json_t *cm__config_flat(cm__ctx *ctx, const json_t *config);
/* The closest family of a model_type that is not known, by its keys; NULL: it is no transformer of tokens, or sizes are
   missing. */
const cm__config_type *cm__config_guess(const json_t *config);
extern const cm__config_key cm__config_usual[]; /* the names that configurations use for one size */
/* Read the keys of such a model, under any of their usual names. Returns what was assumed, for a warning. */
const char *cm__config_guess_read(cm__ctx *ctx, const json_t *config, cm__transformer *t);
/* Fields that follow from several keys: shared experts, windows by layer, the towers of CLIP. */
void cm__config_finish(cm__ctx *ctx, const json_t *config, cm__transformer *t);

/* config/hybrid.c: the pattern of layers and the sizes of a model with state-space layers. */
void cm__config_hybrid(cm__ctx *ctx, const json_t *config, cm__transformer *t);

/* config/missing.c: "vocab_size 32000, ...", the keys that are not stated although parameters or FLOP depend on them,
   with the values of the completed transformer. "": none. */
const char *cm__config_missing(cm__ctx *ctx, const json_t *config, const cm__config_type *type,
                               const cm__transformer *t, bool seq_given);

#endif
