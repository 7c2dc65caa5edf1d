// SPDX-License-Identifier: Apache-2.0
/* Answers of controllers: what is read, refused, and how questions come and go; the pace of reports. */
#include <stdlib.h>
#include <string.h>

#include "agent/answer.h"
#include "agent/pace.h"

#include "vectors.h"

static const char services_text[] =
    "{\"format\": 1, \"version\": \"v1\", \"services\": ["
    "{\"name\": \"web\", \"id\": 1, \"vips\": [\"10.99.0.1\"], \"ports\": [{\"protocol\": \"tcp\", \"port\": 80}], "
    "\"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\", \"affinity\": "
    "\"connection\", \"connections\": {\"ageSeconds\": 60}, "
    "\"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]}, "
    "{\"name\": \"api\", \"id\": 2, \"vips\": [\"10.99.0.2\"], \"ports\": [{\"protocol\": \"tcp\", \"port\": 80}], "
    "\"buckets\": 512, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\", \"affinity\": "
    "\"connection\", \"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]}]}";

#define ANSWER(more)                  "{\"format\": 1, \"servicesVersion\": \"v1\", \"nextSeconds\": 1, \"questions\": [" more "]}"
#define QUESTION(service, name, more) "{\"name\": \"" service "\", \"question\": \"" name "\"" more "}"
#define BUCKET_0                      ", \"buckets\": \"AAE=\""

#define ABOUT(connections)                                                                                             \
	"{\"format\": 1, \"servicesVersion\": \"v1\", \"nextSeconds\": 1, \"questions\": [], "                         \
	"\"connections\": " connections "}"
#define ENTRY(service, memory, more) "{\"name\": \"" service "\", \"memory\": \"" memory "\", \"mark\": \"k\"" more "}"
#define LONG                         "12345678901234567890123456789012345678901234567890123456789012345"

static struct census *world(void)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	struct fl_siphash_key seed = {1, 2};
	struct census *census = census_new(&seed);

	assert_true(census_serve(census, services_read(services_text, strlen(services_text), &plain)));
	return census;
}

static bool take(struct census *census, const char *text, fl_u64 now)
{
	struct answer answer;
	bool is_right = answer_read(text, strlen(text), census->services, &answer);

	if (is_right) {
		is_right = answer_apply(&answer, census, now, 100);
		answer_free(&answer);
	}
	return is_right;
}

static const struct question *question(struct census *census, size_t service)
{
	return &census->tallies[service].question;
}

static void questions(void **state)
{
	struct census *census = world();

	(void)state;
	assert_true(take(census, ANSWER(""), 1));
	assert_null(question(census, 0)->buckets);
	assert_true(take(census, ANSWER(QUESTION("web", "q1", BUCKET_0)), 2));
	assert_string_equal(question(census, 0)->name, "q1");
	assert_true(bucket_set_has(question(census, 0)->buckets, 0));
	assert_false(bucket_set_has(question(census, 0)->buckets, 1));
	assert_null(question(census, 1)->buckets);
	/* the same one stays, with its buckets or without */
	assert_true(take(census, ANSWER(QUESTION("web", "q1", "")), 3));
	assert_true(take(census, ANSWER(QUESTION("web", "q1", BUCKET_0)), 4));
	assert_int_equal(question(census, 0)->asked_ns, 2);
	/* another one replaces it */
	assert_true(take(
	    census, ANSWER(QUESTION("web", "q2", ", \"buckets\": \"AQE=\"") ", " QUESTION("api", "q1", BUCKET_0)), 5));
	assert_string_equal(question(census, 0)->name, "q2");
	assert_true(bucket_set_has(question(census, 0)->buckets, 1));
	assert_int_equal(question(census, 0)->asked_ns, 5);
	assert_int_equal(question(census, 1)->buckets->buckets, 512);
	/* one without buckets that was never asked with them is refused, and is no question */
	assert_false(take(census, ANSWER(QUESTION("web", "q3", "") ", " QUESTION("api", "q1", "")), 6));
	assert_null(question(census, 0)->buckets);
	assert_string_equal(question(census, 1)->name, "q1");
	assert_true(take(census, ANSWER(""), 7));
	assert_null(question(census, 1)->buckets);
	census_free(census);
}

static void connections(void **state)
{
	struct census *census = world();
	const struct told *told = &census->tallies[0].told;

	(void)state;
	assert_true(take(census, ANSWER(""), 1));
	assert_string_equal(told->memory, "");
	assert_true(take(census, ABOUT("[" ENTRY("web", "m", ", \"later\": 1") "]"), 2));
	assert_string_equal(told->memory, "m");
	assert_string_equal(told->mark, "k");
	assert_int_equal(told->refusals, 0);
	assert_true(take(census, ABOUT("[" ENTRY("web", "m", ", \"refused\": \"too many\"") "]"), 3));
	assert_string_equal(told->why, "too many");
	assert_int_equal(told->refusals, 1);
	/* of other services nothing counts */
	assert_true(take(census,
			 "{\"format\": 1, \"servicesVersion\": \"v2\", \"nextSeconds\": 1, \"questions\": [], "
			 "\"connections\": [" ENTRY("new", "n", "") "]}",
			 4));
	assert_string_equal(told->memory, "m");
	assert_true(
	    take(census, ABOUT("[" ENTRY("web", "m", ", \"refused\": \"a\\n" LONG LONG LONG LONG "\"") "]"), 5));
	assert_int_equal(strlen(told->why), TOLD_WHY_MAX);
	assert_memory_equal(told->why, "a 123", 5);
	assert_true(take(census, ABOUT("[" ENTRY("web", "m", ", \"refused\": null") "]"), 5));
	assert_string_equal(told->memory, "m");
	assert_int_equal(told->refusals, 2);
	assert_true(take(census, ABOUT("null"), 5));
	assert_string_equal(told->memory, "");
	assert_true(take(census, ABOUT("[" ENTRY("web", "m", "") "]"), 5));
	assert_true(take(census, ABOUT("[]"), 5));
	assert_string_equal(told->memory, "");
	census_free(census);
}

/* Of other services than the agent knows, only the version counts. */
/* Of a newer controller, with keys that this version does not know. */
static void other_version(void **state)
{
	static const char text[] =
	    "{\"format\": 1, \"more\": {}, \"servicesVersion\": \"v2\", \"nextSeconds\": 7, \"questions\": ["
	    "{\"name\": \"new\", \"question\": \"q\", \"buckets\": \"not base64\", \"more\": 1}]}";
	struct census *census = world();
	struct answer answer;

	(void)state;
	assert_true(answer_read(text, strlen(text), census->services, &answer));
	assert_string_equal(answer.services_version, "v2");
	assert_int_equal(answer.next_seconds, 7);
	assert_int_equal(answer.count, 0);
	answer_free(&answer);
	census_free(census);
}

static const struct malformed_row {
	const char *name, *text;
} malformed_rows[] = {
    {"no JSON", ""},
    {"another format", "{\"format\": 3, \"servicesVersion\": \"v1\", \"nextSeconds\": 1, \"questions\": []}"},
    {"no version", "{\"format\": 1, \"nextSeconds\": 1, \"questions\": []}"},
    {"no next report", "{\"format\": 1, \"servicesVersion\": \"v1\", \"questions\": []}"},
    {"the next report at once", "{\"format\": 1, \"servicesVersion\": \"v1\", \"nextSeconds\": 0, \"questions\": []}"},
    {"the next report in two hours",
     "{\"format\": 1, \"servicesVersion\": \"v1\", \"nextSeconds\": 7200, \"questions\": []}"},
    {"no questions", "{\"format\": 1, \"servicesVersion\": \"v1\", \"nextSeconds\": 1}"},
    {"a question about no service", ANSWER(QUESTION("mail", "q", BUCKET_0))},
    {"a question without a name", ANSWER("{\"name\": \"web\", \"buckets\": \"\"}")},
    {"a question with a name of 65 characters", ANSWER(QUESTION("web", LONG, BUCKET_0))},
    {"two questions of a service", ANSWER(QUESTION("web", "q", BUCKET_0) ", " QUESTION("web", "r", BUCKET_0))},
    {"buckets that are a list", ANSWER(QUESTION("web", "q", ", \"buckets\": []"))},
    {"buckets that are not base64", ANSWER(QUESTION("web", "q", ", \"buckets\": \"AAE\""))},
    {"connections that are an object", ABOUT("{}")},
    {"connections of no service", ABOUT("[" ENTRY("mail", "m", "") "]")},
    {"connections that are not reported", ABOUT("[" ENTRY("api", "m", "") "]")},
    {"connections of a service twice", ABOUT("[" ENTRY("web", "m", "") ", " ENTRY("web", "m", "") "]")},
    {"connections without a name", ABOUT("[{\"memory\": \"m\", \"mark\": \"k\"}]")},
    {"connections without a memory", ABOUT("[{\"name\": \"web\", \"mark\": \"k\"}]")},
    {"connections without a mark", ABOUT("[{\"name\": \"web\", \"memory\": \"m\"}]")},
    {"an empty memory", ABOUT("[" ENTRY("web", "", "") "]")},
    {"a memory of 65 characters", ABOUT("[" ENTRY("web", LONG, "") "]")},
    {"a refusal that is a flag", ABOUT("[" ENTRY("web", "m", ", \"refused\": true") "]")},
    {"an empty refusal", ABOUT("[" ENTRY("web", "m", ", \"refused\": \"\"") "]")},
    {"a bucket beyond the ring", ANSWER(QUESTION("web", "q", ", \"buckets\": \"gAIB\""))},
};

static void malformed(void **state)
{
	const struct malformed_row *row = *state;
	struct census *census = world();

	assert_false(take(census, row->text, 1));
	census_free(census);
}

static void pace(void **state)
{
	struct pace pace = {.controllers = 3};
	static const fl_u32 waits[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};

	(void)state;
	assert_int_equal(pace_answered(&pace, 10, 0), 9000);
	assert_int_equal(pace_answered(&pace, 10, 100), 10000);
	assert_int_equal(pace_answered(&pace, 10, 200), 11000);
	assert_int_equal(pace_answered(&pace, 10, 201), 9000);
	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_int_equal(pace_failed(&pace, 100), waits[i]);
		assert_int_equal(pace.current, (i + 1) % 3);
	}
	pace_answered(&pace, 1, 0);
	assert_int_equal(pace_failed(&pace, 0), 900);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "questions", questions, NULL);
	vectors_add_plain(&tests, "connections", connections, NULL);
	vectors_add_plain(&tests, "an answer about other services", other_version, NULL);
	for (size_t i = 0; i < sizeof(malformed_rows) / sizeof(malformed_rows[0]); i++)
		vectors_add_plain(&tests, malformed_rows[i].name, malformed, (void *)&malformed_rows[i]);
	vectors_add_plain(&tests, "pace", pace, NULL);
	return vectors_run("answers", &tests);
}
