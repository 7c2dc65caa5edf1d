/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method maps a connection's 64-bit hash to a bucket of its service's ring. Each method is a folder here and
 * a line in methods.h; no other code of the mux names one.
 *
 *	bucket	any thread	the bucket of one hash
 *	choose	worker		buckets for a burst's packets, or backends that their flows are known to have
 *	check	control thread	whether this mux can serve a configuration
 *	start	control thread	makes a worker's state; stop frees it
 *	load	control thread	takes a generation's blob
 *	explain	control thread	adds to an explanation what a flow's bucket does not show
 *
 * Methods share the ring, deltas, headers and verdicts. Right after hashing, in groups of eight, the packet path takes
 * the bucket of the hash's low half and prefetches its row: at a million buckets a packet then costs 31 ns, and 38 if
 * rows are fetched 32 at once. A method that needs no more has no `choose`. `choose` is called once for a burst, with a
 * mask of the method's packets; a call for each packet would cost 3 to 6 ns more.
 *
 * A method may have a blob: its own data in addition to the ring, read from ZooKeeper with each generation and loaded
 * just before that generation is published (control/service_sync.h).
 *
 * Two hooks will be added with the first method that needs them: `sent` (worker: after encapsulation) and `tick`
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
	 * which: a bit for each packet of the method. All have a service, a ring, a hash and the bucket of its low
	 * half; packets with PACKET_HASHED have no key. Sets packet->bucket and prefetches its row, or names a backend
	 * with PACKET_BY_ID. now: Unix seconds. NULL: the low half's bucket is used.
	 */
	void (*choose)(void *state, struct packet *packets, uint32_t which, uint32_t now);

	/* NULL: any configuration, no state, nothing to explain. */
	int (*check)(const struct service_config *config, const struct options *options, struct reason *why);
	int (*start)(void **state, unsigned worker, const struct options *options, struct reason *why);
	void (*stop)(void *state);
	void (*explain)(struct explanation *out);

	/*
	 * blob: the name of the blob's node below each generation's node, chunked like a delta. load takes it and
	 * returns a negative errno and why if it is damaged; the generation is then refused. Both NULL: no blob is
	 * read.
	 */
	const char *blob;
	int (*load)(struct service *service, uint32_t generation, const struct steering_blob *blob, struct reason *why);
};

enum { STEERINGS_MAX = 16 };

/* All methods, NULL-terminated. A method's number is its index here. */
extern const struct steering *const steerings[STEERINGS_MAX + 1];

unsigned steering_number(const struct steering *steering);

/* A worker's state of each method, by number; NULL for methods without state. */
struct steering_states {
	void *state[STEERINGS_MAX];
};

/* On failure there is nothing to stop. */
int steering_start(struct steering_states *states, unsigned worker, const struct options *options, struct reason *why);
void steering_stop(struct steering_states *states);

#endif
