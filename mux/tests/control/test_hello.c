/* SPDX-License-Identifier: Apache-2.0 */
/* Hellos through real sockets, at addresses of the loopback interface: packets, intervals, counters. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "hello/hello.h"

enum { MUXES = 3, START_MS = 1000000, PATIENCE_MS = 60000 };

static const char cluster[] = "00112233445566778899aabbccddeeff";
static const struct tag_keys keys = {{3, 4}, {{3, 4}, {3, 4}}};

struct world {
	uint16_t port;
	struct hello *muxes[MUXES];
};

/* 127.a.b.1 and so on, of this process alone. */
static struct fl_address address_of(unsigned mux)
{
	const uint8_t ipv4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250),
				 (uint8_t)(mux + 1)};

	return fl_address_from_ipv4(ipv4);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct hello_node nodes[MUXES] = {0};

	assert_non_null(world);
	world->port = (uint16_t)(20000 + getpid() % 10000);
	for (unsigned i = 0; i < MUXES; i++) {
		nodes[i].address = address_of(i);
		snprintf(nodes[i].id, sizeof(nodes[i].id), "mux%u", i + 1);
	}
	for (unsigned i = 0; i < MUXES; i++) {
		struct reason why = {""};

		world->muxes[i] = hello_open(&nodes[i].address, world->port, &keys, 77, &why);
		if (!world->muxes[i])
			fail_msg("%s", why.text);
		hello_join(world->muxes[i], cluster);
		hello_peers_set_nodes(world->muxes[i]->peers, nodes, MUXES, START_MS);
	}
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < MUXES; i++)
		hello_close(world->muxes[i]);
	free(world);
	return 0;
}

/* Waits until the mux has received this many packets since it was opened. */
static void receive(struct hello *mux, uint64_t packets, uint64_t now)
{
	while (mux->counters.received < packets) {
		struct pollfd fd = {.fd = mux->fd, .events = POLLIN};

		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		hello_receive(mux, now);
	}
	assert_int_equal(mux->counters.received, packets);
}

static const struct hello_service *said(struct hello *mux, unsigned other, uint16_t service, uint64_t now)
{
	struct fl_address address = address_of(other);
	const struct hello_peer *peer = hello_peers_find(mux->peers, &address);

	assert_non_null(peer);
	return hello_peer_service(peer, service, now);
}

static void a_thousand_services(void **state)
{
	static struct hello_service services[1000];
	struct world *world = *state;
	const unsigned packets = (1000 + HELLO_SERVICES_MAX - 1) / HELLO_SERVICES_MAX;

	for (unsigned i = 0; i < 1000; i++)
		services[i] = (struct hello_service){
		    .id = (uint16_t)(60 * i + 1), .flags = (uint8_t)(i % 3), .generation = 5000 + i};
	hello_send(world->muxes[0], services, 1000, START_MS);
	assert_int_equal(world->muxes[0]->counters.sent, (MUXES - 1) * packets);
	for (unsigned mux = 1; mux < MUXES; mux++) {
		receive(world->muxes[mux], packets, START_MS);
		for (unsigned i = 0; i < 1000; i++) {
			const struct hello_service *one = said(world->muxes[mux], 0, services[i].id, START_MS);

			assert_non_null(one);
			assert_int_equal(one->generation, services[i].generation);
			assert_int_equal(one->flags, services[i].flags);
		}
	}
}

static void without_services_it_is_heard(void **state)
{
	struct world *world = *state;

	hello_send(world->muxes[0], NULL, 0, START_MS);
	receive(world->muxes[1], 1, START_MS);
	assert_null(said(world->muxes[1], 0, 1, START_MS));
	assert_true(hello_peer_is_heard(&world->muxes[1]->peers->list[0], START_MS));
}

/* Once a second, a little less so that muxes do not keep step. */
static void the_next_one_is_due_within_a_second(void **state)
{
	struct world *world = *state;
	uint64_t earliest = UINT64_MAX, latest = 0;

	assert_int_equal(world->muxes[0]->send_at, 0);
	for (uint64_t now = START_MS; now < START_MS + 1000; now++) {
		uint64_t wait;

		hello_send(world->muxes[0], NULL, 0, now);
		wait = world->muxes[0]->send_at - now;
		earliest = wait < earliest ? wait : earliest;
		latest = wait > latest ? wait : latest;
	}
	assert_in_range(earliest, HELLO_INTERVAL_MS - HELLO_JITTER_MS + 1, HELLO_INTERVAL_MS - HELLO_JITTER_MS / 2);
	assert_in_range(latest, HELLO_INTERVAL_MS - HELLO_JITTER_MS / 2, HELLO_INTERVAL_MS);
}

/* A mux that starts waits for what the others say before it announces what it has on disk. */
static void one_that_starts_is_answered_at_once(void **state)
{
	struct world *world = *state;
	struct fl_address self = address_of(0);
	struct reason why = {""};
	uint64_t due;

	hello_send(world->muxes[1], NULL, 0, START_MS);
	assert_true(world->muxes[1]->send_at > START_MS + 10);
	hello_send(world->muxes[0], NULL, 0, START_MS);
	receive(world->muxes[1], 1, START_MS + 10);
	assert_int_equal(world->muxes[1]->send_at, START_MS + 10);
	hello_send(world->muxes[1], NULL, 0, START_MS + 10);
	due = world->muxes[1]->send_at;
	hello_send(world->muxes[0], NULL, 0, START_MS + 20);
	receive(world->muxes[1], 2, START_MS + 20);
	assert_int_equal(world->muxes[1]->send_at, due); /* once */

	hello_close(world->muxes[0]);
	world->muxes[0] = hello_open(&self, world->port, &keys, 78, &why);
	assert_non_null(world->muxes[0]);
	hello_join(world->muxes[0], cluster);
	hello_peers_set_nodes(world->muxes[0]->peers, (struct hello_node[]){{.address = address_of(1)}}, 1, START_MS);
	hello_send(world->muxes[0], NULL, 0, START_MS + 30);
	receive(world->muxes[1], 3, START_MS + 30);
	assert_int_equal(world->muxes[1]->send_at, START_MS + 30);
}

/* A mux that asks whether it may withdraw a service counts only what is said afterwards. */
static void one_that_asks_is_answered(void **state)
{
	const struct hello_service announced = {.id = 7, .flags = HELLO_ANNOUNCES, .generation = 5};
	const struct hello_service withdrawn = {.id = 7, .flags = HELLO_BEHIND, .generation = 5};
	struct world *world = *state;
	struct fl_address asks = address_of(0);
	struct hello *other = world->muxes[1];

	hello_send(other, NULL, 0, START_MS);
	hello_send(world->muxes[0], &announced, 1, START_MS);
	receive(other, 1, START_MS);
	hello_send(other, NULL, 0, START_MS); /* the answer to one that has started */
	hello_send(world->muxes[0], &announced, 1, START_MS + 10);
	receive(other, 2, START_MS + 10);
	assert_true(other->send_at > START_MS + HELLO_INTERVAL_MS / 2);
	hello_send(world->muxes[0], &withdrawn, 1, START_MS + 20);
	receive(other, 3, START_MS + 20);
	assert_int_equal(other->send_at, START_MS + 20 + HELLO_ANSWER_MS);
	assert_true(hello_peer_said_since(hello_peers_find(other->peers, &asks), 7, START_MS + 20));
	assert_false(hello_peer_said_since(hello_peers_find(other->peers, &asks), 7, START_MS + 21));
	assert_false(hello_peer_said_since(hello_peers_find(other->peers, &asks), 8, 0));
	hello_send(other, NULL, 0, START_MS + 30);
	assert_int_equal(other->send_at, START_MS + 20 + HELLO_ANSWER_MS); /* nor did that answer it */
	hello_send(world->muxes[0], &withdrawn, 1, START_MS + 50);
	receive(other, 4, START_MS + 50);
	assert_int_equal(other->send_at, START_MS + 20 + HELLO_ANSWER_MS);
	hello_send(other, NULL, 0, START_MS + 20 + HELLO_ANSWER_MS);
	assert_true(other->send_at > START_MS + HELLO_INTERVAL_MS / 2); /* once */
}

static void a_cluster_without_a_name_is_silent(void **state)
{
	struct world *world = *state;

	hello_join(world->muxes[0], "test");
	hello_send(world->muxes[0], NULL, 0, START_MS);
	assert_int_equal(world->muxes[0]->counters.sent, 0);
	hello_send(world->muxes[1], NULL, 0, START_MS);
	receive(world->muxes[0], 1, START_MS);
	assert_int_equal(world->muxes[0]->counters.refused[HELLO_CLUSTER], 1);
	hello_join(world->muxes[0], cluster);
	hello_send(world->muxes[1], NULL, 0, START_MS + 1000);
	receive(world->muxes[0], 2, START_MS + 1000);
	assert_int_equal(world->muxes[0]->counters.refused[HELLO_CLUSTER], 1);
}

static void a_port_is_bound_once(void **state)
{
	struct world *world = *state;
	struct fl_address self = address_of(0);
	struct reason why = {""};
	char expected[16];

	assert_null(hello_open(&self, world->port, NULL, 1, &why));
	snprintf(expected, sizeof(expected), "'%u'", world->port);
	assert_non_null(strstr(why.text, "--hello: "));
	assert_non_null(strstr(why.text, expected));
	assert_non_null(strstr(why.text, strerror(EADDRINUSE)));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(a_thousand_services),
	    CASE(without_services_it_is_heard),
	    CASE(the_next_one_is_due_within_a_second),
	    CASE(one_that_starts_is_answered_at_once),
	    CASE(one_that_asks_is_answered),
	    CASE(a_cluster_without_a_name_is_silent),
	    CASE(a_port_is_bound_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
