// SPDX-License-Identifier: Apache-2.0
/*
 * Outer headers of both families: each kind of inner packet is delivered from each outer one, with each UDP checksum; and
 * what of an outer IPv6 packet is ours, and what is wrong. (Packets that are sent on: list_decisions.c.)
 */
#include <string.h>

#include <linux/bpf.h>

#include "program.h"
#include "rig.h"
#include "vectors.h"

enum {
	CLASS = 0xba, /* expedited forwarding, ECT(0) */
};

static struct fl_server *program;

struct outer {
	const char *mux, *self;
	size_t ip_len;
};

static const struct outer outers[RIG_FAMILIES] = {
    {RIG_MUX, RIG_SELF, 20},
    {RIG_MUX6, RIG_SELF6, 40},
};

static void class_set(fl_u8 *ip)
{
	if (ip[0] >> 4 == 6) {
		ip[0] = 0x60 | CLASS >> 4;
		ip[1] = (fl_u8)(CLASS << 4);
		return;
	}
	ip[1] = CLASS;
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

static struct packet packet_make(const char *source, const char *destination, enum rig_family inner)
{
	struct fl_address from = packet_address(source), to = packet_address(destination);
	struct fl_list list = rig_list(inner);
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet;

	list.flags = fl_address_is_ipv4(&to) ? 0 : FL_LIST_IPV6;
	packet_begin_outer(&packet, &from, &to, FL_LIST_GUE_PORT);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	packet_add_tcp(&packet, &rig_packets(inner)->established);
	packet_finish_outer(&packet);
	class_set(packet.data + PACKET_OUTER_AT);
	return packet;
}

static void check_packet(const struct packet *packet, const struct packet *expected)
{
	assert_int_equal(packet->len, expected->len);
	assert_memory_equal(packet->data, expected->data, expected->len);
}

static void delivered(void **state)
{
	int outer, inner;

	(void)state;
	for (outer = 0; outer < RIG_FAMILIES; outer++) {
		for (inner = 0; inner < RIG_FAMILIES; inner++) {
			const struct outer *o = &outers[outer];
			struct packet packet = packet_make(o->mux, o->self, (enum rig_family)inner);
			struct packet expected = {.len = 0};

			packet_add_ethernet(&expected, packet.data, packet.data + 6,
					    inner == RIG_IPV4 ? FL_TYPE_IPV4 : FL_TYPE_IPV6);
			packet_add_tcp(&expected, &rig_packets((enum rig_family)inner)->established);
			assert_int_equal(rig_run(program, &packet), XDP_PASS);
			rig_check_counted(program, FL_COUNTER_DELIVER_LOCAL_SOCKET);
			check_packet(&packet, &expected);
		}
	}
}

/* Runs a packet that must leave as it came. */
static void check_untouched(const struct packet *packet, int action, enum fl_counter counter)
{
	struct packet after = *packet;

	assert_int_equal(rig_run(program, &after), action);
	rig_check_counted(program, counter);
	check_packet(&after, packet);
}

/* With an address of one family alone, packets to the other one, or to none, are not ours. */
static void one_family(void **state)
{
	static const char *const addresses[RIG_FAMILIES] = {RIG_SELF, RIG_SELF6};
	struct fl_server *both = program;
	int family;

	(void)state;
	for (family = 0; family < RIG_FAMILIES; family++) {
		struct config config = rig_config_both();
		struct packet packet;

		assert_int_equal(config_set(&config, "address", addresses[family]), 0);
		program = rig_load(&config);
		packet = packet_make(outers[!family].mux, outers[!family].self, RIG_IPV4);
		check_untouched(&packet, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
		packet = packet_make(outers[!family].mux, family == RIG_IPV4 ? "::" : "0.0.0.0", RIG_IPV4);
		check_untouched(&packet, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
		program_close(program);
	}
	program = both;
}

static void type_ipv4(struct packet *p)
{
	fl_store_be16(p->data + 12, FL_TYPE_IPV4);
}

static void version_5(struct packet *p)
{
	p->data[PACKET_OUTER_AT] = 0x50;
}

static void fragment_header(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 6] = 44;
}

static void other_destination(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 39]++;
}

static void other_port(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 43]++;
}

static void longer_than_frame(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 5]++;
	p->data[PACKET_OUTER_AT + 45]++;
}

static void jumbogram(struct packet *p)
{
	fl_store_be16(p->data + PACKET_OUTER_AT + 4, 0);
}

static void udp_shorter(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 45]--;
}

static void stranger(struct packet *p)
{
	p->data[PACKET_OUTER_AT + 8 + 5]++;
}

static void mapped_stranger(struct packet *p)
{
	struct fl_address mapped = packet_address("192.0.2.1");

	memcpy(p->data + PACKET_OUTER_AT + 8, mapped.bytes, sizeof(mapped.bytes));
}

static void mapped_peer(struct packet *p)
{
	struct fl_address mapped = packet_address(RIG_MUX);

	memcpy(p->data + PACKET_OUTER_AT + 8, mapped.bytes, sizeof(mapped.bytes));
}

static const struct oddity {
	const char *name;
	void (*change)(struct packet *packet);
	int action;
	enum fl_counter counter;
} oddities[] = {
    {"outer IPv6 under the type of IPv4 is not ours", type_ipv4, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"outer IPv6 of version 5 is not ours", version_5, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"outer IPv6 with a fragment header is not ours", fragment_header, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"outer IPv6 to another destination is not ours", other_destination, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"outer IPv6 to another port is not ours", other_port, XDP_PASS, FL_COUNTER_PASS_NOT_OURS},
    {"outer IPv6 longer than the frame", longer_than_frame, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"an outer jumbogram", jumbogram, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"UDP shorter than outer IPv6", udp_shorter, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH},
    {"a stranger over IPv6", stranger, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER},
    {"a stranger whose IPv6 address holds an IPv4 one", mapped_stranger, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER},
    {"a peer's IPv4 address mapped into IPv6 is untrusted", mapped_peer, XDP_DROP, FL_COUNTER_DROP_UNTRUSTED_SENDER},
};

static void oddity(void **state)
{
	const struct oddity *row = *state;
	struct packet packet = packet_make(RIG_MUX6, RIG_SELF6, RIG_IPV4);

	row->change(&packet);
	check_untouched(&packet, row->action, row->counter);
}

/* An outer IPv6 frame cut at each length. */
static void cut(void **state)
{
	struct packet whole = packet_make(RIG_MUX6, RIG_SELF6, RIG_IPV6), packet;

	(void)state;
	for (packet = whole, packet.len = FL_ETHERNET_LEN; packet.len < whole.len; packet.len++) {
		if (packet.len < PACKET_GUE_AT + PACKET_IPV6_MORE)
			check_untouched(&packet, XDP_PASS, FL_COUNTER_PASS_NOT_OURS);
		else
			check_untouched(&packet, XDP_DROP, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
	}
}

/* Neither zero nor any other UDP checksum decides anything. */
static void udp_checksums(void **state)
{
	int outer, checksum;

	(void)state;
	for (outer = 0; outer < RIG_FAMILIES; outer++) {
		for (checksum = 0; checksum <= 1; checksum++) {
			struct packet packet = packet_make(outers[outer].mux, outers[outer].self, RIG_IPV4);

			fl_store_be16(packet.data + PACKET_OUTER_AT + outers[outer].ip_len + 6, (fl_u16)checksum);
			assert_int_equal(rig_run(program, &packet), XDP_PASS);
			rig_check_counted(program, FL_COUNTER_DELIVER_LOCAL_SOCKET);
		}
	}
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"delivered: inner and outer of each family", delivered},
	    {"an address of one family", one_family},
	    {"outer IPv6 cut at each length", cut},
	    {"UDP checksums", udp_checksums},
	};
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_open();
	program = rig_load(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	for (i = 0; i < sizeof(oddities) / sizeof(oddities[0]); i++)
		vectors_add_plain(&tests, oddities[i].name, oddity, (void *)(uintptr_t)&oddities[i]);
	failed = vectors_run("outer headers by the XDP program", &tests);
	program_close(program);
	return failed;
}
