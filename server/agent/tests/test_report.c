// SPDX-License-Identifier: Apache-2.0
/*
 * What reports say of the load of a service with two buckets, whatever happens to the form and to answers, of the form
 * itself, and of signals.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/readings.h"
#include "agent/report.h"

#include "vectors.h"

#define SERVICE(name, id, vip, more)                                                                                   \
	"{\"name\": \"" name "\", \"id\": " id ", \"vips\": [\"" vip "\"], \"ports\": [{\"protocol\": \"tcp\", "       \
	"\"port\": 80}], \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\", " \
	"\"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]" more "}"

static const char document[] = "{\"format\": 1, \"version\": \"1\", \"services\": [" SERVICE(
    "web", "1", "10.99.0.1", ", \"twoBuckets\": true") ", " SERVICE("api", "2", "10.99.0.2", "") "]}";

static struct census *census_from(const char *text)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	struct fl_siphash_key seed = {5, 6};
	struct census *census = census_new(&seed);

	assert_true(census_serve(census, services_read(text, strlen(text), &plain)));
	census_dump_begin(census, 1);
	census_dump_end(census, true);
	return census;
}

static struct census *census_of(void)
{
	return census_from(document);
}

/* The load of a service in the next report; NULL: it has none. */
static json_t *load_of(struct census *census, const char *name)
{
	static struct report report = {.boot = "0", .has_events = true};
	json_t *root, *one, *found = NULL;
	char *text;
	size_t i;

	report.sequence++;
	text = report_write(&report, census);
	root = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(root, "services"), i, one)
	{
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			found = json_incref(json_object_get(one, "load"));
	}
	json_decref(root);
	free(text);
	return found;
}

/* What the form counts, what the reading is, what is reported, and whether that is answered. */
static const struct step {
	const char *what;
	fl_u64 taken, passed; /* in the form */
	bool has_state, has_busy, answered;
	fl_u32 busy;
	fl_u64 reported_taken, reported_passed;
} steps[] = {
    {"nothing is attached yet", 0, 0, false, false, true, 0, 0, 0},
    {"what was before the agent is not reported", 1000, 500, true, true, true, 3, 0, 0},
    {"more", 1010, 502, true, true, true, 4, 10, 2},
    {"nothing more", 1010, 502, true, true, true, 4, 0, 0},
    {"a report that is not answered", 1020, 502, true, true, false, 4, 10, 0},
    {"is told again, with what is new", 1021, 503, true, true, false, 4, 11, 1},
    {"and again", 1021, 503, true, false, true, 0, 11, 1},
    {"attached anew: the form counts from 0", 5, 1, true, true, true, 0, 5, 1},
    {"detached", 0, 0, false, true, true, 9, 0, 0},
    {"attached again, and not counted meanwhile", 7, 1, true, true, true, 9, 2, 0},
    {"attached anew, and more taken than before", 30, 0, true, true, true, 9, 30, 0},
    {"more than a report has room for", 30 + 0x100000004ULL, 0, true, true, true, 1, 0xffffffff, 0},
    {"the rest", 30 + 0x100000004ULL, 0, true, true, true, 1, 5, 0},
};

static void loads(void **state)
{
	struct census *census = census_of();

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *step = &steps[i];
		struct load_figures figures = {
		    .has_busy = step->has_busy, .busy = step->busy, .has_state = step->has_state};
		json_t *load;

		print_message("# %s\n", step->what);
		figures.state.taken = step->taken;
		figures.state.passed = step->passed;
		report_load(&census->tallies[0], &figures);
		load = load_of(census, "web");
		assert_int_equal(json_integer_value(json_object_get(load, "taken")), step->reported_taken);
		assert_int_equal(json_integer_value(json_object_get(load, "passed")), step->reported_passed);
		if (step->reported_taken < 0xffffffff && i + 1 < sizeof(steps) / sizeof(steps[0]))
			assert_int_equal(json_integer_value(json_object_get(load, "offered")),
					 step->reported_taken + step->reported_passed);
		assert_int_equal(json_object_get(load, "busy") != NULL, step->has_busy);
		assert_int_equal(json_integer_value(json_object_get(load, "busy")), step->busy);
		json_decref(load);
		assert_null(load_of(census, "api"));
		if (step->answered)
			report_answered(census);
	}
	census_free(census);
}

/* What the report says of the form, as JSON; "" if nothing. */
static void expect_form(struct census *census, const struct report *report, const char *expected)
{
	char *text = report_write(report, census), *form;
	json_t *root = json_loads(text, 0, NULL);

	form = json_dumps(json_object_get(root, "form"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(form ? form : "", expected);
	free(form);
	json_decref(root);
	free(text);
}

static void forms(void **state)
{
	static const char none[] = "{\"format\": 1, \"version\": \"1\", \"services\": []}";
	static const char asks[] = "{\"format\": 1, \"version\": \"1\", \"asksForm\": true, \"services\": []}";
	struct census *older = census_from(none), *census = census_from(asks);
	struct report report = {.boot = "0", .has_events = true, .is_attached = 1};

	(void)state;
	expect_form(census, &report, ""); /* the agent was not told where to look */
	report.form = "bpf";
	report.interface = "eth0";
	expect_form(census, &report, "{\"attached\":true,\"interface\":\"eth0\",\"kind\":\"bpf\"}");
	expect_form(older, &report, "");
	report.is_attached = 0;
	expect_form(census, &report, "{\"attached\":false,\"interface\":\"eth0\",\"kind\":\"bpf\"}");
	report.is_attached = -EPERM;
	expect_form(census, &report, "");
	report = (struct report){.boot = "0", .form = "module", .is_attached = 1};
	expect_form(census, &report, "{\"attached\":true,\"kind\":\"module\"}");
	census_free(older);
	census_free(census);
}

/* Of the service that is the document's first, as JSON; "" if nothing. */
static void expect_signals(struct census *census, const struct report *report, const char *expected)
{
	char *text = report_write(report, census), *signals;
	json_t *root = json_loads(text, 0, NULL), *web = json_array_get(json_object_get(root, "services"), 0);

	signals = json_dumps(json_object_get(web, "signals"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(signals ? signals : "", expected);
	free(signals);
	json_decref(root);
	free(text);
}

static void signals(void **state)
{
	static const char asks[] = "{\"format\": 1, \"version\": \"1\", \"asksSignals\": true, \"services\": [" SERVICE(
	    "web", "1", "10.99.0.1", "") "]}";
	struct census *older = census_of(), *census = census_from(asks);
	struct report report = {.boot = "0", .has_events = true};
	struct tally *tally = &census->tallies[0];

	(void)state;
	for (int signal = 0; signal < AGENT_SIGNALS; signal++)
		tally->signals.counts[signal] = 0x100000000ULL + signal;
	tally->numbers[TALLY_OPENED].all = 40;
	expect_signals(census, &report, ""); /* the kernel tells none */
	report.signals = (1U << AGENT_SIGNALS) - 1;
	expect_signals(older, &report, "");
	for (int twice = 0; twice < 2; twice++) {
		expect_signals(census, &report,
			       "{\"opened\":40,\"refused\":4294967296,\"resetsReceived\":4294967298,"
			       "\"resetsSent\":4294967297,\"retransmitted\":4294967299,\"rttMicroseconds\":4294967302,"
			       "\"rttSamples\":4294967301,\"segments\":4294967300}");
		report_answered(census);
	}
	report.signals = 1U << SIGNAL_RESETS_RECEIVED;
	expect_signals(census, &report, "{\"opened\":40,\"resetsReceived\":4294967298}");
	census_free(older);
	census_free(census);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "loads", loads, NULL);
	vectors_add_plain(&tests, "forms", forms, NULL);
	vectors_add_plain(&tests, "signals", signals, NULL);
	return vectors_run("report", &tests);
}
