// SPDX-License-Identifier: Apache-2.0
/*
 * Mangled packets byte by byte: what is delivered must be what one gets by writing the other address into the packet
 * and computing every checksum over everything. Random packets, and those whose sums carry, are 0, or become 0.
 *
 * FAIRLEAD_SEED in the environment repeats a run; the seed is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vectors.h"
#include "stand.h"

enum {
	RANDOM_PACKETS = 1500, /* of a family */
	FLOOD = 70000,
	PORTS = 60000, /* of a client in the flood */
	AHEAD = 256,   /* packets that may wait: the kernel drops more than 1,000 in a processor's queue */
	FRESH_MAX = 65536,
	TCP_PROTOCOL = 6,
	UDP_PROTOCOL = 17,
	ANY_SUM = -1,
};

static fl_u64 seed;

static fl_u32 draw(fl_u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (fl_u32)(seed >> 16) % below;
}

static bool is_ipv4(const fl_u8 *ip)
{
	return ip[0] >> 4 == 4;
}

static size_t header_len(const fl_u8 *ip)
{
	return is_ipv4(ip) ? 20 : 40;
}

static fl_u8 protocol_of(const fl_u8 *ip)
{
	return ip[is_ipv4(ip) ? 9 : 6];
}

/* The sum of pseudo header and transport, in which the checksum is 0. */
static fl_u16 transport_sum(const fl_u8 *ip, size_t len)
{
	size_t head = header_len(ip), address_len = is_ipv4(ip) ? 4 : 16;
	fl_u8 pseudo[40] = {0};

	memcpy(pseudo, ip + head - 2 * address_len, 2 * address_len);
	fl_store_be32(pseudo + 2 * address_len, (fl_u32)(len - head));
	pseudo[2 * address_len + 7] = protocol_of(ip);
	return packet_checksum(ip + head, len - head, (fl_u16)~packet_checksum(pseudo, 2 * address_len + 8, 0));
}

static fl_u8 *sum_of(fl_u8 *ip)
{
	switch (protocol_of(ip)) {
	case TCP_PROTOCOL:
		return ip + header_len(ip) + 16;
	case UDP_PROTOCOL:
		return ip + header_len(ip) + 6;
	default: /* ICMP */
		return ip + header_len(ip) + 2;
	}
}

/* Recomputes all checksums of a packet; a UDP checksum of 0 is sent as all ones. */
static void sums_set(fl_u8 *ip, size_t len)
{
	fl_u8 protocol = protocol_of(ip), *sum = sum_of(ip);
	size_t head = header_len(ip);
	fl_u16 value;

	if (is_ipv4(ip)) {
		fl_store_be16(ip + 10, 0);
		fl_store_be16(ip + 10, packet_checksum(ip, head, 0));
	}
	fl_store_be16(sum, 0);
	value = protocol == 1 ? packet_checksum(ip + head, len - head, 0) : transport_sum(ip, len);
	fl_store_be16(sum, protocol == UDP_PROTOCOL && !value ? 0xffff : value);
}

static fl_u16 ones_add(fl_u16 a, fl_u16 b)
{
	fl_u32 sum = (fl_u32)a + b;

	return (fl_u16)((sum & 0xffff) + (sum >> 16));
}

/* Chooses the last two bytes of an even payload so that the transport checksum is this. */
static void sum_aim(fl_u8 *ip, size_t len, fl_u16 target)
{
	fl_u8 *last = ip + len - 2, *sum = sum_of(ip);

	fl_store_be16(last, 0);
	fl_store_be16(sum, 0);
	/* ~target must be the sum with the word; what it is without is ~transport_sum. */
	fl_store_be16(last, ones_add((fl_u16)~target, transport_sum(ip, len)));
	sums_set(ip, len);
}

static struct fl_address client(bool ipv4)
{
	struct fl_address address = packet_address(ipv4 ? "10.2.0.0" : "2001:db8:2::");
	int i;

	for (i = 14; i < 16; i++)
		address.bytes[i] = (fl_u8)(1 + draw(254));
	return address;
}

static struct packet begin(bool ipv4)
{
	struct fl_list list = rig_list(ipv4 ? RIG_IPV4 : RIG_IPV6);
	struct packet packet;

	stand_begin(&packet, RIG_SELF, &list);
	return packet;
}

static struct packet_flow flow_of(bool ipv4)
{
	struct packet_flow flow = {
	    .source = client(ipv4),
	    /* Addresses of many bits, so that all kinds of carries come up. */
	    .destination = packet_address(ipv4 ? "203.0.113.0" : "2001:db8:99:f0f1:8001:7ffe:ffff:0"),
	    .source_port = (fl_u16)(1 + draw(65535)),
	    .destination_port = (fl_u16)(1 + draw(65535)),
	};

	flow.destination.bytes[15] = (fl_u8)(1 + draw(254));
	return flow;
}

static void address_write(fl_u8 *ip, bool source, const char *ipv4, const char *ipv6)
{
	struct fl_address address = packet_address(is_ipv4(ip) ? ipv4 : ipv6);
	size_t len = is_ipv4(ip) ? 4 : 16;

	memcpy(ip + header_len(ip) - (source ? 2 : 1) * len, address.bytes + 16 - len, len);
}

/* Sends the packet and expects the same to ourselves. */
static void check(struct packet *packet, size_t inner_at)
{
	fl_u8 *inner = packet->data + inner_at;
	size_t len = packet->len - inner_at;

	packet_finish_outer(packet);
	stand_put(packet);
	address_write(inner, false, RIG_SELF, RIG_SELF6);
	sums_set(inner, len);
	stand_expect_delivered(inner, len);
}

static void random_one(bool ipv4, bool tcp, int sent, int delivered)
{
	struct packet packet = begin(ipv4);
	size_t inner_at = packet.len, payload = 2 + draw(100), i;
	struct packet_flow flow = flow_of(ipv4);
	fl_u8 *inner = packet.data + inner_at;

	if (tcp) {
		struct packet_tcp segment = {.flow = flow, .flags = TCP_ACK, .sequence = draw(1U << 31)};

		packet_add_tcp(&packet, &segment);
	} else {
		if (sent != ANY_SUM || delivered != ANY_SUM)
			payload &= ~(size_t)1;
		packet_add_udp(&packet, &flow, payload);
		for (i = packet.len - payload; i < packet.len; i++)
			packet.data[i] = (fl_u8)draw(256);
	}
	if (delivered != ANY_SUM) { /* as it will be; and then what was sent for it */
		fl_u8 vip[16];
		size_t len = ipv4 ? 4 : 16;

		memcpy(vip, inner + header_len(inner) - len, len);
		address_write(inner, false, RIG_SELF, RIG_SELF6);
		sum_aim(inner, packet.len - inner_at, (fl_u16)delivered);
		memcpy(inner + header_len(inner) - len, vip, len);
	}
	if (sent != ANY_SUM)
		sum_aim(inner, packet.len - inner_at, (fl_u16)sent);
	sums_set(inner, packet.len - inner_at);
	check(&packet, inner_at);
}

static struct config config_mangle(void)
{
	struct config config = rig_config_both();

	config.program.mangle = 1;
	return config;
}

static void random_packets(void **state)
{
	struct config config = config_mangle();
	int i;

	(void)state;
	module_detach(stand_client());
	stand_set(&config);
	for (i = 0; i < RANDOM_PACKETS; i++) {
		random_one(true, i % 2, ANY_SUM, ANY_SUM);
		random_one(false, i % 2, ANY_SUM, ANY_SUM);
	}
}

static void aimed_packets(void **state)
{
	static const int sums[] = {0, 1, 2, 0x7fff, 0x8000, 0xfffe, 0xffff};
	struct config config = config_mangle();
	size_t i;
	int repeat;

	(void)state;
	module_detach(stand_client());
	stand_set(&config);
	for (repeat = 0; repeat < 10; repeat++)
		for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
			random_one(true, false, sums[i], ANY_SUM);
			random_one(false, false, sums[i], ANY_SUM);
			random_one(true, false, ANY_SUM, sums[i]);
			random_one(false, false, ANY_SUM, sums[i]);
		}
}

/* UDP over IPv4 without a checksum stays without; and so does an error: it is not made right. */
static void left_alone(void **state)
{
	struct config config = config_mangle();
	static const fl_u16 wrong = 0x0101;
	int i;

	(void)state;
	module_detach(stand_client());
	stand_set(&config);
	for (i = 0; i < 20; i++) {
		struct packet packet = begin(true);
		size_t inner_at = packet.len, len;
		struct packet_flow flow = flow_of(true);
		fl_u8 *inner = packet.data + inner_at;
		fl_u16 right;

		packet_add_udp(&packet, &flow, 20);
		len = packet.len - inner_at;
		fl_store_be16(sum_of(inner), i % 2 ? 0 : (fl_u16)(fl_load_be16(sum_of(inner)) ^ wrong));
		packet_finish_outer(&packet);
		stand_put(&packet);
		if (i % 2) {
			address_write(inner, false, RIG_SELF, RIG_SELF6);
			sums_set(inner, len);
			fl_store_be16(sum_of(inner), 0);
			stand_expect_delivered(inner, len);
			continue;
		}
		/* So far from right as before: the difference of the sums is that of the addresses. */
		right = fl_load_be16(sum_of(inner)) ^ wrong;
		{
			fl_u16 error = ones_add(fl_load_be16(sum_of(inner)), (fl_u16)~right);

			address_write(inner, false, RIG_SELF, RIG_SELF6);
			sums_set(inner, len);
			fl_store_be16(sum_of(inner), ones_add(fl_load_be16(sum_of(inner)), error));
			stand_expect_delivered(inner, len);
		}
	}
}

/* An ICMP error and all of the packet that it quotes. */
static void quotes(void **state)
{
	struct config config = config_mangle();
	int i;

	(void)state;
	module_detach(stand_client());
	stand_set(&config);
	for (i = 0; i < 200; i++) {
		bool ipv4 = i % 2;
		struct packet packet = begin(ipv4), quoted = {.len = 0};
		struct fl_address router = packet_address(ipv4 ? "192.0.2.1" : "2001:db8:1::1");
		struct packet_flow flow = flow_of(ipv4), back = packet_reverse(&flow);
		struct packet_tcp segment = {.flow = back, .flags = TCP_ACK, .sequence = draw(1U << 31)};
		size_t inner_at = packet.len, head = ipv4 ? 20 : 40, rest;
		fl_u8 *inner = packet.data + inner_at, *quote;

		if (i % 4 < 2)
			packet_add_tcp(&quoted, &segment);
		else
			packet_add_udp(&quoted, &back, 2 + draw(9));
		sums_set(quoted.data, quoted.len);
		packet_add_icmp_error(&packet, &router, &quoted);
		/* The builder quotes 8 bytes of the transport header; here it is all of it. */
		rest = quoted.len - head - 8;
		packet_add_bytes(&packet, quoted.data + head + 8, rest);
		if (ipv4)
			fl_store_be16(inner + 2, (fl_u16)(packet.len - inner_at));
		else
			fl_store_be16(inner + 4, (fl_u16)(packet.len - inner_at - head));
		sums_set(inner, packet.len - inner_at);
		packet_finish_outer(&packet);
		stand_put(&packet);
		quote = inner + head + FL_ICMP_LEN;
		address_write(quote, true, RIG_SELF, RIG_SELF6);
		sums_set(quote, quoted.len);
		address_write(inner, false, RIG_SELF, RIG_SELF6);
		sums_set(inner, packet.len - inner_at);
		stand_expect_delivered(inner, packet.len - inner_at);
	}
}

/* What forged packets can fill is bounded, and gives way to what comes. UDP's notes outlive the test, so all count. */
static void flood(void **state)
{
	struct config config = config_mangle();
	struct packet packet = begin(true);
	fl_u8 *inner = packet.data + packet.len, *udp = inner + 20;
	struct packet_flow flow = flow_of(true);
	fl_u32 i;

	(void)state;
	module_detach(stand_client());
	stand_set(&config);
	packet_add_udp(&packet, &flow, 4);
	packet_finish_outer(&packet);
	fl_store_be16(sum_of(inner), 0); /* none, so that the port is all that changes */
	for (i = 0; i < FLOOD; i++) {
		if (i % PORTS == 0) {
			inner[13] = (fl_u8)(i / PORTS);
			fl_store_be16(inner + 10, 0);
			fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
		}
		fl_store_be16(udp, (fl_u16)(i % PORTS + 1));
		stand_put(&packet);
		if (i % AHEAD == 0)
			stand_counter_await(FL_COUNTER_DELIVER_UNKNOWN, i + 1);
	}
	assert_int_equal(stand_counter_await(FL_COUNTER_DELIVER_UNKNOWN, FLOOD), FLOOD);
	assert_int_equal(stand_flows(), FRESH_MAX);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_UNKNOWN); /* the last one, which is known */
	assert_int_equal(stand_flows(), FRESH_MAX);
	stand_detach();
}

int main(void)
{
	const char *given = getenv("FAIRLEAD_SEED");
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_packets), cmocka_unit_test(aimed_packets), cmocka_unit_test(left_alone),
	    cmocka_unit_test(quotes),         cmocka_unit_test(flood),
	};

	seed = given ? strtoull(given, NULL, 10) : (fl_u64)time(NULL);
	printf("# FAIRLEAD_SEED=%llu\n", (unsigned long long)seed);
	seed = seed * 2654435761U + 1;
	stand_open();
	return cmocka_run_group_tests_name("checksums of mangled packets", tests, NULL, NULL);
}
