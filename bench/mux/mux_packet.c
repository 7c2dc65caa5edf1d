/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per packet of the mux's packet path in process: classify + hash + lookup + encapsulate, by the very
 * functions that a worker calls (mux/packet/burst.h), one thread, no ports. bench/run mux runs it.
 *
 *	mux_packet [--seed N] [--runs N] [--most-flows N] [--rows NAME,...] [--json FILE]
 *
 * Packets are 64 bytes long, TCP ACKs (or datagrams) of distinct flows in random order. They are written into a ring of
 * 2,048 buffers first, as a NIC would, and only then steered in bursts of 32, so that writing them is not measured, and
 * they are in the cache where a NIC's DMA would put them at best. All rows are ready at once and take turns: each run
 * gives each row PASS packets, so that a disturbance affects all rows. The result is the median run, with the fastest
 * and slowest beside it; time is the thread's own, so that other load on the machine counts little. A row's ratio to
 * the first one is the median of the ratios of each run. The stages are measured separately, by time stamps around each
 * stage of each group, whose own cost is measured and subtracted; the result is the median burst. They are those of the
 * reference: lanes (mux/packet/lanes_stages.h) have other stages, too short for time stamps. There a stage has all
 * 32 packets at once, so that the sum of the stages exceeds the whole where they wait for memory.
 *
 * Othello's arrays have room for as many connections as there are flows, with random cells: what they cost does not
 * depend on what they say. Both arrays: those of a new seed beside the ones before, so that nearly each packet has a
 * second bucket; or such as change little, as most do.
 *
 * Stateful is the same mux with a table of flows (flowtable/flowtable.h), which has room for a quarter more flows than
 * there are, and hashes side by side. DPDK's memory and rings both ask for transparent huge pages.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <rte_rcu_qsbr.h>

#include "encap/gue.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/othello.h"
#include "steering/ring/steering_ring.h"
#include "image.h"
#include "config/options.h"
#include "host/port.h"
#include "packet/general.h"
#include "flow_packet.h"
#include "flowtable/flowtable.h"
#include "headers/headers.h"
#include "host/mac.h"
#include "packet_rows.h"
#include "processor.h"
#include "random_pair.h"
#include "stand.h"
#include "service/tables.h"

enum {
	RING = 2048,
	PASS = 1 << 19, /* packets of a row in one run */
	NOW = 1700000000,
	MEMORY = 3072, /* MB, for tables of 10 M flows */
	STEPPED = 512, /* packets whose instructions are counted by steps */
	CHANGES = 10,  /* generations a second */
	TENTH = 10,
};

/* NULL: the stage of a table of flows, for all packets at once. */
static void (*const stages[STAND_STAGES])(struct burst *, uint32_t, uint32_t) = {general_classify, general_hash, NULL,
										 general_rows, headers_write};

struct bench {
	uint64_t seed;
	unsigned runs;
	uint32_t most_flows;
	const char *only;
	const char *json;
	uint32_t *flows; /* numbers in random order */
	struct flow_packets packets;
	struct burst burst;
	struct stand stands[ROWS];
	int count;
	double ns_of_cycle;
};

static void die(const char *text)
{
	fprintf(stderr, "mux_packet: %s\n", text);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The first rows' flows are among those of later ones: the numbers below n, in random order. */
static void make_flows(struct bench *b)
{
	struct chance chance = {b->seed};

	b->flows = calloc(b->most_flows, sizeof(*b->flows));
	if (!b->flows)
		die("no memory for flows");
	for (uint32_t i = 0; i < b->most_flows; i++)
		b->flows[i] = i;
	for (uint32_t i = b->most_flows; i > 1; i--) {
		uint32_t other = chance_below(&chance, i), flow = b->flows[i - 1];

		b->flows[i - 1] = b->flows[other];
		b->flows[other] = flow;
	}
}

static void take_burst(struct bench *b, uint32_t first)
{
	b->burst.count = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		b->burst.mbufs[i] = &b->packets.mbufs[first + i];
}

static void check_burst(const struct burst *burst)
{
	if (burst->one)
		return;
	for (uint32_t i = 0; i < burst->count; i++)
		if (burst->packets[i].verdict != VERDICT_SERVICE)
			die(verdict_name(burst->packets[i].verdict));
}

/* The buffers' next packets of a row. */
static void write_ring(struct bench *b, struct stand *s)
{
	for (uint32_t i = 0; i < RING; i++) {
		uint32_t flow = b->flows[s->at] % s->row.flows;

		if (s->row.ipv6)
			flow_packet_write6(&b->packets, i, flow);
		else
			flow_packet_write(&b->packets, i, flow, s->row.services, s->row.udp);
		if (s->row.syns)
			flow_packet_set_syn(&b->packets, i);
		s->at = s->at + 1 < s->row.flows ? s->at + 1 : 0;
	}
}

/* A row's path; negative: this machine can't. */
static int path_of(const struct row *row)
{
	for (int i = BURST_PATHS; i--;)
		if (burst_paths[i].has_cpu() && (!row->path || !strcmp(burst_paths[i].name, row->path)))
			return i;
	return -1;
}

static void take_row(struct bench *b, const struct stand *s)
{
	static const struct fl_siphash_key tag_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};

	b->burst.lookup = tables_lookup(s->tables);
	b->burst.mac = mac_word(mac);
	b->burst.now = NOW;
	b->burst.tag_flags = tag_key_flags(s->row.tagged ? &tag_key : NULL);
	burst_path = (enum burst_path)path_of(&s->row);
	b->burst.is_brief = true;
}

static inline void steer(struct bench *b, const struct stand *s)
{
	if (s->flowtable)
		flowtable_steer(s->flowtable, &b->burst);
#ifdef __x86_64__
	else if (s->row.floor)
		packet_floor_steer(s->row.floor, &b->burst, s->service);
#endif
	else
		burst_steer(&b->burst);
}

/* Steers some packets of a row; returns ns each. */
static double run(struct bench *b, struct stand *s, uint32_t packets)
{
	double spent = 0;

	take_row(b, s);
	for (uint32_t done = 0; done < packets; done += RING) {
		double start;

		write_ring(b, s);
		start = now_ns();
		for (uint32_t i = 0; i < RING; i += BURST_MAX) {
			take_burst(b, i);
			steer(b, s);
			if (s->row.changes)
				rte_rcu_qsbr_quiescent(tables_rcu(s->tables), 0);
		}
		spent += now_ns() - start;
		check_burst(&b->burst);
	}
	return spent / packets;
}

/* The least cost of a pair of time stamps, in cycles. */
static double stamp_cost(void)
{
	uint64_t least = ~0ULL;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = rte_rdtsc_precise(), cost = rte_rdtsc_precise() - start;

		if (cost < least)
			least = cost;
	}
	return (double)least;
}

/* ns per packet by stage, of the median burst. */
static void run_stages(struct bench *b, struct stand *s)
{
	static double samples[STAND_STAGES][PASS / BURST_MAX];
	double stamp = stamp_cost();
	uint32_t bursts = 0;

	take_row(b, s);
	for (uint32_t done = 0; done < PASS; done += RING) {
		write_ring(b, s);
		for (uint32_t i = 0; i < RING; i += BURST_MAX, bursts++) {
			take_burst(b, i);
			burst_begin(&b->burst);
			for (int stage = 0; stage < STAND_STAGES; stage++) {
				uint64_t start = rte_rdtsc_precise();

				for (uint32_t g = 0; stages[stage] && g < BURST_MAX; g += BURST_GROUP)
					stages[stage](&b->burst, g, g + BURST_GROUP);
				if (!stages[stage] && s->flowtable)
					flowtable_choose(s->flowtable, &b->burst);
				samples[stage][bursts] = (double)(rte_rdtsc_precise() - start);
			}
		}
	}
	for (int stage = 0; stage < STAND_STAGES; stage++) {
		qsort(samples[stage], bursts, sizeof(double), compare_doubles);
		s->stage[stage] = (samples[stage][bursts / 2] - stamp) * b->ns_of_cycle / BURST_MAX;
	}
}

static int counter_open(uint64_t what)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = what, .exclude_kernel = 1, .disabled = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* One of the machine's counters over the steering of PASS packets, per packet; negative: it has none. */
static double run_counted(struct bench *b, struct stand *s, uint64_t what)
{
	int fd = counter_open(what);
	uint64_t n = 0;

	if (fd < 0)
		return -1;
	take_row(b, s);
	for (uint32_t done = 0; done < PASS; done += RING) {
		write_ring(b, s);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (uint32_t i = 0; i < RING; i += BURST_MAX) {
			take_burst(b, i);
			steer(b, s);
		}
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		die("a counter can't be read");
	close(fd);
	return (double)n / PASS;
}

struct stepped {
	struct bench *bench;
	struct stand *stand;
};

static void step(void *context)
{
	const struct stepped *stepped = context;

	steer(stepped->bench, stepped->stand);
}

/* Instructions a packet, by single steps. */
static double run_stepped(struct bench *b, struct stand *s)
{
	struct stepped stepped = {b, s};
	int64_t count = 0;

	take_row(b, s);
	write_ring(b, s);
	for (uint32_t i = 0; i < STEPPED && count >= 0; i += BURST_MAX) {
		int64_t steps;

		take_burst(b, i);
		steps = processor_steps(step, &stepped);
		count = steps < 0 ? -1 : count + steps;
	}
	return count < 0 ? -1 : (double)count / STEPPED;
}

/* The control thread of a row with changes: applies a delta every tenth of a second while the row runs. */
struct changer {
	struct stand *stand;
	pthread_t thread;
	bool stop; /* atomic */
	struct delta delta;
};

static void change(struct changer *c)
{
	const struct ring *ring = service_ring(c->stand->service);
	uint32_t generation = ring_generation(ring) + 1;
	struct reason why;

	c->delta.generation = generation;
	c->delta.base = generation - 1;
	c->delta.runs_count = c->delta.releases_count = 0;
	for (uint32_t bucket = generation % TENTH; bucket < c->delta.buckets; bucket += TENTH) {
		uint16_t before = fl_row_current(ring_row(ring, bucket)),
			 now = (uint16_t)(1 + (before + generation) % STAND_BACKENDS);

		c->delta.runs[c->delta.runs_count++] = (struct fl_delta_run){bucket, 1, now, 0};
		c->delta.releases[c->delta.releases_count++] = (struct fl_delta_release){bucket, 1, 0};
	}
	if (tables_apply(c->stand->tables, c->stand->service, &c->delta, NULL, &why))
		die(why.text);
	c->stand->generations++;
}

static void *change_on(void *argument)
{
	static const struct timespec pause = {.tv_nsec = 1000000000 / CHANGES};
	struct changer *c = argument;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		change(c);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static double run_under_changes(struct bench *b, struct stand *s)
{
	uint32_t buckets = s->row.buckets;
	struct changer c = {.stand = s, .delta = {.service = 1, .buckets = buckets, .committed = NOW}};
	struct rte_rcu_qsbr *rcu = tables_rcu(s->tables);
	double ns;

	c.delta.runs = calloc(buckets / TENTH + 1, sizeof(*c.delta.runs));
	c.delta.releases = calloc(buckets / TENTH + 1, sizeof(*c.delta.releases));
	if (!c.delta.runs || !c.delta.releases)
		die("no memory for changes");
	rte_rcu_qsbr_thread_register(rcu, 0);
	rte_rcu_qsbr_thread_online(rcu, 0);
	if (pthread_create(&c.thread, NULL, change_on, &c))
		die("no thread for changes");
	ns = run(b, s, 8 * PASS);
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	rte_rcu_qsbr_thread_offline(rcu, 0);
	pthread_join(c.thread, NULL);
	rte_rcu_qsbr_thread_unregister(rcu, 0);
	free(c.delta.runs);
	free(c.delta.releases);
	return ns;
}

/* Gives buckets random former owners. */
static void give_lists(const struct row *row, const struct service *service, uint64_t seed)
{
	struct ring *ring = service_ring(service);
	struct lists *table = ring->listed->lists;
	const uint32_t lists = row->lists ? row->lists : row->buckets;
	struct chance chance = {seed};

	for (uint32_t i = 0; i < row->buckets; i++) {
		struct chance list = {seed + 1 +
				      chance_below(&chance, lists)}; /* what it has, follows from its number */
		struct fl_list former = {.count = (uint8_t)chance_below(&list, row->most + 1)};
		const fl_row before = ring->rows[i];

		for (uint32_t n = 0; n < former.count; n++)
			backends_address(ring->backends, (uint16_t)(1 + chance_below(&list, STAND_BACKENDS)),
					 &former.candidate[n]);
		ring->rows[i] = lists_row(table, fl_row_current(before), &former);
		lists_drop(table, before);
	}
}

static void serve(struct stand *s, uint16_t number, uint64_t seed)
{
	struct service_config config = image_config((uint16_t)(number + 1), "10.99.0.0", s->row.buckets);
	struct delta snapshot = image_snapshot(config.id, 1, s->row.buckets, STAND_BACKENDS);
	struct service *service;
	struct reason why;

	snprintf(config.name, sizeof(config.name), "service%u", number);
	fl_store_be16(config.vips[0].bytes + 14, number);
	config.key.k1 ^= number;
	if (s->row.ipv6)
		config.vips[config.vips_count++] = image_address("2001:db8:99::");
	config.ports[0].protocol = s->row.udp ? IPPROTO_UDP : IPPROTO_TCP;
	config.hash = s->row.hash;
	config.encap = s->row.encap;
	config.steering = s->row.steering;
	for (uint32_t i = 0; s->row.encap == &encap_srv6 && i < STAND_BACKENDS; i++) {
		const uint8_t last[2] = {(uint8_t)(i >> 8), (uint8_t)i};

		snapshot.backends[i].address = image_address("2001:db8:1::");
		memcpy(snapshot.backends[i].address.bytes + 14, last, sizeof(last));
	}
	if (s->row.steering == &steering_maat)
		config.maat = (struct maat_settings){s->row.load, 10, 1000, 65536, 3};
	for (uint32_t i = 0; s->row.told && i < s->row.buckets; i++)
		image_was(&snapshot, i, (uint16_t)(1 + (i + 7) % STAND_BACKENDS), NOW - 10);
	if (tables_add(s->tables, &config, &service, &why) ||
	    tables_load(s->tables, service, &snapshot,
			random_pair_new(s->row.arrays, s->row.news, s->row.flows, s->row.buckets, seed), &why))
		die(why.text);
	if (s->row.most)
		give_lists(&s->row, service, seed);
	s->bytes += sizeof(*service) + s->row.buckets * sizeof(fl_row) + STAND_BACKENDS * sizeof(struct backend);
	if (s->row.full)
		memset(maat_of(service)->filter->cells, MAAT_FILTER_COUNT_MAX, 65536);
	if (!number)
		s->service = service;
	image_free(&snapshot);
}

static void stand_ready(struct bench *b, const struct row *row)
{
	static struct next_hop hop = {.resolved = true,
				      .mtu = 9000,
				      .source_mac = {2, 0, 0, 0, 0, 1},
				      .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};
	struct stand *s = &b->stands[b->count++];
	struct reason why;

	s->row = *row;
	s->row.flows = row->flows ? row->flows : 1000000;
	s->row.flows = s->row.flows < b->most_flows ? s->row.flows : b->most_flows;
	s->row.buckets = row->buckets ? row->buckets : 65536;
	s->row.services = row->services ? row->services : 1;
	s->row.hash = row->hash ? row->hash : FL_HASH_SIPHASH;
	s->row.encap = row->encap ? row->encap : &encap_gue;
	s->row.steering = row->steering ? row->steering : &steering_ring;
	s->tables = tables_new(1, &hops);
	if (!s->tables)
		die("no memory for tables");
	if (s->row.stateful) {
		s->flowtable = flowtable_new(0, s->row.flows + s->row.flows / 4, &why);
		if (!s->flowtable)
			die(why.text);
	}
	for (uint32_t i = 0; i < s->row.services; i++)
		serve(s, (uint16_t)i, b->seed);
	run(b, s, s->row.stateful ? s->row.flows + RING : PASS);
}

static void measure(struct bench *b)
{
	double ratios[STAND_RUNS_MAX];

	for (unsigned i = 0; i < b->runs; i++)
		for (int at = 0; at < b->count; at++) {
			struct stand *s = &b->stands[((unsigned)at + i) % (unsigned)b->count];

			s->times[i] = s->row.changes ? run_under_changes(b, s) : run(b, s, PASS);
		}
	for (int at = b->count; at--;) {
		struct stand *s = &b->stands[at];

		for (unsigned i = 0; i < b->runs; i++)
			ratios[i] = s->times[i] / b->stands[0].times[i];
		qsort(ratios, b->runs, sizeof(ratios[0]), compare_doubles);
		s->ratio = ratios[b->runs / 2];
	}
	for (int at = 0; at < b->count; at++) {
		struct stand *s = &b->stands[at];

		qsort(s->times, b->runs, sizeof(s->times[0]), compare_doubles);
		s->median = s->times[b->runs / 2];
		s->fastest = s->times[0];
		s->slowest = s->times[b->runs - 1];
		run_stages(b, s);
		s->instructions = run_counted(b, s, PERF_COUNT_HW_INSTRUCTIONS);
		if (s->instructions < 0)
			s->instructions = run_stepped(b, s);
		s->misses = run_counted(b, s, PERF_COUNT_HW_CACHE_MISSES);
	}
}

static void parse(struct bench *b, int argc, char **argv)
{
	*b = (struct bench){.seed = 1, .runs = 9, .most_flows = 10000000};
	for (int i = 1; i < argc; i += 2) {
		unsigned long number = i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : 0;

		if (i + 1 < argc && !strcmp(argv[i], "--seed") && number)
			b->seed = number;
		else if (i + 1 < argc && !strcmp(argv[i], "--runs") && number && number <= STAND_RUNS_MAX)
			b->runs = (unsigned)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--most-flows") && number >= RING && number <= 1U << 24)
			b->most_flows = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--rows"))
			b->only = argv[i + 1];
		else if (i + 1 < argc && !strcmp(argv[i], "--json"))
			b->json = argv[i + 1];
		else
			die("allowed: --seed N, --runs 1..101, --most-flows 2048..16777216, --rows NAME;..., --json "
			    "FILE");
	}
}

static bool is_wanted(const struct bench *b, const struct row *row)
{
	size_t len = strlen(row->name);

	if (row->flows > b->most_flows || path_of(row) < 0)
		return false;
	for (const char *at = b->only; at && *at; at += strcspn(at, ";"), at += *at == ';')
		if (strcspn(at, ";") == len && !strncmp(at, row->name, len))
			return true;
	return !b->only;
}

/* DPDK's memory without its own huge pages: with the kernel's transparent ones instead. */
static int advise(const struct rte_memseg_list *list, void *argument)
{
	(void)argument;
	madvise(list->base_va, list->len, MADV_HUGEPAGE);
	return 0;
}

static void measure_cycle(struct bench *b)
{
	uint64_t cycles = rte_rdtsc_precise();
	struct timespec begin, end, pause = {.tv_nsec = 100 * 1000 * 1000};

	clock_gettime(CLOCK_MONOTONIC, &begin);
	nanosleep(&pause, NULL);
	cycles = rte_rdtsc_precise() - cycles;
	clock_gettime(CLOCK_MONOTONIC, &end);
	b->ns_of_cycle =
	    ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)cycles;
}

int main(int argc, char **argv)
{
	static struct options options = {.memory = MEMORY, .no_huge = true, .workers = 1};
	static struct bench b;
	struct stands told;
	struct reason why;

	parse(&b, argc, argv);
	if (ports_environment(&options, &why))
		die(why.text);
	rte_memseg_list_walk(advise, NULL);
	if (!flow_packets_new(&b.packets, RING))
		die("no memory for packets");
	measure_cycle(&b);
	make_flows(&b);
	for (int i = 0; i < ROWS; i++)
		if (is_wanted(&b, &rows[i]))
			stand_ready(&b, &rows[i]);
	if (!b.count)
		die("--rows names none; allowed: names of the table, with ; in between");
	measure(&b);
	told = (struct stands){b.seed, b.runs, b.ns_of_cycle, processor_cycle(), b.count, b.stands};
	stands_print(&told);
	if (b.json && !stands_write(&told, b.json))
		die("can't write the JSON file");
	rte_eal_cleanup();
	return 0;
}
