/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers must be told before a change of a ring, against a naive oracle: the image is copied, the change folded
 * into it, and every bucket compared. Random rings and changes of each kind; the seed is printed, and FAIRLEAD_SEED
 * repeats a run.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "notice/plan.h"
#include "ring/fold.h"
#include "../image.h"

enum { BUCKETS = 512, IDS = 9, NOW = 1700000100, WINDOW = 240, HOLD = 50000, ROUNDS = 3000, RUNS_MAX = 12 };

static uint64_t seed;

/* One move that a server is told: the loser and what a packet of the bucket would have carried. */
struct told {
	uint16_t loser, previous;
	uint32_t since, bucket;
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct told));
}

static struct delta random_image(struct chance *chance)
{
	static const uint32_t ages[] = {0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 100000};
	struct delta image = image_snapshot(1, 7, BUCKETS, IDS);

	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_own(&image, i, (uint16_t)chance_below(chance, IDS + 1));
		image_was(&image, i, (uint16_t)chance_below(chance, IDS + 1), NOW - ages[chance_below(chance, 6)]);
	}
	return image;
}

static struct delta copy_of(const struct delta *image)
{
	struct delta copy = image_snapshot(image->service, image->generation, image->buckets, IDS);

	image_clear(&copy.image);
	assert_true(image_copy(&copy.image, &image->image));
	return copy;
}

/* Up to RUNS_MAX runs among `room` buckets, of one owner or of all. */
static void add_runs(struct delta *delta, struct chance *chance, uint32_t room, uint16_t owner)
{
	uint32_t at = 0;

	while (delta->runs_count < (owner + 1U) * RUNS_MAX) {
		struct fl_delta_run *run = &delta->runs[delta->runs_count];
		uint32_t start = at + chance_below(chance, 60), count = 1 + chance_below(chance, 40);

		if (start + count > room)
			return;
		*run = (struct fl_delta_run){start, count, (uint16_t)chance_below(chance, IDS + 1), owner};
		delta->runs_count++;
		at = start + count;
	}
}

static struct delta random_delta(struct chance *chance, const struct delta *image, enum fl_delta_order order)
{
	struct delta delta = image_move(image, image->generation + 1, 0, 0, 0, NOW);
	uint32_t counts[FL_BACKEND_MAX + 1] = {0};

	free(delta.runs);
	delta.runs = calloc((IDS + 1) * RUNS_MAX, sizeof(*delta.runs));
	assert_non_null(delta.runs);
	delta.runs_count = 0;
	delta.order = order;
	image_count(&image->image, counts);
	if (order == FL_DELTA_BY_NUMBER)
		add_runs(&delta, chance, BUCKETS, 0);
	for (uint16_t id = 0; order == FL_DELTA_BY_OWNER && id <= IDS; id++)
		if (chance_below(chance, 2))
			add_runs(&delta, chance, counts[id], id);
	return delta;
}

/* From the images alone. Fills list; returns how many. */
static uint32_t naive(const struct delta *before, const struct delta *after, const struct notice_scope *scope,
		      struct told *list, bool losers[IDS + 1])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint16_t loser = before->image.current[i];

		if (loser == 0 || loser == after->image.current[i] || !(scope->told[0] >> loser & 1))
			continue;
		losers[loser] = true;
		if (scope->has_moves && image_previous(before, i) &&
		    NOW - image_since(before, i) < scope->moved_seconds)
			list[count++] = (struct told){loser, image_previous(before, i), image_since(before, i), i};
	}
	qsort(list, count, sizeof(*list), compare);
	return count;
}

/* The plan in the same form; each group's row is new and its buckets ascend. */
static uint32_t flatten(const struct notice_plan *plan, struct told *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->groups_count; i++) {
		const struct notice_group *group = &plan->groups[i];

		assert_true(group->count > 0 && group->start + group->count <= plan->buckets_count);
		for (uint32_t j = 0; j < i; j++)
			assert_true(plan->groups[j].row != group->row);
		for (uint32_t j = 0; j < group->count; j++) {
			uint32_t bucket = plan->buckets[group->start + j];

			assert_true(!j || bucket > plan->buckets[group->start + j - 1]);
			list[count++] = (struct told){fl_row_current(group->row), fl_row_previous(group->row),
						      fl_row_since(group->row), bucket};
		}
	}
	assert_int_equal(count, plan->buckets_count);
	qsort(list, count, sizeof(*list), compare);
	return count;
}

static void check(const struct delta *before, const struct delta *after, const struct delta *change,
		  const struct notice_scope *scope)
{
	struct told expected[BUCKETS] = {0}, found[BUCKETS] = {0};
	struct ring *ring = ring_new(BUCKETS);
	bool losers[IDS + 1] = {false};
	struct reason why = {{0}};
	struct notice_plan plan;
	uint32_t count, at = 0;

	assert_non_null(ring);
	assert_int_equal(ring_load(ring, before, &why), 0);
	assert_int_equal(notice_plan_make(&plan, ring, change, scope), 0);
	assert_int_equal(plan.generation, change->generation);
	count = naive(before, after, scope, expected, losers);
	assert_int_equal(plan.buckets_count, count);
	assert_int_equal(flatten(&plan, found), count);
	assert_memory_equal(found, expected, count * sizeof(*found));
	for (uint16_t id = 0; id <= IDS; id++)
		if (losers[id])
			assert_true(at < plan.losers_count && plan.losers[at++] == id);
	for (uint32_t i = 0; i < scope->losses.count; i++) {
		const struct notice_owner *owner = &scope->losses.list[i];

		if (NOW - owner->since < scope->owner_seconds && scope->told[0] >> owner->id & 1 && !losers[owner->id])
			assert_true(at < plan.losers_count && plan.losers[at++] == owner->id);
	}
	assert_int_equal(at, plan.losers_count);
	notice_plan_free(&plan);
	ring_free(ring);
}

/* Some owners' last losses. */
static struct losses random_losses(struct chance *chance, struct notice_owner list[IDS])
{
	static const uint32_t ages[] = {0, WINDOW - 1, WINDOW, HOLD, 100000};
	struct losses losses = {0, list};

	for (uint16_t id = 1; id <= IDS; id++)
		if (chance_below(chance, 2))
			list[losses.count++] = (struct notice_owner){id, NOW - ages[chance_below(chance, 5)]};
	return losses;
}

enum kind { BY_NUMBER, BY_OWNER, SNAPSHOT, KINDS };

static void play(enum kind kind)
{
	struct chance chance = {seed + kind};
	uint32_t moves = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct delta before = random_image(&chance), after = copy_of(&before), change = {0};
		uint64_t told[(FL_BACKEND_MAX + 1) / 64] = {chance_next(&chance)};
		struct notice_owner list[IDS];
		bool is_held = chance_below(&chance, 2);
		struct notice_scope scope = {
		    .told = told,
		    .has_moves = chance_below(&chance, 8) > 0,
		    .now = NOW,
		    .moved_seconds = is_held ? FL_ROW_HELD : WINDOW,
		    .owner_seconds = is_held ? WINDOW + HOLD : WINDOW,
		    .losses = random_losses(&chance, list),
		};

		if (kind == SNAPSHOT) {
			image_free(&after);
			after = random_image(&chance);
			after.generation = before.generation + 1 + chance_below(&chance, 5);
		} else {
			change =
			    random_delta(&chance, &before, kind == BY_OWNER ? FL_DELTA_BY_OWNER : FL_DELTA_BY_NUMBER);
			assert_int_equal(delta_fold(&after, &change), 0);
			moves += change.runs_count;
		}
		check(&before, &after, kind == SNAPSHOT ? &after : &change, &scope);
		image_free(&before);
		image_free(&after);
		image_free(&change);
	}
	assert_true(kind == SNAPSHOT || moves > ROUNDS);
}

static void by_number(void **state)
{
	(void)state;
	play(BY_NUMBER);
}

static void by_owner(void **state)
{
	(void)state;
	play(BY_OWNER);
}

static void by_image(void **state)
{
	(void)state;
	play(SNAPSHOT);
}

/* More rows than the first hash table and the first list hold. */
static void many_groups(void **state)
{
	enum { MANY = 65536 };
	struct delta before = image_snapshot(1, 7, MANY, IDS), after = image_snapshot(1, 9, MANY, IDS);
	uint64_t told[(FL_BACKEND_MAX + 1) / 64] = {~0ULL};
	struct notice_scope scope = {
	    .told = told, .has_moves = true, .now = NOW, .moved_seconds = 40000, .owner_seconds = 40000};
	struct ring *ring = ring_new(MANY);
	struct reason why = {{0}};
	struct notice_plan plan;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		image_own(&before, i, 1);
		image_was(&before, i, 2, NOW - i / 2);
		image_own(&after, i, 3);
	}
	assert_int_equal(ring_load(ring, &before, &why), 0);
	assert_int_equal(notice_plan_make(&plan, ring, &after, &scope), 0);
	assert_int_equal(plan.losers_count, 1);
	assert_int_equal(plan.groups_count, MANY / 2);
	assert_int_equal(plan.buckets_count, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct notice_group *group = &plan.groups[i / 2];

		assert_true(group->row == fl_row_make(1, 2, NOW - i / 2) && group->count == 2);
		assert_int_equal(plan.buckets[group->start + i % 2], i);
	}
	notice_plan_free(&plan);
	ring_free(ring);
	image_free(&before);
	image_free(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(by_number),
	    cmocka_unit_test(by_owner),
	    cmocka_unit_test(by_image),
	    cmocka_unit_test(many_groups),
	};
	const char *given = getenv("FAIRLEAD_SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	print_message("FAIRLEAD_SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests_name("notice plan", tests, NULL, NULL);
}
