/* SPDX-License-Identifier: Apache-2.0 */
/* What a mux would not take from ZooKeeper: counted each time, logged when it begins, changes and ends. */
#ifndef MUX_REFUSAL_H
#define MUX_REFUSAL_H

#include <fairlead/delta.h>

/* The errors of a delta (enum fl_delta_error), and what only its follower can meet. */
enum refusal_reason {
	REFUSAL_MISSING = FL_DELTA_ERRORS, /* a node that must be there is not */
	REFUSAL_NUMBER,                    /* latest_gen or latest_snapshot is no generation */
	REFUSAL_CONFIG,                    /* bad, or in conflict with another service's */
	REFUSAL_UNSUPPORTED,               /* sound, but this mux can't serve it */
	REFUSAL_REASONS,
};

/* One a kind of thing that is followed. All zero: nothing is refused. */
struct refusal {
	bool standing;
	unsigned reason;
	uint32_t generation;
};

/* Begins or goes on; why is a sentence. */
void refusal_stand(struct refusal *refusal, const char *service, unsigned reason, uint32_t generation, const char *why);
/* Ends, if it stands: generation is now served. Returns whether it stood. */
bool refusal_end(struct refusal *refusal, const char *service, uint32_t generation);

/* The reason of an error of the tables, for what decodes. */
unsigned refusal_of(int error);

const char *refusal_name(unsigned reason);

#endif
