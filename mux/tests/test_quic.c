/* SPDX-License-Identifier: Apache-2.0 */
/* QUIC-shaped datagrams: by the backend id in a connection id where there is one, else by the bucket. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "packet/quic.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"
#include "sent.h"

enum { BUCKETS = 1024, BACKENDS = 300, NOW = 1700000100 };

struct row {
	const char *name;
	struct quic_server_id where;
	uint16_t expected; /* 0: by the bucket */
	uint8_t len;
	uint8_t payload[24];
};

static const struct row rows[] = {
    {"two bytes behind the first one", {1, 2}, 258, 12, {0x40, 0x2a, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9}},
    {"one byte", {1, 1}, 7, 12, {0x43, 0x2a, 7, 2}},
    {"at the start of the connection id", {0, 2}, 258, 4, {0x40, 1, 2, 3}},
    {"at its end", {18, 2}, 299, 21, {0x40, [19] = 1, [20] = 43}},
    {"without QUIC's fixed bit", {1, 2}, 258, 12, {0x00, 0x2a, 1, 2}},
    {"a long header", {1, 2}, 0, 12, {0xc0, 0x2a, 1, 2}},
    {"a connection id marked as one without a server", {1, 2}, 0, 12, {0x40, 0xea, 1, 2}},
    {"the same bits where the id begins at offset 0", {0, 2}, 0xea01, 12, {0x40, 0xea, 1, 2}},
    {"id 0", {1, 2}, 0, 12, {0x40, 0x2a, 0, 0}},
    {"too short by a byte", {1, 2}, 0, 3, {0x40, 0x2a, 1}},
    {"an empty datagram", {1, 2}, 0, 0, {0}},
};

static void ids_are_read_at_the_configured_position(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *payload = malloc(rows[i].len ? rows[i].len : 1U);
		uint16_t id;

		assert_non_null(payload);
		memcpy(payload, rows[i].payload, rows[i].len);
		id = quic_backend(&rows[i].where, payload, rows[i].len);
		if (id != rows[i].expected)
			fail_msg("%s: is %u, should be %u", rows[i].name, id, rows[i].expected);
		free(payload);
	}
}

static struct tables *serve(struct service **service, struct delta *snapshot)
{
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct tables *tables = tables_new(1, &image_hops);
	struct reason why = {{0}};

	*snapshot = image_snapshot(3, 9, BUCKETS, BACKENDS);
	config.ports[0] = (struct service_port){IPPROTO_UDP, 443};
	config.quic = (struct quic_server_id){1, 2};
	if (tables_add(tables, &config, service, &why) || tables_load(tables, *service, snapshot, NULL, &why))
		fail_msg("%s", why.text);
	return tables;
}

/* Steers a datagram from this client port. */
static struct sent steer(const struct tables *tables, uint16_t sport, const uint8_t *payload, uint32_t len)
{
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame;
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW, .count = 1};
	struct sent sent;

	flow.destination_port = 443;
	flow.source_port = sport;
	frame = frame_new(&flow, len);
	memcpy(frame.bytes + FRAME_AT_L4 + 8, payload, len);
	burst.mbufs[0] = frame_wrap(&frame);
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
	assert_true(sent_read(burst.mbufs[0], &sent));
	frame_unwrap(burst.mbufs[0]);
	return sent;
}

static void a_client_that_moves_stays_on_its_server(void **state)
{
	struct delta snapshot;
	struct service *service;
	struct tables *tables = serve(&service, &snapshot);

	(void)state;
	for (uint16_t id = 1; id <= BACKENDS; id++) {
		uint8_t payload[20] = {0x40, 0x2a, (uint8_t)(id >> 8), (uint8_t)id};

		for (uint16_t sport = 5000; sport < 5010; sport++) {
			struct sent sent = steer(tables, sport, payload, sizeof(payload));

			assert_true(fl_address_equal(&sent.to, &snapshot.backends[id - 1].address));
			assert_int_equal(sent.list.count, 0);
		}
	}
	image_free(&snapshot);
	tables_free(tables);
}

/* Steered by the bucket, as explain reports: unknown ids, ids of removed backends, long headers. */
static void without_a_known_id_the_bucket_decides(void **state)
{
	static const uint8_t datagrams[][4] = {
	    {0x40, 0x2a, 0xff, 0xff}, {0x40, 0x2a, 1, 60}, {0x40, 0x2a, 0, 7}, {0xc0, 0, 0, 1}, {0x40, 0xe0, 0, 1}};
	struct delta snapshot, delta;
	struct service *service;
	struct tables *tables = serve(&service, &snapshot);
	struct fl_delta_backend removed = {
	    .id = 7, .flags = FL_BACKEND_REMOVED, .address = snapshot.backends[6].address};
	struct reason why;

	(void)state;
	delta = image_move(&snapshot, 10, 0, BUCKETS, 1, NOW);
	delta.backends_count = 1;
	delta.backends = &removed;
	assert_int_equal(tables_apply(tables, service, &delta, NULL, &why), 0);
	delta.backends = NULL;
	for (size_t i = 0; i < sizeof(datagrams) / sizeof(datagrams[0]); i++) {
		struct flow flow = frame_flow(IPPROTO_UDP);
		struct explanation said;
		struct sent sent = steer(tables, 5000, datagrams[i], 4);

		flow.destination_port = 443;
		flow.source_port = 5000;
		assert_int_equal(service_explain(service, &flow, &said), 0);
		assert_true(sent_is_explained(&sent, &said));
		assert_true(said.may_name_a_backend);
		assert_int_equal(sent.list.generation, 10);
		assert_int_equal(sent.list.count, 1);
	}
	image_free(&delta);
	image_free(&snapshot);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids_are_read_at_the_configured_position),
	    cmocka_unit_test(a_client_that_moves_stays_on_its_server),
	    cmocka_unit_test(without_a_known_id_the_bucket_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
