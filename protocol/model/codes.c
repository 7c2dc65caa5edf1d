/* SPDX-License-Identifier: Apache-2.0 */
#include "codes.h"

#include <string.h>

#include "codes_keeper.h"
#include "codes_packet.h"

enum { SETTLE_PACKETS = 8 };

static const struct codes_generation *newest(const struct codes *codes)
{
	return &codes->generation[codes->newest];
}

const struct codes_generation *codes_applied(const struct codes *codes, uint8_t mux)
{
	return &codes->generation[mux == WORLD_LATE ? codes->late : codes->newest];
}

void codes_buckets(const struct codes *codes, uint8_t mux, uint8_t *b1, uint8_t *b2)
{
	const struct codes_generation *g = codes_applied(codes, mux);

	*b1 = codes->code[g->arrays];
	*b2 = g->has_before ? codes->code[g->arrays - 1] : *b1;
}

bool codes_owns(const struct codes_setting *setting, const struct codes_generation *g, uint8_t server)
{
	return g->owner[0] == server || g->owner[1] == server || (setting->rooted && server == 0);
}

/* With notices that are lost one by one, generations are not forgotten, so there are few. */
bool codes_has_room(const struct codes_setting *setting, const struct codes *codes)
{
	unsigned most =
	    setting->notices == WORLD_NOTICES_LOSSY ? setting->moves + 2 * setting->arrays + 2 : CODES_GENERATIONS;

	return codes->newest + 1U < most && codes->newest + 1U < CODES_GENERATIONS;
}

struct codes codes_first(const struct codes_setting *setting)
{
	struct codes codes;

	memset(&codes, 0, sizeof(codes));
	codes.home = WORLD_NONE;
	codes.complete = true;
	codes.dead = WORLD_NONE;
	codes.forgot = WORLD_NONE;
	memset(codes.earlier, WORLD_NONE, sizeof(codes.earlier));
	codes.generation[0] = (struct codes_generation){.owner = {0, 1}, .previous = {WORLD_NONE, WORLD_NONE}};
	for (unsigned s = 0; s < CODES_SERVERS; s++) {
		codes.server[s].lost = setting->window;
		for (unsigned b = 0; b < CODES_BUCKETS; b++)
			codes.server[s].memory[b].previous = WORLD_NONE;
	}
	codes.forgotten = codes.server[0];
	return codes;
}

/* Whether something is due, so that no time passes before it. */
static bool is_due(const struct codes_setting *setting, const struct codes *codes)
{
	if (!setting->renewed && !setting->timely)
		return false;
	if (codes->late < codes->newest && codes->generation[codes->late + 1].committed >= CODES_PROMPT)
		return true;
	for (uint8_t b = 0; b < CODES_BUCKETS; b++)
		if (codes_must_renew(setting, codes, b))
			return true;
	if (!setting->timely)
		return false;
	if (codes->home != WORLD_NONE && !codes->known && codes->opened_ago >= CODES_PROMPT)
		return true;
	return codes_is_fixable(setting, codes) &&
	       (codes->everywhere >= CODES_PROMPT || !codes_has_rule(setting, CODES_RULE_WAIT));
}

/* The servers that owned a bucket, and one of those that did not: these are alike. */
static uint8_t servers(const struct codes_setting *setting, const struct codes *codes)
{
	unsigned used = 1;

	for (unsigned s = 2; s < setting->servers; s++) {
		const struct codes_server *server = &codes->server[s];

		if (server->seen || server->lost < setting->window || codes_owns(setting, newest(codes), (uint8_t)s) ||
		    codes_owns(setting, &codes->generation[codes->late], (uint8_t)s))
			used = s;
	}
	return (uint8_t)(used + 2 < setting->servers ? used + 2 : setting->servers);
}

static unsigned steps_of_controller(const struct codes_setting *setting, const struct codes *codes,
				    struct world_step *steps)
{
	const struct codes_generation *g = newest(codes);
	bool has_room = codes_has_room(setting, codes);
	uint8_t count = servers(setting, codes);
	unsigned n = 0;

	for (uint8_t b = 0; has_room && codes->moves < setting->moves && b < CODES_BUCKETS; b++)
		for (uint8_t s = 0; s < count; s++)
			if (codes_may_move(setting, codes, b, s))
				steps[n++] = (struct world_step){CODES_MOVE, codes_place(b, s)};
	for (uint8_t code = 0; g->arrays < setting->arrays && code < CODES_BUCKETS; code++)
		if (codes_may_commit(setting, codes) && codes_may_code(setting, codes, code))
			steps[n++] = (struct world_step){CODES_ARRAYS, code};
	if (codes_may_drop(setting, codes))
		steps[n++] = (struct world_step){CODES_DROP, 0};
	for (uint8_t b = 0; b < CODES_BUCKETS; b++)
		if (codes_may_renew(setting, codes, b))
			steps[n++] = (struct world_step){CODES_RENEW, b};
	if (codes->home != WORLD_NONE && !codes->known && !codes->refused)
		steps[n++] = (struct world_step){CODES_REPORT, 0};
	if (codes->leaders < setting->leaders)
		steps[n++] = (struct world_step){CODES_LEADER, 0};
	if (setting->silence && codes->leaders && !codes->complete && !codes->silent)
		steps[n++] = (struct world_step){CODES_SILENCE, 0};
	for (uint8_t s = 0; has_room && codes->dead != WORLD_NONE && !codes->removed && s < count; s++)
		if (s != codes->dead)
			steps[n++] = (struct world_step){CODES_REMOVE, s};
	return n;
}

static unsigned steps_of_servers(const struct codes_setting *setting, const struct codes *codes,
				 struct world_step *steps)
{
	unsigned n = 0;

	for (uint8_t s = 0; s < setting->servers; s++) {
		bool is_used = codes_owns(setting, newest(codes), s) || codes->server[s].seen;

		if (codes->server[s].seen < codes->newest + FIRST_GENERATION && codes_owns(setting, newest(codes), s))
			steps[n++] = (struct world_step){CODES_NEWS, s};
		if (setting->death && codes->dead == WORLD_NONE && s != codes->home && is_used)
			steps[n++] = (struct world_step){CODES_DEATH, s};
		if (setting->forgetting && codes->forgot == WORLD_NONE && codes->server[s].seen)
			steps[n++] = (struct world_step){CODES_FORGET, s};
	}
	for (uint8_t h = 1; setting->notices == WORLD_NOTICES_LOSSY && h <= codes->newest; h++)
		for (uint8_t s = 0; s < setting->servers; s++)
			if (codes->generation[h].told >> s & 1 && !codes_is_told(codes, h, s))
				steps[n++] = (struct world_step){CODES_NOTICE, codes_notice(h, s)};
	return n;
}

unsigned codes_steps(const struct codes_setting *setting, const struct codes *codes,
		     struct world_step steps[CODES_STEPS_MAX])
{
	bool is_late = codes->late < codes->newest;
	unsigned n = 0;

	if (!is_due(setting, codes))
		steps[n++] = (struct world_step){CODES_TIME, 0};
	n += steps_of_controller(setting, codes, steps + n);
	if (is_late)
		steps[n++] = (struct world_step){CODES_CATCH_UP, 0};
	for (uint8_t mux = WORLD_CURRENT; mux <= (is_late ? WORLD_LATE : WORLD_CURRENT); mux++) {
		steps[n++] = (struct world_step){CODES_PACKET, mux};
		for (uint8_t b = 0; b < CODES_BUCKETS; b++)
			steps[n++] = (struct world_step){CODES_OTHER, codes_place(b, mux)};
	}
	n += steps_of_servers(setting, codes, steps + n);
	steps[n++] = (struct world_step){CODES_SETTLE, 0};
	return n;
}

static void lower(uint8_t *generation, uint8_t by)
{
	*generation = *generation > by + FIRST_GENERATION ? (uint8_t)(*generation - by) : FIRST_GENERATION;
}

static void lower_server(struct codes_server *server, uint8_t by)
{
	lower(&server->seen, by);
	for (unsigned b = 0; b < CODES_BUCKETS; b++)
		if (server->memory[b].previous != WORLD_NONE)
			lower(&server->memory[b].generation, by);
}

/*
 * What no mux has any more and no notice tells is forgotten, so that states that differ in it are one. The late mux's
 * generation becomes number 1: what is lower is lower than any packet's.
 */
static void forget(const struct codes_setting *setting, struct codes *codes)
{
	uint8_t by = codes->late > 1 ? (uint8_t)(codes->late - 1) : 0;

	for (unsigned k = 0; k + 1 < codes->generation[codes->late].arrays; k++)
		codes->code[k] = 0;
	if (setting->notices == WORLD_NOTICES_LOSSY)
		return;
	for (unsigned g = 0; g < codes->late; g++)
		codes->generation[g].told = 0;
	if (!by)
		return;
	memmove(codes->generation, codes->generation + by, (CODES_GENERATIONS - by) * sizeof(codes->generation[0]));
	memset(codes->generation + CODES_GENERATIONS - by, 0, by * sizeof(codes->generation[0]));
	codes->late -= by;
	codes->newest -= by;
	for (unsigned s = 0; s < setting->servers; s++)
		lower_server(&codes->server[s], by);
	if (codes->forgot != WORLD_NONE)
		lower_server(&codes->forgotten, by);
}

static void catch_up(const struct codes_setting *setting, struct codes *codes)
{
	uint8_t arrays = codes->generation[codes->late++].arrays;

	if (setting->notices == WORLD_NOTICES_LATE)
		codes_tell_of(setting, codes, codes->late);
	codes->generation[codes->late].committed = 0;
	if (codes->generation[codes->late].arrays != arrays)
		codes->everywhere = 0;
	forget(setting, codes);
}

/* A copy of the newest generation to be changed: commit() completes it. */
static struct codes_generation *begin(struct codes *codes)
{
	struct codes_generation *g = &codes->generation[codes->newest + 1];

	*g = *newest(codes);
	g->committed = 0;
	g->told = 0;
	g->told_move = 0;
	return g;
}

/* A row of the generation that begin() returned: the bucket's owner, and the previous one since now. */
static void row(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t owner,
		uint8_t previous)
{
	struct codes_generation *g = &codes->generation[codes->newest + 1];

	codes_line_change(setting, codes, bucket, previous);
	g->owner[bucket] = owner;
	g->previous[bucket] = previous;
	g->age[bucket] = 0;
}

static void commit(const struct codes_setting *setting, struct codes *codes)
{
	const struct codes_generation *before = newest(codes);
	struct codes_generation *g = &codes->generation[++codes->newest];

	for (uint8_t b = 0; b < CODES_BUCKETS; b++) {
		uint8_t loser = before->owner[b];

		if (codes->home != WORLD_NONE &&
		    (g->owner[b] == codes->home ||
		     (!g->age[b] && (g->previous[b] == codes->home || codes->away[b] < setting->window))))
			codes->away[b] = 0;
		if (g->previous[b] != WORLD_NONE && !g->age[b])
			codes->server[g->previous[b]].lost = 0;
		if (g->owner[b] == loser)
			continue;
		codes->server[loser].lost = 0;
		if (before->previous[b] != WORLD_NONE && before->previous[b] != loser &&
		    before->age[b] < setting->window)
			g->told_move |= (uint8_t)(1U << b);
	}
	for (uint8_t s = 0; s < setting->servers; s++) {
		if ((before->has_before || g->arrays != before->arrays) && codes_owns(setting, before, s))
			codes->server[s].lost = 0;
		if (codes->server[s].lost < setting->window && s != codes->dead)
			g->told |= (uint8_t)(1U << s);
	}
	codes_line_forget(setting, codes);
	if (setting->notices == WORLD_NOTICES_AT_ONCE)
		codes_tell_of(setting, codes, codes->newest);
	if (!setting->behind)
		catch_up(setting, codes);
}

static void move(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t owner)
{
	uint8_t before = begin(codes)->owner[bucket];

	row(setting, codes, bucket, owner, before);
	codes->moves++;
	commit(setting, codes);
}

static void new_arrays(const struct codes_setting *setting, struct codes *codes, uint8_t code)
{
	struct codes_generation *g = begin(codes);

	g->arrays++;
	g->has_before = true;
	codes->code[g->arrays] = code;
	codes->everywhere = 0;
	commit(setting, codes);
}

static void renew(const struct codes_setting *setting, struct codes *codes, uint8_t bucket)
{
	const struct codes_generation *g = begin(codes);
	uint8_t previous = codes_kept(setting, codes) == bucket ? codes->home : g->previous[bucket];

	row(setting, codes, bucket, g->owner[bucket], previous);
	commit(setting, codes);
}

/*
 * A bucket of the dead server goes to the one that is named. Where the ring named the dead one, it names the owner before
 * it.
 */
static void remove_dead(const struct codes_setting *setting, struct codes *codes, uint8_t to)
{
	const struct codes_generation *g = begin(codes);

	for (uint8_t b = 0; b < CODES_BUCKETS; b++) {
		uint8_t owner = g->owner[b] == codes->dead ? to : g->owner[b];

		if (owner != g->owner[b] || g->previous[b] == codes->dead)
			row(setting, codes, b, owner, codes_owner_before(setting, codes, b, owner));
	}
	codes->removed = true;
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
	codes->complete = codes->home == WORLD_NONE;
}

static void forget_memory(const struct codes_setting *setting, struct codes *codes, uint8_t server)
{
	struct codes_server *at = &codes->server[server];

	codes->forgot = server;
	codes->forgotten = *at;
	codes->forgotten.lost = setting->window;
	at->seen = 0;
	for (unsigned b = 0; b < CODES_BUCKETS; b++)
		at->memory[b] = (struct server_memory){WORLD_NONE, 0, 0};
}

static enum world_result settle(const struct codes_setting *setting, struct codes *codes)
{
	if (codes->dead != WORLD_NONE && !codes->removed && codes_has_room(setting, codes))
		remove_dead(setting, codes, codes->dead == 0);
	while (codes->late < codes->newest)
		catch_up(setting, codes);
	for (int i = 0; i < SETTLE_PACKETS; i++)
		if (codes_packet(setting, codes, WORLD_CURRENT) != WORLD_DROPPED)
			return WORLD_IDLE;
	return codes->dead != WORLD_NONE && !codes->removed ? WORLD_IDLE : WORLD_BROKEN;
}

static void grow(uint8_t *age, uint8_t max)
{
	if (*age < max)
		++*age;
}

static void age_server(struct codes_server *server, uint8_t max)
{
	for (unsigned b = 0; b < CODES_BUCKETS; b++)
		if (server->memory[b].previous != WORLD_NONE)
			grow(&server->memory[b].age, max);
}

/* Ages beyond the window and a clock's error, a tick, are equal for every rule. */
static void pass_time(const struct codes_setting *setting, struct codes *codes)
{
	uint8_t max = (uint8_t)(setting->window + 1);

	for (unsigned g = 0; g <= codes->newest; g++) {
		struct codes_generation *one = &codes->generation[g];

		if (g > codes->late && (setting->timely || setting->renewed))
			grow(&one->committed, CODES_PROMPT);
		for (unsigned b = 0; b < CODES_BUCKETS; b++)
			if (one->previous[b] != WORLD_NONE)
				grow(&one->age[b], max);
	}
	for (unsigned s = 0; s < setting->servers; s++) {
		grow(&codes->server[s].lost, setting->window);
		age_server(&codes->server[s], max);
	}
	if (codes->forgot != WORLD_NONE)
		age_server(&codes->forgotten, max);
	for (unsigned b = 0; b < CODES_BUCKETS; b++) {
		if (codes->home != WORLD_NONE && newest(codes)->owner[b] != codes->home && codes->away[b] != WORLD_NONE)
			grow(&codes->away[b], max);
		for (unsigned i = 0; i < CODES_EARLIER; i++)
			if (codes->earlier[b][i] != WORLD_NONE)
				grow(&codes->earlier_age[b][i], setting->window);
	}
	if (codes_has_rule(setting, CODES_RULE_MEMORY))
		codes_line_forget(setting, codes);
	if (setting->timely && codes->home != WORLD_NONE && !codes->known)
		grow(&codes->opened_ago, CODES_PROMPT);
	if (setting->timely && codes->generation[codes->late].arrays == newest(codes)->arrays)
		grow(&codes->everywhere, CODES_PROMPT);
	forget(setting, codes);
}

enum world_result codes_take(const struct codes_setting *setting, struct codes *codes, struct world_step step)
{
	uint8_t at = step.subject / CODES_SERVERS, subject = step.subject % CODES_SERVERS;

	switch ((enum codes_action)step.action) {
	case CODES_TIME:
		pass_time(setting, codes);
		return WORLD_IDLE;
	case CODES_MOVE:
		move(setting, codes, at, subject);
		return WORLD_IDLE;
	case CODES_ARRAYS:
		new_arrays(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_DROP:
		begin(codes)->has_before = false;
		commit(setting, codes);
		return WORLD_IDLE;
	case CODES_RENEW:
		renew(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_CATCH_UP:
		catch_up(setting, codes);
		return WORLD_IDLE;
	case CODES_PACKET:
		return codes_packet(setting, codes, step.subject);
	case CODES_OTHER:
		codes_other(setting, codes, at, subject);
		return WORLD_IDLE;
	case CODES_NEWS:
		codes->server[step.subject].seen = (uint8_t)(codes->newest + FIRST_GENERATION);
		return WORLD_IDLE;
	case CODES_NOTICE:
		codes_read(setting, codes, at, subject);
		return WORLD_IDLE;
	case CODES_REPORT:
		report(codes);
		return WORLD_IDLE;
	case CODES_LEADER:
		change_leader(codes);
		return WORLD_IDLE;
	case CODES_SILENCE:
		codes->silent = 1;
		return WORLD_IDLE;
	case CODES_DEATH:
		codes->dead = step.subject;
		return WORLD_IDLE;
	case CODES_REMOVE:
		remove_dead(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_FORGET:
		forget_memory(setting, codes, step.subject);
		return WORLD_IDLE;
	case CODES_SETTLE:
		return settle(setting, codes);
	}
	return WORLD_IDLE;
}
