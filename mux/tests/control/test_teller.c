/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices and their acknowledgements over a clock and a network of the test: which are sent, when, and what a
 * generation waits for if packets are lost, late, wrong or forged.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

#include "tell/teller.h"

enum {
	START_MS = 5000,
	SERVICE = 7,
	OTHER = 8,
	SEEN_MAX = 40000,
	RANDOM_SERVERS = 6,
	RANDOM_STEPS = 20000,
};

static const struct fl_siphash_key cluster = {0x1122334455667789, 0x99aabbccddeeff00};

enum { SIGNED = FL_LIST_TAG | FL_LIST_KEY }; /* by that key */

struct seen {
	struct fl_address to;
	struct fl_notice notice;
	uint64_t at_ms;
};

struct world {
	uint64_t now_ms;
	int error; /* of what is sent from now on */
	uint32_t count;
	struct seen seen[SEEN_MAX];
	struct teller *teller;
};

static uint64_t clock_of(void *clock)
{
	return ((struct world *)clock)->now_ms;
}

static struct fl_address server(uint32_t number)
{
	struct fl_address address =
	    fl_address_from_ipv4((const uint8_t[]){10, 1, (uint8_t)(number >> 8), (uint8_t)number});

	if (number % 2) /* every other one has an IPv6 address */
		address =
		    (struct fl_address){{0x20, 1, 0xd, 0xb8, [14] = (uint8_t)(number >> 8), [15] = (uint8_t)number}};
	return address;
}

/* What a server reads. */
static int sink(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct world *w = context;
	struct seen *seen = &w->seen[w->count];
	struct fl_siphash_key key = fl_notice_key(&cluster, to);

	if (w->error)
		return w->error;
	assert_true(w->count < SEEN_MAX);
	assert_int_equal(fl_notice_parse(bytes, bytes + len, len, &seen->notice), FL_LIST_OK);
	assert_int_equal(seen->notice.flags, SIGNED);
	assert_true(seen->notice.tag == fl_notice_tag(&key, &seen->notice, to));
	seen->to = *to;
	seen->at_ms = w->now_ms;
	w->count++;
	return 0;
}

static struct world *world_open(void)
{
	static struct world world;
	struct teller_options options = {
	    .tag_key = &cluster, .sink = {&world, sink}, .now_ms = clock_of, .clock = &world};

	memset(&world, 0, sizeof(world));
	world.now_ms = START_MS;
	world.teller = teller_new(&options);
	assert_non_null(world.teller);
	return &world;
}

static void world_servers(struct world *w, uint16_t service, uint32_t first, uint32_t count)
{
	struct fl_address *list = calloc(count + !count, sizeof(*list));

	assert_non_null(list);
	for (uint32_t i = 0; i < count; i++) /* not in order */
		list[i] = server(first + (i + count / 2) % count);
	assert_int_equal(teller_set_servers(w->teller, service, list, count), 0);
	free(list);
}

/* Lets time pass as the control thread does, which wakes at deadlines. */
static void world_pass(struct world *w, uint64_t ms)
{
	uint64_t end = w->now_ms + ms;

	while (w->now_ms < end) {
		uint64_t at = teller_deadline(w->teller);

		w->now_ms = at < end ? (at > w->now_ms ? at : w->now_ms + 1) : end;
		teller_run(w->teller);
	}
}

struct answer {
	uint8_t bytes[FL_NOTICE_MAX_LEN];
	uint32_t len;
};

static struct answer answer_of(const struct fl_address *by, uint8_t flags, uint16_t service, uint32_t generation)
{
	struct fl_notice notice = {.flags = flags, .service = service, .generation = generation};
	struct fl_siphash_key key = fl_notice_key(&cluster, by);
	struct answer answer;

	notice.tag = fl_notice_tag(&key, &notice, by);
	answer.len = fl_notice_write(&notice, answer.bytes);
	return answer;
}

static void acknowledge(struct world *w, uint32_t number, uint16_t service, uint32_t generation)
{
	struct fl_address by = server(number);
	struct answer answer = answer_of(&by, SIGNED | FL_NOTICE_ACK, service, generation);

	teller_receive(w->teller, &by, answer.bytes, answer.len);
}

static uint32_t packets_to(const struct world *w, uint32_t from, uint32_t number)
{
	struct fl_address to = server(number);
	uint32_t count = 0;

	for (uint32_t i = from; i < w->count; i++)
		count += fl_address_equal(&w->seen[i].to, &to);
	return count;
}

static void all_are_told_and_waited_for(void **state)
{
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 4);
	assert_int_equal(w->count, 0);
	teller_tell(w->teller, SERVICE, 12);
	assert_int_equal(w->count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(packets_to(w, 0, i), 1);
		assert_int_equal(w->seen[i].notice.service, SERVICE);
		assert_int_equal(w->seen[i].notice.generation, 12);
		assert_false(teller_is_done(w->teller, SERVICE, 12));
		acknowledge(w, i, SERVICE, i ? 12 : 13); /* one knows more */
	}
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	assert_int_equal(w->teller->counts[TELLER_SENT], 4);
	assert_int_equal(w->teller->counts[TELLER_ACKNOWLEDGED], 4);
	assert_int_equal(w->teller->counts[TELLER_ALL_KNOW], 1);
	assert_int_equal(w->teller->counts[TELLER_TOO_LATE], 0);
	teller_tell(w->teller, SERVICE, 12); /* nothing new */
	teller_tell(w->teller, SERVICE, 11);
	world_pass(w, TOLD_REFRESH_MS - 1);
	assert_int_equal(w->count, 4);
	teller_free(w->teller);
}

static void a_lost_packet_is_repeated_within_the_wait(void **state)
{
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 3);
	teller_tell(w->teller, SERVICE, 12);
	acknowledge(w, 0, SERVICE, 12);
	acknowledge(w, 2, SERVICE, 12);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	world_pass(w, TOLD_REPEAT_MS);
	assert_int_equal(w->count, 4);
	assert_int_equal(packets_to(w, 3, 1), 1);
	assert_int_equal(w->teller->counts[TELLER_REPEATED], 1);
	acknowledge(w, 1, SERVICE, 12);
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	assert_int_equal(teller_silent(w->teller), 0);
	teller_free(w->teller);
}

static void silence_is_waited_for_once(void **state)
{
	static const uint64_t repetitions[] = {100, 300, 700, 1500, 3100, 6300, 12700, 22700, 32700};
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 2);
	teller_tell(w->teller, SERVICE, 12);
	acknowledge(w, 0, SERVICE, 12);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	world_pass(w, TOLD_WAIT_MS - 1);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	assert_true(teller_deadline(w->teller) <= w->now_ms + 1);
	world_pass(w, 1);
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	assert_int_equal(w->teller->counts[TELLER_TOO_LATE], 1);
	assert_int_equal(teller_silent(w->teller), 1);
	for (size_t i = 0; i < sizeof(repetitions) / sizeof(repetitions[0]); i++) {
		uint32_t before = packets_to(w, 0, 1);

		if (START_MS + repetitions[i] <= w->now_ms)
			continue; /* within the wait */
		world_pass(w, START_MS + repetitions[i] - 1 - w->now_ms);
		assert_int_equal(packets_to(w, 0, 1), before);
		world_pass(w, 1);
		assert_int_equal(packets_to(w, 0, 1), before + 1);
	}
	teller_tell(w->teller, SERVICE, 13); /* it is told at once, and nothing waits for it */
	assert_int_equal(w->seen[w->count - 1].notice.generation, 13);
	assert_int_equal(w->seen[w->count - 1].at_ms, w->now_ms);
	acknowledge(w, 0, SERVICE, 13);
	assert_true(teller_is_done(w->teller, SERVICE, 13));
	acknowledge(w, 1, SERVICE, 13); /* from now on it is waited for again */
	assert_int_equal(teller_silent(w->teller), 0);
	teller_tell(w->teller, SERVICE, 14);
	acknowledge(w, 0, SERVICE, 14);
	assert_false(teller_is_done(w->teller, SERVICE, 14));
	teller_free(w->teller);
}

/* Generations that follow each other quickly: the wait for the first is not put off by the next one. */
static void a_wait_is_not_put_off(void **state)
{
	struct world *w = world_open();
	uint32_t generation = 12;

	(void)state;
	world_servers(w, SERVICE, 0, 1);
	teller_tell(w->teller, SERVICE, generation);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	while (w->now_ms < START_MS + TOLD_WAIT_MS) {
		assert_false(teller_is_done(w->teller, SERVICE, 12));
		world_pass(w, 10);
		teller_tell(w->teller, SERVICE, ++generation);
	}
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	teller_free(w->teller);
}

/* A mux that jumps to a later generation applies that one in place of the one that it waited for. */
static void each_generation_has_a_wait_of_its_own(void **state)
{
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 1);
	teller_tell(w->teller, SERVICE, 12);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	world_pass(w, TOLD_WAIT_MS - 50);
	teller_tell(w->teller, SERVICE, 14);
	assert_false(teller_is_done(w->teller, SERVICE, 14));
	world_pass(w, TOLD_WAIT_MS - 1);
	assert_false(teller_is_done(w->teller, SERVICE, 14));
	world_pass(w, 1);
	assert_true(teller_is_done(w->teller, SERVICE, 14));
	teller_free(w->teller);
}

static void only_the_newest_is_told_and_one_is_under_way(void **state)
{
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 1);
	teller_tell(w->teller, SERVICE, 12);
	teller_tell(w->teller, SERVICE, 13);
	teller_tell(w->teller, SERVICE, 14);
	assert_int_equal(w->count, 1);
	world_pass(w, 5);
	acknowledge(w, 0, SERVICE, 12); /* of what was under way */
	assert_false(teller_is_done(w->teller, SERVICE, 13));
	teller_run(w->teller);
	assert_int_equal(w->count, 2);
	assert_int_equal(w->seen[1].notice.generation, 14);
	assert_int_equal(w->teller->counts[TELLER_SENT], 2);
	teller_tell(w->teller, SERVICE, 15);
	world_pass(w, TOLD_REPEAT_MS - 1);
	assert_int_equal(w->count, 2);
	world_pass(w, 1); /* 14 was lost, and 15 takes its place */
	assert_int_equal(w->count, 3);
	assert_int_equal(w->seen[2].notice.generation, 15);
	acknowledge(w, 0, SERVICE, 14); /* or it was late: it is no answer to 15 */
	assert_int_equal(w->teller->counts[TELLER_BEHIND], 1);
	assert_true(teller_is_done(w->teller, SERVICE, 14));
	assert_false(teller_is_done(w->teller, SERVICE, 15));
	acknowledge(w, 0, SERVICE, 15);
	assert_true(teller_is_done(w->teller, SERVICE, 15));
	teller_free(w->teller);
}

static void what_is_no_acknowledgement_changes_nothing(void **state)
{
	enum { TAGGED = SIGNED | FL_NOTICE_ACK };
	static const struct {
		const char *what;
		uint32_t from, by; /* who sends it; whose key and address it has */
		uint16_t service;
		uint32_t generation;
		uint8_t flags;
		uint32_t spoil, cut; /* bits of the last byte that are turned; bytes that are missing */
		enum teller_count count;
	} rows[] = {
	    {"a generation below", 1, 1, SERVICE, 11, TAGGED, 0, 0, TELLER_BEHIND},
	    {"a wrong tag", 1, 1, SERVICE, 12, TAGGED, 1, 0, TELLER_TAG},
	    {"no tag", 1, 1, SERVICE, 12, FL_NOTICE_ACK, 0, 0, TELLER_TAG},
	    {"by the cluster's other key", 1, 1, SERVICE, 12, FL_LIST_TAG | FL_NOTICE_ACK, 0, 0, TELLER_TAG},
	    {"another server's, from its address", 2, 2, SERVICE, 12, TAGGED, 0, 0, TELLER_UNASKED},
	    {"another server's, from this one's address", 1, 2, SERVICE, 12, TAGGED, 0, 0, TELLER_TAG},
	    {"one of a server that is told, from this one's", 1, 0, SERVICE, 12, TAGGED, 0, 0, TELLER_TAG},
	    {"its own, from another address", 2, 1, SERVICE, 12, TAGGED, 0, 0, TELLER_UNASKED},
	    {"of another service", 1, 1, OTHER, 12, TAGGED, 0, 0, TELLER_UNASKED},
	    {"the notice itself", 1, 1, SERVICE, 12, SIGNED, 0, 0, TELLER_MALFORMED},
	    {"cut short", 1, 1, SERVICE, 12, TAGGED, 0, 1, TELLER_MALFORMED},
	    {"empty", 1, 1, SERVICE, 12, TAGGED, 0, FL_NOTICE_MAX_LEN, TELLER_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_open();
		struct fl_address from = server(rows[i].from), by = server(rows[i].by);
		struct answer answer = answer_of(&by, rows[i].flags, rows[i].service, rows[i].generation);
		uint64_t before;

		world_servers(w, SERVICE, 0, 2);
		teller_tell(w->teller, SERVICE, 12);
		acknowledge(w, 0, SERVICE, 12);
		before = w->teller->counts[rows[i].count];
		answer.bytes[answer.len - 1] ^= (uint8_t)rows[i].spoil;
		teller_receive(w->teller, &from, answer.bytes, answer.len - rows[i].cut);
		if (w->teller->counts[rows[i].count] != before + 1 || teller_is_done(w->teller, SERVICE, 12))
			fail_msg("%s", rows[i].what);
		acknowledge(w, 1, SERVICE, 12);
		assert_true(teller_is_done(w->teller, SERVICE, 12));
		teller_free(w->teller);
	}
}

/* One that was told nothing yet, as the limit holds it up, can have acknowledged nothing. */
static void nobody_acknowledges_what_was_not_sent(void **state)
{
	struct world *w = world_open();

	(void)state;
	w->error = -EAGAIN;
	world_servers(w, SERVICE, 0, 1);
	teller_tell(w->teller, SERVICE, 12);
	acknowledge(w, 0, SERVICE, 12);
	assert_int_equal(w->teller->counts[TELLER_UNASKED], 1);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	w->error = 0;
	world_pass(w, TELLER_PAUSE_MS);
	assert_int_equal(w->count, 1);
	acknowledge(w, 0, SERVICE, 12);
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	teller_free(w->teller);
}

static void all_are_told_again_every_10_s(void **state)
{
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 2);
	teller_tell(w->teller, SERVICE, 12);
	acknowledge(w, 0, SERVICE, 12);
	acknowledge(w, 1, SERVICE, 12);
	for (int i = 1; i <= 3; i++) {
		world_pass(w, TOLD_REFRESH_MS / 2);
		acknowledge(w, 0, SERVICE, 12); /* a captured one, repeated: it puts nothing off */
		world_pass(w, TOLD_REFRESH_MS / 2);
		assert_int_equal(w->teller->counts[TELLER_REFRESHED], 2 * i);
	}
	assert_int_equal(w->count, 8);
	teller_free(w->teller);
}

static void failures_are_counted_and_repeated(void **state)
{
	struct world *w = world_open();

	(void)state;
	w->error = -ENETUNREACH;
	world_servers(w, SERVICE, 0, 2);
	teller_tell(w->teller, SERVICE, 12);
	assert_int_equal(w->teller->counts[TELLER_SEND_FAILED], 2);
	w->error = 0;
	world_pass(w, TOLD_REPEAT_MS);
	assert_int_equal(w->count, 2);
	teller_free(w->teller);
}

/* Two services of more servers than the burst: the second one's turn comes before the first one's repetitions. */
static void packets_are_limited(void **state)
{
	enum { SERVERS = 1500 };
	struct world *w = world_open();
	uint32_t of[2] = {0, 0};

	(void)state;
	world_servers(w, SERVICE, 0, SERVERS);
	world_servers(w, OTHER, 0, SERVERS);
	teller_tell(w->teller, SERVICE, 12);
	teller_tell(w->teller, OTHER, 12);
	assert_int_equal(w->count, TELLER_BURST);
	for (uint64_t ms = 0; ms < 400; ms++) {
		world_pass(w, 1);
		assert_true(w->count <= TELLER_BURST + TELLER_RATE / 1000 * (ms + 1));
	}
	for (uint32_t i = 0; i < 2 * SERVERS; i++)
		of[w->seen[i].notice.service == OTHER]++;
	assert_true(of[1] > SERVERS / 2); /* the first 300 ms have sent them all, and some of the first's twice */
	for (uint32_t i = 0; i < SERVERS; i++)
		assert_true(packets_to(w, 0, i) >= 2);
	teller_free(w->teller);
}

static void servers_come_and_go(void **state)
{
	struct fl_address twice[] = {server(3), server(2), server(3)};
	struct world *w = world_open();

	(void)state;
	world_servers(w, SERVICE, 0, 3);
	teller_tell(w->teller, SERVICE, 12);
	acknowledge(w, 2, SERVICE, 12);
	assert_int_equal(teller_set_servers(w->teller, SERVICE, twice, 3), 0); /* 0 and 1 go, 3 comes */
	assert_int_equal(w->count, 4);
	assert_int_equal(packets_to(w, 3, 3), 1);
	assert_false(teller_is_done(w->teller, SERVICE, 12));
	acknowledge(w, 3, SERVICE, 12);
	assert_true(teller_is_done(w->teller, SERVICE, 12));
	world_servers(w, SERVICE, 0, 0);
	teller_tell(w->teller, SERVICE, 13);
	assert_true(teller_is_done(w->teller, SERVICE, 13));
	assert_int_equal(w->count, 4);
	world_servers(w, SERVICE, 0, 1);
	assert_int_equal(w->seen[4].notice.generation, 13);
	teller_forget(w->teller, SERVICE);
	teller_forget(w->teller, SERVICE);
	assert_true(teller_is_done(w->teller, SERVICE, 99));
	assert_true(teller_deadline(w->teller) == UINT64_MAX);
	world_pass(w, TOLD_REFRESH_MS);
	assert_int_equal(w->count, 5);
	teller_free(w->teller);
}

/* --- at random ------------------------------------------------------------------------------------------------------ */

struct flight {
	uint64_t at_ms; /* when it arrives; UINT64_MAX: never */
	uint32_t number, generation;
	bool is_answer;
};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}

/* A network that loses a tenth, and delivers the others within 150 ms, in any order. */
static uint64_t arrival(uint64_t *seed, uint64_t now_ms)
{
	return draw(seed, 10) ? now_ms + draw(seed, 150) : UINT64_MAX;
}

/*
 * Each generation is waited for as long as is right: until all but silent servers are known to know it, or for
 * TOLD_WAIT_MS. A server that is believed to know a generation does.
 */
static void at_random(void **state)
{
	static struct flight flights[SEEN_MAX * 2];
	uint32_t known[RANDOM_SERVERS] = {0}, count = 0, carried = 0, generation = 1, applied = 1;
	const char *given = getenv("FAIRLEAD_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 20261129, waits_since = 0, all_knew = 0, too_late = 0;
	struct world *w = world_open();

	(void)state;
	printf("# FAIRLEAD_SEED=%llu\n", (unsigned long long)seed);
	seed = seed * 2 + 1;
	world_servers(w, SERVICE, 0, RANDOM_SERVERS);
	teller_tell(w->teller, SERVICE, generation);
	for (int step = 0; step < RANDOM_STEPS && w->count < SEEN_MAX - 100; step++) {
		w->now_ms += draw(&seed, 20);
		teller_run(w->teller);
		for (; carried < w->count; carried++)
			for (uint32_t i = 0; i < RANDOM_SERVERS; i++) {
				struct fl_address to = server(i);

				if (fl_address_equal(&to, &w->seen[carried].to))
					flights[count++] = (struct flight){arrival(&seed, w->now_ms), i,
									   w->seen[carried].notice.generation, false};
			}
		for (uint32_t i = 0; i < count; i++) {
			struct flight *one = &flights[i];

			if (one->at_ms > w->now_ms)
				continue;
			if (one->is_answer) {
				acknowledge(w, one->number, SERVICE, one->generation);
				one->at_ms = UINT64_MAX;
				continue;
			}
			if (one->generation > known[one->number])
				known[one->number] = one->generation;
			*one = (struct flight){arrival(&seed, w->now_ms), one->number, known[one->number], true};
		}
		if (generation == applied && !draw(&seed, 4)) {
			teller_tell(w->teller, SERVICE, ++generation);
			waits_since = w->now_ms;
		}
		if (generation == applied)
			continue;
		all_knew = w->teller->counts[TELLER_ALL_KNOW];
		too_late = w->teller->counts[TELLER_TOO_LATE];
		if (teller_is_done(w->teller, SERVICE, generation)) {
			uint32_t lack = 0;

			for (uint32_t i = 0; i < RANDOM_SERVERS; i++)
				lack += known[i] < generation;
			if (w->teller->counts[TELLER_TOO_LATE] == too_late)
				assert_true(lack <= teller_silent(w->teller));
			else
				assert_true(w->now_ms >= waits_since + TOLD_WAIT_MS);
			applied = generation;
		} else {
			assert_int_equal(w->teller->counts[TELLER_ALL_KNOW], all_knew);
			assert_true(w->now_ms < waits_since + TOLD_WAIT_MS);
		}
	}
	printf("# %u packets, %u generations, %llu of them too late\n", w->count, generation,
	       (unsigned long long)w->teller->counts[TELLER_TOO_LATE]);
	assert_true(generation > 100);
	assert_true(w->teller->counts[TELLER_TOO_LATE] > 0 && w->teller->counts[TELLER_ALL_KNOW] > 0);
	teller_free(w->teller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_are_told_and_waited_for),
	    cmocka_unit_test(a_lost_packet_is_repeated_within_the_wait),
	    cmocka_unit_test(silence_is_waited_for_once),
	    cmocka_unit_test(a_wait_is_not_put_off),
	    cmocka_unit_test(each_generation_has_a_wait_of_its_own),
	    cmocka_unit_test(only_the_newest_is_told_and_one_is_under_way),
	    cmocka_unit_test(what_is_no_acknowledgement_changes_nothing),
	    cmocka_unit_test(nobody_acknowledges_what_was_not_sent),
	    cmocka_unit_test(all_are_told_again_every_10_s),
	    cmocka_unit_test(failures_are_counted_and_repeated),
	    cmocka_unit_test(packets_are_limited),
	    cmocka_unit_test(servers_come_and_go),
	    cmocka_unit_test(at_random),
	};

	return cmocka_run_group_tests_name("teller", tests, NULL, NULL);
}
