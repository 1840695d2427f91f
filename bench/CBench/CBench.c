#define _GNU_SOURCE
#include "CBench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int bench_poller(void) {
    int poller = epoll_create1(EPOLL_CLOEXEC);
    return poller < 0 ? -errno : poller;
}

int bench_poller_add(int poller, int descriptor, uint32_t tag) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

int bench_poller_wait(int poller, uint32_t *tags, int capacity, int milliseconds) {
    struct epoll_event events[1024];
    int count = epoll_wait(poller, events, capacity < 1024 ? capacity : 1024, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) tags[i] = events[i].data.u32;
    return count;
}

int bench_connect(uint32_t address, uint16_t port, uint32_t source) {
    int one = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (source) {
        /* The port is chosen when the whole connection is known, so that addresses do not share one range. */
        setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        if (bind(descriptor, (struct sockaddr *)&from, sizeof from) < 0) goto failed;
    }
    if (connect(descriptor, (struct sockaddr *)&to, sizeof to) < 0) goto failed;
    if (fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0) goto failed;
    return descriptor;
failed:;
    int reason = errno;
    close(descriptor);
    return -reason;
}

int bench_acknowledge_when_read(int descriptor) {
    int one = 1;
    return setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one) < 0 ? -errno : 0;
}

static int pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

int bench_pin(int core) { return pin(core); }

int bench_spawn(const char *path, char *const arguments[], char *const environment[], const char *output,
                const char *error, int core) {
    int parent = getpid(), child = fork();
    if (child < 0) return -errno;
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (core >= 0 && pin(core) < 0) _exit(127);
    int in = open("/dev/null", O_RDONLY), out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(error, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    execve(path, arguments, environment);
    _exit(127);
}

int bench_wait(int pid, int milliseconds) {
    for (int waited = 0;; waited += 10) {
        int status, got = waitpid(pid, &status, WNOHANG);
        if (got == pid) return status;
        if (got < 0 && errno != EINTR) return -errno;
        if (waited >= milliseconds) return -ETIMEDOUT;
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
}
