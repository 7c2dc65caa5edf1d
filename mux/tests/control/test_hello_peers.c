/* SPDX-License-Identifier: Apache-2.0 */
/* Who is a peer, what a replay is, and how long a hello counts; hello.json has the checks of a single packet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "hello/hello_peers.h"

enum { START_MS = 1000000 };

static const uint8_t cluster[HELLO_CLUSTER_LEN] = {9};
static const struct tag_keys keys = {{1, 2}, {{1, 2}, {1, 2}}};

static struct fl_address address_of(unsigned mux)
{
	const uint8_t ipv4[4] = {10, 1, (uint8_t)(mux >> 8), (uint8_t)mux};

	return fl_address_from_ipv4(ipv4);
}

static struct hello_peers *new_peers(bool has_key)
{
	struct fl_address self = address_of(1);
	struct hello_peers *peers = hello_peers_new(&self, has_key ? &keys : NULL);

	assert_non_null(peers);
	hello_peers_join(peers, cluster);
	return peers;
}

static void nodes(struct hello_peers *peers, unsigned first, unsigned count, uint64_t now)
{
	struct hello_node *list = calloc(count + 1, sizeof(*list));

	assert_non_null(list);
	for (unsigned i = 0; i < count; i++) {
		list[i].address = address_of(first + i);
		snprintf(list[i].id, sizeof(list[i].id), "mux%u", first + i);
	}
	hello_peers_set_nodes(peers, list, count, now);
	free(list);
}

static enum hello_error hear(struct hello_peers *peers, unsigned mux, uint64_t boot, uint64_t counter,
			     const struct hello_service *services, unsigned count, uint64_t now)
{
	struct hello_head head = {
	    .count = (uint16_t)count, .boot = boot, .counter = counter, .sender = address_of(mux)};
	uint8_t data[HELLO_LEN_MAX];
	size_t len;

	memcpy(head.cluster, cluster, sizeof(cluster));
	len = hello_write(&head, services, &keys.current, data);
	return hello_peers_hear(peers, &head.sender, data, len, now);
}

static enum hello_error hear_one(struct hello_peers *peers, unsigned mux, uint64_t boot, uint64_t counter,
				 uint32_t generation, uint64_t now)
{
	const struct hello_service service = {.id = 1, .flags = HELLO_ANNOUNCES, .generation = generation};

	return hear(peers, mux, boot, counter, &service, 1, now);
}

static uint32_t generation_of(const struct hello_peers *peers, unsigned mux, uint16_t service, uint64_t now)
{
	struct fl_address address = address_of(mux);
	const struct hello_peer *peer = hello_peers_find(peers, &address);
	const struct hello_service *said = peer ? hello_peer_service(peer, service, now) : NULL;

	return said ? said->generation : 0;
}

static void replays(void **state)
{
	static const struct {
		const char *name;
		uint32_t at_s;
		uint64_t boot, counter;
		enum hello_error expected; /* with a key */
		bool is_open;              /* accepted without one, after 5 s of silence */
	} rows[] = {
	    {"the first one, whatever its numbers", 0, 50, 9, HELLO_OK, false},
	    {"the same again", 1, 50, 9, HELLO_REPLAYED, false},
	    {"an earlier one", 1, 50, 8, HELLO_REPLAYED, false},
	    {"the next one", 1, 50, 10, HELLO_OK, false},
	    {"some are lost", 2, 50, 100, HELLO_OK, false},
	    {"one that was lost comes late", 2, 50, 99, HELLO_REPLAYED, false},
	    {"it is started again: the counter begins anew", 3, 51, 1, HELLO_OK, false},
	    {"of the boot before", 3, 50, 101, HELLO_REPLAYED, false},
	    {"of the boot before, nearly a minute later", 63, 50, 102, HELLO_REPLAYED, true},
	    {"of this boot, as it never fell silent", 63, 51, 2, HELLO_OK, false},
	    {"its clock went back: not while it was heard lately", 100, 40, 1, HELLO_REPLAYED, true},
	    {"it goes on by that clock", 101, 40, 2, HELLO_REPLAYED, true},
	    {"after a minute of silence", 124, 40, 3, HELLO_OK, false},
	    {"the later boot is believed at once", 124, 51, 3, HELLO_OK, false},
	    {"the greatest numbers", 125, UINT64_MAX, UINT64_MAX, HELLO_OK, false},
	    {"behind which nothing comes", 126, UINT64_MAX, UINT64_MAX, HELLO_REPLAYED, false},
	};

	(void)state;
	for (int has_key = 0; has_key < 2; has_key++) {
		struct hello_peers *peers = new_peers(has_key);

		nodes(peers, 1, 3, START_MS);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			enum hello_error error =
			    hear_one(peers, 2, rows[i].boot, rows[i].counter, 7, START_MS + rows[i].at_s * 1000ULL);

			if (error != (rows[i].is_open && !has_key ? HELLO_OK : rows[i].expected))
				fail_msg("%s: %s, key %d", rows[i].name, hello_error_name(error), has_key);
		}
		assert_int_equal(hear_one(peers, 3, 50, 9, 7, START_MS), HELLO_OK); /* each mux has its own */
		hello_peers_free(peers);
	}
}

/* No hello is refused while muxes get new keys one after another, as docs/howto/rotate-keys.md says. */
static void a_key_is_replaced(void **state)
{
	static const struct fl_siphash_key old = {0x10, 7}, new = {0x11, 8}, other = {0x11, 9};
	const struct tag_keys rows[] = {{old, {old, old}}, {old, {old, new}}, {new, {old, new}}, {new, {new, new}}};
	struct hello_head head = {.boot = 1, .sender = address_of(2)};
	uint8_t data[HELLO_LEN_MAX];

	(void)state;
	memcpy(head.cluster, cluster, sizeof(cluster));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fl_address self = address_of(1);
		struct hello_peers *peers = hello_peers_new(&self, &rows[i]);

		assert_non_null(peers);
		hello_peers_join(peers, cluster);
		for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
			bool is_known;
			size_t len;

			head.counter++;
			len = hello_write(&head, NULL, &rows[j].current, data);
			is_known =
			    !memcmp(tag_keys_of(&rows[i], fl_key_bit(&rows[j].current)), &rows[j].current, sizeof(old));
			assert_true(is_known || i > j + 1 || j > i + 1);
			assert_int_equal(hello_peers_hear(peers, &head.sender, data, len, 1000),
					 is_known ? HELLO_OK : HELLO_TAG_WRONG);
		}
		head.counter++;
		assert_int_equal(
		    hello_peers_hear(peers, &head.sender, data, hello_write(&head, NULL, &other, data), 1000),
		    HELLO_TAG_WRONG);
		hello_peers_free(peers);
	}
}

/* Without a key anyone who sees hellos can forge one: what it claims, and its numbers, count for as long as any hello. */
static void a_forged_hello_counts_for_five_seconds(void **state)
{
	static const struct {
		uint64_t boot, counter;
	} forged[] = {{UINT64_MAX, 1}, {50, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};

	(void)state;
	for (int has_key = 0; has_key < 2; has_key++)
		for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
			struct hello_peers *peers = new_peers(has_key);
			uint64_t now = START_MS;

			nodes(peers, 1, 3, now);
			assert_int_equal(hear_one(peers, 2, 50, 1, 7, now), HELLO_OK);
			assert_int_equal(hear_one(peers, 2, forged[i].boot, forged[i].counter, 99, now), HELLO_OK);
			assert_int_equal(hear_one(peers, 2, 50, 2, 7, now + HELLO_SILENT_MS), HELLO_REPLAYED);
			/* with a key none can forge it, and an older one is a replay */
			assert_int_equal(hear_one(peers, 2, 50, 3, 7, now + HELLO_SILENT_MS + 1),
					 has_key ? HELLO_REPLAYED : HELLO_OK);
			assert_int_equal(generation_of(peers, 2, 1, now + HELLO_SILENT_MS + 1), has_key ? 0 : 7);
			hello_peers_free(peers);
		}
}

/* A mux that loses ZooKeeper loses its node, and stays a peer. */
static void a_node_that_is_gone_leaves_a_peer(void **state)
{
	struct hello_peers *peers = new_peers(false);
	struct fl_address second = address_of(2);
	uint64_t now = START_MS;

	(void)state;
	nodes(peers, 1, 3, now);
	assert_int_equal(peers->count, 2); /* without itself */
	nodes(peers, 1, 1, now);
	assert_int_equal(peers->count, 2);
	assert_false(hello_peers_find(peers, &second)->has_node);
	assert_string_equal(hello_peers_find(peers, &second)->node.id, "mux2");
	assert_int_equal(hear_one(peers, 2, 1, 1, 7, now += HELLO_FORGET_MS), HELLO_OK);
	hello_peers_expire(peers, now);
	assert_int_equal(peers->count, 2);
	hello_peers_expire(peers, now + 1); /* the third one was never heard */
	assert_int_equal(peers->count, 1);
	hello_peers_expire(peers, now + HELLO_FORGET_MS);
	assert_int_equal(peers->count, 1);
	hello_peers_expire(peers, now + HELLO_FORGET_MS + 1);
	assert_int_equal(peers->count, 0);
	assert_int_equal(hear_one(peers, 2, 1, 2, 7, now), HELLO_PEER_UNKNOWN);
	hello_peers_free(peers);
}

static void a_node_is_never_forgotten(void **state)
{
	struct hello_peers *peers = new_peers(false);

	(void)state;
	nodes(peers, 2, 1, START_MS);
	for (uint64_t hours = 1; hours < 100; hours++)
		hello_peers_expire(peers, START_MS + hours * 3600 * 1000);
	assert_int_equal(peers->count, 1);
	nodes(peers, 2, 0, START_MS + 100ULL * 3600 * 1000);
	hello_peers_expire(peers, START_MS + 100ULL * 3600 * 1000);
	assert_int_equal(peers->count, 1);
	hello_peers_free(peers);
}

/* Only so many, and those without a node make room first, the longest gone one first. */
static void there_is_a_limit(void **state)
{
	struct hello_peers *peers = new_peers(true);
	struct fl_address oldest = address_of(1000), newer = address_of(1001);
	uint64_t now = START_MS;

	(void)state;
	nodes(peers, 2, HELLO_PEERS_MAX - 2, now);
	assert_int_equal(hear_one(peers, 1000 + HELLO_PEERS_MAX, 1, 1, 7, now), HELLO_OK);
	assert_int_equal(hear_one(peers, 2000 + HELLO_PEERS_MAX, 1, 1, 7, now + 1), HELLO_OK);
	assert_int_equal(peers->count, HELLO_PEERS_MAX);
	oldest = address_of(1000 + HELLO_PEERS_MAX);
	newer = address_of(2000 + HELLO_PEERS_MAX);
	assert_int_equal(hear_one(peers, 3000 + HELLO_PEERS_MAX, 1, 1, 7, now + 2), HELLO_OK);
	assert_null(hello_peers_find(peers, &oldest));
	assert_non_null(hello_peers_find(peers, &newer));
	nodes(peers, 2, HELLO_PEERS_MAX, now);
	assert_int_equal(peers->count, HELLO_PEERS_MAX);
	assert_int_equal(hear_one(peers, 4000 + HELLO_PEERS_MAX, 1, 1, 7, now), HELLO_PEER_UNKNOWN);
	hello_peers_free(peers);
}

/* Each service by its own packet. */
static void what_was_said_lasts_five_seconds(void **state)
{
	static const struct hello_service first[] = {{1, HELLO_ANNOUNCES, 5, 0}, {3, HELLO_BEHIND, 6, 0}, {9, 0, 7, 0}};
	static const struct hello_service second[] = {{2, 0, 20, 0}, {3, 0, 30, 0}};
	struct hello_peers *peers = new_peers(false);
	struct fl_address address = address_of(2);
	const struct hello_peer *peer;
	uint64_t now = START_MS;

	(void)state;
	nodes(peers, 2, 1, now);
	peer = hello_peers_find(peers, &address);
	assert_false(hello_peer_is_heard(peer, now));
	assert_int_equal(hear(peers, 2, 1, 1, first, 3, now), HELLO_OK);
	assert_int_equal(hear(peers, 2, 1, 2, second, 2, now + 1000), HELLO_OK);
	assert_int_equal(generation_of(peers, 2, 1, now + 1000), 5);
	assert_int_equal(generation_of(peers, 2, 2, now + 1000), 20);
	assert_int_equal(generation_of(peers, 2, 3, now + 1000), 30);
	assert_int_equal(generation_of(peers, 2, 9, now + 1000), 7);
	assert_int_equal(generation_of(peers, 2, 4, now + 1000), 0);
	assert_int_equal(generation_of(peers, 2, 1, now + HELLO_SILENT_MS), 5);
	assert_int_equal(generation_of(peers, 2, 1, now + HELLO_SILENT_MS + 1), 0);
	assert_int_equal(generation_of(peers, 2, 2, now + HELLO_SILENT_MS + 1), 20);
	assert_true(hello_peer_is_heard(peer, now + 1000 + HELLO_SILENT_MS));
	assert_false(hello_peer_is_heard(peer, now + 1001 + HELLO_SILENT_MS));
	assert_int_equal(hear(peers, 2, 1, 3, second, 1, now + 1000 + HELLO_SILENT_MS), HELLO_OK);
	assert_int_equal(peer->count, 2); /* what is old is gone */
	assert_int_equal(hear(peers, 2, 2, 1, first, 1, now + 1000 + HELLO_SILENT_MS), HELLO_OK);
	assert_int_equal(peer->count, 1); /* and what was said before a restart */
	hello_peers_free(peers);
}

/* 4,096 services in packets of 97, as one mux says them and as the next one hears them. */
static void many_services(void **state)
{
	struct hello_peers *peers = new_peers(false);
	uint64_t counter = 0;

	(void)state;
	nodes(peers, 2, 1, START_MS);
	for (unsigned second = 0; second < 3; second++)
		for (unsigned at = 0; at < 5000; at += HELLO_SERVICES_MAX) {
			struct hello_service services[HELLO_SERVICES_MAX];

			for (unsigned i = 0; i < HELLO_SERVICES_MAX; i++)
				services[i] = (struct hello_service){.id = (uint16_t)(at + i + 1),
								     .generation = at + i + 1 + second};
			assert_int_equal(
			    hear(peers, 2, 1, ++counter, services, HELLO_SERVICES_MAX, START_MS + second * 1000),
			    HELLO_OK);
		}
	for (uint16_t id = 1; id <= HELLO_ENTRIES_MAX; id++)
		assert_int_equal(generation_of(peers, 2, id, START_MS + 2000), id + 2);
	assert_int_equal(generation_of(peers, 2, HELLO_ENTRIES_MAX + 1, START_MS + 2000), 0);
	hello_peers_free(peers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_is_replaced),
	    cmocka_unit_test(replays),
	    cmocka_unit_test(a_forged_hello_counts_for_five_seconds),
	    cmocka_unit_test(a_node_that_is_gone_leaves_a_peer),
	    cmocka_unit_test(a_node_is_never_forgotten),
	    cmocka_unit_test(there_is_a_limit),
	    cmocka_unit_test(what_was_said_lasts_five_seconds),
	    cmocka_unit_test(many_services),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
