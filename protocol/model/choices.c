/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <string.h>

enum { SETTLE_PACKETS = 8 };

struct choices choices_first(const struct choices_setting *setting)
{
	struct choices choices;

	memset(&choices, 0, sizeof(choices));
	choices.pair = pair_first(&setting->pair, !setting->same);
	choices.pair.generation[0].has_second = choices_has_rule(setting, CHOICES_RULE_TOLD);
	return choices;
}

/* Whether a server that lost the bucket has the connection or a copy of it, as far as its agent reports. */
static bool is_at_earlier_owner(const struct choices_setting *setting, const struct choices *choices, uint8_t bucket)
{
	const struct pair *pair = &choices->pair;
	uint8_t at = choices->half_open | choices->cookies;

	if (bucket && !choices_has_rule(setting, CHOICES_RULE_REPORTS))
		return false;
	if (pair->home != WORLD_NONE)
		at |= (uint8_t)(1U << pair->home);
	for (uint8_t s = 0; s < setting->pair.servers; s++)
		if (at >> s & 1 && s != pair_newest(pair)->owner[bucket] &&
		    pair_is_in_line(pair, pair->newest, bucket, s))
			return true;
	return false;
}

/* Whether a report about the bucket may count as far as muxes go: none opens connections at an earlier owner any more. */
static bool is_everywhere(const struct choices_setting *setting, const struct pair *pair, uint8_t bucket)
{
	for (unsigned g = pair->newest; g > pair->late; g--)
		if (pair->generation[g].owner[bucket] != pair->generation[g - 1].owner[bucket])
			return !choices_has_rule(setting, CHOICES_RULE_MUXES);
	return true;
}

static unsigned steps_of_controller(const struct choices_setting *setting, const struct choices *choices,
				    struct world_step *steps)
{
	const struct pair *pair = &choices->pair;
	uint8_t servers = pair_servers(&setting->pair, pair);
	unsigned n = 0;

	for (uint8_t b = 0; pair->moves < setting->pair.moves && b < PAIR_BUCKETS; b++)
		for (uint8_t s = 0; s < servers; s++)
			if (s != pair_newest(pair)->owner[b] && s != pair->dead)
				steps[n++] = (struct world_step){PAIR_MOVE, pair_place(b, s)};
	for (uint8_t b = 0; setting->pair.hold && b < PAIR_BUCKETS; b++) {
		bool is_held =
		    pair_newest(pair)->previous[b] != WORLD_NONE && pair_newest(pair)->age[b] >= setting->pair.window;

		if (is_held && !(choices->reported >> b & 1) && is_everywhere(setting, pair, b) &&
		    !is_at_earlier_owner(setting, choices, b))
			steps[n++] = (struct world_step){CHOICES_REPORT, b};
		if (is_held && choices->reported >> b & 1 && pair->newest + 1 < PAIR_GENERATIONS)
			steps[n++] = (struct world_step){CHOICES_RELEASE, b};
	}
	for (uint8_t s = 0; pair_is_removal_due(pair) && s < servers; s++)
		if (s != pair->dead)
			steps[n++] = (struct world_step){PAIR_REMOVE, s};
	return n;
}

static unsigned steps_of_client(const struct choices_setting *setting, const struct choices *choices,
				struct world_step *steps)
{
	const struct pair *pair = &choices->pair;
	uint8_t copies = choices->half_open | choices->cookies;
	uint8_t muxes = pair->late < pair->newest ? 2 : 1, orders = setting->method == CHOICES_HUNT ? 1 : 2;
	uint8_t busy = setting->method == CHOICES_MAAT ? 1 : 2, kinds = setting->cookies ? 2 : 1;
	unsigned n = 0;

	for (uint8_t i = 0; pair->home == WORLD_NONE && i < 16; i++)
		if ((i & 1) < muxes && (i >> 1 & 1) < orders && (i >> 2 & 1) < busy && i >> 3 < kinds)
			steps[n++] = (struct world_step){CHOICES_SYN, i};
	for (uint8_t s = 0; pair->home == WORLD_NONE && s < setting->pair.servers; s++)
		if (copies >> s & 1 && s != pair->dead)
			steps[n++] = (struct world_step){CHOICES_TAKE, s};
	for (uint8_t i = 0; pair->home != WORLD_NONE && i < 4; i++)
		if ((i & 1) < muxes && i >> 1 < orders)
			steps[n++] = (struct world_step){CHOICES_SEGMENT, i};
	return n;
}

unsigned choices_steps(const struct choices_setting *setting, const struct choices *choices,
		       struct world_step steps[CHOICES_STEPS_MAX])
{
	unsigned n = 0;

	steps[n++] = (struct world_step){PAIR_TIME, 0};
	n += steps_of_controller(setting, choices, steps + n);
	n += pair_steps(&setting->pair, &choices->pair, steps + n);
	n += steps_of_client(setting, choices, steps + n);
	steps[n++] = (struct world_step){PAIR_SETTLE, 0};
	return n;
}

static void commit(const struct choices_setting *setting, struct pair *pair)
{
	pair_commit(&setting->pair, pair);
	if (!setting->pair.behind)
		pair_catch_up(&setting->pair, pair);
}

static void move(const struct choices_setting *setting, struct choices *choices, uint8_t bucket, uint8_t owner)
{
	struct pair_generation *g = pair_begin(&choices->pair);

	g->previous[bucket] = g->owner[bucket];
	g->owner[bucket] = owner;
	g->age[bucket] = 0;
	choices->pair.moves++;
	choices->reported &= (uint8_t) ~(1U << bucket);
	commit(setting, &choices->pair);
}

static void release(const struct choices_setting *setting, struct choices *choices, uint8_t bucket)
{
	struct pair_generation *g = pair_begin(&choices->pair);

	g->previous[bucket] = WORLD_NONE;
	g->age[bucket] = 0;
	choices->reported &= (uint8_t) ~(1U << bucket);
	commit(setting, &choices->pair);
}

/* The latest owner before that is neither dead nor this one, and that packets are still sent back to. */
static uint8_t owner_before(const struct choices_setting *setting, const struct pair *pair, uint8_t bucket,
			    uint8_t owner)
{
	for (unsigned g = pair->newest; g > 0; g--) {
		uint8_t before = pair->generation[g - 1].owner[bucket];

		if (pair->generation[g].owner[bucket] == before)
			continue;
		if (setting->pair.hold ? !pair_is_in_line(pair, pair->newest, bucket, before)
				       : pair->generation[g].age[bucket] >= setting->pair.window)
			break;
		if (before != pair->dead && before != owner)
			return before;
	}
	return WORLD_NONE;
}

/* Buckets of the dead server go to the one that is named. Where the ring named the dead one, it names the owner before. */
static void remove_dead(const struct choices_setting *setting, struct choices *choices, uint8_t to)
{
	struct pair *pair = &choices->pair;
	struct pair_generation *g = pair_begin(pair);

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		uint8_t owner = g->owner[b] == pair->dead ? to : g->owner[b];

		if (owner == g->owner[b] && g->previous[b] != pair->dead)
			continue;
		g->previous[b] = owner_before(setting, pair, b, owner);
		g->owner[b] = owner;
		g->age[b] = 0;
		choices->reported &= (uint8_t) ~(1U << b);
	}
	pair->removed = pair->newest + 1;
	commit(setting, pair);
}

/* The header that a mux writes. */
static struct fl_steer header(const struct choices_setting *setting, const struct choices *choices, uint8_t mux,
			      uint8_t first, bool is_syn)
{
	const uint8_t *owner = pair_applied(&choices->pair, mux)->owner;
	bool has_second = (is_syn || choices_has_rule(setting, CHOICES_RULE_SECOND)) &&
			  (owner[0] != owner[1] || choices_has_rule(setting, CHOICES_RULE_SAME));
	struct fl_steer steer =
	    pair_header(&setting->pair, &choices->pair, mux, first, has_second ? (uint8_t)!first : first);

	if (!choices_has_rule(setting, CHOICES_RULE_MOVED2))
		steer.flags &= (fl_u8)~FL_STEER_MOVED2;
	return steer;
}

static enum world_result syn(const struct choices_setting *setting, struct choices *choices, uint8_t subject,
			     uint8_t *end)
{
	uint8_t mux = subject & 1, first = subject >> 1 & 1;
	bool is_busy = subject >> 2 & 1, is_cookie = subject >> 3;
	struct pair_way way = pair_way(true, WORLD_NONE);

	way.steer = header(setting, choices, mux, first, true);
	way.stops = !choices_has_rule(setting, CHOICES_RULE_IN_PLACE);
	way.refuses = !choices_has_rule(setting, CHOICES_RULE_ONCE);
	way.unmarked = !choices_has_rule(setting, CHOICES_RULE_LATE);
	for (unsigned s = 0; is_busy && s < PAIR_SERVERS; s++)
		if (!(choices->half_open >> s & 1))
			way.packet[s] = FL_PACKET_REFUSED;
	pair_walk(&setting->pair, &choices->pair, mux, &way);
	*end = way.end;
	if (way.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	if (is_cookie && !(choices->half_open >> way.end & 1))
		choices->cookies |= (uint8_t)(1U << way.end);
	else
		choices->half_open |= (uint8_t)(1U << way.end);
	return WORLD_DELIVERED;
}

static void take(const struct choices_setting *setting, struct choices *choices, uint8_t server)
{
	choices->pair.home = server;
	choices->cookies = 0;
	if (choices_has_rule(setting, CHOICES_RULE_ACKS))
		choices->half_open = 0;
}

static enum world_result segment(const struct choices_setting *setting, struct choices *choices, uint8_t subject,
				 uint8_t *end)
{
	uint8_t mux = subject & 1, first = subject >> 1;
	struct pair_way way = pair_way(false, choices->pair.home);

	way.steer = header(setting, choices, mux, first, false);
	way.stops = !choices_has_rule(setting, CHOICES_RULE_IN_PLACE);
	way.unmarked = !choices_has_rule(setting, CHOICES_RULE_LATE);
	for (unsigned s = 0; s < PAIR_SERVERS; s++)
		if (choices->half_open >> s & 1)
			way.packet[s] = FL_PACKET_LOCAL_SOCKET;
	pair_walk(&setting->pair, &choices->pair, mux, &way);
	*end = way.end;
	if (way.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	return way.end == choices->pair.home ? WORLD_DELIVERED : WORLD_BROKEN;
}

/* A packet of the connection whose order is fixed, again and again; a SYN is refused wherever it may be. */
static enum world_result send_again(const struct choices_setting *setting, struct choices *choices, uint8_t first,
				    uint8_t *end)
{
	bool is_syn = choices->pair.home == WORLD_NONE;
	uint8_t subject = is_syn ? choices_syn(WORLD_CURRENT, first, setting->method != CHOICES_MAAT, false)
				 : choices_segment(WORLD_CURRENT, first);

	for (int i = 0; i < SETTLE_PACKETS; i++) {
		enum world_result result =
		    is_syn ? syn(setting, choices, subject, end) : segment(setting, choices, subject, end);

		if (result != WORLD_DROPPED)
			return WORLD_IDLE; /* CHOICES_SEGMENT counts one that is reset */
	}
	return WORLD_BROKEN;
}

/* Only a connection that is never delivered, or never opened, counts here. */
static enum world_result settle(const struct choices_setting *setting, struct choices *choices, uint8_t *end)
{
	uint8_t orders = setting->method == CHOICES_HUNT ? 1 : 2;

	if (pair_is_removal_due(&choices->pair))
		remove_dead(setting, choices, choices->pair.dead == 0);
	while (choices->pair.late < choices->pair.newest)
		pair_catch_up(&setting->pair, &choices->pair);
	for (uint8_t first = 0; first < orders; first++)
		if (send_again(setting, choices, first, end) == WORLD_BROKEN)
			return WORLD_BROKEN;
	return WORLD_IDLE;
}

enum world_result choices_take(const struct choices_setting *setting, struct choices *choices, struct world_step step,
			       uint8_t *end)
{
	*end = WORLD_NONE;
	switch (step.action) {
	case PAIR_MOVE:
		move(setting, choices, step.subject / PAIR_SERVERS, step.subject % PAIR_SERVERS);
		return WORLD_IDLE;
	case PAIR_CATCH_UP:
		pair_catch_up(&setting->pair, &choices->pair);
		return WORLD_IDLE;
	case PAIR_REMOVE:
		remove_dead(setting, choices, step.subject);
		return WORLD_IDLE;
	case PAIR_SETTLE:
		return settle(setting, choices, end);
	case CHOICES_SYN:
		return syn(setting, choices, step.subject, end);
	case CHOICES_TAKE:
		take(setting, choices, step.subject);
		return WORLD_IDLE;
	case CHOICES_SEGMENT:
		return segment(setting, choices, step.subject, end);
	case CHOICES_REPORT:
		choices->reported |= (uint8_t)(1U << step.subject);
		return WORLD_IDLE;
	case CHOICES_RELEASE:
		release(setting, choices, step.subject);
		return WORLD_IDLE;
	default:
		pair_take(&setting->pair, &choices->pair, step);
		return WORLD_IDLE;
	}
}
