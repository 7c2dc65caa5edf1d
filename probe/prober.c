/* SPDX-License-Identifier: Apache-2.0 */
#include "prober.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "config/address.h"

enum { BINDS_MAX = 8 }; /* source ports that are tried, as other programs may have some */

static const struct attempt_kind *const kinds[] = {
    [CHECK_TCP] = &attempt_tcp, [CHECK_HTTP] = &attempt_http,       [CHECK_HTTPS] = &attempt_https,
    [CHECK_UDP] = &attempt_udp, [CHECK_COMMAND] = &attempt_command,
};

/* xorshift64*: to spread probes, no secret. */
uint32_t prober_draw(struct prober *prober, uint32_t n)
{
	prober->random ^= prober->random >> 12;
	prober->random ^= prober->random << 25;
	prober->random ^= prober->random >> 27;
	return (uint32_t)((prober->random * 0x2545f4914f6cdd1dULL >> 32) * n >> 32);
}

static const struct check *check_of(const struct probe *probe)
{
	return &probe->target->service->check;
}

/* Without memory for the schedule's growth a probe is not made any more; it was in the schedule before. */
static void schedule_at(struct prober *prober, struct probe *probe, uint64_t at)
{
	if (!schedule_set(&prober->schedule, &probe->due, at))
		prober->counters.not_made++;
}

/* The interval, and to either side of it the jitter at random. */
static uint64_t next_interval(struct prober *prober, const struct check *check)
{
	uint32_t spread = check->interval_ms / 100 * check->jitter;

	return check->interval_ms - spread + prober_draw(prober, 2 * spread + 1);
}

/* --- attempts ------------------------------------------------------------------------------------------------- */

/* Ends and frees the attempt; its probe is not in the schedule's order yet. */
static void finish(struct prober *prober, struct probe *probe)
{
	const struct attempt_kind *kind = probe->attempt->kind;

	kind->end(probe->attempt);
	probe->attempt = NULL;
	ports_give(prober->ports, probe->source_port, prober->now_ms, kind->rest_ms);
	probe->source_port = 0;
}

/* How long after the beginning of the attempt, whose deadline is in due, the next one begins. */
static void again(struct prober *prober, struct probe *probe)
{
	const struct check *check = check_of(probe);
	uint64_t at = probe->due.at - check->timeout_ms + next_interval(prober, check);

	schedule_at(prober, probe, at > prober->now_ms ? at : prober->now_ms);
}

void prober_done(struct attempt *attempt, enum outcome outcome)
{
	struct prober *prober = attempt->prober;
	struct probe *probe = attempt->probe;
	const struct check *check = check_of(probe);

	finish(prober, probe);
	prober->counters.outcomes[outcome]++;
	again(prober, probe);
	if (judge_take(&probe->judge, outcome, check->rise, check->fall))
		prober->options.changed(prober->options.context, probe->target->service);
}

void prober_void(struct attempt *attempt, uint64_t *counter)
{
	struct prober *prober = attempt->prober;
	struct probe *probe = attempt->probe;

	finish(prober, probe);
	++*counter;
	again(prober, probe);
}

void prober_close_fd(const struct prober *prober, int fd)
{
	epoll_ctl(prober->options.epoll, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

void prober_bury(struct prober *prober, struct waiter *waiter)
{
	waiter->ready = NULL;
	waiter->next = prober->buried;
	prober->buried = waiter;
}

void prober_reap(struct prober *prober)
{
	while (prober->buried) {
		struct waiter *next = prober->buried->next;

		free(prober->buried);
		prober->buried = next;
	}
}

static void begin(struct prober *prober, struct probe *probe)
{
	const struct check *check = check_of(probe);
	bool is_full = check->kind == CHECK_COMMAND && prober->commands >= PROBER_COMMANDS_MAX;

	probe->is_sent = false;
	probe->source_port = is_full ? 0 : ports_take(prober->ports, probe, prober->now_ms);
	if (!probe->source_port) {
		prober->counters.postponed++;
		schedule_at(prober, probe, prober->now_ms + PROBER_POSTPONE_MS);
		return;
	}
	schedule_at(prober, probe, prober->now_ms + check->timeout_ms);
	probe->attempt = kinds[check->kind]->begin(prober, probe);
	if (probe->attempt)
		return;
	prober->counters.not_made++;
	ports_give(prober->ports, probe->source_port, prober->now_ms, PORTS_REST_MS);
	probe->source_port = 0;
	again(prober, probe);
}

/* It has taken too long. What a command sends is unknown. */
static void expire(struct prober *prober, struct probe *probe)
{
	if (probe->is_sent || probe->attempt->kind == &attempt_command)
		prober_done(probe->attempt, probe->attempt->kind->late(probe->attempt));
	else
		prober_void(probe->attempt, &prober->counters.not_sent);
}

enum outcome prober_outcome(int error)
{
	switch (error) {
	case 0:
		return OUTCOME_OK;
	case ECONNREFUSED:
		return OUTCOME_REFUSED;
	case ECONNRESET:
	case EPIPE:
		return OUTCOME_CLOSED;
	case ETIMEDOUT:
		return OUTCOME_TIMEOUT;
	default:
		return OUTCOME_UNREACHABLE;
	}
}

static int bound(int fd, const struct fl_address *source, uint16_t port)
{
	struct sockaddr_storage from;
	socklen_t len = address_to_socket(source, port, &from);

	return bind(fd, (const struct sockaddr *)&from, len) ? -errno : 0;
}

/* Another program may have the port: then the probe gets another one. */
static int bind_any(struct prober *prober, struct probe *probe, int fd)
{
	const struct fl_address *source = &prober->options.inner[!fl_address_is_ipv4(probe_vip(probe))];
	int error = bound(fd, source, probe->source_port);

	for (int i = 0; error == -EADDRINUSE && i < BINDS_MAX; i++) {
		uint16_t port = ports_take(prober->ports, probe, prober->now_ms);

		if (!port)
			break;
		ports_give(prober->ports, probe->source_port, prober->now_ms, PORTS_REST_MS);
		probe->source_port = port;
		error = bound(fd, source, port);
	}
	return error;
}

void prober_lead(struct prober *prober, const struct probe *probe)
{
	struct port_path *path = ports_path(prober->ports, probe->source_port);
	const struct check_endpoint *endpoint = probe_endpoint(probe);

	path->vip = *probe_vip(probe);
	path->port = endpoint->port;
	path->protocol = endpoint->protocol;
	path->wrap = probe->target->wrap;
	path->wrap.generation = probe->target->service->generation;
	path->key = *path->wrap.key;
	path->wrap.key = &path->key;
}

int prober_socket(struct prober *prober, struct probe *probe, int type)
{
	static const struct linger reset = {1, 0}; /* else the port would wait in TIME-WAIT for a minute */
	int one = 1, none = 0, family = fl_address_is_ipv4(probe_vip(probe)) ? AF_INET : AF_INET6, error;
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* without quick ACKs the handshake's last one goes with the request, or, if nothing is sent, not before the RST */
	error = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
			(type == SOCK_STREAM && (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
						 setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &none, sizeof(none))))
		    ? -errno
		    : bind_any(prober, probe, fd);
	if (error) {
		close(fd);
		return error;
	}
	prober_lead(prober, probe);
	return fd;
}

/* --- the pool and the tunnel ------------------------------------------------------------------------------------ */

static void on_added(void *context, struct probe *probe)
{
	struct prober *prober = context;

	schedule_at(prober, probe, prober->now_ms + prober_draw(prober, check_of(probe)->interval_ms));
}

static void on_removed(void *context, struct probe *probe)
{
	struct prober *prober = context;

	if (probe->attempt)
		finish(prober, probe);
	schedule_unset(&prober->schedule, &probe->due);
}

struct pool_listener prober_listener(struct prober *prober)
{
	return (struct pool_listener){on_added, on_removed, prober};
}

/* The way of the last attempt with this source port. */
static const struct port_path *path_of(const struct prober *prober, const struct wrap_flow *flow)
{
	const struct port_path *path = ports_path(prober->ports, flow->source_port);

	return path && path->protocol == flow->protocol && path->port == flow->destination_port &&
		       fl_address_equal(&path->vip, &flow->destination)
		   ? path
		   : NULL;
}

static const struct wrap *on_find(void *context, const struct wrap_flow *flow)
{
	struct prober *prober = context;
	const struct port_path *path = path_of(prober, flow);
	struct probe *probe = ports_owner(prober->ports, flow->source_port);

	if (path && probe)
		probe->is_sent = true;
	return path ? &path->wrap : NULL;
}

static void on_unroutable(void *context, const struct wrap_flow *flow)
{
	struct prober *prober = context;
	struct probe *probe = ports_owner(prober->ports, flow->source_port);

	if (probe && probe->attempt && path_of(prober, flow))
		prober_done(probe->attempt, OUTCOME_UNROUTABLE);
}

const struct tunnel_events prober_tunnel_events = {on_find, on_unroutable};

/* --- time ------------------------------------------------------------------------------------------------------- */

static struct probe *first(const struct prober *prober)
{
	return (struct probe *)schedule_first(&prober->schedule); /* due is the first member */
}

_Static_assert(offsetof(struct probe, due) == 0, "a due is its probe");

int prober_wait(const struct prober *prober, int limit)
{
	const struct probe *probe = first(prober);
	uint64_t wait = probe && probe->due.at > prober->now_ms ? probe->due.at - prober->now_ms : 0;

	if (probe && wait < PROBER_STEP_MS)
		wait = PROBER_STEP_MS;
	if (probe && wait < (uint64_t)limit)
		limit = (int)wait;
	return prober->https ? https_client_wait(prober->https, prober->now_ms, limit) : limit;
}

/* Every attempt that is under way has had no chance. All begin again within an interval. */
static void stall(struct prober *prober)
{
	for (uint32_t port = prober->options.first_port; port <= prober->options.last_port; port++) {
		struct probe *probe = ports_owner(prober->ports, (uint16_t)port);

		if (!probe || !probe->attempt)
			continue;
		prober_void(probe->attempt, &prober->counters.stalled);
		on_added(prober, probe);
	}
}

void prober_wake(struct prober *prober, uint64_t now_ms, int slept_ms)
{
	bool is_stalled = prober->now_ms && now_ms > prober->now_ms + (uint64_t)slept_ms + PROBER_STALL_MS;

	prober->now_ms = now_ms;
	if (is_stalled)
		stall(prober);
}

void prober_run(struct prober *prober, uint64_t now_ms)
{
	struct probe *probe;

	prober->now_ms = now_ms;
	for (int begun = 0; begun < PROBER_ATTEMPTS_MAX && (probe = first(prober)) && probe->due.at <= now_ms;) {
		if (probe->attempt) {
			expire(prober, probe);
		} else {
			begin(prober, probe);
			begun++;
		}
	}
	if (prober->https)
		https_client_run(prober->https, now_ms);
}

int prober_open(struct prober *prober, const struct prober_options *options)
{
	*prober = (struct prober){.options = *options};
	if (getrandom(&prober->random, sizeof(prober->random), 0) != sizeof(prober->random))
		prober->random = 0;
	prober->random |= 1;
	prober->ports = ports_new(options->first_port, options->last_port);
	return prober->ports ? 0 : -ENOMEM;
}

void prober_close(struct prober *prober)
{
	if (prober->https)
		https_client_free(prober->https);
	prober_reap(prober);
	ports_free(prober->ports);
	schedule_free(&prober->schedule);
}
