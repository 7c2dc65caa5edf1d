// SPDX-License-Identifier: Apache-2.0
/*
 * The rewriting of a chained packet (rewrite.h) in userspace: the adjusted checksum of 100,000 random outer headers
 * equals the one computed over the whole new header, among them the headers whose sums lie at the ends of the range.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../rewrite.h"
#include "packet.h"
#include "vectors.h"

enum {
	HEADERS = 100000,
};

static void fill_random(fl_u8 *bytes, size_t len)
{
	while (len--)
		*bytes++ = (fl_u8)random();
}

static void check_header(fl_u8 *ip, const fl_u8 *source, const fl_u8 *destination)
{
	fl_u8 expected[FL_IPV4_LEN];

	fl_store_be16(ip + FL_IPV4_AT_CHECKSUM, 0);
	fl_store_be16(ip + FL_IPV4_AT_CHECKSUM, packet_checksum(ip, FL_IPV4_LEN, 0));
	memcpy(expected, ip, sizeof(expected));
	expected[FL_IPV4_AT_TTL] = FL_CHAIN_TTL;
	memcpy(expected + FL_IPV4_AT_SOURCE, source, 4);
	memcpy(expected + FL_IPV4_AT_DESTINATION, destination, 4);
	fl_store_be16(expected + FL_IPV4_AT_CHECKSUM, 0);
	fl_store_be16(expected + FL_IPV4_AT_CHECKSUM, packet_checksum(expected, FL_IPV4_LEN, 0));
	fl_chain_ipv4(ip, source, destination);
	assert_memory_equal(ip, expected, sizeof(expected));
}

static void random_headers(void **state)
{
	unsigned int seed = (unsigned int)time(NULL);
	fl_u8 ip[FL_IPV4_LEN], addresses[8];
	int i;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	for (i = 0; i < HEADERS; i++) {
		fill_random(ip, sizeof(ip));
		fill_random(addresses, sizeof(addresses));
		ip[0] = 0x45;
		check_header(ip, addresses, addresses + 4);
	}
}

/* Every value of the word that decides the checksum, so that it takes each value, 0 and 0xffff among them. */
static void every_checksum(void **state)
{
	static const fl_u8 source[4] = {10, 1, 0, 22}, destination[4] = {10, 1, 0, 21};
	fl_u8 ip[FL_IPV4_LEN];
	fl_u32 word;

	(void)state;
	for (word = 0; word <= 0xffff; word++) {
		memset(ip, 0, sizeof(ip));
		ip[0] = 0x45;
		fl_store_be16(ip + FL_IPV4_AT_DESTINATION + 2, (fl_u16)word);
		check_header(ip, source, destination);
		memset(ip, 0, sizeof(ip));
		ip[0] = 0x45;
		fl_store_be16(ip + 4, (fl_u16)word);
		check_header(ip, source, destination);
	}
}

/* Each first word of an IPv4 header that is not Not-ECT, so that the checksum takes most of its values. */
static void ecn_marks(void **state)
{
	fl_u8 ip[40], expected[40];
	fl_u32 word;

	(void)state;
	for (word = 0; word <= 0xffff; word++) {
		if (!(word & FL_ECN_MASK))
			continue;
		memset(ip, 0, sizeof(ip));
		fl_store_be16(ip, (fl_u16)word);
		fl_store_be16(ip + 10, packet_checksum(ip, FL_IPV4_LEN, 0));
		memset(expected, 0, sizeof(expected));
		fl_store_be16(expected, (fl_u16)(word | 3));
		fl_store_be16(expected + 10, packet_checksum(expected, FL_IPV4_LEN, 0));
		fl_ecn_mark_ipv4(ip);
		assert_memory_equal(ip, expected, sizeof(ip));
	}
	memset(ip, 0, sizeof(ip));
	fl_store_be32(ip, 0x6ad12345);
	memset(expected, 0, sizeof(expected));
	fl_store_be32(expected, 0x6af12345);
	fl_ecn_mark_ipv6(ip);
	assert_memory_equal(ip, expected, sizeof(ip));
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "checksums of random headers are exact", random_headers, NULL);
	vectors_add_plain(&tests, "each checksum is exact", every_checksum, NULL);
	vectors_add_plain(&tests, "congestion is marked, checksums stay exact", ecn_marks, NULL);
	return vectors_run("rewriting", &tests);
}
