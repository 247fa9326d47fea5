/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - write escaped text, tables and embedded JSON as HTML. */
#include "report/html/html.h"

#include <stdlib.h>
#include <string.h>
#include "report/render.h"

void cm__html_text(cm__ctx *ctx, FILE *out, const char *text)
{
    static const char *const escapes[256] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
                                             ['\''] = "&#39;"};
    for (const char *c = cm__printable(ctx, text); *c; c++) {
        const char *escaped = escapes[(unsigned char)*c];
        if (escaped) fputs(escaped, out);
        else putc(*c, out);
    }
}

void cm__html_table_begin(cm__ctx *ctx, FILE *out, const char *caption, const cm__column *columns, int32_t n_columns)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    cm__html_text(ctx, out, caption);
    fputs("\"><table><caption>", out);
    cm__html_text(ctx, out, caption);
    fputs("</caption><thead><tr>", out);
    for (int32_t i = 0; i < n_columns; i++) {
        fprintf(out, "<th scope=\"col\"%s>", columns[i].unit ? "" : " class=\"word\"");
        cm__html_text(ctx, out, columns[i].name);
        if (columns[i].unit && *columns[i].unit) {
            fputs("<small>", out);
            cm__html_text(ctx, out, columns[i].unit);
            fputs("</small>", out);
        }
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void cm__html_row(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, const char *const *cells)
{
    fputs("<tr>", out);
    for (int32_t i = 0; i < n_columns; i++) {
        bool head = i == 0;
        fputs(head ? "<th scope=\"row\">" : columns[i].wraps ? "<td class=\"long\">" : columns[i].unit ? "<td>"
                                                                                    : "<td class=\"word\">", out);
        cm__html_text(ctx, out, cells[i] ? cells[i] : "-");
        fputs(head ? "</th>" : "</td>", out);
    }
    fputs("</tr>\n", out);
}

void cm__html_table_end(FILE *out) { fputs("</tbody></table></div>\n", out); }

void cm__html_json(FILE *out, const char *text)
{
    for (; *text; text++) {
        size_t plain = strcspn(text, "<");
        fwrite(text, 1, plain, out);
        text += plain;
        if (!*text) return;
        fputs("\\u003c", out); /* only strings contain it, so the data stay the same */
    }
}

void cm__html_data(cm__ctx *ctx, FILE *out, const json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) cm__fail(ctx, CM_ERR_MEMORY, "out of memory while writing JSON");
    fputs("<script type=\"application/json\" id=\"data\">", out);
    cm__html_json(out, text);
    fputs("</script>\n", out);
    free(text);
}

const cm__web_file *cm__web_file_named(const char *name)
{
    for (int32_t i = 0; i < cm__n_web_files; i++)
        if (strcmp(cm__web_files[i].name, name) == 0) return &cm__web_files[i];
    return NULL;
}
