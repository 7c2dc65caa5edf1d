// SPDX-License-Identifier: Apache-2.0
/*
 * What versions 1 and 2 have in common in a server, the highest generation of a service, and when it is not known: the
 * quiet time of a server that was just attached, or has been made to forget.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "list_form.h"

enum {
	NOW = 5,
	LONG = 600, /* seconds: the test takes a few */
};

static const struct list_form *form;

/* A packet of version 1 without a move, or of version 2 without a list, to a service of which this was seen. */
static enum fl_counter of_version(int version, fl_u32 generation, const struct packet_tcp *tcp)
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4,
				 .service = RIG_SERVICE,
				 .bucket = RIG_BUCKET,
				 .generation = generation};
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = RIG_SERVICE, .generation = generation};
	struct fl_address self = packet_address(RIG_SELF);
	struct packet packet;

	if (version == 1) {
		rig_begin(&packet, &steer);
	} else {
		fl_u8 gue[FL_LIST_MAX_LEN];

		list_packet_begin(&packet, &self);
		packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	}
	packet_add_tcp(&packet, tcp);
	packet_finish_outer(&packet);
	return form->send(&packet);
}

/* What one version teaches counts for the other. */
static void generations_are_common(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	int version;

	(void)state;
	for (version = 1; version <= 2; version++) {
		form->generation_set(20);
		assert_int_equal(of_version(version, 21, &packets->syn), FL_COUNTER_DELIVER_SYN);
		assert_int_equal(form->generation(), 21);
		assert_int_equal(of_version(3 - version, 20, &packets->unknown), FL_COUNTER_DROP_STALE);
		assert_int_equal(of_version(3 - version, 21, &packets->unknown), FL_COUNTER_DELIVER_UNKNOWN);
		assert_int_equal(form->generation(), 21);
	}
}

static void jumps_are_not_learned(void **state)
{
	const struct packet_tcp *syn = &rig_packets(RIG_IPV4)->syn;
	fl_u64 jumps = form->counter(FL_COUNTER_GENERATION_JUMP);

	(void)state;
	form->generation_set(NOW);
	assert_int_equal(of_version(2, UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(form->generation(), NOW);
	assert_int_equal(form->counter(FL_COUNTER_GENERATION_JUMP), jumps + 1);
	form->generation_set(0); /* after which all are taken */
	assert_int_equal(of_version(2, UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
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
	enum fl_counter counter = of_version(2, form->generation(), &rig_packets(RIG_IPV4)->unknown);

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
	config.quiet = LONG;
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
	assert_int_equal(of_version(2, NOW - 1, unknown), FL_COUNTER_DELIVER_UNKNOWN);
	form->generation_set(NOW);
	quiet_shortly();
	form->forget();
	assert_int_equal(of_version(2, NOW - 1, unknown), FL_COUNTER_DROP_STALE);
	form->quiet(0);
}

/* Version 1's packets need no quiet time: they are as before. */
static void version_1_is_not_quiet(void **state)
{
	(void)state;
	form->generation_set(NOW);
	form->quiet(LONG);
	assert_int_equal(of_version(1, NOW, &rig_packets(RIG_IPV4)->unknown), FL_COUNTER_DELIVER_UNKNOWN);
	form->quiet(0);
}

int list_versions_run(const struct list_form *of)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"generations are common to both versions", generations_are_common},
	    {"jumps are not learned", jumps_are_not_learned},
	    {"the quiet time ends", quiet_ends},
	    {"forgetting a service is quiet", forgetting_is_quiet},
	    {"version 1 is not quiet", version_1_is_not_quiet},
	};
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config();
	char group[64];
	size_t i;

	form = of;
	config.quiet = 0;
	form->set(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	snprintf(group, sizeof(group), "versions by %s", form->name);
	return vectors_run(group, &tests);
}
