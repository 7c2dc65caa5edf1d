// SPDX-License-Identifier: Apache-2.0
/*
 * What the module reads and writes: every row of steer.json and tag.json, sockets of hosts, and each exit
 * that verdict.json has not.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "class_row.h"
#include "verdict_row.h"
#include "stand.h"

enum {
	CHAIN_TTL = 64,
	CLOCK = 1700000000,
	DSCP_AF11 = 10 << 2,
	ECN_CE = 3,
	ECN_ECT0 = 2,
	STATE_TIME_WAIT = 6,
	SETTLE_MS = 20,
	SETTLE_SAME = 13,  /* 260 ms; a delayed ACK takes 200 at most */
	SETTLE_FIRST = 75, /* 1.5 s; of an answered SYN, a timer holds its socket for 1 s all the same */
	SETTLE_TRIES = 500,
};

static const json_t *tag_key; /* tag.json's */

/* A server that remembers nothing. */
static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

static struct packet outer_of(const char *source, const char *destination)
{
	struct fl_address from = packet_address(source), to = packet_address(destination);
	struct packet packet;

	packet_begin_outer(&packet, &from, &to, FL_GUE_PORT);
	return packet;
}

static void add_vector(struct packet *packet, const json_t *row, const char *key)
{
	struct vectors_bytes bytes = vectors_bytes(row, key);

	packet_add_bytes(packet, bytes.data, bytes.len);
	vectors_free(&bytes);
}

/* GUE and steer header without a move, for an inner packet of that protocol. */
static struct packet begin(fl_u8 inner_protocol)
{
	struct fl_steer steer = {.inner_protocol = inner_protocol, .service = 1, .bucket = 7, .generation = 12};
	struct packet packet = outer_of(RIG_MUX, RIG_SELF);
	fl_u8 gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];

	packet_add_bytes(&packet, gue, fl_steer_write(&steer, gue));
	return packet;
}

/* The same with a move away from previous, a second ago. */
static struct packet begin_moved(const char *source, const char *self, const char *previous)
{
	struct fl_steer steer = {
	    .inner_protocol = FL_GUE_PROTO_IPV4,
	    .flags = FL_STEER_MOVED,
	    .service = 1,
	    .bucket = 7,
	    .generation = 12,
	    .since = CLOCK - 1,
	    .previous = packet_address(previous),
	};
	struct packet packet = outer_of(source, self);
	fl_u8 gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];

	packet_add_bytes(&packet, gue, fl_steer_write(&steer, gue));
	return packet;
}

static const struct packet_tcp *unknown(void)
{
	return &rig_packets(RIG_IPV4)->unknown;
}

static void valid(void **state)
{
	struct packet packet = outer_of(RIG_MUX, RIG_SELF);
	const json_t *fields = vectors_get(*state, "fields");
	bool is_ipv4 = vectors_number(fields, "innerProtocol") == FL_GUE_PROTO_IPV4;
	fl_u16 service = (fl_u16)vectors_number(fields, "service");
	size_t inner_at = packet.len + vectors_number(fields, "headerLength");
	struct config config = rig_config_both();

	set_anew(&config);
	add_vector(&packet, *state, "bytes");
	packet.len = inner_at; /* a row may have bytes of an inner packet */
	packet_add_tcp(&packet, &rig_packets(is_ipv4 ? RIG_IPV4 : RIG_IPV6)->syn);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_SYN);
	stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	assert_int_equal(stand_generation(service), vectors_number(fields, "generation"));
}

static void malformed(void **state)
{
	enum fl_steer_error error = verdict_row_error(*state, "error");
	struct packet packet = outer_of(RIG_MUX, RIG_SELF);
	struct config config = rig_config();

	set_anew(&config);
	add_vector(&packet, *state, "bytes");
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), fl_counter_of_steer_error(error));
	assert_int_equal(stand_learned(), 0);
}

static struct config config_tagged(void)
{
	struct config config = rig_config_both();

	config.program.tag_key = vectors_key(tag_key, "key");
	config.program.tagged = 1;
	return config;
}

static void tag(void **state)
{
	const char *result = vectors_text(*state, "result");
	struct packet packet = outer_of(RIG_MUX, RIG_SELF);
	struct config config = config_tagged();
	enum fl_counter counter;

	set_anew(&config);
	add_vector(&packet, *state, "bytes");
	packet_finish_outer(&packet);
	counter = stand_send(&packet);
	if (!strcmp(result, "right")) {
		assert_true(counter == FL_COUNTER_DELIVER_SYN || counter == FL_COUNTER_DELIVER_UNKNOWN ||
			    counter == FL_COUNTER_DELIVER_NO_RESET || counter == FL_COUNTER_CHAIN ||
			    counter == FL_COUNTER_PASS_ON || counter == FL_COUNTER_DROP_VIP_NOT_LOCAL ||
			    counter == FL_COUNTER_DROP_STALE);
		return;
	}
	assert_int_equal(counter, !strcmp(result, "missing") ? FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING
							     : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	assert_int_equal(stand_learned(), 0);
	assert_int_equal(stand_generation(1), 0);
}

static void check_ipv4(const struct packet *chained, fl_u8 tos, const char *source, const char *destination)
{
	struct fl_address from = packet_address(source), to = packet_address(destination);
	const fl_u8 *ip = chained->data + PACKET_OUTER_AT;

	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[1], tos);
	assert_int_equal(fl_load_be16(ip + 2), chained->len - PACKET_OUTER_AT);
	assert_int_equal(fl_load_be16(ip + 6), 0x4000);
	assert_int_equal(ip[8], CHAIN_TTL);
	assert_int_equal(packet_checksum(ip, 20, 0), 0);
	assert_memory_equal(ip + 12, from.bytes + 12, 4);
	assert_memory_equal(ip + 16, to.bytes + 12, 4);
}

static void check_ipv6(const struct packet *chained, fl_u8 class, const char *source, const char *destination)
{
	struct fl_address from = packet_address(source), to = packet_address(destination);
	const fl_u8 *ip = chained->data + PACKET_OUTER_AT;

	assert_int_equal(fl_load_be16(ip), 0x6000 | class << 4);
	assert_int_equal(fl_load_be16(ip + 4), chained->len - PACKET_OUTER_AT - 40);
	assert_int_equal(ip[7], CHAIN_TTL);
	assert_memory_equal(ip + 8, from.bytes, 16);
	assert_memory_equal(ip + 24, to.bytes, 16);
}

static const struct {
	const char *name, *source, *self, *previous;
} chains[] = {
    {"a packet is chained from IPv4 to IPv4", RIG_MUX, RIG_SELF, "10.1.0.23"},
    {"a packet is chained from IPv4 to IPv6", RIG_MUX, RIG_SELF, "2001:db8:1::23"},
    {"a packet is chained from IPv6 to IPv4", RIG_MUX6, RIG_SELF6, "10.1.0.23"},
    {"a packet is chained from IPv6 to IPv6", RIG_MUX6, RIG_SELF6, "2001:db8:1::23"},
};

/* Everything in a chained packet, from each outer family to each. */
static void chain(void **state)
{
	size_t i = (size_t)*state, len, at;
	struct packet packet = begin_moved(chains[i].source, chains[i].self, chains[i].previous), chained;
	bool from_ipv4 = stand_gue_at(&packet) == PACKET_GUE_AT;
	fl_u8 *gue = packet.data + stand_gue_at(&packet);
	struct fl_address previous = packet_address(chains[i].previous);
	struct config config = rig_config_both();

	stand_clock_set(CLOCK);
	set_anew(&config);
	packet_add_tcp(&packet, unknown());
	if (from_ipv4)
		packet.data[PACKET_OUTER_AT + 1] = DSCP_AF11;
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	stand_expect_chained(&chained);
	if (fl_address_is_ipv4(&previous))
		check_ipv4(&chained, from_ipv4 ? DSCP_AF11 : 0, RIG_SELF, chains[i].previous);
	else
		check_ipv6(&chained, from_ipv4 ? DSCP_AF11 : 0, RIG_SELF6, chains[i].previous);
	at = stand_gue_at(&chained);
	len = packet.len - stand_gue_at(&packet);
	assert_int_equal(chained.len - at, len);
	assert_int_equal(fl_load_be16(chained.data + at - 8), 0xc001); /* the source port stays */
	assert_int_equal(fl_load_be16(chained.data + at - 4), len + 8);
	assert_int_equal(fl_load_be16(chained.data + at - 2), 0);
	assert_true(fl_steer_chain(gue, packet.data + packet.len));
	assert_memory_equal(chained.data + at, gue, len);
}

/* A move that a row's mux has not applied: the packet is chained. */
static void remember(const struct fl_steer *steer)
{
	struct fl_bucket_memory value = {CLOCK, UINT32_MAX, packet_address("10.1.0.23")};
	struct fl_memory_key key = {steer->service, steer->bucket};

	assert_int_equal(module_restore_memory(stand_client(), &key, &value), 0);
}

/*
 * A row of `chained`, `promoted` or `late`: before as received, after as sent on; to the previous owner, or to the second
 * bucket's. seen: the highest generation of the service. add_inner: the row is of headers, and gets an inner packet. The first move of the rows of `promoted` is one
 * of this very server, which is none: so they are passed on.
 */
static void sent_on_row(const json_t *row, const struct config *config, bool add_inner, enum fl_counter counter,
			fl_u32 seen)
{
	bool is_chained = counter == FL_COUNTER_CHAIN;
	struct packet packet = outer_of(RIG_MUX, is_chained ? RIG_SELF : RIG_FORMER), chained;
	struct vectors_bytes after = vectors_bytes(row, "after");
	struct fl_steer steer = {.service = 0};
	size_t after_len;

	stand_clock_set(CLOCK);
	add_vector(&packet, row, "before");
	assert_int_equal(fl_steer_parse(packet.data + PACKET_GUE_AT, packet.data + packet.len, &steer), FL_STEER_OK);
	after_len = after.len;
	if (add_inner) {
		after_len = steer.header_len;
		packet.len = PACKET_GUE_AT + steer.header_len;
		packet_add_tcp(&packet,
			       &rig_packets(steer.inner_protocol == FL_GUE_PROTO_IPV4 ? RIG_IPV4 : RIG_IPV6)->unknown);
	}
	packet_finish_outer(&packet);
	set_anew(config);
	if (is_chained)
		remember(&steer);
	if (seen)
		assert_int_equal(module_restore_service(stand_client(), steer.service, seen), 0);
	assert_int_equal(stand_send(&packet), counter);
	stand_expect_chained(&chained);
	assert_int_equal(chained.len - stand_gue_at(&chained), packet.len - PACKET_GUE_AT);
	assert_memory_equal(chained.data + stand_gue_at(&chained), after.data, after_len);
	assert_memory_equal(chained.data + stand_gue_at(&chained) + after_len, packet.data + PACKET_GUE_AT + after_len,
			    packet.len - PACKET_GUE_AT - after_len);
	vectors_free(&after);
}

static void steer_chained(void **state)
{
	struct config config = rig_config_both();

	sent_on_row(*state, &config, true, FL_COUNTER_CHAIN, 0);
}

static void tag_chained(void **state)
{
	struct config config = config_tagged();

	sent_on_row(*state, &config, false, FL_COUNTER_CHAIN, 0);
}

static void tag_late(void **state)
{
	struct config config = config_tagged();

	sent_on_row(*state, &config, false, FL_COUNTER_CHAIN, UINT32_MAX);
}

static void steer_promoted(void **state)
{
	struct config config = rig_config_both();

	rig_become_former(&config);
	sent_on_row(*state, &config, true, FL_COUNTER_PASS_ON, 0);
}

static void tag_promoted(void **state)
{
	struct config config = config_tagged();

	rig_become_former(&config);
	sent_on_row(*state, &config, false, FL_COUNTER_PASS_ON, 0);
}

/* Whether one of the packets that are sent now has this socket in TIME-WAIT. Former ones end at any time. */
static bool is_time_wait_of(const struct rig_packets *packets, unsigned int port)
{
	int family, pair;

	for (family = 0; family < RIG_FAMILIES; family++)
		for (pair = 0; pair < RIG_PAIRS; pair++)
			if (packets[family].connections[pair].time_wait.flow.source_port == port)
				return true;
	return false;
}

/* The sum of all sockets' reference counts, as /proc shows them. */
static unsigned int references(const struct rig_packets *packets)
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char path[32], line[512];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/net/%s", tables[i]);
		file = fopen(path, "re");
		assert_non_null(file);
		while (fgets(line, sizeof(line), file)) {
			unsigned int remote, state, count;

			/* slot, both ends, state, queues, timer, retransmissions, user, timeout, inode,
			 * references */
			if (sscanf(line, "%*s %*s %*[0-9A-F]:%x %x %*s %*s %*s %*s %*s %*s %u", &remote, &state,
				   &count) == 3 &&
			    (state != STATE_TIME_WAIT || is_time_wait_of(packets, remote)))
				sum += count;
		}
		fclose(file);
	}
	return sum;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

/* Once they stay the same for longer than a packet in the kernel, or the timer of a delayed ACK, holds a socket. */
static unsigned int settled_references(const struct rig_packets *packets, int enough)
{
	unsigned int now = references(packets);
	int same = 0, i;

	for (i = 0; i < SETTLE_TRIES && same < enough; i++) {
		unsigned int then = now;

		pause_ms(SETTLE_MS);
		now = references(packets);
		same = now == then ? same + 1 : 0;
	}
	return now;
}

/* Waits until they are that many: what was delivered may still be on its way. */
static void expect_references(const struct rig_packets *packets, unsigned int expected)
{
	int i;

	for (i = 0; i < SETTLE_TRIES && references(packets) != expected; i++)
		pause_ms(SETTLE_MS);
	assert_int_equal(references(packets), expected);
}

/* Five times, so that a reference that the lookup kept would be seen. */
static void class_of_row(const struct class_row *row, const struct rig_packets *packets, enum rig_family family,
			 enum rig_pair pair)
{
	struct packet packet = begin(family == RIG_IPV4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6);
	size_t inner_at = packet.len;
	int repeat;

	class_row_add(&packet, row, &packets[family], pair);
	packet_finish_outer(&packet);
	for (repeat = 0; repeat < 5; repeat++) {
		enum fl_counter counter = stand_send(&packet);

		if (counter != row->counter)
			fail_msg("IPv%d%s: counted as %s", family == RIG_IPV4 ? 4 : 6, class_row_pair_name(row, pair),
				 counter < FL_COUNTERS ? fl_counter_names[counter] : "none or several");
		stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	}
}

/* Whether the host has a socket. */
static void class_of(void **state)
{
	const struct class_row *row = *state;
	struct config config = rig_config_both();
	const struct rig_packets *packets;
	unsigned int before;
	int family, pair;

	set_anew(&config);
	packets = rig_packets(RIG_IPV4); /* makes sockets, if it does, before they are counted */
	before = settled_references(packets, SETTLE_SAME);
	assert_true(before > 4);
	for (family = 0; family < RIG_FAMILIES; family++)
		for (pair = 0; pair < class_row_pairs(row); pair++)
			class_of_row(row, packets, (enum rig_family)family, (enum rig_pair)pair);
	expect_references(packets, before);
}

/* An ICMP error goes by the packet that it quotes: 8 bytes of its transport header are enough. */
static void icmp(enum rig_family family, const struct packet_tcp *tcp, enum fl_counter expected)
{
	struct packet packet = begin(family == RIG_IPV4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6), quoted = {.len = 0};
	struct fl_address router = packet_address(family == RIG_IPV4 ? "10.1.0.1" : "2001:db8:1::1");
	struct packet_tcp reply = *tcp;
	struct config config = rig_config_both();

	set_anew(&config);
	reply.flow = packet_reverse(&tcp->flow);
	packet_add_tcp(&quoted, &reply);
	packet_add_icmp_error(&packet, &router, &quoted);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), expected);
}

static void icmp_errors(void **state)
{
	int family;

	(void)state;
	for (family = 0; family < RIG_FAMILIES; family++) {
		icmp(family, &rig_packets(family)->established, FL_COUNTER_DELIVER_LOCAL_SOCKET);
		icmp(family, &rig_packets(family)->unknown, FL_COUNTER_DELIVER_UNKNOWN);
	}
}

static void inner_malformed(void **state)
{
	struct packet whole = begin(FL_GUE_PROTO_IPV4), packet;
	struct config config = rig_config();
	size_t inner_at = whole.len, len;

	(void)state;
	set_anew(&config);
	packet_add_tcp(&whole, unknown());
	for (len = inner_at; len < whole.len; len++) { /* cut short at every byte */
		packet = whole;
		packet.len = len;
		packet_finish_outer(&packet);
		assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
	}
	packet = whole;
	packet.data[inner_at] = 0x44; /* a header of 16 bytes */
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
	packet.data[inner_at] = 0x65; /* IPv6 where GUE says IPv4 */
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
}

static void vip_not_local(void **state)
{
	struct packet_tcp elsewhere = rig_packets(RIG_IPV4)->syn, elsewhere6 = rig_packets(RIG_IPV6)->syn;
	struct packet packet = begin(FL_GUE_PROTO_IPV4), packet6 = begin(FL_GUE_PROTO_IPV6);
	struct config config = rig_config();

	(void)state;
	set_anew(&config);
	elsewhere.flow.destination = packet_address("10.99.0.77");
	elsewhere6.flow.destination = packet_address("2001:db8:99::77");
	packet_add_tcp(&packet, &elsewhere);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_VIP_NOT_LOCAL);
	packet_add_tcp(&packet6, &elsewhere6);
	packet_finish_outer(&packet6);
	assert_int_equal(stand_send(&packet6), FL_COUNTER_DROP_VIP_NOT_LOCAL);
}

/* RFC 6040: congestion met outside is carried inside, or drops what would not understand. */
static void congestion(void **state)
{
	struct packet packet = begin(FL_GUE_PROTO_IPV4);
	struct config config = rig_config();
	size_t inner_at = packet.len;
	fl_u8 *inner = packet.data + inner_at;

	(void)state;
	set_anew(&config);
	packet_add_tcp(&packet, unknown());
	packet.data[PACKET_OUTER_AT + 1] = ECN_CE;
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CONGESTED);
	inner[1] = ECN_ECT0;
	fl_store_be16(inner + 10, 0);
	fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_UNKNOWN);
	inner[1] = ECN_CE;
	fl_store_be16(inner + 10, 0);
	fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	stand_expect_delivered(inner, packet.len - inner_at);
}

static void chain_refusals(void **state)
{
	struct packet packet = begin_moved(RIG_MUX, RIG_SELF, "2001:db8:1::23");
	struct packet_flow flow = rig_packets(RIG_IPV4)->udp_other;
	struct config config = rig_config();

	(void)state;
	stand_clock_set(CLOCK);
	set_anew(&config);
	packet_add_tcp(&packet, unknown());
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CHAIN_FAMILY);

	set_anew(&config);
	packet = begin_moved(RIG_MUX, RIG_SELF, "198.51.100.1");
	packet_add_tcp(&packet, unknown());
	packet_finish_outer(&packet);
	rig_command("ip route add unreachable 198.51.100.0/24");
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	rig_command("ip route del unreachable 198.51.100.0/24");

	set_anew(&config);
	packet = begin_moved(RIG_MUX, RIG_SELF, "198.51.100.1");
	packet_add_udp(&packet, &flow, 1200);
	packet_finish_outer(&packet);
	rig_command("ip route add 198.51.100.0/24 via 10.1.0.1 mtu 1000");
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CHAIN_TOO_BIG);
	rig_command("ip route del 198.51.100.0/24");
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";
	json_t *steer = vectors_load(folder, "steer.json"), *tags = vectors_load(folder, "tag.json");
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	tag_key = tags;
	stand_open();
	settled_references(rig_packets(RIG_IPV4), SETTLE_FIRST);
	for (i = 0; i < class_rows_count; i++)
		vectors_add_plain(&tests, class_rows[i].name, class_of, (void *)&class_rows[i]);
	vectors_add(&tests, steer, "valid", valid);
	vectors_add(&tests, steer, "malformed", malformed);
	vectors_add(&tests, steer, "chained", steer_chained);
	vectors_add(&tests, tags, "rows", tag);
	vectors_add(&tests, tags, "chained", tag_chained);
	vectors_add(&tests, tags, "late", tag_late);
	vectors_add(&tests, steer, "promoted", steer_promoted);
	vectors_add(&tests, tags, "promoted", tag_promoted);
	for (i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
		vectors_add_plain(&tests, chains[i].name, chain, (void *)i);
	vectors_add_plain(&tests, "ICMP errors go by what they quote", icmp_errors, NULL);
	vectors_add_plain(&tests, "inner packets that are none", inner_malformed, NULL);
	vectors_add_plain(&tests, "a VIP that is not the host's", vip_not_local, NULL);
	vectors_add_plain(&tests, "congestion is carried inside", congestion, NULL);
	vectors_add_plain(&tests, "chains that cannot be", chain_refusals, NULL);
	return vectors_run("wire of the module", &tests);
}
