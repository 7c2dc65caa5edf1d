/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Ethernet, IP, and what they carry, as on the wire. Lengths are without options. */
#ifndef FAIRLEAD_IP_H
#define FAIRLEAD_IP_H

enum fl_ip_numbers {
	FL_MAC_LEN = 6,
	FL_MACS_LEN = 2 * FL_MAC_LEN,
	FL_ETHERNET_LEN = FL_MACS_LEN + 2,
	FL_TYPE_IPV4 = 0x0800,
	FL_TYPE_IPV6 = 0x86dd,
	FL_TYPE_VLAN = 0x8100,
	FL_TYPE_SERVICE_VLAN = 0x88a8,
	FL_VLAN_LEN = 4,
	FL_VLANS_MAX = 2, /* in a frame, of those that are looked into */

	FL_IPV4_LEN = 20,
	FL_IPV4_AT_CHECKSUM = 10,
	FL_IPV4_AT_SOURCE = 12,
	FL_IPV4_AT_DESTINATION = 16,
	FL_IPV4_DONT_FRAGMENT = 0x4000,
	FL_IPV4_MORE_FRAGMENTS = 0x2000,
	FL_IPV4_OFFSET = 0x1fff,
	FL_IPV4_FRAGMENT = FL_IPV4_MORE_FRAGMENTS | FL_IPV4_OFFSET,

	FL_IPV6_LEN = 40,
	FL_IPV6_AT_SOURCE = 8,
	FL_IPV6_AT_DESTINATION = 24,
	FL_IPV6_FRAGMENT_LEN = 8,
	FL_IPV6_OFFSET = 0xfff8,

	FL_TCP_LEN = 20,
	FL_UDP_LEN = 8,
	FL_UDP_AT_LEN = 4,
	FL_UDP_AT_CHECKSUM = 6,
	FL_ICMP_LEN = 8,
};

#endif
