/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread's side of a ring whose packets name former owners (version 2): from its image (image.h) it stores
 * the rows that packets read (lists.h), which name only those whose windows are open; so packets need no clock. A window
 * ends when the control thread has seen that it is over: up to a second late, never early.
 */
#ifndef FAIRLEAD_MUX_LISTED_H
#define FAIRLEAD_MUX_LISTED_H

#include <stdbool.h>
#include <stdint.h>

#include <fairlead/ring.h>

struct lists;
struct ring;

enum { LISTED_BLOCK = 512 }; /* buckets that are looked at together */

struct listed {
	struct lists *lists;
	uint32_t seconds;  /* the window; FL_ROW_HELD: no entry ends by time */
	bool is_cut;       /* the table of lists was full for some row */
	uint32_t oldest[]; /* for each block: the earliest `since` of an open window */
};

/* NULL: no memory. */
struct listed *listed_new(struct lists *lists, uint32_t buckets, uint32_t seconds);

/* With the ring; no reader may hold it. */
void listed_free(struct listed *listed, struct ring *ring);

/* Writes a bucket's row from the image. The ring must have the image's backends. */
void listed_store(struct ring *ring, uint32_t bucket);

/* Stores rows without those whose windows are over by now (struct lists). */
void listed_close(struct ring *ring);

/* Writes all rows from the image, after the seconds or the addresses have changed. */
void listed_renew(struct ring *ring, uint32_t seconds);

#endif
