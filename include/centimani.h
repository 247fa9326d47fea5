/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centimani.h - predict on which accelerator to train a neural network, how fast, at what cost and how certainly.
 *
 * Most programs need three functions:
 *
 *     cm_device_load()   load the description of an accelerator
 *     cm_step_new()      combine a model, a device and options into one training step, then ask it for memory
 *                        (cm_step_memory), a batch size (cm_step_usual_batch) and time (cm_step_time, cm_step_predict)
 *     cm_rank()          compare all devices for one model
 *
 * The functions below them, in the order in which they are used:
 *
 *     cm_graph_load()    model file, description or name  ->  forward graph
 *     cm_graph_train()   forward graph                    ->  graph of one training step
 *     cm_graph_totals()  graph, batch size                ->  parameters, FLOP, bytes
 *     cm_footprint_new() step graph, device, plan         ->  memory at any batch size
 *     cm_batch_choose()  footprint, candidates            ->  the batch size to use
 *     cm_predict()       step graph, device               ->  step time, with a 90 % interval
 *     cm_search_run()    forward graph, device count      ->  parallel plans, best first
 *     cm_calibrate()     device, log of measured steps    ->  a corrected device profile
 *
 * Conventions:
 *   - A function that can fail returns a cm_status. If the caller passes a cm_diag, the function writes into it what
 *     failed, where, and how to correct it. Results are written only on success.
 *   - The library never prints, and never exits or aborts because of its input.
 *   - A handle owns everything that its functions return; one call frees all of it. Freeing NULL is allowed.
 *   - Structs: zeroed options mean the defaults. Set `size` to the sizeof the options struct: the library takes members
 *     that a later version added at the end for zero. A `size` of 0 means the members of version 0.3. Structs inside other
 *     structs, and results that the caller allocates, keep their size and have reserved room; zero it in options. Results
 *     that the library owns may grow at their end.
 *   - Threads: devices, clusters and graphs do not change once they are loaded, and any number of threads may use them. All
 *     other handles (steps, footprints, predictors, predictions, rankings) are for one thread at a time; threads may use
 *     different ones. cm_rank(), cm_search_run() and cm_job_run() start threads of their own and end them before they
 *     return; they call `progress` from one thread at a time. There is no global state.
 *   - Units are SI; the unit is part of the name (time_s, peak_bytes, bw_bytes_s).
 *   - An unknown number is NAN, an unknown text is NULL. "NULL: unknown" in a comment says that this can happen.
 *   - A step is one training iteration (forward, backward, optimizer update), or one forward pass for inference.
 *
 * docs/glossary.md defines the terms.
 */
#ifndef CENTIMANI_H
#define CENTIMANI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_VERSION "0.2.0"
#define CM_VERSION_NUMBER 200 /* 10,000 major + 100 minor + patch: of this header */
int32_t cm_version_number(void); /* the same, of the library */

/* ---- status ---------------------------------------------------------------------------------------------------- */

#define CM_STATUS_MAP(X)                                                                                               \
    X(CM_OK, 0, "done")                                                                                                \
    X(CM_ERR_MEMORY, -1, "out of memory")                                                                              \
    X(CM_ERR_IO, -2, "cannot read or write")                                                                           \
    X(CM_ERR_FORMAT, -3, "malformed input")                                                                            \
    X(CM_ERR_UNSUPPORTED, -4, "not supported")                                                                         \
    X(CM_ERR_ARGUMENT, -5, "bad argument")                                                                             \
    X(CM_ERR_LIMIT, -6, "too large")                                                                                   \
    X(CM_ERR_UNKNOWN, -7, "unknown name")                                                                              \
    X(CM_ERR_FIT, -8, "does not fit into the device's memory")

typedef enum cm_status {
#define X(id, value, text) id = value,
    CM_STATUS_MAP(X)
#undef X
} cm_status;

const char *cm_status_text(cm_status status);

/* The file, the place in it and the reason of a failure. Any field may be empty. */
typedef struct cm_diag {
    char file[256];
    char place[256];
    char reason[512];
} cm_diag;

/* Write "file: place: reason" into buf; return buf. */
const char *cm_diag_text(const cm_diag *diag, char *buf, size_t size);

/* ---- functions of the batch size -------------------------------------------------------------------------------- */

/* One dimension of a tensor: per_batch * B + fixed. */
typedef struct cm_dim {
    int64_t per_batch, fixed;
} cm_dim;

/* A cost as a polynomial of the batch size: c[0] + c[1] B + c[2] B^2 + c[3] B^3. */
#define CM_POLY_TERMS 4
typedef struct cm_poly {
    double c[CM_POLY_TERMS];
} cm_poly;

double cm_poly_at(const cm_poly *poly, double batch);

/* ---- the graph -------------------------------------------------------------------------------------------------- */

typedef enum cm_dtype {
    CM_FP32, CM_FP64, CM_FP16, CM_BF16, CM_FP8, CM_INT64, CM_INT32, CM_INT16, CM_INT8, CM_UINT8, CM_BOOL, CM_COMPLEX64,
    CM_STRING, CM_DTYPES
} cm_dtype;

/* The role of a tensor in a training step. */
typedef enum cm_role {
    CM_ROLE_ACTIVATION,  /* computed by the forward pass */
    CM_ROLE_INPUT,       /* new in every step: samples, labels */
    CM_ROLE_PARAMETER,   /* trainable */
    CM_ROLE_BUFFER,      /* persistent, not trained: running statistics, masks, position ids */
    CM_ROLE_CONSTANT,    /* a constant of the model */
    CM_ROLE_SAVED,       /* saved by the forward pass for backward only: statistics, masks, log-sum-exp */
    CM_ROLE_CAST,        /* copy of a parameter in the compute precision, as autocast makes it */
    CM_ROLE_GRADIENT,    /* gradient of an activation */
    CM_ROLE_PARAMETER_GRADIENT,
    CM_ROLE_STATE,       /* optimizer state, master weights */
    CM_ROLES
} cm_role;

typedef enum cm_phase { CM_FORWARD, CM_BACKWARD, CM_RECOMPUTE, CM_UPDATE, CM_PHASES } cm_phase;

typedef enum cm_class {
    CM_CLASS_GEMM, CM_CLASS_CONV, CM_CLASS_ATTENTION, CM_CLASS_NORM, CM_CLASS_ELEMENTWISE, CM_CLASS_REDUCTION,
    CM_CLASS_MOVEMENT, CM_CLASS_EMBEDDING, CM_CLASS_RNN, CM_CLASS_UPDATE, CM_CLASSES
} cm_class;

typedef struct cm_graph cm_graph;

/* Parts of a graph; see "reading a graph" below. A tensor or node is referred to by its index in the graph. */
typedef struct cm_tensor cm_tensor;
typedef struct cm_node   cm_node;

/* Which groups of operators in a file are fused into one operator. */
typedef enum cm_fuse {
    CM_FUSE_ALL,   /* every group that some runtime runs as one kernel: attention, GELU, SiLU, norms, linear layers */
    CM_FUSE_EAGER, /* groups that eager PyTorch runs as one kernel; operators that the user wrote out stay separate */
    CM_FUSE_NONE,  /* none */
    CM_FUSE_NORMS, /* as CM_FUSE_EAGER, and norms that the user wrote out */
    CM_FUSES
} cm_fuse;

/* How samples of several lengths form a micro-batch. */
typedef enum cm_samples {
    CM_SAMPLES_PADDED,   /* rows padded to its longest sample */
    CM_SAMPLES_UNPADDED, /* the samples one after another, without padding */
    CM_SAMPLES_PACKED,   /* rows full of samples, whose tokens attend to those of the same sample only */
    CM_SAMPLES
} cm_samples;

/* Options of cm_graph_load(). */
typedef struct cm_load_options {
    int64_t     seq;     /* sequence length; 0: the model's default */
    int64_t     past;    /* tokens before these whose keys and values are stored: one step of generation; 0: none */
    cm_fuse     fuse;
    const char *dims;    /* free dimensions of a file: "height=320,width=320"; NULL: usual sizes, with a warning */
    /* for cm_step_new(): mean tokens of samples of which the longest has `seq`; 0: all have `seq`. Time follows the
       mean, memory the longest */
    double      tokens;
    cm_samples  samples; /* with `tokens` */
    uint32_t    reserved[8]; /* room for members of later versions; zero */
} cm_load_options;

/* Tokens that one sample counts as, without padding: the mean, or `seq` if all have one length or a sample is a row. */
double cm_load_tokens(const cm_load_options *load, int64_t seq);

/*
 * Read a model. `spec` is a named model, a path to an .onnx file, a Hugging Face config.json or a captured PyTorch step
 * (.cmt.json), or a one-line description such as "gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200" or
 * "gemm:m=64,n=1760,k=1760".
 */
cm_status cm_graph_load(const char *spec, const cm_load_options *options, cm_graph **graph, cm_diag *diag);

typedef enum cm_precision {
    CM_PRECISION_DEFAULT, CM_PRECISION_FP32, CM_PRECISION_TF32, CM_PRECISION_AMP_BF16, CM_PRECISION_AMP_FP16,
    CM_PRECISION_BF16, CM_PRECISION_FP16, CM_PRECISION_FP8, CM_PRECISIONS
} cm_precision;
typedef enum cm_optimizer {
    CM_OPTIMIZER_DEFAULT, CM_OPTIMIZER_SGD, CM_OPTIMIZER_MOMENTUM, CM_OPTIMIZER_ADAM, CM_OPTIMIZER_ADAMW,
    CM_OPTIMIZER_ADAMW_8BIT, CM_OPTIMIZER_PAGED_ADAMW, CM_OPTIMIZER_PAGED_ADAMW_8BIT, CM_OPTIMIZERS
} cm_optimizer;
typedef enum cm_loss {
    CM_LOSS_AUTO, CM_LOSS_CROSS_ENTROPY, CM_LOSS_MSE, CM_LOSS_BCE, CM_LOSS_NONE, CM_LOSSES
} cm_loss;
typedef enum cm_recompute {
    CM_RECOMPUTE_NONE, CM_RECOMPUTE_SELECTIVE, CM_RECOMPUTE_FULL, CM_RECOMPUTES
} cm_recompute;

/* Modules that Megatron-LM's selective recomputation makes again: bits of cm_train_options.recompute_modules. */
typedef enum cm_module {
    CM_MODULE_CORE_ATTN = 1, CM_MODULE_LAYERNORM = 2, CM_MODULE_MOE_ACT = 4, CM_MODULE_MLA_UP_PROJ = 8
} cm_module;

/* Tensors of a recomputed layer that a JAX program's checkpoint policy stores: bits of cm_train_options.recompute_kept and
   recompute_moved. */
typedef enum cm_kept {
    CM_KEPT_QKV = 1, CM_KEPT_CONTEXT = 2, CM_KEPT_OUT = 4, CM_KEPT_MLP_IN = 8, CM_KEPT_MLP_OUT = 16,
    CM_KEPT_EXPERTS_IN = 32, CM_KEPT_EXPERTS_OUT = 64
} cm_kept;

/* flash: one kernel that does not store the scores (FlashAttention, Transformer Engine). math: separate matrix products
   and softmax. efficient, cudnn: PyTorch's memory-efficient kernel, cuDNN's. auto: the one that the runtime chooses on
   the device. */
typedef enum cm_attention {
    CM_ATTENTION_AUTO, CM_ATTENTION_FLASH, CM_ATTENTION_MATH, CM_ATTENTION_EFFICIENT, CM_ATTENTION_CUDNN, CM_ATTENTIONS
} cm_attention;

/* How the cross-entropy of a language model's logits is computed (docs/dev/memory.md has the memory of each). */
typedef enum cm_loss_kernel {
    CM_LOSS_KERNEL_AUTO,    /* as the runtime does: plain in PyTorch, which may be fused in fact */
    CM_LOSS_KERNEL_PLAIN,   /* cross_entropy() of fp32 logits: three more copies of the logits */
    CM_LOSS_KERNEL_FUSED,   /* one kernel each way, or a compiled loss function: logits and their gradient */
    CM_LOSS_KERNEL_CHUNKED, /* the last product and the loss, a part of the tokens at a time */
    CM_LOSS_KERNELS
} cm_loss_kernel;

/* How PyTorch computes in 16 bits beside fp32 weights that ZeRO 2 or 3 shards (FSDP's MixedPrecision(param_dtype)). */
typedef enum cm_mixed_precision {
    CM_MIXED_PRECISION_AUTO,     /* as the precision says: amp-* and fp8 under autocast */
    CM_MIXED_PRECISION_AUTOCAST, /* shards are cast before they are gathered, and the step runs under autocast */
    CM_MIXED_PRECISION_FSDP,     /* the same without autocast: all operators compute in 16 bits */
    CM_MIXED_PRECISIONS
} cm_mixed_precision;

/* How a script treats the logits before the cross-entropy, and whether it keeps them (docs/dev/memory.md). */
typedef enum cm_logits {
    CM_LOGITS_AUTO, /* kept for the whole step; a plain loss is computed from an fp32 copy */
    CM_LOGITS_OWN,  /* shifted copy in their own type; dropped before backward: GPT-2 in Hugging Face's code */
    CM_LOGITS_FP32, /* replaced by an fp32 copy, which is shifted; dropped before backward: transformers up to 4.45 */
    CM_LOGITS_BOTH, /* the same, beside the 16-bit logits: transformers since 4.46 */
    CM_LOGITS
} cm_logits;

/* How frozen weights of matrix products are stored (docs/memory.md). */
typedef enum cm_quantize {
    CM_QUANTIZE_NONE, CM_QUANTIZE_NF4, CM_QUANTIZE_NF4_DQ, CM_QUANTIZE_INT8, CM_QUANTIZE_GPTQ4,
    CM_QUANTIZE_FP8, /* read by 8-bit products without a cast: Transformer Engine's fp8 parameters */
    CM_QUANTIZES
} cm_quantize;

/* Fine-tuning: which parameters are not trained, how they are stored, and which adapters are trained beside them. All
   zero: everything is trained. */
typedef struct cm_tuning {
    int32_t     rank;     /* of the adapters of LoRA; 0: none. With adapters all other parameters are frozen */
    double      alpha;    /* 0: twice the rank */
    double      dropout;  /* before the adapters */
    bool        wide;     /* adapters in fp32, with casts around them, where the other weights have 16 bits */
    bool        narrow;   /* adapters in the type of the frozen weights. Neither: cm_step_settle() decides */
    bool        joined;   /* FSDP shards adapters with their layer; false: each by itself, as PEFT wraps them */
    bool        exempt;   /* FSDP does not shard adapters, as those of fused kernels */
    bool        wide_rest; /* norms, embeddings and head in fp32: prepare_model_for_kbit_training() of PEFT */
    char        targets[128]; /* "qkv", "attention", "all-linear", or names joined by '+'; empty: qkv */
    char        save[128]; /* names of modules that are trained whole beside the adapters (PEFT's modules_to_save) */
    cm_quantize quantize; /* weights of the layers' matrix products: frozen, and stored so */
    const char *freeze;   /* patterns of parameter names, separated by commas; NULL: none */
} cm_tuning;

/* Read "r=16,alpha=32,targets=qkv,dropout=0.05,dtype=fp32,rest=fp32,fsdp=layer,save=lm_head" into `tuning`; r must be
   given. */
cm_status cm_lora_parse(const char *text, cm_tuning *tuning, cm_diag *diag);
const char *cm_quantize_name(cm_quantize quantize);
cm_status   cm_quantize_parse(const char *name, cm_quantize *quantize, cm_diag *diag);

/* Tensors that Megatron-LM's optimizer stores beside weights of 16 bits. bf16: moments in bf16 and fp32 master weights
   (--exp-avg-dtype and --exp-avg-sq-dtype of its precision-aware optimizer); weights: moments in the type of the
   weights and no master weights (NeMo's distributed_fused_adam with dtype: bf16). */
typedef enum cm_moments { CM_MOMENTS_FP32, CM_MOMENTS_BF16, CM_MOMENTS_WEIGHTS } cm_moments;

/* Components on whose release kernel times depend, and releases of them: 256 * major + minor; 0: not stated. */
typedef enum cm_component { CM_COMPONENT_TORCH, CM_COMPONENT_CUDNN, CM_COMPONENT_CUDA, CM_COMPONENT_JAX, CM_COMPONENTS } cm_component;
typedef struct cm_versions {
    uint16_t of[CM_COMPONENTS];
} cm_versions;

/* Releases of the software that runs a step. Zero: the newest that are known. cm_software_parse() sets them. */
typedef struct cm_software {
    bool        given;
    uint32_t    lacks;    /* features that these releases do not have yet, as bits */
    cm_versions versions; /* whose kernel times are used if there are any */
} cm_software;

/* Read "torch=2.5,peft=0.12", or a year, which means what was released by the end of its September. Components that are
   not named are the newest. */
cm_status cm_software_parse(const char *text, cm_software *software, cm_diag *diag);

/* What Megatron-LM is asked for. */
typedef struct cm_megatron_options {
    bool       narrow_gradients; /* its gradient buffer is in bf16 (--grad-reduce-in-bf16), not fp32 */
    cm_moments moments;
    /* weights of 8-bit products are stored in 8 bits alone, by rows and by columns: --fp8-param-gather */
    bool       narrow_weights;
} cm_megatron_options;

/* What the script of a PyTorch step does beside the step itself, and how it was started. */
typedef struct cm_script_options {
    cm_logits logits;
    int32_t   metrics;   /* cross-entropies of each micro-batch's logits that the trainer computes beside the loss */
    bool      use_cache; /* a Hugging Face model that returns keys and values while it trains: GPT-BigCode's up to 2025 */
    bool      clip_gradients; /* eager PyTorch scales gradients by their norm before the update: clip_grad_norm_() */
    /* a Python thread that never sleeps runs beside the training loop: Hugging Face's trainer with
       skip_memory_metrics=False */
    bool      busy_thread;
    /* PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: free pages of segments can be used for other tensors */
    bool      expandable_segments;
    bool      fused_kernels; /* eager PyTorch with one kernel for each rotary position, activation and sum of a layer */
} cm_script_options;

/* IPUs. */
typedef struct cm_ipu_options {
    bool stable_norms; /* norms compute the variance in a second pass: enableStableNorm() of PopTorch */
    bool tensorflow;   /* the program is TensorFlow's, not PopART's */
} cm_ipu_options;

/* What follows from the device and the runtime: cm_step_settle() sets it. */
typedef struct cm_settled_options {
    bool keep_products; /* selective recomputation keeps attention and every second product, as PyTorch's by operator;
                           false: it recomputes attention alone, as Megatron-LM's */
    /* gradients of products that the forward pass computes in fp32 inside autocast are in 16 bits, as under
       torch.compile */
    bool traced_backward;
    /* autocast has Habana's lists: norms, dropout, softmax and products of numbers in 16 bits, divisions in fp32 */
    bool habana_lists;
    /* XLA compiles the whole step; torch.compile the model alone, without the loss that the script adds */
    bool whole_step;
} cm_settled_options;

typedef struct cm_train_options {
    cm_precision precision; /* default: amp-bf16 */
    cm_optimizer optimizer; /* default: momentum for convolutional networks, adamw otherwise */
    cm_loss      loss;
    cm_recompute recompute;
    int32_t      recompute_layers; /* layers that full recomputation repeats, evenly spread; 0: all */
    uint32_t     recompute_modules; /* of selective recomputation: bits of cm_module; 0: see settled.keep_products */
    uint32_t     recompute_kept, recompute_moved; /* of selective recomputation: bits of cm_kept; on the host: moved */
    /* full recomputation repeats all of a layer, as torch.utils.checkpoint(use_reentrant=True); false: up to the last
       tensor that backward reads */
    bool         whole_layers;
    cm_attention attention;
    cm_software  software;
    cm_loss_kernel loss_kernel;
    bool         master;    /* 16-bit weights beside fp32 master weights and states: Megatron-LM, FSDP */
    cm_mixed_precision mixed_precision; /* with `master`: autocast only if it is CM_MIXED_PRECISION_AUTOCAST */
    bool         inference; /* forward pass only: no loss, no backward, no update */
    cm_tuning    tuning;
    cm_megatron_options megatron;
    cm_script_options   script;
    cm_ipu_options      ipu;
    cm_settled_options  settled;
    uint32_t     reserved[8]; /* room for members of later versions; zero */
} cm_train_options;

/* Make the graph of one training step of `forward`: casts, forward, loss, backward and update. */
cm_status cm_graph_train(const cm_graph *forward, const cm_train_options *options, cm_graph **step, cm_diag *diag);

void cm_graph_free(cm_graph *graph);

/* ---- reading a graph -------------------------------------------------------------------------------------------- */

const char      *cm_graph_name(const cm_graph *graph);
const char      *cm_graph_source(const cm_graph *graph);      /* "onnx", "config", "trace", "description", "named" */
const char      *cm_graph_description(const cm_graph *graph); /* one-line description of the same graph, NULL: none */
const char      *cm_graph_citation(const cm_graph *graph);    /* source of a named model's definition, NULL: none */
int32_t          cm_graph_nodes(const cm_graph *graph);
const cm_node   *cm_graph_node(const cm_graph *graph, int32_t node);
int32_t          cm_graph_tensors(const cm_graph *graph);
const cm_tensor *cm_graph_tensor(const cm_graph *graph, int32_t tensor);
int32_t          cm_graph_nodes_read(const cm_graph *graph);  /* nodes in the file before folding and fusion */
int32_t          cm_graph_warnings(const cm_graph *graph);
const char      *cm_graph_warning(const cm_graph *graph, int32_t index);
int32_t          cm_graph_unsupported_ops(const cm_graph *graph); /* operators whose cost or gradient is unknown */
const char      *cm_graph_unsupported_op(const cm_graph *graph, int32_t index);
cm_optimizer     cm_graph_optimizer(const cm_graph *graph);   /* of a step; of a forward graph: the default */
cm_precision     cm_graph_precision(const cm_graph *graph);
/* The type in which a step stores the weights that it trains, if it computes in another one; CM_DTYPES: in the same. */
cm_dtype         cm_graph_storage(const cm_graph *step);
/* The precision that a captured step was recorded in; CM_PRECISION_DEFAULT: the model does not set one. */
cm_precision     cm_model_precision(const char *spec);
cm_loss          cm_graph_loss(const cm_graph *graph);
int64_t          cm_graph_seq(const cm_graph *graph);         /* tokens per sample; 0: the inputs are not tokens */

const char *cm_tensor_name(const cm_tensor *tensor);
cm_dtype    cm_tensor_dtype(const cm_tensor *tensor);
cm_role     cm_tensor_role(const cm_tensor *tensor);
int32_t     cm_tensor_dims(const cm_tensor *tensor); /* number of dimensions */
cm_dim      cm_tensor_dim(const cm_tensor *tensor, int32_t index);
cm_poly     cm_tensor_elements(const cm_tensor *tensor);
cm_poly     cm_tensor_bytes(const cm_tensor *tensor);
int32_t     cm_tensor_producer(const cm_tensor *tensor); /* node that writes it, -1: none */
int32_t     cm_tensor_storage(const cm_tensor *tensor);  /* tensor whose memory it uses: itself, or a view's base */
int32_t     cm_tensor_born(const cm_tensor *tensor);     /* node that first writes its storage, -1: before the step */
int32_t     cm_tensor_dies(const cm_tensor *tensor);     /* last node that needs it, node count: outlives the step */

const char *cm_node_name(const cm_node *node);
const char *cm_node_type(const cm_node *node); /* the ONNX name if there is one: "Conv", "Attention" */
cm_class    cm_node_class(const cm_node *node);
cm_phase    cm_node_phase(const cm_node *node);
int32_t     cm_node_inputs(const cm_node *node);
int32_t     cm_node_input(const cm_node *node, int32_t index);  /* a tensor, -1: an optional input that is absent */
int32_t     cm_node_outputs(const cm_node *node);
int32_t     cm_node_output(const cm_node *node, int32_t index); /* a tensor, -1: an optional output that is absent */
bool        cm_node_is_view(const cm_node *node); /* changes shape and strides only; moves no data */
int32_t     cm_node_source(const cm_node *node);  /* forward node of a backward or recompute node, -1: none */
int32_t     cm_node_block(const cm_node *node);   /* index of the repeated layer that contains it, -1: none */
int32_t     cm_node_segment(const cm_node *node); /* activation-checkpointing segment that contains it, -1: none */
cm_poly     cm_node_flop(const cm_node *node);
cm_poly     cm_node_read_bytes(const cm_node *node);
cm_poly     cm_node_write_bytes(const cm_node *node);

/* Totals of a graph at one batch size. A multiply-add counts as two FLOP. */
typedef struct cm_totals {
    int64_t parameters;       /* trainable elements; tied weights count once */
    int64_t buffers;          /* elements of persistent tensors that are not trained */
    double  flop[CM_PHASES][CM_CLASSES];
    double  read_bytes[CM_PHASES][CM_CLASSES];
    double  write_bytes[CM_PHASES][CM_CLASSES];
    int32_t nodes[CM_PHASES];
    double  peak_bytes;       /* largest sum of live tensors, without allocator rounding and workspaces */
    int32_t peak_node;
    double reserved[8]; /* room for members of later versions */
} cm_totals;

void cm_graph_totals(const cm_graph *graph, int64_t batch, cm_totals *totals);

/* FLOP of convolutions, matrix products, attention and recurrent layers in one phase. FLOP counters of frameworks count
   the same operators, and model FLOP utilisation (MFU) uses this number. */
double cm_totals_matrix_flop(const cm_totals *totals, cm_phase phase);

/* ---- names ------------------------------------------------------------------------------------------------------ */

const char *cm_dtype_name(cm_dtype dtype);
size_t      cm_dtype_size(cm_dtype dtype); /* bytes */
const char *cm_role_name(cm_role role);
const char *cm_phase_name(cm_phase phase);
const char *cm_class_name(cm_class op_class);
const char *cm_precision_name(cm_precision precision);
const char *cm_optimizer_name(cm_optimizer optimizer);
const char *cm_loss_name(cm_loss loss);
const char *cm_recompute_name(cm_recompute recompute);
const char *cm_attention_name(cm_attention attention);
const char *cm_loss_kernel_name(cm_loss_kernel kernel);
const char *cm_logits_name(cm_logits logits);
const char *cm_mixed_precision_name(cm_mixed_precision kind);
const char *cm_fuse_name(cm_fuse fuse);

/* Find a value by its name. An unknown name gives CM_ERR_UNKNOWN; the diagnosis lists the valid names. */
cm_status cm_precision_parse(const char *name, cm_precision *precision, cm_diag *diag);
cm_status cm_optimizer_parse(const char *name, cm_optimizer *optimizer, cm_diag *diag);
cm_status cm_loss_parse(const char *name, cm_loss *loss, cm_diag *diag);
cm_status cm_recompute_parse(const char *name, cm_recompute *recompute, cm_diag *diag);
/* Sets `recompute`, `recompute_layers` and `recompute_modules` from a name, from "full:20": 20 layers, or from names of
   modules: "layernorm+moe_act". Sets `recompute_kept` and `recompute_moved` from a policy of MaxText: "minimal". */
const char *cm_recompute_policy(int index); /* NULL: there are no more */
/* The policy's name, "custom" for one without a name, or cm_recompute_name(). */
const char *cm_recompute_asked(const cm_train_options *train);
cm_status cm_recompute_set(const char *text, cm_train_options *train, cm_diag *diag);
cm_status cm_attention_parse(const char *name, cm_attention *attention, cm_diag *diag);
cm_status cm_loss_kernel_parse(const char *name, cm_loss_kernel *kernel, cm_diag *diag);
cm_status cm_logits_parse(const char *name, cm_logits *logits, cm_diag *diag);
cm_status cm_mixed_precision_parse(const char *name, cm_mixed_precision *kind, cm_diag *diag);
cm_status cm_fuse_parse(const char *name, cm_fuse *fuse, cm_diag *diag);

/* ---- runtimes ---------------------------------------------------------------------------------------------------- */

/* The software that runs a step. It decides which kernels run and how much host time each launch costs. */
typedef enum cm_runtime {
    CM_RUNTIME_DEFAULT, /* torch-eager on devices that PyTorch drives kernel by kernel, native on others */
    CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON, CM_RUNTIME_NATIVE,
    CM_RUNTIME_TUNED, /* what vendors submit to MLPerf: fused norms and updates, CUDA graphs, tuned convolutions */
    CM_RUNTIME_XLA,   /* programs that XLA compiles whole, such as those of JAX */
    /* modes of the first two: the step replayed from CUDA graphs, and with kernels chosen by trying them */
    CM_RUNTIME_EAGER_GRAPHS, CM_RUNTIME_COMPILE_GRAPHS, CM_RUNTIME_COMPILE_TUNED,
    CM_RUNTIMES,
    CM_RUNTIME_USUAL = CM_RUNTIMES /* in questions only: torch-compile where the default is PyTorch, else the default */
} cm_runtime;

/* How the time of a kernel call was estimated, most reliable first:
   measured      the device's kernel table contains this call
   interpolated  estimated from nearby calls in the device's kernel tables, or by an operator model fitted to them
   transferred   estimated from the kernel tables of a reference device, scaled by the ceilings of the two devices, or
                 from efficiencies fitted to published results of the device
   roofline      estimated from peak arithmetic rate and memory bandwidth */
typedef enum cm_how { CM_HOW_MEASURED, CM_HOW_INTERPOLATED, CM_HOW_TRANSFERRED, CM_HOW_ROOFLINE, CM_HOWS } cm_how;

const char *cm_how_name(cm_how how);
const char *cm_runtime_name(cm_runtime runtime);
cm_status   cm_runtime_parse(const char *name, cm_runtime *runtime, cm_diag *diag);
/* The runtime without its mode, which decides how kernels are launched and chosen but not which operators they are
   of. */
cm_runtime  cm_runtime_base(cm_runtime runtime);
/* The mode of a runtime that replays CUDA graphs. CM_ERR_UNSUPPORTED: the runtime has no such mode. */
cm_status   cm_runtime_with_graphs(cm_runtime *runtime, cm_diag *diag);
/* CM_RUNTIME_XLA of a captured JAX step; CM_RUNTIME_DEFAULT: the model does not set one. */
cm_runtime  cm_model_runtime(const char *spec);

/* ---- objectives -------------------------------------------------------------------------------------------------- */

/* The quantity that a choice makes best. */
typedef enum cm_objective {
    CM_OBJECTIVE_THROUGHPUT, /* samples per second and device; the smallest batch size within 2 % of the highest */
    CM_OBJECTIVE_MEMORY,     /* least unused memory: equation (5) of Xie et al. 2024 */
    CM_OBJECTIVE_PRICE,      /* samples per dollar */
    CM_OBJECTIVE_COST,       /* dollars of the whole job or training; a ranking includes porting */
    CM_OBJECTIVE_ENERGY,     /* joules per sample */
    CM_OBJECTIVE_TIME,       /* hours of the whole job */
    CM_OBJECTIVE_DEVICES,    /* fewest devices */
    CM_OBJECTIVE_KNEE,       /* the smallest batch size with at least half of the highest throughput */
    CM_OBJECTIVES
} cm_objective;

/* The subject of a choice. Each choice has its own list of objectives. */
typedef enum cm_choice {
    CM_CHOICE_BATCH,  /* cm_batch_choose(): throughput, memory, knee (memory if throughput is unknown) */
    CM_CHOICE_DEVICE, /* cm_rank(): throughput, price, energy, time, cost */
    CM_CHOICE_PLAN,   /* cm_search_run(): throughput, cost, energy, devices */
    CM_CHOICES
} cm_choice;

const char *cm_objective_name(cm_objective objective);
bool        cm_objective_is_less(cm_objective objective); /* true: less is better */
bool        cm_objective_applies(cm_objective objective, cm_choice choice);
cm_status   cm_objective_parse(const char *name, cm_choice choice, cm_objective *objective, cm_diag *diag);
/* The objectives of a choice. The first is the default. */
int32_t      cm_choice_objectives(cm_choice choice);
cm_objective cm_choice_objective(cm_choice choice, int32_t index);

/* ---- devices and clusters --------------------------------------------------------------------------------------- */

/* A number with its source. If it is unknown, `known` is false, `value` is NAN and the texts are NULL; see
   docs/devices.md. */
typedef struct cm_number {
    double      value;
    bool        known;
    const char *unit;   /* SI without prefixes: "FLOP/s", "B", "B/s", "s", "W", "Hz"; "1": a count or ratio */
    const char *kind;   /* "spec", "measured", "fitted", "published" or "assumed" */
    const char *source; /* key of one of the profile's sources, see cm_device_source() */
    const char *date;   /* of the number, otherwise of its source; NULL: unknown */
    const char *note;   /* NULL: none */
} cm_number;

typedef struct cm_source {
    const char *key, *title, *where, *date;
} cm_source;

/* Execution model: how a device executes a graph. */
typedef enum cm_style {
    CM_STYLE_KERNELS,   /* one kernel per operator, in sequence: GPUs, HPUs, TPUs, CPUs */
    CM_STYLE_SECTIONS,  /* the graph is split into sections; each is mapped onto the chip and run in turn: RDUs */
    CM_STYLE_BSP,       /* bulk-synchronous: the whole graph is on chip; compute and exchange phases alternate: IPUs */
    CM_STYLE_STREAMING, /* activations stay on chip; weights are streamed in layer by layer: wafer-scale engines */
    CM_STYLES
} cm_style;

typedef struct cm_device_info {
    const char *id, *name, *vendor;
    const char *base;              /* NULL: none */
    const char *device_class;      /* "gpu", "rdu", "ipu", "wse", "hpu", "lpu", "tpu", "npu", "cpu" */
    const char *unit;              /* what counts as one device: "card", "chip" ...; NULL: unknown */
    const char *part_of;           /* "one eighth of a wafer": nobody sells it alone; NULL: a whole device */
    const char *core_name;         /* NULL: unknown */
    const char *released, *availability; /* NULL: unknown */
    cm_style    style;
    bool        training, inference; /* supported uses */
} cm_device_info;

typedef enum cm_quantity {
    CM_CORES, CM_CLOCK_HZ, CM_ONCHIP_WEIGHT, CM_LAUNCH_S, CM_COMPILE_S, CM_TDP_W, CM_TYPICAL_W, CM_IDLE_W,
    CM_BYTE_J, CM_ACTIVE_W, CM_POWER_EXPONENT, CM_POWER_FLOOR, CM_POWER_HELD, CM_BURST_W, CM_GPUS, CM_EXPONENTIALS,
    CM_QUANTITIES
} cm_quantity;

typedef enum cm_engine { CM_ENGINE_MATRIX, CM_ENGINE_VECTOR, CM_ENGINES } cm_engine;
typedef enum cm_rate {
    CM_RATE_FP64, CM_RATE_FP32, CM_RATE_TF32, CM_RATE_BF16, CM_RATE_FP16, CM_RATE_FP8, CM_RATE_FP4, CM_RATE_INT8,
    CM_RATES
} cm_rate;

typedef enum cm_memory_place { CM_PLACE_ON_CHIP, CM_PLACE_OFF_CHIP, CM_PLACE_HOST, CM_PLACES } cm_memory_place;
typedef struct cm_memory {
    const char     *name;
    cm_memory_place place;
    bool            cache;    /* true: managed by hardware; false: by the program */
    bool            per_core; /* true: each core has its own part; false: shared by all cores */
    cm_number       capacity_bytes, bw_bytes_s; /* of the whole device */
} cm_memory;

/* Categories of memory, with the names of Xie et al. 2024: activations and samples (input_output), parameters
   (weights_biases), gradients, optimizer state and casts (algorithm), workspace and temporaries (ephemeral). */
typedef enum cm_category {
    CM_CATEGORY_INPUT_OUTPUT, CM_CATEGORY_WEIGHTS_BIASES, CM_CATEGORY_GRADIENTS, CM_CATEGORY_ALGORITHM,
    CM_CATEGORY_EPHEMERAL, CM_CATEGORIES
} cm_category;
typedef struct cm_placement {
    int32_t memory; /* index for cm_device_memory(); -1: unknown */
    bool    replicated, streamed;
} cm_placement;

typedef enum cm_reach { CM_REACH_HOST, CM_REACH_BOARD, CM_REACH_NODE, CM_REACH_NETWORK, CM_REACHES } cm_reach;
typedef struct cm_link {
    const char *name;
    cm_reach    reach;
    cm_number   bw_bytes_s; /* in one direction; per device, or per node for the network of a cluster */
    cm_number   latency_s;
    int32_t     devices;    /* most devices in one domain of such links, 0: unknown */
    bool        in_network_reduction; /* switches add up what devices send: a device sends once and receives once */
    /* one link to each other device of the domain: two devices use one of them; else a switch */
    bool        mesh;
} cm_link;

typedef struct cm_collective {
    const char *op, *algorithm; /* "all-reduce", "ring" */
    int32_t     devices;
    cm_number   latency_s, bw_bytes_s; /* bus bandwidth */
} cm_collective;

/* Price basis: the terms of a price. Prices of different bases are compared only if CM_BASIS_ANY is requested. */
typedef enum cm_basis {
    CM_BASIS_ON_DEMAND,    /* a provider's list price */
    CM_BASIS_SPOT,         /* interruptible */
    CM_BASIS_MARKETPLACE,  /* machines of third parties */
    CM_BASIS_SUBSCRIPTION, /* reserved for months or years */
    CM_BASIS_PAPER,        /* used in a publication; no offer */
    CM_BASIS_ANY,          /* the lowest offer; a paper's price only if there is no offer */
    CM_BASES
} cm_basis;

const char *cm_basis_name(cm_basis basis); /* "on-demand", "spot", "marketplace", "subscription", "paper", "any" */
cm_status   cm_basis_parse(const char *name, cm_basis *basis, cm_diag *diag);

/* A price, or an offer: a row of data/offers.tsv. */
typedef struct cm_price {
    const char *provider, *basis, *date, *source, *note; /* basis: a name of cm_basis; note NULL: none */
    double      usd_hour;                                /* per device */
    const char *device;   /* id in the table of offers; NULL, like the next three: a price of a user's profile */
    const char *instance; /* the instance that is sold; only whole ones are rented */
    const char *cluster;  /* interconnect for cm_fabric_new(); NULL: the device's own links */
    const char *region;   /* NULL: the median over the provider's regions */
    int32_t     devices;  /* of one instance */
} cm_price;
typedef cm_price cm_offer;

typedef struct cm_parameter {
    const char   *name;
    const double *values;
    int32_t       count;
} cm_parameter;

/* A fitted operator model. mape, bias and p90 are cross-validated relative errors, as fractions. */
typedef struct cm_fit {
    const char         *op, *pass, *dtype, *runtime, *form;
    const cm_parameter *parameters;
    int32_t             n_parameters, n; /* n: rows that it was fitted to */
    double              mape, bias, p90;
    const char         *source, *date, *note;
} cm_fit;

/* Something that a profile does not state and that was derived from what it states, or from devices of its class. */
typedef struct cm_assumption {
    const char *member; /* of a profile, or "cache capacity", "cache bandwidth" */
    cm_number   number; /* of kind "assumed"; its note says how it was derived */
    const char *text;   /* the value if it is a word; NULL: the number */
} cm_assumption;

typedef struct cm_device cm_device;

/* The built-in devices, sorted by id. */
int32_t     cm_devices(void);
const char *cm_device_id(int32_t index); /* NULL: no such index */

/*
 * Load a device by its id (upper or lower case, '_' or '-'), by the path of a profile (it contains '/' or ends in
 * ".json"), or as "this-machine". A profile that is not built in is validated completely.
 */
cm_status cm_device_load(const char *name_or_path, cm_device **device, cm_diag *diag);
/* The same as cm_device_load(); callers of earlier versions used it for lists. */
cm_status cm_device_load_brief(const char *name_or_path, cm_device **device, cm_diag *diag);
void      cm_device_free(cm_device *device);

const cm_device_info *cm_device_get_info(const cm_device *device);
cm_number             cm_device_number(const cm_device *device, cm_quantity quantity);
cm_number             cm_device_peak(const cm_device *device, cm_engine engine, cm_rate rate);
cm_number             cm_device_flop_energy(const cm_device *device, cm_rate rate); /* J/FLOP of matrix products */
cm_number             cm_device_peak_16bit(const cm_device *device); /* the higher of bf16 and fp16 */
/* Whether the device computes in a precision with a known peak, and whether a runtime exists for the device. */
bool                  cm_device_supports(const cm_device *device, cm_precision precision);
bool                  cm_device_supports_runtime(const cm_device *device, cm_runtime runtime);
cm_runtime            cm_device_runtime(const cm_device *device); /* the meaning of CM_RUNTIME_DEFAULT */
/* CM_ERR_UNSUPPORTED if the device lacks the precision or the runtime; the diagnosis lists those that it has.
   Otherwise CM_OK. Defaults are never refused. */
cm_status             cm_device_refusal(const cm_device *device, cm_precision precision, cm_runtime runtime,
                                        cm_diag *diag);
cm_precision          cm_device_best_16bit(const cm_device *device); /* CM_PRECISION_BF16, _FP16 or _DEFAULT: none */
cm_precision          cm_device_usual_precision(const cm_device *device); /* the default for training on the device */
int32_t               cm_device_memories(const cm_device *device);   /* nearest to the cores first */
const cm_memory      *cm_device_memory(const cm_device *device, int32_t index);
const cm_memory      *cm_device_main_memory(const cm_device *device); /* that stores weights, or else activations */
/* Bytes that a runtime occupies permanently: "context" (driver, framework) or "library" (matrix-product workspace). */
cm_number             cm_device_reserve(const cm_device *device, cm_runtime runtime, const char *what);
cm_placement          cm_device_placement(const cm_device *device, cm_category category);
const cm_link        *cm_device_host_link(const cm_device *device);  /* NULL: unknown */
int32_t               cm_device_links(const cm_device *device);
const cm_link        *cm_device_link(const cm_device *device, int32_t index);
int32_t               cm_device_collectives(const cm_device *device);
const cm_collective  *cm_device_collective(const cm_device *device, int32_t index);
int32_t               cm_device_prices(const cm_device *device);
const cm_price       *cm_device_price(const cm_device *device, int32_t index);
/* The lowest price per device of a basis for n devices, among providers whose name contains `provider` (NULL: all); NULL:
   no such price. Instances of more than n devices count only if there are no others. A device
   has the prices that its profile states. If the profile states none, it has the built-in offers of the device, or of the
   built-in device that the profile is based on. */
const cm_price       *cm_device_cheapest(const cm_device *device, int32_t n, cm_basis basis, const char *provider);
bool                  cm_device_has_alias(const cm_device *device, const char *name); /* a name used in timing files */
/* false: the profile lists the operator as not supported. The name is that of cm_node_type(). */
bool                  cm_device_runs(const cm_device *device, const char *operator_name);
int32_t               cm_device_batches(const cm_device *device);    /* allowed batch sizes; 0: any */
int64_t               cm_device_batch(const cm_device *device, int32_t index);
int32_t               cm_device_fits(const cm_device *device);
const cm_fit         *cm_device_fit(const cm_device *device, int32_t index);
int32_t               cm_device_assumptions(const cm_device *device); /* 0 for every built-in device */
const cm_assumption  *cm_device_assumption(const cm_device *device, int32_t index);
const cm_source      *cm_device_source(const cm_device *device, const char *key); /* NULL: none */
const char           *cm_device_profile(cm_device *device); /* JSON, base profiles merged in; NULL: out of memory */
/* The kernel tables that serve the device, by runtime and release: "690 of torch-eager with torch 2.11"; NULL: none. */
const char           *cm_device_measured_with(cm_device *device);

typedef struct cm_cluster_info {
    const char *id, *name, *device, *host_name; /* device: an id for cm_device_load(); host_name NULL: unknown */
    cm_number   devices_per_node, nodes, host_cores, host_memory_bytes;
} cm_cluster_info;

typedef struct cm_cluster cm_cluster;

int32_t                cm_clusters(void);
const char            *cm_cluster_id(int32_t index);
cm_status              cm_cluster_load(const char *name_or_path, cm_cluster **cluster, cm_diag *diag);
void                   cm_cluster_free(cm_cluster *cluster);
const cm_cluster_info *cm_cluster_get_info(const cm_cluster *cluster);
int32_t                cm_cluster_tiers(const cm_cluster *cluster); /* links, innermost first */
const cm_link         *cm_cluster_tier(const cm_cluster *cluster, int32_t index);
int32_t                cm_cluster_collectives(const cm_cluster *cluster);
const cm_collective   *cm_cluster_collective(const cm_cluster *cluster, int32_t index);
const cm_source       *cm_cluster_source(const cm_cluster *cluster, const char *key);
const char            *cm_cluster_profile(cm_cluster *cluster); /* JSON; NULL: out of memory */

/* The interconnect of several devices of one kind: links within a node, and the network between nodes. */
typedef struct cm_fabric cm_fabric;

/* `cluster` is an id, the path of a profile, or "node=8,net=800Gb" (devices per node, network bit/s per node;
   ",link=25GB": bytes/s of a device inside its node, instead of the profile's links and collectives). NULL: a built-in
   cluster of this device, otherwise a single node. The device must outlive the fabric. */
cm_status cm_fabric_new(const cm_device *device, const char *cluster, cm_fabric **fabric, cm_diag *diag);
void      cm_fabric_free(cm_fabric *fabric);
int32_t   cm_fabric_node(const cm_fabric *fabric); /* devices in one node */
int32_t   cm_fabric_devices(const cm_fabric *fabric); /* in the named cluster; 0: unlimited or unknown */
bool      cm_fabric_joins_nodes(const cm_fabric *fabric); /* false: the network between nodes is unknown */
double    cm_fabric_link_bytes_s(const cm_fabric *fabric); /* of one device within a node, in one direction */
/* Time of one collective ("all-reduce", "all-gather" ...) over `bytes` among neighbouring devices; NAN: no such
   collective. */
double      cm_fabric_time(const cm_fabric *fabric, const char *collective, int32_t devices, double bytes);
double      cm_fabric_error(void); /* relative error of such a time, a standard deviation */
const char *cm_collective_name(int32_t index); /* NULL: index too large */
/* Bytes that one device sends per byte of the buffer; NAN: no such collective. */
double      cm_collective_bus_part(const char *collective, int32_t devices);

#define CM_PROFILE_WARNINGS 8
#define CM_PROFILE_WARNING_SIZE 256

#define CM_PROFILE_USES 8

/* Questions that use a device's kernel tables: those about this runtime, in these precisions and passes. */
typedef struct cm_profile_use {
    cm_runtime runtime;
    int32_t    tables, rows;
    bool       precisions[CM_PRECISIONS], forward, backward, update;
} cm_profile_use;

typedef struct cm_profile_summary {
    char    id[64];
    bool    cluster, abstract; /* neither: a device */
    int32_t numbers, sources;
    char    measured_with[CM_PROFILE_WARNING_SIZE]; /* as cm_device_measured_with(); empty: no kernel tables */
    int32_t n_warnings; /* numbers of a device that no built-in device comes near, at most CM_PROFILE_WARNINGS */
    char    warnings[CM_PROFILE_WARNINGS][CM_PROFILE_WARNING_SIZE];
    int32_t        n_uses; /* runtimes whose questions use the device's kernel tables */
    cm_profile_use uses[CM_PROFILE_USES];
    double reserved[8]; /* room for members of later versions */
} cm_profile_summary;

/* Validate a profile of a device, a device family (abstract) or a cluster. */
cm_status cm_profile_check(const char *path, cm_profile_summary *summary, cm_diag *diag);

const char *cm_style_name(cm_style style);
const char *cm_rate_name(cm_rate rate);
const char *cm_category_name(cm_category category);
const char *cm_reach_name(cm_reach reach);

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Parallel plan: how a step is distributed over devices. Zeroed: one device, no accumulation. A count of 0 means 1. */
typedef struct cm_plan {
    int32_t      devices;    /* 0: tp * cp * pp * dp */
    int32_t      tp, pp, dp; /* sizes of tensor, pipeline and data parallelism; dp 0: devices / (tp * cp * pp) */
    int32_t      zero;       /* ZeRO stage: shard 0 nothing, 1 optimizer states, 2 also gradients, 3 also weights */
    int32_t      interleave; /* virtual stages (model chunks) per pipeline stage */
    int32_t      ep;         /* expert-parallel size: replicas that divide the experts among them */
    double       expert_imbalance; /* tokens of the fullest expert-parallel device over the mean; 0: 1, balanced */
    int32_t      cp;         /* context-parallel size: devices that divide the tokens of a sequence */
    int32_t      norm_replicas; /* replicas whose batch norms share their statistics; 0: each has its own */
    bool         sequence_parallel; /* tensor-parallel devices divide the tokens of norms and dropouts */
    bool         gpipe;      /* pipeline schedule: GPipe (all forward, then all backward); false: 1F1B */
    bool         asynchronous; /* replicas exchange gradients with a parameter server without waiting for each other */
    double       gradient_bits, gradient_part; /* bits per gradient, fraction of gradients sent; 0: all of them */
    bool         async_tensor; /* tensor-parallel devices exchange pieces while products compute the others */
    bool         async_experts; /* tokens are sent to experts and back behind the computing of another micro-batch */
    /* overlap the gradient all-reduce with backward even if the runtime does not, and in Megatron Core the gather of new
       weights with forward */
    bool         overlap;
    bool         offload_optimizer, offload_activations, offload_weights; /* store in host memory */
    int32_t      offload_layers; /* whose activations are: of all stages together, evenly spread; 0: all */
    int64_t      micro_batch, global_batch; /* samples; 0: derived from the other one and the counts */
    int32_t      accumulate; /* micro-batches per update */
    bool         no_sync;    /* ZeRO 2 and 3 divide gradients after the last of them: FSDP's no_sync() */
    cm_recompute recompute;
    int32_t      recompute_layers; /* of all stages together, as in cm_train_options */
    uint32_t     reserved[8]; /* room for members of later versions; zero */
} cm_plan;

/* The smallest number of samples per replica and update that the plan divides into equal micro-batches; other numbers
   must be multiples of it. 1 if the plan sets batch sizes. */
int64_t cm_plan_least_batch(const cm_plan *plan);

typedef enum cm_layout { CM_LAYOUT_AUTO, CM_LAYOUT_NCHW, CM_LAYOUT_NHWC, CM_LAYOUTS } cm_layout; /* of images */

typedef struct cm_memory_options {
    size_t size; /* of this struct; see "structs" above */
    cm_runtime runtime;
    cm_plan    plan;
    cm_layout  layout; /* auto: channels last for colour images in 16-bit types */
} cm_memory_options;

typedef struct cm_level_use {
    int32_t memory;                      /* index for cm_device_memory() */
    double  capacity_bytes, used_bytes;  /* capacity NAN: unknown */
} cm_level_use;

#define CM_LEVELS_MAX 8
#define CM_ALTERNATIVES_MAX 3

/* What a question may leave open about the script. */
typedef enum cm_open { CM_OPEN_LOSS, CM_OPEN_SHARDS, CM_OPEN_MEMORY } cm_open;

/* The step with one kind of script. [0] of a list is the step as it was asked, with defaults for what is open. */
typedef struct cm_alternative {
    const char *name;       /* "plain loss", "fused loss", "16-bit shards" ... */
    cm_open     open;       /* what differs from the step as it was asked; not valid for [0] */
    double      peak_bytes;
    double      fullness;   /* bytes needed over capacity, of the fullest memory; NAN: no capacity is known */
} cm_alternative;

/* Memory of one device at one batch size. */
/* The bytes of a step are the model's; the model's, scaled by what the chip's compiler said at another batch size; or those
   that the compiler said of this very step, whose verdict is the compiler's too. */
typedef enum cm_compiled { CM_COMPILED_NOT, CM_COMPILED_SCALED, CM_COMPILED_SAME } cm_compiled;

typedef struct cm_memory_use {
    double       peak_bytes;                /* most bytes allocated at once: the sum of the categories */
    double       categories[CM_CATEGORIES]; /* bytes allocated at the peak */
    int32_t      peak_node;                 /* node that runs at the peak; -1: the graph is empty */
    double       reserved_bytes;            /* bytes that the runtime's allocator takes from the device */
    double       context_bytes;             /* driver and framework, in addition; 0: unknown */
    cm_level_use levels[CM_LEVELS_MAX];     /* memories managed by the program, nearest to the cores first */
    int32_t      n_levels;
    /* more likely than not it fits: with the loss that needs least if the loss is open, with fp32 shards if those are */
    bool         fits;
    bool         sure;                      /* false: it fits with a fused loss or with 16-bit shards alone */
    double       shortfall_bytes;           /* largest shortfall of any level; 0: it fits */
    cm_alternative alternatives[CM_ALTERNATIVES_MAX];
    int32_t      n_alternatives;            /* 0: nothing is open, or what is open was not asked because the step fits */
    int32_t      plan_devices;              /* of the parallel plan */
    int64_t      micro_batch;               /* samples on one device at a time; the numbers above are for these */
    int32_t      devices;                   /* that hold one copy of the model */
    bool         recomputes;                /* the device recomputes activations in backward so that the step fits */
    cm_compiled  compiled;                  /* whether a captured step has the bytes of its chip's compiler */
    double reserved[7]; /* room for members of later versions */
} cm_memory_use;

typedef enum cm_verdict { CM_DOES_NOT_FIT, CM_UNSURE, CM_FITS, CM_VERDICTS } cm_verdict;
const char *cm_verdict_name(cm_verdict verdict); /* "does not fit", "unsure", "fits" */

/* The samples of one replica for which a captured step was compiled, and the sum of the cycles that the compiler estimates for
   its operations; false: it was not, or the question changes the step. */
bool    cm_graph_compiled(const cm_graph *step, int64_t *batch, double *cycles);
/* The plan of a captured step that divides its arrays; devices 0: there is none. */
cm_plan cm_model_plan(const char *spec);

/* How likely it is that a step fits, and the 90 % interval of its peak. Every command decides by this function. */
typedef struct cm_chance {
    double     probability, interval_bytes[2]; /* of the step as it was asked */
    cm_verdict verdict;                        /* unsure if alternatives have different verdicts */
    bool       likely; /* it fits more likely than not as asked, or recomputed as scripts for graph compilers do */
} cm_chance;

#define CM_SURE 0.9 /* a step fits from this probability on; it does not fit up to 1 minus it */

/* A capacity that is unknown counts as sufficient. */
cm_chance cm_memory_chance(const cm_memory_use *use);
/* The same for one of use->alternatives alone. */
cm_chance cm_alternative_chance(const cm_memory_use *use, int32_t alternative);
/* Add what is stored beside the step: to the outermost memory, and to all alternatives. */
void      cm_memory_add(cm_memory_use *use, double bytes);

/* Memory of a step on a device under a plan, for any batch size. Graph and device must outlive it. */
typedef struct cm_footprint cm_footprint;

cm_status cm_footprint_new(const cm_graph *step, const cm_device *device, const cm_memory_options *options,
                           cm_footprint **footprint, cm_diag *diag);
void      cm_footprint_free(cm_footprint *footprint);

/* Evaluate polynomials of the batch size; takes microseconds. `batch` is the micro-batch of one device. */
void cm_footprint_at(const cm_footprint *footprint, int64_t batch, cm_memory_use *use);
/* Simulate every allocation of three steps in the runtime's allocator; takes milliseconds. If they do not fit into the
   device, shortfall_bytes is the memory that is missing. */
cm_status cm_footprint_simulate(const cm_footprint *footprint, int64_t batch, cm_memory_use *use, cm_diag *diag);

typedef struct cm_alive {
    int32_t     tensor;
    cm_category category;
    double      bytes;
} cm_alive;
/* Write up to `most` of the tensors that are live at a node, largest first; return how many were written. */
int32_t cm_footprint_alive(const cm_footprint *footprint, int64_t batch, int32_t node, cm_alive *alive, int32_t most);

/* One allocation of a step as the runtime makes it. born -1: before the step; dies at the number of nodes: after it. */
typedef struct cm_stored {
    int32_t     tensor, born, dies;
    cm_category category;
    double      bytes;
} cm_stored;
int32_t   cm_footprint_pieces(const cm_footprint *footprint);
cm_stored cm_footprint_piece(const cm_footprint *footprint, int64_t batch, int32_t piece);
/* Bytes that a node needs only while it runs. */
double    cm_footprint_temporary(const cm_footprint *footprint, int64_t batch, int32_t node);

cm_plan    cm_footprint_plan(const cm_footprint *footprint);    /* with every count filled in */
cm_runtime cm_footprint_runtime(const cm_footprint *footprint);

/* Options of cm_batch_choose(). */
typedef struct cm_batch_options {
    size_t size; /* of this struct; see "structs" above */
    cm_objective   objective;
    const int64_t *candidates; /* NULL: the batch sizes that the device allows, or powers of two */
    int32_t        n_candidates;
    bool           any;        /* every whole number is a candidate; `candidates` is ignored */
    double (*throughput)(void *user, int64_t batch); /* samples/s; NULL: unknown */
    void          *user;
} cm_batch_options;

typedef struct cm_batch_candidate {
    int64_t batch;
    bool    fits, sure;           /* as in cm_memory_use */
    cm_chance chance;
    double  objective;            /* value of equation (5) in bytes^2, smaller is better; NAN: does not fit */
    double  throughput_samples_s; /* NAN: unknown */
    double  peak_bytes;
} cm_batch_candidate;

#define CM_CANDIDATES_MAX 64

typedef struct cm_batch_choice {
    int64_t            batch;     /* 0: nothing fits */
    cm_batch_candidate candidates[CM_CANDIDATES_MAX];
    int32_t            n_candidates;
    double reserved[8]; /* room for members of later versions */
} cm_batch_choice;

/* Choose one of the candidates that fit by options->objective; docs/dev/memory.md derives equation (5). */
cm_status cm_batch_choose(const cm_footprint *footprint, const cm_batch_options *options, cm_batch_choice *choice,
                          cm_diag *diag);

/* ---- fitting operator models to timings -------------------------------------------------------------------------- */

/* Errors for one operator on one device with one library, pass and type. mape, bias and p90 are fractions. */
typedef struct cm_fit_class {
    const char *device, *runtime, *op, *pass, *dtype;
    int32_t     n;
    double      mape, bias, p90;
    double      measured_s, off_s; /* sums over the rows of measured times and of absolute errors; 0: unknown */
} cm_fit_class;

typedef struct cm_fit_options {
    size_t size; /* of this struct; see "structs" above */
    const char *device; /* whose ceilings apply; NULL: from the rows' device names, or the highest rates in the rows */
    bool        check;  /* compare the profile's models with the rows instead of fitting new ones */
    void (*progress)(void *user, int32_t done, int32_t total, const char *what); /* NULL: none */
    void *user;
} cm_fit_options;

typedef struct cm_fitting cm_fitting;

/* Read a CSV file of timings (docs/dev/fitting.md) and fit or check models. Errors of a fit are cross-validated. */
cm_status           cm_fitting_run(const char *path, const cm_fit_options *options, cm_fitting **fitting,
                                   cm_diag *diag);
/* Leave-one-out check of a device's kernel tables: predict every row from the other rows. */
cm_status           cm_fitting_check_tables(const cm_device *device, cm_fitting **fitting, cm_diag *diag);
/* Compare a CSV file of kernel calls (column `call`: "gemm forward nt bf16 1,64,64,64") and measured times (column
   `latency_ms`) with the times that cm_predict() uses for the same calls. */
cm_status           cm_fitting_check_calls(const cm_device *device, const char *path, cm_runtime runtime,
                                           cm_fitting **fitting, cm_diag *diag);
void                cm_fitting_free(cm_fitting *fitting);
int32_t             cm_fitting_classes(const cm_fitting *fitting);
const cm_fit_class *cm_fitting_class(const cm_fitting *fitting, int32_t index);
const char         *cm_fitting_profile(const cm_fitting *fitting); /* JSON; NULL: a check, or no single known device */
int32_t             cm_fitting_skipped(const cm_fitting *fitting, const char **first); /* rows without a model */

/* ---- time of a step ---------------------------------------------------------------------------------------------- */

/* Data loading. Zeroed: the samples are already on the device. */
typedef struct cm_loading_options {
    bool        on;      /* load samples even if no dataset is named: the bytes of the model's inputs */
    /* "imagenet", "openwebtext", "files:FOLDER", "bytes=N,decode=S,samples=N,begin=S,rate=N,turn=S"; docs/commands.md */
    const char *dataset;
    const char *host;    /* an id in data/hosts.tsv; NULL: from the device's profile, or the usual host of its class */
    int64_t     workers; /* loader processes, one core each; 0: the host's cores per device; -1: none, the step waits
                            for its samples */
    uint32_t    reserved[8]; /* room for members of later versions; zero */
} cm_loading_options;

/* Pruned weights of dense layers: unstructured, or structured (two of every four). A device without support for it
   computes with all weights. */
typedef struct cm_sparsity {
    double pruned; /* 0 to below 1 */
    bool   structured;
} cm_sparsity;

typedef struct cm_predict_options {
    size_t size; /* of this struct; see "structs" above */
    int64_t    batch;   /* samples per replica; 0: 1 */
    cm_runtime runtime;
    cm_layout  layout;  /* auto: channels last for colour images in 16-bit types */
    cm_sparsity sparsity;
    cm_loading_options loading;
    int32_t    steps_per_call; /* steps that a device running whole graphs makes per host call; 0: as is usual on it */
    cm_plan    plan;    /* several devices: the step is one iteration over the global batch */
    const cm_fabric *fabric; /* interconnect of the plan's devices; may be NULL if there is one device */
    bool       sensitivities; /* also compute cm_prediction_sensitivity() */
} cm_predict_options;

/* Predicted data loading. Times are for one step. */
typedef struct cm_loading_info {
    const char *dataset, *host; /* NULL: nothing is loaded */
    int64_t     workers;
    double      read_s, prepare_s, copy_s; /* read from storage; decode and collate; copy to the device */
    double      epoch_samples;  /* NAN: unknown */
} cm_loading_info;

typedef struct cm_prediction_info {
    int64_t    batch;
    cm_runtime runtime;
    cm_layout  layout;
    double     step_time_s, interval_s[2]; /* interval_s: 90 % interval of the measured step time */
    double     device_time_s;              /* sum over the kernel calls */
    double     host_time_s;                /* host time to launch them */
    double     throughput_samples_s, mfu;  /* mfu: of the peak in the precision used; NAN: unknown */
    double     share[CM_HOWS];             /* fraction of device time estimated by each method */
    cm_style   style;
    int32_t    devices;                    /* that hold one copy of the model; above 1 if it does not fit into one */
    int64_t    micro_batch;                /* samples on one device at a time */
    bool       recomputes;                 /* the device recomputes activations in backward so that the step fits */
    double     launches;                   /* kernels, sections, supersteps or layers per step (execution model) */
    double     clock;                      /* fraction of the full clock that the power limit allows */
    double     power_w, idle_w;            /* average over the step; while the device waits; of all devices. NAN:
                                              unknown */
    double     phase_s[CM_PHASES];
    double     compute_s;                  /* step time without data loading */
    double     load_s, overlapped_s;       /* loading the samples of a step; the part overlapped with computing */
    double     latency_s;                  /* of inference, from the inputs to the result in host memory; else NAN */
    double     compile_s;                  /* before the first step; NAN: unknown */
    cm_sparsity sparsity;
    bool       sparsity_used;              /* false: the device has no support for it */
    cm_loading_info loading;
    cm_plan    plan;                       /* with every count filled in */
    double     tensor_s, pipeline_s, data_s; /* communication for tensor, pipeline and data parallelism */
    double     hidden_s;                   /* the part of that communication overlapped with computing */
    double     bubble_s;                   /* pipeline bubble: idle time of the slowest stage per iteration */
    double reserved[8]; /* room for members of later versions */
} cm_prediction_info;

/* One kernel call. */
typedef struct cm_op_time {
    int32_t     node;   /* of the step's graph */
    const char *call;   /* "gemm forward nt-bias bf16 1,8192,3072,768": also the name of a benchmark case */
    double      time_s, flop, bytes, launches;
    cm_how      how;
    double      error; /* standard error of time_s, relative; 0: a device that runs whole graphs */
} cm_op_time;

/* The step time if one property of the device were better by a factor: a higher rate or a shorter latency. */
typedef struct cm_sensitivity {
    const char *what; /* "memory bandwidth" */
    double      factor, step_time_s;
} cm_sensitivity;

typedef struct cm_prediction cm_prediction;

/* Predict the time of a step. The graph must have been made by cm_graph_load() and cm_graph_train() with the options
   that cm_step_settle() returns, and must outlive the prediction. cm_step_predict() does all of this. */
cm_status cm_predict(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                     cm_prediction **prediction, cm_diag *diag);
void                      cm_prediction_free(cm_prediction *prediction);
const cm_prediction_info *cm_prediction_get_info(const cm_prediction *prediction);
int32_t                   cm_prediction_ops(const cm_prediction *prediction);
const cm_op_time         *cm_prediction_op(const cm_prediction *prediction, int32_t index);
/* Distinct kernel calls that the device's tables do not contain, those first whose time times error is largest: a
   benchmark measures them in this order. time_s and launches are totals over the step. */
int32_t                   cm_prediction_missing_calls(const cm_prediction *prediction);
const cm_op_time         *cm_prediction_missing_call(const cm_prediction *prediction, int32_t index);
/* The same calls as a JSON case file for cm_bench_run(); NULL: out of memory. The prediction owns the text. */
const char               *cm_prediction_cases(cm_prediction *prediction);
/* Improvements that shorten the step, largest first; none unless options->sensitivities was set. */
int32_t                   cm_prediction_sensitivities(const cm_prediction *prediction);
const cm_sensitivity     *cm_prediction_sensitivity(const cm_prediction *prediction, int32_t index);

/* Predict many batch sizes of one step quickly: powers of two exactly, others by interpolation between them. Graph and
   device must outlive the predictor. */
typedef struct cm_predictor cm_predictor;

cm_status cm_predictor_new(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                           cm_predictor **predictor, cm_diag *diag);
void      cm_predictor_free(cm_predictor *predictor);
cm_status cm_predictor_at(cm_predictor *predictor, int64_t batch, cm_prediction_info *info, cm_diag *diag);

/* ---- a step: model, device and options --------------------------------------------------------------------------- */

/* Everything that decides what a step computes and how it runs. */
typedef struct cm_step_options {
    size_t size; /* of this struct; see "structs" above */
    cm_load_options    load;    /* fuse CM_FUSE_ALL: fuse what the runtime runs as one kernel */
    cm_train_options   train;   /* default precision: that of a captured model, otherwise the usual one on the device */
    cm_runtime         runtime;
    cm_layout          layout;
    cm_sparsity        sparsity;
    cm_loading_options loading;
    int32_t            steps_per_call;
    cm_plan            plan;    /* the stronger of plan.recompute and train.recompute applies */
    const cm_fabric   *fabric;  /* interconnect of the plan's devices; NULL if there is one device */
} cm_step_options;

/* Replace every default by the value that all commands use. Fails if the device does not support the options. `model`
   may be NULL: then a captured model's precision is not considered. */
cm_status cm_step_settle(const char *model, const cm_device *device, cm_step_options *options, cm_diag *diag);

/* A training step (or a forward pass) of one model on one device. Use it from one thread at a time. */
typedef struct cm_step cm_step;

/* `model` is a spec for cm_graph_load(). The device and options->fabric must outlive the step. */
cm_status cm_step_new(const char *model, const cm_device *device, const cm_step_options *options, cm_step **step,
                      cm_diag *diag);
/* The same from a forward graph that was loaded with settled options. The graph must outlive the step. */
cm_status cm_step_new_from(const cm_graph *forward, const cm_device *device, const cm_step_options *options,
                           cm_step **step, cm_diag *diag);
void                   cm_step_free(cm_step *step);
const cm_step_options *cm_step_get_options(const cm_step *step); /* with every default replaced */
const cm_graph        *cm_step_forward(const cm_step *step);
const cm_graph        *cm_step_graph(const cm_step *step);       /* forward, backward, update */
const cm_footprint    *cm_step_footprint(const cm_step *step);
/* Tokens of a row whose time a batch of so many samples takes: with padding, and on the device that has the most. */
int64_t                cm_step_row_tokens(const cm_step *step, int64_t batch);

/* Memory of one device, and whether the step fits. Every command uses this function. `batch` is per replica; it is
   ignored if the plan sets batch sizes. */
cm_status cm_step_memory(cm_step *step, int64_t batch, cm_memory_use *use, cm_diag *diag);
/* Add the alternatives that do not change the verdict of cm_step_memory(), for a list of all. */
cm_status cm_step_alternatives(cm_step *step, cm_memory_use *use, cm_diag *diag);
/* With samples of several lengths: replace use->reserved_bytes by what steps of random lengths reserve. Takes a
   fraction of a second. */
cm_status cm_step_reserved(cm_step *step, int64_t batch, cm_memory_use *use, cm_diag *diag);
/* The same numbers as cm_step_predict(), without the list of kernel calls. */
cm_status cm_step_time(cm_step *step, int64_t batch, cm_prediction_info *info, cm_diag *diag);
cm_status cm_step_predict(cm_step *step, int64_t batch, bool sensitivities, cm_prediction **prediction, cm_diag *diag);
/* Choose a batch size per replica; options->throughput is ignored. choice->batch 0: nothing fits. */
cm_status cm_step_choose_batch(cm_step *step, const cm_batch_options *options, cm_batch_choice *choice, cm_diag *diag);
/* The default batch size of the commands; 0: not even one sample fits. */
cm_status cm_step_usual_batch(cm_step *step, int64_t *batch, cm_diag *diag);

const char *cm_layout_name(cm_layout layout);
cm_status   cm_layout_parse(const char *name, cm_layout *layout, cm_diag *diag);

/* ---- searching parallel plans ------------------------------------------------------------------------------------ */

typedef struct cm_search_progress {
    uint64_t done, total; /* plans */
    double   best_step_s; /* NAN: no plan so far fits */
} cm_search_progress;

typedef struct cm_search_options {
    size_t size; /* of this struct; see "structs" above */
    int32_t          devices;      /* objectives other than throughput may use fewer: any divisor */
    int64_t          global_batch; /* samples per update */
    cm_objective     objective;
    double           tokens, within_s; /* tokens and longest time of the whole training; 0: no limit */
    cm_basis         price_basis;
    cm_runtime       runtime;
    const cm_fabric *fabric;
    int32_t          threads; /* 0: one per core */
    cm_train_options train;   /* recompute is ignored: the search chooses it */
    void (*progress)(void *user, const cm_search_progress *progress); /* NULL: none */
    void            *user;
    const volatile bool *stop; /* set it to true to end the search with the best plans so far; NULL: never */
    bool             distinct; /* only the best of all plans with the same tp, cp, pp, ep and micro-batch */
    bool             async_tensor; /* tensor-parallel plans exchange pieces while products compute the others */
    /* with load.tokens > 0, the model and options that `forward` was loaded with: samples of several lengths */
    const char      *model;
    cm_load_options  load;
    cm_layout        layout; /* auto: that of the device */
} cm_search_options;

typedef struct cm_found {
    cm_plan plan;
    double  step_time_s, interval_s[2];     /* interval_s: 90 % interval of the measured time of an iteration */
    double  throughput_samples_s, mfu, peak_bytes;
    cm_chance chance;
    double  communication_s, bubble_s;
    double  training_s, cost_usd, energy_j; /* of the whole training if tokens are given, else of one iteration; NAN:
                                               unknown */
    bool    pareto;                         /* no other plan is both faster and uses less memory */
    cm_dtype storage;                       /* as cm_graph_storage() of the plan's step */
} cm_found;

typedef struct cm_search_info {
    uint64_t evaluated, feasible;
    double   setup_s, search_time_s;
    int32_t  threads, ranks;
    bool     stopped, speaks; /* stopped: ended early; speaks: this MPI rank prints the result */
    const char *reason;       /* why no plan was found; NULL: there are plans */
} cm_search_info;

typedef struct cm_search cm_search;

/* Search the parallel plans of a model on options->devices devices. `forward` must be loaded as for cm_predict(). Under
   mpirun every rank searches a part of the plans, and all ranks get the same result. */
cm_status             cm_search_run(const cm_graph *forward, const cm_device *device, const cm_search_options *options,
                                    cm_search **search, cm_diag *diag);
void                  cm_search_free(cm_search *search);
const cm_search_info *cm_search_get_info(const cm_search *search);
int32_t               cm_search_plans(const cm_search *search); /* 0: none; see cm_search_info.reason */
const cm_found       *cm_search_plan(const cm_search *search, int32_t index);

/* ---- ranking accelerators ---------------------------------------------------------------------------------------- */

/* A price that replaces the known prices of a device. */
typedef struct cm_rank_price {
    const char *device;
    double      usd_hour;
} cm_rank_price;

/* Options of cm_rank(). A field that is 0 or NULL sets no condition. */
typedef struct cm_rank_options {
    size_t size; /* of this struct; see "structs" above */
    cm_load_options      load;  /* fuse is ignored: it follows the runtime */
    cm_train_options     train; /* default precision: the usual one on each device */
    cm_runtime           runtime;
    cm_layout            layout;
    cm_loading_options   loading; /* a dataset of known size also gives the samples of an epoch */
    int64_t              batch; /* 0: for each device the smallest within 2 % of its highest throughput */
    cm_objective         objective;
    const char          *devices;  /* comma-separated ids or profile files; NULL or "all": all built-in devices that
                                      support the step */
    const char          *baseline; /* device that the others are compared with and ported from */
    const char          *vendor, *provider; /* provider of prices; NULL: the cheapest */
    cm_basis             price_basis;
    const char          *where;    /* "price<3,memory>80GB,class=gpu": all conditions must be true */
    const cm_rank_price *prices;
    int32_t              n_prices;
    const char          *offers;   /* file that replaces the built-in offers (docs/plans.md); NULL: none */
    double               epochs;   /* 0: 1 */
    double               samples, tokens; /* of an epoch; of both the tokens, unless samples are not sequences of
                                             tokens; neither if the dataset gives it */
    double               max_hours, max_usd;
    double               port_hours, port_usd_hour; /* engineering time to port the model from the baseline, its rate */
    int32_t              threads;  /* 0: one per core, at most 8 */
    bool                 try_recompute; /* where memory limits the batch, also try CM_RECOMPUTE_FULL */
    const char          *host_file; /* profile for cm_device_use_host(), of all devices that a host launches; NULL: none */
    const char          *as; /* preset of data/presets.tsv: devices, batch sizes, precisions and prices of a study; NULL: none */
} cm_rank_options;

/* Whether a device is ranked, and otherwise why not. */
typedef enum cm_rank_state {
    CM_RANK_PLACED,
    CM_RANK_UNCERTAIN, /* its 90 % interval spans more than a factor 4 */
    CM_RANK_NOT_OFFERED, /* nobody rents or sells it, and the options name no devices, vendor or provider */
    CM_RANK_NO_VALUE, /* the objective needs a number that is unknown for this device */
    CM_RANK_OVER,     /* exceeds max_hours or max_usd, or its predicted numbers do not meet `where` */
    CM_RANK_RECOMPUTED, /* fits only if it recomputes, as scripts for graph compilers do where memory is short */
    CM_RANK_NO_FIT,   /* not even one sample fits */
    CM_RANK_CANNOT    /* the device does not support the step */
} cm_rank_state;

/* One device. Unknown numbers are NAN. Intervals are 90 % intervals. */
typedef struct cm_rank_entry {
    const cm_device   *device;
    cm_precision       precision;
    cm_rank_state      state;
    const char        *reason;        /* why it is not ranked, and what would help; NULL: it is ranked */
    bool               fits;
    cm_chance          chance;
    cm_prediction_info prediction;    /* valid only if it fits */
    double             peak_bytes;
    double             price_hour;    /* of all prediction.devices */
    const cm_price    *price;         /* NULL: given in options->prices (price_hour is known), or none */
    double             power_w;       /* of all prediction.devices; average of the step, else typical, else
                                         the limit */
    double             samples_per_usd, energy_j_per_sample;
    double             hours, usd, kwh; /* of the job; usd without porting */
    double             value, interval[2]; /* in cm_ranking_unit() */
    double             relative, relative_interval[2]; /* improvement over the baseline: above 1 is better than the
                                                          baseline; NAN: no baseline */
    bool               too_uncertain; /* the 90 % interval of the step time spans more than a factor 4 */
    bool               tied_with_next; /* 1 is inside the 90 % interval of the ratio to the next device */
    bool               tied_with_best; /* the same of the ratio to the first device; false for that one */
    bool               pareto;        /* no ranked device is both faster and cheaper */
    double             port_usd;      /* cost of porting; 0: none needed */
    double             break_even_samples, break_even_hours; /* when porting has paid for itself, in samples and in
                                                                hours on the baseline; INFINITY: never */
    double             break_even_price_hour; /* price at which it costs as much per sample as the baseline */
    cm_recompute       recompute; /* CM_RECOMPUTE_FULL: chosen by try_recompute; otherwise as in the options */
    bool               one_device; /* the preset counts all prediction.devices as one: the price and values are theirs */
} cm_rank_entry;

typedef struct cm_ranking_info {
    const char *model;
    cm_objective objective;
    double      job_samples;      /* NAN: no job was given */
    double      tokens_per_sample; /* without padding; 0: samples are not sequences of tokens */
    const char *job;              /* the job in words; NULL: none */
    bool        job_assumed;      /* the objective needs a job and none was given, so a default is used */
    int32_t     left_out;         /* devices excluded by `vendor` or `where` */
    const cm_rank_entry *baseline; /* NULL: none */
    int64_t     seq;              /* tokens of the longest sample; 0: samples are not sequences of tokens */
} cm_ranking_info;

typedef struct cm_ranking cm_ranking;

/* Rank all devices, best first. Devices that are not ranked come last. */
cm_status              cm_rank(const char *model, const cm_rank_options *options, cm_ranking **ranking, cm_diag *diag);
void                   cm_ranking_free(cm_ranking *ranking);
const cm_ranking_info *cm_ranking_get_info(const cm_ranking *ranking);
int32_t                cm_ranking_entries(const cm_ranking *ranking);
const cm_rank_entry   *cm_ranking_entry(const cm_ranking *ranking, int32_t index);
const char            *cm_ranking_unit(const cm_ranking *ranking);   /* of cm_rank_entry.value: "samples/USD" */
int32_t                cm_ranking_placed(const cm_ranking *ranking); /* number of ranked entries; they come first */
const cm_graph        *cm_ranking_graph(const cm_ranking *ranking, int32_t index); /* the step of an entry */

#define CM_ADVICE_MOST 8

/* A benchmark of the calls of an entry's step on its device. */
typedef struct cm_measurement {
    const cm_rank_entry *entry;
    const char          *backend;     /* PyTorch's name of the kind of device */
    double               minutes;
    double               interval[2]; /* of the entry's value afterwards, if the value stays */
} cm_measurement;

/* The cheapest measurements that would settle which entry is the best. */
typedef struct cm_rank_advice {
    cm_measurement items[CM_ADVICE_MOST];
    int32_t        count, tied;          /* 0: nothing is to be settled, or no measurement helps; entries that may be the
                                            best, at most CM_ADVICE_MOST */
    double         minutes, probability; /* of all; that the order of the tied entries is known then */
} cm_rank_advice;
cm_rank_advice cm_ranking_advise(const cm_ranking *ranking);

/* ---- several networks --------------------------------------------------------------------------------------------- */

typedef struct cm_network {
    const char     *model;
    double          weight;  /* how often its job runs; above 0 */
    cm_rank_options options; /* its objective and limits are ignored */
} cm_network;

/* A device for all networks. */
typedef struct cm_mix_entry {
    /* hours, usd, kwh: sums of the networks' jobs times their weights; value, interval: of the objective; state, reason:
       of the worst network; prediction: only step_time_s and interval_s, the sum in seconds; price_hour: usd / hours;
       port_usd and break_even_hours: of porting once for all networks */
    cm_rank_entry               total;
    const cm_rank_entry *const *parts; /* of each network */
} cm_mix_entry;

typedef struct cm_mix cm_mix;

/* Rank all devices by the total time (objective throughput or time), cost (price or cost) or energy of several networks'
   jobs. options: objective, max_hours, max_usd and porting of the total; the baseline is that of networks[].options. */
cm_status           cm_mix_run(const cm_network *networks, int32_t count, const cm_rank_options *options, cm_mix **mix,
                               cm_diag *diag);
void                cm_mix_free(cm_mix *mix);
cm_objective        cm_mix_objective(const cm_mix *mix); /* time, cost or energy */
int32_t             cm_mix_networks(const cm_mix *mix);
const cm_network   *cm_mix_network(const cm_mix *mix, int32_t index);
const cm_ranking   *cm_mix_ranking(const cm_mix *mix, int32_t index); /* of a network alone */
int32_t             cm_mix_entries(const cm_mix *mix);
int32_t             cm_mix_placed(const cm_mix *mix); /* number of ranked entries; they come first */
const cm_mix_entry *cm_mix_get_entry(const cm_mix *mix, int32_t index);
const cm_mix_entry *cm_mix_baseline(const cm_mix *mix); /* NULL: none */

/* ---- a whole training job --------------------------------------------------------------------------------------- */

/* Options of cm_job_run(). */
typedef struct cm_job_options {
    size_t size; /* of this struct; see "structs" above */
    cm_rank_options rank;        /* model, devices, vendor, provider, prices, conditions and size of the job; batch,
                                    baseline, porting and limits are ignored. objective throughput: cost, or time if no
                                    price is known */
    int32_t         max_devices; /* largest number of devices; 0: 1 */
    /* comma-separated ids or profile files, or "node=8,net=800Gb" for rank.devices; "cloud" or NULL: instances that
       providers sell */
    const char     *clusters;
    double          within_s, budget_usd; /* limits of the whole job; 0: none */
    int64_t         global_batch; /* samples per update; 0: the usual one for the model */
    const char     *queue;       /* queue of the facility; NULL: the one that needs the fewest jobs */
    const char     *region;      /* of the electricity's carbon intensity, or grams per kWh; NULL: the world's */
    void (*progress)(void *user, int32_t done, int32_t total); /* NULL: none */
    void           *user;
} cm_job_options;

/* A number of devices at one place, with the best plan there. Unknown numbers are NAN. */
typedef struct cm_job_entry {
    cm_rank_entry at;         /* prediction: of the plan, one update of the global batch; hours, usd, kwh: of the job;
                                 price_hour: of all devices that are paid for; value: the objective's;
                                 break_even_price_hour: of one device, at which the entry costs as much as the first */
    int32_t       n;          /* devices that the plan uses */
    int32_t       paid;       /* devices of the rented instances; at least n */
    const char   *cluster;    /* for cm_fabric_new() */
    const char   *provider, *instance, *price_region, *price_date, *price_source; /* NULL: not a cloud's */
    const char   *basis;      /* of the price, a name of cm_basis or "given"; NULL: no price */
    double        time_s, interval_s[2], cost_usd, cost_interval_usd[2], energy_j, co2_kg; /* of the job */
    double        overhead;   /* of checkpoints and restarts on instances that may be interrupted, as a fraction of the
                                 time without them; 0: none. The job's time includes it */
    double        checkpoint_s; /* best time between two checkpoints; NAN: not interrupted */
    int32_t       nodes;      /* nodes that the devices are in */
    const char   *queue, *queue_class, *scheduler; /* of a facility; NULL: unknown */
    const char   *queue_request; /* what a job must ask for beside nodes and time; NULL: nothing */
    const char   *queue_note; /* what users of the queue must know; NULL: nothing */
    double        queue_wall_s; /* longest wall time of one job there; NAN: unknown */
    int32_t       jobs;       /* jobs in a row that the wall time makes necessary; 1 if there is no queue */
    double        charge;     /* of the allocation, in charge_unit; NAN: unknown */
    const char   *charge_unit;
    bool          best_here;  /* the best number of devices of its device, cluster and provider */
} cm_job_entry;

/* One limit that is exceeded everywhere, and what it must be raised to so that some entry meets all limits. */
typedef struct cm_job_advice {
    double              within_s, budget_usd; /* the limit to relax, relaxed; NAN: the limit does not change */
    const cm_job_entry *entry;                /* the first entry that then meets the limits; NULL: none at all */
    const char         *text;                 /* in words */
} cm_job_advice;

typedef struct cm_job_info {
    const char  *model;
    cm_objective objective;
    double       samples, tokens_per_sample;  /* of the job; 0 tokens: samples are not sequences of tokens */
    const char  *text;                        /* the job in words */
    bool         assumed, batch_assumed;      /* no size was given; no global batch was given */
    int64_t      global_batch;
    double       g_co2_kwh;
    const char  *region, *region_source;
    int32_t      searches;                    /* searches of plans: devices with one interconnect each */
    double       within_s;                    /* deadline; 0: none */
    bool         within_assumed;              /* none was given, and some jobs would take longer than any published one */
} cm_job_info;

typedef struct cm_job cm_job;

/* Find the best plan of a model for each device, number of devices and place, and rank them by the job's time or
   cost. */
cm_status            cm_job_run(const char *model, const cm_job_options *options, cm_job **job, cm_diag *diag);
/* The same for several networks, which run one after the other on the same devices: limits and objective are those of the
   sum of their jobs, each times its weight. networks[].options replaces options->rank for a network. */
cm_status            cm_job_run_all(const cm_network *networks, int32_t count, const cm_job_options *options, cm_job **job,
                                    cm_diag *diag);
void                 cm_job_free(cm_job *job);
const cm_job_info   *cm_job_get_info(const cm_job *job);
int32_t              cm_job_entries(const cm_job *job);
int32_t              cm_job_placed(const cm_job *job); /* entries that meet all limits; they come first, best first */
const cm_job_entry  *cm_job_get_entry(const cm_job *job, int32_t index);
/* How to relax limits that nothing meets, the smallest change first; none if cm_job_placed() is above 0. */
int32_t              cm_job_advices(const cm_job *job);
const cm_job_advice *cm_job_get_advice(const cm_job *job, int32_t index);
const cm_graph      *cm_job_graph(const cm_job *job); /* the model; of several networks the first */
int32_t              cm_job_networks(const cm_job *job); /* 0: made by cm_job_run() */
const cm_network    *cm_job_network(const cm_job *job, int32_t index);
const cm_job        *cm_job_of_network(const cm_job *job, int32_t index);
/* What a network adds to an entry, once. */
const cm_job_entry  *cm_job_part(const cm_job *job, int32_t entry, int32_t network);

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

/* Random look-ups of cross sections, as XSBench makes them: find an energy in sorted grids, then interpolate five
   numbers between two neighbouring points for each nuclide that is visited. 0: XSBench's large reactor. */
typedef struct cm_lookup_options {
    size_t size; /* of this struct; see "structs" above */
    double  visited;          /* nuclides of a look-up, on average (55.7) */
    int64_t nuclides, points; /* in the table (355), and points of each (11,303) */
    int32_t bits;             /* of a number: 32 or 64 (64) */
    bool    nuclide_grid;     /* search each nuclide's grid; false: one unionized grid with an index for each nuclide */
    double  longest;          /* nuclides of the longest look-up (321; `visited` if that is given) */
    bool    sorted;           /* look-ups are sorted by energy: neighbours read the same places */
    bool    sums_in_memory;   /* the five sums of a look-up are kept in memory, not in registers */
    bool    drawn;            /* one of two points is drawn by random numbers of the hardware, none is interpolated */
} cm_lookup_options;

/* The limit: bandwidth, latency of reads that depend on each other, or instructions. */
typedef enum cm_lookup_bound {
    CM_LOOKUP_BANDWIDTH, CM_LOOKUP_LATENCY, CM_LOOKUP_INSTRUCTIONS, CM_LOOKUP_BOUNDS
} cm_lookup_bound;
typedef struct cm_lookup_rate {
    double          lookups_s, low_s, high_s;   /* per second, and its 90 % interval */
    double          table_bytes, traffic_bytes; /* the tables; what a look-up moves from the memory that holds them */
    double          times_s[CM_LOOKUP_BOUNDS];  /* of a look-up; NAN: unknown */
    cm_lookup_bound bound;                      /* the longest of them */
    const char     *memory;                     /* name of the memory that holds the tables */
    double reserved[8]; /* room for members of later versions */
} cm_lookup_rate;

/* CM_ERR_UNSUPPORTED: nothing is known about random reads of such devices. CM_ERR_FIT: the tables are too large. */
cm_status cm_device_lookups(const cm_device *device, const cm_lookup_options *options, cm_lookup_rate *rate,
                            cm_diag *diag);

/* The built-in offers of cloud providers as a table of tab-separated cells; and whether a file has the same columns,
   known devices and valid interconnects. count: its offers. */
const char *cm_offers_text(void);
cm_status   cm_offers_check(const char *path, int32_t *count, cm_diag *diag);

/* Calls visit() for each offer of a file; path NULL: the built-in ones. The offer is valid during the call only. */
cm_status cm_offers_list(const char *path, void (*visit)(void *user, const cm_offer *offer), void *user, cm_diag *diag);

/* A table of offers; path NULL: the built-in one. cm_device_use_offers() replaces the built-in offers of a device by
   those of the table, which must outlive the device. A profile's own prices stay. */
typedef struct cm_offers cm_offers;
cm_status cm_offers_load(const char *path, cm_offers **offers, cm_diag *diag);
void      cm_offers_free(cm_offers *offers);
void      cm_device_use_offers(cm_device *device, const cm_offers *offers);

/* Replaces the data of the device's host by those that a profile of `centimani bench --suite host` or `python -m
   centimani bench --suite host` contains: rates of reading and decoding, or how fast it launches. What it lacks stays.
   */
cm_status cm_device_use_host(cm_device *device, const char *file, cm_diag *diag);

/* ---- the log of a training run ---------------------------------------------------------------------------------- */

/* Step times and progress that a log states. Unknown numbers are NAN. */
typedef struct cm_train_log {
    int32_t rows;                /* lines with a step's time */
    double  median_s, recent_s;  /* of all steps but the first few; of the last 20 */
    double  done, total;         /* steps */
    double reserved[8]; /* room for members of later versions */
} cm_train_log;

/* Read the log of Megatron-LM, DeepSpeed, a progress bar, or lines with "step_time_s: SECONDS". */
cm_status cm_train_log_read(const char *path, cm_train_log *log, cm_diag *diag);

/* ---- calibrating a device with measured steps ------------------------------------------------------------------ */

typedef struct cm_calibration_row {
    const char *model;
    int64_t     batch;
    double      measured_s, before_s, after_s; /* before, after: predicted without and with the new factors */
} cm_calibration_row;

typedef struct cm_calibration_change {
    const char *what; /* "calibration.matrix": a member of the profile */
    double      from, to;
} cm_calibration_change;

typedef struct cm_calibration cm_calibration;

/* Fit correction factors of a device's times to a CSV file of measured steps (docs/measuring.md). before and after
   are mean absolute relative errors, as fractions. */
cm_status cm_calibrate(const char *device, const char *log, cm_calibration **calibration, cm_diag *diag);
void      cm_calibration_free(cm_calibration *calibration);
double    cm_calibration_before(const cm_calibration *calibration);
double    cm_calibration_after(const cm_calibration *calibration);
int32_t   cm_calibration_rows(const cm_calibration *calibration);
const cm_calibration_row    *cm_calibration_get_row(const cm_calibration *calibration, int32_t index);
int32_t                      cm_calibration_changes(const cm_calibration *calibration);
const cm_calibration_change *cm_calibration_get_change(const cm_calibration *calibration, int32_t index);
const cm_device             *cm_calibration_device(const cm_calibration *calibration);  /* calibrated */
const char                  *cm_calibration_profile(const cm_calibration *calibration); /* JSON */

/* ---- traces of torch.profiler ----------------------------------------------------------------------------------- */

/* A trace of training steps on a GPU. Times are per step. Unknown numbers are NAN. */
typedef struct cm_timeline_info {
    const char *device;        /* as the trace names it; NULL: not recorded */
    int32_t     steps;
    double      step_time_s;
    double      device_time_s; /* at least one kernel runs */
    double      overlapped_s;  /* sum of all kernels beyond device_time_s: kernels that run at the same time */
    double      loading_s;     /* the device is idle and the host waits for its data loader */
    double      kernels, peak_bytes;
    int64_t     events, unreadable; /* unreadable: events that were skipped */
    bool        shapes;        /* recorded with record_shapes=True */
    bool        predicted;     /* not recorded: a prediction that `predict --trace` wrote */
} cm_timeline_info;

/* Kernels of one call in one phase, per step. */
typedef struct cm_timeline_call {
    const char *call; /* as in cm_op_time; NULL: no call is known for the operator */
    const char *what; /* "gemm"; without a call, the operator or kind: "aten::cat", "communication" */
    cm_phase    phase;
    double      time_s, runs, kernels;
} cm_timeline_call;

typedef struct cm_timeline cm_timeline;

/* Read a Chrome trace, plain or compressed by gzip. */
cm_status               cm_timeline_read(const char *path, cm_timeline **timeline, cm_diag *diag);
void                    cm_timeline_free(cm_timeline *timeline);
const cm_timeline_info *cm_timeline_get_info(const cm_timeline *timeline);
int32_t                 cm_timeline_calls(const cm_timeline *timeline); /* the longest first */
const cm_timeline_call *cm_timeline_get_call(const cm_timeline *timeline, int32_t index);
/* The calls as kernel tables of a profile (JSON); NULL: out of memory. base: id of the device that the profile extends;
   NULL: none. The timeline owns the text. */
const char             *cm_timeline_profile(cm_timeline *timeline, const char *base, int32_t *rows, int32_t *tables);

typedef struct cm_merge_counts {
    int32_t added, replaced, tables; /* rows, rows, tables of the result */
    double reserved[8]; /* room for members of later versions */
} cm_merge_counts;

/* Join the kernel tables of profiles. A call that several have keeps the time of the last one. The caller frees the
   text. */
cm_status cm_tables_merge(const char *const *paths, int32_t count, char **profile, cm_merge_counts *counts,
                          cm_diag *diag);

/* Adds a measured profile to the file `into` (NULL or missing: starts one), which must be of the same device and software.
   Refuses a profile that does not name them and the conditions, or whose tables no question uses. The caller frees the
   text. */
cm_status cm_device_contribute(const char *path, const char *into, char **profile, cm_merge_counts *counts, cm_diag *diag);

/* ---- validation against published results ------------------------------------------------------------------------ */

typedef struct cm_validation_info {
    const char *set, *title, *metric, *where; /* metric NULL: each row has its own; where: the source */
} cm_validation_info;

/* Evidence class: how independent a validation row is from the data that profiles were fitted to. */
typedef enum cm_evidence {
    CM_EVIDENCE_NOT_FITTED,  /* no profile was fitted to this row, nor to its model on its device */
    CM_EVIDENCE_LEFT_OUT,    /* leave-one-out: predicted by a profile that was fitted without this row's model */
    CM_EVIDENCE_FIRST_SIGHT, /* predicted before anybody compared the result with a prediction */
    CM_EVIDENCE_SIBLING,     /* uses a number that was solved from another row of its source; not counted */
    CM_EVIDENCE_LOOKUP,      /* its own kernel shapes are in the device's tables; not counted */
    CM_EVIDENCE_FITTED,      /* a profile was fitted to this row; not counted */
    CM_EVIDENCES
} cm_evidence;

typedef enum cm_row_kind {
    CM_ROW_FIGURE,
    CM_ROW_ORDER,         /* measured: device pairs ordered by the source; predicted: pairs predicted in that order */
    CM_ROW_FITS           /* 1: it fitted, 0: out of memory */
} cm_row_kind;

typedef struct cm_validation_row {
    const char   *where;                    /* table and row of the source */
    const char   *model, *device, *setting; /* setting: run conditions that the source states */
    const char   *metric, *unit;
    int32_t       devices;
    double        measured;
    const double *predicted;   /* by each predictor, in the order of the summaries; NAN: no prediction */
    double        interval[2]; /* 90 % interval of the measured value; NAN: none */
    const char   *reason;      /* why the first predictor has no prediction; NULL: it has one */
    bool          refused;     /* it ran, and the first predictor says that it cannot or does not know how: counted as
                                  an error of 100 % */
    const char   *compare;     /* rows with the same text form one choice among devices; NULL: none */
    const char   *note;        /* on its evidence: what was fitted to it, which model was left out, or why the source
                                  is doubtful */
    cm_evidence   evidence;
    cm_row_kind   kind;
    int           better;      /* 1: more is better, -1: less is better, 0: neither */
    int           fits;        /* predicted; -1: not predicted */
    bool          ran;         /* false: out of memory */
} cm_validation_row;

/* Errors of one predictor on the rows that it predicts. The first predictor is Centimani; its refusals of rows that ran
   count as errors of 100 %. Only rows of the first three evidence classes count; if a set has none, all but its fitted
   rows do. Errors are fractions. */
typedef struct cm_validation_summary {
    const char *predictor, *what;
    const char *device;               /* NULL: all */
    int32_t     n, equal;
    int32_t     refused;              /* of n: rows that ran and are refused */
    bool        headline;             /* false: rows of other evidence classes, for want of rows that may count */
    double      mape, median, accuracy, bias, p90, worst; /* accuracy: 1 - |error|, no less than 0, on average */
    double      median_factor;        /* median of max(predicted/measured, measured/predicted); NAN: not computed */
    int32_t     within_two;           /* rows within a factor of two */
    int32_t     shared;               /* rows that the first predictor also predicts; on these: */
    double      shared_accuracy, own_accuracy; /* accuracy of this predictor and of the first one; NAN: no such rows */
    int32_t     inside, intervals;    /* measured values inside their interval; rows that have an interval */
    int32_t     decisions;            /* choices among devices; over these: */
    double      top1, regret, tau;    /* fraction with the best device chosen, mean throughput lost by the choice, mean
                                         Kendall's tau; NAN: none */
    int32_t     pairs, pairs_right;   /* device pairs ordered by the source; of these predicted in that order */
    int32_t     false_oom, missed_oom; /* ran but predicted not to fit; out of memory but predicted to fit */
} cm_validation_summary;

typedef struct cm_validation cm_validation; /* one set; owned by its scoreboard */
typedef struct cm_scoreboard cm_scoreboard;

/* Compare predictions with a set of published results, given by name or file; NULL or "all": every built-in set. */
/* leave_device_out: predict every device as if it had no results of its own: without corrections, fitted operator
   models and surfaces, and with parameters that are fitted to other devices of its family. */
/* Check measured results of others, a file like those in data/results with evidence for its rows, and add them to the
   set in the file `into`; NULL, or a file that does not exist: a new set. `joined` is the set as JSON, which the caller
   frees; `rows` may be NULL. */
cm_status            cm_results_add(const char *path, const char *into, char **joined, int32_t *rows, cm_diag *diag);
cm_status            cm_scoreboard_run(const char *set, bool leave_device_out, cm_scoreboard **scoreboard,
                                       cm_diag *diag);
bool                 cm_scoreboard_leaves_out(const cm_scoreboard *scoreboard); /* as given */
void                 cm_scoreboard_free(cm_scoreboard *scoreboard);
int32_t              cm_scoreboard_sets(const cm_scoreboard *scoreboard);
const cm_validation *cm_scoreboard_set(const cm_scoreboard *scoreboard, int32_t index);

cm_validation_info           cm_validation_get_info(const cm_validation *validation);
int32_t                      cm_validation_rows(const cm_validation *validation);
const cm_validation_row     *cm_validation_get_row(const cm_validation *validation, int32_t index);
int32_t                      cm_validation_summaries(const cm_validation *validation);
const cm_validation_summary *cm_validation_get_summary(const cm_validation *validation, int32_t index);
/* The same summaries by device: all predictors on the first device, then all on the next. */
int32_t                      cm_validation_device_summaries(const cm_validation *validation);
const cm_validation_summary *cm_validation_device_summary(const cm_validation *validation, int32_t index);
int32_t                      cm_validation_notes(const cm_validation *validation);
const char                  *cm_validation_note(const cm_validation *validation, int32_t index);
const char                  *cm_evidence_name(cm_evidence evidence);

/* ---- benchmarking a machine -------------------------------------------------------------------------------------- */

typedef struct cm_bench_progress {
    int32_t     done, total;        /* cases */
    double      elapsed_s, left_s;  /* left_s NAN: not known yet */
    const char *what;               /* the running case */
} cm_bench_progress;

/* Options of cm_bench_run(). */
typedef struct cm_bench_options {
    size_t size; /* of this struct; see "structs" above */
    const char    *backend;  /* "cpu", "cuda" or "null"; NULL: cuda if it opens, otherwise cpu */
    const char    *suites;   /* comma-separated names; NULL: all suites that run in one process */
    const char    *only;     /* a case's name, or a pattern with '*'; NULL: all */
    const char    *cases;    /* JSON file of kernel calls to measure instead of suites; NULL: none */
    const char    *model;    /* measure the kernel calls of one step of this model instead; NULL: none */
    const char    *journal;  /* file that stores results until the run is complete, to resume it; NULL: none */
    const char    *storage;  /* folder or file that suite `host` reads from; NULL: the folder of temporary files */
    const char    *id;       /* of the profile; NULL: made from the device's name */
    cm_load_options  load;   /* of the model */
    cm_train_options train;
    int64_t        batch;    /* of the model; 0: 1 */
    int64_t        scale;    /* divides the batch sizes of suite `primitives`; 0: 1 */
    int64_t        budget_s; /* time limit; 0: none */
    int64_t        threads;  /* 0: one per core */
    int64_t        device;   /* which of several devices, counted from 1; 0: the first */
    bool           cold;     /* operands outside all caches */
    bool           search;   /* use the library's fastest algorithm instead of its default */
    bool           list;     /* list the cases without measuring them */
    void (*progress)(void *user, const cm_bench_progress *progress); /* NULL: none */
    void *user;
} cm_bench_options;

/* One case. Unknown numbers are NAN. */
typedef struct cm_bench_result {
    const char    *name;                     /* "gemm/forward/nt/fp32/1x64x1760x1760" */
    const char    *op, *pass, *variant, *dtype; /* of a kernel call; other cases have op only: "read", "all-reduce" */
    const int64_t *dims;
    int32_t        n_dims;
    double         flop, bytes;              /* of one repetition */
    double         work;                     /* other work of one repetition, in work_unit; NAN: none */
    const char    *work_unit;                /* "B", "FLOP", "launches", "look-ups", "images", "tokens"; NULL: none */
    double         time_s;                   /* median of one repetition; NAN: not measured, or wrong results */
    double         spread;                   /* interquartile range as a fraction of the median */
    int64_t        repetitions, samples, wrong;
    int32_t        kernels;                  /* per repetition; 0: unknown */
    const char    *algorithm;                /* NULL: unknown */
    const char    *skipped;                  /* why there is no time; NULL: there is one */
    bool           resumed;                  /* read from the journal of an earlier run */
} cm_bench_result;

/* One line of a suite: a case and its multiplicity. Consecutive lines with the same label are summed. */
typedef struct cm_bench_row {
    const char *suite, *label;
    int32_t     result, times;
    double      paper_flop;                  /* by the formula of the suite's paper; NAN: none */
} cm_bench_row;

typedef struct cm_bench_machine {
    const char *backend, *id, *name, *software, *host;
    int32_t     ranks;                       /* 0: no suite used ranks */
    double      cores, memory_bytes;
} cm_bench_machine;

/* A measured ceiling of the roofline: name "fp32" of what "matrix", "L2" of "memory", "launch" of "latency". */
typedef struct cm_bench_ceiling {
    const char *what, *name, *unit;
    double      value, told; /* told: the value that the device reports; NAN: none */
} cm_bench_ceiling;

typedef struct cm_bench cm_bench;

cm_status               cm_bench_run(const cm_bench_options *options, cm_bench **bench, cm_diag *diag);
void                    cm_bench_free(cm_bench *bench);
const cm_bench_machine *cm_bench_get_machine(const cm_bench *bench);
bool                    cm_bench_speaks(const cm_bench *bench); /* true: this MPI rank prints the result */
int32_t                 cm_bench_results(const cm_bench *bench);
const cm_bench_result  *cm_bench_get_result(const cm_bench *bench, int32_t index);
int32_t                 cm_bench_rows(const cm_bench *bench);
const cm_bench_row     *cm_bench_get_row(const cm_bench *bench, int32_t index);
int32_t                 cm_bench_ceilings(const cm_bench *bench);
const cm_bench_ceiling *cm_bench_get_ceiling(const cm_bench *bench, int32_t index);
int64_t                 cm_bench_wrong(const cm_bench *bench);      /* values that failed verification */
int32_t                 cm_bench_unmeasured(const cm_bench *bench); /* cases not run because of budget_s */
const char             *cm_bench_profile(cm_bench *bench);          /* JSON; NULL: out of memory */
/* Delete the journal; call it when the results are stored. The journal of an incomplete run is kept. */
void                    cm_bench_forget(cm_bench *bench);
/* Bus bandwidth divided by algorithm bandwidth (bytes over time), as in nccl-tests; 1 for an unknown collective. */
double                  cm_bench_bus_factor(const char *collective, int32_t ranks);
/* The available backends and suites as text: "cpu, cuda and null". */
const char             *cm_bench_backends(void);
const char             *cm_bench_suites(void);

/* ---- built-in models --------------------------------------------------------------------------------------------- */

typedef struct cm_model_info {
    const char *id, *family, *title, *definition, *source; /* definition: a description, or the name of a .net file */
} cm_model_info;

int32_t              cm_models(void);
const cm_model_info *cm_model(int32_t index);
const cm_model_info *cm_model_find(const char *id); /* NULL: none */

#ifdef __cplusplus
}
#endif

#endif
