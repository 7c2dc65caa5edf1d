/* SPDX-License-Identifier: Apache-2.0 */
/* TUN devices, and requests to netlink whose answers are awaited. */
#ifndef FAIRLEAD_MUX_TUN_H
#define FAIRLEAD_MUX_TUN_H

#include <stdint.h>

#include <libmnl/libmnl.h>

struct rtnetlink {
	struct mnl_socket *socket; /* NULL: closed */
	unsigned sequence;
};

/* bus: NETLINK_ROUTE, ... 0 or -errno. */
int rtnetlink_open(struct rtnetlink *netlink, int bus);
/* Also if it was never opened, all zero. */
void rtnetlink_close(struct rtnetlink *netlink);
/*
 * Sends a request, which has its flags, and hands the answers to callback until it returns MNL_CB_STOP, or a dump ends.
 * 0 or -errno, the kernel's own included.
 */
int rtnetlink_query(struct rtnetlink *netlink, struct nlmsghdr *request, mnl_cb_t callback, void *data);
/* Sends a request and waits for the kernel's acknowledgement. 0 or -errno. */
int rtnetlink_ask(struct rtnetlink *netlink, struct nlmsghdr *request);

/*
 * Creates the device and sets it up, with the kernel's MTU if mtu is 0 and without an IPv6 address of its own. Returns a
 * descriptor, not blocking, that is a packet a read and keeps the device alive; or -errno, -EBUSY: another process has
 * it.
 */
int tun_open(struct rtnetlink *netlink, const char *name, uint32_t mtu, uint32_t *index);

#endif
