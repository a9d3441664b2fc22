/* Preloaded by `cargo xtask bench tasks`: a disk that takes longer, and somebody who counts.
 *
 * Every fsync and fdatasync takes SYNC_DELAY_US microseconds longer and leaves a line with the file's name in SYNC_LOG.
 * Not a tracer: the one of strace works while others wait, which slows down what is measured beside it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(int fd) {
    static int log = -1;
    char link[64], path[4096];
    const char *file = getenv("SYNC_LOG");
    if (log < 0 && file != NULL) log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (log < 0 || length < 0) return;
    path[length] = '\n';
    path[length + 1] = '\0';
    const char *name = strrchr(path, '/');
    name = name == NULL ? path : name + 1;
    /* A line that is lost makes the count too small; nothing else depends on it. */
    if (write(log, name, strlen(name)) < 0) return;
}

static int later(const char *call, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, call);
    const char *delay = getenv("SYNC_DELAY_US");
    int result = real(fd);
    if (delay != NULL && atoi(delay) > 0) usleep((useconds_t)atoi(delay));
    note(fd);
    return result;
}

int fsync(int fd) { return later("fsync", fd); }

int fdatasync(int fd) { return later("fdatasync", fd); }
