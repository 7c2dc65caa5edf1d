/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of `fairlead-server agent`; each one's meaning is in agent_help. */
#ifndef FAIRLEAD_AGENT_OPTIONS_H
#define FAIRLEAD_AGENT_OPTIONS_H

#include "readings.h"
#include "report.h"
#include "services.h"

enum {
	OPTIONS_CONTROLLERS_MAX = 16,
	OPTIONS_TOKEN_MAX = 1024,
};

struct options {
	char *controllers[OPTIONS_CONTROLLERS_MAX]; /* without a slash at the end */
	unsigned controller_count;
	bool clear_text; /* the token may go by http to other hosts */
	const char *token_file;
	struct services_mangle mangle; /* has --address */
	const char *ca_file, *client_cert, *client_key;
	bool no_events;
	struct readings_options readings;
};

/* Returns 0, or prints a sentence and returns -EINVAL. */
int options_parse(struct options *options, int argc, char **argv);
void options_free(struct options *options);

/* Reads the token, without a newline at its end. Returns 0, or prints a sentence and returns -EINVAL. */
int options_read_token(const char *path, char token[OPTIONS_TOKEN_MAX]);

#endif
