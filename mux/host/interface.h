/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a network interface, from the kernel. Functions that return int: 0 or -errno. */
#ifndef FAIRLEAD_MUX_INTERFACE_H
#define FAIRLEAD_MUX_INTERFACE_H

#include <fairlead/types.h>

int interface_mtu(const char *name, uint16_t *mtu);
int interface_set_mtu(const char *name, uint16_t mtu);
int interface_mac(const char *name, uint8_t mac[6]);
/* The first IPv4, or global IPv6 address by AF_INET6, of the interface or a VLAN on it; -EADDRNOTAVAIL: it has none. */
int interface_address(const char *name, int family, struct fl_address *out);

/* The number of receive queues in use; 1 if the driver does not report it. */
int interface_queues(const char *name, unsigned *queues);

/* Whether it is up and has a carrier. */
bool interface_is_up(const char *name);
/*
 * Whether flows of IPPROTO_TCP or _UDP, of both families, are distributed to the queues by their ports; true if the
 * driver does not report it.
 */
bool interface_hashes_ports(const char *name, uint8_t protocol);
/* Whether packets are merged on receipt, by the device (LRO) or by the kernel (GRO). */
bool interface_has_lro(const char *name);
bool interface_has_gro(const char *name);

#endif
