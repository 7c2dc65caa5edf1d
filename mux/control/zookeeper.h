/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's session with ZooKeeper, for one thread.
 *
 *	control thread                         the C client's threads
 *	zk_get(), zk_children(), ...  -->  request
 *	zk_run() -> the caller's function <--  queue, eventfd  <--  answer, watch, session event
 *
 * The C client answers on its own threads. All answers pass through one queue, and every callback runs inside zk_run()
 * on the control thread. So callers need no locks, and nothing waits for a server.
 *
 * Each request is answered exactly once, possibly with ZCONNECTIONLOSS or ZCLOSING. The C client restores a broken
 * connection; an expired session is replaced by a new one after a random delay, so that a hundred muxes don't return in
 * the same millisecond. zk_events.connected then runs, and the caller reads everything it follows again.
 */
#ifndef MUX_ZOOKEEPER_H
#define MUX_ZOOKEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "config/login.h"

enum zk_limits {
	ZK_SESSION_MS = 10000,      /* requested; the server may grant another */
	ZK_REOPEN_MIN_MS = 100,     /* wait before replacing an expired session: this and up to */
	ZK_REOPEN_JITTER_MS = 1000, /* this much at random */
	ZK_ABANDON_SESSIONS = 3,    /* session timeouts without a connection before starting a new one. A server
					  that has lost its data refuses the old one for ever. */
	ZK_RESUME_JITTER_MS = 100,  /* after a broken connection, before `connected` runs */
	ZK_SYNC_RETRY_MS = 500,
	ZK_SETTLE_MS = 200, /* at the end, for answers that are on their way */
	ZK_SETTLE_STEP_MS = 10,
};

struct zk_client;

/* The answer to a request; valid only during the callback that gets it. */
struct zk_reply {
	int rc; /* ZOK or another of ZooKeeper's codes */
	const uint8_t *data;
	size_t len;
	int64_t owner;      /* session that owns an ephemeral node, 0 for others */
	int64_t written_ms; /* of a node that was read or set: when it was last set, in Unix milliseconds */
	char *const *children;
	int child_count;
};

/* Whether one of the children has this name. */
static inline bool zk_has_child(const struct zk_reply *reply, const char *name)
{
	for (int i = 0; i < reply->child_count; i++)
		if (!strcmp(reply->children[i], name))
			return true;
	return false;
}

typedef void (*zk_fn)(void *context, const struct zk_reply *reply);

/* Run on the control thread, inside zk_run(). */
struct zk_events {
	void (*connected)(void *context);
	void (*disconnected)(void *context);
	void (*changed)(void *context, const char *path); /* a watch fired: the next read sets it again */
};

/*
 * Returns NULL and errno if hosts ("host:port,...") is not a list of servers that can be resolved. login: NULL:
 * anonymous; not copied.
 */
struct zk_client *zk_open(const char *hosts, const struct login *login, const struct zk_events *events, void *context);
/* Answers outstanding requests with ZCLOSING and ends the session, so that the mux's node vanishes at once. */
void zk_close(struct zk_client *zk);

/* Readable when zk_run() has work. */
int zk_fd(const struct zk_client *zk);
/* Milliseconds of the monotonic clock when zk_run() is due even without a readable descriptor; UINT64_MAX: never. */
uint64_t zk_deadline(const struct zk_client *zk);
void zk_run(struct zk_client *zk, uint64_t now_ms);
/* The now_ms of the last zk_run(): the clock of everything that runs inside it. */
uint64_t zk_now(const struct zk_client *zk);

/* A random number 0 .. n - 1, uniform enough to spread retries. */
uint32_t zk_jitter(uint32_t n);

bool zk_is_connected(const struct zk_client *zk);
/* Id of the session, 0 without one. */
int64_t zk_session(const struct zk_client *zk);

/* How long the session outlives its client, as the server granted it; ZK_SESSION_MS without one. */
int zk_session_ms(const struct zk_client *zk);

/* Requests. `watch` asks for zk_events.changed at the next change. fn never runs before these return. */
void zk_get(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context);
void zk_exists(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context);
void zk_children(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context);
void zk_set(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context);
void zk_create_ephemeral(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context);

/*
 * The list of servers as the C client wants it, to be freed: without the brackets of IPv6 addresses. For the port it takes
 * what follows the last colon, and it looks up everything before that.
 */
char *zk_servers(const char *hosts);

/* Zeroed memory for requests and answers. Without memory the mux aborts: each request must be answered. */
void *zk_alloc(size_t size);
char *zk_copy(const char *text);
/* FOLDER/NAME, to be freed. */
static inline char *zk_path(const char *folder, const char *name)
{
	char *path = zk_alloc(strlen(folder) + strlen(name) + 2);

	stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
	return path;
}

#endif
