/* A generator of fan-out load for the servers that a relay is compared with: the parts and what they share. */
#ifndef ANTENNA_LOAD_H
#define ANTENNA_LOAD_H

#include <openssl/ssl.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- links.c: connections, plain or TLS ---- */

struct link {
    int descriptor;
    SSL *tls;
    unsigned number;
    /* The message that must come next. */
    uint64_t next;
    /* Sealed records opened so far. */
    uint64_t opened;
    uint8_t *rest;
    size_t rest_count, rest_capacity;
    crypto_aead_aes256gcm_state *aes;
};

struct place {
    const char *host;
    int port;
    int sources; /* loopback addresses to connect from, one after the other */
    SSL_CTX *tls;
};

_Noreturn void give_up(const char *what);
SSL_CTX *tls_context(const char *suite);
void link_connect(struct link *link, const struct place *place);
void link_begin_tls(struct link *link, const struct place *place);
/* From now on what comes is acknowledged when it is read; antenna-bench asks for the same (bench/README.md). */
void link_acknowledge_when_read(struct link *link);
/* Bytes read or written; -1 when it would block. The end of a connection ends the program. */
ssize_t link_read(struct link *link, void *bytes, size_t count);
ssize_t link_write(struct link *link, const void *bytes, size_t count);
/* Exactly so many bytes, and a line that ends with a newline; for connections that may block. */
void link_read_all(struct link *link, void *bytes, size_t count);
void link_write_all(struct link *link, const void *bytes, size_t count);
size_t link_read_line(struct link *link, char *line, size_t capacity);

/* ---- dialects.c: what the servers speak ---- */

struct dialect {
    const char *name;
    void (*greet)(struct link *link); /* before TLS; may be missing */
    void (*subscribe)(struct link *link);
    void (*introduce)(struct link *link); /* the publisher */
    size_t (*publish)(uint8_t *out, const uint8_t *payload, size_t count);
    /* The length of the frame that `bytes` begins with, 0 when it is not whole, -1 when it makes no sense. `payload`
       is set where it holds a message. */
    ssize_t (*take)(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count);
};

const struct dialect *dialect_named(const char *name);
/* The dialects whose frames do not tell their size use this. */
extern size_t message_bytes;

/* The first eight bytes to the floor: who it is, and the number its key comes from. */
#define FLOOR_READER 'r'
#define FLOOR_WRITER 'w'
static inline void floor_key(unsigned number, uint8_t key[32]) {
    crypto_generichash(key, 32, (const uint8_t *)&number, sizeof number, NULL, 0);
}
static inline void floor_nonce(uint64_t counter, uint8_t nonce[12]) {
    for (int i = 0; i < 12; i++) nonce[i] = i < 4 ? 0 : (uint8_t)(counter >> (8 * (11 - i)));
}

/* ---- account.c: time, the server's use of the machine, distributions ---- */

uint64_t now_nanoseconds(void);
uint64_t own_cpu_nanoseconds(void);
uint64_t server_cpu_nanoseconds(int pid);
long server_resident_bytes(int pid);

#define HISTOGRAM_SLOTS (59 << 6)
struct histogram {
    uint64_t counts[HISTOGRAM_SLOTS], count, max;
};
void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
double histogram_microseconds(const struct histogram *histogram, double share);

#endif
