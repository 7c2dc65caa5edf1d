// SPDX-License-Identifier: Apache-2.0
#include "refuse_row.h"

#include "vectors.h"

#define OTHER    "10.1.0.21"
#define OTHER6   "2001:db8:1::21"
#define NOWHERE  "10.3.0.21"
#define NOWHERE6 "2001:db8:3::21"

const struct fl_load_setting refuse_full = {.busy = 4, .threshold = 4, .window = 50, .policy = FL_LOAD_STATIC};
static const struct fl_load_setting room = {.busy = 3, .threshold = 4, .window = 50, .policy = FL_LOAD_STATIC};
static const struct fl_load_setting always = {.busy = 1000, .threshold = 1, .policy = FL_LOAD_ALWAYS};

const struct refuse_row refuse_offer = {.inner = SYN, .next = OTHER};
const struct refuse_row refuse_offer6 = {.inner = SYN, .next = OTHER6};
const struct refuse_row refuse_silent = {.inner = SYN, .next = "10.1.0.25"};
const struct refuse_row refuse_silent6 = {.inner = SYN, .next = "2001:db8:1::25"};

/* clang-format off */
const struct refuse_row refuse_rows[] = {
    {"busy: sent on", SYN, OTHER, 0, &refuse_full, FL_COUNTER_CHAIN, {.passed = 1}},
    {"busy: sent on by IPv6", SYN, OTHER6, 0, &refuse_full, FL_COUNTER_CHAIN, {.passed = 1}},
    {"busy: sent on though its mux is late", SYN, OTHER, RIG_GENERATION - 1, &refuse_full, FL_COUNTER_CHAIN, {.passed = 1}},
    {"busy: sent on where nothing listens", SYN_WITHOUT_LISTENER, OTHER, 0, &refuse_full, FL_COUNTER_CHAIN, {.passed = 1}},
    {"busy: a SYN sent again is delivered", SYN_OF_HALF_OPEN, OTHER, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: a SYN in an open connection is delivered", SYN_OF_ESTABLISHED, OTHER, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: a SYN from the port of a closed connection is delivered", SYN_OF_TIME_WAIT, OTHER, 0, &refuse_full,
     FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: delivered without a candidate", SYN, NULL, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.unasked = 1}},
    {"busy: taken if the candidate is no address", SYN, "0.0.0.0", 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: taken if the candidate is ourselves", SYN, RIG_SELF, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: taken if it is ourselves, by our address of another family", SYN, RIG_SELF6, 0, &refuse_full,
     FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: taken if there is no route", SYN, NOWHERE, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: taken if there is no route by IPv6", SYN, NOWHERE6, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: an unknown ACK has no route", ACK_UNKNOWN, NOWHERE, 0, &refuse_full, FL_COUNTER_DROP_STALE, {0}},
    {"busy: an unknown ACK is sent on as ever", ACK_UNKNOWN, OTHER, 0, &refuse_full, FL_COUNTER_CHAIN, {0}},
    {"busy: an open connection's ACK is delivered", ACK_ESTABLISHED, OTHER, 0, &refuse_full, FL_COUNTER_DELIVER_LOCAL_SOCKET,
     {0}},
    {"busy: a SYN-ACK is no offer", SYN_ACK, OTHER, 0, &refuse_full, FL_COUNTER_CHAIN, {0}},
    {"room: taken", SYN, OTHER, 0, &room, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"room: delivered without a candidate", SYN, NULL, 0, &room, FL_COUNTER_DELIVER_SYN, {.unasked = 1}},
    {"room: sent on where nothing listens", SYN_WITHOUT_LISTENER, OTHER, 0, &room, FL_COUNTER_CHAIN, {.passed = 1}},
    {"always: taken", SYN, OTHER, 0, &always, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"not set: delivered", SYN, OTHER, 0, NULL, FL_COUNTER_DELIVER_SYN, {0}},
    {"not set: delivered without a candidate", SYN, NULL, 0, NULL, FL_COUNTER_DELIVER_SYN, {0}},
    {"not set: sent on where nothing listens", SYN_WITHOUT_LISTENER, OTHER, 0, NULL, FL_COUNTER_CHAIN, {0}},
    {.name = NULL},
};
/* clang-format on */

static struct packet_tcp syn_of(struct packet_tcp tcp)
{
	tcp.flags = TCP_SYN;
	tcp.sequence--;
	tcp.acknowledgement = 0;
	return tcp;
}

struct packet_tcp refuse_row_inner(const struct refuse_row *row, enum rig_family family)
{
	const struct rig_packets *packets = rig_packets(family);
	struct packet_tcp tcp = packets->unknown;

	switch (row->inner) {
	case SYN:
		return packets->syn;
	case SYN_OF_HALF_OPEN:
		return syn_of(packets->half_open);
	case SYN_OF_ESTABLISHED:
		return syn_of(packets->established);
	case SYN_OF_TIME_WAIT:
		return syn_of(packets->time_wait);
	case SYN_WITHOUT_LISTENER:
		return syn_of(packets->no_listener);
	case ACK_ESTABLISHED:
		return packets->established;
	case SYN_ACK:
		tcp.flags = TCP_SYN | TCP_ACK;
		return tcp;
	case ACK_UNKNOWN:
		break;
	}
	return tcp;
}

struct fl_list refuse_row_list(const struct refuse_row *row, enum rig_family family)
{
	struct fl_list list = rig_list(family);

	if (row->generation)
		list.generation = row->generation;
	if (!row->next)
		return list;
	list.count = list.left = 1;
	list.candidate[0] = packet_address(row->next);
	list.flags = fl_address_is_ipv4(&list.candidate[0]) ? 0 : FL_LIST_IPV6;
	return list;
}

struct packet refuse_packet(const struct fl_list *list, const struct packet_tcp *tcp)
{
	struct packet packet;

	rig_begin(&packet, list);
	packet_add_tcp(&packet, tcp);
	packet_finish_outer(&packet);
	return packet;
}

void refuse_check_counts(const struct fl_load_state *state, const struct refuse_counts *expected)
{
	assert_int_equal(state->taken, expected->taken);
	assert_int_equal(state->passed, expected->passed);
	assert_int_equal(state->unasked, expected->unasked);
	assert_int_equal(fl_load_offered(state), expected->taken + expected->passed);
}

void refuse_row_check_sent_on(const struct refuse_row *row, const struct packet *sent, const struct packet *onward)
{
	struct fl_address next = packet_address(row->next), self = packet_address(RIG_SELF);
	bool is_ipv4 = fl_address_is_ipv4(&next);
	size_t gue_at = is_ipv4 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
	struct packet expected = *sent;
	fl_u8 *gue = expected.data + PACKET_GUE_AT, *end = expected.data + expected.len;
	struct fl_list list = {0};

	assert_int_equal(fl_list_parse(gue, end, (fl_u32)(end - gue), false, false, &list), FL_LIST_OK);
	assert_true(fl_list_forward(gue, end, &list, &self, 0, row->generation && row->generation < RIG_GENERATION));
	assert_memory_equal(onward->data + (is_ipv4 ? PACKET_OUTER_AT + 16 : PACKET_OUTER_AT + 24),
			    is_ipv4 ? next.bytes + 12 : next.bytes, is_ipv4 ? 4 : 16);
	assert_int_equal(onward->len - gue_at, expected.len - PACKET_GUE_AT);
	assert_memory_equal(onward->data + gue_at, gue, expected.len - PACKET_GUE_AT);
}
