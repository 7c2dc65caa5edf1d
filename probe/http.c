/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes by HTTP without TLS, one system call for each step: a request fits into a packet, and an answer mostly does. By
 * libcurl, as HTTPS is, a probe takes twice the time (bench/README.md, probes).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "config/address.h"
#include "prober.h"

enum {
	DEFAULT_PORT = 80,
	REQUEST_MAX = 2 * CHECK_TEXT_MAX + 128,
	READ_MAX = 16384,
};

struct http {
	struct attempt attempt;
	int fd;
	bool is_sent; /* the request, once connected */
	struct answer answer;
};

/* Returns its length. The text of a check has no byte that ends a line. */
static size_t write_request(const struct probe *probe, char out[REQUEST_MAX])
{
	const struct check *check = &probe->target->service->check;
	const struct fl_address *vip = probe_vip(probe);
	uint16_t port = probe_endpoint(probe)->port;
	char address[ADDRESS_TEXT_MAX], after[8] = "";
	bool is_literal = !check->host[0] && !fl_address_is_ipv4(vip);

	if (port != DEFAULT_PORT)
		snprintf(after, sizeof(after), ":%u", port);
	return (size_t)snprintf(
	    out, REQUEST_MAX, "GET %s HTTP/1.1\r\nHost: %s%s%s%s\r\nUser-Agent: fairlead-probe\r\nAccept: */*\r\n\r\n",
	    check->path, is_literal ? "[" : "", check->host[0] ? check->host : address_print(vip, address),
	    is_literal ? "]" : "", after);
}

static enum outcome judge(const struct http *http)
{
	const struct check *check = &http->attempt.probe->target->service->check;

	if (http->answer.state == ANSWER_MALFORMED)
		return OUTCOME_MALFORMED;
	if (http->answer.state != ANSWER_DONE)
		return OUTCOME_CLOSED;
	if (!check_has_status(check, http->answer.status))
		return OUTCOME_STATUS;
	return body_is_right(&http->answer.body) ? OUTCOME_OK : OUTCOME_BODY;
}

/* A new socket has room for the whole request. False: that was the attempt's end. */
static bool send_request(struct http *http)
{
	char request[REQUEST_MAX];
	size_t len = write_request(http->attempt.probe, request);
	ssize_t sent = send(http->fd, request, len, MSG_NOSIGNAL);

	http->is_sent = sent == (ssize_t)len;
	if (!http->is_sent)
		prober_done(&http->attempt, sent < 0 ? prober_outcome(errno) : OUTCOME_CLOSED);
	return sent == (ssize_t)len;
}

/* Until nothing is left, since the socket is told of only once; an answer's limits bound it. */
static void receive(struct http *http)
{
	static char data[READ_MAX];
	struct answer *answer = &http->answer;

	while (answer->state != ANSWER_DONE && answer->state != ANSWER_MALFORMED) {
		ssize_t len = recv(http->fd, data, sizeof(data), 0);

		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0) {
			prober_done(&http->attempt, prober_outcome(errno));
			return;
		}
		if (!len) {
			answer_end(answer);
			break;
		}
		answer_take(answer, data, (size_t)len);
	}
	prober_done(&http->attempt, judge(http));
}

static void on_ready(struct waiter *waiter, uint32_t events)
{
	struct http *http = (struct http *)waiter;

	if (!http->is_sent && !send_request(http))
		return;
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		receive(http);
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	struct http *http = calloc(1, sizeof(*http));
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = http};
	struct sockaddr_storage to;
	socklen_t len;

	if (!http)
		return NULL;
	http->attempt = (struct attempt){{on_ready, NULL}, &attempt_http, prober, probe};
	http->answer.body.wanted = probe->target->service->check.body;
	http->fd = prober_socket(prober, probe, SOCK_STREAM);
	len = address_to_socket(probe_vip(probe), probe_endpoint(probe)->port, &to);
	if (http->fd >= 0 && connect(http->fd, (const struct sockaddr *)&to, len) && errno == EINPROGRESS &&
	    !epoll_ctl(prober->options.epoll, EPOLL_CTL_ADD, http->fd, &event))
		return &http->attempt;
	if (http->fd >= 0)
		prober_close_fd(prober, http->fd);
	free(http);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct http *http = (struct http *)attempt;

	prober_close_fd(attempt->prober, http->fd);
	prober_bury(attempt->prober, &attempt->waiter);
}

static enum outcome late(const struct attempt *attempt)
{
	return ((const struct http *)attempt)->is_sent ? OUTCOME_NO_ANSWER : OUTCOME_TIMEOUT;
}

const struct attempt_kind attempt_http = {begin, end, late, PORTS_REST_MS};
