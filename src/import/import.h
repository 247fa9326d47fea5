/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - the importers. Each takes untrusted bytes or text and returns the forward graph, allocated in the given
   context, or fails through that context (base/ctx.h). load.c chooses the importer. */
#ifndef CM_IMPORT_IMPORT_H
#define CM_IMPORT_IMPORT_H

#include "graph/graph.h"

/* ONNX: `bytes` must stay mapped only during the call; weights are not read. */
cm_graph *cm__import_onnx(cm__ctx *ctx, const char *name, const uint8_t *bytes, size_t size, const cm_load_options *o);

/* Hugging Face config.json. */
cm_graph *cm__import_config(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o);

/* A recorded PyTorch step, .cmt.json (docs/capture.md). */
cm_graph *cm__import_trace(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o);

/* A training step as StableHLO text, .mlir, or as the text of XLA's HLO, .hlo (hlo/hlo.h). */
cm_graph *cm__import_hlo(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o);

/* What a captured step says of the question: cm_model_precision(), cm_model_runtime() and cm_model_plan(). */
typedef struct cm__trace_origin {
    cm_precision precision;
    cm_runtime   runtime;
    cm_plan      plan; /* devices 0: none is known */
} cm__trace_origin;

cm__trace_origin cm__import_trace_origin(cm__ctx *ctx, const char *text, size_t size);
cm__trace_origin cm__import_hlo_origin(cm__ctx *ctx, const char *text, size_t size);

/* "gpt:layers=24,hidden=1024,..." and single operators "gemm:m=64,n=1760,k=1760". */
bool      cm__is_description(const char *spec); /* starts with a known kind and a colon */
cm_graph *cm__import_description(cm__ctx *ctx, const char *text, const cm_load_options *o);

/* The layer language of data/models/ *.net. */
cm_graph *cm__import_net(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o);

/* hub.c: a model of huggingface.co by the name of its repository, ORGANISATION/NAME, in the local cache. */
bool        cm__is_hub_name(const char *spec);                   /* it could be one */
const char *cm__hub_cache(cm__ctx *ctx);                         /* the cache's folder; NULL: no variable names one */
const char *cm__hub_folder(cm__ctx *ctx, const char *name);      /* of the repository, in the cache */
const char *cm__hub_config(cm__ctx *ctx, const char *name);      /* path of its config.json; NULL: not in the cache */

/* A text file of data/models by name ("resnet50.net"), embedded in the program; NULL: none. */
const char *cm__data_file(const char *name, size_t *size);

#endif
