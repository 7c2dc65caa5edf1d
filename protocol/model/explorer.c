/* SPDX-License-Identifier: Apache-2.0 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

#include "story.h"

enum { FIRST_NODES = 1 << 12, FIRST_SLOTS = 1 << 14 };

struct node {
	struct world world;
	uint32_t parent;        /* index; the first node is its own */
	struct world_step step; /* that led here from parent */
};

struct explorer {
	const struct world_setting *setting;
	struct node *nodes;
	uint32_t count, room;
	uint32_t *slots; /* open addressing: index + 1 of a node, 0: empty */
	uint32_t mask;
};

/* FNV-1a. */
static uint32_t hash(const struct world *world)
{
	const uint8_t *bytes = (const uint8_t *)world;
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < sizeof(*world); i++)
		h = (h ^ bytes[i]) * 0x100000001b3ULL;
	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the state, or the empty one where it belongs. */
static uint32_t *find(const struct explorer *explorer, const struct world *world)
{
	uint32_t at = hash(world) & explorer->mask;

	while (explorer->slots[at] &&
	       memcmp(&explorer->nodes[explorer->slots[at] - 1].world, world, sizeof(*world)) != 0)
		at = (at + 1) & explorer->mask;
	return &explorer->slots[at];
}

static bool grow_nodes(struct explorer *explorer)
{
	struct node *nodes = realloc(explorer->nodes, 2ULL * explorer->room * sizeof(*nodes));

	if (!nodes)
		return false;
	explorer->nodes = nodes;
	explorer->room *= 2;
	return true;
}

static bool grow_slots(struct explorer *explorer)
{
	uint32_t *slots = calloc(2ULL * (explorer->mask + 1ULL), sizeof(*slots));

	if (!slots)
		return false;
	free(explorer->slots);
	explorer->slots = slots;
	explorer->mask = 2 * explorer->mask + 1;
	for (uint32_t i = 0; i < explorer->count; i++)
		*find(explorer, &explorer->nodes[i].world) = i + 1;
	return true;
}

/* False: no memory. */
static bool visit(struct explorer *explorer, const struct world *world, uint32_t parent, struct world_step step)
{
	uint32_t *slot = find(explorer, world);

	if (*slot)
		return true;
	if (explorer->count == explorer->room && !grow_nodes(explorer))
		return false;
	explorer->nodes[explorer->count] = (struct node){*world, parent, step};
	*slot = ++explorer->count;
	return explorer->count < explorer->mask / 2 || grow_slots(explorer);
}

/* The steps that led to a node and one more, in words. NULL: no memory. */
static char *story_of(const struct explorer *explorer, uint32_t index, struct world_step last)
{
	struct world_step *steps;
	size_t n = 1, at;
	char *text;

	for (uint32_t i = index; i; i = explorer->nodes[i].parent)
		n++;
	steps = calloc(n, sizeof(*steps));
	if (!steps)
		return NULL;
	at = n;
	steps[--at] = last;
	for (uint32_t i = index; i; i = explorer->nodes[i].parent)
		steps[--at] = explorer->nodes[i].step;
	text = story(explorer->setting, steps, n);
	free(steps);
	return text;
}

static bool judge(const struct explorer *explorer, uint32_t index, struct world_step step, enum world_result result,
		  struct tally *tally)
{
	enum limit limit;

	tally->delivered += result == WORLD_DELIVERED;
	tally->dropped += result == WORLD_DROPPED;
	if (result != WORLD_BROKEN)
		return true;
	limit = limit_of(explorer->setting, &explorer->nodes[index].world, step);
	tally->broken[limit]++;
	if (!tally->shortest[limit])
		tally->shortest[limit] = story_of(explorer, index, step);
	return tally->shortest[limit];
}

/* Every step from one state. A broken connection ends there. */
static bool expand(struct explorer *explorer, uint32_t index, struct tally *tally)
{
	struct world_step steps[WORLD_STEPS_MAX];
	unsigned n = world_steps(explorer->setting, &explorer->nodes[index].world, steps);

	for (unsigned s = 0; s < n; s++) {
		struct world world = explorer->nodes[index].world;
		enum world_result result = world_take(explorer->setting, &world, steps[s]);

		if (!judge(explorer, index, steps[s], result, tally))
			return false;
		if (result != WORLD_BROKEN && result != WORLD_ENDED && steps[s].action != WORLD_SETTLE &&
		    !visit(explorer, &world, index, steps[s]))
			return false;
	}
	return true;
}

bool explore(const struct world_setting *setting, struct tally *tally)
{
	struct explorer explorer = {.setting = setting, .room = FIRST_NODES, .mask = FIRST_SLOTS - 1};
	struct world first = world_first();
	bool done;

	explorer.nodes = malloc(FIRST_NODES * sizeof(*explorer.nodes));
	explorer.slots = calloc(FIRST_SLOTS, sizeof(*explorer.slots));
	done = explorer.nodes && explorer.slots && visit(&explorer, &first, 0, (struct world_step){0, 0});
	for (uint32_t i = 0; done && i < explorer.count; i++)
		done = expand(&explorer, i, tally);
	tally->states += explorer.count;
	free(explorer.nodes);
	free(explorer.slots);
	return done;
}

void tally_free(struct tally *tally)
{
	for (int limit = 0; limit < LIMITS; limit++)
		free(tally->shortest[limit]);
}
