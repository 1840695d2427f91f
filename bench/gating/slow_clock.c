/* A monotonic clock that goes so many times slower as $SLOW_CLOCK says, for a program that valgrind or strace makes as much
 * slower: what it does by the clock, giving way after some milliseconds say, it does as often as it would by itself.
 *
 * build: cc -O2 -shared -fPIC -o slow_clock.so slow_clock.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef int (*reader)(clockid_t, struct timespec *);

static reader real;
static long long start, times = 1;

static long long nanoseconds(const struct timespec *time) { return time->tv_sec * 1000000000ll + time->tv_nsec; }

__attribute__((constructor)) static void begin(void) {
    struct timespec now;
    const char *wanted = getenv("SLOW_CLOCK");
    real = (reader)dlsym(RTLD_NEXT, "clock_gettime");
    if (wanted && atoi(wanted) > 0) times = atoi(wanted);
    if (!real(CLOCK_MONOTONIC, &now)) start = nanoseconds(&now);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real) begin();
    int result = real(clock, time);
    if (result || clock != CLOCK_MONOTONIC) return result;
    long long slow = start + (nanoseconds(time) - start) / times;
    time->tv_sec = slow / 1000000000;
    time->tv_nsec = slow % 1000000000;
    return 0;
}

/* Whoever waits until a time of this clock means one of the real one. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    if (!wait) *(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    if (clock != CLOCK_MONOTONIC) return wait(condition, mutex, clock, until);
    long long then = start + (nanoseconds(until) - start) * times;
    struct timespec later = {then / 1000000000, then % 1000000000};
    return wait(condition, mutex, clock, &later);
}
