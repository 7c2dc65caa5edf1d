/* SPDX-License-Identifier: Apache-2.0 */
#include "codes_keeper.h"

enum { LINE_MAX = 2 + CODES_EARLIER };

static const struct pair_generation *newest(const struct codes *codes)
{
	return &codes->pair.generation[codes->pair.newest];
}

static uint8_t third(const struct codes_setting *setting)
{
	return setting->pair.window < 3 ? 1 : setting->pair.window / 3;
}

/* Whether packets of the bucket are chained to its previous owner. */
static bool is_open(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket)
{
	return newest(codes)->previous[bucket] != WORLD_NONE && newest(codes)->age[bucket] < setting->pair.window;
}

/* The bucket's owners, the latest first, as far as the controller knows that packets are chained to them. */
static unsigned line(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket,
		     uint8_t owners[LINE_MAX])
{
	unsigned n = 0;

	owners[n++] = newest(codes)->owner[bucket];
	if (!is_open(setting, codes, bucket))
		return n;
	owners[n++] = newest(codes)->previous[bucket];
	for (unsigned i = 0; i < CODES_EARLIER && codes->earlier[bucket][i] != WORLD_NONE; i++) {
		if (!codes_has_rule(setting, CODES_RULE_MEMORY) &&
		    codes->earlier_age[bucket][i] >= setting->pair.window)
			break;
		owners[n++] = codes->earlier[bucket][i];
	}
	return n;
}

/* A bit for each owner that packets reach which begin at the line's first: each remembers the next in its latest place. */
static unsigned reached(const struct codes *codes, const uint8_t *owners, unsigned n)
{
	unsigned servers = 0, at = 0;

	for (unsigned hops = 0; hops <= CODES_HOPS_MAX && owners[at] != codes->pair.dead; hops++) {
		unsigned latest = 0;

		servers |= 1U << owners[at];
		while (owners[latest] != owners[at])
			latest++;
		if (latest + 1 == n)
			break;
		at = latest + 1;
	}
	return servers;
}

bool codes_may_move(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket, uint8_t to)
{
	uint8_t owners[1 + LINE_MAX] = {to};
	unsigned n = line(setting, codes, bucket, owners + 1);

	if (to == newest(codes)->owner[bucket] || to == codes->pair.dead)
		return false;
	if (!codes_has_rule(setting, CODES_RULE_CHAINS))
		return true;
	return !(reached(codes, owners + 1, n) & ~reached(codes, owners, n + 1));
}

uint8_t codes_kept(const struct codes_setting *setting, const struct codes *codes)
{
	const struct pair_generation *g = newest(codes);
	uint8_t kept = PAIR_BUCKETS;

	if (!codes->known || pair_owns(&setting->pair, newest(codes), codes->pair.home))
		return PAIR_BUCKETS;
	for (uint8_t b = 0; b < PAIR_BUCKETS; b++)
		if (is_open(setting, codes, b) && g->previous[b] == codes->pair.home &&
		    (kept == PAIR_BUCKETS || g->age[b] < g->age[kept]))
			kept = b;
	for (uint8_t b = 0; kept == PAIR_BUCKETS && b < PAIR_BUCKETS; b++)
		if (!is_open(setting, codes, b))
			return b;
	return kept;
}

/* Whether the kept bucket leads to the connection's server. */
static bool is_named(const struct codes_setting *setting, const struct codes *codes, uint8_t kept)
{
	return is_open(setting, codes, kept) && newest(codes)->previous[kept] == codes->pair.home;
}

static bool fits(const struct codes_setting *setting, const struct codes *codes, uint8_t code)
{
	return newest(codes)->owner[code] == codes->pair.home ||
	       (codes_kept(setting, codes) == code && is_named(setting, codes, code));
}

/* Whether the connection is known, and its first bucket is not its server's. */
static bool is_miscoded(const struct codes_setting *setting, const struct codes *codes)
{
	return codes->known && !fits(setting, codes, codes->code[newest(codes)->arrays]);
}

/* Whether any bucket is its server's. */
static bool has_bucket(const struct codes_setting *setting, const struct codes *codes)
{
	return pair_owns(&setting->pair, newest(codes), codes->pair.home) || codes_kept(setting, codes) != PAIR_BUCKETS;
}

bool codes_is_fixable(const struct codes_setting *setting, const struct codes *codes)
{
	return is_miscoded(setting, codes) && has_bucket(setting, codes);
}

/* Whether no mux opens connections by arrays before the newest, as far as the controller can tell. */
static bool is_everywhere(const struct codes_setting *setting, const struct codes *codes)
{
	unsigned first = codes->pair.late;

	if (codes->pair.generation[first].arrays == newest(codes)->arrays)
		return true;
	if (setting->absence != WORLD_PRESENT && !codes_has_rule(setting, CODES_RULE_ABSENT))
		return true;
	while (codes->pair.generation[first].arrays != newest(codes)->arrays)
		first++;
	return codes_is_quiet(setting, codes, first);
}

bool codes_may_commit(const struct codes_setting *setting, const struct codes *codes)
{
	const struct pair_generation *g = newest(codes);

	if (!codes_has_room(setting, codes))
		return false;
	if (!codes_has_rule(setting, CODES_RULE_WAIT))
		return true;
	if (!codes->complete || codes->silent == 1 || pair_is_removal_due(&codes->pair))
		return false;
	return is_everywhere(setting, codes) &&
	       (codes->pair.home == WORLD_NONE || codes->opened == g->arrays || codes->known || codes->refused);
}

bool codes_may_drop(const struct codes_setting *setting, const struct codes *codes)
{
	if (!newest(codes)->has_second || !codes_has_room(setting, codes))
		return false;
	if (!codes_has_rule(setting, CODES_RULE_WAIT) || !codes_has_rule(setting, CODES_RULE_SETTLE))
		return true;
	return codes_may_commit(setting, codes) && !codes_is_fixable(setting, codes);
}

bool codes_may_code(const struct codes_setting *setting, const struct codes *codes, uint8_t code)
{
	return !codes->known || !has_bucket(setting, codes) || fits(setting, codes, code);
}

static bool is_in_line(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket, uint8_t server)
{
	uint8_t owners[LINE_MAX];
	unsigned n = line(setting, codes, bucket, owners);

	for (unsigned i = 1; i < n; i++)
		if (owners[i] == server && (i == 1 || codes_has_rule(setting, CODES_RULE_LINE)))
			return true;
	return false;
}

/* Whether the connection breaks if the bucket's open move ends, as far as the leader can tell. */
static bool is_needed(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket)
{
	uint8_t b1, b2;

	codes_buckets(codes, WORLD_CURRENT, &b1, &b2);
	if (!is_open(setting, codes, bucket) || codes->pair.home == WORLD_NONE)
		return false;
	if (is_miscoded(setting, codes) && ((bucket == b1 && codes_has_rule(setting, CODES_RULE_NEEDED)) ||
					    (bucket == b2 && codes_has_rule(setting, CODES_RULE_NEEDED) &&
					     codes_has_rule(setting, CODES_RULE_BEFORE))))
		return true;
	if (codes->known || codes->refused || codes->silent || !codes_has_rule(setting, CODES_RULE_AWAIT))
		return false;
	return !(codes->unawaited >> bucket & 1) && is_in_line(setting, codes, bucket, codes->pair.home);
}

bool codes_may_renew(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket)
{
	bool is_kept = codes_kept(setting, codes) == bucket;

	if (!codes_has_room(setting, codes) || (!setting->renewed && !setting->timely))
		return false;
	if (is_kept && !is_named(setting, codes, bucket))
		return true;
	if (!is_open(setting, codes, bucket) || newest(codes)->age[bucket] < third(setting))
		return false;
	/* with `renewed` it may be another connection that needs the move */
	return is_kept || setting->renewed;
}

bool codes_must_renew(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket)
{
	bool is_kept = codes_kept(setting, codes) == bucket;
	int error = 0, lag = setting->absence == WORLD_PRESENT ? CODES_PROMPT : CODES_QUIET;

	if (is_kept && !is_named(setting, codes, bucket))
		return true;
	for (int mux = WORLD_CURRENT; mux <= WORLD_LATE; mux++)
		if (setting->pair.mux_ticks[mux] > error)
			error = setting->pair.mux_ticks[mux];
	return (is_kept || (!setting->timely && is_needed(setting, codes, bucket))) &&
	       newest(codes)->age[bucket] + 1 + lag + error >= setting->pair.window;
}

bool codes_is_plausible(const struct codes *codes)
{
	const struct pair_generation *g = newest(codes);
	uint8_t named[2];

	codes_buckets(codes, WORLD_CURRENT, &named[0], &named[1]);
	for (unsigned i = 0; i < 2; i++) {
		if (g->owner[named[i]] == codes->pair.home || g->previous[named[i]] == codes->pair.home)
			return true;
		for (unsigned back = 0; back < CODES_EARLIER; back++)
			if (codes->earlier[named[i]][back] == codes->pair.home)
				return true;
	}
	return false;
}

uint8_t codes_owner_before(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket,
			   uint8_t owner)
{
	uint8_t owners[LINE_MAX];
	unsigned n = line(setting, codes, bucket, owners);

	for (unsigned i = 0; i < n; i++)
		if (owners[i] != codes->pair.dead && owners[i] != owner)
			return owners[i];
	return WORLD_NONE;
}

void codes_line_change(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t previous)
{
	const struct pair_generation *g = newest(codes);
	uint8_t *owner = codes->earlier[bucket], *age = codes->earlier_age[bucket];
	unsigned gone = 0;

	if (!is_open(setting, codes, bucket) || previous == WORLD_NONE) {
		gone = CODES_EARLIER;
	} else if (previous == g->owner[bucket]) {
		owner[1] = owner[0];
		age[1] = age[0];
		owner[0] = g->previous[bucket];
		age[0] = g->age[bucket];
	} else if (previous != g->previous[bucket]) {
		while (gone < CODES_EARLIER && owner[gone++] != previous)
			;
	}
	for (unsigned i = 0; i < CODES_EARLIER && gone; i++) {
		bool is_left = i + gone < CODES_EARLIER;

		owner[i] = is_left ? owner[i + gone] : WORLD_NONE;
		age[i] = is_left ? age[i + gone] : 0;
	}
}

void codes_line_forget(const struct codes_setting *setting, struct codes *codes)
{
	bool by_line = codes_has_rule(setting, CODES_RULE_MEMORY);

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		bool is_over = by_line && !is_open(setting, codes, b);

		for (unsigned i = 0; i < CODES_EARLIER; i++) {
			uint8_t *owner = &codes->earlier[b][i], *age = &codes->earlier_age[b][i];

			is_over |= !by_line && *age >= setting->pair.window;
			if (is_over || *owner == WORLD_NONE || (codes->pair.removed && *owner == codes->pair.dead)) {
				is_over = true;
				*owner = WORLD_NONE;
			}
			if (by_line || is_over)
				*age = 0;
		}
	}
}
