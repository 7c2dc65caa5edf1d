/* SPDX-License-Identifier: Apache-2.0 */
#include "control/store.h"

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

/* From ZooKeeper's threads to the control thread. A request's message is made with the request, so that its answer
 * always finds one. */
struct message {
	STAILQ_ENTRY(message) next;
	LIST_ENTRY(message) open;
	struct store *store;
	enum message_kind kind;
	unsigned handle; /* number of the ZooKeeper handle that it came from */
	store_fn fn;
	void *context;
	int rc; /* of a reply; the state of a session */
	uint8_t *data;
	size_t len;
	int64_t owner;
	char **children;
	int child_count;
	char *path; /* of a watch */
};

/* What a ZooKeeper handle gives back to its watcher: one a handle, since events of a closed one may still be queued. */
struct handle {
	struct store *store;
	unsigned number;
};

struct store {
	char *hosts;
	const struct login *login;
	struct store_events events;
	void *context;
	zhandle_t *zk;
	struct handle handle; /* the replacer's while it runs */
	pthread_t replacer;
	bool is_replacing;
	zhandle_t *next; /* what it leaves behind, or takes */
	bool connected;
	bool closing;
	bool was_connected; /* ever: the first connection is not delayed */
	uint64_t now_ms;
	uint64_t resume_at; /* when events.connected is due, UINT64_MAX for not */
	uint64_t reopen_at;
	int fd;
	pthread_mutex_t lock; /* of queue and open */
	STAILQ_HEAD(, message) queue;
	LIST_HEAD(, message) open; /* requests that are not answered */
};

void *store_alloc(size_t size)
{
	void *p = size <= PTRDIFF_MAX ? calloc(1, size + !size) : NULL;

	if (!p) {
		fprintf(stderr, "mux event=out_of_memory bytes=%zu\n", size);
		abort();
	}
	return p;
}

char *store_copy(const char *text)
{
	char *copy = store_alloc(strlen(text) + 1);

	strcpy(copy, text);
	return copy;
}

uint32_t store_jitter(uint32_t n)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint32_t)getpid() * 2654435761u; /* early in boot: still differs from mux to mux */
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
	struct store *store = m->store;
	uint64_t one = 1;

	pthread_mutex_lock(&store->lock);
	if (m->kind == MESSAGE_REPLY)
		LIST_REMOVE(m, open);
	STAILQ_INSERT_TAIL(&store->queue, m, next);
	pthread_mutex_unlock(&store->lock);
	if (write(store->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
}

/* --- ZooKeeper's threads ------------------------------------------------------------------------------------- */

static void on_watch(zhandle_t *zk, int type, int state, const char *path, void *context)
{
	const struct handle *handle = context;
	struct message *m;

	(void)zk;
	if (type == ZOO_NOTWATCHING_EVENT)
		return;
	m = store_alloc(sizeof(*m));
	m->store = handle->store;
	m->handle = handle->number;
	m->kind = type == ZOO_SESSION_EVENT ? MESSAGE_SESSION : MESSAGE_WATCH;
	m->rc = state;
	m->path = store_copy(path ? path : "");
	push(m);
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK) {
		m->len = len > 0 ? (size_t)len : 0;
		m->data = store_alloc(m->len + 1); /* a zero behind it: scalars and JSON are read as text */
		if (m->len)
			memcpy(m->data, value, m->len);
		m->owner = stat ? stat->ephemeralOwner : 0;
	}
	push(m);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK && stat)
		m->owner = stat->ephemeralOwner;
	push(m);
}

static void on_strings(int rc, const struct String_vector *strings, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK && strings) {
		m->children = store_alloc(sizeof(*m->children) * (size_t)strings->count);
		for (m->child_count = 0; m->child_count < strings->count; m->child_count++)
			m->children[m->child_count] = store_copy(strings->data[m->child_count]);
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

static struct message *request(struct store *store, store_fn fn, void *context)
{
	struct message *m = store_alloc(sizeof(*m));

	m->store = store;
	m->kind = MESSAGE_REPLY;
	m->fn = fn;
	m->context = context;
	pthread_mutex_lock(&store->lock);
	LIST_INSERT_HEAD(&store->open, m, open);
	pthread_mutex_unlock(&store->lock);
	return m;
}

static bool has_open(struct store *store)
{
	bool open;

	pthread_mutex_lock(&store->lock);
	open = !LIST_EMPTY(&store->open);
	pthread_mutex_unlock(&store->lock);
	return open;
}

/* The handle to ask, NULL if there is none or will be none soon. */
static zhandle_t *usable(const struct store *store)
{
	return store->closing ? NULL : store->zk;
}

/* rc of the function that sent a request: if it did not take it, nobody else will answer. */
static void sent(struct message *m, int rc)
{
	if (rc == ZOK)
		return;
	m->rc = rc;
	push(m);
}

uint32_t store_reply_number(const struct store_reply *reply)
{
	uint64_t value = 0;

	if (reply->len > 10)
		return 0;
	for (size_t i = 0; i < reply->len; i++) {
		if (reply->data[i] < '0' || reply->data[i] > '9')
			return 0;
		value = value * 10 + (uint64_t)(reply->data[i] - '0');
	}
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

void store_get(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	struct message *m = request(store, fn, context);

	sent(m, usable(store) ? zoo_awget(store->zk, path, watch ? on_watch : NULL, &store->handle, on_data, m)
			      : ZINVALIDSTATE);
}

void store_exists(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	struct message *m = request(store, fn, context);

	sent(m, usable(store) ? zoo_awexists(store->zk, path, watch ? on_watch : NULL, &store->handle, on_stat, m)
			      : ZINVALIDSTATE);
}

void store_children(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	struct message *m = request(store, fn, context);

	sent(m, usable(store)
		    ? zoo_awget_children(store->zk, path, watch ? on_watch : NULL, &store->handle, on_strings, m)
		    : ZINVALIDSTATE);
}

void store_set(struct store *store, const char *path, const char *text, store_fn fn, void *context)
{
	struct message *m = request(store, fn, context);

	sent(m, usable(store) ? zoo_aset(store->zk, path, text, (int)strlen(text), -1, on_stat, m) : ZINVALIDSTATE);
}

void store_create_ephemeral(struct store *store, const char *path, const char *text, store_fn fn, void *context)
{
	struct message *m = request(store, fn, context);
	struct login_acl acl;

	sent(m, usable(store) ? zoo_acreate(store->zk, path, text, (int)strlen(text),
					    login_node_acl(store->login, &acl), ZOO_EPHEMERAL, on_string, m)
			      : ZINVALIDSTATE);
}

/* Starts a session. Returns 0 or -errno: the names of the servers could not be resolved. Waits for that. */
static int handle_init(struct store *store, zhandle_t **zk)
{
	store->handle.store = store;
	store->handle.number++;
	errno = 0;
	*zk = zookeeper_init(store->hosts, on_watch, STORE_SESSION_MS, NULL, &store->handle, 0);
	if (!*zk)
		return errno ? -errno : -EINVAL;
	/* By default the client looks the servers' names up whenever its socket is ready: two thirds of what a small
	 * delta costs a mux, and it waits for whoever answers. With -1 it looks once a connection is lost. */
	zoo_set_servers_resolution_delay(*zk, -1);
	login_add(store->login, *zk);
	return 0;
}

static void answer_open(struct store *store)
{
	struct message *m;

	while ((m = LIST_FIRST(&store->open))) {
		m->rc = ZCLOSING;
		push(m);
	}
}

/* The C client can lose an answer that comes in while it closes: what it has not answered by then is answered here. */
static void handle_close(struct store *store)
{
	if (store->zk)
		zookeeper_close(store->zk);
	store->zk = NULL;
	store->handle.number++; /* what it has told of its session meanwhile is of no interest */
	answer_open(store);
}

/*
 * A thread of its own ends the old session and begins the new one: closing waits for the client's threads, and opening
 * for whoever answers what the servers' names mean; the control thread waits for neither.
 */
static void *replace(void *argument)
{
	struct store *store = argument;
	struct message *m = store_alloc(sizeof(*m));

	m->store = store;
	m->kind = MESSAGE_REPLACED;
	if (store->next)
		zookeeper_close(store->next);
	store->handle.number++; /* what the old one has told of its session is of no interest */
	m->rc = handle_init(store, &store->next);
	push(m);
	return NULL;
}

static void reopen_later(struct store *store, uint64_t now_ms)
{
	store->reopen_at = now_ms + STORE_REOPEN_MIN_MS + store_jitter(STORE_REOPEN_JITTER_MS);
}

static void start_replacing(struct store *store, uint64_t now_ms)
{
	store->reopen_at = UINT64_MAX;
	store->next = store->zk;
	store->zk = NULL;
	store->is_replacing = !pthread_create(&store->replacer, NULL, replace, store);
	if (store->is_replacing)
		return;
	store->zk = store->next; /* no thread now */
	reopen_later(store, now_ms);
}

static void disconnect(struct store *store)
{
	store->resume_at = UINT64_MAX;
	if (!store->connected)
		return;
	store->connected = false;
	store->events.disconnected(store->context);
}

static void session_changed(struct store *store, int state, uint64_t now_ms)
{
	if (state == ZOO_CONNECTED_STATE) {
		store->reopen_at = UINT64_MAX;
		store->resume_at = store->was_connected ? now_ms + store_jitter(STORE_RESUME_JITTER_MS) : now_ms;
		return;
	}
	if (store->was_connected && store->reopen_at == UINT64_MAX)
		store->reopen_at = now_ms + STORE_ABANDON_SESSIONS * (uint64_t)zoo_recv_timeout(store->zk) +
				   store_jitter(STORE_REOPEN_JITTER_MS);
	disconnect(store);
	if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE)
		store->reopen_at = now_ms + STORE_REOPEN_MIN_MS + store_jitter(STORE_REOPEN_JITTER_MS);
}

static void replaced(struct store *store, int error, uint64_t now_ms)
{
	int state;

	pthread_join(store->replacer, NULL);
	store->is_replacing = false;
	answer_open(store); /* the old one's */
	store->zk = store->next;
	if (error) {
		reopen_later(store, now_ms);
		return;
	}
	/* what it told while it was the replacer's was not heard */
	state = zoo_state(store->zk);
	if (state == ZOO_CONNECTED_STATE || state == ZOO_AUTH_FAILED_STATE)
		session_changed(store, state, now_ms);
}

static void deliver(struct store *store, struct message *m, uint64_t now_ms)
{
	struct store_reply reply = {
	    .rc = store->closing ? ZCLOSING : m->rc,
	    .data = m->data,
	    .len = m->len,
	    .owner = m->owner,
	    .children = m->children,
	    .child_count = m->child_count,
	};

	switch (m->kind) {
	case MESSAGE_REPLY:
		m->fn(m->context, &reply);
		break;
	case MESSAGE_WATCH:
		if (!store->is_replacing && m->handle == store->handle.number)
			store->events.changed(store->context, m->path);
		break;
	case MESSAGE_SESSION:
		if (!store->is_replacing && m->handle == store->handle.number)
			session_changed(store, m->rc, now_ms);
		break;
	case MESSAGE_REPLACED:
		if (store->is_replacing) /* not joined at the end already */
			replaced(store, m->rc, now_ms);
		break;
	}
	message_free(m);
}

/* Delivers what is queued now; what that queues waits for the next round, so that the caller's loop stays alive. */
static void drain(struct store *store, uint64_t now_ms)
{
	STAILQ_HEAD(, message) batch = STAILQ_HEAD_INITIALIZER(batch);
	struct message *m;
	uint64_t count;

	if (read(store->fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
	pthread_mutex_lock(&store->lock);
	STAILQ_CONCAT(&batch, &store->queue);
	pthread_mutex_unlock(&store->lock);
	while ((m = STAILQ_FIRST(&batch))) {
		STAILQ_REMOVE_HEAD(&batch, next);
		deliver(store, m, now_ms);
	}
}

static void on_synced(void *context, const struct store_reply *reply)
{
	struct store *store = context;

	if (reply->rc != ZOK) { /* a lost connection comes back as a session event; anything else is tried again */
		if (store->zk && zoo_state(store->zk) == ZOO_CONNECTED_STATE)
			store->resume_at = store->now_ms + STORE_SYNC_RETRY_MS;
		return;
	}
	store->connected = true;
	store->was_connected = true;
	store->events.connected(store->context);
}

/* The server may lag behind what an earlier session has seen: what is read after this is not older than now. */
static void synchronize(struct store *store)
{
	struct message *m = request(store, on_synced, store);

	sent(m, usable(store) ? zoo_async(store->zk, "/", on_string, m) : ZINVALIDSTATE);
}

void store_run(struct store *store, uint64_t now_ms)
{
	store->now_ms = now_ms;
	drain(store, now_ms);
	if (now_ms >= store->reopen_at && !store->is_replacing)
		start_replacing(store, now_ms);
	if (now_ms >= store->resume_at) {
		store->resume_at = UINT64_MAX;
		synchronize(store);
	}
}

uint64_t store_now(const struct store *store)
{
	return store->now_ms;
}

int store_fd(const struct store *store)
{
	return store->fd;
}

uint64_t store_deadline(const struct store *store)
{
	return store->resume_at < store->reopen_at ? store->resume_at : store->reopen_at;
}

bool store_is_connected(const struct store *store)
{
	return store->connected;
}

int64_t store_session(const struct store *store)
{
	return store->connected ? zoo_client_id(store->zk)->client_id : 0;
}

struct store *store_open(const char *hosts, const struct login *login, const struct store_events *events, void *context)
{
	struct store *store = store_alloc(sizeof(*store));
	int error;

	zoo_set_debug_level((ZooLogLevel)0); /* the client logs each attempt to connect; the caller logs changes */
	STAILQ_INIT(&store->queue);
	LIST_INIT(&store->open);
	pthread_mutex_init(&store->lock, NULL);
	store->hosts = store_copy(hosts);
	store->login = login;
	store->events = *events;
	store->context = context;
	store->resume_at = UINT64_MAX;
	store->reopen_at = UINT64_MAX;
	store->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	error = store->fd < 0 ? -errno : handle_init(store, &store->zk);
	if (!error)
		return store;
	if (store->fd >= 0)
		close(store->fd);
	pthread_mutex_destroy(&store->lock);
	free(store->hosts);
	free(store);
	errno = -error;
	return NULL;
}

/* Waits a moment for answers that are on their way: one that comes in while the C client closes, it leaks. */
static void settle(struct store *store)
{
	struct pollfd answer = {.fd = store->fd, .events = POLLIN};

	for (int waited = 0; waited < STORE_SETTLE_MS && has_open(store); waited += STORE_SETTLE_STEP_MS) {
		poll(&answer, 1, STORE_SETTLE_STEP_MS);
		drain(store, 0);
	}
}

void store_close(struct store *store)
{
	store->closing = true;
	settle(store);
	if (store->is_replacing) { /* waits while names are looked up */
		pthread_join(store->replacer, NULL);
		store->is_replacing = false;
		store->zk = store->next;
	}
	handle_close(store);
	/* Answers may ask again, and are answered at once with ZINVALIDSTATE: until nobody asks. */
	while (!STAILQ_EMPTY(&store->queue))
		drain(store, 0);
	close(store->fd);
	pthread_mutex_destroy(&store->lock);
	free(store->hosts);
	free(store);
}
