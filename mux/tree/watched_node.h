/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node in ZooKeeper that is followed: its data, or the list of its children. It is read when that is requested and when
 * a watch on it fires, and again WATCHED_NODE_RETRY_MS after a failure. A node that is missing is waited for.
 *
 * A change while it is read causes one more reading. Data that has changed since is not handed over; a list is.
 */
#ifndef FAIRLEAD_MUX_WATCHED_NODE_H
#define FAIRLEAD_MUX_WATCHED_NODE_H

#include "tree/tree.h"

enum watched_node_numbers { WATCHED_NODE_RETRY_MS = 1000 };

struct watched_node {
	struct tree *tree;
	char *path;
	bool is_list; /* of children */
	tree_fn fn;   /* gets each answer, failures too */
	void *context;
	bool is_held;    /* the tree may be another cluster's: nothing is read; fn gets what was requested before */
	bool is_reading; /* or waits to know whether it is missing */
	bool again;      /* requested meanwhile */
	uint64_t retry_at;
};

/* Whether ZooKeeper lets this process read its tree. Reads go on without access, since it may be granted later. */
struct tree_access {
	bool has_login; /* --zookeeper-auth */
	bool is_denied; /* as last logged */
};

/* A read of path has ended so; logs each change, and how many services are served meanwhile. */
void tree_access_note(struct tree_access *access, const char *path, enum tree_result result, unsigned services);

/* Reads nothing yet. path: of malloc, which the node takes. */
void watched_node_begin(struct watched_node *node, struct tree *tree, char *path, tree_fn fn, void *context);

void watched_node_read(struct watched_node *node);
/* What was read can't be used: it is read again later. */
void watched_node_retry(struct watched_node *node);
void watched_node_hold(struct watched_node *node);
/* Ends a hold, and reads. */
void watched_node_release(struct watched_node *node);
/* A watch on path fired; other paths than the node's are ignored. */
void watched_node_fired(struct watched_node *node, const char *path);
/* At retry_at or later. */
void watched_node_run(struct watched_node *node, uint64_t now_ms);

#endif
