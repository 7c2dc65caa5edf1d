/* SPDX-License-Identifier: Apache-2.0 */
#include "tell/teller_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/address.h"
#include "tell/teller.h"

enum {
	BUFFER = 2 * 1024 * 1024, /* of a socket; a smaller one works, too, as what is lost is repeated */
	PACKET_MAX = 64,          /* longer ones are no acknowledgements, however they are cut */
};

struct teller_socket *teller_socket_new(const struct fl_address *address, const struct fl_address *address6)
{
	struct teller_socket *sockets = calloc(1, sizeof(*sockets));

	if (!sockets)
		return NULL;
	sockets->source[0] = *address;
	sockets->source[1] = *address6;
	sockets->fd[0] = sockets->fd[1] = -1;
	sockets->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sockets->epoll >= 0)
		return sockets;
	free(sockets);
	return NULL;
}

void teller_socket_free(struct teller_socket *sockets)
{
	if (!sockets)
		return;
	for (int i = 0; i < TELLER_SOCKET_FAMILIES; i++)
		if (sockets->fd[i] >= 0)
			close(sockets->fd[i]);
	close(sockets->epoll);
	free(sockets);
}

/* Servers write no UDP checksum; over IPv6 the kernel would drop that. */
static int set_options(int fd, int family)
{
	int size = BUFFER, on = 1;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, &on, sizeof(on)))
		return -errno;
	return 0;
}

static int open_socket(const struct teller_socket *sockets, const struct fl_address *source)
{
	struct sockaddr_storage name;
	socklen_t len = address_to_socket(source, 0, &name);
	int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP), error;
	struct epoll_event event = {.events = EPOLLIN};

	if (fd < 0)
		return -errno;
	error = set_options(fd, name.ss_family);
	if (!error && bind(fd, (struct sockaddr *)&name, len))
		error = -errno;
	if (!error && epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, fd, &event))
		error = -errno;
	if (error)
		close(fd);
	return error ? error : fd;
}

int teller_socket_send(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct teller_socket *sockets = context;
	int family = fl_address_is_ipv4(to) ? 0 : 1, *fd = &sockets->fd[family];
	struct sockaddr_storage name;
	socklen_t name_len = address_to_socket(to, FL_LIST_GUE_PORT, &name);

	if (fl_address_is_none(&sockets->source[family]))
		return -EAFNOSUPPORT;
	if (*fd < 0)
		*fd = open_socket(sockets, &sockets->source[family]);
	if (*fd < 0)
		return *fd;
	return sendto(*fd, bytes, len, 0, (struct sockaddr *)&name, name_len) < 0 ? -errno : 0;
}

static void receive(int fd, struct teller *teller)
{
	for (int i = 0; i < TELLER_SOCKET_BATCH; i++) {
		struct sockaddr_storage name = {0};
		socklen_t name_len = sizeof(name);
		struct fl_address from;
		uint8_t bytes[PACKET_MAX];
		ssize_t len = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&name, &name_len);

		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			continue; /* an ICMP error about what was sent, which is repeated */
		from = address_of_socket((struct sockaddr *)&name);
		teller_receive(teller, &from, bytes, (uint32_t)len);
	}
}

void teller_socket_receive(struct teller_socket *sockets, struct teller *teller)
{
	for (int i = 0; i < TELLER_SOCKET_FAMILIES; i++)
		if (sockets->fd[i] >= 0)
			receive(sockets->fd[i], teller);
}
