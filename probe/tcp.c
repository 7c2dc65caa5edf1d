/* SPDX-License-Identifier: Apache-2.0 */
/* A probe that connects: what answers is the server's kernel, for a process that listens. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/address.h"
#include "prober.h"

struct tcp {
	struct attempt attempt;
	int fd;
};

static void on_ready(struct waiter *waiter, uint32_t events)
{
	struct tcp *tcp = (struct tcp *)waiter;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)events; /* writable, or an error */
	if (getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	prober_done(&tcp->attempt, prober_outcome(error));
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	struct epoll_event event = {.events = EPOLLOUT, .data.ptr = tcp};
	struct sockaddr_storage to;
	socklen_t len;

	if (!tcp)
		return NULL;
	tcp->attempt = (struct attempt){{on_ready, NULL}, &attempt_tcp, prober, probe};
	tcp->fd = prober_socket(prober, probe, SOCK_STREAM);
	len = address_to_socket(probe_vip(probe), probe_endpoint(probe)->port, &to);
	if (tcp->fd >= 0 && connect(tcp->fd, (const struct sockaddr *)&to, len) && errno == EINPROGRESS &&
	    !epoll_ctl(prober->options.epoll, EPOLL_CTL_ADD, tcp->fd, &event))
		return &tcp->attempt;
	if (tcp->fd >= 0)
		prober_close_fd(prober, tcp->fd);
	free(tcp);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct tcp *tcp = (struct tcp *)attempt;

	prober_close_fd(attempt->prober, tcp->fd);
	prober_bury(attempt->prober, &attempt->waiter);
}

static enum outcome late(const struct attempt *attempt)
{
	(void)attempt;
	return OUTCOME_TIMEOUT;
}

const struct attempt_kind attempt_tcp = {begin, end, late, PORTS_REST_MS};
