/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is sent where it would come back from: no backend is a VIP or a mux, and no datagram comes from a VIP. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 256, NOW = 1700000100 };

#define VIP        "10.99.0.1"
#define OTHER_VIP  "10.99.0.2"
#define VIP6       "2001:db8:99::1"
#define OTHER_VIP6 "2001:db8:99::2"

static struct tables *tables;
static struct service *service;

/* A service on VIP and VIP6 whose only backend has this address. */
static void serve(uint16_t id, const char *vip, const char *vip6, const char *backend)
{
	struct service_config config = image_config(id, vip, BUCKETS);
	struct delta snapshot = image_snapshot(id, 1, BUCKETS, 1);
	struct reason why = {{0}};

	snprintf(config.name, sizeof(config.name), "web%u", id);
	config.vips_count = 2;
	config.vips[1] = image_address(vip6);
	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	snapshot.backends[0].address = image_address(backend);
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
}

static int set_up(void **state)
{
	static const struct fl_siphash_key seed;
	struct fl_address self = image_address("10.1.0.11"), self6 = image_address("2001:db8:1::11");
	struct fl_address peer = image_address("10.1.0.12");

	(void)state;
	image_wire.mtu = 1600;
	tables = tables_new(1, &image_hops);
	assert_non_null(tables);
	assert_int_equal(tables_set_self(tables, &self, &self6, NULL), 0);
	assert_int_equal(tables_set_seed(tables, &seed), 0);
	return tables_set_peers(tables, &peer, 1);
}

static int tear_down(void **state)
{
	(void)state;
	tables_free(tables);
	return 0;
}

static enum verdict steer(const struct frame *frame)
{
	struct rte_mbuf *mbuf = frame_wrap(frame);
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW, .count = 1};

	burst.mbufs[0] = mbuf;
	burst_steer(&burst);
	frame_unwrap(mbuf);
	return burst.packets[0].verdict;
}

/* The verdict of a client's packet to VIP. */
static enum verdict steered(void)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 0);

	return steer(&frame);
}

static void no_backend_is_a_vip_or_a_mux(void **state)
{
	static const struct {
		const char *address;
		enum verdict expected;
	} rows[] = {
	    {"10.1.0.21", VERDICT_SERVICE},      {"2001:db8:1::21", VERDICT_SERVICE},
	    {VIP, VERDICT_BACKEND_LOOP},         {VIP6, VERDICT_BACKEND_LOOP},
	    {"10.1.0.11", VERDICT_BACKEND_LOOP}, {"2001:db8:1::11", VERDICT_BACKEND_LOOP},
	    {"10.1.0.12", VERDICT_BACKEND_LOOP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		serve(1, VIP, VIP6, rows[i].address);
		if (steered() != rows[i].expected)
			fail_msg("backend %s: %s, should be %s", rows[i].address, verdict_name(steered()),
				 verdict_name(rows[i].expected));
		tables_remove(tables, service);
	}
}

/* An address that becomes a VIP or a mux, or ceases to be one, counts from the next refresh. */
static void added_and_removed_addresses_are_noticed(void **state)
{
	struct fl_address peers[] = {image_address("10.1.0.12"), image_address("10.1.0.21")};

	(void)state;
	serve(1, VIP, VIP6, "10.1.0.21");
	tables_refresh(tables);
	assert_false(tables->stale);
	assert_int_equal(tables_set_peers(tables, peers, 2), 0);
	assert_true(tables->stale);
	tables_refresh(tables);
	assert_false(tables->stale);
	assert_int_equal(steered(), VERDICT_BACKEND_LOOP);

	assert_int_equal(tables_set_peers(tables, peers, 1), 0);
	tables_refresh(tables);
	assert_int_equal(steered(), VERDICT_SERVICE);

	serve(2, "10.1.0.21", OTHER_VIP6, "10.1.0.22");
	assert_true(tables->stale);
	tables_refresh(tables);
	assert_int_equal(steered(), VERDICT_BACKEND_LOOP);
	tables_remove(tables, service);
	tables_refresh(tables);
	assert_int_equal(steered(), VERDICT_SERVICE);
}

static void no_datagram_comes_from_a_vip(void **state)
{
	static const struct {
		const char *source;
		uint8_t protocol;
		enum verdict expected;
	} rows[] = {
	    {"203.0.113.7", IPPROTO_UDP, VERDICT_SERVICE},      {OTHER_VIP, IPPROTO_UDP, VERDICT_IP_SOURCE},
	    {"10.1.0.11", IPPROTO_UDP, VERDICT_IP_SOURCE},      {OTHER_VIP, IPPROTO_TCP, VERDICT_SERVICE},
	    {"2001:db8:7::7", IPPROTO_UDP, VERDICT_SERVICE},    {OTHER_VIP6, IPPROTO_UDP, VERDICT_IP_SOURCE},
	    {"2001:db8:1::11", IPPROTO_UDP, VERDICT_IP_SOURCE}, {OTHER_VIP6, IPPROTO_TCP, VERDICT_SERVICE},
	};

	(void)state;
	serve(2, OTHER_VIP, OTHER_VIP6, "10.1.0.22");
	serve(1, VIP, VIP6, "10.1.0.21");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fl_address source = image_address(rows[i].source);
		struct flow flow =
		    fl_address_is_ipv4(&source) ? frame_flow(rows[i].protocol) : frame_flow6(rows[i].protocol);
		enum verdict verdict;
		struct frame frame;

		flow.source = source;
		frame = frame_new(&flow, 16);
		verdict = steer(&frame);
		if (verdict != rows[i].expected)
			fail_msg("protocol %u from %s: %s, should be %s", rows[i].protocol, rows[i].source,
				 verdict_name(verdict), verdict_name(rows[i].expected));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(no_backend_is_a_vip_or_a_mux, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(added_and_removed_addresses_are_noticed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(no_datagram_comes_from_a_vip, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
