/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_ROOM = 1 << 14 };

static uint8_t *nodes;  /* parent 4 | state */
static uint64_t *slots; /* 0, or a state's number + 1 below the high half of its hash */
static uint64_t room, most, mask, count;
static size_t packed_len, node_len;

/* A state's bytes, which are written or read. */
struct tape {
	uint8_t *at;
	unsigned bit;
	bool reads;
};

static inline void pass(struct tape *tape, uint8_t *value, unsigned bits)
{
	if (tape->reads)
		*value = (uint8_t)(*tape->at >> tape->bit & ((1U << bits) - 1));
	else
		*tape->at = (uint8_t)((tape->bit ? *tape->at : 0) | *value << tape->bit);
	tape->bit += bits;
	if (tape->bit == 8) {
		tape->bit = 0;
		tape->at++;
	}
}

static inline void pass_lists(struct tape *tape, uint16_t *lists, size_t count)
{
	memcpy(tape->reads ? (void *)lists : tape->at, tape->reads ? tape->at : (void *)lists, 2 * count);
	tape->at += 2 * count;
}

/* Both ways the same. */
static inline __attribute__((always_inline)) void pass_state(struct tape *tape, struct state *t)
{
	pass(tape, &t->n, 4);
	pass(tape, &t->moves, 4);
	pass(tape, &t->home, 3);
	pass(tape, &t->dead, 3);
	pass(tape, &t->home_cookie, 1);
	pass(tape, &t->removed, 1);
	pass(tape, &t->empty, 3);
	pass(tape, &t->restarted, 3);
	pass(tape, &t->restored, 2);
	pass(tape, &t->gone, 4);
	pass(tape, &t->left, 4);
	pass(tape, &t->settled, 4);
	pass(tape, &t->held, 4);
	pass(tape, &t->memo, 8);
	pass(tape, &t->half, 8);
	pass(tape, &t->cookie, 8);
	pass(tape, &t->fresh, 8);
	pass(tape, &t->former, 8);
	for (int b = 0; b < setting.buckets; b++) {
		pass(tape, &t->reported[b], 8);
		pass_lists(tape, t->list[b], G);
	}
	for (int m = 0; m < setting.muxes; m++)
		pass(tape, &t->mux[m], 8);
	for (int m = 0; setting.older && m < setting.muxes; m++) {
		pass(tape, &t->kept[m], 4);
		pass(tape, &t->disk[m], 4);
	}
	for (int s = 0; s < setting.servers; s++) {
		pass(tape, &t->seen[s], 4);
		pass(tape, &t->lapsed[s], 4);
		pass(tape, &t->born[s], 8);
	}
	for (int g = 0; g < G; g++)
		pass(tape, &t->because[g], 4);
	for (int g = 0; setting.arrays && g < G; g++)
		pass(tape, &t->code[g], 8);
	if (setting.arrays) {
		pass(tape, &t->known, 8);
		pass(tape, &t->renewed, 8);
	}
	for (int f = 0; f < setting.flight; f++) {
		pass(tape, &t->flight[f].kind, 4);
		pass(tape, &t->flight[f].gen, 4);
		pass(tape, &t->flight[f].late, 4);
		pass(tape, &t->flight[f].hint, 4);
		pass_lists(tape, &t->flight[f].path, 1);
	}
}

void search_pack(const struct state *t, uint8_t *p)
{
	struct tape tape = {.at = p};

	pass_state(&tape, (struct state *)(uintptr_t)t); /* is read alone */
	packed_len = (size_t)(tape.at - p);
}

void search_unpack(const uint8_t *p, struct state *t)
{
	struct tape tape = {.at = (uint8_t *)(uintptr_t)p, .reads = true};

	memset(t, 0, sizeof(*t));
	for (int m = 0; m < M; m++)
		t->kept[m] = t->disk[m] = AWAY;
	pass_state(&tape, t);
}

uint8_t *search_node(uint64_t i)
{
	return nodes + i * node_len;
}

static uint64_t hash(const uint8_t *p)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL;
	size_t n = packed_len;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	for (; n; n--, p++)
		h = (h ^ *p) * 0x100000001b3ULL;
	h ^= h >> 29;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 32;
}

static void fill(uint64_t h, uint64_t number)
{
	uint64_t at = h & mask;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = (h & ~0xffffffffULL) | number;
}

static bool grow_slots(void)
{
	uint64_t bigger = 2 * (mask + 1);
	uint64_t *s = calloc(bigger, sizeof(*s));

	if (!s)
		return false;
	free(slots);
	slots = s;
	mask = bigger - 1;
	for (uint64_t i = 0; i < count; i++)
		fill(hash(search_node(i) + 4), i + 1);
	return true;
}

static bool grow_nodes(void)
{
	uint64_t bigger = 2 * room < most ? 2 * room : most;
	uint8_t *more = bigger > room ? realloc(nodes, bigger * node_len) : NULL;

	if (!more)
		return false;
	nodes = more;
	room = bigger;
	return true;
}

/* Adds the packed state of this hash unless it is there. False: no memory. */
static bool visit(const uint8_t *p, uint64_t h, uint32_t parent)
{
	for (uint64_t at = h & mask; slots[at]; at = (at + 1) & mask)
		if ((slots[at] ^ h) >> 32 == 0 && !memcmp(search_node((uint32_t)slots[at] - 1) + 4, p, packed_len))
			return true;
	if (count == room && !grow_nodes())
		return false;
	memcpy(search_node(count), &parent, 4);
	memcpy(search_node(count) + 4, p, packed_len);
	fill(h, ++count);
	return count <= (mask + 1) / 10 * 8 || grow_slots();
}

static void note(struct tally *tally, enum cause cause, uint64_t at, struct step step)
{
	if (!tally->broken[cause]++) {
		tally->example[cause] = (uint32_t)at;
		tally->example_step[cause] = step;
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * Every step from one state. What they lead to is looked up once all have been taken: by then the slots have come from
 * memory. False: no memory.
 */
static bool expand(uint64_t at, struct tally *tally)
{
	static uint8_t packed[STEPS_MAX][STATE_PACKED_MAX];
	uint64_t hashes[STEPS_MAX];
	struct step steps[STEPS_MAX];
	struct state here;
	enum cause cause;
	unsigned n, found = 0;

	search_unpack(search_node(at) + 4, &here);
	n = steps_of(&here, steps);
	for (unsigned k = 0; k < n; k++) {
		struct state to = here;
		enum result result = steps_take(&to, steps[k], &cause);

		tally->steps++;
		tally->packets[result]++;
		if (result == BROKEN)
			note(tally, cause, at, steps[k]);
		if (result == BROKEN || result == ENDED || !memcmp(&to, &here, sizeof(to)))
			continue;
		state_canonical(&to);
		search_pack(&to, packed[found]);
		hashes[found] = hash(packed[found]);
		__builtin_prefetch(&slots[hashes[found++] & mask]);
	}
	for (unsigned k = 0; k < found; k++)
		if (!visit(packed[k], hashes[k], (uint32_t)at))
			return false;
	if (steps_settle(here, &cause) == BROKEN) {
		tally->unsettled++;
		note(tally, cause, at, (struct step){SEARCH_SETTLED, 0});
	}
	return true;
}

static bool begin(void)
{
	struct state first = state_first();
	uint8_t p[STATE_PACKED_MAX];

	free(nodes);
	free(slots);
	count = 0;
	state_canonical(&first);
	search_pack(&first, p);
	node_len = 4 + packed_len;
	mask = (1 << 16) - 1;
	slots = calloc(mask + 1, sizeof(*slots));
	most = (uint64_t)(setting.gib * (1ULL << 30) / (double)(node_len + 20)); /* slots take up to 20 a state */
	if (most > 0xfffffff0U)
		most = 0xfffffff0U;
	room = most < FIRST_ROOM ? most : FIRST_ROOM;
	nodes = malloc(room * node_len);
	return nodes && slots && visit(p, hash(p), 0);
}

bool search_all(struct tally *tally)
{
	double from = seconds();
	bool whole = begin();

	for (uint64_t i = 0; whole && i < count && !(setting.search && tally->broken[C_NONE]); i++)
		whole = expand(i, tally) && (i & 0xffff || seconds() - from < setting.seconds);
	tally->states = count;
	return whole;
}

unsigned search_walk(struct tally *tally, struct step *way, unsigned room_)
{
	uint64_t draw = setting.seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL;
	struct state now = state_first();
	unsigned n = 0;

	for (double taken = 0; taken < setting.walk; taken++) {
		struct step steps[STEPS_MAX];
		unsigned of = steps_of(&now, steps);
		enum result result = ENDED;
		enum cause cause;

		draw ^= draw << 13;
		draw ^= draw >> 7;
		draw ^= draw << 17;
		if (of && n < room_ && (draw & 0xffff) >= 0xffff / 100) {
			way[n] = steps[(draw >> 32) * of >> 32];
			result = steps_take(&now, way[n++], &cause);
			tally->steps++;
			tally->packets[result]++;
			state_cut(&now);
		}
		if (result == BROKEN) {
			note(tally, cause, 0, (struct step){SEARCH_SETTLED, 0});
		} else if (result != ENDED && steps_settle(now, &cause) == BROKEN) {
			tally->unsettled++;
			note(tally, cause, 0, (struct step){SEARCH_SETTLED, 0});
		}
		if (tally->broken[C_NONE])
			return n;
		if (result == BROKEN || result == ENDED) {
			now = state_first();
			n = 0;
		}
	}
	return 0;
}

bool search_is(const struct state *a, const uint8_t *packed)
{
	uint8_t p[STATE_PACKED_MAX];
	struct state canonical = *a;

	state_canonical(&canonical);
	search_pack(&canonical, p);
	return !memcmp(p, packed, packed_len);
}
