// SPDX-License-Identifier: Apache-2.0
/*
 * Every row of verdict.json against the module, with real sockets and packets on a real wire: the row's memory and
 * generation are restored, the machine's clock is set to its second, its packet is sent, and counter, packet, memory
 * and generation must be the row's. Each run has its own service, so that no row sees another's memory.
 *
 * A machine's clock cannot be set before its start: rows of the first seconds of 1970 are moved to the day after.
 */
#include <string.h>

#include <fairlead/notice.h>

#include "row.h"
#include "stand.h"

enum {
	EARLIEST = 86400,
};

static fl_u16 service; /* of the current run */
static struct config current;

static void configure(const json_t *row)
{
	struct config config = row_config(row);

	if (memcmp(&config.program, &current.program, sizeof(config.program))) {
		stand_clock_set(
		    EARLIEST); /* ip counts from the clock, and never returns in the last second of 32 bits */
		stand_set(&config);
	}
	current = config;
}

static void check_exit(const json_t *row, const struct packet *sent, size_t inner_at, enum fl_counter counter)
{
	enum fl_verdict verdict = verdict_row_verdict(vectors_get(row_last(row), "out"));
	struct packet chained;

	assert_int_equal(counter, row_counter(row));
	if (verdict == FL_VERDICT_DELIVER) {
		stand_expect_delivered(sent->data + inner_at, sent->len - inner_at);
	} else if (verdict == FL_VERDICT_CHAIN || verdict == FL_VERDICT_PASS) {
		stand_expect_chained(&chained);
		row_check_chained(row, sent, inner_at, &chained);
	}
}

static void restore_memory(const json_t *in, const struct fl_memory_key *key)
{
	static const struct fl_bucket_memory none;
	struct fl_bucket_memory memory = verdict_row_memory(in);

	if (memcmp(&memory, &none, sizeof(none)))
		assert_int_equal(module_restore_memory(stand_client(), key, &memory), 0);
}

/* A notice names the server that the row's bucket came from as removed; that generation has been seen. */
static void teach_removal(const json_t *in)
{
	struct fl_address mux = packet_address(RIG_MUX), self = packet_address(RIG_SELF);
	struct fl_steer steer = {.flags = FL_STEER_MOVED,
				 .service = service,
				 .generation = verdict_row_removed(in),
				 .since = 1,
				 .previous = verdict_row_memory(in).previous};
	const fl_u32 removal = FL_STEER_BUCKET_NONE;
	fl_u8 bytes[FL_NOTICE_MAX_LEN];
	struct packet packet;

	if (!steer.generation)
		return;
	assert_true(steer.generation <= vectors_number(in, "generationSeen"));
	packet_begin_outer(&packet, &mux, &self, FL_GUE_PORT);
	packet_add_bytes(&packet, bytes, fl_notice_write(&steer, &removal, 1, NULL, bytes));
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_NOTICE);
	assert_int_equal(stand_learned(), 1);
}

static void restore_generation(const json_t *in)
{
	fl_u32 generation = (fl_u32)vectors_number(in, "generationSeen");

	if (generation)
		assert_int_equal(module_restore_service(stand_client(), service, generation), 0);
}

/* The service of a row whose SYN is refused is busy. */
static void restore_load(const json_t *in)
{
	static const struct fl_load_setting busy = {
	    .until_ns = UINT64_MAX, .busy = 1, .threshold = 1, .window = 50, .policy = FL_LOAD_STATIC};

	if (verdict_row_class(in) == FL_PACKET_REFUSED)
		assert_int_equal(module_set_load(stand_client(), service, &busy), 0);
}

static bool run_once(const json_t *row, const struct row_inner *inner)
{
	struct fl_memory_key key = {.service = ++service, .bucket = RIG_BUCKET}, second = {.service = service};
	bool is_promoted = row_is_promoted(row);
	fl_u64 now = vectors_number(vectors_get(row, "in"), "now");
	struct fl_bucket_memory memory;
	enum fl_counter counter;
	struct packet packet;
	size_t inner_at;

	configure(row);
	inner_at = row_packet(&packet, row, service, inner);
	restore_memory(vectors_get(row, "in"), &key);
	teach_removal(vectors_get(row, "in"));
	restore_generation(vectors_get(row, "in"));
	restore_load(vectors_get(row, "in"));
	if (is_promoted) {
		second.bucket = row_second_bucket(row);
		restore_memory(vectors_get(row_last(row), "in"), &second);
	}
	stand_clock_set(now);
	counter = stand_send(&packet);
	if (stand_clock() != now)
		return false;
	check_exit(row, &packet, inner_at, counter);
	row_check_state(row, stand_generation(service), stand_learned(), stand_memory(&key, &memory) ? &memory : NULL);
	if (is_promoted)
		row_check_second(row, stand_memory(&second, &memory) ? &memory : NULL);
	return true;
}

int main(int argc, char **argv)
{
	stand_open();
	return rows_run("verdict by the module", argc > 1 ? argv[1] : ".", EARLIEST, run_once);
}
