/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that name lists of former owners, as the control thread stores them: after snapshots and deltas, while windows end,
 * and when a window or an address changes, or a hold begins or ends. Each is checked against the image, bucket by bucket.
 */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/tables.h"
#include "image.h"

enum {
	BUCKETS = 4096, /* several blocks that are looked at together */
	BACKENDS = 30,
	NOW = 1700000000,
	WINDOW = 240,
	STEPS = 2000,
};

/* A bucket: who owns it, and who did, newest first. */
struct plain {
	uint16_t current;
	uint32_t count;
	uint16_t owner[HISTORY_MAX + 1];
	uint32_t since[HISTORY_MAX + 1];
};

struct world {
	struct tables *tables;
	struct service *service;
	struct service_config config;
	struct plain image[BUCKETS];
	struct fl_delta_backend backends[BACKENDS]; /* of id 1, 2, ... */
	uint32_t generation, now;
	uint32_t seen;   /* the latest time that the tables were told */
	uint32_t closed; /* by all generations */
	bool is_held;    /* from the next generation on */
	bool was_held;   /* by the present one */
};

static void drop(struct plain *plain, uint32_t at)
{
	plain->count--;
	for (uint32_t i = at; i < plain->count; i++) {
		plain->owner[i] = plain->owner[i + 1];
		plain->since[i] = plain->since[i + 1];
	}
}

/* 0: all. */
static void drop_owner(struct plain *plain, uint16_t owner)
{
	for (uint32_t i = plain->count; i-- > 0;)
		if (!owner || plain->owner[i] == owner)
			drop(plain, i);
}

static bool has(const struct plain *plain, uint16_t owner)
{
	for (uint32_t i = 0; i < plain->count; i++)
		if (plain->owner[i] == owner)
			return true;
	return false;
}

static void push(struct plain *plain, uint16_t owner, uint32_t since)
{
	for (uint32_t i = plain->count++; i > 0; i--) {
		plain->owner[i] = plain->owner[i - 1];
		plain->since[i] = plain->since[i - 1];
	}
	plain->owner[0] = owner;
	plain->since[0] = since;
}

static void go_to(struct plain *plain, uint16_t owner, uint32_t now)
{
	const uint16_t before = plain->current;

	if (before == owner)
		return;
	drop_owner(plain, owner);
	if (before)
		push(plain, before, now);
	plain->current = owner;
}

/* Up to six former owners, of which some are unknown to the ring. */
static void random_bucket(struct plain *plain, struct chance *chance)
{
	uint32_t count = chance_below(chance, HISTORY_MAX + 1), since = NOW - 2 * WINDOW;

	*plain = (struct plain){.current = (uint16_t)(1 + chance_below(chance, BACKENDS))};
	for (uint32_t i = 0; i < count; i++) {
		uint16_t owner = (uint16_t)(1 + chance_below(chance, BACKENDS + 2));

		since += chance_below(chance, 2 * WINDOW / HISTORY_MAX);
		if (owner != plain->current && !has(plain, owner))
			push(plain, owner, since);
	}
}

static struct delta snapshot_of(const struct world *w)
{
	struct delta snapshot = image_snapshot(1, w->generation, BUCKETS, BACKENDS);

	memcpy(snapshot.backends, w->backends, sizeof(w->backends));
	snapshot.image.closed_until = w->was_held ? 0 : w->closed;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct history history = {.count = 0};
		uint32_t number;

		for (uint32_t n = 0; n < w->image[i].count; n++)
			history_append(&history, w->image[i].owner[n], w->image[i].since[n]);
		if (histories_add(&snapshot.image.histories, &history, &number))
			abort();
		image_put(&snapshot.image, i, w->image[i].current, number);
	}
	return snapshot;
}

static void reload(struct world *w)
{
	struct delta snapshot = snapshot_of(w);
	struct reason why = {{0}};

	if (tables_load(w->tables, w->service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
}

static void world_new(struct world *w, struct chance *chance)
{
	struct reason why = {{0}};

	*w = (struct world){.tables = tables_new(1, &image_hops),
			    .config = image_config(1, "10.99.0.1", BUCKETS),
			    .generation = 9,
			    .now = NOW,
			    .closed = 1};
	for (uint16_t i = 0; i < BACKENDS; i++) {
		w->backends[i].id = (uint16_t)(i + 1);
		w->backends[i].address = image_address(i % 3 ? "10.1.0.0" : "2001:db8:1::");
		w->backends[i].address.bytes[15] = (uint8_t)(i + 1);
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		random_bucket(&w->image[i], chance);
	if (tables_add(w->tables, &w->config, &w->service, &why))
		fail_msg("%s", why.text);
	reload(w);
}

static void tell_time(struct world *w)
{
	tables_close_windows(w->tables, w->now);
	w->seen = w->now > w->seen ? w->now : w->seen;
}

static void world_free(struct world *w)
{
	tables_free(w->tables);
}

static const struct fl_address *address_of(const struct world *w, uint16_t id)
{
	return id >= 1 && id <= BACKENDS ? &w->backends[id - 1].address : NULL;
}

/* The list that a bucket's packets are to have now. */
static uint32_t list_of(const struct world *w, const struct plain *plain, const struct fl_address *list[FL_LIST_MAX])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plain->count; i++)
		if (address_of(w, plain->owner[i]) && (w->was_held || w->seen < plain->since[i] + w->config.window))
			list[count++] = address_of(w, plain->owner[i]);
	return count;
}

static void check_image(const struct image *image, const struct plain *plain, uint32_t bucket)
{
	const struct history *history = histories_get(&image->histories, image->history[bucket]);

	assert_int_equal(image->current[bucket], plain->current);
	assert_int_equal(history->count, plain->count);
	for (uint32_t i = 0; i < plain->count; i++) {
		assert_int_equal(history->owner[i], plain->owner[i]);
		assert_int_equal(history->since[i], plain->since[i]);
	}
}

/* How many former owners its row names. */
static uint32_t check_bucket(const struct world *w, uint32_t bucket)
{
	const struct ring *ring = service_ring(w->service);
	const struct plain *plain = &w->image[bucket];
	const fl_row row = ring_row(ring, bucket);
	const struct fl_address *list[FL_LIST_MAX];
	const uint32_t count = list_of(w, plain, list);
	bool is_long = !fl_address_is_ipv4(address_of(w, plain->current));
	const uint8_t *addresses;
	uint32_t size;

	check_image(&ring->image, plain, bucket);
	assert_int_equal(fl_row_current(row), plain->current);
	assert_int_equal(lists_count(row), count);
	if (!count)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		is_long |= !fl_address_is_ipv4(list[i]);
	assert_int_equal(lists_flags(row), count << 4 | (is_long ? (unsigned)FL_LIST_IPV6 : 0U));
	addresses = lists_addresses(w->tables->lists->cells, row);
	size = is_long ? LISTS_IPV6_LEN : LISTS_IPV4_LEN;
	for (uint32_t i = 0; i < count; i++)
		assert_memory_equal(addresses + i * size, list[i]->bytes + 16 - size, size);
	return count;
}

static void check(const struct world *w, uint32_t lengths[FL_LIST_MAX + 1])
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		lengths[check_bucket(w, i)]++;
}

static void close_until(struct world *w, struct delta *delta, uint32_t until)
{
	w->closed = until > w->closed ? until : w->closed;
	delta->closed_until = w->closed;
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (uint32_t n = w->image[i].count; n-- > 0;)
			if (w->image[i].since[n] <= w->closed)
				drop(&w->image[i], n);
}

/* A delta that is filled bucket by bucket, in ascending order. */
static struct delta delta_new(struct world *w)
{
	struct delta delta = {.service = 1,
			      .generation = w->generation + 1,
			      .base = w->generation,
			      .buckets = BUCKETS,
			      .committed = w->now,
			      .runs = calloc(BUCKETS, sizeof(*delta.runs)),
			      .releases = calloc(BUCKETS, sizeof(*delta.releases)),
			      .backends = calloc(1, sizeof(*delta.backends))};

	assert_true(delta.runs && delta.releases && delta.backends);
	if (!w->is_held)
		close_until(w, &delta, w->closed);
	return delta;
}

/* Applies it to the tables; the caller does it to the plain image. */
static void apply(struct world *w, struct delta *delta)
{
	struct reason why = {{0}};

	if (tables_apply(w->tables, w->service, delta, NULL, &why))
		fail_msg("%s", why.text);
	w->generation = delta->generation;
	w->was_held = w->is_held;
	image_free(delta);
}

/* Now and then a bucket releases one former owner, or all; a full history that may get longer its oldest. */
static void release(struct delta *delta, struct plain *plain, uint32_t bucket, struct chance *chance)
{
	uint16_t owner = 0;

	if (plain->count == HISTORY_MAX)
		owner = plain->owner[HISTORY_MAX - 1];
	else if (chance_below(chance, 50))
		return;
	else if (plain->count && chance_below(chance, 8))
		owner = plain->owner[chance_below(chance, plain->count)];
	drop_owner(plain, owner);
	delta->releases[delta->releases_count++] = (struct fl_delta_release){bucket, 1, owner};
}

/* The order of protocol/README.md, 5: what is closed goes, then what is released, then the bucket moves. */
static void move_bucket(struct world *w, struct delta *delta, uint32_t bucket, uint16_t to, struct chance *chance)
{
	struct plain *plain = &w->image[bucket];

	release(delta, plain, bucket, chance);
	go_to(plain, to, w->now);
	delta->runs[delta->runs_count++] = (struct fl_delta_run){bucket, 1, to, 0};
}

/* A run of buckets goes to a backend, and some deltas close. */
static void move(struct world *w, struct chance *chance)
{
	uint32_t start = chance_below(chance, BUCKETS), most = BUCKETS - start, count = 1 + chance_below(chance, most);
	uint16_t to = (uint16_t)(1 + chance_below(chance, BACKENDS));
	struct delta delta = delta_new(w);

	if (!w->is_held && !chance_below(chance, 20))
		close_until(w, &delta, w->now - w->config.window - chance_below(chance, 100));
	count = chance_below(chance, 4) ? 1 : count;
	for (uint32_t i = start; i < start + count; i++)
		move_bucket(w, &delta, i, to, chance);
	apply(w, &delta);
}

/* A backend is removed: others get its buckets. If it is dead, no history names it any more. */
static void leave(struct world *w, struct chance *chance)
{
	const uint16_t id = (uint16_t)(1 + chance_below(chance, BACKENDS));
	const bool is_dead = chance_below(chance, 2);
	struct delta delta = delta_new(w);

	for (uint32_t i = 0; i < BUCKETS; i++)
		if (w->image[i].current == id)
			move_bucket(w, &delta, i, (uint16_t)(id % BACKENDS + 1), chance);
	for (uint32_t i = 0; is_dead && i < BUCKETS; i++)
		drop_owner(&w->image[i], id);
	w->backends[id - 1].flags = FL_BACKEND_REMOVED;
	delta.backends_count = 1;
	delta.backends[0] = w->backends[id - 1];
	delta.backends[0].flags |= is_dead ? (unsigned)FL_BACKEND_DEAD : 0U;
	apply(w, &delta);
}

/* A backend gets another address, and so the lists that name it. */
static void readdress(struct world *w, struct chance *chance)
{
	struct fl_delta_backend *backend = &w->backends[chance_below(chance, BACKENDS)];
	struct delta delta = delta_new(w);

	backend->flags = 0;
	backend->address = image_address(chance_below(chance, 2) ? "10.2.0.0" : "2001:db8:2::");
	backend->address.bytes[15] = (uint8_t)(100 + chance_below(chance, 100));
	delta.backends_count = 1;
	delta.backends[0] = *backend;
	apply(w, &delta);
}

static void reconfigure(struct world *w, struct chance *chance)
{
	struct reason why = {{0}};

	w->config.window = 60 + chance_below(chance, 2 * WINDOW);
	w->is_held = !chance_below(chance, 3);
	if (tables_change(w->tables, w->service, &w->config, &why))
		fail_msg("%s", why.text);
}

/* Seconds pass; now and then it is told a lower time than before. */
static void pass(struct world *w, struct chance *chance)
{
	if (chance_below(chance, 50))
		w->now += chance_below(chance, 20);
	else
		w->now -= chance_below(chance, 20);
}

static void rows_follow_the_image_and_the_clock(void **state)
{
	static const uint64_t seeds[] = {1, 20261129};

	(void)state;
	for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
		struct chance chance = {seeds[s]};
		uint32_t lengths[FL_LIST_MAX + 1] = {0};
		struct world w;

		world_new(&w, &chance);
		check(&w, lengths); /* no time is known yet: no window is over */
		tell_time(&w);
		for (int step = 0; step < STEPS; step++) {
			switch (chance_below(&chance, 13)) {
			case 0:
				readdress(&w, &chance);
				break;
			case 1:
				reconfigure(&w, &chance);
				break;
			case 2:
				reload(&w);
				break;
			case 3:
			case 4:
			case 5:
				pass(&w, &chance);
				tell_time(&w);
				break;
			case 6:
				leave(&w, &chance);
				break;
			default:
				move(&w, &chance);
			}
			if (step % 10 == 0)
				check(&w, lengths);
		}
		for (int n = 0; n <= FL_LIST_MAX; n++)
			assert_true(lengths[n] > 1000);
		world_free(&w);
	}
}

/* Lists that no ring names leave the table: of a removed service, and of a ring that was replaced. */
static void rings_give_their_lists_back(void **state)
{
	struct chance chance = {4};
	struct world w;

	(void)state;
	world_new(&w, &chance);
	assert_true(w.tables->lists->used > 0);
	for (int i = 0; i < 100; i++) {
		move(&w, &chance);
		reload(&w);
	}
	tables_remove(w.tables, w.service);
	tables_close_windows(w.tables, w.now);
	assert_int_equal(w.tables->lists->used, 0);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_follow_the_image_and_the_clock),
	    cmocka_unit_test(rings_give_their_lists_back),
	};

	return cmocka_run_group_tests_name("listed", tests, NULL, NULL);
}
