// SPDX-License-Identifier: Apache-2.0
/* The XDP program and packets by segment routing that are not ours, cannot be sent on, or are random. */
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include <fairlead/list_srv6.h>

#include "../rewrite.h"
#include "list_form_bpf.h"

enum {
	SRH_AT = FL_ETHERNET_LEN + FL_IPV6_LEN,
	PAYLOAD = 100,
	SEED = 20261123,
	RANDOM_PACKETS = 20000,
	MUTATIONS_MAX = 4,
};

/* A datagram of an unknown connection to RIG_SELF6, with these candidates. */
static struct packet packet_make(const char *first, const char *second, size_t payload)
{
	const char *const names[] = {first, second};
	struct fl_address mux = packet_address(RIG_MUX6), self = packet_address(RIG_SELF6);
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet;
	fl_u8 srh[FL_LIST_SRV6_MAX_LEN], *ip = packet.data + FL_ETHERNET_LEN;

	for (; list.count < 2 && names[list.count]; list.count++)
		list.candidate[list.count] = packet_address(names[list.count]);
	list.left = list.count;
	packet_begin_outer(&packet, &mux, &self, 0);
	packet.len = SRH_AT;
	ip[6] = 43;
	packet_add_bytes(&packet, srh, fl_list_srv6_write(&list, &self, srh));
	packet_add_udp(&packet, &rig_packets(RIG_IPV4)->udp_other, payload);
	fl_store_be16(ip + 4, (fl_u16)(packet.len - SRH_AT));
	return packet;
}

static void check(const struct packet *packet, enum fl_counter counter)
{
	assert_int_equal(list_form_bpf.send(packet), counter);
}

static void check_to(const char *first, const char *second, size_t payload, enum fl_counter counter)
{
	struct packet packet = packet_make(first, second, payload);

	check(&packet, counter);
}

static void cannot_be_sent_on(void **state)
{
	(void)state;
	check_to("10.1.0.21", NULL, PAYLOAD, FL_COUNTER_DROP_STALE); /* no segment leads there */
	check_to("10.1.0.21", "2001:db8:1::21", PAYLOAD, FL_COUNTER_CHAIN);
	check_to("2001:db8:1::2", NULL, PAYLOAD, FL_COUNTER_DROP_STALE); /* this host */
	check_to("2001:db8:9::1", NULL, PAYLOAD, FL_COUNTER_DROP_UNTRUSTED_NEXT);
	rig_command("ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21 mtu lock 1300");
	check_to("2001:db8:8::1", NULL, 1300 - 88 - 28, FL_COUNTER_CHAIN);
	check_to("2001:db8:8::1", NULL, 1301 - 88 - 28, FL_COUNTER_DROP_STALE);
	rig_command("ip -6 route del 2001:db8:8::/48");
}

/* The neighbour is not resolved: the kernel gets it, rewritten except for its source. */
static void by_the_kernel(void **state)
{
	struct packet packet = packet_make("2001:db8:1::99", NULL, PAYLOAD), expected = packet;
	struct fl_address next = packet_address("2001:db8:1::99");
	fl_u8 *ip = expected.data + FL_ETHERNET_LEN;

	(void)state;
	ip[7] = FL_CHAIN_TTL;
	memcpy(ip + FL_IPV6_AT_DESTINATION, next.bytes, 16);
	expected.data[SRH_AT + FL_LIST_SRV6_AT_LEFT] = 0;
	check(&packet, FL_COUNTER_CHAIN_BY_KERNEL);
	list_form_bpf.expect_onward(&expected, true);
}

static void not_ours(void **state)
{
	struct packet packet = packet_make("2001:db8:1::21", NULL, PAYLOAD), other = packet;

	(void)state;
	other.data[SRH_AT + FL_LIST_SRV6_AT_TYPE] = 2;
	check(&other, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[FL_ETHERNET_LEN + FL_IPV6_AT_DESTINATION + 15]++;
	check(&other, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[FL_ETHERNET_LEN + 6] = 44; /* a fragment: the kernel's to reassemble */
	check(&other, FL_COUNTER_PASS_NOT_OURS);
	other = packet;
	other.data[FL_ETHERNET_LEN + FL_IPV6_AT_SOURCE] = 0x30;
	check(&other, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	other = packet;
	other.len--;
	check(&other, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
}

/* Every packet leaves by exactly one counter, whatever is in it. */
static void random_packets(void **state)
{
	unsigned int seed = SEED;
	int i, k;

	(void)state;
	for (i = 0; i < RANDOM_PACKETS; i++) {
		struct packet packet = packet_make("2001:db8:1::23", i % 2 ? "2001:db8:1::24" : NULL, 40);

		for (k = 0; k <= (int)(rand_r(&seed) % MUTATIONS_MAX); k++)
			packet.data[FL_ETHERNET_LEN + rand_r(&seed) % (packet.len - FL_ETHERNET_LEN)] =
			    (fl_u8)rand_r(&seed);
		if (rand_r(&seed) % 4 == 0)
			packet.len = FL_ETHERNET_LEN + rand_r(&seed) % (packet.len - FL_ETHERNET_LEN);
		if (list_form_bpf.send(&packet) == FL_COUNTERS)
			fail_msg("seed %d, packet %d left by another number of counters than one", SEED, i);
	}
}

static int cases_run(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"what cannot be sent on", cannot_be_sent_on},
	    {"to a neighbour that is not resolved", by_the_kernel},
	    {"what is not ours, or not trusted", not_ours},
	    {"random packets", random_packets},
	};
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config_both();
	size_t i;

	list_form_bpf.set(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	return vectors_run("segment routing by the XDP program", &tests);
}

int main(void)
{
	int failed;

	rig_open();
	failed = cases_run();
	list_form_bpf_close();
	return failed;
}
