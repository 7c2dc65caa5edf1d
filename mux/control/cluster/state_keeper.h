/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what the mux serves on disk, and restores it if ZooKeeper can't be reached at the start (state_file.h has the
 * files). A file is written after each change, but
 *
 *	one at a time; after a write that took t, none begins for STATE_KEEPER_REST x t
 *	a service's again after STATE_KEEPER_SERVICE_MS at the earliest
 *	none for STATE_KEEPER_RETRY_MS after one failed
 *
 * So writing takes at most a quarter of a core and of the disk's time, at any number and size of services, and the
 * state on disk is some seconds old. The control thread only copies the ring (64 MB for the largest, some 20 ms); arrays
 * are shared, and written only if they are not on disk: struct arrays_set says where they are.
 *
 * A service's files are removed once the list of services, as read, lacks it. Nothing here can keep the mux from serving:
 * each failure is a log line and a count.
 */
#ifndef FAIRLEAD_MUX_STATE_KEEPER_H
#define FAIRLEAD_MUX_STATE_KEEPER_H

#include <jansson.h>

#include "config/service_config.h"
#include "control/service/service_sync.h"
#include "control/cluster/settled.h"
#include "state/state_file.h"
#include "steering/arrays_set.h"

enum state_keeper_numbers {
	STATE_KEEPER_SERVICE_MS = 5000,
	STATE_KEEPER_RETRY_MS = 30000,
	STATE_KEEPER_REST = 3,
	STATE_KEEPER_POLL_MS = 20, /* while a file is written */
	STATE_KEEPER_FLUSH_MS = 5000,
};

/* What there is to keep. */
struct state_view {
	const char *cluster; /* "": not known yet, nothing is kept */
	bool is_listed;      /* services are exactly those of the list that was read */
	struct service_sync *const *syncs;
	unsigned count;
	const struct fl_address *muxes;
	uint32_t muxes_count;
	struct fl_siphash_key seed; /* by which they deal fragments out */
	const struct settled *settled;
};

/* Where a state is restored to. */
struct state_target {
	void *context;
	/* Once, first; muxes may be empty. */
	void (*cluster)(void *context, const char *name, const struct fl_address *muxes, uint32_t count,
			const struct fl_siphash_key *seed, const struct settled *settled);
	/* Serves it. Negative errno and why. */
	int (*service)(void *context, const struct service_config *config, struct delta *image,
		       const struct arrays_set *arrays, struct reason *why);
};

struct state_keeper {
	char *path;
	struct state_folder *folder; /* the saver's once there is one */
	struct state_saver *saver;   /* NULL: the folder can't be used */
	int open_error;              /* as last logged */
	uint64_t open_at;
	uint64_t rest_until; /* no writing before */
	uint64_t scan_at;
	uint64_t poll_at; /* whether the write has ended */
	bool is_writing;
	int write_error;                          /* of the last write, as last logged */
	json_t *names;                            /* NAME.service of each service with files in the folder */
	bool is_cluster_read;                     /* the cluster's file, even if it was refused */
	char cluster[STATE_FILE_CLUSTER_MAX + 1]; /* what the cluster's file says, "": unknown */
	struct fl_address *muxes;
	uint32_t muxes_count;
	struct fl_siphash_key seed;
	struct settled given, settled; /* given to be written; on disk */
	unsigned next;                 /* the service to look at first */
	uint64_t written, failed, refused[STATE_ERRORS];
};

/* path: the folder. */
struct state_keeper *state_keeper_new(const char *path);
/* Waits for the file that is being written. NULL is allowed. */
void state_keeper_free(struct state_keeper *keeper);

/* Restores the cluster's file alone; once, whether it is refused or not. False: it is refused, or not there yet. */
bool state_keeper_restore_cluster(struct state_keeper *keeper, const struct state_target *target);

/*
 * Restores what it can, the cluster's file first unless that was done; files that it can't are refused by name. Returns
 * how many services, or -EAGAIN: the folder can't be used.
 */
int state_keeper_restore(struct state_keeper *keeper, const struct state_target *target);

/* Writes what has changed; does not wait for the disk. */
void state_keeper_run(struct state_keeper *keeper, const struct state_view *view, uint64_t now_ms);
/* Before the mux ends: writes what is not on disk yet, and waits for it, until a write fails or STATE_KEEPER_FLUSH_MS. */
void state_keeper_flush(struct state_keeper *keeper, const struct state_view *view);
/* When state_keeper_run() is due again; UINT64_MAX: within a second or so. */
uint64_t state_keeper_deadline(const struct state_keeper *keeper);

#endif
