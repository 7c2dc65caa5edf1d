/* SPDX-License-Identifier: Apache-2.0 */
/* A probe by a datagram, which must be answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/address.h"
#include "prober.h"

enum { ANSWER_MAX = 65535 };

struct udp {
	struct attempt attempt;
	int fd;
};

static void on_ready(struct waiter *waiter, uint32_t events)
{
	static uint8_t answer[ANSWER_MAX];
	struct udp *udp = (struct udp *)waiter;
	const struct check_bytes *expect = &udp->attempt.probe->target->service->check.expect;
	ssize_t len = recv(udp->fd, answer, sizeof(answer), 0);

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR)) /* its checksum was wrong */
		return;
	if (len < 0)
		prober_done(&udp->attempt, prober_outcome(errno));
	else if (expect->len && !memmem(answer, (size_t)len, expect->bytes, expect->len))
		prober_done(&udp->attempt, OUTCOME_ANSWER);
	else
		prober_done(&udp->attempt, OUTCOME_OK);
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	const struct check_bytes *send_bytes = &probe->target->service->check.send;
	struct udp *udp = calloc(1, sizeof(*udp));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = udp};
	struct sockaddr_storage to;
	socklen_t len;

	if (!udp)
		return NULL;
	udp->attempt = (struct attempt){{on_ready, NULL}, &attempt_udp, prober, probe};
	udp->fd = prober_socket(prober, probe, SOCK_DGRAM);
	len = address_to_socket(probe_vip(probe), probe_endpoint(probe)->port, &to);
	if (udp->fd >= 0 && !connect(udp->fd, (const struct sockaddr *)&to, len) &&
	    send(udp->fd, send_bytes->bytes, send_bytes->len, 0) >= 0 &&
	    !epoll_ctl(prober->options.epoll, EPOLL_CTL_ADD, udp->fd, &event))
		return &udp->attempt;
	if (udp->fd >= 0)
		prober_close_fd(prober, udp->fd);
	free(udp);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct udp *udp = (struct udp *)attempt;

	prober_close_fd(attempt->prober, udp->fd);
	prober_bury(attempt->prober, &attempt->waiter);
}

static enum outcome late(const struct attempt *attempt)
{
	(void)attempt;
	return OUTCOME_TIMEOUT;
}

const struct attempt_kind attempt_udp = {begin, end, late, PORTS_REST_UDP_MS};
