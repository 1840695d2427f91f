/* What a load generator asks of Linux: readiness of many sockets, a place on a core, a child process. Plain types
   only, so that no header of the system's meets Swift's own view of them. */
#ifndef ANTENNA_CBENCH_H
#define ANTENNA_CBENCH_H

#include <stdint.h>

/* All answer a negative errno when they fail. */
int bench_poller(void);
int bench_poller_add(int poller, int descriptor, uint32_t tag);
/* Tags of at most `capacity` (and 1024) readable descriptors; 0 milliseconds: looks and comes back at once. */
int bench_poller_wait(int poller, uint32_t *tags, int capacity, int milliseconds);

/* A connected, non-blocking TCP socket. Addresses and port in the machine's byte order; source 0: any. */
int bench_connect(uint32_t address, uint16_t port, uint32_t source);

/* From now on what this socket receives is acknowledged when it is read: bench/README.md says why. */
int bench_acknowledge_when_read(int descriptor);

/* Keeps the calling thread on one core. */
int bench_pin(int core);

/* Starts a program that ends when this one does. `core` below 0: any. Standard output and error go to files. */
int bench_spawn(const char *path, char *const arguments[], char *const environment[], const char *output,
                const char *error, int core);
/* Waits for a child: its wait status, or -ETIMEDOUT. */
int bench_wait(int pid, int milliseconds);

#endif
