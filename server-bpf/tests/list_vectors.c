// SPDX-License-Identifier: Apache-2.0
/*
 * list.json against a server. Each row is sent to the server whose address is its receiver: the rows' servers are
 * 10.1.0.21 to .27 and 2001:db8::21 to ::27, so a server has two of these addresses, and rows of one server run together.
 * A row with a tag of the oracle goes to a server with the key, the others to one without.
 *
 * A row of `forwarded` that goes beyond the next candidate has those before it behind routes that refuse: they are
 * skipped, which sets LATE in any case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

#include "list_form.h"

enum {
	FIRST = 21, /* last digits of the first server's addresses */
	SERVERS = 7,
	LATE_GENERATION = 13, /* above the rows' */
};

struct case_of {
	const json_t *row;
	CMUnitTestFunction run;
	unsigned int server; /* of the row's receiver, from 0 */
	bool is_tagged;
	unsigned int skipped; /* candidates that cannot be sent to */
};

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
    [FL_LIST_FAMILY] = "family",
};

static const struct list_form *form;
static struct fl_siphash_key key;
static const struct case_of *present;
static struct config config;

/* The digits are decimal in IPv4 and hexadecimal in IPv6. */
static unsigned int server_of(const struct fl_address *address)
{
	unsigned int last = address->bytes[15];

	return fl_address_is_ipv4(address) ? last - FIRST : last / 16 * 10 + last % 16 - FIRST;
}

static struct config config_of(unsigned int server, bool is_tagged)
{
	struct config made = rig_config_both();
	char text[64];

	snprintf(text, sizeof(text), "10.1.0.%u,2001:db8::%u", FIRST + server, FIRST + server);
	assert_int_equal(config_set(&made, "address", text), 0);
	if (is_tagged)
		rig_tag(&made, &key);
	return made;
}

/* Has routes refuse the servers behind this one that the case skips, and no others. */
static void skips_set(const struct case_of *of)
{
	unsigned int i;

	if (present && present->server == of->server && present->skipped == of->skipped)
		return;
	rig_command("ip route flush type blackhole; ip -6 route flush type blackhole");
	for (i = of->server + 1; i <= of->server + of->skipped; i++)
		rig_command("ip route add blackhole 10.1.0.%u && ip route add blackhole 2001:db8::%u", FIRST + i,
			    FIRST + i);
	if (form->routes_forget)
		form->routes_forget();
}

static const json_t *prepare(const struct case_of *of)
{
	config = config_of(of->server, of->is_tagged);
	form->set(&config);
	skips_set(of);
	present = of;
	form->generation_set(0);
	return of->row;
}

static struct packet packet_of(const json_t *row, const struct vectors_bytes *bytes)
{
	struct fl_address receiver = vectors_address(row, "receiver");
	struct packet packet;

	list_packet_begin(&packet, &receiver);
	packet_add_bytes(&packet, bytes->data, bytes->len);
	packet_finish_outer(&packet);
	return packet;
}

static struct fl_list parsed(const json_t *row, const struct vectors_bytes *bytes)
{
	struct fl_address receiver = vectors_address(row, "receiver");
	struct fl_list list;

	assert_int_equal(fl_list_parse(bytes->data, bytes->data + bytes->len, (fl_u32)bytes->len, false,
				       !fl_address_is_ipv4(&receiver), &list),
			 FL_LIST_OK);
	return list;
}

/* The same bytes with a packet of no known connection behind them, if they are a header alone. */
static void inner_complete(struct vectors_bytes *bytes, const struct fl_list *list)
{
	bool is_ipv4 = list->inner_protocol == FL_LIST_GUE_IPV4;
	struct packet inner = {.len = 0};

	if (bytes->len > list->header_len)
		return;
	packet_add_tcp(&inner, &rig_packets(is_ipv4 ? RIG_IPV4 : RIG_IPV6)->unknown);
	bytes->data = realloc(bytes->data, bytes->len + inner.len);
	assert_non_null(bytes->data);
	memcpy(bytes->data + bytes->len, inner.data, inner.len);
	bytes->len += inner.len;
}

/* At the end of its list an unknown packet is delivered, or stale if it is late; else the next candidate gets it. */
static void valid(void **state)
{
	const json_t *row = prepare(*state);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_list list = parsed(row, &bytes);
	struct fl_address receiver = vectors_address(row, "receiver"), next;
	bool late = list.flags & FL_LIST_LATE;
	fl_u8 place = (fl_u8)(list.count - list.left);
	struct packet packet, expected;
	enum fl_counter counter;

	inner_complete(&bytes, &list);
	packet = packet_of(row, &bytes);
	counter = form->send(&packet);
	for (; place < list.count && fl_address_is_unspecified(&list.candidate[place]); place++)
		late = true;
	if (place == list.count && late) {
		assert_int_equal(counter, FL_COUNTER_DROP_STALE);
	} else if (place == list.count) {
		assert_int_equal(counter, FL_COUNTER_DELIVER_UNKNOWN);
		expected = list_packet_delivered(&packet, list.header_len);
		form->expect_delivered(&expected);
	} else {
		next = list.candidate[place];
		assert_int_equal(counter, FL_COUNTER_CHAIN);
		assert_true(fl_list_forward(bytes.data, bytes.data + bytes.len, &list, &receiver,
					    (fl_u8)(list.count - place - 1), late));
		expected = list_packet_onward(&config, &packet, &next, bytes.data, bytes.len, false);
		form->expect_onward(&expected, false);
	}
	assert_int_equal(form->generation(), list.service == RIG_SERVICE ? list.generation : 0);
	vectors_free(&bytes);
}

/* A notice, which is no packet with a list, is returned, or refused as one. */
static enum fl_counter counter_of_malformed(const json_t *row, const struct vectors_bytes *bytes)
{
	int error = vectors_word(row, "error", errors, FL_LIST_ERRORS);
	struct fl_notice notice;

	if (error == FL_LIST_INNER_PROTOCOL && bytes->data[1] == FL_LIST_GUE_NOTICE)
		error = (int)fl_notice_parse(bytes->data, bytes->data + bytes->len, (fl_u32)bytes->len, &notice);
	return error == FL_LIST_OK ? FL_COUNTER_NOTICE : fl_counter_of_list_error((enum fl_list_error)error);
}

static void malformed(void **state)
{
	const json_t *row = prepare(*state);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct packet packet = packet_of(row, &bytes);
	enum fl_counter counter = counter_of_malformed(row, &bytes);

	assert_int_equal(form->send(&packet), counter);
	if (counter != FL_COUNTER_NOTICE)
		assert_int_equal(form->generation(), 0);
	vectors_free(&bytes);
}

/* A datagram that ends within its header, in a frame that does not. */
static void cut(void **state)
{
	const json_t *row = prepare(*state);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_list list = parsed(row, &bytes);
	size_t whole = bytes.len, len;

	for (len = FL_LIST_AT_FLAGS; len < list.header_len; len++) {
		struct packet packet;

		bytes.len = len;
		packet = packet_of(row, &bytes);
		packet_add_bytes(&packet, bytes.data + len, whole - len);
		assert_int_equal(form->send(&packet), FL_COUNTER_DROP_MALFORMED_TRUNCATED);
	}
	vectors_free(&bytes);
}

static void forwarded(void **state)
{
	const struct case_of *of = *state;
	const json_t *row = prepare(of);
	struct vectors_bytes bytes = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	struct fl_address next = vectors_address(row, "next");
	struct fl_list list = parsed(row, &bytes);
	struct packet packet, expected;
	fl_u64 skipped = form->counter(FL_COUNTER_SKIPPED);

	inner_complete(&bytes, &list);
	inner_complete(&after, &list);
	if (of->skipped)
		after.data[FL_LIST_AT_FLAGS] |= FL_LIST_LATE;
	else if (vectors_bool(row, "late"))
		form->generation_set(LATE_GENERATION);
	packet = packet_of(row, &bytes);
	assert_int_equal(form->send(&packet), FL_COUNTER_CHAIN);
	assert_int_equal(form->counter(FL_COUNTER_SKIPPED) - skipped, of->skipped);
	expected = list_packet_onward(&config, &packet, &next, after.data, after.len, false);
	form->expect_onward(&expected, false);
	vectors_free(&bytes);
	vectors_free(&after);
}

static void tags(void **state)
{
	const json_t *row = prepare(*state);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct packet packet = packet_of(row, &bytes);
	const char *result = vectors_text(row, "result");
	struct fl_list list = parsed(row, &bytes);
	enum fl_counter counter = form->send(&packet);

	if (!strcmp(result, "missing")) {
		assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING);
	} else if (!strcmp(result, "wrong")) {
		assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		assert_int_equal(form->generation(), 0);
	} else {
		assert_true(list.left
				? counter == FL_COUNTER_CHAIN
				: counter == FL_COUNTER_DELIVER_UNKNOWN || counter == FL_COUNTER_DELIVER_NO_RESET);
		assert_int_equal(form->generation(), list.generation);
	}
	vectors_free(&bytes);
}

/* Services in turn, each with its own key, and with another's. */
static void keys(void **state)
{
	const struct case_of *of = *state;
	const json_t *row = prepare(of);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_address receiver = vectors_address(row, "receiver");
	struct fl_list list = parsed(row, &bytes);
	struct fl_list_message message;
	fl_u16 i;

	for (i = 0; i < 8; i++) {
		struct fl_siphash_key own;
		struct packet packet;

		list.service = (fl_u16)(i % 4 * 64);
		assert_true(fl_list_tag_message(&list, &receiver, bytes.data + list.header_len, bytes.data + bytes.len,
						&message));
		own = fl_list_key(&key, i < 4 ? list.service : (fl_u16)(list.service + 64));
		fl_store_be64(list.tag, fl_list_tag(&own, &message));
		fl_list_write(&list, bytes.data);
		packet = packet_of(row, &bytes);
		assert_int_equal(form->send(&packet),
				 i < 4 ? FL_COUNTER_DELIVER_UNKNOWN : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	}
	vectors_free(&bytes);
}

static struct case_of *cases;
static size_t case_count;

static void case_add(const json_t *row, CMUnitTestFunction run, bool is_tagged, unsigned int skipped)
{
	struct fl_address receiver = vectors_address(row, "receiver");

	cases[case_count++] = (struct case_of){row, run, server_of(&receiver), is_tagged, skipped};
}

static void cases_add(const json_t *file, const char *list, CMUnitTestFunction run, bool is_tagged)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, list), i, row) case_add(row, run, is_tagged, 0);
}

static void forwarded_add(const json_t *file)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, "forwarded"), i, row)
	{
		struct vectors_bytes bytes = vectors_bytes(row, "before");
		unsigned int left = bytes.data[FL_LIST_AT_VERSION] & 15,
			     then = (unsigned int)vectors_number(row, "left");

		case_add(row, forwarded, bytes.data[FL_LIST_AT_FLAGS] & FL_LIST_TAG, left - then - 1);
		vectors_free(&bytes);
	}
}

/* By server, then by what is skipped. */
static int compare(const void *a, const void *b)
{
	const struct case_of *l = a, *r = b;

	if (l->is_tagged != r->is_tagged)
		return l->is_tagged - r->is_tagged;
	if (l->server != r->server)
		return (int)l->server - (int)r->server;
	return (int)l->skipped - (int)r->skipped;
}

int list_vectors_run(const struct list_form *of, const char *folder)
{
	json_t *file = vectors_load(folder, "list.json");
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	size_t i;
	int failed;

	form = of;
	key = vectors_key(file, "key");
	cases = calloc(2000, sizeof(*cases));
	cases_add(file, "valid", valid, false);
	cases_add(file, "valid", cut, false);
	cases_add(file, "malformed", malformed, false);
	cases_add(file, "tags", tags, true);
	forwarded_add(file);
	case_add(json_array_get(vectors_list(file, "tags"), 0), keys, true, 0);
	qsort(cases, case_count, sizeof(*cases), compare);
	rig_command("for host in 25 26 27; do ip neigh add 10.1.0.$host lladdr 02:00:00:00:00:$host dev rig0 || exit 1;"
		    " done");
	for (i = 0; i < case_count; i++)
		vectors_add_plain(&tests, vectors_text(cases[i].row, "name"), cases[i].run, &cases[i]);
	snprintf(group, sizeof(group), "list.json by %s", form->name);
	failed = vectors_run(group, &tests);
	free(cases);
	json_decref(file);
	return failed;
}
