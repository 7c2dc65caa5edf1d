/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore_codes: which connections of a service with the method `othello` break, over all placements of moves, arrays,
 * reports, packets, silence, a late mux and notices. Exits 1 if one breaks that no limit of protocol/README.md section
 * 10 covers, 2 if it can't run.
 *
 *	explore_codes [--servers N] [--moves N] [--arrays N] [--leaders N] [--window TICKS]
 *	              [--notices off|lossy|at-once|late] [--renewed on|off] [--timely on|off] [--rooted on|off]
 *	              [--death on|off] [--forgetting on|off] [--silence on|off] [--clocks on|off] [--behind on|off] [--search on|off]
 *	              [--absent on|off|lost] [--without RULE]
 */
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "pair_main.h"

/* What each says: codes.h. */
static const char *const rules[CODES_RULES] = {
    [CODES_RULE_SECOND] = "second", [CODES_RULE_WAIT] = "wait",     [CODES_RULE_SETTLE] = "settle",
    [CODES_RULE_NEEDED] = "needed", [CODES_RULE_BEFORE] = "before", [CODES_RULE_AWAIT] = "await",
    [CODES_RULE_LINE] = "line",     [CODES_RULE_MUXES] = "muxes",   [CODES_RULE_CHAINS] = "chains",
    [CODES_RULE_MEMORY] = "memory", [CODES_RULE_ABSENT] = "absent",
};

static bool set(struct codes_setting *setting, struct pair_options *options, const char *option, const char *value)
{
	const struct pair_number numbers[] = {{"--arrays", 0, CODES_ARRAYS_MAX, &setting->arrays},
					      {"--leaders", 0, 1, &setting->leaders}};
	const struct pair_toggle toggles[] = {
	    {"--renewed", &setting->renewed}, {"--timely", &setting->timely}, {"--silence", &setting->silence}};
	static const char *const absences[WORLD_ABSENCES] = {
	    [WORLD_PRESENT] = "off", [WORLD_ABSENT] = "on", [WORLD_LOST] = "lost"};
	int rule = pair_word(value, rules, CODES_RULES), absence = pair_word(value, absences, WORLD_ABSENCES);

	if (!strcmp(option, "--absent") && absence >= 0) {
		setting->absence = (enum world_absence)absence;
		return true;
	}

	if (!strcmp(option, "--without") && rule >= 0) {
		setting->without |= 1U << rule;
		return true;
	}
	return pair_set_number(numbers, 2, option, value) || pair_set_toggle(toggles, 3, option, value) ||
	       pair_set(options, option, value);
}

static bool parse(int argc, char **argv, struct codes_setting *setting, struct pair_options *options)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!set(setting, options, argv[i], value)) {
			fprintf(stderr,
				"explore_codes: '%s %s'; allowed: --arrays 0..%d, --leaders 0..1, --renewed on|off, "
				"--timely on|off, --silence on|off, --absent on|off|lost, " PAIR_USAGE ", --without",
				argv[i], value, CODES_ARRAYS_MAX);
			for (int rule = 0; rule < CODES_RULES; rule++)
				fprintf(stderr, "%c%s", rule ? '|' : ' ', rules[rule]);
			fprintf(stderr, "\n");
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const char *const limits[CODES_LIMITS] = {
	    [CODES_LIMIT_NONE] = "none", [CODES_LIMIT_WINDOW] = "window", [CODES_LIMIT_SILENT] = "silent",
	    [CODES_LIMIT_LOST] = "lost", [CODES_LIMIT_NOTICE] = "notice", [CODES_LIMIT_FORGOTTEN] = "forgotten"};
	struct codes_setting setting = {.arrays = 2};
	struct pair_options options = pair_options();

	if (!parse(argc, argv, &setting, &options))
		return 2;
	return pair_run(&model_codes, &setting, &setting.pair, &options, limits, CODES_LIMITS);
}
