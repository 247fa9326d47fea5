/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - the layer language: execute a parsed text, statement by statement, to build a forward graph. */
#include "import/net/net.h"

#include <string.h>

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/* ---- names ------------------------------------------------------------------------------------------------------- */

static cm__net_binding *find(const cm__net_table *table, cm__span name)
{
    for (int32_t i = 0; i < table->count; i++)
        if (cm__net_same(table->rows[i].name, name)) return &table->rows[i];
    return NULL;
}

static void set(cm__net *net, cm__net_table *table, cm__span name, int64_t value)
{
    cm__net_binding *b = find(table, name);
    if (!b) {
        if (table->count == CM__NET_NAMES) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d names", CM__NET_NAMES);
        table->rows = cm__grow(net->ctx, table->rows, table->count, &table->capacity, sizeof *table->rows);
        b = &table->rows[table->count++];
    }
    *b = (cm__net_binding){.name = name, .value = value};
}

void cm__net_set_variable(cm__net *net, cm__span name, int64_t value)
{
    cm__net_point(net, name.text);
    if (!cm__net_is_identifier(name))
        cm__fail(net->ctx, CM_ERR_FORMAT, "'%s' is not a name for a number", cm__net_show(net, name));
    set(net, &net->frames[net->frame].variables, name, value);
}

/* Predefined variables. */
static const struct {
    const char *name;
    int64_t     value;
} constants[] = {{"on", 1}, {"off", 0}, {"nearest", 0}, {"linear", 1}, {"cubic", 2}};

static int64_t channels(cm__net *net)
{
    const cm_tensor *t = net->current >= 0 ? cm__t(net->g, net->current) : NULL;
    if (!t || t->rank < 2 || t->dims[1].per_batch)
        cm__fail(net->ctx, CM_ERR_FORMAT, "'channels' before a tensor that has channels");
    return t->dims[1].fixed;
}

static noreturn void unknown_binding(cm__net *net, const char *kind, const cm__net_table *table, cm__span name)
{
    const char **names = cm__alloc_array(net->ctx, (size_t)table->count + 1, sizeof *names);
    for (int32_t i = 0; i < table->count; i++) names[i] = cm__net_show(net, table->rows[i].name);
    cm__net_unknown(net, kind, name, names, (size_t)table->count);
}

int64_t cm__net_variable(cm__net *net, cm__span name)
{
    const cm__net_binding *b = find(&net->frames[net->frame].variables, name);
    if (!b) b = find(&net->frames[0].variables, name);
    if (b) return b->value;
    if (cm__span_is(name, "channels")) return channels(net);
    for (int32_t i = 0; i < COUNT(constants); i++)
        if (cm__span_is(name, constants[i].name)) return constants[i].value;
    unknown_binding(net, "number", &net->frames[net->frame].variables, name);
}

int32_t cm__net_tensor(cm__net *net, cm__span word)
{
    cm__net_point(net, word.text);
    if (cm__span_is(word, ".")) {
        if (net->current < 0) cm__fail(net->ctx, CM_ERR_FORMAT, "no tensor yet; begin with 'input'");
        return net->current;
    }
    cm__span               name = cm__net_expand(net, word);
    const cm__net_binding *b = find(&net->frames[net->frame].tensors, name);
    if (!b) b = find(&net->frames[0].tensors, name);
    if (!b) unknown_binding(net, "tensor", &net->frames[net->frame].tensors, name);
    return (int32_t)b->value;
}

void cm__net_name_tensor(cm__net *net, cm__span word, int32_t tensor)
{
    cm__net_point(net, word.text);
    if (cm__span_is(word, ".")) cm__fail(net->ctx, CM_ERR_FORMAT, "'.' is the current tensor and cannot be a name");
    set(net, &net->frames[net->frame].tensors, cm__net_expand(net, word), tensor);
}

/* ---- scopes and the names of nodes ------------------------------------------------------------------------------- */

static void push_scope(cm__net *net, cm__span label)
{
    cm__span name = cm__net_expand(net, label);
    if (net->scope_length + name.length + 1 > CM__NET_NAME)
        cm__fail(net->ctx, CM_ERR_LIMIT, "labels inside labels of more than %d characters", CM__NET_NAME);
    memcpy(net->scope + net->scope_length, name.text, name.length);
    net->scope_length += name.length;
    net->scope[net->scope_length++] = '.';
}

static bool is_taken(const cm__net *net, const char *name) { return cm__map_get(&net->names, cm__span_of(name)) >= 0; }

/* "relu_1", "relu_2" ... : the first unused name. */
static const char *numbered_name(cm__net *net, const char *base)
{
    int32_t uses = cm__map_get(&net->names, cm__span_of(base));
    char   *name;
    do name = cm__format(net->ctx, "%s_%d", base, ++uses);
    while (is_taken(net, name));
    cm__map_put(&net->names, cm__span_of(base), uses);
    return name;
}

static const char *name_in_scope(cm__net *net, cm__span own)
{
    char *name = cm__alloc_unset(net->ctx, net->scope_length + own.length + 1, 1);
    memcpy(name, net->scope, net->scope_length);
    memcpy(name + net->scope_length, own.text, own.length);
    name[net->scope_length + own.length] = 0;
    return name;
}

/* The node's name: "layer1.0.conv1" by its label, or "layer1.0.relu", "layer1.0.relu_1" ... by its layer. */
static const char *node_name(cm__net *net, const cm__net_layer *layer)
{
    bool        labelled = net->line->label.text != NULL;
    cm__span    own = labelled ? cm__net_expand(net, net->line->label) : cm__span_of(layer->name);
    const char *name = name_in_scope(net, own);
    cm__net_point(net, net->line->label.text);
    if (labelled && is_taken(net, name)) cm__fail(net->ctx, CM_ERR_FORMAT, "label '%s' is used already", name);
    if (is_taken(net, name)) name = numbered_name(net, name);
    cm__map_put(&net->names, cm__span_of(name), 0);
    return name;
}

/* ---- layers and calls -------------------------------------------------------------------------------------------- */

/* The number of leading words that name tensors. */
static int32_t read_operands(cm__net *net, const cm__net_layer *layer, int32_t *tensors)
{
    cm__span key, value;
    int32_t  n = 0;
    while (n < net->line->n_words && !cm__net_is_option(net->line->words[n], &key, &value)) {
        tensors[n] = cm__net_tensor(net, net->line->words[n]);
        n++;
    }
    cm__net_point(net, NULL);
    if (layer->operands > 0 && n != layer->operands)
        cm__fail(net->ctx, CM_ERR_FORMAT, "%s takes the names of %d tensors, %d given ('.' is the current one)",
                 layer->name, layer->operands, n);
    if (n == 0) cm__fail(net->ctx, CM_ERR_FORMAT, "%s needs the names of tensors", layer->name);
    return n;
}

static void run_layer(cm__net *net, const cm__net_layer *layer)
{
    int32_t       tensors[CM__NET_WORDS], n = 1, first = 0, n_params = 0;
    cm__net_value values[CM__NET_PARAMS];
    if (layer->operands) n = first = read_operands(net, layer, tensors);
    else tensors[0] = cm__net_tensor(net, cm__span_of("."));
    while (n_params < CM__NET_PARAMS && layer->params[n_params].name) n_params++;
    cm__net_bind(net, layer->name, layer->params, n_params, first, values);
    cm__net_call call = {.net = net, .g = net->g, .layer = layer, .name = node_name(net, layer), .tensors = tensors,
                         .n_tensors = n, .values = values};
    cm__net_point(net, NULL);
    net->current = layer->emit(&call);
    if (net->g->n_nodes > CM__NET_NODES)
        cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d operators", CM__NET_NODES);
}

const cm__net_macro *cm__net_macro_find(const cm__net *net, cm__span name)
{
    for (int32_t i = 0; i < net->n_macros; i++)
        if (cm__net_same(net->macros[i].name, name)) return &net->macros[i];
    return NULL;
}

void cm__net_enter(cm__net *net)
{
    if (++net->depth > CM__NET_DEPTH)
        cm__fail(net->ctx, CM_ERR_LIMIT, "parts run inside each other over %d deep; does a definition call itself?",
                 CM__NET_DEPTH);
}

static void open_frame(cm__net *net, const cm__net_macro *m, const cm__net_value *values)
{
    cm__net_frame *f = &net->frames[++net->frame];
    f->variables.count = f->tensors.count = 0;
    for (int32_t i = 0; i < m->n_params; i++)
        set(net, &f->variables, cm__span_of(m->params[i].name), values[i].ints[0]);
}

static void run_macro(cm__net *net, const cm__net_macro *m)
{
    cm__net_value       values[CM__NET_PARAMS];
    const cm__net_line *line = net->line;
    size_t              scope_length = net->scope_length;
    bool                numbered = m->is_block && net->g->block < 0;
    cm__net_bind(net, cm__net_show(net, m->name), m->params, m->n_params, 0, values);
    if (line->label.text) push_scope(net, line->label);
    cm__net_enter(net);
    open_frame(net, m, values);
    if (numbered) net->g->block = net->n_blocks++;
    cm__net_run(net, m->line + 1, net->lines[m->line].end);
    if (numbered) net->g->block = -1;
    net->frame--;
    net->depth--;
    net->scope_length = scope_length;
    net->line = line;
}

static noreturn void unknown_verb(cm__net *net)
{
    int32_t      n = 0, most = cm__net_n_layers + cm__net_n_keywords + net->n_macros;
    const char **names = cm__alloc_array(net->ctx, (size_t)most, sizeof *names);
    for (int32_t i = 0; i < cm__net_n_layers; i++) names[n++] = cm__net_layers[i].name;
    for (int32_t i = 0; i < cm__net_n_keywords; i++) names[n++] = cm__net_keywords[i].name;
    for (int32_t i = 0; i < net->n_macros; i++) names[n++] = cm__net_show(net, net->macros[i].name);
    cm__net_unknown(net, "layer", net->line->verb, names, (size_t)n);
}

static void run_statement(cm__net *net)
{
    const cm__net_line  *l = net->line;
    const cm__net_layer *layer = cm__net_layer_find(l->verb);
    const cm__net_macro *macro = cm__net_macro_find(net, l->verb);
    if (l->from.text) net->current = cm__net_tensor(net, l->from);
    if (layer) run_layer(net, layer);
    else if (macro) run_macro(net, macro);
    else if (l->verb.length) unknown_verb(net);
    if (l->as.text) cm__net_name_tensor(net, l->as, cm__net_tensor(net, cm__span_of(".")));
}

void cm__net_run(cm__net *net, int32_t first, int32_t last)
{
    for (int32_t i = first; i < last;) {
        net->line = &net->lines[i];
        cm__net_point(net, NULL);
        if (++net->steps > CM__NET_STEPS) cm__fail(net->ctx, CM_ERR_LIMIT, "more than %d lines to run", CM__NET_STEPS);
        const cm__net_keyword *k = cm__net_keyword_find(net->line->verb);
        if (k) i = k->run(net, i);
        else run_statement(net), i++;
    }
}

/* ---- the way in -------------------------------------------------------------------------------------------------- */

cm_graph *cm__import_net(cm__ctx *ctx, const char *name, const char *text, size_t size, const cm_load_options *o)
{
    cm__net *net = cm__alloc(ctx, sizeof *net);
    net->ctx = ctx;
    net->g = cm__graph_new(ctx, name, "named");
    net->options = o;
    net->current = -1;
    net->place = cm__text_copy(ctx, ctx->place);
    cm__map_init(&net->names, ctx);
    cm__net_parse(net, text, size);
    cm__net_check_choices(net);
    cm__net_run(net, 0, net->n_lines);
    net->line = NULL;
    cm__net_point(net, NULL);
    if (!net->g->n_nodes) cm__fail(ctx, CM_ERR_FORMAT, "no layers; an input and at least one are needed");
    if (!net->g->n_outputs) cm__output(net->g, net->current);
    net->g->nodes_read = net->g->n_nodes;
    return net->g;
}
