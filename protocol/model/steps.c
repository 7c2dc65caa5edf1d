/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are possible. */
#include "steps.h"

uint64_t cramped;

static bool is_visible(const struct state *t, int b, int s)
{
	if (t->home == s && !(t->home_cookie) && (!b || has(R_BOTH_REPORT)))
		return true;
	return t->half >> s & 1 && has(R_HALF_REPORT) && (!b || has(R_BOTH_REPORT));
}

int steps_loss(const struct state *t, int b, int s)
{
	for (int g = t->n; g > 0; g--)
		if (state_owner(t, b, g) != s && state_owner(t, b, g - 1) == s)
			return g;
	return 0;
}

bool steps_all_have(const struct state *t, int g)
{
	for (int m = 0; m < setting.muxes; m++) {
		if (setting.lost_mux && m == setting.muxes - 1)
			continue; /* no part knows of it */
		if (t->mux[m] == AWAY)
			continue;
		if (t->mux[m] < g)
			return false;
	}
	return true;
}

static bool may_report(const struct state *t, int b, int s)
{
	if (is_visible(t, b, s) || t->dead == s)
		return false;
	if (has(R_MUXES) && !steps_all_have(t, steps_loss(t, b, s)))
		return false;
	if (has(R_MARGIN))
		for (int f = 0; f < F; f++)
			if (t->flight[f].kind == K_SYN && list_has(t->flight[f].path, s))
				return false;
	if (has(R_COOKIES) && (t->cookie >> s & 1 || (t->home == s && t->home_cookie)))
		return false;
	return true;
}

static bool may_say_empty(const struct state *t, int s)
{
	for (int b = 0; b < setting.buckets; b++) {
		if (state_owner(t, b, t->n) == s || !may_report(t, b, s))
			return false;
		if (t->home == s || (t->half >> s & 1))
			return false;
	}
	return true;
}

bool steps_removal_due(const struct state *t)
{
	if (t->dead == NONE || t->removed)
		return false;
	for (int b = 0; b < setting.buckets; b++)
		if (list_has(t->list[b][t->n], t->dead))
			return true;
	return false;
}

static bool owns_nothing(const struct state *t, int s)
{
	for (int b = 0; b < setting.buckets; b++)
		if (state_owner(t, b, t->n) == s)
			return false;
	return s != t->dead && s != t->gone;
}

static bool may_pass_deadline(const struct state *t, int s)
{
	bool listed = false;

	for (int b = 0; b < setting.buckets; b++)
		listed |= list_has(t->list[b][t->n], s);
	return listed && owns_nothing(t, s);
}

/* Within 10 s: before the quiet time is over. */
static bool is_repeat_due(const struct state *t, int s)
{
	return has(R_REPEAT) && t->restarted == s && setting.notices != OFF && t->seen[s] < state_mux_max(t);
}

/*
 * Whether a server's quiet time may be over: muxes that were behind when it began have what others had, or have withdrawn.
 * Those of a crowd do not: at least half of the muxes announce. Nor those that no other is ahead of any more.
 */
static bool may_be_calm(const struct state *t, int s)
{
	int late = 0, ahead = 0;

	for (int f = 0; f < F; f++)
		if (t->flight[f].kind && t->flight[f].gen < t->memo)
			return false;
	for (int m = 0; m < setting.muxes; m++)
		if (t->mux[m] != AWAY) {
			late += t->mux[m] < t->memo;
			ahead += t->mux[m] >= t->memo;
		}
	return !is_repeat_due(t, s) &&
	       (!late || (setting.crowd && 2 * ahead < setting.muxes) || (setting.older && !ahead));
}

struct list {
	struct step *step;
	unsigned n;
};

static void add(struct list *list, enum action action, int arg)
{
	list->step[list->n++] = (struct step){(uint8_t)action, (uint8_t)arg};
}

static void add_moves(const struct state *t, struct list *list, int b)
{
	uint16_t l = t->list[b][t->n];
	bool full = list_len(l) >= setting.K;

	for (int s = 0; t->moves < setting.moves && s < setting.servers; s++) {
		if (s == list_at(l, 0) || s == t->dead || s == t->empty || s == t->gone || s == t->left)
			continue;
		if (full && !list_has(l, s) && has(R_FULL) && !setting.force)
			continue;
		add(list, A_MOVE, b * 8 + s);
	}
	if (setting.close_ && (!setting.begin || t->held == AWAY) && list_len(l) > 1)
		add(list, A_CLOSE, b);
	for (int i = 1; setting.hold && t->held != AWAY && i < list_len(l); i++) {
		int s = list_at(l, i);

		if (t->reported[b] >> s & 1)
			add(list, A_RELEASE, b * 8 + s);
		else if (may_report(t, b, s))
			add(list, A_REPORT, b * 8 + s);
	}
}

static bool is_syn_under_way(const struct state *t, int s)
{
	for (int f = 0; has(R_MARGIN) && f < F; f++)
		if (t->flight[f].kind == K_SYN && (s == NONE || list_has(t->flight[f].path, s)))
			return true;
	return false;
}

/* Whether there is a connection of which the controller has to be told. `cookies`: the rule by which a cookie is one. */
static bool is_open(const struct state *t, enum rule cookies)
{
	return t->home != NONE && t->home != t->dead && (has(R_POOL) || t->home != t->left) &&
	       (has(cookies) || !t->home_cookie);
}

/* Whether all muxes have the newest arrays, and what older ones opened is known. */
static bool is_ready(const struct state *t, enum rule cookies)
{
	int newest = t->code[t->n] >> 3, since = t->n;

	while (since > 0 && t->code[since - 1] >> 3 == newest)
		since--;
	return !is_syn_under_way(t, NONE) && steps_all_have(t, since) &&
	       (!is_open(t, cookies) || t->known & 1 || t->known >> 1 == newest + 1);
}

/* New arrays, the end of those before, and of entries (othello). */
static void add_arrays(const struct state *t, struct list *list)
{
	bool must_own = has(R_OWN) && t->known & 1 && is_open(t, R_WAIT_COOKIES);

	for (int b = 0; t->renewed < setting.arrays && b < 2; b++)
		if ((!has(R_WAIT) || is_ready(t, R_WAIT_COOKIES)) && (!must_own || list_has(t->list[b][t->n], t->home)))
			add(list, A_ARRAYS, b);
	if (t->code[t->n] >> 1 & 3 && (!has(R_SETTLE) || is_ready(t, R_SETTLE_COOKIES)) &&
	    (!must_own || list_has(t->list[t->code[t->n] & 1][t->n], t->home)))
		add(list, A_DROP, 0);
	if (t->home != NONE && t->home != t->dead && !t->home_cookie && !(t->known & 1))
		add(list, A_KNOW, 0);
	for (int b = 0; b < 2; b++)
		for (int i = 1; i < list_len(t->list[b][t->n]); i++) {
			int s = list_at(t->list[b][t->n], i);
			bool here = t->home == s && is_open(t, R_AWAIT_COOKIES), known = here && t->known & 1;

			if ((has(R_MUXES) && !steps_all_have(t, steps_loss(t, b, s))) ||
			    (has(R_AWAIT) && here && !known) || is_syn_under_way(t, s) ||
			    (has(R_NEEDED) && known && (t->code[t->n] & 1) == b) ||
			    (has(R_BEFORE) && known && (t->code[t->n] >> 1 & 3) == b + 1))
				continue;
			add(list, A_END, b * 8 + s);
		}
}

/* What may change the ring, while it has room for another generation. */
static void add_generations(const struct state *t, struct list *list)
{
	cramped += t->n + 1 >= G;
	if (t->n + 1 >= G)
		return;
	for (int b = 0; b < setting.buckets; b++)
		add_moves(t, list, b);
	if (setting.arrays)
		add_arrays(t, list);
	if (setting.begin && t->held == AWAY)
		add(list, A_HOLD, 0);
	if (setting.restore && !t->restored && t->n)
		add(list, A_RESTORE, 0);
	for (int s = 0; steps_removal_due(t) && s < setting.servers; s++)
		if (s != t->dead && s != t->empty && s != t->gone && s != t->left)
			add(list, A_REMOVE, s);
	for (int s = 0; setting.deadline && t->gone == NONE && s < setting.servers; s++)
		if (may_pass_deadline(t, s))
			add(list, A_DEADLINE, s);
}

static void add_mux(const struct state *t, struct list *list, int m)
{
	if (setting.older && t->disk[m] != t->mux[m] && t->mux[m] != AWAY)
		add(list, A_SAVE, m);
	if (setting.older && t->disk[m] != t->mux[m] && (t->mux[m] != AWAY || t->disk[m] >= t->settled))
		add(list, A_FALL, m);
	if (t->mux[m] == AWAY) {
		add(list, A_BACK, m);
		if (setting.older && t->kept[m] != AWAY)
			add(list, A_RETURN, m);
		return;
	}
	if (t->mux[m] < t->n)
		add(list, A_APPLY, m);
	if (setting.jump && t->mux[m] + 1 < t->n)
		add(list, A_JUMP, m);
	if (setting.withdraw &&
	    t->mux[m] < (state_is_reduced() && setting.older ? state_known_max(t) : state_mux_max(t)) &&
	    !(setting.lost_mux && m == setting.muxes - 1))
		add(list, A_AWAY, m);
	if (t->home == NONE)
		return;
	for (int x = 0; setting.mux_clock && x < (setting.maat && setting.buckets == 2 ? 8 : 2); x++)
		if (!has(R_BEGIN) || !setting.begin || t->mux[m] < t->held)
			add(list, A_SHORT, m | (x >> 1 & 1) << 2 | ((x & 1) + 1 + (x >> 2) * 2) << 3);
	if (setting.torn && t->mux[m] < t->n)
		add(list, A_TORN, m);
}

static void add_server(const struct state *t, struct list *list, int s)
{
	if (setting.death && t->dead == NONE && (!setting.revive || t->restarted == NONE))
		add(list, A_DEATH, s);
	if (s == t->dead) {
		if (setting.revive && t->restarted == NONE)
			add(list, A_REVIVE, s);
		return;
	}
	if (setting.news && t->seen[s] < state_mux_max(t))
		add(list, A_NEWS, s);
	if (setting.reuse && !(t->former >> s & 1))
		add(list, A_FORMER, s);
	if (t->fresh >> s & 1 && may_be_calm(t, s))
		add(list, A_CALM, s);
	for (int m = 0; t->fresh >> s & 1 && !has(R_CALM) && m < setting.muxes; m++)
		if (t->mux[m] != AWAY)
			add(list, A_HUSH, s | m << 3);
	if (is_repeat_due(t, s))
		add(list, A_REPEAT, s);
	if (setting.leave && t->left == NONE && owns_nothing(t, s))
		add(list, A_LEAVE, s);
	if (setting.restart && t->restarted == NONE)
		add(list, A_RESTART, s);
	if (t->home == NONE && (t->half | t->cookie) >> s & 1 && s != t->gone)
		add(list, A_TAKE, s);
	if (t->home != NONE && (t->half | t->cookie) >> s & 1)
		add(list, A_EXPIRE, s);
	if (setting.off && t->empty == NONE && t->dead == NONE) {
		bool listed = t->home == s; /* or it has nothing, and gets none */

		for (int b = 0; b < setting.buckets; b++) {
			listed |= list_has(t->list[b][t->n], s);
			for (int g = 0; g <= t->n; g++)
				listed |= state_owner(t, b, g) == s;
		}
		if (listed && may_say_empty(t, s))
			add(list, A_EMPTY, s);
	}
}

/* What servers can make of a packet. */
static bool is_possible(unsigned how, bool is_syn)
{
	return (!(how & BUSY) || (setting.busy && setting.buckets == 2 && is_syn)) &&
	       (!(how & COOKIE) || (setting.cookies && is_syn)) && (!(how & (SKIP | SKIP2)) || setting.skip);
}

static void add_packets(const struct state *t, struct list *list, int m)
{
	bool is_syn = t->home == NONE && setting.traffic == TCP;
	int orders = setting.maat && setting.buckets == 2 && (setting.traffic == TCP || !has(R_ONE)) ? 2 : 1;

	for (int k = 0; k < m && !setting.lost_mux; k++)
		if (t->mux[k] == t->mux[m])
			return;
	if (t->mux[m] == AWAY || (setting.flight == 1 && t->flight[0].kind) ||
	    (setting.flight == 2 && t->flight[0].kind && t->flight[1].kind))
		return;
	for (int order = 0; order < orders; order++)
		for (unsigned how = 0; how < (setting.flight ? 1 : 2 * SKIP2); how++)
			if (is_possible(how, is_syn))
				add(list, A_SEND, m | order << 2 | (int)how << 3);
}

unsigned steps_of(const struct state *t, struct step *out)
{
	struct list list = {out, 0};

	add_generations(t, &list);
	for (int m = 0; m < setting.muxes; m++)
		add_mux(t, &list, m);
	for (int g = 1; setting.notices == LOSSY && g <= t->n; g++)
		for (int s = 0; s < setting.servers; s++)
			if (state_to_tell(t, g - 1, g) >> s & 1 && t->seen[s] < g)
				add(&list, A_NOTICE, g * 8 + s);
	for (int s = 0; s < setting.servers; s++)
		add_server(t, &list, s);
	for (int m = 0; m < setting.muxes; m++)
		add_packets(t, &list, m);
	for (int f = 0; f < setting.flight; f++) {
		if (!t->flight[f].kind)
			continue;
		for (unsigned how = 0; how < SKIP2; how++)
			if (is_possible(how, t->flight[f].kind == K_SYN))
				add(&list, A_HOP, f | (int)how << 3);
		add(&list, A_LOSE, f);
	}
	for (int b = 0, owns = 0; t->empty != NONE && t->dead == NONE && b < setting.buckets; b++) {
		owns |= state_owner(t, b, t->n) == t->empty;
		if (b == setting.buckets - 1 && !owns)
			add(&list, A_SWITCH, 0);
	}
	return list.n;
}
