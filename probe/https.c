/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes by HTTPS, with libcurl over sockets of ours: it asks for a socket, and tells which ones to watch and when it is
 * due. Every attempt has a connection of its own, and no TLS session of an earlier one: another server may have the VIP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <curl/curl.h>

#include "answer.h"
#include "config/address.h"
#include "prober.h"

enum {
	HOSTS_LEN = 320,
	IDLE_MAX = 256, /* handles that are kept for later attempts */
};

struct https_client {
	CURLM *multi;
	struct prober *prober;
	uint64_t due_ms;     /* UINT64_MAX: never */
	const char *ca_file; /* for attempts that check certificates */
	unsigned idle_count;
	CURL *idle[IDLE_MAX];
};

struct https {
	struct attempt attempt;
	CURL *easy;
	struct curl_slist *connect_to;
	int fd;          /* as long as libcurl has not closed it, which ends the attempt */
	bool has_enough; /* the body was cut short here */
	size_t head_len; /* of all heads and trailers, at most ANSWER_HEAD_MAX */
	struct body body;
};

/* A socket of an attempt, as libcurl wants it watched. */
struct watched {
	struct waiter waiter;
	struct https_client *client;
	curl_socket_t fd;
};

static void harvest(struct https_client *client);

static void act(struct https_client *client, curl_socket_t fd, int what)
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
	struct https_client *client = context;
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
	struct https_client *client = context;

	(void)multi;
	client->due_ms = ms < 0 ? UINT64_MAX : client->prober->now_ms + (uint64_t)ms;
	return 0;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct https *https = context;
	int fd = prober_socket(https->attempt.prober, https->attempt.probe, SOCK_STREAM);

	(void)purpose;
	(void)to;
	https->fd = fd;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Takes no more than BODY_MAX bytes; libcurl ends the transfer then. */
static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct https *https = context;

	https->has_enough = !body_take(&https->body, data, size * count);
	return https->has_enough ? 0 : size * count;
}

/* A line of a head, at least; more of them than an answer without TLS may have end the transfer. */
static size_t on_head(char *data, size_t size, size_t count, void *context)
{
	struct https *https = context;

	(void)data;
	https->head_len += size * count;
	return https->head_len > ANSWER_HEAD_MAX ? 0 : size * count;
}

/* An answer came, at least its head. */
static enum outcome judge(const struct https *https)
{
	const struct check *check = &https->attempt.probe->target->service->check;
	long status = 0;

	curl_easy_getinfo(https->easy, CURLINFO_RESPONSE_CODE, &status);
	if (!check_has_status(check, (unsigned)status))
		return OUTCOME_STATUS;
	return body_is_right(&https->body) ? OUTCOME_OK : OUTCOME_BODY;
}

static enum outcome outcome_of(const struct https *https, CURLcode code)
{
	long error = 0;

	switch (code) {
	case CURLE_OK:
		return judge(https);
	case CURLE_WRITE_ERROR:
		if (https->head_len > ANSWER_HEAD_MAX)
			return OUTCOME_MALFORMED;
		return https->has_enough ? judge(https) : OUTCOME_CLOSED;
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(https->easy, CURLINFO_OS_ERRNO, &error);
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
static void harvest(struct https_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		CURLcode code = message->data.result;
		struct https *https = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &https);
		prober_done(&https->attempt, outcome_of(https, code));
	}
}

/* The file that libcurl was built for; NULL: none. Its text is libcurl's own, which lasts. */
static const char *default_ca_file(void)
{
	return curl_version_info(CURLVERSION_NOW)->cainfo;
}

static struct https_client *client_of(struct prober *prober)
{
	struct https_client *client = prober->https;

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
	prober->https = client;
	return client;
}

/* What all attempts have in common; a handle keeps it from one to the next. */
static CURL *handle_new(void)
{
	CURL *easy = curl_easy_init();

	if (!easy)
		return NULL;
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead-probe");
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)CURL_MAX_WRITE_SIZE);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	return easy;
}

/* The URL names the host; what it is connected to is the VIP. */
static bool aim(struct https *https)
{
	const struct probe *probe = https->attempt.probe;
	const struct check *check = &probe->target->service->check;
	const struct fl_address *vip = probe_vip(probe);
	bool is_ipv4 = fl_address_is_ipv4(vip);
	char address[ADDRESS_TEXT_MAX], literal[ADDRESS_TEXT_MAX + 2], url[HOSTS_LEN + CHECK_TEXT_MAX], to[HOSTS_LEN];

	snprintf(literal, sizeof(literal), is_ipv4 ? "%s" : "[%s]", address_print(vip, address));
	snprintf(url, sizeof(url), "https://%s:%u%s", check->host[0] ? check->host : literal,
		 probe_endpoint(probe)->port, check->path);
	snprintf(to, sizeof(to), "::%s:", literal);
	https->connect_to = curl_slist_append(NULL, to);
	return https->connect_to && !curl_easy_setopt(https->easy, CURLOPT_CONNECT_TO, https->connect_to) &&
	       !curl_easy_setopt(https->easy, CURLOPT_URL, url);
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	const struct check *check = &probe->target->service->check;
	struct https_client *client = client_of(prober);
	struct https *https = client ? calloc(1, sizeof(*https)) : NULL;
	long verify = check->verify;

	if (!https)
		return NULL;
	https->attempt = (struct attempt){{NULL, NULL}, &attempt_https, prober, probe};
	https->fd = -1;
	https->body.wanted = check->body;
	https->easy = client->idle_count ? client->idle[--client->idle_count] : handle_new();
	if (!https->easy || !aim(https))
		goto fail;
	curl_easy_setopt(https->easy, CURLOPT_PRIVATE, https);
	curl_easy_setopt(https->easy, CURLOPT_OPENSOCKETDATA, https);
	curl_easy_setopt(https->easy, CURLOPT_HEADERDATA, https);
	curl_easy_setopt(https->easy, CURLOPT_WRITEDATA, https);
	/* it is read even where nothing is verified: 1.5 ms, unless there is none */
	curl_easy_setopt(https->easy, CURLOPT_CAINFO, verify ? client->ca_file : NULL);
	curl_easy_setopt(https->easy, CURLOPT_SSL_VERIFYPEER, verify);
	curl_easy_setopt(https->easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
	if (curl_multi_add_handle(client->multi, https->easy))
		goto fail;
	return &https->attempt;
fail:
	curl_slist_free_all(https->connect_to);
	curl_easy_cleanup(https->easy);
	free(https);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct https *https = (struct https *)attempt;
	struct https_client *client = attempt->prober->https;

	curl_multi_remove_handle(client->multi, https->easy);
	curl_slist_free_all(https->connect_to);
	if (client->idle_count < IDLE_MAX)
		client->idle[client->idle_count++] = https->easy;
	else
		curl_easy_cleanup(https->easy);
	prober_bury(attempt->prober, &attempt->waiter);
}

/* libcurl counts a connection as made only once TLS is. */
static enum outcome late(const struct attempt *attempt)
{
	const struct https *https = (const struct https *)attempt;
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	bool is_connected = https->fd >= 0 && !getpeername(https->fd, (struct sockaddr *)&peer, &len);

	return is_connected ? OUTCOME_NO_ANSWER : OUTCOME_TIMEOUT;
}

const struct attempt_kind attempt_https = {begin, end, late, PORTS_REST_MS};

int https_client_wait(const struct https_client *client, uint64_t now_ms, int limit)
{
	uint64_t wait = client->due_ms > now_ms ? client->due_ms - now_ms : 0;

	return wait < (uint64_t)limit ? (int)wait : limit;
}

void https_client_run(struct https_client *client, uint64_t now_ms)
{
	if (client->due_ms > now_ms)
		return;
	client->due_ms = UINT64_MAX;
	act(client, CURL_SOCKET_TIMEOUT, 0);
}

void https_client_free(struct https_client *client)
{
	while (client->idle_count)
		curl_easy_cleanup(client->idle[--client->idle_count]);
	curl_multi_cleanup(client->multi);
	free(client);
}
