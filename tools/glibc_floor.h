/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_floor.h - included before every file of a wheel's library: refer to functions of glibc by their oldest
 * versions, so that the library also loads where glibc is older than that of the machine that builds it.
 *
 * glibc keeps old versions of a function under the same name. The linker takes the newest unless told otherwise.
 */
#ifndef CM_TOOLS_GLIBC_FLOOR_H
#define CM_TOOLS_GLIBC_FLOOR_H

#ifndef __ASSEMBLER__
#include <features.h>
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) && (defined(__x86_64__) || defined(__aarch64__))

#include <sys/stat.h>

#ifdef __x86_64__
#define CM__OLDEST "GLIBC_2.2.5"
#define CM__STAT_VERSION 1
#else
#define CM__OLDEST "GLIBC_2.17"
#define CM__STAT_VERSION 0
#endif
#define CM__OLD(name) __asm__(".symver " #name "," #name "@" CM__OLDEST)

#ifdef __x86_64__
__asm__(".symver dlinfo,dlinfo@GLIBC_2.3.3");
#else
CM__OLD(dlinfo);
#endif

CM__OLD(exp); /* new in 2.27 to 2.29: without the error handling of System V */
CM__OLD(expf);
CM__OLD(log);
CM__OLD(logf);
CM__OLD(log2);
CM__OLD(log2f);
CM__OLD(pow);
CM__OLD(powf);
CM__OLD(hypot); /* 2.35 */
CM__OLD(pthread_create); /* 2.34: moved from libpthread and libdl, which Python loads */
CM__OLD(pthread_join);
CM__OLD(pthread_detach);
CM__OLD(pthread_once);
CM__OLD(pthread_key_create);
CM__OLD(pthread_getspecific);
CM__OLD(pthread_setspecific);
CM__OLD(pthread_kill);
CM__OLD(pthread_mutex_trylock);
CM__OLD(sem_init);
CM__OLD(sem_post);
CM__OLD(sem_wait);
CM__OLD(dlopen);
CM__OLD(dlsym);
CM__OLD(dlclose);
CM__OLD(dlerror);

/* Before 2.33, stat() and its relatives were inline functions that call these. */
CM__OLD(__xstat64);
CM__OLD(__lxstat64);
CM__OLD(__fxstat64);
int __xstat64(int version, const char *path, void *to);
int __lxstat64(int version, const char *path, void *to);
int __fxstat64(int version, int file, void *to);
#define stat(path, to) __xstat64(CM__STAT_VERSION, path, to)
#define lstat(path, to) __lxstat64(CM__STAT_VERSION, path, to)
#define fstat(file, to) __fxstat64(CM__STAT_VERSION, file, to)

#endif
#endif
#endif
