/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - read a user's profile; refuse anything but regular files of a limited size. */
#include "device/file.h"

#include <string.h>
#include <sys/stat.h>
#include "base/file.h"

#define SIZE_MAX_BYTES ((int64_t)1 << 24) /* profiles have a few kB */
#define NAME_MAX_BYTES 200

cm__origin cm__file_read(cm__ctx *ctx, const char *path)
{
    cm__origin origin = {.file = cm__text_copy(ctx, path)};
    ctx->file = origin.file;
    cm__mapping *m = cm__file_map(ctx, path, SIZE_MAX_BYTES, "too many for a profile");
    origin.text = cm__text_copy_n(ctx, (const char *)m->bytes, m->size);
    origin.size = m->size;
    cm__file_unmap(m);
    return origin;
}

static bool is_regular(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

const char *cm__file_beside(cm__ctx *ctx, const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    int         folder = slash ? (int)(slash - file) + 1 : 0;
    if (strchr(name, '/') || strlen(name) > NAME_MAX_BYTES) return NULL;
    const char *path = cm__format(ctx, "%.*s%s", folder, file, name);
    if (is_regular(path)) return path;
    path = cm__format(ctx, "%s.json", path);
    return is_regular(path) ? path : NULL;
}
