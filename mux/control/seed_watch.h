/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed by which muxes deal out fragments (protocol/README.md, 8): drawn at random by a controller, so that a sender
 * can't aim all its fragments at one mux. Zero while the tree has none.
 *
 * Muxes that disagree about the seed lose fragments. While ZooKeeper can't be reached, the seed stays as it is; a mux that
 * starts meanwhile begins with the one that it used before.
 */
#ifndef MUX_SEED_WATCH_H
#define MUX_SEED_WATCH_H

#include "control/zookeeper.h"
#include "service/tables.h"

enum seed_watch_numbers { SEED_WATCH_RETRY_MS = 1000 };

struct seed_watch;

/* root: of the tree that has the seed. NULL: no memory. */
struct seed_watch *seed_watch_new(struct zk_client *zk, const char *root, struct tables *tables);
/* No request may be under way: after zk_close(). NULL is allowed. */
void seed_watch_free(struct seed_watch *watch);

/* There is a session, perhaps a new one. */
void seed_watch_connected(struct seed_watch *watch);
/* A watch on path fired; other paths than the node's are ignored. */
void seed_watch_watched(struct seed_watch *watch, const char *path);

uint64_t seed_watch_deadline(const struct seed_watch *watch);
void seed_watch_run(struct seed_watch *watch, uint64_t now_ms);
/* Uses what was read, if it has changed: call it while the tree is this cluster's. */
void seed_watch_apply(struct seed_watch *watch);

/* Uses the seed that was used before this process started, until ZooKeeper's is read. */
void seed_watch_restore(struct seed_watch *watch, const struct fl_siphash_key *seed);
/* By which the tables deal fragments out. */
struct fl_siphash_key seed_watch_used(const struct seed_watch *watch);

#endif
