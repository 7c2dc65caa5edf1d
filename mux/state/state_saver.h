/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes state files: a disk may take long, or hang, and a ring of 8 Mi buckets takes half a second to
 * compress. It has one job at a time, which owns copies of all it needs; the control thread polls for the result.
 *
 * A service's ring is written after arrays that are not on disk yet; then arrays are removed that it does not name
 * (state_arrays.h says why).
 */
#ifndef FAIRLEAD_MUX_STATE_SAVER_H
#define FAIRLEAD_MUX_STATE_SAVER_H

#include "ring/snapshot.h"
#include "state/state_arrays.h"
#include "state/state_file.h"
#include "state/state_folder.h"

/* A file to replace or, if removes, to remove. Memory is malloc'ed; the saver frees it with the job. */
struct state_job {
	char name[STATE_NAME_MAX + 1];
	bool removes;
	bool cleans;    /* there may be arrays of this service on disk: those that its file does not name are removed */
	uint64_t stamp; /* the caller's */
	enum state_kind kind;
	char cluster[STATE_FILE_CLUSTER_MAX + 1];
	uint64_t saved;
	struct state_bytes {
		uint8_t *data;
		size_t len;
	} parts[STATE_FILE_PARTS]; /* of a service the first one, its config; the others are made of what follows: */
	struct delta snapshot;     /* of a service */
	struct arrays_set arrays;  /* with references of its own; where they are on disk is noted here */
};

struct state_result {
	char name[STATE_NAME_MAX + 1];
	bool removed;
	uint64_t stamp;
	uint16_t service;         /* of a service: its id, */
	uint32_t generation;      /* and of its ring */
	int error;                /* 0 or a negative errno: then the file is to be written again */
	struct arrays_set arrays; /* the job's; whoever takes the result clears them */
	uint64_t took_ms;
};

/* Owns the folder. NULL: no memory, or no thread. */
struct state_saver;
struct state_saver *state_saver_new(struct state_folder *folder);
/* Waits for the job under way and closes the folder. */
void state_saver_free(struct state_saver *saver);

void state_job_free(struct state_job *job);

/* Takes ownership of the job; none may be under way, nor its result not taken yet. */
void state_saver_give(struct state_saver *saver, struct state_job *job);
/* Whether a job has ended since the last call. */
bool state_saver_take(struct state_saver *saver, struct state_result *out);

/* Does a job in the calling thread, for tests. 0 or a negative errno. */
int state_job_run(struct state_job *job, const struct state_folder *folder);

#endif
