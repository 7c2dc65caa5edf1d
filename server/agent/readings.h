/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings of how busy the server is, on a thread of their own, so that neither waits for the other: reports for a
 * web server that is asked, nor readings for a controller. While a service has two buckets, the thread reads every
 * --busy-interval-ms, or later if readings would take more than a fifth of a processor. With steering hunt it tells the
 * attached form each number, which counts for four intervals, at least 200 ms. So if a source fails or is late, or the
 * agent stops, the server takes everything.
 */
#ifndef FAIRLEAD_AGENT_READINGS_H
#define FAIRLEAD_AGENT_READINGS_H

#include "source.h"

enum readings_numbers {
	READINGS_MS_MIN = 10,
	READINGS_MS_MAX = 1000,
	READINGS_MS = 25,
};

struct readings_options {
	struct source_choice source;
	unsigned long interval_ms;
	const struct form *form; /* NULL: none is told */
	const char *interface;
	bool no_programs;
};

/* What a report says of a service. */
struct load_figures {
	bool has_busy; /* the last reading still counts */
	fl_u32 busy;
	bool has_state; /* the form could be asked */
	struct fl_load_state state;
};

struct readings;

/* Whether a server is attached now: 1 or 0, or a negative errno if that cannot be told. There is a form. */
int readings_is_attached(struct readings *readings);

/* Starts the thread, which begins when it is given services. The options must outlive it. NULL and errno. */
struct readings *readings_start(const struct readings_options *options);
void readings_stop(struct readings *readings);

/* Other services than before. */
void readings_serve(struct readings *readings, struct services *services);

/* What is known of a service with two buckets. */
struct load_figures readings_of(struct readings *readings, const struct service *service, fl_u64 now_ns);

#endif
