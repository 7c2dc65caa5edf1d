/* SPDX-License-Identifier: Apache-2.0 */
/* The state on disk of a service with arrays (labels.h), and a mux that starts from it. */
#ifndef FAIRLEAD_MUX_TESTS_ARRAYS_WORLD_H
#define FAIRLEAD_MUX_TESTS_ARRAYS_WORLD_H

#include "labels.h"
#include "state_world.h"

enum { ARRAYS_NAMES_MAX = 32 };

/* A mux that starts: its own tables, and the service as it is served from disk. */
struct starting {
	struct published_place place;
	struct published_service published;
	uint64_t content, checksum, refused; /* files refused as such, and in all */
};

/* For cmocka, as state_world's; files of arrays are removed, too. */
int arrays_world_tear_down(void **state);

/* The labels of a version, with references of the caller's. */
struct arrays_set arrays_world_make(const struct arrays_version *version);
/* Serves a generation of the ring with arrays; NULL: without. */
void arrays_world_load(uint32_t generation, const struct arrays_set *arrays);

/* How many services a mux restores that starts now; starting_end() ends it. */
int starting_restore(struct starting *starting);
void starting_end(struct starting *starting);

/* The folder's files in alphabetical order, without the lock. */
struct names {
	unsigned count;
	char name[ARRAYS_NAMES_MAX][STATE_NAME_MAX + 1];
};
struct names arrays_world_names(void);
/* The only file with arrays of that generation. */
void arrays_world_find(uint32_t generation, char name[STATE_NAME_MAX + 1]);

#endif
