// SPDX-License-Identifier: Apache-2.0
/*
 * What a server does with packets, by rows: what the host knows of the connection, what the packet names,
 * what the server has seen, and which candidates cannot be sent to; with outer IPv4 and IPv6. (The decision itself:
 * protocol/tests/test_decide.c.)
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "list_form.h"

enum {
	DATAGRAM_LEN = 32,
	NOW = 5, /* the server has seen this generation */
};

#define A        "10.1.0.21"
#define B        "2001:db8:1::23" /* on the wire, and a neighbour as the router is */
#define C        "10.1.0.24"
#define NEW      "10.1.0.99" /* a neighbour that is not resolved */
#define NO_ROUTE "10.3.0.1"
#define SMALL    "10.8.0.1" /* behind an MTU of 200 bytes */

static const struct list_form *form;
static struct config both, only_ipv4, without_chaining;

struct row {
	const char *name;
	size_t packet; /* offset of a struct packet_tcp in struct rig_packets */
	fl_u32 generation;
	const char *list[FL_LIST_MAX];
	fl_u8 left;
	bool late, quiet;
	enum fl_counter counter;
	fl_u8 next; /* place in the list, if it is sent on */
	bool late_then;
	fl_u8 skipped;
};

#define IS(field) offsetof(struct rig_packets, field)
#define UNKNOWN   IS(unknown)

static const struct row rows[] = {
    {"a SYN", IS(syn), NOW, {A}, 1, 0, 0, FL_COUNTER_DELIVER_SYN, 0, 0, 0},
    {"a SYN to a busy server", IS(syn), NOW, {A}, 1, 0, 0, FL_COUNTER_CHAIN, 0, 0, 0},
    {"a SYN to a busy server, the last", IS(syn), NOW, {A}, 0, 0, 0, FL_COUNTER_DELIVER_SYN, 0, 0, 0},
    {"a SYN to a busy server, and nowhere to go", IS(syn), NOW, {NO_ROUTE}, 1, 0, 0, FL_COUNTER_DELIVER_SYN, 0, 0, 1},
    {"a SYN of a connection that is here, to a busy server",
     IS(half_open),
     NOW,
     {A},
     1,
     0,
     0,
     FL_COUNTER_DELIVER_SYN,
     0,
     0,
     0},
    {"a SYN without a listener", IS(no_listener), NOW, {A, B}, 2, 0, 0, FL_COUNTER_CHAIN, 0, 0, 0},
    {"a SYN without a listener, the last", IS(no_listener), NOW, {A, B}, 0, 0, 0, FL_COUNTER_DELIVER_SYN, 0, 0, 0},
    {"an established connection", IS(established), 4, {A}, 1, 1, 1, FL_COUNTER_DELIVER_LOCAL_SOCKET, 0, 0, 0},
    {"a half-open connection", IS(half_open), NOW, {A}, 1, 0, 0, FL_COUNTER_DELIVER_LOCAL_SOCKET, 0, 0, 0},
    {"another server's SYN-ACK", IS(half_open_elsewhere), NOW, {A}, 1, 0, 0, FL_COUNTER_CHAIN, 0, 0, 0},
    {"a connection in TIME-WAIT", IS(time_wait), NOW, {A}, 1, 0, 0, FL_COUNTER_DELIVER_LOCAL_SOCKET, 0, 0, 0},
    {"a SYN cookie", IS(cookie_ack), 4, {A}, 1, 0, 1, FL_COUNTER_DELIVER_COOKIE_ACK, 0, 0, 0},
    {"a wrong SYN cookie", IS(bad_cookie), NOW, {A}, 1, 0, 0, FL_COUNTER_CHAIN, 0, 0, 0},
    {"unknown, without a list", UNKNOWN, NOW, {NULL}, 0, 0, 0, FL_COUNTER_DELIVER_UNKNOWN, 0, 0, 0},
    {"unknown, without a list, of a late mux", UNKNOWN, 4, {NULL}, 0, 0, 0, FL_COUNTER_DROP_STALE, 0, 0, 0},
    {"unknown, of a higher generation", UNKNOWN, 6, {NULL}, 0, 0, 0, FL_COUNTER_DELIVER_UNKNOWN, 0, 0, 0},
    {"unknown, to a quiet server", UNKNOWN, 6, {NULL}, 0, 0, 1, FL_COUNTER_DROP_STALE, 0, 0, 0},
    {"unknown, marked late, at the end", UNKNOWN, NOW, {A, B}, 0, 1, 0, FL_COUNTER_DROP_STALE, 0, 0, 0},
    {"unknown, at the end", UNKNOWN, NOW, {A, B}, 0, 0, 0, FL_COUNTER_DELIVER_UNKNOWN, 0, 0, 0},
    {"on to IPv4", UNKNOWN, NOW, {A, B}, 2, 0, 0, FL_COUNTER_CHAIN, 0, 0, 0},
    {"on to IPv6", UNKNOWN, NOW, {A, B}, 1, 0, 0, FL_COUNTER_CHAIN, 1, 0, 0},
    {"on, of a late mux", UNKNOWN, 4, {A, B}, 2, 0, 0, FL_COUNTER_CHAIN, 0, 1, 0},
    {"on, by a quiet server", UNKNOWN, 6, {A, B}, 2, 0, 1, FL_COUNTER_CHAIN, 0, 1, 0},
    {"oneself is passed over", UNKNOWN, NOW, {RIG_SELF, RIG_SELF6, C}, 3, 0, 0, FL_COUNTER_CHAIN, 2, 0, 0},
    {"oneself at the end", UNKNOWN, NOW, {A, RIG_SELF6}, 1, 0, 0, FL_COUNTER_DELIVER_UNKNOWN, 0, 0, 0},
    {"no route", UNKNOWN, NOW, {NO_ROUTE, A}, 2, 0, 0, FL_COUNTER_CHAIN, 1, 1, 1},
    {"no route, then an unresolved neighbour",
     UNKNOWN,
     NOW,
     {NO_ROUTE, NEW},
     2,
     0,
     0,
     FL_COUNTER_CHAIN_BY_KERNEL,
     1,
     1,
     1},
    {"an unresolved neighbour", UNKNOWN, NOW, {NEW, A}, 2, 0, 0, FL_COUNTER_CHAIN_BY_KERNEL, 0, 0, 0},
    {"no route to five, of both families",
     UNKNOWN,
     NOW,
     {NO_ROUTE, "2001:db8:3::1", NO_ROUTE, "10.3.0.2", NO_ROUTE, A},
     6,
     0,
     0,
     FL_COUNTER_CHAIN,
     5,
     1,
     5},
    {"no route to any",
     UNKNOWN,
     NOW,
     {NO_ROUTE, NO_ROUTE, NO_ROUTE, NO_ROUTE, NO_ROUTE, NO_ROUTE},
     6,
     0,
     0,
     FL_COUNTER_DROP_STALE,
     0,
     0,
     6},
    {"no address", UNKNOWN, NOW, {"::", "0.0.0.0", A}, 3, 0, 0, FL_COUNTER_CHAIN, 2, 1, 2},
    {"another address of this host", UNKNOWN, NOW, {"10.1.0.2"}, 1, 0, 0, FL_COUNTER_DROP_STALE, 0, 0, 1},
};

static struct packet_tcp inner_of(const struct row *row, enum rig_family family)
{
	struct packet_tcp tcp = *(const struct packet_tcp *)((const char *)rig_packets(family) + row->packet);

	if (strstr(row->name, "SYN to") || strstr(row->name, "SYN of") || strstr(row->name, "SYN without"))
		tcp.flags = TCP_SYN;
	return tcp;
}

static struct fl_list list_of(const struct row *row, enum rig_family inner, const struct fl_address *self)
{
	struct fl_list list = {.inner_protocol = inner == RIG_IPV4 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
			       .flags = row->late ? FL_LIST_LATE : 0,
			       .left = row->left,
			       .service = RIG_SERVICE,
			       .generation = row->generation};

	for (; list.count < FL_LIST_MAX && row->list[list.count]; list.count++) {
		list.candidate[list.count] = packet_address(row->list[list.count]);
		if (!fl_address_is_ipv4(&list.candidate[list.count]))
			list.flags |= FL_LIST_IPV6;
	}
	if (!fl_address_is_ipv4(self))
		list.flags |= FL_LIST_IPV6;
	return list;
}

/* Writes the header behind the outer one; returns its length. */
static size_t header_add(struct packet *packet, const struct fl_list *list, const struct fl_address *self)
{
	fl_u8 gue[FL_LIST_MAX_LEN];
	size_t len = fl_list_write(list, gue);

	list_packet_begin(packet, self);
	packet_add_bytes(packet, gue, len);
	return len;
}

/* The packet was sent on to `next`, the candidate at that place. */
static void check_onward(const struct packet *sent, const struct fl_address *self, const struct fl_address *next,
			 unsigned int place, bool late, bool is_by_kernel)
{
	size_t at = list_packet_gue_at(sent);
	struct packet rewritten = *sent, expected;
	struct fl_list list = {0};

	assert_int_equal(fl_list_parse(sent->data + at, sent->data + sent->len, (fl_u32)(sent->len - at), false,
				       !fl_address_is_ipv4(self), &list),
			 FL_LIST_OK);
	assert_true(fl_list_forward(rewritten.data + at, rewritten.data + rewritten.len, &list, self,
				    (fl_u8)(list.count - place - 1), late));
	expected = list_packet_onward(&both, sent, next, rewritten.data + at, rewritten.len - at, is_by_kernel);
	form->expect_onward(&expected, is_by_kernel);
}

static void run_row(const struct row *row, enum rig_family outer, enum rig_family inner)
{
	static const struct fl_load_setting busy = {.busy = 1, .threshold = 1, .window = 50, .policy = FL_LOAD_STATIC};
	struct fl_address self = packet_address(outer == RIG_IPV4 ? RIG_SELF : RIG_SELF6), next;
	struct packet_tcp tcp = inner_of(row, inner);
	struct fl_list list = list_of(row, inner, &self);
	bool is_by_kernel = row->counter == FL_COUNTER_CHAIN_BY_KERNEL;
	struct packet packet, expected;
	fl_u64 skipped;
	size_t len;

	len = header_add(&packet, &list, &self);
	packet_add_tcp(&packet, &tcp);
	packet_finish_outer(&packet);
	form->set(&both);
	form->generation_set(NOW);
	form->quiet(row->quiet ? FL_SERVER_QUIET_MAX : 0);
	form->load_set(strstr(row->name, "busy") ? &busy : NULL);
	skipped = form->counter(FL_COUNTER_SKIPPED);
	assert_int_equal(form->send(&packet), is_by_kernel ? form->by_kernel : row->counter);
	if (is_by_kernel || row->counter == FL_COUNTER_CHAIN) {
		next = packet_address(row->list[row->next]);
		check_onward(&packet, &self, &next, row->next, row->late_then, is_by_kernel);
	} else if (row->counter != FL_COUNTER_DROP_STALE) {
		expected = list_packet_delivered(&packet, len);
		form->expect_delivered(&expected);
	}
	assert_int_equal(form->counter(FL_COUNTER_SKIPPED) - skipped, row->skipped);
	assert_int_equal(form->generation(), row->generation > NOW ? row->generation : NOW);
}

static void each_row(void **state)
{
	const struct row *row = *state;
	int outer, inner;

	for (outer = 0; outer < RIG_FAMILIES; outer++)
		for (inner = 0; inner < RIG_FAMILIES; inner++) {
			print_message("# outer %s, inner %s\n", outer ? "IPv6" : "IPv4", inner ? "IPv6" : "IPv4");
			run_row(row, (enum rig_family)outer, (enum rig_family)inner);
		}
}

/* What a busy server counts of the row's SYN. */
static void load_check(const struct row *row, fl_u64 taken, fl_u64 passed, fl_u64 unasked)
{
	struct fl_load_state before, after;

	form->load_set(NULL);
	before = form->load();
	run_row(row, RIG_IPV4, RIG_IPV4);
	after = form->load();
	assert_int_equal(after.taken - before.taken, taken);
	assert_int_equal(after.passed - before.passed, passed);
	assert_int_equal(after.unasked - before.unasked, unasked);
}

static void load_is_counted(void **state)
{
	(void)state;
	load_check(&rows[1], 0, 1, 0);
	load_check(&rows[3], 1, 0, 0);
	load_check(&rows[2], 0, 0, 1);
}

/* A packet with this list to RIG_SELF, with an inner packet that is added by `add`. */
static enum fl_counter send_with(const struct config *to, const char *const *names, fl_u8 left,
				 void (*add)(struct packet *packet))
{
	const struct row row = {.generation = NOW, .left = left};
	struct fl_address self = packet_address(RIG_SELF);
	struct fl_list list = list_of(&row, RIG_IPV4, &self);
	struct packet packet;

	for (; names[list.count]; list.count++) {
		list.candidate[list.count] = packet_address(names[list.count]);
		if (!fl_address_is_ipv4(&list.candidate[list.count]))
			list.flags |= FL_LIST_IPV6;
	}
	header_add(&packet, &list, &self);
	add(&packet);
	packet_finish_outer(&packet);
	form->set(to);
	form->load_set(NULL);
	return form->send(&packet);
}

static void add_unknown(struct packet *packet)
{
	packet_add_tcp(packet, &rig_packets(RIG_IPV4)->unknown);
}

static void add_connected(struct packet *packet)
{
	packet_add_udp(packet, &rig_packets(RIG_IPV4)->udp_connected, DATAGRAM_LEN);
}

static void add_unconnected(struct packet *packet)
{
	packet_add_udp(packet, &rig_packets(RIG_IPV4)->udp_unconnected, DATAGRAM_LEN);
}

static void add_later_fragment(struct packet *packet)
{
	fl_u8 *ip = packet->data + packet->len;

	add_connected(packet);
	fl_store_be16(ip + 6, 5);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

static void add_large(struct packet *packet)
{
	packet_add_udp(packet, &rig_packets(RIG_IPV4)->udp_other, 400);
}

static void add_foreign(struct packet *packet)
{
	struct packet_tcp tcp = rig_packets(RIG_IPV4)->unknown;

	tcp.flow.destination = packet_address("10.99.0.2");
	packet_add_tcp(packet, &tcp);
}

static void add_half(struct packet *packet)
{
	add_unknown(packet);
	packet->len -= 30;
}

static const char *const to_none[] = {NULL}, *const to_a[] = {A, NULL}, *const to_b[] = {B, NULL};
static const char *const to_b_or_a[] = {B, A, NULL};

static void datagrams(void **state)
{
	(void)state;
	assert_int_equal(send_with(&both, to_a, 1, add_connected), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	assert_int_equal(send_with(&both, to_a, 1, add_unconnected), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(&both, to_a, 0, add_unconnected), FL_COUNTER_DELIVER_NO_RESET);
	assert_int_equal(send_with(&both, to_a, 1, add_later_fragment), FL_COUNTER_CHAIN);
	form->generation_set(NOW + 1);
	form->quiet(FL_SERVER_QUIET_MAX);
	assert_int_equal(send_with(&both, to_none, 0, add_later_fragment), FL_COUNTER_DELIVER_NO_RESET);
	form->quiet(0);
	form->generation_set(NOW);
}

static void too_big(void **state)
{
	static const char *const small[] = {SMALL, NULL}, *const small_or_a[] = {SMALL, A, NULL};

	(void)state;
	assert_int_equal(send_with(&both, small, 1, add_unknown), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(&both, small, 1, add_large), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(&both, small_or_a, 2, add_large), FL_COUNTER_CHAIN);
}

static void without_an_address_of_the_family(void **state)
{
	static const char *const to_none[] = {"::", NULL};

	(void)state;
	assert_int_equal(send_with(&only_ipv4, to_b, 1, add_unknown), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(&only_ipv4, to_b_or_a, 2, add_unknown), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(&only_ipv4, to_none, 1, add_unknown), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(&only_ipv4, to_none, 0, add_unknown), FL_COUNTER_DELIVER_UNKNOWN);
}

static void chaining_is_off(void **state)
{
	(void)state;
	assert_int_equal(send_with(&without_chaining, to_a, 1, add_unknown), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(send_with(&without_chaining, to_a, 1, add_unconnected), FL_COUNTER_DELIVER_NO_RESET);
}

static void inner_packets(void **state)
{
	(void)state;
	assert_int_equal(send_with(&both, to_none, 0, add_foreign), FL_COUNTER_DROP_VIP_NOT_LOCAL);
	assert_int_equal(send_with(&both, to_none, 0, add_half), FL_COUNTER_DROP_MALFORMED_INNER);
}

static void strangers_are_refused(void **state)
{
	struct fl_address stranger = packet_address("192.0.2.1"), self = packet_address(RIG_SELF);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = NOW + 1};
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet;

	(void)state;
	packet_begin_outer(&packet, &stranger, &self, FL_LIST_GUE_PORT);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	add_unknown(&packet);
	packet_finish_outer(&packet);
	form->set(&both);
	form->generation_set(NOW);
	assert_int_equal(form->send(&packet), FL_COUNTER_DROP_UNTRUSTED_SENDER);
	assert_int_equal(form->generation(), NOW);
}

/* Congestion of the outer packet reaches the inner one, and is kept in one that is sent on. */
static void congestion(void **state)
{
	enum { CE = 3 };
	struct fl_address self = packet_address(RIG_SELF), next = packet_address(A);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = NOW};
	struct packet packet;

	(void)state;
	form->set(&both);
	header_add(&packet, &list, &self);
	packet.data[PACKET_OUTER_AT + 1] = CE;
	add_unknown(&packet);
	packet_finish_outer(&packet);
	assert_int_equal(form->send(&packet), FL_COUNTER_DROP_CONGESTED);
	list.candidate[0] = next;
	list.count = list.left = 1;
	header_add(&packet, &list, &self);
	packet.data[PACKET_OUTER_AT + 1] = CE;
	add_unknown(&packet);
	packet_finish_outer(&packet);
	assert_int_equal(form->send(&packet), FL_COUNTER_CHAIN);
	check_onward(&packet, &self, &next, 0, false, false);
}

/* A header of any fields, some of which contradict each other, with bytes changed or cut off behind the outer header. */
static void random_make(struct packet *packet)
{
	static const char *const candidates[] = {A, B, RIG_SELF, RIG_SELF6, NEW, NO_ROUTE, "::"};
	struct fl_address self = packet_address(random() % 2 ? RIG_SELF : RIG_SELF6);
	struct fl_list list = {.inner_protocol = random() % 2 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
			       .flags = (fl_u8)(random() & 15),
			       .count = (fl_u8)(random() % (FL_LIST_MAX + 1)),
			       .service = RIG_SERVICE,
			       .generation = NOW};
	size_t gue_at, i;

	list.left = (fl_u8)(random() % (list.count + 2));
	for (i = 0; i < list.count; i++)
		list.candidate[i] = packet_address(candidates[random() % 7]);
	header_add(packet, &list, &self);
	gue_at = list_packet_gue_at(packet);
	packet_add_tcp(packet, random() % 2 ? &rig_packets(RIG_IPV4)->established : &rig_packets(RIG_IPV6)->unknown);
	if (random() % 4 == 0)
		packet->len = gue_at + (size_t)random() % (packet->len - gue_at);
	packet_finish_outer(packet);
	for (i = (size_t)random() % 4; i; i--)
		packet->data[gue_at + (size_t)random() % 130] = (fl_u8)random();
}

static void random_packets(void **state)
{
	unsigned int seed = (unsigned int)time(NULL);
	int i;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	form->set(&both);
	for (i = 0; i < form->random_packets; i++) {
		struct packet packet;

		random_make(&packet);
		assert_true(form->send(&packet) < FL_COUNTERS);
	}
}

int list_decisions_run(const struct list_form *of, const char *more_name, CMUnitTestFunction more)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"load is counted", load_is_counted},
	    {"datagrams and later fragments", datagrams},
	    {"a candidate whose MTU is too small", too_big},
	    {"a candidate of a family of which the server has no address", without_an_address_of_the_family},
	    {"chaining is off", chaining_is_off},
	    {"inner packets that are refused", inner_packets},
	    {"strangers are refused", strangers_are_refused},
	    {"congestion", congestion},
	    {"random packets leave by one counter", random_packets},
	};
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	size_t i;

	form = of;
	rig_command("ip route add 10.8.0.0/16 via 10.1.0.21 mtu lock 200");
	rig_command("ip neigh add 2001:db8:1::23 lladdr 02:00:00:00:00:23 dev rig0 2>/dev/null || true");
	only_ipv4 = rig_config();
	both = rig_config_both();
	without_chaining = both;
	without_chaining.program.chaining = 0;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, each_row, (void *)(uintptr_t)&rows[i]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	if (more)
		vectors_add_plain(&tests, more_name, more, NULL);
	snprintf(group, sizeof(group), "decisions about lists by %s", form->name);
	return vectors_run(group, &tests);
}
