// SPDX-License-Identifier: Apache-2.0
/* What the module does with packets in the paper's format: rows of ipip.json, what is obeyed, and what it cannot tell.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <fairlead/ipip.h>

#include "vectors.h"
#include "stand.h"

enum {
	SINCE = 1700000000, /* which is for the paper's servers alone */
	SERVICE = 7,
	GENERATION = 12,
	DSCP_AF11 = 10 << 2,
	ECN_CE = 3,
};

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
};

static struct config config_ipip(void)
{
	struct config config = rig_config();

	config.program.ipip_service = SERVICE;
	return config;
}

/* A server that remembers nothing. */
static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

/* Lengths, addresses and checksum of a packet whose outer header is written, from mux to server. */
static void finish(struct packet *packet)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;
	struct fl_address from = packet_address(RIG_MUX), to = packet_address(RIG_SELF);
	size_t header_len = (size_t)(ip[0] & 15) * 4;

	memcpy(ip + FL_IPIP_AT_SOURCE, from.bytes + 12, 4);
	memcpy(ip + FL_IPIP_AT_DESTINATION, to.bytes + 12, 4);
	fl_store_be16(ip + FL_IPIP_AT_TOTAL_LEN, (fl_u16)(packet->len - PACKET_OUTER_AT));
	fl_store_be16(ip + FL_IPIP_AT_CHECKSUM, 0);
	fl_store_be16(ip + FL_IPIP_AT_CHECKSUM, packet_checksum(ip, header_len, 0));
}

/* An outer header from bytes, or as the fields say. */
static struct packet begin_bytes(const fl_u8 *bytes, size_t len)
{
	static const fl_u8 mac[6] = {0x02, 0, 0, 0, 0, 0x02};
	struct packet packet = {.len = 0};

	packet_add_ethernet(&packet, mac, mac, 0x0800);
	packet_add_bytes(&packet, bytes, len);
	return packet;
}

static struct packet begin(fl_u32 generation, const char *previous)
{
	struct fl_address address = packet_address(previous);
	struct fl_ipip ipip = {.generation = generation, .since = SINCE};
	fl_u8 header[FL_IPIP_LEN];

	memcpy(ipip.previous, address.bytes + 12, 4);
	fl_ipip_write(&ipip, header);
	return begin_bytes(header, sizeof(header));
}

static enum fl_counter send_tcp(struct packet *packet, const struct packet_tcp *tcp)
{
	packet_add_tcp(packet, tcp);
	finish(packet);
	return stand_send(packet);
}

static enum fl_counter send_unknown(fl_u32 generation, const char *previous)
{
	struct packet packet = begin(generation, previous);

	return send_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
}

static void valid(void **state)
{
	const json_t *fields = vectors_get(*state, "fields");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = begin_bytes(bytes.data, FL_IPIP_LEN);
	size_t inner_at = packet.len;
	struct config config = config_ipip();

	packet.data[PACKET_OUTER_AT + FL_IPIP_AT_CLASS] &= 0xfc; /* congestion is another test's */
	set_anew(&config);
	assert_int_equal(send_tcp(&packet, &rig_packets(RIG_IPV4)->syn), FL_COUNTER_DELIVER_SYN);
	stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	assert_int_equal(stand_generation(SERVICE), vectors_number(fields, "generation"));
	vectors_free(&bytes);
}

/* Whether a row's header gets through IP itself, and to protocol 4: options are looked at before we are. */
static bool passes_ip(const struct vectors_bytes *bytes)
{
	const fl_u8 *ip = bytes->data, *option = ip + FL_IPIP_AT_OPTION;
	size_t header_len;

	if (bytes->len < FL_IPIP_LEN || ip[0] >> 4 != 4 || ip[FL_IPIP_AT_PROTOCOL] != 4)
		return false;
	header_len = (size_t)(ip[0] & 15) * 4;
	if (header_len == 20)
		return true;
	return option[0] > 1 && option[0] != 0x44 && option[1] >= 2 && option[1] <= header_len - 20;
}

static void malformed(void **state)
{
	int error = vectors_word(*state, "error", errors, FL_LIST_ERRORS);
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = begin_bytes(bytes.data, bytes.len);
	struct config config = config_ipip();

	set_anew(&config);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	finish(&packet);
	assert_int_equal(stand_send(&packet), fl_counter_of_list_error((enum fl_list_error)error));
	assert_int_equal(stand_generation(SERVICE), 0);
	vectors_free(&bytes);
}

/* Adds the rows that IP does not reject itself; only protocol/tests has the others. */
static void add_malformed(struct vectors_tests *tests, const json_t *file)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, "malformed"), i, row)
	{
		struct vectors_bytes bytes = vectors_bytes(row, "bytes");

		if (passes_ip(&bytes))
			vectors_add_plain(tests, vectors_text(row, "name"), malformed, (void *)(uintptr_t)row);
		vectors_free(&bytes);
	}
}

static void chained(void **state)
{
	struct packet packet = begin(GENERATION, "10.1.0.23"), out;
	static const fl_u8 self[4] = {10, 1, 0, 22}, next[4] = {10, 1, 0, 23};
	struct config config = config_ipip();
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	(void)state;
	set_anew(&config);
	ip[FL_IPIP_AT_CLASS] = DSCP_AF11;
	assert_int_equal(send_tcp(&packet, &rig_packets(RIG_IPV4)->unknown), FL_COUNTER_CHAIN);
	stand_expect_chained_ipip(&out);
	assert_true(fl_ipip_forward(ip, packet.data + packet.len, self, next));
	assert_int_equal(out.len, packet.len);
	assert_memory_equal(out.data + PACKET_OUTER_AT, ip, packet.len - PACKET_OUTER_AT);
	/* Nothing is remembered: the next packet of the same connection must name the server, too. */
	assert_int_equal(send_unknown(GENERATION, "0.0.0.0"), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(stand_generation(SERVICE), GENERATION);
}

static const struct {
	const char *name;
	fl_u32 generation;
	const char *previous;
	enum fl_counter counter;
} rows[] = {
    {"a former owner", GENERATION, "10.1.0.23", FL_COUNTER_CHAIN},
    {"the former owner is this server", GENERATION, RIG_SELF, FL_COUNTER_DELIVER_UNKNOWN},
    {"a stale generation", GENERATION - 1, "0.0.0.0", FL_COUNTER_DROP_STALE},
    {"a stale generation with a former owner", GENERATION - 1, "10.1.0.23", FL_COUNTER_CHAIN},
    {"a former owner without a route", GENERATION, "10.3.0.1", FL_COUNTER_DROP_STALE},
    {"a former owner that is no peer", GENERATION, "203.0.113.1", FL_COUNTER_DROP_UNTRUSTED_NEXT},
};

static void row(void **state)
{
	size_t i = (size_t)*state;
	struct config config = config_ipip();

	set_anew(&config);
	assert_int_equal(module_restore_service(stand_client(), SERVICE, GENERATION), 0);
	assert_int_equal(module_restore_service(stand_client(), SERVICE + 1, GENERATION + 9), 0);
	assert_int_equal(send_unknown(rows[i].generation, rows[i].previous), rows[i].counter);
}

static void local_state(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	struct config config = config_ipip();
	struct packet packet;

	(void)state;
	set_anew(&config);
	packet = begin(GENERATION, "10.1.0.23");
	assert_int_equal(send_tcp(&packet, &packets->established), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	packet = begin(GENERATION, "10.1.0.23");
	assert_int_equal(send_tcp(&packet, &packets->half_open), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	packet = begin(GENERATION, "10.1.0.23");
	packet_add_udp(&packet, &packets->udp_connected, 8);
	finish(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
}

static void refused_packets(void **state)
{
	struct packet packet = begin(GENERATION, "0.0.0.0"), first, second;
	struct packet_tcp elsewhere = rig_packets(RIG_IPV4)->syn;
	struct packet_flow flow = rig_packets(RIG_IPV4)->udp_other;
	struct config config = config_ipip();
	size_t inner_at = packet.len, len;
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	(void)state;
	set_anew(&config);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	for (len = packet.len - 1; len >= inner_at + 20; len--) { /* IP's own protocol handler asks for 20 bytes */
		packet.len = len;
		finish(&packet);
		assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
	}
	packet = begin(GENERATION, "0.0.0.0");
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	first = packet;
	first.len = inner_at + 24;
	fl_store_be16(first.data + PACKET_OUTER_AT + 6, 0x2000);
	finish(&first);
	second.len = 0;
	packet_add_bytes(&second, packet.data, PACKET_UDP_AT); /* the option is in the first fragment alone */
	packet_add_bytes(&second, packet.data + first.len, packet.len - first.len);
	second.data[PACKET_OUTER_AT] = 0x45;
	fl_store_be16(second.data + PACKET_OUTER_AT + 6, 24 / 8);
	finish(&second);
	assert_int_equal(stand_send_both(&first, &second), FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);
	packet = begin(GENERATION, "0.0.0.0");
	elsewhere.flow.destination = packet_address("10.99.0.77");
	assert_int_equal(send_tcp(&packet, &elsewhere), FL_COUNTER_DROP_VIP_NOT_LOCAL);
	packet = begin(GENERATION, "0.0.0.0");
	ip[FL_IPIP_AT_CLASS] = ECN_CE;
	assert_int_equal(send_tcp(&packet, &rig_packets(RIG_IPV4)->unknown), FL_COUNTER_DROP_CONGESTED);
	packet = begin(GENERATION, "10.8.0.1");
	packet_add_udp(&packet, &flow, 1200);
	finish(&packet);
	rig_command("ip route add 10.8.0.0/16 via 10.1.0.1 mtu 1000");
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_STALE);
	assert_int_equal(stand_counter(FL_COUNTER_SKIPPED), 1);
	rig_command("ip route del 10.8.0.0/16");
	assert_int_equal(config_set(&config, "peers", "10.1.0.12"), 0);
	set_anew(&config);
	assert_int_equal(send_unknown(GENERATION, "10.1.0.23"), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	assert_int_equal(stand_generation(SERVICE), 0);
}

static void only_where_it_is_set_up(void **state)
{
	struct config config = config_ipip(), gue = rig_config();
	struct packet ipip = begin(GENERATION, "0.0.0.0"), syn;
	struct fl_list list = rig_list(RIG_IPV4);
	const struct fl_siphash_key key = {1, 2};

	(void)state;
	set_anew(&gue);
	packet_add_tcp(&ipip, &rig_packets(RIG_IPV4)->unknown);
	finish(&ipip);
	stand_begin(&syn, RIG_SELF, &list);
	packet_add_tcp(&syn, &rig_packets(RIG_IPV4)->syn);
	packet_finish_outer(&syn);
	assert_int_equal(stand_send_both(&ipip, &syn), FL_COUNTER_DELIVER_SYN);
	stand_set(&config);
	assert_int_equal(send_unknown(GENERATION, "0.0.0.0"), FL_COUNTER_DELIVER_UNKNOWN);
	rig_tag(&config, &key);
	assert_int_equal(stand_try_set(&config), -EINVAL);
	assert_non_null(strstr(stand_client()->error, "tag"));
	config = rig_config_both();
	config.program.ipip_service = SERVICE;
	memset(&config.program.self, 0, sizeof(config.program.self));
	assert_int_equal(stand_try_set(&config), -EINVAL);
	assert_non_null(strstr(stand_client()->error, "IPv4"));
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "ipip.json");
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	stand_open();
	vectors_add(&tests, file, "valid", valid);
	add_malformed(&tests, file);
	vectors_add_plain(&tests, "a packet is sent on to its former owner", chained, NULL);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, row, (void *)i);
	vectors_add_plain(&tests, "local state stays", local_state, NULL);
	vectors_add_plain(&tests, "packets that are refused", refused_packets, NULL);
	vectors_add_plain(&tests, "only a server that is set up for it takes IPIP", only_where_it_is_set_up, NULL);
	return vectors_run("IPIP of the module", &tests);
}
