/* Preloaded before the C library of a child process: counts its calls that touch files below a directory, and makes one of
 * them fail. The journal has a simulated disk for this; libgit2 only has the real one.
 *
 *   FAILING_BELOW   the directory; calls elsewhere are not affected
 *   FAILING_AT      the number of the call that fails, from 1
 *   FAILING_HOW     "io", "space", "half" (a write that writes half), "kill", or "look" (a call that only reads)
 *   FAILING_LASTING if set, every call after it fails too
 *   FAILING_REPORT  a file elsewhere, which gets a line for each failed call and one with the number of calls
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a call needs. A full disk only fails calls that need space. */
enum need { LOOKS, CHANGES, GROWS, WRITES };

static char below[PATH_MAX];
static long at;
static int lasting;
static char how;
static int report = -1;
static atomic_long calls;

#define REAL(name)                                                                                                     \
    static __typeof__(name) *real;                                                                                     \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("FAILING_BELOW");
    if (!text) return;
    snprintf(below, sizeof below, "%s", text);
    text = getenv("FAILING_AT");
    at = text ? atol(text) : 0;
    text = getenv("FAILING_HOW");
    how = text ? text[0] : 'i';
    lasting = getenv("FAILING_LASTING") != NULL;
    text = getenv("FAILING_REPORT");
    int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (text) report = real_open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void say(const char *format, ...) {
    char line[PATH_MAX + 100];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    ssize_t (*real_write)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (report >= 0 && length > 0 && real_write(report, line, (size_t)length) < 0) abort();
}

__attribute__((destructor)) static void end(void) {
    if (below[0]) say("calls %ld\n", atomic_load(&calls));
}

static int concerns(const char *path) {
    size_t length = strlen(below);
    return length > 0 && strncmp(path, below, length) == 0;
}

/* Returns whether this call fails. Sets errno, except for half a write, which is no error. */
static int struck(const char *name, enum need need, const char *path) {
    int saved = errno;
    if (!concerns(path)) return 0;
    if ((how == 'l') != (need == LOOKS) || (how == 's' && need < GROWS) || (how == 'h' && need != WRITES)) return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (at == 0 || number < at || (number > at && !lasting)) {
        errno = saved;
        return 0;
    }
    say("%s %s\n", name, path);
    if (how == 'k') raise(SIGKILL);
    errno = how == 's' ? ENOSPC : EIO;
    return 1;
}

static const char *path_of(int fd, char *buffer) {
    char link[64];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(link, buffer, PATH_MAX - 1);
    buffer[length < 0 ? 0 : length] = 0;
    errno = saved;
    return buffer;
}

static int struck_fd(const char *name, enum need need, int fd) {
    char buffer[PATH_MAX];
    return below[0] && struck(name, need, path_of(fd, buffer));
}

static int struck_at(const char *name, enum need need, int dir, const char *path) {
    char buffer[PATH_MAX], whole[2 * PATH_MAX + 1];
    if (!below[0]) return 0;
    if (path[0] == '/' || dir == AT_FDCWD) return struck(name, need, path);
    snprintf(whole, sizeof whole, "%s/%s", path_of(dir, buffer), path);
    return struck(name, need, whole);
}

static enum need of_open(int flags) {
    if (flags & (O_CREAT | O_TRUNC)) return GROWS;
    return (flags & O_ACCMODE) == O_RDONLY ? LOOKS : CHANGES;
}

#define MODE_OF(flags)                                                                                                 \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        REAL(name);                                                                                                    \
        MODE_OF(flags)                                                                                                 \
        return struck_at(#name, of_open(flags), AT_FDCWD, path) ? -1 : real(path, flags, mode);                        \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int dir, const char *path, int flags, ...) {                                                              \
        REAL(name);                                                                                                    \
        MODE_OF(flags)                                                                                                 \
        return struck_at(#name, of_open(flags), dir, path) ? -1 : real(dir, path, flags, mode);                        \
    }
OPENAT(openat)
OPENAT(openat64)

/* Half of the requested size, as POSIX allows. */
static size_t shortened(size_t size) { return how == 'h' && size > 1 ? size / 2 : size; }

ssize_t write(int fd, const void *bytes, size_t size) {
    REAL(write);
    if (!struck_fd("write", WRITES, fd)) return real(fd, bytes, size);
    return how == 'h' ? real(fd, bytes, shortened(size)) : -1;
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset) {                                         \
        REAL(name);                                                                                                    \
        if (!struck_fd(#name, WRITES, fd)) return real(fd, bytes, size, offset);                                       \
        return how == 'h' ? real(fd, bytes, shortened(size), offset) : -1;                                             \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    return struck_fd("writev", GROWS, fd) ? -1 : real(fd, parts, count);
}

ssize_t read(int fd, void *bytes, size_t size) {
    REAL(read);
    return struck_fd("read", LOOKS, fd) ? -1 : real(fd, bytes, size);
}

#define PREAD(name, offset_type)                                                                                       \
    ssize_t name(int fd, void *bytes, size_t size, offset_type offset) {                                               \
        REAL(name);                                                                                                    \
        return struck_fd(#name, LOOKS, fd) ? -1 : real(fd, bytes, size, offset);                                       \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define SYNC(name)                                                                                                     \
    int name(int fd) {                                                                                                 \
        REAL(name);                                                                                                    \
        return struck_fd(#name, GROWS, fd) ? -1 : real(fd);                                                            \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset_type)                                                                                    \
    int name(int fd, offset_type size) {                                                                               \
        REAL(name);                                                                                                    \
        return struck_fd(#name, GROWS, fd) ? -1 : real(fd, size);                                                      \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define MMAP(name, offset_type)                                                                                        \
    void *name(void *address, size_t size, int protection, int flags, int fd, offset_type offset) {                    \
        REAL(name);                                                                                                    \
        if (fd >= 0 && struck_fd(#name, LOOKS, fd)) return MAP_FAILED;                                                 \
        return real(address, size, protection, flags, fd, offset);                                                     \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

int rename(const char *from, const char *to) {
    REAL(rename);
    return struck_at("rename", GROWS, AT_FDCWD, to) ? -1 : real(from, to);
}

int link(const char *from, const char *to) {
    REAL(link);
    return struck_at("link", GROWS, AT_FDCWD, to) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(unlink);
    return struck_at("unlink", CHANGES, AT_FDCWD, path) ? -1 : real(path);
}

int unlinkat(int dir, const char *path, int flags) {
    REAL(unlinkat);
    return struck_at("unlinkat", CHANGES, dir, path) ? -1 : real(dir, path, flags);
}

int rmdir(const char *path) {
    REAL(rmdir);
    return struck_at("rmdir", CHANGES, AT_FDCWD, path) ? -1 : real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return struck_at("mkdir", GROWS, AT_FDCWD, path) ? -1 : real(path, mode);
}

int chmod(const char *path, mode_t mode) {
    REAL(chmod);
    return struck_at("chmod", CHANGES, AT_FDCWD, path) ? -1 : real(path, mode);
}

DIR *opendir(const char *path) {
    REAL(opendir);
    return struck_at("opendir", LOOKS, AT_FDCWD, path) ? NULL : real(path);
}

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict buffer) {
    REAL(statx);
    /* The Rust runtime calls this without a path to find out whether the call exists. The declaration rules that out, so
     * the compiler would drop the check. An empty path means the descriptor. */
    const char *volatile given = path;
    int wrong = given && (given[0] ? struck_at("statx", LOOKS, dir, given) : struck_fd("statx", LOOKS, dir));
    return wrong ? -1 : real(dir, path, flags, mask, buffer);
}

int access(const char *path, int mode) {
    REAL(access);
    return struck_at("access", LOOKS, AT_FDCWD, path) ? -1 : real(path, mode);
}

#define STAT(name, buffer_type)                                                                                        \
    int name(const char *path, struct buffer_type *buffer) {                                                           \
        REAL(name);                                                                                                    \
        return struck_at(#name, LOOKS, AT_FDCWD, path) ? -1 : real(path, buffer);                                      \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTAT(name, buffer_type)                                                                                       \
    int name(int fd, struct buffer_type *buffer) {                                                                     \
        REAL(name);                                                                                                    \
        return struck_fd(#name, LOOKS, fd) ? -1 : real(fd, buffer);                                                    \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)
