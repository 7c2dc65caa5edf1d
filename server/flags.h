/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a command line, as a table: what each one sets in its command's own struct. */
#ifndef FAIRLEAD_FLAGS_H
#define FAIRLEAD_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

enum flag_kind {
	FLAG_ON,     /* no text: a bool becomes true */
	FLAG_TEXT,   /* a const char *: the text as it is */
	FLAG_NUMBER, /* an unsigned long */
	FLAG_WORD,   /* an unsigned int: the word's place in `allowed`, where commas separate them */
	FLAG_READ,   /* by a function */
};

/* The last one of a table has no name. */
struct flag {
	const char *name;
	char letter; /* by which a command has it or not; of 'o' also its short form */
	enum flag_kind kind;
	size_t at;
	const char *allowed;
	unsigned long min, max;
	int (*read)(void *state, const char *text); /* 0, or -EINVAL after printing a sentence */
};

/*
 * Sets in *state what the command line says. letters: of the flags that the command has; NULL: all. Returns 0, or prints a
 * sentence and returns -EINVAL.
 */
int flags_parse(const struct flag *flags, const char *letters, void *state, int argc, char **argv);

#endif
