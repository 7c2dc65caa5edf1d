// SPDX-License-Identifier: Apache-2.0
/*
 * Segment routing at the module beside the rows of list-srv6.json (test_list.c): what is refused, and what stays the
 * kernel's. The kernel's own handling of SRHs (seg6_enabled) is off, as it is unless somebody asks for it.
 */
#include <string.h>

#include <fairlead/list_srv6.h>

#include "vectors.h"
#include "stand.h"

enum {
	SRH_AT = FL_ETHERNET_LEN + 40,
	AT_SOURCE = FL_ETHERNET_LEN + 8,
	ROUTING = 43,
	MTU = 1300,
};

#define SMALL6 "2001:db8:8::1" /* behind a small MTU */

/* A packet of the mux up to the SRH, with one candidate or none; finish() sets its length. */
static struct packet begin(const char *candidate)
{
	struct fl_address mux = packet_address(RIG_MUX6), self = packet_address(RIG_SELF6);
	struct fl_list list = rig_list(RIG_IPV4);
	fl_u8 srh[FL_LIST_SRV6_MAX_LEN];
	struct packet packet;

	if (candidate)
		stand_list_add(&list, candidate);
	packet_begin_outer(&packet, &mux, &self, 0);
	packet.len = SRH_AT;
	packet.data[FL_ETHERNET_LEN + 6] = ROUTING;
	packet_add_bytes(&packet, srh, fl_list_srv6_write(&list, &self, srh));
	return packet;
}

static void finish(struct packet *packet)
{
	fl_store_be16(packet->data + FL_ETHERNET_LEN + 4, (fl_u16)(packet->len - SRH_AT));
}

static struct packet with_tcp(const char *candidate, bool is_syn)
{
	struct packet packet = begin(candidate);

	packet_add_tcp(&packet, is_syn ? &rig_packets(RIG_IPV4)->syn : &rig_packets(RIG_IPV4)->unknown);
	finish(&packet);
	return packet;
}

/* A server that remembers nothing. */
static void set_anew(void)
{
	struct config config = rig_config_both();

	module_detach(stand_client());
	stand_set(&config);
}

static void refused_packets(void **state)
{
	struct packet packet = with_tcp(NULL, false), other = packet;
	size_t inner_at = begin(NULL).len, len;

	(void)state;
	set_anew();
	other.data[AT_SOURCE] = 0x30;
	assert_int_equal(stand_send(&other), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	for (len = packet.len - 1; len > inner_at; len--) {
		other = packet;
		other.len = len;
		finish(&other);
		assert_int_equal(stand_send(&other), FL_COUNTER_DROP_MALFORMED_INNER);
	}
}

static void candidates(void **state)
{
	static const struct {
		const char *candidate;
		enum fl_counter counter;
	} rows[] = {
	    {"2001:db8:1::21", FL_COUNTER_CHAIN},
	    {"10.1.0.21", FL_COUNTER_DROP_STALE}, /* no segment leads there */
	    {"2001:db8:3::1", FL_COUNTER_DROP_STALE},
	    {"2001:db8:1::2", FL_COUNTER_DROP_STALE}, /* this host */
	    {"2001:db9::1", FL_COUNTER_DROP_UNTRUSTED_NEXT},
	};
	size_t i;

	(void)state;
	set_anew();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct packet packet = with_tcp(rows[i].candidate, false);

		assert_int_equal(stand_send(&packet), rows[i].counter);
	}
}

static void too_big(void **state)
{
	size_t inner_at = begin(SMALL6).len, len = MTU + 1 - (inner_at - FL_ETHERNET_LEN) - 28;
	struct packet packet = begin(SMALL6);

	(void)state;
	rig_command("ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21 mtu %d", MTU);
	set_anew();
	packet_add_udp(&packet, &rig_packets(RIG_IPV4)->udp_other, len);
	finish(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_STALE);
	packet = begin(SMALL6);
	packet_add_udp(&packet, &rig_packets(RIG_IPV4)->udp_other, len - 1);
	finish(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	rig_command("ip -6 route del 2001:db8:8::/48");
}

/* Another routing type, and TCP behind the SRH: the SYN behind it is the first that counts. */
static void left_to_the_kernel(void **state)
{
	struct packet syn = with_tcp(NULL, true), other = with_tcp(NULL, false);

	(void)state;
	set_anew();
	other.data[SRH_AT + FL_LIST_SRV6_AT_TYPE] = 2;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
	other = with_tcp(NULL, false);
	other.data[SRH_AT + FL_LIST_SRV6_AT_NEXT] = 6;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refused_packets),
	    cmocka_unit_test(candidates),
	    cmocka_unit_test(too_big),
	    cmocka_unit_test(left_to_the_kernel),
	};

	stand_open();
	return cmocka_run_group_tests_name("segment routing of the module", tests, NULL, NULL);
}
