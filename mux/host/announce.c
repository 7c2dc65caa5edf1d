/* SPDX-License-Identifier: Apache-2.0 */
#include "host/announce.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

struct device {
	LIST_ENTRY(device) next;
	uint32_t service;
	int fd;
	uint32_t index;
	unsigned count; /* of vips: those that have a route */
	struct fl_address *vips;
};

struct announcer {
	struct mnl_socket *netlink;
	unsigned sequence;
	int epoll;
	uint64_t drained;
	LIST_HEAD(, device) devices;
};

/* Sends a request and waits for the kernel's acknowledgement. 0 or -errno. */
static int ask(struct announcer *announcer, struct nlmsghdr *request)
{
	char buffer[8192]; /* larger than an acknowledgement that quotes any request made here */
	unsigned port = mnl_socket_get_portid(announcer->netlink);
	ssize_t len;
	int rc;

	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	request->nlmsg_seq = ++announcer->sequence;
	if (mnl_socket_sendto(announcer->netlink, request, request->nlmsg_len) < 0)
		return -errno;
	do {
		len = mnl_socket_recvfrom(announcer->netlink, buffer, sizeof(buffer));
		if (len < 0)
			return -errno;
		rc = mnl_cb_run(buffer, (size_t)len, announcer->sequence, port, NULL, NULL);
		if (rc < 0)
			return -errno;
	} while (rc == MNL_CB_OK);
	return 0;
}

/* Without a link-local address the kernel neither solicits routers nor joins groups on a device that leads nowhere. */
static int keep_ipv6_off(struct announcer *announcer, uint32_t index)
{
	char buffer[256] = {0};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct nlattr *spec, *inet6;
	struct ifinfomsg *link;
	int error;

	request->nlmsg_type = RTM_SETLINK;
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_family = AF_UNSPEC;
	link->ifi_index = (int)index;
	spec = mnl_attr_nest_start(request, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(request, AF_INET6);
	mnl_attr_put_u8(request, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(request, inet6);
	mnl_attr_nest_end(request, spec);
	error = ask(announcer, request);
	return error == -EAFNOSUPPORT || error == -ENODEV ? 0 : error; /* a kernel without IPv6 */
}

static int link_up(struct announcer *announcer, uint32_t index)
{
	char buffer[256] = {0};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *link;

	request->nlmsg_type = RTM_NEWLINK;
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_family = AF_UNSPEC;
	link->ifi_index = (int)index;
	link->ifi_change = IFF_UP;
	link->ifi_flags = IFF_UP;
	return ask(announcer, request);
}

static int route(struct announcer *announcer, uint16_t type, const struct device *device, const struct fl_address *vip)
{
	bool ipv4 = fl_address_is_ipv4(vip);
	uint16_t len = ipv4 ? 4 : 16;
	char buffer[256] = {0};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *message;

	request->nlmsg_type = type;
	if (type == RTM_NEWROUTE)
		request->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	message = mnl_nlmsg_put_extra_header(request, sizeof(*message));
	message->rtm_family = ipv4 ? AF_INET : AF_INET6;
	message->rtm_dst_len = (unsigned char)(len * 8);
	message->rtm_table = RT_TABLE_MAIN;
	message->rtm_protocol = ANNOUNCE_ROUTE_PROTOCOL;
	message->rtm_scope = RT_SCOPE_LINK;
	message->rtm_type = RTN_UNICAST;
	mnl_attr_put(request, RTA_DST, len, vip->bytes + 16 - len);
	mnl_attr_put_u32(request, RTA_OIF, device->index);
	/* Services may share a VIP on different ports: with a metric of its own, each can have a route to it. */
	mnl_attr_put_u32(request, RTA_PRIORITY, device->service);
	return ask(announcer, request);
}

static void device_close(struct device *device)
{
	LIST_REMOVE(device, next);
	if (device->fd >= 0)
		close(device->fd);
	free(device->vips);
	free(device);
}

/* Creates the TUN device of a service. Returns 0 or -errno; -EBUSY: another process has it. */
static int device_open(struct announcer *announcer, uint32_t service, struct device **out)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	struct epoll_event event = {.events = EPOLLIN};
	struct device *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return -ENOMEM;
	device->service = service;
	LIST_INSERT_HEAD(&announcer->devices, device, next);
	device->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (device->fd < 0)
		goto fail;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "fl%u", service);
	if (ioctl(device->fd, TUNSETIFF, &request) < 0)
		goto fail;
	device->index = if_nametoindex(request.ifr_name);
	if (!device->index)
		goto fail;
	error = keep_ipv6_off(announcer, device->index);
	if (!error)
		error = link_up(announcer, device->index);
	if (error) {
		errno = -error;
		goto fail;
	}
	event.data.ptr = device;
	if (epoll_ctl(announcer->epoll, EPOLL_CTL_ADD, device->fd, &event) < 0)
		goto fail;
	*out = device;
	return 0;
fail:
	error = -errno;
	device_close(device);
	return error;
}

static bool contains(const struct fl_address *vips, unsigned count, const struct fl_address *vip)
{
	for (unsigned i = 0; i < count; i++)
		if (fl_address_equal(&vips[i], vip))
			return true;
	return false;
}

static struct device *device_of(const struct announcer *announcer, uint32_t service)
{
	struct device *device;

	LIST_FOREACH(device, &announcer->devices, next)
	if (device->service == service)
		return device;
	return NULL;
}

/* Sets the routes to exactly vips: adds the new ones, then removes the old ones. */
static int device_set(struct announcer *announcer, struct device *device, const struct fl_address *vips, unsigned count)
{
	struct fl_address *now = realloc(device->vips, (device->count + count) * sizeof(*now));
	unsigned kept = 0;
	int failed = 0;

	if (!now)
		return -ENOMEM;
	device->vips = now;
	for (unsigned i = 0; i < count; i++) {
		int error =
		    contains(now, device->count, &vips[i]) ? 0 : route(announcer, RTM_NEWROUTE, device, &vips[i]);

		if (error && !failed)
			failed = error;
		if (!error && !contains(now, device->count, &vips[i]))
			now[device->count++] = vips[i];
	}
	for (unsigned i = 0; i < device->count; i++) {
		if (!contains(vips, count, &now[i])) {
			int error = route(announcer, RTM_DELROUTE, device, &now[i]);

			if (!error || error == -ESRCH)
				continue;
			if (!failed)
				failed = error;
		}
		now[kept++] = now[i];
	}
	device->count = kept;
	return failed;
}

int announce_service(struct announcer *announcer, uint32_t service, const struct fl_address *vips, unsigned count)
{
	struct device *device = device_of(announcer, service);
	int error;

	if (!count) {
		if (device)
			device_close(device);
		return 0;
	}
	if (!device) {
		error = device_open(announcer, service, &device);
		if (error)
			return error;
	}
	return device_set(announcer, device, vips, count);
}

int announce_fd(const struct announcer *announcer)
{
	return announcer->epoll;
}

bool announce_run(struct announcer *announcer)
{
	struct epoll_event ready[16];
	char packet[256]; /* longer packets are truncated; all are dropped anyway */
	int count = epoll_wait(announcer->epoll, ready, 16, 0);
	bool lost = false;

	for (int i = 0; i < count; i++) {
		struct device *device = ready[i].data.ptr;

		for (int n = 0; n < ANNOUNCE_DRAIN_MAX && read(device->fd, packet, sizeof(packet)) > 0; n++)
			announcer->drained++;
		if (ready[i].events & (EPOLLERR | EPOLLHUP)) {
			device_close(device);
			lost = true;
		}
	}
	return lost;
}

uint64_t announce_drained(const struct announcer *announcer)
{
	return announcer->drained;
}

struct announcer *announce_open(void)
{
	struct announcer *announcer = calloc(1, sizeof(*announcer));
	int error;

	if (!announcer)
		return NULL;
	LIST_INIT(&announcer->devices);
	announcer->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (announcer->epoll < 0)
		goto fail;
	announcer->netlink = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!announcer->netlink)
		goto fail;
	if (mnl_socket_bind(announcer->netlink, 0, MNL_SOCKET_AUTOPID) < 0)
		goto fail;
	return announcer;
fail:
	error = errno;
	announce_close(announcer);
	errno = error;
	return NULL;
}

void announce_close(struct announcer *announcer)
{
	struct device *device;

	while ((device = LIST_FIRST(&announcer->devices)))
		device_close(device);
	if (announcer->netlink)
		mnl_socket_close(announcer->netlink);
	if (announcer->epoll >= 0)
		close(announcer->epoll);
	free(announcer);
}
