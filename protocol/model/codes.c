/* SPDX-License-Identifier: Apache-2.0 */
#include "codes.h"

#include <string.h>

#include "codes_keeper.h"

enum { SETTLE_PACKETS = 8 };

static const struct pair_generation *newest(const struct codes *codes)
{
	return pair_newest(&codes->pair);
}

void codes_buckets(const struct codes *codes, uint8_t mux, uint8_t *b1, uint8_t *b2)
{
	const struct pair_generation *g = pair_applied(&codes->pair, mux);

	*b1 = codes->code[g->arrays];
	*b2 = g->has_second ? codes->code[g->arrays - 1] : *b1;
}

/* With notices that are lost one by one, generations are not forgotten, so there are few. */
bool codes_has_room(const struct codes_setting *setting, const struct codes *codes)
{
	unsigned most = setting->pair.notices == WORLD_NOTICES_LOSSY ? setting->pair.moves + 2 * setting->arrays + 2
								     : PAIR_GENERATIONS;

	return codes->pair.newest + 1U < most && codes->pair.newest + 1U < PAIR_GENERATIONS;
}

struct codes codes_first(const struct codes_setting *setting)
{
	struct codes codes;

	memset(&codes, 0, sizeof(codes));
	codes.pair = pair_first(&setting->pair, 1);
	codes.complete = true;
	memset(codes.earlier, WORLD_NONE, sizeof(codes.earlier));
	return codes;
}

bool codes_is_quiet(const struct codes_setting *setting, const struct codes *codes, unsigned generation)
{
	return setting->absence != WORLD_PRESENT && generation > codes->pair.late && generation <= codes->pair.newest &&
	       codes->pair.generation[generation].committed >= CODES_QUIET;
}

/* Whether the late mux gets no packet any more. */
static bool has_withdrawn(const struct codes_setting *setting, const struct codes *codes)
{
	return setting->absence == WORLD_ABSENT && codes_is_quiet(setting, codes, codes->pair.late + 1U);
}

/* Whether something is due, so that no time passes before it. */
static bool is_due(const struct codes_setting *setting, const struct codes *codes)
{
	if (!setting->renewed && !setting->timely)
		return false;
	if (setting->absence == WORLD_PRESENT && codes->pair.late < codes->pair.newest &&
	    codes->pair.generation[codes->pair.late + 1].committed >= CODES_PROMPT)
		return true;
	for (uint8_t b = 0; b < PAIR_BUCKETS; b++)
		if (codes_must_renew(setting, codes, b))
			return true;
	if (!setting->timely)
		return false;
	if (codes->pair.home != WORLD_NONE && !codes->known && codes->opened_ago >= CODES_PROMPT)
		return true;
	return codes_is_fixable(setting, codes) &&
	       (codes->everywhere >= CODES_PROMPT || !codes_has_rule(setting, CODES_RULE_WAIT));
}

static unsigned steps_of_controller(const struct codes_setting *setting, const struct codes *codes,
				    struct world_step *steps)
{
	const struct pair_generation *g = newest(codes);
	bool has_room = codes_has_room(setting, codes);
	uint8_t count = pair_servers(&setting->pair, &codes->pair);
	unsigned n = 0;

	for (uint8_t b = 0; has_room && codes->pair.moves < setting->pair.moves && b < PAIR_BUCKETS; b++)
		for (uint8_t s = 0; s < count; s++)
			if (codes_may_move(setting, codes, b, s))
				steps[n++] = (struct world_step){PAIR_MOVE, pair_place(b, s)};
	for (uint8_t code = 0; g->arrays < setting->arrays && code < PAIR_BUCKETS; code++)
		if (codes_may_commit(setting, codes) && codes_may_code(setting, codes, code))
			steps[n++] = (struct world_step){CODES_ARRAYS, code};
	if (codes_may_drop(setting, codes))
		steps[n++] = (struct world_step){CODES_DROP, 0};
	for (uint8_t b = 0; b < PAIR_BUCKETS; b++)
		if (codes_may_renew(setting, codes, b))
			steps[n++] = (struct world_step){CODES_RENEW, b};
	if (codes->pair.home != WORLD_NONE && !codes->known && !codes->refused)
		steps[n++] = (struct world_step){CODES_REPORT, 0};
	if (codes->leaders < setting->leaders)
		steps[n++] = (struct world_step){CODES_LEADER, 0};
	if (setting->silence && codes->leaders && !codes->complete && !codes->silent)
		steps[n++] = (struct world_step){CODES_SILENCE, 0};
	for (uint8_t s = 0; has_room && pair_is_removal_due(&codes->pair) && s < count; s++)
		if (s != codes->pair.dead)
			steps[n++] = (struct world_step){PAIR_REMOVE, s};
	return n;
}

unsigned codes_steps(const struct codes_setting *setting, const struct codes *codes,
		     struct world_step steps[CODES_STEPS_MAX])
{
	unsigned n = 0;

	if (!is_due(setting, codes))
		steps[n++] = (struct world_step){PAIR_TIME, 0};
	n += steps_of_controller(setting, codes, steps + n);
	n += pair_steps(&setting->pair, &codes->pair, steps + n);
	steps[n++] = (struct world_step){CODES_PACKET, WORLD_CURRENT};
	if (codes->pair.late < codes->pair.newest && !has_withdrawn(setting, codes))
		steps[n++] = (struct world_step){CODES_PACKET, WORLD_LATE};
	steps[n++] = (struct world_step){PAIR_SETTLE, 0};
	return n;
}

static void lower(uint8_t *generation, uint8_t by)
{
	*generation = *generation > by + FIRST_GENERATION ? (uint8_t)(*generation - by) : FIRST_GENERATION;
}

static void lower_server(struct pair_server *server, uint8_t by)
{
	lower(&server->seen, by);
	for (unsigned b = 0; b < PAIR_BUCKETS; b++)
		if (server->memory[b].previous != WORLD_NONE)
			lower(&server->memory[b].generation, by);
}

/*
 * What no mux has any more and no notice tells is forgotten, so that states that differ in it are one. The late mux's
 * generation becomes number 1: what is lower is lower than any packet's.
 */
static void forget(const struct codes_setting *setting, struct codes *codes)
{
	uint8_t by = codes->pair.late > 1 ? (uint8_t)(codes->pair.late - 1) : 0;

	for (unsigned k = 0; k + 1 < codes->pair.generation[codes->pair.late].arrays; k++)
		codes->code[k] = 0;
	if (setting->pair.notices == WORLD_NOTICES_LOSSY)
		return;
	for (unsigned g = 0; g < codes->pair.late; g++)
		codes->pair.generation[g].told = 0;
	if (!by)
		return;
	memmove(codes->pair.generation, codes->pair.generation + by,
		(PAIR_GENERATIONS - by) * sizeof(codes->pair.generation[0]));
	memset(codes->pair.generation + PAIR_GENERATIONS - by, 0, by * sizeof(codes->pair.generation[0]));
	codes->pair.late -= by;
	codes->pair.newest -= by;
	if (codes->pair.removed)
		codes->pair.removed = codes->pair.removed > by ? (uint8_t)(codes->pair.removed - by) : 1;
	for (unsigned s = 0; s < setting->pair.servers; s++)
		lower_server(&codes->pair.server[s], by);
	if (codes->pair.forgot != WORLD_NONE)
		lower_server(&codes->pair.forgotten, by);
}

static void catch_up(const struct codes_setting *setting, struct codes *codes)
{
	uint8_t arrays = pair_applied(&codes->pair, WORLD_LATE)->arrays;

	pair_catch_up(&setting->pair, &codes->pair);
	codes->pair.generation[codes->pair.late].committed = 0;
	if (pair_applied(&codes->pair, WORLD_LATE)->arrays != arrays)
		codes->everywhere = 0;
	forget(setting, codes);
}

/* A row of the generation that pair_begin() returned: the bucket's owner, and the previous one since now. */
static void row(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t owner,
		uint8_t previous)
{
	struct pair_generation *g = &codes->pair.generation[codes->pair.newest + 1];

	codes_line_change(setting, codes, bucket, previous);
	g->owner[bucket] = owner;
	g->previous[bucket] = previous;
	g->age[bucket] = 0;
}

static void commit(const struct codes_setting *setting, struct codes *codes)
{
	const struct pair_generation *g = newest(codes) + 1;

	for (uint8_t b = 0; codes->pair.home != WORLD_NONE && b < PAIR_BUCKETS; b++)
		if (g->owner[b] == codes->pair.home ||
		    (!g->age[b] && (g->previous[b] == codes->pair.home || codes->away[b] < setting->pair.window)))
			codes->away[b] = 0;
	pair_commit(&setting->pair, &codes->pair);
	codes_line_forget(setting, codes);
	if (!setting->pair.behind)
		catch_up(setting, codes);
}

static void move(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t owner)
{
	uint8_t before = pair_begin(&codes->pair)->owner[bucket];

	row(setting, codes, bucket, owner, before);
	codes->pair.moves++;
	commit(setting, codes);
}

static void new_arrays(const struct codes_setting *setting, struct codes *codes, uint8_t code)
{
	struct pair_generation *g = pair_begin(&codes->pair);

	g->arrays++;
	g->has_second = true;
	codes->code[g->arrays] = code;
	codes->everywhere = 0;
	commit(setting, codes);
}

static void renew(const struct codes_setting *setting, struct codes *codes, uint8_t bucket)
{
	const struct pair_generation *g = pair_begin(&codes->pair);
	uint8_t previous = codes_kept(setting, codes) == bucket ? codes->pair.home : g->previous[bucket];

	row(setting, codes, bucket, g->owner[bucket], previous);
	commit(setting, codes);
}

/*
 * A bucket of the dead server goes to the one that is named. Where the ring named the dead one, it names the owner before
 * it.
 */
static void remove_dead(const struct codes_setting *setting, struct codes *codes, uint8_t to)
{
	const struct pair_generation *g = pair_begin(&codes->pair);

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		uint8_t owner = g->owner[b] == codes->pair.dead ? to : g->owner[b];

		if (owner != g->owner[b] || g->previous[b] == codes->pair.dead)
			row(setting, codes, b, owner, codes_owner_before(setting, codes, b, owner));
	}
	codes->pair.removed = codes->pair.newest + 1;
	commit(setting, codes);
}

static void report(struct codes *codes)
{
	codes->complete = true;
	codes->opened_ago = 0;
	if (codes->silent)
		codes->silent = 2;
	codes->known = codes_is_plausible(codes);
	codes->refused = !codes->known;
}

static void change_leader(struct codes *codes)
{
	codes->leaders++;
	codes->known = false;
	codes->refused = false;
	codes->complete = codes->pair.home == WORLD_NONE;
}

/* Whether reports do not count before the late mux, which lacks the generation, has applied it or withdrawn. */
static bool counts(const struct codes_setting *setting, const struct codes *codes, unsigned generation)
{
	if (!codes_has_rule(setting, CODES_RULE_MUXES))
		return false;
	if (setting->absence == WORLD_PRESENT)
		return true;
	return codes_has_rule(setting, CODES_RULE_ABSENT) && !codes_is_quiet(setting, codes, generation);
}

/* The connection opens at a server: since when that does not own each bucket any more. */
static void open(const struct codes_setting *setting, struct codes *codes, uint8_t mux, uint8_t home)
{
	codes->pair.home = home;
	codes->opened = pair_applied(&codes->pair, mux)->arrays;
	codes->opened_ago = 0;
	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		unsigned last = codes->pair.newest;

		codes->away[b] = WORLD_NONE;
		while (last > codes->pair.late && codes->pair.generation[last].owner[b] != home)
			last--;
		if (codes->pair.generation[last].owner[b] == home)
			codes->away[b] = last == codes->pair.newest ? 0 : codes->pair.generation[last + 1].age[b];
		/* its server may have reported between the move and this */
		if (last < codes->pair.newest && !counts(setting, codes, last + 1))
			codes->unawaited |= (uint8_t)(1U << b);
	}
	codes->overdue = mux == WORLD_LATE && codes_is_quiet(setting, codes, codes->pair.late + 1U);
}

static enum world_result packet(const struct codes_setting *setting, struct codes *codes, uint8_t mux)
{
	bool is_syn = codes->pair.home == WORLD_NONE;
	struct pair_way way;
	uint8_t b1, b2;

	codes_buckets(codes, mux, &b1, &b2);
	way = pair_way(is_syn, codes->pair.home);
	way.steer =
	    pair_header(&setting->pair, &codes->pair, mux, b1, codes_has_rule(setting, CODES_RULE_SECOND) ? b2 : b1);
	pair_walk(&setting->pair, &codes->pair, mux, &way);
	if (way.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	if (is_syn)
		open(setting, codes, mux, way.end);
	return way.end == codes->pair.home ? WORLD_DELIVERED : WORLD_BROKEN;
}

static enum world_result settle(const struct codes_setting *setting, struct codes *codes)
{
	if (pair_is_removal_due(&codes->pair) && codes_has_room(setting, codes))
		remove_dead(setting, codes, codes->pair.dead == 0);
	while (codes->pair.late < codes->pair.newest)
		catch_up(setting, codes);
	for (int i = 0; i < SETTLE_PACKETS; i++)
		if (packet(setting, codes, WORLD_CURRENT) != WORLD_DROPPED)
			return WORLD_IDLE;
	return pair_is_removal_due(&codes->pair) ? WORLD_IDLE : WORLD_BROKEN;
}

static void pass_time(const struct codes_setting *setting, struct codes *codes)
{
	pair_take(&setting->pair, &codes->pair, (struct world_step){PAIR_TIME, 0});
	for (unsigned g = codes->pair.late + 1U; g <= codes->pair.newest; g++)
		if (setting->absence != WORLD_PRESENT)
			pair_grow(&codes->pair.generation[g].committed, CODES_QUIET);
		else if (setting->timely || setting->renewed)
			pair_grow(&codes->pair.generation[g].committed, CODES_PROMPT);
	for (unsigned b = 0; b < PAIR_BUCKETS; b++) {
		if (codes->pair.home != WORLD_NONE && newest(codes)->owner[b] != codes->pair.home &&
		    codes->away[b] != WORLD_NONE)
			pair_grow(&codes->away[b], (uint8_t)(setting->pair.window + 1));
		for (unsigned i = 0; i < CODES_EARLIER; i++)
			if (codes->earlier[b][i] != WORLD_NONE)
				pair_grow(&codes->earlier_age[b][i], setting->pair.window);
	}
	if (codes_has_rule(setting, CODES_RULE_MEMORY))
		codes_line_forget(setting, codes);
	if (setting->timely && codes->pair.home != WORLD_NONE && !codes->known)
		pair_grow(&codes->opened_ago, CODES_PROMPT);
	if (setting->timely && codes->pair.generation[codes->pair.late].arrays == newest(codes)->arrays)
		pair_grow(&codes->everywhere, CODES_PROMPT);
	forget(setting, codes);
}

enum world_result codes_take(const struct codes_setting *setting, struct codes *codes, struct world_step step)
{
	switch (step.action) {
	case PAIR_TIME:
		pass_time(setting, codes);
		return WORLD_IDLE;
	case PAIR_MOVE:
		move(setting, codes, step.subject / PAIR_SERVERS, step.subject % PAIR_SERVERS);
		return WORLD_IDLE;
	case PAIR_CATCH_UP:
		catch_up(setting, codes);
		return WORLD_IDLE;
	case PAIR_REMOVE:
		remove_dead(setting, codes, step.subject);
		return WORLD_IDLE;
	case PAIR_SETTLE:
		return settle(setting, codes);
	case CODES_ARRAYS:
		new_arrays(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_DROP:
		pair_begin(&codes->pair)->has_second = false;
		commit(setting, codes);
		return WORLD_IDLE;
	case CODES_RENEW:
		renew(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_PACKET:
		return packet(setting, codes, step.subject);
	case CODES_REPORT:
		report(codes);
		return WORLD_IDLE;
	case CODES_LEADER:
		change_leader(codes);
		return WORLD_IDLE;
	case CODES_SILENCE:
		codes->silent = 1;
		return WORLD_IDLE;
	default:
		pair_take(&setting->pair, &codes->pair, step);
		return WORLD_IDLE;
	}
}
