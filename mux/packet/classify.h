/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classification: gives a packet its verdict, from its bytes and the VIPs alone.
 *
 *	our MAC, at most two VLAN tags, type IPv4 or IPv6?	no: not ours
 *	destination a VIP, or this mux and sent by another mux (mux_to_mux.h)? no: not ours
 *	---			from here on, a packet is steered, answered, or dropped under its own verdict
 *	IP header (ipv6.h walks the extensions) sound? fragment? in one buffer?
 *	TCP or UDP (transport.h), or ICMP (icmp.h), and sound? a service at its port?
 */
#ifndef FAIRLEAD_MUX_CLASSIFY_H
#define FAIRLEAD_MUX_CLASSIFY_H

#include "host/mac.h"
#include "flow/packet.h"

struct lookup;

/*
 * mac: the port's (mac_word); frames to another MAC are not ours. data: the Ethernet header; len: contiguous bytes
 * there; frame_len: bytes of the whole frame.
 */
void classify(const struct lookup *lookup, uint64_t mac, const uint8_t *data, uint32_t len, uint32_t frame_len,
	      struct packet *out);

#endif
