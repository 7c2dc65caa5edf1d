/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service as the probe follows it, against a tree that is a few words: what is in it, what changes, and which backends
 * are known then. Generation n has FIRST + n backends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../mux/tests/delta_bytes.h"
#include "../../mux/tests/fake_tree.h"
#include "../../mux/tests/image.h"
#include "follower.h"

enum { BUCKETS = 256, FIRST = 3, SINCE = 1700000000 };

/* What is below the service's node. */
struct nodes {
	int id;                /* of the config; 0: there is none, -1: it is refused */
	const char *latest;    /* "": missing */
	const char *snapshot;  /* its number */
	uint32_t missing;      /* a bit for each generation without delta and snapshot */
	uint32_t damaged;      /* whose delta and snapshot can't be decoded */
	enum tree_result lost; /* of each read, or of all but config and number if is_image_lost; TREE_OK: as above */
	bool is_image_lost;
};

struct world {
	struct tree *tree;
	struct follower_context context;
	struct follower *follower;
	struct nodes nodes;
	unsigned configured, vanished, changed, reads;
	FILE *stderr_before;
	char *log;
	size_t log_len;
};

static void on_configured(void *owner, const char *name, const struct tree_reply *config)
{
	struct world *world = owner;

	assert_string_equal(name, "web");
	assert_int_equal(config->result, TREE_OK);
	world->configured++;
}

static void on_changed(void *owner)
{
	((struct world *)owner)->changed++;
}

static void on_vanished(void *owner)
{
	((struct world *)owner)->vanished++;
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->tree = fake_tree_new();
	world->context =
	    (struct follower_context){world->tree, "/fairlead", world, on_configured, on_changed, on_vanished};
	world->follower = follower_new(&world->context, "web");
	world->stderr_before = stderr;
	stderr = open_memstream(&world->log, &world->log_len);
	assert_non_null(stderr);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	follower_end(world->follower);
	fake_tree_free(world->tree);
	fclose(stderr);
	stderr = world->stderr_before;
	free(world->log);
	free(world);
	return 0;
}

static struct delta image_at(int id, uint32_t generation)
{
	struct delta image = image_snapshot((uint16_t)id, generation, BUCKETS, (uint16_t)(FIRST + generation));

	for (uint32_t i = 0; i < BUCKETS; i++)
		image_own(&image, i, (uint16_t)(1 + i % FIRST));
	for (uint32_t i = 2; i <= generation; i++) {
		if (image.image.current[i] != 2)
			image_was(&image, i, image.image.current[i], SINCE);
		image_own(&image, i, 2);
	}
	image.image.committed = SINCE;
	return image;
}

static uint8_t *bytes_of(const struct nodes *nodes, uint32_t generation, bool is_snapshot, size_t *len)
{
	struct delta image = image_at(nodes->id, is_snapshot ? generation : generation - 1);
	struct delta next = image_at(nodes->id, generation);
	struct delta move = image_move(&image, generation, generation, 1, 2, SINCE);
	const struct delta *written = is_snapshot ? &image : &move;
	size_t body_len;
	uint8_t *body, *bytes;

	move.backends = &next.backends[next.backends_count - 1];
	move.backends_count = 1;
	body = delta_bytes_body(written, &body_len);
	bytes = delta_bytes_wrap(written, body, body_len, len);
	if (nodes->damaged & 1U << generation)
		bytes[FL_DELTA_HEADER_LEN] ^= 1; /* no frame any more */
	free(body);
	move.backends = NULL;
	image_free(&image);
	image_free(&next);
	image_free(&move);
	return bytes;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static void answer_text(struct world *world, bool is_there, const char *text)
{
	const struct tree_reply reply = {.result = is_there ? TREE_OK : TREE_MISSING,
					 .data = (const uint8_t *)text,
					 .len = strlen(text),
					 .written_ms = 1};

	fake_tree_answer(world->tree, 0, &reply);
}

static void answer_generation(struct world *world, const char *path)
{
	uint32_t generation = (uint32_t)strtoul(strstr(path, "/gen/") + 5, NULL, 10);
	bool is_there = !(world->nodes.missing & 1U << generation);
	char *name = "0000";
	struct tree_reply reply = {.result = is_there ? TREE_OK : TREE_MISSING, .children = &name, .child_count = 1};
	uint8_t *bytes = NULL;

	if (fake_tree_at(world->tree, 0)->kind == FAKE_GET)
		reply.data = bytes = bytes_of(&world->nodes, generation, strstr(path, "/snapshot/"), &reply.len);
	fake_tree_answer(world->tree, 0, &reply);
	free(bytes);
}

/* Answers everything, in the order in which it was asked. */
static void serve(struct world *world)
{
	static const char config[] =
	    "{\"format\": %d, \"id\": %d, \"name\": \"web\", \"vips\": [\"10.99.0.1\"], \"ports\": [{\"protocol\": "
	    "\"tcp\", \"port\": 80}], \"steering\": \"ring\", \"buckets\": %d, \"hash\": \"siphash\", \"hashKey\": "
	    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"encap\": \"gue\", "
	    "\"windowSeconds\": 240}";
	const struct nodes *nodes = &world->nodes;
	char text[512];

	for (unsigned i = 0; fake_tree_count(world->tree); i++) {
		const char *path = fake_tree_at(world->tree, 0)->path;

		assert_true(i < 100); /* it must not ask for ever */
		world->reads++;
		snprintf(text, sizeof(text), config, nodes->id < 0 ? 99 : 1, nodes->id, BUCKETS);
		if (nodes->lost != TREE_OK &&
		    !(nodes->is_image_lost && (ends_with(path, "/config") || ends_with(path, "/latest_gen"))))
			fake_tree_answer(world->tree, 0, &(const struct tree_reply){.result = nodes->lost});
		else if (ends_with(path, "/config"))
			answer_text(world, nodes->id, text);
		else if (ends_with(path, "/latest_gen"))
			answer_text(world, *nodes->latest, nodes->latest);
		else if (ends_with(path, "/latest_snapshot"))
			answer_text(world, *nodes->snapshot, nodes->snapshot);
		else
			answer_generation(world, path);
	}
}

/* Sets the tree, lets a watch fire ("": all is read, as after a connection), and answers. */
static void turn(struct world *world, struct nodes nodes, const char *tail)
{
	world->nodes = nodes;
	if (*tail)
		follower_changed(world->follower, tail);
	else
		follower_refresh(world->follower);
	serve(world);
}

static void assert_known(const struct world *world, uint32_t generation)
{
	const struct follower *follower = world->follower;

	assert_int_equal(follower_is_ready(follower), generation > 0);
	if (!generation)
		return;
	assert_int_equal(follower->generation, generation);
	assert_int_equal(follower->backends_count, FIRST + generation);
	for (uint32_t i = 0; i < follower->backends_count; i++)
		assert_int_equal(follower->backends[i].id, i + 1);
}

static bool is_logged(const struct world *world, const char *words)
{
	fflush(stderr);
	return strstr(world->log, words);
}

/* Lets the next retry be due. */
static void wait_for_retry(struct world *world)
{
	assert_true(world->follower->backoff.retry_at != UINT64_MAX);
	fake_tree_set_now(world->tree, world->follower->backoff.retry_at);
	follower_run(world->follower, world->follower->backoff.retry_at);
	serve(world);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* From nothing: what is known after one reading of the whole tree, whether it is read again, and what is logged. */
static void one_reading_finds_what_is_there(void **state)
{
	static const struct {
		const char *name;
		struct nodes nodes;
		uint32_t known;
		bool retries;
		const char *log; /* NULL: nothing */
	} rows[] = {
	    {"a snapshot alone", {1, "1", "1", 0, 0, 0, false}, 1, false, NULL},
	    {"a snapshot and deltas", {1, "5", "2", 0, 0, 0, false}, 5, false, NULL},
	    {"a snapshot that is newer than the number", {1, "2", "4", 0, 0, 0, false}, 4, false, NULL},
	    {"no config", {0, "2", "1", 0, 0, 0, false}, 0, false, NULL},
	    {"a config of another format", {-1, "2", "1", 0, 0, 0, false}, 0, false, "reason=config"},
	    {"no number", {1, "", "1", 0, 0, 0, false}, 0, true, NULL},
	    {"a number that is none",
	     {1, "x", "1", 0, 0, 0, false},
	     0,
	     false,
	     "reason=number generation=0 why=\"latest_gen is 'x'; allowed: 1..4294967295\""},
	    {"a number of bytes that are no text",
	     {1, "1\n\033[7m\xff", "1", 0, 0, 0, false},
	     0,
	     false,
	     "reason=number generation=0 why=\"latest_gen is '1??[7m?'; allowed: 1..4294967295\""},
	    {"no snapshot", {1, "2", "", 0, 0, 0, false}, 0, true, "reason=missing"},
	    {"a snapshot's number that is none",
	     {1, "2", "0", 0, 0, 0, false},
	     0,
	     true,
	     "reason=number generation=0 why=\"latest_snapshot is '0'; allowed: 1..4294967295\""},
	    {"a snapshot without chunks", {1, "2", "1", 2, 0, 0, false}, 0, true, "reason=missing generation=1"},
	    {"a damaged snapshot", {1, "2", "1", 0, 2, 0, false}, 0, true, "generation=1"},
	    {"a delta that is missing", {1, "4", "1", 8, 0, 0, false}, 2, true, "reason=missing generation=3"},
	    {"a damaged delta", {1, "4", "1", 0, 16, 0, false}, 3, true, "generation=4"},
	    {"a lost connection", {1, "2", "1", 0, 0, TREE_FAILED, false}, 0, true, NULL},
	    {"no access", {1, "2", "1", 0, 0, TREE_DENIED, false}, 0, true, NULL},
	    {"a lost connection before the snapshot", {1, "2", "1", 0, 0, TREE_FAILED, true}, 0, true, NULL},
	    {"no access to generations", {1, "2", "1", 0, 0, TREE_DENIED, true}, 0, true, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *world;

		set_up(state);
		world = *state;
		turn(world, rows[i].nodes, "");
		print_message("# %s\n", rows[i].name);
		assert_known(world, rows[i].known);
		assert_int_equal(world->follower->backoff.retry_at != UINT64_MAX, rows[i].retries);
		assert_true(rows[i].log ? is_logged(world, rows[i].log) : !is_logged(world, "event"));
		assert_int_equal(world->vanished > 0, rows[i].nodes.id == 0 && rows[i].nodes.lost == TREE_OK);
		tear_down(state);
	}
}

static void a_delta_is_read_alone(void **state)
{
	struct world *world = *state;

	turn(world, (struct nodes){1, "2", "1", 0, 0, 0, false}, "");
	world->reads = 0;
	turn(world, (struct nodes){1, "3", "1", 0, 0, 0, false}, "ring/latest_gen");
	assert_known(world, 3);
	assert_int_equal(world->reads, 3); /* the number, the chunk's name and the chunk */
	world->changed = 0;
	turn(world, (struct nodes){1, "3", "1", 0, 0, 0, false}, "ring/latest_gen");
	assert_int_equal(world->changed, 0);
}

/* Old generations are deleted: a probe that was away reads the snapshot, and nothing is wrong. */
static void deleted_deltas_lead_to_the_snapshot(void **state)
{
	struct world *world = *state;

	turn(world, (struct nodes){1, "2", "1", 0, 0, 0, false}, "");
	turn(world, (struct nodes){1, "9", "8", 0xfe, 0, 0, false}, "ring/latest_gen");
	assert_known(world, 9);
	assert_false(is_logged(world, "refused"));
}

static void what_is_known_stays_while_it_cannot_be_read(void **state)
{
	struct world *world = *state;

	turn(world, (struct nodes){1, "3", "1", 0, 0, 0, false}, "");
	turn(world, (struct nodes){1, "4", "1", 0, 16, 0, false}, "ring/latest_gen");
	assert_known(world, 3);
	assert_true(world->follower->backoff.holds);
	world->reads = 0;
	turn(world, (struct nodes){1, "4", "1", 0, 16, 0, false}, "ring/latest_gen");
	assert_int_equal(world->reads, 1); /* nothing but the number before the backoff ends */
	wait_for_retry(world);
	assert_known(world, 3);
	world->nodes.damaged = 0;
	assert_false(is_logged(world, "event=accepted"));
	wait_for_retry(world);
	assert_known(world, 4);
	assert_true(is_logged(world, "probe event=accepted service=web generation=4 after="));
	assert_true(world->follower->backoff.retry_at == UINT64_MAX);
	turn(world, (struct nodes){1, "5", "1", 0, 0, TREE_FAILED, false}, "ring/latest_gen");
	assert_known(world, 4);
	world->nodes.lost = TREE_OK;
	wait_for_retry(world);
	assert_known(world, 5);
}

static void a_number_that_stays_away_is_logged_and_read_less_often(void **state)
{
	struct world *world = *state;
	uint64_t began, waited[6];

	turn(world, (struct nodes){1, "", "1", 0, 0, 0, false}, "");
	for (unsigned i = 0; i < 6; i++) {
		began = tree_now(world->tree);
		wait_for_retry(world);
		waited[i] = tree_now(world->tree) - began;
	}
	assert_true(is_logged(world, "reason=missing generation=0 why=\"latest_gen does not exist\""));
	assert_true(waited[5] > BACKOFF_MAX_MS / 4);
	world->nodes.latest = "1";
	wait_for_retry(world);
	assert_known(world, 1);
}

static void a_refused_config_leaves_the_one_before(void **state)
{
	struct world *world = *state;

	turn(world, (struct nodes){1, "2", "1", 0, 0, 0, false}, "");
	turn(world, (struct nodes){-1, "2", "1", 0, 0, 0, false}, "config");
	assert_int_equal(world->configured, 2); /* it may have a check that can be read */
	assert_known(world, 2);
	assert_int_equal(world->follower->config.id, 1);
	turn(world, (struct nodes){1, "3", "1", 0, 0, 0, false},
	     "ring/latest_gen"); /* the ring has nothing to do with it */
	assert_false(is_logged(world, "event=accepted"));
	turn(world, (struct nodes){1, "3", "1", 0, 0, 0, false}, "config");
	assert_true(is_logged(world, "probe event=accepted service=web generation=3 after=config"));
}

/* Backends of one ring are never probed by another's configuration. */
static void another_service_of_the_name_is_read_from_its_beginning(void **state)
{
	struct world *world = *state;

	turn(world, (struct nodes){1, "5", "1", 0, 0, 0, false}, "");
	world->nodes = (struct nodes){2, "2", "1", 0, 0, 0, false};
	follower_changed(world->follower, "ring/latest_gen");
	serve(world);
	assert_known(world, 2);
	assert_int_equal(world->follower->config.id, 2);
	assert_int_equal(world->follower->ring, 2);
	turn(world, (struct nodes){3, "4", "2", 0, 0, 0, false}, "config"); /* the number comes later */
	assert_false(follower_is_ready(world->follower) && world->follower->ring != 3);
	turn(world, (struct nodes){3, "4", "2", 0, 0, 0, false}, "ring/latest_gen");
	assert_known(world, 4);
	assert_int_equal(world->follower->ring, 3);
}

/* It may be the whole tree that is gone, until the list says that the service is still in it. */
static void without_config_it_is_deleted_once_it_is_listed(void **state)
{
	const struct nodes gone = {0, "2", "1", 0, 0, 0, false};
	struct world *world = *state;

	turn(world, (struct nodes){1, "2", "1", 0, 0, 0, false}, "");
	turn(world, gone, "config");
	assert_int_equal(world->vanished, 1);
	assert_known(world, 2);
	world->nodes = (struct nodes){1, "2", "1", 0, 0, 0, false};
	follower_confirm(world->follower); /* it is back by then */
	serve(world);
	assert_false(world->follower->is_deleted);
	assert_known(world, 2);
	turn(world, gone, "config");
	world->changed = 0;
	follower_confirm(world->follower);
	serve(world);
	assert_true(world->follower->is_deleted);
	assert_true(world->changed);
	assert_known(world, 0);
	turn(world, (struct nodes){4, "6", "3", 0, 0, 0, false}, "config");
	assert_false(world->follower->is_deleted);
	assert_known(world, 6);
}

/* Reads that are under way when it ends are answered later. */
static void ending_it_takes_no_answers(void **state)
{
	struct world *world = *state;

	follower_refresh(world->follower);
	follower_end(world->follower);
	world->nodes = (struct nodes){1, "2", "1", 0, 0, 0, false};
	serve(world);
	assert_int_equal(world->configured + world->changed + world->vanished, 0);
	world->follower = follower_new(&world->context, "web");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_reading_finds_what_is_there),
	    cmocka_unit_test_setup_teardown(a_delta_is_read_alone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(deleted_deltas_lead_to_the_snapshot, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_is_known_stays_while_it_cannot_be_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_number_that_stays_away_is_logged_and_read_less_often, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_refused_config_leaves_the_one_before, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(another_service_of_the_name_is_read_from_its_beginning, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(without_config_it_is_deleted_once_it_is_listed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(ending_it_takes_no_answers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
