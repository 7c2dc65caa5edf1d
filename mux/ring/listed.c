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

struct listed *listed_new(struct lists *lists, uint32_t buckets, uint32_t seconds)
{
	struct listed *listed = calloc(1, sizeof(*listed) + blocks_of(buckets) * sizeof(*listed->oldest));

	if (!listed)
		return NULL;
	listed->lists = lists;
	listed->seconds = seconds;
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

static bool is_open(const struct listed *listed, uint32_t since)
{
	return (uint64_t)listed->lists->now < (uint64_t)since + listed->seconds;
}

/* The former owners of a bucket whose windows are open, newest first, and the earliest time at which one lost it. */
static uint32_t former_of(const struct ring *ring, uint32_t bucket, struct fl_address former[FL_LIST_MAX],
			  uint32_t *oldest)
{
	const struct history *history = histories_get(&ring->image.histories, ring->image.history[bucket]);
	uint32_t count = 0;

	*oldest = UINT32_MAX;
	for (uint32_t i = 0; i < history->count; i++) {
		const struct backend *backend = backends_get(ring->backends, history->owner[i]);

		if (!backend || !is_open(ring->listed, history->since[i]))
			continue;
		former[count++] = encap_destination(&backend->outer);
		if (history->since[i] < *oldest)
			*oldest = history->since[i];
	}
	return count;
}

/* Whether headers have addresses of 16 bytes: IPv6 is among them or the packet's destination. */
static bool is_long(const struct ring *ring, uint16_t owner, const struct fl_address *former, uint32_t count)
{
	const struct backend *backend = backends_get(ring->backends, owner);
	bool is_ipv6 = backend && backend->outer.ipv6;

	for (uint32_t i = 0; i < count; i++)
		is_ipv6 |= !fl_address_is_ipv4(&former[i]);
	return is_ipv6;
}

void listed_store(struct ring *ring, uint32_t bucket)
{
	struct listed *listed = ring->listed;
	const fl_row before = ring->rows[bucket];
	uint32_t *oldest = &listed->oldest[bucket / LISTED_BLOCK], since, count;
	struct fl_address former[FL_LIST_MAX] = {{{0}}};
	const uint16_t owner = ring->image.current[bucket];
	fl_row row;

	count = former_of(ring, bucket, former, &since);
	row = lists_row(listed->lists, owner, former, count, is_long(ring, owner, former, count));
	listed->is_cut |= count && !lists_count(row);
	if (since < *oldest)
		*oldest = since;
	if (row != before)
		__atomic_store_n(&ring->rows[bucket], row, __ATOMIC_RELEASE);
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

void listed_renew(struct ring *ring, uint32_t seconds)
{
	ring->listed->seconds = seconds;
	ring->listed->is_cut = false;
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		store_block(ring, i);
}

void listed_close(struct ring *ring)
{
	struct listed *listed = ring->listed;

	if (listed->is_cut)
		listed_renew(ring, listed->seconds);
	for (uint32_t i = 0; i < blocks_of(ring_buckets(ring)); i++)
		if (listed->oldest[i] != UINT32_MAX &&
		    (uint64_t)listed->lists->now >= (uint64_t)listed->oldest[i] + listed->seconds)
			store_block(ring, i);
}
