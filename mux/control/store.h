/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's session with ZooKeeper, for one thread.
 *
 *	control thread                         ZooKeeper's own threads
 *	store_get(), store_children(), ...  -->  request
 *	store_run() -> the caller's function <--  queue, eventfd  <--  answer, watch, session event
 *
 * The C client answers on threads of its own; what they learn goes through one queue, and every function that the
 * caller hands in runs inside store_run() on the control thread. So nothing above this file needs a lock, and nothing
 * ever waits for a server.
 *
 * Each request is answered exactly once, if only with ZCONNECTIONLOSS or ZCLOSING. A connection that breaks is taken up
 * again by the C client; a session that expired is replaced by a new one after a random delay, so that a hundred muxes
 * don't return in the same millisecond. store_events.connected then runs, and the caller reads again what it follows.
 */
#ifndef MUX_STORE_H
#define MUX_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "config/login.h"

enum store_limits {
	STORE_SESSION_MS = 10000,      /* asked for; the server may grant another */
	STORE_REOPEN_MIN_MS = 100,     /* wait before a session follows an expired one: this and up to */
	STORE_REOPEN_JITTER_MS = 1000, /* this much at random */
	STORE_ABANDON_SESSIONS = 3,    /* times a session's time without a connection: then begin a new one. A server
					  that has lost its data refuses the old one for ever. */
	STORE_RESUME_JITTER_MS = 100,  /* after a broken connection, before `connected` runs */
	STORE_SYNC_RETRY_MS = 500,
	STORE_SETTLE_MS = 200, /* at the end, for answers that are on their way */
	STORE_SETTLE_STEP_MS = 10,
};

struct store;

/* What a request came to; lives as long as the call of the function that gets it. */
struct store_reply {
	int rc; /* ZOK or another of ZooKeeper's codes */
	const uint8_t *data;
	size_t len;
	int64_t owner; /* session that owns an ephemeral node, 0 for others */
	char *const *children;
	int child_count;
};

/* The data as a decimal scalar, 1 .. 2^32 - 1; 0 for anything else. */
uint32_t store_reply_number(const struct store_reply *reply);

typedef void (*store_fn)(void *context, const struct store_reply *reply);

/* Run on the control thread, inside store_run(). */
struct store_events {
	void (*connected)(void *context);
	void (*disconnected)(void *context);
	void (*changed)(void *context, const char *path); /* a watch fired: it must be set again by a read */
};

/*
 * NULL and errno if hosts ("host:port,...") is no list of servers that can be resolved. login: who we are, NULL for
 * nobody in particular; the store does not own it.
 */
struct store *store_open(const char *hosts, const struct login *login, const struct store_events *events,
			 void *context);
/* Answers what is under way with ZCLOSING and ends the session, so that the mux's node vanishes at once. */
void store_close(struct store *store);

/* Readable when store_run() has work. */
int store_fd(const struct store *store);
/* Milliseconds of the monotonic clock when store_run() is due even without a readable descriptor; UINT64_MAX: never. */
uint64_t store_deadline(const struct store *store);
void store_run(struct store *store, uint64_t now_ms);
/* The now_ms of the last store_run(): the clock of everything that runs inside it. */
uint64_t store_now(const struct store *store);

/* 0 .. n - 1, evenly enough to spread retries. */
uint32_t store_jitter(uint32_t n);

bool store_is_connected(const struct store *store);
/* Id of the session, 0 without one. */
int64_t store_session(const struct store *store);

/* Requests. `watch` asks for store_events.changed at the next change. fn never runs before these return. */
void store_get(struct store *store, const char *path, bool watch, store_fn fn, void *context);
void store_exists(struct store *store, const char *path, bool watch, store_fn fn, void *context);
void store_children(struct store *store, const char *path, bool watch, store_fn fn, void *context);
void store_set(struct store *store, const char *path, const char *text, store_fn fn, void *context);
void store_create_ephemeral(struct store *store, const char *path, const char *text, store_fn fn, void *context);

/* Zeroed memory for requests and answers. Where there is none the mux ends: no request may stay without its answer. */
void *store_alloc(size_t size);
char *store_copy(const char *text);

#endif
