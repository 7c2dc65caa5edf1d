/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore_codes: which connections of a service with the method `othello` break, over all placements of moves, arrays,
 * reports, packets, silence, a late mux and notices. Exits 1 if one breaks that no limit of protocol/README.md section
 * 10 covers, 2 if it can't run.
 *
 *	explore_codes [--servers N] [--moves N] [--arrays N] [--leaders N] [--window TICKS]
 *	              [--notices off|lossy|at-once|late] [--renewed on|off] [--timely on|off] [--rooted on|off]
 *	              [--death on|off] [--forgetting on|off] [--silence on|off] [--clocks on|off] [--behind on|off] [--search on|off]
 *	              [--without RULE]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "explorer.h"

/* The index of the word, or -1. */
static int word_of(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

/* A number of one digit from min to max, or -1. */
static int number_of(const char *text, int min, int max)
{
	return strlen(text) == 1 && *text >= '0' + min && *text <= '0' + max ? *text - '0' : -1;
}

/* What each says: codes.h. */
static const char *const rules[CODES_RULES] = {
    [CODES_RULE_SECOND] = "second", [CODES_RULE_WAIT] = "wait",     [CODES_RULE_SETTLE] = "settle",
    [CODES_RULE_NEEDED] = "needed", [CODES_RULE_BEFORE] = "before", [CODES_RULE_AWAIT] = "await",
    [CODES_RULE_LINE] = "line",     [CODES_RULE_MUXES] = "muxes",   [CODES_RULE_CHAINS] = "chains",
    [CODES_RULE_MEMORY] = "memory",
};

/* An option with a number, and where it goes. */
struct number {
	const char *option;
	int min, max;
	unsigned *to;
};

/* An option that is on or off. */
struct toggle {
	const char *option;
	bool *to;
};

struct options {
	struct codes_setting setting;
	unsigned window;
	bool clocks;
	bool is_search;
};

static bool set(struct options *options, const char *option, const char *value)
{
	static const char *const notices[] = {[WORLD_NOTICES_OFF] = "off",
					      [WORLD_NOTICES_LOSSY] = "lossy",
					      [WORLD_NOTICES_AT_ONCE] = "at-once",
					      [WORLD_NOTICES_LATE] = "late"};
	static const char *const switches[] = {"off", "on"};
	struct codes_setting *setting = &options->setting;
	const struct number numbers[] = {{"--servers", 3, CODES_SERVERS, &setting->servers},
					 {"--moves", 0, CODES_MOVES_MAX, &setting->moves},
					 {"--arrays", 0, CODES_ARRAYS_MAX, &setting->arrays},
					 {"--leaders", 0, 1, &setting->leaders},
					 {"--window", 1, CODES_WINDOW_MAX, &options->window}};
	const struct toggle toggles[] = {
	    {"--renewed", &setting->renewed}, {"--timely", &setting->timely},   {"--rooted", &setting->rooted},
	    {"--death", &setting->death},     {"--silence", &setting->silence}, {"--forgetting", &setting->forgetting},
	    {"--clocks", &options->clocks},   {"--behind", &setting->behind},   {"--search", &options->is_search}};
	int on = word_of(value, switches, 2), told = word_of(value, notices, 4),
	    rule = word_of(value, rules, CODES_RULES);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int number = number_of(value, numbers[i].min, numbers[i].max);

		if (!strcmp(option, numbers[i].option) && number >= 0) {
			*numbers[i].to = (unsigned)number;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(toggles) / sizeof(*toggles); i++)
		if (!strcmp(option, toggles[i].option) && on >= 0) {
			*toggles[i].to = on;
			return true;
		}
	if (!strcmp(option, "--notices") && told >= 0)
		setting->notices = (enum world_notices)told;
	else if (!strcmp(option, "--without") && rule >= 0)
		setting->without |= 1U << rule;
	else
		return false;
	return true;
}

static bool parse(int argc, char **argv, struct options *options)
{
	*options = (struct options){
	    .setting = {.notices = WORLD_NOTICES_AT_ONCE, .servers = 3, .moves = 2, .arrays = 2, .behind = true},
	    .window = 2};
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!set(options, argv[i], value)) {
			fprintf(stderr,
				"explore_codes: '%s %s'; allowed: --servers 3..%d, --moves 0..%d, --arrays 0..%d, "
				"--leaders 0..1, --window 1..%d, --notices off|lossy|at-once|late, --renewed on|off, "
				"--timely on|off, --rooted on|off, --death on|off, --silence on|off, --forgetting "
				"on|off, --clocks "
				"on|off, --behind on|off, --search on|off, --without",
				argv[i], value, CODES_SERVERS, CODES_MOVES_MAX, CODES_ARRAYS_MAX, CODES_WINDOW_MAX);
			for (int rule = 0; rule < CODES_RULES; rule++)
				fprintf(stderr, "%c%s", rule ? '|' : ' ', rules[rule]);
			fprintf(stderr, "\n");
			return false;
		}
	}
	options->setting.window = (uint8_t)options->window;
	return true;
}

/* With right clocks; and then with one that is a tick off, a mux's or a server's. */
static bool explore_all(struct options *options, struct tally *tally)
{
	struct codes_setting *setting = &options->setting;
	bool done;

	tally->is_search = options->is_search;
	done = explore(&model_codes, setting, tally);
	for (unsigned i = 0; done && options->clocks && i < 2 * (2 + setting->servers); i++) {
		int *ticks = i / 2 < 2 ? &setting->mux_ticks[i / 2] : &setting->server_ticks[i / 2 - 2];

		*ticks = i % 2 ? 1 : -1;
		done = explore(&model_codes, setting, tally);
		*ticks = 0;
	}
	return done;
}

static void print(const struct tally *tally)
{
	static const char *const names[CODES_LIMITS] = {[CODES_LIMIT_NONE] = "none",
							[CODES_LIMIT_WINDOW] = "window",
							[CODES_LIMIT_SILENT] = "silent",
							[CODES_LIMIT_NOTICE] = "notice",
							[CODES_LIMIT_FORGOTTEN] = "forgotten"};
	uint64_t broken = 0;

	for (int limit = 0; limit < CODES_LIMITS; limit++)
		broken += tally->broken[limit];
	printf("%" PRIu64 " states, %" PRIu64 " packets of the connection: %" PRIu64 " delivered, %" PRIu64
	       " dropped and sent again, %" PRIu64 " broken\n",
	       tally->states, tally->delivered + tally->dropped + broken, tally->delivered, tally->dropped, broken);
	for (int limit = 0; limit < CODES_LIMITS; limit++)
		if (tally->broken[limit])
			printf("\n%s: %" PRIu64 " broken; the shortest sequence:\n%s", names[limit],
			       tally->broken[limit], tally->shortest[limit]);
}

int main(int argc, char **argv)
{
	struct tally tally = {0};
	struct options options;
	int status = 2;

	if (!parse(argc, argv, &options))
		return 2;
	if (!explore_all(&options, &tally)) {
		fprintf(stderr, "explore_codes: no memory after %" PRIu64 " states\n", tally.states);
	} else {
		print(&tally);
		status = tally.broken[CODES_LIMIT_NONE] ? 1 : 0;
	}
	tally_free(&tally);
	return status;
}
