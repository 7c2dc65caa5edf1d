// SPDX-License-Identifier: Apache-2.0
/* Keys of removed servers in memory (abi/server.h): those of ordinary plans of addresses differ. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "server.h"

#include "vectors.h"

enum {
	PLAN = 32 * 1024, /* addresses */
};

static struct fl_address address(const char *text)
{
	struct fl_address made;
	fl_u8 ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1)
		return fl_address_from_ipv4(ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, made.bytes), 1);
	return made;
}

static fl_u32 number(const char *text)
{
	struct fl_address server = address(text);

	return fl_memory_key_of_removed(7, &server).bucket;
}

static void pairs(void **state)
{
	static const char *const rows[][2] = {
	    {"2001:db8:0:1::2", "2001:db8:0:2::1"},
	    {"2001:db8:0:1::1", "2001:db8:0:2::2"},
	    {"2001:db8::1:0:0:1", "2001:db8::2:0:0:2"},
	    {"fd00::a:0:0:b", "fd00::b:0:0:a"},
	    {"10.1.0.2", "10.1.0.3"},
	    {"10.1.0.2", "::10.1.0.2"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_not_equal(number(rows[i][0]), number(rows[i][1]));
	assert_int_equal(number("2001:db8:0:1::2"), number("2001:db8:0:1::2"));
}

static int compare(const void *a, const void *b)
{
	fl_u32 left = *(const fl_u32 *)a, right = *(const fl_u32 *)b;

	return (left > right) - (left < right);
}

/* 256 racks of 128 servers, rack and server in different words: 0.125 pairs are expected with one key. */
static void plan(void **state)
{
	struct fl_address server = address("2001:db8::");
	static fl_u32 keys[PLAN];
	fl_u32 i, equal = 0;

	(void)state;
	for (i = 0; i < PLAN; i++) {
		server.bytes[7] = (fl_u8)(i / 128);
		server.bytes[15] = (fl_u8)(i % 128);
		keys[i] = fl_memory_key_of_removed(7, &server).bucket;
	}
	qsort(keys, PLAN, sizeof(keys[0]), compare);
	for (i = 1; i < PLAN; i++)
		equal += keys[i] == keys[i - 1];
	assert_in_range(equal, 0, 3);
}

/* No bucket of a service, and no removal from another one, has such a key. */
static void services(void **state)
{
	struct fl_address server = address("10.1.0.2");
	struct fl_memory_key one = fl_memory_key_of_removed(1, &server),
			     other = fl_memory_key_of_removed(65535, &server);

	(void)state;
	assert_int_equal(one.service, 0x10001);
	assert_int_equal(other.service, 0x1ffff);
	assert_true(fl_memory_is_of_removed(&one) && fl_memory_is_of_removed(&other));
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "pairs", pairs, NULL);
	vectors_add_plain(&tests, "a plan of addresses", plan, NULL);
	vectors_add_plain(&tests, "services", services, NULL);
	return vectors_run("keys of removed servers", &tests);
}
