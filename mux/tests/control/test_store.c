/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a ZooKeeper client that takes them and never answers, not even when it is closed: each is answered all
 * the same, exactly once. The client's functions are those below instead of the library's.
 */
#include <poll.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../chunks.h"
#include "../../store.h"

enum { REQUESTS = 5, LATER_MS = 60000 };

static watcher_fn watcher;
static void *watcher_context;
static unsigned opened, closed;
static clientid_t client_id = {.client_id = 7};
static char handle; /* its address is the handle */

zhandle_t *zookeeper_init(const char *host, watcher_fn fn, int timeout, const clientid_t *id, void *context, int flags)
{
	(void)host, (void)timeout, (void)id, (void)flags;
	watcher = fn;
	watcher_context = context;
	opened++;
	return (zhandle_t *)&handle;
}

int zookeeper_close(zhandle_t *zk)
{
	(void)zk;
	closed++;
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, ZOO_CONNECTING_STATE, "", watcher_context);
	return ZOK;
}

int zoo_recv_timeout(zhandle_t *zk)
{
	assert_non_null(zk);
	return 1000;
}

int zoo_state(zhandle_t *zk)
{
	(void)zk;
	return ZOO_CONNECTED_STATE;
}

const clientid_t *zoo_client_id(zhandle_t *zk)
{
	(void)zk;
	return &client_id;
}

/* Answered, so that there is a session. */
int zoo_async(zhandle_t *zk, const char *path, string_completion_t answer, const void *data)
{
	(void)zk;
	answer(ZOK, path, data);
	return ZOK;
}

int zoo_awget(zhandle_t *zk, const char *path, watcher_fn fn, void *context, data_completion_t answer, const void *data)
{
	(void)zk, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return ZOK;
}

int zoo_awexists(zhandle_t *zk, const char *path, watcher_fn fn, void *context, stat_completion_t answer,
		 const void *data)
{
	(void)zk, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return ZOK;
}

int zoo_awget_children(zhandle_t *zk, const char *path, watcher_fn fn, void *context, strings_completion_t answer,
		       const void *data)
{
	(void)zk, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return ZOK;
}

int zoo_aset(zhandle_t *zk, const char *path, const char *text, int len, int version, stat_completion_t answer,
	     const void *data)
{
	(void)zk, (void)path, (void)text, (void)len, (void)version, (void)answer, (void)data;
	return ZOK;
}

/* Answers ask once more, as a feed may. */
struct asked {
	struct store *store;
	unsigned answers, again;
};

static void on_again(void *context, const struct store_reply *reply)
{
	struct asked *asked = context;

	assert_int_not_equal(reply->rc, ZOK);
	asked->again++;
}

static void on_answer(void *context, const struct store_reply *reply)
{
	struct asked *asked = context;

	assert_int_equal(reply->rc, ZCLOSING);
	asked->answers++;
	store_get(asked->store, "/again", false, on_again, asked);
}

static void ignore(void *context)
{
	(void)context;
}

static void ignore_path(void *context, const char *path)
{
	(void)context, (void)path;
}

static void ask_all(struct asked *asked)
{
	const struct store_events events = {ignore, ignore, ignore_path};
	uint64_t now = 0;

	opened = 0;
	closed = 0;
	asked->store = store_open("127.0.0.1:2181", NULL, &events, asked);
	assert_non_null(asked->store);
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, ZOO_CONNECTED_STATE, "", watcher_context);
	while (!store_is_connected(asked->store))
		store_run(asked->store, now++);
	store_get(asked->store, "/a", true, on_answer, asked);
	store_exists(asked->store, "/b", true, on_answer, asked);
	store_children(asked->store, "/c", true, on_answer, asked);
	store_set(asked->store, "/d", "text", on_answer, asked);
	chunks_read(asked->store, "/e", 100, on_answer, asked);
	store_run(asked->store, now);
	assert_int_equal(asked->answers, 0);
}

static void an_end_answers_everybody(void **state)
{
	struct asked asked = {0};

	(void)state;
	ask_all(&asked);
	store_close(asked.store);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, REQUESTS);
	assert_int_equal(closed, 1);
}

static void a_session_that_expired_answers_everybody(void **state)
{
	struct asked asked = {0};

	(void)state;
	ask_all(&asked);
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, ZOO_EXPIRED_SESSION_STATE, "", watcher_context);
	store_run(asked.store, LATER_MS);
	for (uint64_t now = 2 * LATER_MS; asked.answers < REQUESTS; now++) { /* a thread replaces the session */
		struct pollfd ready = {.fd = store_fd(asked.store), .events = POLLIN};

		store_run(asked.store, now);
		assert_int_not_equal(asked.answers < REQUESTS && poll(&ready, 1, 20000) == 0, 1);
	}
	assert_int_equal(opened, 2);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, 0); /* asked of the new session */
	store_close(asked.store);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, REQUESTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_end_answers_everybody),
	    cmocka_unit_test(a_session_that_expired_answers_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
