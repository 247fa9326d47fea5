/* SPDX-License-Identifier: Apache-2.0 */
/* style_held.c - what fits a chip: a whole step, or one that computes each layer's results again backward. */
#include <math.h>
#include "model/sparsity.h"
#include "model/style.h"

static void free_footprint(void *footprint) { cm_footprint_free(footprint); }

static const cm_footprint *footprint(const cm__job *j)
{
    if (j->at_hand.footprint) return j->at_hand.footprint;
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

/* What fits, fits at every smaller size. */
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

/* ---- computing again -------------------------------------------------------------------------------------------- */

struct cm__held {
    double   kept_bytes; /* weights and gradients */
    cm_poly  entry;      /* what enters layers, where there is a way back */
    cm_poly *layers;     /* results of each */
    int32_t  n_layers;
};

static bool trains(const cm_graph *g) { return g->n_nodes > 0 && g->nodes[g->n_nodes - 1].phase != CM_FORWARD; }

bool cm__is_parameter_cast(const cm_graph *g, const cm_node *n)
{
    return n->n_outputs == 1 && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->role == CM_ROLE_CAST;
}

bool cm__job_trains(const cm__job *j) { return trains(j->g); }

/* Weights in the precision of the products: where casts of them are there, masters are with the optimizer's states. */
static double kept_bytes(const cm_graph *g)
{
    bool   casts = false;
    double bytes = 0;
    for (int32_t i = 0; i < g->n_tensors && !casts; i++) casts = g->tensors[i].role == CM_ROLE_CAST;
    for (int32_t i = 0; i < g->n_tensors; i++) {
        cm_role role = g->tensors[i].role;
        bool    weight = role == CM_ROLE_CAST || (role == CM_ROLE_PARAMETER && !casts);
        bool    kept = weight || role == CM_ROLE_PARAMETER_GRADIENT || role == CM_ROLE_BUFFER;
        if (kept) bytes += cm__tensor_bytes_at(g, i, 1);
    }
    return bytes;
}

static cm_poly output_bytes(const cm_graph *g, const cm_node *n)
{
    cm_poly bytes = {{0}};
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && cm__t(g, n->outputs[i])->role != CM_ROLE_CAST)
            bytes = cm__poly_add(bytes, cm_tensor_bytes(cm__t(g, n->outputs[i])));
    return bytes;
}

/* Results of elementwise operators pass on as they come: what needs them again computes them again. */
static bool passes(const cm_node *n)
{
    return cm_node_class(n) == CM_CLASS_ELEMENTWISE || cm_node_class(n) == CM_CLASS_MOVEMENT;
}

/* Beside the repeated layers (embedding, logits, loss) an operator stands alone: such products are cut into pieces. */
const cm__held *cm__held_new(cm__ctx *ctx, const cm_graph *g)
{
    cm__held *h = cm__alloc(ctx, sizeof *h);
    bool      blocks = cm__has_blocks(g), back = trains(g);
    cm_poly   last = {{0}};
    int32_t   block = -1;
    h->kept_bytes = kept_bytes(g);
    h->layers = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *h->layers);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->view || n->phase != CM_FORWARD) continue;
        if (n->block != block || (blocks && n->block < 0)) {
            if (block >= 0 && back) h->entry = cm__poly_add(h->entry, last);
            h->n_layers++;
        } else if (!h->n_layers) h->n_layers = 1;
        block = n->block;
        last = output_bytes(g, n);
        if (!passes(n)) h->layers[h->n_layers - 1] = cm__poly_add(h->layers[h->n_layers - 1], last);
    }
    return h;
}

typedef struct holding {
    const cm__held *held;
    int32_t         chips;
} holding;

/* As many micro-batches are under way as there are chips, each chip with its share of the layers of all of them. */
static bool again_fits(const cm__job *j, int64_t batch, const void *user)
{
    const holding  *of = user;
    const cm__held *h = of->held;
    double          layer_bytes = 0;
    for (int32_t i = 0; i < h->n_layers; i++) layer_bytes = fmax(layer_bytes, cm_poly_at(&h->layers[i], (double)batch));
    return (of->chips ? h->kept_bytes / of->chips : 0) + cm_poly_at(&h->entry, (double)batch) + layer_bytes <=
           j->near_bytes;
}

int64_t cm__job_largest_again(const cm__job *j, int32_t chips)
{
    holding of = {.held = j->at_hand.held ? j->at_hand.held : cm__held_new(j->ctx, j->g), .chips = chips};
    return largest(j, again_fits, &of);
}
