/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centimani.h - which accelerator to train a neural network on, how fast, at what cost, how sure.
 *
 * The calls stand in the order in which they are used:
 *
 *     cm_graph_load()   a model file, description or name  ->  its forward graph
 *     cm_graph_train()  a forward graph                    ->  one whole training step
 *     cm_graph_totals() any graph, any batch size          ->  parameters, FLOP, bytes
 *     cm_device_load()  an id or a profile                 ->  what is known of an accelerator
 *     cm_step_new()     a model, a device, options         ->  memory, batch size and time of a step
 *     cm_footprint_new() a step's graph, a device, a plan  ->  memory at any batch size
 *     cm_batch_choose() a footprint, candidates            ->  which batch size
 *     cm_predict()      a step's graph, a device           ->  how long it takes
 *     cm_rank()         a model, all devices               ->  which accelerator
 *     cm_calibrate()    a device, a log of real steps      ->  a profile that meets them
 *
 * Every call that can fail returns a cm_status and, if given a cm_diag, says there what went wrong, where, and how to
 * mend it. Results are written only on success. The library never prints, exits or aborts on input. A handle owns all
 * that it returns; freeing it is one call. A zeroed options struct means defaults. Units are SI, in the name.
 */
#ifndef CENTIMANI_H
#define CENTIMANI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_VERSION "0.1.0"

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

/* Where and why a call failed. Any field may be empty. */
typedef struct cm_diag {
    char file[256];
    char place[256];
    char reason[512];
} cm_diag;

/* "file: place: reason" into buf; returns buf. */
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

/* What a tensor is for. */
typedef enum cm_role {
    CM_ROLE_ACTIVATION,  /* computed on the way forward */
    CM_ROLE_INPUT,       /* fed anew each step: samples, labels */
    CM_ROLE_PARAMETER,   /* trainable */
    CM_ROLE_BUFFER,      /* kept, not trained: running statistics, masks, position ids */
    CM_ROLE_CONSTANT,    /* a number written in the model */
    CM_ROLE_SAVED,       /* computed forward only because backward needs it: statistics, masks, log-sum-exp */
    CM_ROLE_CAST,        /* a parameter in the compute precision (autocast's copy) */
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

typedef struct cm_tensor {
    const char   *name;
    const cm_dim *dims;
    int32_t       rank;
    cm_dtype      dtype;
    cm_role       role;
    int32_t       producer; /* node that writes it, -1: none */
    int32_t       storage;  /* tensor whose memory it shares: itself, or the base of a view */
    int32_t       born;     /* schedule position that first writes its storage, -1: before the step */
    int32_t       dies;     /* last position that needs its storage, node count: it outlives the step */
    const union cm__num *value; /* known contents, in dimension order; internal */
    int32_t       converted; /* 1 + its type after model.to(a 16-bit type); 0: as its operands say; internal */
} cm_tensor;

typedef struct cm_node {
    const char    *name;
    const int32_t *inputs;  /* tensor ids; -1 where an optional input is absent */
    const int32_t *outputs;
    int32_t        n_inputs, n_outputs;
    int16_t        op;      /* row of the operator table */
    uint8_t        phase;   /* cm_phase */
    bool           view;    /* moves no data: shape and strides change only */
    int32_t        source;  /* the forward node a backward or recompute node belongs to, -1: none */
    int32_t        block;   /* repeated part (layer) of the model it belongs to, -1: none */
    int32_t        segment; /* part that the model itself computes again in backward (checkpointing), -1: none */
    cm_poly        flop, read_bytes, write_bytes;
    const struct cm__attr *attrs; /* internal */
} cm_node;

/* What operators that a file writes out become one. */
typedef enum cm_fuse {
    CM_FUSE_ALL,   /* attention, GELU, SiLU, norms, linear layers: what some runtime runs as one kernel */
    CM_FUSE_EAGER, /* what eager PyTorch ran as one kernel: not what its user wrote out by hand */
    CM_FUSE_NONE,  /* as the file writes it */
    CM_FUSES
} cm_fuse;

/* Options of cm_graph_load(). */
typedef struct cm_load_options {
    int64_t     seq;     /* sequence length; 0: the model's own */
    cm_fuse     fuse;
    const char *dims;    /* "height=320,width=320": free dimensions of a file; NULL: usual ones, with a warning */
} cm_load_options;

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
    CM_OPTIMIZER_DEFAULT, CM_OPTIMIZER_SGD, CM_OPTIMIZER_MOMENTUM, CM_OPTIMIZER_ADAM, CM_OPTIMIZER_ADAMW, CM_OPTIMIZERS
} cm_optimizer;
typedef enum cm_loss {
    CM_LOSS_AUTO, CM_LOSS_CROSS_ENTROPY, CM_LOSS_MSE, CM_LOSS_BCE, CM_LOSS_NONE, CM_LOSSES
} cm_loss;
typedef enum cm_recompute {
    CM_RECOMPUTE_NONE, CM_RECOMPUTE_SELECTIVE, CM_RECOMPUTE_FULL, CM_RECOMPUTES
} cm_recompute;

/* How attention runs: one kernel that stores no scores (FlashAttention, cuDNN's, Transformer Engine's), or products and a
   softmax. auto: what the runtime takes on the device. */
typedef enum cm_attention { CM_ATTENTION_AUTO, CM_ATTENTION_FLASH, CM_ATTENTION_MATH, CM_ATTENTIONS } cm_attention;

/* Options of cm_graph_train(). */
typedef struct cm_train_options {
    cm_precision precision; /* default: amp-bf16 */
    cm_optimizer optimizer; /* default: momentum for convolutional networks, adamw otherwise */
    cm_loss      loss;
    cm_recompute recompute;
    cm_attention attention;
    bool         master;    /* bf16, fp16, fp8: fp32 weights and states beside 16-bit weights, as Megatron-LM has */
    bool         inference; /* forward only, in the given precision: no loss, no backward */
} cm_train_options;

/* One training step of `forward` as a graph of its own: casts, loss, backward, update. */
cm_status cm_graph_train(const cm_graph *forward, const cm_train_options *options, cm_graph **step, cm_diag *diag);

void cm_graph_free(cm_graph *graph);

/* ---- reading a graph -------------------------------------------------------------------------------------------- */

const char      *cm_graph_name(const cm_graph *graph);
const char      *cm_graph_source(const cm_graph *graph);      /* "onnx", "config", "trace", "description", "named" */
const char      *cm_graph_description(const cm_graph *graph); /* one line that gives the same graph, NULL: none */
const char      *cm_graph_citation(const cm_graph *graph);    /* where a named model's definition is from, NULL: none */
int32_t          cm_graph_nodes(const cm_graph *graph);
const cm_node   *cm_graph_node(const cm_graph *graph, int32_t node);
int32_t          cm_graph_tensors(const cm_graph *graph);
const cm_tensor *cm_graph_tensor(const cm_graph *graph, int32_t tensor);
int32_t          cm_graph_nodes_read(const cm_graph *graph);  /* nodes in the source before folding and fusing */
int32_t          cm_graph_warnings(const cm_graph *graph);
const char      *cm_graph_warning(const cm_graph *graph, int32_t index);
int32_t          cm_graph_unsupported(const cm_graph *graph); /* operators whose cost or gradient is not known */
const char      *cm_graph_unsupported_name(const cm_graph *graph, int32_t index);
cm_optimizer     cm_graph_optimizer(const cm_graph *graph);   /* what was, or by default would be, used */
cm_precision     cm_graph_precision(const cm_graph *graph);
/* The precision a capture is predicted in unless another is asked for; CM_PRECISION_DEFAULT: the model leaves it open. */
cm_precision     cm_model_precision(const char *spec);
cm_loss          cm_graph_loss(const cm_graph *graph);
int64_t          cm_graph_seq(const cm_graph *graph);         /* tokens of a sample; 0: it reads no token ids */

cm_poly     cm_tensor_elements(const cm_tensor *tensor);
cm_poly     cm_tensor_bytes(const cm_tensor *tensor);
const char *cm_node_type(const cm_node *node); /* ONNX's name where ONNX has one: "Conv", "Attention" */
cm_class    cm_node_class(const cm_node *node);

/* Totals of a graph at a batch size. FLOP count a multiply and an add as two. */
typedef struct cm_totals {
    int64_t parameters;       /* trainable numbers, tied ones once */
    int64_t buffers;          /* numbers kept but not trained */
    double  flop[CM_PHASES][CM_CLASSES];
    double  read_bytes[CM_PHASES][CM_CLASSES];
    double  write_bytes[CM_PHASES][CM_CLASSES];
    int32_t nodes[CM_PHASES];
    double  peak_bytes;       /* most memory alive at once, from lifetimes alone: no allocator, no workspaces */
    int32_t peak_node;
} cm_totals;

void cm_graph_totals(const cm_graph *graph, int64_t batch, cm_totals *totals);

/* FLOP of matrix units (convolution, matrix product, attention, recurrent layers) in one phase: what frameworks'
   FLOP counters count and what utilisation is measured against. */
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
const char *cm_fuse_name(cm_fuse fuse);

/* A value by its name; CM_ERR_UNKNOWN, with the names there are, otherwise. */
cm_status cm_precision_parse(const char *name, cm_precision *precision, cm_diag *diag);
cm_status cm_optimizer_parse(const char *name, cm_optimizer *optimizer, cm_diag *diag);
cm_status cm_loss_parse(const char *name, cm_loss *loss, cm_diag *diag);
cm_status cm_recompute_parse(const char *name, cm_recompute *recompute, cm_diag *diag);
cm_status cm_attention_parse(const char *name, cm_attention *attention, cm_diag *diag);
cm_status cm_fuse_parse(const char *name, cm_fuse *fuse, cm_diag *diag);

/* ---- runtimes ---------------------------------------------------------------------------------------------------- */

/* What feeds a device: decides which kernels run, and what the host spends on them. */
typedef enum cm_runtime {
    CM_RUNTIME_DEFAULT, /* torch-eager on what PyTorch launches kernel by kernel, native elsewhere */
    CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON, CM_RUNTIME_NATIVE, CM_RUNTIMES
} cm_runtime;

/* How an operator's time was found, best first. */
typedef enum cm_how { CM_HOW_MEASURED, CM_HOW_INTERPOLATED, CM_HOW_TRANSFERRED, CM_HOW_ROOFLINE, CM_HOWS } cm_how;

const char *cm_how_name(cm_how how);
const char *cm_runtime_name(cm_runtime runtime);
cm_status   cm_runtime_parse(const char *name, cm_runtime *runtime, cm_diag *diag);

/* ---- devices and clusters --------------------------------------------------------------------------------------- */

/* A number that says where it is from. Unknown: known is false, value NAN, the texts NULL. docs/profiles.md. */
typedef struct cm_number {
    double      value;
    bool        known;
    const char *unit;   /* SI without prefixes: "FLOP/s", "B", "B/s", "s", "W", "Hz"; "1": a count or ratio */
    const char *kind;   /* "spec", "measured", "fitted", "published" or "assumed" */
    const char *source; /* a key of the profile's sources, see cm_device_source() */
    const char *date;   /* its own, or its source's; NULL: neither has one */
    const char *note;   /* NULL: none */
} cm_number;

typedef struct cm_source {
    const char *key, *title, *where, *date;
} cm_source;

/* How a device runs a graph. */
typedef enum cm_style {
    CM_STYLE_KERNELS,   /* one operator after the other: GPUs, HPUs, TPUs, CPUs */
    CM_STYLE_SECTIONS,  /* parts of the graph laid out on the chip, one part after the other: RDUs */
    CM_STYLE_BSP,       /* everything on the chip, compute and exchange in turn: IPUs */
    CM_STYLE_STREAMING, /* activations on the chip, weights streamed through layer by layer: wafers */
    CM_STYLES
} cm_style;

typedef struct cm_device_info {
    const char *id, *name, *vendor;
    const char *base;              /* NULL: none */
    const char *device_class;      /* "gpu", "rdu", "ipu", "wse", "hpu", "lpu", "tpu", "npu", "cpu" */
    const char *unit;              /* what one device is: "card", "chip" ...; NULL: not told */
    const char *core_name;         /* NULL: not told */
    const char *released, *availability; /* NULL: not told */
    cm_style    style;
    bool        training, inference; /* what it can do */
} cm_device_info;

typedef enum cm_quantity {
    CM_CORES, CM_CLOCK_HZ, CM_ONCHIP_WEIGHT, CM_LAUNCH_S, CM_COMPILE_S, CM_TDP_W, CM_TYPICAL_W, CM_IDLE_W,
    CM_BYTE_J, CM_QUANTITIES
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
    bool            cache;    /* filled by hardware; otherwise by the program */
    bool            per_core; /* split among the cores; otherwise shared by them */
    cm_number       capacity_bytes, bw_bytes_s; /* of the whole device */
} cm_memory;

/* The five kinds of data whose memory is told apart. */
typedef enum cm_category {
    CM_CATEGORY_INPUT_OUTPUT, CM_CATEGORY_WEIGHTS_BIASES, CM_CATEGORY_GRADIENTS, CM_CATEGORY_ALGORITHM,
    CM_CATEGORY_EPHEMERAL, CM_CATEGORIES
} cm_category;
typedef struct cm_placement {
    int32_t memory; /* -1: not told */
    bool    replicated, streamed;
} cm_placement;

typedef enum cm_reach { CM_REACH_HOST, CM_REACH_BOARD, CM_REACH_NODE, CM_REACH_NETWORK, CM_REACHES } cm_reach;
typedef struct cm_link {
    const char *name;
    cm_reach    reach;
    cm_number   bw_bytes_s; /* one direction; per device, or per node in a cluster's network */
    cm_number   latency_s;
    int32_t     devices;    /* most that one such link domain joins, 0: not told */
} cm_link;

typedef struct cm_collective {
    const char *op, *algorithm; /* "all-reduce", "ring" */
    int32_t     devices;
    cm_number   latency_s, bw_bytes_s; /* bus bandwidth */
} cm_collective;

/* On what terms a price holds. Prices of different bases are never compared unless CM_BASIS_ANY is asked for. */
typedef enum cm_basis {
    CM_BASIS_ON_DEMAND,    /* a provider's list price */
    CM_BASIS_SPOT,         /* may be interrupted */
    CM_BASIS_MARKETPLACE,  /* third parties rent out their own machines */
    CM_BASIS_SUBSCRIPTION, /* reserved for months or years */
    CM_BASIS_PAPER,        /* a figure that a publication used; nobody offers it */
    CM_BASIS_ANY,          /* the lowest of these, a paper's only where there is no other */
    CM_BASES
} cm_basis;

const char *cm_basis_name(cm_basis basis); /* "on-demand", "spot", "marketplace", "subscription", "paper", "any" */
cm_status   cm_basis_parse(const char *name, cm_basis *basis, cm_diag *diag);

typedef struct cm_price {
    const char *provider, *basis, *date, *source, *note; /* basis: a name of cm_basis */
    double      usd_hour;                                /* per device */
} cm_price;

typedef struct cm_parameter {
    const char   *name;
    const double *values;
    int32_t       count;
} cm_parameter;

/* A fitted operator model. Errors are fractions, cross-validated. */
typedef struct cm_fit {
    const char         *op, *pass, *dtype, *runtime, *form;
    const cm_parameter *parameters;
    int32_t             n_parameters, n; /* n: rows it was fitted on */
    double              mape, bias, p90;
    const char         *source, *date, *note;
} cm_fit;

typedef struct cm_device cm_device;

/* The built-in devices, by id. */
int32_t     cm_devices(void);
const char *cm_device_id(int32_t index); /* NULL: no such index */

/*
 * A device by its id (letters of either case, '_' or '-'), by the path of a profile (it has a '/' or ends in ".json"),
 * or "this-machine". A profile of the user's is checked in full.
 */
cm_status cm_device_load(const char *name_or_path, cm_device **device, cm_diag *diag);
/* Faster, for lists: identity, peaks, memories, power and prices alone; of a built-in device without their sources. */
cm_status cm_device_load_brief(const char *name_or_path, cm_device **device, cm_diag *diag);
void      cm_device_free(cm_device *device);

const cm_device_info *cm_device_get_info(const cm_device *device);
cm_number             cm_device_number(const cm_device *device, cm_quantity quantity);
cm_number             cm_device_peak(const cm_device *device, cm_engine engine, cm_rate rate);
cm_number             cm_device_flop_energy(const cm_device *device, cm_rate rate); /* J/FLOP of products */
cm_number             cm_device_peak_16bit(const cm_device *device); /* in the better of bf16 and fp16 */
/* Whether the device has units for a precision and its peak in it is known; whether a runtime is there for it. */
bool                  cm_device_supports(const cm_device *device, cm_precision precision);
bool                  cm_device_supports_runtime(const cm_device *device, cm_runtime runtime);
cm_runtime            cm_device_runtime(const cm_device *device); /* what CM_RUNTIME_DEFAULT means for it */
/* CM_ERR_UNSUPPORTED, with what the device has instead, where it lacks the precision or the runtime; CM_OK otherwise.
   Defaults are never refused. */
cm_status             cm_device_refusal(const cm_device *device, cm_precision precision, cm_runtime runtime,
                                        cm_diag *diag);
cm_precision          cm_device_best_16bit(const cm_device *device); /* CM_PRECISION_BF16, _FP16 or _DEFAULT: none */
cm_precision          cm_device_usual_precision(const cm_device *device); /* that most models are trained in there */
int32_t               cm_device_memories(const cm_device *device);   /* nearest to the cores first */
const cm_memory      *cm_device_memory(const cm_device *device, int32_t index);
const cm_memory      *cm_device_main_memory(const cm_device *device); /* of weights, or activations */
/* Bytes a runtime holds for good: "context" (driver and framework), "library" (workspaces of matrix products). */
cm_number             cm_device_reserve(const cm_device *device, cm_runtime runtime, const char *what);
cm_placement          cm_device_placement(const cm_device *device, cm_category category);
const cm_link        *cm_device_host_link(const cm_device *device);  /* NULL: not told */
int32_t               cm_device_links(const cm_device *device);
const cm_link        *cm_device_link(const cm_device *device, int32_t index);
int32_t               cm_device_collectives(const cm_device *device);
const cm_collective  *cm_device_collective(const cm_device *device, int32_t index);
int32_t               cm_device_prices(const cm_device *device);
const cm_price       *cm_device_price(const cm_device *device, int32_t index);
/* The lowest price of a basis, of providers whose name contains `provider` (NULL: all); NULL: no such price. */
const cm_price       *cm_device_cheapest(const cm_device *device, cm_basis basis, const char *provider);
bool                  cm_device_has_alias(const cm_device *device, const char *name); /* of tables of timings */
bool                  cm_device_runs(const cm_device *device, const char *operator_name); /* false: its maker says no */
int32_t               cm_device_batches(const cm_device *device);    /* 0: any batch size */
int64_t               cm_device_batch(const cm_device *device, int32_t index);
int32_t               cm_device_fits(const cm_device *device);
const cm_fit         *cm_device_fit(const cm_device *device, int32_t index);
const cm_source      *cm_device_source(const cm_device *device, const char *key); /* NULL: none */
const char           *cm_device_profile(cm_device *device); /* with its bases merged in, as JSON; NULL: no memory */

typedef struct cm_cluster_info {
    const char *id, *name, *device, *host_name; /* device: an id for cm_device_load(); host_name NULL: not told */
    cm_number   devices_per_node, nodes, host_cores, host_memory_bytes;
} cm_cluster_info;

typedef struct cm_cluster cm_cluster;

int32_t                cm_clusters(void);
const char            *cm_cluster_id(int32_t index);
cm_status              cm_cluster_load(const char *name_or_path, cm_cluster **cluster, cm_diag *diag);
void                   cm_cluster_free(cm_cluster *cluster);
const cm_cluster_info *cm_cluster_get_info(const cm_cluster *cluster);
int32_t                cm_cluster_tiers(const cm_cluster *cluster); /* nearest first */
const cm_link         *cm_cluster_tier(const cm_cluster *cluster, int32_t index);
int32_t                cm_cluster_collectives(const cm_cluster *cluster);
const cm_collective   *cm_cluster_collective(const cm_cluster *cluster, int32_t index);
const cm_source       *cm_cluster_source(const cm_cluster *cluster, const char *key);
const char            *cm_cluster_profile(cm_cluster *cluster); /* as JSON; NULL: no memory */

/* What joins devices of one kind: their own links inside of a node, and between nodes a cluster's network. */
typedef struct cm_fabric cm_fabric;

/* `cluster`: an id, a profile's path, "node=8,net=800Gb" (devices in a node, bits a second of a node), or NULL: a
   built-in cluster of this device, or one node. The device must outlive it. */
cm_status cm_fabric_new(const cm_device *device, const char *cluster, cm_fabric **fabric, cm_diag *diag);
void      cm_fabric_free(cm_fabric *fabric);
int32_t   cm_fabric_node(const cm_fabric *fabric); /* devices in one node */
int32_t   cm_fabric_devices(const cm_fabric *fabric); /* of the cluster that was named; 0: not limited, or not known */
bool      cm_fabric_joins_nodes(const cm_fabric *fabric); /* false: what joins several is not known */
double    cm_fabric_link_bytes_s(const cm_fabric *fabric); /* of a device's links inside of a node, one direction */
/* One collective ("all-reduce", "all-gather" ...) of a buffer among neighbouring devices; NAN: no such collective. */
double      cm_fabric_time(const cm_fabric *fabric, const char *collective, int32_t devices, double bytes);
const char *cm_collective_name(int32_t index); /* NULL: there are no more */
/* Bytes that pass a device's link one way, of each byte of the buffer; NAN: no such collective. */
double      cm_collective_bus_part(const char *collective, int32_t devices);

typedef struct cm_profile_summary {
    char    id[64];
    bool    cluster, abstract; /* neither: a device */
    int32_t numbers, sources;
} cm_profile_summary;

/* Check a user's file, of a device, a family of devices or a cluster. */
cm_status cm_profile_check(const char *path, cm_profile_summary *summary, cm_diag *diag);

const char *cm_style_name(cm_style style);
const char *cm_rate_name(cm_rate rate);
const char *cm_category_name(cm_category category);
const char *cm_reach_name(cm_reach reach);

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* How a step is spread over devices. Zeroed: one device, its whole batch at once. A count of 0 means 1. */
typedef struct cm_plan {
    int32_t      devices;    /* 0: tp * cp * pp * dp */
    int32_t      tp, pp, dp; /* tensor, pipeline and data parallel; dp 0: what devices leaves */
    int32_t      zero;       /* what data-parallel devices share: 0 nothing, 1 states, 2 gradients too, 3 weights too */
    int32_t      interleave; /* pieces of the model per pipeline stage */
    int32_t      ep;         /* expert parallel: of the replicas, that share experts among them */
    int32_t      cp;         /* context parallel: devices that share a sequence's tokens */
    bool         sequence_parallel; /* tensor-parallel devices share the tokens of what each would do whole */
    bool         gpipe;      /* all micro-batches forward, then all backward; otherwise one forward, one backward */
    bool         asynchronous; /* replicas exchange gradients for weights with a server, not waiting for each other */
    double       gradient_bits, gradient_part; /* sent of each gradient, and of all of them: 0, 0: as they are, all */
    bool         overlap;    /* gradients are summed while backward runs, also by runtimes that would wait */
    bool         offload_optimizer, offload_activations, offload_weights; /* to the host's memory */
    int64_t      micro_batch, global_batch; /* samples; 0: the other one and the counts give it */
    int32_t      accumulate; /* micro-batches per update */
    cm_recompute recompute;
} cm_plan;

typedef struct cm_memory_options {
    cm_runtime runtime;
    cm_plan    plan;
} cm_memory_options;

typedef struct cm_level_use {
    int32_t memory;                      /* of cm_device_memory() */
    double  capacity_bytes, used_bytes;  /* capacity NAN: not known */
} cm_level_use;

#define CM_LEVELS_MAX 8

/* Memory of one device at one batch size. */
typedef struct cm_memory_use {
    double       peak_bytes;                /* most that is allocated at once: the sum of the categories */
    double       categories[CM_CATEGORIES]; /* then */
    int32_t      peak_node;                 /* -1: the graph is empty */
    double       reserved_bytes;            /* what the runtime's allocator holds for it */
    double       context_bytes;             /* driver and framework, beside it; 0 where nobody says */
    cm_level_use levels[CM_LEVELS_MAX];     /* those that programs fill, nearest first */
    int32_t      n_levels;
    bool         fits;
    double       shortfall_bytes;           /* of the level that lacks most; 0: it fits */
    int64_t      micro_batch;               /* samples that one device runs at once: what the numbers above are of */
    int32_t      devices;                   /* that share one copy of the model */
    bool         recomputes;                /* the device computes activations again in backward to make them fit */
} cm_memory_use;

/* A step on a device under a plan, for any batch size. Graph and device must outlive it. */
typedef struct cm_footprint cm_footprint;

cm_status cm_footprint_new(const cm_graph *step, const cm_device *device, const cm_memory_options *options,
                           cm_footprint **footprint, cm_diag *diag);
void      cm_footprint_free(cm_footprint *footprint);

/* By polynomials, in microseconds. `batch` is what one device runs at once: a micro-batch where there are several. */
void cm_footprint_at(const cm_footprint *footprint, int64_t batch, cm_memory_use *use);
/* Every allocation of three steps through the runtime's allocator, in milliseconds. Where that does not fit into the
   device, shortfall_bytes says what it lacks. */
cm_status cm_footprint_simulate(const cm_footprint *footprint, int64_t batch, cm_memory_use *use, cm_diag *diag);

/* The largest tensors alive at a node, largest first; returns how many were written. */
typedef struct cm_alive {
    int32_t     tensor;
    cm_category category;
    double      bytes;
} cm_alive;
int32_t cm_footprint_alive(const cm_footprint *footprint, int64_t batch, int32_t node, cm_alive *alive, int32_t most);

cm_plan    cm_footprint_plan(const cm_footprint *footprint);    /* with every count filled in */
cm_runtime cm_footprint_runtime(const cm_footprint *footprint);

typedef enum cm_objective {
    CM_OBJECTIVE_THROUGHPUT, /* the smallest batch size within 2 % of the highest; where no throughput is known, memory */
    CM_OBJECTIVE_MEMORY,     /* least memory left unused, by equation (5) of Xie et al. 2024 */
    CM_OBJECTIVES
} cm_objective;

/* Options of cm_batch_choose(). */
typedef struct cm_batch_options {
    cm_objective   objective;
    const int64_t *candidates; /* NULL: the device's own, or powers of two */
    int32_t        n_candidates;
    bool           any;        /* any whole number: `candidates` is not looked at */
    double (*throughput)(void *user, int64_t batch); /* samples/s; NULL: not known */
    void          *user;
} cm_batch_options;

typedef struct cm_batch_candidate {
    int64_t batch;
    bool    fits;
    double  objective;            /* of equation (5), in bytes^2: smaller is better; NAN: does not fit */
    double  throughput_samples_s; /* NAN: not known */
    double  peak_bytes;
} cm_batch_candidate;

#define CM_CANDIDATES_MAX 64

typedef struct cm_batch_choice {
    int64_t            batch;     /* 0: nothing fits */
    cm_batch_candidate candidates[CM_CANDIDATES_MAX];
    int32_t            n_candidates;
} cm_batch_choice;

/* Over the candidates that fit: equation (5) of Xie et al. 2024 (docs/model.md), or the smallest batch size whose
   throughput is within 2 % of the highest. */
cm_status cm_batch_choose(const cm_footprint *footprint, const cm_batch_options *options, cm_batch_choice *choice,
                          cm_diag *diag);

const char *cm_objective_name(cm_objective objective);
cm_status   cm_objective_parse(const char *name, cm_objective *objective, cm_diag *diag);

/* ---- models of operators from timings ---------------------------------------------------------------------------- */

/* One operator of one device, library, pass and type. Errors are fractions. */
typedef struct cm_fit_class {
    const char *device, *runtime, *op, *pass, *dtype;
    int32_t     n;
    double      mape, bias, p90;
    double      measured_s, off_s; /* sums over the rows: their times, how far the predictions are off; 0: not known */
} cm_fit_class;

typedef struct cm_fit_options {
    const char *device; /* whose ceilings hold; NULL: by the rows' own device names, or the best the rows show */
    bool        check;  /* hold the profile's models against the rows instead of fitting new ones */
    void (*progress)(void *user, int32_t done, int32_t total, const char *what); /* NULL: none */
    void *user;
} cm_fit_options;

typedef struct cm_fitting cm_fitting;

/* Read a CSV file of timings (docs/fitting.md) and fit, or check. Errors of a fit are those on rows left out of it. */
cm_status           cm_fitting_run(const char *path, const cm_fit_options *options, cm_fitting **fitting,
                                   cm_diag *diag);
/* A device's own kernel tables: every row against what the others of its table say of it. */
cm_status           cm_fitting_check_tables(const cm_device *device, cm_fitting **fitting, cm_diag *diag);
/* A CSV file of calls (`call`, as "gemm forward nt bf16 1,64,64,64") and their times (`latency_ms`), held against how
   `predict` times them: by the device's tables, a relative's, or its ceilings. */
cm_status           cm_fitting_check_calls(const cm_device *device, const char *path, cm_runtime runtime,
                                           cm_fitting **fitting, cm_diag *diag);
void                cm_fitting_free(cm_fitting *fitting);
int32_t             cm_fitting_classes(const cm_fitting *fitting);
const cm_fit_class *cm_fitting_class(const cm_fitting *fitting, int32_t index);
const char         *cm_fitting_profile(const cm_fitting *fitting); /* JSON; NULL: a check, or not one known device */
int32_t             cm_fitting_skipped(const cm_fitting *fitting, const char **first); /* rows there is no form for */

/* ---- how long a step takes -------------------------------------------------------------------------------------- */

typedef enum cm_layout { CM_LAYOUT_AUTO, CM_LAYOUT_NCHW, CM_LAYOUT_NHWC, CM_LAYOUTS } cm_layout; /* of images */

/* Where a step's samples come from. Zeroed: they are on the device already. */
typedef struct cm_loading_options {
    bool        on;      /* samples are loaded even if no dataset is named: as many bytes as the model's inputs have */
    const char *dataset; /* "imagenet", "openwebtext", "files:FOLDER", "bytes=N,decode=S,samples=N,begin=S";
                            docs/loading.md */
    const char *host;    /* an id of data/hosts.tsv; NULL: the device's profile, or the host its kind usually has */
    int64_t     workers; /* processes that load beside the step, a core each; 0: the host's cores per device; -1: none,
                            the step waits */
} cm_loading_options;

/* Weights of dense layers that were pruned: a part of them anywhere, or two of every four. Devices that do not make use
   of it run as if they were all there. */
typedef struct cm_sparsity {
    double pruned; /* 0 to below 1 */
    bool   structured;
} cm_sparsity;

typedef struct cm_predict_options {
    int64_t    batch;   /* of one replica; 0: 1 */
    cm_runtime runtime;
    cm_layout  layout;  /* auto: channels last for colour images in 16 bits */
    cm_sparsity sparsity;
    cm_loading_options loading;
    int32_t    steps_per_call; /* that a device which runs whole graphs makes for one call of its host; 0: 1 */
    cm_plan    plan;    /* several devices: the step is one iteration of the global batch */
    const cm_fabric *fabric; /* that joins them; may be NULL where the plan has one device */
    bool       sensitivities; /* also what would make it faster: cm_prediction_sensitivity() */
} cm_predict_options;

/* What is known of how a step's samples are loaded. Times are of one step. */
typedef struct cm_loading_info {
    const char *dataset, *host; /* NULL: nothing is loaded */
    int64_t     workers;
    double      read_s, prepare_s, copy_s; /* from storage; decoded and batched; to the device */
    double      epoch_samples;  /* NAN: not known */
} cm_loading_info;

typedef struct cm_prediction_info {
    int64_t    batch;
    cm_runtime runtime;
    cm_layout  layout;
    double     step_time_s, interval_s[2]; /* nine of ten measured steps are expected within */
    double     device_time_s;              /* sum over its kernels */
    double     host_time_s;                /* what the host spends to launch them */
    double     throughput_samples_s, mfu;  /* mfu: of the peak of the precision used; NAN: not known */
    double     share[CM_HOWS];             /* of device time, by how it was found */
    cm_style   style;
    int32_t    devices;                    /* that one copy of the model takes: more than 1 where one cannot hold it */
    int64_t    micro_batch;                /* samples on a device at once; the batch is a multiple, or less */
    bool       recomputes;                 /* the device computes activations again in backward to make them fit */
    double     launches;                   /* kernels, sections, supersteps or layers in a step, by style */
    double     clock;                      /* of the full clock, that the power limit leaves */
    double     phase_s[CM_PHASES];
    double     compute_s;                  /* the step where its samples are there already */
    double     load_s, overlapped_s;       /* to load a step's samples; what of it passes while the device computes */
    double     latency_s;                  /* of inference alone, from the batch at the host to its result there; NAN */
    double     compile_s;                  /* before the first step; NAN: not known */
    cm_sparsity sparsity;
    bool       sparsity_used;              /* the device makes use of it */
    cm_loading_info loading;
    cm_plan    plan;                       /* with every count filled in */
    double     tensor_s, pipeline_s, data_s; /* communication: between devices of a layer, stages, replicas */
    double     hidden_s;                   /* of all that, behind computing */
    double     bubble_s;                   /* the slowest stage waits for the others, once per iteration */
} cm_prediction_info;

/* One call to the device. */
typedef struct cm_op_time {
    int32_t     node;   /* of the step's graph */
    const char *call;   /* "gemm forward nt-bias bf16 1,8192,3072,768": a case that the benchmarks take */
    double      time_s, flop, bytes, launches;
    cm_how      how;
} cm_op_time;

/* What the step would take if one thing were better by a factor: more of it, or, of times, less. */
typedef struct cm_sensitivity {
    const char *what; /* "memory bandwidth" */
    double      factor, step_time_s;
} cm_sensitivity;

typedef struct cm_prediction cm_prediction;

/* The time of a step (or of a forward pass made for inference). The graph must have been loaded and trained as
   cm_step_settle() says; cm_step_new() does all of this. It must outlive the prediction. */
cm_status cm_predict(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                     cm_prediction **prediction, cm_diag *diag);
void                      cm_prediction_free(cm_prediction *prediction);
const cm_prediction_info *cm_prediction_get_info(const cm_prediction *prediction);
int32_t                   cm_prediction_ops(const cm_prediction *prediction);
const cm_op_time         *cm_prediction_op(const cm_prediction *prediction, int32_t index);
/* Calls that no table of the device has, each once, longest first; time_s and launches are of all runs in a step. */
int32_t                   cm_prediction_missing(const cm_prediction *prediction);
const cm_op_time         *cm_prediction_missing_call(const cm_prediction *prediction, int32_t index);
/* The same as a file of cases that the benchmarks take, JSON; NULL: no memory. It belongs to the prediction. */
const char               *cm_prediction_cases(cm_prediction *prediction);
/* What helps at all, most first; none unless asked for. */
int32_t                   cm_prediction_sensitivities(const cm_prediction *prediction);
const cm_sensitivity     *cm_prediction_sensitivity(const cm_prediction *prediction, int32_t index);

/* The same for many batch sizes of one step: exact where the batch is a power of two, by neighbouring ones between.
   Graph and device must outlive it. */
typedef struct cm_predictor cm_predictor;

cm_status cm_predictor_new(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                           cm_predictor **predictor, cm_diag *diag);
void      cm_predictor_free(cm_predictor *predictor);
cm_status cm_predictor_at(cm_predictor *predictor, int64_t batch, cm_prediction_info *info, cm_diag *diag);

/* ---- one question, one answer ------------------------------------------------------------------------------------ */

/* A model on a device: everything that decides what a step computes and how it runs. Zeroed: the usual choices. */
typedef struct cm_step_options {
    cm_load_options    load;    /* `fuse` left at CM_FUSE_ALL: what the runtime runs as one kernel becomes one operator */
    cm_train_options   train;   /* precision default: that of a captured model, or what is usual on the device */
    cm_runtime         runtime;
    cm_layout          layout;
    cm_sparsity        sparsity;
    cm_loading_options loading;
    int32_t            steps_per_call;
    cm_plan            plan;    /* its recompute and that of `train` are one setting: the stronger one holds */
    const cm_fabric   *fabric;  /* what joins the devices of the plan; NULL where it has one device */
} cm_step_options;

/* Replace every choice that was left open by the one that all commands make. Fails where the device cannot run what was
   asked for. `model` may be NULL: its own precision is then not looked at. */
cm_status cm_step_settle(const char *model, const cm_device *device, cm_step_options *options, cm_diag *diag);

/* A training step (or a forward pass) of one model on one device. Use it from one thread at a time. */
typedef struct cm_step cm_step;

/* `model` as cm_graph_load() takes it. The device, and the fabric where there is one, must outlive the step. */
cm_status cm_step_new(const char *model, const cm_device *device, const cm_step_options *options, cm_step **step,
                      cm_diag *diag);
/* The same of a forward graph, loaded as the settled options say, which must outlive the step. */
cm_status cm_step_new_from(const cm_graph *forward, const cm_device *device, const cm_step_options *options,
                           cm_step **step, cm_diag *diag);
void                   cm_step_free(cm_step *step);
const cm_step_options *cm_step_get_options(const cm_step *step); /* with every open choice settled */
const cm_graph        *cm_step_forward(const cm_step *step);
const cm_graph        *cm_step_graph(const cm_step *step);       /* what is predicted: forward, backward, update */
const cm_footprint    *cm_step_footprint(const cm_step *step);

/* Memory of one device, and whether the step fits: the one rule that every command follows. `batch` is of one replica;
   a plan with its own batch sizes ignores it. */
cm_status cm_step_memory(cm_step *step, int64_t batch, cm_memory_use *use, cm_diag *diag);
/* Time without a list of kernel calls; the same numbers as cm_step_predict(). */
cm_status cm_step_time(cm_step *step, int64_t batch, cm_prediction_info *info, cm_diag *diag);
cm_status cm_step_predict(cm_step *step, int64_t batch, bool sensitivities, cm_prediction **prediction, cm_diag *diag);
/* Batch sizes of one replica; the throughput of the options is not looked at. choice->batch 0: nothing fits. */
cm_status cm_step_choose_batch(cm_step *step, const cm_batch_options *options, cm_batch_choice *choice, cm_diag *diag);
/* The batch size that a command uses where none was given; 0: not even one sample fits. */
cm_status cm_step_usual_batch(cm_step *step, int64_t *batch, cm_diag *diag);

const char *cm_layout_name(cm_layout layout);
cm_status   cm_layout_parse(const char *name, cm_layout *layout, cm_diag *diag);

/* ---- which plan ------------------------------------------------------------------------------------------------- */

typedef enum cm_plan_goal {
    CM_PLAN_GOAL_THROUGHPUT,
    CM_PLAN_GOAL_COST,
    CM_PLAN_GOAL_ENERGY,
    CM_PLAN_GOAL_DEVICES,
    CM_PLAN_GOALS
} cm_plan_goal;

const char *cm_plan_goal_name(cm_plan_goal goal);
cm_status   cm_plan_goal_parse(const char *name, cm_plan_goal *goal, cm_diag *diag);

typedef struct cm_search_progress {
    uint64_t done, total; /* plans */
    double   best_step_s; /* NAN: nothing fits so far */
} cm_search_progress;

typedef struct cm_search_options {
    int32_t          devices;      /* goals other than throughput may use fewer: any divisor */
    int64_t          global_batch; /* samples of an update */
    cm_plan_goal     goal;
    double           tokens, within_s; /* of the whole training, and the time it may take; 0: as long as it takes */
    cm_basis         price_basis;
    cm_runtime       runtime;
    const cm_fabric *fabric;
    int32_t          threads; /* 0: one per core */
    cm_train_options train;   /* recompute is searched */
    void (*progress)(void *user, const cm_search_progress *progress); /* NULL: none */
    void            *user;
    const volatile bool *stop; /* set by anybody: the best so far is the answer; NULL: never */
} cm_search_options;

typedef struct cm_found {
    cm_plan plan;
    double  step_time_s, interval_s[2];     /* nine of ten measured iterations are expected within */
    double  throughput_samples_s, mfu, peak_bytes;
    double  communication_s, bubble_s;
    double  training_s, cost_usd, energy_j; /* of all tokens, or of one iteration; NAN: not known */
    bool    pareto;                         /* no other one found is both faster and smaller */
} cm_found;

typedef struct cm_search_info {
    uint64_t evaluated, feasible;
    double   setup_s, search_time_s;
    int32_t  threads, ranks;
    bool     stopped, speaks; /* stopped before the end; speaks false: another rank prints */
    const char *reason;       /* why nothing was found; NULL: something was */
} cm_search_info;

typedef struct cm_search cm_search;

/* All plans of a model on so many devices, best first. `forward` was loaded as cm_predict() asks. With mpirun each rank
   searches a share, and all have the answer. */
cm_status             cm_search_run(const cm_graph *forward, const cm_device *device, const cm_search_options *options,
                                    cm_search **search, cm_diag *diag);
void                  cm_search_free(cm_search *search);
const cm_search_info *cm_search_get_info(const cm_search *search);
int32_t               cm_search_found(const cm_search *search); /* 0: none, and the info has the reason */
const cm_found       *cm_search_best(const cm_search *search, int32_t index);

/* ---- which accelerator ------------------------------------------------------------------------------------------ */

/* What is best. All but throughput need a price, a power or a job. */
typedef enum cm_goal {
    CM_GOAL_THROUGHPUT, /* samples per second and device */
    CM_GOAL_PRICE,      /* samples per dollar */
    CM_GOAL_ENERGY,     /* joules per sample */
    CM_GOAL_TIME,       /* hours of the whole job */
    CM_GOAL_COST,       /* dollars of the whole job, porting with it */
    CM_GOALS
} cm_goal;

const char *cm_goal_name(cm_goal goal);
const char *cm_goal_unit(cm_goal goal);   /* of cm_rank_entry.value */
bool        cm_goal_is_less(cm_goal goal); /* less is better */
cm_status   cm_goal_parse(const char *name, cm_goal *goal, cm_diag *diag);

/* A price that the asker knows better. */
typedef struct cm_rank_price {
    const char *device;
    double      usd_hour;
} cm_rank_price;

/* Options of cm_rank(). What is 0 or NULL is not asked for. */
typedef struct cm_rank_options {
    cm_load_options      load;  /* what operators become one follows the runtime */
    cm_train_options     train; /* precision default: what is usual on each device */
    cm_runtime           runtime;
    cm_layout            layout;
    cm_loading_options   loading; /* a data set that has a known number of samples is also the job's epoch */
    int64_t              batch; /* 0: each device's best: the smallest within 2 % of the highest throughput */
    cm_goal              goal;
    const char          *devices;  /* ids or files joined by commas; NULL or "all": all built-in ones that can */
    const char          *baseline; /* what others are told in relation to, and ported from */
    const char          *vendor, *provider; /* provider: of prices; NULL: whoever is cheapest */
    cm_basis             price_basis;
    const char          *where;    /* "price<3,memory>80GB,class=gpu": all must hold */
    const cm_rank_price *prices;
    int32_t              n_prices;
    double               epochs;   /* 0: 1 */
    double               samples, tokens; /* of an epoch; one of them, or neither where a data set tells */
    double               max_hours, max_usd;
    double               port_hours, port_usd_hour; /* of a person who makes the model run elsewhere */
    int32_t              threads;  /* 0: one per core, at most 8 */
} cm_rank_options;

/* Why a device has no place in the order. */
typedef enum cm_rank_state {
    CM_RANK_PLACED,
    CM_RANK_NO_VALUE, /* the goal needs a number that is not known of it */
    CM_RANK_OVER,     /* more than max_hours or max_usd, or predicted numbers that `where` does not want */
    CM_RANK_NO_FIT,   /* one sample does not fit */
    CM_RANK_CANNOT    /* it does not run such a step */
} cm_rank_state;

/* One device. Unknown numbers are NAN. Intervals: nine of ten measured values are expected within. */
typedef struct cm_rank_entry {
    const cm_device   *device;
    cm_precision       precision;
    cm_rank_state      state;
    const char        *reason;        /* why it is not placed, and what would help; NULL where it is */
    bool               fits;
    cm_prediction_info prediction;    /* only where it fits */
    double             peak_bytes;
    double             price_hour;    /* of all prediction.devices */
    const cm_price    *price;         /* NULL: the asker's own (price_hour is known), or none */
    double             power_w;       /* of all prediction.devices; typical where told, the limit otherwise */
    double             samples_per_usd, energy_j_per_sample;
    double             hours, usd, kwh; /* of the job; usd without porting */
    double             value, interval[2]; /* of the goal */
    double             relative, relative_interval[2]; /* to the baseline, in its favour above 1; NAN: none asked */
    bool               tied_with_next; /* the intervals of the two overlap */
    bool               pareto;        /* nothing placed is both faster and cheaper */
    double             port_usd;      /* 0: runs as the baseline does */
    double             break_even_samples, break_even_hours; /* after which porting has paid, in hours of the baseline;
                                                                INFINITY: never */
    double             break_even_price_hour; /* at which it costs as much per sample as the baseline does */
} cm_rank_entry;

typedef struct cm_ranking_info {
    const char *model;
    cm_goal     goal;
    double      job_samples;      /* NAN: no job was told */
    double      tokens_per_sample; /* 0: samples are not sequences of tokens */
    const char *job;              /* the job in words; NULL: none */
    bool        job_assumed;      /* the goal needs a job and none was told */
    int32_t     left_out;         /* devices that vendor or `where` excludes */
    const cm_rank_entry *baseline; /* NULL: none */
} cm_ranking_info;

typedef struct cm_ranking cm_ranking;

/* All devices at each one's best batch size, best first; those without a place last. */
cm_status              cm_rank(const char *model, const cm_rank_options *options, cm_ranking **ranking, cm_diag *diag);
void                   cm_ranking_free(cm_ranking *ranking);
const cm_ranking_info *cm_ranking_get_info(const cm_ranking *ranking);
int32_t                cm_ranking_entries(const cm_ranking *ranking);
const cm_rank_entry   *cm_ranking_entry(const cm_ranking *ranking, int32_t index);
int32_t                cm_ranking_placed(const cm_ranking *ranking); /* the first so many have a place */
const cm_graph        *cm_ranking_graph(const cm_ranking *ranking, int32_t index); /* the step of an entry */

/* ---- mended by real steps --------------------------------------------------------------------------------------- */

typedef struct cm_calibration_row {
    const char *model;
    int64_t     batch;
    double      measured_s, before_s, after_s; /* before, after: as predicted without and with the new factors */
} cm_calibration_row;

typedef struct cm_calibration_change {
    const char *what; /* "calibration.matrix": a member of the profile */
    double      from, to;
} cm_calibration_change;

typedef struct cm_calibration cm_calibration;

/* Factors on a device's times from a CSV file of real steps (docs/calibrating.md). Errors are mean fractions. */
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

/* ---- held against results of others ------------------------------------------------------------------------------ */

typedef struct cm_validation_info {
    const char *set, *title, *metric, *where; /* metric NULL: each row has its own; where: the source */
} cm_validation_info;

/* What a row says of predictions. */
typedef enum cm_evidence {
    CM_EVIDENCE_UNSEEN,   /* no number of any profile was fitted to it, nor to its model on its device */
    CM_EVIDENCE_LEFT_OUT, /* its model was fitted to; it is predicted by a profile fitted without that model */
    CM_EVIDENCE_FITTED,   /* a profile's numbers were fitted to it: shown, never counted */
    CM_EVIDENCES
} cm_evidence;

typedef enum cm_row_kind {
    CM_ROW_FIGURE,
    CM_ROW_ORDER,         /* measured: pairs whose order the source states; predicted: those that come out so */
    CM_ROW_FITS           /* 1: it fitted, 0: out of memory */
} cm_row_kind;

typedef struct cm_validation_row {
    const char   *where;                    /* table and row of the source */
    const char   *model, *device, *setting; /* setting: how it was run, as far as the row says */
    const char   *metric, *unit;
    int32_t       devices;
    double        measured;
    const double *predicted;   /* by each predictor, in the order of the summaries; NAN: it has no answer */
    double        interval[2]; /* that the measured value is expected in, nine times of ten; NAN: none */
    const char   *reason;      /* why the first predictor has no answer; NULL: it has */
    const char   *compare;     /* rows of one comparison are one choice among devices; NULL: of none */
    const char   *note;        /* of its evidence: what was fitted to it, which model was left out, why it is doubted */
    cm_evidence   evidence;
    cm_row_kind   kind;
    int           better;      /* 1: more is better, -1: less, 0: neither */
    int           fits;        /* as predicted; -1: not asked */
    bool          ran;         /* false: it was out of memory */
} cm_validation_row;

/* One predictor on the rows it answers, without fitted ones; the first is Centimani's own. Errors are fractions. */
typedef struct cm_validation_summary {
    const char *predictor, *what;
    const char *device;               /* NULL: all */
    int32_t     n, equal;
    double      mape, accuracy, bias, p90, worst; /* accuracy: 1 - |error|, no less than 0, on average */
    double      median_factor;        /* between predicted and measured, either way: for what differs by factors; NAN */
    int32_t     within_two;           /* rows within a factor of two */
    int32_t     shared;               /* rows that the first predictor answers too; on these: */
    double      shared_accuracy, own_accuracy; /* this predictor's, the first one's; NAN: none */
    int32_t     inside, intervals;    /* measured values inside their interval, of those that have one */
    int32_t     decisions;            /* choices among devices; of these: */
    double      top1, regret, tau;    /* best one chosen, throughput lost by the choice, Kendall's tau; NAN: none */
    int32_t     pairs, pairs_right;   /* of devices whose order the source states */
    int32_t     false_oom, missed_oom; /* ran but was not expected to fit; the other way round */
} cm_validation_summary;

typedef struct cm_validation cm_validation; /* one set; its scoreboard's */
typedef struct cm_scoreboard cm_scoreboard;

/* Hold a set, by its name or its file, against predictions; NULL or "all": every built-in set. */
cm_status            cm_scoreboard_run(const char *set, cm_scoreboard **scoreboard, cm_diag *diag);
void                 cm_scoreboard_free(cm_scoreboard *scoreboard);
int32_t              cm_scoreboard_sets(const cm_scoreboard *scoreboard);
const cm_validation *cm_scoreboard_set(const cm_scoreboard *scoreboard, int32_t index);

cm_validation_info           cm_validation_get_info(const cm_validation *validation);
int32_t                      cm_validation_rows(const cm_validation *validation);
const cm_validation_row     *cm_validation_get_row(const cm_validation *validation, int32_t index);
int32_t                      cm_validation_summaries(const cm_validation *validation);
const cm_validation_summary *cm_validation_summary_of(const cm_validation *validation, int32_t index);
/* The same by device: all predictors on the first device, then on the next. */
int32_t                      cm_validation_device_summaries(const cm_validation *validation);
const cm_validation_summary *cm_validation_device_summary(const cm_validation *validation, int32_t index);
int32_t                      cm_validation_notes(const cm_validation *validation);
const char                  *cm_validation_note(const cm_validation *validation, int32_t index);
const char                  *cm_evidence_name(cm_evidence evidence);

/* ---- measuring a machine ----------------------------------------------------------------------------------------- */

typedef struct cm_bench_progress {
    int32_t     done, total;        /* cases */
    double      elapsed_s, left_s;  /* left_s NAN: not yet known */
    const char *what;               /* the case that runs now */
} cm_bench_progress;

/* Options of cm_bench_run(). */
typedef struct cm_bench_options {
    const char    *backend;  /* "cpu", "cuda" or "null"; NULL: the first that opens of cuda and cpu */
    const char    *suites;   /* names joined by commas; NULL: all that one process can measure */
    const char    *only;     /* a case's name, or a pattern with '*'; NULL: all */
    const char    *cases;    /* a JSON file of calls to measure instead of suites; NULL: none */
    const char    *model;    /* measure the operators of one step of this model instead; NULL: none */
    const char    *journal;  /* what is measured is kept there until all is; NULL: nowhere */
    const char    *storage;  /* a folder or a file whose storage `host` reads; NULL: where temporary files are */
    const char    *id;       /* of the profile; NULL: made of the device's name */
    cm_load_options  load;   /* of the model */
    cm_train_options train;
    int64_t        batch;    /* of the model; 0: 1 */
    int64_t        scale;    /* divides the batch sizes of `primitives`; 0: 1 */
    int64_t        budget_s; /* 0: as long as it takes */
    int64_t        threads;  /* 0: one per core */
    int64_t        device;   /* of several, counted from 1; 0: the first */
    bool           cold;     /* operands outside all caches */
    bool           search;   /* the fastest of a library's algorithms instead of the usual one */
    bool           list;     /* what would be measured, unmeasured */
    void (*progress)(void *user, const cm_bench_progress *progress); /* NULL: none */
    void *user;
} cm_bench_options;

/* One case. Unknown numbers are NAN. */
typedef struct cm_bench_result {
    const char    *name;                     /* "gemm/forward/nt/fp32/1x64x1760x1760" */
    const char    *op, *pass, *variant, *dtype; /* of a call; otherwise op alone: "read", "all-reduce", "storage" */
    const int64_t *dims;
    int32_t        n_dims;
    double         flop, bytes;              /* of one repetition */
    double         work;                     /* what else one repetition does, in work_unit; NAN: nothing else */
    const char    *work_unit;                /* "B", "FLOP", "launches", "look-ups", "images", "tokens"; NULL: none */
    double         time_s;                   /* median of one repetition; NAN: not measured, or wrong */
    double         spread;                   /* between the quartiles, as a fraction of the median */
    int64_t        repetitions, samples, wrong;
    int32_t        kernels;                  /* 0: not told */
    const char    *algorithm;                /* NULL: not told */
    const char    *skipped;                  /* why there is no time; NULL: there is one */
    bool           resumed;                  /* measured by an earlier run */
} cm_bench_result;

/* One line of a suite: a case and how often it counts. Lines of one label follow each other and add up. */
typedef struct cm_bench_row {
    const char *suite, *label;
    int32_t     result, times;
    double      paper_flop;                  /* by the paper's own formula; NAN: it has none */
} cm_bench_row;

typedef struct cm_bench_machine {
    const char *backend, *id, *name, *software, *host;
    int32_t     ranks;                       /* 0: not asked for */
    double      cores, memory_bytes;
} cm_bench_machine;

/* A ceiling of the roofline, measured: "fp32" of "matrix", "L2" of "memory", "launch" of "latency". */
typedef struct cm_bench_ceiling {
    const char *what, *name, *unit;
    double      value, told; /* told: what the device itself claims; NAN: nothing */
} cm_bench_ceiling;

typedef struct cm_bench cm_bench;

cm_status               cm_bench_run(const cm_bench_options *options, cm_bench **bench, cm_diag *diag);
void                    cm_bench_free(cm_bench *bench);
const cm_bench_machine *cm_bench_get_machine(const cm_bench *bench);
bool                    cm_bench_speaks(const cm_bench *bench); /* false: another rank prints */
int32_t                 cm_bench_results(const cm_bench *bench);
const cm_bench_result  *cm_bench_result_at(const cm_bench *bench, int32_t index);
int32_t                 cm_bench_rows(const cm_bench *bench);
const cm_bench_row     *cm_bench_row_at(const cm_bench *bench, int32_t index);
int32_t                 cm_bench_ceilings(const cm_bench *bench);
const cm_bench_ceiling *cm_bench_ceiling_at(const cm_bench *bench, int32_t index);
int64_t                 cm_bench_wrong(const cm_bench *bench);      /* results that were not as they should be */
int32_t                 cm_bench_unmeasured(const cm_bench *bench); /* cases the budget had no time for */
const char             *cm_bench_profile(cm_bench *bench);          /* JSON; NULL: no memory */
/* All is written down elsewhere: forget the journal. A run that has cases left keeps it. */
void                    cm_bench_forget(cm_bench *bench);
/* Algorithm bandwidth (bytes over time) times this is bus bandwidth, as nccl-tests has it; 1: not known to it. */
double                  cm_bench_bus_factor(const char *collective, int32_t ranks);
/* The backends and suites there are, as "cpu, cuda and null". */
const char             *cm_bench_backends(void);
const char             *cm_bench_suites(void);

/* ---- what is built in ------------------------------------------------------------------------------------------- */

typedef struct cm_model_info {
    const char *id, *family, *title, *definition, *source; /* definition: a description or a .net text's name */
} cm_model_info;

int32_t              cm_models(void);
const cm_model_info *cm_model(int32_t index);
const cm_model_info *cm_model_find(const char *id); /* NULL: none */

#ifdef __cplusplus
}
#endif

#endif
