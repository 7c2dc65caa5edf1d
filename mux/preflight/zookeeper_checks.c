/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/zookeeper_checks.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>
#include <zookeeper/zookeeper.h>

#include "config/clock.h"
#include "control/zookeeper.h"
#include "hello/hello_peers.h"

/* Connects to the address over TCP. Returns a descriptor, which the caller closes, or -errno. */
static int connect_to(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(error);

	if (fd < 0)
		return -errno;
	if (connect(fd, address->ai_addr, address->ai_addrlen) && errno != EINPROGRESS)
		error = errno;
	else if (poll(&ready, 1, PREFLIGHT_CONNECT_MS) != 1)
		error = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (!error)
		return fd;
	close(fd);
	return -error;
}

/* Connects to HOST:PORT, IPv6 in brackets. Returns a descriptor, which the caller closes, or -1 and why. */
static int reach(const char *server, const char **why)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char host[OPTIONS_TEXT_MAX + 1] = "";
	int error, fd = -EADDRNOTAVAIL;
	uint16_t port;

	host_port_split(server, strlen(server), host, sizeof(host), &port); /* options.c has checked it */
	error = getaddrinfo(host, strrchr(server, ':') + 1, &hints, &found);
	if (error) {
		*why = gai_strerror(error);
		return -1;
	}
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
		fd = connect_to(at);
	freeaddrinfo(found);
	if (fd >= 0)
		return fd;
	*why = strerror(-fd);
	return -1;
}

/* Whether a server is read-only; ZooKeeper's command `isro` must be enabled. */
static bool is_read_only(const char *server)
{
	static const char word[4] = "isro";
	const char *why;
	char answer[2];
	int fd = reach(server, &why);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	bool is = fd >= 0 && send(fd, word, sizeof(word), MSG_NOSIGNAL) == sizeof(word) &&
		  poll(&ready, 1, PREFLIGHT_CONNECT_MS) == 1 && recv(fd, answer, sizeof(answer), 0) == sizeof(answer) &&
		  !memcmp(answer, "ro", sizeof(answer));

	if (fd >= 0)
		close(fd);
	return is;
}

/* Why there is no session although a server is reachable. */
static const char *why_none(const struct options *options)
{
	char list[OPTIONS_TEXT_MAX + 1], *at = list, *server;

	snprintf(list, sizeof(list), "%s", options->zookeeper);
	while ((server = strsep(&at, ",")))
		if (is_read_only(server))
			return "a server is read-only, without a quorum; a mux does not read from it, since the others "
			       "may be ahead";
	return "has the ensemble a quorum?";
}

/* Returns how many of the servers are reachable. */
static unsigned check_servers(struct preflight *preflight, const struct options *options)
{
	char list[OPTIONS_TEXT_MAX + 1], missing[200] = "", *at = list, *server;
	unsigned servers = 0, reached = 0;
	struct preflight_check *check;

	snprintf(list, sizeof(list), "%s", options->zookeeper);
	while ((server = strsep(&at, ","))) {
		const char *why;
		int fd = reach(server, &why);
		size_t len = strlen(missing);

		servers++;
		reached += fd >= 0;
		if (fd >= 0)
			close(fd);
		else
			snprintf(missing + len, sizeof(missing) - len, "%s%s (%s)", len ? ", " : "", server, why);
	}
	if (reached == servers)
		check =
		    preflight_add(preflight, "zookeeper", NULL, PREFLIGHT_OK, "all %u servers are reachable", servers);
	else
		check = preflight_add(preflight, "zookeeper", NULL, reached ? PREFLIGHT_WARN : PREFLIGHT_FAIL,
				      "%u of %u servers are reachable; not: %s", reached, servers, missing);
	check->may_come = true;
	return reached;
}

enum { ENTRY_TEXT_MAX = 1024 };

/* The list of services, or a node's text, as reported by the client's own thread. */
struct answer {
	bool is_there; /* atomic */
	int rc, services;
	char text[ENTRY_TEXT_MAX + 1];
};

static void on_services(int rc, const struct String_vector *names, const void *data)
{
	struct answer *answer = (struct answer *)(uintptr_t)data;

	answer->rc = rc;
	answer->services = names ? names->count : 0;
	__atomic_store_n(&answer->is_there, true, __ATOMIC_RELEASE);
}

static void on_text(int rc, const char *value, int len, const struct Stat *stat, const void *data)
{
	struct answer *answer = (struct answer *)(uintptr_t)data;

	(void)stat;
	answer->rc = rc;
	if (rc == ZOK && len > 0 && len <= ENTRY_TEXT_MAX)
		memcpy(answer->text, value, (size_t)len);
	__atomic_store_n(&answer->is_there, true, __ATOMIC_RELEASE);
}

static void pause_briefly(void)
{
	const struct timespec look = {.tv_nsec = 10000000};

	nanosleep(&look, NULL);
}

/* Whether a session is established within the remaining time. */
static bool begins(zhandle_t *zk, uint64_t end)
{
	while (zoo_state(zk) != ZOO_CONNECTED_STATE && !is_unrecoverable(zk) && clock_ms() < end)
		pause_briefly();
	return zoo_state(zk) == ZOO_CONNECTED_STATE;
}

/* Waits within the remaining time for the answer to a request. The client's synchronous calls could block for the whole
 * session timeout that the server granted. rc: the result of the function that sent it. */
static int await(int rc, uint64_t end, struct answer *answer)
{
	while (!rc && !__atomic_load_n(&answer->is_there, __ATOMIC_ACQUIRE)) {
		if (clock_ms() >= end)
			return ZOPERATIONTIMEOUT;
		pause_briefly();
	}
	return rc ? rc : answer->rc;
}

/* Whether the entry's login is that of --zookeeper-auth; an entry without one is of an open cluster. */
static bool has_login(const char *entry, const struct login *login)
{
	json_t *node = json_loads(entry, JSON_REJECT_DUPLICATES, NULL);
	const char *wanted = json_string_value(json_object_get(node, "login"));
	char own[LOGIN_DIGEST_MAX + 1] = "";
	bool is_right;

	if (login->count)
		login_digest(login->lines[LOGIN_OWN], own);
	is_right = !wanted || !strcmp(wanted, own);
	json_decref(node);
	return is_right;
}

/* Whether controllers know this mux, and by this login. */
static void check_entry(struct preflight *preflight, zhandle_t *zk, const struct options *options,
			struct answer *answer)
{
	uint64_t end = clock_ms() + PREFLIGHT_SESSION_MS;
	char path[OPTIONS_TEXT_MAX + HELLO_ID_MAX + 16];
	struct preflight_check *check;
	int rc;

	*answer = (struct answer){0};
	snprintf(path, sizeof(path), "%s/muxes/%s", options->root, options->id);
	rc = await(zoo_aget(zk, path, 0, on_text, answer), end, answer);
	if (rc == ZNONODE)
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL,
				      "mux '%s' is not added to this cluster, or was removed: fairleadctl mux add %s",
				      options->id, options->id);
	else if (rc != ZOK)
		check =
		    preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL, "%s can't be read: %s", path, zerror(rc));
	else if (!has_login(answer->text, &options->login))
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL,
				      "--zookeeper-auth lacks the login of mux '%s', which its second line has to be: "
				      "fairleadctl mux add %s --rotate makes a new one",
				      options->id, options->id);
	else
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_OK, "mux '%s' is added to this cluster",
				      options->id);
	check->may_come = true;
}

static void check_session(struct preflight *preflight, const struct options *options)
{
	uint64_t end = clock_ms() + PREFLIGHT_SESSION_MS;
	char path[OPTIONS_TEXT_MAX + 16];
	struct preflight_check *check;
	struct answer answer = {0}, entry; /* they outlive the handle */
	bool has_begun;
	zhandle_t *zk;
	char *servers = zk_servers(options->zookeeper);
	int rc;

	zoo_set_debug_level((ZooLogLevel)0);
	zk = zookeeper_init(servers, NULL, PREFLIGHT_SESSION_MS, NULL, NULL, 0);
	free(servers);
	if (!zk) {
		preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL, "can't be started: %s", strerror(errno))
		    ->may_come = true;
		return;
	}
	snprintf(path, sizeof(path), "%s/services", options->root);
	has_begun = begins(zk, end);
	login_add(&options->login, 0, zk);
	rc = has_begun ? await(zoo_aget_children(zk, path, 0, on_services, &answer), end, &answer) : ZCONNECTIONLOSS;
	if (rc == ZOK)
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_OK, "%s can be read: %d services", path,
				      answer.services);
	else if (rc == ZNONODE)
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_WARN,
				      "%s does not exist: no controller has created it yet, or --root is wrong", path);
	else if (rc == ZNOAUTH || rc == ZAUTHFAILED)
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL,
				      "%s can't be read by this mux (%s): --zookeeper-auth is missing or wrong", path,
				      zerror(rc));
	else if (has_begun)
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL, "%s is not read within %d s: %s",
				      path, PREFLIGHT_SESSION_MS / 1000, zerror(rc));
	else
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL,
				      "none within %d s although a server is reachable: %s; %s",
				      PREFLIGHT_SESSION_MS / 1000, zerror(rc), why_none(options));
	check->may_come = true;
	if (rc == ZOK)
		check_entry(preflight, zk, options, &entry);
	zookeeper_close(zk); /* ends its threads: from here on none of them writes the answer */
}

void preflight_zookeeper(struct preflight *preflight, const struct options *options)
{
	if (check_servers(preflight, options))
		check_session(preflight, options);
}
