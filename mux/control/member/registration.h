/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's own ephemeral node, which shows the controller what the mux has applied (protocol/README.md section 4). It is
 * below the mux's entry, which controllers make when an operator adds the mux.
 *
 *	connected -> is there an entry? none: wait until there is, and serve nothing
 *		  -> create -> denied: the login is not this mux's: log why, and try again
 *			       it exists: ours, from before the connection broke -> write it
 *					  another session's: wait until it is gone, then create
 *	changed   -> at a random moment soon, write the state of that moment, one write at a time
 *
 * The whole ensemble has to agree on each write and sync it, and each generation causes one at every mux, just when
 * other muxes still read that generation. So writes spread over a time that grows with the number of muxes, and changes
 * during that time are written once: 100 muxes cause at most 200 writes a second.
 *
 * Without changes the node is written every half minute, to learn ZooKeeper's time (clock_compare.h).
 *
 * A node of another session is that of a mux with our id. Its outer sources tell whose: with one of ours it is an earlier
 * process of this mux, killed or about to stop, and this one serves meanwhile. With others it is another mux. That one
 * may be dead, with a session that has not expired yet; so this one serves nothing until the node is gone, and gives
 * up if it still is there after REGISTRATION_SESSIONS session timeouts of one connection. A process that has once had
 * the node never gives up: it serves, and its VIPs are worth more than its name.
 */
#ifndef FAIRLEAD_MUX_REGISTRATION_H
#define FAIRLEAD_MUX_REGISTRATION_H

#include "control/member/clock_compare.h"
#include "tree/tree.h"

enum registration_numbers {
	REGISTRATION_RETRY_MS = 1000,
	REGISTRATION_SESSIONS = 2,         /* a server ends a session up to a tick late, and learns of it later still */
	REGISTRATION_SPREAD_MS = 10,       /* for each other live mux, */
	REGISTRATION_SERVICE_MS = 1,       /* or for each service, whichever is more, */
	REGISTRATION_SPREAD_MAX_MS = 1000, /* up to this: readers of the nodes rely on it */
};

/* The node's name below the entry. */
#define REGISTRATION_NODE "live"

/* What ZooKeeper said last of the entry. */
enum registration_state {
	REGISTRATION_UNKNOWN, /* nothing yet */
	REGISTRATION_ADDED,
	REGISTRATION_NOT_ADDED, /* there is none */
	REGISTRATION_DENIED,    /* there is one, but the login is not that of this mux */
};

struct registration_calls {
	char *(*render)(void *context); /* the node's text, freed with free() */
	/* Whether a node is of a mux in our place, whichever process; address: its outer sources, for people. */
	bool (*is_own_place)(void *context, const char *text, char *address, size_t size);
	void (*may_serve)(void *context); /* at most once: no other mux has the id, as far as known */
	void (*refused)(void *context, const char *address); /* at most once: another mux has it, and is alive. NULL if
							      is_own_place() never says so */
	void (*changed)(void *context);                      /* ->state has; NULL: nothing follows from it */
};

struct registration {
	struct tree *tree;
	char *entry; /* made by controllers, */
	char *path;  /* and our node below it */
	struct registration_calls calls;
	void *context;
	enum registration_state state;
	bool is_looking;  /* for the entry */
	bool look_again;  /* requested meanwhile */
	int64_t added_in; /* the last session in which there was an entry */
	bool is_ours;
	bool may_serve; /* calls.may_serve() has run */
	bool is_refused;
	bool is_writing;    /* a create, a set or a read of its owner is under way */
	int64_t taken;      /* session that owns it, as last logged */
	bool has_changed;   /* since the last write was sent */
	uint64_t write_at;  /* when the next write is due */
	uint64_t retry_at;  /* of what failed: the look for the entry, or the write */
	uint64_t refuse_at; /* when another mux that still has the node is taken for alive; UINT64_MAX: none has it */
	struct clock_compare clock; /* the mux's clock against the time that ZooKeeper gave the node's last write */
};

/* entry: its path. */
struct registration *registration_new(struct tree *tree, const char *entry, const struct registration_calls *calls,
				      void *context);
/* No request may be under way: after tree_close(). The node vanishes with the session. */
void registration_free(struct registration *own);

/* There is a session, perhaps a new one. */
void registration_connected(struct registration *own);
/* render()'s text has changed: it is written within within_ms, 0: at the next registration_run(). */
void registration_changed(struct registration *own, uint32_t within_ms);
/* A watch on path fired; other paths than the entry's and the node's are ignored. */
void registration_watched(struct registration *own, const char *path);

uint64_t registration_deadline(const struct registration *own);
void registration_run(struct registration *own, uint64_t now_ms);

/* Whether there was an entry since the session began: a session is of one tree, as lost data loses it. */
bool registration_was_added(const struct registration *own);
/* Whether the node exists and is ours. */
bool registration_is_registered(const struct registration *own);

/* The Unix time by which windows end, by its clock; 0: not known. It never goes back. */
uint32_t registration_seconds(struct registration *own);

#endif
