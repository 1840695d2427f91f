/* floor: the least that fan-out can cost on this machine. One loop takes messages from a writer and sends them to every
 * reader, sealed with the reader's own key (AES-256-GCM) or as they are. There is no check, no log, no disk, no
 * channel. What came in one read goes out in one send for each reader.
 *
 * build: cc -O2 -o floor floor.c -lsodium           usage: floor PORT sealed|plain
 */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, TAG = crypto_aead_aes256gcm_ABYTES };

struct peer {
    int descriptor;
    enum { NEW, READER, WRITER } kind;
    size_t slot;
    uint64_t sealed; /* records so far */
    crypto_aead_aes256gcm_state *aes;
    uint8_t *waiting; /* what the kernel did not take */
    size_t waiting_start, waiting_end, waiting_capacity;
};

static int poller, seals;
static struct peer **readers;
static size_t reader_count, reader_capacity;
/* A sealed message is at most 18 bytes longer than what it was in the read, and messages have at least 16. */
static uint8_t incoming[READ_BYTES], outgoing[3 * READ_BYTES];
static size_t incoming_count;

static void watch(struct peer *peer, int operation, int for_room) {
    struct epoll_event event = {.events = EPOLLIN | (for_room ? EPOLLOUT : 0), .data.ptr = peer};
    epoll_ctl(poller, operation, peer->descriptor, &event);
}

static void leave(struct peer *peer) {
    if (peer->kind == READER) {
        readers[peer->slot] = readers[--reader_count];
        readers[peer->slot]->slot = peer->slot;
    }
    if (peer->kind == WRITER) incoming_count = 0;
    close(peer->descriptor);
    free(peer->waiting);
    free(peer->aes);
    free(peer);
}

static void transmit(struct peer *peer, const uint8_t *bytes, size_t count) {
    if (peer->waiting_start == peer->waiting_end) {
        ssize_t put = send(peer->descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put == (ssize_t)count) return;
        if (put > 0) {
            bytes += put;
            count -= (size_t)put;
        }
        peer->waiting_start = peer->waiting_end = 0;
        watch(peer, EPOLL_CTL_MOD, 1);
    }
    if (peer->waiting_end + count > peer->waiting_capacity) {
        peer->waiting_capacity = 2 * (peer->waiting_end + count);
        peer->waiting = realloc(peer->waiting, peer->waiting_capacity);
    }
    memcpy(peer->waiting + peer->waiting_end, bytes, count);
    peer->waiting_end += count;
}

static void resume(struct peer *peer) {
    ssize_t put = send(peer->descriptor, peer->waiting + peer->waiting_start, peer->waiting_end - peer->waiting_start,
                       MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) peer->waiting_start += (size_t)put;
    if (peer->waiting_start < peer->waiting_end) return;
    peer->waiting_start = peer->waiting_end = 0;
    watch(peer, EPOLL_CTL_MOD, 0);
}

static size_t length_at(const uint8_t *bytes) { return (size_t)bytes[0] << 8 | bytes[1]; }

/* Sends whole messages, `count` bytes of them, to everybody. */
static void deliver(const uint8_t *messages, size_t count) {
    for (size_t i = 0; i < reader_count; i++) {
        struct peer *reader = readers[i];
        if (!seals) {
            transmit(reader, messages, count);
            continue;
        }
        size_t out = 0;
        for (size_t at = 0; at < count;) {
            size_t length = length_at(messages + at);
            uint8_t nonce[12];
            floor_nonce(reader->sealed++, nonce);
            outgoing[out] = (uint8_t)((length + TAG) >> 8);
            outgoing[out + 1] = (uint8_t)(length + TAG);
            crypto_aead_aes256gcm_encrypt_afternm(outgoing + out + 2, NULL, messages + at + 2, length, NULL, 0, NULL,
                                                  nonce, reader->aes);
            at += 2 + length;
            out += 2 + length + TAG;
        }
        transmit(reader, outgoing, out);
    }
}

static void take_messages(struct peer *writer) {
    ssize_t got = recv(writer->descriptor, incoming + incoming_count, READ_BYTES - incoming_count, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) leave(writer);
        return;
    }
    incoming_count += (size_t)got;
    size_t whole = 0;
    while (whole + 2 <= incoming_count && whole + 2 + length_at(incoming + whole) <= incoming_count)
        whole += 2 + length_at(incoming + whole);
    if (whole) deliver(incoming, whole);
    incoming_count -= whole;
    memmove(incoming, incoming + whole, incoming_count);
}

static void take_hello(struct peer *peer) {
    uint8_t hello[8], key[32];
    unsigned number;
    if (recv(peer->descriptor, hello, sizeof hello, MSG_DONTWAIT) != sizeof hello) return leave(peer);
    peer->kind = hello[0] == FLOOR_READER ? READER : WRITER;
    if (peer->kind == READER) {
        if (reader_count == reader_capacity) {
            reader_capacity = reader_capacity ? 2 * reader_capacity : 256;
            readers = realloc(readers, reader_capacity * sizeof *readers);
        }
        peer->slot = reader_count;
        readers[reader_count++] = peer;
        if (seals) {
            memcpy(&number, hello + 4, sizeof number);
            floor_key(number, key);
            peer->aes = aligned_alloc(16, (sizeof *peer->aes + 15) / 16 * 16);
            crypto_aead_aes256gcm_beforenm(peer->aes, key);
        }
    }
    send(peer->descriptor, "+", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take(struct peer *peer) {
    uint8_t ignored[64];
    switch (peer->kind) {
    case NEW: take_hello(peer); break;
    case WRITER: take_messages(peer); break;
    case READER:
        if (recv(peer->descriptor, ignored, sizeof ignored, MSG_DONTWAIT) <= 0) leave(peer);
    }
}

static void greet(int listener) {
    int one = 1, descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (descriptor < 0) return;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct peer *peer = calloc(1, sizeof *peer);
    peer->descriptor = descriptor;
    watch(peer, EPOLL_CTL_ADD, 0);
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: floor PORT sealed|plain\n");
        return 64;
    }
    seals = !strcmp(words[2], "sealed");
    if (sodium_init() < 0 || (seals && !crypto_aead_aes256gcm_is_available())) {
        fprintf(stderr, "floor: this processor has no AES-GCM\n");
        return 69;
    }
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror("floor");
        return 69;
    }
    poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        static struct epoll_event events[256];
        int ready = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            struct peer *peer = events[i].data.ptr;
            if (!peer) {
                greet(listener);
                continue;
            }
            if (events[i].events & EPOLLOUT) resume(peer);
            if (events[i].events & ~(uint32_t)EPOLLOUT) take(peer);
        }
    }
}
