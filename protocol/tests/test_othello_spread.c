/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the two cells of a key are as good as drawn independently, for keys that differ as little as those of one
 * client do. Of each population every second key is known to the arrays, and the others are not:
 *
 *	cycles	for how many seeds the known keys' graph has none, against the sqrt(1 - n^2 / (na nb)) of random edges
 *	pairs	chi-squared of (a, b), 64 x 64 parts of the arrays
 *	codes	chi-squared of the codes of unknown keys, where all known ones have the same code (the worst case), in 256
 *		buckets
 *
 * Unknown keys between the same two trees of known ones share a code, so codes are a little above 0 (0.7 on average).
 * Seeds are fixed. Bounds are 5 standard deviations of a row's sum. A pair of linear hashes, as the paper's, must fail.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/othello.h>

#include "vectors.h"

enum {
	PARTS = 64, /* of each array */
	BUCKETS = 256,
	WORST = 5,                  /* standard deviations */
	LINEAR = FL_HASH_CRC32 + 1, /* the halves of a CRC as they are */
};

/* Writes the key of this number, and returns its length. */
typedef fl_u32 (*population)(fl_u32 number, fl_u8 *key);

struct row {
	const char *name;
	population keys;
	int hash;
	fl_u32 known; /* a power of two */
	int seeds;
};

/* A union-find forest over the cells. xors: what a cell differs in from its parent. */
struct forest {
	fl_u32 *parents;
	fl_u8 *xors;
};

struct result {
	int acyclic, tried;
	double pairs, codes; /* sums of chi-squared, in standard deviations from the expected value */
	double expected;     /* of acyclic, by probability */
};

static fl_u64 state64;

static fl_u64 draw(void) /* SplitMix64 */
{
	fl_u64 z = state64 += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static fl_u32 ipv4(fl_u8 *key, fl_u32 source, fl_u32 source_port, fl_u32 port)
{
	fl_store_be32(key, source);
	fl_store_be32(key + 4, 0x0a630001);
	fl_store_be16(key + 8, (fl_u16)source_port);
	fl_store_be16(key + 10, (fl_u16)port);
	key[12] = 6;
	return FL_KEY_IPV4_LEN;
}

/* All source ports, then the next port of the service. */
static fl_u32 one_client(fl_u32 number, fl_u8 *key)
{
	return ipv4(key, 0xc6336407, number, 80 + (number >> 16));
}

/* Sixteen addresses in turns. */
static fl_u32 nats(fl_u32 number, fl_u8 *key)
{
	return ipv4(key, 0xc6336407 + (number & 15), number >> 4, 80 + (number >> 20));
}

static fl_u32 sequential(fl_u32 number, fl_u8 *key)
{
	return ipv4(key, 0x0a000000 + number, 49152, 443);
}

/* Networks of 256 addresses whose first one is the client: the low byte is always the same. */
static fl_u32 sparse(fl_u32 number, fl_u8 *key)
{
	return ipv4(key, 0x0a000001 + (number << 8), 49152, 443);
}

static void ipv6_addresses(fl_u8 *key, fl_u32 network, fl_u32 host)
{
	memset(key, 0, FL_KEY_IPV6_LEN);
	fl_store_be32(key, 0x20010db8);
	fl_store_be32(key + 4, network);
	fl_store_be32(key + 12, host);
	fl_store_be32(key + 16, 0x20010db8);
	key[31] = 1;
}

static fl_u32 ipv6(fl_u32 number, fl_u8 *key)
{
	ipv6_addresses(key, 7, 1 + (number >> 16));
	fl_store_be16(key + 32, (fl_u16)number);
	fl_store_be16(key + 34, 443);
	key[36] = 6;
	return FL_KEY_IPV6_LEN;
}

static fl_u32 client_ipv4(fl_u32 number, fl_u8 *key)
{
	ipv4(key, 0x0a000000 + number, 0, 0);
	return 8;
}

/* A network for each client. */
static fl_u32 client_ipv6(fl_u32 number, fl_u8 *key)
{
	ipv6_addresses(key, number, 1);
	return 32;
}

static fl_u64 hash_of(const struct row *row, fl_u32 number)
{
	static const struct fl_siphash_key secret = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	fl_u8 key[FL_KEY_IPV6_LEN];
	fl_u32 len = row->keys(number, key);

	return fl_flow_hash(row->hash == FL_HASH_SIPHASH ? FL_HASH_SIPHASH : FL_HASH_CRC32, &secret, key, len);
}

static struct fl_othello_key key_of(int hash, fl_u64 flow_hash, fl_u64 seed)
{
	struct fl_othello_key halves = {(fl_u32)(flow_hash ^ seed), (fl_u32)((flow_hash ^ seed) >> 32)};

	return hash == LINEAR ? halves : fl_othello_key_make((enum fl_hash_kind)hash, flow_hash, seed);
}

/* The root of a cell; *x gets what the cell differs in from it. Halves paths on its way. */
static fl_u32 find(const struct forest *f, fl_u32 cell, fl_u8 *x)
{
	*x = 0;
	while (f->parents[cell] != cell) {
		fl_u32 parent = f->parents[cell];

		f->xors[cell] ^= f->xors[parent];
		f->parents[cell] = f->parents[parent];
		*x ^= f->xors[cell];
		cell = f->parents[cell];
	}
	return cell;
}

/* Joins two cells that differ in code; false: a path joins them already. */
static bool join(const struct forest *f, fl_u32 a, fl_u32 b, fl_u8 code)
{
	fl_u8 xa, xb;
	fl_u32 root_a = find(f, a, &xa), root_b = find(f, b, &xb);

	if (root_a == root_b)
		return false;
	f->parents[root_a] = root_b;
	f->xors[root_a] = xa ^ xb ^ code;
	return true;
}

static double deviations(const fl_u32 *counts, fl_u32 n, double total)
{
	double sum = 0, mean = total / n;

	for (fl_u32 i = 0; i < n; i++)
		sum += (counts[i] - mean) * (counts[i] - mean) / mean;
	return (sum - (n - 1)) / sqrt(2.0 * (n - 1));
}

/* Codes of the unknown keys by the cells of the forest, whose roots and lone cells are drawn. */
static double codes_of(const struct row *row, const fl_u64 *hashes, fl_u64 seed, const struct forest *f, fl_u32 na,
		       fl_u32 nb)
{
	fl_u32 counts[BUCKETS] = {0}, i;
	fl_u8 *drawn = malloc(na + nb);

	assert_non_null(drawn);
	for (i = 0; i < na + nb; i++)
		drawn[i] = (fl_u8)draw();
	for (i = 0; i < row->known; i++) {
		struct fl_othello_key key = key_of(row->hash, hashes[2 * i + 1], seed);
		fl_u8 xa, xb;
		fl_u32 a = find(f, fl_othello_index(key.low, na), &xa);
		fl_u32 b = find(f, na + fl_othello_index(key.high, nb), &xb);

		counts[drawn[a] ^ xa ^ drawn[b] ^ xb]++;
	}
	free(drawn);
	return deviations(counts, BUCKETS, row->known);
}

/* One seed. Known keys with equal hashes are one edge (crc32). */
static void try_seed(const struct row *row, const fl_u64 *hashes, struct result *result, const struct forest *f,
		     fl_u32 na, fl_u32 nb)
{
	static fl_u32 pairs[PARTS * PARTS];
	fl_u64 seed = draw() | 1;
	bool cyclic = false;
	fl_u32 i;

	memset(pairs, 0, sizeof(pairs));
	for (i = 0; i < na + nb; i++)
		f->parents[i] = i;
	memset(f->xors, 0, na + nb);
	for (i = 0; i < row->known; i++) {
		struct fl_othello_key key = key_of(row->hash, hashes[2 * i], seed);

		pairs[(key.low / (1U << 26)) * PARTS + key.high / (1U << 26)]++;
		if (!cyclic)
			cyclic = !join(f, fl_othello_index(key.low, na), na + fl_othello_index(key.high, nb), 77);
	}
	result->tried++;
	result->pairs += deviations(pairs, PARTS * PARTS, row->known);
	if (cyclic)
		return;
	result->codes += codes_of(row, hashes, seed, f, na, nb);
	result->acyclic++;
}

static struct result measure(const struct row *row)
{
	fl_u32 nb = row->known, na = row->hash == FL_HASH_SIPHASH ? nb / 3 * 4 : 2 * nb, i;
	struct forest f = {malloc(4 * (size_t)(na + nb)), malloc(na + nb)};
	fl_u64 *hashes = malloc(2 * sizeof(*hashes) * row->known);
	struct result result = {.expected = sqrt(1 - (double)row->known * row->known / ((double)na * nb))};

	assert_true(f.parents && f.xors && hashes);
	for (i = 0; i < 2 * row->known; i++)
		hashes[i] = hash_of(row, i);
	state64 = 20;
	while (result.tried < row->seeds)
		try_seed(row, hashes, &result, &f, na, nb);
	free(f.parents);
	free(f.xors);
	free(hashes);
	return result;
}

/* How many standard deviations the number of seeds without a cycle is off. */
static double cycles(const struct result *r)
{
	return (r->acyclic - r->tried * r->expected) / sqrt(r->tried * r->expected * (1 - r->expected));
}

static void spread(void **state)
{
	const struct row *row = *state;
	struct result r = measure(row);
	double pairs = r.pairs / sqrt(r.tried), codes = r.codes / sqrt(r.acyclic);

	print_message("# %s: no cycle %d of %d (%.1f), pairs %+.1f, codes %+.1f\n", row->name, r.acyclic, r.tried,
		      r.tried * r.expected, pairs, codes);
	assert_true(r.acyclic > 0);
	if (fabs(cycles(&r)) > WORST || fabs(pairs) > WORST || fabs(codes) > WORST)
		fail_msg("cycles %+.1f, pairs %+.1f, codes %+.1f; allowed: %d", cycles(&r), pairs, codes, WORST);
}

/* Of linear halves a seed only exchanges cells: with all seeds there is a cycle, or with none. */
static void linear(void **state)
{
	static const struct row row = {"linear", sequential, LINEAR, 1 << 16, 50};
	struct result r = measure(&row);

	(void)state;
	assert_int_equal(r.acyclic, 0);
	assert_true(fabs(cycles(&r)) > WORST);
	assert_true(fabs(r.pairs / sqrt(r.tried)) > WORST);
}

#define OF_BOTH(name, keys, known, seeds)                                                                              \
	{"siphash, " name, keys, FL_HASH_SIPHASH, known, seeds},                                                       \
	{                                                                                                              \
		"crc32, " name, keys, FL_HASH_CRC32, known, seeds                                                      \
	}

int main(void)
{
	static const struct row rows[] = {
	    OF_BOTH("one client, 64 Ki keys", one_client, 1 << 15, 200),
	    OF_BOTH("one client, 1 Mi keys", one_client, 1 << 19, 12),
	    OF_BOTH("16 NATs, 64 Ki keys", nats, 1 << 15, 200),
	    OF_BOTH("16 NATs, 1 Mi keys", nats, 1 << 19, 12),
	    OF_BOTH("sequential addresses, 64 Ki", sequential, 1 << 15, 200),
	    OF_BOTH("sequential addresses, 1 Mi", sequential, 1 << 19, 12),
	    OF_BOTH("every 256th address, 64 Ki", sparse, 1 << 15, 200),
	    OF_BOTH("IPv6, 64 Ki keys", ipv6, 1 << 15, 200),
	    OF_BOTH("IPv6, 1 Mi keys", ipv6, 1 << 19, 12),
	    OF_BOTH("affinity client, 64 Ki", client_ipv4, 1 << 15, 200),
	    OF_BOTH("affinity client, 1 Mi", client_ipv4, 1 << 19, 12),
	    OF_BOTH("affinity client, IPv6 networks, 64 Ki", client_ipv6, 1 << 15, 200),
	};
	struct vectors_tests tests = {NULL, 0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, spread, (void *)(uintptr_t)&rows[i]);
	vectors_add_plain(&tests, "a pair of linear hashes is found out", linear, NULL);
	return vectors_run("othello_spread", &tests);
}
