// SPDX-License-Identifier: Apache-2.0
/*
 * notice.json against the XDP program: a notice teaches what one packet of each of its buckets would, and nothing if
 * its tag or its form is wrong; it never goes on to the stack.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "notice_row.h"
#include "program.h"
#include "../skeleton.h"

static struct fl_server *with_key, *without_key;
static struct config config;

static bool remembered(struct fl_server *program, fl_u16 service, fl_u32 bucket, struct fl_bucket_memory *memory)
{
	struct fl_memory_key key = {.service = service, .bucket = bucket};

	return !bpf_map_lookup_elem(bpf_map__fd(program->maps.memory), &key, memory);
}

static size_t entries(struct fl_server *program)
{
	struct fl_memory_key key, *previous = NULL;
	size_t n = 0;

	while (!bpf_map_get_next_key(bpf_map__fd(program->maps.memory), previous, &key)) {
		previous = &key;
		n++;
	}
	return n;
}

static fl_u32 *slot_of(fl_u16 service)
{
	static fl_u32 slot;

	slot = service;
	return &slot;
}

static void forget(struct fl_server *program, fl_u16 service)
{
	int map = bpf_map__fd(program->maps.memory);
	struct fl_memory_key key, next;
	bool has_key = !bpf_map_get_next_key(map, NULL, &key), has_next;
	fl_u32 none = 0;

	/* A search without a key, or from one that is gone, begins at the first of a million slots. */
	for (; has_key; key = next, has_key = has_next) {
		has_next = !bpf_map_get_next_key(map, &key, &next);
		assert_int_equal(bpf_map_delete_elem(map, &key), 0);
	}
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(program->maps.generations), slot_of(service), &none, BPF_ANY),
			 0);
}

static fl_u32 generation(struct fl_server *program, fl_u16 service)
{
	fl_u32 seen;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(program->maps.generations), slot_of(service), &seen), 0);
	return seen;
}

static void check_taught(struct fl_server *program, const struct notice_row_taught *taught)
{
	static const struct fl_bucket_memory nothing;
	struct fl_bucket_memory memory;
	size_t i, expected = taught->removed;

	assert_int_equal(generation(program, taught->service), taught->generation);
	for (i = 0; i < taught->count; i++) {
		const struct notice_row_move *move = &taught->moves[i];

		if (!remembered(program, taught->service, move->bucket, &memory))
			memory = nothing;
		assert_memory_equal(&memory, &move->memory, sizeof(memory));
		expected += memcmp(&memory, &nothing, sizeof(memory)) != 0;
	}
	assert_int_equal(entries(program), expected);
}

/* False if the clock moved on meanwhile. */
static bool teach(const json_t *row, enum rig_family family, size_t padding)
{
	struct packet packet = notice_row_packet(row, family, padding), whole = packet;
	fl_u64 learned = rig_counter(without_key, FL_COUNTER_LEARNED), now = rig_clock(without_key);
	struct notice_row_taught taught;

	notice_row_teach(row, &config, now, &taught);
	forget(without_key, taught.service);
	assert_int_equal(rig_run(without_key, &packet), XDP_DROP);
	if (rig_clock(without_key) != now)
		return false;
	rig_check_counted(without_key, FL_COUNTER_NOTICE);
	assert_int_equal(packet.len, whole.len);
	assert_memory_equal(packet.data, whole.data, whole.len);
	assert_int_equal(rig_counter(without_key, FL_COUNTER_LEARNED) - learned, taught.learned);
	check_taught(without_key, &taught);
	return true;
}

static void valid(void **state)
{
	enum rig_family family;

	for (family = RIG_IPV4; family < RIG_FAMILIES; family++)
		while (!teach(*state, family, 0) || !teach(*state, family, 18))
			;
}

/* Again, and then an older one: nothing is news. */
static void twice(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0), again = packet;
	fl_u64 learned;

	(void)rig_run(without_key, &packet);
	learned = rig_counter(without_key, FL_COUNTER_LEARNED);
	assert_int_equal(rig_run(without_key, &again), XDP_DROP);
	rig_check_counted(without_key, FL_COUNTER_NOTICE);
	/* What claims to be of the future may be news a second later. */
	if (vectors_is_null(vectors_get(*state, "fields"), "since") ||
	    vectors_number(vectors_get(*state, "fields"), "since") < rig_clock(without_key))
		assert_int_equal(rig_counter(without_key, FL_COUNTER_LEARNED), learned);
}

static void malformed(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0), whole = packet;
	enum fl_counter counter = notice_row_malformed(*state);
	fl_u64 notices = rig_counter(without_key, FL_COUNTER_NOTICE);

	forget(without_key, RIG_SERVICE);
	assert_int_equal(rig_run(without_key, &packet), XDP_DROP);
	if (counter != FL_COUNTERS) {
		rig_check_counted(without_key, counter);
		assert_int_equal(entries(without_key), 0);
		assert_int_equal(generation(without_key, RIG_SERVICE), 0);
	}
	assert_int_equal(rig_counter(without_key, FL_COUNTER_NOTICE), notices);
	assert_memory_equal(packet.data, whole.data, whole.len);
}

static void tagged(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0);
	enum fl_counter counter = notice_row_tagged(*state);

	forget(with_key, RIG_SERVICE);
	assert_int_equal(rig_run(with_key, &packet), XDP_DROP);
	rig_check_counted(with_key, counter);
	if (counter == FL_COUNTER_NOTICE)
		assert_int_equal(generation(with_key, RIG_SERVICE), RIG_GENERATION);
	else
		assert_true(!entries(with_key) && !generation(with_key, RIG_SERVICE));
}

/* A frame, or a packet, that ends within a notice teaches nothing. */
static void cut(void **state)
{
	struct packet whole = notice_row_packet(*state, RIG_IPV4, 0), packet;
	size_t payload_at = whole.len - 2 * FL_NOTICE_BUCKET_LEN, len;

	forget(without_key, RIG_SERVICE);
	for (len = PACKET_GUE_AT; len < whole.len; len++) {
		packet = whole;
		packet.len = len;
		(void)rig_run(without_key, &packet);
		rig_check_counted(without_key, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
		if (len == payload_at + FL_NOTICE_BUCKET_LEN)
			continue; /* a notice of one bucket */
		packet = whole;
		packet.len = len;
		packet_finish_outer(&packet);
		(void)rig_run(without_key, &packet);
		rig_check_counted(without_key, len < payload_at ? FL_COUNTER_DROP_MALFORMED_TRUNCATED
								: FL_COUNTER_DROP_MALFORMED_NOTICE);
	}
	assert_int_equal(entries(without_key), 0);
}

static void stranger(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0);
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	forget(without_key, RIG_SERVICE);
	fl_store_be32(ip + 12, 0xc0000201);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	assert_int_equal(rig_run(without_key, &packet), XDP_DROP);
	rig_check_counted(without_key, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	assert_true(!entries(without_key) && !generation(without_key, RIG_SERVICE));
}

static const json_t *row_of(const json_t *file, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(vectors_list(file, "valid"), i,
			   row) if (!strcmp(vectors_text(row, "name"), name)) return row;
	fail_msg("notice.json has no row '%s'", name);
	return NULL;
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "notice.json");
	struct vectors_tests tests = {NULL, 0};
	const json_t *two = row_of(file, "2 buckets");
	int failed;

	rig_open();
	config = rig_config_both();
	without_key = rig_load(&config);
	config.program.tagged = 1;
	config.program.tag_key = vectors_key(file, "key");
	with_key = rig_load(&config);
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "valid", twice);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "tags", tagged);
	vectors_add_plain(&tests, "a notice that is cut", cut, (void *)(uintptr_t)two);
	vectors_add_plain(&tests, "a stranger's notice", stranger, (void *)(uintptr_t)two);
	failed = vectors_run("notices by the XDP program", &tests);
	program_close(with_key);
	program_close(without_key);
	json_decref(file);
	return failed;
}
