/* SPDX-License-Identifier: Apache-2.0 */
/* values_words.c - options whose values are words, or that have none. */
#include <string.h>
#include "base/text.h"
#include "values.h"

bool store_flag(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s, (void)value;
    *(bool *)field = true;
    return true;
}

bool store_text(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s;
    *(const char **)field = value;
    return true;
}

bool store_dimension(const option *o, settings *s, void *field, const char *value)
{
    const char *equals = strchr(value, '=');
    char       *dims = field;
    size_t      used = strlen(dims), more = strlen(value);
    int64_t     n;
    if (!equals || equals == value || strchr(value, ',') || !cm__parse_int(cm__span_of(equals + 1), &n) || n < 1) {
        say("option %s: '%s' is not NAME=N with a whole number from 1", o->name, value);
        return false;
    }
    if (used + more + 2 > sizeof s->dims) {
        say("option %s: more than %zu characters in all", o->name, sizeof s->dims - 1);
        return false;
    }
    if (used) dims[used++] = ',';
    memcpy(dims + used, value, more + 1);
    s->graph.load.dims = dims;
    return true;
}

bool store_tokens_per_sample(const option *o, settings *s, void *field, const char *value)
{
    static const char *const ways[CM_SAMPLES] = {"padded", "unpadded", "packed"};
    cm_load_options         *load = field;
    cm__span                 mean = {value, strcspn(value, ",")}, how = cm__span_of(value + mean.length);
    (void)s;
    if (!cm__parse_real(mean, &load->tokens) || !(load->tokens >= 1)) {
        say("option %s: '%.*s' is not a number of tokens", o->name, (int)mean.length, value);
        return false;
    }
    if (how.length) how = (cm__span){how.text + 1, how.length - 1};
    for (load->samples = 0; how.length && load->samples < CM_SAMPLES; load->samples++)
        if (cm__span_is(how, ways[load->samples])) return true;
    if (!how.length) return true;
    say("option %s: '%.*s' is none of padded, unpadded and packed", o->name, (int)how.length, how.text);
    return false;
}

bool store_loop(const option *o, settings *s, void *field, const char *value)
{
    const char *wrong;
    (void)s;
    if (cm__loop_parse(value, field, &wrong)) return true;
    say("option %s: '%.*s' is not grpo or ppo, or not one of group=N, epochs=N, reference=off, copy=off, reward=MODEL",
        o->name, (int)strcspn(wrong, ","), wrong);
    return false;
}

bool store_mode(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "inference") == 0;
    if (*(bool *)field || strcmp(value, "training") == 0) return true;
    say("option %s: unknown mode '%s'; there are training and inference", o->name, value);
    return false;
}

bool store_lookup_grid(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "nuclide") == 0;
    if (*(bool *)field || strcmp(value, "unionized") == 0) return true;
    say("option %s: unknown grid '%s'; there are unionized and nuclide", o->name, value);
    return false;
}

bool store_lookup_sums(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "memory") == 0;
    if (*(bool *)field || strcmp(value, "registers") == 0) return true;
    say("option %s: unknown place '%s'; there are registers and memory", o->name, value);
    return false;
}

/* --host-io off is stored separately, because it also overrides a named dataset. */
bool store_switch(const option *o, settings *s, void *field, const char *value)
{
    *(bool *)field = strcmp(value, "on") == 0;
    s->no_loading = strcmp(value, "off") == 0;
    if (*(bool *)field || s->no_loading) return true;
    say("option %s: '%s' is neither on nor off", o->name, value);
    return false;
}

bool store_sparsity(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    cm_sparsity *sparsity = field;
    sparsity->structured = strcmp(value, "2:4") == 0;
    sparsity->pruned = 0.5;
    if (sparsity->structured) return true;
    bool number = cm__parse_real(cm__span_of(value), &sparsity->pruned);
    if (number && sparsity->pruned >= 0 && sparsity->pruned < 1) return true;
    say("option %s: '%s' is neither a number from 0 to below 1 nor 2:4", o->name, value);
    return false;
}

bool store_moments(const option *o, settings *s, void *field, const char *value)
{
    static const char *const names[] = {[CM_MOMENTS_FP32] = "fp32", [CM_MOMENTS_BF16] = "bf16",
                                        [CM_MOMENTS_WEIGHTS] = "weights"};
    (void)s;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            *(cm_moments *)field = (cm_moments)i;
            return true;
        }
    say("option %s: unknown type '%s'; there are fp32, bf16 and weights", o->name, value);
    return false;
}

bool store_schedule(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(bool *)field = strcmp(value, "gpipe") == 0;
    if (*(bool *)field || strcmp(value, "1f1b") == 0) return true;
    say("option %s: unknown schedule '%s'; there are 1f1b and gpipe", o->name, value);
    return false;
}

/* The N of "activations:N"; 0: the word has none, -1: it is no number of layers. */
static int32_t layers_of(cm__span word)
{
    const char *colon = memchr(word.text, ':', word.length);
    int64_t     layers = 0;
    if (!colon) return 0;
    cm__span number = {colon + 1, word.length - (size_t)(colon + 1 - word.text)};
    return cm__parse_int(number, &layers) && layers > 0 && layers <= INT32_MAX ? (int32_t)layers : -1;
}

bool store_offload(const option *o, settings *s, void *field, const char *value)
{
    cm_plan *plan = field;
    (void)s;
    for (const char *at = value; *at; at += *at == ',') {
        cm__span word = {at, strcspn(at, ",")}, name = {at, strcspn(at, ",:")};
        int32_t  layers = layers_of(word);
        bool    *what = cm__span_is(name, "optimizer")     ? &plan->offload_optimizer
                        : cm__span_is(name, "activations") ? &plan->offload_activations
                        : cm__span_is(name, "weights")     ? &plan->offload_weights
                                                           : NULL;
        if (!what || layers < 0 || (layers > 0 && what != &plan->offload_activations)) {
            say("option %s: '%.*s' is none of optimizer, activations, activations:N (of N layers) and weights", o->name,
                (int)word.length, at);
            return false;
        }
        *what = true;
        if (layers > 0) plan->offload_layers = layers;
        at += word.length;
    }
    return true;
}

bool store_host(const option *o, settings *s, void *field, const char *value)
{
    const char **hosts = field;
    if (s->n_hosts == HOSTS_MAX) say("option %s: more than %d names", o->name, HOSTS_MAX);
    else if (!*value || strpbrk(value, "/ "))
        say("option %s: '%s' is not a host name such as box.example", o->name, value);
    else {
        hosts[s->n_hosts++] = value;
        return true;
    }
    return false;
}

bool store_price(const option *o, settings *s, void *field, const char *value)
{
    const char *equals = strchr(value, '=');
    double      usd;
    (void)field;
    if (s->rank.n_prices == PRICES_MAX) {
        say("option %s: more than %d prices", o->name, PRICES_MAX);
        return false;
    }
    char *name = s->price_names[s->rank.n_prices];
    if (!equals || equals == value || equals - value >= (long)sizeof s->price_names[0] ||
        !cm__parse_real(cm__span_of(equals + 1), &usd) || usd <= 0) {
        say("option %s: '%s' is not DEVICE=USD", o->name, value);
        return false;
    }
    memcpy(name, value, (size_t)(equals - value));
    s->prices[s->rank.n_prices++] = (cm_rank_price){name, usd};
    return true;
}

#define STORE_NAMED(kind)                                                                                              \
    bool store_##kind(const option *o, settings *s, void *field, const char *value)                                    \
    {                                                                                                                  \
        (void)s;                                                                                                       \
        cm_diag diag;                                                                                                  \
        if (cm_##kind##_parse(value, field, &diag) == CM_OK) return true;                                              \
        say("option %s: %s", o->name, diag.reason);                                                                    \
        return false;                                                                                                  \
    }
STORE_NAMED(precision)
STORE_NAMED(optimizer)
STORE_NAMED(loss)
STORE_NAMED(attention)
STORE_NAMED(loss_kernel)
STORE_NAMED(logits)
STORE_NAMED(mixed_precision)
STORE_NAMED(lora)
STORE_NAMED(quantize)
STORE_NAMED(layout)
STORE_NAMED(basis)

bool store_recompute(const option *o, settings *s, void *field, const char *value)
{
    (void)field;
    cm_diag diag;
    if (cm_recompute_set(value, &s->graph.train, &diag) == CM_OK) return true;
    say("option %s: %s", o->name, diag.reason);
    return false;
}

bool store_recompute_or_auto(const option *o, settings *s, void *field, const char *value)
{
    s->rank.try_recompute = strcmp(value, "auto") == 0;
    return s->rank.try_recompute || store_recompute(o, s, field, value);
}

bool store_launcher(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(const char **)field = value;
    if (cm__is_launcher(value)) return true;
    say("option %s: '%s' is not torchrun, deepspeed or megatron", o->name, value);
    return false;
}

bool store_scheduler(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    *(const char **)field = value;
    if (strcmp(value, "pbs") == 0 || strcmp(value, "slurm") == 0) return true;
    say("option %s: '%s' is not pbs or slurm", o->name, value);
    return false;
}

/* --spot is a short name of --price-basis spot. */
bool store_spot(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s, (void)value;
    *(cm_basis *)field = CM_BASIS_SPOT;
    return true;
}

bool store_software(const option *o, settings *s, void *field, const char *value)
{
    (void)s;
    cm_diag diag;
    if (cm_software_parse(value, field, &diag) == CM_OK) return true;
    say("option %s: %s", o->name, diag.reason);
    return false;
}

/* --cuda-graphs is a mode of the runtime, whichever of the two options comes first. */
bool store_graphs(const option *o, settings *s, void *field, const char *value)
{
    (void)s, (void)value;
    cm_diag diag;
    if (cm_runtime_with_graphs(field, &diag) == CM_OK) return true;
    say("option %s: %s", o->name, diag.reason);
    return false;
}

bool store_runtime(const option *o, settings *s, void *field, const char *value)
{
    cm_diag    diag;
    cm_runtime before = *(cm_runtime *)field;
    if (cm_runtime_parse(value, field, &diag) != CM_OK) {
        say("option %s: %s", o->name, diag.reason);
        return false;
    }
    return before != CM_RUNTIME_EAGER_GRAPHS || store_graphs(o, s, field, NULL);
}

#define STORE_OBJECTIVE(of, CHOICE)                                                                                    \
    bool store_objective_##of(const option *o, settings *s, void *field, const char *value)                            \
    {                                                                                                                  \
        (void)s;                                                                                                       \
        cm_diag diag;                                                                                                  \
        if (cm_objective_parse(value, CHOICE, field, &diag) == CM_OK) return true;                                     \
        say("option %s: %s", o->name, diag.reason);                                                                    \
        return false;                                                                                                  \
    }
STORE_OBJECTIVE(batch, CM_CHOICE_BATCH)
STORE_OBJECTIVE(device, CM_CHOICE_DEVICE)
STORE_OBJECTIVE(plan, CM_CHOICE_PLAN)

/* 'all' is also what is stored if nothing is given: see warn_of_fusion(). */
bool store_fuse(const option *o, settings *s, void *field, const char *value)
{
    cm_diag diag;
    bool    known = cm_fuse_parse(value, field, &diag) == CM_OK;
    if (!known) say("option %s: %s", o->name, diag.reason);
    s->fuse_all = known && *(cm_fuse *)field == CM_FUSE_ALL;
    return known;
}

bool store_no_fuse(const option *o, settings *s, void *field, const char *value)
{
    (void)o, (void)s, (void)value;
    *(cm_fuse *)field = CM_FUSE_NONE;
    return true;
}
