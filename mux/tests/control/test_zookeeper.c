/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a ZooKeeper client that accepts them and never answers, not even when it is closed: each still gets
 * exactly one answer. And many muxes that lose ZooKeeper in the same millisecond: when each of them returns. And a
 * client that takes no login between two attempts to connect. The functions below replace the library's, and the
 * kernel's random numbers, which are drawn from a seed.
 */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <zookeeper/zookeeper.h>

#include "tree/chunks.h"
#include "tree/tree.h"

enum { REQUESTS = 5, LATER_MS = 60000, MUXES = 200, SESSION_MS = 1000 };

static watcher_fn watcher;
static void *watcher_context;
static unsigned opened, closed;
static clientid_t client_id = {.client_id = 7};
static char handle;     /* its address is the handle */
static bool is_between; /* two attempts to connect */
static unsigned logins; /* lines that the client has taken */

static uint64_t random_state;

/* SplitMix64. */
ssize_t getrandom(void *out, size_t len, unsigned flags)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	(void)flags;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	z ^= z >> 31;
	assert_true(len <= sizeof(z));
	memcpy(out, &z, len);
	return (ssize_t)len;
}

static char servers[128]; /* that the latest session was opened with */

zhandle_t *zookeeper_init(const char *host, watcher_fn fn, int timeout, const clientid_t *id, void *context, int flags)
{
	(void)timeout, (void)id, (void)flags;
	snprintf(servers, sizeof(servers), "%s", host);
	watcher = fn;
	watcher_context = context;
	opened++;
	return (zhandle_t *)&handle;
}

int zookeeper_close(zhandle_t *zhandle)
{
	(void)zhandle;
	closed++;
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, ZOO_CONNECTING_STATE, "", watcher_context);
	return ZOK;
}

int zoo_set_servers_resolution_delay(zhandle_t *zhandle, int delay_ms)
{
	(void)zhandle, (void)delay_ms;
	return ZOK;
}

int zoo_recv_timeout(zhandle_t *zhandle)
{
	assert_non_null(zhandle);
	return SESSION_MS;
}

int zoo_state(zhandle_t *zhandle)
{
	(void)zhandle;
	return is_between ? 0 : ZOO_CONNECTED_STATE;
}

int zoo_add_auth(zhandle_t *zhandle, const char *scheme, const char *line, int len, void_completion_t answer,
		 const void *data)
{
	(void)zhandle, (void)answer, (void)data;
	assert_string_equal(scheme, "digest");
	assert_int_equal(strlen(line), len);
	if (is_between)
		return ZINVALIDSTATE;
	logins++;
	return ZOK;
}

const clientid_t *zoo_client_id(zhandle_t *zhandle)
{
	(void)zhandle;
	return &client_id;
}

/* Answered, so that there is a session. */
int zoo_async(zhandle_t *zhandle, const char *path, string_completion_t answer, const void *data)
{
	(void)zhandle;
	answer(ZOK, path, data);
	return ZOK;
}

static int refusal = ZOK; /* of the next reads: they are not sent */

int zoo_awget(zhandle_t *zhandle, const char *path, watcher_fn fn, void *context, data_completion_t answer,
	      const void *data)
{
	(void)zhandle, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return refusal;
}

int zoo_awexists(zhandle_t *zhandle, const char *path, watcher_fn fn, void *context, stat_completion_t answer,
		 const void *data)
{
	(void)zhandle, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return ZOK;
}

int zoo_awget_children(zhandle_t *zhandle, const char *path, watcher_fn fn, void *context, strings_completion_t answer,
		       const void *data)
{
	(void)zhandle, (void)path, (void)fn, (void)context, (void)answer, (void)data;
	return ZOK;
}

int zoo_aset(zhandle_t *zhandle, const char *path, const char *text, int len, int version, stat_completion_t answer,
	     const void *data)
{
	(void)zhandle, (void)path, (void)text, (void)len, (void)version, (void)answer, (void)data;
	return ZOK;
}

/* Each answer sends another request, as service_sync.c may. */
struct asked {
	struct tree *tree;
	unsigned answers, again;
};

static void on_again(void *context, const struct tree_reply *reply)
{
	struct asked *asked = context;

	assert_int_equal(reply->result, TREE_FAILED);
	asked->again++;
}

static void on_answer(void *context, const struct tree_reply *reply)
{
	struct asked *asked = context;

	assert_int_equal(reply->result, TREE_FAILED);
	if (reply->error) /* not of chunks */
		assert_string_equal(reply->error, zerror(ZCLOSING));
	asked->answers++;
	tree_get(asked->tree, "/again", false, on_again, asked);
}

static void ignore(void *context)
{
	(void)context;
}

static void ignore_path(void *context, const char *path)
{
	(void)context, (void)path;
}

/* A mux with a session; the next event goes to its watcher with watcher_context. */
static struct tree *connected_mux(void)
{
	const struct tree_events events = {ignore, ignore, ignore_path};
	struct tree *tree = tree_open("127.0.0.1:2181", NULL, TREE_SESSION_MS, &events, NULL);
	uint64_t now = 0;

	assert_non_null(tree);
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, ZOO_CONNECTED_STATE, "", watcher_context);
	while (!tree_is_connected(tree))
		tree_run(tree, now++);
	return tree;
}

static void ask_all(struct asked *asked)
{
	opened = 0;
	closed = 0;
	asked->tree = connected_mux();
	tree_get(asked->tree, "/a", true, on_answer, asked);
	tree_exists(asked->tree, "/b", true, on_answer, asked);
	tree_children(asked->tree, "/c", true, on_answer, asked);
	tree_set(asked->tree, "/d", "text", on_answer, asked);
	chunks_read(asked->tree, "/e", 100, on_answer, asked);
	tree_run(asked->tree, tree_now(asked->tree));
	assert_int_equal(asked->answers, 0);
}

static void closing_answers_all(void **state)
{
	struct asked asked = {0};

	(void)state;
	ask_all(&asked);
	tree_close(asked.tree);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, REQUESTS);
	assert_int_equal(closed, 1);
}

/* Reports an event of the session; a new session follows. */
static void end_session(int told)
{
	struct asked asked = {0};

	ask_all(&asked);
	watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, told, "", watcher_context);
	tree_run(asked.tree, LATER_MS);
	for (uint64_t now = 2 * LATER_MS; asked.answers < REQUESTS; now++) { /* a thread replaces the session */
		struct pollfd ready = {.fd = tree_fd(asked.tree), .events = POLLIN};

		tree_run(asked.tree, now);
		assert_int_not_equal(asked.answers < REQUESTS && poll(&ready, 1, 20000) == 0, 1);
	}
	assert_int_equal(opened, 2);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, 0); /* sent in the new session */
	tree_close(asked.tree);
	assert_int_equal(asked.answers, REQUESTS);
	assert_int_equal(asked.again, REQUESTS);
}

static void an_expired_session_answers_all(void **state)
{
	(void)state;
	end_session(ZOO_EXPIRED_SESSION_STATE);
}

static void a_rejected_login_answers_all(void **state)
{
	(void)state;
	end_session(ZOO_AUTH_FAILED_STATE);
}

/* From the last event until it reads or opens a session: at least `from` and less than `to` ms. */
static void muxes_spread(const int *told, unsigned count, uint32_t from, uint32_t to)
{
	unsigned at[TREE_ABANDON_SESSIONS * SESSION_MS + TREE_REOPEN_JITTER_MS] = {0}, most = 0;
	uint32_t first = UINT32_MAX, last = 0;

	random_state = 20261122;
	for (unsigned mux = 0; mux < MUXES; mux++) {
		struct tree *tree = connected_mux();
		uint64_t wait;

		for (unsigned i = 0; i < count; i++) {
			watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, told[i], "", watcher_context);
			tree_run(tree, LATER_MS);
		}
		wait = tree_deadline(tree) == UINT64_MAX ? 0 /* it reads already */ : tree_deadline(tree) - LATER_MS;
		tree_close(tree);
		if (wait < from || wait >= to)
			fail_msg("seed 20261122, mux %u waits %" PRIu64 " ms; allowed: %u..%u", mux, wait, from,
				 to - 1);
		first = wait < first ? (uint32_t)wait : first;
		last = wait > last ? (uint32_t)wait : last;
		most = ++at[wait] > most ? at[wait] : most;
	}
	/* drawn evenly from the whole range; the seed is fixed, so the result is always the same */
	if (last - first < (to - from) * 9 / 10 || most > 5 * MUXES / (to - from) + 5)
		fail_msg("seed 20261122: %u muxes are back within %u ms of %u, up to %u of them in one", MUXES,
			 last - first, to - from, most);
}

static void muxes_do_not_return_at_one_instant(void **state)
{
	const int broken[] = {ZOO_CONNECTING_STATE, ZOO_CONNECTED_STATE};

	(void)state;
	muxes_spread(broken, 2, 0, TREE_RESUME_JITTER_MS);
	muxes_spread(broken, 1, TREE_ABANDON_SESSIONS * SESSION_MS,
		     TREE_ABANDON_SESSIONS * SESSION_MS + TREE_REOPEN_JITTER_MS);
	muxes_spread(&ZOO_EXPIRED_SESSION_STATE, 1, TREE_REOPEN_MIN_MS, TREE_REOPEN_MIN_MS + TREE_REOPEN_JITTER_MS);
	muxes_spread(&ZOO_AUTH_FAILED_STATE, 1, TREE_REOPEN_MIN_MS, TREE_REOPEN_MIN_MS + TREE_REOPEN_JITTER_MS);
}

/* The C client takes an IPv6 address without brackets, and nothing else. */
static void servers_lose_their_brackets(void **state)
{
	static const char *const cases[][2] = {
	    {"10.1.0.5:2181", "10.1.0.5:2181"},
	    {"[2001:db8:1::5]:2181", "2001:db8:1::5:2181"},
	    {"zk1:2181,[::1]:12181,10.1.0.5:2181", "zk1:2181,::1:12181,10.1.0.5:2181"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tree_events none = {0};
		struct tree *tree = tree_open(cases[i][0], NULL, TREE_SESSION_MS, &none, NULL);

		assert_non_null(tree);
		assert_string_equal(servers, cases[i][1]);
		tree_close(tree);
	}
}

static void on_code(void *context, const struct tree_reply *reply)
{
	struct tree_reply *out = context;

	*out = *reply;
}

/* Callers know these apart; all others are failures, which say of the node nothing. */
static void codes_become_results(void **state)
{
	static const struct {
		int code;
		enum tree_result result;
	} rows[] = {
	    {ZNONODE, TREE_MISSING},           {ZNODEEXISTS, TREE_EXISTS},       {ZNOAUTH, TREE_DENIED},
	    {ZAUTHFAILED, TREE_LOGIN_REFUSED}, {ZCONNECTIONLOSS, TREE_FAILED},   {ZOPERATIONTIMEOUT, TREE_FAILED},
	    {ZSESSIONEXPIRED, TREE_FAILED},    {ZINVALIDSTATE, TREE_FAILED},     {ZCLOSING, TREE_FAILED},
	    {ZBADARGUMENTS, TREE_FAILED},      {ZMARSHALLINGERROR, TREE_FAILED}, {ZSYSTEMERROR, TREE_FAILED},
	};
	struct tree *tree = connected_mux();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree_reply reply = {0};

		refusal = rows[i].code;
		tree_get(tree, "/a", false, on_code, &reply);
		tree_run(tree, tree_now(tree));
		if (reply.result != rows[i].result || !reply.error || strcmp(reply.error, zerror(rows[i].code)) != 0)
			fail_msg("%s: result %d, error '%s'", zerror(rows[i].code), reply.result,
				 reply.error ? reply.error : "none");
	}
	refusal = ZOK;
	tree_close(tree);
}

static void is_logged_in(void *context)
{
	assert_int_equal(logins, *(const unsigned *)context);
}

/* Reports these, and runs until there is a session. */
static void session_events(struct tree *tree, const int *told, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		watcher((zhandle_t *)&handle, ZOO_SESSION_EVENT, told[i], "", watcher_context);
	do {
		struct pollfd ready = {.fd = tree_fd(tree), .events = POLLIN};

		tree_run(tree, tree_now(tree) + LATER_MS);
		poll(&ready, 1, 1); /* a thread replaces an expired session */
	} while (!tree_is_connected(tree) && !is_between);
}

static void the_login_waits_for_a_connection(void **state)
{
	const int broken[] = {ZOO_CONNECTED_STATE, ZOO_CONNECTING_STATE};
	const int connects[] = {ZOO_CONNECTING_STATE, ZOO_CONNECTED_STATE};
	const struct tree_events events = {is_logged_in, ignore, ignore_path};
	struct login login = {.count = 2, .lines = {"readers:the-readers-secret", "mux-mux1:the-own-secret"}};
	unsigned expected = 2;
	struct tree *tree;

	(void)state;
	logins = 0;
	is_between = true; /* the first attempt has failed already */
	tree = tree_open("127.0.0.1:2181", &login, TREE_SESSION_MS, &events, &expected);
	assert_non_null(tree);
	session_events(tree, broken, 2); /* it ends before it is known */
	assert_int_equal(logins, 0);
	is_between = false;
	session_events(tree, connects, 2);
	session_events(tree, connects, 2); /* the client logs in again by itself */
	assert_int_equal(logins, 2);
	expected = 4; /* but not in another session */
	session_events(tree, &ZOO_EXPIRED_SESSION_STATE, 1);
	assert_int_equal(logins, 4);
	tree_close(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(closing_answers_all),
	    cmocka_unit_test(codes_become_results),
	    cmocka_unit_test(servers_lose_their_brackets),
	    cmocka_unit_test(an_expired_session_answers_all),
	    cmocka_unit_test(a_rejected_login_answers_all),
	    cmocka_unit_test(muxes_do_not_return_at_one_instant),
	    cmocka_unit_test(the_login_waits_for_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
