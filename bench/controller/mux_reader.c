/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux without packets, for bench/run size: the part of fairlead-mux that follows ZooKeeper (cluster_sync.h: store,
 * chunks, delta, ring, tables, its own node), with a session and tables of its own. Every next hop is known.
 *
 *	mux_reader ID ZOOKEEPER [LOG | CORE PRIORITY FLOWS SEED]
 *
 * With a core, a worker steers packets there (packet_worker.h): a number of milliseconds on standard input is its order.
 * With a log, it writes SERVICE GENERATION REALTIME-MS there for each generation that its tables serve.
 * Prints a line whenever its tables serve another generation of a service, and ends at the end of its standard input.
 * With several services it prints the sum of their generations, with a log at most once a second:
 *
 *	GENERATION REALTIME-NS PROCESSOR-NS BYTES-RECEIVED RESIDENT-KB
 */
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/tcp.h>

#include "control/service/change_log.h"
#include "packet/counters.h"
#include "control/cluster/cluster_sync.h"
#include "packet_worker.h"

enum {
	LOG_TELL_MS = 1000,
	LOG_BYTES = 1 << 20,
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	(void)context;
	(void)address;
	*out = (struct next_hop){.resolved = true,
				 .mtu = 9000,
				 .source_mac = {2, 0, 0, 0, 0, 1},
				 .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
}

/* Of all open TCP connections: only the one to ZooKeeper is open. */
static uint64_t received(void)
{
	DIR *fds = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t bytes = 0;

	while (fds && (entry = readdir(fds))) {
		struct tcp_info info = {0};
		socklen_t len = sizeof(info);

		if (!getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &len))
			bytes += info.tcpi_bytes_received;
	}
	if (fds)
		closedir(fds);
	return bytes;
}

static long resident_kb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%*s %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void tell(uint32_t generation, uint64_t now)
{
	printf("%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %ld\n", generation, now, clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	       received(), resident_kb());
	fflush(stdout);
}

static uint32_t sum_of(const struct cluster_sync *cluster)
{
	uint32_t sum = 0;

	for (const struct service_sync *sync = cluster_sync_next(cluster, NULL); sync;
	     sync = cluster_sync_next(cluster, sync))
		sum += ring_sync_generation(&sync->ring);
	return sum;
}

/* What has been served since the last call. */
static void write_log(const struct change_log *changes, uint64_t *next, FILE *log)
{
	for (; *next < changes->next; ++*next) {
		const struct change_log_entry *entry = &changes->entries[*next % CHANGE_LOG_KEPT];

		fprintf(log, "%s %u %" PRIu64 "\n", entry->service, entry->generation, entry->at_ms);
	}
}

/* Until the input ends: as the mux's control thread (control_thread.c) does. */
static void run(struct cluster_sync *cluster, const struct change_log *changes, struct packet_worker *worker, FILE *log,
		int epoll)
{
	struct epoll_event ready = {0};
	char order[64];
	uint32_t told = 0;
	uint64_t tell_at = 0, logged = 1;

	for (;;) {
		uint64_t now_ms = clock_ns(CLOCK_MONOTONIC) / 1000000, at;
		uint32_t generation = told;

		cluster_sync_run(cluster, now_ms);
		if (log)
			write_log(changes, &logged, log);
		if (now_ms >= tell_at)
			generation = sum_of(cluster);
		if (generation != told) {
			tell(generation, clock_ns(CLOCK_REALTIME));
			tell_at = log ? now_ms + LOG_TELL_MS : 0;
		}
		told = generation;
		now_ms = clock_ns(CLOCK_MONOTONIC) / 1000000;
		at = cluster_sync_deadline(cluster);
		at = at > now_ms + 1000 ? 1000 : at > now_ms ? at - now_ms : 0;
		if (epoll_wait(epoll, &ready, 1, (int)at) != 1 || ready.data.fd != STDIN_FILENO)
			continue;
		if (!worker || !fgets(order, sizeof(order), stdin))
			return;
		packet_worker_steer(worker, (uint32_t)strtoul(order, NULL, 10));
	}
}

int main(int argc, char **argv)
{
	struct next_hops hops = {.lookup = hop};
	struct fl_address address = fl_address_from_ipv4((const uint8_t[]){10, 1, 0, 11});
	struct fl_address none = {{0}};
	struct login login = {0};
	struct cluster_sync_options options = {
	    .root = "/fairlead", .login = &login, .self = {.address = &address, .address6 = &none}};
	struct epoll_event input = {.events = EPOLLIN | EPOLLHUP, .data.fd = STDIN_FILENO};
	struct epoll_event events = {.events = EPOLLIN};
	struct cluster_sync *cluster = NULL;
	struct packet_worker *worker = NULL;
	struct reason why = {""};
	const char *logins = getenv("FAIRLEAD_MUX_ZOOKEEPER_AUTH");
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	FILE *log = NULL;

	if (argc != 3 && argc != 4 && argc != 7) {
		fprintf(stderr, "usage: mux_reader ID ZOOKEEPER [LOG | CORE PRIORITY FLOWS SEED]\n");
		return 2;
	}
	if (argc == 4 && !(log = fopen(argv[3], "w"))) {
		perror(argv[3]);
		return 1;
	}
	if (log)
		setvbuf(log, NULL, _IOFBF, LOG_BYTES);
	if (logins && login_read("FAIRLEAD_MUX_ZOOKEEPER_AUTH", logins, &login, &why)) {
		fprintf(stderr, "mux_reader: %s\n", why.text);
		return 1;
	}
	options.self.id = argv[1];
	options.zookeeper = argv[2];
	options.tables = tables_new(1, &hops);
	options.counters = counters_new(1);
	options.changes = change_log_new();
	if (options.tables && argc == 7) {
		worker = packet_worker_new(options.tables,
					   &(struct packet_worker_options){.core = atoi(argv[3]),
									   .priority = atoi(argv[4]),
									   .flows = (uint32_t)atoi(argv[5]),
									   .seed = strtoul(argv[6], NULL, 10)});
		if (!worker) {
			perror("mux_reader: a worker");
			return 1;
		}
	}
	if (options.tables && options.counters && options.changes)
		cluster = cluster_sync_new(&options, &why);
	events.data.fd = cluster ? tree_fd(cluster->tree) : -1;
	if (!cluster || epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, events.data.fd, &events)) {
		fprintf(stderr, "mux_reader: %s\n", why.text[0] ? why.text : "cannot start");
		return 1;
	}
	run(cluster, options.changes, worker, log, epoll);
	if (log)
		fclose(log);
	cluster_sync_free(cluster);
	if (worker)
		return 0; /* its thread still has the tables */
	tables_free(options.tables);
	counters_free(options.counters);
	free(options.changes);
	close(epoll);
	return 0;
}
