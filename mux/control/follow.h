/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a mux follows in ZooKeeper: the list of services, a feed (feed.h) for each, and its own node.
 *
 * A service ends when its config is gone or its name leaves the list. If the list itself is not there, nothing ends: a
 * mux serves on rather than believe that an empty ZooKeeper is what somebody wanted. The same while ZooKeeper can't be
 * reached, and while the tree is another cluster's: a controller that finds ZooKeeper empty makes a new cluster without
 * services, and a restored one has the name of the old (protocol/README.md, 4). A mux without services follows any.
 */
#ifndef MUX_FOLLOW_H
#define MUX_FOLLOW_H

#include "control/feed.h"
#include "config/why.h"

enum follow_limits { FOLLOW_RELIST_MS = 1000, FOLLOW_CLUSTER_MAX = 64 };

/* Text outlives the call only where copied: everything here is. */
struct follow_options {
	const char *zookeeper; /* host:port,... */
	const struct login *login;
	const char *root;
	const char *id;
	const struct fl_address *address; /* outer sources; none: it has none of the family */
	const struct fl_address *address6;
	unsigned ports_count;
	const char *const *ports; /* names for people */
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: no announcements */
	struct applied *applied;     /* what is applied is noted there */
	struct lag_limits behind;    /* beyond which a service's VIPs are withdrawn */
};

struct follow;

/* NULL and why: a server's name can't be resolved. Whether one answers is not waited for. */
struct follow *follow_new(const struct follow_options *options, struct why *why);
/* Withdraws all VIPs, ends the session, takes all services out of the tables. */
void follow_free(struct follow *follow);

int follow_fd(const struct follow *follow);
uint64_t follow_deadline(const struct follow *follow);
void follow_run(struct follow *follow, uint64_t now_ms);
/* A device of the announcer was lost. */
void follow_announce(struct follow *follow);

/* Withdraws all VIPs for good; everything is followed and served as before. */
void follow_leave(struct follow *follow);

/* How long the feed's ring has been behind, in milliseconds. */
uint64_t follow_lag_ms(const struct follow *follow, const struct feed *feed);

bool follow_is_connected(const struct follow *follow);
/* Whether ZooKeeper holds another cluster than the one that is served. */
bool follow_is_foreign(const struct follow *follow);
/* Whether the list of services has been read at all. */
bool follow_has_list(const struct follow *follow);
bool follow_is_registered(const struct follow *follow);
/* Feeds of services that are not deleted, in no particular order: start with NULL, ends with NULL. */
const struct feed *follow_next(const struct follow *follow, const struct feed *after);

#endif
