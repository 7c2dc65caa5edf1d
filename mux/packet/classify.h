/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet is: one verdict, from the packet's bytes and the VIPs alone.
 *
 *	our MAC, at most two VLAN tags, type IPv4 or IPv6?	no: not ours
 *	destination a VIP, or this mux as another one writes it (mux_to_mux.h)? no: not ours
 *	---			from here on, what is not steered or answered is dropped under its own name
 *	IP header (ipv6.h walks the extensions) sound? fragment? in one buffer?
 *	TCP or UDP (transport.h), or ICMP (icmp.h), and sound? a service there?
 */
#ifndef FAIRLEAD_MUX_CLASSIFY_H
#define FAIRLEAD_MUX_CLASSIFY_H

#include "packet/packet.h"

struct lookup;

/*
 * mac: of the port (mac_word); frames for others are not ours. data: the Ethernet header; len: contiguous bytes there;
 * frame_len: of the whole frame.
 */
void classify(const struct lookup *lookup, uint64_t mac, const uint8_t *data, uint32_t len, uint32_t frame_len,
	      struct packet *out);

#endif
