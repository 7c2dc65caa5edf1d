/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore: which connections break, over all placements of moves, packets, silence, late muxes, notices, wrong clocks and
 * dead servers. Exits 1 if one breaks that no limit of protocol/README.md section 10 covers, 2 if it can't run.
 *
 *	explore [--moves 1..4] [--notices off|lossy|at-once|late] [--hold off|on] [--drain off|on] [--wait on|off]
 *	        [--json FILE]
 *
 * --drain on: TCP only; a server that lost the bucket may be said to be empty, and is then switched off.
 * --wait off: reports count although a mux may still open connections at earlier owners.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"
#include "limit.h"

enum { MOVES_DEFAULT = 3, FEW_MOVES = 2 };

struct options {
	unsigned moves;
	enum world_notices notices;
	bool hold;
	bool drain;
	bool hasty;
	const char *json; /* NULL: none */
};

static bool notices_of(const char *word, enum world_notices *notices)
{
	static const char *const words[] = {[WORLD_NOTICES_OFF] = "off",
					    [WORLD_NOTICES_LOSSY] = "lossy",
					    [WORLD_NOTICES_AT_ONCE] = "at-once",
					    [WORLD_NOTICES_LATE] = "late"};

	for (int i = 0; i <= WORLD_NOTICES_LATE; i++) {
		*notices = (enum world_notices)i;
		if (!strcmp(word, words[i]))
			return true;
	}
	return false;
}

static bool toggle_of(const char *option, const char *value, struct options *options)
{
	bool is_on = !strcmp(value, "on");

	if (!is_on && strcmp(value, "off"))
		return false;
	if (!strcmp(option, "--hold"))
		options->hold = is_on;
	else if (!strcmp(option, "--drain"))
		options->drain = is_on;
	else if (!strcmp(option, "--wait"))
		options->hasty = !is_on;
	else
		return false;
	return true;
}

static bool parse(int argc, char **argv, struct options *options)
{
	*options = (struct options){.moves = MOVES_DEFAULT, .notices = WORLD_NOTICES_LOSSY};
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--json") && *value) {
			options->json = value;
		} else if (!strcmp(argv[i], "--notices") && notices_of(value, &options->notices)) {
			continue;
		} else if (toggle_of(argv[i], value, options)) {
			continue;
		} else if (!strcmp(argv[i], "--moves") && strlen(value) == 1 && *value >= '1' &&
			   *value <= '0' + WORLD_MOVES_MAX) {
			options->moves = (unsigned)(*value - '0');
		} else {
			fprintf(stderr,
				"explore: '%s %s'; allowed: --moves 1..%d, --notices off|lossy|at-once|late, --hold "
				"off|on, --drain off|on, --wait on|off, --json FILE\n",
				argv[i], value, WORLD_MOVES_MAX);
			return false;
		}
	}
	return true;
}

/* With at most so many moves. */
static bool explore_one(struct world_setting setting, unsigned moves, struct tally *tally)
{
	if (setting.moves > moves)
		setting.moves = moves;
	return explore(&model_world, &setting, tally);
}

/* TCP with all moves; the rest with few, and then one server's clock off at a time, and one server that dies. */
static bool explore_traffic(struct world_setting setting, struct tally *tally)
{
	bool done = explore_one(setting, setting.traffic == WORLD_TCP ? WORLD_MOVES_MAX : FEW_MOVES, tally);

	for (int s = 0; done && s < 2 * WORLD_SERVERS; s++) {
		setting.clock_ticks[s / 2] = s % 2 ? 1 : -1;
		done = explore_one(setting, FEW_MOVES, tally);
		setting.clock_ticks[s / 2] = 0;
	}
	setting.death = true;
	return done && explore_one(setting, FEW_MOVES, tally);
}

/* TCP with a hold, and a late mux that the controller doesn't know. */
static bool explore_absent(struct world_setting setting, struct tally *tally)
{
	bool done = true;

	setting.behind = true;
	for (int i = WORLD_ABSENT; done && setting.hold && i < WORLD_ABSENCES; i++) {
		setting.absence = (enum world_absence)i;
		done = explore_traffic(setting, tally);
	}
	return done;
}

/* TCP with drains, and a late mux in each relation to the controller. */
static bool explore_drains(struct world_setting setting, struct tally *tally)
{
	bool done = true;

	setting.behind = true;
	for (int i = WORLD_PRESENT; done && i < WORLD_ABSENCES; i++) {
		setting.absence = (enum world_absence)i;
		done = explore_one(setting, WORLD_MOVES_MAX, tally);
	}
	return done;
}

/* All kinds of traffic; both muxes current, or one of them late. */
static bool explore_all(const struct options *options, struct tally *tally)
{
	struct world_setting setting = {.notices = options->notices,
					.moves = options->moves,
					.hold = options->hold,
					.hasty = options->hasty,
					.drain = options->drain};

	if (setting.drain)
		return explore_drains(setting, tally);

	for (int i = 0; i < 2 * WORLD_TRAFFICS; i++) {
		setting.traffic = (enum world_traffic)(i / 2);
		setting.behind = i % 2;
		if (!explore_traffic(setting, tally))
			return false;
	}
	setting.traffic = WORLD_TCP;
	return explore_absent(setting, tally);
}

static uint64_t broken(const struct tally *tally)
{
	uint64_t sum = 0;

	for (int limit = 0; limit < LIMITS; limit++)
		sum += tally->broken[limit];
	return sum;
}

static uint64_t cases(const struct tally *tally)
{
	return tally->delivered + tally->dropped + broken(tally);
}

static void print(const struct tally *tally)
{
	printf("%" PRIu64 " states, %" PRIu64 " packets of the connection: %" PRIu64 " delivered, %" PRIu64
	       " dropped and sent again, %" PRIu64 " broken\n",
	       tally->states, cases(tally), tally->delivered, tally->dropped, broken(tally));
	for (int limit = 0; limit < LIMITS; limit++)
		if (tally->broken[limit])
			printf("\n%s: %" PRIu64 " broken; the shortest sequence:\n%s", limit_name(limit),
			       tally->broken[limit], tally->shortest[limit]);
}

static bool write_json(const struct tally *tally, const char *path)
{
	json_t *limits = json_array();
	json_t *all;
	int error;

	for (int limit = 0; limit < LIMITS; limit++)
		if (tally->broken[limit])
			json_array_append_new(limits, json_pack("{s:s, s:I, s:s}", "name", limit_name(limit), "broken",
								(json_int_t)tally->broken[limit], "sequence",
								tally->shortest[limit]));
	all = json_pack("{s:I, s:I, s:o}", "cases", (json_int_t)cases(tally), "broken", (json_int_t)broken(tally),
			"limits", limits);
	error = !all || json_dump_file(all, path, JSON_INDENT(2));
	json_decref(all);
	if (error)
		fprintf(stderr, "explore: cannot write %s: %s\n", path, strerror(errno));
	return !error;
}

int main(int argc, char **argv)
{
	struct tally tally = {0};
	struct options options;
	int status = 2;

	if (!parse(argc, argv, &options))
		return 2;
	if (!explore_all(&options, &tally)) {
		fprintf(stderr, "explore: no memory after %" PRIu64 " states\n", tally.states);
	} else if (!options.json || write_json(&tally, options.json)) {
		print(&tally);
		status = tally.broken[LIMIT_NONE] ? 1 : 0;
	}
	tally_free(&tally);
	return status;
}
