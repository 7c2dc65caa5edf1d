// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of connections, as text, against a leader of the test's own and a kernel of which it knows everything:
 * sockets open and close, events arrive late or are lost, answers are lost, leaders change, refuse, and have other
 * services.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/aging.h"
#include "agent/base64.h"
#include "agent/census.h"
#include "agent/parts.h"
#include "agent/report.h"

#include "leader.h"
#include "vectors.h"

enum {
	SOCKETS = 240,
	SERVICES = 3,
	MARKS = 4096,
	ROUNDS = 3000,
};

#define SECOND_NS 1000000000ULL
#define SERVICE_AT(vips, name, id, hash, affinity, more)                                                               \
	"{\"name\": \"" name "\", \"id\": " id ", \"vips\": [" vips "], \"ports\": [{\"protocol\": \"tcp\", "          \
	"\"port\": 80}], \"buckets\": 256, \"hash\": \"" hash "\", \"hashKey\": "                                      \
	"\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"" affinity                                              \
	"\", \"mptcpPorts\": {\"first\": 20000, \"last\": 20999}, \"backends\": [{\"id\": 7, \"address\": "            \
	"\"10.2.0.7\"}]" more "}"
#define SERVICE(name, id, hash, affinity, more) SERVICE_AT("\"10.99.0." id "\"", name, id, hash, affinity, more)
#define CONNECTIONS(age)                        ", \"connections\": {\"ageSeconds\": " age "}"
#define DOCUMENT(list)                          "{\"format\": 1, \"version\": \"v1\", \"services\": [" list "]}"
#define WEB                                     SERVICE("web", "1", "siphash", "connection", CONNECTIONS("20"))
#define API                                     SERVICE("api", "2", "siphash", "client", CONNECTIONS("20"))
#define OLD                                     SERVICE("old", "3", "crc32", "connection", CONNECTIONS("5"))
#define PLAIN                                   SERVICE("plain", "4", "siphash", "connection", "")

static const fl_u64 ages_ns[SERVICES] = {20 * SECOND_NS, 20 * SECOND_NS, 5 * SECOND_NS};

static struct services *services(const char *text)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};

	return services_read(text, strlen(text), &plain);
}

static struct census *census_of(const char *text)
{
	struct fl_siphash_key seed = {5, 6};
	struct census *census = census_new(&seed);

	assert_true(census_serve(census, services(text)));
	return census;
}

/* Socket n is of service n % 3; each client has several; every 20th is a further subflow, which is never reported. */
static struct socket_name name_of(unsigned number)
{
	const fl_u8 vip[4] = {10, 99, 0, (fl_u8)(1 + number % SERVICES)};
	const fl_u8 client[4] = {198, 51, 100, (fl_u8)(number % 24)};

	return (struct socket_name){fl_address_from_ipv4(vip), fl_address_from_ipv4(client),
				    number % 20 == 19 ? 20007 : 80, (fl_u16)(40000 + number)};
}

static fl_u64 hash_of(const struct census *census, unsigned number)
{
	const struct services *known = census->services;
	struct socket_name name = name_of(number);
	unsigned endpoint = services_endpoint(known, &name.local, name.local_port);

	return services_flow_hash(known, &known->endpoints[endpoint], &name.remote, name.remote_port, name.local_port);
}

/* The report's text as JSON. */
static json_t *report(struct census *census, fl_u64 now)
{
	static struct report made = {.boot = "0", .sequence = 0, .has_events = true};
	char *text;
	json_t *root;

	parts_draw(census, now);
	made.sequence++;
	text = report_write(&made, census);
	assert_non_null(text);
	assert_true(strlen(text) <= REPORT_BYTES_MAX);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

/* What the report has of a service, or of its connections; NULL: nothing. */
static const json_t *entry(const json_t *report, const char *service)
{
	const json_t *one;
	size_t i;

	json_array_foreach(vectors_list(report, "services"), i,
			   one) if (!strcmp(vectors_text(one, "name"), service)) return one;
	return NULL;
}

static const json_t *connections(const json_t *report, const char *service)
{
	return json_object_get(entry(report, service), "connections");
}

static struct told_answer answer_of(const char *memory, const char *mark, const char *refused)
{
	struct told_answer answer;

	snprintf(answer.memory, sizeof(answer.memory), "%s", memory);
	snprintf(answer.mark, sizeof(answer.mark), "%s", mark);
	snprintf(answer.refused, sizeof(answer.refused), "%s", refused);
	return answer;
}

static void answer(struct census *census, size_t service, const char *memory, const char *mark, fl_u64 now)
{
	struct told_answer told = answer_of(memory, mark, "");

	parts_answered(census, service, &told, now, 100);
}

struct event {
	unsigned socket;
	bool closed;
	fl_u64 ns;
};

/* The whole world of the property test. */
struct world {
	struct census *census;
	fl_u64 now;
	bool open[SOCKETS], is_unsure[SOCKETS]; /* unsure: since when it is open the agent cannot know */
	fl_u64 opened[SOCKETS], told_until[SOCKETS];
	struct event events[SOCKETS * 8];
	unsigned waiting; /* events */
	bool lost;
	struct leader leaders[SERVICES];
	fl_u64 marks[MARKS]; /* when each was issued */
	unsigned mark_count, memory_count;
	bool drawn[SERVICES][SOCKETS]; /* what was open when the part under way was drawn up */
	unsigned checked, repeated, wholes, refused;
};

static void deliver(struct world *world)
{
	for (unsigned i = 0; i < world->waiting; i++) {
		struct socket_name name = name_of(world->events[i].socket);

		if (world->events[i].closed)
			census_close(world->census, &name);
		else
			census_open(world->census, &name, world->events[i].ns);
	}
	world->waiting = 0;
}

/* The agent may count it as old. */
static bool is_old(const struct world *world, unsigned socket)
{
	return world->now - world->opened[socket] >= ages_ns[socket % SERVICES] / 8 * 7 - SECOND_NS;
}

static void toggle(struct world *world, unsigned socket, bool loses)
{
	world->open[socket] = !world->open[socket];
	if (world->open[socket]) {
		/* its like may still be told, and then is not told again */
		world->is_unsure[socket] = loses || world->now - world->told_until[socket] < 60 * SECOND_NS;
		world->opened[socket] = world->now;
	} else if (world->is_unsure[socket] || is_old(world, socket)) {
		world->told_until[socket] = world->now;
	}
	if (loses)
		world->lost = true;
	else
		world->events[world->waiting] = (struct event){socket, !world->open[socket], world->now};
	if (!loses && ++world->waiting == sizeof(world->events) / sizeof(world->events[0]))
		deliver(world);
}

/* The list, which reconciles; sockets change while it is read. */
static void list(struct world *world)
{
	struct connection_key keys[8];
	size_t count;

	deliver(world);
	census_dump_begin(world->census, world->now);
	for (unsigned i = 0; i < SOCKETS; i++) {
		struct socket_name name = name_of(i);

		if (world->open[i])
			census_record(world->census, &name);
		if (rand() % 30 == 0) {
			unsigned socket = (unsigned)rand() % SOCKETS;

			toggle(world, socket, false);
			world->is_unsure[socket] = true; /* its record may come before its event */
		}
	}
	deliver(world);
	while ((count = census_missing(world->census, keys, 8)))
		for (size_t i = 0; i < count; i++) {
			struct socket_name name = census_name(world->census, &keys[i]);

			census_settle(world->census, &keys[i], world->open[name.remote_port - 40000U]);
		}
	census_dump_end(world->census, true);
	world->lost = false;
}

static const char *issue(struct world *world)
{
	static char mark[16];

	assert_true(world->mark_count < MARKS);
	world->marks[world->mark_count] = world->now;
	snprintf(mark, sizeof(mark), "k%u", world->mark_count++);
	return mark;
}

static bool is_reported(unsigned socket, size_t service)
{
	return socket % SERVICES == service && socket % 20 != 19;
}

/* What the leader must, and must not, know after a last part. */
static void check(struct world *world, size_t service, const json_t *part)
{
	const struct leader *leader = &world->leaders[service];
	fl_u64 marked = world->marks[atoi(vectors_text(part, "mark") + 1)];

	if (!vectors_bool(part, "last") || !leader->is_complete || strcmp(vectors_text(part, "memory"), leader->memory))
		return;
	for (unsigned i = 0; i < SOCKETS; i++)
		if (is_reported(i, service) && world->open[i] && world->opened[i] + ages_ns[service] <= marked &&
		    !known_has(&leader->known, hash_of(world->census, i)))
			fail_msg("socket %u, open for %llu ms, is not known", i,
				 (unsigned long long)(world->now - world->opened[i]) / 1000000);
	for (size_t n = 0; n < leader->known.count; n++) {
		bool has_owner = false, is_early = service != 1; /* a client's younger connections take over */

		for (unsigned i = 0; i < SOCKETS; i++) {
			if (!is_reported(i, service) || !world->drawn[service][i] ||
			    hash_of(world->census, i) != leader->known.hashes[n])
				continue;
			has_owner = true;
			if (!world->open[i] || world->is_unsure[i] || is_old(world, i))
				is_early = false;
		}
		assert_true(has_owner);
		assert_false(is_early);
	}
	world->checked++;
}

static void hear(struct world *world, const json_t *made)
{
	static const char *const names[] = {"web", "api", "old"};

	for (size_t i = 0; i < SERVICES; i++) {
		const json_t *part = connections(made, names[i]);

		if (!part)
			continue;
		leader_hear(&world->leaders[i], part);
		world->wholes += vectors_bool(part, "first");
		check(world, i, part);
	}
}

static void change_leader(struct world *world)
{
	char memory[16];

	snprintf(memory, sizeof(memory), "m%u", world->memory_count++);
	for (size_t i = 0; i < SERVICES; i++)
		leader_begin(&world->leaders[i], memory);
}

static void exchange(struct world *world)
{
	unsigned fate = (unsigned)rand() % 100;
	json_t *made;

	deliver(world);
	if (world->lost)
		census_lose(world->census);
	for (size_t i = 0; i < SERVICES; i++)
		if (!world->census->tallies[i].told.has_part)
			memcpy(world->drawn[i], world->open, sizeof(world->open));
		else
			world->repeated++;
	made = report(world->census, world->now);
	if (fate < 3)
		change_leader(world);
	if (fate < 80) { /* else it does not arrive, or is about other services */
		hear(world, made);
		if (fate < 65) /* else the answer is lost */
			for (size_t i = 0; i < SERVICES; i++) {
				struct told_answer told = answer_of(world->leaders[i].memory, issue(world), "");

				if (fate == 64) {
					snprintf(told.refused, sizeof(told.refused), "why");
					world->refused++;
				}
				parts_answered(world->census, i, fate == 63 ? NULL : &told, world->now, 100);
			}
	}
	json_decref(made);
}

static void random_world(void **state)
{
	static struct world world;

	srand((unsigned)(uintptr_t)*state);
	print_message("# seed %u\n", (unsigned)(uintptr_t)*state);
	world = (struct world){.census = census_of(DOCUMENT(WEB ", " API ", " OLD)), .now = 1000 * SECOND_NS};
	change_leader(&world);
	for (unsigned i = 0; i < SOCKETS; i++)
		if (rand() % 2)
			toggle(&world, i, true);
	world.mark_count = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		world.now += (fl_u64)rand() % (2 * SECOND_NS);
		census_age(world.census, world.now);
		for (int n = rand() % 6; n; n--)
			toggle(&world, (unsigned)rand() % SOCKETS, rand() % 2000 == 0);
		if (round % 97 == 50)
			list(&world);
		if (rand() % 3)
			deliver(&world);
		if (rand() % 3 == 0 && world.mark_count + SERVICES < MARKS)
			exchange(&world);
		if (world.lost && rand() % 10 == 0)
			list(&world);
		if (round % 500 == 499) /* services that stay as they were */
			assert_true(census_serve(world.census, services(DOCUMENT(OLD ", " WEB ", " API ", " PLAIN))) &&
				    census_serve(world.census, services(DOCUMENT(WEB ", " API ", " OLD))));
	}
	print_message("# %u parts checked, %u repeated, %u sets begun, %u refusals\n", world.checked, world.repeated,
		      world.wholes, world.refused);
	assert_true(world.checked > 200 && world.repeated > 50 && world.wholes > 30);
	census_free(world.census);
}

/* Connections of a client count as one; the younger one takes over when the one that was told closes. */
static void client(void **state)
{
	struct census *census = census_of(DOCUMENT(API));
	struct socket_name first = name_of(1), second = name_of(25);
	fl_u64 now = 1000 * SECOND_NS;
	struct leader leader;
	json_t *made;

	(void)state;
	leader_begin(&leader, "m");
	census_age(census, now);
	census_dump_begin(census, now);
	census_record(census, &first);
	census_dump_end(census, true);
	json_decref(report(census, now));
	answer(census, 0, "m", "k", now);
	for (unsigned step = 0; step < 3; step++) {
		static const size_t known[] = {1, 1, 0};

		made = report(census, now);
		leader_hear(&leader, connections(made, "api"));
		json_decref(made);
		answer(census, 0, "m", "k", now);
		assert_int_equal(leader.known.count, known[step]);
		if (step == 0) {
			census_open(census, &second, now);
			census_close(census, &first);
		} else {
			census_close(census, &second);
		}
	}
	census_free(census);
}

static size_t hashes_in(const json_t *part, const char *key)
{
	return strlen(vectors_text(part, key)) / 4 * 3 / 8;
}

static struct socket_name many(unsigned number)
{
	struct socket_name name = name_of(0);

	memcpy(name.remote.bytes + 12, &number, sizeof(number));
	return name;
}

/* A whole set in parts, a report's bound, and more closed ones than may wait. */
static void parts(void **state)
{
	struct census *census = census_of(DOCUMENT(WEB));
	unsigned count = 2 * TOLD_PART_MAX + 10, had = 0;
	fl_u64 now = 1000 * SECOND_NS;
	json_t *made;

	(void)state;
	census_age(census, now);
	census_dump_begin(census, now);
	for (unsigned i = 0; i < count; i++) {
		struct socket_name name = many(i);

		census_record(census, &name);
	}
	census_dump_end(census, true);
	made = report(census, now);
	assert_null(connections(made, "web"));
	json_decref(made);
	answer(census, 0, "m", "k", now);
	for (unsigned n = 0; n < 3; n++) {
		const json_t *part;

		assert_true(parts_hurry(census, now));
		made = report(census, now);
		part = connections(made, "web");
		assert_true(vectors_bool(part, "whole"));
		assert_int_equal(vectors_bool(part, "first"), n == 0);
		assert_int_equal(vectors_bool(part, "last"), n == 2);
		assert_true(hashes_in(part, "opened") <= TOLD_PART_MAX);
		had += (unsigned)hashes_in(part, "opened");
		json_decref(made);
		answer(census, 0, "m", "k", now);
	}
	assert_int_equal(had, count);
	assert_false(parts_hurry(census, now));
	for (unsigned i = 0; i < count; i++) {
		struct socket_name name = many(i);

		assert_int_equal(parts_hurry(census, now), i >= TOLD_HURRY);
		census_close(census, &name);
	}
	assert_int_equal(census->table->used, TOLD_CLOSED_MAX);
	made = report(census, now);
	assert_true(vectors_bool(connections(made, "web"), "whole"));
	assert_true(vectors_bool(connections(made, "web"), "first"));
	assert_true(vectors_bool(connections(made, "web"), "last"));
	assert_string_equal(vectors_text(connections(made, "web"), "opened"), "");
	json_decref(made);
	assert_int_equal(census->table->used, 0);
	assert_int_equal(census->tallies[0].told.overs, 1);
	census_free(census);
}

/* After refusals the agent waits longer each time, and begins again. */
static void refusals(void **state)
{
	static const fl_u64 waits[] = {1, 2, 4, 8, 16, 30, 30};
	struct census *census = census_of(DOCUMENT(WEB));
	fl_u64 now = 1000 * SECOND_NS;
	struct told_answer refused = answer_of("m", "k", "more than 10 connections");
	bool whole;
	json_t *made;

	(void)state;
	census_dump_begin(census, now);
	census_dump_end(census, true);
	answer(census, 0, "m", "k", now);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		json_decref(report(census, now));
		parts_answered(census, 0, &refused, now, 100);
		made = report(census, now + waits[i] * SECOND_NS - 1);
		assert_null(connections(made, "web"));
		assert_false(parts_hurry(census, now + waits[i] * SECOND_NS - 1));
		assert_true(parts_hurry(census, now + waits[i] * SECOND_NS));
		json_decref(made);
		now += waits[i] * SECOND_NS;
	}
	assert_int_equal(census->tallies[0].told.refusals, 7);
	for (whole = true;; whole = false) {
		made = report(census, now);
		assert_int_equal(vectors_bool(connections(made, "web"), "whole"), whole);
		json_decref(made);
		answer(census, 0, "m", "k", now);
		if (!whole)
			break;
	}
	parts_answered(census, 0, &refused, now, 100);
	made = report(census, now + SECOND_NS);
	assert_non_null(connections(made, "web"));
	json_decref(made);
	census_free(census);
}

/* Other services: what was told stays told only where nothing about the service has changed. */
static void other_services(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_kept;
	} rows[] = {
	    {"beside another one", DOCUMENT(PLAIN ", " WEB), true},
	    {"another age", DOCUMENT(SERVICE("web", "1", "siphash", "connection", CONNECTIONS("21"))), false},
	    {"without connections", DOCUMENT(SERVICE("web", "1", "siphash", "connection", "")), false},
	    {"another hash", DOCUMENT(SERVICE("web", "1", "crc32", "connection", CONNECTIONS("20"))), false},
	    {"one VIP more",
	     DOCUMENT(
		 SERVICE_AT("\"10.99.0.1\", \"10.99.0.9\"", "web", "1", "siphash", "connection", CONNECTIONS("20"))),
	     false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct census *census = census_of(DOCUMENT(WEB));
		struct socket_name name = name_of(0);
		fl_u64 now = 1000 * SECOND_NS;
		const struct told *told;
		size_t service = i == 0;

		census_age(census, now);
		census_dump_begin(census, now);
		census_record(census, &name);
		census_dump_end(census, true);
		answer(census, 0, "m", "k", now);
		json_decref(report(census, now));
		answer(census, 0, "m", "k", now);
		assert_true(census_serve(census, services(rows[i].text)));
		told = &census->tallies[service].told;
		if (!strcmp(told->memory, "m") != rows[i].is_kept || told->is_whole)
			fail_msg("%s", rows[i].name);
		census_close(census, &name);
		assert_int_equal(census->table->used, rows[i].is_kept);
		census_free(census);
	}
}

static void hashes(void **state)
{
	const json_t *row = *state, *one;
	fl_u8 bytes[256];
	size_t i, len = 0;
	char *text;

	json_array_foreach(vectors_list(row, "hashes"), i, one)
	{
		fl_store_le64(bytes + len, strtoull(json_string_value(one), NULL, 16));
		len += 8;
	}
	text = base64_write(bytes, len);
	assert_string_equal(text, vectors_text(row, "text"));
	free(text);
}

static void exchanges(void **state)
{
	const json_t *row = *state, *step, *one;
	struct leader leader;
	size_t i, j;

	leader_begin(&leader, vectors_text(row, "memory"));
	json_array_foreach(vectors_list(row, "steps"), i, step)
	{
		leader_hear(&leader, vectors_get(step, "connections"));
		assert_int_equal(leader.known.count, json_array_size(vectors_list(step, "known")));
		json_array_foreach(vectors_list(step, "known"), j, one)
		    assert_true(known_has(&leader.known, strtoull(json_string_value(one), NULL, 16)));
	}
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "reports.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "hashes", hashes);
	vectors_add(&tests, file, "exchanges", exchanges);
	vectors_add_plain(&tests, "connections of a client", client, NULL);
	vectors_add_plain(&tests, "parts", parts, NULL);
	vectors_add_plain(&tests, "refusals", refusals, NULL);
	vectors_add_plain(&tests, "other services", other_services, NULL);
	for (uintptr_t seed = 1; seed <= 4; seed++)
		vectors_add_plain(&tests, "a random world", random_world, (void *)seed);
	failed = vectors_run("told connections", &tests);
	json_decref(file);
	return failed;
}
