/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/listed.h"

#include <stdlib.h>

#include "ring/backend.h"
#include "ring/lists.h"
#include "ring/ring.h"

static uint32_t blocks_of(uint32_t buckets)
{
	return (buckets + LISTED_BLOCK - 1) / LISTED_BLOCK;
}

struct listed *listed_new(struct lists *lists, uint32_t buckets, const struct listed_rule *rule)
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

void listed_free(struct listed *listed, struct ring *ring)
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
static void add_foreign(struct listed_former *former, const struct history *foreign, uint32_t most)
{
	former->has_foreign = foreign->count && former->history.count < most;
	former->is_cut |= foreign->count > former->has_foreign;
	if (former->has_foreign)
		history_append(&former->history, foreign->owner[0], foreign->since[0]);
}

struct listed_former listed_former(const struct ring *ring, uint32_t bucket)
{
	const struct history *history = histories_get(&ring->image.histories, ring->image.history[bucket]);
	const uint32_t most = ring->listed->rule.most;
	struct listed_former former = {.is_cut = false};
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
	const struct listed_former former = listed_former(ring, bucket);
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

void listed_store(struct ring *ring, uint32_t bucket)
{
	struct listed *listed = ring->listed;
	const fl_row before = ring->rows[bucket];
	fl_row row = lists_row_plain(ring->image.current[bucket]);

	if (ring->image.history[bucket])
		row = row_of(ring, bucket, &listed->oldest[bucket / LISTED_BLOCK]);
	if (row != before) {
		__atomic_store_n(&ring->rows[bucket], row, __ATOMIC_RELEASE);
		listed->stored++;
	}
	lists_drop(listed->lists, before);
}

static void store_block(struct ring *ring, uint32_t block)
{
	uint32_t first = block * LISTED_BLOCK, end = first + LISTED_BLOCK;

	ring->listed->oldest[block] = UINT32_MAX;
	for (uint32_t i = first; i < end && i < ring_buckets(ring); i++)
		if (ring->image.history[i] || ring->rows[i] >> 16)
			listed_store(ring, i);
}

void listed_renew(struct ring *ring, const struct listed_rule *rule)
{
	ring->listed->rule = *rule;
	ring->listed->is_held = image_is_held(&ring->image);
	ring->listed->is_full = false;
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		store_block(ring, i);
}

void listed_follow(struct ring *ring)
{
	if (ring->listed->is_held != image_is_held(&ring->image))
		listed_renew(ring, &ring->listed->rule);
}

void listed_close(struct ring *ring)
{
	struct listed *listed = ring->listed;

	if (listed->is_full)
		listed_renew(ring, &listed->rule);
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		if (listed->oldest[i] != UINT32_MAX && is_over(listed, listed->oldest[i]))
			store_block(ring, i);
}
