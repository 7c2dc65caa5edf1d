/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two forms of the server side, as the command drives them (--form): form_bpf.c, the XDP program of one interface;
 * form_module.c, the kernel module, which serves a whole network namespace. Both show the same document.
 */
#ifndef FAIRLEAD_FORM_H
#define FAIRLEAD_FORM_H

#include <jansson.h>

#include "load_form.h"

struct arguments;
struct config;

/* Each function returns 0, or prints a sentence and returns a negative errno; then nothing has changed. */
struct form {
	const char *word;

	/* Whether the form takes these flags, and this configuration. */
	int (*check_arguments)(const struct arguments *arguments);
	int (*check_config)(const struct config *config);

	int (*attach)(const struct arguments *arguments, struct config *config);
	int (*detach)(const struct arguments *arguments);
	int (*show)(const struct arguments *arguments, json_t **document); /* which the caller prints */
	/* The generation of arguments->service; *generation is what it was, 0 for none. */
	int (*forget)(const struct arguments *arguments, fl_u32 *generation);
	const struct load_form *load;
};

extern const struct form form_bpf, form_module;

/* Sets the module's server of this network namespace up, or changes it. */
struct genetlink;
int form_module_set(struct genetlink *link, const struct config *config);

#endif
