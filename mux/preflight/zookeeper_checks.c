/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/report.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "config/clock.h"
#include "hello/hello_peers.h"
#include "tree/tree.h"

enum {
	PREFLIGHT_CONNECT_MS = 2000, /* for a TCP connection to each server */
	PREFLIGHT_SESSION_MS = 5000, /* for a session and the reads in it */
};

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

/* What was read in a session, within a time. */
struct reading {
	struct tree *tree;
	uint64_t end;
	bool is_there;
	enum tree_result result;
	const char *error; /* why it is not there */
	int children;
	char text[ENTRY_TEXT_MAX + 1];
};

static void on_reply(void *context, const struct tree_reply *reply)
{
	struct reading *reading = context;

	reading->is_there = true;
	reading->result = reply->result;
	reading->error = reply->error;
	reading->children = reply->child_count;
	if (reply->len <= ENTRY_TEXT_MAX)
		snprintf(reading->text, sizeof(reading->text), "%.*s", (int)reply->len, (const char *)reply->data);
}

static void on_session(void *context)
{
	(void)context;
}

static void on_change(void *context, const char *path)
{
	(void)context, (void)path;
}

/* Runs the session until what is awaited is there, or until the end. */
static void await(struct reading *reading, bool (*is_there)(const struct reading *reading))
{
	for (uint64_t now = clock_ms(); !is_there(reading) && now < reading->end; now = clock_ms()) {
		struct pollfd ready = {.fd = tree_fd(reading->tree), .events = POLLIN};
		uint64_t due = tree_deadline(reading->tree), at = due < reading->end ? due : reading->end;

		poll(&ready, 1, at > now ? (int)(at - now) : 0);
		tree_run(reading->tree, clock_ms());
	}
}

static bool has_begun(const struct reading *reading)
{
	return tree_is_connected(reading->tree) || tree_is_login_refused(reading->tree);
}

static bool is_answered(const struct reading *reading)
{
	return reading->is_there;
}

static void read_node(struct reading *reading, const char *path, bool is_list)
{
	reading->is_there = false;
	reading->result = TREE_FAILED;
	reading->error = "operation timeout";
	if (is_list)
		tree_children(reading->tree, path, false, on_reply, reading);
	else
		tree_get(reading->tree, path, false, on_reply, reading);
	await(reading, is_answered);
}

/* Whether the entry's login is that of --zookeeper-auth; an entry without one is of an open cluster. */
static bool has_login(const char *entry, const struct login *login)
{
	json_t *node = json_loads(entry, JSON_REJECT_DUPLICATES, NULL);
	const char *wanted = json_string_value(json_object_get(node, "login"));
	bool is_right = !wanted || !strcmp(wanted, login->digests[LOGIN_OWN]);

	json_decref(node);
	return is_right;
}

/* Whether controllers know this mux, and by this login. */
static void check_entry(struct preflight *preflight, struct reading *reading, const struct options *options)
{
	char path[OPTIONS_TEXT_MAX + HELLO_ID_MAX + 16];
	struct preflight_check *check;

	reading->end = clock_ms() + PREFLIGHT_SESSION_MS;
	snprintf(path, sizeof(path), "%s/muxes/%s", options->root, options->id);
	read_node(reading, path, false);
	if (reading->result == TREE_MISSING)
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL,
				      "mux '%s' is not added to this cluster, or was removed: fairleadctl mux add %s",
				      options->id, options->id);
	else if (reading->result != TREE_OK)
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL, "%s can't be read: %s", path,
				      reading->error);
	else if (!has_login(reading->text, &options->login))
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_FAIL,
				      "--zookeeper-auth lacks the login of mux '%s', which its second line has to be: "
				      "fairleadctl mux add %s --rotate makes a new one",
				      options->id, options->id);
	else
		check = preflight_add(preflight, "added", NULL, PREFLIGHT_OK, "mux '%s' is added to this cluster",
				      options->id);
	check->may_come = true;
}

static struct preflight_check *check_services(struct preflight *preflight, struct reading *reading, const char *path)
{
	read_node(reading, path, true);
	switch (reading->result) {
	case TREE_OK:
		return preflight_add(preflight, "session", NULL, PREFLIGHT_OK, "%s can be read: %d services", path,
				     reading->children);
	case TREE_MISSING:
		return preflight_add(preflight, "session", NULL, PREFLIGHT_WARN,
				     "%s does not exist: no controller has created it yet, or --root is wrong", path);
	case TREE_DENIED:
	case TREE_LOGIN_REFUSED:
		return preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL,
				     "%s can't be read by this mux (%s): --zookeeper-auth is missing or wrong", path,
				     reading->error);
	default:
		return preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL, "%s is not read within %d s: %s", path,
				     PREFLIGHT_SESSION_MS / 1000, reading->error);
	}
}

static void check_session(struct preflight *preflight, const struct options *options)
{
	static const struct tree_events events = {on_session, on_session, on_change};
	struct reading reading = {.end = clock_ms() + PREFLIGHT_SESSION_MS, .result = TREE_FAILED};
	char path[OPTIONS_TEXT_MAX + 16];
	struct preflight_check *check;

	reading.tree = tree_open(options->zookeeper, &options->login, PREFLIGHT_SESSION_MS, &events, NULL);
	if (!reading.tree) {
		preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL, "can't be started: %s", strerror(errno))
		    ->may_come = true;
		return;
	}
	snprintf(path, sizeof(path), "%s/services", options->root);
	await(&reading, has_begun);
	if (tree_is_login_refused(reading.tree))
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL,
				      "the server refuses the login: --zookeeper-auth is missing or wrong");
	else if (tree_has_session(reading.tree))
		check = check_services(preflight, &reading, path);
	else
		check = preflight_add(preflight, "session", NULL, PREFLIGHT_FAIL,
				      "none within %d s although a server is reachable: connection loss; %s",
				      PREFLIGHT_SESSION_MS / 1000, why_none(options));
	check->may_come = true;
	if (reading.result == TREE_OK)
		check_entry(preflight, &reading, options);
	tree_close(reading.tree);
}

void preflight_zookeeper(struct preflight *preflight, const struct options *options)
{
	if (check_servers(preflight, options))
		check_session(preflight, options);
}
