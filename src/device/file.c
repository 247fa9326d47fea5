/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - reads a user's profile; whatever is not a regular file of sensible size is refused. */
#include "device/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MAX_BYTES ((off_t)1 << 24) /* a profile has some kB */
#define NAME_MAX_BYTES 200

typedef struct descriptor {
    int fd;
} descriptor;

static void close_file(void *object)
{
    descriptor *d = object;
    if (d->fd >= 0) close(d->fd);
    d->fd = -1;
}

static size_t size_of_regular(cm__ctx *ctx, int fd)
{
    struct stat s;
    if (fstat(fd, &s)) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
    if (!S_ISREG(s.st_mode)) cm__fail(ctx, CM_ERR_IO, "not a regular file");
    if (s.st_size == 0) cm__fail(ctx, CM_ERR_FORMAT, "the file is empty");
    if (s.st_size > SIZE_MAX_BYTES)
        cm__fail(ctx, CM_ERR_LIMIT, "%lld bytes are too many for a profile", (long long)s.st_size);
    return (size_t)s.st_size;
}

static size_t read_all(cm__ctx *ctx, int fd, char *text, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, text + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
        if (n == 0) break; /* it was made shorter meanwhile */
        done += (size_t)n;
    }
    return done;
}

/* O_NONBLOCK: opening a FIFO must not wait for its writer. */
cm__origin cm__file_read(cm__ctx *ctx, const char *path)
{
    descriptor *d = cm__alloc(ctx, sizeof *d);
    cm__origin  origin = {.file = cm__text_copy(ctx, path)};
    d->fd = -1;
    cm__defer(ctx, close_file, d);
    ctx->file = origin.file;
    d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (d->fd < 0) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
    size_t size = size_of_regular(ctx, d->fd);
    char  *text = cm__alloc(ctx, size + 1);
    origin.size = read_all(ctx, d->fd, text, size);
    origin.text = text;
    close_file(d);
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
