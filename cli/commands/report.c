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
    if (!s->output) {
        say("report needs -o FILE: the page to write");
        return EXIT_USAGE;
    }
    if (!settle_ranking(s) || !job_makes_sense(s)) return EXIT_USAGE;
    s->job.rank = s->rank;
    cm_status status = cm__page_report_new(s->operands[0], &s->rank, s->job.max_devices ? &s->job : NULL, &page, &diag);
    if (status) return say_failed(status, &diag), status == CM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    say_warnings(cm__page_graph(page));
    int  code = save(s, page);
    bool any = cm__page_placed(page) > 0;
    cm__page_report_free(page);
    return code != EXIT_DONE || any ? code : EXIT_NOTHING_FITS;
}
