// SPDX-License-Identifier: Apache-2.0
/*
 * Every row of verdict.json against the XDP program, with real sockets: the row's memory and generation are put into
 * the maps, its packet goes through the program by BPF_PROG_TEST_RUN, and action, counter, packet, memory and
 * generation must be the row's.
 *
 * The row's `now` is the program's own clock: it is loaded with an offset that brings its second about, and a row
 * counts only if that second has lasted until its end. Each configuration has its own program. What the program
 * forgets on purpose (row.h) has its case in test_act.c. A SYN is refused by a setting of the service's load.
 */
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "row.h"
#include "program.h"
#include "../skeleton.h"

enum {
	TRY_SECONDS_MAX = 8,
};

static struct fl_server *program; /* of the current configuration */
static struct config program_config;

static void program_load_for(const struct config *config, fl_u64 now, fl_u64 lead)
{
	struct config shifted = *config;

	/* After `lead` seconds the program's clock will show `now`. */
	shifted.program.clock_offset = ((fl_u64)time(NULL) - now + lead) * 1000000000;
	if (program)
		program_close(program);
	program = rig_load(&shifted);
	program_config = *config;
}

static bool is_loaded_for(const struct config *config)
{
	return program && program_config.program.window == config->program.window &&
	       program_config.program.chaining == config->program.chaining &&
	       fl_address_equal(&program_config.program.self, &config->program.self) &&
	       fl_address_equal(&program_config.program.self6, &config->program.self6);
}

/* Has a program whose clock shows now; it may advance to the next second at any time. */
static void program_at(const struct config *config, fl_u64 now)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	fl_u64 lead = 1;

	if (is_loaded_for(config) && rig_clock(program) == now)
		return;
	program_load_for(config, now, lead);
	while (rig_clock(program) != now) {
		/* Not there yet (below zero wraps to the far end), or the loading took longer than the lead. */
		if ((long long)(rig_clock(program) - now) > 0 && rig_clock(program) - now < 3600) {
			if (++lead > TRY_SECONDS_MAX)
				fail_msg("loading the program takes longer than %d s", TRY_SECONDS_MAX);
			program_load_for(config, now, lead);
		}
		nanosleep(&pause, NULL);
	}
}

static bool memory_is_zero(const struct fl_bucket_memory *memory)
{
	static const struct fl_bucket_memory zero;

	return !memcmp(memory, &zero, sizeof(zero));
}

/* Action, counter and packet. */
static void check_exit(const json_t *row, const struct packet *before, const struct packet *after, size_t inner_at,
		       int action)
{
	assert_int_equal(rig_counter_bumped(program), row_counter(row));
	switch (verdict_row_verdict(vectors_get(row_last(row), "out"))) {
	case FL_VERDICT_DELIVER:
		assert_int_equal(action, XDP_PASS);
		assert_int_equal(after->len, PACKET_ETH_LEN + before->len - inner_at);
		assert_memory_equal(after->data, before->data, 12);
		assert_int_equal(fl_load_be16(after->data + 12), 0x0800);
		assert_memory_equal(after->data + PACKET_ETH_LEN, before->data + inner_at, before->len - inner_at);
		break;
	case FL_VERDICT_CHAIN:
	case FL_VERDICT_PASS:
		assert_int_equal(action, XDP_TX);
		row_check_chained(row, before, inner_at, after);
		break;
	default:
		assert_int_equal(action, XDP_DROP);
		assert_int_equal(after->len, before->len);
		assert_memory_equal(after->data, before->data, before->len);
	}
}

/* Sets what is remembered of the bucket, or forgets it. */
static void memory_set(fl_u32 bucket, const json_t *in)
{
	struct fl_bucket_memory memory = verdict_row_memory(in);

	rig_memory_set_of(program, bucket, memory_is_zero(&memory) ? NULL : &memory);
}

static bool run_once(const json_t *row, const struct row_inner *inner)
{
	static const struct fl_load_setting busy = {.busy = 1, .threshold = 1, .policy = FL_LOAD_STATIC};
	const json_t *in = vectors_get(row, "in");
	struct config config = row_config(row);
	struct fl_address remembered = verdict_row_memory(in).previous;
	bool is_promoted = row_is_promoted(row);
	fl_u64 now = vectors_number(in, "now"), learned, promoted;
	struct fl_bucket_memory memory;
	struct packet before, after;
	size_t inner_at = row_packet(&before, row, RIG_SERVICE, inner);
	int action;

	after = before;
	program_at(&config, now);
	memory_set(RIG_BUCKET, in);
	if (is_promoted)
		memory_set(row_second_bucket(row), vectors_get(row_last(row), "in"));
	rig_removed_set(program, &remembered, verdict_row_removed(in));
	rig_generation_set(program, (fl_u32)vectors_number(in, "generationSeen"));
	rig_load_set(program, verdict_row_class(in) == FL_PACKET_REFUSED ? &busy : NULL);
	learned = rig_counter(program, FL_COUNTER_LEARNED);
	promoted = rig_counter(program, FL_COUNTER_PROMOTED);
	action = rig_run(program, &after);
	rig_removed_set(program, &remembered, 0);
	if (rig_clock(program) != now)
		return false;
	check_exit(row, &before, &after, inner_at, action);
	row_check_state(row, rig_generation_get(program), rig_counter(program, FL_COUNTER_LEARNED) - learned,
			rig_memory_get(program, &memory) ? &memory : NULL);
	assert_int_equal(rig_counter(program, FL_COUNTER_PROMOTED) - promoted, is_promoted);
	if (is_promoted)
		row_check_second(row, rig_memory_get_of(program, row_second_bucket(row), &memory) ? &memory : NULL);
	return true;
}

int main(int argc, char **argv)
{
	int failed;

	rig_open();
	failed = rows_run("verdict by the XDP program", argc > 1 ? argv[1] : ".", 0, run_once);
	if (program)
		program_close(program);
	return failed;
}
