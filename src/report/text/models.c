/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - print the list of named models, or one model, as text. */
#include <math.h>
#include "report/render.h"
#include "report/table.h"

static void print_one(cm__ctx *ctx, const cm__known_model *model, FILE *out)
{
    const cm_model_info *m = model->info;
    fprintf(out, "# centimani %s, model %s\n", CM_VERSION, m->id);
    fprintf(out, "title       %s\n", m->title);
    fprintf(out, "family      %s\n", m->family);
    if (!isnan(model->parameters)) fprintf(out, "parameters  %s\n", cm__cell_count(ctx, (int64_t)model->parameters));
    fprintf(out, "definition  %s\n", m->definition);
    fprintf(out, "source      %s\n", m->source);
}

void cm__models_text(cm__ctx *ctx, const cm__models_report *r, FILE *out)
{
    static const cm__column columns[] = {{"model"}, {"family"}, {"params", ""}, {"title", NULL, true}};
    if (r->in_full) {
        print_one(ctx, &r->models[0], out);
        return;
    }
    cm__table table = cm__table_new(ctx, out, columns, 4);
    for (int32_t i = 0; i < r->n_models; i++) {
        const cm_model_info *m = r->models[i].info;
        const char          *cells[] = {m->id, m->family, cm__cell_si(ctx, r->models[i].parameters), m->title};
        cm__table_row(&table, cells);
    }
    fprintf(out, "# centimani %s, %d named models; 'centimani models show ID' shows definition and source\n\n",
            CM_VERSION, r->n_models);
    cm__table_print(&table);
}
