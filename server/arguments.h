/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a command. */
#ifndef FAIRLEAD_ARGUMENTS_H
#define FAIRLEAD_ARGUMENTS_H

#include "config.h"
#include "document.h"
#include "program.h"

struct form;

struct arguments {
	/* NULL if not given */
	const char *interface, *address, *port, *peers, *muxes, *servers;
	const char *tag_key, *untagged, *ipip_service, *config, *quiet, *flood_rate, *services;
	bool no_chaining, mangle;
	unsigned long service; /* 0 if not given */
	const struct form *form;
	unsigned int mode;   /* enum program_mode */
	unsigned int format; /* enum document_format */
};

/* Which command's: each has flags of its own. */
enum arguments_of {
	ARGUMENTS_ATTACH,
	ARGUMENTS_DETACH,
	ARGUMENTS_SHOW,
	ARGUMENTS_FORGET,
	ARGUMENTS_KEYS,
};

/* --form's value. Returns 0, or prints a sentence and returns -EINVAL. */
int arguments_form(const char *text, const struct form **form);

/* argv[0] is the command's name. Returns 0, or prints a sentence and returns -EINVAL. */
int arguments_parse(struct arguments *arguments, int argc, char **argv, enum arguments_of of);

/* Defaults, then the file, then the flags; returns 0, or prints a sentence and returns -EINVAL. */
int arguments_config(const struct arguments *arguments, struct config *config);

#endif
