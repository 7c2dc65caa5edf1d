/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/batch.h"

#include <stdlib.h>

#include "ring/backend.h"

struct batch *batch_new(uint16_t service, struct notice_plan *plan, const struct backends *backends)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct fl_address *losers = calloc(plan->losers_count + !plan->losers_count, sizeof(*losers));
	struct notice_move *moves = calloc(plan->groups_count + !plan->groups_count, sizeof(*moves));

	if (!batch || !losers || !moves) {
		free(batch);
		free(losers);
		free(moves);
		notice_plan_free(plan);
		return NULL;
	}
	for (uint32_t i = 0; i < plan->losers_count; i++)
		backends_address(backends, plan->losers[i], &losers[i]);
	for (uint32_t i = 0; i < plan->groups_count; i++) {
		backends_address(backends, fl_row_current(plan->groups[i].row), &moves[i].to);
		backends_address(backends, fl_row_previous(plan->groups[i].row), &moves[i].previous);
	}
	*batch = (struct batch){.service = service, .plan = *plan, .losers = losers, .moves = moves};
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	notice_plan_free(&batch->plan);
	free(batch->losers);
	free(batch->moves);
	free(batch);
}

/* Packets of the groups from this one on. */
static uint64_t packets(const struct batch *batch, uint32_t group)
{
	uint64_t sum = 0;

	for (; group < batch->plan.groups_count; group++)
		sum += (batch->plan.groups[group].count + BATCH_BUCKETS - 1) / BATCH_BUCKETS;
	return sum;
}

uint64_t batch_left(const struct batch *batch)
{
	uint32_t losers = batch->plan.losers_count;

	if (batch->at < losers)
		return losers - batch->at + packets(batch, 0);
	return packets(batch, batch->at - losers) - batch->offset / BATCH_BUCKETS;
}

/* The group at the cursor; NULL: a loser is. */
static const struct notice_group *group_at(const struct batch *batch)
{
	uint32_t losers = batch->plan.losers_count;

	return batch->at < losers ? NULL : &batch->plan.groups[batch->at - losers];
}

static uint32_t count_at(const struct batch *batch, const struct notice_group *group)
{
	uint32_t left = group->count - batch->offset;

	return left < BATCH_BUCKETS ? left : BATCH_BUCKETS;
}

uint32_t batch_write(const struct batch *batch, const struct fl_siphash_key *key, uint8_t *bytes, struct fl_address *to,
		     uint32_t *count)
{
	const struct notice_group *group = group_at(batch);
	struct fl_steer steer = {
	    .flags = key ? FL_STEER_TAG : 0, .service = batch->service, .generation = batch->plan.generation};

	*count = 0;
	if (!group) {
		*to = batch->losers[batch->at];
		return fl_notice_write(&steer, NULL, 0, key, bytes);
	}
	*to = batch->moves[batch->at - batch->plan.losers_count].to;
	*count = count_at(batch, group);
	steer.flags |= FL_STEER_MOVED;
	steer.since = fl_row_since(group->row);
	steer.previous = batch->moves[batch->at - batch->plan.losers_count].previous;
	return fl_notice_write(&steer, batch->plan.buckets + group->start + batch->offset, *count, key, bytes);
}

void batch_advance(struct batch *batch)
{
	const struct notice_group *group = group_at(batch);

	if (group)
		batch->offset += count_at(batch, group);
	if (!group || batch->offset == group->count) {
		batch->at++;
		batch->offset = 0;
	}
}

uint64_t batch_drop_moves(struct batch *batch)
{
	uint32_t losers = batch->plan.losers_count;
	uint64_t dropped = batch->at < losers ? packets(batch, 0) : batch_left(batch);

	free(batch->plan.buckets);
	batch->plan.buckets = NULL;
	batch->plan.buckets_count = 0;
	batch->plan.groups_count = 0;
	batch->offset = 0;
	if (batch->at > losers)
		batch->at = losers;
	return dropped;
}
