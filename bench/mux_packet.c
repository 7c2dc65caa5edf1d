/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per packet of the mux's packet path in process: classify + hash + lookup + encapsulate, by the very
 * functions that a worker calls (mux/burst.h), one thread, no ports.
 *
 *	mux_packet [--seed N] [--runs N] [--flows N] [--backends N] [--json FILE]
 *
 * Packets are 64 bytes long, TCP ACKs of distinct flows in random order. They are written into a ring of 2,048 buffers
 * first, as a NIC would, and only then steered in bursts of 32, so that writing them is not measured, and they are in
 * the cache that a NIC's DMA would leave them in at best. Each row is measured `runs` times over one pass of all flows;
 * the median counts, and the fastest and slowest run stand beside it; time is the thread's own, so that whatever else
 * the machine does counts little. The stages are measured apart by time stamps around each stage of each burst, whose
 * own cost is measured and taken off; what counts is the median burst.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "backend.h"
#include "burst.h"
#include "image.h"
#include "tables.h"

enum {
	RING = 2048,
	FRAME = 64,
	HEADROOM = 128,
	BUFFER = 2432, /* as far apart as mbufs with 2 KB of room */
	STAGES = 4,
	RUNS_MAX = 101,
	ROWS = 5,
};

static const char *const stage_names[STAGES] = {"classify", "hash", "rows", "encap"};
static void (*const stages[STAGES])(struct burst *, uint32_t, uint32_t) = {burst_classify, burst_hash, burst_rows,
									   burst_encap};

struct flow_key {
	uint32_t source;
	uint16_t port;
};

struct bench {
	uint64_t seed;
	unsigned runs;
	uint32_t flows;
	uint16_t backends;
	const char *json;
	struct flow_key *keys;
	struct rte_mbuf *mbufs;
	uint8_t *buffers;
	struct burst burst;
};

struct result {
	const char *hash;
	const char *encap;
	uint32_t buckets;
	double median, fastest, slowest; /* ns per packet */
	double stage[STAGES];
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

/* Distinct by construction: the flow's number is spread over source address and port by a bijection of 32 bits. */
static void make_flows(struct bench *b)
{
	struct chance chance = {b->seed};

	b->keys = calloc(b->flows, sizeof(*b->keys));
	if (!b->keys)
		die("no memory for flows");
	for (uint32_t i = 0; i < b->flows; i++) {
		b->keys[i].source = 0x0b000000U | (i * 2654435761U & 0x00ffffff);
		b->keys[i].port = (uint16_t)(1024 + (i >> 24));
	}
	for (uint32_t i = b->flows; i > 1; i--) {
		uint32_t other = chance_below(&chance, i);
		struct flow_key key = b->keys[i - 1];

		b->keys[i - 1] = b->keys[other];
		b->keys[other] = key;
	}
}

static uint16_t header_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += fl_load_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static void write_packet(struct bench *b, uint32_t slot, const struct flow_key *key)
{
	static const uint8_t head[FRAME] = {2,    0, 0, 0,  0, 1, 2,  0, 0,  0, 0, 2, 8, 0, /* Ethernet */
					    0x45, 0, 0, 50, 0, 0, 64, 0, 64, 6, 0, 0, 0, 0, 0, 0,    10,
					    99,   0, 1, 0,  0, 0, 80, 0, 0,  0, 0, 0, 0, 0, 0, 0x50, 0x10};
	struct rte_mbuf *mbuf = &b->mbufs[slot];
	uint8_t *data = b->buffers + (size_t)slot * BUFFER + HEADROOM;

	memcpy(data, head, FRAME);
	fl_store_be32(data + 26, key->source);
	fl_store_be16(data + 34, key->port);
	fl_store_be16(data + 24, header_checksum(data + 14));
	mbuf->buf_addr = data - HEADROOM;
	mbuf->buf_len = BUFFER;
	mbuf->data_off = HEADROOM;
	mbuf->data_len = FRAME;
	mbuf->pkt_len = FRAME;
	mbuf->nb_segs = 1;
}

static void take_burst(struct bench *b, uint32_t first, uint32_t count)
{
	b->burst.count = count;
	for (uint32_t i = 0; i < count; i++)
		b->burst.mbufs[i] = &b->mbufs[first + i];
}

static void check_burst(const struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count; i++)
		if (burst->packets[i].verdict != VERDICT_SERVICE)
			die(verdict_name(burst->packets[i].verdict));
}

/* One pass over all flows; ns per packet. */
static double run_all(struct bench *b)
{
	double spent = 0;

	for (uint32_t done = 0; done < b->flows; done += RING) {
		uint32_t n = b->flows - done < RING ? b->flows - done : RING;
		double start;

		for (uint32_t i = 0; i < n; i++)
			write_packet(b, i, &b->keys[done + i]);
		start = now_ns();
		for (uint32_t i = 0; i < n; i += BURST_MAX) {
			take_burst(b, i, n - i < BURST_MAX ? n - i : BURST_MAX);
			burst_steer(&b->burst);
		}
		spent += now_ns() - start;
		check_burst(&b->burst);
	}
	return spent / b->flows;
}

static double wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The cost of a pair of time stamps in cycles, at its least. */
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

/* One pass with time stamps around each stage: cycles of each full burst by stage, samples[stage][burst]. */
static uint32_t sample_stages(struct bench *b, double *samples[STAGES])
{
	uint32_t bursts = 0;

	for (uint32_t done = 0; done + RING <= b->flows; done += RING) {
		for (uint32_t i = 0; i < RING; i++)
			write_packet(b, i, &b->keys[done + i]);
		for (uint32_t i = 0; i < RING; i += BURST_MAX, bursts++) {
			take_burst(b, i, BURST_MAX);
			for (int s = 0; s < STAGES; s++) {
				uint64_t start = rte_rdtsc_precise();

				for (uint32_t g = 0; g < BURST_MAX; g += BURST_GROUP)
					stages[s](&b->burst, g, g + BURST_GROUP);
				samples[s][bursts] = (double)(rte_rdtsc_precise() - start);
			}
		}
	}
	return bursts;
}

/* ns per packet by stage, of the median burst. */
static void run_stages(struct bench *b, double out[STAGES])
{
	double *samples[STAGES], stamp = stamp_cost(), start = wall_ns(), ns;
	uint64_t cycles = rte_rdtsc_precise();
	uint32_t bursts;

	for (int s = 0; s < STAGES; s++) {
		samples[s] = calloc(b->flows / BURST_MAX + 1, sizeof(double));
		if (!samples[s])
			die("no memory for samples");
	}
	bursts = sample_stages(b, samples);
	ns = (wall_ns() - start) / (double)(rte_rdtsc_precise() - cycles);
	for (int s = 0; s < STAGES; s++) {
		qsort(samples[s], bursts, sizeof(double), compare_doubles);
		out[s] = (samples[s][bursts / 2] - stamp) * ns / BURST_MAX;
		free(samples[s]);
	}
}

static struct result measure(struct bench *b, enum fl_hash_kind hash, uint32_t buckets, enum encap_kind encap)
{
	struct next_hop hop = {.resolved = true,
			       .mtu = 9000,
			       .source_mac = {2, 0, 0, 0, 0, 1},
			       .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	struct next_hops hops = {.context = &hop, .lookup = image_hop};
	struct tables *tables = tables_new(1, &hops);
	struct service_config config = image_config(1, "10.99.0.1", buckets);
	struct delta snapshot = image_snapshot(1, 1, buckets, b->backends);
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct result r = {.hash = hash == FL_HASH_CRC32 ? "crc32" : "siphash",
			   .encap = encap == ENCAP_IPIP ? "ipip" : "gue",
			   .buckets = buckets};
	double times[RUNS_MAX];
	struct service *service;
	struct why why;

	config.hash = hash;
	config.encap = encap;
	if (!tables || tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, &why))
		die("no tables");
	b->burst.lookup = tables_lookup(tables);
	b->burst.mac = mac_word(mac);
	b->burst.now = 1700000000;
	run_all(b);
	for (unsigned i = 0; i < b->runs; i++)
		times[i] = run_all(b);
	qsort(times, b->runs, sizeof(times[0]), compare_doubles);
	r.median = times[b->runs / 2];
	r.fastest = times[0];
	r.slowest = times[b->runs - 1];
	run_stages(b, r.stage);
	image_free(&snapshot);
	tables_free(tables);
	return r;
}

/* "model name" of /proc/cpuinfo without its quotes; figures mean nothing without it. */
static void cpu_model(char *out, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(out, size, "unknown");
	while (info && fgets(line, sizeof(line), info)) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(value + 2, "\n\"\\"), value + 2);
		break;
	}
	if (info)
		fclose(info);
}

static void print_json(const struct bench *b, const struct result *results, int count)
{
	FILE *out = fopen(b->json, "w");
	char cpu[128];

	if (!out)
		die("can't write the JSON file");
	cpu_model(cpu, sizeof(cpu));
	fprintf(out,
		"{\"benchmark\": \"mux_packet\", \"cpu\": \"%s\",\n \"seed\": %lu, \"runs\": %u, \"flows\": %u, "
		"\"backends\": %u,\n",
		cpu, (unsigned long)b->seed, b->runs, b->flows, b->backends);
	fprintf(out, " \"frame_bytes\": %d, \"unit\": \"ns per packet\", \"results\": [\n", FRAME);
	for (int i = 0; i < count; i++) {
		const struct result *r = &results[i];

		fprintf(out,
			"  {\"hash\": \"%s\", \"encap\": \"%s\", \"buckets\": %u, \"median\": %.2f, \"fastest\": %.2f, "
			"\"slowest\": %.2f",
			r->hash, r->encap, r->buckets, r->median, r->fastest, r->slowest);
		for (int s = 0; s < STAGES; s++)
			fprintf(out, ", \"%s\": %.2f", stage_names[s], r->stage[s]);
		fprintf(out, "}%s\n", i + 1 < count ? "," : "");
	}
	fputs("]}\n", out);
	fclose(out);
}

static void parse(struct bench *b, int argc, char **argv)
{
	*b = (struct bench){.seed = 1, .runs = 9, .flows = 1000000, .backends = 256};
	for (int i = 1; i < argc; i += 2) {
		unsigned long number = i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : 0;

		if (i + 1 < argc && !strcmp(argv[i], "--seed") && number)
			b->seed = number;
		else if (i + 1 < argc && !strcmp(argv[i], "--runs") && number && number <= RUNS_MAX)
			b->runs = (unsigned)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--flows") && number >= RING && number <= 1U << 24)
			b->flows = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--backends") && number && number <= FL_BACKEND_MAX)
			b->backends = (uint16_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--json"))
			b->json = argv[i + 1];
		else
			die("allowed: --seed N, --runs 1..101, --flows 2048..16777216, --backends 1..65535, --json "
			    "FILE");
	}
}

int main(int argc, char **argv)
{
	static const struct {
		enum fl_hash_kind hash;
		uint32_t buckets;
		enum encap_kind encap;
	} rows[ROWS] = {{FL_HASH_SIPHASH, 65536, ENCAP_GUE},
			{FL_HASH_SIPHASH, 1048576, ENCAP_GUE},
			{FL_HASH_CRC32, 65536, ENCAP_GUE},
			{FL_HASH_CRC32, 1048576, ENCAP_GUE},
			{FL_HASH_SIPHASH, 65536, ENCAP_IPIP}};
	static struct bench b;
	struct result results[ROWS];

	parse(&b, argc, argv);
	b.mbufs = aligned_alloc(64, RING * sizeof(*b.mbufs));
	b.buffers = aligned_alloc(64, (size_t)RING * BUFFER);
	if (!b.mbufs || !b.buffers)
		die("no memory for packets");
	memset(b.mbufs, 0, RING * sizeof(*b.mbufs));
	memset(b.buffers, 0, (size_t)RING * BUFFER);
	make_flows(&b);
	printf("ns per packet, %d bytes, %u flows, %u backends, median of %u runs (fastest .. slowest), seed %lu\n\n",
	       FRAME, b.flows, b.backends, b.runs, (unsigned long)b.seed);
	printf("hash     encap  buckets   median            Mpps   classify  hash  rows  encap\n");
	for (int i = 0; i < ROWS; i++) {
		struct result *r = &results[i];

		*r = measure(&b, rows[i].hash, rows[i].buckets, rows[i].encap);
		printf("%-8s %-5s %8u %6.1f (%.1f..%.1f) %6.1f   %7.1f %6.1f %5.1f %6.1f\n", r->hash, r->encap,
		       r->buckets, r->median, r->fastest, r->slowest, 1000 / r->median, r->stage[0], r->stage[1],
		       r->stage[2], r->stage[3]);
	}
	if (b.json)
		print_json(&b, results, ROWS);
	return 0;
}
