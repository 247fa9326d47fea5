/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - `centimani report MODEL -o out.html`: write a ranking as one HTML file. */
#include <stdlib.h>
#include "cli.h"

static int save(const settings *s, const cm__page_report *page)
{
    char     *text = NULL;
    size_t    size;
    cm_diag   diag = {0};
    FILE     *out = open_memstream(&text, &size);
    cm_status status = out ? cm__page_report_print(page, out, &diag) : CM_ERR_MEMORY;
    bool      whole = out && fclose(out) == 0;
    int       code = status || !whole ? say_failed(status ? status : CM_ERR_MEMORY, &diag) : save_text(s->output, text);
    free(text);
    if (code == EXIT_DONE) fprintf(beside_output(s), "%s: %zu bytes; open it in a browser\n", s->output, size + 1);
    return code;
}

int run_report(settings *s)
{
    cm__page_report *page;
    cm_diag          diag = {0};
    cm_network       networks[OPERANDS_MAX] = {0};
    char             models[CLI_PATH_MAX];
    if (!s->output) {
        say("report needs -o FILE: the page to write");
        return EXIT_USAGE;
    }
    if (!settle_ranking(s) || !job_makes_sense(s) || !networks_make_sense(s)) return EXIT_USAGE;
    char(*names)[CLI_PATH_MAX] = calloc(OPERANDS_MAX, sizeof *names);
    int32_t several = several_networks(s) ? s->n_operands : 0;
    s->job.rank = s->rank;
    if (!names || !fill_networks(s, networks, names)) return free(names), EXIT_USAGE;
    cm_status status = cm__page_report_new(all_networks(s, models, sizeof models), &s->rank, s->job.max_devices ? &s->job : NULL,
                                           networks, several, &page, &diag);
    if (status) return free(names), say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    for (int32_t i = 0; i < cm__page_graphs(page); i++) say_warnings(cm__page_graph(page, i));
    int  code = save(s, page);
    bool any = cm__page_placed(page) > 0;
    cm__page_report_free(page);
    free(names);
    return code != EXIT_DONE || any ? code : EXIT_NOTHING_FITS;
}
