/* Kills or fails the n-th change of the disk, whoever makes it: Python, SQLite or any other library.
 *
 * Preloaded into a Python process, which arms it by `faults_arm`. Only changes of files count: a write to a pipe or a
 * terminal does not. Modes: 1 kill before the change, 2 let half of a write happen and then kill, 3 fail once,
 * 4 fail from then on, 5 write half once and report it (as a disk that runs full does).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long armed_at = -1, count = 0;
static int mode = 0, code = EIO;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void faults_arm(long at, int how, int error) { count = 0; mode = how; code = error; armed_at = at; }
long faults_count(void) { return count; }

static int is_file(int fd) { struct stat s; return fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)); }

/* 0: go on; 1: fail; 2: only half. */
static int due(int writes) {
    if (mode == 0) return 0;
    pthread_mutex_lock(&lock);
    long n = count++;
    pthread_mutex_unlock(&lock);
    if (armed_at < 0 || n < armed_at || (n > armed_at && mode != 4)) return 0;
    if (mode == 1 || (mode == 2 && !writes)) raise(SIGKILL);
    if (mode == 2 || (mode == 5 && writes)) return 2;
    errno = code;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    static __typeof__(&write) real; if (!real) real = REAL(write);
    int what = mode && is_file(fd) ? due(1) : 0;
    if (what == 1) return -1;
    if (what == 2) { ssize_t n = real(fd, data, size / 2); if (mode == 2) raise(SIGKILL); return n; }
    return real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    static __typeof__(&pwrite64) real; if (!real) real = REAL(pwrite64);
    int what = mode && is_file(fd) ? due(1) : 0;
    if (what == 1) return -1;
    if (what == 2) { ssize_t n = real(fd, data, size / 2, at); if (mode == 2) raise(SIGKILL); return n; }
    return real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t writev(int fd, const struct iovec *parts, int many) {
    static __typeof__(&writev) real; if (!real) real = REAL(writev);
    int what = mode && is_file(fd) ? due(1) : 0;
    if (what == 1) return -1;
    if (what == 2) {
        struct iovec half = { parts[0].iov_base, parts[0].iov_len / 2 };
        ssize_t n = real(fd, &half, 1);
        if (mode == 2) raise(SIGKILL);
        return n;
    }
    return real(fd, parts, many);
}

#define GUARDED(name, proto, args) \
    int name proto { static __typeof__(&name) real; if (!real) real = REAL(name); return due(0) ? -1 : real args; }

GUARDED(fsync, (int fd), (fd))
GUARDED(fdatasync, (int fd), (fd))
GUARDED(ftruncate64, (int fd, off64_t size), (fd, size))
GUARDED(ftruncate, (int fd, off_t size), (fd, size))
GUARDED(rename, (const char *from, const char *to), (from, to))
GUARDED(link, (const char *from, const char *to), (from, to))
GUARDED(unlink, (const char *path), (path))
GUARDED(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
GUARDED(mkdir, (const char *path, mode_t bits), (path, bits))
GUARDED(rmdir, (const char *path), (path))

static int creates(int flags) { return mode && (flags & O_CREAT); }

int open64(const char *path, int flags, ...) {
    static __typeof__(&open64) real; if (!real) real = REAL(open64);
    va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest);
    return creates(flags) && due(0) ? -1 : real(path, flags, bits);
}
int open(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest);
    return open64(path, flags, bits);
}
