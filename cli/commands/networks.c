/* SPDX-License-Identifier: Apache-2.0 */
/* networks.c - `rank MODEL*WEIGHT MODEL ...`: one ranking for several networks. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cli.h"

/* "resnet50*3" -> 3 and the length of the name; without a weight 1. */
double weight_in(const char *operand, size_t *length)
{
    const char *star = strrchr(operand, '*');
    double      weight;
    *length = strlen(operand);
    if (!star || star == operand || !cm__parse_real(cm__span_of(star + 1), &weight)) return 1;
    *length = (size_t)(star - operand);
    return weight;
}

bool several_networks(const settings *s)
{
    size_t length;
    weight_in(s->operands[0], &length);
    return s->n_operands > 1 || s->operands[0][length];
}

static void take_sizes(cm_rank_options *o, const network_size *n)
{
    if (n->samples > 0 || n->tokens > 0) o->samples = n->samples, o->tokens = n->tokens;
    if (n->epochs > 0) o->epochs = n->epochs;
    if (n->seq) o->load.seq = n->seq;
    if (n->batch) o->batch = n->batch;
}

bool fill_networks(const settings *s, cm_network *networks, char (*names)[CLI_PATH_MAX])
{
    size_t length;
    for (int i = 0; i < s->n_operands; i++) {
        networks[i].weight = weight_in(s->operands[i], &length);
        if (length >= CLI_PATH_MAX || !(networks[i].weight > 0)) {
            say("'%s': a weight is a number above 0, such as resnet50*3", s->operands[i]);
            return false;
        }
        memcpy(names[i], s->operands[i], length);
        names[i][length] = 0;
        networks[i].model = names[i];
        networks[i].options = s->rank;
        take_sizes(&networks[i].options, &s->sizes[i]);
        if (s->per_parameter <= 0) continue;
        double parameters = model_parameters(s, names[i]);
        if (!(parameters > 0)) return false;
        networks[i].options.tokens = s->per_parameter * parameters;
    }
    return true;
}

bool find_job(settings *s, cm_job **job, cm_status *status, cm_diag *diag)
{
    cm_network networks[OPERANDS_MAX] = {0};
    char(*names)[CLI_PATH_MAX] = calloc(OPERANDS_MAX, sizeof *names);
    bool filled = names && fill_networks(s, networks, names);
    s->job.rank = s->rank;
    if (filled && several_networks(s)) *status = cm_job_run_all(networks, s->n_operands, &s->job, job, diag);
    else if (filled) {
        s->job.rank.tokens = networks[0].options.tokens;
        *status = cm_job_run(names[0], &s->job, job, diag);
    }
    free(names);
    return filled;
}

const char *all_networks(const settings *s, char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < s->n_operands; i++) {
        size_t used = strlen(text);
        cm__join(text + used, size - used, i ? " " : "", s->operands[i], NULL);
    }
    return text;
}

static int report_mix(settings *s, const cm_mix *mix, cm_diag *diag)
{
    char           models[CLI_PATH_MAX];
    cm__gates      gates = {0};
    cm__mix_report report = {all_networks(s, models, sizeof models), &s->rank, mix, &gates};
    if (cm_mix_placed(mix) && !rank_gates(s, cm_mix_get_entry(mix, 0)->parts, cm_mix_networks(mix), &gates))
        return EXIT_FAILED;
    for (int32_t i = 0; i < cm_mix_networks(mix); i++) say_warnings(cm_ranking_graph(cm_mix_ranking(mix, i), 0));
    cm_status status = cm__mix_report_print(&report, format_of(s), results(), diag);
    return status ? say_failed(status, diag) : cm_mix_placed(mix) ? say_missed(s, &gates) : EXIT_NOTHING_FITS;
}

bool networks_make_sense(const settings *s)
{
    const char *one = several_networks(s) && s->advise ? "--advise" : NULL;
    if (one) say("rank: --advise is about one network: ask for each of them");
    for (int i = 0; !one && s->job.max_devices && i < s->n_operands; i++)
        if (s->sizes[i].batch) one = "batch", say("rank: %s: with max_devices use global_batch instead of batch", s->operands[i]);
    return !one;
}

int run_networks(settings *s)
{
    cm_network  networks[OPERANDS_MAX] = {0};
    cm_mix     *mix = NULL;
    cm_diag     diag = {0};
    char(*names)[CLI_PATH_MAX] = calloc(OPERANDS_MAX, sizeof *names);
    if (!names || !fill_networks(s, networks, names)) return free(names), EXIT_USAGE;
    cm_status status = cm_mix_run(networks, s->n_operands, &s->rank, &mix, &diag);
    int code = status == CM_ERR_ARGUMENT ? (say_failed(status, &diag), EXIT_USAGE)
               : status                  ? say_failed(status, &diag)
                                         : report_mix(s, mix, &diag);
    cm_mix_free(mix);
    free(names);
    return code;
}
