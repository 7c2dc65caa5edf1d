/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes by HTTP and HTTPS, with libcurl over sockets of ours: it asks for a socket, and tells which ones to watch and
 * when it is due. Every attempt has a connection of its own, and no TLS session of an earlier one: another server may
 * have the VIP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <curl/curl.h>

#include "config/address.h"
#include "prober.h"

enum {
	BODY_MAX = 65536, /* of an answer, that is looked at */
	HOSTS_LEN = 320,
	IDLE_MAX = 256, /* handles that are kept for later attempts */
};

struct http_client {
	CURLM *multi;
	struct prober *prober;
	uint64_t due_ms;     /* UINT64_MAX: never */
	const char *ca_file; /* for attempts that check certificates */
	unsigned idle_count;
	CURL *idle[IDLE_MAX];
};

struct http {
	struct attempt attempt;
	CURL *easy;
	struct curl_slist *connect_to;
	int fd;         /* as long as libcurl has not closed it, which ends the attempt */
	size_t len;     /* of the body, as far as it came */
	size_t matched; /* bytes at the end of `tail` */
	bool has_match;
	bool has_enough; /* the body was cut short here */
	char error[CURL_ERROR_SIZE];
	char tail[CHECK_TEXT_MAX]; /* of what came, in which the match may begin */
};

/* A socket of an attempt, as libcurl wants it watched. */
struct watched {
	struct waiter waiter;
	struct http_client *client;
	curl_socket_t fd;
};

static void harvest(struct http_client *client);

static void act(struct http_client *client, curl_socket_t fd, int what)
{
	int running;

	curl_multi_socket_action(client->multi, fd, what, &running);
	harvest(client);
}

static void on_ready(struct waiter *waiter, uint32_t events)
{
	const struct watched *watched = (const struct watched *)waiter;
	int what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

	act(watched->client, watched->fd, what);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
	struct http_client *client = context;
	struct watched *watched = socket_context;
	bool is_new = !watched;
	struct epoll_event event = {0};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watched) {
			epoll_ctl(client->prober->options.epoll, EPOLL_CTL_DEL, fd, NULL);
			prober_bury(client->prober, &watched->waiter);
		}
		return 0;
	}
	if (is_new) {
		watched = calloc(1, sizeof(*watched));
		if (!watched)
			return -1;
		*watched = (struct watched){{on_ready, NULL}, client, fd};
		curl_multi_assign(client->multi, fd, watched);
	}
	event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	event.data.ptr = watched;
	return epoll_ctl(client->prober->options.epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

static int on_timer(CURLM *multi, long ms, void *context)
{
	struct http_client *client = context;

	(void)multi;
	client->due_ms = ms < 0 ? UINT64_MAX : client->prober->now_ms + (uint64_t)ms;
	return 0;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct http *http = context;
	int fd = prober_socket(http->attempt.prober, http->attempt.probe, SOCK_STREAM);

	(void)purpose;
	(void)to;
	http->fd = fd;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Looks for the expected text across the pieces in which the body comes. */
static void match(struct http *http, const char *data, size_t len)
{
	const char *wanted = http->attempt.probe->target->service->check.body;
	size_t wanted_len = strlen(wanted), keep;
	char joint[2 * CHECK_TEXT_MAX];
	size_t head = len < wanted_len - 1 ? len : wanted_len - 1;

	memcpy(joint, http->tail, http->matched);
	memcpy(joint + http->matched, data, head);
	http->has_match =
	    memmem(joint, http->matched + head, wanted, wanted_len) || memmem(data, len, wanted, wanted_len);
	if (len >= wanted_len - 1) {
		keep = wanted_len - 1;
		memcpy(http->tail, data + len - keep, keep);
	} else {
		keep = http->matched + len < wanted_len - 1 ? http->matched + len : wanted_len - 1;
		memcpy(http->tail, joint + http->matched + len - keep, keep);
	}
	http->matched = keep;
}

/* Takes no more than BODY_MAX bytes; libcurl ends the transfer then. */
static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct http *http = context;
	size_t len = size * count, left = BODY_MAX - http->len;

	if (!http->has_match && http->attempt.probe->target->service->check.body[0])
		match(http, data, len < left ? len : left);
	http->len += len < left ? len : left;
	http->has_enough = http->len == BODY_MAX;
	return http->has_enough ? 0 : len;
}

/* An answer came, at least its head. */
static enum outcome judge(const struct http *http)
{
	const struct check *check = &http->attempt.probe->target->service->check;
	long status = 0;

	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	if (!check_has_status(check, (unsigned)status))
		return OUTCOME_STATUS;
	return check->body[0] && !http->has_match ? OUTCOME_BODY : OUTCOME_OK;
}

static enum outcome outcome_of(const struct http *http, CURLcode code)
{
	long error = 0;

	switch (code) {
	case CURLE_OK:
		return judge(http);
	case CURLE_WRITE_ERROR:
		return http->has_enough ? judge(http) : OUTCOME_CLOSED;
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(http->easy, CURLINFO_OS_ERRNO, &error);
		return prober_outcome(error ? (int)error : EHOSTUNREACH);
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return OUTCOME_TLS;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9 */
	case CURLE_BAD_CONTENT_ENCODING:
		return OUTCOME_MALFORMED;
	default:
		return OUTCOME_CLOSED;
	}
}

/* Attempts that libcurl has finished. */
static void harvest(struct http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		CURLcode code = message->data.result;
		struct http *http = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &http);
		prober_done(&http->attempt, outcome_of(http, code));
	}
}

/* The file that libcurl was built for; NULL: none. Its text is libcurl's own, which lasts. */
static const char *default_ca_file(void)
{
	return curl_version_info(CURLVERSION_NOW)->cainfo;
}

static struct http_client *client_of(struct prober *prober)
{
	struct http_client *client = prober->http;

	if (client)
		return client;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->multi = curl_multi_init();
	if (!client->multi) {
		free(client);
		return NULL;
	}
	client->prober = prober;
	client->due_ms = UINT64_MAX;
	client->ca_file = prober->options.ca_file ? prober->options.ca_file : default_ca_file();
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	prober->http = client;
	return client;
}

/* What all attempts have in common; a handle keeps it from one to the next. */
static CURL *handle_new(void)
{
	CURL *easy = curl_easy_init();

	if (!easy)
		return NULL;
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead-probe");
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)CURL_MAX_WRITE_SIZE);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	return easy;
}

/* The URL names the host; what it is connected to is the VIP. */
static bool aim(struct http *http)
{
	const struct probe *probe = http->attempt.probe;
	const struct check *check = &probe->target->service->check;
	const struct fl_address *vip = probe_vip(probe);
	const char *scheme = check->kind == CHECK_HTTPS ? "https" : "http";
	bool is_ipv4 = fl_address_is_ipv4(vip);
	char address[ADDRESS_TEXT_MAX], literal[ADDRESS_TEXT_MAX + 2], url[HOSTS_LEN + CHECK_TEXT_MAX], to[HOSTS_LEN];

	snprintf(literal, sizeof(literal), is_ipv4 ? "%s" : "[%s]", address_print(vip, address));
	snprintf(url, sizeof(url), "%s://%s:%u%s", scheme, check->host[0] ? check->host : literal,
		 probe_endpoint(probe)->port, check->path);
	snprintf(to, sizeof(to), "::%s:", literal);
	http->connect_to = curl_slist_append(NULL, to);
	return http->connect_to && !curl_easy_setopt(http->easy, CURLOPT_CONNECT_TO, http->connect_to) &&
	       !curl_easy_setopt(http->easy, CURLOPT_URL, url);
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	const struct check *check = &probe->target->service->check;
	struct http_client *client = client_of(prober);
	struct http *http = client ? calloc(1, sizeof(*http)) : NULL;
	long verify = check->verify;

	if (!http)
		return NULL;
	http->attempt = (struct attempt){{NULL, NULL}, &attempt_http, prober, probe};
	http->fd = -1;
	http->easy = client->idle_count ? client->idle[--client->idle_count] : handle_new();
	if (!http->easy || !aim(http))
		goto fail;
	curl_easy_setopt(http->easy, CURLOPT_PRIVATE, http);
	curl_easy_setopt(http->easy, CURLOPT_OPENSOCKETDATA, http);
	curl_easy_setopt(http->easy, CURLOPT_WRITEDATA, http);
	/* it is read even where nothing is verified: 1.5 ms, unless there is none */
	curl_easy_setopt(http->easy, CURLOPT_CAINFO, verify ? client->ca_file : NULL);
	curl_easy_setopt(http->easy, CURLOPT_SSL_VERIFYPEER, verify);
	curl_easy_setopt(http->easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
	if (curl_multi_add_handle(client->multi, http->easy))
		goto fail;
	return &http->attempt;
fail:
	curl_slist_free_all(http->connect_to);
	curl_easy_cleanup(http->easy);
	free(http);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct http *http = (struct http *)attempt;
	struct http_client *client = attempt->prober->http;

	curl_multi_remove_handle(client->multi, http->easy);
	curl_slist_free_all(http->connect_to);
	if (client->idle_count < IDLE_MAX)
		client->idle[client->idle_count++] = http->easy;
	else
		curl_easy_cleanup(http->easy);
	prober_bury(attempt->prober, &attempt->waiter);
}

/* libcurl counts a connection as made only once TLS is. */
static enum outcome late(const struct attempt *attempt)
{
	const struct http *http = (const struct http *)attempt;
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	bool is_connected = http->fd >= 0 && !getpeername(http->fd, (struct sockaddr *)&peer, &len);

	return is_connected ? OUTCOME_NO_ANSWER : OUTCOME_TIMEOUT;
}

const struct attempt_kind attempt_http = {begin, end, late, PORTS_REST_MS};

int http_client_wait(const struct http_client *client, uint64_t now_ms, int limit)
{
	uint64_t wait = client->due_ms > now_ms ? client->due_ms - now_ms : 0;

	return wait < (uint64_t)limit ? (int)wait : limit;
}

void http_client_run(struct http_client *client, uint64_t now_ms)
{
	if (client->due_ms > now_ms)
		return;
	client->due_ms = UINT64_MAX;
	act(client, CURL_SOCKET_TIMEOUT, 0);
}

void http_client_free(struct http_client *client)
{
	while (client->idle_count)
		curl_easy_cleanup(client->idle[--client->idle_count]);
	curl_multi_cleanup(client->multi);
	free(client);
}
