/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus.c - FOLDER LEAST [-v]: every .onnx file under FOLDER is loaded or refused with a reason; at least LEAST load.
 * A training graph is built for each loaded model. -v prints every refusal.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "centimani.h"

static int  loaded, trained, refused, wrong;
static bool verbose;

static void judge(const char *path, cm_status status, const cm_diag *diag)
{
    char text[1100];
    if (!*diag->reason || status == CM_ERR_MEMORY) {
        printf("%s: refused without a reason (%s)\n", path, cm_status_text(status));
        wrong++;
    } else if (verbose) {
        printf("%s\n", cm_diag_text(diag, text, sizeof text));
    }
}

static void try(const char *path)
{
    cm_graph *forward, *step;
    cm_diag   diag = {0};
    cm_status status = cm_graph_load(path, &(cm_load_options){0}, &forward, &diag);
    if (status) {
        refused++;
        judge(path, status, &diag);
        return;
    }
    loaded++;
    status = cm_graph_train(forward, &(cm_train_options){0}, &step, &diag);
    if (status) judge(path, status, &diag);
    else {
        trained++;
        cm_graph_free(step);
    }
    cm_graph_free(forward);
}

static int visit(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)where;
    const char *dot = strrchr(path, '.');
    if (type == FTW_F && dot && strcmp(dot, ".onnx") == 0) try(path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    verbose = argc > 3 && strcmp(argv[3], "-v") == 0;
    if (nftw(argv[1], visit, 16, FTW_PHYS) != 0) {
        printf("%s is not there (Debian: libonnx-testdata)\n", argv[1]);
        return 1;
    }
    printf("%d loaded (%d of them trained), %d refused, %d without a reason\n", loaded, trained, refused, wrong);
    return wrong || loaded < atoi(argv[2]) ? 1 : 0;
}
