/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares.c - a batch size from the on-chip memory that one operator needs: four sums, weighted by factors per device.
 *
 * The factors are part of a set of results and are fitted to it. They show only how good such a fit can be.
 */
#include <math.h>
#include <string.h>
#include "graph/rule.h"
#include "validate/validate.h"

/* On-chip memory at a batch size, in bytes. */
typedef struct working_set {
    cm_poly fed;          /* the model's inputs */
    cm_poly input_output; /* activations of the largest product, convolution or attention */
    cm_poly ephemeral;    /* the unfolded windows (im2col) of the largest convolution */
    double  weights;      /* of the largest operator */
} working_set;

static bool larger(const cm_poly *a, const cm_poly *b) { return a->c[1] > b->c[1]; }

static cm_poly activations(const cm_graph *g, const cm_node *n)
{
    cm_poly sum = {{0}};
    for (int32_t k = 0; k < n->n_inputs + n->n_outputs; k++) {
        int32_t t = k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs];
        cm_role role = t < 0 ? CM_ROLES : cm__t(g, t)->role;
        if (role == CM_ROLE_ACTIVATION || role == CM_ROLE_INPUT || role == CM_ROLE_SAVED)
            sum = cm__poly_add(sum, cm_tensor_bytes(cm__t(g, t)));
    }
    return sum;
}

static double weights(const cm_graph *g, const cm_node *n)
{
    double sum = 0;
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (cm__has(n, k) && cm__in(g, n, k)->role == CM_ROLE_PARAMETER) sum += cm_tensor_bytes(cm__in(g, n, k)).c[0];
    return sum;
}

static cm_poly windows(const cm_graph *g, const cm_node *n)
{
    const cm_tensor *w = cm__in(g, n, 1), *y = cm__t(g, n->outputs[0]);
    cm_poly          per_image = cm__poly_mul(cm__poly_product(w->dims + 1, w->rank - 1),
                                              cm__poly_product(y->dims + 2, y->rank - 2));
    return cm__poly_scale(cm__poly_mul(per_image, cm__poly_dim(y->dims[0])), (double)cm_dtype_size(w->dtype));
}

static working_set working_set_of(const cm_graph *g)
{
    working_set s = {.weights = 0};
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (cm__t(g, t)->role == CM_ROLE_INPUT && cm__t(g, t)->dies >= 0)
            s.fed = cm__poly_add(s.fed, cm_tensor_bytes(cm__t(g, t)));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        cm_class       c = cm_node_class(n);
        if (n->phase != CM_FORWARD) continue;
        if (weights(g, n) > s.weights) s.weights = weights(g, n);
        if (c != CM_CLASS_GEMM && c != CM_CLASS_CONV && c != CM_CLASS_ATTENTION) continue;
        cm_poly data = activations(g, n), unfolded = n->op == CM_OP_CONV ? windows(g, n) : (cm_poly){{0}};
        if (larger(&data, &s.input_output)) s.input_output = data;
        if (larger(&unfolded, &s.ephemeral)) s.ephemeral = unfolded;
    }
    return s;
}

static double share(const json_t *shares, const char *name) { return json_number_value(json_object_get(shares, name)); }

static double used(const working_set *s, const json_t *shares, double batch)
{
    return share(shares, "fed") * cm_poly_at(&s->fed, batch) +
           share(shares, "input_output") * cm_poly_at(&s->input_output, batch) +
           share(shares, "ephemeral") * cm_poly_at(&s->ephemeral, batch) + share(shares, "weights_biases") * s->weights;
}

static double on_chip_bytes(const cm_device *device)
{
    for (int32_t i = 0; i < cm_device_memories(device); i++) {
        const cm_memory *m = cm_device_memory(device, i);
        if (m->place == CM_PLACE_ON_CHIP && !m->cache) return m->capacity_bytes.value;
    }
    return NAN;
}

double cm__predict_by_shares(cm__case *c)
{
    const json_t *shares = json_object_get(json_object_get(c->set, "parameters"), cm__text_of(c->run, "device"));
    const json_t *candidates = json_object_get(shares, "candidates");
    working_set   s = working_set_of(c->step);
    double        best = NAN;
    for (size_t i = 0; i < json_array_size(candidates); i++) {
        double batch = json_number_value(json_array_get(candidates, i));
        if (used(&s, shares, batch) <= on_chip_bytes(c->device)) best = batch;
    }
    return best;
}
