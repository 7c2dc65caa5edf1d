/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/fold.h"

#include <errno.h>
#include <stdlib.h>

#include "ring/backend_list.h"

enum {
	WORDS = (FL_BACKEND_MAX + 1) / 64,
	AHEAD = 16, /* runs and changes, since each bucket may be a cache miss */
	MEMOS = 1024,
	CHANGES_FIRST = 64,
	RELEASES_NONE = -1,
};

/* --- runs by owner ------------------------------------------------------------------------------------------------- */

/*
 * A delta whose runs are by owner, in one walk over the buckets by ascending number.
 *
 *	runs of owner 7: 2 from its 3rd on		bucket	0 1 2 3 4 5 6 7
 *							owner	7 4 7 7 4 7 7 4
 *							of 7	1   2 3   4 5
 *							run	      x   x
 *
 * The walk passes an owner's buckets in phases: a number that stay, then a number that go to one backend. At each
 * bucket it needs one word about the owner; the words of 64 K owners are 512 KB and fit L2 beside the rows that stream
 * by:
 *
 *	phase	bits 0..15 current   32 whether they move   33..63 how many are left
 *
 * A run is read when a phase ends, not at each of its buckets: a million runs are 20 MB, and the walk reaches them in
 * no particular order, so each read would wait for memory (4 Mi reads: 0.4 s).
 */
struct owners {
	const struct delta *delta;
	uint64_t phase[FL_BACKEND_MAX + 1];
	uint32_t run[FL_BACKEND_MAX + 1]; /* the current run, or the next one */
};

#define PHASE_MOVES (1ULL << 32)
#define PHASE_ONE   (1ULL << 33)

/* More buckets than any ring has. */
static const uint64_t for_ever = UINT32_MAX / 2 * PHASE_ONE;

static uint64_t moving(const struct fl_delta_run *run)
{
	return run->count * PHASE_ONE | PHASE_MOVES | run->current;
}

/* Makes this run the next one, after so many buckets that stay. */
static void stand_before(struct owners *owners, uint16_t owner, uint32_t run, uint32_t buckets)
{
	owners->run[owner] = run;
	owners->phase[owner] = buckets ? buckets * PHASE_ONE : moving(&owners->delta->runs[run]);
}

/* Goes to the owner's next phase, after the last bucket of one. */
static void owners_advance(struct owners *owners, uint16_t owner)
{
	const struct delta *delta = owners->delta;
	const struct fl_delta_run *run = &delta->runs[owners->run[owner]];
	uint32_t next = owners->run[owner] + 1;

	if (owners->phase[owner] & PHASE_MOVES && next < delta->runs_count && delta->runs[next].owner == owner)
		stand_before(owners, owner, next, delta->runs[next].start - (run->start + run->count));
	else
		owners->phase[owner] = owners->phase[owner] & PHASE_MOVES ? for_ever : moving(run);
}

/* Starts before the first bucket. NULL: no memory. */
static struct owners *owners_new(const struct delta *delta)
{
	struct owners *owners = malloc(sizeof(*owners));

	if (!owners)
		return NULL;
	owners->delta = delta;
	for (uint32_t id = 0; id <= FL_BACKEND_MAX; id++)
		owners->phase[id] = for_ever;
	for (uint32_t i = delta->runs_count; i--;) /* downwards: an owner's first run is kept */
		stand_before(owners, delta->runs[i].owner, i, delta->runs[i].start);
	return owners;
}

/* The next bucket is this owner's: returns whether it moves; if so, *current is its new owner. */
static bool owners_next(struct owners *owners, uint16_t owner, uint16_t *current)
{
	uint64_t phase = owners->phase[owner];

	owners->phase[owner] = phase - PHASE_ONE;
	if (phase < 2 * PHASE_ONE)
		owners_advance(owners, owner);
	*current = (uint16_t)phase;
	return phase & PHASE_MOVES;
}

/* --- the walk ------------------------------------------------------------------------------------------------------ */

/* What a delta says of one bucket. */
struct step {
	uint32_t bucket;
	int32_t release; /* an owner, 0: all, RELEASES_NONE */
	uint16_t from;
	uint16_t to; /* equal: it does not move */
};

/* A result that was found for another bucket. */
struct memo {
	bool is_set;
	uint32_t before;
	int32_t release;
	uint16_t from, to;
	uint32_t after;
};

struct walk {
	const struct image *image;
	const struct delta *delta;
	bool has_dead;
	bool closes;           /* there may be entries to be closed */
	bool is_whole;         /* each bucket is a step */
	bool *changing;        /* by number of a history: it loses an entry; NULL: none does, or is_whole */
	struct owners *owners; /* of a delta by owner */
	uint32_t next;         /* bucket */
	uint32_t run, release;
	uint64_t dead[WORDS];
};

static bool is_dead(const struct walk *walk, uint16_t id)
{
	return walk->has_dead && walk->dead[id / 64] >> id % 64 & 1;
}

static bool loses_entry(const struct walk *walk, const struct history *history)
{
	for (uint32_t i = 0; i < history->count; i++)
		if (is_dead(walk, history->owner[i]) ||
		    (walk->closes && history->since[i] <= walk->delta->closed_until))
			return true;
	return false;
}

/* False: no memory. */
static bool note_changing(struct walk *walk)
{
	const struct histories *histories = &walk->image->histories;

	if (walk->is_whole || (!walk->has_dead && !walk->closes))
		return true;
	walk->changing = calloc(histories->count + 1, sizeof(*walk->changing));
	for (uint32_t number = 1; walk->changing && number <= histories->count; number++)
		walk->changing[number] = loses_entry(walk, histories_get(histories, number));
	return walk->changing;
}

/* False: no memory. */
static bool walk_start(struct walk *walk, const struct image *image, const struct delta *delta)
{
	*walk = (struct walk){.image = image, .delta = delta};
	for (uint32_t i = 0; i < delta->backends_count; i++) {
		const struct fl_delta_backend *backend = &delta->backends[i];

		if (!(backend->flags & FL_BACKEND_DEAD))
			continue;
		walk->has_dead = true;
		walk->dead[backend->id / 64] |= 1ULL << backend->id % 64;
	}
	walk->closes = delta->closed_until && image->histories.count && delta->closed_until >= image->histories.oldest;
	walk->is_whole = delta->order == FL_DELTA_BY_OWNER;
	if (delta->order == FL_DELTA_BY_OWNER)
		walk->owners = owners_new(delta);
	return delta->order != FL_DELTA_BY_OWNER || walk->owners;
}

static void walk_end(struct walk *walk)
{
	free(walk->owners);
	free(walk->changing);
}

/* The first bucket from `next` on that a run by number has. */
static uint32_t next_moved(struct walk *walk)
{
	const struct delta *delta = walk->delta;

	if (walk->owners)
		return UINT32_MAX;
	while (walk->run < delta->runs_count &&
	       delta->runs[walk->run].start + delta->runs[walk->run].count <= walk->next) {
		walk->run++;
		if (walk->run + AHEAD < delta->runs_count) {
			__builtin_prefetch(&walk->image->current[delta->runs[walk->run + AHEAD].start], 1);
			__builtin_prefetch(&walk->image->history[delta->runs[walk->run + AHEAD].start], 1);
		}
	}
	if (walk->run == delta->runs_count)
		return UINT32_MAX;
	return delta->runs[walk->run].start > walk->next ? delta->runs[walk->run].start : walk->next;
}

static uint32_t next_released(struct walk *walk)
{
	const struct delta *delta = walk->delta;

	while (walk->release < delta->releases_count &&
	       delta->releases[walk->release].start + delta->releases[walk->release].count <= walk->next)
		walk->release++;
	if (walk->release == delta->releases_count)
		return UINT32_MAX;
	return delta->releases[walk->release].start > walk->next ? delta->releases[walk->release].start : walk->next;
}

/* The next bucket before `end` whose history loses an entry, or `end`. */
static uint32_t next_changing(const struct walk *walk, uint32_t end)
{
	uint32_t bucket = walk->next;

	while (bucket < end && !walk->changing[walk->image->history[bucket]])
		bucket++;
	return bucket;
}

/* The next bucket that may change. False: there is none. */
static bool walk_next(struct walk *walk, struct step *step)
{
	uint32_t moved = next_moved(walk), released = next_released(walk);
	uint32_t bucket = walk->is_whole ? walk->next : moved < released ? moved : released;

	if (walk->changing)
		bucket = next_changing(walk, bucket < walk->image->buckets ? bucket : walk->image->buckets);
	if (bucket >= walk->image->buckets)
		return false;
	step->bucket = bucket;
	step->from = step->to = walk->image->current[bucket];
	step->release = bucket == released ? walk->delta->releases[walk->release].owner : RELEASES_NONE;
	if (bucket == moved)
		step->to = walk->delta->runs[walk->run].current;
	if (walk->owners && !owners_next(walk->owners, step->from, &step->to))
		step->to = step->from;
	walk->next = bucket + 1;
	return true;
}

/* The history after a step. False: it is too long. */
static bool history_after(const struct walk *walk, const struct history *before, const struct step *step,
			  struct history *out)
{
	bool moves = step->from != step->to;

	*out = (struct history){.count = 0};
	if (moves && step->from != FL_BACKEND_NONE && !is_dead(walk, step->from))
		history_append(out, step->from, walk->delta->committed);
	for (uint32_t i = 0; i < before->count; i++) {
		uint16_t owner = before->owner[i];

		if ((walk->closes && before->since[i] <= walk->delta->closed_until) || is_dead(walk, owner) ||
		    step->release == 0 || step->release == owner || (moves && owner == step->to))
			continue;
		if (!fl_list_has_room(out->count))
			return false;
		history_append(out, owner, before->since[i]);
	}
	return true;
}

static enum fl_delta_error check_step(const struct walk *walk, const struct step *step, struct reason *why)
{
	const struct history *before = histories_get(&walk->image->histories, walk->image->history[step->bucket]);
	struct history after;

	if (is_dead(walk, step->to))
		return reason_set(why, FL_DELTA_RUN, "bucket %u is of backend %u, which is dead; allowed: of others",
				  step->bucket, step->to);
	if (!fl_list_has_room(before->count) && !history_after(walk, before, step, &after))
		return reason_set(why, FL_DELTA_RUN, "bucket %u has %u former owners and one more; allowed: %u",
				  step->bucket, before->count, before->count);
	return FL_DELTA_OK;
}

enum fl_delta_error fold_check(const struct image *image, const struct delta *delta, struct reason *why)
{
	enum fl_delta_error error = FL_DELTA_OK;
	struct walk walk;
	struct step step;

	if (!walk_start(&walk, image, delta))
		return reason_set(why, FL_DELTA_LENGTH, "%u runs by owner; no memory", delta->runs_count);
	walk.is_whole |= walk.has_dead; /* a bucket that stays may be of a dead backend */
	while (!error && walk_next(&walk, &step))
		error = check_step(&walk, &step, why);
	walk_end(&walk);
	return error;
}

static struct memo *memo_of(struct memo *memos, uint32_t before, const struct step *step)
{
	uint64_t hash = fl_sum_mix((uint64_t)before << 32 | (uint32_t)step->from << 16 | step->to);

	return &memos[(hash + (uint32_t)step->release) % MEMOS];
}

static bool is_memo_of(const struct memo *memo, uint32_t before, const struct step *step)
{
	return memo->is_set && memo->before == before && memo->release == step->release && memo->from == step->from &&
	       memo->to == step->to;
}

/* The number of the bucket's history after a step. */
static int find_history(const struct walk *walk, struct image *image, struct memo *memos, const struct step *step,
			uint32_t *number)
{
	uint32_t before = image->history[step->bucket];
	struct memo *memo = memo_of(memos, before, step);
	struct history after;
	int error;

	*number = 0;
	if (!before && step->from == step->to)
		return 0;
	if (is_memo_of(memo, before, step)) {
		*number = memo->after;
		return 0;
	}
	if (!history_after(walk, histories_get(&image->histories, before), step, &after))
		return -EINVAL;
	error = histories_add(&image->histories, &after, number);
	*memo = (struct memo){!error, before, step->release, step->from, step->to, *number};
	return error;
}

static int note_change(struct fold *fold, uint32_t bucket, uint32_t history, uint16_t current)
{
	if (fold->count == fold->room) {
		uint32_t room = fold->room ? 2 * fold->room : CHANGES_FIRST;
		struct fold_change *list = realloc(fold->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		fold->list = list;
		fold->room = room;
	}
	fold->list[fold->count++] = (struct fold_change){bucket, history, current};
	return 0;
}

int fold_start(struct fold *fold, struct image *image, const struct delta *delta)
{
	struct memo *memos = calloc(MEMOS, sizeof(*memos));
	struct walk walk;
	struct step step;
	uint32_t number;
	int error = 0;

	*fold = (struct fold){0};
	if (!walk_start(&walk, image, delta) || !note_changing(&walk) || !memos)
		error = -ENOMEM;
	fold->closes = walk.closes;
	while (!error && walk_next(&walk, &step)) {
		error = find_history(&walk, image, memos, &step, &number);
		if (!error && (number != image->history[step.bucket] || step.from != step.to))
			error = note_change(fold, step.bucket, number, step.to);
	}
	walk_end(&walk);
	free(memos);
	if (error)
		fold_end(fold);
	return error;
}

void fold_commit(const struct fold *fold, struct image *image, const struct delta *delta)
{
	for (uint32_t i = 0; i < fold->count; i++)
		image_put(image, fold->list[i].bucket, fold->list[i].current, fold->list[i].history);
	image->committed = delta->committed;
	image->closed_until = delta->closed_until;
	if (fold->closes)
		image_compact(image); /* so that `oldest` tells what is left to be closed */
	else
		image_compact_at_times(image);
}

void fold_end(struct fold *fold)
{
	free(fold->list);
	*fold = (struct fold){0};
}

int delta_fold(struct delta *image, const struct delta *delta)
{
	size_t most = (size_t)image->backends_count + delta->backends_count;
	struct fl_delta_backend *backends = malloc((most + !most) * sizeof(*backends));
	struct fold fold;
	int error = backends ? fold_start(&fold, &image->image, delta) : -ENOMEM;

	if (error) {
		free(backends);
		return error;
	}
	fold_commit(&fold, &image->image, delta);
	fold_end(&fold);
	image->backends_count = backend_list_merge(image->backends, image->backends_count, delta->backends,
						   delta->backends_count, backends);
	free(image->backends);
	image->backends = backends;
	image->generation = delta->generation;
	return 0;
}
