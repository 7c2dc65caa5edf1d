/* SPDX-License-Identifier: Apache-2.0 */
/* The command line behind the command's name. */
#ifndef FAIRLEAD_ARGUMENTS_H
#define FAIRLEAD_ARGUMENTS_H

#include "config.h"
#include "document.h"
#include "program.h"

struct arguments {
	const char *interface;
	const char *address, *port, *window, *peers, *tag_key, *ipip_service, *config,
	    *clock_error; /* NULL if not given */
	bool no_chaining, mangle;
	bool is_module; /* the kernel module's form */
	enum program_mode mode;
	enum document_format format;
};

/* argv[0] is the command's name. Returns 0, or prints a sentence and returns -EINVAL. */
int arguments_parse(struct arguments *arguments, int argc, char **argv, bool attach, bool show);

/* Defaults, then the file, then the flags; returns 0, or prints a sentence and returns -EINVAL. */
int arguments_config(const struct arguments *arguments, struct config *config);

#endif
