/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "config/address.h"
#include "config/clock.h"
#include "config/protection.h"
#include "page.h"
#include "prober.h"
#include "cluster.h"
#include "tunnel.h"

enum {
	SLEEP_MAX_MS = 1000,
	EVENTS = 256,
};

struct loop {
	int epoll, signals;
	struct pool pool;
	struct prober prober;
	bool has_prober;
	struct tunnel *tunnel;
	struct cluster *cluster;
	struct page *page;
	/* Readable when the part has something to do; what each does is in run(). */
	struct waiter on_signal, on_cluster, on_page, on_tunnel;
	int vips_error; /* of the last attempt to set the VIPs' routes */
	bool is_over;
	int error; /* why it is over, 0: it was asked to end */
	char metrics[HTTP_URL_MAX];
};

static void on_nothing(struct waiter *waiter, uint32_t events)
{
	(void)waiter;
	(void)events;
}

static void on_signal(struct waiter *waiter, uint32_t events)
{
	struct loop *loop = (struct loop *)((char *)waiter - offsetof(struct loop, on_signal));

	(void)events;
	loop->is_over = true;
}

static void on_tunnel(struct waiter *waiter, uint32_t events)
{
	struct loop *loop = (struct loop *)((char *)waiter - offsetof(struct loop, on_tunnel));

	if (tunnel_receive(loop->tunnel) && !(events & (EPOLLERR | EPOLLHUP)))
		return;
	loop->is_over = true;
	loop->error = -ENODEV;
}

static void on_results(void *context, struct probed *service)
{
	struct loop *loop = context;

	(void)service;
	cluster_changed(loop->cluster);
}

static int on_vips(void *context, const struct fl_address *vips, uint32_t count)
{
	struct loop *loop = context;
	int error = tunnel_vips(loop->tunnel, vips, count);

	if (error && error != loop->vips_error)
		fprintf(stderr, "probe event=routes_failed device=" TUNNEL_DEVICE " error=\"%s\"\n", strerror(-error));
	loop->vips_error = error;
	return error;
}

static int watch(const struct loop *loop, int fd, struct waiter *waiter)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = waiter};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* A strict reverse path filter drops answers: their source, a VIP, is not routed to the interface that they come by. */
static void check_filters(void)
{
	FILE *all = fopen("/proc/sys/net/ipv4/conf/all/rp_filter", "re");
	int value = 0;

	if (all && fscanf(all, "%d", &value) == 1 && value == 1)
		fprintf(stderr, "probe event=preflight check=rp_filter why=\"net.ipv4.conf.all.rp_filter is 1: answers "
				"are dropped; allowed: 0, 2\"\n");
	if (all)
		fclose(all);
}

static int open_loop(struct loop *loop, const struct probe_options *options, const sigset_t *signals,
		     struct reason *why)
{
	const struct prober_options prober = {
	    .inner = {options->inner[0], options->inner[1]},
	    .first_port = options->first_port,
	    .last_port = options->last_port,
	    .commands = options->commands,
	    .ca_file = options->ca_file,
	    .epoll = loop->epoll,
	    .changed = on_results,
	    .context = loop,
	};
	char own[ADDRESS_TEXT_MAX];
	const struct cluster_options cluster = {
	    .zookeeper = options->zookeeper,
	    .login = &options->login,
	    .root = options->root,
	    .id = options->id,
	    .metrics = loop->metrics,
	    .pool = &loop->pool,
	    .vips = on_vips,
	    .context = loop,
	};
	struct page_sources sources;

	loop->signals = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (loop->epoll < 0 || loop->signals < 0)
		return reason_set(why, -errno, "%s", strerror(errno));
	loop->has_prober = true;
	if (prober_open(&loop->prober, &prober))
		return reason_set(why, -ENOMEM, "no memory");
	loop->pool = (struct pool){
	    .outer = {options->outer[0], options->outer[1]},
	    .inner = {options->inner[0], options->inner[1]},
	    .tag_key = options->has_tag_key ? &options->tag_keys.current : NULL,
	    .listener = prober_listener(&loop->prober),
	};
	loop->tunnel = tunnel_open(options->inner, &prober_tunnel_events, &loop->prober, why);
	if (!loop->tunnel)
		return -EPERM;
	address_print(&options->outer[fl_address_is_none(&options->outer[0])], own);
	http_access_metrics(&options->http, own, loop->metrics);
	loop->cluster = cluster_open(&cluster, why);
	if (!loop->cluster)
		return -EINVAL;
	sources = (struct page_sources){
	    .pool = &loop->pool,
	    .prober = &loop->prober,
	    .cluster = loop->cluster,
	    .tunnel = loop->tunnel,
	    .unprotected =
		protection_missing(options->has_tag_key, options->login.count, options->zookeeper, &options->http),
	};
	loop->page = page_open(&options->http, &sources, why);
	if (!loop->page)
		return -EADDRNOTAVAIL;
	loop->on_signal.ready = on_signal;
	loop->on_tunnel.ready = on_tunnel;
	loop->on_cluster.ready = loop->on_page.ready = on_nothing; /* they run in each round */
	if (watch(loop, loop->signals, &loop->on_signal) || watch(loop, tunnel_fd(loop->tunnel), &loop->on_tunnel) ||
	    watch(loop, cluster_fd(loop->cluster), &loop->on_cluster) ||
	    watch(loop, page_fd(loop->page), &loop->on_page))
		return reason_set(why, -errno, "epoll: %s", strerror(errno));
	return 0;
}

static void close_loop(struct loop *loop)
{
	if (loop->cluster) /* results leave ZooKeeper before probes end */
		cluster_close(loop->cluster);
	if (loop->page)
		page_close(loop->page);
	pool_clear(&loop->pool);
	if (loop->tunnel) {
		tunnel_receive(loop->tunnel); /* resets of connections that were open */
		tunnel_close(loop->tunnel);
	}
	if (loop->has_prober && loop->prober.ports)
		prober_close(&loop->prober);
	if (loop->signals >= 0)
		close(loop->signals);
	if (loop->epoll >= 0)
		close(loop->epoll);
}

/* How long nothing is due. */
static int wait_ms(const struct loop *loop, uint64_t now)
{
	uint64_t at = cluster_deadline(loop->cluster);
	int limit = SLEEP_MAX_MS;

	if (at < now + (unsigned)limit)
		limit = at > now ? (int)(at - now) : 0;
	return page_wait(loop->page, prober_wait(&loop->prober, limit), now);
}

/*
 * Sockets are served before it is decided what came too late: an answer that is here has come in time. As many events as
 * fit may leave more behind: then nothing is late yet.
 */
static void round_of(struct loop *loop)
{
	struct epoll_event ready[EVENTS];
	uint64_t now = clock_ms();
	int slept = wait_ms(loop, now);
	int count = epoll_wait(loop->epoll, ready, EVENTS, slept);

	prober_wake(&loop->prober, clock_ms(), slept);
	for (int i = 0; i < count; i++) {
		struct waiter *waiter = ready[i].data.ptr;

		if (waiter->ready)
			waiter->ready(waiter, ready[i].events);
	}
	if (count < EVENTS)
		prober_run(&loop->prober, clock_ms());
	cluster_run(loop->cluster, clock_ms());
	page_run(loop->page, clock_ms());
	prober_reap(&loop->prober);
}

int loop_run(const struct probe_options *options, struct reason *why)
{
	struct loop loop = {.signals = -1, .epoll = epoll_create1(EPOLL_CLOEXEC)};
	sigset_t signals;
	int error;

	/* before ZooKeeper's client starts threads, which inherit it */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* commands get none of ours */
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return reason_set(why, -ENOMEM, "libcurl can't be used");
	check_filters();
	error = open_loop(&loop, options, &signals, why);
	if (!error) {
		fprintf(stderr, "probe event=started id=%s\n", options->id);
		while (!loop.is_over)
			round_of(&loop);
		error = loop.error ? reason_set(why, loop.error, "the device " TUNNEL_DEVICE " is gone") : 0;
	}
	close_loop(&loop);
	curl_global_cleanup();
	if (!error)
		fprintf(stderr, "probe event=stopped\n");
	return error;
}
