/* SPDX-License-Identifier: Apache-2.0 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_NODES = 1 << 12, FIRST_SLOTS = 1 << 14 };

struct node {
	uint32_t parent;        /* index; the first node is its own */
	struct world_step step; /* that led here from parent */
	uint8_t state[];        /* state_len bytes */
};

struct explorer {
	const struct model *model;
	const void *setting;
	uint8_t *nodes; /* of node_len bytes each */
	size_t node_len;
	uint32_t count, room;
	uint32_t *slots; /* open addressing: index + 1 of a node, 0: empty */
	uint32_t mask;
};

static struct node *node_at(const struct explorer *explorer, uint32_t index)
{
	return (struct node *)(explorer->nodes + index * explorer->node_len);
}

/* FNV-1a. */
static uint32_t hash(const uint8_t *state, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ state[i]) * 0x100000001b3ULL;
	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the state, or the empty one where it belongs. */
static uint32_t *find(const struct explorer *explorer, const uint8_t *state)
{
	size_t len = explorer->model->state_len;
	uint32_t at = hash(state, len) & explorer->mask;

	while (explorer->slots[at] && memcmp(node_at(explorer, explorer->slots[at] - 1)->state, state, len) != 0)
		at = (at + 1) & explorer->mask;
	return &explorer->slots[at];
}

static bool grow_nodes(struct explorer *explorer)
{
	uint8_t *nodes = realloc(explorer->nodes, 2ULL * explorer->room * explorer->node_len);

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
		*find(explorer, node_at(explorer, i)->state) = i + 1;
	return true;
}

/* False: no memory. */
static bool visit(struct explorer *explorer, const uint8_t *state, uint32_t parent, struct world_step step)
{
	uint32_t *slot = find(explorer, state);
	struct node *node;

	if (*slot)
		return true;
	if (explorer->count == explorer->room && !grow_nodes(explorer))
		return false;
	node = node_at(explorer, explorer->count);
	node->parent = parent;
	node->step = step;
	memcpy(node->state, state, explorer->model->state_len);
	*slot = ++explorer->count;
	return explorer->count < explorer->mask / 2 || grow_slots(explorer);
}

/* The steps that led to a node and one more, in words. NULL: no memory. */
static char *story_of(const struct explorer *explorer, uint32_t index, struct world_step last)
{
	struct world_step *steps;
	size_t n = 1, at;
	char *text;

	for (uint32_t i = index; i; i = node_at(explorer, i)->parent)
		n++;
	steps = calloc(n, sizeof(*steps));
	if (!steps)
		return NULL;
	at = n;
	steps[--at] = last;
	for (uint32_t i = index; i; i = node_at(explorer, i)->parent)
		steps[--at] = node_at(explorer, i)->step;
	text = explorer->model->story(explorer->setting, steps, n);
	free(steps);
	return text;
}

static bool judge(const struct explorer *explorer, uint32_t index, struct world_step step, enum world_result result,
		  struct tally *tally)
{
	int limit;

	tally->delivered += result == WORLD_DELIVERED;
	tally->dropped += result == WORLD_DROPPED;
	if (result != WORLD_BROKEN)
		return true;
	limit = explorer->model->limit(explorer->setting, node_at(explorer, index)->state, step);
	tally->broken[limit]++;
	if (!tally->shortest[limit])
		tally->shortest[limit] = story_of(explorer, index, step);
	return tally->shortest[limit];
}

/* Every step from one state. A broken connection ends there. */
static bool expand(struct explorer *explorer, uint32_t index, struct tally *tally)
{
	const struct model *model = explorer->model;
	struct world_step steps[MODEL_STEPS_MAX];
	unsigned n = model->steps(explorer->setting, node_at(explorer, index)->state, steps);

	for (unsigned s = 0; s < n; s++) {
		uint8_t state[MODEL_STATE_MAX];
		enum world_result result;

		memcpy(state, node_at(explorer, index)->state, model->state_len);
		result = model->take(explorer->setting, state, steps[s]);
		if (!judge(explorer, index, steps[s], result, tally))
			return false;
		if (result != WORLD_BROKEN && result != WORLD_ENDED && steps[s].action != model->last_action &&
		    !visit(explorer, state, index, steps[s]))
			return false;
	}
	return true;
}

bool explore(const struct model *model, const void *setting, struct tally *tally)
{
	struct explorer explorer = {
	    .model = model,
	    .setting = setting,
	    .node_len = (sizeof(struct node) + model->state_len + 3) / 4 * 4, /* parent is aligned */
	    .room = FIRST_NODES,
	    .mask = FIRST_SLOTS - 1,
	};
	uint8_t first[MODEL_STATE_MAX];
	bool done;

	model->first(setting, first);
	explorer.nodes = malloc(FIRST_NODES * explorer.node_len);
	explorer.slots = calloc(FIRST_SLOTS, sizeof(*explorer.slots));
	done = explorer.nodes && explorer.slots && visit(&explorer, first, 0, (struct world_step){0, 0});
	for (uint32_t i = 0; done && i < explorer.count && !(tally->is_search && tally->broken[0]); i++)
		done = expand(&explorer, i, tally);
	tally->states += explorer.count;
	free(explorer.nodes);
	free(explorer.slots);
	return done;
}

void tally_free(struct tally *tally)
{
	for (int limit = 0; limit < MODEL_LIMITS_MAX; limit++)
		free(tally->shortest[limit]);
}
