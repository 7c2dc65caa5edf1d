/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service, from its nodes in ZooKeeper to its ring in the tables.
 *
 *	watch config, latest_gen
 *	no ring, a gap, another ring, or a refusal:  newest snapshot, then delta after delta into an image aside;
 *						     when that has reached latest_gen it is swapped in
 *	a ring one or more generations behind:	     delta after delta into the ring that serves
 *	anything wrong:				     counted and logged, the ring that serves goes on serving; once
 *						     more at once from the snapshot, then after waits that double up
 *						     to SERVICE_SYNC_RETRY_MAX_MS
 *
 * A service without config is deleted, whatever else of it is still there: it ends at once, and begins again should a
 * config come. That it is gone counts only if the list of services still tells of it: a tree that is gone as a whole
 * deletes nothing (cluster_sync.h).
 *
 * If an image can't be completed, but is newer than the ring that serves (or there is none), it serves up to there.
 * The VIPs are announced while a ring is loaded in which some backend owns a bucket.
 */
#ifndef MUX_SERVICE_SYNC_H
#define MUX_SERVICE_SYNC_H

#include "control/refusal.h"
#include "control/published_service.h"
#include "control/zookeeper.h"

enum service_sync_limits {
	SERVICE_SYNC_RETRY_MIN_MS = 500,
	SERVICE_SYNC_RETRY_MAX_MS = 8000,
};

enum service_state {
	SERVICE_LOADING, /* no ring yet */
	SERVICE_SERVING,
	SERVICE_STALE, /* published, but what came since was refused */
};

static inline const char *service_state_name(enum service_state state)
{
	return state == SERVICE_LOADING ? "loading" : state == SERVICE_SERVING ? "serving" : "stale";
}

/* What all feeds of a mux share. */
struct service_sync_context {
	struct zk_client *zk;
	struct published_place place;
	const char *root;
	void *owner;
	void (*changed)(void *owner);  /* a generation or a state */
	void (*vanished)(void *owner); /* a node is gone: is the service still listed? */
};

struct service_sync;

/* A feed that reads nothing yet; context outlives it. */
struct service_sync *service_sync_new(const struct service_sync_context *context, const char *name);
/* The service is gone, or the mux ends: withdraws its VIPs, then takes it out of the tables. Frees the feed once its
 * last request is answered. */
void service_sync_end(struct service_sync *sync);

/* Reads configuration and latest generation and watches them; what it waited with is tried at once. */
void service_sync_refresh(struct service_sync *sync);
/* A watch fired; tail: the node's path below that of the service. */
void service_sync_changed(struct service_sync *sync, const char *tail);
/* After service_sync_context.vanished: it is still listed, so what is missing is missing. */
void service_sync_confirm(struct service_sync *sync);
/* What it serves; not to be removed. */
struct published_service *service_sync_published(struct service_sync *sync);
const struct published_service *service_sync_view_published(const struct service_sync *sync);
/* When service_sync_refresh() is due by itself, UINT64_MAX: not. */
uint64_t service_sync_deadline(const struct service_sync *sync);

/* Whether the service is deleted, and only its name still listed. */
bool service_sync_is_deleted(const struct service_sync *sync);
const char *service_sync_name(const struct service_sync *sync);
enum service_state service_sync_state(const struct service_sync *sync);
/* Of the ring that serves, 0 if none does. */
uint32_t service_sync_generation(const struct service_sync *sync);
uint64_t service_sync_refused(const struct service_sync *sync, unsigned reason);

#endif
