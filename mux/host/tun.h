/* SPDX-License-Identifier: Apache-2.0 */
/* TUN devices, and requests to rtnetlink that the kernel acknowledges. */
#ifndef FAIRLEAD_MUX_TUN_H
#define FAIRLEAD_MUX_TUN_H

#include <stdint.h>

struct mnl_socket;
struct nlmsghdr;

struct rtnetlink {
	struct mnl_socket *socket; /* NULL: closed */
	unsigned sequence;
};

/* 0 or -errno. */
int rtnetlink_open(struct rtnetlink *netlink);
/* Also if it was never opened, all zero. */
void rtnetlink_close(struct rtnetlink *netlink);
/* Sends a request and waits for the kernel's acknowledgement. 0 or -errno. */
int rtnetlink_ask(struct rtnetlink *netlink, struct nlmsghdr *request);

/*
 * Creates the device and sets it up, with the kernel's MTU if mtu is 0 and without an IPv6 address of its own. Returns a
 * descriptor, not blocking, that is a packet a read and keeps the device alive; or -errno, -EBUSY: another process has
 * it.
 */
int tun_open(struct rtnetlink *netlink, const char *name, uint32_t mtu, uint32_t *index);

#endif
