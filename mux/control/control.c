/* SPDX-License-Identifier: Apache-2.0 */
#include "control/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/announce.h"
#include "control/follow.h"
#include "observe/http.h"

enum { TICK_MS = 1000 }; /* of neighbours_tick(): also the longest sleep */

/* What main wants of the thread. */
enum order {
	ORDER_RUN,
	ORDER_LEAVE,
	ORDER_END,
};

struct control {
	struct mux mux;
	struct announcer *announcer; /* NULL with --announce none */
	struct applied *applied;
	struct follow *follow;
	struct http *http;
	int epoll;
	int wake;         /* eventfd: look at the order */
	enum order order; /* atomic */
	pthread_t thread;
};

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Milliseconds until something is due that no descriptor tells. */
static int timeout(const struct control *control, uint64_t now, uint64_t tick_at)
{
	uint64_t at = follow_deadline(control->follow);
	int http = http_timeout(control->http);

	if (http >= 0 && now + (unsigned)http < at)
		at = now + (unsigned)http;
	if (tick_at < at)
		at = tick_at;
	return at > now ? (int)(at - now) : 0;
}

/* Each part looks for itself whether it has something to do: none of them waits. */
static void run(struct control *control, uint64_t now, bool is_tick)
{
	struct neighbours *neighbours = control->mux.neighbours;
	bool moved = neighbours && neighbours_receive(neighbours);

	if (neighbours && is_tick)
		moved |= neighbours_tick(neighbours);
	if (moved || (is_tick && tables_is_stale(control->mux.tables)))
		tables_refresh(control->mux.tables);
	follow_run(control->follow, now);
	if (control->announcer && announce_run(control->announcer))
		follow_announce(control->follow);
	http_run(control->http);
}

static void *loop(void *context)
{
	struct control *control = context;
	struct epoll_event ready[8];
	enum order order, before = ORDER_RUN;
	uint64_t tick_at = 0;

	while ((order = __atomic_load_n(&control->order, __ATOMIC_ACQUIRE)) != ORDER_END) {
		uint64_t now = clock_ms(), woken;
		bool is_tick = now >= tick_at;

		if (read(control->wake, &woken, sizeof(woken)) < 0 && errno != EAGAIN)
			fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
		if (order == ORDER_LEAVE && before == ORDER_RUN)
			follow_leave(control->follow);
		before = order;
		if (is_tick)
			tick_at = now + TICK_MS;
		run(control, now, is_tick);
		epoll_wait(control->epoll, ready, 8, timeout(control, clock_ms(), tick_at));
	}
	return NULL;
}

static int watch(const struct control *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_follow(struct control *control, struct why *why)
{
	const struct mux *mux = &control->mux;
	const char *ports[OPTIONS_PORTS_MAX];
	struct follow_options options = {
	    .zookeeper = mux->options->zookeeper,
	    .login = &mux->options->login,
	    .root = mux->options->root,
	    .id = mux->options->id,
	    .address = &mux->address,
	    .address6 = &mux->address6,
	    .ports_count = mux->ports->count,
	    .ports = ports,
	    .tables = mux->tables,
	    .counters = mux->counters,
	    .announcer = control->announcer,
	    .applied = control->applied,
	    .behind = mux->options->behind,
	};

	for (unsigned i = 0; i < mux->ports->count; i++) {
		const struct port *port = &mux->ports->port[i];

		ports[i] = port->interface[0] ? port->interface : port->arguments;
	}
	control->follow = follow_new(&options, why);
	return control->follow ? 0 : -EINVAL;
}

static int open_http(struct control *control, struct why *why)
{
	const struct mux *mux = &control->mux;
	struct http_sources sources = {
	    .follow = control->follow,
	    .tables = mux->tables,
	    .counters = mux->counters,
	    .announcer = control->announcer,
	    .neighbours = mux->neighbours,
	    .applied = control->applied,
	    .ports = mux->ports,
	    .sampler = mux->sampler,
	    .id = mux->options->id,
	};

	control->http = http_open(mux->options->http_host, mux->options->http_port, &sources, why);
	return control->http ? 0 : -EADDRNOTAVAIL;
}

/* Descriptors whose readiness wakes the thread. */
static int open_epoll(struct control *control, struct why *why)
{
	int error = 0;

	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (control->epoll < 0 || control->wake < 0)
		return why_refuse(why, -errno, "control thread: %s", strerror(errno));
	error = watch(control, control->wake);
	if (!error)
		error = watch(control, follow_fd(control->follow));
	if (!error)
		error = watch(control, http_fd(control->http));
	if (!error && control->announcer)
		error = watch(control, announce_fd(control->announcer));
	if (!error && control->mux.neighbours)
		error = watch(control, neighbours_fd(control->mux.neighbours));
	return error ? why_refuse(why, error, "control thread: %s", strerror(-error)) : 0;
}

/* VIPs are withdrawn and the session ends first; the answers to HTTP last. */
static void destroy(struct control *control)
{
	if (control->follow)
		follow_free(control->follow);
	if (control->http)
		http_close(control->http);
	if (control->announcer)
		announce_close(control->announcer);
	applied_free(control->applied);
	if (control->epoll >= 0)
		close(control->epoll);
	if (control->wake >= 0)
		close(control->wake);
	free(control);
}

int control_start(const struct mux *mux, struct control **out, struct why *why)
{
	struct control *control = calloc(1, sizeof(*control));
	int error = 0;

	if (!control)
		return why_refuse(why, -ENOMEM, "control thread: no memory");
	control->mux = *mux;
	control->epoll = -1;
	control->wake = -1;
	control->applied = applied_new();
	if (!control->applied)
		error = why_refuse(why, -ENOMEM, "control thread: no memory");
	if (!error && mux->options->announce == ANNOUNCE_TUN) {
		control->announcer = announce_open();
		if (!control->announcer)
			error = why_refuse(why, -errno, "--announce: 'tun' can't be done: %s; allowed: tun, none",
					   strerror(errno));
	}
	if (!error)
		error = open_follow(control, why);
	if (!error)
		error = open_http(control, why);
	if (!error)
		error = open_epoll(control, why);
	if (!error) {
		error = -pthread_create(&control->thread, NULL, loop, control);
		if (error)
			why_refuse(why, error, "control thread: %s", strerror(-error));
	}
	if (error) {
		destroy(control);
		return error;
	}
	pthread_setname_np(control->thread, "control");
	*out = control;
	return 0;
}

static void give(struct control *control, enum order order)
{
	uint64_t one = 1;

	__atomic_store_n(&control->order, order, __ATOMIC_RELEASE);
	while (write(control->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void control_leave(struct control *control)
{
	give(control, ORDER_LEAVE);
}

void control_stop(struct control *control)
{
	give(control, ORDER_END);
	pthread_join(control->thread, NULL);
	destroy(control);
}
