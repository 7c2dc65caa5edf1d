/* SPDX-License-Identifier: Apache-2.0 */
/* Stateless UDP: a datagram goes to its bucket's backend and names no former owners; TCP does, as ever. */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"
#include "sent.h"

enum { BUCKETS = 4096, BACKENDS = 50, FLOWS = 1000, NOW = 1700000100 };

static struct service_config config_of(bool is_stateless)
{
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);

	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	config.quic = (struct quic_server_id){1, 2};
	config.stateless_udp = is_stateless;
	return config;
}

/* Every bucket has moved 10 s ago. */
static struct tables *serve(bool is_stateless, struct service **service)
{
	struct delta snapshot = image_snapshot(3, 9, BUCKETS, BACKENDS);
	struct service_config config = config_of(is_stateless);
	struct tables *tables = tables_new(1, &image_hops);
	struct reason why = {{0}};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_was(&snapshot, i, (uint16_t)(1 + (i + 7) % BACKENDS), NOW - 10);
	}
	if (tables_add(tables, &config, service, &why) || tables_load(tables, *service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	return tables;
}

static struct sent steer(const struct tables *tables, const struct frame *frame)
{
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW, .count = 1};
	struct rte_mbuf *mbuf = frame_wrap(frame);
	struct sent sent;

	burst.mbufs[0] = mbuf;
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
	assert_true(sent_read(mbuf, &sent));
	frame_unwrap(mbuf);
	return sent;
}

static void check(const struct tables *tables, const struct service *service, const struct flow *flow,
		  bool is_stateless)
{
	struct frame frame = frame_new(flow, 33);
	struct explanation why;
	struct sent sent;

	frame.bytes[FRAME_AT_L4 + 8] = 0xc0; /* no QUIC server id */
	sent = steer(tables, &frame);
	assert_int_equal(service_explain(service, flow, &why), 0);
	assert_true(sent_is_explained(&sent, &why));
	assert_int_equal(sent.list.count, !is_stateless);
	assert_int_equal(why.first.former_count, 1);
}

static void of_udp_alone(void **state)
{
	struct service *service;
	struct tables *tables = serve(true, &service);

	(void)state;
	for (uint16_t i = 1; i <= FLOWS; i++) {
		struct flow udp = frame_flow(IPPROTO_UDP), tcp = frame_flow(IPPROTO_TCP);

		udp.source_port = tcp.source_port = i;
		udp.destination_port = tcp.destination_port = 80;
		check(tables, service, &udp, true);
		check(tables, service, &tcp, false);
	}
	tables_free(tables);
}

static void it_changes_at_once(void **state)
{
	struct service *service;
	struct tables *tables = serve(false, &service);
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct reason why = {{0}};

	(void)state;
	flow.destination_port = 80;
	for (int i = 0; i < 4; i++) {
		struct service_config config = config_of(i % 2);

		assert_int_equal(tables_change(tables, service, &config, &why), 0);
		check(tables, service, &flow, i % 2);
	}
	tables_free(tables);
}

/* One whose id no backend has falls back to its bucket's backend, of which it says nothing either. */
static void a_connection_id_still_names_its_server(void **state)
{
	struct service *service;
	struct tables *tables = serve(true, &service);
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame;
	struct explanation why;
	struct sent sent;

	(void)state;
	flow.destination_port = 80;
	frame = frame_new(&flow, 20);
	memcpy(frame.bytes + FRAME_AT_L4 + 8, (uint8_t[]){0x40, 0x2a, 0xff, 0xff}, 4);
	sent = steer(tables, &frame);
	assert_int_equal(service_explain(service, &flow, &why), 0);
	assert_true(sent_is_explained(&sent, &why));
	assert_int_equal(sent.list.count, 0);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(of_udp_alone),
	    cmocka_unit_test(it_changes_at_once),
	    cmocka_unit_test(a_connection_id_still_names_its_server),
	};

	return cmocka_run_group_tests_name("stateless UDP", tests, NULL, NULL);
}
