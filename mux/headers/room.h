/* SPDX-License-Identifier: Apache-2.0 */
/* Room for outer headers in front of IP packets: inline in the packet path. */
#ifndef FAIRLEAD_MUX_ROOM_H
#define FAIRLEAD_MUX_ROOM_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "encap/encap.h"
#include "flow/packet.h"
#include "ring/backend.h"

/*
 * Whether a packet with a header of len bytes over IPv4 is larger than what gets to all backends: a server that sends it on
 * keeps the header's length, and nothing tells the sender if it does not fit there.
 */
static inline bool room_lacks(const struct backends *backends, const struct packet *packet, uint32_t len)
{
	return packet->ip_len + len - ENCAP_AT_IP > (uint16_t)backends_narrowest(backends);
}

/* Makes room for a header of len bytes in front of the IP packet and returns its start; NULL without headroom. */
static inline uint8_t *room_make(struct rte_mbuf *mbuf, const struct packet *packet, uint32_t len)
{
	uint32_t prepend = len - packet->at_ip;

	if (unlikely(rte_pktmbuf_headroom(mbuf) < prepend))
		return NULL;
	/* the frame may be longer than the IP packet: Ethernet pads to 60 bytes */
	mbuf->data_off = (uint16_t)(mbuf->data_off - prepend);
	mbuf->data_len = (uint16_t)(len + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	return rte_pktmbuf_mtod(mbuf, uint8_t *);
}

/*
 * The same, if the header may be longer than the headroom of new buffers, as some are over IPv6: moves the IP packet
 * towards the end of its buffer.
 */
static inline uint8_t *room_make_long(struct rte_mbuf *mbuf, const struct packet *packet, uint32_t len)
{
	uint8_t *ip = rte_pktmbuf_mtod(mbuf, uint8_t *) + packet->at_ip;
	uint32_t prepend = len - packet->at_ip, by;

	if (prepend <= RTE_PKTMBUF_HEADROOM)
		return room_make(mbuf, packet, len);
	by = prepend - RTE_PKTMBUF_HEADROOM;
	if (rte_pktmbuf_headroom(mbuf) < RTE_PKTMBUF_HEADROOM || rte_pktmbuf_tailroom(mbuf) < by)
		return NULL; /* as it is */
	memmove(ip + by, ip, packet->ip_len);
	mbuf->data_off = (uint16_t)(mbuf->data_off + by);
	return room_make(mbuf, packet, len);
}

#endif
