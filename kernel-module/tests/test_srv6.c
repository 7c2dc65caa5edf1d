// SPDX-License-Identifier: Apache-2.0
/*
 * What the module does with segment routing: rows of list-srv6.json, each by the server that its packet was sent to; what
 * is refused, and what stays the kernel's. The kernel's own handling of SRHs (seg6_enabled) is off, as it is unless
 * somebody asks for it.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_srv6.h>

#include "counters.h"
#include "vectors.h"
#include "stand.h"

enum {
	SRH_AT = PACKET_ETH_LEN + 40,
	AT_SOURCE = PACKET_ETH_LEN + 8,
	AT_DESTINATION = PACKET_ETH_LEN + 24,
	AT_HOP_LIMIT = PACKET_ETH_LEN + 7,
	ROUTING = 43,
	FLOW = 0xb8deadb,     /* traffic class 0xb8, and a flow label */
	LATE_GENERATION = 13, /* above the rows' */
	MTU = 1300,
};

#define SMALL6 "2001:db8:8::1"

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_COUNT] = "count",
    [FL_LIST_LEFT] = "left",
    [FL_LIST_KEY_ALONE] = "key_alone",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
    [FL_LIST_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_LIST_SEGMENTS] = "segments",
};

static struct fl_siphash_key key;
static char server[CONFIG_TEXT_LEN]; /* the present one's address */

/* A server that remembers nothing. */
static void set_anew(const struct fl_address *self6, bool is_tagged)
{
	struct config config = rig_config_both();

	assert_int_equal(config_set_peers(&config, "peers", "10.1.0.0/24,2001:db8::/32"), 0);
	config.program.self6 = *self6;
	if (is_tagged)
		stand_key(&config, &key);
	config_address_text(self6, server);
	module_detach(stand_client());
	stand_set(&config);
}

/* A packet of the mux from the SRH on as given; finish() sets its length. */
static struct packet begin(const struct fl_address *self6, const fl_u8 *srh, size_t len)
{
	struct fl_address mux = packet_address(RIG_MUX6);
	struct packet packet;

	packet_begin_outer(&packet, &mux, self6, 0);
	packet.len = SRH_AT;
	fl_store_be32(packet.data + PACKET_ETH_LEN, 6U << 28 | FLOW);
	packet.data[PACKET_ETH_LEN + 6] = ROUTING;
	packet_add_bytes(&packet, srh, len);
	return packet;
}

static void finish(struct packet *packet)
{
	fl_store_be16(packet->data + PACKET_ETH_LEN + 4, (fl_u16)(packet->len - SRH_AT));
}

static size_t srh_len(const fl_u8 *srh)
{
	return (1U + srh[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT;
}

/* The header of a row, and a segment of the family that it names. */
static struct packet with_tcp(const struct fl_address *self6, const fl_u8 *srh, bool is_syn)
{
	struct packet packet = begin(self6, srh, srh_len(srh));
	const struct rig_packets *packets =
	    rig_packets(srh[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV4 ? RIG_IPV4 : RIG_IPV6);

	packet_add_tcp(&packet, is_syn ? &packets->syn : &packets->unknown);
	finish(&packet);
	return packet;
}

static void valid(void **state)
{
	struct fl_address receiver = vectors_address(*state, "receiver");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = with_tcp(&receiver, bytes.data, true);
	const json_t *fields = vectors_get(*state, "fields");
	size_t inner_at = SRH_AT + srh_len(bytes.data);

	set_anew(&receiver, false);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_SYN);
	stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	assert_int_equal(stand_generation((fl_u16)vectors_number(fields, "service")),
			 vectors_number(fields, "generation"));
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	struct fl_address receiver = vectors_address(*state, "receiver");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	enum fl_list_error error = (enum fl_list_error)vectors_word(*state, "error", errors, FL_LIST_ERRORS);
	struct packet packet = begin(&receiver, bytes.data, bytes.len);

	finish(&packet);
	set_anew(&receiver, false);
	assert_int_equal(stand_send(&packet), fl_counter_of_list_error(error));
	vectors_free(&bytes);
}

/* What went out is the packet with this header, from this server to the next; the rest of the outer header stays. */
static void expect_sent_on(const struct packet *sent, const fl_u8 *srh, const struct fl_address *next)
{
	struct fl_address source = packet_address(server);
	struct packet out, expected = *sent;

	expected.data[AT_HOP_LIMIT] = 64;
	memcpy(expected.data + AT_SOURCE, source.bytes, 16);
	memcpy(expected.data + AT_DESTINATION, next->bytes, 16);
	memcpy(expected.data + SRH_AT, srh, srh_len(srh));
	stand_expect_chained_srv6(&out);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.data + PACKET_ETH_LEN, expected.data + PACKET_ETH_LEN, expected.len - PACKET_ETH_LEN);
}

/* The segments between the present one and the row's next cannot be sent to. */
static void segments_refuse(const fl_u8 *srh, unsigned int left, const char *verb)
{
	char text[CONFIG_TEXT_LEN];
	unsigned int i;

	for (i = srh[FL_LIST_SRV6_AT_LEFT] - 1U; i > left; i--) {
		struct fl_address segment;

		memcpy(segment.bytes, srh + FL_LIST_SRV6_AT_SEGMENTS + i * 16, 16);
		rig_command("ip route %s blackhole %s", verb, config_address_text(&segment, text));
	}
}

/* To the next candidate, or beyond it because others are skipped, which sets LATE in any case. */
static void forwarded(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct fl_address receiver = vectors_address(*state, "receiver"), next = vectors_address(*state, "next");
	unsigned int left = (unsigned int)vectors_number(*state, "left");
	bool is_skipped = before.data[FL_LIST_SRV6_AT_LEFT] > left + 1;
	struct packet packet = before.len > srh_len(before.data) ? begin(&receiver, before.data, before.len)
								 : with_tcp(&receiver, before.data, false);
	fl_u8 *tlv = fl_list_srv6_tlv(after.data, after.data + after.len);

	finish(&packet);
	set_anew(&receiver, !strcmp(vectors_text(*state, "result"), "right"));
	if (is_skipped)
		tlv[FL_LIST_SRV6_TLV_AT_FLAGS] |= FL_LIST_LATE;
	else if (vectors_bool(*state, "late"))
		assert_int_equal(module_restore_service(stand_client(), RIG_SERVICE, LATE_GENERATION), 0);
	segments_refuse(before.data, left, "add");
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	segments_refuse(before.data, left, "del");
	expect_sent_on(&packet, after.data, &next);
	vectors_free(&before);
	vectors_free(&after);
}

static void tags(void **state)
{
	struct fl_address receiver = vectors_address(*state, "receiver");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	const char *result = vectors_text(*state, "result");
	struct packet packet = begin(&receiver, bytes.data, bytes.len);
	enum fl_counter counter;

	finish(&packet);
	set_anew(&receiver, true);
	counter = stand_send(&packet);
	if (!strcmp(result, "right")) {
		assert_true(counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_DELIVER_UNKNOWN ||
			    counter == FL_COUNTER_DELIVER_NO_RESET);
	} else {
		assert_int_equal(counter, !strcmp(result, "missing") ? FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING
								     : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		assert_int_equal(stand_generation(RIG_SERVICE), 0);
	}
	vectors_free(&bytes);
}

/* Whether all segments are IPv6 addresses, as SRv6 needs them to send to. */
static bool has_ipv6_alone(const struct vectors_bytes *bytes)
{
	unsigned int i;

	for (i = 0; i <= bytes->data[FL_LIST_SRV6_AT_LAST]; i++) {
		struct fl_address segment;

		if (FL_LIST_SRV6_AT_SEGMENTS + (i + 1) * 16 > bytes->len)
			return true;
		memcpy(segment.bytes, bytes->data + FL_LIST_SRV6_AT_SEGMENTS + i * 16, 16);
		if (fl_address_is_ipv4(&segment))
			return false;
	}
	return true;
}

/* Adds the rows of packets to IPv6 addresses that the module takes: the kernel keeps what has no SRH before IP. */
static void rows_add(struct vectors_tests *tests, const json_t *file, const char *list, const char *bytes_key,
		     CMUnitTestFunction run)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, list), i, row)
	{
		struct vectors_bytes bytes = vectors_bytes(row, bytes_key);
		struct fl_address receiver = vectors_address(row, "receiver");
		bool is_ours = bytes.len >= FL_LIST_SRV6_HEAD_LEN && bytes.data[FL_LIST_SRV6_AT_TYPE] == 4 &&
			       (bytes.data[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV4 ||
				bytes.data[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV6);

		if (is_ours && !fl_address_is_ipv4(&receiver) && (run != forwarded || has_ipv6_alone(&bytes)))
			vectors_add_plain(tests, vectors_text(row, "name"), run, (void *)(uintptr_t)row);
		vectors_free(&bytes);
	}
}

/* A header to RIG_SELF6 with one candidate, or none; returns its length. */
static fl_u32 header_write(const char *candidate, fl_u8 *srh)
{
	struct fl_address self = packet_address(RIG_SELF6);
	struct fl_list list = stand_list(FL_LIST_GUE_IPV4);

	if (candidate)
		stand_list_add(&list, candidate);
	return fl_list_srv6_write(&list, &self, srh);
}

static void refused_packets(void **state)
{
	struct fl_address self = packet_address(RIG_SELF6);
	fl_u8 srh[FL_LIST_SRV6_MAX_LEN];
	fl_u32 len = header_write(NULL, srh);
	struct packet packet = with_tcp(&self, srh, false), other, syn = with_tcp(&self, srh, true);

	(void)state;
	set_anew(&self, false);
	other = packet;
	other.data[AT_SOURCE] = 0x30;
	assert_int_equal(stand_send(&other), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	for (size_t at = packet.len - 1; at > SRH_AT + len; at--) {
		other = packet;
		other.len = at;
		finish(&other);
		assert_int_equal(stand_send(&other), FL_COUNTER_DROP_MALFORMED_INNER);
	}
	header_write("10.1.0.21", srh); /* which SRv6 cannot reach */
	other = with_tcp(&self, srh, false);
	assert_int_equal(stand_send(&other), FL_COUNTER_DROP_STALE);
	header_write("2001:db9::1", srh); /* which is no peer */
	other = with_tcp(&self, srh, false);
	assert_int_equal(stand_send(&other), FL_COUNTER_DROP_UNTRUSTED_NEXT);
	/* Another routing type, and TCP behind the SRH: the kernel's, so the SYN behind it is the first that counts. */
	other = packet;
	other.data[SRH_AT + FL_LIST_SRV6_AT_TYPE] = 2;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
	other = packet;
	other.data[SRH_AT + FL_LIST_SRV6_AT_NEXT] = 6;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
}

static void too_big(void **state)
{
	struct fl_address self = packet_address(RIG_SELF6);
	fl_u8 srh[FL_LIST_SRV6_MAX_LEN];
	fl_u32 len = header_write(SMALL6, srh);
	struct packet big = begin(&self, srh, len);

	(void)state;
	rig_command("ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21 mtu %d", MTU);
	set_anew(&self, false);
	packet_add_udp(&big, &rig_packets(RIG_IPV4)->udp_other, MTU + 1 - 40 - len - 28);
	finish(&big);
	assert_int_equal(stand_send(&big), FL_COUNTER_DROP_STALE);
	big.len--;
	finish(&big);
	fl_store_be16(big.data + SRH_AT + len + 2, (fl_u16)(MTU - 40 - len));
	fl_store_be16(big.data + SRH_AT + len + 10, 0);
	fl_store_be16(big.data + SRH_AT + len + 10, packet_checksum(big.data + SRH_AT + len, 20, 0));
	assert_int_equal(stand_send(&big), FL_COUNTER_CHAIN);
	rig_command("ip -6 route del 2001:db8:8::/48");
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "list-srv6.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	key = vectors_key(file, "key");
	stand_open();
	rows_add(&tests, file, "valid", "bytes", valid);
	rows_add(&tests, file, "malformed", "bytes", malformed);
	rows_add(&tests, file, "forwarded", "before", forwarded);
	rows_add(&tests, file, "tags", "bytes", tags);
	vectors_add_plain(&tests, "packets that are refused", refused_packets, NULL);
	vectors_add_plain(&tests, "a candidate whose MTU is too small", too_big, NULL);
	failed = vectors_run("segment routing of the module", &tests);
	json_decref(file);
	return failed;
}
