// SPDX-License-Identifier: Apache-2.0
/*
 * list-srv6.json against a server. Each row is sent to the server whose address is its receiver: 2001:db8::21 to ::27, and
 * ::29. No packet comes to a segment ::ffff:a.b.c.d. A row of `tags` goes to a server with the key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_srv6.h>

#include "list_form.h"

enum {
	SRH_AT = FL_ETHERNET_LEN + FL_IPV6_LEN,
	FIRST_WORD = 0x6b8deadb, /* version 6, traffic class 0xb8, flow label 0xdeadb */
	HOP_LIMIT_AT = FL_ETHERNET_LEN + 7,
	SOURCE_AT = FL_ETHERNET_LEN + 8,
	DESTINATION_AT = FL_ETHERNET_LEN + 24,
	LATE_GENERATION = 13, /* above the rows' */
};

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

static const struct list_form *form;
static struct fl_siphash_key key;

struct row {
	const json_t *json;
	CMUnitTestFunction run;
	bool is_tagged;
	struct fl_address receiver;
};

static void server_set(const struct row *row)
{
	struct config config = rig_config_both();

	config.program.self = (struct fl_address){{0}}; /* RIG_SELF is a candidate of some rows */
	config.program.self6 = row->receiver;
	if (row->is_tagged)
		rig_tag(&config, &key);
	form->set(&config);
	form->generation_set(0);
}

/* The packet of a mux: from the SRH on as given, and complete if it has no inner packet. */
static struct packet packet_of(const struct row *row, const struct vectors_bytes *bytes, bool is_completed)
{
	struct fl_address mux = packet_address(RIG_MUX6);
	size_t len = bytes->len > 1 ? (1U + bytes->data[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT : 0;
	struct packet packet;
	fl_u8 *ip = packet.data + FL_ETHERNET_LEN;

	packet_begin_outer(&packet, &mux, &row->receiver, 0);
	packet.len = SRH_AT;
	fl_store_be32(ip, FIRST_WORD);
	ip[6] = 43;
	packet.data[HOP_LIMIT_AT] = 3;
	packet_add_bytes(&packet, bytes->data, bytes->len);
	if (is_completed && bytes->len == len)
		packet_add_tcp(&packet,
			       &rig_packets(bytes->data[0] == FL_LIST_GUE_IPV4 ? RIG_IPV4 : RIG_IPV6)->unknown);
	fl_store_be16(ip + 4, (fl_u16)(packet.len - SRH_AT));
	return packet;
}

static struct fl_list parsed(const struct row *row, const struct vectors_bytes *bytes)
{
	struct fl_list list = {0};

	assert_int_equal(fl_list_srv6_parse(bytes->data, bytes->data + bytes->len, &row->receiver, &list), FL_LIST_OK);
	return list;
}

/* What such a packet becomes on its way to the next server, with these bytes from the SRH on. */
static struct packet onward(const struct row *row, const struct packet *sent, const struct fl_address *next,
			    const struct vectors_bytes *after)
{
	struct packet expected = *sent;

	memcpy(expected.data, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02", 12); /* to the router, from rig0 */
	expected.data[HOP_LIMIT_AT] = 64;
	memcpy(expected.data + SOURCE_AT, row->receiver.bytes, 16);
	memcpy(expected.data + DESTINATION_AT, next->bytes, 16);
	memcpy(expected.data + SRH_AT, after->data, after->len);
	return expected;
}

/* The inner packet as it is delivered. */
static struct packet delivered(const struct packet *sent, size_t header_len)
{
	size_t at = SRH_AT + header_len;
	struct packet expected = {.len = 0};

	packet_add_ethernet(&expected, sent->data, sent->data + 6, sent->data[at] >> 4 == 4 ? 0x0800 : 0x86dd);
	packet_add_bytes(&expected, sent->data + at, sent->len - at);
	return expected;
}

/*
 * At the end of its list an unknown packet is delivered, or stale if it is late; else the next candidate gets it. Segments
 * of IPv4 addresses, and the address of all zero, cannot be sent to.
 */
static void valid(void **state)
{
	const struct row *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row->json, "bytes");
	struct fl_list list = parsed(row, &bytes);
	bool late = list.flags & FL_LIST_LATE;
	fl_u8 place = (fl_u8)(list.count - list.left);
	struct packet packet, expected;
	enum fl_counter counter;

	server_set(row);
	packet = packet_of(row, &bytes, true);
	counter = form->send(&packet);
	for (; place < list.count &&
	       (fl_address_is_unspecified(&list.candidate[place]) || fl_address_is_ipv4(&list.candidate[place]));
	     place++)
		late = true;
	if (place == list.count && late) {
		assert_int_equal(counter, FL_COUNTER_DROP_STALE);
	} else if (place == list.count) {
		assert_int_equal(counter, FL_COUNTER_DELIVER_UNKNOWN);
		expected = delivered(&packet, list.header_len);
		form->expect_delivered(&expected);
	} else {
		assert_int_equal(counter, FL_COUNTER_CHAIN);
		assert_true(
		    fl_list_srv6_forward(bytes.data, bytes.data + bytes.len, (fl_u8)(list.count - place - 1), late));
		expected = onward(row, &packet, &list.candidate[place], &bytes);
		form->expect_onward(&expected, false);
	}
	assert_int_equal(form->generation(), list.service == RIG_SERVICE ? list.generation : 0);
	vectors_free(&bytes);
}

/* What ends before its SRH does contradicts the outer length, and other next headers are not ours. */
static void malformed(void **state)
{
	const struct row *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row->json, "bytes");
	int error = vectors_word(row->json, "error", errors, FL_LIST_ERRORS);
	struct packet packet = packet_of(row, &bytes, false);
	enum fl_counter counter;

	server_set(row);
	counter = form->send(&packet);
	if (bytes.len < FL_LIST_SRV6_HEAD_LEN || error == FL_LIST_INNER_PROTOCOL)
		assert_int_equal(counter, form->not_ours);
	else if (bytes.len < (1U + bytes.data[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT)
		assert_int_equal(counter, form->short_srh);
	else
		assert_int_equal(counter, fl_counter_of_list_error((enum fl_list_error)error));
	assert_int_equal(form->generation(), 0);
	vectors_free(&bytes);
}

/* Those before the next one are other servers' rows: sent to as if these had passed the packet on. */
static void forwarded(void **state)
{
	const struct row *row = *state;
	struct vectors_bytes before = vectors_bytes(row->json, "before"), after = vectors_bytes(row->json, "after");
	struct fl_address next = vectors_address(row->json, "next");
	struct fl_list list = parsed(row, &before);
	struct packet packet, expected;

	server_set(row);
	if (vectors_bool(row->json, "late"))
		form->generation_set(LATE_GENERATION);
	packet = packet_of(row, &before, true);
	assert_int_equal(form->send(&packet), FL_COUNTER_CHAIN);
	if (vectors_number(row->json, "left") + 1 == list.left) {
		expected = onward(row, &packet, &next, &after);
		form->expect_onward(&expected, false);
	}
	vectors_free(&before);
	vectors_free(&after);
}

static void tags(void **state)
{
	const struct row *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row->json, "bytes");
	const char *result = vectors_text(row->json, "result");
	struct fl_list list = parsed(row, &bytes);
	struct packet packet = packet_of(row, &bytes, false);
	enum fl_counter counter;

	server_set(row);
	counter = form->send(&packet);
	if (!strcmp(result, "missing")) {
		assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING);
	} else if (!strcmp(result, "wrong")) {
		assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		assert_int_equal(form->generation(), 0);
	} else {
		assert_true(counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_DROP_STALE ||
			    counter == FL_COUNTER_DELIVER_UNKNOWN || counter == FL_COUNTER_DELIVER_NO_RESET);
		assert_int_equal(form->generation(), list.generation);
	}
	vectors_free(&bytes);
}

/* By server, so that few are set. */
static int compare(const void *a, const void *b)
{
	const struct row *l = a, *r = b;

	return l->is_tagged != r->is_tagged ? l->is_tagged - r->is_tagged
					    : memcmp(&l->receiver, &r->receiver, sizeof(l->receiver));
}

/* Whether the packet comes from, or goes to, an IPv4 address. */
static bool is_of_ipv4(const json_t *json)
{
	struct fl_address receiver = vectors_address(json, "receiver"), next = receiver;

	if (json_object_get(json, "next"))
		next = vectors_address(json, "next");
	return fl_address_is_ipv4(&receiver) || fl_address_is_ipv4(&next);
}

static size_t rows_add(struct row *rows, const json_t *file, const char *list, CMUnitTestFunction run)
{
	const json_t *json;
	size_t i, count = 0;

	json_array_foreach(vectors_list(file, list), i, json)
	{
		if (!is_of_ipv4(json))
			rows[count++] = (struct row){json, run, run == tags, vectors_address(json, "receiver")};
	}
	return count;
}

int list_srv6_run(const struct list_form *of, const char *folder)
{
	json_t *file = vectors_load(folder, "list-srv6.json");
	struct row *rows = calloc(2000, sizeof(*rows));
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	size_t i, count;
	int failed;

	form = of;
	key = vectors_key(file, "key");
	count = rows_add(rows, file, "valid", valid);
	count += rows_add(rows + count, file, "malformed", malformed);
	count += rows_add(rows + count, file, "forwarded", forwarded);
	count += rows_add(rows + count, file, "tags", tags);
	qsort(rows, count, sizeof(*rows), compare);
	for (i = 0; i < count; i++)
		vectors_add_plain(&tests, vectors_text(rows[i].json, "name"), rows[i].run, &rows[i]);
	snprintf(group, sizeof(group), "list-srv6.json by %s", form->name);
	failed = vectors_run(group, &tests);
	free(rows);
	json_decref(file);
	return failed;
}
