#define _GNU_SOURCE
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

_Noreturn void give_up(const char *what) {
    fprintf(stderr, "fanload: %s: %s\n", what, strerror(errno));
    ERR_print_errors_fp(stderr);
    exit(69);
}

SSL_CTX *tls_context(const char *suite) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (suite && !SSL_CTX_set_ciphersuites(context, suite)) give_up(suite);
    return context;
}

void link_connect(struct link *link, const struct place *place) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)place->port)};
    struct timeval patience = {.tv_sec = 30};
    int one = 1;
    if (inet_pton(AF_INET, place->host, &server.sin_addr) != 1) give_up(place->host);
    link->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (link->descriptor < 0) give_up("socket");
    setsockopt(link->descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(link->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(link->descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (place->sources > 1) {
        struct sockaddr_in own = {.sin_family = AF_INET};
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + link->number % (unsigned)place->sources);
        setsockopt(link->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        if (bind(link->descriptor, (struct sockaddr *)&own, sizeof own)) give_up("bind");
    }
    if (connect(link->descriptor, (struct sockaddr *)&server, sizeof server)) give_up("connect");
}

void link_begin_tls(struct link *link, const struct place *place) {
    if (!place->tls) return;
    link->tls = SSL_new(place->tls);
    if (!SSL_set_fd(link->tls, link->descriptor) || SSL_connect(link->tls) != 1) give_up("TLS handshake");
}

void link_acknowledge_when_read(struct link *link) {
    int one = 1;
    if (setsockopt(link->descriptor, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one)) give_up("TCP_QUICKACK");
}

static ssize_t outcome(struct link *link, int result) {
    if (result > 0) return result;
    int reason = SSL_get_error(link->tls, result);
    if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return -1;
    give_up("the server ended a TLS connection");
}

ssize_t link_read(struct link *link, void *bytes, size_t count) {
    if (link->tls) return outcome(link, SSL_read(link->tls, bytes, (int)count));
    ssize_t got = recv(link->descriptor, bytes, count, 0);
    if (got > 0) return got;
    if (got < 0 && errno == EAGAIN) return -1;
    give_up("the server ended a connection");
}

ssize_t link_write(struct link *link, const void *bytes, size_t count) {
    if (link->tls) return outcome(link, SSL_write(link->tls, bytes, (int)count));
    ssize_t put = send(link->descriptor, bytes, count, MSG_NOSIGNAL);
    if (put >= 0) return put;
    if (errno == EAGAIN) return -1;
    give_up("the server takes nothing more");
}

void link_read_all(struct link *link, void *bytes, size_t count) {
    for (size_t have = 0; have < count;) {
        ssize_t got = link_read(link, (char *)bytes + have, count - have);
        if (got < 0) give_up("the server does not answer");
        have += (size_t)got;
    }
}

void link_write_all(struct link *link, const void *bytes, size_t count) {
    for (size_t gone = 0; gone < count;) {
        ssize_t put = link_write(link, (const char *)bytes + gone, count - gone);
        if (put < 0) give_up("the server does not read");
        gone += (size_t)put;
    }
}

size_t link_read_line(struct link *link, char *line, size_t capacity) {
    size_t count = 0;
    do {
        if (count + 1 >= capacity) give_up("a line without end");
        link_read_all(link, line + count, 1);
    } while (line[count++] != '\n');
    line[count] = 0;
    return count;
}
