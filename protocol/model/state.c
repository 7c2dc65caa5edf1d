/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <string.h>

struct setting setting = {.servers = 4,
			  .muxes = 2,
			  .buckets = 1,
			  .moves = 3,
			  .K = 4,
			  .notices = ALL,
			  .order = OWNERS_FIRST,
			  .rules = (1ULL << RULES) - 1,
			  .gib = 3,
			  .seconds = 570,
			  .jump = true,
			  .reduce = true};

const char *const cause_names[CAUSES] = {
    [C_NONE] = "NONE",     [C_WINDOW] = "window",     [C_OVERFLOW] = "overflow", [C_ALONE] = "alone",
    [C_NOTICE] = "notice", [C_DATAGRAM] = "datagram", [C_IPIP] = "ipip",         [C_RESTORE] = "restore"};

int state_owner(const struct state *t, int b, int g)
{
	return list_at(t->list[b][g], 0);
}

int state_mux_max(const struct state *t)
{
	int max = 0;

	for (int m = 0; m < setting.muxes; m++)
		if (t->mux[m] != AWAY && t->mux[m] > max)
			max = t->mux[m];
	return max;
}

int state_known_max(const struct state *t)
{
	int max = state_mux_max(t);

	for (int s = 0; s < setting.servers; s++)
		if (t->seen[s] > max)
			max = t->seen[s];
	return max;
}

bool state_has_copy(const struct state *t, int s)
{
	return t->home == s || (t->half | t->cookie) >> s & 1;
}

enum cause state_gone(const struct state *t, int s, int g)
{
	for (; g > 0; g--)
		for (int b = 0; b < named_buckets(); b++)
			if (list_has(t->list[b][g - 1], s) && !list_has(t->list[b][g], s))
				return t->because[g];
	for (int b = 0; b < named_buckets(); b++)
		if (list_has(t->list[b][0], s))
			return C_NONE;
	return t->lapsed[s];
}

uint8_t state_to_tell(const struct state *t, int from, int g)
{
	uint8_t who = has(R_TOLD) ? (uint8_t)((1 << setting.servers) - 1) : 0;

	for (int b = 0; b < setting.buckets; b++)
		if (state_owner(t, b, from) != state_owner(t, b, g))
			who |= (uint8_t)(1 << state_owner(t, b, from)); /* it loses the bucket */
	if (t->dead != NONE)
		who &= (uint8_t) ~(1 << t->dead);
	return who;
}

/* The restored generation by whose ring a lost one's numbers are used again, or 0. */
static int reused_from(const struct state *t)
{
	for (int g = 1; g <= t->n && !has(R_ABOVE); g++)
		if (t->because[g] == C_RESTORE)
			return g;
	return 0;
}

uint8_t state_number(const struct state *t, int g)
{
	int from = reused_from(t);

	return (uint8_t)(from && g >= from ? g - from + 1 : g); /* the backup was of generation 0 */
}

void state_learn(struct state *t, int s, int g)
{
	uint8_t number = state_number(t, g);

	if (number > t->seen[s])
		t->seen[s] = number;
}

/* What the server would have seen if all notices up to the muxes' highest generation had arrived. */
static int ideal_seen(const struct state *t, int s)
{
	int max = state_mux_max(t), seen = t->seen[s];

	for (int g = 1; g <= max; g++)
		if (state_to_tell(t, g - 1, g) >> s & 1 && g > seen)
			seen = g;
	return seen;
}

/* Whether a notice that did not arrive would have told the server of a higher generation than this. */
bool state_lacks_notice(const struct state *t, int s, int g)
{
	return setting.notices != OFF && !(t->former >> s & 1) && g >= t->seen[s] && g < ideal_seen(t, s);
}

/* A generation, once the oldest that counts is `base`. */
static uint8_t later(uint8_t g, int base)
{
	return (uint8_t)(g > base ? g - base : 0);
}

static uint8_t unless_away(uint8_t g, int base)
{
	return g == AWAY ? (uint8_t)AWAY : later(g, base);
}

void state_cut(struct state *t)
{
	int base = t->n, number;

	for (int m = 0; m < setting.muxes && has(R_SETTLED); m++) {
		if (t->kept[m] < t->settled)
			t->kept[m] = AWAY;
		if (t->disk[m] < t->settled && !setting.deaf)
			t->disk[m] = AWAY;
	}

	for (int m = 0; m < setting.muxes; m++)
		for (int i = 0; i < 3; i++) {
			int g = i == 0 ? t->mux[m] : i == 1 ? t->kept[m] : t->disk[m];

			if (g != AWAY && g < base)
				base = g;
		}
	for (int f = 0; f < F; f++)
		if (t->flight[f].kind && t->flight[f].gen < base)
			base = t->flight[f].gen;
	if (base < reused_from(t))
		base = 0; /* both rings' numbers count */
	for (int s = 0; s < setting.servers; s++) {
		bool has_copy = state_has_copy(t, s), is_in = false;

		for (int b = 0; b < named_buckets(); b++)
			is_in |= list_has(t->list[b][base], s);
		if (!has_copy)
			t->born[s] = 0;
		if (!has_copy || is_in)
			t->lapsed[s] = 0;
		else
			for (int g = 0; g < base; g++)
				for (int b = 0; b < named_buckets(); b++)
					if (list_has(t->list[b][g], s) && !list_has(t->list[b][g + 1], s))
						t->lapsed[s] = t->because[g + 1];
	}
	if (!base)
		return;
	number = state_number(t, base);
	t->n = (uint8_t)(t->n - base);
	memmove(t->because, t->because + base, (size_t)(G - base));
	memset(t->because + G - base, 0, (size_t)base);
	t->because[0] = 0;
	memmove(t->code, t->code + base, (size_t)(G - base));
	memset(t->code + G - base, 0, (size_t)base);
	for (int b = 0; b < B; b++) {
		memmove(t->list[b], t->list[b] + base, (size_t)(G - base) * 2);
		memset(t->list[b] + G - base, 0, (size_t)base * 2);
	}
	for (int m = 0; m < setting.muxes; m++) {
		t->mux[m] = unless_away(t->mux[m], base);
		t->kept[m] = unless_away(t->kept[m], base);
		t->disk[m] = unless_away(t->disk[m], base);
	}
	t->settled = later(t->settled, base);
	t->held = unless_away(t->held, base);
	for (int f = 0; f < F; f++)
		if (t->flight[f].kind)
			t->flight[f].gen = (uint8_t)(t->flight[f].gen - base);
	for (int s = 0; s < S; s++) {
		t->seen[s] = later(t->seen[s], number);
		t->born[s] = later(t->born[s], base);
	}
	t->memo = later(t->memo, number);
}

static uint16_t rename_list(uint16_t l, const uint8_t *to)
{
	uint16_t out = 0;

	for (int n = 0; l; l >>= 3, n++)
		out |= (uint16_t)((to[(l & 7) - 1] + 1) << (3 * n));
	return out;
}

static uint8_t rename_bits(uint8_t bits, const uint8_t *to)
{
	uint8_t out = 0;

	for (int s = 0; s < S; s++)
		if (bits >> s & 1)
			out |= (uint8_t)(1 << to[s]);
	return out;
}

static uint32_t mux_key(const struct state *t, int m)
{
	return (uint32_t)t->mux[m] << 16 | (uint32_t)t->kept[m] << 8 | t->disk[m];
}

static void swap_bytes(uint8_t *a, uint8_t *b)
{
	uint8_t x = *a;

	*a = *b;
	*b = x;
}

static void swap_muxes(struct state *t, int i, int j)
{
	swap_bytes(&t->mux[i], &t->mux[j]);
	swap_bytes(&t->kept[i], &t->kept[j]);
	swap_bytes(&t->disk[i], &t->disk[j]);
}

static uint8_t renamed(uint8_t s, const uint8_t *to)
{
	return s == NONE ? NONE : to[s];
}

/* What servers that no list and no packet names are told apart by. */
static uint32_t server_key(const struct state *t, int s)
{
	const bool bits[] = {t->former >> s & 1, t->half >> s & 1,  t->cookie >> s & 1, t->fresh >> s & 1, t->dead == s,
			     t->empty == s,      t->restarted == s, t->gone == s,       t->left == s};
	uint32_t key = t->seen[s] | (uint32_t)t->lapsed[s] << 4 | (uint32_t)t->born[s] << 8;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		key = key << 1 | bits[i];
	return key;
}

struct names {
	uint8_t to[S], next;
};

static void name(struct names *names, int s)
{
	if (names->to[s] == NONE)
		names->to[s] = names->next++;
}

static void name_list(struct names *names, uint16_t l)
{
	for (; l; l >>= 3)
		name(names, (l & 7) - 1);
}

/* Servers' names in the order in which they occur. */
static struct names names_of(const struct state *t)
{
	struct names names = {.next = 0};

	memset(names.to, NONE, sizeof(names.to));
	for (int g = t->n; g >= 0; g--)
		for (int b = 0; b < setting.buckets; b++)
			name_list(&names, t->list[b][g]);
	if (t->home != NONE)
		name(&names, t->home);
	for (int f = 0; f < F; f++)
		name_list(&names, t->flight[f].kind ? t->flight[f].path : 0);
	while (names.next < setting.servers) {
		int best = NONE;

		for (int s = 0; s < setting.servers; s++)
			if (names.to[s] == NONE && (best == NONE || server_key(t, s) > server_key(t, best)))
				best = s;
		name(&names, best);
	}
	for (int s = setting.servers; s < S; s++)
		name(&names, s);
	return names;
}

static void rename_servers(struct state *t, const uint8_t *to)
{
	struct state o = *t;

	for (int s = 0; s < S; s++) {
		o.seen[to[s]] = t->seen[s];
		o.lapsed[to[s]] = t->lapsed[s];
		o.born[to[s]] = t->born[s];
	}
	o.half = rename_bits(t->half, to);
	o.cookie = rename_bits(t->cookie, to);
	o.fresh = rename_bits(t->fresh, to);
	o.former = rename_bits(t->former, to);
	for (int b = 0; b < B; b++) {
		o.reported[b] = rename_bits(t->reported[b], to);
		for (int g = 0; g <= t->n; g++)
			o.list[b][g] = rename_list(t->list[b][g], to);
	}
	o.home = renamed(t->home, to);
	o.dead = renamed(t->dead, to);
	o.empty = renamed(t->empty, to);
	o.restarted = renamed(t->restarted, to);
	o.gone = renamed(t->gone, to);
	o.left = renamed(t->left, to);
	for (int f = 0; f < F; f++)
		o.flight[f].path = rename_list(t->flight[f].path, to);
	*t = o;
}

void state_canonical(struct state *t)
{
	static const uint8_t same[S] = {0, 1, 2, 3, 4};
	/* any mux may take the place of another; if one alone tells, it is the last, and stays there */
	int alike = setting.notices == LAST || setting.lost_mux ? setting.muxes - 1 : setting.muxes;
	struct names names;

	state_cut(t);
	if (setting.plain)
		return;
	/* what cannot matter any more */
	if (t->restarted != NONE && t->memo <= t->seen[t->restarted] && !(t->fresh >> t->restarted & 1))
		t->memo = 0;
	for (int s = 0; s < S; s++)
		for (int b = 0; b < setting.buckets; b++)
			if (!list_has(t->list[b][t->n], s))
				t->reported[b] &= (uint8_t) ~(1 << s);
	if (state_is_reduced())
		state_reduce(t);
	for (int i = 0; i < alike; i++)
		for (int j = i + 1; j < alike; j++)
			if (mux_key(t, j) > mux_key(t, i))
				swap_muxes(t, i, j);
	names = names_of(t);
	if (memcmp(names.to, same, sizeof(same)))
		rename_servers(t, names.to);
	if (memcmp(&t->flight[0], &t->flight[1], sizeof(t->flight[0])) < 0) {
		struct flight x = t->flight[0];

		t->flight[0] = t->flight[1];
		t->flight[1] = x;
	}
}

struct state state_first(void)
{
	struct state t;

	memset(&t, 0, sizeof(t));
	t.home = t.dead = t.empty = t.restarted = t.gone = t.left = NONE;
	t.held = setting.begin ? AWAY : 0;
	for (int m = 0; m < M; m++) {
		t.kept[m] = AWAY;
		t.disk[m] = setting.older ? 0 : AWAY;
	}
	t.list[0][0] = 1;
	t.list[1][0] = setting.buckets == 2 ? (setting.same ? 1 : 2) : 0;
	t.code[0] = 0;
	return t;
}
