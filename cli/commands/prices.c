/* SPDX-License-Identifier: Apache-2.0 */
/* prices.c - `centimani prices`: print the offers of cloud providers, replace them by a file, or restore them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

/* The user's table of offers; false: there is no home folder. */
static bool offers_path(char *path, size_t size)
{
    const char *own = getenv("CENTIMANI_OFFERS"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (own && *own) return snprintf(path, size, "%s", own) < (int)size;
    if (config && *config) return snprintf(path, size, "%s/centimani/offers.tsv", config) < (int)size;
    return home && *home && snprintf(path, size, "%s/.config/centimani/offers.tsv", home) < (int)size;
}

const char *own_offers(settings *s)
{
    bool known = offers_path(s->offers, sizeof s->offers);
    return known && access(s->offers, R_OK) == 0 ? s->offers : NULL;
}

/* Creates the folders above a file; those that exist are left alone. */
static void make_folders(const char *path)
{
    char folder[CLI_PATH_MAX];
    for (size_t i = 1; path[i] && i < sizeof folder; i++) {
        if (path[i] != '/') continue;
        snprintf(folder, sizeof folder, "%.*s", (int)i, path);
        mkdir(folder, 0777);
    }
}

static char *read_all(const char *path)
{
    FILE  *in = fopen(path, "rb");
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = in ? open_memstream(&text, &size) : NULL;
    for (int c; out && (c = getc(in)) != EOF;) putc(c, out);
    if (out) fclose(out);
    if (in) fclose(in);
    return text;
}

static int update(settings *s, const char *file)
{
    cm_diag   diag = {0};
    int32_t   count;
    cm_status status = cm_offers_check(file, &count, &diag);
    if (status) return say_failed(status, &diag);
    if (!offers_path(s->offers, sizeof s->offers)) return say("prices: HOME is not set"), EXIT_FAILED;
    char *text = read_all(file);
    if (!text) return say("%s: cannot be read: %s", file, strerror(errno)), EXIT_FAILED;
    make_folders(s->offers);
    int code = save_bytes(s->offers, text, strlen(text));
    free(text);
    if (code == EXIT_DONE) fprintf(results(), "%d %s the built-in ones: %s\n", count,
                                  count == 1 ? "offer now replaces" : "offers now replace", s->offers);
    return code;
}

static int reset(settings *s)
{
    const char *path = own_offers(s);
    if (path && unlink(path)) return say("%s: cannot be removed: %s", path, strerror(errno)), EXIT_FAILED;
    fputs("the built-in offers are used\n", results());
    return EXIT_DONE;
}

static int list(settings *s)
{
    const char *path = own_offers(s);
    cm_diag     diag = {0};
    if (s->json) {
        cm_status status = cm__prices_json(path, results(), &diag);
        return status ? say_failed(status, &diag) : EXIT_DONE;
    }
    char *text = path ? read_all(path) : NULL;
    fputs(text ? text : cm_offers_text(), results());
    free(text);
    return EXIT_DONE;
}

int run_prices(settings *s)
{
    const char *action = s->n_operands ? s->operands[0] : "list";
    if (strcmp(action, "list") == 0 && s->n_operands < 2) return list(s);
    if (strcmp(action, "update") == 0 && s->n_operands == 2) return update(s, s->operands[1]);
    if (strcmp(action, "reset") == 0 && s->n_operands == 1) return reset(s);
    static const char *const actions[] = {"list", "update", "reset"};
    return no_action("prices", action, actions, 3, "[list | update FILE | reset]");
}
