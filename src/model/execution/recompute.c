/* SPDX-License-Identifier: Apache-2.0 */
/* recompute.c - the largest batch that fits a chip, for a whole step or with each layer recomputed in backward. */
#include <math.h>
#include "device/number.h"
#include "model/memory/footprint.h"
#include "model/step/sparsity.h"
#include "model/execution/execution.h"

static void free_footprint(void *footprint) { cm_footprint_free(footprint); }

static const cm_footprint *footprint(const cm__job *j)
{
    if (j->prepared.footprint) return j->prepared.footprint;
    const cm_memory_options o = {.runtime = CM_RUNTIME_NATIVE};
    cm_footprint           *f;
    cm_status               status = cm_footprint_new(j->g, j->device, &o, &f, j->ctx->diag);
    if (status) {
        j->ctx->status = status;
        longjmp(j->ctx->trap, 1);
    }
    cm__defer(j->ctx, free_footprint, f);
    return f;
}

cm_memory_use cm__job_use(const cm__job *j, int64_t batch)
{
    cm_memory_use use;
    cm_footprint_at(footprint(j), batch, &use);
    return use;
}

/* Bisection: a batch that fits also fits at every smaller size. */
static int64_t largest(const cm__job *j, bool (*fits)(const cm__job *, int64_t, const void *), const void *user)
{
    int64_t low = 0;
    for (int64_t high = (int64_t)j->batch; low < high;) {
        int64_t middle = low + (high - low + 1) / 2;
        if (fits(j, middle, user)) low = middle;
        else high = middle - 1;
    }
    return low;
}

static bool step_fits(const cm__job *j, int64_t batch, const void *user)
{
    cm_memory_use use;
    (void)j;
    cm_footprint_at(user, batch, &use);
    return use.fits;
}

int64_t cm__job_largest(const cm__job *j)
{
    return largest(j, step_fits, footprint(j));
}

/* ---- recomputation ---------------------------------------------------------------------------------------------- */

struct cm__recomputed {
    double   bytes[CM_CATEGORIES]; /* of tensors that do not depend on the batch size */
    cm_poly  entry;      /* activations between layers, if there is a backward pass */
    cm_poly *layers;     /* per layer: bytes of its results */
    int32_t  n_layers;
};

static bool trains(const cm_graph *g) { return g->n_nodes > 0 && g->nodes[g->n_nodes - 1].phase != CM_FORWARD; }

bool cm__is_parameter_cast(const cm_graph *g, const cm_node *n)
{
    return n->n_outputs == 1 && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->role == CM_ROLE_CAST;
}

bool cm__job_trains(const cm__job *j) { return trains(j->g); }

/* Weights are stored in the precision of the products. If a step casts its parameters, the parameters are master
   weights and are stored with the optimizer states. */
static void sum_by_category(const cm_graph *g, double bytes[CM_CATEGORIES])
{
    bool casts = false;
    for (int32_t i = 0; i < g->n_tensors && !casts; i++) casts = g->tensors[i].role == CM_ROLE_CAST;
    for (int32_t i = 0; i < g->n_tensors; i++) {
        cm_role     role = g->tensors[i].role;
        cm_category category = CM_CATEGORIES;
        if (role == CM_ROLE_CAST || role == CM_ROLE_BUFFER) category = CM_CATEGORY_WEIGHTS_BIASES;
        else if (role == CM_ROLE_PARAMETER) category = casts ? CM_CATEGORY_ALGORITHM : CM_CATEGORY_WEIGHTS_BIASES;
        else if (role == CM_ROLE_PARAMETER_GRADIENT) category = CM_CATEGORY_GRADIENTS;
        else if (role == CM_ROLE_STATE) category = CM_CATEGORY_ALGORITHM;
        if (category < CM_CATEGORIES) bytes[category] += cm__tensor_bytes_at(g, i, 1);
    }
}

static cm_poly output_bytes(const cm_graph *g, const cm_node *n)
{
    cm_poly bytes = {{0}};
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && cm__t(g, n->outputs[i])->role != CM_ROLE_CAST)
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(g, n->outputs[i])));
    return bytes;
}

/* A layer hands its result on in the type of products. The inputs of 40 layers, 51,200 x 5,120 numbers each, with which
   a CS-2 trained (Emani et al. 2024, Table III), are 21 GB of its 40 in 16 bits and 42 in 32, part of which would have
   to leave the wafer. */
static cm_poly handed_on(const cm_graph *g, const cm_node *n)
{
    bool mixed = cm__autocasts(cm_graph_precision(g));
    bool wide = n->n_outputs > 0 && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->dtype == CM_FP32;
    return cm__poly_scale(output_bytes(g, n), mixed && wide ? 0.5 : 1);
}

/* Results of elementwise operators are not stored; operators that need them again recompute them. */
static bool passes(const cm_node *n)
{
    return cm__class(n) == CM_CLASS_ELEMENTWISE || cm__class(n) == CM_CLASS_MOVEMENT;
}

/* Outside the repeated layers (embedding, logits, loss) each operator is a layer of its own. Such products are
   divided into slices. */
const cm__recomputed *cm__recomputed_new(cm__ctx *ctx, const cm_graph *g)
{
    cm__recomputed *h = cm__alloc(ctx, sizeof *h);
    bool      blocks = cm__has_blocks(g), back = trains(g);
    cm_poly   entry = {{0}};
    int32_t   block = -1;
    sum_by_category(g, h->bytes);
    h->layers = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *h->layers);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->view || n->phase != CM_FORWARD) continue;
        if (n->block != block || (blocks && n->block < 0)) {
            if (block >= 0 && back) h->entry = cm__poly_add(h->entry, entry);
            h->n_layers++;
        } else if (!h->n_layers) h->n_layers = 1;
        block = n->block;
        entry = handed_on(g, n);
        if (!passes(n)) h->layers[h->n_layers - 1] = cm__poly_add(h->layers[h->n_layers - 1], output_bytes(g, n));
    }
    return h;
}

typedef struct holding {
    const cm__recomputed *recomputed;
    int32_t         chips;
} holding;

/* Weights and gradients, if a pipeline of chips stores them; 0 if they are streamed. */
static double kept_bytes(const cm__recomputed *h, int32_t chips)
{
    return chips ? (h->bytes[CM_CATEGORY_WEIGHTS_BIASES] + h->bytes[CM_CATEGORY_GRADIENTS]) / chips : 0;
}

static double largest_layer_bytes(const cm__recomputed *h, int64_t batch)
{
    double bytes = 0;
    for (int32_t i = 0; i < h->n_layers; i++) bytes = fmax(bytes, cm__poly_at(&h->layers[i], (double)batch));
    return bytes;
}

static double entry_bytes(const cm__recomputed *h, int64_t batch) { return cm__poly_at(&h->entry, (double)batch); }

static double activation_bytes(const cm__recomputed *h, int64_t batch)
{
    return entry_bytes(h, batch) + largest_layer_bytes(h, batch);
}

/* As many micro-batches are in flight as there are chips. Each chip stores its share of the layers for all of them. A
   chip through which weights are streamed may send the inputs of layers out until backward reads them. */
static bool fits_recomputed(const cm__job *j, int64_t batch, const void *user)
{
    const holding *of = user;
    double         layer = largest_layer_bytes(of->recomputed, batch);
    if (!of->chips) return layer <= j->near_bytes;
    return kept_bytes(of->recomputed, of->chips) + entry_bytes(of->recomputed, batch) + layer <= j->near_bytes;
}

/* Bytes that exceed the chip and may leave it, at most `movable`. */
static double spilled_bytes(double movable, double rest, double near_bytes)
{
    return fmin(movable, fmax(0, movable + rest - near_bytes));
}

static double on_chip_capacity(const cm_memory_use *use, const cm_device *device)
{
    for (int32_t l = 0; l < use->n_levels; l++)
        if (cm_device_memory(device, use->levels[l].memory)->place == CM_PLACE_ON_CHIP)
            return use->levels[l].capacity_bytes;
    return INFINITY;
}

/* A category that does not depend on the batch size counts in the memory where the profile places it. */
static void add_levels(const cm__recomputed *h, const cm_device *device, double share, double kept, double movable,
                       cm_memory_use *use)
{
    double on_chip_bytes = kept + use->categories[CM_CATEGORY_INPUT_OUTPUT];
    double spilled = spilled_bytes(movable, on_chip_bytes - movable, on_chip_capacity(use, device));
    use->shortfall_bytes = 0;
    for (int32_t l = 0; l < use->n_levels; l++) {
        cm_level_use *level = &use->levels[l];
        bool          on_chip = cm_device_memory(device, level->memory)->place == CM_PLACE_ON_CHIP;
        level->used_bytes = on_chip ? on_chip_bytes - spilled : 0;
        for (cm_category c = 0; c < CM_CATEGORIES && !on_chip; c++)
            if (cm_device_placement(device, c).memory == level->memory) level->used_bytes += share * h->bytes[c];
        if (cm_device_placement(device, CM_CATEGORY_ALGORITHM).memory == level->memory) level->used_bytes += spilled;
        use->shortfall_bytes = fmax(use->shortfall_bytes, level->used_bytes - level->capacity_bytes);
    }
    use->fits = !(use->shortfall_bytes > 0);
}

void cm__recomputed_use(const cm__recomputed *h, const cm_footprint *one_chip, int32_t chips, int64_t micro_batch,
                  cm_memory_use *use)
{
    double share = chips > 1 ? 1.0 / chips : 1, kept = kept_bytes(h, chips);
    cm_footprint_at(one_chip, micro_batch, use);
    use->peak_bytes = 0;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) {
        use->categories[c] = share * h->bytes[c];
        if (c == CM_CATEGORY_INPUT_OUTPUT) use->categories[c] = activation_bytes(h, micro_batch);
        use->peak_bytes += use->categories[c];
    }
    use->reserved_bytes = use->peak_bytes;
    add_levels(h, one_chip->device, share, kept, chips ? kept : entry_bytes(h, micro_batch), use);
}

static const cm__recomputed *recomputed_of(const cm__job *j)
{
    return j->prepared.recomputed ? j->prepared.recomputed : cm__recomputed_new(j->ctx, j->g);
}

int64_t cm__job_largest_recomputed(const cm__job *j, int32_t chips)
{
    return largest(j, fits_recomputed, &(holding){.recomputed = recomputed_of(j), .chips = chips});
}

/* ---- spilling ---------------------------------------------------------------------------------------------------- */

double cm__job_spilled_bytes(const cm__job *j, int32_t chips, int64_t micro_batch)
{
    const cm__recomputed *h = recomputed_of(j);
    return spilled_bytes(kept_bytes(h, chips), activation_bytes(h, micro_batch), j->near_bytes);
}

double cm__job_layer_input_bytes(const cm__job *j, int64_t micro_batch)
{
    return entry_bytes(recomputed_of(j), micro_batch);
}

double cm__job_inputs_out_bytes(const cm__job *j, int64_t micro_batch)
{
    const cm__recomputed *h = recomputed_of(j);
    return spilled_bytes(entry_bytes(h, micro_batch), largest_layer_bytes(h, micro_batch), j->near_bytes);
}

static bool fits_spilled(const cm__job *j, int64_t batch, const void *user)
{
    const holding *of = user;
    return activation_bytes(of->recomputed, batch) <= j->near_bytes;
}

/* The spilled part is stored beside the optimizer states. */
int64_t cm__job_largest_spilled(const cm__job *j, int32_t chips)
{
    const cm__recomputed *h = recomputed_of(j);
    int32_t               at = j->device->placement[CM_CATEGORY_ALGORITHM].memory;
    const cm_memory      *far = at >= 0 ? &j->device->memories[at] : NULL;
    bool   streams = far && far->place != CM_PLACE_ON_CHIP && far->bw_bytes_s.known;
    double need = kept_bytes(h, chips) + h->bytes[CM_CATEGORY_ALGORITHM] / chips;
    if (!streams || need > cm__value_or(far->capacity_bytes, INFINITY)) return 0;
    return largest(j, fits_spilled, &(holding){.recomputed = h, .chips = chips});
}
