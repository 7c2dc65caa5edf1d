/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with the store of the cluster's tree, which is ZooKeeper, for one thread. Only zookeeper.c knows which store.
 *
 *	control thread                         the store's threads
 *	tree_get(), tree_children(), ...  -->  request
 *	tree_run() -> the caller's function <--  queue, eventfd  <--  answer, watch, session event
 *
 * The store answers on its own threads. All answers pass through one queue, and every callback runs inside tree_run()
 * on the control thread. So callers need no locks, and nothing waits for a server.
 *
 * Each request is answered exactly once, TREE_FAILED if the session ends before. A broken connection is restored; an
 * expired session is replaced by a new one after a random delay, so that a hundred muxes don't return in the same
 * millisecond. tree_events.connected then runs, and the caller reads everything it follows again.
 */
#ifndef FAIRLEAD_MUX_TREE_H
#define FAIRLEAD_MUX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/login.h"

enum tree_limits {
	TREE_SESSION_MS = 10000,      /* requested; the server may grant another */
	TREE_REOPEN_MIN_MS = 100,     /* wait before replacing an expired session: this and up to */
	TREE_REOPEN_JITTER_MS = 1000, /* this much at random */
	TREE_ABANDON_SESSIONS = 3,    /* session timeouts without a connection before starting a new one. A server
					  that has lost its data refuses the old one for ever. */
	TREE_RESUME_JITTER_MS = 100,  /* after a broken connection, before `connected` runs */
	TREE_SYNC_RETRY_MS = 500,
	TREE_SETTLE_MS = 200, /* at the end, for answers that are on their way */
	TREE_SETTLE_STEP_MS = 10,
};

/* What became of a request. */
enum tree_result {
	TREE_OK,
	TREE_MISSING,       /* there is no such node */
	TREE_EXISTS,        /* there is one already */
	TREE_DENIED,        /* by the node's access list */
	TREE_LOGIN_REFUSED, /* by the server, for the whole session */
	TREE_MISNAMED,      /* of chunks.h: a child is no chunk, */
	TREE_TOO_LONG,      /* or there are too many bytes */
	TREE_FAILED,        /* anything else, such as a lost connection: nothing is known of the node */
};

struct tree;

/* The answer to a request; valid only during the callback that gets it. */
struct tree_reply {
	enum tree_result result;
	const char *error; /* in the store's words; NULL from chunks_read() */
	const uint8_t *data;
	size_t len;
	int64_t owner;      /* session that owns an ephemeral node, 0 for others */
	int64_t written_ms; /* of a node that was read or set: when it was last set, in Unix milliseconds */
	char *const *children;
	int child_count;
};

/* Whether one of the children has this name. */
static inline bool tree_has_child(const struct tree_reply *reply, const char *name)
{
	for (int i = 0; i < reply->child_count; i++)
		if (!strcmp(reply->children[i], name))
			return true;
	return false;
}

typedef void (*tree_fn)(void *context, const struct tree_reply *reply);

/* Run on the control thread, inside tree_run(). */
struct tree_events {
	void (*connected)(void *context);
	void (*disconnected)(void *context);
	void (*changed)(void *context, const char *path); /* a watch fired: the next read sets it again */
};

/*
 * Returns NULL and errno if hosts ("host:port,...") is not a list of servers that can be resolved. login: NULL:
 * anonymous; not copied. session_ms: usually TREE_SESSION_MS.
 */
struct tree *tree_open(const char *hosts, const struct login *login, int session_ms, const struct tree_events *events,
		       void *context);
/* Answers outstanding requests with TREE_FAILED and ends the session, so that the mux's node vanishes at once. */
void tree_close(struct tree *tree);

/* Readable when tree_run() has work. */
int tree_fd(const struct tree *tree);
/* Milliseconds of the monotonic clock when tree_run() is due even without a readable descriptor; UINT64_MAX: never. */
uint64_t tree_deadline(const struct tree *tree);
void tree_run(struct tree *tree, uint64_t now_ms);
/* The now_ms of the last tree_run(): the clock of everything that runs inside it. */
uint64_t tree_now(const struct tree *tree);

/* A random number 0 .. n - 1, uniform enough to spread retries. */
uint32_t tree_jitter(uint32_t n);

/* Whether a server has granted a session, and the connection to it is there. */
bool tree_has_session(const struct tree *tree);
/* Whether the last session ended because the server refused the login. */
bool tree_is_login_refused(const struct tree *tree);
/* Whether it also has answered, so that reads are as new as now: from `connected` until `disconnected`. */
bool tree_is_connected(const struct tree *tree);
/* Id of the session, 0 unless connected. */
int64_t tree_session(const struct tree *tree);
/* How long the session outlives its client, as the server granted it; what was requested unless connected. */
int tree_session_ms(const struct tree *tree);

/* Requests. `watch` asks for tree_events.changed at the next change. fn never runs before these return. */
void tree_get(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context);
void tree_exists(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context);
void tree_children(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context);
void tree_set(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context);
/* The node ends with the session. Its access list has all rights for the own login and read access for the readers'. */
void tree_create_ephemeral(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context);

/* Zeroed memory for requests and answers. Without memory the mux aborts: each request must be answered. */
void *tree_alloc(size_t size);
static inline char *tree_copy(const char *text)
{
	return strcpy(tree_alloc(strlen(text) + 1), text);
}

/* FOLDER/NAME, to be freed. */
static inline char *tree_path(const char *folder, const char *name)
{
	char *path = tree_alloc(strlen(folder) + strlen(name) + 2);

	stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
	return path;
}

#endif
