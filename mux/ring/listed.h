/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread's side of a ring: from its image (image.h) it stores the rows that packets read (lists.h), which name
 * only those former owners whose windows are open; so packets need no clock. A window ends when the control thread has
 * seen that it is over by ZooKeeper's time (struct lists): late by seconds, never early. In a service with a hold, windows
 * end nothing: its generations say so (protocol/README.md, 5).
 */
#ifndef FAIRLEAD_MUX_LISTED_H
#define FAIRLEAD_MUX_LISTED_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/histories.h"

struct lists;
struct ring;

enum { LISTED_BLOCK = 512 }; /* buckets that are looked at together */

/* What a service says of its packets' lists. */
struct listed_rule {
	uint32_t window; /* seconds */
	uint32_t most;   /* how many former owners a header can name */
};

struct listed {
	struct lists *lists;
	struct listed_rule rule;
	bool is_held;      /* as rows were written last */
	bool is_full;      /* the table of lists was full for some row */
	uint32_t stored;   /* how many rows have changed */
	uint32_t oldest[]; /* for each block: the earliest `since` of an open window */
};

/* NULL: no memory. */
struct listed *listed_new(struct lists *lists, uint32_t buckets, const struct listed_rule *rule);

/* The former owners that a bucket's packets name, in their order, of which a foreign end-point is the last. */
struct listed_former {
	struct history history;
	bool is_cut, has_foreign;
};

struct listed_former listed_former(const struct ring *ring, uint32_t bucket);

/* With the ring; no reader may hold it. */
void listed_free(struct listed *listed, struct ring *ring);

/* Writes a bucket's row from the image. The ring must have the image's backends. */
void listed_store(struct ring *ring, uint32_t bucket);

/* Stores rows without those whose windows are over by now (struct lists). */
void listed_close(struct ring *ring);

/* Writes all rows from the image, after the rule, a hold or addresses have changed. */
void listed_renew(struct ring *ring, const struct listed_rule *rule);

/* After the image has changed: does the same if a hold has begun or ended. */
void listed_follow(struct ring *ring);

#endif
