/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segment routing: random headers of every kind against fairlead/list_srv6.h and a plain IPv6 header, packets through the
 * packet path, foreign end-points, what fits into the MTU, and the backends that are refused.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

#include "encap/encap.h"
#include "packet/burst.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "frame.h"
#include "image.h"
#include "sent.h"

enum {
	RANDOM = 100000,
	INNER_MAX = 100,
	BUCKETS = 256,
	NOW = 1700000100,
	SERVICE = 3,
	AT_SRH = ENCAP_AT_IP + FL_IPV6_LEN,
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

/* Of IPv6 addresses, with IPV6 as the packet path has it. */
static struct fl_list random_list(struct chance *chance)
{
	struct fl_list list = {.inner_protocol = chance_below(chance, 2) ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
			       .flags = FL_LIST_IPV6,
			       .service = SERVICE,
			       .generation = (uint32_t)chance_next(chance) | 1,
			       .count = (fl_u8)chance_below(chance, FL_LIST_MAX + 1)};

	list.left = list.count;
	list.flags |= chance_below(chance, 2) ? FL_LIST_TAG : 0;
	list.flags |= chance_below(chance, 2) ? FL_LIST_LATE : 0;
	for (uint32_t i = 0; i < list.count; i++)
		list.candidate[i] = random_address(chance);
	return list;
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

static void check_list(const struct fl_list *found, const struct fl_list *wanted)
{
	struct fl_list same = *found;

	memcpy(same.tag, wanted->tag, sizeof(same.tag));
	same.header_len = wanted->header_len;
	assert_memory_equal(&same, wanted, sizeof(same));
}

static void random_headers(void **state)
{
	struct chance chance = {20261123};
	const struct fl_siphash_key key = fl_list_key(&tag_key, SERVICE);

	(void)state;
	for (uint32_t i = 0; i < RANDOM; i++) {
		struct fl_list list = random_list(&chance), found;
		const struct encap_fields fields = {.tos = (uint8_t)chance_next(&chance),
						    .hash = (uint32_t)chance_next(&chance),
						    .inner_len = (uint16_t)(60 + chance_below(&chance, INNER_MAX - 60)),
						    .tag_key = &key,
						    .list = &list};
		struct fl_address to = random_address(&chance);
		uint8_t out[AT_SRH + FL_LIST_SRV6_MAX_LEN + INNER_MAX], *inner;
		struct fl_list_message message;
		struct backend backend;
		uint32_t len;

		backend_fill(&backend, &encap_srv6, SERVICE, &to, &hop);
		assert_int_equal(backend.outer.plain, ENCAP_PLAIN_SRV6);
		len = encap_srv6.overhead(&backend.outer, list.count, list.flags);
		inner = out + ENCAP_AT_IP + len;
		memset(out, 0xee, sizeof(out));
		inner[0] = list.inner_protocol == FL_LIST_GUE_IPV4 ? 0x45 : 0x60;
		encap_srv6.write(out, &backend.outer, &fields);
		check_ip(out, &fields, len - FL_IPV6_LEN, &to);
		assert_int_equal(fl_list_srv6_parse(out + AT_SRH, inner, &to, &found), FL_LIST_OK);
		assert_int_equal(found.header_len, len - FL_IPV6_LEN);
		check_list(&found, &list);
		for (uint32_t k = 1; k < INNER_MAX && inner + k < out + sizeof(out); k++)
			assert_int_equal(inner[k], 0xee);
		if (!(list.flags & FL_LIST_TAG))
			continue;
		assert_true(fl_list_tag_message(&found, &to, inner, inner + fields.inner_len, &message));
		assert_true(fl_list_tag_is_right(&key, &found, &message));
	}
}

/* 72 bytes, and 16 for each candidate; a tag takes 8 more. */
static void overheads(void **state)
{
	const struct encap_template any = {.ipv6 = 1};

	(void)state;
	for (uint8_t count = 0; count <= FL_LIST_MAX; count++) {
		assert_int_equal(encap_srv6.overhead(&any, count, FL_LIST_IPV6), 72 + count * 16);
		assert_int_equal(encap_srv6.overhead(&any, count, FL_LIST_IPV6 | FL_LIST_TAG), 80 + count * 16);
	}
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
	error = tables_load(tables, service, &snapshot, NULL, why);
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
			      .tag_flags = tag_key_flags(key),
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
	struct fl_list list;
	struct frame sent;
	uint16_t told;

	(void)state;
	assert_int_equal(steer_one(tables, NULL, 200, &sent, &told), VERDICT_SERVICE);
	assert_int_equal(sent.len, ENCAP_AT_IP + 88 + 200);
	assert_memory_equal(sent.bytes + ENCAP_AT_IP + 24, owner.bytes, 16);
	assert_int_equal(fl_list_srv6_parse(sent.bytes + AT_SRH, sent.bytes + sent.len, &owner, &list), FL_LIST_OK);
	assert_int_equal(list.flags, FL_LIST_IPV6);
	assert_int_equal(list.service, SERVICE);
	assert_int_equal(list.generation, 9);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.left, 1);
	assert_memory_equal(&list.candidate[0], &previous, 16);
	tables_free(tables);
}

/* The largest inner packet at an MTU of 1600, and what the sender of a larger one is told. */
static void what_fits(void **state)
{
	static const struct {
		uint16_t previous;
		bool tag;
		uint32_t fits;
		uint16_t told;
	} rows[] = {{0, false, 1528, 1432}, {0, true, 1520, 1424}, {2, false, 1512, 1432}, {2, true, 1504, 1424}};

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

/*
 * A pool of six, of whom some are foreign. All buckets belong to `owner`, and to `second` by the other half of the hash;
 * either has one history, newest first. names: whom packets name behind their destination.
 */
static const struct foreign_row {
	const char *foreign; /* ids */
	uint16_t owner, second;
	const char *former, *second_former;
	const char *names;
	bool is_late;
} foreign_rows[] = {
    {"", 1, 0, "234", "", "234", false},  {"3", 1, 0, "234", "", "243", false},
    {"34", 1, 0, "234", "", "23", true},  {"1", 1, 0, "234", "", "", false},
    {"2", 1, 2, "", "", "2", false},      {"2", 1, 2, "3", "4", "342", false},
    {"25", 1, 2, "35", "4", "342", true}, {"3", 1, 2, "34", "35", "2453", false},
    {"1", 1, 2, "3", "", "", false},      {"36", 1, 2, "43", "56", "2453", true},
    {"", 1, 0, "", "34", "34", false},    {"3", 1, 0, "2", "34", "243", false},
};

/* Sets a history from ids. */
static void set_history(struct delta *snapshot, uint32_t bucket, const char *ids)
{
	struct history history = {.count = 0};
	uint32_t number;

	for (; *ids; ids++)
		history_append(&history, (uint16_t)(*ids - '0'), NOW - history.count);
	assert_int_equal(histories_add(&snapshot->image.histories, &history, &number), 0);
	image_put(&snapshot->image, bucket, snapshot->image.current[bucket], number);
}

static void a_foreign_end_point_is_the_last(void **state)
{
	(void)state;
	for (size_t r = 0; r < sizeof(foreign_rows) / sizeof(foreign_rows[0]); r++) {
		const struct foreign_row *row = &foreign_rows[r];
		struct service_config config = image_config(SERVICE, "10.99.0.1", BUCKETS);
		struct delta snapshot = image_snapshot(SERVICE, 9, BUCKETS, 6);
		struct tables *tables = tables_new(1, &hops);
		struct flow flow = frame_flow(IPPROTO_TCP);
		struct frame frame = frame_new(&flow, 0);
		struct rte_mbuf *mbuf = frame_wrap_with(&frame, 128);
		struct burst burst = {
		    .lookup = NULL, .mac = mac_word(frame_mac), .now = NOW, .count = 1, .mbufs = {mbuf}};
		struct explanation said;
		struct service *service;
		struct reason why;
		struct sent sent;
		uint64_t hash;

		config.encap = &encap_srv6;
		config.steering = &steering_hunt;
		for (uint32_t i = 0; i < 6; i++) {
			snapshot.backends[i].address = image_address("2001:db8:1::20");
			snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
			if (strchr(row->foreign, (char)('1' + i)))
				snapshot.backends[i].flags = FL_BACKEND_FOREIGN;
		}
		assert_int_equal(tables_add(tables, &config, &service, &why), 0);
		hash = service_flow_hash(service, &flow);
		assert_int_not_equal(hash % BUCKETS, (hash >> 32) % BUCKETS);
		image_own(&snapshot, hash % BUCKETS, row->owner);
		image_own(&snapshot, (hash >> 32) % BUCKETS, row->second);
		set_history(&snapshot, hash % BUCKETS, row->former);
		set_history(&snapshot, (hash >> 32) % BUCKETS, row->second_former);
		if (tables_load(tables, service, &snapshot, NULL, &why))
			fail_msg("%s", why.text);
		burst.lookup = tables_lookup(tables);
		burst_steer(&burst);
		assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
		assert_true(sent_read(mbuf, &sent));
		assert_int_equal(sent.to.bytes[15], row->owner);
		if (sent.list.count != strlen(row->names) || !(sent.list.flags & FL_LIST_LATE) == row->is_late)
			fail_msg("row %zu: %u candidates%s", r, sent.list.count,
				 sent.list.flags & FL_LIST_LATE ? ", late" : "");
		for (uint32_t i = 0; i < sent.list.count; i++)
			assert_int_equal(sent.list.candidate[i].bytes[15], row->names[i] - '0');
		assert_int_equal(service_explain(service, &flow, &said), 0);
		assert_true(sent_is_explained(&sent, &said));
		frame_unwrap(mbuf);
		image_free(&snapshot);
		tables_free(tables);
	}
}

static void foreign_backends_are_refused_elsewhere(void **state)
{
	const struct encap *const others[] = {&encap_gue, &encap_ipip};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct service_config config = image_config(SERVICE, "10.99.0.1", BUCKETS);
		struct delta snapshot = image_snapshot(SERVICE, 9, BUCKETS, 2);
		struct tables *tables = tables_new(1, &hops);
		struct service *service;
		struct reason why;

		config.encap = others[i];
		snapshot.backends[1].flags = FL_BACKEND_FOREIGN;
		assert_int_equal(tables_add(tables, &config, &service, &why), 0);
		assert_int_equal(tables_load(tables, service, &snapshot, NULL, &why), -EAFNOSUPPORT);
		assert_string_equal(why.text, "backend 2: foreign; allowed with encap srv6 alone");
		image_free(&snapshot);
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
	    cmocka_unit_test(a_foreign_end_point_is_the_last),
	    cmocka_unit_test(foreign_backends_are_refused_elsewhere),
	    cmocka_unit_test(an_ipv4_backend_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
