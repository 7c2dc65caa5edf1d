/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a steering method is: a function from a connection's 64-bit hash to a bucket of its service's ring. A method is a
 * folder here and an entry in steering.c; no other code of the mux names one.
 *
 *	bucket	any thread	the bucket of one hash
 *	choose	worker		the buckets of a burst, or the backends that its flows are known to have
 *	check	control thread	whether this mux can serve a configuration
 *	start	control thread	makes a worker's state; stop frees it
 *	load	control thread	takes a generation's blob
 *	explain	control thread	what the bucket alone does not say about a flow
 *
 * Methods share the ring, deltas, headers and verdicts. The bucket in the low half of the hash is found right behind the
 * hash, and its row prefetched, by eights: at a million buckets a packet then costs 31 ns, and 38 if rows are fetched 32
 * at once. A method that needs no more has no `choose`. The others are called once for a burst, with a mask of their
 * packets; a call for each packet would cost 3 to 6 ns more.
 *
 * A method may have a blob: data of its own beside the ring, read from ZooKeeper along with each generation and loaded
 * right before that generation is published (control/service_sync.h).
 *
 * Two hooks will join these with the first method that needs them: `sent` (worker: after encapsulation) and `tick`
 * (worker: between bursts).
 */
#ifndef FAIRLEAD_MUX_STEERING_H
#define FAIRLEAD_MUX_STEERING_H

#include <fairlead/types.h>

#include "config/reason.h"

struct explanation;
struct options;
struct packet;
struct ring;
struct service;
struct service_config;

struct steering_blob {
	const uint8_t *data;
	size_t len;
};

struct steering {
	const char *name; /* the word in a service's configuration */
	uint32_t (*bucket)(const struct ring *ring, uint64_t hash);

	/*
	 * which: a bit for each packet of the method. All have a service, a ring, a hash and the bucket of its low half;
	 * with PACKET_HASHED they have no key. It sets packet->bucket and prefetches its row, or names a backend by
	 * PACKET_BY_ID. now: Unix seconds. NULL: the low half.
	 */
	void (*choose)(void *state, struct packet *packets, uint32_t which, uint32_t now);

	/* NULL: every configuration, no state, nothing to add. */
	int (*check)(const struct service_config *config, const struct options *options, struct reason *why);
	int (*start)(void **state, unsigned worker, const struct options *options, struct reason *why);
	void (*stop)(void *state);
	void (*explain)(struct explanation *out);

	/*
	 * The name of the blob's node below each generation's, with chunks as a delta's has them; and what takes it:
	 * negative errno and why if the blob is damaged, then the generation is refused. Both NULL: no blob is read.
	 */
	const char *blob;
	int (*load)(struct service *service, uint32_t generation, const struct steering_blob *blob, struct reason *why);
};

enum { STEERINGS_MAX = 16 };

/* All methods, NULL behind the last one. A method's number is its place here. */
extern const struct steering *const steerings[STEERINGS_MAX + 1];

unsigned steering_number(const struct steering *steering);

/* A worker's state of each method, by number; NULL for those that keep none. */
struct steering_states {
	void *state[STEERINGS_MAX];
};

/* On failure nothing is left to be stopped. */
int steering_start(struct steering_states *states, unsigned worker, const struct options *options, struct reason *why);
void steering_stop(struct steering_states *states);

#endif
