/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <string.h>

bool pair_owns(const struct pair_setting *setting, const struct pair_generation *g, uint8_t server)
{
	return g->owner[0] == server || g->owner[1] == server || (setting->rooted && server == 0);
}

struct pair pair_first(const struct pair_setting *setting, uint8_t second_owner)
{
	struct pair pair;

	memset(&pair, 0, sizeof(pair));
	pair.home = WORLD_NONE;
	pair.dead = WORLD_NONE;
	pair.forgot = WORLD_NONE;
	pair.generation[0] = (struct pair_generation){.owner = {0, second_owner}, .previous = {WORLD_NONE, WORLD_NONE}};
	for (unsigned s = 0; s < PAIR_SERVERS; s++) {
		pair.server[s].lost = setting->window;
		for (unsigned b = 0; b < PAIR_BUCKETS; b++)
			pair.server[s].memory[b].previous = WORLD_NONE;
	}
	pair.forgotten = pair.server[0];
	return pair;
}

uint8_t pair_servers(const struct pair_setting *setting, const struct pair *pair)
{
	unsigned used = 1;

	for (unsigned s = 2; s < setting->servers; s++) {
		const struct pair_server *server = &pair->server[s];

		if (server->seen || server->lost < setting->window ||
		    pair_owns(setting, pair_newest(pair), (uint8_t)s) ||
		    pair_owns(setting, &pair->generation[pair->late], (uint8_t)s))
			used = s;
	}
	return (uint8_t)(used + 2 < setting->servers ? used + 2 : setting->servers);
}

bool pair_is_removal_due(const struct pair *pair)
{
	return pair->dead != WORLD_NONE && !pair->removed;
}

struct pair_generation *pair_begin(struct pair *pair)
{
	struct pair_generation *g = &pair->generation[pair->newest + 1];

	*g = *pair_newest(pair);
	g->committed = 0;
	g->told = 0;
	g->told_move = 0;
	return g;
}

bool pair_is_in_line(const struct pair *pair, unsigned generation, uint8_t bucket, uint8_t server)
{
	for (unsigned g = generation; g > 0 && pair->generation[g].previous[bucket] != WORLD_NONE; g--)
		if (pair->generation[g - 1].owner[bucket] == server && pair->generation[g].owner[bucket] != server)
			return true;
	return false;
}

void pair_commit(const struct pair_setting *setting, struct pair *pair)
{
	const struct pair_generation *before = pair_newest(pair);
	struct pair_generation *g = &pair->generation[++pair->newest];

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		uint8_t loser = before->owner[b];

		if (g->previous[b] != WORLD_NONE && !g->age[b])
			pair->server[g->previous[b]].lost = 0;
		if (g->owner[b] == loser)
			continue;
		pair->server[loser].lost = 0;
		if (before->previous[b] != WORLD_NONE && before->previous[b] != loser &&
		    (setting->hold || before->age[b] < setting->window))
			g->told_move |= (uint8_t)(1U << b);
	}
	for (uint8_t s = 0; s < setting->servers; s++) {
		if ((before->has_second || g->arrays != before->arrays) && pair_owns(setting, before, s))
			pair->server[s].lost = 0;
		for (uint8_t b = 0; setting->hold && b < PAIR_BUCKETS; b++)
			if (pair_is_in_line(pair, pair->newest - 1U, b, s))
				pair->server[s].lost = 0;
		if ((pair->server[s].lost < setting->window || pair->removed == pair->newest) && s != pair->dead)
			g->told |= (uint8_t)(1U << s);
	}
	if (setting->notices == WORLD_NOTICES_AT_ONCE)
		pair_tell_of(setting, pair, pair->newest);
}

void pair_catch_up(const struct pair_setting *setting, struct pair *pair)
{
	pair->late++;
	if (setting->notices == WORLD_NOTICES_LATE)
		pair_tell_of(setting, pair, pair->late);
}

/* Whether the server knows what the generation's notice tells. */
static bool is_told(const struct pair_setting *setting, const struct pair *pair, uint8_t g, uint8_t server)
{
	const struct pair_generation *now = &pair->generation[g], *before = now - 1;

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		const struct server_memory *memory = &pair->server[server].memory[b];

		if (now->told_move >> b & 1 && before->owner[b] == server &&
		    (memory->previous == WORLD_NONE || memory->generation < g - 1 + FIRST_GENERATION))
			return false;
	}
	if (g == pair->removed && !setting->unnamed && !pair->server[server].told_removed)
		return false;
	return pair->server[server].seen >= g + FIRST_GENERATION;
}

unsigned pair_steps(const struct pair_setting *setting, const struct pair *pair, struct world_step *steps)
{
	bool is_late = pair->late < pair->newest;
	unsigned n = 0;

	if (is_late)
		steps[n++] = (struct world_step){PAIR_CATCH_UP, 0};
	for (uint8_t mux = WORLD_CURRENT; mux <= (is_late ? WORLD_LATE : WORLD_CURRENT); mux++)
		for (uint8_t b = 0; b < PAIR_BUCKETS; b++)
			steps[n++] = (struct world_step){PAIR_OTHER, pair_place(b, mux)};
	for (uint8_t s = 0; s < setting->servers; s++) {
		bool is_used = pair_owns(setting, pair_newest(pair), s) || pair->server[s].seen;

		if (pair->server[s].seen < pair->newest + FIRST_GENERATION && pair_owns(setting, pair_newest(pair), s))
			steps[n++] = (struct world_step){PAIR_NEWS, s};
		if (setting->death && pair->dead == WORLD_NONE && s != pair->home && is_used)
			steps[n++] = (struct world_step){PAIR_DEATH, s};
		if (setting->forgetting && pair->forgot == WORLD_NONE && pair->server[s].seen)
			steps[n++] = (struct world_step){PAIR_FORGET, s};
	}
	for (uint8_t g = 1; setting->notices == WORLD_NOTICES_LOSSY && g <= pair->newest; g++)
		for (uint8_t s = 0; s < setting->servers; s++)
			if (pair->generation[g].told >> s & 1 && !is_told(setting, pair, g, s))
				steps[n++] = (struct world_step){PAIR_NOTICE, pair_notice(g, s)};
	return n;
}

void pair_grow(uint8_t *age, uint8_t max)
{
	if (*age < max)
		++*age;
}

static void age_server(struct pair_server *server, uint8_t max)
{
	for (unsigned b = 0; b < PAIR_BUCKETS; b++)
		if (server->memory[b].previous != WORLD_NONE)
			pair_grow(&server->memory[b].age, max);
}

/* Ages beyond the window and a clock's error, a tick, are equal for every rule. */
static void pass_time(const struct pair_setting *setting, struct pair *pair)
{
	uint8_t max = (uint8_t)(setting->window + 1);

	for (unsigned g = 0; g <= pair->newest; g++)
		for (unsigned b = 0; b < PAIR_BUCKETS; b++)
			if (pair->generation[g].previous[b] != WORLD_NONE)
				pair_grow(&pair->generation[g].age[b], max);
	for (unsigned s = 0; s < setting->servers; s++) {
		pair_grow(&pair->server[s].lost, setting->window);
		age_server(&pair->server[s], max);
	}
	if (pair->forgot != WORLD_NONE)
		age_server(&pair->forgotten, max);
}

static void forget(const struct pair_setting *setting, struct pair *pair, uint8_t server)
{
	struct pair_server *at = &pair->server[server];

	pair->forgot = server;
	pair->forgotten = *at;
	pair->forgotten.lost = setting->window;
	at->seen = 0;
	at->told_removed = false;
	for (unsigned b = 0; b < PAIR_BUCKETS; b++)
		at->memory[b] = (struct server_memory){WORLD_NONE, 0, 0};
}

void pair_remind(struct pair *pair)
{
	struct pair_server *server = &pair->server[pair->forgot];
	const struct pair_server *forgotten = &pair->forgotten;

	if (forgotten->seen > server->seen)
		server->seen = forgotten->seen;
	server->told_removed |= forgotten->told_removed;
	for (unsigned b = 0; b < PAIR_BUCKETS; b++)
		if (server->memory[b].previous == WORLD_NONE || forgotten->memory[b].age < server->memory[b].age)
			server->memory[b] = forgotten->memory[b];
}

void pair_take(const struct pair_setting *setting, struct pair *pair, struct world_step step)
{
	uint8_t at = step.subject / PAIR_SERVERS, subject = step.subject % PAIR_SERVERS;

	switch (step.action) {
	case PAIR_TIME:
		pass_time(setting, pair);
		break;
	case PAIR_OTHER:
		pair_other(setting, pair, at, subject);
		break;
	case PAIR_NEWS:
		pair->server[step.subject].seen = (uint8_t)(pair->newest + FIRST_GENERATION);
		break;
	case PAIR_NOTICE:
		pair_read(setting, pair, at, subject);
		break;
	case PAIR_DEATH:
		pair->dead = step.subject;
		break;
	case PAIR_FORGET:
		forget(setting, pair, step.subject);
		break;
	default:
		break;
	}
}

const char *pair_mux(uint8_t mux)
{
	return mux == WORLD_LATE ? "the late mux" : "a current mux";
}

void pair_tell_step(FILE *out, struct world_step step)
{
	unsigned at = step.subject / PAIR_SERVERS, subject = step.subject % PAIR_SERVERS;

	switch ((enum pair_action)step.action) {
	case PAIR_TIME:
		fprintf(out, "%d s pass", WORLD_TICK);
		break;
	case PAIR_MOVE:
		fprintf(out, "bucket %u moves to %c", at, 'A' + (int)subject);
		break;
	case PAIR_CATCH_UP:
		fprintf(out, "the late mux applies one generation");
		break;
	case PAIR_OTHER:
		fprintf(out, "another client's SYN in bucket %u comes by %s", at, pair_mux((uint8_t)subject));
		break;
	case PAIR_NEWS:
		fprintf(out, "%c sees the newest generation on a packet of another bucket", 'A' + step.subject);
		break;
	case PAIR_NOTICE:
		fprintf(out, "%c gets a notice of generation %u", 'A' + (int)subject, at + 1);
		break;
	case PAIR_DEATH:
		fprintf(out, "%c dies", 'A' + step.subject);
		break;
	case PAIR_REMOVE:
		fprintf(out, "the dead server is removed, its buckets move to %c", 'A' + step.subject);
		break;
	case PAIR_FORGET:
		fprintf(out, "%c forgets what it remembers", 'A' + step.subject);
		break;
	case PAIR_SETTLE:
		fprintf(out, "all muxes are current and the client sends again and again");
		break;
	case PAIR_ACTIONS:
		break;
	}
}
