// SPDX-License-Identifier: Apache-2.0
/*
 * The census against a kernel of the test's own: sockets open and close at any moment, their events arrive late and
 * are sometimes lost, and a list reads sockets one by one while they change, and skips some.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/census.h"

#include "vectors.h"

enum {
	SOCKETS = 300,
	EVENTS = 4096,
	RING = 256,
};

#define SERVICE_AS(name, id, vip, version_buckets, hash, more)                                                         \
	"{\"name\": \"" name "\", \"id\": " id ", \"vips\": [\"" vip "\"], \"ports\": [{\"protocol\": \"tcp\", "       \
	"\"port\": 80}], \"buckets\": " version_buckets ", \"hash\": \"" hash "\", \"hashKey\": "                      \
	"\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"mptcpPorts\": {\"first\": 20000, "      \
	"\"last\": 20999}, \"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]" more "}"
#define SERVICE(name, id, vip, version_buckets) SERVICE_AS(name, id, vip, version_buckets, "siphash", "")
#define DOCUMENT(services)                      "{\"format\": 1, \"version\": \"1\", \"services\": [" services "]}"
#define WEB                                     SERVICE("web", "1", "10.99.0.1", "256")
#define API                                     SERVICE("api", "2", "10.99.0.2", "256")

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

/* Socket 0, 2, 4, .. are web's, 1, 3, 5, .. api's; every tenth is a further subflow. */
static struct socket_name name_of(unsigned number)
{
	const fl_u8 vip[4] = {10, 99, 0, (fl_u8)(1 + number % 2)}, client[4] = {198, 51, 100, (fl_u8)(number / 200)};

	return (struct socket_name){fl_address_from_ipv4(vip), fl_address_from_ipv4(client),
				    number % 10 == 9 ? 20007 : 80, (fl_u16)(40000 + number)};
}

static void dump(struct census *census, const bool *open)
{
	struct connection_key keys[8];
	size_t count;

	census_dump_begin(census, 1);
	for (unsigned i = 0; i < SOCKETS; i++) {
		struct socket_name name = name_of(i);

		if (open[i])
			census_record(census, &name);
	}
	while ((count = census_missing(census, keys, 8)))
		for (size_t i = 0; i < count; i++)
			census_settle(census, &keys[i], false);
	census_dump_end(census, true);
}

struct kernel {
	bool open[SOCKETS];
	struct {
		unsigned socket;
		bool closed;
	} events[EVENTS];
	unsigned sent, read; /* events */
	bool lost;
	fl_u64 opened, closed; /* web's */
};

static void toggle(struct kernel *kernel, unsigned loss)
{
	unsigned socket = (unsigned)rand() % SOCKETS;

	kernel->open[socket] = !kernel->open[socket];
	if (rand() % 1000 < (int)loss) {
		kernel->lost = true;
		return;
	}
	kernel->events[kernel->sent % EVENTS].socket = socket;
	kernel->events[kernel->sent++ % EVENTS].closed = !kernel->open[socket];
	assert_true(kernel->sent - kernel->read <= EVENTS);
}

static void read_events(struct kernel *kernel, struct census *census, unsigned most)
{
	for (; kernel->read < kernel->sent && most; kernel->read++, most--) {
		struct socket_name name = name_of(kernel->events[kernel->read % EVENTS].socket);

		if (kernel->events[kernel->read % EVENTS].closed)
			census_close(census, &name);
		else
			census_open(census, &name, 1);
	}
}

static void check(const struct kernel *kernel, struct census *census)
{
	fl_u64 counts[2] = {0, 0};

	for (unsigned i = 0; i < SOCKETS; i++)
		counts[i % 2] += kernel->open[i];
	for (size_t service = 0; service < 2; service++) {
		const struct tally *tally = &census->tallies[service];

		assert_true(census_knows(census, service));
		assert_int_equal(tally->established, counts[service]);
	}
	assert_int_equal(census->table->used, counts[0] + counts[1]);
}

static void list(struct kernel *kernel, struct census *census, unsigned loss)
{
	struct connection_key keys[4];
	unsigned waiting[SOCKETS], records = 0, given = 0; /* the kernel's messages, of which some are not read yet */
	size_t count;

	kernel->lost = false;
	census_dump_begin(census, 1);
	for (unsigned i = 0; i < SOCKETS; i++) {
		if (kernel->open[i] && rand() % 20)
			waiting[records++] = i;
		for (int n = rand() % 3; n; n--)
			toggle(kernel, loss);
		read_events(kernel, census, (unsigned)rand() % 4);
		while (given < records && rand() % 10) {
			struct socket_name name = name_of(waiting[given++]);

			census_record(census, &name);
		}
	}
	while (given < records) {
		struct socket_name name = name_of(waiting[given++]);

		census_record(census, &name);
	}
	do {
		read_events(kernel, census, EVENTS);
		count = census_missing(census, keys, 4);
		for (size_t i = 0; i < count; i++) {
			struct socket_name name = census_name(census, &keys[i]);
			unsigned socket = name.remote_port - 40000U;

			if (rand() % 3 == 0)
				toggle(kernel, loss);
			census_settle(census, &keys[i], kernel->open[socket]);
		}
	} while (count);
	if (kernel->lost)
		census_lose(census);
	census_dump_end(census, !kernel->lost);
}

static void random_kernel(void **state)
{
	static struct kernel kernel;
	struct census *census = census_of(DOCUMENT(WEB ", " API));
	unsigned complete = 0;

	(void)state;
	srand(7);
	print_message("# seed 7\n");
	for (unsigned round = 0; round < 400; round++) {
		unsigned loss = round % 4 == 3 ? 3 : 0;

		list(&kernel, census, loss);
		if (!kernel.lost) {
			complete++;
			read_events(&kernel, census, EVENTS);
			check(&kernel, census);
		} else {
			assert_false(census_knows(census, 0));
		}
		for (unsigned i = 0; i < 50; i++) {
			toggle(&kernel, 0);
			read_events(&kernel, census, (unsigned)rand() % 2);
		}
		read_events(&kernel, census, EVENTS);
		if (!kernel.lost)
			check(&kernel, census);
	}
	print_message("# %u of 400 lists complete\n", complete);
	assert_true(complete > 300 && complete < 400);
	census_free(census);
}

static void unknown_at_first(void **state)
{
	struct census *census = census_of(DOCUMENT(WEB));
	struct socket_name name = name_of(0);
	bool open[SOCKETS] = {true};

	(void)state;
	assert_true(census_needs_dump(census));
	assert_false(census_knows(census, 0));
	census_open(census, &name, 1);
	assert_false(census_knows(census, 0));
	census_dump_begin(census, 1);
	assert_false(census_knows(census, 0));
	census_dump_end(census, false);
	assert_false(census_knows(census, 0));
	dump(census, open);
	assert_true(census_knows(census, 0));
	assert_false(census_needs_dump(census));
	census_lose(census);
	assert_false(census_knows(census, 0));
	dump(census, open);
	assert_true(census_knows(census, 0));
	assert_int_equal(census->tallies[0].established, 1);
	census_free(census);
}

/* What was there before the agent is not counted as opened. */
static void opened_and_closed(void **state)
{
	struct census *census = census_of(DOCUMENT(WEB));
	struct socket_name second = name_of(2), third = name_of(4);
	bool open[SOCKETS] = {true};
	const struct tally *tally;

	(void)state;
	dump(census, open);
	tally = &census->tallies[0];
	assert_int_equal(tally->numbers[TALLY_OPENED].all, 0);
	census_open(census, &second, 1);
	census_open(census, &second, 1);
	assert_int_equal(tally->numbers[TALLY_OPENED].all, 1);
	census_close(census, &second);
	census_close(census, &third);
	assert_int_equal(tally->numbers[TALLY_CLOSED].all, 1);
	open[4] = true;
	open[0] = false;
	dump(census, open);
	assert_int_equal(tally->numbers[TALLY_OPENED].all, 2);
	assert_int_equal(tally->numbers[TALLY_CLOSED].all, 2);
	assert_int_equal(tally->established, 1);
	census_free(census);
}

/* Services that stay as they were stay known; new and changed ones are unknown until the next dump. */
static void other_services(void **state)
{
	struct census *census = census_of(DOCUMENT(API ", " WEB));
	bool open[SOCKETS] = {true, true, true, true};

	(void)state;
	dump(census, open);
	assert_true(census_serve(census, services(DOCUMENT(WEB))));
	assert_true(census_knows(census, 0));
	assert_int_equal(census->tallies[0].established, 2);
	assert_int_equal(census->table->used, 2);
	assert_true(census_serve(census, services(DOCUMENT(WEB ", " API))));
	assert_true(census_knows(census, 0));
	assert_false(census_knows(census, 1));
	dump(census, open);
	assert_true(census_knows(census, 1));
	assert_int_equal(census->tallies[1].established, 2);
	/* recreated under another id, and with another VIP */
	assert_true(census_serve(census, services(DOCUMENT(SERVICE("web", "3", "10.99.0.1", "256") ", " API))));
	assert_false(census_knows(census, 0));
	assert_true(census_knows(census, 1));
	assert_true(census_serve(census, services(DOCUMENT(SERVICE("api", "2", "10.99.0.3", "256")))));
	assert_false(census_knows(census, 0));
	census_free(census);
}

/* A listener for both families counts once for a service, also if another service's VIP lies between its own. */
static void queue_of_several_vips(void **state)
{
	struct census *census =
	    census_of(DOCUMENT(API ", " SERVICE("web", "1", "10.99.0.1\", \"fd99::1\", \"10.99.0.3", "256")));
	struct listener listener = {.port = 80, .length = 1, .limit = 10};

	(void)state;
	census_listener(census, &listener);
	assert_int_equal(census->tallies[0].queue_limit, 10);
	assert_int_equal(census->tallies[1].queue_limit, 10);
	census_free(census);
}

static void half_open_and_queues(void **state)
{
	struct census *census = census_of(DOCUMENT(WEB ", " API));
	struct socket_name half = name_of(0), subflow = name_of(9);
	struct listener listeners[] = {
	    {.port = 80, .length = 1, .limit = 10},                     /* [::]:80, for both families */
	    {.port = 80, .ipv6_only = true, .length = 1, .limit = 100}, /* none of these VIPs */
	    {.local = name_of(0).local, .port = 80, .length = 2, .limit = 1000},
	    {.port = 81, .length = 1, .limit = 10000},
	};
	const struct tally *web, *api;

	(void)state;
	for (int i = 0; i < 2; i++) { /* a sweep replaces the one before */
		census_sweep_begin(census);
		census_half_open(census, &half);
		census_half_open(census, &subflow);
		for (size_t n = 0; n < sizeof(listeners) / sizeof(listeners[0]); n++)
			census_listener(census, &listeners[n]);
	}
	web = &census->tallies[0];
	api = &census->tallies[1];
	assert_int_equal(web->half_open, 1);
	assert_int_equal(api->half_open, 1);
	assert_int_equal(web->queue_length, 3);
	assert_int_equal(web->queue_limit, 1010);
	assert_int_equal(web->listeners, 2);
	assert_int_equal(api->queue_limit, 10);
	census_free(census);
}

/* The only bucket, or one of both, of those that were asked about, which are the even ones. */
static bool note(bool *expected, fl_u64 flow_hash, bool two_buckets)
{
	fl_u64 first = flow_hash % RING, second = two_buckets ? (flow_hash >> 32) % RING : first;

	expected[first] |= first % 2 == 0;
	expected[second] |= second % 2 == 0;
	return first % 2 == 0 || second % 2 == 0;
}

static const struct answers_row {
	const char *name, *services;
	bool two_buckets;
} answers_rows[] = {
    {"answers", DOCUMENT(WEB ", " API), false},
    {"answers by two buckets",
     DOCUMENT(SERVICE_AS("web", "1", "10.99.0.1", "256", "siphash", ", \"twoBuckets\": true") ", " API), true},
    {"answers by two buckets of crc32",
     DOCUMENT(SERVICE_AS("web", "1", "10.99.0.1", "256", "crc32", ", \"twoBuckets\": true") ", " API), true},
};

/* Answers by every connection's buckets: established and half-open, but no subflows to a port of mptcpPorts. */
static struct socket_name served(fl_u8 last, fl_u16 port)
{
	const fl_u8 vip[4] = {10, 99, 0, last};

	return (struct socket_name){.local = fl_address_from_ipv4(vip), .local_port = port};
}

static void count(struct census *census, fl_u8 last, fl_u16 port, fl_u64 number)
{
	const struct agent_counts counts = {{[SIGNAL_RESETS_SENT] = number, [SIGNAL_SEGMENTS] = 2 * number}};
	struct socket_name end = served(last, port);

	census_signals(census, &end.local, end.local_port, &counts);
}

static void expect_signals(const struct census *census, size_t service, fl_u64 number)
{
	const struct agent_counts *signals = &census->tallies[service].signals;

	assert_int_equal(signals->counts[SIGNAL_RESETS_SENT], number);
	assert_int_equal(signals->counts[SIGNAL_SEGMENTS], 2 * number);
	assert_int_equal(signals->counts[SIGNAL_RETRANSMITTED], 0);
}

static void signals(void **state)
{
	struct fl_siphash_key seed = {5, 6};
	struct census *census = census_new(&seed);

	(void)state;
	count(census, 1, 80, 1000); /* there are no services yet */
	assert_true(census_serve(census, services(DOCUMENT(WEB ", " API))));
	count(census, 1, 80, 1);
	count(census, 1, 20007, 2); /* of a subflow */
	count(census, 2, 80, 4);
	count(census, 1, 81, 1000);
	count(census, 3, 80, 1000);
	expect_signals(census, 0, 3);
	expect_signals(census, 1, 4);
	assert_true(census_serve(census, services(DOCUMENT(API))));
	count(census, 1, 80, 1000);
	count(census, 2, 80, 8);
	expect_signals(census, 0, 12);
	/* another service by that name */
	assert_true(census_serve(census, services(DOCUMENT(SERVICE("api", "3", "10.99.0.2", "256")))));
	expect_signals(census, 0, 0);
	census_free(census);
}

/* Listeners at each sweep, what they have dropped since they listen, and what of it the service has refused by then. */
static const struct sweep {
	const char *what;
	bool is_served_anew;
	fl_u32 length; /* of each one's queue, which has room for two */
	fl_u32 drops[2];
	fl_u64 refused;
} sweeps[] = {
    {"what was dropped before the agent does not count", false, 0, {100, 7}, 0},
    {"nothing is dropped", false, 0, {100, 7}, 0},
    {"both drop, with room in their queues: resets of connections that were not established", false, 1, {102, 9}, 0},
    {"both drop", false, 2, {105, 13}, 7},
    {"the queues were full before", false, 0, {106, 13}, 8},
    {"they have room for long", false, 0, {109, 13}, 8},
    {"one begins to listen again: what the other drops is not known", false, 3, {0, 14}, 8},
    {"both drop again", false, 2, {1, 15}, 10},
    {"other listeners may be the service's own now", true, 2, {5000, 15}, 10},
    {"they drop", false, 2, {5001, 15}, 11},
};

static void drops(void **state)
{
	struct census *census = census_of(DOCUMENT(WEB));
	struct socket_name end = served(1, 80);

	(void)state;
	for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++) {
		print_message("# %s\n", sweeps[i].what);
		if (sweeps[i].is_served_anew)
			assert_true(census_serve(census, services(DOCUMENT(WEB ", " API))));
		census_sweep_begin(census);
		for (int at = 0; at < 2; at++) {
			struct listener listener = {.local = end.local,
						    .port = 80,
						    .length = sweeps[i].length,
						    .limit = 2,
						    .drops = sweeps[i].drops[at]};

			census_listener(census, &listener);
		}
		census_sweep_end(census);
		assert_int_equal(census->tallies[0].signals.counts[SIGNAL_REFUSED], sweeps[i].refused);
	}
	census_free(census);
}

static void answers(void **state)
{
	const struct answers_row *row = *state;
	struct census *census = census_of(row->services);
	bool open[SOCKETS], expected[RING] = {false};
	struct bucket_set *asked = bucket_set_new(RING);
	struct answer_of found[2];
	fl_u64 connections = 0;

	srand(11);
	for (unsigned i = 0; i < SOCKETS; i++)
		open[i] = rand() % 3 == 0;
	for (fl_u32 bucket = 0; bucket < RING; bucket += 2)
		bucket_set_add(asked, bucket);
	dump(census, open);
	question_ask(&census->tallies[0].question, "q", asked, 1);
	census_sweep_begin(census);
	for (unsigned i = 0; i < SOCKETS; i++) {
		struct socket_name name = name_of(i);
		const struct services *known = census->services;
		unsigned endpoint = services_endpoint(known, &name.local, name.local_port);
		fl_u64 hash = services_flow_hash(known, &known->endpoints[endpoint], &name.remote, name.remote_port,
						 name.local_port);
		bool is_half_open = i < 20 && !open[i];

		if (is_half_open)
			census_half_open(census, &name);
		if (i % 2 == 0 && i % 10 != 9 && (open[i] || is_half_open))
			connections += note(expected, hash, row->two_buckets);
	}
	for (size_t i = 0; i < 2; i++)
		found[i].question = &census->tallies[i].question;
	question_answer_all(census->services, census->table, found);
	assert_null(found[1].buckets);
	assert_int_equal(found[0].connections, connections);
	for (fl_u32 bucket = 0; bucket < RING; bucket++)
		assert_int_equal(bucket_set_has(found[0].buckets, bucket), expected[bucket]);
	free(found[0].buckets);
	census_free(census);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "a kernel that changes while it lists", random_kernel, NULL);
	vectors_add_plain(&tests, "nothing is known before the first dump, or after a loss", unknown_at_first, NULL);
	vectors_add_plain(&tests, "opened and closed", opened_and_closed, NULL);
	vectors_add_plain(&tests, "other services", other_services, NULL);
	vectors_add_plain(&tests, "half-open connections and accept queues", half_open_and_queues, NULL);
	vectors_add_plain(&tests, "the accept queue of several VIPs", queue_of_several_vips, NULL);
	vectors_add_plain(&tests, "signals", signals, NULL);
	vectors_add_plain(&tests, "what listeners drop", drops, NULL);
	for (size_t i = 0; i < sizeof(answers_rows) / sizeof(answers_rows[0]); i++)
		vectors_add_plain(&tests, answers_rows[i].name, answers, (void *)&answers_rows[i]);
	return vectors_run("census", &tests);
}
