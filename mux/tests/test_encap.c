/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer header: exact bytes, and random ones of every kind (both families outside and inside, with candidates of
 * either family, with and without a tag) against a builder that computes every header from scratch.
 */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fairlead/ipip.h>
#include <fairlead/keys.h>

#include "encap/gue.h"
#include "ring/backend.h"
#include "gue_bytes.h"
#include "image.h"

enum { RANDOM = 300000, INNER_MAX = 100 };

static const struct fl_siphash_key tag_key = {0x1716151413121110ULL, 0x1f1e1d1c1b1a1918ULL};

static struct next_hop hop_to(const struct fl_address *address)
{
	struct next_hop hop = {.resolved = true,
			       .port = 3,
			       .mtu = 1600,
			       .source_mac = {2, 0, 0, 0, 0, 1},
			       .mac = {2, 0, 0, 0, 0, 0x21},
			       .source = image_address("10.1.0.11")};

	if (!fl_address_is_ipv4(address))
		hop.source = image_address("2001:db8:1::11");
	return hop;
}

static struct backend template(uint16_t service, const char *text)
{
	struct fl_address address = image_address(text);
	struct next_hop hop = hop_to(&address);
	struct backend backend;

	backend_fill(&backend, &encap_gue, service, &address, &hop);
	return backend;
}

static void bytes_over_ipv4(void **state)
{
	static const uint8_t expected[GUE_PLAIN_LEN] = {
	    2,    0,    0,    0,    0, 0x21, 2,    0,  0,    0,    0,    1,    8,  0, /* Ethernet */
	    0x45, 0xb8, 0,    0x50, 0, 0,    0x40, 0,  0x40, 0x11, 0x25, 0xc4, 10, 1, 0, 11, 10, 1, 0, 21, /* IP */
	    0xf7, 0xab, 0x17, 0xc0, 0, 0x3c, 0,    0,                                                      /* UDP */
	    2,    4,    0,    0,                                                                           /* GUE */
	    0x20, 0,    0,    7,    0, 0,    0,    12,                                                     /* list */
	};
	struct backend backend = template(7, "10.1.0.21");
	uint8_t out[GUE_LEN_MAX];

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_int_equal(ENCAP_AT_IP + encap_gue.overhead(&backend.outer, 0, 0), GUE_PLAIN_LEN);
	gue_write_plain(out, &backend.outer, 40, FL_LIST_GUE_IPV4, 0xb8, 0xdeadbeef, 0, 12, 0);
	assert_memory_equal(out, expected, sizeof(expected));
	for (size_t i = sizeof(expected); i < sizeof(out); i++)
		assert_int_equal(out[i], 0xee);
}

static void bytes_over_ipv6(void **state)
{
	static const uint8_t expected[] = {
	    2,    0,    0,    0,    0, 0x21, 2,  0,  0, 0, 0, 1, 0x86, 0xdd,          /* Ethernet */
	    0x6b, 0x8d, 0xea, 0xdb, 0, 76,   17, 64,                                  /* IPv6 */
	    0x20, 1,    0xd,  0xb8, 0, 1,    0,  0,  0, 0, 0, 0, 0,    0,    0, 0x11, /* source */
	    0x20, 1,    0xd,  0xb8, 0, 1,    0,  0,  0, 0, 0, 0, 0,    0,    0, 0x21, /* destination */
	    0xf7, 0xab, 0x17, 0xc0, 0, 76,   0,  0,                                   /* UDP */
	    6,    41,   0,    0,                                                      /* GUE: 24 bytes follow */
	    0x21, 0x12, 0,    7,    0, 0,    0,  12,                                  /* list: one, IPV6 */
	    0x20, 1,    0xd,  0xb8, 0, 1,    0,  0,  0, 0, 0, 0, 0,    0,    0, 0x22, /* candidate */
	};
	struct backend backend = template(7, "2001:db8:1::21");
	const struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV6,
				     .flags = FL_LIST_IPV6,
				     .count = 1,
				     .left = 1,
				     .service = 7,
				     .generation = 12,
				     .candidate = {image_address("2001:db8:1::22")}};
	const struct encap_fields fields = {.inner_len = 40, .tos = 0xb8, .hash = 0xdeadbeef, .list = &list};
	uint8_t out[GUE_LEN_MAX];

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_int_equal(ENCAP_AT_IP + encap_gue.overhead(&backend.outer, 1, list.flags), sizeof(expected));
	encap_gue.write(out, &backend.outer, &fields);
	assert_memory_equal(out, expected, sizeof(expected));
	for (size_t i = sizeof(expected); i < sizeof(out); i++)
		assert_int_equal(out[i], 0xee);
}

/* A header to be written, and the packet behind it. */
struct wanted {
	struct encap_fields fields;
	struct fl_list list;
	struct fl_address source;
	struct fl_address to;
	uint8_t inner[INNER_MAX];
};

static uint32_t build(uint8_t *out, const struct wanted *w)
{
	struct gue_bytes bytes = {
	    .list = &w->list,
	    .source = w->source,
	    .to = w->to,
	    .mac = {2, 0, 0, 0, 0, 0x21},
	    .tos = w->fields.tos,
	    .hash = w->fields.hash,
	    .tag_key = &tag_key,
	    .inner = w->inner,
	    .inner_len = w->fields.inner_len,
	};

	return gue_bytes_build(&bytes, out);
}

static struct fl_address random_address(struct chance *chance, bool ipv4)
{
	struct fl_address address = {{0x20, 1}};
	uint8_t four[4];

	for (int i = 8; i < 16; i++)
		address.bytes[i] = (uint8_t)chance_next(chance);
	fl_store_be32(four, (uint32_t)chance_next(chance));
	return ipv4 ? fl_address_from_ipv4(four) : address;
}

/* An IP header of either family with random contents, of a length that is its own. */
static void random_inner(struct chance *chance, struct wanted *w)
{
	bool ipv6 = chance_below(chance, 2);

	for (int i = 0; i < INNER_MAX; i++)
		w->inner[i] = (uint8_t)chance_next(chance);
	w->fields.inner_len = (uint16_t)(60 + chance_below(chance, 40));
	w->list.inner_protocol = ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4;
	w->inner[0] = ipv6 ? 0x60 : 0x45;
	w->inner[ipv6 ? 6 : 9] = chance_below(chance, 2) ? 6 : 17;
	fl_store_be16(w->inner + (ipv6 ? 4 : 2), (uint16_t)(w->fields.inner_len - (ipv6 ? 40 : 0)));
}

/* Up to as many candidates as there may be, of either family or IPv4 alone. */
static void random_list(struct chance *chance, struct wanted *w)
{
	const bool is_mixed = chance_below(chance, 2);

	w->list.service = (uint16_t)chance_next(chance);
	w->list.generation = (uint32_t)chance_next(chance) | 1;
	w->list.count = w->list.left = (fl_u8)chance_below(chance, FL_LIST_MAX + 1);
	w->list.flags = (fl_u8)(chance_below(chance, 2) ? FL_LIST_LATE : 0);
	w->list.flags |= chance_below(chance, 2) ? FL_LIST_TAG : 0;
	w->to = random_address(chance, !is_mixed || chance_below(chance, 2));
	w->list.flags |= fl_address_is_ipv4(&w->to) ? 0 : FL_LIST_IPV6;
	for (uint32_t i = 0; i < w->list.count; i++) {
		w->list.candidate[i] = random_address(chance, !is_mixed || chance_below(chance, 2));
		w->list.flags |= fl_address_is_ipv4(&w->list.candidate[i]) ? 0 : FL_LIST_IPV6;
	}
}

static void random_wanted(struct chance *chance, struct wanted *w)
{
	*w = (struct wanted){
	    .fields = {.tos = (uint8_t)chance_next(chance), .hash = (uint32_t)chance_next(chance), .list = &w->list}};
	random_inner(chance, w);
	random_list(chance, w);
}

static void random_headers_equal_those_built_from_scratch(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (uint32_t i = 0; i < RANDOM; i++) {
		uint8_t out[GUE_LEN_MAX + INNER_MAX], expected[GUE_BYTES_MAX];
		struct fl_siphash_key key;
		struct backend backend;
		struct next_hop hop;
		struct wanted w;
		uint32_t len;

		random_wanted(&chance, &w);
		hop = hop_to(&w.to);
		w.source = hop.source;
		key = fl_list_key(&tag_key, w.list.service);
		w.fields.tag_key = &key;
		backend_fill(&backend, &encap_gue, w.list.service, &w.to, &hop);
		len = ENCAP_AT_IP + encap_gue.overhead(&backend.outer, w.list.count, w.list.flags);
		memset(out, 0xee, sizeof(out));
		memcpy(out + len, w.inner, w.fields.inner_len);
		encap_gue.write(out, &backend.outer, &w.fields);
		assert_int_equal(len, build(expected, &w));
		if (memcmp(out, expected, len) || memcmp(out + len, w.inner, w.fields.inner_len))
			fail_msg("seed 20261120, header %u differs", i);
		if (w.list.flags & (FL_LIST_TAG | FL_LIST_IPV6))
			continue;
		gue_write_plain(out, &backend.outer, w.fields.inner_len, w.list.inner_protocol, w.fields.tos,
				w.fields.hash, (uint8_t)(w.list.count << 4 | w.list.flags), w.list.generation,
				w.list.count * 4U);
		if (memcmp(out, expected, len))
			fail_msg("seed 20261120, plain header %u differs", i);
	}
}

static void templates_say_how_they_stand(void **state)
{
	static const char *const addresses[] = {"10.1.0.21", "2001:db8:1::21"};
	struct next_hop nowhere = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fl_address address = image_address(addresses[i]), to;
		struct backend backend = template(1, addresses[i]);

		assert_int_equal(backend.state, BACKEND_READY);
		assert_int_equal(backend.port, 3);
		assert_int_equal(backend.outer.ipv6, i);
		to = encap_destination(&backend.outer);
		assert_memory_equal(&to, &address, sizeof(to));
		backend_fill(&backend, &encap_gue, 1, &address, &nowhere);
		assert_int_equal(backend.state, BACKEND_NO_NEIGHBOUR);
	}
}

static void the_mtu_counts_every_byte_after_ethernet(void **state)
{
	const struct encap_template over4 = {.ipv6 = 0}, over6 = {.ipv6 = 1};

	(void)state;
	assert_int_equal(encap_room(encap_gue.overhead(&over4, 0, 0), 1600), 1600 - 40);
	assert_int_equal(encap_room(encap_gue.overhead(&over4, 2, 0), 1600), 1600 - 48);
	assert_int_equal(encap_room(encap_gue.overhead(&over4, 6, FL_LIST_TAG), 1600), 1600 - 72);
	assert_int_equal(encap_room(encap_gue.overhead(&over4, 1, FL_LIST_IPV6 | FL_LIST_TAG), 1600), 1600 - 64);
	assert_int_equal(encap_room(encap_gue.overhead(&over6, 0, 0), 1600), 1600 - 60);
	assert_int_equal(encap_room(encap_gue.overhead(&over6, 6, FL_LIST_IPV6 | FL_LIST_TAG), 1600), 1600 - 164);
	assert_int_equal(encap_room(encap_gue.overhead(&over4, 0, 0), 40), 0);
}

static void ipip_headers_equal_those_of_the_protocol(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (uint32_t i = 0; i < RANDOM; i++) {
		uint8_t out[ENCAP_AT_IP + FL_IPIP_LEN + 1], expected[FL_IPIP_LEN];
		struct fl_address to = random_address(&chance, true);
		struct next_hop hop = hop_to(&to);
		struct backend backend;
		struct fl_ipip ipip;
		struct wanted w;

		random_wanted(&chance, &w);
		w.fields.now = chance_below(&chance, 9) ? (uint32_t)chance_next(&chance) : 0;
		w.list.candidate[0] = random_address(&chance, true);
		w.list.count = w.list.left = (fl_u8)chance_below(&chance, 2);
		ipip = (struct fl_ipip){
		    .traffic_class = w.fields.tos, .inner_len = w.fields.inner_len, .generation = w.list.generation};
		memcpy(ipip.source, hop.source.bytes + 12, 4);
		memcpy(ipip.destination, to.bytes + 12, 4);
		if (w.list.count) {
			memcpy(ipip.previous, w.list.candidate[0].bytes + 12, 4);
			ipip.since = w.fields.now ? w.fields.now : 1;
		}
		fl_ipip_write(&ipip, expected);
		backend_fill(&backend, &encap_ipip, w.list.service, &to, &hop);
		out[ENCAP_AT_IP + FL_IPIP_LEN] = 0xee;
		encap_ipip.write(out, &backend.outer, &w.fields);
		assert_memory_equal(out, "\x02\x00\x00\x00\x00\x21\x02\x00\x00\x00\x00\x01\x08\x00", 14);
		assert_memory_equal(out + ENCAP_AT_IP, expected, sizeof(expected));
		assert_int_equal(out[ENCAP_AT_IP + FL_IPIP_LEN], 0xee);
	}
}

static void a_vlan_tag_follows_the_macs(void **state)
{
	uint8_t frame[] = "....ddddddssssss\x08\x00tail";

	(void)state;
	encap_write_vlan(frame, 0x0123);
	assert_memory_equal(frame, "ddddddssssss\x81\x00\x01\x23\x08\x00tail", sizeof(frame) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_over_ipv4),
	    cmocka_unit_test(bytes_over_ipv6),
	    cmocka_unit_test(random_headers_equal_those_built_from_scratch),
	    cmocka_unit_test(templates_say_how_they_stand),
	    cmocka_unit_test(the_mtu_counts_every_byte_after_ethernet),
	    cmocka_unit_test(ipip_headers_equal_those_of_the_protocol),
	    cmocka_unit_test(a_vlan_tag_follows_the_macs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
