/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segment routing: random headers of every kind against those of fairlead/srv6.h and a plain IPv6 header, packets
 * through the packet path, what fits into the MTU, and the backends that are refused.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fairlead/srv6.h>

#include "encap/encap.h"
#include "packet/burst.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"

enum {
	RANDOM = 100000,
	INNER_MAX = 100,
	BUCKETS = 256,
	NOW = 1700000100,
	SERVICE = 3,
	AT_SRH = ENCAP_AT_IP + ENCAP_IPV6_LEN,
	BACKENDS_MAX = 3,
	LEAST = 1280,
};

static const struct fl_siphash_key tag_key = {0x1716151413121110ULL, 0x1f1e1d1c1b1a1918ULL};

static const struct next_hop hop = {.resolved = true,
				    .port = 3,
				    .mtu = 1600,
				    .source_mac = {2, 0, 0, 0, 0, 1},
				    .mac = {2, 0, 0, 0, 0, 0x21},
				    .source = {{0x20, 1, 0xd, 0xb8, [15] = 0x11}}};

static struct fl_address random_address(struct chance *chance)
{
	struct fl_address address = {{0x20, 1}};

	for (int i = 8; i < 16; i++)
		address.bytes[i] = (uint8_t)chance_next(chance);
	return address;
}

/* Flags as the packet path has them, with those of families. */
static struct encap_fields random_fields(struct chance *chance)
{
	struct encap_fields fields = {.tos = (uint8_t)chance_next(chance),
				      .hash = (uint32_t)chance_next(chance),
				      .bucket = (uint32_t)chance_next(chance),
				      .generation = (uint32_t)chance_next(chance) | 1,
				      .inner_len = (uint16_t)(60 + chance_below(chance, INNER_MAX - 60)),
				      .inner_protocol = chance_below(chance, 2) ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6,
				      .tag_key = &tag_key};

	if (chance_below(chance, 2)) {
		fields.flags |= FL_STEER_MOVED | FL_STEER_PREVIOUS6;
		fields.since = (uint32_t)chance_next(chance);
		fields.previous = random_address(chance);
	}
	if (chance_below(chance, 2)) {
		fields.flags |= FL_STEER_SECOND | FL_STEER_SECOND6;
		fields.second.bucket = (uint32_t)chance_next(chance);
		fields.second.owner = random_address(chance);
		if (chance_below(chance, 2)) {
			fields.flags |= FL_STEER_MOVED2 | FL_STEER_PREVIOUS2_6;
			fields.second.since = (uint32_t)chance_next(chance);
			fields.second.previous = random_address(chance);
		}
	}
	if (chance_below(chance, 2))
		fields.flags |= FL_STEER_TAG;
	return fields;
}

/* The outer IPv6 header, field by field. */
static void check_ip(const uint8_t *out, const struct encap_fields *fields, uint32_t srh_len,
		     const struct fl_address *to)
{
	const uint8_t *ip = out + ENCAP_AT_IP;

	assert_memory_equal(out, "\x02\x00\x00\x00\x00\x21\x02\x00\x00\x00\x00\x01\x86\xdd", ENCAP_AT_IP);
	assert_int_equal(fl_load_be32(ip) >> 28, 6);
	assert_int_equal(fl_load_be32(ip) >> 20 & 0xff, fields->tos);
	assert_int_equal(fl_load_be32(ip) & 0xfffff, fields->hash >> 12);
	assert_int_equal(fl_load_be16(ip + 4), srh_len + fields->inner_len);
	assert_int_equal(ip[6], 43);
	assert_int_equal(ip[7], 64);
	assert_memory_equal(ip + 8, hop.source.bytes, 16);
	assert_memory_equal(ip + 24, to->bytes, 16);
}

static void check_fields(const struct fl_steer *steer, const struct encap_fields *fields)
{
	assert_int_equal(steer->service, SERVICE);
	assert_int_equal(steer->hops, 0);
	assert_int_equal(steer->inner_protocol, fields->inner_protocol);
	assert_int_equal(steer->bucket, fields->bucket);
	assert_int_equal(steer->generation, fields->generation);
	assert_int_equal(steer->flags, fields->flags & FL_SRV6_FLAGS);
	assert_int_equal(steer->since, fields->since);
	assert_memory_equal(&steer->previous, &fields->previous, 16);
	assert_memory_equal(&steer->second, &fields->second, sizeof(steer->second));
}

static void random_headers(void **state)
{
	struct chance chance = {20261123};

	(void)state;
	for (uint32_t i = 0; i < RANDOM; i++) {
		struct encap_fields fields = random_fields(&chance);
		struct fl_address to = random_address(&chance);
		uint8_t out[AT_SRH + FL_SRV6_MAX_LEN + INNER_MAX], *inner;
		struct fl_tag_message message;
		struct backend backend;
		struct fl_steer steer;
		uint32_t len;

		backend_fill(&backend, &encap_srv6, SERVICE, &to, &hop);
		assert_false(backend.outer.plain);
		len = encap_srv6.overhead(&backend.outer, fields.flags);
		inner = out + ENCAP_AT_IP + len;
		memset(out, 0xee, sizeof(out));
		inner[0] = fields.inner_protocol == FL_GUE_PROTO_IPV4 ? 0x45 : 0x60;
		encap_srv6.write(out, &backend.outer, &fields);
		check_ip(out, &fields, len - ENCAP_IPV6_LEN, &to);
		assert_int_equal(fl_srv6_parse(out + AT_SRH, inner, &steer), FL_STEER_OK);
		assert_int_equal(steer.header_len, len - ENCAP_IPV6_LEN);
		check_fields(&steer, &fields);
		for (uint32_t k = 1; k < INNER_MAX && inner + k < out + sizeof(out); k++)
			assert_int_equal(inner[k], 0xee);
		if (!(fields.flags & FL_STEER_TAG))
			continue;
		assert_true(fl_srv6_tag_message(out + AT_SRH, &steer, inner, inner + fields.inner_len, &message));
		assert_int_equal(fl_tag_load(steer.tag), fl_tag(&tag_key, &message));
	}
}

/* 80 bytes, 104 with one move and 120 with two; a tag takes 8 more. */
static void overheads(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t overhead;
	} rows[] = {
	    {0, 80},
	    {FL_STEER_SECOND | FL_STEER_SECOND6, 80},
	    {FL_STEER_MOVED | FL_STEER_PREVIOUS6, 104},
	    {FL_STEER_MOVED | FL_STEER_SECOND | FL_STEER_MOVED2, 120},
	    {FL_STEER_TAG, 88},
	    {FL_STEER_MOVED | FL_STEER_TAG, 112},
	    {FL_STEER_MOVED | FL_STEER_SECOND | FL_STEER_MOVED2 | FL_STEER_TAG, 128},
	};
	const struct encap_template any = {.ipv6 = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(encap_srv6.overhead(&any, rows[i].flags), rows[i].overhead);
}

static const struct next_hops hops = {.context = &image_wire, .lookup = image_hop};

/* A service of BACKENDS_MAX IPv6 backends; all its buckets belong to the first and came from previous, 0: none. */
static struct tables *serve(uint16_t previous, bool is_ipv4, struct reason *why)
{
	struct service_config config = image_config(SERVICE, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(SERVICE, 9, BUCKETS, BACKENDS_MAX);
	struct tables *tables = tables_new(1, &hops);
	struct service *service;
	int error;

	config.encap = &encap_srv6;
	assert_int_equal(tables_add(tables, &config, &service, why), 0);
	for (uint32_t i = 0; i < BACKENDS_MAX; i++)
		if (!is_ipv4 || i != 1) {
			snapshot.backends[i].address = image_address("2001:db8:1::20");
			snapshot.backends[i].address.bytes[15] += (uint8_t)(i + 1);
		}
	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_own(&snapshot, i, 1);
		image_was(&snapshot, i, previous, previous ? NOW - 10 : 0);
	}
	error = tables_load(tables, service, &snapshot, why);
	image_free(&snapshot);
	assert_int_equal(error, is_ipv4 ? -EAFNOSUPPORT : 0);
	return tables;
}

/* Steers an IP packet of this size, to be seen in *sent; *told: what its sender is told if it is too big. */
static enum verdict steer_one(const struct tables *tables, const struct fl_siphash_key *key, uint32_t size,
			      struct frame *sent, uint16_t *told)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, size - 40);
	struct rte_mbuf *mbuf = frame_wrap(&frame);
	struct burst burst = {.lookup = tables_lookup(tables),
			      .tag_key = key,
			      .mac = mac_word(frame_mac),
			      .now = NOW,
			      .count = 1,
			      .mbufs = {mbuf}};
	enum verdict verdict;

	burst_steer(&burst);
	verdict = burst.packets[0].verdict;
	*told = verdict == VERDICT_TOO_BIG ? burst.packets[0].mtu : 0;
	if (sent) {
		sent->len = rte_pktmbuf_pkt_len(mbuf);
		memcpy(sent->bytes, rte_pktmbuf_mtod(mbuf, uint8_t *), sent->len);
	}
	frame_unwrap(mbuf);
	return verdict;
}

static void through_the_packet_path(void **state)
{
	struct reason why = {""};
	struct tables *tables = serve(2, false, &why);
	struct fl_address owner = image_address("2001:db8:1::21"), previous = image_address("2001:db8:1::22");
	struct fl_steer steer;
	struct frame sent;
	uint16_t told;

	(void)state;
	assert_int_equal(steer_one(tables, NULL, 200, &sent, &told), VERDICT_SERVICE);
	assert_int_equal(sent.len, ENCAP_AT_IP + 104 + 200);
	assert_memory_equal(sent.bytes + ENCAP_AT_IP + 24, owner.bytes, 16);
	assert_int_equal(fl_srv6_parse(sent.bytes + AT_SRH, sent.bytes + sent.len, &steer), FL_STEER_OK);
	assert_int_equal(steer.flags, FL_STEER_MOVED);
	assert_int_equal(steer.service, SERVICE);
	assert_int_equal(steer.generation, 9);
	assert_int_equal(steer.since, NOW - 10);
	assert_memory_equal(&steer.previous, &previous, 16);
	assert_memory_equal(sent.bytes + AT_SRH + FL_SRV6_AT_SEGMENT, owner.bytes, 16);
	assert_int_equal(sent.bytes[AT_SRH + FL_SRV6_AT_LEFT], 0);
	tables_free(tables);
}

/* The largest inner packet at an MTU of 1600, and what the sender of a larger one is told: as if it had moved. */
static void what_fits(void **state)
{
	static const struct {
		uint16_t previous;
		bool tag;
		uint32_t fits;
		uint16_t told;
	} rows[] = {{0, false, 1520, 1496}, {0, true, 1512, 1488}, {2, false, 1496, 1496}, {2, true, 1488, 1488}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fl_siphash_key *key = rows[i].tag ? &tag_key : NULL;
		struct reason why = {""};
		struct tables *tables = serve(rows[i].previous, false, &why);
		uint32_t size = LEAST;
		uint16_t told;

		while (steer_one(tables, key, size, NULL, &told) == VERDICT_SERVICE)
			size++;
		assert_int_equal(size - 1, rows[i].fits);
		assert_int_equal(told, rows[i].told);
		tables_free(tables);
	}
}

static void an_ipv4_backend_is_refused(void **state)
{
	struct reason why = {""};
	struct tables *tables = serve(0, true, &why);

	(void)state;
	assert_non_null(strstr(why.text, "backend 2: address 10.1.0.22 is IPv4; allowed with encap srv6"));
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_headers),
	    cmocka_unit_test(overheads),
	    cmocka_unit_test(through_the_packet_path),
	    cmocka_unit_test(what_fits),
	    cmocka_unit_test(an_ipv4_backend_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
