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
 *						     to FEED_RETRY_MAX_MS
 *
 * A service without config is deleted, whatever else of it is still there: it ends at once, and begins again should a
 * config come. That it is gone counts only if the list of services still tells of it: a tree that is gone as a whole
 * deletes nothing (follow.h).
 *
 * If an image can't be completed, but is newer than the ring that serves (or there is none), it serves up to there.
 * The VIPs are announced while a ring is loaded in which some backend owns a bucket.
 */
#ifndef MUX_FEED_H
#define MUX_FEED_H

#include "control/refusal.h"
#include "control/serving.h"
#include "control/store.h"

enum feed_limits {
	FEED_RETRY_MIN_MS = 500,
	FEED_RETRY_MAX_MS = 8000,
};

enum feed_state {
	FEED_LOADING, /* no ring yet */
	FEED_SERVING,
	FEED_STALE, /* serving, but what came since was refused */
};

static inline const char *feed_state_name(enum feed_state state)
{
	return state == FEED_LOADING ? "loading" : state == FEED_SERVING ? "serving" : "stale";
}

/* What all feeds of a mux share. */
struct feed_context {
	struct store *store;
	struct serving_place place;
	const char *root;
	void *owner;
	void (*changed)(void *owner);  /* a generation or a state */
	void (*vanished)(void *owner); /* a node is gone: is the service still listed? */
};

struct feed;

/* A feed that reads nothing yet; context outlives it. */
struct feed *feed_new(const struct feed_context *context, const char *name);
/* The service is gone, or the mux ends: withdraws its VIPs, then takes it out of the tables. Frees the feed once its
 * last request is answered. */
void feed_end(struct feed *feed);

/* Reads configuration and latest generation and watches them; what it waited with is tried at once. */
void feed_refresh(struct feed *feed);
/* A watch fired; tail: the node's path below that of the service. */
void feed_changed(struct feed *feed, const char *tail);
/* After feed_context.vanished: it is still listed, so what is missing is missing. */
void feed_confirm(struct feed *feed);
/* What it serves; not to be removed. */
struct serving *feed_serving(struct feed *feed);
const struct serving *feed_served(const struct feed *feed);
/* When feed_refresh() is due by itself, UINT64_MAX: not. */
uint64_t feed_deadline(const struct feed *feed);

/* Whether the service is deleted, and only its name still listed. */
bool feed_is_deleted(const struct feed *feed);
const char *feed_name(const struct feed *feed);
enum feed_state feed_state(const struct feed *feed);
/* Of the ring that serves, 0 if none does. */
uint32_t feed_generation(const struct feed *feed);
uint64_t feed_refused(const struct feed *feed, unsigned reason);

#endif
