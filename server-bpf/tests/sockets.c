// SPDX-License-Identifier: Apache-2.0
#include "sockets.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BACKLOG = 64,
};

static void give_up(const char *what)
{
	fprintf(stderr, "sockets: %s: %s\n", what, strerror(errno));
	exit(1);
}

socklen_t sockets_name(const struct fl_address *address, fl_u16 port, struct sockaddr_storage *storage)
{
	struct sockaddr_in *in = (struct sockaddr_in *)storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;

	memset(storage, 0, sizeof(*storage));
	if (fl_address_is_ipv4(address)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, address->bytes + 12, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, address->bytes, 16);
	return sizeof(*in6);
}

int sockets_bind(int type, int protocol, const struct fl_address *address, fl_u16 port)
{
	struct sockaddr_storage storage;
	socklen_t len = sockets_name(address, port, &storage);
	int one = 1, fd = socket(storage.ss_family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&storage, len))
		give_up("bind");
	return fd;
}

int sockets_listen(int protocol, const struct fl_address *address, fl_u16 port)
{
	int fd = sockets_bind(SOCK_STREAM, protocol, address, port);

	if (listen(fd, BACKLOG))
		give_up("listen");
	return fd;
}

void sockets_connect(int fd, const struct fl_address *address, fl_u16 port)
{
	struct sockaddr_storage storage;
	socklen_t len = sockets_name(address, port, &storage);

	if (connect(fd, (struct sockaddr *)&storage, len))
		give_up("connect");
}

fl_u16 sockets_port(int fd)
{
	struct sockaddr_storage storage;
	socklen_t len = sizeof(storage);

	if (getsockname(fd, (struct sockaddr *)&storage, &len))
		give_up("getsockname");
	return ntohs(storage.ss_family == AF_INET ? ((struct sockaddr_in *)&storage)->sin_port
						  : ((struct sockaddr_in6 *)&storage)->sin6_port);
}

int sockets_sniff(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	address.sll_ifindex = (int)if_nametoindex(interface);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		give_up(interface);
	return fd;
}
