/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sockets: one for requests and their answers, which are waited for, and one for events, so that an answer is never
 * mixed with what happens meanwhile.
 */
#include "netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

enum {
	BUFFER = 32768,
	EVENTS_BUFFER = 4 * 1024 * 1024,
	KNOWN = NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_NOARP,
	FRESH = NUD_PERMANENT | NUD_REACHABLE | NUD_DELAY | NUD_PROBE | NUD_NOARP,
};

struct netlink {
	struct mnl_socket *requests;
	struct mnl_socket *events;
	unsigned sequence;
};

struct netlink *netlink_new(struct why *why)
{
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE};
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int size = EVENTS_BUFFER;

	if (!netlink)
		goto fail;
	netlink->sequence = (unsigned)time(NULL);
	netlink->requests = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	netlink->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!netlink->requests || !netlink->events || mnl_socket_bind(netlink->requests, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_bind(netlink->events, 0, MNL_SOCKET_AUTOPID))
		goto fail;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (mnl_socket_setsockopt(netlink->events, NETLINK_ADD_MEMBERSHIP, (void *)(uintptr_t)&groups[i],
					  sizeof(groups[i])))
			goto fail;
	setsockopt(mnl_socket_get_fd(netlink->events), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return netlink;

fail:
	why_refuse(why, -errno, "can't follow the kernel's routes and neighbours: %s", strerror(errno));
	netlink_free(netlink);
	return NULL;
}

void netlink_free(struct netlink *netlink)
{
	if (!netlink)
		return;
	if (netlink->requests)
		mnl_socket_close(netlink->requests);
	if (netlink->events)
		mnl_socket_close(netlink->events);
	free(netlink);
}

int netlink_fd(const struct netlink *netlink)
{
	return mnl_socket_get_fd(netlink->events);
}

/* Sends a request and hands the first answer to callback. 0 or -errno, the kernel's own included. */
static int request(struct netlink *netlink, struct nlmsghdr *message, mnl_cb_t callback, void *data)
{
	char answer[BUFFER];
	ssize_t len;

	message->nlmsg_seq = ++netlink->sequence;
	if (mnl_socket_sendto(netlink->requests, message, message->nlmsg_len) < 0)
		return -errno;
	len = mnl_socket_recvfrom(netlink->requests, answer, sizeof(answer));
	if (len < 0)
		return -errno;
	if (mnl_cb_run(answer, (size_t)len, netlink->sequence, mnl_socket_get_portid(netlink->requests), callback,
		       data) < 0)
		return -errno;
	return 0;
}

static uint32_t attribute_address(const struct nlattr *attribute)
{
	uint32_t address = 0;

	if (mnl_attr_get_payload_len(attribute) == sizeof(address))
		memcpy(&address, mnl_attr_get_payload(attribute), sizeof(address));
	return address;
}

static int read_route(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *header = mnl_nlmsg_get_payload(message);
	struct netlink_route *route = data;
	const struct nlattr *attribute;

	if (message->nlmsg_type != RTM_NEWROUTE || header->rtm_type != RTN_UNICAST)
		return MNL_CB_STOP;
	mnl_attr_for_each(attribute, message, sizeof(*header))
	{
		switch (mnl_attr_get_type(attribute)) {
		case RTA_OIF:
			route->ifindex = mnl_attr_get_u32(attribute);
			break;
		case RTA_GATEWAY:
			route->gateway = attribute_address(attribute);
			break;
		case RTA_PREFSRC:
			route->source = attribute_address(attribute);
			break;
		}
	}
	return MNL_CB_STOP;
}

int netlink_route(struct netlink *netlink, uint32_t address, struct netlink_route *out)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct rtmsg *header;
	int error;

	message->nlmsg_type = RTM_GETROUTE;
	message->nlmsg_flags = NLM_F_REQUEST;
	header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	header->rtm_family = AF_INET;
	header->rtm_dst_len = 32;
	mnl_attr_put_u32(message, RTA_DST, address);

	*out = (struct netlink_route){.gateway = address};
	error = request(netlink, message, read_route, out);
	if (error)
		return error;
	return out->ifindex ? 0 : -ENOENT;
}

static int read_neighbour(const struct nlmsghdr *message, void *data)
{
	const struct ndmsg *header = mnl_nlmsg_get_payload(message);
	struct netlink_neighbour *neighbour = data;
	const struct nlattr *attribute;
	bool mac = false;

	if (header->ndm_family != AF_INET)
		return MNL_CB_STOP;
	neighbour->ifindex = (unsigned)header->ndm_ifindex;
	mnl_attr_for_each(attribute, message, sizeof(*header))
	{
		switch (mnl_attr_get_type(attribute)) {
		case NDA_DST:
			neighbour->address = attribute_address(attribute);
			break;
		case NDA_LLADDR:
			mac = mnl_attr_get_payload_len(attribute) == sizeof(neighbour->mac);
			if (mac)
				memcpy(neighbour->mac, mnl_attr_get_payload(attribute), sizeof(neighbour->mac));
			break;
		}
	}
	neighbour->known = mac && message->nlmsg_type == RTM_NEWNEIGH && header->ndm_state & KNOWN;
	neighbour->fresh = neighbour->known && header->ndm_state & FRESH;
	return MNL_CB_STOP;
}

/* A message about one neighbour, without flags. */
static struct nlmsghdr *neighbour_message(char *buffer, uint16_t type, uint16_t flags, unsigned ifindex,
					  uint32_t address)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ndmsg *header;

	message->nlmsg_type = type;
	message->nlmsg_flags = flags;
	header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	header->ndm_family = AF_INET;
	header->ndm_ifindex = (int)ifindex;
	mnl_attr_put_u32(message, NDA_DST, address);
	return message;
}

int netlink_neighbour(struct netlink *netlink, struct netlink_neighbour *neighbour)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message =
	    neighbour_message(buffer, RTM_GETNEIGH, NLM_F_REQUEST, neighbour->ifindex, neighbour->address);
	int error;

	neighbour->known = false;
	neighbour->fresh = false;
	error = request(netlink, message, read_neighbour, neighbour);
	return error == -ENOENT ? 0 : error;
}

int netlink_resolve(struct netlink *netlink, unsigned ifindex, uint32_t address)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message =
	    neighbour_message(buffer, RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, ifindex, address);
	struct ndmsg *header = mnl_nlmsg_get_payload(message);

	header->ndm_flags = NTF_USE;
	return request(netlink, message, NULL, NULL);
}

static int dispatch(const struct nlmsghdr *message, void *data)
{
	const struct netlink_events *events = data;
	struct netlink_neighbour neighbour = {0};

	switch (message->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		read_neighbour(message, &neighbour);
		if (neighbour.ifindex && neighbour.address)
			events->neighbour(events->context, &neighbour);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		events->link(events->context,
			     (unsigned)((const struct ifinfomsg *)mnl_nlmsg_get_payload(message))->ifi_index);
		break;
	default:
		events->routes(events->context);
	}
	return MNL_CB_OK;
}

void netlink_receive(struct netlink *netlink, const struct netlink_events *events)
{
	char buffer[BUFFER];

	for (;;) {
		ssize_t len = mnl_socket_recvfrom(netlink->events, buffer, sizeof(buffer));

		if (len < 0 && errno == ENOBUFS) {
			events->lost(events->context);
			continue;
		}
		if (len <= 0)
			return;
		mnl_cb_run(buffer, (size_t)len, 0, 0, dispatch, (void *)(uintptr_t)events);
	}
}
