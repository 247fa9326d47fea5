/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - functions, branches and loops: their bodies are inlined.
 *
 * The graph of a training step has no control flow. A branch with a known condition becomes the branch taken; with an
 * unknown condition it becomes the longer branch, with a warning. A loop is unrolled if its number of iterations is
 * known.
 */
#include "import/onnx/onnx.h"

#include <string.h>

#define ITERATIONS_MAX 1000
#define DEFAULTS_MAX 256

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

static cm__onnx_scope *enter(cm__onnx *im, const cm__onnx_scope *outer, const cm__onnx_scope *caller,
                             const char *prefix)
{
    cm__onnx_scope *scope = cm__alloc(im->ctx, sizeof *scope);
    *scope = (cm__onnx_scope){.outer = outer, .caller = caller, .prefix = prefix, .depth = caller->depth + 1};
    if (outer) {
        scope->function = outer->function;
        scope->arguments = outer->arguments;
    }
    if (scope->depth > CM__ONNX_DEPTH_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "functions, branches and loops are nested deeper than %d", CM__ONNX_DEPTH_MAX);
    cm__map_init(&scope->names, im->ctx);
    return scope;
}

static cm__onnx_body *need_body(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    const cm__onnx_attribute *a = cm__onnx_attribute_find(scope, node, name);
    if (!a || !a->graph) cm__fail(im->ctx, CM_ERR_FORMAT, "it has no '%s'", name);
    return a->graph;
}

static int32_t body_output(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_body *body, int32_t index)
{
    if (index >= body->outputs.count) cm__fail(im->ctx, CM_ERR_FORMAT, "its body has no output %d", index);
    return cm__onnx_need(im, scope, body->outputs.items[index].name, "the body's output");
}

static void bind_input(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_body *body, int32_t index, int32_t tensor)
{
    if (index >= body->inputs.count) cm__fail(im->ctx, CM_ERR_FORMAT, "its body has no input %d", index);
    cm__onnx_bind(im, scope, body->inputs.items[index].name, tensor);
}

static void bind_output(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, int32_t index, int32_t tensor)
{
    if (index < node->outputs.count) cm__onnx_bind(im, scope, node->outputs.items[index], tensor);
}

/* The value of a tensor that is known to be one integer. */
static bool known(const cm_graph *g, int32_t tensor, int64_t *value)
{
    const cm_tensor *t = tensor >= 0 ? cm__t(g, tensor) : NULL;
    if (!t || !t->value || t->dtype <= CM_FP8 || cm_tensor_elements(t).c[0] != 1 || t->value->i.per_batch) return false;
    *value = t->value->i.fixed;
    return true;
}

static int32_t input_of(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t index)
{
    return index < node->inputs.count ? cm__onnx_need(im, scope, node->inputs.items[index], "input") : -1;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static char *append(char *at, cm__span part)
{
    if (part.length) memcpy(at, part.text, part.length);
    return at + part.length + 1;
}

static cm__span function_key(cm__onnx *im, cm__span domain, cm__span name, cm__span overload)
{
    if (cm__span_is(domain, "ai.onnx")) domain.length = 0;
    size_t length = domain.length + name.length + overload.length + 3;
    char  *key = cm__alloc(im->ctx, length);
    append(append(append(key, domain), name), overload);
    return (cm__span){key, length};
}

void cm__onnx_index_functions(cm__onnx *im)
{
    cm__map_init(&im->functions, im->ctx);
    for (int32_t i = 0; i < im->model->functions.count; i++) {
        const cm__onnx_function *f = &im->model->functions.items[i];
        if (f->defaults.count > DEFAULTS_MAX)
            cm__fail(im->ctx, CM_ERR_LIMIT, "function '%s' has more than %d attributes",
                     cm__onnx_text(im->ctx, f->name), DEFAULTS_MAX);
        if (!cm__map_put(&im->functions, function_key(im, f->domain, f->name, f->overload), i))
            cm__fail(im->ctx, CM_ERR_FORMAT, "function '%s' is defined twice", cm__onnx_text(im->ctx, f->name));
    }
}

static void run_function(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name,
                         int32_t index)
{
    cm__onnx_function *f = &im->model->functions.items[index];
    for (const cm__onnx_scope *s = scope; s; s = s->caller)
        if (s->function == f)
            cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "function '%s' calls itself", cm__onnx_text(im->ctx, f->name));
    cm__onnx_scope *inner = enter(im, NULL, scope, cm__format(im->ctx, "%s/", name));
    cm__onnx_spend(im, f->inputs.count);
    inner->function = f;
    inner->arguments = cm__onnx_resolve(im, scope, &node->attributes);
    for (int32_t i = 0; i < f->inputs.count; i++) {
        int32_t tensor = input_of(im, scope, node, i);
        cm__onnx_bind(im, inner, f->inputs.items[i], tensor < 0 ? CM__ONNX_ABSENT : tensor);
    }
    cm__onnx_run(im, inner, &f->body);
    cm__place(im->ctx, "node '%s' (%s)", name, cm__onnx_text(im->ctx, f->name));
    for (int32_t i = 0; i < f->outputs.count && i < node->outputs.count; i++) {
        if (!node->outputs.items[i].length) continue;
        cm__onnx_bind(im, scope, node->outputs.items[i],
                      cm__onnx_need(im, inner, f->outputs.items[i], "the function's output"));
    }
}

/* ---- If --------------------------------------------------------------------------------------------------------- */

static cm__onnx_body *choose(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    cm__onnx_body *yes = need_body(im, scope, node, "then_branch"), *no = need_body(im, scope, node, "else_branch");
    int64_t        condition;
    if (known(im->g, input_of(im, scope, node, 0), &condition)) return condition ? yes : no;
    if (!im->open_branches++) im->open_branch = name;
    return yes->nodes.count >= no->nodes.count ? yes : no;
}

static void run_if(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    cm__onnx_body  *body = choose(im, scope, node, name);
    cm__onnx_scope *inner = enter(im, scope, scope, cm__format(im->ctx, "%s/", name));
    cm__onnx_spend(im, body->initializers.count);
    cm__onnx_initializers(im, inner, body);
    cm__onnx_run(im, inner, body);
    cm__place(im->ctx, "node '%s' (If)", name);
    for (int32_t i = 0; i < node->outputs.count; i++) bind_output(im, scope, node, i, body_output(im, inner, body, i));
}

/* ---- loops ------------------------------------------------------------------------------------------------------ */

/* State of a loop while it is unrolled. */
typedef struct loop {
    cm__onnx             *im;
    cm__onnx_scope       *scope, *statics; /* statics: the body's initializers, emitted once */
    const cm__onnx_node  *node;
    cm__onnx_body        *body;
    const char           *name, *op;
    int32_t               n_states, n_pieces; /* carried to the next iteration; collected from every iteration */
    int32_t              *states, **pieces;
    int32_t               iterations, room; /* room: iterations that `pieces` has space for */
} loop;

static void begin_loop(loop *l, int32_t n_states, int32_t body_controls)
{
    cm__onnx *im = l->im;
    l->body = need_body(im, l->scope, l->node, "body");
    l->n_states = n_states;
    l->n_pieces = l->body->outputs.count - body_controls - n_states;
    if (n_states < 0 || l->n_pieces < 0)
        cm__fail(im->ctx, CM_ERR_FORMAT, "its body returns %d values, %d at least expected", l->body->outputs.count,
                 body_controls + (n_states > 0 ? n_states : 0));
    l->states = cm__alloc_array(im->ctx, (size_t)n_states, sizeof *l->states);
    l->pieces = cm__alloc_array(im->ctx, (size_t)l->n_pieces, sizeof *l->pieces);
    l->statics = enter(im, l->scope, l->scope, "");
    cm__onnx_initializers(im, l->statics, l->body);
}

static cm__onnx_scope *begin_iteration(loop *l)
{
    cm__onnx *im = l->im;
    cm__place(im->ctx, "node '%s' (%s)", l->name, l->op);
    if (l->iterations == ITERATIONS_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "more than %d iterations are not unrolled", ITERATIONS_MAX);
    cm__onnx_spend(im, l->n_states);
    cm__onnx_spend(im, l->n_pieces);
    return enter(im, l->statics, l->scope, cm__format(im->ctx, "%s/%d/", l->name, l->iterations));
}

static void end_iteration(loop *l, const cm__onnx_scope *inner, int32_t first_output)
{
    cm__place(l->im->ctx, "node '%s' (%s)", l->name, l->op);
    for (int32_t i = 0; i < l->n_states; i++) l->states[i] = body_output(l->im, inner, l->body, first_output + i);
    int32_t room = l->room;
    for (int32_t i = 0; i < l->n_pieces; i++) {
        room = l->room;
        l->pieces[i] = cm__grow(l->im->ctx, l->pieces[i], l->iterations, &room, sizeof **l->pieces);
        l->pieces[i][l->iterations] = body_output(l->im, inner, l->body, first_output + l->n_states + i);
    }
    l->room = room;
    l->iterations++;
}

/* Concatenate the values collected from the iterations along a new axis. */
static int32_t stacked(loop *l, int32_t *pieces, int64_t axis)
{
    cm_graph *g = l->im->g;
    cm__attr  axes = CM__INTS(CM_ATTR_AXES, axis), along = CM__INTS(CM_ATTR_AXIS, axis);
    if (!l->iterations)
        cm__fail(l->im->ctx, CM_ERR_UNSUPPORTED,
                 "it collects values but never runs: the shape of what it collects is unknown");
    for (int32_t i = 0; i < l->iterations; i++) {
        if (pieces[i] < 0) cm__fail(l->im->ctx, CM_ERR_FORMAT, "its body does not return what it collects");
        pieces[i] = cm__emit(g, CM_OP_UNSQUEEZE, l->name, &pieces[i], 1, &axes, 1);
    }
    return l->iterations == 1 ? pieces[0] : cm__emit(g, CM_OP_CONCAT, l->name, pieces, l->iterations, &along, 1);
}

static int64_t listed(const loop *l, const char *attribute, int32_t index)
{
    const cm__onnx_attribute *a = cm__onnx_attribute_find(l->scope, l->node, attribute);
    return a && index < a->integers.count ? a->integers.items[index] : 0;
}

static void end_loop(loop *l)
{
    for (int32_t i = 0; i < l->n_states; i++) bind_output(l->im, l->scope, l->node, i, l->states[i]);
    for (int32_t i = 0; i < l->n_pieces && l->n_states + i < l->node->outputs.count; i++)
        if (l->node->outputs.items[l->n_states + i].length)
            bind_output(l->im, l->scope, l->node, l->n_states + i,
                        stacked(l, l->pieces[i], listed(l, "scan_output_axes", i)));
}

static noreturn void endless(loop *l)
{
    cm__fail(l->im->ctx, CM_ERR_UNSUPPORTED,
             "operator 'Loop' is not supported where its number of iterations depends on data");
}

static void run_loop(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    loop    l = {.im = im, .scope = scope, .node = node, .name = name, .op = "Loop"};
    int64_t trips = INT64_MAX, go_on = 1;
    int32_t count = input_of(im, scope, node, 0), condition = input_of(im, scope, node, 1);
    if ((count >= 0 && !known(im->g, count, &trips)) || (condition >= 0 && !known(im->g, condition, &go_on)))
        endless(&l);
    begin_loop(&l, node->inputs.count < 2 ? 0 : node->inputs.count - 2, 1);
    for (int32_t i = 0; i < l.n_states; i++) l.states[i] = input_of(im, scope, node, i + 2);
    while (go_on && l.iterations < trips) {
        cm__onnx_scope *inner = begin_iteration(&l);
        bind_input(im, inner, l.body, 0, cm__constant_scalar(im->g, "iteration", CM_INT64, l.iterations));
        bind_input(im, inner, l.body, 1, cm__constant_scalar(im->g, "condition", CM_BOOL, 1));
        for (int32_t i = 0; i < l.n_states; i++) bind_input(im, inner, l.body, i + 2, l.states[i]);
        cm__onnx_run(im, inner, l.body);
        end_iteration(&l, inner, 1);
        if (!known(im->g, body_output(im, inner, l.body, 0), &go_on)) endless(&l);
    }
    end_loop(&l);
}

/* Element `at` of a tensor along an axis. */
static int32_t slice_at(loop *l, int32_t tensor, int64_t axis, int64_t at)
{
    cm__attr slice[] = {CM__INTS(CM_ATTR_STARTS, at), CM__INTS(CM_ATTR_ENDS, at + 1), CM__INTS(CM_ATTR_AXES, axis)};
    cm__attr axes = CM__INTS(CM_ATTR_AXES, axis);
    int32_t  part = cm__emit(l->im->g, CM_OP_SLICE, l->name, &tensor, 1, slice, 3);
    return cm__emit(l->im->g, CM_OP_SQUEEZE, l->name, &part, 1, &axes, 1);
}

static int64_t scan_length(loop *l, int32_t tensor, int64_t axis)
{
    const cm_tensor *t = tensor >= 0 ? cm__t(l->im->g, tensor) : NULL;
    if (!t || axis < -t->rank || axis >= t->rank)
        cm__fail(l->im->ctx, CM_ERR_FORMAT, "a scanned input has no axis %lld", (long long)axis);
    cm_dim length = t->dims[axis < 0 ? axis + t->rank : axis];
    if (length.per_batch)
        cm__fail(l->im->ctx, CM_ERR_UNSUPPORTED, "operator 'Scan' is not supported along the batch dimension");
    return length.fixed;
}

static void run_scan(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    loop    l = {.im = im, .scope = scope, .node = node, .name = name, .op = "Scan"};
    int64_t n_scanned = cm__onnx_attribute_int(scope, node, "num_scan_inputs", 0);
    if (im->opset < 9) cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "operator 'Scan' of opset 8 is not supported");
    if (n_scanned < 1 || n_scanned > node->inputs.count)
        cm__fail(im->ctx, CM_ERR_FORMAT, "num_scan_inputs is %lld of %d inputs", (long long)n_scanned,
                 node->inputs.count);
    begin_loop(&l, node->inputs.count - (int32_t)n_scanned, 0);
    int64_t length = scan_length(&l, input_of(im, scope, node, l.n_states), listed(&l, "scan_input_axes", 0));
    for (int32_t i = 0; i < l.n_states; i++) l.states[i] = input_of(im, scope, node, i);
    while (l.iterations < length) {
        cm__onnx_scope *inner = begin_iteration(&l);
        for (int32_t i = 0; i < l.n_states; i++) bind_input(im, inner, l.body, i, l.states[i]);
        for (int32_t i = 0; i < n_scanned; i++) {
            int64_t at = listed(&l, "scan_input_directions", i) ? length - 1 - l.iterations : l.iterations;
            int32_t x = input_of(im, scope, node, l.n_states + i);
            if (scan_length(&l, x, listed(&l, "scan_input_axes", i)) != length)
                cm__fail(im->ctx, CM_ERR_FORMAT, "scanned inputs differ in length");
            bind_input(im, inner, l.body, l.n_states + i, slice_at(&l, x, listed(&l, "scan_input_axes", i), at));
        }
        cm__onnx_run(im, inner, l.body);
        end_iteration(&l, inner, 0);
    }
    end_loop(&l);
}

bool cm__onnx_control(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    static const struct {
        const char *op;
        void (*run)(cm__onnx *, cm__onnx_scope *, const cm__onnx_node *, const char *);
    } kinds[] = {{"If", run_if}, {"Loop", run_loop}, {"Scan", run_scan}};
    if (im->model->functions.count) {
        int32_t f = cm__map_get(&im->functions, function_key(im, node->domain, node->op, node->overload));
        if (f >= 0) return run_function(im, scope, node, name, f), true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && cm__onnx_standard(node->domain); i++)
        if (cm__span_is(node->op, kinds[i].op)) return kinds[i].run(im, scope, node, name), true;
    return false;
}
