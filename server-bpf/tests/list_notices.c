// SPDX-License-Identifier: Apache-2.0
/*
 * Notices: notice.json to a server whose addresses are the rows', once with the cluster's key and
 * once without, and what a notice changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

#include "list_form.h"

enum {
	MUX_PORT = 40000,
	AT_IPV4_SOURCE = PACKET_OUTER_AT + 12,
	AT_IPV6_SOURCE = PACKET_OUTER_AT + 8,
	SEEN = 20,
	TRAFFIC_CLASS = 0xb8,
};

static struct fl_siphash_key cluster;
static const struct list_form *form;
static struct config untagged, tagged;

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_GUE_VERSION] = "gue_version",
    [FL_LIST_GUE_CONTROL] = "gue_control",
    [FL_LIST_GUE_FLAGS] = "gue_flags",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_COUNT] = "count",
    [FL_LIST_LEFT] = "left",
    [FL_LIST_KEY_ALONE] = "key_alone",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
    [FL_LIST_NOTICE] = "notice",
};

/* The bytes from the mux of the server's family, in a frame that is at least as long as Ethernet's shortest. */
static struct packet packet_of(const struct fl_address *server, const fl_u8 *bytes, size_t len)
{
	static const fl_u8 padding[60];
	struct packet packet;
	fl_u8 *udp;

	list_packet_begin(&packet, server);
	packet_add_bytes(&packet, bytes, len);
	packet_finish_outer(&packet);
	udp = packet.data + list_packet_gue_at(&packet) - FL_UDP_LEN;
	fl_store_be16(udp, MUX_PORT);
	fl_store_be16(udp + 6, form->udp_checksum);
	if (packet.len < sizeof(padding))
		packet_add_bytes(&packet, padding, sizeof(padding) - packet.len);
	return packet;
}

static struct packet notice_packet(fl_u8 flags, fl_u32 generation)
{
	struct fl_notice notice = {.flags = flags, .service = RIG_SERVICE, .generation = generation};
	struct fl_address server = packet_address(RIG_SELF);
	fl_u8 bytes[FL_NOTICE_MAX_LEN];

	return packet_of(&server, bytes, fl_notice_write(&notice, bytes));
}

static void exchange(fl_u8 *a, fl_u8 *b, size_t len)
{
	fl_u8 kept[16];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

/* A new IPv4 header has no identification, and TTL 64. */
static void ipv4_renew(fl_u8 *ip)
{
	memset(ip + 4, 0, 2);
	ip[8] = 64;
	memset(ip + 10, 0, 2);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

/* The acknowledgement of a sent notice as it must be; the padding of the frame is copied. */
static struct packet returned(const struct packet *sent, const fl_u8 *bytes, size_t len)
{
	struct packet expected = *sent;
	size_t gue = list_packet_gue_at(sent);
	fl_u8 *udp = expected.data + gue - FL_UDP_LEN;

	exchange(expected.data, expected.data + 6, 6);
	if (gue == PACKET_GUE_AT) {
		exchange(expected.data + AT_IPV4_SOURCE, expected.data + AT_IPV4_SOURCE + 4, 4);
		ipv4_renew(expected.data + PACKET_OUTER_AT);
	} else {
		exchange(expected.data + AT_IPV6_SOURCE, expected.data + AT_IPV6_SOURCE + 16, 16);
	}
	exchange(udp, udp + 2, 2);
	memset(udp + 6, 0, 2);
	memcpy(udp + FL_UDP_LEN, bytes, len);
	return expected;
}

static void check_dropped(const struct config *config, struct packet packet, enum fl_counter why)
{
	fl_u32 seen;

	form->set(config);
	seen = form->generation();
	assert_int_equal(form->send(&packet), why);
	assert_int_equal(form->generation(), seen);
}

static void check_returned(const struct packet *packet, const fl_u8 *bytes, size_t len)
{
	struct packet expected = returned(packet, bytes, len);

	assert_int_equal(form->send(packet), FL_COUNTER_NOTICE);
	form->expect_returned(&expected);
}

/* A notice to RIG_SELF that a server must acknowledge with this generation. */
static void check_acknowledged(const struct config *config, struct packet packet, fl_u32 known)
{
	const fl_u8 *gue = packet.data + list_packet_gue_at(&packet);
	bool is_ipv4 = list_packet_gue_at(&packet) == PACKET_GUE_AT;
	const struct fl_address *self = is_ipv4 ? &config->program.self : &config->program.self6;
	struct fl_siphash_key key = fl_notice_key(&cluster, self);
	fl_u32 len = FL_LIST_GUE_LEN + (fl_u32)(gue[0] & 31) * 4;
	fl_u8 bytes[FL_NOTICE_MAX_LEN];
	struct fl_notice notice = {0};

	assert_int_equal(fl_notice_parse(gue, gue + len, len, &notice), FL_LIST_OK);
	notice.flags |= FL_NOTICE_ACK;
	notice.generation = known;
	if (config->program.tagged)
		notice.tag = fl_notice_tag(&key, &notice, self);
	fl_notice_write(&notice, bytes);
	form->set(config);
	check_returned(&packet, bytes, len);
	assert_int_equal(form->generation(), known);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* By a server without the key, which leaves the tag as it is. */
static void valid(void **state)
{
	static const char *const servers[] = {RIG_SELF, RIG_SELF6};
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	size_t i;

	for (i = 0; i < 2; i++) {
		struct fl_address server = packet_address(servers[i]);
		struct packet packet = packet_of(&server, bytes.data, bytes.len);
		struct vectors_bytes answer = vectors_bytes(row, "bytes");

		form->set(&untagged);
		form->generation_set(0);
		answer.data[FL_LIST_AT_FLAGS] |= FL_NOTICE_ACK;
		if (vectors_bool(fields, "ack")) {
			check_dropped(&untagged, packet, FL_COUNTER_DROP_MALFORMED_NOTICE);
		} else {
			check_returned(&packet, answer.data, answer.len);
		}
		vectors_free(&answer);
	}
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_address server = packet_address(RIG_SELF);
	enum fl_list_error error = (enum fl_list_error)vectors_word(row, "error", errors, FL_LIST_ERRORS);

	form->set(&untagged);
	form->generation_set(0);
	check_dropped(&untagged, packet_of(&server, bytes.data, bytes.len), fl_counter_of_list_error(error));
	vectors_free(&bytes);
}

/* What is not of protocol 59 is for the other reader to refuse. */
static void malformed_add(struct vectors_tests *tests, const json_t *file)
{
	json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, "malformed"), i, row)
	{
		struct vectors_bytes bytes = vectors_bytes(row, "bytes");

		if (bytes.len > 1 && bytes.data[1] == FL_LIST_GUE_NOTICE)
			vectors_add_plain(tests, vectors_text(row, "name"), malformed, row);
		vectors_free(&bytes);
	}
}

static void answered(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	bool has_tag = before.data[FL_LIST_AT_FLAGS] & FL_LIST_TAG;
	struct fl_address server = vectors_address(row, "server");
	struct packet packet = packet_of(&server, before.data, before.len);

	form->set(has_tag ? &tagged : &untagged);
	form->generation_set((fl_u32)vectors_number(row, "known"));
	check_returned(&packet, after.data, after.len);
	assert_int_equal(form->generation(), vectors_number(row, "known"));
	vectors_free(&before);
	vectors_free(&after);
}

/* Those of a third server's address are sent to the first, whose key is another. */
static void tags(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_address server = vectors_address(row, "server"), self = packet_address(RIG_SELF);
	bool is_self = fl_address_equal(&server, &self) || !fl_address_is_ipv4(&server);
	struct fl_siphash_key key = fl_notice_key(&cluster, is_self ? &server : &self);
	struct packet packet = packet_of(is_self ? &server : &self, bytes.data, bytes.len);
	const char *result = vectors_text(row, "result");
	struct fl_notice notice = {0};

	assert_int_equal(fl_notice_parse(bytes.data, bytes.data + bytes.len, (fl_u32)bytes.len, &notice), FL_LIST_OK);
	if (!is_self) /* its own result is for the third server */
		result = notice.tag == fl_notice_tag(&key, &notice, &self) ? "right" : "wrong";
	form->set(&tagged);
	form->generation_set(1);
	if (notice.flags & FL_NOTICE_ACK)
		check_dropped(&tagged, packet, FL_COUNTER_DROP_MALFORMED_NOTICE);
	else if (!strcmp(result, "missing"))
		check_dropped(&tagged, packet, FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING);
	else if (!strcmp(result, "wrong"))
		check_dropped(&tagged, packet, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	else
		check_acknowledged(&tagged, packet, notice.generation);
	vectors_free(&bytes);
}

static void generation_set(const struct config *config, fl_u32 generation)
{
	form->set(config);
	form->generation_set(generation);
}

/* --- what a notice changes ------------------------------------------------------------------------------------------ */

static void generations_only_rise(void **state)
{
	(void)state;
	generation_set(&untagged, SEEN);
	check_acknowledged(&untagged, notice_packet(0, SEEN + 1), SEEN + 1);
	check_acknowledged(&untagged, notice_packet(0, SEEN + 1), SEEN + 1);
	check_acknowledged(&untagged, notice_packet(0, SEEN), SEEN + 1); /* a captured one, or of a late mux */
}

static void jumps_are_not_learned(void **state)
{
	fl_u64 jumps = form->counter(FL_COUNTER_GENERATION_JUMP);

	(void)state;
	generation_set(&untagged, SEEN);
	check_acknowledged(&untagged, notice_packet(0, UINT32_MAX), SEEN);
	assert_int_equal(form->counter(FL_COUNTER_GENERATION_JUMP), jumps + 1);
	generation_set(&untagged, 0);
	check_acknowledged(&untagged, notice_packet(0, UINT32_MAX), UINT32_MAX);
}

static void a_tag_vouches_for_jumps(void **state)
{
	struct fl_notice notice = {.flags = FL_LIST_TAG, .service = RIG_SERVICE, .generation = UINT32_MAX};
	struct fl_address server = packet_address(RIG_SELF);
	struct fl_siphash_key key = fl_notice_key(&cluster, &server);
	fl_u8 bytes[FL_NOTICE_MAX_LEN];

	(void)state;
	notice.tag = fl_notice_tag(&key, &notice, &server);
	generation_set(&tagged, SEEN);
	check_acknowledged(&tagged, packet_of(&server, bytes, fl_notice_write(&notice, bytes)), UINT32_MAX);
}

/* What a packet without a list meets at a server that has heard of a higher generation only by a notice. */
static void unknown_packets_are_stale(void **state)
{
	struct fl_list list = {
	    .inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = RIG_GENERATION};
	struct fl_address self = packet_address(RIG_SELF);
	enum fl_counter counters[2] = {FL_COUNTER_DELIVER_UNKNOWN, FL_COUNTER_DROP_STALE};
	int told;

	(void)state;
	generation_set(&untagged, RIG_GENERATION);
	for (told = 0; told < 2; told++) {
		struct packet packet;
		fl_u8 gue[FL_LIST_MAX_LEN];

		if (told)
			check_acknowledged(&untagged, notice_packet(0, RIG_GENERATION + 1), RIG_GENERATION + 1);
		list_packet_begin(&packet, &self);
		packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
		packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
		packet_finish_outer(&packet);
		assert_int_equal(form->send(&packet), counters[told]);
	}
}

/* Its mux may be late itself. */
static void quiet_does_not_end(void **state)
{
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = SEEN + 2};
	struct fl_address self = packet_address(RIG_SELF);
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet;

	(void)state;
	list_packet_begin(&packet, &self);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	generation_set(&untagged, SEEN);
	form->quiet(FL_SERVER_QUIET_MAX);
	assert_int_equal(form->send(&packet), FL_COUNTER_DROP_STALE);
	packet = notice_packet(0, SEEN + 2);
	assert_int_equal(form->send(&packet), FL_COUNTER_NOTICE);
	list_packet_begin(&packet, &self);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	assert_int_equal(form->send(&packet), FL_COUNTER_DROP_STALE);
	form->quiet(0);
	assert_int_equal(form->send(&packet), FL_COUNTER_DELIVER_UNKNOWN);
}

static void of_no_peer(void **state)
{
	struct packet packet = notice_packet(0, SEEN);
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	(void)state;
	memcpy(packet.data + AT_IPV4_SOURCE, (const fl_u8[]){192, 0, 2, 1}, 4);
	memset(ip + 10, 0, 2);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	check_dropped(&untagged, packet, FL_COUNTER_DROP_UNTRUSTED_SENDER);
}

/* The mux's own prefix is longer than the one that it has as a server. */
static void of_a_server(void **state)
{
	struct config config = untagged;

	(void)state;
	assert_int_equal(config_set(&config, "servers", "10.1.0.11"), 0);
	assert_int_equal(config_set(&config, "peers", "10.1.0.0/24"), 0);
	check_dropped(&config, notice_packet(0, SEEN), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	assert_int_equal(config_set(&config, "muxes", "10.1.0.11"), 0);
	generation_set(&config, SEEN);
	check_acknowledged(&config, notice_packet(0, SEEN), SEEN);
}

/* DSCP stays, TTL does not. */
static void outer_header_is_new(void **state)
{
	struct packet packet = notice_packet(0, SEEN);
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	(void)state;
	generation_set(&untagged, SEEN);
	ip[1] = TRAFFIC_CLASS;
	ip[8] = 3;
	memset(ip + 10, 0, 2);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	check_acknowledged(&untagged, packet, SEEN);
}

int list_notices_run(const struct list_form *of, const char *folder, const char *more_name, CMUnitTestFunction more)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"generations only rise", generations_only_rise},
	    {"jumps are not learned", jumps_are_not_learned},
	    {"a tag vouches for jumps", a_tag_vouches_for_jumps},
	    {"unknown packets are stale", unknown_packets_are_stale},
	    {"quiet does not end", quiet_does_not_end},
	    {"of no peer", of_no_peer},
	    {"of a peer that is a server", of_a_server},
	    {"the outer header is new", outer_header_is_new},
	};
	json_t *file = vectors_load(folder, "notice.json");
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	size_t i;
	int failed;

	form = of;
	cluster = vectors_key(file, "key");
	untagged = rig_config_both();
	tagged = untagged;
	rig_tag(&tagged, &cluster);
	vectors_add(&tests, file, "valid", valid);
	malformed_add(&tests, file);
	vectors_add(&tests, file, "answered", answered);
	vectors_add(&tests, file, "tags", tags);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	if (more)
		vectors_add_plain(&tests, more_name, more, NULL);
	snprintf(group, sizeof(group), "notices of generations by %s", form->name);
	failed = vectors_run(group, &tests);
	json_decref(file);
	return failed;
}
