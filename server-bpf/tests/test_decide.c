// SPDX-License-Identifier: Apache-2.0
/*
 * What the XDP program does with packets of version 2, by rows: what the host knows of the connection, what the packet
 * names, what the server has seen, and which candidates cannot be sent to; with outer IPv4 and IPv6. (The decision
 * itself: protocol/tests/test_decide.c.)
 */
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "counters.h"
#include "list_packet.h"
#include "program.h"
#include "vectors.h"

enum {
	DATAGRAM_LEN = 32,
	NOW = 5, /* the server has seen this generation */
	RANDOM_PACKETS = 5000,
};

#define A        "10.1.0.21"
#define B        "2001:db8:1::23" /* on the wire, and a neighbour as the router is */
#define C        "10.1.0.24"
#define NEW      "10.1.0.99" /* a neighbour that is not resolved */
#define NO_ROUTE "10.3.0.1"
#define SMALL    "10.8.0.1" /* behind an MTU of 200 bytes */

static struct fl_server *program, *only_ipv4, *without_chaining;
static struct config config;
static int last_action; /* of send_with() */

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

static void check_onward(const struct row *row, const struct packet *sent, const struct fl_address *self,
			 const struct packet *packet)
{
	size_t at = list_packet_gue_at(sent);
	struct fl_address next = packet_address(row->list[row->next]);
	struct packet rewritten = *sent, expected;
	struct fl_list list = {0};

	assert_int_equal(fl_list_parse(sent->data + at, sent->data + sent->len, (fl_u32)(sent->len - at), false,
				       !fl_address_is_ipv4(self), &list),
			 FL_LIST_OK);
	assert_true(fl_list_forward(rewritten.data + at, rewritten.data + rewritten.len, &list, self,
				    (fl_u8)(list.count - row->next - 1), row->late_then));
	expected = list_packet_onward(&config, sent, &next, rewritten.data + at, rewritten.len - at,
				      row->counter == FL_COUNTER_CHAIN_BY_KERNEL);
	list_packet_check(packet, &expected);
}

static void run_row(const struct row *row, enum rig_family outer, enum rig_family inner)
{
	static const struct fl_load_setting busy = {.busy = 1, .threshold = 1, .policy = FL_LOAD_STATIC};
	struct fl_address self = packet_address(outer == RIG_IPV4 ? RIG_SELF : RIG_SELF6);
	struct packet_tcp tcp = inner_of(row, inner);
	struct fl_list list = list_of(row, inner, &self);
	fl_u64 skipped = rig_counter(program, FL_COUNTER_SKIPPED);
	struct packet packet, sent, expected;
	size_t len;

	len = header_add(&packet, &list, &self);
	packet_add_tcp(&packet, &tcp);
	packet_finish_outer(&packet);
	sent = packet;
	rig_generation_set(program, NOW);
	list_quiet_set(program, row->quiet ? UINT64_MAX : 0);
	rig_load_set(program, strstr(row->name, "busy") ? &busy : NULL);
	switch (rig_run(program, &packet)) {
	case XDP_DROP:
		list_packet_check(&packet, &sent);
		break;
	case XDP_PASS:
		if (row->counter != FL_COUNTER_CHAIN_BY_KERNEL) {
			expected = list_packet_delivered(&sent, len);
			list_packet_check(&packet, &expected);
			break;
		}
		check_onward(row, &sent, &self, &packet);
		break;
	case XDP_TX:
		assert_int_equal(row->counter, FL_COUNTER_CHAIN);
		check_onward(row, &sent, &self, &packet);
		break;
	default:
		fail_msg("another action");
	}
	rig_check_counted(program, row->counter);
	assert_int_equal(rig_counter(program, FL_COUNTER_SKIPPED) - skipped, row->skipped);
	assert_int_equal(rig_generation_get(program), row->generation > NOW ? row->generation : NOW);
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

/* What a busy server counted. */
static void load_is_counted(void **state)
{
	struct fl_load_state load;

	(void)state;
	run_row(&rows[1], RIG_IPV4, RIG_IPV4);
	load = rig_load_get(program);
	assert_true(load.passed == 1 && load.taken == 0 && load.unasked == 0);
	run_row(&rows[3], RIG_IPV4, RIG_IPV4);
	load = rig_load_get(program);
	assert_true(load.passed == 0 && load.taken == 1 && load.unasked == 0);
	run_row(&rows[2], RIG_IPV4, RIG_IPV4);
	load = rig_load_get(program);
	assert_true(load.passed == 0 && load.taken == 0 && load.unasked == 1);
}

/* A packet with this list to RIG_SELF, with an inner packet that is added by `add`. */
static enum fl_counter send_with(struct fl_server *to, const char *const *names, fl_u8 left,
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
	last_action = rig_run(to, &packet);
	return rig_counter_bumped(to);
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

static const char *const nobody[] = {NULL}, *const to_a[] = {A, NULL}, *const to_b[] = {B, NULL};
static const char *const to_b_or_a[] = {B, A, NULL};

static void datagrams(void **state)
{
	(void)state;
	assert_int_equal(send_with(program, to_a, 1, add_connected), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	assert_int_equal(send_with(program, to_a, 1, add_unconnected), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(program, to_a, 0, add_unconnected), FL_COUNTER_DELIVER_NO_RESET);
	assert_int_equal(send_with(program, to_a, 1, add_later_fragment), FL_COUNTER_CHAIN);
	rig_generation_set(program, NOW + 1);
	list_quiet_set(program, UINT64_MAX);
	assert_int_equal(send_with(program, nobody, 0, add_later_fragment), FL_COUNTER_DELIVER_NO_RESET);
	list_quiet_set(program, 0);
	rig_generation_set(program, NOW);
}

static void too_big(void **state)
{
	static const char *const small[] = {SMALL, NULL}, *const small_or_a[] = {SMALL, A, NULL};

	(void)state;
	assert_int_equal(send_with(program, small, 1, add_unknown), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(program, small, 1, add_large), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(program, small_or_a, 2, add_large), FL_COUNTER_CHAIN);
}

static void without_an_address_of_the_family(void **state)
{
	static const char *const to_none[] = {"::", NULL};

	(void)state;
	assert_int_equal(send_with(only_ipv4, to_b, 1, add_unknown), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(only_ipv4, to_b_or_a, 2, add_unknown), FL_COUNTER_CHAIN);
	assert_int_equal(send_with(only_ipv4, to_none, 1, add_unknown), FL_COUNTER_DROP_STALE);
	assert_int_equal(send_with(only_ipv4, nobody, 0, add_unknown), FL_COUNTER_DELIVER_UNKNOWN);
}

static void chaining_is_off(void **state)
{
	(void)state;
	assert_int_equal(send_with(without_chaining, to_a, 1, add_unknown), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(send_with(without_chaining, to_a, 1, add_unconnected), FL_COUNTER_DELIVER_NO_RESET);
}

static void inner_packets(void **state)
{
	(void)state;
	assert_int_equal(send_with(program, nobody, 0, add_foreign), FL_COUNTER_DROP_VIP_NOT_LOCAL);
	assert_int_equal(send_with(program, nobody, 0, add_half), FL_COUNTER_DROP_MALFORMED_INNER);
}

static void strangers_are_refused(void **state)
{
	struct fl_address stranger = packet_address("192.0.2.1"), self = packet_address(RIG_SELF);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = NOW + 1};
	fl_u8 gue[FL_LIST_MAX_LEN];
	struct packet packet;

	(void)state;
	packet_begin_outer(&packet, &stranger, &self, FL_GUE_PORT);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	add_unknown(&packet);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_DROP);
	rig_check_counted(program, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	assert_int_equal(rig_generation_get(program), NOW);
}

/* Congestion of the outer packet reaches the inner one, and is kept in one that is sent on. */
static void congestion(void **state)
{
	enum { CE = 3 };
	struct fl_address self = packet_address(RIG_SELF), next = packet_address(A);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = NOW};
	struct packet packet;

	(void)state;
	header_add(&packet, &list, &self);
	packet.data[PACKET_OUTER_AT + 1] = CE;
	add_unknown(&packet);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_DROP);
	rig_check_counted(program, FL_COUNTER_DROP_CONGESTED);
	list.candidate[0] = next;
	list.count = list.left = 1;
	header_add(&packet, &list, &self);
	packet.data[PACKET_OUTER_AT + 1] = CE;
	add_unknown(&packet);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	assert_int_equal(packet.data[PACKET_OUTER_AT + 1], CE);
}

/* A candidate behind another interface. */
static void another_interface(void **state)
{
	static const char *const there[] = {"10.4.0.21", NULL};

	(void)state;
	rig_command("ip link add rig2 type veth peer name rig3 && ip link set rig3 up && ip link set rig2 up");
	rig_command("ip addr add 10.4.0.2/24 dev rig2 && ip neigh add 10.4.0.21 lladdr 02:00:00:00:04:21 dev rig2");
	rig_hops_forget(program);
	assert_int_equal(send_with(program, there, 1, add_unknown), FL_COUNTER_CHAIN);
	assert_int_equal(last_action, XDP_REDIRECT);
	rig_command("ip link del rig2");
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

/* Each leaves by one counter, which fits the action. */
static void random_packets(void **state)
{
	unsigned int seed = (unsigned int)time(NULL);
	int i, action;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	for (i = 0; i < RANDOM_PACKETS; i++) {
		struct packet packet;
		enum fl_counter counter;
		bool is_drop;

		random_make(&packet);
		action = rig_run(program, &packet);
		counter = rig_counter_bumped(program);
		assert_true(counter < FL_COUNTERS);
		is_drop = !strncmp(fl_counter_names[counter], "drop_", 5) || counter == FL_COUNTER_NOTICE;
		assert_int_equal(action == XDP_DROP, is_drop);
		assert_int_equal(action == XDP_TX, counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_PASS_ON ||
						       counter == FL_COUNTER_NOTICE_ACKNOWLEDGED);
	}
}

int main(void)
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
	    {"a candidate behind another interface", another_interface},
	    {"random packets leave by one counter", random_packets},
	};
	struct vectors_tests tests = {NULL, 0};
	struct config other = rig_config();
	size_t i;
	int failed;

	rig_open();
	rig_command("ip route add 10.8.0.0/16 via 10.1.0.21 mtu lock 200");
	rig_command("ip neigh add 2001:db8:1::23 lladdr 02:00:00:00:00:23 dev rig0 2>/dev/null || true");
	other.quiet = 0;
	only_ipv4 = rig_load(&other);
	config = rig_config_both();
	config.quiet = 0;
	program = rig_load(&config);
	other = config;
	other.program.chaining = 0;
	without_chaining = rig_load(&other);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, each_row, (void *)(uintptr_t)&rows[i]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("decisions about lists by the XDP program", &tests);
	program_close(without_chaining);
	program_close(program);
	program_close(only_ipv4);
	return failed;
}
