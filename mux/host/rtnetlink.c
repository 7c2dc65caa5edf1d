/* SPDX-License-Identifier: Apache-2.0 */
#include "host/rtnetlink.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BUFFER = 32768 };

int rtnetlink_open(struct rtnetlink *netlink, int bus)
{
	int error;

	netlink->socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (!netlink->socket)
		return -errno;
	if (mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID) >= 0)
		return 0;
	error = -errno;
	rtnetlink_close(netlink);
	errno = -error;
	return error;
}

void rtnetlink_close(struct rtnetlink *netlink)
{
	if (netlink->socket)
		mnl_socket_close(netlink->socket);
	netlink->socket = NULL;
}

struct nlmsghdr *rtnetlink_begin(void *buffer, uint16_t type, size_t header_len)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

	request->nlmsg_type = type;
	mnl_nlmsg_put_extra_header(request, header_len);
	return request;
}

void rtnetlink_put(struct nlmsghdr *request, uint16_t attribute, const struct fl_address *address)
{
	size_t len = fl_address_is_ipv4(address) ? 4 : 16;

	mnl_attr_put(request, attribute, len, address->bytes + 16 - len);
}

int rtnetlink_query(struct rtnetlink *netlink, struct nlmsghdr *request, mnl_cb_t callback, void *data)
{
	char buffer[BUFFER];
	unsigned port = mnl_socket_get_portid(netlink->socket);
	ssize_t len;
	int rc;

	request->nlmsg_flags |= NLM_F_REQUEST;
	request->nlmsg_seq = ++netlink->sequence;
	if (mnl_socket_sendto(netlink->socket, request, request->nlmsg_len) < 0)
		return -errno;
	do {
		len = mnl_socket_recvfrom(netlink->socket, buffer, sizeof(buffer));
		if (len < 0)
			return -errno;
		rc = mnl_cb_run(buffer, (size_t)len, netlink->sequence, port, callback, data);
		if (rc < 0)
			return -errno;
	} while (rc == MNL_CB_OK);
	return 0;
}

int rtnetlink_ask(struct rtnetlink *netlink, struct nlmsghdr *request)
{
	request->nlmsg_flags |= NLM_F_ACK;
	return rtnetlink_query(netlink, request, NULL, NULL);
}

/* Without a link-local address the kernel neither solicits routers nor joins groups on a device that leads nowhere. */
static int keep_ipv6_off(struct rtnetlink *netlink, uint32_t index)
{
	char buffer[256] = {0};
	struct nlmsghdr *request = rtnetlink_begin(buffer, RTM_SETLINK, sizeof(struct ifinfomsg));
	struct ifinfomsg *link = mnl_nlmsg_get_payload(request);
	struct nlattr *spec, *inet6;
	int error;

	link->ifi_index = (int)index;
	spec = mnl_attr_nest_start(request, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(request, AF_INET6);
	mnl_attr_put_u8(request, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(request, inet6);
	mnl_attr_nest_end(request, spec);
	error = rtnetlink_ask(netlink, request);
	return error == -EAFNOSUPPORT || error == -ENODEV ? 0 : error; /* a kernel without IPv6 */
}

static int link_up(struct rtnetlink *netlink, uint32_t index, uint32_t mtu)
{
	char buffer[256] = {0};
	struct nlmsghdr *request = rtnetlink_begin(buffer, RTM_NEWLINK, sizeof(struct ifinfomsg));
	struct ifinfomsg *link = mnl_nlmsg_get_payload(request);

	link->ifi_index = (int)index;
	link->ifi_change = IFF_UP;
	link->ifi_flags = IFF_UP;
	if (mtu)
		mnl_attr_put_u32(request, IFLA_MTU, mtu);
	return rtnetlink_ask(netlink, request);
}

int rtnetlink_tun_open(struct rtnetlink *netlink, const char *name, uint32_t mtu, uint32_t *index)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		goto fail;
	*index = if_nametoindex(request.ifr_name);
	if (!*index)
		goto fail;
	error = keep_ipv6_off(netlink, *index);
	if (!error)
		error = link_up(netlink, *index, mtu);
	if (!error)
		return fd;
	errno = -error;
fail:
	error = -errno;
	close(fd);
	return error;
}
