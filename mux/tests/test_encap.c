/* SPDX-License-Identifier: Apache-2.0 */
/* The outer header: exact bytes, and random ones against a builder that computes everything afresh. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../encap.h"
#include "image.h"

enum { RANDOM = 1000000 };

static const struct next_hop hop = {.resolved = true,
				    .port = 3,
				    .mtu = 1600,
				    .source_mac = {2, 0, 0, 0, 0, 1},
				    .mac = {2, 0, 0, 0, 0, 0x21},
				    .source = {10, 1, 0, 11}};

static struct backend template(uint16_t service, const char *address)
{
	struct fl_address a = image_ipv4(address);
	struct backend backend;

	encap_template(&backend, service, &a, &hop);
	return backend;
}

static void bytes_without_a_move(void **state)
{
	static const uint8_t expected[BACKEND_HEAD_LEN] = {
	    2,    0,    0,    0,    0, 0x21, 2,    0,    0,    0,    0,    1,    8,  0, /* Ethernet */
	    0x45, 0xb8, 0,    0x54, 0, 0,    0x40, 0,    0x40, 0x11, 0x25, 0xc0, 10, 1, 0, 11, 10, 1, 0, 21, /* IP */
	    0xf7, 0xab, 0x17, 0xc0, 0, 0x40, 0,    0,                                                        /* UDP */
	    3,    4,    0,    0,                                                                             /* GUE */
	    0x10, 0,    0,    7,    0, 0,    0xbe, 0xef, 0,    0,    0,    12,                               /* steer */
	};
	struct backend backend = template(7, "10.1.0.21");
	struct encap_fields fields = {
	    .inner_len = 40, .tos = 0xb8, .hash = 0xdeadbeef, .bucket = 0xbeef, .generation = 12};
	uint8_t out[ENCAP_MOVED_LEN];

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_int_equal(encap_len(false), BACKEND_HEAD_LEN);
	encap_write(out, &backend, &fields);
	assert_memory_equal(out, expected, sizeof(expected));
	for (size_t i = sizeof(expected); i < sizeof(out); i++)
		assert_int_equal(out[i], 0xee);
}

static void bytes_with_a_move(void **state)
{
	static const uint8_t tail[] = {
	    5,    4,    0,    0,                                 /* GUE: 20 bytes of steer */
	    0x10, 1,    0,    7,  0, 0, 0xbe, 0xef, 0, 0, 0, 12, /* steer */
	    0x65, 0x53, 0xf1, 0,                                 /* since */
	    10,   1,    0,    22,                                /* previous */
	};
	struct backend backend = template(7, "10.1.0.21");
	struct encap_fields fields = {.inner_len = 40,
				      .hash = 0xdeadbeef,
				      .bucket = 0xbeef,
				      .generation = 12,
				      .moved = true,
				      .since = 1700000000,
				      .previous = {10, 1, 0, 22}};
	uint8_t out[ENCAP_MOVED_LEN];

	(void)state;
	encap_write(out, &backend, &fields);
	assert_int_equal(fl_load_be16(out + ENCAP_AT_IP + 2), 20 + 8 + 4 + 20 + 40);
	assert_int_equal(fl_load_be16(out + ENCAP_AT_UDP + 4), 8 + 4 + 20 + 40);
	assert_memory_equal(out + ENCAP_AT_GUE, tail, sizeof(tail));
}

/* The same header without templates or shortcuts. */
static uint32_t build(uint8_t *out, const struct encap_fields *fields, uint16_t service, const uint8_t to[4])
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4,
				 .flags = fields->moved ? FL_STEER_MOVED : 0,
				 .service = service,
				 .bucket = fields->bucket,
				 .generation = fields->generation,
				 .since = fields->since,
				 .previous = fl_address_from_ipv4(fields->previous)};
	uint8_t gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	uint32_t gue_len = fl_steer_write(&steer, gue);
	uint8_t *ip = out + 14, *udp = ip + 20;
	uint32_t sum = 0;

	memset(out, 0, 42);
	memcpy(out, hop.mac, 6);
	memcpy(out + 6, hop.source_mac, 6);
	out[12] = 8;
	ip[0] = 0x45;
	ip[1] = fields->tos;
	fl_store_be16(ip + 2, (uint16_t)(28 + gue_len + fields->inner_len));
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, hop.source, 4);
	memcpy(ip + 16, to, 4);
	for (int i = 0; i < 10; i++) {
		sum += fl_load_be16(ip + 2 * i);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	fl_store_be16(ip + 10, (uint16_t)(0xffff - sum));
	fl_store_be16(udp, fl_outer_source_port(fields->hash));
	fl_store_be16(udp + 2, FL_GUE_PORT);
	fl_store_be16(udp + 4, (uint16_t)(8 + gue_len + fields->inner_len));
	memcpy(udp + 8, gue, gue_len);
	return 42 + gue_len;
}

static void random_headers_equal_those_built_afresh(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (uint32_t i = 0; i < RANDOM; i++) {
		uint64_t a = chance_next(&chance), b = chance_next(&chance), c = chance_next(&chance);
		struct encap_fields fields = {.inner_len = (uint16_t)(20 + (a & 0x7fff)),
					      .tos = (uint8_t)(a >> 16),
					      .hash = (uint32_t)(a >> 32),
					      .bucket = (uint32_t)b,
					      .generation = (uint32_t)(b >> 32) | 1,
					      .moved = c & 1,
					      .since = (uint32_t)(c >> 32)};
		uint8_t to[4], out[ENCAP_MOVED_LEN], expected[ENCAP_MOVED_LEN + 32];
		struct fl_address address;
		struct backend backend;
		uint32_t len;

		fl_store_be32(to, (uint32_t)chance_next(&chance));
		memcpy(fields.previous, &c, 4);
		address = fl_address_from_ipv4(to);
		encap_template(&backend, (uint16_t)(a >> 24), &address, &hop);
		encap_write(out, &backend, &fields);
		len = build(expected, &fields, (uint16_t)(a >> 24), to);
		assert_int_equal(len, encap_len(fields.moved));
		if (memcmp(out, expected, len))
			fail_msg("seed 20261120, header %u differs", i);
	}
}

static void templates_say_how_they_stand(void **state)
{
	struct next_hop nowhere = {0};
	struct fl_address address = image_ipv4("10.1.0.21");
	struct backend backend = template(1, "10.1.0.21");

	(void)state;
	assert_int_equal(backend.state, BACKEND_READY);
	assert_int_equal(backend.port, 3);
	assert_memory_equal(encap_destination(&backend), address.bytes + 12, 4);
	encap_template(&backend, 1, &address, &nowhere);
	assert_int_equal(backend.state, BACKEND_NO_NEIGHBOUR);
}

static void the_mtu_counts_every_byte_after_ethernet(void **state)
{
	struct backend backend = template(1, "10.1.0.21");

	(void)state;
	assert_false(encap_too_big(&backend, 1600 - 44, false));
	assert_true(encap_too_big(&backend, 1600 - 43, false));
	assert_false(encap_too_big(&backend, 1600 - 52, true));
	assert_true(encap_too_big(&backend, 1600 - 51, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_without_a_move),
	    cmocka_unit_test(bytes_with_a_move),
	    cmocka_unit_test(random_headers_equal_those_built_afresh),
	    cmocka_unit_test(templates_say_how_they_stand),
	    cmocka_unit_test(the_mtu_counts_every_byte_after_ethernet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
