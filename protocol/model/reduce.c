/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a state cannot matter any more; README.md (Fewer states) has the argument.
 */
#include <string.h>

#include "state.h"

bool state_is_reduced(void)
{
	return setting.reduce && !setting.plain && setting.walk == 0 && setting.rules == (1ULL << RULES) - 1 &&
	       setting.traffic == TCP && setting.buckets == 1 && !setting.room && !setting.ipip;
}

/* Whether a server may still forget what it has seen. One alone does. */
static bool may_forget(const struct state *t)
{
	return (setting.restart || setting.revive) && t->restarted == NONE;
}

/* Whether the lists of the oldest generation may still be those of a backup. */
static bool may_restore(const struct state *t)
{
	return setting.restore && !t->restored;
}

/* Servers that a segment of generation g comes to by this list, and that have seen a higher one. */
static int witnesses(const struct state *t, uint16_t l, int g)
{
	int n = 0;

	for (l = setting.mux_clock ? l & 7 : l; l; l >>= 3)
		n += t->seen[list_at(l, 0)] > g;
	return n;
}

/* Whether each segment of generation g that is under way is late, or comes to servers that have seen one above `than`. */
static bool are_late(const struct state *t, int g, int than)
{
	for (int f = 0; f < setting.flight; f++)
		if (t->flight[f].kind == K_SEG && t->flight[f].gen == g && !t->flight[f].late &&
		    witnesses(t, t->flight[f].path, than) < 1 + may_forget(t))
			return false;
	return true;
}

/* Whether no segment of generation g can be reset any more. */
static bool is_spent(const struct state *t, int g)
{
	int least = 1 + may_forget(t);

	return g < t->n && witnesses(t, t->list[0][g], g) >= least &&
	       (!setting.torn || witnesses(t, t->list[0][g + 1], g) >= least) && are_late(t, g, g);
}

/* Whether a step compares muxes with this number. */
static bool is_compared(const struct state *t, int g)
{
	bool by_memo = false; /* what a server has seen that forgets it */

	for (int s = 0; s < setting.servers; s++)
		by_memo |= may_forget(t) && t->seen[s] == g;
	return by_memo || g == t->settled || g == t->held || (t->restarted != NONE && g == t->memo);
}

/* Whether a generation takes servers from the list. */
static bool takes(const struct state *t, int g)
{
	for (uint16_t l = g ? t->list[0][g - 1] : 0; l; l >>= 3)
		if (!list_has(t->list[0][g], list_at(l, 0)))
			return true;
	return false;
}

static bool is_one(const struct state *t, int g)
{
	return state_owner(t, 0, g) == state_owner(t, 0, g - 1) && is_spent(t, g) && is_spent(t, g - 1) &&
	       are_late(t, g - 1, g) && !is_compared(t, g) && (setting.older || g < state_mux_max(t)) &&
	       (!takes(t, g) || !takes(t, g - 1) || t->because[g] == t->because[g - 1]);
}

/* The same generation, once g and the one below it are one. */
static void lower(uint8_t *number, int g)
{
	*number = (uint8_t)(*number - (*number >= g && *number != AWAY));
}

static void merge(struct state *t, int g)
{
	uint8_t because = takes(t, g) ? t->because[g] : t->because[g - 1];
	size_t rest = (size_t)(t->n - g + 1);

	for (int s = 0; s < setting.servers; s++) {
		lower(&t->seen[s], g);
		lower(&t->born[s], g);
		if (g == 1 && state_has_copy(t, s) && list_has(t->list[0][0], s) && !list_has(t->list[0][1], s))
			t->lapsed[s] = because;
	}
	for (int m = 0; m < setting.muxes; m++) {
		lower(&t->mux[m], g);
		lower(&t->kept[m], g);
		lower(&t->disk[m], g);
	}
	for (int f = 0; f < setting.flight; f++)
		lower(&t->flight[f].gen, g);
	lower(&t->settled, g);
	lower(&t->held, g);
	lower(&t->memo, g);
	memmove(&t->list[0][g - 1], &t->list[0][g], rest * sizeof(t->list[0][0]));
	memmove(&t->because[g - 1], &t->because[g], rest);
	t->because[g - 1] = g == 1 ? 0 : because;
	t->list[0][t->n] = 0;
	t->because[t->n--] = 0;
}

/* Leaves the owners of the first generations that are spent alone. The first that is not, or -1. */
static int cut_lists(struct state *t)
{
	uint8_t because[G] = {0};
	int end = 0;

	if (setting.revive || may_forget(t) || may_restore(t))
		return -1;
	while (is_spent(t, end) && t->seen[state_owner(t, 0, end)] > end)
		end++;
	for (int g = 1; g < end; g++) {
		int s = state_owner(t, 0, g - 1);

		if (s != state_owner(t, 0, g) && !list_has(t->list[0][end], s))
			because[g] = (uint8_t)state_gone(t, s, end);
	}
	for (int s = 0; end && s < setting.servers; s++)
		if (state_has_copy(t, s) && s != state_owner(t, 0, 0))
			t->lapsed[s] = list_has(t->list[0][end], s) ? 0 : (uint8_t)state_gone(t, s, end);
	for (int g = 0; g < end; g++) {
		t->list[0][g] &= 7;
		t->because[g] = because[g];
	}
	return end;
}

void state_reduce(struct state *t)
{
	int end = cut_lists(t);

	t->home_cookie = 0;
	for (int g = t->n - 1; g > 0 && !may_restore(t); g--)
		if (g - 1 != end && is_one(t, g))
			merge(t, g);
	for (int s = 0; s < setting.servers; s++)
		while (t->born[s] && is_spent(t, t->born[s] - 1))
			t->born[s]--;
}
