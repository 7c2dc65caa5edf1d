/* SPDX-License-Identifier: Apache-2.0 */
/* A report, as JSON (protocol/README.md, 11). */
#ifndef FAIRLEAD_AGENT_REPORT_H
#define FAIRLEAD_AGENT_REPORT_H

#include "census.h"

enum report_limits {
	REPORT_BYTES_MAX = 16 << 20,
	REPORT_ADDRESSES_MAX = 2,
};

struct report {
	char boot[33];
	fl_u64 sequence;
	bool has_events;                                   /* mode */
	struct fl_address addresses[REPORT_ADDRESSES_MAX]; /* none is left out */
	fl_u64 lost_events;
	unsigned signals;      /* a bit for each that is known, by its number */
	const char *form;      /* that serves here; NULL: not known */
	const char *interface; /* NULL with the module */
	int is_attached;       /* negative: not known */
};

struct load_figures;

/* What the next report says of the load of a service with two buckets. */
void report_load(struct tally *tally, const struct load_figures *figures);

/*
 * The report's text, with the parts that parts_draw() drew up, freed by free(); NULL: no memory. Services that are not known are left out, and so are answers
 * without events by a dump that began before the question. Answers beyond the greatest size are left out, and come
 * with the next sequence numbers.
 */
char *report_write(const struct report *report, struct census *census);

/* The report was answered: `opened` and `closed` count from 0. */
void report_answered(struct census *census);

#endif
