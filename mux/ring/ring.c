/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/backend.h"
#include "ring/fold.h"
#include "ring/huge.h"
#include "ring/lists.h"

enum {
	ROWS_AHEAD = 16,
	BLOCK = 512, /* buckets that are looked at together */
};

static uint32_t blocks_of(uint32_t buckets)
{
	return (buckets + BLOCK - 1) / BLOCK;
}

static struct listed *listed_new(struct lists *lists, uint32_t buckets, const struct ring_rule *rule)
{
	struct listed *listed = calloc(1, sizeof(*listed) + blocks_of(buckets) * sizeof(*listed->oldest));

	if (!listed)
		return NULL;
	listed->lists = lists;
	listed->rule = *rule;
	listed->is_held = true;
	for (uint32_t i = 0; i < blocks_of(buckets); i++)
		listed->oldest[i] = UINT32_MAX;
	return listed;
}

static void listed_free(struct listed *listed, struct ring *ring)
{
	if (!listed)
		return;
	for (uint32_t i = 0; i < ring_buckets(ring); i++)
		lists_drop(listed->lists, ring->rows[i]);
	free(listed);
}

static bool is_over(const struct listed *listed, uint32_t since)
{
	return !listed->is_held && (uint64_t)listed->lists->now >= (uint64_t)since + listed->rule.window;
}

/* A foreign end-point passes nothing on, so one alone can be named, as the last. */
static void add_foreign(struct ring_former *former, const struct history *foreign, uint32_t most)
{
	former->has_foreign = foreign->count && former->history.count < most;
	former->is_cut |= foreign->count > former->has_foreign;
	if (former->has_foreign)
		history_append(&former->history, foreign->owner[0], foreign->since[0]);
}

struct ring_former ring_former(const struct ring *ring, uint32_t bucket)
{
	const struct history *history = histories_get(&ring->image.histories, ring->image.history[bucket]);
	const uint32_t most = ring->listed->rule.most;
	struct ring_former former = {.is_cut = false};
	struct history foreign = {.count = 0};

	for (uint32_t i = 0; i < history->count; i++) {
		const struct backend *backend = backends_get(ring->backends, history->owner[i]);

		if (!backend || is_over(ring->listed, history->since[i]))
			continue;
		if (backend->foreign)
			history_append(&foreign, history->owner[i], history->since[i]);
		else if (former.history.count < most)
			history_append(&former.history, history->owner[i], history->since[i]);
		else
			former.is_cut = true;
	}
	add_foreign(&former, &foreign, most);
	return former;
}

/* The row of a bucket that has a history. oldest: lowered to the earliest `since` that it names. */
static fl_row row_of(struct ring *ring, uint32_t bucket, uint32_t *oldest)
{
	const struct ring_former former = ring_former(ring, bucket);
	const uint16_t owner = ring->image.current[bucket];
	const struct backend *backend = backends_get(ring->backends, owner);
	struct fl_list list = {.count = (uint8_t)former.history.count};
	fl_row row;

	if (backend && backend->outer.ipv6) /* then headers have addresses of 16 bytes */
		list.flags = FL_LIST_IPV6;
	for (uint32_t i = 0; i < list.count; i++) {
		list.candidate[i] = encap_destination(&backends_get(ring->backends, former.history.owner[i])->outer);
		if (!fl_address_is_ipv4(&list.candidate[i]))
			list.flags = FL_LIST_IPV6;
		if (former.history.since[i] < *oldest)
			*oldest = former.history.since[i];
	}
	row = lists_row(ring->listed->lists, owner, &list);
	if (list.count && !lists_count(row))
		ring->listed->is_full = true;
	else if (former.has_foreign)
		row |= (fl_row)LISTS_FOREIGN << 24;
	return former.is_cut ? row | (fl_row)FL_LIST_LATE << 24 : row;
}

/* Writes a bucket's row from the image. The ring must have the image's backends. */
static void store(struct ring *ring, uint32_t bucket)
{
	struct listed *listed = ring->listed;
	const fl_row before = ring->rows[bucket];
	fl_row row = lists_row_plain(ring->image.current[bucket]);

	if (ring->image.history[bucket])
		row = row_of(ring, bucket, &listed->oldest[bucket / BLOCK]);
	if (row != before) {
		__atomic_store_n(&ring->rows[bucket], row, __ATOMIC_RELEASE);
		listed->stored++;
	}
	lists_drop(listed->lists, before);
}

static void store_block(struct ring *ring, uint32_t block)
{
	uint32_t first = block * BLOCK, end = first + BLOCK;

	ring->listed->oldest[block] = UINT32_MAX;
	for (uint32_t i = first; i < end && i < ring_buckets(ring); i++)
		if (ring->image.history[i] || ring->rows[i] >> 16)
			store(ring, i);
}

void ring_renew(struct ring *ring, const struct ring_rule *rule)
{
	ring->listed->rule = *rule;
	ring->listed->is_held = image_is_held(&ring->image);
	ring->listed->is_full = false;
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		store_block(ring, i);
}

/* After the image has changed: writes all rows if a hold has begun or ended. */
static void follow_hold(struct ring *ring)
{
	if (ring->listed->is_held != image_is_held(&ring->image))
		ring_renew(ring, &ring->listed->rule);
}

void ring_close_windows(struct ring *ring)
{
	struct listed *listed = ring->listed;

	if (listed->is_full)
		ring_renew(ring, &listed->rule);
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		if (listed->oldest[i] != UINT32_MAX && is_over(listed, listed->oldest[i]))
			store_block(ring, i);
}

static size_t ring_bytes(uint32_t buckets)
{
	return sizeof(struct ring) + (size_t)buckets * sizeof(fl_row);
}

struct ring *ring_new(uint32_t buckets, struct lists *lists, const struct ring_rule *rule)
{
	struct ring *ring = huge_alloc(ring_bytes(buckets));

	if (!ring)
		return NULL;
	ring->mask = buckets - 1;
	ring->listed = listed_new(lists, buckets, rule);
	if (ring->listed)
		return ring;
	ring_free(ring);
	return NULL;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	listed_free(ring->listed, ring);
	backends_free(ring->backends);
	image_clear(&ring->image);
	huge_free(ring, ring_bytes(ring_buckets(ring)));
}

int ring_load(struct ring *ring, const struct delta *snapshot, struct reason *why)
{
	if (!snapshot->snapshot)
		return reason_set(why, -EINVAL, "generation %u is a delta; a ring is loaded from a snapshot",
				  snapshot->generation);
	if (snapshot->buckets != ring_buckets(ring))
		return reason_set(why, -EINVAL, "buckets: snapshot %u has %u; the service has %u", snapshot->generation,
				  snapshot->buckets, ring_buckets(ring));
	if (!image_copy(&ring->image, &snapshot->image))
		return reason_set(why, -ENOMEM, "generation %u: no memory for its %u buckets", snapshot->generation,
				  snapshot->buckets);
	ring->listed->is_held = image_is_held(&ring->image);
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		store(ring, i);
	__atomic_store_n(&ring->generation, snapshot->generation, __ATOMIC_RELEASE);
	return 0;
}

/* 0 if the delta can be applied to the ring now. */
static int check_follows(const struct ring *ring, const struct delta *delta, struct reason *why)
{
	if (delta->snapshot)
		return reason_set(why, -EINVAL, "generation %u is a snapshot; a ring is changed by deltas",
				  delta->generation);
	if (delta->buckets != ring_buckets(ring))
		return reason_set(why, -EINVAL, "buckets: delta %u has %u; the ring has %u", delta->generation,
				  delta->buckets, ring_buckets(ring));
	if (delta->base != ring_generation(ring))
		return reason_set(why, -ESTALE, "base: delta %u follows generation %u; the ring is at %u",
				  delta->generation, delta->base, ring_generation(ring));
	return 0;
}

/* Prefetches some rows ahead, since each may be a cache miss. */
static void store_rows(struct ring *ring, const struct fold *fold)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		uint32_t bucket = fold->list[i].bucket;

		if (i + ROWS_AHEAD < fold->count)
			__builtin_prefetch(&ring->rows[fold->list[i + ROWS_AHEAD].bucket], 1);
		store(ring, bucket);
	}
}

int ring_start(struct ring *ring, const struct delta *delta, struct fold *fold, struct reason *why)
{
	int error = check_follows(ring, delta, why);

	if (error)
		return error;
	error = fold_start(fold, &ring->image, delta);
	if (error == -EINVAL)
		return reason_set(why, error, "generation %u: a bucket has more former owners than packets name",
				  delta->generation);
	if (error)
		return reason_set(why, error, "generation %u: no memory to apply it", delta->generation);
	return 0;
}

void ring_commit(struct ring *ring, const struct delta *delta, const struct fold *fold)
{
	fold_commit(fold, &ring->image, delta);
	store_rows(ring, fold);
	follow_hold(ring);
}

uint64_t ring_sum(const struct ring *ring)
{
	const struct backends *backends = ring_backends(ring);

	return ring->image.sum + (backends ? backends->sum : 0);
}
