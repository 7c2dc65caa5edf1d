/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method maps a connection's 64-bit hash to a bucket of its service's ring. Each method is a folder here and
 * a line in methods.h; no other code of the mux names one.
 *
 *	bucket	any thread	the bucket of one hash
 *	check	control thread	whether this mux can serve a configuration
 *	serve	control thread	makes a service's data (service.h: steering_data)
 *	tick	control thread	every STEERING_TICK_MS
 *	drop	control thread	frees data that a service had
 *	explain	control thread	adds to an explanation what a flow's bucket does not show
 *
 * Methods share the ring, deltas, headers and verdicts. What a method does for each packet are inline functions of its
 * folder (methods/inline.h), in the general path and for eight packets side by side. Calls would be felt even for groups
 * of eight.
 *
 * A method may give a packet a second bucket: servers look there for a connection that the first one's owner does not
 * know (protocol/README.md, 3).
 *
 * A method may have arrays: data of its own that some generations bring along, read from ZooKeeper and published together
 * with the first such generation (struct steering_arrays; control/service/arrays_sync.h).
 *
 * A method may have data of its own for each service, without arrays: `serve` makes it, workers write what they count
 * there, and `tick` adds up.
 */
#ifndef FAIRLEAD_MUX_STEERING_H
#define FAIRLEAD_MUX_STEERING_H

#include <fairlead/types.h>

#include "config/reason.h"
#include "ring/body_write.h"
#include "steering/methods.h"

struct explanation;
struct flow;
struct options;
struct packet;
struct ring;
struct service;
struct service_config;

/* What the reader of arrays expects. */
struct steering_arrays_expected {
	const char *service; /* its name, for messages */
	uint32_t id;
	uint32_t generation;
	uint32_t base; /* 0: whole arrays, else the generation of the arrays that these change */
	uint32_t buckets;
	uint8_t hash; /* enum fl_hash_kind */
};

enum { STEERING_ARRAYS_BYTES_MAX = 1 << 30 }; /* as stored; the method checks what they hold */

/*
 * The arrays of a method (protocol/README.md, 12): values that never change and that several threads may hold, each
 * with a reference of its own. All functions but pair: any thread.
 */
struct steering_arrays {
	/* Checks all of it. 0 and a new reference, or why not and a word of names. base NULL: whole arrays. */
	unsigned (*parse)(const struct steering_arrays_expected *expected, const void *base, const uint8_t *data,
			  size_t len, void **out, struct reason *why);
	const char *(*name)(unsigned error);
	void *(*keep)(void *arrays);
	void (*free)(void *arrays);
	/* Bytes of both, and of a pair of them; previous NULL: as for pair. */
	uint64_t (*memory)(const void *newest, const void *previous);
	/* Writes them as whole arrays that parse() reads; 0 or what the sink returned. */
	int (*write)(const void *arrays, uint32_t service, body_sink sink, void *context);
	/*
	 * Control thread: what a service publishes (service.h: steering_data) of two references, which it takes over.
	 * previous NULL: none, or if low_bits the hash's low bits. NULL: no memory, the caller keeps both.
	 */
	void *(*pair)(void *newest, void *previous, bool low_bits);
};

struct steering {
	const char *name; /* the word in a service's configuration */
	bool has_second;  /* packets may have a second bucket: room is left for its owner */
	uint32_t (*bucket)(const struct service *service, const struct ring *ring, uint64_t hash);

	/* NULL: any configuration, nothing to explain. */
	int (*check)(const struct service_config *config, struct reason *why);
	void (*explain)(const struct service *service, const struct flow *flow, struct explanation *out);

	const struct steering_arrays *arrays; /* NULL: none are read */

	/*
	 * The data of a service under this configuration. old: what it has before the configuration changes, NULL: it is
	 * added; parts may be shared, and old is dropped later. NULL: no memory. Not with arrays.
	 */
	void *(*serve)(const struct service_config *config, const struct options *options, void *old);
	void (*tick)(const struct service *service, uint64_t now_ms);

	/* Frees a service's data, which no reader holds. */
	void (*drop)(void *data);
};

enum { STEERINGS_MAX = 16, STEERING_TICK_MS = 10 };

/* Their numbers. */
#define STEERING_NUMBER(name) STEERING_##name,
enum { STEERING_METHODS(STEERING_NUMBER) };
#undef STEERING_NUMBER

/* All methods, NULL-terminated. A method's number is its index here. */
extern const struct steering *const steerings[STEERINGS_MAX + 1];

unsigned steering_number(const struct steering *steering);

/*
 * Steers a packet whose backend id is unknown by its bucket, if that is allowed. The ring may be newer than the one
 * read before, so everything is read again. False: the bucket has no backend.
 */
bool steering_fall_back(struct packet *packet);

#endif
