/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backends that this mux can't send to, as its node tells controllers (protocol/README.md section 4): packets of
 * their buckets are dropped here. A backend is told of once it has been so for UNREACHABLE_AFTER_MS, since the
 * neighbour of a new one takes a moment to answer, and no longer told of at once. A service that could be sent to, and of
 * whose backends none can any more, is cut off: sick_withdrawal.h withdraws it.
 */
#ifndef FAIRLEAD_MUX_UNREACHABLE_H
#define FAIRLEAD_MUX_UNREACHABLE_H

#include <jansson.h>

#include "control/service/service_sync.h"

enum unreachable_numbers {
	UNREACHABLE_LOOK_MS = 1000, /* between two looks */
	UNREACHABLE_AFTER_MS = 3000,
	UNREACHABLE_TOLD = 512, /* addresses at most: ZooKeeper has a limit for a node */
};

struct unreachable_entry {
	struct fl_address address;
	uint64_t since;
	bool is_loop;
	bool is_told;
};

/* By ascending address, each once. All zero: none; entries is to be freed. */
struct unreachable {
	struct unreachable_entry *entries;
	size_t count, room;
	uint64_t look_at;
};

/* Looks at the backends of all services, at most once in UNREACHABLE_LOOK_MS. True: what is told has changed. */
bool unreachable_run(struct unreachable *unreachable, struct service_sync *const *syncs, unsigned count,
		     uint64_t now_ms);

/*
 * Puts `unreachable`, an object of addresses and words, into the node, and `unreachableMore`, the number of those left
 * out; neither if all can be sent to. 0, or no memory.
 */
int unreachable_describe(const struct unreachable *unreachable, json_t *node);

#endif
