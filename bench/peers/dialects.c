#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t message_bytes = 256;

static void nothing(struct link *link) { (void)link; }

static void refuse(const char *what) {
    errno = EPROTO;
    give_up(what);
}

/* A decimal number; `*at` moves behind it. */
static size_t number(const uint8_t **at, const uint8_t *end) {
    size_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) value = value * 10 + (size_t)(**at - '0');
    return value;
}

/* ---- MQTT 3.1.1, QoS 0 ---- */

#define MQTT_TOPIC "bench/fan"
enum { MQTT_TOPIC_COUNT = sizeof MQTT_TOPIC - 1 };

static void mqtt_introduce(struct link *link) {
    char name[16];
    uint8_t packet[40] = {0x10, 0, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0};
    int count = snprintf(name, sizeof name, "load%u", link->number);
    packet[13] = (uint8_t)count;
    memcpy(packet + 14, name, (size_t)count);
    packet[1] = (uint8_t)(12 + count);
    link_write_all(link, packet, (size_t)(14 + count));
    link_read_all(link, packet, 4);
    if (packet[0] != 0x20 || packet[3] != 0) refuse("CONNECT was refused");
}

static void mqtt_subscribe(struct link *link) {
    mqtt_introduce(link);
    uint8_t packet[32] = {0x82, 5 + MQTT_TOPIC_COUNT, 0, 1, 0, MQTT_TOPIC_COUNT};
    memcpy(packet + 6, MQTT_TOPIC, MQTT_TOPIC_COUNT);
    link_write_all(link, packet, 7 + MQTT_TOPIC_COUNT);
    link_read_all(link, packet, 5);
    if (packet[0] != 0x90 || packet[4] != 0) refuse("SUBSCRIBE was refused");
}

static size_t mqtt_publish(uint8_t *out, const uint8_t *payload, size_t count) {
    uint8_t *at = out;
    size_t left = 2 + MQTT_TOPIC_COUNT + count;
    *at++ = 0x30;
    for (; left > 127; left >>= 7) *at++ = (uint8_t)(left | 0x80);
    *at++ = (uint8_t)left;
    *at++ = 0;
    *at++ = MQTT_TOPIC_COUNT;
    at = mempcpy(at, MQTT_TOPIC, MQTT_TOPIC_COUNT);
    at = mempcpy(at, payload, count);
    return (size_t)(at - out);
}

static ssize_t mqtt_take(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count) {
    (void)link;
    size_t head = 1, left = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (head >= count) return 0;
        if (shift > 21) return -1;
        left |= (size_t)(bytes[head] & 0x7f) << shift;
        if (!(bytes[head++] & 0x80)) break;
    }
    if (count < head + left) return 0;
    if (bytes[0] >> 4 == 3) {
        size_t topic = 2 + ((size_t)bytes[head] << 8 | bytes[head + 1]);
        *payload = bytes + head + topic;
        *payload_count = left - topic;
    }
    return (ssize_t)(head + left);
}

/* ---- NATS ---- */

static void nats_greet(struct link *link) {
    char line[8192];
    link_read_line(link, line, sizeof line);
    if (strncmp(line, "INFO ", 5)) refuse("that is not NATS");
}

static void nats_settle(struct link *link, const char *more) {
    char text[8192];
    int count = snprintf(text, sizeof text,
                         "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\","
                         "\"protocol\":0,\"tls_required\":%s}\r\n%sPING\r\n",
                         link->tls ? "true" : "false", more);
    link_write_all(link, text, (size_t)count);
    do {
        link_read_line(link, text, sizeof text);
        if (text[0] == '-') refuse(text);
    } while (strncmp(text, "PONG", 4));
}
static void nats_subscribe(struct link *link) { nats_settle(link, "SUB bench.fan 7\r\n"); }
static void nats_introduce(struct link *link) { nats_settle(link, ""); }

static size_t nats_publish(uint8_t *out, const uint8_t *payload, size_t count) {
    uint8_t *at = out + sprintf((char *)out, "PUB bench.fan %zu\r\n", count);
    at = mempcpy(at, payload, count);
    at = mempcpy(at, "\r\n", 2);
    return (size_t)(at - out);
}

static ssize_t nats_take(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count) {
    (void)link;
    uint8_t *newline = memchr(bytes, '\n', count);
    if (!newline) return 0;
    size_t head = (size_t)(newline - bytes) + 1;
    if (bytes[0] == '-') return -1;
    if (bytes[0] != 'M') return (ssize_t)head;
    const uint8_t *size = newline - 1;
    while (size[-1] != ' ') size--;
    size_t length = number(&size, newline);
    if (count < head + length + 2) return 0;
    *payload = bytes + head;
    *payload_count = length;
    return (ssize_t)(head + length + 2);
}

/* ---- Redis, RESP ---- */

#define RESP_CHANNEL "bench:fan"

static void resp_subscribe(struct link *link) {
    static const char request[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$9\r\n" RESP_CHANNEL "\r\n";
    char line[256];
    link_write_all(link, request, sizeof request - 1);
    for (int i = 0; i < 6; i++) {
        link_read_line(link, line, sizeof line);
        if (line[0] == '-') refuse(line);
    }
}

static size_t resp_publish(uint8_t *out, const uint8_t *payload, size_t count) {
    uint8_t *at = out + sprintf((char *)out, "*3\r\n$7\r\nPUBLISH\r\n$9\r\n" RESP_CHANNEL "\r\n$%zu\r\n", count);
    at = mempcpy(at, payload, count);
    at = mempcpy(at, "\r\n", 2);
    return (size_t)(at - out);
}

static ssize_t resp_take(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count) {
    (void)link;
    const uint8_t *end = bytes + count, *at = memchr(bytes, '\n', count);
    if (!at) return 0;
    at++;
    if (bytes[0] == ':') return at - bytes;
    if (bytes[0] != '*') return -1;
    /* Three strings: "message", the channel, and what was published. */
    const uint8_t *text = at;
    size_t length = 0;
    for (int i = 0; i < 3; i++) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) return 0;
        if (*at++ != '$') return -1;
        length = number(&at, newline);
        text = newline + 1;
        if ((size_t)(end - text) < length + 2) return 0;
        at = text + length + 2;
    }
    *payload = bytes + (text - bytes);
    *payload_count = length;
    return at - bytes;
}

/* ---- nchan: a raw stream of HTTP, a newline between messages ---- */

static void nchan_subscribe(struct link *link) {
    static const char request[] = "GET /sub HTTP/1.1\r\nHost: bench\r\n\r\n";
    char line[1024];
    link_write_all(link, request, sizeof request - 1);
    link_read_line(link, line, sizeof line);
    if (!strstr(line, " 200")) refuse(line);
    while (link_read_line(link, line, sizeof line) > 2) continue;
}

static size_t nchan_publish(uint8_t *out, const uint8_t *payload, size_t count) {
    uint8_t *at = out + sprintf((char *)out, "POST /pub HTTP/1.1\r\nHost: bench\r\nContent-Length: %zu\r\n\r\n", count);
    at = mempcpy(at, payload, count);
    return (size_t)(at - out);
}

static ssize_t nchan_take(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count) {
    (void)link;
    if (count < message_bytes + 1) return 0;
    *payload = bytes;
    *payload_count = message_bytes;
    return (ssize_t)(message_bytes + 1);
}

/* ---- the floor: two bytes of length, then the sealed or plain message ---- */

static int floor_seals;

static void floor_hello(struct link *link, uint8_t who) {
    uint8_t hello[8] = {who}, key[32];
    memcpy(hello + 4, &link->number, 4);
    if (floor_seals && who == FLOOR_READER) {
        floor_key(link->number, key);
        link->aes = aligned_alloc(16, (sizeof *link->aes + 15) / 16 * 16);
        crypto_aead_aes256gcm_beforenm(link->aes, key);
    }
    link_write_all(link, hello, sizeof hello);
    link_read_all(link, hello, 1);
    if (hello[0] != '+') refuse("that is not the floor");
}
static void floor_subscribe(struct link *link) { floor_hello(link, FLOOR_READER); }
static void floor_introduce(struct link *link) { floor_hello(link, FLOOR_WRITER); }

static size_t floor_publish(uint8_t *out, const uint8_t *payload, size_t count) {
    out[0] = (uint8_t)(count >> 8);
    out[1] = (uint8_t)count;
    memcpy(out + 2, payload, count);
    return count + 2;
}

static ssize_t floor_take(struct link *link, uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_count) {
    if (count < 2) return 0;
    size_t length = (size_t)bytes[0] << 8 | bytes[1];
    if (count < length + 2) return 0;
    *payload = bytes + 2;
    *payload_count = length;
    if (floor_seals) {
        unsigned long long opened;
        uint8_t nonce[12];
        floor_nonce(link->opened++, nonce);
        if (crypto_aead_aes256gcm_decrypt_afternm(*payload, &opened, NULL, *payload, length, NULL, 0, nonce, link->aes))
            return -1;
        *payload_count = opened;
    }
    return (ssize_t)(length + 2);
}

static const struct dialect dialects[] = {
    {"mqtt", NULL, mqtt_subscribe, mqtt_introduce, mqtt_publish, mqtt_take},
    {"nats", nats_greet, nats_subscribe, nats_introduce, nats_publish, nats_take},
    {"resp", NULL, resp_subscribe, nothing, resp_publish, resp_take},
    {"nchan", NULL, nchan_subscribe, nothing, nchan_publish, nchan_take},
    {"floor", NULL, floor_subscribe, floor_introduce, floor_publish, floor_take},
    {"floor-sealed", NULL, floor_subscribe, floor_introduce, floor_publish, floor_take},
};

const struct dialect *dialect_named(const char *name) {
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        if (strcmp(dialects[i].name, name)) continue;
        floor_seals = !strcmp(name, "floor-sealed");
        return &dialects[i];
    }
    return NULL;
}
