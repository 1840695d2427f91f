/* Declared by hand: libevent's event-config.h defines _GNU_SOURCE, which clashes with the Glibc module on fd_set.
   Types and values are those of libevent 2.1's <event2/event.h>. */
#ifndef ANTENNA_CLIBEVENT_SHIM_H
#define ANTENNA_CLIBEVENT_SHIM_H
#include <stddef.h>
#include <stdint.h>

struct event;
struct event_base;
struct event_config;
/* The layout of struct timeval on 64-bit Linux. */
struct antenna_timeval { int64_t tv_sec; int64_t tv_usec; };

#define EV_TIMEOUT 0x01
#define EV_READ 0x02
#define EV_WRITE 0x04
#define EV_SIGNAL 0x08
#define EV_PERSIST 0x10
#define EVLOOP_ONCE 0x01
#define EVLOOP_NONBLOCK 0x02
#define EVLOOP_NO_EXIT_ON_EMPTY 0x04
#define ANTENNA_BASE_NOLOCK 0x01
#define ANTENNA_BASE_IGNORE_ENV 0x02

typedef void (*event_callback_fn)(int descriptor, short what, void *argument);
typedef void (*event_log_cb)(int severity, const char *message);

struct event_config *event_config_new(void);
void event_config_free(struct event_config *config);
int event_config_set_flag(struct event_config *config, int flag);
struct event_base *event_base_new_with_config(const struct event_config *config);
void event_base_free(struct event_base *base);
int event_base_loop(struct event_base *base, int flags);
int event_base_loopbreak(struct event_base *base);
struct event *event_new(struct event_base *base, int descriptor, short what, event_callback_fn call, void *argument);
void event_free(struct event *event);
int event_add(struct event *event, const struct antenna_timeval *timeout);
int event_del(struct event *event);
void event_set_log_callback(event_log_cb callback);
const char *event_get_version(void);

#endif
