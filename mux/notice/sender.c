/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/sender.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fairlead/notice.h>

#include "config/address.h"

enum { FAMILIES = 2, SEND_BUFFER = 2 * 1024 * 1024 };

struct notice_sender {
	struct fl_address source[FAMILIES]; /* IPv4, IPv6 */
	int fd[FAMILIES];                   /* -1: not open */
};

const char *notice_error_name(enum notice_error error)
{
	static const char *const names[NOTICE_ERRORS] = {
	    [NOTICE_NO_SOURCE] = "no_source", [NOTICE_NO_ROUTE] = "no_route",   [NOTICE_DENIED] = "denied",
	    [NOTICE_TOO_BIG] = "too_big",     [NOTICE_NO_MEMORY] = "no_memory", [NOTICE_OTHER] = "other",
	};

	return names[error];
}

enum notice_error notice_error_of(int error)
{
	switch (-error) {
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return NOTICE_NO_SOURCE;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
		return NOTICE_NO_ROUTE;
	case EPERM:
	case EACCES:
		return NOTICE_DENIED;
	case EMSGSIZE:
		return NOTICE_TOO_BIG;
	case ENOBUFS:
	case ENOMEM:
		return NOTICE_NO_MEMORY;
	default:
		return NOTICE_OTHER;
	}
}

struct notice_sender *notice_sender_new(const struct fl_address *address, const struct fl_address *address6)
{
	struct notice_sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return NULL;
	sender->source[0] = *address;
	sender->source[1] = *address6;
	sender->fd[0] = sender->fd[1] = -1;
	return sender;
}

void notice_sender_free(struct notice_sender *sender)
{
	for (int i = 0; sender && i < FAMILIES; i++)
		if (sender->fd[i] >= 0)
			close(sender->fd[i]);
	free(sender);
}

/* Sets DF: a server refuses an outer fragment. */
static int set_options(int fd, int family)
{
	int size = SEND_BUFFER, discover = family == AF_INET ? IP_PMTUDISC_DO : IPV6_PMTUDISC_DO;
	int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	int name = family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* a smaller one works, too */
	return setsockopt(fd, level, name, &discover, sizeof(discover)) ? -errno : 0;
}

static int open_socket(const struct fl_address *source)
{
	struct sockaddr_storage name;
	socklen_t len = address_to_socket(source, 0, &name);
	int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP), error;

	if (fd < 0)
		return -errno;
	error = set_options(fd, name.ss_family);
	if (!error && bind(fd, (struct sockaddr *)&name, len))
		error = -errno;
	if (error)
		close(fd);
	return error ? error : fd;
}

int notice_sender_send(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct notice_sender *sender = context;
	int family = fl_address_is_ipv4(to) ? 0 : 1, *fd = &sender->fd[family];
	struct sockaddr_storage name;
	socklen_t name_len = address_to_socket(to, FL_GUE_PORT, &name);

	if (fl_address_is_none(&sender->source[family]))
		return -EAFNOSUPPORT;
	if (*fd < 0)
		*fd = open_socket(&sender->source[family]);
	if (*fd < 0)
		return *fd;
	return sendto(*fd, bytes, len, 0, (struct sockaddr *)&name, name_len) < 0 ? -errno : 0;
}
