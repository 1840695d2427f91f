/* The few glibc functions that the Glibc module does not show (GNU extensions and <getopt.h>, <malloc.h>,
   <sched.h>, <sys/eventfd.h>, <unistd.h>). Declared by hand, because including their headers with _GNU_SOURCE clashes with that module. */
#ifndef ANTENNA_CPOSIX_SHIM_H
#define ANTENNA_CPOSIX_SHIM_H

#include <sys/syscall.h>

int accept4(int descriptor, void *address, unsigned int *length, int flags);
int eventfd(unsigned int initial, int flags);
int malloc_trim(unsigned long pad);
int sched_getaffinity(int process, unsigned long size, void *mask);
/* `condition` a pthread_cond_t, `mutex` a pthread_mutex_t, `until` a timespec of that clock; 0 or an errno. */
int pthread_cond_clockwait(void *condition, void *mutex, int clock, const void *until);
int pthread_setname_np(unsigned long thread, const char *name);

/* <poll.h>: the peer has ended its half of a stream. */
enum { ANTENNA_POLLRDHUP = 0x2000 };

/* <getopt.h> */
struct antenna_option { const char *name; int has_arg; int *flag; int val; };
extern char *optarg;
extern int optind, opterr, optopt;
int getopt_long(int count, char *const *arguments, const char *shorts, const struct antenna_option *longs, int *index);

/* Functions, since Swift may not touch a mutable C global. */
static inline const char *antenna_optarg(void) { return optarg; }
static inline int antenna_optind(void) { return optind; }
static inline int antenna_optopt(void) { return optopt; }
static inline void antenna_getopt_reset(void) { optind = 0; opterr = 0; optopt = 0; }

/* send() without what glibc does around it for the cancellation of threads, which is twice the work of the call itself;
   no thread is ever cancelled here. */
long syscall(long number, ...);
static inline long antenna_send(int descriptor, const void *bytes, unsigned long count, int flags) {
    return syscall(SYS_sendto, descriptor, bytes, count, flags, (void *)0, 0L);
}

/* Linux 6.12 and newer: a thread of the ordinary class may say how long its turns are. 0, or -1 and errno. */
struct antenna_sched_attr {
    unsigned size, policy;
    unsigned long long flags;
    int nice;
    unsigned priority;
    unsigned long long runtime, deadline, period;
};
static inline int antenna_slice(unsigned long long nanoseconds) {
    struct antenna_sched_attr now = {0};
    if (syscall(SYS_sched_getattr, 0, &now, (unsigned)sizeof now, 0) < 0) return -1;
    now.size = sizeof now;
    now.runtime = nanoseconds;
    return (int)syscall(SYS_sched_setattr, 0, &now, 0);
}

#endif
