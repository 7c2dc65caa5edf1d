// SPDX-License-Identifier: Apache-2.0
/* Lists at the module: the groups of tests that the XDP program has, too (server-bpf/tests/list_form.h). */
#include <string.h>

#include <fairlead/list_srv6.h>

#include "list_form.h"
#include "stand.h"

enum {
	CLOCK = 1700000000,
	ROUTING = 43,
};

static struct config present;

static void set(const struct config *config)
{
	if (memcmp(config, &present, sizeof(present)))
		stand_set(config);
	present = *config;
}

static void expect_delivered(const struct packet *expected)
{
	stand_expect_delivered(expected->data + FL_ETHERNET_LEN, expected->len - FL_ETHERNET_LEN);
}

/* The kernel writes an identification into outer IPv4 headers. */
static void identification_clear(struct packet *packet)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;

	if (ip[0] >> 4 != 4)
		return;
	assert_int_equal(packet_checksum(ip, 20, 0), 0);
	fl_store_be16(ip + 4, 0);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

/* One to a neighbour that is not resolved waits for it. */
static void expect_onward(const struct packet *expected, bool is_by_kernel)
{
	struct packet packet;

	if (is_by_kernel)
		return;
	if (expected->data[PACKET_OUTER_AT] >> 4 == 6 && expected->data[PACKET_OUTER_AT + 6] == ROUTING)
		stand_expect_chained_srv6(&packet);
	else
		stand_expect_chained(&packet);
	identification_clear(&packet);
	list_packet_check(&packet, expected);
}

/* From rig0's MAC, and without the padding of the frame that it came in. */
static void expect_returned(const struct packet *expected)
{
	struct packet packet, whole = *expected;
	size_t gue_at = stand_gue_at(expected);

	whole.len = gue_at - 8 + fl_load_be16(expected->data + gue_at - 4);
	stand_expect_returned(&packet);
	identification_clear(&packet);
	memcpy(whole.data + 6, packet.data + 6, 6);
	list_packet_check(&packet, &whole);
}

static void forget(void)
{
	assert_int_equal(module_forget(stand_client(), RIG_SERVICE), 0);
}

static void generation_set(fl_u32 generation)
{
	forget(); /* else it is only raised */
	if (generation)
		assert_int_equal(module_restore_service(stand_client(), RIG_SERVICE, generation), 0);
}

static fl_u32 generation_get(void)
{
	return stand_generation(RIG_SERVICE);
}

/* Sets the server up again, since that starts the quiet time. Without one before and after, nothing is to be done. */
static void quiet(fl_u32 seconds)
{
	if (!seconds && !present.program.quiet)
		return;
	present.program.quiet = seconds;
	stand_set(&present);
}

static void load_set(const struct fl_load_setting *setting)
{
	static const struct fl_load_setting none;
	struct fl_load_setting counting = setting ? *setting : none;

	counting.until_ns = setting ? UINT64_MAX : 0;
	assert_int_equal(module_set_load(stand_client(), RIG_SERVICE, &counting), 0);
}

static struct fl_load_state load_get(void)
{
	struct module_load load;

	assert_int_equal(module_get_load(stand_client(), RIG_SERVICE, &load), 0);
	return load.state;
}

/* Whether it has a routing header that is left to the kernel, which counts it elsewhere. */
static bool is_not_ours(const struct packet *packet)
{
	const fl_u8 *ip = packet->data + PACKET_OUTER_AT, *srh = ip + FL_IPV6_LEN;

	if (ip[0] >> 4 != 6 || ip[6] != ROUTING)
		return false;
	return packet->len < (size_t)PACKET_OUTER_AT + FL_IPV6_LEN + FL_LIST_SRV6_HEAD_LEN ||
	       srh[FL_LIST_SRV6_AT_TYPE] != FL_LIST_SRV6_ROUTING_TYPE ||
	       (srh[FL_LIST_SRV6_AT_NEXT] != FL_LIST_GUE_IPV4 && srh[FL_LIST_SRV6_AT_NEXT] != FL_LIST_GUE_IPV6);
}

/* Behind such a packet one of no peer's is sent, which is counted. */
static enum fl_counter send_packet(const struct packet *packet)
{
	struct fl_address stranger = packet_address("2001:db9::1");
	struct packet marker = *packet;
	enum fl_counter counter;

	if (!is_not_ours(packet))
		return stand_send(packet);
	memcpy(marker.data + PACKET_OUTER_AT + 8, stranger.bytes, sizeof(stranger.bytes));
	marker.len = PACKET_OUTER_AT + FL_IPV6_LEN + FL_LIST_SRV6_LEAST_LEN;
	memset(marker.data + PACKET_OUTER_AT + FL_IPV6_LEN, 0, FL_LIST_SRV6_LEAST_LEN);
	marker.data[PACKET_OUTER_AT + FL_IPV6_LEN] = FL_LIST_GUE_IPV4;
	marker.data[PACKET_OUTER_AT + FL_IPV6_LEN + FL_LIST_SRV6_AT_TYPE] = FL_LIST_SRV6_ROUTING_TYPE;
	fl_store_be16(marker.data + PACKET_OUTER_AT + 4, FL_LIST_SRV6_LEAST_LEN);
	counter = stand_send_both(packet, &marker);
	return counter == FL_COUNTER_DROP_UNTRUSTED_SENDER ? FL_COUNTERS : counter;
}

static const struct list_form form = {
    .name = "the module",
    .by_kernel = FL_COUNTER_CHAIN,
    .not_ours = FL_COUNTERS,
    .short_srh = FL_COUNTER_DROP_MALFORMED_TRUNCATED,
    .random_packets = 1000,
    .set = set,
    .send = send_packet,
    .expect_delivered = expect_delivered,
    .expect_onward = expect_onward,
    .expect_returned = expect_returned,
    .counter = stand_counter,
    .generation_set = generation_set,
    .generation = generation_get,
    .forget = forget,
    .quiet = quiet,
    .load_set = load_set,
    .load = load_get,
};

/* A SYN that no socket would take, to a VIP that the host lacks: mangled, it is taken; anything else goes on. */
static void mangled(void **state)
{
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet_tcp tcp = rig_packets(RIG_IPV4)->no_listener;
	struct fl_address self = packet_address(RIG_SELF);
	struct config config = rig_config();
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet, sent;
	int is_mangling;
	size_t len;

	(void)state;
	stand_list_add(&list, "10.1.0.21");
	len = fl_list_write(&list, gue);
	for (is_mangling = 1; is_mangling >= 0; is_mangling--) {
		config.program.mangle = (fl_u8)is_mangling;
		set(&config);
		tcp.flags = TCP_SYN;
		tcp.flow.destination = packet_address(is_mangling ? "10.99.0.77" : RIG_VIP4);
		list_packet_begin(&packet, &self);
		packet_add_bytes(&packet, gue, len);
		packet_add_tcp(&packet, &tcp);
		packet_finish_outer(&packet);
		assert_int_equal(stand_send(&packet), is_mangling ? FL_COUNTER_DELIVER_SYN : FL_COUNTER_CHAIN);
		tcp.flags = TCP_ACK;
		list_packet_begin(&packet, &self);
		packet_add_bytes(&packet, gue, len);
		packet_add_tcp(&packet, &tcp);
		packet_finish_outer(&packet);
		assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
		stand_expect_chained(&sent);
		assert_int_equal(sent.len, packet.len);
		assert_memory_equal(sent.data + PACKET_GUE_AT + len, packet.data + PACKET_GUE_AT + len,
				    packet.len - PACKET_GUE_AT - len);
	}
}

int main(int argc, char **argv)
{
	int failed;

	stand_open();
	stand_clock_set(CLOCK);
	failed = list_decisions_run(&form, "a SYN without a listener that is mangled", mangled);
	failed += list_generations_run(&form);
	failed += list_flood_run(&form);
	failed += list_srv6_run(&form, argc > 1 ? argv[1] : ".");
	failed += list_notices_run(&form, argc > 1 ? argv[1] : ".", NULL, NULL);
	return failed + list_vectors_run(&form, argc > 1 ? argv[1] : ".");
}
