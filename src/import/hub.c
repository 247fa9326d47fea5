/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.c - find the config.json of a Hugging Face repository in the local cache. Nothing is downloaded.
 *
 * The cache has a folder for each repository, models--ORGANISATION--NAME, in it refs/main with the name of the current
 * snapshot, and snapshots/SNAPSHOT/config.json.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"
#include "import/import.h"

#define NAME_MAX_BYTES 192 /* the hub allows 96 characters for each of the two parts */

bool cm__is_hub_name(const char *spec)
{
    size_t length = strspn(spec, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./");
    const char *slash = strchr(spec, '/');
    return length > 0 && length <= NAME_MAX_BYTES && !spec[length] && spec[0] != '.' && !strstr(spec, "..") &&
           !strstr(spec, "--") && slash != spec && (!slash || (slash[1] && slash[1] != '.' && !strchr(slash + 1, '/')));
}

/* As huggingface_hub does: the first variable that is set decides. */
const char *cm__hub_cache(cm__ctx *ctx)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"HF_HUB_CACHE", ""}, {"HUGGINGFACE_HUB_CACHE", ""}, {"HF_HOME", "/hub"},
                  {"XDG_CACHE_HOME", "/huggingface/hub"}, {"HOME", "/.cache/huggingface/hub"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (value && *value) return cm__format(ctx, "%s%s", value, places[i].below);
    }
    return NULL;
}

const char *cm__hub_folder(cm__ctx *ctx, const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? cm__format(ctx, "models--%.*s--%s", (int)(slash - name), name, slash + 1)
                 : cm__format(ctx, "models--%s", name);
}

static bool is_file(const char *path, struct stat *s) { return stat(path, s) == 0 && S_ISREG(s->st_mode); }

/* The snapshot that refs/main names; NULL: none, or its name is not one of a folder. */
static const char *current(cm__ctx *ctx, const char *folder)
{
    char        text[NAME_MAX_BYTES] = "";
    const char *path = cm__format(ctx, "%s/refs/main", folder);
    struct stat s;
    FILE       *file = is_file(path, &s) ? fopen(path, "r") : NULL;
    if (!file) return NULL;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    text[strspn(text, "0123456789abcdef")] = 0;
    return *text ? cm__format(ctx, "%s/snapshots/%s/config.json", folder, text) : NULL;
}

/* Without refs/main: the snapshot whose config.json was written last; of several of the same second the first name. */
static const char *newest(cm__ctx *ctx, const char *folder)
{
    const char    *snapshots = cm__format(ctx, "%s/snapshots", folder), *best = NULL;
    struct stat    s, of_best = {0};
    DIR           *entries = opendir(snapshots);
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > NAME_MAX_BYTES) continue;
        const char *path = cm__format(ctx, "%s/%s/config.json", snapshots, entry->d_name);
        if (!is_file(path, &s)) continue;
        bool same = best && s.st_mtime == of_best.st_mtime;
        if (best && (same ? strcmp(path, best) > 0 : s.st_mtime < of_best.st_mtime)) continue;
        best = path;
        of_best = s;
    }
    if (entries) closedir(entries);
    return best;
}

const char *cm__hub_config(cm__ctx *ctx, const char *name)
{
    struct stat s;
    const char *cache = cm__is_hub_name(name) ? cm__hub_cache(ctx) : NULL;
    if (!cache) return NULL;
    const char *folder = cm__format(ctx, "%s/%s", cache, cm__hub_folder(ctx, name)), *main = current(ctx, folder);
    return main && is_file(main, &s) ? main : newest(ctx, folder);
}
