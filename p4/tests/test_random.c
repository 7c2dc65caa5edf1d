/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random and damaged frames (random_frame.h) through the P4 mux and, one by one, through the C mux's packet path: the
 * same tables, the same frame, the same verdict and the same bytes, or a difference that twin.c lists.
 *
 *	chance -> two wires -> pipeline -> wires            = the C mux's bytes
 *				        -> exception ports  = the bytes as received
 *	       -> burst_steer() -> twin.c
 *
 * Frames of a round go together, so that SWX's threads take turns; with `maat` (worlds.h) one by one, since what a
 * connection's SYN has noted says where later ones go, half of them are of few connections, and loads change. Then the
 * registers must have counted what was expected, and each verdict must have occurred.
 *
 * With --cases all is written to a file (cases.h), but frames in two buffers and with little headroom, which only SWX has.
 *
 *	test_p4_random mux.spec [--packets N] [--seed N] [--cases FILE]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/ipip.h>

#include "cases.h"
#include "encap/gue.h"
#include "rack.h"
#include "random_frame.h"
#include "steering/maat/maat.h"
#include "steering/steering.h"
#include "twin.h"
#include "worlds.h"

enum {
	ROUND = 64,
	CONNECTIONS = 200,
	NEW_LOADS = 256, /* frames between two changes of loads */
};

static const char *spec;
static uint64_t packets = 40000, seed = 1;
static uint64_t met[P4_VERDICTS], left_by[RACK_OUTS];
/* Of a list: none, with addresses of 4 or of 16 bytes. */
enum { FORMS = 3 };
static uint64_t headers_met[2][2][FORMS];             /* inner, outer family: IPv4, IPv6 */
static uint64_t lists_met[2][FORMS][FL_LIST_MAX + 1]; /* without the second bucket's owner, with it; candidates */
static uint64_t ordered_met, opened_met;              /* second buckets that were first; SYNs among them */
static uint64_t codes_met[ARRAYS_NONE_YET + 1][2];    /* without second bucket; with one */
static uint64_t ipip_met[2];                          /* no move; a former owner */

/* What a frame must become, in each buffer's private area. */
struct origin {
	struct frame frame;
};

_Static_assert(sizeof(struct origin) <= RACK_PRIVATE, "origin");

/* A round: what must leave by each port, in this order. */
struct round {
	uint32_t count[RACK_OUTS];
	struct frame frames[RACK_OUTS][ROUND];
};

static struct round expected_round;
static uint64_t expected_moved, expected_second, expected_second_first, expected_second_syns;
static uint64_t expected[RACK_SLOTS][P4_VERDICTS], expected_bytes[RACK_SLOTS], refused;

static void dump(const char *title, const uint8_t *bytes, uint32_t len)
{
	fprintf(stderr, "%s (%u):", title, len);
	for (uint32_t i = 0; i < len && i < 200; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fprintf(stderr, "\n");
}

static struct rte_mbuf *segment(struct rack *rack, uint16_t at, const uint8_t *bytes, uint32_t len)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack->pool);

	assert_non_null(mbuf);
	memset(mbuf->buf_addr, 0xa5, mbuf->buf_len); /* what is read beyond a frame must not matter */
	mbuf->data_off = at;
	memcpy(rte_pktmbuf_mtod(mbuf, uint8_t *), bytes, len);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	return mbuf;
}

/* A frame in a buffer; some have little headroom, some are in two buffers. */
static struct rte_mbuf *make(struct rack *rack, struct chance *chance, const struct frame *frame, uint32_t *visible)
{
	uint16_t at = chance_below(chance, 40) ? RTE_PKTMBUF_HEADROOM : (uint16_t)chance_below(chance, 128);
	struct rte_mbuf *mbuf;

	*visible = chance_below(chance, 30) ? frame->len : chance_below(chance, frame->len + 1);
	if (cases_recording()) {
		at = RTE_PKTMBUF_HEADROOM;
		*visible = frame->len;
	}
	mbuf = segment(rack, at, frame->bytes, *visible);
	if (*visible < frame->len) {
		mbuf->next = segment(rack, RTE_PKTMBUF_HEADROOM, frame->bytes + *visible, frame->len - *visible);
		mbuf->nb_segs = 2;
		mbuf->pkt_len = frame->len;
	}
	memcpy(rte_mbuf_to_priv(mbuf), frame, sizeof(*frame));
	return mbuf;
}

static void expect_at(unsigned out, const struct frame *frame)
{
	expected_round.frames[out][expected_round.count[out]++] = *frame;
}

/* Which kind of header the C mux has written. */
static void count_header(const struct twin_expected *what, unsigned world)
{
	const struct frame *out = &what->out;
	bool outer6 = fl_load_be16(out->bytes + FRAME_AT_IP - 2) == 0x86dd;
	const uint8_t *gue = out->bytes + (outer6 ? GUE_AT_GUE6 : GUE_AT_GUE);
	unsigned count = gue[FL_LIST_AT_FLAGS] >> 4, form = 0;

	if (out->bytes[FRAME_AT_IP] == FL_IPIP_VERSION_IHL) {
		ipip_met[fl_load_be32(out->bytes + FRAME_AT_IP + FL_IPIP_AT_PREVIOUS) != 0]++;
		return;
	}
	if (count)
		form = gue[FL_LIST_AT_FLAGS] & FL_LIST_IPV6 ? 2 : 1;
	if (world >= WORLD_OTHELLO && fl_load_be16(gue + FL_LIST_AT_SERVICE) == 1)
		codes_met[(world - WORLD_OTHELLO) / 2][what->second]++;
	headers_met[gue[1] == FL_LIST_GUE_IPV6][outer6][form]++;
	lists_met[what->second][form][count]++;
}

/* Sources that no host may use or that would loop, and their neighbours that may. */
static const char *const sources[] = {
    "0.1.2.3",   "1.0.0.1",   "126.9.9.9", "127.0.0.1", "128.0.0.1", "223.255.255.1",
    "224.0.0.1", "255.1.1.1", RANDOM_SELF, RANDOM_PEER, "10.99.0.1", "10.99.0.6",
};
static const char *const sources6[] = {
    "::",           "::1",        "::2",        "::fffe:1.2.3.4", "::1:0:0",        "fe3f::1",
    "fe7f:ffff::1", "fe80::1",    "febf::1",    "fec0::1",        "feff::1",        "ff00::1",
    "ff02::1",      RANDOM_SELF6, RANDOM_PEER6, "2001:db8:99::1", "2001:db8:99::2", "1::",
};

static void make_source(struct chance *chance, struct frame *out)
{
	bool ipv6 = chance_below(chance, 2), udp = chance_below(chance, 2);
	uint8_t protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
	struct flow flow = ipv6 ? frame_flow6(protocol) : frame_flow(protocol);
	uint32_t mapped = chance_below(chance, 20);

	flow.source = image_address(ipv6 ? sources6[chance_below(chance, sizeof(sources6) / sizeof(sources6[0]))]
					 : sources[chance_below(chance, sizeof(sources) / sizeof(sources[0]))]);
	if (!ipv6)
		flow.destination = image_address(random_vips[chance_below(chance, RANDOM_VIPS)]);
	flow.destination_port = udp ? 53 : 80;
	*out = frame_new(&flow, chance_below(chance, 20));
	if (ipv6 && !mapped) { /* a mapped source, which frame_new() takes for IPv4 */
		memset(out->bytes + FRAME_AT_IP + 8, 0, 10);
		memset(out->bytes + FRAME_AT_IP + 18, 0xff, 2);
	}
}

/* A segment of one of few connections to the first service, with any of the flags that matter. */
static void make_connection(struct chance *chance, struct frame *out)
{
	static const uint8_t tcp_flags[] = {0x02, 0x02, 0x12, 0x10, 0x10, 0x10, 0x18, 0x11, 0x04, 0x07};
	bool ipv6 = chance_below(chance, 2);
	struct flow flow = ipv6 ? frame_flow6(IPPROTO_TCP) : frame_flow(IPPROTO_TCP);

	flow.source_port = (uint16_t)(1000 + chance_below(chance, CONNECTIONS));
	flow.destination = image_address(ipv6 ? random_vips6[0] : random_vips[0]);
	flow.destination_port = 80;
	*out = frame_new(&flow, chance_below(chance, 100));
	out->bytes[(ipv6 ? FRAME_AT_L46 : FRAME_AT_L4) + 13] = tcp_flags[chance_below(chance, sizeof(tcp_flags))];
}

/* Loads of all kinds, which both compare until they are changed again. */
static void change_loads(struct rack *rack, struct chance *chance, const struct tables *tables)
{
	const struct service *service = registry_find_id(&tables->registry, 1);
	struct maat_loads *loads = maat_of(service)->loads;

	for (uint32_t id = 1; id <= WORLD_BACKENDS; id++) {
		float load = chance_below(chance, 6) ? (float)chance_below(chance, 400) / 4 : -1;

		memcpy(&loads->scores[id], &load, sizeof(load));
	}
	memcpy(&loads->least, &(float){(float)chance_below(chance, 40) / 4}, sizeof(float));
	rack_score(rack, service);
}

static void feed(struct rack *rack, struct chance *chance, const struct twin *twin, unsigned world)
{
	unsigned wire = chance_below(chance, RACK_WIRES);
	struct twin_expected what;
	struct rte_mbuf *mbuf;
	struct frame frame;
	uint32_t visible;

	if (world_is_maat(world) && chance_below(chance, 2))
		make_connection(chance, &frame);
	else if (chance_below(chance, 16))
		random_frame(chance, &frame);
	else
		make_source(chance, &frame);
	mbuf = make(rack, chance, &frame, &visible);
	if (mbuf->data_off < P4_PORT_HEADROOM) {
		refused++;
	} else {
		twin_expect(twin, &frame, visible, &what);
		assert_true(what.slot < RACK_SLOTS && what.verdict < P4_VERDICTS);
		expected[what.slot][what.verdict]++;
		met[what.verdict]++;
		if (what.verdict == VERDICT_SERVICE) {
			expected_moved += what.moved;
			expected_second += what.second;
			expected_second_first += what.second_first;
			expected_second_syns += what.second_syns;
			expected_bytes[what.slot] += frame.len;
			count_header(&what, world);
			expect_at(what.port - RACK_FIRST_PORT, &what.out);
			cases_frame(wire, frame.bytes, frame.len, what.port - RACK_FIRST_PORT, what.out.bytes,
				    what.out.len);
		} else {
			expect_at(RACK_WIRES + wire, &frame);
			cases_frame(wire, frame.bytes, frame.len, P4_PORT_EXCEPTION + wire, NULL, 0);
		}
	}
	rack_put(rack, wire, mbuf);
}

static bool is_frame(const struct rte_mbuf *mbuf, const struct frame *frame)
{
	static uint8_t copy[FRAME_MAX];

	return mbuf->pkt_len == frame->len &&
	       !memcmp(rte_pktmbuf_read(mbuf, 0, mbuf->pkt_len, copy), frame->bytes, frame->len);
}

static void complain(const struct rte_mbuf *mbuf, unsigned out, const struct frame *wanted)
{
	const struct origin *origin = rte_mbuf_to_priv((struct rte_mbuf *)(uintptr_t)mbuf);

	dump("came", origin->frame.bytes, origin->frame.len);
	dump("left", rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len);
	if (wanted)
		dump("must", wanted->bytes, wanted->len);
	fail_msg("seed %" PRIu64 ": port %u: %s", seed, out, wanted ? "other bytes" : "a frame too many");
}

/*
 * Frames that were refused leave by an exception port at once, before others: they are as they came and expected
 * nowhere. A wire's frames may have come by either wire, whose order is not known.
 */
static bool take_one(const struct rte_mbuf *mbuf, unsigned out)
{
	const struct origin *origin = rte_mbuf_to_priv((struct rte_mbuf *)(uintptr_t)mbuf);

	if (out >= RACK_WIRES && mbuf->data_off < P4_PORT_HEADROOM)
		return is_frame(mbuf, &origin->frame);
	for (uint32_t i = 0; i < expected_round.count[out]; i++) {
		if (!is_frame(mbuf, &expected_round.frames[out][i]))
			continue;
		expected_round.frames[out][i] = expected_round.frames[out][--expected_round.count[out]];
		return true;
	}
	return false;
}

static void take(struct rack *rack)
{
	for (unsigned out = 0; out < RACK_OUTS; out++) {
		struct rte_mbuf *mbuf;

		while ((mbuf = rack_take(rack, out))) {
			left_by[out]++;
			if (!take_one(mbuf, out))
				complain(mbuf, out, expected_round.count[out] ? &expected_round.frames[out][0] : NULL);
			rte_pktmbuf_free(mbuf);
		}
		if (expected_round.count[out]) {
			const struct frame *frame = &expected_round.frames[out][0];

			dump("missing", frame->bytes, frame->len);
			fail_msg("seed %" PRIu64 ": port %u lacks a frame", seed, out);
		}
	}
}

static const struct {
	const char *name;
	uint64_t *expected;
} counters[] = {{"moved", &expected_moved},
		{"second", &expected_second},
		{"second_first", &expected_second_first},
		{"second_syns", &expected_second_syns}};

static void check_counts(const struct rack *rack)
{
	for (unsigned slot = 0; slot < RACK_SLOTS; slot++) {
		for (unsigned v = 0; v < 1U << P4_PACKETS_SHIFT; v++) {
			uint64_t counted = rack_count(rack, (uint16_t)slot, v);
			uint64_t wanted = v < P4_VERDICTS ? expected[slot][v] : 0;

			if (counted != wanted)
				fail_msg("seed %" PRIu64 ": slot %u: %" PRIu64 " packets %s, must be %" PRIu64, seed,
					 slot, counted, p4_verdict_name(v), wanted);
			cases_count("packets", slot << P4_PACKETS_SHIFT | v, wanted);
		}
		assert_int_equal(rack_read(rack, "bytes", slot), expected_bytes[slot]);
		cases_count("bytes", slot, expected_bytes[slot]);
	}
	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		assert_int_equal(rack_read(rack, counters[i].name, 0), *counters[i].expected);
		cases_count(counters[i].name, 0, *counters[i].expected);
	}
	assert_int_equal(rack->in[0].refused + rack->in[1].refused, refused);
	assert_int_equal(rack->in[0].refused_full + rack->in[1].refused_full, 0);
}

static void run_world(struct rack *rack, unsigned world, struct chance *chance)
{
	static struct next_hop wire;
	static const struct next_hops hops = {.context = &wire, .lookup = world_hop};
	const struct fl_address selves[] = {image_address(RANDOM_SELF), image_address(RANDOM_SELF6)};
	const struct fl_address muxes[] = {image_address(RANDOM_PEER), image_address(RANDOM_PEER6)};
	struct twin twin = {.now = WORLD_NOW};
	struct tables *tables;

	wire = image_wire;
	tables = tables_new(1, &hops);
	assert_non_null(tables);
	assert_int_equal(tables_set_self(tables, &selves[0], &selves[1], NULL), 0);
	assert_int_equal(tables_set_peers(tables, muxes, 2), 0);
	world_serve(tables, world, chance);
	twin.tables = tables;
	rack_fill(rack, tables, selves, 2);
	rack_now(rack, WORLD_NOW);
	memset(expected, 0, sizeof(expected));
	memset(expected_bytes, 0, sizeof(expected_bytes));
	expected_moved = expected_second = expected_second_first = expected_second_syns = 0;
	for (uint64_t fed = 0; fed < packets / WORLDS; fed += ROUND) {
		if (world_is_maat(world) && fed % NEW_LOADS == 0)
			change_loads(rack, chance, tables);
		for (uint32_t i = 0; i < ROUND; i++) {
			feed(rack, chance, &twin, world);
			if (world_is_maat(world)) {
				rack_run(rack);
				take(rack);
			}
		}
		rack_run(rack);
		take(rack);
	}
	check_counts(rack);
	ordered_met += expected_second_first;
	opened_met += expected_second_syns;
	tables_free(tables);
}

/* Every verdict of the program, that of a frame in two buffers included. */
static void check_met(void)
{
	static const uint8_t all[] = {
	    VERDICT_SERVICE,       VERDICT_NOT_OURS,      VERDICT_IP_HEADER_LENGTH, VERDICT_IP_TOTAL_LENGTH,
	    VERDICT_IP_CHECKSUM,   VERDICT_IP_TTL,        VERDICT_IP_SOURCE,        VERDICT_TCP_TRUNCATED,
	    VERDICT_TCP_OFFSET,    VERDICT_TCP_PORT_ZERO, VERDICT_UDP_TRUNCATED,    VERDICT_UDP_LENGTH,
	    VERDICT_SEGMENTED,     VERDICT_PROTOCOL,      VERDICT_NO_SERVICE_PORT,  VERDICT_NO_RING,
	    VERDICT_NO_BACKEND,    VERDICT_NO_BACKEND_ID, VERDICT_NO_NEIGHBOUR,     VERDICT_BACKEND_LOOP,
	    VERDICT_TOO_BIG,       P4_VERDICT_FRAGMENT,   P4_VERDICT_ICMP,          P4_VERDICT_OPTIONS,
	    P4_VERDICT_EXTENSIONS, P4_VERDICT_REFERRED,
	};

	for (unsigned i = 0; i < sizeof(all); i++) {
		printf("# %-20s %" PRIu64 "\n", p4_verdict_name(all[i]), met[all[i]]);
		if (!met[all[i]] && !(all[i] == VERDICT_SEGMENTED && cases_recording()))
			fail_msg("no frame met %s: the random frames have changed", p4_verdict_name(all[i]));
		met[all[i]] = 0;
	}
	for (unsigned v = 0; v < P4_VERDICTS; v++)
		if (met[v])
			fail_msg("%s is none of the program's verdicts", p4_verdict_name(v));
	for (unsigned i = 0; i < 2 * 2 * FORMS; i++) {
		const bool must = i / FORMS % 2 == 0 || i % FORMS != 1; /* over IPv6 all are long */

		if (!headers_met[i / (2 * FORMS)][i / FORMS % 2][i % FORMS] != !must)
			fail_msg("headers of kind %u: must be written: %d", i, must);
	}
	for (unsigned i = 1; i <= FL_LIST_MAX; i++) {
		printf("# %u candidates: %" PRIu64 ", with a second bucket %" PRIu64 "; of IPv6 %" PRIu64 ", %" PRIu64
		       "\n",
		       i, lists_met[0][1][i], lists_met[1][1][i], lists_met[0][2][i], lists_met[1][2][i]);
		assert_int_equal(!lists_met[1][1][i], i > 1 + 2 * P4_LIST_SECOND_MAX);
		assert_true(lists_met[0][1][i]);
		for (unsigned second = 0; second < 2; second++)
			assert_int_equal(!lists_met[second][2][i], i > P4_LIST_IPV6_MAX);
	}
	printf("# second bucket first   %" PRIu64 ", SYNs %" PRIu64 "\n", ordered_met, opened_met);
	assert_true(opened_met && ordered_met > opened_met);
	for (unsigned kind = 0; kind <= ARRAYS_NONE_YET; kind++) {
		assert_true(codes_met[kind][0]);
		assert_int_equal(!!codes_met[kind][1], kind <= ARRAYS_LOW_BITS_BEFORE);
	}
	assert_true(ipip_met[0] && ipip_met[1]);
	assert_true(refused || cases_recording());
	for (unsigned out = 0; out < RACK_OUTS; out++)
		assert_true(left_by[out]);
}

static void test_random(void **state)
{
	struct chance chance = {.state = seed * 0x9e3779b97f4a7c15ULL | 1};
	struct rack rack;

	(void)state;
	printf("# seed %" PRIu64 "\n", seed);
	rack_open(&rack, spec);
	for (unsigned world = 0; world < WORLDS; world++)
		run_world(&rack, world, &chance);
	check_met();
	rack_close(&rack);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	};
	int failed;

	spec = argc > 1 ? argv[1] : "mux.spec";
	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--packets"))
			packets = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--cases"))
			cases_open(argv[i + 1]);
	}
	rack_environment();
	failed = cmocka_run_group_tests_name("p4 random", tests, NULL, NULL);
	cases_close();
	return failed;
}
