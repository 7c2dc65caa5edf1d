/* SPDX-License-Identifier: Apache-2.0 */
#include "control/zookeeper.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <unistd.h>

enum message_kind { MESSAGE_REPLY, MESSAGE_WATCH, MESSAGE_SESSION, MESSAGE_REPLACED };

/* From ZooKeeper's threads to the control thread. A request's message is allocated with the request, so that its answer
 * never lacks one. */
struct message {
	STAILQ_ENTRY(message) next;
	LIST_ENTRY(message) open;
	struct zk_client *zk;
	enum message_kind kind;
	unsigned handle; /* number of the ZooKeeper handle that it came from */
	zk_fn fn;
	void *context;
	int rc; /* of a reply; the state of a session */
	uint8_t *data;
	size_t len;
	int64_t owner;
	int64_t written_ms;
	char **children;
	int child_count;
	char *path; /* of a watch */
};

/* The context of a ZooKeeper handle's watcher; one per handle, since events of a closed one may still be queued. */
struct handle {
	struct zk_client *zk;
	unsigned number;
	unsigned logins; /* lines of the login that it has */
};

struct zk_client {
	char *hosts;
	const struct login *login;
	struct zk_events events;
	void *context;
	zhandle_t *zhandle;
	struct handle handle; /* used by the replacer while it runs */
	pthread_t replacer;
	bool is_replacing;
	zhandle_t *next; /* the handle that the replacer closes, then the one that it opened */
	bool connected;
	bool closing;
	bool was_connected; /* ever: the first connection is not delayed */
	uint64_t now_ms;
	uint64_t resume_at; /* when events.connected is due, UINT64_MAX: never */
	uint64_t reopen_at;
	int fd;
	pthread_mutex_t lock; /* of queue and open */
	STAILQ_HEAD(, message) queue;
	LIST_HEAD(, message) open; /* requests without an answer */
};

void *zk_alloc(size_t size)
{
	void *p = size <= PTRDIFF_MAX ? calloc(1, size + !size) : NULL;

	if (!p) {
		fprintf(stderr, "mux event=out_of_memory bytes=%zu\n", size);
		abort();
	}
	return p;
}

char *zk_copy(const char *text)
{
	char *copy = zk_alloc(strlen(text) + 1);

	strcpy(copy, text);
	return copy;
}

char *zk_servers(const char *hosts)
{
	char *servers = zk_alloc(strlen(hosts) + 1), *to = servers;

	for (const char *from = hosts; *from; from++)
		if (*from != '[' && *from != ']')
			*to++ = *from;
	return servers;
}

uint32_t zk_jitter(uint32_t n)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint32_t)getpid() * 2654435761u; /* early in boot: pids still differ from mux to mux */
	return r % n;
}

static void message_free(struct message *m)
{
	for (int i = 0; i < m->child_count; i++)
		free(m->children[i]);
	free(m->children);
	free(m->data);
	free(m->path);
	free(m);
}

/* Any thread. */
static void push(struct message *m)
{
	struct zk_client *zk = m->zk;
	uint64_t one = 1;

	pthread_mutex_lock(&zk->lock);
	if (m->kind == MESSAGE_REPLY)
		LIST_REMOVE(m, open);
	STAILQ_INSERT_TAIL(&zk->queue, m, next);
	pthread_mutex_unlock(&zk->lock);
	if (write(zk->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
}

/* --- ZooKeeper's threads ------------------------------------------------------------------------------------- */

static void on_watch(zhandle_t *zhandle, int type, int state, const char *path, void *context)
{
	const struct handle *handle = context;
	struct message *m;

	(void)zhandle;
	if (type == ZOO_NOTWATCHING_EVENT)
		return;
	m = zk_alloc(sizeof(*m));
	m->zk = handle->zk;
	m->handle = handle->number;
	m->kind = type == ZOO_SESSION_EVENT ? MESSAGE_SESSION : MESSAGE_WATCH;
	m->rc = state;
	m->path = zk_copy(path ? path : "");
	push(m);
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK) {
		m->len = len > 0 ? (size_t)len : 0;
		m->data = zk_alloc(m->len + 1); /* with a zero at the end: scalars and JSON are read as text */
		if (m->len)
			memcpy(m->data, value, m->len);
		m->owner = stat ? stat->ephemeralOwner : 0;
		m->written_ms = stat ? stat->mtime : 0;
	}
	push(m);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK && stat) {
		m->owner = stat->ephemeralOwner;
		m->written_ms = stat->mtime;
	}
	push(m);
}

static void on_strings(int rc, const struct String_vector *strings, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK && strings) {
		m->children = zk_alloc(sizeof(*m->children) * (size_t)strings->count);
		for (m->child_count = 0; m->child_count < strings->count; m->child_count++)
			m->children[m->child_count] = zk_copy(strings->data[m->child_count]);
	}
	push(m);
}

static void on_string(int rc, const char *value, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	(void)value;
	m->rc = rc;
	push(m);
}

/* --- control thread ------------------------------------------------------------------------------------------ */

static struct message *request(struct zk_client *zk, zk_fn fn, void *context)
{
	struct message *m = zk_alloc(sizeof(*m));

	m->zk = zk;
	m->kind = MESSAGE_REPLY;
	m->fn = fn;
	m->context = context;
	pthread_mutex_lock(&zk->lock);
	LIST_INSERT_HEAD(&zk->open, m, open);
	pthread_mutex_unlock(&zk->lock);
	return m;
}

static bool has_open(struct zk_client *zk)
{
	bool open;

	pthread_mutex_lock(&zk->lock);
	open = !LIST_EMPTY(&zk->open);
	pthread_mutex_unlock(&zk->lock);
	return open;
}

/* The handle for requests, NULL if there is none or it is about to be closed. */
static zhandle_t *usable(const struct zk_client *zk)
{
	return zk->closing ? NULL : zk->zhandle;
}

/* rc: the result of the function that sent a request. If it failed, the request is answered here. */
static void sent(struct message *m, int rc)
{
	if (rc == ZOK)
		return;
	m->rc = rc;
	push(m);
}

void zk_get(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	struct message *m = request(zk, fn, context);

	sent(m, usable(zk) ? zoo_awget(zk->zhandle, path, watch ? on_watch : NULL, &zk->handle, on_data, m)
			   : ZINVALIDSTATE);
}

void zk_exists(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	struct message *m = request(zk, fn, context);

	sent(m, usable(zk) ? zoo_awexists(zk->zhandle, path, watch ? on_watch : NULL, &zk->handle, on_stat, m)
			   : ZINVALIDSTATE);
}

void zk_children(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	struct message *m = request(zk, fn, context);

	sent(m, usable(zk) ? zoo_awget_children(zk->zhandle, path, watch ? on_watch : NULL, &zk->handle, on_strings, m)
			   : ZINVALIDSTATE);
}

void zk_set(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context)
{
	struct message *m = request(zk, fn, context);

	sent(m, usable(zk) ? zoo_aset(zk->zhandle, path, text, (int)strlen(text), -1, on_stat, m) : ZINVALIDSTATE);
}

void zk_create_ephemeral(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context)
{
	struct message *m = request(zk, fn, context);
	struct login_acl acl;

	sent(m, usable(zk) ? zoo_acreate(zk->zhandle, path, text, (int)strlen(text), login_node_acl(zk->login, &acl),
					 ZOO_EPHEMERAL, on_string, m)
			   : ZINVALIDSTATE);
}

/* Starts a session. Waits for name resolution. Returns 0, or -errno if the servers' names can't be resolved. */
static int handle_init(struct zk_client *zk, zhandle_t **zhandle)
{
	zk->handle.zk = zk;
	zk->handle.number++;
	zk->handle.logins = 0;
	errno = 0;
	*zhandle = zookeeper_init(zk->hosts, on_watch, ZK_SESSION_MS, NULL, &zk->handle, 0);
	if (!*zhandle)
		return errno ? -errno : -EINVAL;
	/* By default the client resolves the servers' names whenever its socket is ready: two thirds of what a small
	 * delta costs a mux, and it blocks on the resolver. With -1 it resolves them only after a lost connection. */
	zoo_set_servers_resolution_delay(*zhandle, -1);
	return 0;
}

static void answer_open(struct zk_client *zk)
{
	struct message *m;

	while ((m = LIST_FIRST(&zk->open))) {
		m->rc = ZCLOSING;
		push(m);
	}
}

/* The C client can lose an answer that arrives while it closes: requests still open after that are answered here. */
static void handle_close(struct zk_client *zk)
{
	if (zk->zhandle)
		zookeeper_close(zk->zhandle);
	zk->zhandle = NULL;
	zk->handle.number++; /* session events during the close are ignored */
	answer_open(zk);
}

/*
 * A separate thread ends the old session and starts the new one: closing waits for the client's threads, and opening
 * for name resolution; the control thread waits for neither.
 */
static void *replace(void *argument)
{
	struct zk_client *zk = argument;
	struct message *m = zk_alloc(sizeof(*m));

	m->zk = zk;
	m->kind = MESSAGE_REPLACED;
	if (zk->next)
		zookeeper_close(zk->next);
	zk->handle.number++; /* the old session's events are ignored */
	m->rc = handle_init(zk, &zk->next);
	push(m);
	return NULL;
}

static void reopen_later(struct zk_client *zk, uint64_t now_ms)
{
	zk->reopen_at = now_ms + ZK_REOPEN_MIN_MS + zk_jitter(ZK_REOPEN_JITTER_MS);
}

static void start_replacing(struct zk_client *zk, uint64_t now_ms)
{
	zk->reopen_at = UINT64_MAX;
	zk->next = zk->zhandle;
	zk->zhandle = NULL;
	zk->is_replacing = !pthread_create(&zk->replacer, NULL, replace, zk);
	if (zk->is_replacing)
		return;
	zk->zhandle = zk->next; /* no thread is running */
	reopen_later(zk, now_ms);
}

static void disconnect(struct zk_client *zk)
{
	zk->resume_at = UINT64_MAX;
	if (!zk->connected)
		return;
	zk->connected = false;
	zk->events.disconnected(zk->context);
}

static void session_changed(struct zk_client *zk, int state, uint64_t now_ms)
{
	if (state == ZOO_CONNECTED_STATE) {
		zk->handle.logins = login_add(zk->login, zk->handle.logins, zk->zhandle);
		zk->reopen_at = UINT64_MAX;
		zk->resume_at = zk->was_connected ? now_ms + zk_jitter(ZK_RESUME_JITTER_MS) : now_ms;
		return;
	}
	if (zk->was_connected && zk->reopen_at == UINT64_MAX)
		zk->reopen_at = now_ms + ZK_ABANDON_SESSIONS * (uint64_t)zoo_recv_timeout(zk->zhandle) +
				zk_jitter(ZK_REOPEN_JITTER_MS);
	disconnect(zk);
	if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE)
		zk->reopen_at = now_ms + ZK_REOPEN_MIN_MS + zk_jitter(ZK_REOPEN_JITTER_MS);
}

static void replaced(struct zk_client *zk, int error, uint64_t now_ms)
{
	int state;

	pthread_join(zk->replacer, NULL);
	zk->is_replacing = false;
	answer_open(zk); /* requests of the old handle */
	zk->zhandle = zk->next;
	if (error) {
		reopen_later(zk, now_ms);
		return;
	}
	/* its events were ignored while the replacer had it */
	state = zoo_state(zk->zhandle);
	if (state == ZOO_CONNECTED_STATE || state == ZOO_AUTH_FAILED_STATE)
		session_changed(zk, state, now_ms);
}

static void deliver(struct zk_client *zk, struct message *m, uint64_t now_ms)
{
	struct zk_reply reply = {
	    .rc = zk->closing ? ZCLOSING : m->rc,
	    .data = m->data,
	    .len = m->len,
	    .owner = m->owner,
	    .written_ms = m->written_ms,
	    .children = m->children,
	    .child_count = m->child_count,
	};

	switch (m->kind) {
	case MESSAGE_REPLY:
		m->fn(m->context, &reply);
		break;
	case MESSAGE_WATCH:
		if (!zk->is_replacing && m->handle == zk->handle.number)
			zk->events.changed(zk->context, m->path);
		break;
	case MESSAGE_SESSION:
		if (!zk->is_replacing && m->handle == zk->handle.number)
			session_changed(zk, m->rc, now_ms);
		break;
	case MESSAGE_REPLACED:
		if (zk->is_replacing) /* not joined at the end already */
			replaced(zk, m->rc, now_ms);
		break;
	}
	message_free(m);
}

/* Delivers what is queued now. Messages queued meanwhile wait for the next call, so that the caller's loop goes on. */
static void drain(struct zk_client *zk, uint64_t now_ms)
{
	STAILQ_HEAD(, message) batch = STAILQ_HEAD_INITIALIZER(batch);
	struct message *m;
	uint64_t count;

	if (read(zk->fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
	pthread_mutex_lock(&zk->lock);
	STAILQ_CONCAT(&batch, &zk->queue);
	pthread_mutex_unlock(&zk->lock);
	while ((m = STAILQ_FIRST(&batch))) {
		STAILQ_REMOVE_HEAD(&batch, next);
		deliver(zk, m, now_ms);
	}
}

static void on_synced(void *context, const struct zk_reply *reply)
{
	struct zk_client *zk = context;

	if (reply->rc != ZOK) { /* a lost connection is handled by its session event; anything else is retried */
		if (zk->zhandle && zoo_state(zk->zhandle) == ZOO_CONNECTED_STATE)
			zk->resume_at = zk->now_ms + ZK_SYNC_RETRY_MS;
		return;
	}
	zk->connected = true;
	zk->was_connected = true;
	zk->events.connected(zk->context);
}

/* The server may lag behind what an earlier session has seen; reads after this are at least as new as now. */
static void synchronize(struct zk_client *zk)
{
	struct message *m = request(zk, on_synced, zk);

	sent(m, usable(zk) ? zoo_async(zk->zhandle, "/", on_string, m) : ZINVALIDSTATE);
}

void zk_run(struct zk_client *zk, uint64_t now_ms)
{
	zk->now_ms = now_ms;
	drain(zk, now_ms);
	if (now_ms >= zk->reopen_at && !zk->is_replacing)
		start_replacing(zk, now_ms);
	if (now_ms >= zk->resume_at) {
		zk->resume_at = UINT64_MAX;
		synchronize(zk);
	}
}

uint64_t zk_now(const struct zk_client *zk)
{
	return zk->now_ms;
}

int zk_fd(const struct zk_client *zk)
{
	return zk->fd;
}

uint64_t zk_deadline(const struct zk_client *zk)
{
	return zk->resume_at < zk->reopen_at ? zk->resume_at : zk->reopen_at;
}

bool zk_is_connected(const struct zk_client *zk)
{
	return zk->connected;
}

int64_t zk_session(const struct zk_client *zk)
{
	return zk->connected ? zoo_client_id(zk->zhandle)->client_id : 0;
}

int zk_session_ms(const struct zk_client *zk)
{
	return zk->connected ? zoo_recv_timeout(zk->zhandle) : ZK_SESSION_MS;
}

struct zk_client *zk_open(const char *hosts, const struct login *login, const struct zk_events *events, void *context)
{
	struct zk_client *zk = zk_alloc(sizeof(*zk));
	int error;

	zoo_set_debug_level((ZooLogLevel)0); /* the client logs each attempt to connect; the caller logs changes */
	STAILQ_INIT(&zk->queue);
	LIST_INIT(&zk->open);
	pthread_mutex_init(&zk->lock, NULL);
	zk->hosts = zk_servers(hosts);
	zk->login = login;
	zk->events = *events;
	zk->context = context;
	zk->resume_at = UINT64_MAX;
	zk->reopen_at = UINT64_MAX;
	zk->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	error = zk->fd < 0 ? -errno : handle_init(zk, &zk->zhandle);
	if (!error)
		return zk;
	if (zk->fd >= 0)
		close(zk->fd);
	pthread_mutex_destroy(&zk->lock);
	free(zk->hosts);
	free(zk);
	errno = -error;
	return NULL;
}

/* Waits a moment for answers on their way: the C client leaks one that arrives while it closes. */
static void settle(struct zk_client *zk)
{
	struct pollfd answer = {.fd = zk->fd, .events = POLLIN};

	for (int waited = 0; waited < ZK_SETTLE_MS && has_open(zk); waited += ZK_SETTLE_STEP_MS) {
		poll(&answer, 1, ZK_SETTLE_STEP_MS);
		drain(zk, 0);
	}
}

void zk_close(struct zk_client *zk)
{
	zk->closing = true;
	settle(zk);
	if (zk->is_replacing) { /* waits while names are looked up */
		pthread_join(zk->replacer, NULL);
		zk->is_replacing = false;
		zk->zhandle = zk->next;
	}
	handle_close(zk);
	/* Callbacks may send requests, which are answered at once with ZINVALIDSTATE: repeat until none does. */
	while (!STAILQ_EMPTY(&zk->queue))
		drain(zk, 0);
	close(zk->fd);
	pthread_mutex_destroy(&zk->lock);
	free(zk->hosts);
	free(zk);
}
