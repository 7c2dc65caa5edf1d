/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/owners.h"

enum { IDS = FL_BACKEND_MAX + 1, WORDS = IDS / 64, SLOTS_FIRST = 1024, ENTRIES_FIRST = 4096 };

/* A bucket that is told about, while its group's size is not known yet. */
struct entry {
	uint32_t bucket;
	uint32_t group;
};

struct draft {
	const struct notice_scope *scope;
	uint64_t losers[WORDS]; /* a bit for each id */
	uint64_t dead[WORDS];   /* that the change removes */
	struct entry *entries;
	uint32_t entries_count, entries_room;
	struct notice_group *groups;
	uint32_t groups_count;
	uint32_t *slots;      /* hash table of rows: the group's index + 1 */
	uint32_t slots_count; /* a power of two, at least twice the groups */
	uint32_t last;        /* neighbouring buckets often are of one group */
	bool failed;          /* no memory */
};

static bool has(const uint64_t *bits, uint16_t id)
{
	return bits[id / 64] >> id % 64 & 1;
}

/* The slot of a row: its group's, or the free one where it belongs. */
static uint32_t *slot_of(const struct draft *draft, fl_row row)
{
	uint64_t hash = (row ^ row >> 29) * 0xbf58476d1ce4e5b9ULL;
	uint32_t at = (uint32_t)(hash >> 32) & (draft->slots_count - 1);

	while (draft->slots[at] && draft->groups[draft->slots[at] - 1].row != row)
		at = (at + 1) & (draft->slots_count - 1);
	return &draft->slots[at];
}

/* Doubles the hash table and the room for groups. */
static bool grow_groups(struct draft *draft)
{
	uint32_t count = draft->slots_count ? 2 * draft->slots_count : SLOTS_FIRST;
	struct notice_group *groups = realloc(draft->groups, count / 2 * sizeof(*groups));
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (groups)
		draft->groups = groups;
	if (!groups || !slots) {
		free(slots);
		return false;
	}
	free(draft->slots);
	draft->slots = slots;
	draft->slots_count = count;
	for (uint32_t i = 0; i < draft->groups_count; i++)
		*slot_of(draft, groups[i].row) = i + 1;
	return true;
}

/* The index of the row's group; sets failed if there is no memory for a new one. */
static uint32_t group_of(struct draft *draft, fl_row row)
{
	uint32_t *slot;

	if (draft->groups_count && draft->groups[draft->last].row == row)
		return draft->last;
	if (2 * draft->groups_count >= draft->slots_count && !grow_groups(draft)) {
		draft->failed = true;
		return 0;
	}
	slot = slot_of(draft, row);
	if (!*slot) {
		draft->groups[draft->groups_count] = (struct notice_group){.row = row};
		*slot = ++draft->groups_count;
	}
	return *slot - 1;
}

static bool grow_entries(struct draft *draft)
{
	uint32_t room = draft->entries_room ? 2 * draft->entries_room : ENTRIES_FIRST;
	struct entry *entries = realloc(draft->entries, room * sizeof(*entries));

	if (!entries)
		return false;
	draft->entries = entries;
	draft->entries_room = room;
	return true;
}

/* A bucket whose row will have this owner. */
static void note(struct draft *draft, uint32_t bucket, fl_row row, uint16_t owner)
{
	const struct notice_scope *scope = draft->scope;
	uint16_t loser = fl_row_current(row);

	if (loser == owner || loser == FL_BACKEND_NONE || !has(scope->told, loser))
		return;
	draft->losers[loser / 64] |= 1ULL << loser % 64;
	if (!scope->has_moves || draft->failed || !fl_row_is_moved(row, scope->now, scope->moved_seconds) ||
	    has(draft->dead, fl_row_previous(row)))
		return;
	if (draft->entries_count == draft->entries_room && !grow_entries(draft)) {
		draft->failed = true;
		return;
	}
	draft->last = group_of(draft, row);
	if (draft->failed)
		return;
	draft->groups[draft->last].count++;
	draft->entries[draft->entries_count++] = (struct entry){bucket, draft->last};
}

static void note_dead(struct draft *draft, const struct delta *change)
{
	for (uint32_t i = 0; !change->snapshot && i < change->backends_count; i++)
		if (removal_is_of(&change->backends[i]))
			draft->dead[change->backends[i].id / 64] |= 1ULL << change->backends[i].id % 64;
}

static void note_image(struct draft *draft, const struct ring *ring, const struct delta *image)
{
	for (uint32_t bucket = 0; bucket < ring_buckets(ring); bucket++)
		note(draft, bucket, image_row(&ring->image, bucket), image->image.current[bucket]);
}

static void note_by_owner(struct draft *draft, const struct ring *ring, const struct delta *delta)
{
	struct owners *owners = owners_new(delta);
	uint16_t current;

	draft->failed |= !owners;
	for (uint32_t bucket = 0; owners && bucket < ring_buckets(ring); bucket++) {
		fl_row row = image_row(&ring->image, bucket);

		if (owners_next(owners, fl_row_current(row), &current))
			note(draft, bucket, row, current);
	}
	owners_free(owners);
}

static void note_by_number(struct draft *draft, const struct ring *ring, const struct delta *delta)
{
	for (uint32_t i = 0; i < delta->runs_count; i++) {
		const struct fl_delta_run *run = &delta->runs[i];

		for (uint32_t bucket = run->start; bucket - run->start < run->count; bucket++)
			note(draft, bucket, image_row(&ring->image, bucket), run->current);
	}
}

static bool is_earlier(const struct draft *draft, const struct notice_owner *owner)
{
	const struct notice_scope *scope = draft->scope;

	return losses_is_open(owner, scope->now, scope->owner_seconds) && has(scope->told, owner->id) &&
	       !has(draft->losers, owner->id);
}

static bool list_losers(const struct draft *draft, struct notice_plan *out)
{
	const struct losses *losses = &draft->scope->losses;
	uint32_t count = losses->count;

	for (uint32_t word = 0; word < WORDS; word++)
		count += (uint32_t)__builtin_popcountll(draft->losers[word]);
	out->losers = malloc((count + !count) * sizeof(*out->losers));
	if (!out->losers)
		return false;
	for (uint32_t id = 0; id < IDS; id++)
		if (has(draft->losers, (uint16_t)id))
			out->losers[out->losers_count++] = (uint16_t)id;
	for (uint32_t i = 0; i < losses->count; i++)
		if (is_earlier(draft, &losses->list[i]))
			out->losers[out->losers_count++] = losses->list[i].id;
	return true;
}

/* Each group's buckets side by side. */
static bool list_buckets(struct draft *draft, struct notice_plan *out)
{
	uint32_t start = 0;

	out->buckets = malloc((draft->entries_count + !draft->entries_count) * sizeof(*out->buckets));
	if (!out->buckets)
		return false;
	for (uint32_t i = 0; i < draft->groups_count; i++) {
		draft->groups[i].start = start;
		start += draft->groups[i].count;
		draft->groups[i].count = 0;
	}
	for (uint32_t i = 0; i < draft->entries_count; i++) {
		struct notice_group *group = &draft->groups[draft->entries[i].group];

		out->buckets[group->start + group->count++] = draft->entries[i].bucket;
	}
	out->buckets_count = draft->entries_count;
	out->groups = draft->groups;
	out->groups_count = draft->groups_count;
	draft->groups = NULL;
	return true;
}

int notice_plan_make(struct notice_plan *out, const struct ring *ring, const struct delta *change,
		     const struct notice_scope *scope)
{
	struct draft draft = {.scope = scope};
	bool made;

	*out = (struct notice_plan){.generation = change->generation};
	note_dead(&draft, change);
	if (change->snapshot)
		note_image(&draft, ring, change);
	else if (change->order == FL_DELTA_BY_OWNER)
		note_by_owner(&draft, ring, change);
	else
		note_by_number(&draft, ring, change);
	made = !draft.failed && list_losers(&draft, out) && list_buckets(&draft, out);
	free(draft.entries);
	free(draft.groups);
	free(draft.slots);
	if (made)
		return 0;
	notice_plan_free(out);
	return -ENOMEM;
}

int notice_plan_add_removals(struct notice_plan *plan, const struct removals *removals, uint32_t first,
			     const uint64_t *told)
{
	struct removal *list = malloc((removals->count + !removals->count) * sizeof(*list));
	uint32_t count = 0, told_count = 0;
	uint16_t *ids;

	for (uint32_t word = 0; word < WORDS; word++)
		told_count += (uint32_t)__builtin_popcountll(told[word]);
	ids = malloc((told_count + !told_count) * sizeof(*ids));
	if (!list || !ids) {
		free(list);
		free(ids);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < removals->count; i++)
		if (removals->list[i].generation >= first)
			list[count++] = removals->list[i];
	plan->removals = (struct removals){count, list};
	plan->told = ids;
	for (uint32_t id = 0; id < IDS; id++)
		if (has(told, (uint16_t)id))
			ids[plan->told_count++] = (uint16_t)id;
	return 0;
}

void notice_plan_free(struct notice_plan *plan)
{
	free(plan->told);
	removals_free(&plan->removals);
	free(plan->losers);
	free(plan->groups);
	free(plan->buckets);
	*plan = (struct notice_plan){.generation = plan->generation};
}
