/* fanload: N subscribers and a publisher on one server, in one thread that never sleeps. Counts every delivery at every
 * subscriber and checks its place in the order; prints one JSON document. The definitions are those of antenna-bench:
 * see ../README.md. `fanload --help` lists the options.
 *
 * build: cc -O2 -o fanload fanload.c links.c dialects.c account.c -lssl -lcrypto -lsodium
 */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, FRAME_MAX = 128 << 10, OUT_BYTES = 4 << 20, STEPS_MAX = 32 };

/* What is published: when, which, and filling. */
struct payload {
    uint64_t sent, number;
};

/* One way to publish: at most `window` messages under way, or `rate` messages a second. */
struct series {
    unsigned window;
    double rate;
    size_t size;
};

struct run {
    uint64_t messages, deliveries, disordered, server_cpu, own_cpu;
    double seconds;
    struct histogram latency;
};

static const struct dialect *dialect;
static struct place place = {.host = "127.0.0.1", .sources = 1};
static unsigned subscribers = 100;
static struct link *readers, writer;
static int poller, server_pid;
static double patience = 5;

static uint8_t incoming[FRAME_MAX + READ_BYTES];
static uint8_t *outgoing;
static size_t out_start, out_end;
static int awaits_room;

static uint64_t published, received, disordered;
static struct histogram latency;

/* ---- reading ---- */

static void count(struct link *link, const uint8_t *bytes, size_t length, uint64_t now) {
    struct payload payload;
    if (length != message_bytes) {
        disordered++;
        return;
    }
    memcpy(&payload, bytes, sizeof payload);
    if (payload.number != link->next) disordered++;
    link->next = payload.number + 1;
    received++;
    histogram_add(&latency, now - payload.sent);
}

static void read_reader(struct link *link) {
    for (;;) {
        if (link->rest_count) memcpy(incoming, link->rest, link->rest_count);
        ssize_t got = link_read(link, incoming + link->rest_count, READ_BYTES);
        if (got < 0) return;
        uint64_t now = now_nanoseconds();
        size_t have = link->rest_count + (size_t)got, at = 0;
        while (at < have) {
            uint8_t *payload = NULL;
            size_t length = 0;
            ssize_t frame = dialect->take(link, incoming + at, have - at, &payload, &length);
            if (frame < 0) {
                errno = EPROTO;
                give_up("a frame that makes no sense");
            }
            if (frame == 0) break;
            at += (size_t)frame;
            if (payload) count(link, payload, length, now);
        }
        link->rest_count = have - at;
        if (link->rest_count > FRAME_MAX) {
            errno = EMSGSIZE;
            give_up("a frame without end");
        }
        if (link->rest_count > link->rest_capacity) {
            link->rest_capacity = link->rest_count + 1024;
            link->rest = realloc(link->rest, link->rest_capacity);
        }
        if (link->rest_count) memcpy(link->rest, incoming + at, link->rest_count);
        /* What TLS holds decrypted does not make the socket readable. */
        if (!link->tls && got < READ_BYTES) return;
    }
}

/* ---- publishing ---- */

static void watch_writer(int operation) {
    struct epoll_event event = {.events = EPOLLIN | (awaits_room ? EPOLLOUT : 0), .data.ptr = &writer};
    epoll_ctl(poller, operation, writer.descriptor, &event);
}

static void flush(void) {
    while (out_start < out_end) {
        ssize_t put = link_write(&writer, outgoing + out_start, out_end - out_start);
        if (put < 0) break;
        out_start += (size_t)put;
    }
    if (out_start == out_end) out_start = out_end = 0;
    if (awaits_room == (out_start < out_end)) return;
    awaits_room = !awaits_room;
    watch_writer(EPOLL_CTL_MOD);
}

static void publish(uint8_t *filling) {
    struct payload payload = {now_nanoseconds(), published++};
    memcpy(filling, &payload, sizeof payload);
    out_end += dialect->publish(outgoing + out_end, filling, message_bytes);
}

static void turn(int milliseconds) {
    static struct epoll_event events[1024];
    int ready = epoll_wait(poller, events, 1024, milliseconds);
    for (int i = 0; i < ready; i++) {
        struct link *link = events[i].data.ptr;
        if (link != &writer) {
            read_reader(link);
            continue;
        }
        if (events[i].events & EPOLLOUT) flush();
        /* What the server says to its publisher is not looked at. */
        if (events[i].events & ~(uint32_t)EPOLLOUT)
            while (link_read(link, incoming, READ_BYTES) >= 0 && link->tls) continue;
    }
}

static int may_publish(const struct series *series, uint64_t first, uint64_t base, uint64_t elapsed) {
    uint64_t sent = published - first;
    if (out_end + message_bytes + 512 > OUT_BYTES) return 0;
    if (series->rate > 0) return (double)elapsed >= (double)sent * 1e9 / series->rate;
    return sent * subscribers - (received - base) <= (uint64_t)(series->window - 1) * subscribers;
}

static struct run measure(const struct series *series, double seconds, uint8_t *filling) {
    struct run run = {0};
    uint64_t first = published, base = received, base_disordered = disordered, seen = received;
    memset(&latency, 0, sizeof latency);
    uint64_t server = server_cpu_nanoseconds(server_pid), own = own_cpu_nanoseconds();
    uint64_t start = now_nanoseconds(), last = start, end = start + (uint64_t)(seconds * 1e9);
    for (;;) {
        uint64_t now = now_nanoseconds();
        if (now < end) {
            while (may_publish(series, first, base, now - start)) publish(filling);
            if (out_start < out_end && !awaits_room) flush();
        } else if (received - base >= (published - first) * subscribers) {
            break;
        }
        turn(0);
        if (received != seen) {
            seen = received;
            last = now_nanoseconds();
        } else if (now > end && now > last + (uint64_t)(patience * 1e9)) {
            break;
        }
    }
    run.server_cpu = server_cpu_nanoseconds(server_pid) - server;
    run.own_cpu = own_cpu_nanoseconds() - own;
    run.messages = published - first;
    run.deliveries = received - base;
    run.disordered = disordered - base_disordered;
    run.seconds = (double)(last - start) / 1e9;
    run.latency = latency;
    return run;
}

/* ---- beginning and telling ---- */

static void open_link(struct link *link, unsigned number) {
    link->number = number;
    link_connect(link, &place);
    if (dialect->greet) dialect->greet(link);
    link_begin_tls(link, &place);
}

static void watch_all(void) {
    poller = epoll_create1(0);
    for (unsigned i = 0; i < subscribers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &readers[i]};
        fcntl(readers[i].descriptor, F_SETFL, O_NONBLOCK);
        link_acknowledge_when_read(&readers[i]);
        if (epoll_ctl(poller, EPOLL_CTL_ADD, readers[i].descriptor, &event)) give_up("epoll_ctl");
    }
    fcntl(writer.descriptor, F_SETFL, O_NONBLOCK);
    watch_writer(EPOLL_CTL_ADD);
}

static void print_run(const struct run *run, int is_first) {
    double each = run->deliveries ? 1e-3 / (double)run->deliveries : 0;
    printf("%s{\"messages\":%" PRIu64 ",\"deliveries\":%" PRIu64 ",\"lost\":%" PRId64 ",\"disordered\":%" PRIu64
           ",\"seconds\":%.3f,\"deliveriesPerSecond\":%.0f,\"serverCpuUs\":%.4f,\"generatorCpuUs\":%.4f,"
           "\"serverBusy\":%.3f,\"p50Us\":%.1f,\"p99Us\":%.1f,\"maxUs\":%.1f}",
           is_first ? "" : ",", run->messages, run->deliveries,
           (int64_t)(run->messages * subscribers) - (int64_t)run->deliveries, run->disordered, run->seconds,
           run->seconds > 0 ? (double)run->deliveries / run->seconds : 0, (double)run->server_cpu * each,
           (double)run->own_cpu * each, run->seconds > 0 ? (double)run->server_cpu / 1e9 / run->seconds : 0,
           histogram_microseconds(&run->latency, .5), histogram_microseconds(&run->latency, .99),
           (double)run->latency.max / 1000);
}

static void read_series(struct series *series, const char *text) {
    char kind, rest;
    double value;
    size_t size = message_bytes;
    int fields = sscanf(text, "%c%lf/%zu%c", &kind, &value, &size, &rest);
    if ((fields != 2 && fields != 3) || (kind != 'w' && kind != 'r') || value <= 0 || size < sizeof(struct payload) ||
        size > 60000 || (kind == 'w' && value < 1)) {
        fprintf(stderr, "fanload: ‘%s’ is no series (w64, r30, w64/1024)\n", text);
        exit(64);
    }
    *series = (struct series){.window = kind == 'w' ? (unsigned)value : 0, .rate = kind == 'r' ? value : 0, .size = size};
}

static const char help[] =
    "usage: fanload --dialect NAME --port PORT [options]\n\n"
    "  --dialect NAME      mqtt, nats, resp, nchan, floor, floor-sealed\n"
    "  --port PORT         of the server on 127.0.0.1\n"
    "  --tls               TLS 1.3, certificates unchecked; --suite NAME chooses its cipher\n"
    "  --subscribers N     (100)\n"
    "  --size S            bytes of a message (256)\n"
    "  --series LIST       w64: a window of 64, r30: 30 a second, w64/1024: another size; one after the other (w64)\n"
    "  --seconds T         how long a run publishes (2)\n"
    "  --warm-up T         the run before, not reported (0.3)\n"
    "  --runs K            of each of the series (3)\n"
    "  --settle T          idle time before memory is read (0.7)\n"
    "  --sources COUNT     loopback addresses to connect from (1 for 20000)\n"
    "  --patience T        what is missing after this long without progress is lost (5)\n"
    "  --pid PID           the server, for its CPU time and memory\n\n"
    "exit codes: 0 everything arrived in order, 1 it did not, 64 usage, 69 the server failed\n";

int main(int count_words, char **words) {
    enum { DIALECT, PORT, TLS, SUITE, SUBSCRIBERS, SIZE, SERIES, SECONDS, WARM_UP, RUNS, SETTLE, SOURCES, PATIENCE, PID, HELP };
    static const struct option options[] = {
        {"dialect", 1, NULL, DIALECT}, {"port", 1, NULL, PORT}, {"tls", 0, NULL, TLS}, {"suite", 1, NULL, SUITE},
        {"subscribers", 1, NULL, SUBSCRIBERS}, {"size", 1, NULL, SIZE}, {"series", 1, NULL, SERIES},
        {"seconds", 1, NULL, SECONDS}, {"warm-up", 1, NULL, WARM_UP}, {"runs", 1, NULL, RUNS},
        {"settle", 1, NULL, SETTLE}, {"sources", 1, NULL, SOURCES}, {"patience", 1, NULL, PATIENCE},
        {"pid", 1, NULL, PID}, {"help", 0, NULL, HELP}, {0}};
    const char *suite = NULL, *name = "", *list = "w64";
    int tls = 0, runs = 3, steps = 0, sources = 0;
    double seconds = 2, warm_up = .3, settle = .7;
    struct series series[STEPS_MAX];
    for (int option; (option = getopt_long(count_words, words, "", options, NULL)) != -1;) switch (option) {
        case DIALECT: name = optarg; break;
        case PORT: place.port = atoi(optarg); break;
        case TLS: tls = 1; break;
        case SUITE: suite = optarg; break;
        case SUBSCRIBERS: subscribers = (unsigned)atoi(optarg); break;
        case SIZE: message_bytes = (size_t)atoi(optarg); break;
        case SERIES: list = optarg; break;
        case SECONDS: seconds = atof(optarg); break;
        case WARM_UP: warm_up = atof(optarg); break;
        case RUNS: runs = atoi(optarg); break;
        case SETTLE: settle = atof(optarg); break;
        case SOURCES: sources = atoi(optarg); break;
        case PATIENCE: patience = atof(optarg); break;
        case PID: server_pid = atoi(optarg); break;
        case HELP: fputs(help, stdout); return 0;
        default: return 64;
        }
    dialect = dialect_named(name);
    if (!dialect || place.port < 1 || subscribers < 1 || runs < 1 || optind < count_words) {
        fputs(help, stderr);
        return 64;
    }
    char *copy = strdup(list);
    for (char *word = strtok(copy, ","); word && steps < STEPS_MAX; word = strtok(NULL, ",")) read_series(&series[steps++], word);

    signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0) return 69;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    place.sources = sources ? sources : (int)(subscribers + 19999) / 20000;
    if (tls) place.tls = tls_context(suite);

    long before = server_resident_bytes(server_pid);
    readers = calloc(subscribers, sizeof *readers);
    uint64_t joining = now_nanoseconds();
    for (unsigned i = 0; i < subscribers; i++) {
        open_link(&readers[i], i);
        dialect->subscribe(&readers[i]);
    }
    double joined = (double)(now_nanoseconds() - joining) / 1e9;
    usleep((useconds_t)(settle * 1e6));
    long attached = server_resident_bytes(server_pid);
    open_link(&writer, subscribers);
    dialect->introduce(&writer);
    watch_all();
    outgoing = malloc(OUT_BYTES);
    uint8_t filling[65536];
    for (size_t i = 0; i < sizeof filling; i++) filling[i] = (uint8_t)('a' + i % 23);

    int good = 1;
    printf("{\"program\":\"fanload\",\"dialect\":\"%s\",\"tls\":%s,\"suite\":\"%s\",\"subscribers\":%u,"
           "\"join\":{\"seconds\":%.3f},\"memory\":{\"beforeBytes\":%ld,\"attachedBytes\":%ld,"
           "\"bytesPerSubscriber\":%.1f},\"series\":[",
           name, tls ? "true" : "false", tls ? SSL_get_cipher(writer.tls) : "", subscribers, joined, before, attached,
           (double)(attached - before) / subscribers);
    for (int step = 0; step < steps; step++) {
        message_bytes = series[step].size;
        printf("%s{", step ? "," : "");
        if (series[step].window) printf("\"window\":%u,", series[step].window);
        else printf("\"rate\":%g,", series[step].rate);
        printf("\"size\":%zu,\"runs\":[", series[step].size);
        for (int run = 0; run <= runs; run++) {
            struct run result = measure(&series[step], run ? seconds : warm_up, filling);
            if (result.deliveries != result.messages * subscribers || result.disordered) good = 0;
            if (run) print_run(&result, run == 1);
        }
        printf("]}");
    }
    printf("],\"ok\":%s}\n", good ? "true" : "false");
    return good ? 0 : 1;
}
