/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed by which muxes deal out fragments (protocol/README.md, 8): drawn at random by a controller, so that a sender
 * can't aim all its fragments at one mux. Zero while the tree has none.
 *
 * Muxes that disagree about the seed lose fragments. While ZooKeeper can't be reached, the seed stays as it is; a mux that
 * starts meanwhile begins with the one that it used before.
 */
#ifndef FAIRLEAD_MUX_SEED_WATCH_H
#define FAIRLEAD_MUX_SEED_WATCH_H

#include "tree/watched_node.h"
#include "service/tables.h"

struct seed_watch {
	struct watched_node node;
	struct tables *tables;
	bool is_read;                /* since the start; the node may be missing */
	struct fl_siphash_key known; /* as it was read; zero: none */
	struct fl_siphash_key used;  /* by which the tables deal fragments out */
	bool is_malformed;           /* as last logged */
};

/* root: of the tree that has the seed. */
struct seed_watch *seed_watch_new(struct tree *tree, const char *root, struct tables *tables);
/* No request may be under way: after tree_close(). NULL is allowed. */
void seed_watch_free(struct seed_watch *watch);

/* Uses what was read, if it has changed: call it while the tree is this cluster's. */
void seed_watch_apply(struct seed_watch *watch);

/* Uses the seed that was used before this process started, until ZooKeeper's is read. */
void seed_watch_restore(struct seed_watch *watch, const struct fl_siphash_key *seed);

#endif
