/* SPDX-License-Identifier: Apache-2.0 */
#include "notices_world.h"

#include <stdlib.h>
#include <string.h>

#include "encap/encap.h"
#include "service/peers.h"

static uint64_t now_ms(void *clock)
{
	return ((struct world *)clock)->now_ms;
}

uint32_t world_now(void *clock)
{
	return UNIX + (uint32_t)((((struct world *)clock)->now_ms - START_MS) / 1000);
}

static void check_tag(const struct world *w, const uint8_t *bytes, uint32_t len, const struct fl_notice *notice)
{
	struct fl_tag_message message = {{0}};

	assert_int_equal(!!(notice->steer.flags & FL_STEER_TAG), w->key != NULL);
	if (!w->key)
		return;
	assert_true(fl_notice_message(w->key, bytes, bytes + len, notice, &message));
	assert_true(fl_tag_load(notice->steer.tag) == fl_tag(w->key, &message));
}

static int sink(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct world *w = context;
	struct packet_seen *seen = &w->seen[w->seen_count];
	uint32_t bucket = 0;

	if (w->error)
		return w->error;
	assert_true(w->seen_count < PACKETS_MAX);
	assert_true(len + 40 + 8 <= 1280);
	assert_int_equal(fl_notice_parse(bytes, bytes + len, len, &seen->notice), FL_STEER_OK);
	check_tag(w, bytes, len, &seen->notice);
	for (uint32_t i = 0; fl_notice_bucket(bytes, bytes + len, &seen->notice, i, &bucket); i++) {
		if (!i)
			seen->first = bucket;
		if (!fl_notice_is_removal(bucket))
			w->told[bucket]++;
	}
	seen->to = *to;
	seen->at_ms = w->now_ms;
	w->seen_count++;
	return 0;
}

struct fl_address world_address(uint16_t id)
{
	uint8_t bytes[4] = {10, 1, 0, (uint8_t)(20 + id)};

	return fl_address_from_ipv4(bytes);
}

/* A ring that is loaded and whose buckets all moved `age` seconds ago, from 1 behind their owner. */
struct world *world_open_held(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key,
			      const struct encap *encap, uint32_t hold)
{
	struct world *w = calloc(1, sizeof(*w));
	struct service_config config = image_config(SERVICE, "10.99.0.1", buckets);
	struct notices_options options = {
	    .tag_key = key, .sink = {w, sink}, .now_ms = now_ms, .now = world_now, .clock = w};
	struct fl_address self = image_address("10.1.0.11"), none = {{0}};
	struct fl_siphash_key seed = {1, 2};
	struct reason why = {{0}};

	assert_non_null(w);
	w->now_ms = START_MS;
	w->key = key;
	w->seen = calloc(PACKETS_MAX, sizeof(*w->seen));
	w->told = calloc(buckets, sizeof(*w->told));
	w->tables = tables_new(1, &image_hops);
	assert_true(w->seen && w->told && w->tables);
	assert_int_equal(tables_set_self(w->tables, &self, &none, &seed), 0);
	if (encap)
		config.encap = encap;
	config.hold = hold;
	assert_int_equal(tables_add(w->tables, &config, &w->service, &why), 0);
	w->image = image_snapshot(SERVICE, 7, buckets, BACKENDS);
	for (uint32_t i = 0; i < buckets; i++) {
		image_was(&w->image, i, w->image.image.current[i] % BACKENDS + 1, UNIX - age);
	}
	options.tables = w->tables;
	w->notices = notices_new(&options);
	assert_non_null(w->notices);
	notices_before(w->notices, w->service, &w->image, false);
	assert_int_equal(w->seen_count, 0); /* nobody loses a bucket by a first ring */
	assert_int_equal(tables_load(w->tables, w->service, &w->image, &why), 0);
	return w;
}

struct world *world_open(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key, const struct encap *encap)
{
	return world_open_held(buckets, age, key, encap, 0);
}

void world_close(struct world *w)
{
	notices_free(w->notices);
	tables_remove(w->tables, w->service);
	tables_free(w->tables);
	image_free(&w->image);
	free(w->seen);
	free(w->told);
	free(w);
}

/* Gives buckets to a backend: what servers are told before, then the change. */
void world_move(struct world *w, uint32_t start, uint32_t count, uint16_t to)
{
	uint32_t generation = ring_generation(service_ring(w->service)) + 1;
	struct delta delta = image_move(&w->image, generation, start, count, to, world_now(w));
	struct reason why = {{0}};

	notices_before(w->notices, w->service, &delta, false);
	assert_int_equal(tables_apply(w->tables, w->service, &delta, &why), 0);
	image_free(&delta);
}

/* Lets time pass as the control thread does: it wakes at deadlines. */
void world_pass(struct world *w, uint64_t ms)
{
	uint64_t end = w->now_ms + ms;

	while (w->now_ms < end) {
		uint64_t at = notices_deadline(w->notices);

		assert_true(at > w->now_ms || w->seen_count < PACKETS_MAX);
		w->now_ms = at < w->now_ms + 1 ? w->now_ms + 1 : at < end ? at : end;
		notices_run(w->notices);
	}
}

/* Packets to an id from this index on; *moves is how many buckets they tell. */
uint32_t world_packets_to(const struct world *w, uint32_t from, uint16_t id, uint32_t *moves)
{
	struct fl_address address = world_address(id);
	uint32_t count = 0;

	*moves = 0;
	for (; from < w->seen_count; from++) {
		if (!fl_address_equal(&w->seen[from].to, &address))
			continue;
		count++;
		*moves += w->seen[from].notice.count;
	}
	return count;
}
