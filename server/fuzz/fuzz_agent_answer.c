// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a controller's answer to a report. A refusal has a field and what is allowed, and leaves the questions
 * alone, except for one whose buckets are missing, and what was told of connections. Sets of buckets that are accepted
 * read the same from what is written of them, and answers are subsets of the questions.
 */
#include <stdlib.h>
#include <string.h>

#include "../agent/answer.h"
#include "../agent/parts.h"
#include "refusals.h"

static struct census *world(void)
{
	static const char text[] =
	    "{\"format\": 1, \"version\": \"v\", \"services\": [{\"name\": \"web\", \"id\": 1, \"vips\": "
	    "[\"10.99.0.1\"], "
	    "\"ports\": [{\"protocol\": \"tcp\", \"port\": 80}], \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": "
	    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"connections\": {\"ageSeconds\": "
	    "60}, "
	    "\"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]}, {\"name\": "
	    "\"api\", "
	    "\"id\": 2, \"vips\": [], \"ports\": [], \"buckets\": 65536, \"hash\": \"crc32\", \"hashKey\": "
	    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"client\", \"backends\": [{\"id\": 7, \"address\": "
	    "\"10.2.0.7\"}]}]}";
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	struct fl_siphash_key seed = {1, 2};
	struct census *census = census_new(&seed);
	const fl_u8 vip[4] = {10, 99, 0, 1};

	require(census_serve(census, services_read(text, sizeof(text) - 1, &plain)));
	require(census->services->count == 2);
	census_dump_begin(census, 1);
	for (fl_u8 i = 0; i < 100; i++) {
		const fl_u8 client[4] = {198, 51, 100, i};
		struct socket_name name = {fl_address_from_ipv4(vip), fl_address_from_ipv4(client), 80, 1000};

		census_record(census, &name);
	}
	census_dump_end(census, true);
	return census;
}

/* What is told of connections by the next report is none or all of a whole set, or a change without any. */
static void check_told(struct census *census)
{
	const struct told *told = &census->tallies[0].told;

	parts_draw(census, ~0ULL);
	require(told->has_part == (told->memory[0] != '\0'));
	require(told->part.opened.count == 0 || (told->part.opened.count == 100 && told->part.whole));
	require(told->part.closed.count == 0 && strlen(told->memory) <= TOLD_NAME_MAX);
	require(!census->tallies[1].told.memory[0]);
}

static void check(struct answer_of *answer)
{
	const struct question *question = answer->question;
	const char *word;
	struct bucket_set *again;
	char *text;

	require(!question->buckets == !answer->buckets);
	if (!question->buckets)
		return;
	text = bucket_set_write(question->buckets);
	again = bucket_set_read(text, question->buckets->buckets, &word);
	require(again && !memcmp(again->words, question->buckets->words, again->buckets / 8));
	for (fl_u32 word_at = 0; word_at < again->buckets / 64; word_at++)
		require(!(answer->buckets->words[word_at] & ~question->buckets->words[word_at]));
	free(again);
	free(text);
	free(answer->buckets);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	static struct census *census;
	struct answer_of answers[2];
	struct answer answer;

	if (!census)
		census = world();
	refusals = 0;
	if (!answer_read((const char *)data, size, census->services, &answer)) {
		require(refusals == 1 && !answer.list);
		return 0;
	}
	require(answer.next_seconds >= 1 && answer.next_seconds <= ANSWER_SECONDS_MAX);
	require(answer_apply(&answer, census, 1, 7) == !refusals);
	answer_free(&answer);
	check_told(census);
	for (size_t i = 0; i < 2; i++)
		answers[i].question = &census->tallies[i].question;
	question_answer_all(census->services, census->table, answers);
	for (size_t i = 0; i < 2; i++)
		check(&answers[i]);
	return 0;
}
