// SPDX-License-Identifier: Apache-2.0
/*
 * The rewriting of packets (rewrite.h) in userspace: outer headers with every checksum and random ones, field by field,
 * and the adjusted checksum of each inner header that is marked.
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

static void check_ipv4(fl_u8 class, fl_u16 udp_len, const fl_u8 *source, const fl_u8 *destination)
{
	fl_u8 ip[FL_IPV4_LEN], expected[FL_IPV4_LEN] = {0x45, class, 0, 0, 0, 0, 0x40, 0, 64, 17};

	fill_random(ip, sizeof(ip)); /* what stood there does not matter */
	fl_store_be16(expected + 2, (fl_u16)(udp_len + 20));
	memcpy(expected + 12, source, 4);
	memcpy(expected + 16, destination, 4);
	fl_store_be16(expected + 10, packet_checksum(expected, sizeof(expected), 0));
	fl_outer_ipv4(ip, class, udp_len, source, destination);
	assert_memory_equal(ip, expected, sizeof(expected));
}

static void check_ipv6(fl_u8 class, fl_u16 udp_len, const fl_u8 *source, const fl_u8 *destination)
{
	fl_u8 ip[FL_IPV6_LEN], expected[FL_IPV6_LEN] = {0};

	fill_random(ip, sizeof(ip));
	expected[0] = (fl_u8)(0x60 | class >> 4);
	expected[1] = (fl_u8)(class << 4);
	fl_store_be16(expected + 4, udp_len);
	expected[6] = 17;
	expected[7] = 64;
	memcpy(expected + 8, source, 16);
	memcpy(expected + 24, destination, 16);
	fl_outer_ipv6(ip, class, udp_len, source, destination);
	assert_memory_equal(ip, expected, sizeof(expected));
}

static void random_headers(void **state)
{
	unsigned int seed = (unsigned int)time(NULL);
	fl_u8 addresses[32];
	int i;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	for (i = 0; i < HEADERS; i++) {
		fl_u16 udp_len = (fl_u16)(random() % (65535 - 20));

		fill_random(addresses, sizeof(addresses));
		check_ipv4((fl_u8)i, udp_len, addresses, addresses + 4);
		check_ipv6((fl_u8)i, udp_len, addresses, addresses + 16);
	}
}

/* Every value of the words that decide the checksum, so that it takes each value, 0 and 0xffff among them. */
static void every_checksum(void **state)
{
	fl_u8 source[4] = {10, 1, 0, 22}, destination[4] = {10, 1, 0, 21};
	fl_u32 word;

	(void)state;
	for (word = 0; word <= 0xffff; word++) {
		fl_store_be16(destination + 2, (fl_u16)word);
		check_ipv4(0, 100, source, destination);
		fl_store_be16(source, (fl_u16)~word);
		check_ipv4((fl_u8)word, 100, source, destination);
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

	vectors_add_plain(&tests, "random outer headers are exact", random_headers, NULL);
	vectors_add_plain(&tests, "each checksum of an outer header is exact", every_checksum, NULL);
	vectors_add_plain(&tests, "congestion is marked, checksums stay exact", ecn_marks, NULL);
	return vectors_run("rewriting", &tests);
}
