/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_main.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

int pair_word(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

bool pair_set_number(const struct pair_number *numbers, size_t count, const char *option, const char *value)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(option, numbers[i].option) && strlen(value) == 1 && *value >= '0' + numbers[i].min &&
		    *value <= '0' + numbers[i].max) {
			*numbers[i].to = (unsigned)(*value - '0');
			return true;
		}
	return false;
}

bool pair_set_toggle(const struct pair_toggle *toggles, size_t count, const char *option, const char *value)
{
	static const char *const switches[] = {"off", "on"};
	int on = pair_word(value, switches, 2);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(option, toggles[i].option) && on >= 0) {
			*toggles[i].to = on;
			return true;
		}
	return false;
}

struct pair_options pair_options(void)
{
	return (struct pair_options){
	    .setting = {.notices = WORLD_NOTICES_AT_ONCE, .servers = 3, .moves = 2, .behind = true}, .window = 2};
}

bool pair_set(struct pair_options *options, const char *option, const char *value)
{
	static const char *const notices[] = {[WORLD_NOTICES_OFF] = "off",
					      [WORLD_NOTICES_LOSSY] = "lossy",
					      [WORLD_NOTICES_AT_ONCE] = "at-once",
					      [WORLD_NOTICES_LATE] = "late"};
	struct pair_setting *setting = &options->setting;
	const struct pair_number numbers[] = {{"--servers", 3, PAIR_SERVERS, &setting->servers},
					      {"--moves", 0, PAIR_MOVES_MAX, &setting->moves},
					      {"--window", 1, PAIR_WINDOW_MAX, &options->window}};
	const struct pair_toggle toggles[] = {{"--rooted", &setting->rooted}, {"--death", &setting->death},
					      {"--behind", &setting->behind}, {"--forgetting", &setting->forgetting},
					      {"--clocks", &options->clocks}, {"--search", &options->is_search}};
	int told = pair_word(value, notices, COUNT(notices));

	if (!strcmp(option, "--notices") && told >= 0) {
		setting->notices = (enum world_notices)told;
		return true;
	}
	return pair_set_number(numbers, COUNT(numbers), option, value) ||
	       pair_set_toggle(toggles, COUNT(toggles), option, value);
}

static bool explore_all(const struct model *model, const void *setting, struct pair_setting *pair,
			const struct pair_options *options, struct tally *tally)
{
	bool done;

	*pair = options->setting;
	pair->window = (uint8_t)options->window;
	tally->is_search = options->is_search;
	done = explore(model, setting, tally);
	for (unsigned i = 0; done && options->clocks && i < 2 * (2 + pair->servers); i++) {
		int *ticks = i / 2 < 2 ? &pair->mux_ticks[i / 2] : &pair->server_ticks[i / 2 - 2];

		*ticks = i % 2 ? 1 : -1;
		done = explore(model, setting, tally);
		*ticks = 0;
	}
	return done;
}

static void print(const struct tally *tally, const char *const *limits, int count)
{
	uint64_t broken = 0;

	for (int limit = 0; limit < count; limit++)
		broken += tally->broken[limit];
	printf("%" PRIu64 " states, %" PRIu64 " packets of the connection: %" PRIu64 " delivered, %" PRIu64
	       " dropped and sent again, %" PRIu64 " broken\n",
	       tally->states, tally->delivered + tally->dropped + broken, tally->delivered, tally->dropped, broken);
	for (int limit = 0; limit < count; limit++)
		if (tally->broken[limit])
			printf("\n%s: %" PRIu64 " broken; the shortest sequence:\n%s", limits[limit],
			       tally->broken[limit], tally->shortest[limit]);
}

int pair_run(const struct model *model, const void *setting, struct pair_setting *pair,
	     const struct pair_options *options, const char *const *limits, int count)
{
	struct tally tally = {0};
	int status = 2;

	if (explore_all(model, setting, pair, options, &tally)) {
		print(&tally, limits, count);
		status = tally.broken[0] ? 1 : 0;
	} else {
		fprintf(stderr, "no memory after %" PRIu64 " states\n", tally.states);
	}
	tally_free(&tally);
	return status;
}
