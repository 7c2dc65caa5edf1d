/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sockets: one for requests, whose answers are awaited, and one for events, so that answers and events never mix.
 */
#include "host/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "host/rtnetlink.h"

enum {
	BUFFER = 32768,
	EVENTS_BUFFER = 4 * 1024 * 1024,
	KNOWN = NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_NOARP,
	FRESH = NUD_PERMANENT | NUD_REACHABLE | NUD_DELAY | NUD_PROBE | NUD_NOARP,
};

struct netlink {
	struct rtnetlink requests;
	struct mnl_socket *events;
};

struct netlink *netlink_new(struct reason *why)
{
	static const int groups[] = {RTNLGRP_LINK,       RTNLGRP_NEIGH,       RTNLGRP_IPV4_IFADDR,
				     RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE};
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int size = EVENTS_BUFFER;

	if (!netlink)
		goto fail;
	netlink->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!netlink->events || rtnetlink_open(&netlink->requests, NETLINK_ROUTE) ||
	    mnl_socket_bind(netlink->events, 0, MNL_SOCKET_AUTOPID))
		goto fail;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (mnl_socket_setsockopt(netlink->events, NETLINK_ADD_MEMBERSHIP, (void *)(uintptr_t)&groups[i],
					  sizeof(groups[i])))
			goto fail;
	setsockopt(mnl_socket_get_fd(netlink->events), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return netlink;

fail:
	reason_set(why, -errno, "can't follow the kernel's routes and neighbours: %s", strerror(errno));
	netlink_free(netlink);
	return NULL;
}

void netlink_free(struct netlink *netlink)
{
	if (!netlink)
		return;
	rtnetlink_close(&netlink->requests);
	if (netlink->events)
		mnl_socket_close(netlink->events);
	free(netlink);
}

int netlink_fd(const struct netlink *netlink)
{
	return mnl_socket_get_fd(netlink->events);
}

/* False, with nothing changed, if it is neither an IPv4 nor an IPv6 address. */
static bool read_address(const void *bytes, size_t len, struct fl_address *out)
{
	if (len == 4)
		*out = fl_address_from_ipv4(bytes);
	else if (len == sizeof(out->bytes))
		memcpy(out->bytes, bytes, len);
	else
		return false;
	return true;
}

static bool attribute_address(const struct nlattr *attribute, struct fl_address *out)
{
	return read_address(mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute), out);
}

static uint32_t read_mtu(const struct nlattr *metrics)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, metrics)
	{
		if (mnl_attr_get_type(attribute) == RTAX_MTU)
			return mnl_attr_get_u32(attribute);
	}
	return 0;
}

/* A gateway of a different family than its route: struct rtvia. */
static void read_via(const struct nlattr *attribute, struct fl_address *out)
{
	const struct rtvia *via = mnl_attr_get_payload(attribute);
	size_t len = mnl_attr_get_payload_len(attribute);

	if (len > sizeof(*via))
		read_address(via->rtvia_addr, len - sizeof(*via), out);
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
			attribute_address(attribute, &route->gateway);
			break;
		case RTA_PREFSRC:
			attribute_address(attribute, &route->source);
			break;
		case RTA_VIA:
			read_via(attribute, &route->gateway);
			break;
		case RTA_METRICS:
			route->mtu = read_mtu(attribute);
			break;
		}
	}
	return MNL_CB_STOP;
}

int netlink_route(struct netlink *netlink, const struct fl_address *address, struct netlink_route *out)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message = rtnetlink_begin(buffer, RTM_GETROUTE, sizeof(struct rtmsg));
	struct rtmsg *header = mnl_nlmsg_get_payload(message);
	int error;

	header->rtm_family = rtnetlink_family(address);
	header->rtm_dst_len = fl_address_is_ipv4(address) ? 32 : 128;
	rtnetlink_put(message, RTA_DST, address);
	memset(out, 0, sizeof(*out)); /* padding too: routes are compared by their bytes */
	out->gateway = *address;
	error = rtnetlink_query(&netlink->requests, message, read_route, out);
	if (error)
		return error;
	return out->ifindex ? 0 : -ENOENT;
}

static void read_vlan(const struct nlattr *info, struct netlink_vlan *out)
{
	const struct nlattr *attribute, *data;
	bool is_vlan = false, is_8021q = true;

	mnl_attr_for_each_nested(attribute, info)
	{
		if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
			is_vlan = !strncmp(mnl_attr_get_str(attribute), "vlan", mnl_attr_get_payload_len(attribute));
		if (mnl_attr_get_type(attribute) != IFLA_INFO_DATA || !is_vlan)
			continue;
		mnl_attr_for_each_nested(data, attribute)
		{
			if (mnl_attr_get_type(data) == IFLA_VLAN_ID)
				out->id = mnl_attr_get_u16(data);
			if (mnl_attr_get_type(data) == IFLA_VLAN_PROTOCOL)
				is_8021q = mnl_attr_get_u16(data) == htons(ETH_P_8021Q);
		}
	}
	if (!is_8021q) /* 802.1ad is not supported */
		out->id = 0;
}

static int read_link(const struct nlmsghdr *message, void *data)
{
	struct netlink_vlan *out = data;
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct ifinfomsg))
	{
		if (mnl_attr_get_type(attribute) == IFLA_LINK)
			out->parent = mnl_attr_get_u32(attribute);
		if (mnl_attr_get_type(attribute) == IFLA_MTU)
			out->mtu = mnl_attr_get_u32(attribute);
		if (mnl_attr_get_type(attribute) == IFLA_LINKINFO)
			read_vlan(attribute, out);
	}
	return MNL_CB_STOP;
}

int netlink_vlan(struct netlink *netlink, unsigned ifindex, struct netlink_vlan *out)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message = rtnetlink_begin(buffer, RTM_GETLINK, sizeof(struct ifinfomsg));
	struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	int error;

	link->ifi_index = (int)ifindex;
	memset(out, 0, sizeof(*out));
	error = rtnetlink_query(&netlink->requests, message, read_link, out);
	if (error || !out->id)
		memset(out, 0, sizeof(*out));
	return error;
}

static int read_neighbour(const struct nlmsghdr *message, void *data)
{
	const struct ndmsg *header = mnl_nlmsg_get_payload(message);
	struct netlink_neighbour *neighbour = data;
	const struct nlattr *attribute;
	bool mac = false;

	if (header->ndm_family != AF_INET && header->ndm_family != AF_INET6)
		return MNL_CB_STOP;
	neighbour->ifindex = (unsigned)header->ndm_ifindex;
	mnl_attr_for_each(attribute, message, sizeof(*header))
	{
		switch (mnl_attr_get_type(attribute)) {
		case NDA_DST:
			attribute_address(attribute, &neighbour->address);
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
static struct nlmsghdr *neighbour_message(char *buffer, uint16_t type, unsigned ifindex,
					  const struct fl_address *address)
{
	struct nlmsghdr *message = rtnetlink_begin(buffer, type, sizeof(struct ndmsg));
	struct ndmsg *header = mnl_nlmsg_get_payload(message);

	header->ndm_family = rtnetlink_family(address);
	header->ndm_ifindex = (int)ifindex;
	rtnetlink_put(message, NDA_DST, address);
	return message;
}

int netlink_neighbour(struct netlink *netlink, struct netlink_neighbour *neighbour)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message = neighbour_message(buffer, RTM_GETNEIGH, neighbour->ifindex, &neighbour->address);
	int error;

	neighbour->known = false;
	neighbour->fresh = false;
	error = rtnetlink_query(&netlink->requests, message, read_neighbour, neighbour);
	return error == -ENOENT ? 0 : error;
}

int netlink_resolve(struct netlink *netlink, unsigned ifindex, const struct fl_address *address)
{
	char buffer[MNL_NLMSG_HDRLEN + 256];
	struct nlmsghdr *message = neighbour_message(buffer, RTM_NEWNEIGH, ifindex, address);
	struct ndmsg *header = mnl_nlmsg_get_payload(message);

	message->nlmsg_flags = NLM_F_CREATE;
	header->ndm_flags = NTF_USE;
	return rtnetlink_ask(&netlink->requests, message);
}

static int dispatch(const struct nlmsghdr *message, void *data)
{
	struct netlink_events *events = data;
	struct netlink_neighbour neighbour = {0};

	switch (message->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		read_neighbour(message, &neighbour);
		if (neighbour.ifindex && !fl_address_is_none(&neighbour.address))
			events->neighbour(events->context, &neighbour);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		events->link(events->context,
			     (unsigned)((const struct ifinfomsg *)mnl_nlmsg_get_payload(message))->ifi_index);
		break;
	default:
		events->routes_changed = true;
	}
	return MNL_CB_OK;
}

void netlink_receive(struct netlink *netlink, struct netlink_events *events)
{
	char buffer[BUFFER];

	for (;;) {
		ssize_t len = mnl_socket_recvfrom(netlink->events, buffer, sizeof(buffer));

		if (len < 0 && errno == ENOBUFS) {
			events->lost = true;
			continue;
		}
		if (len <= 0)
			return;
		mnl_cb_run(buffer, (size_t)len, 0, 0, dispatch, events);
	}
}
