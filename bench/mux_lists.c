/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per packet of lanes that write lists of former owners (lists.h), beside the mux's own lanes: buckets without
 * lists, all with one owner, half of them with one to three, all with none to six at random; of 256 to a million
 * different lists.
 *
 *	mux_lists [--seed N] [--runs N] [--buckets N] [--flows N] [--worlds N] [--json FILE]
 *
 * It measures as mux_packet does: the same packets, bursts and turns. Before, lanes are compared with the general path in
 * so many random worlds. All lists and rings are ready at once, so that each row finds the caches as others left them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_memory.h>

#include "config/options.h"
#include "flow_packet.h"
#include "host/port.h"
#include "image.h"
#include "lists.h"
#include "packet/lanes.h"
#include "ring/backend.h"
#include "ring/huge.h"
#include "service/tables.h"
#include "stand.h"
#include "steering/steering.h"

enum {
	RING = 2048,
	PASS = 1 << 18, /* packets of a row in one run */
	NOW = 1700000000,
	MEMORY = 256, /* MB */
	KINDS = 4,
	FEW = 4096, /* lists */
	PLAIN_ROWS = 3,
	SHARES = 3,
	ROWS = PLAIN_ROWS + SHARES * KINDS,
	BASE_BEFORE = 0, /* rows that others are compared with */
	BASE_LISTS = 2,
};

static const uint32_t kinds[KINDS] = {256, 1000, 1 << 16, 1 << 20};
static const char *const kind_names[KINDS] = {"256", "1 K", "64 Ki", "1 Mi"};

struct share {
	const char *name;
	uint32_t listed; /* of this many buckets one has a list */
	uint32_t least, most;
};

static const struct share shares[SHARES] = {
    {"one owner", 1, 1, 1}, {"half none, half 1 to 3", 2, 1, 3}, {"0 to 6", 1, 0, 6}};

struct lists_row {
	char name[64];
	bool is_before; /* by the mux's own lanes */
	bool is_moved;
	const struct share *share;
	uint32_t kinds;
	struct lists lists;
	struct tables *tables;
	struct steering_states steering;
	uint32_t at;      /* the next flow */
	double addresses; /* of a packet */
	double times[STAND_RUNS_MAX], sorted[STAND_RUNS_MAX];
	double to_before, to_plain;
};

struct bench {
	uint64_t seed;
	uint32_t runs, buckets, flows_count, worlds;
	const char *json;
	uint32_t *flows;
	struct flow_packets packets;
	struct burst burst;
	struct lists_row rows[ROWS];
};

void lists_die(const char *text)
{
	fprintf(stderr, "mux_lists: %s\n", text);
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

/* The numbers below n, in random order. */
static void make_flows(struct bench *b)
{
	struct chance chance = {b->seed};

	b->flows = calloc(b->flows_count, sizeof(*b->flows));
	if (!b->flows)
		lists_die("no memory for flows");
	for (uint32_t i = 0; i < b->flows_count; i++)
		b->flows[i] = i;
	for (uint32_t i = b->flows_count; i > 1; i--) {
		uint32_t other = chance_below(&chance, i), flow = b->flows[i - 1];

		b->flows[i - 1] = b->flows[other];
		b->flows[other] = flow;
	}
}

static uint32_t random_address(struct chance *chance)
{
	return rte_cpu_to_be_32(0x0a010000 + 21 + chance_below(chance, STAND_BACKENDS));
}

/* Gives buckets lists of the row's kinds and lengths. */
static void give_lists(struct bench *b, struct lists_row *row, struct ring *ring)
{
	struct chance chance = {b->seed + row->kinds};
	struct list *list = huge_alloc(((size_t)row->kinds + 1) * sizeof(*list));
	uint8_t *counts = calloc(row->kinds + 1, 1);
	uint64_t total = 0;

	if (!list || !counts)
		lists_die("no memory for lists");
	for (uint32_t i = 1; row->share && i <= row->kinds; i++) {
		counts[i] =
		    (uint8_t)(row->share->least + chance_below(&chance, row->share->most - row->share->least + 1));
		for (uint32_t n = 0; n < counts[i]; n++)
			list[i].address[FL_LIST_MAX - 1 - n] = random_address(&chance);
	}
	for (uint32_t i = 0; i < b->buckets; i++) {
		uint32_t at = 0;

		if (row->share && !chance_below(&chance, row->share->listed))
			at = 1 + chance_below(&chance, row->kinds);
		at = counts[at] ? at : 0;
		ring->rows[i] = lists_row(fl_row_current(ring->rows[i]), counts[at], at);
		total += counts[at];
	}
	row->lists = (struct lists){.list = list, .are_few = row->kinds <= FEW};
	row->addresses = (double)total / b->buckets;
	free(counts);
}

static void row_ready(struct bench *b, struct lists_row *row)
{
	static struct next_hop hop = {.resolved = true,
				      .mtu = 9000,
				      .source_mac = {2, 0, 0, 0, 0, 1},
				      .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};
	static const struct options options;
	struct service_config config = image_config(1, "10.99.0.0", b->buckets);
	struct delta snapshot = image_snapshot(1, 1, b->buckets, STAND_BACKENDS);
	struct service *service;
	struct reason why;

	for (uint32_t i = 0; row->is_moved && i < b->buckets; i++)
		image_was(&snapshot, i, (uint16_t)(1 + (i + 7) % STAND_BACKENDS), NOW - 10);
	row->tables = tables_new(1, &hops);
	if (!row->tables)
		lists_die("no memory for tables");
	tables_set_options(row->tables, &options);
	if (steering_start(&row->steering, 0, &options, &why) || tables_add(row->tables, &config, &service, &why) ||
	    tables_load(row->tables, service, &snapshot, &why))
		lists_die(why.text);
	image_free(&snapshot);
	if (row->is_before)
		return;
	service->moved_seconds = NOW + 1;
	give_lists(b, row, service_ring(service));
}

/* The buffers' next packets of a row. */
static void write_ring(struct bench *b, struct lists_row *row)
{
	for (uint32_t i = 0; i < RING; i++) {
		flow_packet_write(&b->packets, i, b->flows[row->at], 1, false);
		row->at = row->at + 1 < b->flows_count ? row->at + 1 : 0;
	}
}

/* Steers some packets of a row; returns ns each, of the median ring: other load on the machine disturbs single ones. */
static double run(struct bench *b, struct lists_row *row)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	const uint64_t alone = lists_written_alone;
	double spent[PASS / RING];

	lists = row->lists;
	b->burst.lookup = tables_lookup(row->tables);
	b->burst.steering = &row->steering;
	b->burst.mac = mac_word(mac);
	b->burst.now = NOW;
	b->burst.is_brief = true;
	b->burst.count = BURST_MAX;
	for (uint32_t done = 0; done < PASS / RING; done++) {
		double start;

		write_ring(b, row);
		start = now_ns();
		for (uint32_t i = 0; i < RING; i += BURST_MAX) {
			for (uint32_t j = 0; j < BURST_MAX; j++)
				b->burst.mbufs[j] = &b->packets.mbufs[i + j];
			if (row->is_before)
				burst_steer_by(&b->burst, BURST_LANES);
			else
				lists_steer_by(&b->burst, BURST_LANES);
		}
		spent[done] = now_ns() - start;
		if (!b->burst.one)
			lists_die("not all packets stayed in lanes");
	}
	if (lists_written_alone != alone)
		lists_die("packets left their lanes");
	qsort(spent, PASS / RING, sizeof(spent[0]), compare_doubles);
	return spent[PASS / RING / 2] / RING;
}

static double median_ratio(const struct bench *b, const struct lists_row *row, const struct lists_row *to)
{
	double ratios[STAND_RUNS_MAX];

	for (uint32_t i = 0; i < b->runs; i++)
		ratios[i] = row->times[i] / to->times[i];
	qsort(ratios, b->runs, sizeof(ratios[0]), compare_doubles);
	return ratios[b->runs / 2];
}

static void measure(struct bench *b)
{
	for (uint32_t at = 0; at < ROWS; at++)
		run(b, &b->rows[at]);
	for (uint32_t i = 0; i < b->runs; i++)
		for (uint32_t at = 0; at < ROWS; at++) {
			struct lists_row *row = &b->rows[(at + i) % ROWS];

			row->times[i] = run(b, row);
		}
	for (uint32_t at = 0; at < ROWS; at++) {
		struct lists_row *row = &b->rows[at];

		row->to_before = median_ratio(b, row, &b->rows[BASE_BEFORE]);
		row->to_plain = median_ratio(b, row, &b->rows[BASE_LISTS]);
		memcpy(row->sorted, row->times, sizeof(row->sorted));
		qsort(row->sorted, b->runs, sizeof(row->sorted[0]), compare_doubles);
	}
}

static void name_rows(struct bench *b)
{
	struct lists_row *row = b->rows;

	*row++ = (struct lists_row){.name = "version 1", .is_before = true};
	*row++ = (struct lists_row){.name = "version 1, all moved", .is_before = true, .is_moved = true};
	*row++ = (struct lists_row){.name = "no lists"};
	for (int share = 0; share < SHARES; share++)
		for (int kind = 0; kind < KINDS; kind++, row++) {
			*row = (struct lists_row){.share = &shares[share], .kinds = kinds[kind]};
			snprintf(row->name, sizeof(row->name), "%s; %s lists", shares[share].name, kind_names[kind]);
		}
}

static void print(const struct bench *b)
{
	printf("ns per packet, %d bytes, %u buckets, %u flows, median of %u runs (fastest .. slowest), seed %lu\n\n",
	       STAND_FRAME, b->buckets, b->flows_count, b->runs, (unsigned long)b->seed);
	printf("%-38s %9s  median                to version 1  to no lists  of the fastest\n", "", "addresses");
	for (int i = 0; i < ROWS; i++) {
		const struct lists_row *row = &b->rows[i];

		printf("%-38s %9.2f %6.2f (%6.2f..%6.2f) %9.3f %12.3f %13.3f\n", row->name, row->addresses,
		       row->sorted[b->runs / 2], row->sorted[0], row->sorted[b->runs - 1], row->to_before,
		       row->to_plain, row->sorted[0] / b->rows[BASE_LISTS].sorted[0]);
	}
}

static bool write_json(const struct bench *b)
{
	FILE *out = fopen(b->json, "w");
	char cpu[128];

	if (!out)
		return false;
	stand_cpu(cpu, sizeof(cpu));
	fprintf(out, "{\"benchmark\": \"mux_lists\", \"cpu\": \"%s\", \"seed\": %lu, \"runs\": %u,\n", cpu,
		(unsigned long)b->seed, b->runs);
	fprintf(out, " \"buckets\": %u, \"flows\": %u, \"unit\": \"ns per packet\", \"results\": [", b->buckets,
		b->flows_count);
	for (int i = 0; i < ROWS; i++) {
		const struct lists_row *row = &b->rows[i];

		fprintf(
		    out,
		    "%s\n  {\"name\": \"%s\", \"lists\": %u, \"addresses\": %.3f, \"median\": %.3f, \"fastest\": %.3f, "
		    "\"slowest\": %.3f,\n   \"to_version_1\": %.4f, \"to_no_lists\": %.4f}",
		    i ? "," : "", row->name, row->kinds, row->addresses, row->sorted[b->runs / 2], row->sorted[0],
		    row->sorted[b->runs - 1], row->to_before, row->to_plain);
	}
	fputs("]}\n", out);
	return !fclose(out);
}

static void parse(struct bench *b, int argc, char **argv)
{
	*b = (struct bench){.seed = 1, .runs = 21, .buckets = 1 << 20, .flows_count = 1000000, .worlds = 200};
	for (int i = 1; i < argc; i += 2) {
		unsigned long number = i + 1 < argc ? strtoul(argv[i + 1], NULL, 10) : 0;

		if (i + 1 < argc && !strcmp(argv[i], "--seed") && number)
			b->seed = number;
		else if (i + 1 < argc && !strcmp(argv[i], "--runs") && number && number <= STAND_RUNS_MAX)
			b->runs = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--buckets") && number >= 1024 && number <= 1 << 23 &&
			 !(number & (number - 1)))
			b->buckets = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--flows") && number >= RING && number <= 1 << 24)
			b->flows_count = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--worlds") && number <= 1 << 20)
			b->worlds = (uint32_t)number;
		else if (i + 1 < argc && !strcmp(argv[i], "--json"))
			b->json = argv[i + 1];
		else
			lists_die("allowed: --seed N, --runs 1..101, --buckets 1024..8388608 (a power of two), --flows "
				  "2048..16777216, --worlds 0..1048576, --json FILE");
	}
}

/* DPDK's memory without its own huge pages: with the kernel's transparent ones instead. */
static int advise(const struct rte_memseg_list *list, void *argument)
{
	(void)argument;
	madvise(list->base_va, list->len, MADV_HUGEPAGE);
	return 0;
}

int main(int argc, char **argv)
{
	static struct options options = {.memory = MEMORY, .no_huge = true, .workers = 1};
	static struct bench b;
	struct reason why;

	parse(&b, argc, argv);
	if (!lanes_has_cpu())
		lists_die("this machine has no AVX-512");
	if (ports_environment(&options, &why))
		lists_die(why.text);
	rte_memseg_list_walk(advise, NULL);
	lists_check(b.seed, b.worlds);
	printf("lanes and the general path ended alike in %u random worlds\n", b.worlds);
	if (!flow_packets_new(&b.packets, RING))
		lists_die("no memory for packets");
	make_flows(&b);
	name_rows(&b);
	for (int i = 0; i < ROWS; i++)
		row_ready(&b, &b.rows[i]);
	measure(&b);
	print(&b);
	if (b.json && !write_json(&b))
		lists_die("can't write the JSON file");
	rte_eal_cleanup();
	return 0;
}
