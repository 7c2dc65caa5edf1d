/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands have in common that explore models of pair.h. */
#ifndef FAIRLEAD_MODEL_PAIR_MAIN_H
#define FAIRLEAD_MODEL_PAIR_MAIN_H

#include "explorer.h"
#include "pair.h"

#define PAIR_USAGE                                                                                                     \
	"--servers 3..5, --moves 0..4, --window 1..8, --notices off|lossy|at-once|late, --behind on|off, --rooted "    \
	"on|off, --death on|off, --forgetting on|off, --clocks on|off, --search on|off"

struct pair_options {
	struct pair_setting setting;
	unsigned window;
	bool clocks; /* then with one clock that is a tick off, a mux's or a server's */
	bool is_search;
};

/* An option with a number. */
struct pair_number {
	const char *option;
	int min, max;
	unsigned *to;
};

/* An option that is on or off. */
struct pair_toggle {
	const char *option;
	bool *to;
};

/* The index of the word, or -1. */
int pair_word(const char *word, const char *const *words, int count);

/* False: neither of them is this option, with such a value. */
bool pair_set_number(const struct pair_number *numbers, size_t count, const char *option, const char *value);
bool pair_set_toggle(const struct pair_toggle *toggles, size_t count, const char *option, const char *value);

/* What an option is if nothing is said, and one of PAIR_USAGE. */
struct pair_options pair_options(void);
bool pair_set(struct pair_options *options, const char *option, const char *value);

/*
 * Explores a setting, whose pair_setting is named and changes by the options; prints what broke, and by which limit. Returns
 * the exit status: 1 if a connection broke that no limit covers, 2 if there is no memory.
 */
int pair_run(const struct model *model, const void *setting, struct pair_setting *pair,
	     const struct pair_options *options, const char *const *limits, int count);

#endif
