/* SPDX-License-Identifier: Apache-2.0 */
#include "host/announce.h"

#include <errno.h>
#include <net/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

struct announced_device {
	LIST_ENTRY(announced_device) next;
	uint32_t service;
	int fd;
	uint32_t index;
	unsigned count; /* of vips: those that have a route */
	struct fl_address *vips;
};

static int route(struct announcer *announcer, uint16_t type, const struct announced_device *device,
		 const struct fl_address *vip)
{
	char buffer[256] = {0};
	struct nlmsghdr *request = rtnetlink_begin(buffer, type, sizeof(struct rtmsg));
	struct rtmsg *message = mnl_nlmsg_get_payload(request);

	if (type == RTM_NEWROUTE)
		request->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	message->rtm_family = rtnetlink_family(vip);
	message->rtm_dst_len = fl_address_is_ipv4(vip) ? 32 : 128;
	message->rtm_table = RT_TABLE_MAIN;
	message->rtm_protocol = ANNOUNCE_ROUTE_PROTOCOL;
	message->rtm_scope = RT_SCOPE_LINK;
	message->rtm_type = RTN_UNICAST;
	rtnetlink_put(request, RTA_DST, vip);
	mnl_attr_put_u32(request, RTA_OIF, device->index);
	/* Services may share a VIP on different ports: with a metric of its own, each can have a route to it. */
	mnl_attr_put_u32(request, RTA_PRIORITY, device->service);
	return rtnetlink_ask(&announcer->netlink, request);
}

static void device_close(struct announced_device *device)
{
	LIST_REMOVE(device, next);
	if (device->fd >= 0)
		close(device->fd);
	free(device->vips);
	free(device);
}

/* Creates the TUN device of a service. Returns 0 or -errno; -EBUSY: another process has it. */
static int device_open(struct announcer *announcer, uint32_t service, struct announced_device **out)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct announced_device *device = calloc(1, sizeof(*device));
	char name[IF_NAMESIZE];
	int error;

	if (!device)
		return -ENOMEM;
	device->service = service;
	LIST_INSERT_HEAD(&announcer->devices, device, next);
	snprintf(name, sizeof(name), "fl%u", service);
	device->fd = rtnetlink_tun_open(&announcer->netlink, name, 0, &device->index);
	if (device->fd < 0) {
		error = device->fd;
		goto fail;
	}
	event.data.ptr = device;
	if (epoll_ctl(announcer->epoll, EPOLL_CTL_ADD, device->fd, &event) < 0) {
		error = -errno;
		goto fail;
	}
	*out = device;
	return 0;
fail:
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

static struct announced_device *device_of(const struct announcer *announcer, uint32_t service)
{
	struct announced_device *device;

	LIST_FOREACH(device, &announcer->devices, next)
	if (device->service == service)
		return device;
	return NULL;
}

/* Sets the routes to exactly vips: adds the new ones, then removes the old ones. */
static int device_set(struct announcer *announcer, struct announced_device *device, const struct fl_address *vips,
		      unsigned count)
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
	struct announced_device *device = device_of(announcer, service);
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

bool announce_run(struct announcer *announcer)
{
	struct epoll_event ready[16];
	char packet[256]; /* longer packets are truncated; all are dropped anyway */
	int count = epoll_wait(announcer->epoll, ready, 16, 0);
	bool lost = false;

	for (int i = 0; i < count; i++) {
		struct announced_device *device = ready[i].data.ptr;

		for (int n = 0; n < ANNOUNCE_DRAIN_MAX && read(device->fd, packet, sizeof(packet)) > 0; n++)
			announcer->drained++;
		if (ready[i].events & (EPOLLERR | EPOLLHUP)) {
			device_close(device);
			lost = true;
		}
	}
	return lost;
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
	error = rtnetlink_open(&announcer->netlink, NETLINK_ROUTE);
	if (error) {
		errno = -error;
		goto fail;
	}
	return announcer;
fail:
	error = errno;
	announce_close(announcer);
	errno = error;
	return NULL;
}

void announce_close(struct announcer *announcer)
{
	struct announced_device *device;

	while ((device = LIST_FIRST(&announcer->devices)))
		device_close(device);
	rtnetlink_close(&announcer->netlink);
	if (announcer->epoll >= 0)
		close(announcer->epoll);
	free(announcer);
}
