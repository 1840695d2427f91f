#define _GNU_SOURCE
#include "SimulatedMachine.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static __thread int simulating;
static int64_t now_milliseconds;
static int64_t wall_seconds;
static uint64_t random_state;

static machine_idle idle_call;
static void *idle_context;
static machine_connect connect_call;
static void *connect_context;
static machine_fuse fuse_call;
static void *fuse_context;
static int fuse = -1;
static int party;
static int64_t operations;

void machine_start(void) { simulating = 1; }
void machine_stop(void) { simulating = 0; }

void machine_set_time(int64_t milliseconds, int64_t wall) {
    now_milliseconds = milliseconds;
    wall_seconds = wall;
}

void machine_seed(uint64_t seed) { random_state = seed; }

void machine_on_idle(machine_idle call, void *context) {
    idle_call = call;
    idle_context = context;
}

void machine_on_connect(machine_connect call, void *context) {
    connect_call = call;
    connect_context = context;
}

void machine_on_fuse(machine_fuse call, void *context) {
    fuse_call = call;
    fuse_context = context;
}

// Time

typedef int (*gettime)(clockid_t, struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (simulating && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID) {
        int wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
        // The first milliseconds of a machine's life are no time that programs are made for.
        time->tv_sec = now_milliseconds / 1000 + (wall ? wall_seconds : 1000);
        time->tv_nsec = now_milliseconds % 1000 * 1000000;
        return 0;
    }
    static gettime real;
    gettime found = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (!found) {
        found = (gettime)dlsym(RTLD_NEXT, "clock_gettime");
        if (!found) return (int)syscall(SYS_clock_gettime, clock, time);
        __atomic_store_n(&real, found, __ATOMIC_RELAXED);
    }
    return found(clock, time);
}

// Randomness: SplitMix64

ssize_t getrandom(void *buffer, size_t size, unsigned int flags) {
    if (!simulating) return syscall(SYS_getrandom, buffer, size, flags);
    uint8_t *bytes = buffer;
    uint64_t word = 0;
    for (size_t index = 0; index < size; index++) {
        if (index % 8 == 0) {
            random_state += 0x9e3779b97f4a7c15u;
            word = random_state;
            word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
            word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
            word ^= word >> 31;
        }
        bytes[index] = (uint8_t)(word >> (index % 8 * 8));
    }
    return (ssize_t)size;
}

// Waiting

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    if (!simulating) return (int)syscall(SYS_epoll_wait, epoll, events, count, timeout);
    int ready = (int)syscall(SYS_epoll_wait, epoll, events, count, 0);
    if (ready == 0 && timeout != 0 && idle_call) idle_call(idle_context, timeout);
    return ready;
}

// The network

int machine_socket_pair(int descriptors[2], int bytes) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, descriptors) != 0) return -1;
    for (int side = 0; side < 2; side++)
        setsockopt(descriptors[side], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return 0;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    if (!simulating || !connect_call || address->sa_family != AF_INET)
        return (int)syscall(SYS_connect, descriptor, address, size);
    int ends[2];
    if (machine_socket_pair(ends, 16384) != 0) return -1;
    int problem = connect_call(connect_context, ntohs(((const struct sockaddr_in *)address)->sin_port), ends[1]);
    if (problem == 0) dup3(ends[0], descriptor, O_CLOEXEC);
    close(ends[0]);
    errno = problem;
    return problem == 0 ? 0 : -1;
}

long machine_read(int descriptor, uint8_t *into, size_t size) {
    ssize_t count = recv(descriptor, into, size, MSG_DONTWAIT);
    if (count >= 0) return count;
    return errno == EAGAIN || errno == EINTR ? -1 : -2;
}

long machine_write(int descriptor, const uint8_t *from, size_t size) {
    ssize_t count = send(descriptor, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return count;
    return errno == EAGAIN || errno == EINTR ? -1 : -2;
}

void machine_end(int descriptor) { shutdown(descriptor, SHUT_WR); }
void machine_close(int descriptor) { close(descriptor); }

// The disk: what was written over is kept until the file is synced

struct unsynced {
    uint64_t inode;
    int64_t offset;
    int64_t size_before;
    int64_t count;
    uint8_t *before;
};

static struct unsynced *log_entries;
static int log_count;
static int log_capacity;
static int in_call;

static int is_tracked(int descriptor, struct stat *status) {
    return simulating && !in_call && party != 0 && fstat(descriptor, status) == 0 && S_ISREG(status->st_mode);
}

static void operation(void) {
    operations++;
    if (fuse < 0) return;
    if (fuse-- > 0) return;
    in_call = 1;
    fuse_call(fuse_context, party);
    in_call = 0;
}

static void note(int descriptor, const struct stat *status, int64_t offset, int64_t count) {
    if (log_count == log_capacity) {
        log_capacity = log_capacity ? 2 * log_capacity : 256;
        log_entries = realloc(log_entries, (size_t)log_capacity * sizeof *log_entries);
    }
    struct unsynced *entry = &log_entries[log_count++];
    int64_t kept = status->st_size - offset;
    if (kept < 0) kept = 0;
    if (kept > count) kept = count;
    entry->inode = status->st_ino;
    entry->offset = offset;
    entry->size_before = status->st_size;
    entry->count = kept;
    entry->before = malloc((size_t)kept + 1);
    if (kept > 0) syscall(SYS_pread64, descriptor, entry->before, (size_t)kept, offset);
}

void machine_disk_party(int new_party) { party = new_party; }
void machine_set_fuse(int count) { fuse = count; }
int machine_fuse_left(void) { return fuse; }
int64_t machine_disk_operations(void) { return operations; }

int machine_unsynced(uint64_t inode) {
    int count = 0;
    for (int index = 0; index < log_count; index++) count += log_entries[index].inode == inode;
    return count;
}

int64_t machine_undo(uint64_t inode, int wanted, uint8_t *image, int64_t image_size) {
    for (int index = 0; index < log_count; index++) {
        struct unsynced *entry = &log_entries[index];
        if (entry->inode != inode || wanted-- > 0) continue;
        if (entry->offset + entry->count <= image_size)
            memcpy(image + entry->offset, entry->before, (size_t)entry->count);
        return entry->size_before;
    }
    return -1;
}

void machine_forget(uint64_t inode) {
    int kept = 0;
    for (int index = 0; index < log_count; index++) {
        if (log_entries[index].inode == inode) free(log_entries[index].before);
        else log_entries[kept++] = log_entries[index];
    }
    log_count = kept;
}

void machine_forget_all(void) {
    for (int index = 0; index < log_count; index++) free(log_entries[index].before);
    log_count = 0;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
    struct stat status;
    if (is_tracked(descriptor, &status)) {
        operation();
        note(descriptor, &status, offset, (int64_t)size);
    }
    return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    return pwrite64(descriptor, bytes, size, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    struct stat status;
    if (is_tracked(descriptor, &status)) {
        operation();
        note(descriptor, &status, lseek(descriptor, 0, SEEK_CUR), (int64_t)size);
    }
    return syscall(SYS_write, descriptor, bytes, size);
}

static int truncate_to(int descriptor, int64_t size) {
    struct stat status;
    if (is_tracked(descriptor, &status)) {
        operation();
        note(descriptor, &status, size, status.st_size > size ? status.st_size - size : 0);
    }
    return (int)syscall(SYS_ftruncate, descriptor, size);
}

int ftruncate64(int descriptor, off64_t size) { return truncate_to(descriptor, size); }
int ftruncate(int descriptor, off_t size) { return truncate_to(descriptor, size); }

static int sync_file(int descriptor, long number) {
    struct stat status;
    if (!is_tracked(descriptor, &status)) return (int)syscall(number, descriptor);
    operation();
    machine_forget(status.st_ino);
    return 0;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

void machine_replace_file(const char *path, const uint8_t *bytes, size_t size) {
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    struct stat status;
    if (fstat(descriptor, &status) == 0) machine_forget(status.st_ino);
    while (size > 0) {
        ssize_t count = syscall(SYS_write, descriptor, bytes, size);
        if (count <= 0) break;
        bytes += count;
        size -= (size_t)count;
    }
    close(descriptor);
}
