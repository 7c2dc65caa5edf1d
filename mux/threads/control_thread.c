/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/control_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/service/change_log.h"
#include "control/cluster/cluster_sync.h"
#include "config/address.h"
#include "config/clock.h"
#include "host/announce.h"
#include "host/needs.h"
#include "hello/hello.h"
#include "observe/http.h"
#include "steering/steering.h"
#include "tell/teller.h"
#include "tell/teller_socket.h"
#include "threads/health.h"
#include "threads/privilege.h"

enum { TICK_MS = 1000 }; /* between calls of neighbours_tick() */

/* An order from main to the thread. */
enum order {
	ORDER_RUN,
	ORDER_LEAVE,
	ORDER_END,
};

struct control_thread {
	struct mux mux;
	struct announcer *announcer; /* NULL with --announce none */
	struct change_log *changes;
	struct needs *needs;
	struct teller *teller;
	struct teller_socket *teller_socket;
	struct hello *hello; /* NULL with --hello off */
	struct cluster_sync *cluster;
	struct http *http;
	struct health health;
	bool has_ticks; /* services whose steering is to be called every STEERING_TICK_MS */
	int epoll;
	int wake;         /* eventfd: the order has changed */
	enum order order; /* atomic */
	struct reason refusal;
	bool is_refused; /* atomic: refusal is written */
	pthread_t thread;
};

/* When something besides looks at the mux's health is due without a readable descriptor. */
static uint64_t due(const struct control_thread *control, uint64_t now, uint64_t tick_at)
{
	uint64_t at = cluster_sync_deadline(control->cluster);
	int http = http_timeout(control->http);

	if (teller_deadline(control->teller) < at)
		at = teller_deadline(control->teller);
	if (http >= 0 && now + (unsigned)http < at)
		at = now + (unsigned)http;
	if (control->hello && control->hello->send_at < at)
		at = control->hello->send_at;
	if (tick_at < at)
		at = tick_at;
	if (control->has_ticks && now + STEERING_TICK_MS < at)
		at = now + STEERING_TICK_MS;
	return at;
}

/* Sleeps until there is something to do, and looks at the mux's health meanwhile. */
static void wait_for_work(struct control_thread *control, uint64_t tick_at)
{
	struct sick_withdrawal *sick = &control->cluster->sick;
	const enum ailment had = sick->of_mux;
	struct epoll_event ready[8];
	uint64_t now = clock_ms(), at = due(control, now, tick_at);
	int count = 0;

	while (!count && now < at && sick->of_mux == had) {
		uint64_t look_at = health_deadline(&control->health), until = look_at < at ? look_at : at;

		count = epoll_wait(control->epoll, ready, 8, until > now ? (int)(until - now) : 0);
		now = clock_ms();
		health_run(&control->health, sick, now);
	}
}

/* Each part checks whether it has something to do; none of them blocks. */
static void run(struct control_thread *control, uint64_t now, bool is_tick)
{
	struct neighbours *neighbours = control->mux.neighbours;
	bool moved = neighbours && neighbours_receive(neighbours);

	if (neighbours && is_tick)
		moved |= neighbours_tick(neighbours);
	if (moved || (is_tick && control->mux.tables->stale))
		tables_refresh(control->mux.tables);
	if (is_tick && needs_refresh(control->needs, now))
		cluster_sync_guard(control->cluster);
	if (control->hello)
		hello_receive(control->hello, now);
	teller_socket_receive(control->teller_socket, control->teller);
	teller_run(control->teller);
	cluster_sync_run(control->cluster, now);
	if (is_tick)
		tables_close_windows(control->mux.tables, registration_seconds(control->cluster->registration));
	control->has_ticks = tables_tick(control->mux.tables, now);
	if (control->announcer && announce_run(control->announcer))
		cluster_sync_announce(control->cluster);
	http_run(control->http);
}

static void *loop(void *context)
{
	struct control_thread *control = context;
	enum order order, before = ORDER_RUN;
	uint64_t tick_at = 0;

	privilege_drop("control");
	while ((order = __atomic_load_n(&control->order, __ATOMIC_ACQUIRE)) != ORDER_END) {
		uint64_t now = clock_ms(), woken;
		bool is_tick = now >= tick_at;

		if (read(control->wake, &woken, sizeof(woken)) < 0 && errno != EAGAIN)
			fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
		if (order == ORDER_LEAVE && before == ORDER_RUN)
			cluster_sync_leave(control->cluster);
		before = order;
		if (is_tick)
			tick_at = now + TICK_MS;
		run(control, now, is_tick);
		wait_for_work(control, tick_at);
	}
	return NULL;
}

static int watch(const struct control_thread *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static uint64_t monotonic_ms(void *clock)
{
	(void)clock;
	return clock_ms();
}

static int open_teller(struct control_thread *control, struct reason *why)
{
	const struct mux *mux = &control->mux;
	struct teller_options options = {
	    .tag_key = mux->options->has_tag_key ? &mux->options->tag_keys.current : NULL,
	    .now_ms = monotonic_ms,
	};

	control->teller_socket = teller_socket_new(&mux->address, &mux->address6);
	options.sink = (struct teller_sink){control->teller_socket, teller_socket_send};
	control->teller = control->teller_socket ? teller_new(&options) : NULL;
	return control->teller ? 0 : reason_set(why, -ENOMEM, "control thread: no memory");
}

/* For tables_guard. */
static int check_vip(void *context, const struct fl_address *vip, struct reason *why)
{
	static const char *const uses[NEED_KINDS] = {
	    [NEED_OWN] = "this mux sends from it",
	    [NEED_ZOOKEEPER] = "this mux reaches ZooKeeper there",
	    [NEED_BGP] = "this mux has a BGP session with it",
	    [NEED_NEXT_HOP] = "this mux sends to others through it",
	};
	enum need_kind kind = needs_of(context, vip);
	char text[ADDRESS_TEXT_MAX];

	if (kind == NEED_NONE)
		return 0;
	return reason_set(why, -EADDRINUSE,
			  "vips: %s is not allowed: %s; allowed: addresses that the mux does not need",
			  address_print(vip, text), uses[kind]);
}

/* Before any service is served, so that none is that must not be. */
static int open_needs(struct control_thread *control, struct reason *why)
{
	const struct mux *mux = &control->mux;
	struct vip_guard guard = {.check = check_vip};

	control->needs = needs_new(mux->options->zookeeper, &mux->address, &mux->address6, mux->neighbours, why);
	if (!control->needs)
		return -ENOMEM;
	needs_refresh(control->needs, clock_ms());
	guard.context = control->needs;
	mux->tables->guard = guard;
	return 0;
}

/* Ends the program in the way of a signal, which main waits for. */
static void refused(void *context, const struct reason *why)
{
	struct control_thread *control = context;

	control->refusal = *why;
	__atomic_store_n(&control->is_refused, true, __ATOMIC_RELEASE);
	kill(getpid(), SIGTERM);
}

/* A change of the tables waits for a worker, perhaps for one that hangs. */
static void on_wait(void *context, uint64_t waited_ms)
{
	struct control_thread *control = context;
	uint64_t now = clock_ms();

	if (control->hello)
		hello_receive(control->hello, now);
	health_run(&control->health, &control->cluster->sick, now);
	cluster_sync_wait(control->cluster, now);
	if (health_must_end(control->cluster->sick.of_mux, cluster_sync_announces(control->cluster), waited_ms))
		health_end("a worker hangs, and a change waits for it");
}

static int open_cluster(struct control_thread *control, struct reason *why)
{
	const struct mux *mux = &control->mux;
	const char *ports[OPTIONS_PORTS_MAX];
	char own[ADDRESS_TEXT_MAX], metrics[HTTP_URL_MAX];
	struct cluster_sync_options options = {
	    .zookeeper = mux->options->zookeeper,
	    .login = &mux->options->login,
	    .root = mux->options->root,
	    .self = {.id = mux->options->id,
		     .kind = mux->kind,
		     .serves = mux->serves,
		     .address = &mux->address,
		     .address6 = &mux->address6,
		     .ports_count = mux->ports->count,
		     .ports = ports,
		     .metrics = metrics},
	    .tables = mux->tables,
	    .counters = mux->counters,
	    .announcer = control->announcer,
	    .changes = control->changes,
	    .state_dir = mux->options->state_dir,
	    .teller = control->teller,
	    .behind = mux->options->behind,
	    .hello = control->hello,
	    .needs = control->needs,
	    .refused = refused,
	    .refused_context = control,
	};
	const struct publication_waiter waiter = {control, on_wait};

	address_print(fl_address_is_none(&mux->address) ? &mux->address6 : &mux->address, own);
	http_access_metrics(&mux->options->http, own, metrics);
	for (unsigned i = 0; i < mux->ports->count; i++) {
		const struct port *port = &mux->ports->port[i];

		ports[i] = port->interface[0] ? port->interface : port->arguments;
	}
	control->cluster = cluster_sync_new(&options, why);
	if (!control->cluster)
		return -EINVAL;
	publication_set_waiter(mux->tables->publication, &waiter);
	return 0;
}

static int open_hello(struct control_thread *control, struct reason *why)
{
	const struct options *options = control->mux.options;
	const struct mux *mux = &control->mux;
	const struct fl_address *self = fl_address_is_none(&mux->address) ? &mux->address6 : &mux->address;

	if (!options->hello_port)
		return 0;
	control->hello = hello_open(self, options->hello_port, options->has_tag_key ? &options->tag_keys : NULL,
				    clock_unix_ms(), why);
	return control->hello ? 0 : -EADDRNOTAVAIL;
}

static int open_http(struct control_thread *control, struct reason *why)
{
	const struct mux *mux = &control->mux;
	struct sources sources = {
	    .cluster = control->cluster,
	    .tables = mux->tables,
	    .counters = mux->counters,
	    .announcer = control->announcer,
	    .neighbours = mux->neighbours,
	    .hello = control->hello,
	    .changes = control->changes,
	    .teller = control->teller,
	    .ports = mux->ports,
	    .sampler = mux->sampler,
	    .has_tokens = *mux->options->http.tokens,
	    .samples_for_all = mux->options->http_samples,
	    .unprotected = options_unprotected(mux->options),
	    .pipeline = mux->pipeline,
	    .id = mux->options->id,
	};

	control->http = http_open(&mux->options->http, &sources, why);
	return control->http ? 0 : -EADDRNOTAVAIL;
}

/* Descriptors whose readiness wakes the thread. */
static int open_epoll(struct control_thread *control, struct reason *why)
{
	int error = 0;

	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (control->epoll < 0 || control->wake < 0)
		return reason_set(why, -errno, "control thread: %s", strerror(errno));
	error = watch(control, control->wake);
	if (!error)
		error = watch(control, tree_fd(control->cluster->tree));
	if (!error)
		error = watch(control, http_fd(control->http));
	if (!error && control->hello)
		error = watch(control, control->hello->fd);
	if (!error)
		error = watch(control, control->teller_socket->epoll);
	if (!error && control->announcer)
		error = watch(control, control->announcer->epoll);
	if (!error && control->mux.neighbours)
		error = watch(control, neighbours_fd(control->mux.neighbours));
	return error ? reason_set(why, error, "control thread: %s", strerror(-error)) : 0;
}

/* VIPs are withdrawn and the session is closed first, HTTP stops last. */
static void destroy(struct control_thread *control)
{
	static const struct vip_guard none;
	static const struct publication_waiter no_waiter;

	publication_set_waiter(control->mux.tables->publication, &no_waiter);
	if (control->cluster)
		cluster_sync_free(control->cluster);
	if (control->http)
		http_close(control->http);
	if (control->hello)
		hello_close(control->hello);
	if (control->announcer)
		announce_close(control->announcer);
	control->mux.tables->guard = none;
	needs_free(control->needs);
	teller_free(control->teller);
	teller_socket_free(control->teller_socket);
	free(control->changes);
	if (control->epoll >= 0)
		close(control->epoll);
	if (control->wake >= 0)
		close(control->wake);
	free(control);
}

int control_thread_start(const struct mux *mux, struct control_thread **out, struct reason *why)
{
	struct control_thread *control = calloc(1, sizeof(*control));
	int error = 0;

	if (!control)
		return reason_set(why, -ENOMEM, "control thread: no memory");
	control->mux = *mux;
	health_begin(&control->health, mux->beats, mux->options->workers, mux->ports);
	control->epoll = -1;
	control->wake = -1;
	control->changes = change_log_new();
	if (!control->changes)
		error = reason_set(why, -ENOMEM, "control thread: no memory");
	if (!error && mux->options->announce == ANNOUNCE_TUN) {
		control->announcer = announce_open();
		if (!control->announcer)
			error = reason_set(why, -errno, "--announce: 'tun' fails here: %s; allowed: tun, none",
					   strerror(errno));
	}
	if (!error)
		error = open_teller(control, why);
	if (!error)
		error = open_needs(control, why);
	if (!error)
		error = open_hello(control, why);
	if (!error)
		error = open_cluster(control, why);
	if (!error)
		error = open_http(control, why);
	if (!error)
		error = open_epoll(control, why);
	if (!error) {
		error = -pthread_create(&control->thread, NULL, loop, control);
		if (error)
			reason_set(why, error, "control thread: %s", strerror(-error));
	}
	if (error) {
		destroy(control);
		return error;
	}
	pthread_setname_np(control->thread, "control");
	*out = control;
	return 0;
}

static void give(struct control_thread *control, enum order order)
{
	uint64_t one = 1;

	__atomic_store_n(&control->order, order, __ATOMIC_RELEASE);
	while (write(control->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int control_thread_refusal(const struct control_thread *control, struct reason *why)
{
	if (!__atomic_load_n(&control->is_refused, __ATOMIC_ACQUIRE))
		return 0;
	*why = control->refusal;
	return -EADDRINUSE;
}

void control_thread_leave(struct control_thread *control)
{
	give(control, ORDER_LEAVE);
}

void control_thread_stop(struct control_thread *control)
{
	give(control, ORDER_END);
	pthread_join(control->thread, NULL);
	destroy(control);
}
