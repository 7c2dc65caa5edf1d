// SPDX-License-Identifier: Apache-2.0
/*
 * What the module does with segment routing: rows of srv6.json, what is refused, and what stays the kernel's. The
 * kernel's own handling of SRHs (seg6_enabled) is off, as it is unless somebody asks for it.
 */
#include <string.h>

#include <fairlead/srv6.h>

#include "counters.h"
#include "verdict_row.h"
#include "stand.h"

enum {
	CLOCK = 1700000100, /* after the moves of the rows */
	SRH_AT = PACKET_ETH_LEN + 40,
	AT_SOURCE = PACKET_ETH_LEN + 8,
	AT_DESTINATION = PACKET_ETH_LEN + 24,
	AT_HOP_LIMIT = PACKET_ETH_LEN + 7,
	FLOW = 0xb8deadb, /* traffic class 0xb8, and a flow label */
};

#define FORMER6 "2001:db8::21" /* the rows' first moves are from it, and chained packets go to it */
#define SECOND6 "2001:db8::23"

static struct fl_siphash_key key;

/* A server that remembers nothing. */
static void set_anew(const char *self6, bool tagged)
{
	struct config config = rig_config_both();

	config.program.self6 = packet_address(self6);
	config.program.tagged = tagged;
	config.program.tag_key = key;
	module_detach(stand_client());
	stand_clock_set(CLOCK);
	stand_set(&config);
}

/* A packet of the mux from the SRH on as given; finish() sets its length. */
static struct packet begin(const char *self6, const fl_u8 *srh, size_t len)
{
	struct fl_address mux = packet_address(RIG_MUX6), self = packet_address(self6);
	struct packet packet;

	packet_begin_outer(&packet, &mux, &self, 0);
	packet.len = SRH_AT;
	fl_store_be32(packet.data + PACKET_ETH_LEN, 6U << 28 | FLOW);
	packet.data[PACKET_ETH_LEN + 6] = FL_SRV6_PROTOCOL;
	packet_add_bytes(&packet, srh, len);
	return packet;
}

static void finish(struct packet *packet)
{
	fl_store_be16(packet->data + PACKET_ETH_LEN + 4, (fl_u16)(packet->len - SRH_AT));
}

static size_t srh_len(const fl_u8 *srh)
{
	return (1U + srh[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT;
}

/* The header of a row, and a segment of the family that it names. */
static struct packet with_tcp(const char *self6, const struct vectors_bytes *srh, bool is_syn)
{
	struct packet packet = begin(self6, srh->data, srh_len(srh->data));
	const struct rig_packets *packets =
	    rig_packets(srh->data[FL_SRV6_AT_NEXT] == FL_GUE_PROTO_IPV4 ? RIG_IPV4 : RIG_IPV6);

	packet_add_tcp(&packet, is_syn ? &packets->syn : &packets->unknown);
	finish(&packet);
	return packet;
}

static void valid(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = with_tcp(RIG_SELF6, &bytes, true);
	size_t inner_at = SRH_AT + srh_len(bytes.data);

	set_anew(RIG_SELF6, false);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_SYN);
	stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = begin(RIG_SELF6, bytes.data, bytes.len);

	finish(&packet);
	set_anew(RIG_SELF6, false);
	assert_int_equal(stand_send(&packet), fl_counter_of_steer_error(verdict_row_error(*state, "error")));
	vectors_free(&bytes);
}

/* Adds the rows that are the module's: the kernel keeps what has no SRH, and other next headers. */
static void add_malformed(struct vectors_tests *tests, const json_t *file)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, "malformed"), i, row)
	{
		struct vectors_bytes bytes = vectors_bytes(row, "bytes");

		if (fl_srv6_is(bytes.data, bytes.data + bytes.len))
			vectors_add_plain(tests, vectors_text(row, "name"), malformed, (void *)(uintptr_t)row);
		vectors_free(&bytes);
	}
}

/* What went out is the packet with this header, from this server to the next; the rest of the outer header stays. */
static void expect_sent_on(const struct packet *sent, const struct vectors_bytes *srh, const char *from, const char *to)
{
	struct fl_address source = packet_address(from), next = packet_address(to);
	struct packet out, expected = *sent;

	expected.data[AT_HOP_LIMIT] = 64;
	memcpy(expected.data + AT_SOURCE, source.bytes, 16);
	memcpy(expected.data + AT_DESTINATION, next.bytes, 16);
	memcpy(expected.data + SRH_AT, srh->data, srh_len(srh->data));
	stand_expect_chained_srv6(&out);
	assert_int_equal(out.len, expected.len);
	assert_memory_equal(out.data + PACKET_ETH_LEN, expected.data + PACKET_ETH_LEN, expected.len - PACKET_ETH_LEN);
}

/* A move of the packet's bucket that only memory knows of, as the module learns it: from a packet of the mux. */
static void teach(const fl_u8 *srh, const char *previous)
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4,
				 .flags = FL_STEER_MOVED,
				 .service = fl_load_be16(srh + FL_SRV6_AT_SERVICE),
				 .bucket = fl_load_be32(srh + FL_SRV6_AT_BUCKET),
				 .generation = UINT32_MAX,
				 .since = CLOCK - 1,
				 .previous = packet_address(previous)};
	struct fl_memory_key bucket = {steer.service, steer.bucket};
	struct fl_bucket_memory value = {steer.since, steer.generation, steer.previous};

	assert_int_equal(module_restore_memory(stand_client(), &bucket, &value), 0);
}

static void chained(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct packet packet = with_tcp(RIG_SELF6, &before, false);

	set_anew(RIG_SELF6, false);
	teach(before.data, vectors_text(*state, "next"));
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	expect_sent_on(&packet, &after, RIG_SELF6, vectors_text(*state, "next"));
	vectors_free(&before);
	vectors_free(&after);
}

/* By the server that the rows' first moves are from. Foreign headends' segments are that very server. */
static void promoted(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct packet packet = with_tcp(FORMER6, &before, false);
	bool is_foreign = fl_srv6_is_foreign(before.data, before.data + before.len);

	set_anew(FORMER6, false);
	assert_int_equal(stand_send(&packet), is_foreign ? FL_COUNTER_DELIVER_UNKNOWN : FL_COUNTER_PASS_ON);
	if (!is_foreign)
		expect_sent_on(&packet, &after, FORMER6, SECOND6);
	vectors_free(&before);
	vectors_free(&after);
}

static void tagged(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), after = vectors_bytes(*state, "chained");
	struct packet packet = begin(RIG_SELF6, bytes.data, bytes.len);

	finish(&packet);
	set_anew(RIG_SELF6, true);
	teach(bytes.data, vectors_text(*state, "next"));
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	expect_sent_on(&packet, &after, RIG_SELF6, vectors_text(*state, "next"));
	packet.data[SRH_AT + FL_SRV6_AT_SERVICE] ^= 1;
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	vectors_free(&bytes);
	vectors_free(&after);
}

/* A foreign headend with two segments: a SYN is taken, an unknown segment goes on to the next one, once. */
static void foreign_headend(void **state)
{
	struct fl_address second = packet_address(SECOND6), self = packet_address(RIG_SELF6);
	fl_u8 srh[FL_SRV6_AT_SEGMENT + 32] = {FL_GUE_PROTO_IPV4, 4, FL_SRV6_ROUTING_TYPE, 1, 1};
	struct vectors_bytes before = {srh, sizeof(srh)};
	struct packet packet;

	(void)state;
	memcpy(srh + FL_SRV6_AT_SEGMENT, second.bytes, 16);
	memcpy(srh + FL_SRV6_AT_SEGMENT + 16, self.bytes, 16);
	set_anew(RIG_SELF6, false);
	packet = with_tcp(RIG_SELF6, &before, true);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_SYN);
	packet = with_tcp(RIG_SELF6, &before, false);
	assert_int_equal(stand_send(&packet), FL_COUNTER_PASS_ON);
	srh[FL_SRV6_AT_LEFT] = 0;
	expect_sent_on(&packet, &before, RIG_SELF6, SECOND6);
	packet = with_tcp(RIG_SELF6, &before, false);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_UNKNOWN);
	set_anew(RIG_SELF6, true);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING);
}

static fl_u32 plain_write(fl_u8 *srh)
{
	struct fl_address self = packet_address(RIG_SELF6);
	struct fl_steer steer = {
	    .inner_protocol = FL_GUE_PROTO_IPV4, .service = RIG_SERVICE, .bucket = RIG_BUCKET, .generation = 12};

	return fl_srv6_write(&steer, &self, srh);
}

static void refused_packets(void **state)
{
	fl_u8 srh[FL_SRV6_MAX_LEN];
	fl_u32 len = plain_write(srh);
	struct vectors_bytes plain = {srh, len};
	struct packet packet = with_tcp(RIG_SELF6, &plain, false), other, big = begin(RIG_SELF6, srh, len), syn;

	(void)state;
	set_anew(RIG_SELF6, false);
	other = packet;
	other.data[AT_SOURCE] = 0x30;
	assert_int_equal(stand_send(&other), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	for (size_t at = packet.len - 1; at > SRH_AT + len; at--) {
		other = packet;
		other.len = at;
		finish(&other);
		assert_int_equal(stand_send(&other), FL_COUNTER_DROP_MALFORMED_INNER);
	}
	teach(srh, "10.1.0.21");
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CHAIN_FAMILY);
	rig_command("ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21 mtu 1300");
	set_anew(RIG_SELF6, false);
	teach(srh, "2001:db8:8::1");
	packet_add_udp(&big, &rig_packets(RIG_IPV4)->udp_other, 1301 - 80 - 28);
	finish(&big);
	assert_int_equal(stand_send(&big), FL_COUNTER_DROP_CHAIN_TOO_BIG);
	big.len--;
	finish(&big);
	fl_store_be16(big.data + SRH_AT + len + 2, (fl_u16)(1300 - 80));
	fl_store_be16(big.data + SRH_AT + len + 10, 0);
	fl_store_be16(big.data + SRH_AT + len + 10, packet_checksum(big.data + SRH_AT + len, 20, 0));
	assert_int_equal(stand_send(&big), FL_COUNTER_CHAIN);
	rig_command("ip -6 route del 2001:db8:8::/48");
	/* Another routing type, and TCP behind the SRH: the kernel's, so the SYN behind it is the first that counts. */
	syn = with_tcp(RIG_SELF6, &plain, true);
	other = packet;
	other.data[SRH_AT + FL_SRV6_AT_TYPE] = 2;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
	other = packet;
	other.data[SRH_AT + FL_SRV6_AT_NEXT] = 6;
	assert_int_equal(stand_send_both(&other, &syn), FL_COUNTER_DELIVER_SYN);
	stand_detach();
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "srv6.json");
	struct vectors_tests tests = {NULL, 0};

	key = vectors_key(file, "key");
	stand_open();
	vectors_add(&tests, file, "valid", valid);
	add_malformed(&tests, file);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "tagged", tagged);
	vectors_add_plain(&tests, "a foreign headend", foreign_headend, NULL);
	vectors_add_plain(&tests, "packets that are refused", refused_packets, NULL);
	return vectors_run("segment routing of the module", &tests);
}
