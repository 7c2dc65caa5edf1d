/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per lookup of a known connection's code and owner, and bytes, of Othello's arrays beside tables of
 * digests and rte_hash (lookup.h), in process.
 *
 *	othello_lookup [--seed N] [--runs N] [--passes N] [--connections N,...] [--json FILE]
 *
 * Connections are drawn by SplitMix64, their flow hashes given: no row hashes packets. Their codes are drawn, too.
 * Every lookup of a built table is verified first; a wrong owner is a false hit, which only digests of 16 bits have.
 * Then all rows take turns: in each run each row has a pass of 4 M lookups in bursts of 32, after a quarter of it to
 * warm the caches up, so that a disturbance affects all of them. Time is the threads' own. The result is the median run
 * with the fastest beside it, and a row's ratio to `othello` the median of each run's ratios. Two threads look up in
 * the same table at once, each through all connections from a place of its own.
 */
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_hash.h>
#include <rte_memory.h>

#include "config/options.h"
#include "host/port.h"
#include "lookup.h"
#include "stand.h"

enum { RUNS_MAX = 101, SIZES_MAX = 8, THREADS_MAX = 2, BUCKETS = 4096, MEMORY = 3072, HUGE_PAGE = 2 << 20 };

static const struct lookup *const lookups[] = {
    &lookup_othello,        &lookup_othello_pair, &lookup_othello_crc32,  &lookup_othello_single, &lookup_digest,
    &lookup_digest_fetched, &lookup_staged,       &lookup_staged_fetched, &lookup_rte_hash,
};
enum { LOOKUPS = sizeof(lookups) / sizeof(lookups[0]) };

struct bench {
	uint64_t seed;
	uint32_t runs, passes;
	uint32_t sizes[SIZES_MAX], sizes_count;
	const char *json;
	FILE *out;
	bool begun; /* a result is in the file */
};

/* A row and its times by run and number of threads. */
struct stand_row {
	const struct lookup *lookup;
	void *table;
	uint32_t wrong;
	double ns[THREADS_MAX][RUNS_MAX];
};

struct work {
	const struct lookup *lookup;
	const void *table;
	const uint64_t *hashes;
	uint32_t count, start, passes;
	pthread_barrier_t *barrier; /* NULL: alone */
	double ns;
	uint64_t sum; /* of owners, so that no lookup is left out */
};

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "othello_lookup: %s\n", text);
	exit(1);
}

void *lookup_memory(size_t bytes)
{
	size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 64, rounded = (bytes + align - 1) / align * align;
	void *memory = aligned_alloc(align, rounded);

	if (!memory)
		die("no memory");
	if (align == HUGE_PAGE)
		madvise(memory, rounded, MADV_HUGEPAGE);
	return memset(memory, 0, rounded);
}

/* rte_hash with the flow hash as its key, which is shorter than a 5-tuple, and the owner as its value. */
static void *rte_build(const struct lookup_keys *keys)
{
	struct rte_hash_parameters parameters = {
	    .name = "lookup", .entries = keys->count + keys->count / 4 + 64, .key_len = sizeof(uint64_t)};
	struct rte_hash *hash = rte_hash_create(&parameters);

	if (!hash)
		die("no memory for rte_hash");
	for (uint32_t i = 0; i < keys->count; i++)
		if (rte_hash_add_key_with_hash_data(hash, &keys->hashes[i], (hash_sig_t)keys->hashes[i],
						    (void *)(uintptr_t)lookup_ring_owner(keys, i)))
			die("rte_hash is full");
	return hash;
}

static void rte_burst(const void *table, const uint64_t *hashes, uint16_t *owners)
{
	const void *keys[LOOKUP_BURST];
	hash_sig_t signatures[LOOKUP_BURST];
	void *data[LOOKUP_BURST];
	uint64_t hits = 0;

	for (int i = 0; i < LOOKUP_BURST; i++) {
		keys[i] = &hashes[i];
		signatures[i] = (hash_sig_t)hashes[i];
	}
	rte_hash_lookup_with_hash_bulk_data(table, keys, signatures, LOOKUP_BURST, &hits, data);
	for (int i = 0; i < LOOKUP_BURST; i++)
		owners[i] = hits >> i & 1 ? (uint16_t)(uintptr_t)data[i] : 0;
}

/* What DPDK allocates for it: lines of 64 bytes for 8 entries, keys with a pointer, and free places. */
static size_t rte_bytes(const void *table)
{
	size_t entries = (size_t)rte_hash_max_key_id(table) + 1, buckets = 1;

	while (buckets * 8 < entries)
		buckets *= 2;
	return buckets * 64 + entries * (16 + 4);
}

static void rte_drop(void *table)
{
	rte_hash_free(table);
}

const struct lookup lookup_rte_hash = {"rte_hash, bulk",  true,      rte_build, rte_burst,
				       lookup_ring_owner, rte_bytes, rte_drop};

/* One pass behind a warm-up; the thread's own time. */
static void *pass(void *argument)
{
	struct work *w = argument;
	uint32_t bursts = w->count / LOOKUP_BURST, at = w->start / LOOKUP_BURST;
	uint32_t warm = w->passes / LOOKUP_BURST / 4, all = warm + w->passes / LOOKUP_BURST;
	struct timespec begin = {0}, end;
	uint16_t owners[LOOKUP_BURST];

	for (uint32_t i = 0; i < all; i++) {
		if (i == warm) {
			if (w->barrier)
				pthread_barrier_wait(w->barrier);
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		}
		w->lookup->burst(w->table, w->hashes + (size_t)at * LOOKUP_BURST, owners);
		for (int k = 0; k < LOOKUP_BURST; k++)
			w->sum += owners[k];
		at = at + 1 == bursts ? 0 : at + 1;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	w->ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		(double)((all - warm) * LOOKUP_BURST);
	return NULL;
}

/* Nanoseconds per lookup of one thread of that many. */
static double measure(const struct bench *b, const struct stand_row *row, const struct lookup_keys *keys, int threads)
{
	struct work works[THREADS_MAX];
	pthread_t others[THREADS_MAX];
	pthread_barrier_t barrier;
	double sum = 0;

	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		works[i] = (struct work){
		    .lookup = row->lookup,
		    .table = row->table,
		    .hashes = keys->hashes,
		    .count = keys->count,
		    .start = (uint32_t)((uint64_t)keys->count * (unsigned)i / (unsigned)threads),
		    .passes = b->passes,
		    .barrier = threads > 1 ? &barrier : NULL,
		};
	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, pass, &works[i]))
			die("no thread");
	pass(&works[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (int i = 0; i < threads; i++) {
		sum += works[i].ns;
		if (!works[i].sum)
			die("no owner was found");
	}
	return sum / threads;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, uint32_t count, double *fastest)
{
	double sorted[RUNS_MAX];

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), ascending);
	if (fastest)
		*fastest = sorted[0];
	return sorted[count / 2];
}

static void report(struct bench *b, const struct stand_row *rows, const struct stand_row *row, uint32_t connections)
{
	double fastest[THREADS_MAX], middle[THREADS_MAX], ratios[RUNS_MAX], ratio;
	size_t bytes = row->lookup->bytes(row->table);

	for (int t = 0; t < THREADS_MAX; t++)
		middle[t] = median(row->ns[t], b->runs, &fastest[t]);
	for (uint32_t run = 0; run < b->runs; run++)
		ratios[run] = row->ns[0][run] / rows[0].ns[0][run];
	ratio = median(ratios, b->runs, NULL);
	printf("%-32s %10u %6.2f (%6.2f) %6.2f %8.1f %8.1f (%6.1f) %8.2f %6u\n", row->lookup->name, connections,
	       middle[0], fastest[0], ratio, 1000 / middle[0], 2000 / middle[1], 2000 / fastest[1], (double)bytes / 1e6,
	       row->wrong);
	if (!b->out)
		return;
	fprintf(b->out,
		"%s\n  {\"name\": \"%s\", \"connections\": %u, \"ns\": %.3f, \"fastest\": %.3f, \"ratio\": %.3f, "
		"\"threads2_ns\": %.3f, \"threads2_fastest\": %.3f, \"bytes\": %zu, \"wrong\": %u}",
		b->begun ? "," : "", row->lookup->name, connections, middle[0], fastest[0], ratio, middle[1],
		fastest[1], bytes, row->wrong);
	b->begun = true;
}

/* How many connections a table leads to another owner. */
static uint32_t verify(const struct stand_row *row, const struct lookup_keys *keys)
{
	uint16_t owners[LOOKUP_BURST];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i + LOOKUP_BURST <= keys->count; i += LOOKUP_BURST) {
		row->lookup->burst(row->table, keys->hashes + i, owners);
		for (uint32_t k = 0; k < LOOKUP_BURST; k++)
			wrong += owners[k] != row->lookup->right(keys, i + k);
	}
	return wrong;
}

/* A permutation of 32 bits (MurmurHash3's finalizer), so that no two connections have the same CRC. */
static uint32_t permute(uint32_t v)
{
	v = (v ^ v >> 16) * 0x85ebca6b;
	v = (v ^ v >> 13) * 0xc2b2ae35;
	return v ^ v >> 16;
}

static void size(struct bench *b, uint32_t connections)
{
	static struct stand_row rows[LOOKUPS];
	uint64_t *hashes = lookup_memory(connections * sizeof(*hashes));
	uint16_t *coded = lookup_memory(connections * sizeof(*coded));
	uint16_t *pools = lookup_memory(sizeof(*pools) * LOOKUP_VERSIONS * BUCKETS);
	fl_row *ring = lookup_memory(BUCKETS * sizeof(*ring));
	uint64_t first = 1 + ((b->seed - 1) << 32); /* no other seed draws by the same numbers */
	struct lookup_keys keys = {b->seed, connections, BUCKETS, hashes, coded, ring, pools};

	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < connections; i++) {
		hashes[i] = lookup_draw(first + i) << 32 | permute(i + 1 + (uint32_t)(first >> 32) * 0x9e3779b1);
		coded[i] = (uint16_t)lookup_draw(~first - i);
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		ring[i] = 1 + i % LOOKUP_BACKENDS;
	for (uint32_t i = 0; i < LOOKUP_VERSIONS * BUCKETS; i++)
		pools[i] = (uint16_t)(1 + lookup_draw(i) % LOOKUP_BACKENDS);
	for (int i = 0; i < LOOKUPS; i++) {
		rows[i].lookup = lookups[i];
		rows[i].table = lookups[i]->build(&keys);
		rows[i].wrong = verify(&rows[i], &keys);
		if (rows[i].wrong && lookups[i]->right == lookup_ring_owner)
			die("a known connection has another owner");
	}
	for (uint32_t run = 0; run < b->runs; run++)
		for (int threads = 1; threads <= THREADS_MAX; threads++)
			for (int i = 0; i < LOOKUPS; i++)
				rows[i].ns[threads - 1][run] = measure(b, &rows[i], &keys, threads);
	for (int i = 0; i < LOOKUPS; i++) {
		report(b, rows, &rows[i], connections);
		rows[i].lookup->drop(rows[i].table);
	}
	free(hashes);
	free(coded);
	free(pools);
	free(ring);
}

/* DPDK's memory without its own huge pages: with the kernel's transparent ones instead. */
static int advise(const struct rte_memseg_list *list, void *argument)
{
	(void)argument;
	madvise(list->base_va, list->len, MADV_HUGEPAGE);
	return 0;
}

static uint32_t number(const char *name, const char *text, unsigned long least, unsigned long most, char **end)
{
	unsigned long value = strtoul(text, end, 10);

	if (*end == text || (**end && **end != ',') || value < least || value > most) {
		fprintf(stderr, "othello_lookup: --%s: '%s' is not allowed; allowed: %lu..%lu\n", name, text, least,
			most);
		exit(2);
	}
	return (uint32_t)value;
}

static void parse(struct bench *b, int argc, char **argv)
{
	static const struct option flags[] = {
	    {"seed", required_argument, NULL, 's'},   {"runs", required_argument, NULL, 'r'},
	    {"passes", required_argument, NULL, 'p'}, {"connections", required_argument, NULL, 'c'},
	    {"json", required_argument, NULL, 'j'},   {NULL, 0, NULL, 0}};
	char *end;
	int flag;

	while ((flag = getopt_long(argc, argv, "", flags, NULL)) != -1) {
		if (flag == 's')
			b->seed = number("seed", optarg, 0, UINT32_MAX, &end);
		else if (flag == 'r')
			b->runs = number("runs", optarg, 1, RUNS_MAX, &end);
		else if (flag == 'p')
			b->passes = number("passes", optarg, 128, 1UL << 30, &end);
		else if (flag == 'j')
			b->json = optarg;
		else if (flag == 'c') {
			b->sizes_count = 0;
			for (end = optarg - 1; end == optarg - 1 || *end == ',';) {
				if (b->sizes_count == SIZES_MAX)
					die("--connections: allowed: 8 numbers");
				b->sizes[b->sizes_count++] = number("connections", end + 1, 64, 1UL << 26, &end);
			}
		} else {
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static struct options options = {.memory = MEMORY, .no_huge = true, .workers = 1};
	struct bench b = {
	    .seed = 1,
	    .runs = 9,
	    .passes = 4000000,
	    .sizes = {1000000, 4000000, 10000000, 16000000},
	    .sizes_count = 4,
	};
	double load[1] = {0};
	struct reason why;
	char cpu[128];

	parse(&b, argc, argv);
	if (ports_environment(&options, &why))
		die(why.text);
	rte_memseg_list_walk(advise, NULL);
	stand_cpu(cpu, sizeof(cpu));
	getloadavg(load, 1);
	if (b.json && !(b.out = fopen(b.json, "w")))
		die("can't write the JSON file");
	if (b.out)
		fprintf(
		    b.out,
		    "{\"benchmark\": \"othello_lookup\", \"cpu\": \"%s\", \"seed\": %lu, \"runs\": %u, "
		    "\"lookups\": %u, \"burst\": %d, \"buckets\": %d, \"load\": %.2f, \"unit\": \"ns per lookup\",\n"
		    " \"results\": [",
		    cpu, (unsigned long)b.seed, b.runs, b.passes, LOOKUP_BURST, BUCKETS, load[0]);
	printf("seed %lu, %u runs, load %.1f\n%-32s connections ns (fastest) ratio  M/s, 2 threads' M/s (fastest)  MB  "
	       "false hits\n",
	       (unsigned long)b.seed, b.runs, load[0], "");
	for (uint32_t i = 0; i < b.sizes_count; i++) {
		size(&b, b.sizes[i]);
		fflush(stdout);
	}
	if (b.out && (fputs("\n]}\n", b.out) < 0 || fclose(b.out)))
		die("can't write the JSON file");
	rte_eal_cleanup();
	return 0;
}
