/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a service's synchronisation. Pure: the state follows from the facts, regardless of the event.
 *
 *	                 config or generation unknown
 *	    WAITING  <-----------------------------------------------------------  any answer
 *	       |
 *	       | no ring yet, a ring of another configuration, arrays between the ring's and the newest,
 *	       | a generation that went back, a delta that is missing or refused
 *	       +--------->  FINDING_SNAPSHOT -> READING_SNAPSHOT -> staged ring
 *	       |                                                        |
 *	       | behind                     staged ring behind          | staged ring at latest_gen
 *	       +--------->  READING_DELTA  <----------------------------+----+---->  PUBLISHING
 *	       |            into the staged ring if there is one,            |            |
 *	       |            else into the published one                      | lacks arrays
 *	       | the next delta brings arrays that are not there yet         v            |
 *	       +---------------------------------------------------->  READING_ARRAYS     |
 *	       | at latest_gen                                                            |
 *	       +--------->  CURRENT  <----------------------------------------------------+
 *	       |            a change of latest_gen reads the next delta along with the number
 *	       | servers are told of what has been read
 *	       +--------->  TELLING
 *	       | backoff
 *	       +--------->  HELD
 */
#ifndef FAIRLEAD_MUX_SYNC_STATE_H
#define FAIRLEAD_MUX_SYNC_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum sync_state {
	SYNC_WAITING, /* for a configuration and a generation */
	SYNC_FINDING_SNAPSHOT,
	SYNC_READING_SNAPSHOT,
	SYNC_READING_DELTA,
	SYNC_READING_ARRAYS,
	SYNC_PUBLISHING,
	SYNC_CURRENT,
	SYNC_TELLING, /* servers of a delta that was read, or of the staged ring, before it is applied */
	SYNC_HELD,    /* by the backoff */
};

/* Generations are 0 if there is none or it is unknown. */
struct sync_facts {
	bool has_config;
	bool holds;    /* a backoff is under way */
	bool leads_on; /* the published ring is the configuration's, and the next delta can be applied to it */
	uint32_t latest;
	uint32_t published;
	uint32_t staged;
	uint32_t lacking; /* the first generation that can't be published, since its arrays are not there yet */
};

/* Or is told: an answer is awaited in any case. */
static inline bool sync_state_is_reading(enum sync_state state)
{
	return state == SYNC_FINDING_SNAPSHOT || state == SYNC_READING_SNAPSHOT || state == SYNC_READING_DELTA ||
	       state == SYNC_READING_ARRAYS || state == SYNC_TELLING;
}

/* A state that reads lasts until its answer arrives. */
static inline enum sync_state sync_state_next(enum sync_state state, const struct sync_facts *facts)
{
	if (sync_state_is_reading(state))
		return state;
	if (!facts->has_config || !facts->latest)
		return SYNC_WAITING;
	if (facts->holds)
		return SYNC_HELD;
	if (facts->staged && facts->staged < facts->latest)
		return SYNC_READING_DELTA;
	if (facts->staged)
		return facts->lacking ? SYNC_READING_ARRAYS : SYNC_PUBLISHING;
	if (!facts->leads_on || facts->published > facts->latest)
		return SYNC_FINDING_SNAPSHOT;
	if (facts->published == facts->latest)
		return SYNC_CURRENT;
	return facts->lacking && facts->lacking <= facts->published + 1 ? SYNC_READING_ARRAYS : SYNC_READING_DELTA;
}

#endif
