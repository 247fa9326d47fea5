/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - read bandwidth of storage: a temporary file, read with the page cache bypassed where possible. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/host/host.h"

#define FILE_BYTES  ((int64_t)128 << 20)
#define BLOCK_BYTES ((int64_t)4 << 20)

typedef struct storage {
    int      fd;
    uint8_t *block;
} storage;

/* Byte i of the file; all blocks differ. */
static void fill_block(uint8_t *block, int64_t offset)
{
    uint64_t *words = (uint64_t *)block;
    for (int64_t i = 0; i < BLOCK_BYTES / 8; i++) words[i] = (uint64_t)(offset / 8 + i) * 0x9e3779b97f4a7c15u;
}

static void storage_release(void *a_case)
{
    storage *s = a_case;
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    free(s->block);
    free(s);
}

static bool write_file(int fd, uint8_t *block)
{
    for (int64_t at = 0; at < FILE_BYTES; at += BLOCK_BYTES) {
        fill_block(block, at);
        if (pwrite(fd, block, (size_t)BLOCK_BYTES, (off_t)at) != (ssize_t)BLOCK_BYTES) return false;
    }
    return fsync(fd) == 0;
}

/* The file is unlinked at once, so the system removes it however the program ends. */
static int open_file(const char *path, uint8_t *block)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    bool written = write_file(fd, block);
    int  direct = written ? open(path, O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    int  error = errno;
    unlink(path);
    if (written && direct < 0) return fd;
    close(fd);
    errno = error;
    return direct;
}

static cm_status storage_prepare(const char *folder, void **a_case, double *work, cm_diag *diag)
{
    char     path[4096];
    storage *s = calloc(1, sizeof *s);
    if (s) s->block = aligned_alloc(4096, (size_t)BLOCK_BYTES);
    if (!s || !s->block) {
        free(s);
        return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    }
    if (!folder) folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(path, sizeof path, "%s/centimani-bench-%ld", folder, (long)getpid());
    s->fd = open_file(path, s->block);
    if (s->fd < 0) {
        storage_release(s);
        return cm__diag_set(diag, CM_ERR_IO, "cannot write 128 MiB to '%.200s': %s; name another folder with --storage",
                            folder, strerror(errno));
    }
    *work = (double)FILE_BYTES;
    *a_case = s;
    return CM_OK;
}

static bool read_block(storage *s, int64_t at)
{
    return pread(s->fd, s->block, (size_t)BLOCK_BYTES, (off_t)at) == (ssize_t)BLOCK_BYTES;
}

static cm_status storage_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    storage *s = a_case;
    *time_s = 0;
    for (int64_t r = 0; r < repetitions; r++) {
        posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
        double began = cm__now_s();
        for (int64_t at = 0; at < FILE_BYTES; at += BLOCK_BYTES)
            if (!read_block(s, at)) return cm__diag_set(diag, CM_ERR_IO, "cannot read: %s", strerror(errno));
        *time_s += cm__now_s() - began;
    }
    return CM_OK;
}

static cm_status storage_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    storage *s = a_case;
    uint8_t *expected = malloc((size_t)BLOCK_BYTES);
    if (!expected) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    for (int64_t at = 0; at < FILE_BYTES; at += BLOCK_BYTES) {
        fill_block(expected, at);
        *wrong += !read_block(s, at) || memcmp(expected, s->block, (size_t)BLOCK_BYTES) != 0;
    }
    free(expected);
    return CM_OK;
}

const cm__host_test cm__host_storage = {"storage", "B", storage_prepare, storage_run, storage_verify, storage_release};
