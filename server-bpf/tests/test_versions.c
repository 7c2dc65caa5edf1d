// SPDX-License-Identifier: Apache-2.0
/*
 * What versions 1 and 2 have in common in the XDP program, the highest generation of a service, and when it is not known:
 * the quiet time of a server that was just attached, or has been made to forget.
 */
#include <bpf/libbpf.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "../skeleton.h"
#include "counters.h"
#include "forget.h"
#include "list_packet.h"
#include "program.h"
#include "quiet.h"
#include "vectors.h"

enum {
	NOW = 5,
	TEST_SECONDS = 600, /* it takes a few */
};

#define SECOND 1000000000ULL

static struct fl_server *program;
static fl_u64 quiet_of_load; /* what it was loaded with */

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
	rig_run(program, &packet);
	return rig_counter_bumped(program);
}

/* What one version teaches counts for the other. */
static void generations_are_common(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	int version;

	(void)state;
	for (version = 1; version <= 2; version++) {
		rig_generation_set(program, 20);
		assert_int_equal(of_version(version, 21, &packets->syn), FL_COUNTER_DELIVER_SYN);
		assert_int_equal(rig_generation_get(program), 21);
		assert_int_equal(of_version(3 - version, 20, &packets->unknown), FL_COUNTER_DROP_STALE);
		assert_int_equal(of_version(3 - version, 21, &packets->unknown), FL_COUNTER_DELIVER_UNKNOWN);
		assert_int_equal(rig_generation_get(program), 21);
	}
}

static void jumps_are_not_learned(void **state)
{
	const struct packet_tcp *syn = &rig_packets(RIG_IPV4)->syn;
	fl_u64 jumps = rig_counter(program, FL_COUNTER_GENERATION_JUMP);

	(void)state;
	rig_generation_set(program, NOW);
	assert_int_equal(of_version(2, UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(rig_generation_get(program), NOW);
	assert_int_equal(rig_counter(program, FL_COUNTER_GENERATION_JUMP), jumps + 1);
	rig_generation_set(program, 0); /* after which all are taken */
	assert_int_equal(of_version(2, UINT32_MAX, syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(rig_generation_get(program), UINT32_MAX);
}

static fl_u64 monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * SECOND + (fl_u64)now.tv_nsec;
}

/* It is quiet for as long as it is told from its load on, by the clock that the program reads; and not again. */
static void quiet_ends(void **state)
{
	const struct packet_tcp *unknown = &rig_packets(RIG_IPV4)->unknown;
	const struct timespec pause = {.tv_nsec = 1000000};
	fl_u64 end;

	(void)state;
	assert_true(quiet_of_load < monotonic() + CONFIG_QUIET_MAX * SECOND);
	assert_true(quiet_of_load > monotonic() + (CONFIG_QUIET_MAX - TEST_SECONDS) * SECOND);
	rig_generation_set(program, NOW);
	end = monotonic() + SECOND / 5;
	list_quiet_set(program, end);
	while (of_version(2, NOW, unknown) == FL_COUNTER_DROP_STALE)
		nanosleep(&pause, NULL);
	assert_true(monotonic() >= end);
	assert_int_equal(of_version(2, NOW, unknown), FL_COUNTER_DELIVER_UNKNOWN);
	list_quiet_set(program, monotonic() + 60 * SECOND);
	assert_int_equal(of_version(2, NOW, unknown), FL_COUNTER_DROP_STALE);
	list_quiet_set(program, 0);
}

/* A server that has been made to forget a service knows as little as one that has just started. */
static void forgetting_is_quiet(void **state)
{
	const struct packet_tcp *unknown = &rig_packets(RIG_IPV4)->unknown;
	struct running running = running_none();
	struct forgotten forgotten;

	(void)state;
	running.memory = bpf_map__fd(program->maps.memory);
	running.generations = bpf_map__fd(program->maps.generations);
	running.quiet = bpf_map__fd(program->maps.quiet);
	rig_generation_set(program, NOW);
	assert_int_equal(quiet_begin(running.quiet, 0), 0);
	assert_int_equal(forget_service(&running, RIG_SERVICE, &forgotten), 0);
	assert_int_equal(of_version(2, NOW - 1, unknown), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(quiet_begin(running.quiet, TEST_SECONDS * SECOND), 0);
	list_quiet_end(program);
	assert_int_equal(of_version(2, NOW, unknown), FL_COUNTER_DELIVER_UNKNOWN);
	assert_int_equal(forget_service(&running, RIG_SERVICE, &forgotten), 0);
	assert_int_equal(of_version(2, NOW - 1, unknown), FL_COUNTER_DROP_STALE);
	list_quiet_set(program, 0);
}

/* Version 1's packets need no quiet time: they are as before. */
static void version_1_is_not_quiet(void **state)
{
	(void)state;
	rig_generation_set(program, NOW);
	list_quiet_set(program, UINT64_MAX);
	assert_int_equal(of_version(1, NOW, &rig_packets(RIG_IPV4)->unknown), FL_COUNTER_DELIVER_UNKNOWN);
	list_quiet_set(program, 0);
}

int main(void)
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
	size_t i;
	int failed;

	rig_open();
	config.quiet = CONFIG_QUIET_MAX;
	program = rig_load(&config);
	quiet_of_load = list_quiet_get(program);
	list_quiet_set(program, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("versions by the XDP program", &tests);
	program_close(program);
	return failed;
}
