/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore_choices: which connections of a service with the method `hunt` or `maat` break, over all placements of moves,
 * SYNs and their answers, segments, orders of both buckets, silence, a late mux and notices. Exits 1 if one breaks that
 * no limit of protocol/README.md section 10 covers, 2 if it can't run.
 *
 *	explore_choices [--method hunt|maat|both] [--same on|off] [--cookies on|off] [--hold on|off] [--servers N]
 *	                [--moves N] [--window TICKS] [--notices off|lossy|at-once|late] [--behind on|off] [--rooted on|off]
 *	                [--death on|off] [--forgetting on|off] [--clocks on|off] [--search on|off] [--without RULE]
 */
#include <stdio.h>
#include <string.h>

#include "choices.h"
#include "pair_main.h"

/* What each says: choices.h. */
static const char *const rules[CHOICES_RULES] = {
    [CHOICES_RULE_SECOND] = "second",     [CHOICES_RULE_SAME] = "same",   [CHOICES_RULE_MOVED2] = "moved2",
    [CHOICES_RULE_IN_PLACE] = "in-place", [CHOICES_RULE_ONCE] = "once",   [CHOICES_RULE_ACKS] = "acks",
    [CHOICES_RULE_REPORTS] = "reports",   [CHOICES_RULE_TOLD] = "told",   [CHOICES_RULE_LATE] = "late",
    [CHOICES_RULE_NAMED] = "named",       [CHOICES_RULE_MUXES] = "muxes",
};

static bool set(struct choices_setting *setting, struct pair_options *options, const char *option, const char *value)
{
	static const char *const methods[] = {
	    [CHOICES_HUNT] = "hunt", [CHOICES_MAAT] = "maat", [CHOICES_BOTH] = "both"};
	const struct pair_toggle toggles[] = {
	    {"--same", &setting->same}, {"--cookies", &setting->cookies}, {"--hold", &options->setting.hold}};
	int rule = pair_word(value, rules, CHOICES_RULES), method = pair_word(value, methods, 3);

	if (!strcmp(option, "--method") && method >= 0)
		setting->method = (enum choices_method)method;
	else if (!strcmp(option, "--without") && rule == CHOICES_RULE_NAMED)
		options->setting.unnamed = true;
	else if (!strcmp(option, "--without") && rule >= 0)
		setting->without |= 1U << rule;
	else
		return pair_set_toggle(toggles, 3, option, value) || pair_set(options, option, value);
	return true;
}

static bool parse(int argc, char **argv, struct choices_setting *setting, struct pair_options *options)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!set(setting, options, argv[i], value)) {
			fprintf(stderr,
				"explore_choices: '%s %s'; allowed: --method hunt|maat|both, --same on|off, --cookies "
				"on|off, --hold on|off, " PAIR_USAGE ", --without",
				argv[i], value);
			for (int rule = 0; rule < CHOICES_RULES; rule++)
				fprintf(stderr, "%c%s", rule ? '|' : ' ', rules[rule]);
			fprintf(stderr, "\n");
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const char *const limits[CHOICES_LIMITS] = {[CHOICES_LIMIT_NONE] = "none",
							   [CHOICES_LIMIT_WINDOW] = "window",
							   [CHOICES_LIMIT_FORGOTTEN] = "forgotten",
							   [CHOICES_LIMIT_NOTICE] = "notice",
							   [CHOICES_LIMIT_DEAD] = "dead",
							   [CHOICES_LIMIT_RETURN] = "return",
							   [CHOICES_LIMIT_FOURTH_MOVE] = "fourth-move"};
	struct choices_setting setting = {.method = CHOICES_HUNT};
	struct pair_options options = pair_options();

	if (!parse(argc, argv, &setting, &options))
		return 2;
	return pair_run(&model_choices, &setting, &setting.pair, &options, limits, CHOICES_LIMITS);
}
