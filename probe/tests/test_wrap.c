/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of probes as servers read them: by the very functions of fairlead/list.h, list_srv6.h, ipip.h, list_tag.h and
 * decide.h, in every combination of families, encapsulation and tags.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fairlead/decide.h>
#include <fairlead/ipip.h>
#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

#include "wrap.h"

enum { GENERATION = 7, SERVICE = 3, PAYLOAD = 9 };

static const struct fl_siphash_key key = {1, 2}, tag_key = {3, 4};

static uint16_t sum(const uint8_t *data, size_t len)
{
	uint32_t total = 0;

	for (size_t i = 0; i < len; i += 2)
		total += fl_load_be16(data + i);
	total = (total & 0xffff) + (total >> 16);
	return (uint16_t)(total + (total >> 16));
}

static struct fl_address address(bool ipv6, uint8_t last)
{
	const uint8_t ipv4[4] = {10, 0, 0, last};
	struct fl_address out = {{0x20, 1, 0xd, 0xb8, [15] = last}};

	return ipv6 ? out : fl_address_from_ipv4(ipv4);
}

/* A packet as the kernel sends it; returns its length. */
static size_t packet(uint8_t *out, bool ipv6, uint8_t protocol)
{
	size_t head = ipv6 ? 40 : 20, len = head + 8 + PAYLOAD;
	struct fl_address source = address(ipv6, 1), vip = address(ipv6, 99);

	memset(out, 0, len);
	if (ipv6) {
		fl_store_be32(out, 6U << 28 | 0xb8U << 20);
		fl_store_be16(out + 4, (uint16_t)(len - 40));
		out[6] = protocol;
		out[7] = 64;
		memcpy(out + 8, &source, 16);
		memcpy(out + 24, &vip, 16);
	} else {
		out[0] = 0x45;
		out[1] = 0xb8;
		fl_store_be16(out + 2, (uint16_t)len);
		out[8] = 64;
		out[9] = protocol;
		memcpy(out + 12, source.bytes + 12, 4);
		memcpy(out + 16, vip.bytes + 12, 4);
		fl_store_be16(out + 10, (uint16_t)~sum(out, 20));
	}
	fl_store_be16(out + head, 20000);
	fl_store_be16(out + head + 2, 80);
	return len;
}

/* What fl_decide() says of it at a server that knows a newer generation. */
static void decides(const struct fl_list *list)
{
	static const struct {
		enum fl_packet_class packet;
		enum fl_verdict verdict;
	} rows[] = {
	    {FL_PACKET_SYN, FL_VERDICT_DELIVER},        {FL_PACKET_LOCAL_SOCKET, FL_VERDICT_DELIVER},
	    {FL_PACKET_COOKIE_ACK, FL_VERDICT_DELIVER}, {FL_PACKET_NO_RESET, FL_VERDICT_DELIVER},
	    {FL_PACKET_UNKNOWN, FL_VERDICT_DROP_STALE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fl_decide_in in = {
		    .packet = rows[i].packet,
		    .trusted = true,
		    .list = *list,
		    .generation_seen = GENERATION + 1,
		    .self = {address(false, 21)},
		};
		struct fl_decide_out out;

		fl_decide(&in, &out);
		assert_int_equal(out.verdict, rows[i].verdict);
		assert_int_equal(out.generation_seen, GENERATION + 1);
	}
}

static void reads_gue(const uint8_t *payload, const uint8_t *end, bool to_ipv6, struct fl_list *list)
{
	assert_int_equal(fl_load_be16(payload + 2), 6080);
	assert_int_equal(fl_load_be16(payload + 4), end - payload);
	assert_int_equal(fl_list_parse(payload + 8, end, (uint32_t)(end - payload - 8), false, to_ipv6, list),
			 FL_LIST_OK);
}

/* Whether it has the tag of its service, or none. */
static void has_tag(const struct fl_list *list, const struct fl_address *to, const uint8_t *inner, const uint8_t *end,
		    bool is_tagged)
{
	const struct fl_siphash_key of_service = fl_list_key(&tag_key, SERVICE);
	struct fl_list_message message;

	assert_int_equal(list->flags & (FL_LIST_TAG | FL_LIST_KEY), is_tagged ? FL_LIST_TAG | FL_LIST_KEY : 0);
	if (!is_tagged)
		return;
	assert_true(fl_list_tag_message(list, to, inner, end, &message));
	assert_true(fl_list_tag_is_right(&of_service, list, &message));
}

/* Wraps one packet, and reads it as a server does. */
static void play(const struct encap *encap, bool outer6, bool inner6, uint8_t protocol, bool is_tagged)
{
	uint8_t buffer[WRAP_HEADROOM + 256] = {0}, *inner = buffer + WRAP_HEADROOM, *ip;
	size_t len = packet(inner, inner6, protocol);
	const struct wrap wrap = {encap,
				  SERVICE,
				  FL_HASH_SIPHASH,
				  &key,
				  GENERATION,
				  address(outer6, 11),
				  address(outer6, 21),
				  is_tagged ? &tag_key : NULL};
	struct fl_list list = {0};
	struct wrap_flow flow;
	uint32_t overhead;
	const uint8_t *end = inner + len;

	assert_true(wrap_flow_read(inner, len, &flow));
	assert_int_equal(flow.source_port, 20000);
	assert_int_equal(flow.destination_port, 80);
	overhead = wrap_write(&wrap, &flow, inner, len);
	assert_true(overhead + ENCAP_AT_IP <= WRAP_HEADROOM);
	ip = inner - overhead;
	assert_int_equal(inner[inner6 ? 7 : 8], WRAP_TTL);
	if (!inner6)
		assert_int_equal(sum(inner, 20), 0xffff);
	if (outer6) {
		assert_int_equal(fl_load_be16(ip) >> 4 & 0xff, 0xb8);
		assert_int_equal(fl_load_be16(ip + 4) + 40, overhead + len);
		assert_memory_equal(ip + 8, wrap.source.bytes, 16);
		assert_memory_equal(ip + 24, wrap.backend.bytes, 16);
	} else {
		size_t header = (ip[0] & 15) * 4U;

		assert_int_equal(ip[1], 0xb8);
		assert_int_equal(fl_load_be16(ip + 2), overhead + len);
		assert_int_equal(sum(ip, header), 0xffff);
		assert_memory_equal(ip + 12, wrap.source.bytes + 12, 4);
		assert_memory_equal(ip + 16, wrap.backend.bytes + 12, 4);
	}
	if (encap == &encap_gue)
		reads_gue(ip + (outer6 ? 40 : 20), end, outer6, &list);
	else if (encap == &encap_srv6)
		assert_int_equal(fl_list_srv6_parse(ip + 40, end, &wrap.backend, &list), FL_LIST_OK);
	else
		assert_int_equal(fl_ipip_parse(ip, end, SERVICE, &list), FL_LIST_OK);
	assert_int_equal(list.generation, GENERATION);
	assert_int_equal(list.count, 0);
	assert_int_equal(list.service, SERVICE);
	has_tag(&list, &wrap.backend, inner, end, is_tagged && encap != &encap_ipip);
	decides(&list);
}

static void servers_read_each_combination(void **state)
{
	(void)state;
	for (int i = 0; i < 16; i++) {
		bool outer6 = i & 1, inner6 = i & 2, is_tagged = i & 4;
		uint8_t protocol = i & 8 ? IPPROTO_UDP : IPPROTO_TCP;

		play(&encap_gue, outer6, inner6, protocol, is_tagged);
		if (outer6)
			play(&encap_srv6, outer6, inner6, protocol, is_tagged);
		if (!outer6 && !inner6)
			play(&encap_ipip, false, false, protocol, is_tagged);
	}
}

/* Everything but whole TCP and UDP packets stays out. */
static void other_packets_are_not_wrapped(void **state)
{
	uint8_t bytes[256];
	struct wrap_flow flow;

	(void)state;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		size_t len = packet(bytes, ipv6, IPPROTO_TCP);

		for (size_t cut = 0; cut < len; cut++)
			assert_false(wrap_flow_read(bytes, cut, &flow));
		assert_true(wrap_flow_read(bytes, len, &flow));
		assert_false(wrap_flow_read(bytes, len + 1, &flow));
		bytes[ipv6 ? 6 : 9] = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
		assert_false(wrap_flow_read(bytes, len, &flow));
		bytes[ipv6 ? 6 : 9] = IPPROTO_TCP;
		bytes[0] = 0x55;
		assert_false(wrap_flow_read(bytes, len, &flow));
	}
	packet(bytes, false, IPPROTO_TCP);
	fl_store_be16(bytes + 6, 0x2000); /* more fragments */
	assert_false(wrap_flow_read(bytes, 20 + 8 + PAYLOAD, &flow));
	fl_store_be16(bytes + 6, 1);
	assert_false(wrap_flow_read(bytes, 20 + 8 + PAYLOAD, &flow));
	fl_store_be16(bytes + 6, 0x4000); /* DF */
	assert_true(wrap_flow_read(bytes, 20 + 8 + PAYLOAD, &flow));
	bytes[0] = 0x4f; /* options up to the ports' place */
	assert_false(wrap_flow_read(bytes, 20 + 8 + PAYLOAD, &flow));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(servers_read_each_combination),
	    cmocka_unit_test(other_packets_are_not_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
