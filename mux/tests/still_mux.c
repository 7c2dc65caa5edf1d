/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that stands still: the real ports, workers, neighbours and tables, with one service that is given on the
 *command line instead of by ZooKeeper. For tests and benchmarks of the packet side.
 *
 *	still_mux --port P [--port P] [--via N] [--seconds S] VIP TCP-PORT BUCKETS BACKEND-IPV4...
 *
 * --via N: all backends are reached by the N-th port, without asking the kernel (ports that it knows nothing of).
 * --seconds S: ends after S seconds of which the first is not counted, else by SIGTERM.
 * Says "ready" on a line of its own once packets flow, and at the end one JSON object: counters, seconds, packets a
 * second by verdict.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>

#include "../neighbour.h"
#include "../worker.h"
#include "image.h"

struct arguments {
	int via; /* -1: the kernel knows */
	unsigned seconds;
	const char *vip;
	uint16_t tcp_port;
	uint32_t buckets;
	int backends_count;
	char **backends;
};

static void die(const char *text)
{
	fprintf(stderr, "still_mux: %s\n", text);
	exit(1);
}

static void parse(int argc, char **argv, struct options *options, struct arguments *a)
{
	int i = 1;

	*options = (struct options){.workers = 1, .memory = 256, .no_huge = true, .no_exception = true};
	*a = (struct arguments){.via = -1};
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--port"))
			snprintf(options->ports[options->ports_count++], OPTIONS_TEXT_MAX, "%s", argv[i + 1]);
		else if (!strcmp(argv[i], "--via"))
			a->via = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--seconds"))
			a->seconds = (unsigned)atoi(argv[i + 1]);
		else
			die("allowed: --port, --via, --seconds");
	}
	if (argc - i < 4 || !options->ports_count)
		die("usage: --port P [--via N] [--seconds S] VIP TCP-PORT BUCKETS BACKEND-IPV4...");
	a->vip = argv[i];
	a->tcp_port = (uint16_t)atoi(argv[i + 1]);
	a->buckets = (uint32_t)strtoul(argv[i + 2], NULL, 10);
	a->backends_count = argc - i - 3;
	a->backends = argv + i + 3;
}

static double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Looks after neighbours until the time has come or a signal does. */
static void look_after(struct neighbours *neighbours, struct tables *tables, int signals, double seconds)
{
	double end = clock_now() + seconds, tick = clock_now();

	while (seconds == 0 || clock_now() < end) {
		struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = -1, .events = POLLIN}};

		if (neighbours)
			fds[1].fd = neighbours_fd(neighbours);
		if (poll(fds, 2, 100) > 0 && fds[0].revents)
			return;
		if (!neighbours)
			continue;
		if (neighbours_receive(neighbours))
			tables_refresh(tables);
		if (clock_now() - tick < 1)
			continue;
		tick = clock_now();
		if (neighbours_tick(neighbours))
			tables_refresh(tables);
	}
}

static void load(struct tables *tables, const struct arguments *a)
{
	struct service_config config = image_config(1, a->vip, a->buckets);
	struct delta snapshot = image_snapshot(1, 1, a->buckets, (uint16_t)a->backends_count);
	struct service *service;
	struct why why;

	config.ports[0].port = a->tcp_port;
	for (int i = 0; i < a->backends_count; i++)
		snapshot.backends[i].address = image_ipv4(a->backends[i]);
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, &why))
		die(why.text);
	image_free(&snapshot);
}

static void report(const struct counters *counters, const uint64_t before[VERDICTS], double seconds)
{
	uint64_t total = 0;

	printf("{\"seconds\": %.3f", seconds);
	for (unsigned v = 0; v < VERDICTS; v++) {
		uint64_t n = counters_packets(counters, v) - before[v];

		total += n;
		printf(", \"%s\": %lu", verdict_name(v), (unsigned long)n);
	}
	printf(", \"bytes\": %lu, \"moved\": %lu, \"received_per_second\": %.0f}\n",
	       (unsigned long)counters_bytes(counters), (unsigned long)counters_moved(counters),
	       (double)total / seconds);
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct ports ports;
	struct next_hop fixed = {
	    .resolved = true, .mtu = 9000, .source_mac = {2, 0, 0, 0, 0, 1}, .source = {10, 1, 0, 11}};
	struct next_hops hops = {.context = &fixed, .lookup = image_hop};
	struct vip_listener listener = {.context = &ports, .changed = ports_vips};
	struct neighbours *neighbours = NULL;
	struct counters *counters;
	uint64_t before[VERDICTS] = {0};
	struct worker *worker;
	struct arguments a;
	struct tables *tables;
	struct why why;
	sigset_t set;
	double start;
	int signals;

	parse(argc, argv, &options, &a);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (ports_environment(&options, &why) || ports_open(&ports, &options, &why))
		die(why.text);
	if (a.via >= 0) {
		fixed.port = (uint8_t)ports.port[a.via].id;
	} else {
		neighbours = neighbours_new(&ports, NULL, &why);
		if (!neighbours)
			die(why.text);
		hops = neighbours_hops(neighbours);
	}
	tables = tables_new(1, &hops);
	counters = counters_new(1);
	if (!tables || !counters)
		die("no memory");
	tables_listen(tables, &listener);
	load(tables, &a);
	if (worker_start(&worker, 0, tables, &ports, counters, &why))
		die(why.text);
	puts("ready");
	fflush(stdout);
	if (a.seconds) {
		look_after(neighbours, tables, signals, 1);
		for (unsigned v = 0; v < VERDICTS; v++)
			before[v] = counters_packets(counters, v);
	}
	start = clock_now();
	look_after(neighbours, tables, signals, a.seconds ? a.seconds - 1 : 0);
	report(counters, before, clock_now() - start);
	worker_stop(worker);
	tables_free(tables);
	counters_free(counters);
	neighbours_free(neighbours);
	ports_close(&ports);
	rte_eal_cleanup();
	return 0;
}
