/* Declared by hand: libevent event-config.h defines _GNU_SOURCE, which clashes with the Glibc module on fd_set. */
#include <stddef.h>
#include <stdint.h>
struct event;
struct event_base;
struct timeval;
