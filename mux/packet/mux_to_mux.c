/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/mux_to_mux.h"

#include <string.h>

#include "encap/gue.h"
#include "packet/ipv6_extensions.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "packet/transport.h"

enum {
	MACS_LEN = 12,
	ETHERNET_LEN = 14,
	IPV4_LEN = 20,
	FRAGMENT_BITS = 0x3fff,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
};

enum verdict mux_to_mux_classify(const uint8_t *ip, uint32_t len, struct packet *out)
{
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t header = ipv6 ? IPV6_LEN : IPV4_LEN;

	if (len < header + TRANSPORT_UDP_LEN || ip[ipv6 ? 6 : 9] != IPPROTO_UDP ||
	    fl_load_be16(ip + header + 2) != FL_LIST_GUE_PORT)
		return VERDICT_NOT_OURS;
	if (!ipv6 && (ip[0] != 0x45 || fl_load_be16(ip + 6) & FRAGMENT_BITS))
		return VERDICT_NOT_OURS;
	out->flags = ipv6 ? PACKET_IPV6 : 0;
	out->at_l4 = (uint16_t)(out->at_ip + header);
	return VERDICT_PEER;
}

enum verdict mux_to_mux_unwrap(const struct peers *peers, struct rte_mbuf *mbuf, const struct packet *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), *ip = frame + packet->at_ip;
	uint8_t *gue = frame + packet->at_l4 + GUE_UDP_LEN, macs[MACS_LEN];
	uint32_t head = packet->at_l4 + (uint32_t)GUE_UDP_LEN + FL_LIST_GUE_LEN;
	struct fl_address source;
	uint16_t type;

	if (packet->flags & PACKET_IPV6)
		memcpy(source.bytes, ip + 8, 16);
	else
		source = fl_address_from_ipv4(ip + 12);
	if (!peers_has(peers, &source))
		return VERDICT_PEER_UNKNOWN;
	if (mbuf->data_len < mbuf->pkt_len)
		return VERDICT_SEGMENTED;
	if (mbuf->data_len < head || gue[0] || gue[2] || gue[3] ||
	    (gue[1] != FL_LIST_GUE_IPV4 && gue[1] != FL_LIST_GUE_IPV6))
		return VERDICT_PEER_MALFORMED;
	type = gue[1] == FL_LIST_GUE_IPV4 ? TYPE_IPV4 : TYPE_IPV6;
	memcpy(macs, frame, MACS_LEN);
	mbuf->data_off = (uint16_t)(mbuf->data_off + head - ETHERNET_LEN);
	mbuf->data_len = (uint16_t)(mbuf->data_len - (head - ETHERNET_LEN));
	mbuf->pkt_len = mbuf->data_len;
	frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(frame, macs, MACS_LEN);
	fl_store_be16(frame + MACS_LEN, type);
	return VERDICT_PEER;
}

/*
 * The largest packet that fits the way to a server, if that is as wide as the one between muxes, whatever its service and
 * with room for the longest list.
 */
static uint32_t room_to_servers(const struct lookup *lookup, const struct backend *line, uint8_t flags)
{
	uint32_t longest = lookup_overhead(lookup, &line->outer, flags);
	uint32_t own = (line->outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE) - ENCAP_AT_IP + FL_LIST_GUE_LEN;

	return encap_room(longest > own ? longest : own, line->mtu);
}

enum verdict mux_to_mux_wrap(const struct lookup *lookup, const struct backend *line, uint8_t flags,
			     struct rte_mbuf *mbuf, struct packet *packet)
{
	uint32_t vlan_len = line->vlan ? ENCAP_VLAN_LEN : 0, at_gue = line->outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;
	uint32_t len = at_gue + FL_LIST_GUE_LEN, prepend = vlan_len + len - packet->at_ip;
	bool is_ipv6 = packet->flags & PACKET_IPV6;
	uint32_t room = room_to_servers(lookup, line, flags);
	uint8_t *out;

	/* only this mux can report it */
	if (packet->ip_len > room) {
		packet->mtu = (uint16_t)room;
		return packet->flags & PACKET_LATER ? VERDICT_TOO_BIG_SILENT : VERDICT_TOO_BIG;
	}
	if (rte_pktmbuf_headroom(mbuf) < prepend)
		return VERDICT_NO_HEADROOM;
	mbuf->data_off = (uint16_t)(mbuf->data_off - prepend);
	mbuf->data_len = (uint16_t)(vlan_len + len + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	out = rte_pktmbuf_mtod(mbuf, uint8_t *);
	gue_write_outer(out + vlan_len, &line->outer, packet->tos, (uint32_t)packet->hash,
			FL_LIST_GUE_LEN + packet->ip_len);
	memcpy(out + vlan_len + at_gue, (uint8_t[FL_LIST_GUE_LEN]){0, is_ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4},
	       FL_LIST_GUE_LEN);
	if (vlan_len)
		encap_write_vlan(out, line->vlan);
	packet->port = line->port;
	return VERDICT_FRAGMENT_FORWARDED;
}
