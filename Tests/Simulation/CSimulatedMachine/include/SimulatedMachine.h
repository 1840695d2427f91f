#ifndef SIMULATED_MACHINE_H
#define SIMULATED_MACHINE_H

#include <stddef.h>
#include <stdint.h>

// A clock, a source of randomness, a disk and a network that stand in the place of the machine's own, for the
// one thread that simulates. What is under test calls clock_gettime, getrandom, epoll_wait, connect, write,
// pwrite, ftruncate, fsync and fdatasync as ever; the definitions here come before those of the C library.
// Until machine_start every one of them goes straight on to the kernel.

/// Takes the calling thread into the simulation.
void machine_start(void);
void machine_stop(void);

/// Milliseconds since the simulation's beginning, and how far the wall clock of the party at work is off.
void machine_set_time(int64_t milliseconds, int64_t wall_seconds);
/// What getrandom answers from now on follows from this.
void machine_seed(uint64_t seed);

/// Called when a loop has nothing to do but wait, with the milliseconds that it would (-1: for ever).
/// epoll_wait then returns at once.
typedef void (*machine_idle)(void *context, int timeout);
void machine_on_idle(machine_idle call, void *context);

/// Called for each TCP connection to be made, with the port and this side's new descriptor (to be closed by the
/// callee) where the bytes come out. Answers 0, or the errno of the connect.
typedef int (*machine_connect)(void *context, uint16_t port, int descriptor);
void machine_on_connect(machine_connect call, void *context);

/// From now on writes to regular files are kept apart until they are synced; they belong to this party.
void machine_disk_party(int party);
/// Called when the fuse of the party at work has burnt down: the power goes before the next write or sync.
typedef void (*machine_fuse)(void *context, int party);
void machine_on_fuse(machine_fuse call, void *context);
/// `operations`: how many writes and syncs are still carried out before the fuse's call; negative: no fuse.
void machine_set_fuse(int operations);
int machine_fuse_left(void);
/// Writes and syncs so far, of all parties.
int64_t machine_disk_operations(void);

/// Bytes of a file that were written and not synced, by its inode.
int machine_unsynced(uint64_t inode);
/// Takes one unsynced write back out of `image` (which grows to at least its own old size); newest first.
/// `index` counts from the oldest. Returns the size of the file before that write.
int64_t machine_undo(uint64_t inode, int index, uint8_t *image, int64_t image_size);
/// Forgets what is unsynced of a file, or of all files.
void machine_forget(uint64_t inode);
void machine_forget_all(void);
/// Makes a file hold these bytes, synced; one that is there keeps its inode.
void machine_replace_file(const char *path, const uint8_t *bytes, size_t size);

/// A pair of connected stream sockets that do not block and hold about so many bytes.
int machine_socket_pair(int descriptors[2], int bytes);
/// Bytes that were read (0: the end), -1: nothing there, -2: broken.
long machine_read(int descriptor, uint8_t *into, size_t size);
/// Bytes that were taken, -1: none now, -2: broken.
long machine_write(int descriptor, const uint8_t *from, size_t size);
void machine_end(int descriptor);
void machine_close(int descriptor);

#endif
