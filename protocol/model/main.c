/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore: which connections break, over every sequence of steps (state.h).
 *
 *	explore [--OPTION VALUE ...] [--limit CAUSE ...] [--without RULE ...]
 *
 * Options, limits and rules: README.md. Exits 1 unless exactly the causes that are named by --limit break something; with
 * --walk, unless no others do. With --without also unless something breaks once these rules are off: they are needed
 * there. 4: memory or time ran out before all states were visited. 2: an option is wrong.
 *
 * --walk N takes N steps at random in place of all, by --seed. --plain on renames no servers and sorts no muxes: it checks
 * that the canonical form loses nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

#define RULE(rule, word) [rule] = word,
static const char *const rules[RULES] = {MODEL_RULES(RULE)};
#undef RULE

static const struct {
	const char *name;
	bool *value;
} toggles[] = {{"begin", &setting.begin},         {"busy", &setting.busy},         {"close", &setting.close_},
	       {"cookies", &setting.cookies},     {"crowd", &setting.crowd},       {"deadline", &setting.deadline},
	       {"deaf", &setting.deaf},           {"death", &setting.death},       {"force", &setting.force},
	       {"hold", &setting.hold},           {"ipip", &setting.ipip},         {"jump", &setting.jump},
	       {"leave", &setting.leave},         {"lost-mux", &setting.lost_mux}, {"maat", &setting.maat},
	       {"mux-clock", &setting.mux_clock}, {"news", &setting.news},         {"off", &setting.off},
	       {"older", &setting.older},         {"plain", &setting.plain},       {"reduce", &setting.reduce},
	       {"restart", &setting.restart},     {"restore", &setting.restore},   {"reuse", &setting.reuse},
	       {"revive", &setting.revive},       {"same", &setting.same},         {"search", &setting.search},
	       {"skip", &setting.skip},           {"torn", &setting.torn},         {"withdraw", &setting.withdraw}};

static const struct {
	const char *name;
	int *value, least, most;
} numbers[] = {
    {"servers", &setting.servers, 2, 5}, {"muxes", &setting.muxes, 1, 3}, {"buckets", &setting.buckets, 1, 2},
    {"moves", &setting.moves, 0, 9},     {"k", &setting.K, 1, 5},         {"flight", &setting.flight, 0, 2},
    {"arrays", &setting.arrays, 0, 3},   {"room", &setting.room, 0, 5}};

static const struct {
	const char *name;
	double *value;
} amounts[] = {{"gib", &setting.gib}, {"seconds", &setting.seconds}, {"walk", &setting.walk}};

static const char *const notices[] = {"off", "lossy", "all", "last"}, *const orders[] = {"bucket", "owners"},
			 *const traffics[] = {"tcp", "connected", "open", "fragments"};

/* Of --without and --limit: bits of rules and causes. */
static uint64_t without;
static unsigned limits;

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static int word(const char *value, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(value, words[i]))
			return (int)i;
	return -1;
}

static bool set_number(const char *option, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (!*value || *end)
		return false;
	for (size_t i = 0; i < LEN(numbers); i++)
		if (!strcmp(option, numbers[i].name)) {
			*numbers[i].value = (int)number;
			return number >= numbers[i].least && number <= numbers[i].most;
		}
	for (size_t i = 0; i < LEN(amounts); i++)
		if (!strcmp(option, amounts[i].name)) {
			*amounts[i].value = number;
			return number >= 0;
		}
	setting.seed = (uint64_t)number;
	return !strcmp(option, "seed");
}

static bool set_toggle(const char *option, bool on)
{
	static const char *const faults[] = {"cookies", "deadline", "death", "off", "restart", "skip", "withdraw"};

	if (!strcmp(option, "faults")) {
		for (size_t i = 0; i < LEN(faults); i++)
			set_toggle(faults[i], on);
		return true;
	}
	for (size_t i = 0; i < LEN(toggles); i++)
		if (!strcmp(option, toggles[i].name)) {
			*toggles[i].value = on;
			return true;
		}
	return false;
}

static bool set_option(const char *option, const char *value)
{
	int rule = word(value, rules, LEN(rules)), notice = word(value, notices, LEN(notices)),
	    order = word(value, orders, LEN(orders)), traffic = word(value, traffics, LEN(traffics)),
	    cause = word(value, cause_names, CAUSES);

	if (!strcmp(option, "without") && rule >= 0)
		without |= 1ULL << rule;
	else if (!strcmp(option, "limit") && cause > C_NONE)
		limits |= 1U << cause;
	else if (!strcmp(option, "notices") && notice >= 0)
		setting.notices = (enum notices)notice;
	else if (!strcmp(option, "order") && order >= 0)
		setting.order = (enum order)order;
	else if (!strcmp(option, "traffic") && traffic >= 0)
		setting.traffic = (enum traffic)traffic;
	else
		return strcmp(value, "on") != 0 && strcmp(value, "off") != 0 ? set_number(option, value)
									     : set_toggle(option, !strcmp(value, "on"));
	return true;
}

/* Bits of the causes by which something broke. */
static unsigned broken_by(const struct tally *tally)
{
	unsigned causes = 0;

	for (int c = 0; c < CAUSES; c++)
		causes |= tally->broken[c] ? 1U << c : 0;
	return causes;
}

static void print(const struct tally *tally, bool whole)
{
	if (setting.walk > 0)
		printf("%" PRIu64 " steps at random", tally->steps);
	else
		printf("%s%" PRIu64 " states, %" PRIu64 " steps", whole ? "" : "INCOMPLETE: ", tally->states,
		       tally->steps);
	printf(", %" PRIu64 " delivered, %" PRIu64 " dropped; broken:", tally->packets[DELIVERED],
	       tally->packets[DROPPED]);
	for (int c = 0; c < CAUSES; c++)
		if (tally->broken[c])
			printf(" %" PRIu64 " %s", tally->broken[c], cause_names[c]);
	printf("%s%s\n", broken_by(tally) ? "" : " 0", cramped ? "; CRAMPED" : "");
}

/* Runs the setting and prints what broke, with a sequence for what is not of `known`. */
static struct tally run(unsigned known, bool *whole)
{
	struct step way[STORY_MAX];
	struct tally tally = {0};
	unsigned n = 0;

	*whole = true;
	if (setting.walk > 0)
		n = search_walk(&tally, way, STORY_MAX);
	else
		*whole = search_all(&tally);
	print(&tally, *whole);
	for (int c = 0; setting.walk == 0 && c < CAUSES; c++)
		if (tally.broken[c] && !(known >> c & 1)) {
			printf("%s:", cause_names[c]);
			story_tell(&tally, (enum cause)c);
		}
	if (n)
		story_walk(&tally, way, n);
	return tally;
}

int main(int argc, char **argv)
{
	struct tally tally;
	bool whole;

	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strncmp(argv[i], "--", 2) != 0 || !set_option(argv[i] + 2, value)) {
			fprintf(stderr, "explore: '%s %s' is not an option; they are in protocol/model/README.md\n",
				argv[i], value);
			return 2;
		}
	}
	tally = run(limits, &whole);
	if (!whole)
		return 4;
	if (setting.walk > 0 ? (broken_by(&tally) & ~limits) != 0 : broken_by(&tally) != limits || cramped) {
		printf("other limits than those that --limit names, or no room for generations\n");
		return 1;
	}
	if (!without)
		return 0;
	setting.rules &= ~without;
	setting.search = true;
	tally = run(limits, &whole);
	if (!tally.broken[C_NONE])
		printf("the rule is not needed here\n");
	return tally.broken[C_NONE] ? 0 : 1;
}
