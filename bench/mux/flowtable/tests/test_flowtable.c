/* SPDX-License-Identifier: Apache-2.0 */
/* Steering by a flow table: a flow keeps its first backend while that exists, packets arrive and the table has room. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/backend.h"
#include "encap/gue.h"
#include "flowtable/flow_cuckoo.h"
#include "flowtable/flowtable.h"
#include "fragment/fragments.h"
#include "host/port.h"
#include "service/tables.h"
#include "tests/frame.h"
#include "tests/image.h"
#include "tests/sent.h"

enum { BUCKETS = 1024, BACKENDS = 50, FLOWS = 400, NOW = 1700000100 };

struct world {
	struct tables *tables;
	struct service *service;
	struct flowtable *flowtable;
	struct delta snapshot;
	uint32_t now;
};

static void begin(struct world *w, uint32_t flows)
{
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct reason why = {{0}};

	*w = (struct world){
	    .tables = tables_new(1, &image_hops), .snapshot = image_snapshot(1, 9, BUCKETS, BACKENDS), .now = NOW};
	config.vips[config.vips_count++] = image_address("2001:db8:99::1");
	w->flowtable = flowtable_new(0, flows, &why);
	if (!w->flowtable || tables_add(w->tables, &config, &w->service, &why) ||
	    tables_load(w->tables, w->service, &w->snapshot, NULL, &why))
		fail_msg("%s", why.text);
}

static uint32_t known(const struct world *w)
{
	return w->flowtable->ipv4->count + w->flowtable->ipv6->count;
}

static void end(struct world *w)
{
	image_free(&w->snapshot);
	flowtable_free(w->flowtable);
	tables_free(w->tables);
}

/* Gives all buckets to a backend in this generation; removed: another backend, removed by the same delta. */
static void move_all(struct world *w, uint32_t generation, uint16_t to, uint16_t removed)
{
	struct delta delta = image_move(&w->snapshot, generation, 0, BUCKETS, to, w->now);
	struct fl_delta_backend gone = {.id = removed, .flags = FL_BACKEND_REMOVED};
	struct reason why = {{0}};

	if (removed) {
		gone.address = w->snapshot.backends[removed - 1].address;
		delta.backends_count = 1;
		delta.backends = &gone;
	}
	if (tables_apply(w->tables, w->service, &delta, NULL, &why))
		fail_msg("%s", why.text);
	delta.backends = NULL;
	image_free(&delta);
}

static struct flow flow_of(uint32_t number, bool ipv6)
{
	struct flow flow = ipv6 ? frame_flow6(IPPROTO_TCP) : frame_flow(IPPROTO_TCP);

	flow.source.bytes[15] = (uint8_t)(1 + number % 200);
	flow.source_port = (uint16_t)(1024 + number);
	return flow;
}

static uint16_t backend_of(const struct rte_mbuf *mbuf)
{
	const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	return (uint16_t)(fl_load_be32(out + ENCAP_AT_IP + 16) - (10U << 24 | 1U << 16 | 20));
}

/* A steered packet. */
struct seen {
	struct sent sent;
	uint32_t bucket;
};

/* Steers packets of flows first to first + count - 1 in one burst; outputs backend ids and the last one's header. */
static void steer(struct world *w, uint32_t first, uint32_t count, bool ipv6, uint16_t *ids, struct seen *seen)
{
	struct burst burst = {
	    .lookup = tables_lookup(w->tables), .mac = mac_word(frame_mac), .now = w->now, .count = count};

	for (uint32_t i = 0; i < count; i++) {
		struct flow flow = flow_of(first + i, ipv6);
		struct frame frame = frame_new(&flow, 0);

		burst.mbufs[i] = frame_wrap(&frame);
	}
	flowtable_steer(w->flowtable, &burst);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(burst.packets[i].verdict, VERDICT_SERVICE);
		ids[i] = backend_of(burst.mbufs[i]);
		assert_true(sent_read(burst.mbufs[i], &seen->sent));
		seen->bucket = burst.packets[i].bucket;
		frame_unwrap(burst.mbufs[i]);
	}
}

static uint16_t steer_one(struct world *w, uint32_t number, struct seen *seen)
{
	uint16_t id;

	steer(w, number, 1, false, &id, seen);
	return id;
}

static uint16_t owner(const struct world *w, uint32_t number, bool ipv6)
{
	struct flow flow = flow_of(number, ipv6);

	return w->snapshot.image.current[service_flow_hash(w->service, &flow) % BUCKETS];
}

static void a_flow_stays_where_it_began(void **state)
{
	struct seen seen;
	struct world w;

	(void)state;
	begin(&w, 4096);
	for (int turn = 0; turn < 2; turn++) {
		for (int ipv6 = 0; ipv6 < 2; ipv6++)
			for (uint32_t first = 0; first < FLOWS; first += BURST_MAX / 2) {
				uint16_t ids[BURST_MAX];

				steer(&w, first, BURST_MAX / 2, ipv6, ids, &seen);
				for (uint32_t i = 0; i < BURST_MAX / 2; i++)
					assert_int_equal(ids[i], owner(&w, first + i, ipv6));
				assert_true(seen.bucket == RING_BUCKET_NONE);
				assert_int_equal(seen.sent.list.count, 0);
			}
		assert_int_equal(known(&w), 2 * FLOWS);
		if (!turn)
			move_all(&w, 10, 1, 0);
	}
	assert_int_equal(steer_one(&w, 5000, &seen), 1);
	end(&w);
}

static void flows_of_a_removed_backend_get_a_new_one(void **state)
{
	struct seen seen;
	struct world w;
	uint32_t number = 0;
	uint16_t id;

	(void)state;
	begin(&w, 4096);
	while (owner(&w, number, false) < 3)
		number++;
	id = steer_one(&w, number, &seen);
	move_all(&w, 10, 1, id);
	assert_int_equal(steer_one(&w, number, &seen), 1);
	move_all(&w, 11, 2, 0);
	assert_int_equal(steer_one(&w, number, &seen), 1); /* the flow began again there */
	assert_int_equal(known(&w), 1);
	end(&w);
}

static void a_full_table_leaves_flows_to_their_buckets(void **state)
{
	struct seen seen;
	uint32_t by_bucket = 0;
	struct world w;

	(void)state;
	begin(&w, 16);
	for (uint32_t number = 0; number < FLOWS; number++) {
		assert_int_equal(steer_one(&w, number, &seen), owner(&w, number, false));
		by_bucket += seen.bucket != RING_BUCKET_NONE;
	}
	assert_in_range(known(&w), 8, 17);
	assert_int_equal(by_bucket, FLOWS - known(&w));
	end(&w);
}

static void idle_flows_are_forgotten(void **state)
{
	struct seen seen;
	struct world w;
	uint16_t ids[BURST_MAX];

	(void)state;
	begin(&w, 4096);
	for (uint32_t first = 0; first < FLOWS; first += 16)
		steer(&w, first, 16, false, ids, &seen);
	w.now += FLOWTABLE_IDLE;
	for (uint32_t i = 0; i < 2 * FLOWS; i++)
		steer_one(&w, 0, &seen);
	assert_int_equal(known(&w), FLOWS);
	w.now++;
	for (uint32_t i = 0; i < 2 * FLOWS; i++)
		steer_one(&w, 0, &seen);
	assert_int_equal(known(&w), 1);
	end(&w);
}

static void a_flow_has_one_entry_of_one_service(void **state)
{
	struct service_config config = image_config(2, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(2, 9, BUCKETS, 1);
	struct seen seen;
	struct world w;
	struct reason why;

	(void)state;
	begin(&w, 4096);
	for (int i = 0; i < 3; i++)
		steer_one(&w, 7, &seen);
	assert_int_equal(known(&w), 1);
	/* another service takes over the VIP: it must not use its predecessor's entries */
	tables_remove(w.tables, w.service);
	assert_int_equal(tables_add(w.tables, &config, &w.service, &why), 0);
	assert_int_equal(tables_load(w.tables, w.service, &snapshot, NULL, &why), 0);
	assert_int_equal(steer_one(&w, 7, &seen), 1);
	assert_int_equal(seen.sent.list.service, 2);
	assert_int_equal(known(&w), 1);
	image_free(&snapshot);
	end(&w);
}

/* The backend of one of a datagram's fragments, from the worker where they meet. */
static uint16_t steer_fragment(struct world *w, struct fragments *fragments, const struct flow *flow, uint16_t offset)
{
	struct frame frame = frame_new(flow, 64);
	struct burst burst = {.lookup = tables_lookup(w->tables), .mac = mac_word(frame_mac), .count = 1};
	uint16_t id;

	fl_store_be16(frame.bytes + FRAME_AT_IP + 6, (uint16_t)(1 << 13 | offset));
	frame_fix_checksum(&frame);
	burst.mbufs[0] = frame_wrap(&frame);
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_FRAGMENT);
	fragments_take(fragments, burst.lookup, burst.mbufs[0], &burst.packets[0], 1000);
	burst.now = w->now;
	assert_true(fragments_ready(fragments, &burst));
	flowtable_steer_classified(w->flowtable, &burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
	id = backend_of(burst.mbufs[0]);
	frame_unwrap(burst.mbufs[0]);
	return id;
}

static void fragments_stay_where_their_flow_began(void **state)
{
	struct rte_ring *ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));
	struct fragments *fragments;
	struct seen seen;
	struct flow flow;
	struct world w;
	uint32_t number = 0;

	(void)state;
	begin(&w, 4096);
	assert_true(ring && !rte_ring_init(ring, "test", FRAGMENTS_RING, RING_F_SC_DEQ));
	fragments = fragments_new(0, 1, &ring);
	assert_non_null(fragments);
	while (owner(&w, number, false) < 3)
		number++;
	flow = flow_of(number, false);
	assert_int_equal(steer_fragment(&w, fragments, &flow, 0), owner(&w, number, false));
	move_all(&w, 10, 1, 0);
	assert_int_equal(steer_fragment(&w, fragments, &flow, 8), owner(&w, number, false));
	assert_int_equal(steer_one(&w, number, &seen), owner(&w, number, false));
	assert_int_equal(known(&w), 1);
	fragments_free(fragments);
	free(ring);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_flow_stays_where_it_began),
	    cmocka_unit_test(flows_of_a_removed_backend_get_a_new_one),
	    cmocka_unit_test(a_full_table_leaves_flows_to_their_buckets),
	    cmocka_unit_test(idle_flows_are_forgotten),
	    cmocka_unit_test(a_flow_has_one_entry_of_one_service),
	    cmocka_unit_test(fragments_stay_where_their_flow_began),
	};
	static struct options options = {.memory = 128, .no_huge = true, .workers = 1};
	struct reason why = {{0}};
	int failed;

	if (ports_environment(&options, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
