/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the arrays that a service's latest generation has from what the mux holds and what it reads: those of
 * latest_arrays and the ones before. One step reads one node: whole arrays, or a patch of arrays that are held already.
 * A mux that is behind skips arrays in between where patches do not lead through them.
 *
 *	arrays_sync_set()	a list was read
 *	arrays_sync_next()	which node is needed next; false: all are there
 *	arrays_sync_take()	its bytes; large ones are checked in a thread of their own
 *
 * Arrays that were written ahead of the generation that will name them are read beside this, while deltas are applied:
 * arrays_sync_next_ahead(). That generation then brings a patch that changes nothing, and no delta waits.
 *
 * Nothing is published here: ring_sync.h publishes complete arrays together with the ring's generation.
 */
#ifndef FAIRLEAD_MUX_ARRAYS_SYNC_H
#define FAIRLEAD_MUX_ARRAYS_SYNC_H

#include "config/service_config.h"
#include "control/service/arrays_list.h"

struct arrays_job;

enum arrays_sync_numbers {
	ARRAYS_REFUSALS_MAX = 24, /* more than there are words */
	ARRAYS_JOB_BYTES =
	    256 * 1024,          /* fewer are checked at once: in 3 ms at most, less than it takes to ask a thread */
	ARRAYS_JOB_POLL_MS = 10, /* while any are checked in a thread */
};

/* How often arrays were not taken, by the word for it; up to the first entry without a word. */
struct arrays_refusals {
	struct {
		const char *word;
		uint64_t count;
	} at[ARRAYS_REFUSALS_MAX + 1];
};

/* Arrays step by step; what the last step made may be in between. */
struct arrays_reading {
	void *made;
	uint32_t generation;
	struct arrays_job *job; /* checks what was read; NULL: nothing is checked aside */
};

struct arrays_sync {
	bool is_known; /* whether there are arrays, and which */
	struct arrays_list list;
	struct arrays_set ready; /* of the list's version as far as it is there */
	struct arrays_reading latest, ahead;
	bool ahead_is_asked;  /* a node is requested */
	bool ahead_is_failed; /* it is not asked for again before a list is read */
	uint32_t missed;      /* of the list of which a node was missing, 0: none was */
	bool has_begun;
	uint64_t began_ms;
	uint64_t took_ms; /* the last time that arrays were read, from the first request to the last check */
	struct arrays_refusals refusals;
};

/* What became of a step's node. */
struct arrays_result {
	enum arrays_taken { ARRAYS_UNDER_WAY, ARRAYS_TAKEN, ARRAYS_REFUSED } taken;
	uint32_t generation;
	const char *word; /* the method's for why it is refused; lasts */
	struct reason why;
};

/* The next node to read. */
struct arrays_step {
	uint32_t generation;
	uint32_t base_generation; /* 0: whole arrays */
	void *base;
};

/* Which arrays there are by now. */
void arrays_sync_set(struct arrays_sync *sync, const struct arrays_list *list);
/* Nothing is known any more; keeps counts. */
void arrays_sync_forget(struct arrays_sync *sync);

/* held: what the service publishes. Returns false if sync->ready is complete. */
bool arrays_sync_next(struct arrays_sync *sync, const struct service_config *config, const struct arrays_set *held,
		      struct arrays_step *step);
/* The same of those that were written ahead. */
bool arrays_sync_next_ahead(struct arrays_sync *sync, const struct service_config *config,
			    const struct arrays_set *held, struct arrays_step *step);
/* The newest generation whose arrays are there, those ahead included; 0: none. */
uint32_t arrays_sync_newest(const struct arrays_sync *sync, const struct arrays_set *held);
/* The bytes of a step's node. ARRAYS_UNDER_WAY: they are being checked aside; arrays_sync_poll() has the result. */
struct arrays_result arrays_sync_take(const struct arrays_sync *sync, struct arrays_reading *reading,
				      const struct service_config *config, const struct arrays_step *step,
				      const uint8_t *data, size_t len);
/* ARRAYS_UNDER_WAY: also if nothing is checked aside. */
struct arrays_result arrays_sync_poll(const struct arrays_sync *sync, struct arrays_reading *reading);
/* Whether anything is checked aside. */
bool arrays_sync_is_checking(const struct arrays_sync *sync);
/* The first node is requested, and the last one was taken. */
void arrays_sync_begin(struct arrays_sync *sync, uint64_t now_ms);
void arrays_sync_end(struct arrays_sync *sync, uint64_t now_ms);
/* Counts a refusal; the word must last. */
void arrays_sync_count(struct arrays_sync *sync, const char *word);

#endif
