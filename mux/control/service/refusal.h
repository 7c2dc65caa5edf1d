/* SPDX-License-Identifier: Apache-2.0 */
/* Something in ZooKeeper that a mux or probe (`program`) refuses: logged when it starts, changes and ends. */
#ifndef FAIRLEAD_MUX_REFUSAL_H
#define FAIRLEAD_MUX_REFUSAL_H

#include <fairlead/delta.h>

/* The errors of a delta (enum fl_delta_error), and further ones that occur only when reading from ZooKeeper. */
enum refusal_reason {
	REFUSAL_MISSING = FL_DELTA_ERRORS, /* a node that must exist does not */
	REFUSAL_NUMBER,                    /* latest_gen or latest_snapshot is not a generation */
	REFUSAL_CONFIG,                    /* invalid, or in conflict with another service's */
	REFUSAL_UNSUPPORTED,               /* valid, but this mux can't serve it */
	REFUSAL_ARRAYS,                    /* latest_arrays, or what it names, is damaged or missing */
	REFUSAL_VIP,                       /* a VIP would cut this mux off from what it needs, or is a backend */
	REFUSAL_LOADS,                     /* the servers' loads are malformed */
	REFUSAL_SETTLED,                   /* a generation is settled that is not committed */
	REFUSAL_REASONS,
};

/* One for the configuration, one for the ring. All zero: nothing is refused. */
struct refusal {
	bool is_open;
	unsigned reason;
	uint32_t generation;
	char why[320]; /* of the latest one, as printable ASCII */
};

/* Logs the refusal unless the same one is open already; why is a sentence, whose printable form is logged. */
void refusal_open(struct refusal *refusal, const char *program, const char *service, unsigned reason,
		  uint32_t generation, const char *why);
/* Logs that generation is served now. Returns whether the refusal was open. */
bool refusal_close(struct refusal *refusal, const char *program, const char *service, uint32_t generation);

/* A sentence may quote bytes that are no text, and nodes are JSON: these become '?'. */
void refusal_make_printable(char *why);

/* The reason for an error of the tables. */
unsigned refusal_of(int error);

const char *refusal_name(unsigned reason);

#endif
