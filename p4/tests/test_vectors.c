/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet vectors through the P4 mux: for each row a packet, whose header must be the row's.
 *
 *	hash.json	rows, nat	a ring of 262,144 buckets: the bucket and the outer source port are all bits
 *					of the flow hash
 *	steer.json	valid		the header that a writer makes of the fields, with a second bucket or without
 *
 *	ipip.json	valid		the same, of encapsulation ipip
 *
 *	othello.json	indexes		the places that the program's hash function gives
 *			codes		these and what the register cells holds
 *
 * Which rows are no packet of this program is decided by applies_hash() and applies_steer(), and how many are, by
 * constants: a row more or less fails the test until someone has looked at it.
 *
 * With CASES, all packets but most of the source ports of hash.json's nat are written to that file (cases.h).
 *
 *	test_p4_vectors FOLDER mux.spec [CASES]
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/steer.h>

#include "vectors.h"

#include <fairlead/ipip.h>

#include "cases.h"
#include "cells.h"
#include "encap/gue.h"
#include "frame.h"
#include "image.h"
#include "rack.h"
#include "siphash.h"
#include "steering/hunt/hunt.h"
#include "steering/othello/arrays.h"

enum {
	BUCKETS_LOG = 18,      /* with the 14 bits of the source port: 32 */
	REGION_TOP = 0x200000, /* where the backends' words begin in the register ring, for all sizes */
	HASH_ROWS = 36,
	STEER_ROWS = 42,
	IPIP_ROWS = 7,
	IPIP_INNER_LEN = 40, /* of the packets of these rows: TCP without data */
	NAT_ROWS = 2,
	INDEX_ROWS = 600,
	CODE_ROWS = 21,
	PORT = 80,
	BY_ID_FIRST = 30000,
	TRIES = 1 << 26,
	BATCH = 512,
	SECOND_BUCKETS = 8192,       /* of rings with a second bucket, so that a flow with both is found */
	SECOND_FIRST_TRY = 29203594, /* and where that flow is: the search goes on from here */
	BACKENDS = 4,
	IDS = BACKENDS + 1,
	CASES_EVERY = 64, /* of source ports, one that cases have */
};

static struct rack rack;

/* What a test's service is. */
struct setting {
	struct service_config config;
	uint32_t generation;
	uint32_t buckets; /* of the region, whatever the config says */
	uint32_t bucket;  /* whose row this is; others have backend 1 and no previous owner */
	fl_row row;
	uint32_t second_bucket; /* likewise, of steering hunt */
	fl_row second_row;
	struct fl_address addresses[BACKENDS]; /* of backend 1 and so on; unspecified: as others */
};

/* Puts the region's end at REGION_TOP, so that a region of any size needs no rows but its own to be written. */
static void stretch(const struct service *service, const struct setting *setting)
{
	uint32_t line = rack_slot(service) * (uint32_t)P4_LINE_WORDS, buckets = setting->config.buckets;
	uint32_t base = (uint32_t)rack_read(&rack, "services", line + P4_LINE_REGION);

	for (uint32_t id = 0; id < IDS; id++)
		rack_write(&rack, "ring", REGION_TOP + id, rack_read(&rack, "ring", base + buckets + id));
	rack_write(&rack, "services", line + P4_LINE_REGION,
		   p4_region(REGION_TOP - setting->buckets, setting->buckets));
	if (setting->row)
		rack_write(&rack, "ring", REGION_TOP - setting->buckets + setting->bucket, setting->row);
	if (setting->second_row)
		rack_write(&rack, "ring", REGION_TOP - setting->buckets + setting->second_bucket, setting->second_row);
}

/* Backend 1 owns all buckets but those of the setting. */
static struct tables *serve(const struct setting *setting)
{
	struct delta snapshot =
	    image_snapshot(setting->config.id, setting->generation, setting->config.buckets, BACKENDS);
	struct tables *tables = tables_new(1, &image_hops);
	struct service *service;
	struct reason why = {{0}};

	assert_non_null(tables);
	for (uint32_t i = 0; i < setting->config.buckets; i++)
		image_own(&snapshot, i, 1);
	for (uint32_t i = 0; i < BACKENDS; i++)
		if (!fl_address_is_none(&setting->addresses[i]))
			snapshot.backends[i].address = setting->addresses[i];
	if (tables_add(tables, &setting->config, &service, &why) || tables_load(tables, service, &snapshot, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	rack_fill(&rack, tables, NULL, 0);
	stretch(service, setting);
	return tables;
}

static struct rte_mbuf *wrap(const struct frame *frame)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack.pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame->len), frame->bytes, frame->len);
	return mbuf;
}

static void record(const struct frame *frame, const struct rte_mbuf *out)
{
	cases_frame(0, frame->bytes, frame->len, 0, rte_pktmbuf_mtod(out, const uint8_t *), out->pkt_len);
}

/* What a frame becomes; the caller frees it. */
static struct rte_mbuf *steer(const struct frame *frame)
{
	struct rte_mbuf *out;

	rack_put(&rack, 0, wrap(frame));
	rack_run(&rack);
	out = rack_take(&rack, 0);
	if (!out)
		fail_msg("the packet was not steered");
	record(frame, out);
	return out;
}

/* All 32 bits of the flow hash, from the bucket and the outer source port. */
static uint32_t hash_of(const struct rte_mbuf *out)
{
	const uint8_t *frame = rte_pktmbuf_mtod(out, const uint8_t *);
	uint32_t bucket = fl_load_be32(frame + GUE_AT_GUE + FL_STEER_AT_BUCKET);
	uint32_t port = fl_load_be16(frame + GUE_AT_UDP);

	assert_true(port >= 0xc000);
	return (port & 0x3fff) << BUCKETS_LOG | bucket;
}

static const char *const hashes[] = {[FL_HASH_SIPHASH] = "siphash", [FL_HASH_CRC32] = "crc32"};
static const char *const affinities[] = {[AFFINITY_CONNECTION] = "connection", [AFFINITY_CLIENT] = "client"};

/* A flow that a mux steers: of TCP or UDP, from a host's address, from and to a port. */
static bool applies_hash(const json_t *row)
{
	const struct fl_address source = vectors_address(row, "source");
	static const struct fl_address none = {{0}}, none4 = {{[10] = 0xff, 0xff}};
	uint64_t protocol = vectors_number(row, "protocol");

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return false;
	if (fl_address_equal(&source, &none) || fl_address_equal(&source, &none4) ||
	    (fl_address_is_ipv4(&source) && source.bytes[12] >= 224))
		return false;
	return vectors_number(row, "destinationPort") && (vectors_number(row, "sourcePort") || protocol == IPPROTO_UDP);
}

static struct flow flow_of(const json_t *row)
{
	return (struct flow){.source = vectors_address(row, "source"),
			     .destination = vectors_address(row, "destination"),
			     .destination_port = (uint16_t)vectors_number(row, "destinationPort"),
			     .protocol = (uint8_t)vectors_number(row, "protocol")};
}

static struct setting setting_of(const json_t *row, const struct flow *flow)
{
	struct setting setting = {
	    .config = image_config(7, "10.99.0.1", 256), .generation = 5, .buckets = 1U << BUCKETS_LOG};
	struct service_config *config = &setting.config;

	config->vips[0] = flow->destination;
	config->ports[0] = (struct service_port){flow->protocol, flow->destination_port};
	config->hash = (enum fl_hash_kind)vectors_word(row, "hash", hashes, 3);
	config->affinity = (enum affinity)vectors_word(row, "affinity", affinities, 3);
	config->key = vectors_key(row, "hashKey");
	return setting;
}

/* Rows of the stretched ring for hashes: all have backend 1. */
static void own_all(void)
{
	for (uint32_t i = 1; i <= 1U << BUCKETS_LOG; i++)
		rack_write(&rack, "ring", REGION_TOP - i, fl_row_make(1, FL_BACKEND_NONE, 0));
}

static void test_hash(void **state)
{
	const json_t *row = *state, *sizes = vectors_list(row, "buckets"), *size;
	struct flow flow = flow_of(row);
	struct setting setting = setting_of(row, &flow);
	struct tables *tables = serve(&setting);
	struct frame frame;
	struct rte_mbuf *out;
	uint32_t hash;
	size_t i;

	flow.source_port = (uint16_t)vectors_number(row, "sourcePort");
	frame = frame_new(&flow, 11);
	out = steer(&frame);
	hash = hash_of(out);
	assert_int_equal(hash, vectors_number(row, "flowHash"));
	assert_int_equal(fl_load_be16(rte_pktmbuf_mtod(out, const uint8_t *) + GUE_AT_UDP),
			 vectors_number(row, "outerSourcePort"));
	json_array_foreach(sizes, i, size)
	    assert_int_equal(hash & (vectors_number(size, "buckets") - 1), vectors_number(size, "bucket"));
	rte_pktmbuf_free(out);
	tables_free(tables);
}

/* A flow hash of each source port, of which 0 is no TCP packet's. */
static void test_nat(void **state)
{
	const json_t *row = *state, *histogram = vectors_list(row, "histogram");
	uint32_t buckets = (uint32_t)vectors_number(row, "buckets"),
		 ports = (uint32_t)vectors_number(row, "lastSourcePort");
	uint8_t *all = malloc(4 * (ports + 1));
	uint32_t *counts = calloc(buckets, sizeof(*counts));
	struct flow flow = flow_of(row);
	struct setting setting = setting_of(row, &flow);
	struct tables *tables = serve(&setting);
	const struct service *service = tables_next(tables, NULL);

	assert_true(all && counts);
	assert_int_equal(vectors_number(row, "firstSourcePort"), 0);
	fl_store_be32(all, (uint32_t)service_flow_hash(service, &flow));
	for (uint32_t first = 1; first <= ports; first += BATCH) {
		uint32_t end = first + BATCH <= ports ? first + BATCH : ports + 1;

		for (uint32_t port = first; port < end; port++) {
			struct frame frame;

			flow.source_port = (uint16_t)port;
			frame = frame_new(&flow, 0);
			rack_put(&rack, 0, wrap(&frame));
		}
		rack_run(&rack);
		for (uint32_t port = first; port < end; port++) {
			struct rte_mbuf *out = rack_take(&rack, 0);

			assert_non_null(out);
			if (port % CASES_EVERY == 1) {
				struct frame frame;

				flow.source_port = (uint16_t)port;
				frame = frame_new(&flow, 0);
				record(&frame, out);
			}
			fl_store_be32(all + 4 * port, hash_of(out));
			rte_pktmbuf_free(out);
		}
	}
	for (uint32_t port = 0; port <= ports; port++)
		counts[fl_load_be32(all + 4 * port) & (buckets - 1)]++;
	for (uint32_t i = 0; i < buckets; i++)
		assert_int_equal(counts[i], json_integer_value(json_array_get(histogram, i)));
	assert_int_equal(fl_crc32(all, 4 * (ports + 1)), vectors_number(row, "flowHashesCrc32"));
	free(all);
	free(counts);
	tables_free(tables);
}

/* Without a second bucket, or with one that a ring may have, and an owner that a backend may be. */
static bool applies_second(const json_t *fields)
{
	const json_t *second = vectors_get(fields, "second");
	struct fl_address owner;

	if (json_is_null(second))
		return true;
	owner = vectors_address(second, "owner");
	return vectors_number(second, "bucket") < SECOND_BUCKETS && !fl_address_is_none(&owner) &&
	       (!fl_address_is_ipv4(&owner) || fl_load_be32(owner.bytes + 12));
}

/*
 * A header that this program writes: without tag, never chained nor late, of a service id that a service may have, of a
 * ring that fits.
 */
static bool applies_steer(const json_t *row)
{
	const json_t *fields = vectors_get(row, "fields");
	uint64_t protocol = vectors_number(fields, "innerProtocol"), bucket = vectors_number(fields, "bucket");

	return (protocol == FL_GUE_PROTO_IPV4 || protocol == FL_GUE_PROTO_IPV6) && !vectors_number(fields, "hops") &&
	       !(vectors_number(fields, "flags") & (FL_STEER_TAG | FL_STEER_LATE)) && applies_second(fields) &&
	       vectors_number(fields, "service") && (bucket < REGION_TOP / 2 || bucket == FL_STEER_BUCKET_NONE);
}

/* A flow that goes to the bucket, and has the second one. */
static struct flow find_flow(const struct service *service, const struct setting *setting, bool ipv6)
{
	struct flow flow = ipv6 ? frame_flow6(IPPROTO_TCP) : frame_flow(IPPROTO_TCP);

	for (uint32_t i = setting->second_row ? SECOND_FIRST_TRY : 0; i < TRIES; i++) {
		uint64_t hash;

		fl_store_be16(flow.source.bytes + 14, (uint16_t)(i >> 15));
		flow.source_port = (uint16_t)(1 + (i & 0x7fff));
		hash = service_flow_hash(service, &flow);
		if (fl_bucket(hash, setting->buckets) == setting->bucket &&
		    (!setting->second_row || fl_bucket(hash >> 32, setting->buckets) == setting->second_bucket))
			return flow;
	}
	fail_msg("no flow goes to bucket %u", setting->bucket);
	return flow;
}

/* Backend 3 owns the second bucket, which may come from backend 4. now: not before its move. */
static void set_second(struct setting *setting, const json_t *second, uint32_t *now)
{
	bool moved = !vectors_is_null(second, "since");
	uint32_t since = moved ? (uint32_t)vectors_number(second, "since") : 0;

	setting->config.steering = &steering_hunt;
	setting->buckets = SECOND_BUCKETS;
	setting->second_bucket = (uint32_t)vectors_number(second, "bucket");
	setting->second_row = fl_row_make(3, moved ? 4 : FL_BACKEND_NONE, since);
	setting->addresses[2] = vectors_address(second, "owner");
	if (moved)
		setting->addresses[3] = vectors_address(second, "previous");
	if (since > *now)
		*now = since;
}

static void test_steer(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes written = vectors_bytes(row, "written");
	bool moved = !vectors_is_null(fields, "since");
	uint32_t since = moved ? (uint32_t)vectors_number(fields, "since") : 0, now = since;
	bool by_id = vectors_number(fields, "bucket") == FL_STEER_BUCKET_NONE;
	bool ipv6 = vectors_number(fields, "innerProtocol") == FL_GUE_PROTO_IPV6;
	struct setting setting = {.config = image_config((uint16_t)vectors_number(fields, "service"),
							 ipv6 ? "2001:db8:99::1" : "10.99.0.1", 256),
				  .generation = (uint32_t)vectors_number(fields, "generation"),
				  .buckets = REGION_TOP / 2,
				  .bucket = by_id ? 0 : (uint32_t)vectors_number(fields, "bucket"),
				  .row = fl_row_make(1, moved ? 2 : FL_BACKEND_NONE, since)};
	struct tables *tables;
	struct flow flow;
	struct frame frame;
	struct rte_mbuf *out;

	setting.config.mptcp = (struct mptcp_ports){BY_ID_FIRST, BY_ID_FIRST + 2};
	if (moved)
		setting.addresses[1] = vectors_address(fields, "previous");
	if (!vectors_is_null(fields, "second"))
		set_second(&setting, vectors_get(fields, "second"), &now);
	tables = serve(&setting);
	rack_now(&rack, now);
	flow = find_flow(tables_next(tables, NULL), &setting, ipv6);
	if (by_id)
		flow.destination_port = BY_ID_FIRST + 1;
	frame = frame_new(&flow, 100);
	out = steer(&frame);
	assert_int_equal(out->pkt_len, GUE_AT_GUE + written.len + frame.len - FRAME_AT_IP);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + GUE_AT_GUE, written.data, written.len);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + GUE_AT_GUE + written.len, frame.bytes + FRAME_AT_IP,
			    frame.len - FRAME_AT_IP);
	rte_pktmbuf_free(out);
	tables_free(tables);
	vectors_free(&written);
}

/* A header of a packet that a frame has. */
static bool applies_ipip(const json_t *row)
{
	return vectors_number(vectors_get(row, "fields"), "innerLength") == IPIP_INNER_LEN;
}

static void test_ipip(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes written = vectors_bytes(row, "written");
	bool moved = !vectors_is_null(fields, "since");
	uint32_t since = moved ? (uint32_t)vectors_number(fields, "since") : 0;
	struct setting setting = {.config = image_config(7, "10.99.0.1", 256),
				  .generation = (uint32_t)vectors_number(fields, "generation"),
				  .buckets = 256,
				  .row = fl_row_make(1, moved ? 2 : FL_BACKEND_NONE, since)};
	struct tables *tables;
	struct flow flow;
	struct frame frame;
	struct rte_mbuf *out;

	setting.config.encap = &encap_ipip;
	setting.addresses[0] = vectors_address(fields, "destination");
	if (moved)
		setting.addresses[1] = vectors_address(fields, "previous");
	tables = serve(&setting);
	rack_now(&rack, since);
	flow = find_flow(tables_next(tables, NULL), &setting, false);
	frame = frame_new(&flow, 0);
	frame.bytes[FRAME_AT_IP + 1] = (uint8_t)vectors_number(fields, "trafficClass");
	frame_fix_checksum(&frame);
	out = steer(&frame);
	assert_int_equal(out->pkt_len, FRAME_AT_IP + FL_IPIP_LEN + IPIP_INNER_LEN);
	assert_int_equal(written.len, FL_IPIP_LEN);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + FRAME_AT_IP, written.data, written.len);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + FRAME_AT_IP + FL_IPIP_LEN, frame.bytes + FRAME_AT_IP,
			    IPIP_INNER_LEN);
	rte_pktmbuf_free(out);
	tables_free(tables);
	vectors_free(&written);
}

/* cells_h of headers.p4; the place is among A's cells and B's behind them. */
static uint32_t place_of(const json_t *row, const json_t *sizes, bool in_b)
{
	uint64_t hash = strtoull(vectors_text(row, "flowHash64"), NULL, 16);
	uint64_t seed = strtoull(vectors_text(sizes, "seed"), NULL, 16);
	uint8_t input[P4_CELLS_LEN];

	fl_store_be32(input, (uint32_t)(hash >> 32));
	fl_store_be32(input + 4, (uint32_t)hash);
	fl_store_be32(input + 8, (uint32_t)(seed >> 32));
	fl_store_be32(input + 12, (uint32_t)seed);
	fl_store_be32(input + 16, (uint32_t)vectors_number(sizes, "nb"));
	fl_store_be32(input + 20, (uint32_t)vectors_number(sizes, "na"));
	input[24] = (uint8_t)((vectors_word(sizes, "hash", hashes, 3) == FL_HASH_SIPHASH) | in_b << 1);
	return p4_siphash(input, sizeof(input), 0);
}

static void test_index(void **state)
{
	const json_t *row = *state;

	assert_int_equal(place_of(row, row, false), vectors_number(row, "a"));
	assert_int_equal(place_of(row, row, true), vectors_number(row, "na") + vectors_number(row, "b"));
}

static uint32_t cell_of(const struct othello_arrays *arrays, uint32_t place)
{
	return p4_set_word(arrays, P4_SET_HEAD + place / P4_SET_CELLS) >> place % P4_SET_CELLS * 16 & 0xffff;
}

static void test_codes(void **state)
{
	const json_t *row = *state, *cells = vectors_list(row, "cells"), *codes = vectors_list(row, "codes"), *one;
	struct othello_arrays arrays = {.na = (uint32_t)vectors_number(row, "na"),
					.nb = (uint32_t)vectors_number(row, "nb")};
	uint16_t *copy = calloc(arrays.na + arrays.nb, sizeof(*copy));
	size_t i;

	assert_non_null(copy);
	json_array_foreach(cells, i, one) copy[i] = (uint16_t)json_integer_value(one);
	arrays.cells = copy;
	json_array_foreach(codes, i, one)
	{
		uint32_t a = cell_of(&arrays, place_of(one, row, false)),
			 b = cell_of(&arrays, place_of(one, row, true));

		assert_int_equal(a ^ b, vectors_number(one, "code"));
	}
	assert_true(i);
	free(copy);
}

/* How many rows of a list apply, as plain tests. */
static int add(struct vectors_tests *tests, const json_t *file, const char *key, bool (*applies)(const json_t *),
	       CMUnitTestFunction function)
{
	const json_t *rows = vectors_list(file, key), *row;
	int count = 0;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (applies && !applies(row))
			continue;
		count++;
		vectors_add_plain(tests, vectors_text(row, "name"), function, (void *)(uintptr_t)row);
	}
	return count;
}

static int hash_rows, nat_rows, steer_rows, ipip_rows, index_rows, code_rows;

static void test_rows(void **state)
{
	(void)state;
	assert_int_equal(hash_rows, HASH_ROWS);
	assert_int_equal(nat_rows, NAT_ROWS);
	assert_int_equal(steer_rows, STEER_ROWS);
	assert_int_equal(ipip_rows, IPIP_ROWS);
	assert_int_equal(index_rows, INDEX_ROWS);
	assert_int_equal(code_rows, CODE_ROWS);
}

static void test_closed(void **state)
{
	(void)state;
	rack_close(&rack);
}

int main(int argc, char **argv)
{
	struct vectors_tests tests = {NULL, 0};
	json_t *hash, *steer_file, *ipip_file, *othello_file;
	int failed;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: test_p4_vectors FOLDER mux.spec [CASES]\n");
		return 2;
	}
	if (argc == 4)
		cases_open(argv[3]);
	rack_environment();
	rack_open(&rack, argv[2]);
	own_all();
	hash = vectors_load(argv[1], "hash.json");
	steer_file = vectors_load(argv[1], "steer.json");
	ipip_file = vectors_load(argv[1], "ipip.json");
	othello_file = vectors_load(argv[1], "othello.json");
	hash_rows = add(&tests, hash, "rows", applies_hash, test_hash);
	nat_rows = add(&tests, hash, "nat", NULL, test_nat);
	steer_rows = add(&tests, steer_file, "valid", applies_steer, test_steer);
	ipip_rows = add(&tests, ipip_file, "valid", applies_ipip, test_ipip);
	index_rows = add(&tests, othello_file, "indexes", NULL, test_index);
	code_rows = add(&tests, othello_file, "codes", NULL, test_codes);
	vectors_add_plain(&tests, "as many rows apply as this test was written for", test_rows, NULL);
	vectors_add_plain(&tests, "no packet is left", test_closed, NULL);
	failed = vectors_run("p4 vectors", &tests);
	cases_close();
	json_decref(hash);
	json_decref(steer_file);
	json_decref(ipip_file);
	json_decref(othello_file);
	return failed;
}
