// SPDX-License-Identifier: Apache-2.0
#include "refuse_row.h"

#include <time.h>

#include "vectors.h"

#define OTHER    "10.1.0.21"
#define OTHER6   "2001:db8:1::21"
#define NOWHERE  "10.3.0.21"
#define NOWHERE6 "2001:db8:3::21"

const struct fl_load_setting refuse_full = {.busy = 4, .threshold = 4, .window = 50, .policy = FL_LOAD_STATIC};
static const struct fl_load_setting room = {.busy = 3, .threshold = 4, .window = 50, .policy = FL_LOAD_STATIC};
static const struct fl_load_setting always = {.busy = 1000, .threshold = 1, .policy = FL_LOAD_ALWAYS};

const struct refuse_row refuse_offer = {.inner = SYN, .second = OTHER};
const struct refuse_row refuse_offer6 = {.inner = SYN, .second = OTHER6};
const struct refuse_row refuse_silent = {.inner = SYN, .second = "10.1.0.25"};
const struct refuse_row refuse_silent6 = {.inner = SYN, .second = "2001:db8:1::25"};

/* clang-format off */
const struct refuse_row refuse_rows[] = {
    {"busy: passed on", SYN, OTHER, false, 0, &refuse_full, FL_COUNTER_PASS_ON, {.passed = 1}},
    {"busy: passed on by IPv6", SYN, OTHER6, false, 0, &refuse_full, FL_COUNTER_PASS_ON, {.passed = 1}},
    {"busy: passed on, with the second bucket's move", SYN, OTHER, true, 0, &refuse_full, FL_COUNTER_PASS_ON, {.passed = 1}},
    {"busy: passed on though its mux is late", SYN, OTHER, false, RIG_GENERATION - 1, &refuse_full, FL_COUNTER_PASS_ON,
     {.passed = 1}},
    {"busy: passed on where nothing listens", SYN_WITHOUT_LISTENER, OTHER, false, 0, &refuse_full, FL_COUNTER_PASS_ON,
     {.passed = 1}},
    {"busy: a SYN sent again is delivered", SYN_OF_HALF_OPEN, OTHER, false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: a SYN in an open connection is delivered", SYN_OF_ESTABLISHED, OTHER, false, 0, &refuse_full,
     FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: a SYN from the port of a closed connection is delivered", SYN_OF_TIME_WAIT, OTHER, false, 0, &refuse_full,
     FL_COUNTER_DELIVER_SYN, {0}},
    {"busy: delivered without a second bucket", SYN, NULL, false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.unasked = 1}},
    {"busy: delivered if the second bucket has no owner", SYN, "0.0.0.0", false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN,
     {.unasked = 1}},
    {"busy: delivered if both buckets are ours", SYN, RIG_SELF, false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN,
     {.passed = 1, .unasked = 1}},
    {"busy: delivered if both are ours, by our address of another family", SYN, RIG_SELF6, false, 0, &refuse_full,
     FL_COUNTER_DELIVER_SYN, {.passed = 1, .unasked = 1}},
    {"busy: delivered if both are ours and the second has moved", SYN, RIG_SELF, true, 0, &refuse_full, FL_COUNTER_DELIVER_SYN,
     {.passed = 1, .unasked = 1}},
    {"busy: taken if there is no route", SYN, NOWHERE, false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: taken if there is no route by IPv6", SYN, NOWHERE6, false, 0, &refuse_full, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"busy: an unknown ACK has no route", ACK_UNKNOWN, NOWHERE, false, 0, &refuse_full, FL_COUNTER_DROP_CHAIN_UNROUTABLE,
     {0}},
    {"busy: an unknown ACK is passed on as ever", ACK_UNKNOWN, OTHER, false, 0, &refuse_full, FL_COUNTER_PASS_ON, {0}},
    {"busy: an open connection's ACK is delivered", ACK_ESTABLISHED, OTHER, false, 0, &refuse_full,
     FL_COUNTER_DELIVER_LOCAL_SOCKET, {0}},
    {"busy: a SYN-ACK is no offer", SYN_ACK, OTHER, false, 0, &refuse_full, FL_COUNTER_PASS_ON, {0}},
    {"room: taken", SYN, OTHER, false, 0, &room, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"room: taken, with the second bucket's move", SYN, OTHER, true, 0, &room, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"room: delivered without a second bucket", SYN, NULL, false, 0, &room, FL_COUNTER_DELIVER_SYN, {.unasked = 1}},
    {"always: taken", SYN, OTHER, false, 0, &always, FL_COUNTER_DELIVER_SYN, {.taken = 1}},
    {"not set: delivered", SYN, OTHER, false, 0, NULL, FL_COUNTER_DELIVER_SYN, {0}},
    {"not set: delivered without a second bucket", SYN, NULL, false, 0, NULL, FL_COUNTER_DELIVER_SYN, {0}},
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

struct fl_steer refuse_row_steer(const struct refuse_row *row, enum rig_family family)
{
	struct fl_steer steer = {.inner_protocol = family == RIG_IPV4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6,
				 .service = RIG_SERVICE,
				 .bucket = RIG_BUCKET,
				 .generation = row->generation ? row->generation : RIG_GENERATION};

	if (!row->second)
		return steer;
	steer.flags = FL_STEER_SECOND;
	steer.second.bucket = REFUSE_SECOND_BUCKET;
	steer.second.owner = packet_address(row->second);
	if (row->is_moved) {
		steer.flags |= FL_STEER_MOVED2;
		steer.second.since = (fl_u32)time(NULL);
		steer.second.previous = packet_address("10.1.0.23");
	}
	return steer;
}

struct packet refuse_packet(const struct fl_steer *steer, const struct packet_tcp *tcp)
{
	struct packet packet;

	rig_begin(&packet, steer);
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

void refuse_row_check_passed(const struct refuse_row *row, const struct packet *sent, const struct packet *passed)
{
	struct fl_address owner = packet_address(row->second);
	bool is_ipv4 = fl_address_is_ipv4(&owner);
	size_t gue_at = is_ipv4 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
	struct packet expected = *sent;
	fl_u8 *gue = expected.data + PACKET_GUE_AT, *end = expected.data + expected.len;

	assert_true(fl_steer_promote(gue, end));
	if (row->generation && row->generation < RIG_GENERATION)
		assert_true(fl_steer_mark_late(gue, end));
	assert_memory_equal(passed->data + (is_ipv4 ? PACKET_OUTER_AT + 16 : PACKET_OUTER_AT + 24),
			    is_ipv4 ? owner.bytes + 12 : owner.bytes, is_ipv4 ? 4 : 16);
	assert_int_equal(passed->len - gue_at, expected.len - PACKET_GUE_AT);
	assert_memory_equal(passed->data + gue_at, gue, expected.len - PACKET_GUE_AT);
}
