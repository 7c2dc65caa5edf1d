/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request at a time, over connections that are kept; nothing waits but exchange_poll(). */
#ifndef FAIRLEAD_AGENT_EXCHANGE_H
#define FAIRLEAD_AGENT_EXCHANGE_H

#include <stddef.h>

#include "options.h"

enum exchange_state {
	EXCHANGE_RUNNING,
	EXCHANGE_DONE,   /* a status and a body */
	EXCHANGE_FAILED, /* error says why */
};

struct exchange_result {
	enum exchange_state state;
	long status;
	const char *body; /* until the next request */
	size_t len;
	const char *error;
};

struct exchange;

/* The options must outlive it. NULL: no memory. */
struct exchange *exchange_new(const struct options *options);
void exchange_free(struct exchange *exchange);

/*
 * Begins a request to a controller: GET without a body, else POST of JSON, which is compressed if it is long. The body
 * may be freed at once. Returns 0, or prints a sentence and returns a negative errno.
 */
int exchange_begin(struct exchange *exchange, const char *controller, const char *path, const char *body);

struct exchange_result exchange_result(struct exchange *exchange);

/* Waits until a request goes on, fd (-1: none) can be read, or ms are over. */
void exchange_poll(struct exchange *exchange, const int *fds, unsigned count, int ms);

#endif
