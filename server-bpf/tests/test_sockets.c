// SPDX-License-Identifier: Apache-2.0
/*
 * Socket lookup by the program, for IPv4 and IPv6: each kind of inner packet is sent twice, once without candidates (it is
 * delivered, and the counter tells its class) and once with one, to which only unknown ones are sent on.
 */
#include <stdio.h>
#include <string.h>

#include <linux/bpf.h>

#include "class_row.h"
#include "counters.h"
#include "program.h"
#include "rig.h"
#include "vectors.h"

static struct fl_server *program;

struct kind {
	const char *name;
	void (*add)(struct packet *packet, enum rig_family family);
	enum fl_counter counter; /* without candidates */
};

/* A TCP segment with other flags than the ones that the rig has. */
static void add_flags(struct packet *packet, const struct packet_tcp *tcp, fl_u8 flags)
{
	struct packet_tcp changed = *tcp;

	changed.flags = flags;
	packet_add_tcp(packet, &changed);
}

static void syn_ack(struct packet *packet, enum rig_family family)
{
	add_flags(packet, &rig_packets(family)->unknown, TCP_SYN | TCP_ACK);
}

static void syn_rst(struct packet *packet, enum rig_family family)
{
	add_flags(packet, &rig_packets(family)->unknown, TCP_SYN | TCP_RST);
}

static void rst_of_established(struct packet *packet, enum rig_family family)
{
	add_flags(packet, &rig_packets(family)->established, TCP_RST);
}

static void rst_with_cookie(struct packet *packet, enum rig_family family)
{
	add_flags(packet, &rig_packets(family)->cookie_ack, TCP_RST | TCP_ACK);
}

/* An ICMP error about what this host sent in a connection. */
static void add_error(struct packet *packet, const struct packet_flow *of, const char *quoted_source)
{
	struct fl_address router = packet_address(fl_address_is_ipv4(&of->source) ? "10.2.0.1" : "2001:db8:2::1");
	struct packet_tcp sent = {.flow = packet_reverse(of), .flags = TCP_ACK};
	struct packet quoted = {.len = 0};
	struct packet_flow to_us = *of;
	size_t at = packet->len;

	if (quoted_source)
		sent.flow.source = packet_address(quoted_source);
	packet_add_tcp(&quoted, &sent);
	packet_add_icmp_error(packet, &router, &quoted);
	/* The error is sent to the VIP, regardless of what it quotes. */
	if (fl_address_is_ipv4(&of->source))
		memcpy(packet->data + at + 16, to_us.destination.bytes + 12, 4);
	else
		memcpy(packet->data + at + 24, to_us.destination.bytes, 16);
}

static void error_about_established(struct packet *packet, enum rig_family family)
{
	add_error(packet, &rig_packets(family)->established.flow, NULL);
}

static void error_about_unknown(struct packet *packet, enum rig_family family)
{
	add_error(packet, &rig_packets(family)->unknown.flow, NULL);
}

static void error_about_another_host(struct packet *packet, enum rig_family family)
{
	add_error(packet, &rig_packets(family)->established.flow, family == RIG_IPV4 ? "10.99.0.9" : "2001:db8:99::9");
}

/* Makes a fragment of the IP packet that begins at `at`. */
static void fragment(struct packet *packet, size_t at, fl_u16 offset)
{
	fl_u8 *ip = packet->data + at, *payload = ip + 40;

	if (ip[0] >> 4 == 4) {
		fl_store_be16(ip + 6, 0x2000 | offset);
		return;
	}
	memmove(payload + 8, payload, packet->len - at - 40);
	packet->len += 8;
	memset(payload, 0, 8);
	payload[0] = ip[6];
	fl_store_be16(payload + 2, (fl_u16)(offset << 3 | 1));
	ip[6] = 44;
	fl_store_be16(ip + 4, (fl_u16)(fl_load_be16(ip + 4) + 8));
}

static void first_fragment(struct packet *packet, enum rig_family family)
{
	size_t at = packet->len;

	packet_add_tcp(packet, &rig_packets(family)->established);
	fragment(packet, at, 0);
}

static void first_fragment_udp(struct packet *packet, enum rig_family family)
{
	size_t at = packet->len;

	packet_add_udp(packet, &rig_packets(family)->udp_connected, 32);
	fragment(packet, at, 0);
}

static void first_fragment_of_unknown(struct packet *packet, enum rig_family family)
{
	size_t at = packet->len;

	packet_add_udp(packet, &rig_packets(family)->udp_other, 32);
	fragment(packet, at, 0);
}

/* Its first bytes would be the ports of a connection. */
static void later_fragment(struct packet *packet, enum rig_family family)
{
	size_t at = packet->len;

	packet_add_udp(packet, &rig_packets(family)->udp_connected, 32);
	fragment(packet, at, 5);
}

static void other_protocol(struct packet *packet, enum rig_family family)
{
	size_t at = packet->len;

	packet_add_tcp(packet, &rig_packets(family)->established);
	packet->data[at + (family == RIG_IPV4 ? 9 : 6)] = 132;
}

static const struct kind kinds[] = {
    {"SYN-ACK", syn_ack, FL_COUNTER_DELIVER_UNKNOWN},
    {"SYN with RST opens nothing", syn_rst, FL_COUNTER_DELIVER_UNKNOWN},
    {"RST of an established connection", rst_of_established, FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"RST with a valid SYN cookie", rst_with_cookie, FL_COUNTER_DELIVER_UNKNOWN},
    {"ICMP error about an established connection", error_about_established, FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"ICMP error about an unknown connection", error_about_unknown, FL_COUNTER_DELIVER_UNKNOWN},
    {"ICMP error about what another host sent", error_about_another_host, FL_COUNTER_DELIVER_UNKNOWN},
    {"first fragment of an established connection", first_fragment, FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"first fragment to a connected UDP socket", first_fragment_udp, FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"first fragment of an unknown connection", first_fragment_of_unknown, FL_COUNTER_DELIVER_UNKNOWN},
    {"later fragment", later_fragment, FL_COUNTER_DELIVER_NO_RESET},
    {"a protocol without sockets", other_protocol, FL_COUNTER_DELIVER_UNKNOWN},
};

static void begin(struct packet *packet, enum rig_family family, bool has_candidate)
{
	struct fl_list list = rig_list(family);

	list.count = list.left = has_candidate;
	list.candidate[0] = packet_address("10.1.0.21");
	rig_begin(packet, &list);
}

/* Sends a packet with or without a candidate. */
static void check(const char *what, enum rig_family family, struct packet *packet, bool has_candidate,
		  enum fl_counter counter)
{
	bool is_unknown = counter == FL_COUNTER_DELIVER_UNKNOWN || counter == FL_COUNTER_DELIVER_NO_RESET;
	bool is_chained = has_candidate && is_unknown;
	enum fl_counter expected = is_chained ? FL_COUNTER_CHAIN : counter, found;
	int action;

	packet_finish_outer(packet);
	action = rig_run(program, packet);
	found = rig_counter_bumped(program);
	if (found != expected)
		fail_msg("%s, IPv%d, %s: counted as %s, not as %s", what, family == RIG_IPV4 ? 4 : 6,
			 has_candidate ? "a candidate" : "no candidates",
			 found < FL_COUNTERS ? fl_counter_names[found] : "none or several", fl_counter_names[expected]);
	assert_int_equal(action, is_chained ? XDP_TX : XDP_PASS);
}

static void run(void **state)
{
	const struct kind *kind = *state;
	struct packet packet;
	int family, listed;

	for (family = 0; family < RIG_FAMILIES; family++)
		for (listed = 0; listed <= 1; listed++) {
			begin(&packet, (enum rig_family)family, listed);
			kind->add(&packet, (enum rig_family)family);
			check(kind->name, (enum rig_family)family, &packet, listed, kind->counter);
		}
}

static void run_row_once(const struct class_row *row, enum rig_family family, enum rig_pair pair, bool has_candidate)
{
	struct packet packet;
	char what[128];

	begin(&packet, family, has_candidate);
	class_row_add(&packet, row, rig_packets(family), pair);
	snprintf(what, sizeof(what), "%s%s", row->name, class_row_pair_name(row, pair));
	check(what, family, &packet, has_candidate, row->counter);
}

static void run_row(void **state)
{
	const struct class_row *row = *state;
	int family, pair, listed;

	for (family = 0; family < RIG_FAMILIES; family++)
		for (pair = 0; pair < class_row_pairs(row); pair++)
			for (listed = 0; listed <= 1; listed++)
				run_row_once(row, (enum rig_family)family, (enum rig_pair)pair, listed);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config();
	size_t i;
	int failed;

	rig_open();
	program = rig_load(&config);
	for (i = 0; i < class_rows_count; i++)
		vectors_add_plain(&tests, class_rows[i].name, run_row, (void *)(uintptr_t)&class_rows[i]);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		vectors_add_plain(&tests, kinds[i].name, run, (void *)(uintptr_t)&kinds[i]);
	failed = vectors_run("sockets by the XDP program", &tests);
	program_close(program);
	return failed;
}
