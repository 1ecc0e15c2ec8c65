/* Writes down, in order, everything that a process changes on the disk, whoever makes it: Python, SQLite or any other library.
 *
 * Preloaded into a program. RECORD_ROOT is a folder; changes on its file system are appended to the file RECORD_LOG as
 * seven numbers of 64 bits (what, three of its own, the lengths of two names and of the data), the names and the data.
 * Files are told apart by their inodes. `record_note` adds a line of the program's own. Writes through shared mappings
 * are not seen, but that there is such a mapping is noted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOT = 1, CREATE, MKDIR, SYMLINK, LINK, UNLINK, RENAME, WRITE, TRUNCATE, SYNC, SYNC_ALL, MAPPED, NOTE };

static int out = -1;
static dev_t device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

static void say(uint64_t what, uint64_t a, uint64_t b, uint64_t c, const char *one, const char *two, const void *data, size_t size) {
    if (out < 0) return;
    int before = errno;
    uint64_t head[7] = { what, a, b, c, one ? strlen(one) : 0, two ? strlen(two) : 0, size };
    struct iovec parts[4] = { { head, sizeof head }, { (void *)one, head[4] }, { (void *)two, head[5] }, { (void *)data, size } };
    size_t left = 0;
    for (int n = 0; n < 4; n++) left += parts[n].iov_len;
    if (syscall(SYS_writev, out, parts, 4) != (ssize_t)left) abort();
    errno = before;
}

void record_note(const char *text) { take(); say(NOTE, 0, 0, 0, NULL, NULL, text, strlen(text)); give(); }

__attribute__((constructor)) static void start(void) {
    const char *root = getenv("RECORD_ROOT"), *log = getenv("RECORD_LOG");
    struct stat s;
    if (!root || !log || stat(root, &s)) return;
    pthread_atfork(take, give, give);
    device = s.st_dev;
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return;
    out = fcntl(fd, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, fd);
    say(ROOT, s.st_ino, 0, 0, NULL, NULL, NULL, 0);
}

/* The inode of an open file or folder, 0 where it does not count. */
static ino_t of(int fd) {
    struct stat s;
    if (out < 0 || fd == out || fstat(fd, &s) || s.st_dev != device) return 0;
    return S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) ? s.st_ino : 0;
}

typedef struct { ino_t folder; char name[256]; } place;

/* The folder of a path and the name in it; the folder is 0 where it does not count. */
static place where(int at, const char *path) {
    place found = { 0, "" };
    char whole[4096];
    struct stat s;
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    if (out < 0 || !size || size >= sizeof whole) return found;
    memcpy(whole, path, size);
    whole[size] = 0;
    char *slash = strrchr(whole, '/');
    const char *name = slash ? slash + 1 : whole;
    if (strlen(name) > 255) return found;
    strcpy(found.name, name);
    if (slash) slash[slash == whole] = 0;
    if (fstatat(at, slash ? whole : ".", &s, 0) == 0 && s.st_dev == device) found.folder = s.st_ino;
    return found;
}

static ino_t there(int at, const char *path, off_t *size) {
    struct stat s;
    if (fstatat(at, path, &s, AT_SYMLINK_NOFOLLOW)) return 0;
    if (size) *size = s.st_size;
    return s.st_ino;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* -- contents ---------------------------------------------------------------------------------------------------- */

static void wrote(int fd, off64_t at, const void *data, ssize_t size) {
    ino_t file;
    if (size > 0 && (file = of(fd))) say(WRITE, file, at < 0 ? lseek64(fd, 0, SEEK_CUR) - size : at, 0, NULL, NULL, data, size);
}

static void wrote_all(int fd, off64_t at, const struct iovec *parts, ssize_t size) {
    if (size <= 0 || !of(fd)) return;
    char *joined = malloc(size);
    for (ssize_t done = 0, n = 0; done < size; n++) {
        size_t next = parts[n].iov_len < (size_t)(size - done) ? parts[n].iov_len : (size_t)(size - done);
        memcpy(joined + done, parts[n].iov_base, next);
        done += next;
    }
    wrote(fd, at, joined, size);
    free(joined);
}

/* What the kernel copied into a file is read back. */
static void copied(int fd, off64_t at, ssize_t size) {
    if (size <= 0 || !of(fd)) return;
    if (at < 0) at = lseek64(fd, 0, SEEK_CUR) - size;
    char path[64], *data = malloc(size);
    strcpy(path, "/proc/self/fd/");
    char digits[16]; int n = 0, rest = fd;
    do digits[n++] = '0' + rest % 10; while (rest /= 10);
    for (size_t end = strlen(path); n; path[end] = 0) path[end++] = digits[--n];
    int again = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (again < 0 || pread64(again, data, size, at) != size) abort();
    syscall(SYS_close, again);
    wrote(fd, at, data, size);
    free(data);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write); if (!of(fd)) return real(fd, data, size); take(); ssize_t n = real(fd, data, size); wrote(fd, -1, data, n); give(); return n;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64); if (!of(fd)) return real(fd, data, size, at); take(); ssize_t n = real(fd, data, size, at); wrote(fd, at, data, n); give(); return n;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t writev(int fd, const struct iovec *parts, int many) {
    REAL(writev); if (!of(fd)) return real(fd, parts, many); take(); ssize_t n = real(fd, parts, many); wrote_all(fd, -1, parts, n); give(); return n;
}
ssize_t pwritev64(int fd, const struct iovec *parts, int many, off64_t at) {
    REAL(pwritev64); if (!of(fd)) return real(fd, parts, many, at); take(); ssize_t n = real(fd, parts, many, at); wrote_all(fd, at, parts, n); give(); return n;
}
ssize_t pwritev(int fd, const struct iovec *parts, int many, off_t at) { return pwritev64(fd, parts, many, at); }
ssize_t pwritev64v2(int fd, const struct iovec *parts, int many, off64_t at, int flags) {
    REAL(pwritev64v2); if (!of(fd)) return real(fd, parts, many, at, flags); take(); ssize_t n = real(fd, parts, many, at, flags); wrote_all(fd, at, parts, n); give(); return n;
}
ssize_t pwritev2(int fd, const struct iovec *parts, int many, off_t at, int flags) { return pwritev64v2(fd, parts, many, at, flags); }
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *put, size_t size, unsigned flags) {
    REAL(copy_file_range); take();
    off64_t start = put ? *put : -1;
    ssize_t n = real(from, at, to, put, size, flags);
    copied(to, start, n); give(); return n;
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
    REAL(sendfile64); take(); ssize_t n = real(to, from, at, size); copied(to, -1, n); give(); return n;
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) { return sendfile64(to, from, at, size); }

static void resized(int fd) { struct stat s; ino_t file = of(fd); if (file && !fstat(fd, &s)) say(TRUNCATE, file, s.st_size, 0, NULL, NULL, NULL, 0); }

int ioctl(int fd, unsigned long what, ...) {
    REAL(ioctl);
    va_list rest; va_start(rest, what); void *given = va_arg(rest, void *); va_end(rest);
    if (what != 0x40049409) return real(fd, what, given);
    take(); /* FICLONE: the blocks of another file */
    int n = real(fd, what, given);
    struct stat s;
    if (n == 0 && !fstat(fd, &s)) copied(fd, 0, s.st_size);
    give(); return n;
}

#define RESIZES(name, proto, args) int name proto { REAL(name); take(); int n = real args; if (!n) resized(fd); give(); return n; }
RESIZES(ftruncate64, (int fd, off64_t size), (fd, size))
RESIZES(fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))
RESIZES(posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size))
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t size) { return fallocate64(fd, mode, at, size); }
int posix_fallocate(int fd, off_t at, off_t size) { return posix_fallocate64(fd, at, size); }
int truncate64(const char *path, off64_t size) {
    REAL(truncate64); take();
    int n = real(path, size);
    struct stat s;
    if (!n && out >= 0 && !stat(path, &s) && s.st_dev == device) say(TRUNCATE, s.st_ino, size, 0, NULL, NULL, NULL, 0);
    give(); return n;
}
int truncate(const char *path, off_t size) { return truncate64(path, size); }

void *mmap64(void *at, size_t size, int may, int flags, int fd, off64_t from) {
    REAL(mmap64);
    ino_t file;
    if (fd >= 0 && (may & PROT_WRITE) && (flags & MAP_SHARED) && (file = of(fd))) { take(); say(MAPPED, file, 0, 0, NULL, NULL, NULL, 0); give(); }
    return real(at, size, may, flags, fd, from);
}
void *mmap(void *at, size_t size, int may, int flags, int fd, off_t from) { return mmap64(at, size, may, flags, fd, from); }

/* -- syncs ------------------------------------------------------------------------------------------------------- */

/* Only what was written before a sync began is sure to be on the medium; the lock keeps all else out meanwhile. */
#define SYNCS(name) int name(int fd) { REAL(name); take(); int n = real(fd); ino_t file; if (!n && (file = of(fd))) say(SYNC, file, 0, 0, NULL, NULL, NULL, 0); give(); return n; }
SYNCS(fsync)
SYNCS(fdatasync)
int syncfs(int fd) { REAL(syncfs); take(); int n = real(fd); if (!n && of(fd)) say(SYNC_ALL, 0, 0, 0, NULL, NULL, NULL, 0); give(); return n; }
void sync(void) { REAL(sync); take(); real(); say(SYNC_ALL, 0, 0, 0, NULL, NULL, NULL, 0); give(); }

/* -- names ------------------------------------------------------------------------------------------------------- */

static int opening(int (*real)(int, const char *, int, ...), int at, const char *path, int flags, mode_t bits) {
    if (out < 0 || !(flags & (O_CREAT | O_TRUNC))) return real(at, path, flags, bits);
    take();
    off_t size = 0;
    place to = where(at, path);
    ino_t before = there(at, path, &size);
    int fd = real(at, path, flags, bits);
    ino_t file = fd < 0 ? 0 : of(fd);
    if (file && !before && to.folder) {
        struct stat s;
        fstat(fd, &s);
        say(CREATE, to.folder, file, s.st_mode, to.name, NULL, NULL, 0);
    } else if (file && before && size && (flags & O_TRUNC)) say(TRUNCATE, file, 0, 0, NULL, NULL, NULL, 0);
    give();
    return fd;
}

#define BITS va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest)
int openat64(int at, const char *path, int flags, ...) { REAL(openat64); BITS; return opening(real, at, path, flags, bits); }
int openat(int at, const char *path, int flags, ...) { BITS; return openat64(at, path, flags, bits); }
int open64(const char *path, int flags, ...) { BITS; return openat64(AT_FDCWD, path, flags, bits); }
int open(const char *path, int flags, ...) { BITS; return openat64(AT_FDCWD, path, flags, bits); }
int creat64(const char *path, mode_t bits) { return openat64(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, bits); }
int creat(const char *path, mode_t bits) { return creat64(path, bits); }

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    REAL(renameat2); take();
    place one = where(a, from), two = where(b, to);
    int is_same = there(a, from, NULL) == there(b, to, NULL); /* two names of one file: nothing happens */
    int n = real(a, from, b, to, flags);
    if (!n && !is_same && one.folder && two.folder) say(RENAME, one.folder, two.folder, flags, one.name, two.name, NULL, 0);
    give(); return n;
}
int renameat(int a, const char *from, int b, const char *to) { return renameat2(a, from, b, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int a, const char *from, int b, const char *to, int flags) {
    REAL(linkat); take();
    place two = where(b, to);
    int n = real(a, from, b, to, flags);
    if (!n && two.folder) say(LINK, two.folder, there(b, to, NULL), 0, two.name, NULL, NULL, 0);
    give(); return n;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int symlinkat(const char *text, int at, const char *path) {
    REAL(symlinkat); take();
    place to = where(at, path);
    int n = real(text, at, path);
    if (!n && to.folder) say(SYMLINK, to.folder, there(at, path, NULL), 0, to.name, text, NULL, 0);
    give(); return n;
}
int symlink(const char *text, const char *path) { return symlinkat(text, AT_FDCWD, path); }

int mkdirat(int at, const char *path, mode_t bits) {
    REAL(mkdirat); take();
    place to = where(at, path);
    int n = real(at, path, bits);
    if (!n && to.folder) say(MKDIR, to.folder, there(at, path, NULL), 0, to.name, NULL, NULL, 0);
    give(); return n;
}
int mkdir(const char *path, mode_t bits) { return mkdirat(AT_FDCWD, path, bits); }

int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat); take();
    place to = where(at, path);
    int n = real(at, path, flags);
    if (!n && to.folder) say(UNLINK, to.folder, 0, 0, to.name, NULL, NULL, 0);
    give(); return n;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
