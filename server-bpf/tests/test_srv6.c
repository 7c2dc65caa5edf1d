// SPDX-License-Identifier: Apache-2.0
/*
 * srv6.json against the XDP program: what is accepted and refused, chained, passed on and tagged, byte by byte from the
 * Ethernet header on; and what is not ours, cannot be sent on, or is random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include <fairlead/srv6.h>

#include "../rewrite.h"
#include "counters.h"
#include "program.h"
#include "rig.h"
#include "vectors.h"

enum {
	SRH_AT = PACKET_ETH_LEN + FL_IPV6_LEN,
	FLOW_LABEL = 0x6b8deadb, /* version 6, traffic class 0xb8, flow label 0xdeadb */
	HOP_LIMIT = 7,
	RANDOM_PACKETS = 20000,
	MUTATIONS_MAX = 4,
};

static const fl_u8 mac_of_rig0[6] = {0x02, 0, 0, 0, 0, 0x02};

static struct fl_server *program, *passing, *with_key, *passing_with_key;

/* A packet of the mux to a server: from the SRH on as given; finish_srh() sets its length. */
static struct packet begin_srh(const char *destination, const void *srh, size_t len)
{
	struct fl_address mux = packet_address(RIG_MUX6), self = packet_address(destination);
	struct packet packet;
	fl_u8 *ip = packet.data + PACKET_ETH_LEN;

	packet_begin_outer(&packet, &mux, &self, 0);
	packet.len = SRH_AT;
	fl_store_be32(ip, FLOW_LABEL);
	ip[6] = FL_SRV6_PROTOCOL;
	ip[HOP_LIMIT] = 3;
	packet_add_bytes(&packet, srh, len);
	return packet;
}

static void finish_srh(struct packet *packet)
{
	fl_store_be16(packet->data + PACKET_ETH_LEN + 4, (fl_u16)(packet->len - SRH_AT));
}

/* The header of a row and behind it a segment of an unknown connection, of the family that it names. */
static struct packet unknown_make(const char *destination, const struct vectors_bytes *srh)
{
	size_t len = (1U + srh->data[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT;
	struct packet packet = begin_srh(destination, srh->data, len);
	enum rig_family family = srh->data[FL_SRV6_AT_NEXT] == FL_GUE_PROTO_IPV4 ? RIG_IPV4 : RIG_IPV6;

	packet_add_tcp(&packet, &rig_packets(family)->unknown);
	finish_srh(&packet);
	return packet;
}

static void check_untouched(struct fl_server *server, const struct packet *packet, int action, enum fl_counter counter)
{
	struct packet after = *packet;

	assert_int_equal(rig_run(server, &after), action);
	rig_check_counted(server, counter);
	assert_int_equal(after.len, packet->len);
	assert_memory_equal(after.data, packet->data, packet->len);
}

/* A SYN is delivered whatever the header says, and also a foreign headend's. */
static void valid(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	const json_t *fields = vectors_get(*state, "fields");
	bool ipv4 = vectors_number(fields, "innerProtocol") == FL_GUE_PROTO_IPV4;
	size_t len = vectors_number(fields, "headerLength");
	struct packet packet = begin_srh(RIG_SELF6, bytes.data, len), after;

	packet_add_tcp(&packet, &rig_packets(ipv4 ? RIG_IPV4 : RIG_IPV6)->syn);
	finish_srh(&packet);
	after = packet;
	assert_int_equal(rig_run(program, &after), XDP_PASS);
	rig_check_counted(program, FL_COUNTER_DELIVER_SYN);
	assert_int_equal(after.len, packet.len - FL_IPV6_LEN - len);
	assert_int_equal(fl_load_be16(after.data + 12), ipv4 ? 0x0800 : 0x86dd);
	assert_memory_equal(after.data + PACKET_ETH_LEN, packet.data + SRH_AT + len, packet.len - SRH_AT - len);
	vectors_free(&bytes);
}

static enum fl_counter counter_named(const char *name)
{
	int counter = 0;

	while (counter < FL_COUNTERS && strcmp(fl_counter_names[counter], name) != 0)
		counter++;
	assert_int_not_equal(counter, FL_COUNTERS);
	return (enum fl_counter)counter;
}

/* What ends before its SRH does contradicts the outer length, and other next headers are not ours. */
static void malformed(void **state)
{
	const char *error = vectors_text(*state, "error");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = begin_srh(RIG_SELF6, bytes.data, bytes.len);
	bool is_short = bytes.len <= FL_SRV6_AT_UNITS || bytes.len < (1U + bytes.data[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT;
	char name[64];

	finish_srh(&packet);
	snprintf(name, sizeof(name), "drop_malformed_%s", error);
	if (bytes.len < FL_SRV6_AT_SEGMENT || !strcmp(error, "inner_protocol"))
		check_untouched(program, &packet, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
	else if (is_short)
		check_untouched(program, &packet, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
	else
		check_untouched(program, &packet, XDP_DROP, counter_named(name));
	vectors_free(&bytes);
}

/* What the packet becomes on its way from a server to the next: written from scratch, but for the SRH. */
static struct packet sent_on(const struct packet *before, const struct vectors_bytes *srh, const char *from,
			     const char *to)
{
	struct fl_address source = packet_address(from), next = packet_address(to);
	size_t len = (1U + srh->data[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT;
	struct packet expected = *before;
	fl_u8 *ip = expected.data + PACKET_ETH_LEN;

	ip[HOP_LIMIT] = FL_CHAIN_TTL;
	memcpy(ip + FL_IPV6_AT_SOURCE, source.bytes, 16);
	memcpy(ip + FL_IPV6_AT_DESTINATION, next.bytes, 16);
	memcpy(expected.data + SRH_AT, srh->data, len);
	memcpy(expected.data, "\x02\x00\x00\x00\x00\x01", 6); /* the router */
	memcpy(expected.data + 6, mac_of_rig0, 6);
	return expected;
}

static void check_sent_on(struct fl_server *server, struct packet *packet, const struct packet *expected,
			  enum fl_counter counter)
{
	assert_int_equal(rig_run(server, packet), XDP_TX);
	rig_check_counted(server, counter);
	assert_int_equal(packet->len, expected->len);
	assert_memory_equal(packet->data, expected->data, expected->len);
}

/* Moved away lately, as memory knows: later than the packet says. */
static void remember(struct fl_server *server, const char *previous)
{
	struct fl_bucket_memory memory = {.since = (fl_u32)time(NULL), .generation = UINT32_MAX};

	if (previous)
		memory.previous = packet_address(previous);
	rig_memory_set(server, previous ? &memory : NULL);
	rig_generation_set(server, 0);
}

static void chained(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	const char *next = vectors_text(*state, "next");
	struct packet packet = unknown_make(RIG_SELF6, &before);
	struct packet expected = sent_on(&packet, &after, RIG_SELF6, next);

	remember(program, next);
	check_sent_on(program, &packet, &expected, FL_COUNTER_CHAIN);
	vectors_free(&before);
	vectors_free(&after);
}

/* By the server that the rows' first moves are from, which is no move. */
static void promoted(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct fl_address owner;
	struct packet packet = unknown_make("2001:db8::21", &before), expected;
	bool is_to_self;

	memcpy(owner.bytes, before.data + FL_SRV6_AT_SEGMENT, 16);
	expected = sent_on(&packet, &after, "2001:db8::21", "2001:db8::23");
	is_to_self = memcmp(owner.bytes, packet.data + PACKET_ETH_LEN + FL_IPV6_AT_DESTINATION, 16) == 0;
	rig_memory_set(passing, NULL);
	rig_generation_set(passing, 0);
	if (is_to_self) {
		assert_int_equal(rig_run(passing, &packet), XDP_PASS);
		rig_check_counted(passing, FL_COUNTER_DELIVER_UNKNOWN);
	} else {
		check_sent_on(passing, &packet, &expected, FL_COUNTER_PASS_ON);
	}
	vectors_free(&before);
	vectors_free(&after);
}

static void tagged(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), after = vectors_bytes(*state, "chained");
	const char *next = vectors_text(*state, "next");
	struct packet packet = begin_srh(RIG_SELF6, bytes.data, bytes.len), whole, expected;

	finish_srh(&packet);
	whole = packet;
	expected = sent_on(&packet, &after, RIG_SELF6, next);
	remember(with_key, next);
	check_sent_on(with_key, &packet, &expected, FL_COUNTER_CHAIN);
	whole.data[SRH_AT + FL_SRV6_AT_SERVICE] ^= 1;
	check_untouched(with_key, &whole, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	vectors_free(&after);
	if (!vectors_is_null(*state, "promoted")) {
		after = vectors_bytes(*state, "promoted");
		packet = begin_srh("2001:db8::21", bytes.data, bytes.len);
		finish_srh(&packet);
		expected = sent_on(&packet, &after, "2001:db8::21", "2001:db8::23");
		rig_memory_set(passing_with_key, NULL);
		rig_generation_set(passing_with_key, 0);
		check_sent_on(passing_with_key, &packet, &expected, FL_COUNTER_PASS_ON);
		vectors_free(&after);
	}
	vectors_free(&bytes);
}

static const struct fl_steer plain = {
    .inner_protocol = FL_GUE_PROTO_IPV4, .service = RIG_SERVICE, .bucket = RIG_BUCKET, .generation = RIG_GENERATION};

static struct packet steer_make(const struct fl_steer *steer, size_t payload)
{
	struct fl_address self = packet_address(RIG_SELF6);
	fl_u8 srh[FL_SRV6_MAX_LEN];
	struct packet packet = begin_srh(RIG_SELF6, srh, fl_srv6_write(steer, &self, srh));

	packet_add_udp(&packet, &rig_packets(RIG_IPV4)->udp_other, payload);
	finish_srh(&packet);
	return packet;
}

/* A move that the mux has not applied, to where this row says; nothing of the packet changes if it is dropped. */
static void check_chain_dropped(const char *previous, size_t payload, enum fl_counter counter)
{
	struct packet packet = steer_make(&plain, payload);

	remember(program, previous);
	check_untouched(program, &packet, XDP_DROP, counter);
}

static void cannot_be_chained(void **state)
{
	(void)state;
	check_chain_dropped("10.1.0.21", 100, FL_COUNTER_DROP_CHAIN_FAMILY);
	check_chain_dropped("2001:db8:1::2", 100, FL_COUNTER_DROP_CHAIN_UNROUTABLE); /* this host */
	rig_command("ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21 mtu lock 1300");
	check_chain_dropped("2001:db8:8::1", 1301 - 80 - 28, FL_COUNTER_DROP_CHAIN_TOO_BIG);
	rig_command("ip -6 route del 2001:db8:8::/48");
}

/* The largest that fits. The neighbour is not resolved: the kernel gets it, rewritten but for its source. */
static void chained_by_the_kernel(void **state)
{
	struct packet packet = steer_make(&plain, 1500 - 80 - 28), expected = packet;
	struct fl_address next = packet_address("2001:db8:1::99");
	fl_u8 *ip = expected.data + PACKET_ETH_LEN;

	(void)state;
	remember(program, "2001:db8:1::99");
	ip[HOP_LIMIT] = FL_CHAIN_TTL;
	memcpy(ip + FL_IPV6_AT_DESTINATION, next.bytes, 16);
	memcpy(expected.data + SRH_AT + FL_SRV6_AT_SEGMENT, next.bytes, 16);
	expected.data[SRH_AT + FL_SRV6_AT_VERSION]++;
	assert_int_equal(rig_run(program, &packet), XDP_PASS);
	rig_check_counted(program, FL_COUNTER_CHAIN_BY_KERNEL);
	assert_memory_equal(packet.data, expected.data, expected.len);
}

/* From a mux that has not applied the highest generation: the server says so where it sends the packet on. */
static void late(void **state)
{
	struct packet packet = steer_make(&plain, 100);

	(void)state;
	remember(program, "2001:db8:1::21");
	rig_generation_set(program, RIG_GENERATION + 1);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	assert_int_equal(packet.data[SRH_AT + FL_SRV6_AT_FLAGS], FL_STEER_LATE);
}

/* The server owns both buckets, and the second one moved to it lately: promoted, and chained by that one. */
static void promoted_and_chained(void **state)
{
	struct fl_steer steer = plain;
	struct packet packet;
	struct fl_address next = packet_address("2001:db8:1::24");

	(void)state;
	steer.flags = FL_STEER_SECOND | FL_STEER_MOVED2;
	steer.second.bucket = RIG_BUCKET + 1;
	steer.second.owner = packet_address(RIG_SELF6);
	steer.second.since = (fl_u32)time(NULL);
	steer.second.previous = next;
	rig_memory_set(program, NULL);
	rig_generation_set(program, 0);
	{
		struct fl_address self = packet_address(RIG_SELF6);
		fl_u8 srh[FL_SRV6_MAX_LEN];

		packet = begin_srh(RIG_SELF6, srh, fl_srv6_write(&steer, &self, srh));
	}
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	finish_srh(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	assert_int_equal(packet.data[SRH_AT + FL_SRV6_AT_LEFT], 0);
	assert_int_equal(packet.data[SRH_AT + FL_SRV6_AT_VERSION], FL_STEER_VERSION << 4 | 1);
	assert_int_equal(packet.data[SRH_AT + FL_SRV6_AT_FLAGS], 0);
	assert_int_equal(fl_load_be32(packet.data + SRH_AT + FL_SRV6_AT_BUCKET), RIG_BUCKET + 1);
	assert_memory_equal(packet.data + SRH_AT + FL_SRV6_AT_SEGMENT, next.bytes, 16);
}

/* An ICMP error about what this host sent in that connection. */
static void add_error(struct packet *packet, const struct packet_flow *of)
{
	struct packet_tcp sent = {.flow = packet_reverse(of), .flags = TCP_ACK};
	struct packet quoted = {.len = 0};
	size_t at = packet->len;

	packet_add_tcp(&quoted, &sent);
	packet_add_icmp_error(packet, &of->source, &quoted);
	/* It is sent to the VIP, regardless of what it quotes. */
	if (fl_address_is_ipv4(&of->source))
		memcpy(packet->data + at + 16, of->destination.bytes + 12, 4);
	else
		memcpy(packet->data + at + 24, of->destination.bytes, 16);
}

static void add_later_fragment(struct packet *packet)
{
	fl_u8 *ip = packet->data + packet->len;

	packet_add_udp(packet, &rig_packets(RIG_IPV4)->udp_unconnected, 40);
	fl_store_be16(ip + 6, 5); /* in units of 8 bytes */
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

/* ICMP errors go where the connection that they quote is; later fragments are chained while the move is open. */
static void errors_and_fragments(void **state)
{
	static const struct {
		enum { ERROR_KNOWN, ERROR_UNKNOWN, LATER_FRAGMENT } what;
		enum rig_family family;
		const char *moved_from;
		int action;
		enum fl_counter counter;
	} rows[] = {
	    {ERROR_KNOWN, RIG_IPV4, "2001:db8:1::24", XDP_PASS, FL_COUNTER_DELIVER_LOCAL_SOCKET},
	    {ERROR_KNOWN, RIG_IPV6, NULL, XDP_PASS, FL_COUNTER_DELIVER_LOCAL_SOCKET},
	    {ERROR_UNKNOWN, RIG_IPV4, "2001:db8:1::24", XDP_TX, FL_COUNTER_CHAIN},
	    {ERROR_UNKNOWN, RIG_IPV4, NULL, XDP_TX, FL_COUNTER_PASS_ON},
	    {ERROR_UNKNOWN, RIG_IPV6, NULL, XDP_TX, FL_COUNTER_PASS_ON},
	    {LATER_FRAGMENT, RIG_IPV4, "2001:db8:1::24", XDP_TX, FL_COUNTER_CHAIN},
	    {LATER_FRAGMENT, RIG_IPV4, NULL, XDP_PASS, FL_COUNTER_DELIVER_NO_RESET},
	};
	struct fl_address self = packet_address(RIG_SELF6);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rig_packets *packets = rig_packets(rows[i].family);
		bool is_ipv4 = rows[i].family == RIG_IPV4;
		struct fl_steer steer = plain;
		fl_u8 srh[FL_SRV6_MAX_LEN];
		struct packet packet;

		steer.inner_protocol = is_ipv4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6;
		steer.flags = FL_STEER_SECOND;
		steer.second.bucket = RIG_BUCKET + 1;
		steer.second.owner = packet_address("2001:db8:1::23");
		packet = begin_srh(RIG_SELF6, srh, fl_srv6_write(&steer, &self, srh));
		if (rows[i].what == LATER_FRAGMENT)
			add_later_fragment(&packet);
		else
			add_error(&packet,
				  rows[i].what == ERROR_KNOWN ? &packets->established.flow : &packets->unknown.flow);
		finish_srh(&packet);
		remember(program, rows[i].moved_from);
		assert_int_equal(rig_run(program, &packet), rows[i].action);
		rig_check_counted(program, rows[i].counter);
	}
}

static void not_ours(void **state)
{
	struct packet packet = steer_make(&plain, 100);
	struct packet other = packet;

	(void)state;
	other.data[SRH_AT + FL_SRV6_AT_TYPE] = 2;
	check_untouched(program, &other, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[PACKET_ETH_LEN + FL_IPV6_AT_DESTINATION + 15]++;
	check_untouched(program, &other, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[PACKET_ETH_LEN + 6] = 44; /* a fragment: the kernel's to reassemble */
	check_untouched(program, &other, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[PACKET_ETH_LEN + FL_IPV6_AT_SOURCE] = 0x30;
	check_untouched(program, &other, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	other = packet;
	other.len--;
	check_untouched(program, &other, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
}

/* No tag can vouch for a foreign headend's packet. */
static void foreign_with_key(void **state)
{
	fl_u8 srh[FL_SRV6_FOREIGN_LEN] = {FL_GUE_PROTO_IPV4, 2, FL_SRV6_ROUTING_TYPE};
	struct packet packet = begin_srh(RIG_SELF6, srh, sizeof(srh));

	(void)state;
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
	finish_srh(&packet);
	check_untouched(with_key, &packet, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING);
}

/* Every packet leaves by exactly one counter, whatever is in it. */
static void random_packets(void **state)
{
	struct fl_steer steer = plain;
	unsigned int seed = 20261123;
	int i, k;

	(void)state;
	steer.flags = FL_STEER_MOVED | FL_STEER_SECOND | FL_STEER_MOVED2;
	steer.second.owner = packet_address("2001:db8:1::23");
	for (i = 0; i < RANDOM_PACKETS; i++) {
		struct packet packet = steer_make(&steer, 40);

		for (k = 0; k <= (int)(rand_r(&seed) % MUTATIONS_MAX); k++)
			packet.data[PACKET_ETH_LEN + rand_r(&seed) % (packet.len - PACKET_ETH_LEN)] =
			    (fl_u8)rand_r(&seed);
		if (rand_r(&seed) % 4 == 0)
			packet.len = PACKET_ETH_LEN + rand_r(&seed) % (packet.len - PACKET_ETH_LEN);
		rig_run(program, &packet);
		if (rig_counter_bumped(program) == FL_COUNTERS)
			fail_msg("seed 20261123, packet %d left by another number of counters than one", i);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"what cannot be chained", cannot_be_chained},
	    {"chained to a neighbour that is not resolved", chained_by_the_kernel},
	    {"a late mux's packet is marked", late},
	    {"promoted and chained", promoted_and_chained},
	    {"ICMP errors and later fragments", errors_and_fragments},
	    {"what is not ours, or not trusted", not_ours},
	    {"a foreign headend's packet with the cluster's key", foreign_with_key},
	    {"random packets", random_packets},
	};
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "srv6.json");
	struct config config = rig_config_both(), former;
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_open();
	former = config;
	rig_become_former(&former);
	program = rig_load(&config);
	passing = rig_load(&former);
	config.program.tagged = former.program.tagged = 1;
	config.program.tag_key = former.program.tag_key = vectors_key(file, "key");
	with_key = rig_load(&config);
	passing_with_key = rig_load(&former);
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "tagged", tagged);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("segment routing by the XDP program", &tests);
	program_close(passing_with_key);
	program_close(with_key);
	program_close(passing);
	program_close(program);
	json_decref(file);
	return failed;
}
