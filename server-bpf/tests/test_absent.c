// SPDX-License-Identifier: Apache-2.0
/*
 * What the XDP program remembers of buckets without a move (absent.bpf.h): whatever is stored counts at once, whoever
 * stored it, whichever places buckets share.
 */
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "program.h"
#include "rig.h"
#include "../skeleton.h"
#include "vectors.h"

#define OWNER "10.1.0.21"

enum {
	BUCKETS = 20000, /* several for each place */
	STORED_EACH = 1000,
};

static struct fl_server *program;

/* What happens to an unknown connection's packet, which only memory can chain as it tells of no move itself. */
static int asked(struct fl_server *of, fl_u32 bucket)
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4,
				 .hops = 1, /* a mux's own would end what is remembered */
				 .service = RIG_SERVICE,
				 .bucket = bucket,
				 .generation = RIG_GENERATION};
	struct packet packet;

	rig_begin(&packet, &steer);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	return rig_run(of, &packet);
}

/* A packet that tells of the bucket's move. */
static void told(struct fl_server *of, fl_u32 bucket)
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4,
				 .flags = FL_STEER_MOVED,
				 .service = RIG_SERVICE,
				 .bucket = bucket,
				 .generation = RIG_GENERATION,
				 .since = (fl_u32)time(NULL),
				 .previous = packet_address(OWNER)};
	struct packet packet;

	rig_begin(&packet, &steer);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(of, &packet), XDP_TX);
}

static void learned_counts(void **state)
{
	fl_u32 other = RIG_BUCKET + 1;
	int round;

	(void)state;
	for (round = 0; round < 3; round++) {
		assert_int_equal(asked(program, RIG_BUCKET), XDP_PASS);
		assert_int_equal(asked(program, RIG_BUCKET), XDP_PASS);
		told(program, RIG_BUCKET);
		assert_int_equal(asked(program, RIG_BUCKET), XDP_TX);
		assert_int_equal(asked(program, other), XDP_PASS);
		assert_int_equal(asked(program, RIG_BUCKET), XDP_TX);
		rig_memory_set(program, NULL);
		assert_int_equal(asked(program, RIG_BUCKET), XDP_PASS);
	}
}

/* The version of memory, which every move raises, passes 32 bits. */
static void version_passes_32_bits(void **state)
{
	const fl_u64 version = 0x100000000 - 2;
	__u32 slot = 0;

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(program->maps.memory_version), &slot, &version, BPF_ANY), 0);
	learned_counts(state);
}

static void places_are_shared(void **state)
{
	int round;
	fl_u32 bucket;

	(void)state;
	for (bucket = 0; bucket < BUCKETS; bucket += STORED_EACH)
		told(program, bucket);
	for (round = 0; round < 2; round++)
		for (bucket = 0; bucket < BUCKETS; bucket++)
			if (asked(program, bucket) != (bucket % STORED_EACH ? XDP_PASS : XDP_TX))
				fail_msg("round %d: bucket %u", round, bucket);
	for (bucket = 0; bucket < BUCKETS; bucket += STORED_EACH)
		rig_memory_set_of(program, bucket, NULL);
}

/* The former program may still store moves, of packets that it had begun with. */
static void former_program_counts(void **state)
{
	struct config config = rig_config_both();
	struct running running = running_none();
	struct fl_server *next;

	(void)state;
	running.mode = "native";
	running.memory = bpf_map__fd(program->maps.memory);
	running.memory_version = bpf_map__fd(program->maps.memory_version);
	running.generations = bpf_map__fd(program->maps.generations);
	running.counters = bpf_map__fd(program->maps.counters);
	next = program_load(&config, &running);
	assert_non_null(next);
	assert_int_equal(asked(next, RIG_BUCKET), XDP_PASS);
	assert_int_equal(asked(next, RIG_BUCKET), XDP_PASS);
	told(program, RIG_BUCKET);
	assert_int_equal(asked(next, RIG_BUCKET), XDP_TX);
	program_close(next);
	rig_memory_set(program, NULL);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"what is learned counts at once", learned_counts},
	    {"the same as memory's version passes 32 bits", version_passes_32_bits},
	    {"buckets that share places", places_are_shared},
	    {"what the former program learns counts", former_program_counts},
	};
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_stay(); /* each processor remembers for itself */
	rig_open();
	program = rig_load(&config);
	rig_generation_set(program, RIG_GENERATION);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("buckets without a move in the XDP program", &tests);
	program_close(program);
	return failed;
}
