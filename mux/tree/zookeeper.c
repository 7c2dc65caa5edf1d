/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/tree.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include "config/login.h"

static char digest_scheme[] = "digest";

enum message_kind { MESSAGE_REPLY, MESSAGE_WATCH, MESSAGE_SESSION, MESSAGE_REPLACED };

/* From ZooKeeper's threads to the control thread. A request's message is allocated with the request, so that its answer
 * never lacks one. */
struct message {
	STAILQ_ENTRY(message) next;
	LIST_ENTRY(message) open;
	struct tree *tree;
	enum message_kind kind;
	unsigned handle; /* number of the ZooKeeper handle that it came from */
	tree_fn fn;
	void *context;
	int rc; /* ZooKeeper's code of a reply; the state of a session */
	struct tree_reply reply;
	uint8_t *data; /* of the reply, as the next */
	char **children;
	char *path; /* of a watch */
};

/* The context of a ZooKeeper handle's watcher; one per handle, since events of a closed one may still be queued. */
struct handle {
	struct tree *tree;
	unsigned number;
	unsigned logins; /* lines of the login that it has */
};

struct tree {
	char *hosts;
	const struct login *login;
	int session_ms;
	struct tree_events events;
	void *context;
	zhandle_t *zhandle;
	struct handle handle; /* used by the replacer while it runs */
	pthread_t replacer;
	bool is_replacing;
	zhandle_t *next; /* the handle that the replacer closes, then the one that it opened */
	bool connected;
	bool login_refused; /* and no session has begun since */
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

void *tree_alloc(size_t size)
{
	void *p = size <= PTRDIFF_MAX ? calloc(1, size + !size) : NULL;

	if (!p) {
		fprintf(stderr, "mux event=out_of_memory bytes=%zu\n", size);
		abort();
	}
	return p;
}

/* For the port the C client takes what follows the last colon, and it looks up all before that: no brackets of IPv6. */
static char *servers_of(const char *hosts)
{
	char *servers = tree_alloc(strlen(hosts) + 1), *to = servers;

	for (const char *from = hosts; *from; from++)
		if (*from != '[' && *from != ']')
			*to++ = *from;
	return servers;
}

uint32_t tree_jitter(uint32_t n)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint32_t)getpid() * 2654435761u; /* early in boot: pids still differ from mux to mux */
	return r % n;
}

static void message_free(struct message *m)
{
	for (int i = 0; i < m->reply.child_count; i++)
		free(m->children[i]);
	free(m->children);
	free(m->data);
	free(m->path);
	free(m);
}

/* Any thread. */
static void push(struct message *m)
{
	struct tree *tree = m->tree;
	uint64_t one = 1;

	pthread_mutex_lock(&tree->lock);
	if (m->kind == MESSAGE_REPLY)
		LIST_REMOVE(m, open);
	STAILQ_INSERT_TAIL(&tree->queue, m, next);
	pthread_mutex_unlock(&tree->lock);
	if (write(tree->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
}

static void on_watch(zhandle_t *zhandle, int type, int state, const char *path, void *context)
{
	const struct handle *handle = context;
	struct message *m;

	(void)zhandle;
	if (type == ZOO_NOTWATCHING_EVENT)
		return;
	m = tree_alloc(sizeof(*m));
	m->tree = handle->tree;
	m->handle = handle->number;
	m->kind = type == ZOO_SESSION_EVENT ? MESSAGE_SESSION : MESSAGE_WATCH;
	m->rc = state;
	m->path = tree_copy(path ? path : "");
	push(m);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	m->rc = rc;
	if (rc == ZOK && stat) {
		m->reply.owner = stat->ephemeralOwner;
		m->reply.written_ms = stat->mtime;
	}
	push(m);
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	if (rc == ZOK) {
		m->reply.len = len > 0 ? (size_t)len : 0;
		m->reply.data = m->data = tree_alloc(m->reply.len + 1); /* text: JSON, numbers */
		if (m->reply.len)
			memcpy(m->data, value, m->reply.len);
	}
	on_stat(rc, stat, data);
}

static void on_string(int rc, const char *value, const void *data)
{
	(void)value;
	on_stat(rc, NULL, data);
}

static void on_strings(int rc, const struct String_vector *strings, const void *data)
{
	struct message *m = (struct message *)(uintptr_t)data;

	if (rc == ZOK && strings) {
		m->reply.children = m->children = tree_alloc(sizeof(*m->children) * (size_t)strings->count);
		m->reply.child_count = strings->count;
		for (int i = 0; i < strings->count; i++)
			m->children[i] = tree_copy(strings->data[i]);
	}
	on_stat(rc, NULL, data);
}

static enum tree_result result_of(int rc)
{
	static const struct {
		int rc;
		enum tree_result result;
	} known[] = {{ZOK, TREE_OK},
		     {ZNONODE, TREE_MISSING},
		     {ZNODEEXISTS, TREE_EXISTS},
		     {ZNOAUTH, TREE_DENIED},
		     {ZAUTHFAILED, TREE_LOGIN_REFUSED}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].rc == rc)
			return known[i].result;
	return TREE_FAILED;
}

static struct message *request(struct tree *tree, tree_fn fn, void *context)
{
	struct message *m = tree_alloc(sizeof(*m));

	m->tree = tree;
	m->kind = MESSAGE_REPLY;
	m->fn = fn;
	m->context = context;
	pthread_mutex_lock(&tree->lock);
	LIST_INSERT_HEAD(&tree->open, m, open);
	pthread_mutex_unlock(&tree->lock);
	return m;
}

static bool has_open(struct tree *tree)
{
	bool open;

	pthread_mutex_lock(&tree->lock);
	open = !LIST_EMPTY(&tree->open);
	pthread_mutex_unlock(&tree->lock);
	return open;
}

/* The handle for requests, NULL if there is none or it is about to be closed. */
static zhandle_t *usable(const struct tree *tree)
{
	return tree->closing ? NULL : tree->zhandle;
}

/* rc: the result of the function that sent a request. If it failed, the request is answered here. */
static void sent(struct message *m, int rc)
{
	if (rc == ZOK)
		return;
	m->rc = rc;
	push(m);
}

void tree_get(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	struct message *m = request(tree, fn, context);

	sent(m, usable(tree) ? zoo_awget(tree->zhandle, path, watch ? on_watch : NULL, &tree->handle, on_data, m)
			     : ZINVALIDSTATE);
}

void tree_exists(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	struct message *m = request(tree, fn, context);

	sent(m, usable(tree) ? zoo_awexists(tree->zhandle, path, watch ? on_watch : NULL, &tree->handle, on_stat, m)
			     : ZINVALIDSTATE);
}

void tree_children(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	struct message *m = request(tree, fn, context);

	sent(m, usable(tree)
		    ? zoo_awget_children(tree->zhandle, path, watch ? on_watch : NULL, &tree->handle, on_strings, m)
		    : ZINVALIDSTATE);
}

void tree_set(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context)
{
	struct message *m = request(tree, fn, context);

	sent(m, usable(tree) ? zoo_aset(tree->zhandle, path, text, (int)strlen(text), -1, on_stat, m) : ZINVALIDSTATE);
}

void tree_create_ephemeral(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context)
{
	struct message *m = request(tree, fn, context);
	struct ACL entries[] = {{ZOO_PERM_READ, {digest_scheme, NULL}}, {ZOO_PERM_ALL, {digest_scheme, NULL}}};
	const struct ACL_vector acl = {2, entries}, *used = &ZOO_OPEN_ACL_UNSAFE;

	if (tree->login && tree->login->count) {
		entries[0].id.id = (char *)(uintptr_t)tree->login->digests[LOGIN_READERS];
		entries[1].id.id = (char *)(uintptr_t)tree->login->digests[LOGIN_OWN];
		used = &acl;
	}
	sent(m, usable(tree)
		    ? zoo_acreate(tree->zhandle, path, text, (int)strlen(text), used, ZOO_EPHEMERAL, on_string, m)
		    : ZINVALIDSTATE);
}

/* Starts a session. Waits for name resolution. Returns 0, or -errno if the servers' names can't be resolved. */
static int handle_init(struct tree *tree, zhandle_t **zhandle)
{
	tree->handle.tree = tree;
	tree->handle.number++;
	tree->handle.logins = 0;
	errno = 0;
	*zhandle = zookeeper_init(tree->hosts, on_watch, tree->session_ms, NULL, &tree->handle, 0);
	if (!*zhandle)
		return errno ? -errno : -EINVAL;
	/* By default the client resolves the servers' names whenever its socket is ready: two thirds of what a small
	 * delta costs a mux, and it blocks on the resolver. With -1 it resolves them only after a lost connection. */
	zoo_set_servers_resolution_delay(*zhandle, -1);
	return 0;
}

static void answer_open(struct tree *tree)
{
	struct message *m;

	while ((m = LIST_FIRST(&tree->open))) {
		m->rc = ZCLOSING;
		push(m);
	}
}

/* The C client can lose an answer that arrives while it closes: requests still open after that are answered here. */
static void handle_close(struct tree *tree)
{
	if (tree->zhandle)
		zookeeper_close(tree->zhandle);
	tree->zhandle = NULL;
	tree->handle.number++; /* session events during the close are ignored */
	answer_open(tree);
}

/*
 * A separate thread ends the old session and starts the new one: closing waits for the client's threads, and opening
 * for name resolution; the control thread waits for neither.
 */
static void *replace(void *argument)
{
	struct tree *tree = argument;
	struct message *m = tree_alloc(sizeof(*m));

	m->tree = tree;
	m->kind = MESSAGE_REPLACED;
	if (tree->next)
		zookeeper_close(tree->next);
	tree->handle.number++; /* the old session's events are ignored */
	m->rc = handle_init(tree, &tree->next);
	push(m);
	return NULL;
}

static void reopen_later(struct tree *tree, uint64_t now_ms)
{
	tree->reopen_at = now_ms + TREE_REOPEN_MIN_MS + tree_jitter(TREE_REOPEN_JITTER_MS);
}

static void start_replacing(struct tree *tree, uint64_t now_ms)
{
	tree->reopen_at = UINT64_MAX;
	tree->next = tree->zhandle;
	tree->zhandle = NULL;
	tree->is_replacing = !pthread_create(&tree->replacer, NULL, replace, tree);
	if (tree->is_replacing)
		return;
	tree->zhandle = tree->next; /* no thread is running */
	reopen_later(tree, now_ms);
}

static void disconnect(struct tree *tree)
{
	tree->resume_at = UINT64_MAX;
	if (!tree->connected)
		return;
	tree->connected = false;
	tree->events.disconnected(tree->context);
}

/* For now and for each reconnect of the client, which takes no login between two attempts to connect. */
static void log_in(struct tree *tree)
{
	const struct login *login = tree->login;

	for (unsigned *added = &tree->handle.logins; login && *added < login->count; ++*added) {
		const char *line = login->lines[*added];

		if (zoo_add_auth(tree->zhandle, digest_scheme, line, (int)strlen(line), NULL, NULL) != ZOK)
			return;
	}
}

static void session_changed(struct tree *tree, int state, uint64_t now_ms)
{
	if (state == ZOO_CONNECTED_STATE || state == ZOO_AUTH_FAILED_STATE)
		tree->login_refused = state == ZOO_AUTH_FAILED_STATE;
	if (state == ZOO_CONNECTED_STATE) {
		log_in(tree);
		tree->reopen_at = UINT64_MAX;
		tree->resume_at = tree->was_connected ? now_ms + tree_jitter(TREE_RESUME_JITTER_MS) : now_ms;
		return;
	}
	if (tree->was_connected && tree->reopen_at == UINT64_MAX)
		tree->reopen_at = now_ms + TREE_ABANDON_SESSIONS * (uint64_t)zoo_recv_timeout(tree->zhandle) +
				  tree_jitter(TREE_REOPEN_JITTER_MS);
	disconnect(tree);
	if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE)
		reopen_later(tree, now_ms);
}

static void replaced(struct tree *tree, int error, uint64_t now_ms)
{
	int state;

	pthread_join(tree->replacer, NULL);
	tree->is_replacing = false;
	answer_open(tree); /* requests of the old handle */
	tree->zhandle = tree->next;
	if (error) {
		reopen_later(tree, now_ms);
		return;
	}
	/* its events were ignored while the replacer had it */
	state = zoo_state(tree->zhandle);
	if (state == ZOO_CONNECTED_STATE || state == ZOO_AUTH_FAILED_STATE)
		session_changed(tree, state, now_ms);
}

static void deliver(struct tree *tree, struct message *m, uint64_t now_ms)
{
	bool is_current = !tree->is_replacing && m->handle == tree->handle.number;
	int rc = tree->closing ? ZCLOSING : m->rc;

	switch (m->kind) {
	case MESSAGE_REPLY:
		m->reply.result = result_of(rc);
		m->reply.error = zerror(rc);
		m->fn(m->context, &m->reply);
		break;
	case MESSAGE_WATCH:
		if (is_current)
			tree->events.changed(tree->context, m->path);
		break;
	case MESSAGE_SESSION:
		if (is_current)
			session_changed(tree, m->rc, now_ms);
		break;
	case MESSAGE_REPLACED:
		if (tree->is_replacing) /* not joined at the end already */
			replaced(tree, m->rc, now_ms);
		break;
	}
	message_free(m);
}

/* Delivers what is queued now. Messages queued meanwhile wait for the next call, so that the caller's loop goes on. */
static void drain(struct tree *tree, uint64_t now_ms)
{
	STAILQ_HEAD(, message) batch = STAILQ_HEAD_INITIALIZER(batch);
	struct message *m;
	uint64_t count;

	if (read(tree->fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		fprintf(stderr, "mux event=eventfd_failed error=\"%s\"\n", strerror(errno));
	pthread_mutex_lock(&tree->lock);
	STAILQ_CONCAT(&batch, &tree->queue);
	pthread_mutex_unlock(&tree->lock);
	while ((m = STAILQ_FIRST(&batch))) {
		STAILQ_REMOVE_HEAD(&batch, next);
		deliver(tree, m, now_ms);
	}
}

static void on_synced(void *context, const struct tree_reply *reply)
{
	struct tree *tree = context;

	if (reply->result !=
	    TREE_OK) { /* a lost connection is handled by its session event; anything else is retried */
		if (tree_has_session(tree))
			tree->resume_at = tree->now_ms + TREE_SYNC_RETRY_MS;
		return;
	}
	tree->connected = true;
	tree->was_connected = true;
	tree->events.connected(tree->context);
}

/* The server may lag behind what an earlier session has seen; reads after this are at least as new as now. */
static void synchronize(struct tree *tree)
{
	struct message *m = request(tree, on_synced, tree);

	sent(m, usable(tree) ? zoo_async(tree->zhandle, "/", on_string, m) : ZINVALIDSTATE);
}

void tree_run(struct tree *tree, uint64_t now_ms)
{
	tree->now_ms = now_ms;
	drain(tree, now_ms);
	if (now_ms >= tree->reopen_at && !tree->is_replacing)
		start_replacing(tree, now_ms);
	if (now_ms >= tree->resume_at) {
		tree->resume_at = UINT64_MAX;
		synchronize(tree);
	}
}

uint64_t tree_now(const struct tree *tree)
{
	return tree->now_ms;
}

int tree_fd(const struct tree *tree)
{
	return tree->fd;
}

uint64_t tree_deadline(const struct tree *tree)
{
	return tree->resume_at < tree->reopen_at ? tree->resume_at : tree->reopen_at;
}

bool tree_has_session(const struct tree *tree)
{
	return tree->zhandle && zoo_state(tree->zhandle) == ZOO_CONNECTED_STATE;
}

bool tree_is_login_refused(const struct tree *tree)
{
	return tree->login_refused;
}

bool tree_is_connected(const struct tree *tree)
{
	return tree->connected;
}

int64_t tree_session(const struct tree *tree)
{
	return tree->connected ? zoo_client_id(tree->zhandle)->client_id : 0;
}

int tree_session_ms(const struct tree *tree)
{
	return tree->connected ? zoo_recv_timeout(tree->zhandle) : tree->session_ms;
}

struct tree *tree_open(const char *hosts, const struct login *login, int session_ms, const struct tree_events *events,
		       void *context)
{
	struct tree *tree = tree_alloc(sizeof(*tree));
	int error;

	zoo_set_debug_level((ZooLogLevel)0); /* the client logs each attempt to connect; the caller logs changes */
	STAILQ_INIT(&tree->queue);
	LIST_INIT(&tree->open);
	pthread_mutex_init(&tree->lock, NULL);
	tree->hosts = servers_of(hosts);
	tree->login = login;
	tree->session_ms = session_ms;
	tree->events = *events;
	tree->context = context;
	tree->resume_at = UINT64_MAX;
	tree->reopen_at = UINT64_MAX;
	tree->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	error = tree->fd < 0 ? -errno : handle_init(tree, &tree->zhandle);
	if (!error)
		return tree;
	if (tree->fd >= 0)
		close(tree->fd);
	pthread_mutex_destroy(&tree->lock);
	free(tree->hosts);
	free(tree);
	errno = -error;
	return NULL;
}

/* Waits a moment for answers on their way: the C client leaks one that arrives while it closes. */
static void settle(struct tree *tree)
{
	struct pollfd answer = {.fd = tree->fd, .events = POLLIN};

	for (int waited = 0; waited < TREE_SETTLE_MS && has_open(tree); waited += TREE_SETTLE_STEP_MS) {
		poll(&answer, 1, TREE_SETTLE_STEP_MS);
		drain(tree, 0);
	}
}

void tree_close(struct tree *tree)
{
	tree->closing = true;
	settle(tree);
	if (tree->is_replacing) { /* waits while names are looked up */
		pthread_join(tree->replacer, NULL);
		tree->is_replacing = false;
		tree->zhandle = tree->next;
	}
	handle_close(tree);
	/* Callbacks may send requests, which are answered at once with ZINVALIDSTATE: repeat until none does. */
	while (!STAILQ_EMPTY(&tree->queue))
		drain(tree, 0);
	close(tree->fd);
	pthread_mutex_destroy(&tree->lock);
	free(tree->hosts);
	free(tree);
}
