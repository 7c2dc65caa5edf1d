/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a service is withdrawn and announced again, by what ZooKeeper's nodes and hellos say over time. The real parts:
 * lag_withdrawal.h, lag.h, hello_peers.h; ZooKeeper's answers and the clock are the test's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config/address.h"
#include "control/withdrawal/lag_withdrawal.h"
#include "service/service.h"
#include "../fake_tree.h"

enum { ID = 7, BEHIND_S = 60, START_MS = 1000000, MUXES = 9 };

static const char folder[] = "/fairlead/muxes";
static const uint8_t cluster[HELLO_CLUSTER_LEN] = {1, 2, 3};

static bool is_settled_out;

void published_announce(struct published_service *published)
{
	(void)published;
}

bool published_is_settled_out(const struct published_service *published)
{
	(void)published;
	return is_settled_out;
}

struct world {
	struct tree *tree;
	struct hello_peers *peers;
	struct lag_withdrawal *withdrawal;
	struct service service;
	struct service_sync sync;
	uint64_t now;
	uint64_t counter;
};

static struct fl_address address_of(unsigned mux)
{
	const uint8_t ipv4[4] = {10, 1, 0, (uint8_t)(10 + mux)};

	return fl_address_from_ipv4(ipv4);
}

static struct world *new_world(struct lag_limits limits, bool hears)
{
	struct fl_address self = address_of(1);
	struct world *world = calloc(1, sizeof(*world));
	struct hello_node nodes[MUXES] = {0};

	assert_non_null(world);
	world->now = START_MS;
	world->tree = fake_tree_new();
	world->peers = hello_peers_new(&self, NULL);
	assert_non_null(world->peers);
	hello_peers_join(world->peers, cluster);
	for (unsigned i = 0; i < MUXES; i++) {
		nodes[i].address = address_of(i + 1);
		snprintf(nodes[i].id, sizeof(nodes[i].id), "mux%u", i + 1);
	}
	hello_peers_set_nodes(world->peers, nodes, MUXES, world->now);
	world->withdrawal = lag_withdrawal_new(world->tree, folder, "mux1", &limits, hears ? world->peers : NULL);
	assert_non_null(world->withdrawal);
	world->service.id = ID;
	world->sync.ring.published = (struct published_service){.name = "web", .service = &world->service};
	return world;
}

static int set_up(void **state)
{
	*state = new_world((struct lag_limits){.seconds = BEHIND_S}, true);
	return 0;
}

static int set_up_deaf(void **state)
{
	*state = new_world((struct lag_limits){.seconds = BEHIND_S}, false);
	return 0;
}

static int set_up_generations(void **state)
{
	*state = new_world((struct lag_limits){.generations = 1}, true);
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	is_settled_out = false;
	fake_tree_free(world->tree);
	lag_withdrawal_free(world->withdrawal);
	hello_peers_free(world->peers);
	free(world);
	return 0;
}

/* What ZooKeeper said last, and what is served. */
static void read_latest(struct world *world, uint32_t generation, uint32_t latest)
{
	lag_confirm(&world->sync.ring.published.lag);
	lag_note(&world->sync.ring.published.lag, generation, latest, world->now);
}

static void say(struct world *world, unsigned mux, struct hello_service service)
{
	struct hello_head head = {.count = 1, .boot = 5, .counter = ++world->counter, .sender = address_of(mux)};
	uint8_t data[HELLO_LEN_MAX];

	memcpy(head.cluster, cluster, sizeof(cluster));
	assert_int_equal(
	    hello_peers_hear(world->peers, &head.sender, data, hello_write(&head, &service, NULL, data), world->now),
	    HELLO_OK);
}

static void hello(struct world *world, unsigned mux, uint32_t generation, uint8_t flags)
{
	say(world, mux, (struct hello_service){.id = ID, .flags = flags, .generation = generation});
}

static bool run(struct world *world, bool follows)
{
	struct service_sync *sync = &world->sync;

	return lag_withdrawal_run(world->withdrawal, &sync, 1, follows, world->now);
}

/* Seconds without ZooKeeper, in each of which these muxes are heard at these generations; 0: it is silent. */
static void seconds(struct world *world, unsigned count, const uint32_t *generations, unsigned muxes)
{
	for (unsigned s = 0; s < count; s++) {
		world->now += 1000;
		for (unsigned i = 0; i < muxes; i++)
			if (generations[i])
				hello(world, i + 2, generations[i], HELLO_ANNOUNCES);
		run(world, false);
	}
}

static bool is_withdrawn(const struct world *world)
{
	return world->sync.ring.published.withdrawn_for_lag;
}

/* Cut off from ZooKeeper: the others' hellos tell that it is behind, and after the limit it withdraws. */
static void hellos_alone_withdraw(void **state)
{
	static const uint32_t same[] = {5, 5}, ahead[] = {6, 6}, further[] = {900, 900};
	struct world *world = *state;

	read_latest(world, 5, 5);
	seconds(world, 100, same, 2);
	assert_false(is_withdrawn(world));
	assert_int_equal(lag_generations(&world->sync.ring.published.lag), 0);
	seconds(world, BEHIND_S, ahead, 2);
	assert_int_equal(lag_generations(&world->sync.ring.published.lag), 1);
	assert_false(is_withdrawn(world));
	seconds(world, 2, further, 2);
	assert_true(is_withdrawn(world));
	assert_int_equal(world->sync.ring.published.lag.latest, 900);

	/* healed: ZooKeeper is read, the ring catches up */
	read_latest(world, 5, 900);
	assert_false(run(world, true));
	assert_true(is_withdrawn(world));
	read_latest(world, 900, 900);
	assert_true(run(world, true));
	assert_false(is_withdrawn(world));
}

static void a_single_mux_ahead_withdraws_no_other(void **state)
{
	static const uint32_t canary[] = {6, 5};
	struct world *world = *state;

	read_latest(world, 5, 5);
	seconds(world, 3 * BEHIND_S, canary, 2);
	assert_int_equal(lag_ms(&world->sync.ring.published.lag, world->now), (3 * BEHIND_S - 1) * 1000);
	assert_false(is_withdrawn(world));
}

/* It hears neither ZooKeeper nor other muxes: it continues, and what it knew to be committed still counts as lag. */
static void silence_withdraws_no_mux(void **state)
{
	static const uint32_t ahead[] = {6, 6}, silent[] = {0, 0};
	struct world *world = *state;

	read_latest(world, 5, 5);
	seconds(world, 500, silent, 2);
	assert_false(is_withdrawn(world));
	assert_int_equal(lag_generations(&world->sync.ring.published.lag), 0);
	seconds(world, BEHIND_S / 2, ahead, 2);
	seconds(world, 2 * BEHIND_S, silent, 2);
	assert_int_equal(lag_generations(&world->sync.ring.published.lag), 1);
	assert_false(is_withdrawn(world));
	seconds(world, 1, ahead, 2);
	assert_true(is_withdrawn(world));
}

static void those_that_were_ahead_die(void **state)
{
	static const uint32_t ahead[] = {6, 6}, one[] = {6, 0}, silent[] = {0, 0};
	struct world *world = *state;

	read_latest(world, 5, 5);
	seconds(world, BEHIND_S + 2, ahead, 2);
	assert_true(is_withdrawn(world));
	seconds(world, 60, one, 2);
	assert_true(is_withdrawn(world));
	seconds(world, HELLO_SILENT_MS / 1000, silent, 2);
	assert_true(is_withdrawn(world));
	seconds(world, 1, silent, 2);
	assert_false(is_withdrawn(world));
}

/* What it lacks is settled, so it does not announce again for want of others. */
static void those_that_were_ahead_of_a_settled_generation_die(void **state)
{
	static const uint32_t ahead[] = {6, 6}, silent[] = {0, 0};
	struct world *world = *state;

	read_latest(world, 5, 5);
	seconds(world, BEHIND_S + 2, ahead, 2);
	assert_true(is_withdrawn(world));
	is_settled_out = true;
	seconds(world, 1000, silent, 2);
	assert_true(is_withdrawn(world));
	is_settled_out = false; /* it is in reach of ZooKeeper, and has caught up */
	read_latest(world, 6, 6);
	assert_true(run(world, true));
	assert_false(is_withdrawn(world));
}

/* Withdrawn and cut off from ZooKeeper, it learns what is settled from those for which it withdrew. */
static void those_that_are_ahead_say_what_is_settled(void **state)
{
	enum { RESTORED = 1800000000 };
	static const struct {
		struct hello_service others[4];
		bool follows, announces;
		uint32_t heard;
	} rows[] = {
	    {{{ID, HELLO_ANNOUNCES, 9, 8}}, false, false, 8},                              /* one of two */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 9, 7}}, false, false, 8}, /* two of three */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 9, 0}}, false, false, 8}, /* one was not told */
	    {{{ID, HELLO_ANNOUNCES, 9, 9}, {ID, HELLO_ANNOUNCES, 7, 6}}, false, false, 6}, /* one serves it */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 7, 6}, {ID, HELLO_ANNOUNCES, 9, 7}}, false, false, 8},
	    {{{ID, HELLO_ANNOUNCES, 9, 6},
	      {ID, HELLO_ANNOUNCES, 9, 6},
	      {ID, HELLO_ANNOUNCES, 9, 8},
	      {ID, HELLO_ANNOUNCES, 9, 8}},
	     false,
	     false,
	     8},                                                                           /* three of five */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 9, 8}}, true, false, 0},  /* ZooKeeper says it */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 9, 8}}, false, true, 0},  /* not behind for long */
	    {{{ID, HELLO_ANNOUNCES, 9, 8}, {ID, HELLO_ANNOUNCES, 5, 0}}, false, false, 0}, /* a single mux of three */
	    {{{ID, HELLO_ANNOUNCES, 9, UINT32_MAX}, {ID, HELLO_ANNOUNCES, 9, 7}}, false, false, 7}, /* above its ring */
	    {{{ID, HELLO_ANNOUNCES, RESTORED, RESTORED}}, false, false, RESTORED}, /* at a Unix second */
	    {{{ID, HELLO_BEHIND, 9, 8}, {ID, 0, 9, 8}}, false, false, 0},
	    {{{ID, HELLO_ANNOUNCES, 5, 5}, {ID, HELLO_ANNOUNCES, 4, 4}}, false, false, 0},
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# row %zu\n", i);
		world->sync.ring.published = (struct published_service){
		    .name = "web", .service = &world->service, .withdrawn_for_lag = !rows[i].announces};
		read_latest(world, 5, 5);
		world->now += HELLO_SILENT_MS + 1000;
		for (unsigned n = 0; n < 4 && rows[i].others[n].id; n++)
			say(world, n + 2, rows[i].others[n]);
		run(world, rows[i].follows);
		assert_int_equal(world->sync.ring.published.heard_settled, rows[i].heard);
	}
}

/* Others that withdrew count among the muxes, those that stop do not. */
static void flags_count(void **state)
{
	struct world *world = *state;

	read_latest(world, 5, 5);
	for (unsigned s = 0; s < 2 * BEHIND_S; s++) {
		world->now += 1000;
		hello(world, 2, 6, HELLO_ANNOUNCES);
		hello(world, 3, 5, HELLO_BEHIND);
		run(world, false);
	}
	assert_false(is_withdrawn(world));
	world->now += 1000;
	hello(world, 3, 5, 0);
	assert_true(run(world, false));
	assert_true(is_withdrawn(world));
	hello(world, 2, 7, 0);
	assert_false(run(world, false)); /* a decision a second, whatever arrives */
	world->now += LAG_WITHDRAWAL_HEAR_MS;
	assert_true(run(world, false));
	assert_false(is_withdrawn(world));
}

/* With ZooKeeper, what is committed is what it says, however far others claim to be. */
static void hellos_make_no_lag_beside_zookeeper(void **state)
{
	struct world *world = *state;

	read_latest(world, 5, 5);
	for (unsigned s = 0; s < 3 * BEHIND_S; s++) {
		world->now += 1000;
		hello(world, 2, UINT32_MAX, HELLO_ANNOUNCES);
		assert_false(run(world, true));
	}
	assert_int_equal(lag_generations(&world->sync.ring.published.lag), 0);
	assert_int_equal(fake_tree_count(world->tree), 0);
}

/* Without hellos a mux without ZooKeeper changes nothing, as it knows nothing. */
static void deaf(void **state)
{
	struct world *world = *state;

	read_latest(world, 5, 9);
	world->now += 1000 * BEHIND_S * 2;
	hello(world, 2, 9, HELLO_ANNOUNCES);
	assert_false(run(world, false));
	assert_false(is_withdrawn(world));
	world->sync.ring.published.withdrawn_for_lag = true;
	assert_false(run(world, false));
	assert_true(is_withdrawn(world));
}

static void node(const struct world *world, size_t i, enum tree_result result, const char *text)
{
	const struct tree_reply reply = {
	    .result = result, .data = (const uint8_t *)text, .len = text ? strlen(text) : 0, .owner = 7};

	assert_int_equal(fake_tree_at(world->tree, i)->kind, FAKE_GET);
	fake_tree_answer(world->tree, i, &reply);
}

#define NODE(n, generation)                                                                                            \
	"{\"id\": \"mux" n "\", \"address\": \"10.1.0.1" n "\", \"services\": {\"web\": {\"generation\": " generation  \
	"}}}"
#define WITHDRAWN(n, generation, why)                                                                                  \
	"{\"id\": \"mux" n "\", \"services\": {\"web\": {\"generation\": " generation ", \"withdrawn\": \"" why "\"}}" \
	"}"

/* A look at two nodes, the first one's answer as told; whether the service was withdrawn or came back. */
static bool looked(struct world *world, enum tree_result result, const char *text, const char *other)
{
	char *names[] = {"mux2", "mux3"};
	const struct tree_reply reply = {.result = TREE_OK, .children = names, .child_count = 2};

	world->now += LAG_WITHDRAWAL_LOOK_MS;
	fake_tree_set_now(world->tree, world->now);
	assert_false(run(world, true));
	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_CHILDREN);
	fake_tree_answer(world->tree, 0, &reply);
	node(world, 0, result, text);
	node(world, 0, TREE_OK, other);
	return run(world, true);
}

static const char none[] = "{\"id\": \"mux3\", \"services\": {}}";

/* A connection that breaks in the middle of a reading does not mean that no mux is ahead any more. */
static void a_partial_reading_decides_nothing(void **state)
{
	struct world *world = *state;

	read_latest(world, 2, 9);
	assert_false(looked(world, TREE_FAILED, NULL, none));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), none));
	assert_true(is_withdrawn(world));
	assert_false(looked(world, TREE_FAILED, NULL, none));
	assert_true(is_withdrawn(world));
	assert_false(looked(world, TREE_OK, NODE("2", "9"), none));
	assert_true(looked(world, TREE_OK, NODE("2", "2"), none));
	assert_false(is_withdrawn(world));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), none));
	assert_true(looked(world, TREE_MISSING, NULL, none));
	assert_false(is_withdrawn(world));
}

static void nodes_are_counted_alike(void **state)
{
	struct world *world = *state;

	read_latest(world, 2, 9);
	assert_false(looked(world, TREE_OK, NODE("2", "9"), NODE("3", "2")));
	assert_false(looked(world, TREE_OK, NODE("2", "9"), WITHDRAWN("3", "2", "behind")));
	assert_false(looked(world, TREE_OK, NODE("2", "9"), WITHDRAWN("3", "2", "settled")));
	assert_false(looked(world, TREE_OK, NODE("2", "99999999999"), none));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), WITHDRAWN("3", "2", "stopping")));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), NODE("3", "2")));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), NODE("3", "3")));
	assert_true(is_withdrawn(world));
	assert_true(looked(world, TREE_OK, NODE("2", "9"), NODE("3", "2")));
	assert_false(is_withdrawn(world));
}

/* The node of a mux that is heard is as old as its session; its hello is a second old. */
static void a_hello_is_believed_before_a_node(void **state)
{
	struct world *world = *state;

	read_latest(world, 2, 9);
	world->now += LAG_WITHDRAWAL_LOOK_MS;
	hello(world, 2, 2, HELLO_ANNOUNCES);
	world->now -= LAG_WITHDRAWAL_LOOK_MS;
	assert_false(looked(world, TREE_OK, NODE("2", "9"), none));
	hello(world, 2, 9, HELLO_ANNOUNCES);
	assert_true(looked(world, TREE_OK, NODE("2", "2"), none));
	assert_true(is_withdrawn(world));
}

/* --- what was restored from disk --------------------------------------------------------------------------------- */

static void restore(struct world *world, uint32_t generation)
{
	lag_withdrawal_listen(world->withdrawal, world->now);
	lag_withdrawal_restore(world->withdrawal, &world->sync.ring.published, generation, world->now);
}

static void hear(struct world *world, unsigned first, unsigned last, uint32_t generation)
{
	for (unsigned mux = first; mux <= last; mux++)
		hello(world, mux, generation, HELLO_ANNOUNCES);
}

static void a_restored_ring_waits_for_the_others(void **state)
{
	struct world *world = *state;

	restore(world, 5);
	assert_int_equal(lag_withdrawal_deadline(world->withdrawal), world->now + LAG_WITHDRAWAL_LISTEN_MS);
	assert_false(run(world, false));
	assert_true(world->sync.ring.published.is_held);
	world->now += 10;
	hear(world, 2, MUXES - 1, 5);
	assert_false(run(world, false));
	assert_true(world->sync.ring.published.is_held);
	world->now += 10;
	hear(world, MUXES, MUXES, 5);
	assert_true(run(world, false)); /* a decision at once, not one a second */
	assert_false(world->sync.ring.published.is_held);
	assert_false(is_withdrawn(world));
}

/* It is not announced for an instant, however long the limit. */
static void an_old_restored_ring_is_withdrawn_at_once(void **state)
{
	struct world *world = *state;

	restore(world, 5);
	hear(world, 2, MUXES, 6);
	assert_true(run(world, false));
	assert_false(world->sync.ring.published.is_held);
	assert_true(is_withdrawn(world));
}

static void the_quorum_holds_for_a_restored_ring(void **state)
{
	struct world *world = *state;

	restore(world, 5);
	hear(world, 2, 4, 6);
	hear(world, 5, MUXES, 5);
	assert_true(run(world, false));
	assert_false(world->sync.ring.published.is_held);
	assert_false(is_withdrawn(world));
}

static void in_silence_a_restored_ring_is_announced_soon(void **state)
{
	struct world *world = *state;

	restore(world, 5);
	world->now += LAG_WITHDRAWAL_LISTEN_MS - 1;
	assert_false(run(world, false));
	assert_true(world->sync.ring.published.is_held);
	world->now++;
	assert_true(run(world, false));
	assert_false(world->sync.ring.published.is_held);
	assert_false(is_withdrawn(world));
	assert_int_equal(lag_withdrawal_deadline(world->withdrawal), UINT64_MAX);

	/* the others were cut off until now: it is unknown how old this ring is */
	world->now += LAG_WITHDRAWAL_HEAR_MS;
	hear(world, 2, MUXES, 6);
	assert_true(run(world, false));
	assert_true(is_withdrawn(world));

	/* as soon as ZooKeeper has confirmed what is served, the limit counts as for any ring */
	read_latest(world, 6, 6);
	assert_true(run(world, true));
	assert_false(is_withdrawn(world));
	read_latest(world, 6, 7);
	assert_false(run(world, true));
	assert_int_equal(fake_tree_count(world->tree), 0);
}

static void without_hellos_or_limits_nothing_is_held(void **state)
{
	struct world *world = *state;

	restore(world, 5);
	assert_false(world->sync.ring.published.is_held);
}

static int set_up_unlimited(void **state)
{
	*state = new_world((struct lag_limits){0}, true);
	return 0;
}

#define CASE(name, begin) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(hellos_alone_withdraw, set_up),
	    CASE(a_single_mux_ahead_withdraws_no_other, set_up),
	    CASE(silence_withdraws_no_mux, set_up),
	    CASE(those_that_were_ahead_die, set_up),
	    CASE(those_that_were_ahead_of_a_settled_generation_die, set_up),
	    CASE(those_that_are_ahead_say_what_is_settled, set_up),
	    CASE(flags_count, set_up),
	    CASE(hellos_make_no_lag_beside_zookeeper, set_up),
	    CASE(deaf, set_up_deaf),
	    CASE(a_partial_reading_decides_nothing, set_up_generations),
	    CASE(nodes_are_counted_alike, set_up_generations),
	    CASE(a_hello_is_believed_before_a_node, set_up_generations),
	    CASE(a_restored_ring_waits_for_the_others, set_up),
	    CASE(an_old_restored_ring_is_withdrawn_at_once, set_up),
	    CASE(the_quorum_holds_for_a_restored_ring, set_up),
	    CASE(in_silence_a_restored_ring_is_announced_soon, set_up),
	    CASE(without_hellos_or_limits_nothing_is_held, set_up_deaf),
	    CASE(without_hellos_or_limits_nothing_is_held, set_up_unlimited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
