// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "flags.h"
#include "refusal.h"
#include "text.h"

enum {
	FLAGS_MAX = 32,
};

/* The place of a word in a list; -1: it is not there. */
static int word_find(const char *list, const char *word)
{
	size_t len = strlen(word);
	int place;

	for (place = 0; *list; place++) {
		size_t end = strcspn(list, ",");

		if (end == len && !memcmp(list, word, len))
			return place;
		list += end + strspn(list + end, ", ");
	}
	return -1;
}

static int take(const struct flag *flag, void *state, const char *text)
{
	void *at = (char *)state + flag->at;
	bool is_right = true;
	char field[40];
	int place;

	switch (flag->kind) {
	case FLAG_ON:
		*(bool *)at = true;
		break;
	case FLAG_TEXT:
		*(const char **)at = text;
		break;
	case FLAG_NUMBER:
		is_right = text_number_parse(text, flag->min, flag->max, at);
		break;
	case FLAG_WORD:
		place = word_find(flag->allowed, text);
		is_right = place >= 0;
		*(unsigned int *)at = (unsigned int)place;
		break;
	case FLAG_READ:
		return flag->read(state, text);
	}
	snprintf(field, sizeof(field), "--%s", flag->name);
	return is_right ? 0 : refusal_print(flag->letter == 'o' ? "-o" : field, text, flag->allowed);
}

int flags_parse(const struct flag *flags, const char *letters, void *state, int argc, char **argv)
{
	struct option options[FLAGS_MAX + 1] = {0};
	const struct flag *flag;
	int letter, i, err = 0;

	for (i = 0; i < FLAGS_MAX && flags[i].name; i++)
		options[i] = (struct option){flags[i].name, flags[i].kind == FLAG_ON ? no_argument : required_argument,
					     NULL, flags[i].letter};
	while (!err && (letter = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (letter == '?')
			return -EINVAL;
		for (flag = flags; flag->name && flag->letter != letter; flag++)
			;
		if (!flag->name || (letters && !strchr(letters, letter)))
			return refusal_print(argv[0], argv[optind - 1], "the flags of --help");
		err = take(flag, state, optarg);
	}
	if (!err && optind < argc)
		err = refusal_print(argv[0], argv[optind], "flags only");
	return err;
}
