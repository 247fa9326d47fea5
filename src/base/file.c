/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - map files into memory; refuse anything but regular files of a limited size. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(void *object)
{
    cm__mapping *m = object;
    if (m->bytes) munmap((void *)(uintptr_t)m->bytes, m->size);
    if (m->fd >= 0) close(m->fd);
    *m = (cm__mapping){.fd = -1};
}

void cm__file_unmap(cm__mapping *mapping) { release(mapping); }

static size_t size_of_regular(cm__ctx *ctx, int fd, int64_t limit, const char *remedy)
{
    struct stat s;
    if (fstat(fd, &s)) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
    if (!S_ISREG(s.st_mode)) cm__fail(ctx, CM_ERR_IO, "not a regular file");
    if (s.st_size == 0) cm__fail(ctx, CM_ERR_FORMAT, "the file is empty");
    if (s.st_size > limit) cm__fail(ctx, CM_ERR_LIMIT, "%lld bytes: %s", (long long)s.st_size, remedy);
    return (size_t)s.st_size;
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
cm__mapping *cm__file_map(cm__ctx *ctx, const char *path, int64_t limit, const char *remedy)
{
    cm__mapping *m = cm__alloc(ctx, sizeof *m);
    m->fd = -1;
    cm__defer(ctx, release, m);
    m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (m->fd < 0) cm__fail(ctx, CM_ERR_IO, "%s", strerror(errno));
    size_t size = size_of_regular(ctx, m->fd, limit, remedy);
    void  *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, m->fd, 0);
    if (bytes == MAP_FAILED) cm__fail(ctx, CM_ERR_IO, "cannot map: %s", strerror(errno));
    m->bytes = bytes;
    m->size = size;
    return m;
}
