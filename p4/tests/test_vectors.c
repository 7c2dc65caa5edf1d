/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet vectors through the P4 mux: for each row a packet, whose header must be the row's.
 *
 *	hash.json	rows, nat	a ring of 262,144 buckets, whose rows name a former owner each, of which the
 *					bucket is the address: that and the outer source port are all bits of the flow
 *					hash
 *	list.json	valid		the header that a writer makes of the fields
 *	ipip.json	valid		the same, of encapsulation ipip
 *
 *	othello.json	indexes		the places that the program's hash function gives
 *			codes		these and what the register cells holds
 *
 * Which rows are no packet of this program is decided by applies_hash() and applies_list(), and how many are, by
 * constants: a row more or less fails the test until someone has looked at it.
 *
 * With CASES, all packets but most of the source ports of hash.json's nat are written to that file (cases.h).
 *
 *	test_p4_vectors FOLDER mux.spec [CASES]
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

#include <fairlead/ipip.h>

#include "cases.h"
#include "cells.h"
#include "encap/gue.h"
#include "frame.h"
#include "image.h"
#include "rack.h"
#include "ring/lists.h"
#include "siphash.h"
#include "steering/hunt/hunt.h"
#include "steering/othello/arrays.h"

enum {
	BUCKETS_LOG = 18,      /* with the 14 bits of the source port: 32 */
	REGION_TOP = 0x200000, /* where the backends' words begin in the register ring, for all sizes */
	HASH_ROWS = 36,
	LIST_ROWS = 22,
	IPIP_ROWS = 7,
	IPIP_INNER_LEN = 40, /* of the packets of these rows: TCP without data */
	NAT_ROWS = 2,
	INDEX_ROWS = 600,
	CODE_ROWS = 21,
	PORT = 80,
	BATCH = 512,
	LIST = 4096, /* where a row's list is in the register */
	BACKENDS = 4,
	IDS = BACKENDS + 1,
	CASES_EVERY = 64, /* of source ports, one that cases have */
};

static struct rack rack;

/* What a test's service is. */
struct setting {
	struct service_config config;
	uint32_t generation;
	uint32_t buckets;          /* of the region, whatever the config says */
	fl_row row;                /* of all of them; 0: as they are */
	struct fl_address address; /* of backend 1; unspecified: as others */
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
	for (uint32_t i = 1; setting->row && i <= setting->buckets; i++)
		rack_write(&rack, "ring", REGION_TOP - i, setting->row);
}

/* Backend 1 owns all buckets. */
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
	if (!fl_address_is_none(&setting->address))
		snapshot.backends[0].address = setting->address;
	if (tables_add(tables, &setting->config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
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
	uint32_t bucket = fl_load_be32(frame + GUE_AT_GUE + FL_LIST_AT_CANDIDATES);
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

/* A row of backend 1 with the list at a place of the register; ready: the header's byte of count and flags. */
static fl_row row_of(uint32_t place, uint8_t ready)
{
	return (fl_row)place << 32 | (fl_row)ready << 24 | (fl_row)(ready >> 4) << 16 | 1;
}

/* Rows of the stretched ring for hashes: the only former owner of each has its bucket as its address, at a list's end. */
static void own_all(void)
{
	for (uint32_t bucket = 0; bucket < 1U << BUCKETS_LOG; bucket++) {
		rack_write(&rack, "lists", bucket + LISTS_WORDS - 1, bucket);
		rack_write(&rack, "ring", REGION_TOP - (1U << BUCKETS_LOG) + bucket, row_of(bucket, 1 << 4));
	}
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
	const struct service *service = tables->registry.services[0];

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

/*
 * A header that this program writes: without tag, with all left, of a service id that a service may have, and of as many
 * candidates as it has room for.
 */
static bool applies_list(const json_t *row)
{
	const json_t *fields = vectors_get(row, "fields");
	uint64_t protocol = vectors_number(fields, "innerProtocol"), flags = vectors_number(fields, "flags");
	size_t count = json_array_size(vectors_list(fields, "candidates"));

	return (protocol == FL_LIST_GUE_IPV4 || protocol == FL_LIST_GUE_IPV6) && !(flags & FL_LIST_TAG) &&
	       vectors_number(fields, "left") == count && vectors_number(fields, "service") &&
	       (!(flags & FL_LIST_IPV6) || count <= P4_LIST_IPV6_MAX);
}

/* Writes the fields' list, over those of own_all(), as the C mux's cells have it; the row that names it. */
static fl_row write_list(const json_t *fields)
{
	const json_t *candidates = vectors_list(fields, "candidates"), *one;
	uint8_t flags = (uint8_t)vectors_number(fields, "flags"), bytes[FL_LIST_MAX * LISTS_IPV6_LEN] = {0};
	uint8_t count = (uint8_t)json_array_size(candidates);
	uint8_t *at = bytes + sizeof(struct list_cell) - count * LISTS_IPV4_LEN;
	size_t i;

	json_array_foreach(candidates, i, one)
	{
		const struct fl_address address = image_address(json_string_value(one));

		if (flags & FL_LIST_IPV6)
			memcpy(bytes + i * LISTS_IPV6_LEN, address.bytes, LISTS_IPV6_LEN);
		else
			memcpy(at + i * LISTS_IPV4_LEN, address.bytes + 12, LISTS_IPV4_LEN);
	}
	for (uint32_t word = 0; word < sizeof(bytes) / 8; word++)
		rack_write(&rack, "lists", LIST + word, fl_load_be64(bytes + 8 * word));
	return row_of(LIST, (uint8_t)(count << 4 | flags));
}

static void test_list(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes written = vectors_bytes(row, "bytes"); /* and what is behind the header */
	uint32_t len = (uint32_t)vectors_number(fields, "headerLength");
	bool ipv6 = vectors_number(fields, "innerProtocol") == FL_LIST_GUE_IPV6;
	struct setting setting = {.config = image_config((uint16_t)vectors_number(fields, "service"),
							 ipv6 ? "2001:db8:99::1" : "10.99.0.1", 256),
				  .generation = (uint32_t)vectors_number(fields, "generation"),
				  .buckets = 256,
				  .row = write_list(fields),
				  .address = vectors_address(row, "receiver")};
	uint32_t at_gue = fl_address_is_ipv4(&setting.address) ? GUE_AT_GUE : GUE_AT_GUE6;
	struct tables *tables = serve(&setting);
	struct flow flow = ipv6 ? frame_flow6(IPPROTO_TCP) : frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 100);
	struct rte_mbuf *out = steer(&frame);

	assert_int_equal(out->pkt_len, at_gue + len + frame.len - FRAME_AT_IP);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + at_gue, written.data, len);
	assert_memory_equal(rte_pktmbuf_mtod(out, uint8_t *) + at_gue + len, frame.bytes + FRAME_AT_IP,
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
				  .row = row_of(LIST, moved ? 1 << 4 : 0),
				  .address = vectors_address(fields, "destination")};
	struct tables *tables;
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 0);
	struct rte_mbuf *out;

	setting.config.encap = &encap_ipip;
	if (moved) {
		const struct fl_address previous = vectors_address(fields, "previous");

		rack_write(&rack, "lists", LIST + LISTS_WORDS - 1, fl_load_be32(previous.bytes + 12));
	}
	tables = serve(&setting);
	rack_now(&rack, since);
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
					.nb = (uint32_t)vectors_number(row, "nb"),
					.bits = fl_othello_bits((uint32_t)vectors_number(row, "buckets"))};
	uint8_t *copy = calloc(1, othello_arrays_memory(&arrays));
	size_t i;

	assert_non_null(copy);
	arrays.cells = copy;
	json_array_foreach(cells, i, one) image_set_cell(&arrays, (uint32_t)i, (uint32_t)json_integer_value(one));
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

static int hash_rows, nat_rows, list_rows, ipip_rows, index_rows, code_rows;

static void test_rows(void **state)
{
	(void)state;
	assert_int_equal(hash_rows, HASH_ROWS);
	assert_int_equal(nat_rows, NAT_ROWS);
	assert_int_equal(list_rows, LIST_ROWS);
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
	json_t *hash, *list_file, *ipip_file, *othello_file;
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
	list_file = vectors_load(argv[1], "list.json");
	ipip_file = vectors_load(argv[1], "ipip.json");
	othello_file = vectors_load(argv[1], "othello.json");
	hash_rows = add(&tests, hash, "rows", applies_hash, test_hash);
	nat_rows = add(&tests, hash, "nat", NULL, test_nat);
	list_rows = add(&tests, list_file, "valid", applies_list, test_list);
	ipip_rows = add(&tests, ipip_file, "valid", applies_ipip, test_ipip);
	index_rows = add(&tests, othello_file, "indexes", NULL, test_index);
	code_rows = add(&tests, othello_file, "codes", NULL, test_codes);
	vectors_add_plain(&tests, "as many rows apply as this test was written for", test_rows, NULL);
	vectors_add_plain(&tests, "no packet is left", test_closed, NULL);
	failed = vectors_run("p4 vectors", &tests);
	cases_close();
	json_decref(hash);
	json_decref(list_file);
	json_decref(ipip_file);
	json_decref(othello_file);
	return failed;
}
