/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot of a ring whose buckets are dealt evenly to all backends and then shuffled, for bench/size: no history
 * of weights leads there within an hour.
 *
 *	random_ring SERVICE GENERATION BUCKETS BACKENDS COMMITTED SEED > FILE
 *
 * Backends are 1..BACKENDS at 10.(id / 256).(id % 256).1 with weight 100; every bucket moved at COMMITTED, without a
 * previous owner.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include <fairlead/delta.h>
#include <fairlead/ring.h>

#include "tests/image.h"

static void store(uint8_t *p, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "random_ring: no memory\n");
		exit(1);
	}
	return p;
}

/* Fisher and Yates. */
static void shuffle(uint16_t *owners, uint32_t buckets, struct chance *chance)
{
	for (uint32_t i = buckets - 1; i > 0; i--) {
		uint32_t j = chance_below(chance, i + 1);
		uint16_t owner = owners[i];

		owners[i] = owners[j];
		owners[j] = owner;
	}
}

static uint8_t *backends(uint8_t *at, uint32_t n)
{
	for (uint32_t id = 1; id <= n; id++, at += FL_DELTA_BACKEND_LEN) {
		const uint8_t ipv4[4] = {10, (uint8_t)(id >> 8), (uint8_t)id, 1};
		struct fl_address address = fl_address_from_ipv4(ipv4);

		store(at, id, 2);
		store(at + 2, 0, 2);
		store(at + 4, 100, 2);
		memcpy(at + 6, address.bytes, 16);
	}
	return at;
}

int main(int argc, char **argv)
{
	uint32_t number[6]; /* in the order of the arguments */
	uint32_t buckets, n;
	size_t body_len, room, packed;
	uint8_t *body, *at, *out;
	uint16_t *owners;
	struct chance chance;

	if (argc != 7) {
		fprintf(stderr, "usage: random_ring SERVICE GENERATION BUCKETS BACKENDS COMMITTED SEED\n");
		return 2;
	}
	for (int i = 0; i < 6; i++)
		number[i] = (uint32_t)strtoul(argv[i + 1], NULL, 10);
	buckets = number[2];
	n = number[3];
	chance.state = number[5] + 1ULL;
	owners = must(calloc(buckets, sizeof(*owners)));
	for (uint32_t i = 0; i < buckets; i++)
		owners[i] = (uint16_t)(1 + i % n);
	shuffle(owners, buckets, &chance);

	body_len = 8 + (size_t)n * FL_DELTA_BACKEND_LEN + (size_t)buckets * 8;
	body = must(calloc(1, body_len));
	store(body, number[4], 4);
	store(body + 4, n, 4);
	at = backends(body + 8, n);
	for (uint32_t i = 0; i < buckets; i++) {
		store(at + 2 * (size_t)i, owners[i], 2);
		store(at + 4 * (size_t)(buckets + i), number[4], 4);
	}

	room = ZSTD_compressBound(body_len);
	out = must(malloc(FL_DELTA_HEADER_LEN + room));
	memcpy(out, "FLS2", 4);
	store(out + 4, number[0], 4);
	store(out + 8, number[1], 4);
	store(out + 12, 0, 4);
	store(out + 16, buckets, 4);
	store(out + 20, body_len, 8);
	store(out + FL_DELTA_CRC_AT, fl_crc32c(fl_crc32c(0, out, FL_DELTA_CRC_AT), body, body_len), 4);
	packed = ZSTD_compress(out + FL_DELTA_HEADER_LEN, room, body, body_len, 3);
	if (ZSTD_isError(packed) || fwrite(out, FL_DELTA_HEADER_LEN + packed, 1, stdout) != 1) {
		fprintf(stderr, "random_ring: cannot be packed or written\n");
		return 1;
	}
	free(owners);
	free(body);
	free(out);
	return 0;
}
