// SPDX-License-Identifier: Apache-2.0
/*
 * What is accepted and rejected: outer and inner packets that are odd, cut short at each length, and 20,000 random ones.
 * (Headers: list_vectors.c.) A packet that isn't ours passes untouched; one that is ours
 * leaves by exactly one counter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include <fairlead/notice.h>

#include "counters.h"
#include "program.h"
#include "rig.h"
#include "vectors.h"

enum {
	RANDOM_PACKETS = 20000,
	MUTATIONS_MAX = 4,
};

static struct fl_server *program;

static void ip_checksum_fix(struct packet *packet, size_t len)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;

	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, len, 0));
}

/* A SYN as a mux sends it. */
static struct packet syn_make(void)
{
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet;

	rig_begin(&packet, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
	packet_finish_outer(&packet);
	return packet;
}

/* Runs a packet that must leave as it came. */
static void check_untouched(const struct packet *packet, int action, enum fl_counter counter)
{
	struct packet after = *packet;

	assert_int_equal(rig_run(program, &after), action);
	rig_check_counted(program, counter);
	assert_int_equal(after.len, packet->len);
	assert_memory_equal(after.data, packet->data, packet->len);
}

static void check_delivered(const struct packet *packet, size_t inner_at, fl_u16 type)
{
	struct packet after = *packet;

	assert_int_equal(rig_run(program, &after), XDP_PASS);
	rig_check_counted(program, FL_COUNTER_DELIVER_SYN);
	assert_int_equal(after.len, packet->len - inner_at + FL_ETHERNET_LEN);
	assert_memory_equal(after.data, packet->data, 12);
	assert_int_equal(fl_load_be16(after.data + 12), type);
	assert_memory_equal(after.data + FL_ETHERNET_LEN, packet->data + inner_at, packet->len - inner_at);
}

/* Outer headers: the change to a valid packet, and its verdict. */
static void type_arp(struct packet *p)
{
	fl_store_be16(p->data + 12, 0x0806);
}

static void type_ipv6(struct packet *p)
{
	fl_store_be16(p->data + 12, 0x86dd);
}

static void type_vlan(struct packet *p)
{
	fl_store_be16(p->data + 12, 0x8100);
}

static void version_5(struct packet *p)
{
	p->data[PACKET_OUTER_AT] = 0x55;
}

static void header_of_4_words(struct packet *p)
{
	p->data[PACKET_OUTER_AT] = 0x44;
}

static void protocol_tcp(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 9] = 6;
}

static void other_destination(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 19]++;
}

static void other_port(struct packet *p)
{
	p->data[PACKET_UDP_AT + 3]++;
}

static void second_fragment(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 6, 0x0001);
}

static void first_fragment(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 6, 0x2000);
	ip_checksum_fix(p, 20);
}

static void options(struct packet *p)
{
	memmove(p->data + PACKET_UDP_AT + 4, p->data + PACKET_UDP_AT, p->len - PACKET_UDP_AT);
	memset(p->data + PACKET_UDP_AT, 1, 4);
	p->len += 4;
	p->data[PACKET_OUTER_AT] = 0x46;
	fl_store_be16(p->data + PACKET_OUTER_AT + 2, (fl_u16)(p->len - PACKET_OUTER_AT));
	ip_checksum_fix(p, 24);
}

static void wrong_checksum(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 11]++;
}

static void ip_longer_than_frame(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 2, (fl_u16)(p->len - PACKET_OUTER_AT + 1));
	ip_checksum_fix(p, 20);
}

static void ip_shorter_than_udp_header(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 2, 27);
	ip_checksum_fix(p, 20);
}

static void udp_shorter_than_ip(struct packet *p)
{
	p->data[PACKET_UDP_AT + 5]--;
}

static void udp_longer_than_ip(struct packet *p)
{
	p->data[PACKET_UDP_AT + 5]++;
}

static void stranger(struct packet *p)
{
	fl_store_be32(p->data + PACKET_OUTER_AT + 12, 0xc0000201);
	ip_checksum_fix(p, 20);
}

static void stranger_and_malformed(struct packet *p)
{
	wrong_checksum(p);
	fl_store_be32(p->data + PACKET_OUTER_AT + 12, 0xc0000201);
	p->data[PACKET_GUE_AT] = 0xff;
}

static void just_outside_peers(struct packet *p)
{
	fl_store_be32(p->data + PACKET_OUTER_AT + 12, 0x0a010100);
	ip_checksum_fix(p, 20);
}

/* Inner headers; the inner packet is IPv4, behind a header without candidates. */
enum {
	INNER_AT = PACKET_GUE_AT + FL_LIST_AT_CANDIDATES,
};

static void inner_is_ipv6(struct packet *p)
{
	p->data[INNER_AT] = 0x65;
}

static void gue_says_ipv6(struct packet *p)
{
	p->data[PACKET_GUE_AT + 1] = FL_LIST_GUE_IPV6;
}

static void inner_header_of_4_words(struct packet *p)
{
	p->data[INNER_AT] = 0x44;
}

static void inner_longer_than_outer(struct packet *p)
{
	p->data[INNER_AT + 3]++;
}

static void inner_shorter_than_its_header(struct packet *p)
{
	fl_store_be16(p->data + INNER_AT + 2, 19);
}

/* The list header is longer than the UDP datagram; what it covers is Ethernet padding. */
static void header_in_padding(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 2, 20 + 8 + 4);
	fl_store_be16(p->data + PACKET_UDP_AT + 4, 8 + 4);
	ip_checksum_fix(p, 20);
}

static const struct oddity {
	const char *name;
	void (*change)(struct packet *packet);
	int action;
	enum fl_counter counter;
} oddities[] = {
    {"ARP is not ours", type_arp, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"IPv6 is not ours", type_ipv6, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"a VLAN is not ours", type_vlan, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"IP version 5 is not ours", version_5, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"an IP header of 16 bytes is not ours", header_of_4_words, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"TCP to our address is not ours", protocol_tcp, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"another destination is not ours", other_destination, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"another port is not ours", other_port, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"a later fragment is not ours", second_fragment, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"a first fragment", first_fragment, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT},
    {"IP options", options, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_HEADER},
    {"a wrong IP checksum", wrong_checksum, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_HEADER},
    {"IP longer than the frame", ip_longer_than_frame, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"IP shorter than a UDP header", ip_shorter_than_udp_header, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"UDP shorter than IP", udp_shorter_than_ip, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"UDP longer than IP", udp_longer_than_ip, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"a stranger", stranger, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER},
    {"a stranger's malformed packet is a stranger's", stranger_and_malformed, XDP_DROP,
     FL_COUNTER_DROP_UNTRUSTED_SENDER},
    {"the address behind the peers' last", just_outside_peers, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER},
    {"inner version is not 4", inner_is_ipv6, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER},
    {"inner version is not 6", gue_says_ipv6, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER},
    {"an inner header of 16 bytes", inner_header_of_4_words, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER},
    {"inner longer than outer", inner_longer_than_outer, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER},
    {"inner shorter than its header", inner_shorter_than_its_header, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER},
    {"a list header in Ethernet padding", header_in_padding, XDP_DROP, FL_COUNTER_DROP_MALFORMED_TRUNCATED},
};

static void oddity(void **state)
{
	const struct oddity *row = *state;
	struct packet packet = syn_make();

	row->change(&packet);
	check_untouched(&packet, row->action, row->counter);
}

/* A frame that ends before the UDP header does isn't known to be ours; after that its lengths are wrong. */
static void cut_frame(void **state)
{
	struct packet whole = syn_make(), packet;

	(void)state;
	for (packet = whole, packet.len = FL_ETHERNET_LEN; packet.len < whole.len; packet.len++) {
		if (packet.len < PACKET_GUE_AT)
			check_untouched(&packet, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
		else
			check_untouched(&packet, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
	}
}

/* The same with lengths that agree: first the list header is too short, then the inner packet. */
static void cut_packet(void **state)
{
	struct packet whole = syn_make(), packet;

	(void)state;
	for (packet = whole, packet.len = PACKET_GUE_AT; packet.len < whole.len; packet.len++) {
		packet_finish_outer(&packet);
		if (packet.len < INNER_AT)
			check_untouched(&packet, XDP_DROP, FL_COUNTER_DROP_MALFORMED_TRUNCATED);
		else
			check_untouched(&packet, XDP_DROP, FL_COUNTER_DROP_MALFORMED_INNER);
	}
}

/* Ethernet padding behind the IP packet is ignored. */
static void padded_frame(void **state)
{
	struct packet packet = syn_make();

	(void)state;
	packet_add_bytes(&packet, "padding", 7);
	check_delivered(&packet, INNER_AT, 0x0800);
}

static void counters_have_names(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < FL_COUNTERS; i++) {
		assert_non_null(fl_counter_names[i]);
		for (j = 0; j < i; j++)
			assert_string_not_equal(fl_counter_names[i], fl_counter_names[j]);
	}
}

static bool is_action_of(int action, enum fl_counter counter)
{
	if (counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_NOTICE)
		return action == XDP_TX;
	if (counter <= FL_COUNTER_DELIVER_UNKNOWN || counter == FL_COUNTER_CHAIN_BY_KERNEL)
		return action == XDP_PASS;
	return action == XDP_DROP;
}

static void random_begin(struct packet *packet)
{
	bool ipv4 = random() % 2;
	struct fl_address mux = packet_address(ipv4 ? RIG_MUX : RIG_MUX6);
	struct fl_address self = packet_address(ipv4 ? RIG_SELF : RIG_SELF6);

	packet_begin_outer(packet, &mux, &self, FL_LIST_GUE_PORT);
}

/* Another server, this one, none, one whose neighbour is not resolved, or a stranger. */
static struct fl_address random_candidate(void)
{
	static const char *const candidates[] = {"10.1.0.21", "2001:db8:1::21", RIG_SELF,   RIG_SELF6,
						 "::",        "10.1.0.99",      "192.0.2.1"};

	return packet_address(candidates[random() % 7]);
}

static void random_tcp_add(struct packet *packet)
{
	struct fl_list list = rig_list(random() % 2 ? RIG_IPV4 : RIG_IPV6);
	fl_u8 gue[FL_LIST_MAX_LEN];

	list.flags = (fl_u8)(random() & 15);
	for (list.count = 0; list.count < FL_LIST_MAX && random() % 3; list.count++)
		list.candidate[list.count] = random_candidate();
	list.left = (fl_u8)(random() % (list.count + 1));
	packet_add_bytes(packet, gue, fl_list_write(&list, gue));
	packet_add_tcp(packet, random() % 2 ? &rig_packets(RIG_IPV4)->established : &rig_packets(RIG_IPV6)->unknown);
}

static void random_notice_add(struct packet *packet)
{
	struct fl_notice notice = {
	    .flags = (fl_u8)(random() & 15), .service = RIG_SERVICE, .generation = RIG_GENERATION};
	fl_u8 bytes[FL_NOTICE_MAX_LEN];

	packet_add_bytes(packet, bytes, fl_notice_write(&notice, bytes));
}

/* Every packet increments one counter, which fits the action. */
static void random_packets(void **state)
{
	unsigned int seed = (unsigned int)time(NULL);
	struct packet packet;
	int i, action;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	for (i = 0; i < RANDOM_PACKETS; i++) {
		long mutations = random() % MUTATIONS_MAX;
		enum fl_counter counter;

		random_begin(&packet);
		if (random() % 4 == 0)
			random_notice_add(&packet);
		else
			random_tcp_add(&packet);
		if (random() % 4 == 0)
			packet.len = (size_t)(PACKET_GUE_AT + random() % (long)(packet.len - PACKET_GUE_AT));
		packet.len =
		    packet.len < PACKET_GUE_AT + PACKET_IPV6_MORE ? PACKET_GUE_AT + PACKET_IPV6_MORE : packet.len;
		packet_finish_outer(&packet);
		while (mutations--) /* behind the outer header, so that most packets stay ours */
			packet.data[PACKET_UDP_AT + 4 + random() % 100] = (fl_u8)random();
		action = rig_run(program, &packet);
		counter = rig_counter_bumped(program);
		if (counter == FL_COUNTERS || !is_action_of(action, counter))
			fail_msg("packet %d of seed %u: action %d, counter %s", i, seed, action,
				 counter < FL_COUNTERS ? fl_counter_names[counter] : "none or several");
	}
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config_both();
	size_t i;
	int failed;

	rig_open();
	program = rig_load(&config);
	for (i = 0; i < sizeof(oddities) / sizeof(oddities[0]); i++)
		vectors_add_plain(&tests, oddities[i].name, oddity, (void *)(uintptr_t)&oddities[i]);
	vectors_add_plain(&tests, "frames cut at each length", cut_frame, NULL);
	vectors_add_plain(&tests, "packets cut at each length", cut_packet, NULL);
	vectors_add_plain(&tests, "a frame with padding is delivered", padded_frame, NULL);
	vectors_add_plain(&tests, "every counter has its own name", counters_have_names, NULL);
	vectors_add_plain(&tests, "random packets leave by one counter", random_packets, NULL);
	failed = vectors_run("parsing by the XDP program", &tests);
	program_close(program);
	return failed;
}
