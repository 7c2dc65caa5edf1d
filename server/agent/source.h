/* SPDX-License-Identifier: Apache-2.0 */
/* Where readings of how busy the server is come from (--busy). */
#ifndef FAIRLEAD_AGENT_SOURCE_H
#define FAIRLEAD_AGENT_SOURCE_H

#include "services.h"
#include "figures.h"

enum source_kind {
	SOURCE_CONNECTIONS,
	SOURCE_NGINX,
	SOURCE_APACHE,
	SOURCE_PSI,
	SOURCE_ACCEPT_QUEUE,
	SOURCE_COMMAND,
};

struct source_choice {
	enum source_kind kind;
	const char *argument; /* the URL or the path; points into the flag's value */
	const char *text;     /* the flag's value */
};

/* Reads the flag's value. Returns 0, or prints a sentence and returns -EINVAL. */
int source_choose(const char *text, struct source_choice *choice);

struct source;

/* The choice must outlive it. NULL: it cannot be opened, and why. with_programs false: without eBPF. */
struct source *source_open(const struct source_choice *choice, bool with_programs, char why[FIGURES_WHY_MAX]);
void source_close(struct source *source);

/* Why it is not as exact as it could be; NULL: it is. */
const char *source_flaw(const struct source *source);

/* Other services than before. */
void source_serve(struct source *source, const struct services *services);

/*
 * How busy each service is: a number for each of the services. Those that know one number for the whole server give it to
 * all. False: not within the time, or not at all, and why.
 */
bool source_read(struct source *source, const struct services *services, fl_u64 now_ns, int deadline_ms, fl_u32 *busy,
		 char why[FIGURES_WHY_MAX]);

#endif
