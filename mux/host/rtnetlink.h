/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to netlink whose answers are awaited, and TUN devices made by them. */
#ifndef FAIRLEAD_MUX_RTNETLINK_H
#define FAIRLEAD_MUX_RTNETLINK_H

#include <stdint.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include <fairlead/types.h>

struct rtnetlink {
	struct mnl_socket *socket; /* NULL: closed */
	unsigned sequence;
};

/* bus: NETLINK_ROUTE, ... 0 or -errno. */
int rtnetlink_open(struct rtnetlink *netlink, int bus);
/* Also if it was never opened, all zero. */
void rtnetlink_close(struct rtnetlink *netlink);
/* Begins a request in `buffer` with a header of so many bytes, all zero, as its payload. */
struct nlmsghdr *rtnetlink_begin(void *buffer, uint16_t type, size_t header_len);
/* The address as an attribute. */
void rtnetlink_put(struct nlmsghdr *request, uint16_t attribute, const struct fl_address *address);
static inline uint8_t rtnetlink_family(const struct fl_address *address)
{
	return fl_address_is_ipv4(address) ? AF_INET : AF_INET6;
}
/*
 * Sends a request, which has its other flags, and hands the answers to callback until it returns MNL_CB_STOP, or a dump ends.
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
int rtnetlink_tun_open(struct rtnetlink *netlink, const char *name, uint32_t mtu, uint32_t *index);

#endif
