/* Keeps a copy of each file as it was when the program last waited for the disk, in the folder that
   POWER_TEST_DISK names: what a loss of power would leave in the worst case. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void keep(int fd) {
    const char *disk = getenv("POWER_TEST_DISK");
    char link[64], path[PATH_MAX], whole[PATH_MAX + 64], part[PATH_MAX + 72], block[65536];
    if (disk == NULL) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) abort();
    path[length] = 0;
    const char *name = strrchr(path, '/') + 1;
    /* A folder has no content of its own. */
    int from = open(path, O_RDONLY);
    if (from < 0) return;
    snprintf(whole, sizeof whole, "%s/%s", disk, name);
    snprintf(part, sizeof part, "%s.part", whole);
    int to = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (to < 0) abort();
    off_t place = 0;
    while ((length = pread(from, block, sizeof block, place)) > 0) {
        if (write(to, block, length) != length) abort();
        place += length;
    }
    close(from);
    close(to);
    if (length < 0) unlink(part);
    else if (rename(part, whole) != 0) abort();
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}
