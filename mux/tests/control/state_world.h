/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with the mux's state, a service with its keeper, and what a mux that starts later restores. */
#ifndef FAIRLEAD_MUX_TESTS_STATE_WORLD_H
#define FAIRLEAD_MUX_TESTS_STATE_WORLD_H

#include "control/cluster/state_keeper.h"
#include "state/state_saver.h"

enum { WORLD_BUCKETS = 256, WORLD_BACKENDS = 4, WORLD_PATH_LEN = 256 };

struct bytes {
	uint8_t *data;
	size_t len;
};

struct state_world {
	char folder[64];
	struct tree *tree;
	struct service_sync_context context;
	struct service_sync *sync;
	uint64_t now;
	struct fl_siphash_key seed; /* by which muxes deal fragments out */
	struct settled settled;
	FILE *stderr_before;
	char *log; /* what was logged since the beginning */
	size_t log_len;
};

/* What was restored last. */
struct restored {
	char cluster[STATE_FILE_CLUSTER_MAX + 1];
	uint32_t muxes;
	struct fl_siphash_key seed;
	uint32_t settled; /* of "web" */
	unsigned services;
	struct service_config config;
	uint32_t generation;
	uint64_t sum; /* of the ring */
};

extern struct state_world world;
extern struct restored restored;

/* For cmocka: an empty folder and the service "web" without a ring. */
int state_world_set_up(void **state);
int state_world_tear_down(void **state);

/* A body_sink: appends to struct bytes. */
int bytes_append(void *context, const void *data, size_t len);

struct published_service *state_world_published(void);
void state_world_load(uint32_t generation);
struct state_view state_world_view(void);
struct state_keeper *state_world_keeper(void);
/* Runs the keeper at the world's time until no write is under way. */
void state_world_settle(struct state_keeper *keeper);
/* Writes the cluster's file and the service's. */
void state_world_write_out(void);
/* Loads a generation, and writes the cluster's file and the service's. */
void state_world_save(uint32_t generation);
/* What a mux that starts now restores; returns the reason of the last refusal, NULL: none. */
const char *state_world_restore(void);

struct bytes state_world_read(const char *name);
void state_world_write(const char *name, const void *data, size_t len);
/* Sums a file again whose bytes were changed. */
void state_world_mend(struct bytes *file);
void state_world_remove(const char *name);
void state_world_pause(long ms);
/*
 * Kills processes that write one generation after the other, each at a random point: the first writes from the one after
 * `generation` on, the next from the one after what was found. Returns what was found last; a kill loses none.
 */
uint32_t state_world_kill(uint64_t seed, uint32_t generation, void (*write)(uint32_t generation),
			  uint32_t (*find)(void));

#endif
