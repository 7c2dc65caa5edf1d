/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/batch.h"

#include <stdlib.h>

#include "ring/backend.h"

struct batch *batch_new(uint16_t service, struct notice_plan *plan, const struct backends *backends)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct fl_address *losers = calloc(plan->losers_count + !plan->losers_count, sizeof(*losers));
	struct notice_move *moves = calloc(plan->groups_count + !plan->groups_count, sizeof(*moves));
	struct fl_address *told = calloc(plan->told_count + !plan->told_count, sizeof(*told));

	if (!batch || !losers || !moves || !told) {
		free(batch);
		free(losers);
		free(moves);
		free(told);
		notice_plan_free(plan);
		return NULL;
	}
	for (uint32_t i = 0; i < plan->losers_count; i++)
		backends_address(backends, plan->losers[i], &losers[i]);
	for (uint32_t i = 0; i < plan->groups_count; i++) {
		backends_address(backends, fl_row_current(plan->groups[i].row), &moves[i].to);
		backends_address(backends, fl_row_previous(plan->groups[i].row), &moves[i].previous);
	}
	for (uint32_t i = 0; i < plan->told_count; i++)
		backends_address(backends, plan->told[i], &told[i]);
	*batch = (struct batch){.service = service, .plan = *plan, .losers = losers, .moves = moves, .told = told};
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	notice_plan_free(&batch->plan);
	free(batch->losers);
	free(batch->moves);
	free(batch->told);
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
		return losers - batch->at + packets(batch, 0) + batch_removals(batch);
	if (batch->at < batch_removals_at(batch))
		return packets(batch, (uint32_t)batch->at - losers) - batch->offset / BATCH_BUCKETS +
		       batch_removals(batch);
	return batch_removals_at(batch) + batch_removals(batch) - batch->at;
}

/* The group at the cursor; NULL: a loser or a removal is. */
static const struct notice_group *group_at(const struct batch *batch)
{
	uint32_t losers = batch->plan.losers_count;

	return batch->at < losers || batch->at >= batch_removals_at(batch) ? NULL
									   : &batch->plan.groups[batch->at - losers];
}

static uint32_t count_at(const struct batch *batch, const struct notice_group *group)
{
	uint32_t left = group->count - batch->offset;

	return left < BATCH_BUCKETS ? left : BATCH_BUCKETS;
}

/* The removal at the cursor, which is behind the groups. */
static uint32_t write_removal(const struct batch *batch, struct fl_steer *steer, const struct fl_siphash_key *key,
			      uint8_t *bytes, struct fl_address *to)
{
	const uint32_t removal = FL_STEER_BUCKET_NONE;
	uint64_t at = batch->at - batch_removals_at(batch);
	const struct removal *of = &batch->plan.removals.list[at / batch->plan.told_count];

	*to = batch->told[at % batch->plan.told_count];
	steer->flags |= FL_STEER_MOVED;
	steer->generation = of->generation;
	steer->since = of->since;
	steer->previous = of->server;
	return fl_notice_write(steer, &removal, 1, key, bytes);
}

uint32_t batch_write(const struct batch *batch, const struct fl_siphash_key *key, uint8_t *bytes, struct fl_address *to,
		     uint32_t *count)
{
	const struct notice_group *group = group_at(batch);
	struct fl_steer steer = {
	    .flags = key ? FL_STEER_TAG : 0, .service = batch->service, .generation = batch->plan.generation};
	uint32_t index;

	*count = 0;
	if (batch->at >= batch_removals_at(batch))
		return write_removal(batch, &steer, key, bytes, to);
	if (!group) {
		*to = batch->losers[batch->at];
		return fl_notice_write(&steer, NULL, 0, key, bytes);
	}
	index = (uint32_t)batch->at - batch->plan.losers_count;
	*to = batch->moves[index].to;
	*count = count_at(batch, group);
	steer.flags |= FL_STEER_MOVED;
	steer.since = fl_row_since(group->row);
	steer.previous = batch->moves[index].previous;
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
	uint64_t left = batch_left(batch), removals_at = batch_removals_at(batch);

	if (batch->at >= removals_at)
		batch->at -= batch->plan.groups_count;
	else if (batch->at > losers)
		batch->at = losers;
	free(batch->plan.buckets);
	batch->plan.buckets = NULL;
	batch->plan.buckets_count = 0;
	batch->plan.groups_count = 0;
	batch->offset = 0;
	return left - batch_left(batch);
}
