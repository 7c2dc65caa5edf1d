/* SPDX-License-Identifier: Apache-2.0 */
#include "still.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>

#include "host/neighbour.h"
#include "config/tag_key.h"
#include "encap/gue.h"
#include "steering/maat/maat.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/ring/steering_ring.h"
#include "threads/worker.h"
#include "image.h"

enum { TENTH = 10, CONNECTIONS = 1000000 /* that arrays have room for */ };

struct arguments {
	int via;    /* -1: the kernel knows */
	char *vips; /* separated by commas */
	uint16_t port;
	const struct encap *encap;
	const struct steering *steering;
	struct quic_server_id quic;
	uint16_t mss;
	bool changes;
	uint32_t buckets;
	int backends_count;
	char **backends;
};

static void die(const char *text)
{
	fprintf(stderr, "still_mux: %s\n", text);
	exit(1);
}

static void read_key(struct options *options, const char *path)
{
	struct reason why;

	if (tag_key_read("--tag-key", path, &options->tag_keys, &why))
		die(why.text);
	options->has_tag_key = true;
}

static const struct encap *encap_named(const char *word)
{
	for (int i = 0; encaps[i]; i++)
		if (!strcmp(encaps[i]->name, word))
			return encaps[i];
	die("--encap: unknown word");
	return NULL;
}

static const struct steering *steering_named(const char *word)
{
	for (int i = 0; steerings[i]; i++)
		if (!strcmp(steerings[i]->name, word))
			return steerings[i];
	die("--steering: unknown word");
	return NULL;
}

static void parse(int argc, char **argv, struct options *options, struct arguments *a)
{
	int i = 1;

	*options =
	    (struct options){.workers = 1, .memory = 256, .spin = OPTIONS_SPIN, .no_huge = true, .no_exception = true};
	*a = (struct arguments){.via = -1, .encap = &encap_gue, .steering = &steering_ring};
	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--port"))
			snprintf(options->ports[options->ports_count++], OPTIONS_TEXT_MAX, "%s", argv[i + 1]);
		else if (!strcmp(argv[i], "--via"))
			a->via = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--workers"))
			options->workers = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--spin"))
			options->spin = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--exception"))
			options->no_exception = strcmp(argv[i + 1], "yes") != 0;
		else if (!strcmp(argv[i], "--tag-key"))
			read_key(options, argv[i + 1]);
		else if (!strcmp(argv[i], "--encap"))
			a->encap = encap_named(argv[i + 1]);
		else if (!strcmp(argv[i], "--steering"))
			a->steering = steering_named(argv[i + 1]);
		else if (!strcmp(argv[i], "--quic"))
			sscanf(argv[i + 1], "%hhu:%hhu", &a->quic.offset, &a->quic.length);
		else if (!strcmp(argv[i], "--mss"))
			a->mss = (uint16_t)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--changes"))
			a->changes = !strcmp(argv[i + 1], "yes");
		else if (!strcmp(argv[i], "--pipeline"))
			options->pipeline = strcmp(argv[i + 1], "compiled") ? PIPELINE_INTERPRETED : PIPELINE_COMPILED;
		else if (!strcmp(argv[i], "--memory"))
			options->memory = (unsigned)atoi(argv[i + 1]);
		else
			die("allowed: --port, --via, --workers, --spin, --exception, --tag-key, --encap, --steering, "
			    "--quic, "
			    "--mss, --changes, --pipeline, --memory");
	}
	if (argc - i < 4 || !options->ports_count || !options->workers || options->workers > OPTIONS_WORKERS_MAX)
		die("usage: --port P [--via N] [--workers N] [--exception yes] [--tag-key FILE] VIP,... PORT BUCKETS "
		    "BACKEND...");
	a->vips = argv[i];
	a->port = (uint16_t)atoi(argv[i + 1]);
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

static void load(struct tables *tables, const struct arguments *a)
{
	struct service_config config = image_config(1, "10.99.0.1", a->buckets);
	struct delta snapshot = image_snapshot(1, 1, a->buckets, (uint16_t)a->backends_count);
	struct chance chance = {1};
	struct othello_pair *pair = NULL;
	struct service *service;
	struct reason why;

	config.vips_count = 0;
	for (char *vip = strtok(a->vips, ","); vip; vip = strtok(NULL, ","))
		config.vips[config.vips_count++] = image_address(vip);
	config.encap = a->encap;
	config.steering = a->steering;
	if (a->steering == &steering_maat)
		config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 65536, 3};
	if (a->steering == &steering_othello)
		pair = othello_pair_new(
		    image_arrays(&chance, 1, CONNECTIONS + CONNECTIONS / 3, CONNECTIONS, FL_HASH_SIPHASH, a->buckets),
		    NULL, false);
	config.quic = a->quic;
	config.mss = a->mss;
	config.ports_count = a->steering == &steering_othello ? 1 : 2;
	config.ports[0].port = a->port;
	config.ports[1] = (struct service_port){IPPROTO_UDP, a->port};
	for (int i = 0; i < a->backends_count; i++)
		snapshot.backends[i].address = image_address(a->backends[i]);
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, pair, &why))
		die(why.text);
	image_free(&snapshot);
}

/* The next generation: a tenth of the buckets, each to the backend after its current one. */
static void change(struct tables *tables, uint16_t backends)
{
	struct service *service = registry_find_id(&tables->registry, 1);
	const struct ring *ring = service_ring(service);
	uint32_t generation = ring_generation(ring) + 1, buckets = ring_buckets(ring);
	struct delta delta = {.service = 1,
			      .generation = generation,
			      .base = generation - 1,
			      .buckets = buckets,
			      .committed = (uint32_t)time(NULL),
			      .runs = calloc(buckets / TENTH + 1, sizeof(*delta.runs)),
			      .releases = calloc(buckets / TENTH + 1, sizeof(*delta.releases))};
	struct reason why;

	if (!delta.runs || !delta.releases)
		die("no memory for a change");
	for (uint32_t bucket = generation % TENTH; bucket < buckets; bucket += TENTH) {
		uint16_t owner = fl_row_current(ring_row(ring, bucket));

		delta.runs[delta.runs_count++] = (struct fl_delta_run){bucket, 1, (uint16_t)(1 + owner % backends), 0};
		delta.releases[delta.releases_count++] = (struct fl_delta_release){bucket, 1, 0};
	}
	if (tables_apply(tables, service, &delta, NULL, &why))
		die(why.text);
	free(delta.runs);
	free(delta.releases);
}

/* What was counted since the last report. */
static void report(const struct counters *counters)
{
	static const struct plain_counter pipeline = {.at = offsetof(struct worker_counters, front)};
	static uint64_t before[VERDICTS], before_front;
	uint64_t front = counters_plain(counters, &pipeline);
	static double since;
	double now = clock_now();

	printf("{\"seconds\": %.6f", since > 0 ? now - since : 0);
	for (unsigned v = 0; v < VERDICTS; v++) {
		uint64_t n = counters_packets(counters, v);

		printf(", \"%s\": %lu", verdict_name(v), (unsigned long)(n - before[v]));
		before[v] = n;
	}
	printf(", \"pipeline\": %lu}\n", (unsigned long)(front - before_front));
	before_front = front;
	fflush(stdout);
	since = now;
}

/* Polls neighbours and answers lines until a signal arrives. changes: number of backends to move among, or 0. */
static void look_after(struct neighbours *neighbours, struct tables *tables, const struct counters *counters,
		       int signals, uint16_t changes)
{
	struct pollfd fds[3] = {{.fd = signals, .events = POLLIN},
				{.fd = STDIN_FILENO, .events = POLLIN},
				{.fd = neighbours ? neighbours_fd(neighbours) : -1, .events = POLLIN}};
	double tick = clock_now(), changed = tick;
	char line[64];

	for (;;) {
		poll(fds, 3, changes ? 10 : 100);
		if (fds[0].revents)
			return;
		if (fds[1].revents) {
			if (read(STDIN_FILENO, line, sizeof(line)) > 0) {
				publication_synchronize(tables->publication); /* what has come out is counted, too */
				report(counters);
			} else {
				fds[1].fd = -1;
			}
		}
		tables_tick(tables, (uint64_t)(clock_now() * 1000));
		if (changes && clock_now() - changed >= 0.1) {
			changed = clock_now();
			change(tables, changes);
		}
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

int still_main(const struct mux_kind *kind, int argc, char **argv)
{
	static struct options options;
	static struct ports ports;
	struct mux mux;
	struct next_hop fixed = {.resolved = true,
				 .mtu = 9000,
				 .source_mac = {2, 0, 0, 0, 0, 1},
				 .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	struct next_hops hops = {.context = &fixed, .lookup = image_hop};
	struct vip_listener listener = {.context = &ports, .changed = ports_vips};
	const struct fl_address anywhere = {{0}};
	struct neighbours *neighbours = NULL;
	struct counters *counters;
	struct front *front = NULL;
	struct worker_place place;
	struct worker *workers[OPTIONS_WORKERS_MAX];
	struct rte_ring *rings[OPTIONS_WORKERS_MAX];
	static struct beat beats[OPTIONS_WORKERS_MAX];
	struct arguments a;
	struct tables *tables;
	struct reason why;
	sigset_t set;
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
		neighbours = neighbours_new(&ports, &anywhere, &anywhere, &why);
		if (!neighbours)
			die(why.text);
		hops = neighbours_hops(neighbours);
	}
	tables = tables_new(options.workers, &hops);
	counters = counters_new(options.workers);
	if (!tables || !counters ||
	    tables_set_self(tables, &fixed.source, &anywhere, options.has_tag_key ? &options.tag_keys : NULL))
		die("no memory");
	tables_listen(tables, &listener);
	tables->options = &options;
	mux = (struct mux){.kind = kind->name,
			   .options = &options,
			   .ports = &ports,
			   .tables = tables,
			   .counters = counters,
			   .address = fixed.source};
	if (kind->open && kind->open(&front, &mux, &why))
		die(why.text);
	load(tables, &a);
	place = (struct worker_place){.tables = tables,
				      .ports = &ports,
				      .counters = counters,
				      .tag_key = options.has_tag_key ? &options.tag_keys.current : NULL,
				      .workers = options.workers,
				      .options = &options,
				      .front = front,
				      .rings = rings,
				      .beats = beats};
	if (worker_rings(rings, options.workers, &why))
		die(why.text);
	for (unsigned i = 0; i < options.workers; i++)
		if (worker_start(&workers[i], i, &place, &why))
			die(why.text);
	puts("{\"ready\": true}");
	report(counters);
	look_after(neighbours, tables, counters, signals, a.changes ? (uint16_t)a.backends_count : 0);
	report(counters);
	for (unsigned i = 0; i < options.workers; i++)
		worker_stop(workers[i]);
	if (front)
		kind->close(front);
	tables_free(tables);
	counters_free(counters);
	neighbours_free(neighbours);
	ports_close(&ports);
	rte_eal_cleanup();
	return 0;
}
