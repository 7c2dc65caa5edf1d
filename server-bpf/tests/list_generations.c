// SPDX-License-Identifier: Apache-2.0
/*
 * The highest generation of a service, and when it is not known: the quiet time of a server that was just attached, or has
 * been made to forget.
 */
#include <stdio.h>
#include <time.h>

#include "list_form.h"

enum {
	NOW = 5,
	LONG = 600, /* seconds: the test takes a few */
};

static const struct list_form *form;

/* A packet without candidates. */
static enum fl_counter of_generation(fl_u32 generation, const struct packet_tcp *tcp)
{
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet;

	list.generation = generation;
	rig_begin(&packet, &list);
	packet_add_tcp(&packet, tcp);
	packet_finish_outer(&packet);
	return form->send(&packet);
}

static void generations_are_learned(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);

	(void)state;
	form->generation_set(20);
	assert_int_equal(of_generation(21, &packets->syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(form->generation(), 21);
	assert_int_equal(of_generation(20, &packets->unknown), FL_COUNTER_DROP_STALE);
	assert_int_equal(of_generation(21, &packets->unknown), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(form->generation(), 21);
}

static void jumps_are_not_learned(void **state)
{
	const struct packet_tcp *syn = &rig_packets(RIG_IPV4)->syn;
	fl_u64 jumps = form->counter(FL_COUNTER_GENERATION_JUMP);

	(void)state;
	form->generation_set(NOW);
	assert_int_equal(of_generation(UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(form->generation(), NOW);
	assert_int_equal(form->counter(FL_COUNTER_GENERATION_JUMP), jumps + 1);
	form->generation_set(0); /* after which all are taken */
	assert_int_equal(of_generation(UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(form->generation(), UINT32_MAX);
}

static fl_u64 milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * 1000 + (fl_u64)now.tv_nsec / 1000000;
}

static bool is_quiet(void)
{
	enum fl_counter counter = of_generation(form->generation(), &rig_packets(RIG_IPV4)->unknown);

	assert_true(counter == FL_COUNTER_DROP_STALE || counter == FL_COUNTER_DELIVER_UNKNOWN);
	return counter == FL_COUNTER_DROP_STALE;
}

/* Is quiet for a second. */
static void quiet_shortly(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	fl_u64 begin = milliseconds();

	form->quiet(1);
	while (is_quiet())
		nanosleep(&pause, NULL);
	assert_true(milliseconds() - begin >= 1000);
}

/* It is quiet from the time on that it is attached, and not again. */
static void quiet_ends(void **state)
{
	struct config config = rig_config();

	(void)state;
	config.program.quiet = LONG;
	form->set(&config);
	form->generation_set(NOW);
	assert_true(is_quiet());
	quiet_shortly();
	assert_false(is_quiet());
	form->quiet(LONG);
	assert_true(is_quiet());
	form->quiet(0);
	assert_false(is_quiet());
}

/* A server that has been made to forget a service knows as little as one that has just started. */
static void forgetting_is_quiet(void **state)
{
	const struct packet_tcp *unknown = &rig_packets(RIG_IPV4)->unknown;

	(void)state;
	form->generation_set(NOW);
	form->quiet(0);
	form->forget();
	assert_int_equal(form->generation(), 0);
	assert_int_equal(of_generation(NOW - 1, unknown), FL_COUNTER_DELIVER_UNKNOWN);
	form->generation_set(NOW);
	quiet_shortly();
	form->forget();
	assert_int_equal(of_generation(NOW - 1, unknown), FL_COUNTER_DROP_STALE);
	form->quiet(0);
}

int list_generations_run(const struct list_form *of)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"generations are learned", generations_are_learned},
	    {"jumps are not learned", jumps_are_not_learned},
	    {"the quiet time ends", quiet_ends},
	    {"forgetting a service is quiet", forgetting_is_quiet},
	};
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config();
	char group[64];
	size_t i;

	form = of;
	config.program.quiet = 0;
	form->set(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	snprintf(group, sizeof(group), "generations by %s", form->name);
	return vectors_run(group, &tests);
}
