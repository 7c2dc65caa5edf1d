/* SPDX-License-Identifier: Apache-2.0 */
/* What a step changes. */
#include "steps.h"

#include <string.h>

static void tell(struct state *t, int from, int g)
{
	uint8_t who = state_to_tell(t, from, g);

	for (int s = 0; s < setting.servers; s++)
		if (who >> s & 1)
			state_learn(t, s, g);
}

/* The notices of a mux that applies what leads from one generation to another. */
static void tell_by(struct state *t, int m, int from, int g)
{
	if (setting.notices == ALL || (setting.notices == LAST && m == setting.muxes - 1))
		tell(t, from, g);
}

/* What a server has of a connection that is not open there. */
static void forget(struct state *t, int s)
{
	t->half &= (uint8_t) ~(1 << s);
	t->cookie &= (uint8_t) ~(1 << s);
}

static int push_gen(struct state *t)
{
	int g = ++t->n;

	for (int b = 0; b < B; b++)
		t->list[b][g] = t->list[b][g - 1];
	t->because[g] = 0;
	t->code[g] = t->code[g - 1];
	return g;
}

static void drop_from(struct state *t, int b, int g, int s, enum cause why)
{
	t->list[b][g] = list_less(t->list[b][g], s);
	t->because[g] = (uint8_t)why;
	t->reported[b] &= (uint8_t) ~(1 << s);
}

static void give(struct state *t, int b, int g, int s)
{
	uint16_t l = t->list[b][g], rest = list_less(l, s);

	if (!has(R_KEEP) && list_has(l, s))
		rest = (uint16_t)(list_at(l, 0) + 1); /* a bucket that returns keeps the last owner alone */
	t->list[b][g] = (uint16_t)(rest << 3 | (s + 1));
	if (has(R_FRESH))
		t->reported[b] &= (uint8_t) ~(1 << s);
	while (list_len(t->list[b][g]) > (has(R_LIST) ? setting.K : 2)) {
		int len = list_len(t->list[b][g]), out = list_at(t->list[b][g], len - 1);

		drop_from(t, b, g, out, has(R_LIST) && setting.force ? C_OVERFLOW : C_NONE);
	}
}

/* No mux that lacks what the controller acts on gets packets any more. */
static void settle_losses(struct state *t, int s)
{
	for (int b = 0; setting.older && b < setting.buckets; b++) {
		int g = steps_loss(t, b, s);

		if (g > t->settled && steps_all_have(t, g))
			t->settled = (uint8_t)g;
	}
}

enum result steps_take(struct state *t, struct step step, enum cause *cause)
{
	int b = step.arg >> 3, s = step.arg & 7, g;
	struct flight p;

	*cause = C_NONE;
	switch ((enum action)step.action) {
	case A_MOVE:
		g = push_gen(t);
		t->moves++;
		give(t, b, g, s);
		return IDLE;
	case A_CLOSE:
		b = step.arg;
		g = push_gen(t);
		drop_from(t, b, g, list_at(t->list[b][g], list_len(t->list[b][g]) - 1),
			  has(R_SHRINK) ? C_WINDOW : C_NONE);
		return IDLE;
	case A_REPORT:
		settle_losses(t, s);
		t->reported[b] |= (uint8_t)(1 << s);
		return IDLE;
	case A_RELEASE:
		g = push_gen(t);
		drop_from(t, b, g, s, setting.lost_mux || setting.deaf ? C_ALONE : C_NONE);
		return IDLE;
	case A_DEATH:
		t->dead = step.arg;
		forget(t, t->dead);
		return IDLE;
	case A_REMOVE:
		g = push_gen(t);
		for (int x = 0; x < setting.buckets; x++) {
			bool owns = state_owner(t, x, g) == t->dead;

			if (owns)
				give(t, x, g, step.arg);
			if (owns || has(R_ALL_LISTS))
				t->list[x][g] = list_less(t->list[x][g], t->dead);
		}
		t->removed = 1;
		return IDLE;
	case A_APPLY:
		tell_by(t, step.arg, t->mux[step.arg], t->mux[step.arg] + 1);
		t->mux[step.arg]++;
		return IDLE;
	case A_JUMP:
		tell_by(t, step.arg, t->mux[step.arg], t->n);
		t->mux[step.arg] = t->n;
		return IDLE;
	case A_SAVE:
		t->disk[step.arg] = t->mux[step.arg];
		return IDLE;
	case A_FALL:
		if (t->mux[step.arg] == AWAY)
			t->kept[step.arg] = t->disk[step.arg];
		else
			t->mux[step.arg] = t->disk[step.arg];
		return IDLE;
	case A_RETURN:
		t->mux[step.arg] = t->kept[step.arg];
		t->kept[step.arg] = AWAY;
		return IDLE;
	case A_HOLD:
		t->held = (uint8_t)push_gen(t);
		return IDLE;
	case A_RESTORE:
		g = push_gen(t);
		t->restored = 1;
		for (int x = 0; x < setting.buckets; x++) {
			t->list[x][g] = t->list[x][0];
			t->reported[x] = 0;
		}
		t->removed = 0;
		t->because[g] = C_RESTORE;
		return IDLE;
	case A_LEAVE:
		t->left = step.arg;
		return IDLE;
	case A_DEADLINE:
		g = push_gen(t);
		for (int x = 0; x < setting.buckets; x++)
			drop_from(t, x, g, step.arg, C_NONE);
		t->gone = step.arg;
		return t->home == t->gone ? ENDED : IDLE;
	case A_HUSH:
		state_learn(t, step.arg & 7, t->mux[step.arg >> 3]);
		t->fresh &= (uint8_t) ~(1 << (step.arg & 7));
		return IDLE;
	case A_AWAY:
		if (setting.older)
			t->kept[step.arg] = t->mux[step.arg];
		t->mux[step.arg] = AWAY;
		return IDLE;
	case A_BACK:
		tell_by(t, step.arg, t->n, t->n);
		t->mux[step.arg] = t->n;
		t->kept[step.arg] = AWAY;
		return IDLE;
	case A_NOTICE:
		state_learn(t, s, b);
		return IDLE;
	case A_NEWS:
	case A_REPEAT:
		state_learn(t, step.arg, state_mux_max(t));
		return IDLE;
	case A_FORMER:
		t->former |= (uint8_t)(1 << step.arg);
		return IDLE;
	case A_CALM:
		t->fresh &= (uint8_t) ~(1 << step.arg);
		return IDLE;
	case A_RESTART:
		t->restarted = step.arg;
		t->memo = t->seen[step.arg];
		t->seen[step.arg] = 0;
		t->former &= (uint8_t) ~(1 << step.arg);
		if (has(R_QUIET))
			t->fresh |= (uint8_t)(1 << step.arg);
		return IDLE;
	case A_REVIVE:
		s = t->dead;
		t->dead = NONE;
		t->removed = 0;
		t->restarted = (uint8_t)s;
		t->memo = (uint8_t)state_mux_max(t);
		for (int x = 0; x < setting.servers; x++) /* what muxes had that have restarted since */
			t->memo = t->seen[x] > t->memo ? t->seen[x] : t->memo;
		t->seen[s] = 0;
		t->former &= (uint8_t) ~(1 << s);
		if (has(R_QUIET))
			t->fresh |= (uint8_t)(1 << s);
		return t->home == s ? ENDED : IDLE;
	case A_SEND:
		p = packet_of(t, step.arg & 3, step.arg >> 2 & 1, 0);
		if (setting.flight) {
			for (int f = 0; f < setting.flight; f++)
				if (!t->flight[f].kind) {
					t->flight[f] = p;
					break;
				}
			return IDLE;
		}
		return packet_walk(t, &p, step.arg >> 3, cause);
	case A_HOP: {
		struct flight *q = &t->flight[step.arg & 7];
		enum result r = packet_hop(t, q, step.arg >> 3, cause);

		if (!q->kind)
			memset(q, 0, sizeof(*q));
		return r == SENT ? IDLE : r;
	}
	case A_LOSE:
		memset(&t->flight[step.arg], 0, sizeof(t->flight[0]));
		return IDLE;
	case A_TAKE:
		t->home = step.arg;
		t->home_cookie = !(t->half >> step.arg & 1);
		t->cookie = 0;
		if (has(R_ACKS))
			t->half = 0; /* nothing of theirs is local state from here on, and they expire */
		else
			t->half &= (uint8_t) ~(1 << step.arg);
		return IDLE;
	case A_EXPIRE:
		forget(t, step.arg);
		return IDLE;
	case A_EMPTY:
		settle_losses(t, step.arg);
		t->empty = step.arg;
		return IDLE;
	case A_ARRAYS:
		g = push_gen(t);
		t->code[g] = (uint8_t)(step.arg | ((t->code[g] & 1) + 1) << 1 | ((t->code[g] >> 3) + 1) << 3);
		t->because[g] = C_NONE;
		t->renewed++;
		return IDLE;
	case A_DROP:
		g = push_gen(t);
		t->code[g] &= (uint8_t)~6;
		return IDLE;
	case A_KNOW:
		t->known |= 1;
		return IDLE;
	case A_END:
		settle_losses(t, s);
		g = push_gen(t);
		drop_from(t, b, g, s, C_NONE);
		return IDLE;
	case A_SHORT: {
		struct state short_ = *t;
		enum result r;
		int n = step.arg >> 3;
		bool is_excused = has(R_CLOCK) && (!setting.begin || t->mux[step.arg & 3] < t->held);

		for (int x = 0; x < setting.buckets; x++)
			for (int k = 0; k < n && list_len(short_.list[x][t->mux[step.arg & 3]]) > 1; k++) {
				uint16_t *l = &short_.list[x][t->mux[step.arg & 3]];

				*l = list_less(*l, list_at(*l, list_len(*l) - 1));
			}
		p = packet_of(&short_, step.arg & 3, step.arg >> 2 & 1, 0);
		r = packet_walk(t, &p, 0, cause);
		if (r == BROKEN)
			for (int x = 0; x < setting.buckets; x++)
				if (list_has(t->list[x][t->mux[step.arg & 3]], t->home))
					*cause = is_excused ? C_WINDOW : C_NONE;
		return r;
	}
	case A_TORN:
		tell_by(t, step.arg & 3, t->mux[step.arg & 3], t->mux[step.arg & 3] + 1); /* it is applying that */
		p = packet_of(t, step.arg & 3, step.arg >> 2 & 1, 1);
		{
			enum result r = packet_walk(t, &p, 0, cause);

			for (int x = 0; r == BROKEN && *cause == C_NONE && x < setting.buckets; x++)
				if (list_has(t->list[x][p.gen], t->home) && !list_has(t->list[x][p.gen + 1], t->home))
					*cause = t->because[p.gen + 1]; /* its list lacks the entry already */
			return r;
		}
	case A_SWITCH:
		t->dead = t->empty;
		if (t->home == t->dead) {
			*cause = setting.lost_mux || setting.deaf ? C_ALONE : C_NONE;
			return BROKEN;
		}
		forget(t, t->dead);
		return IDLE;
	}
	return IDLE;
}

/* All muxes become current, the dead server is removed, and the client sends again and again. */
enum result steps_settle(struct state t, enum cause *cause)
{
	*cause = C_NONE;
	if (t.home == NONE && setting.traffic == TCP && !t.half && !t.cookie)
		return IDLE;
	if (t.home == NONE || t.home == t.dead)
		return IDLE;
	if (steps_removal_due(&t)) {
		int to = 0;
		enum cause c;

		while (to == t.dead || to == t.empty || to == t.gone || to == t.left)
			to++;
		steps_take(&t, (struct step){A_REMOVE, (uint8_t)to}, &c);
	}
	for (int m = 0; m < setting.muxes; m++) {
		if (t.mux[m] == AWAY)
			t.mux[m] = t.n;
		while (t.mux[m] < t.n)
			t.mux[m]++;
	}
	if (t.gone != NONE && t.home == t.gone)
		return IDLE;
	memset(t.flight, 0, sizeof(t.flight));
	t.fresh = 0;
	for (int order = 0; order < (setting.maat && setting.buckets == 2 ? 2 : 1); order++) {
		bool done = false;

		for (int i = 0; i < 4 && !done; i++) {
			struct flight p = packet_of(&t, 0, order, 0);
			enum result r = packet_walk(&t, &p, 0, cause);

			if (r == BROKEN)
				return IDLE; /* counted where the packet is a step */
			done = r == DELIVERED || r == ENDED;
		}
		if (done)
			continue;
		*cause = state_gone(&t, t.home, t.n);
		for (int b = 0; setting.room && b < setting.buckets; b++)
			if (list_has(t.list[b][t.n], t.home))
				*cause = C_OVERFLOW; /* it is listed, but the packet has no room */
		return BROKEN;
	}
	return IDLE;
}
