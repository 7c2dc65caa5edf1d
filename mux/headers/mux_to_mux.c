/* SPDX-License-Identifier: Apache-2.0 */
#include "headers/mux_to_mux.h"

#include <netinet/in.h>
#include <string.h>

#include <fairlead/fragment.h>

#include "encap/gue.h"
#include "flow/ipv6_extensions.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "flow/transport.h"

enum verdict mux_to_mux_classify(const uint8_t *ip, uint32_t len, struct packet *out)
{
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t header = ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN;

	if (len < header + FL_UDP_LEN || ip[ipv6 ? 6 : 9] != IPPROTO_UDP ||
	    fl_load_be16(ip + header + 2) != FL_LIST_GUE_PORT)
		return VERDICT_NOT_OURS;
	if (!ipv6 && (ip[0] != 0x45 || fl_load_be16(ip + 6) & FL_IPV4_FRAGMENT))
		return VERDICT_NOT_OURS;
	out->flags = ipv6 ? PACKET_IPV6 : 0;
	out->at_l4 = (uint16_t)(out->at_ip + header);
	return VERDICT_PEER;
}

static void read_addresses(const uint8_t *ip, bool is_ipv6, struct fl_address *from, struct fl_address *to)
{
	if (is_ipv6) {
		memcpy(from->bytes, ip + 8, 16);
		memcpy(to->bytes, ip + 24, 16);
		return;
	}
	*from = fl_address_from_ipv4(ip + 12);
	*to = fl_address_from_ipv4(ip + 16);
}

static bool has_right_tag(const struct peers *peers, const struct fl_fragment *fragment, const struct fl_address *from,
			  const struct fl_address *to, const uint8_t *inner, uint32_t inner_len)
{
	const struct fl_siphash_key *key = &peers->deal.keys[!!(fragment->flags & FL_LIST_KEY)];

	return fragment->flags & FL_LIST_TAG &&
	       fragment->tag == fl_fragment_tag(key, fragment->flags, from, to, inner, inner_len);
}

/* Makes the frame's Ethernet header, with this type, that of the packet which begins at `at`. */
static void uncover(struct rte_mbuf *mbuf, uint32_t at, uint16_t type)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), macs[FL_MACS_LEN];

	memcpy(macs, frame, FL_MACS_LEN);
	mbuf->data_off = (uint16_t)(mbuf->data_off + at - FL_ETHERNET_LEN);
	mbuf->data_len = (uint16_t)(mbuf->data_len - (at - FL_ETHERNET_LEN));
	mbuf->pkt_len = mbuf->data_len;
	frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(frame, macs, FL_MACS_LEN);
	fl_store_be16(frame + FL_MACS_LEN, type);
}

enum verdict mux_to_mux_unwrap(const struct peers *peers, struct rte_mbuf *mbuf, const struct packet *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), *udp = frame + packet->at_l4;
	const uint8_t *gue = udp + FL_UDP_LEN, *end = frame + mbuf->data_len;
	uint32_t udp_len = fl_load_be16(udp + 4), head;
	struct fl_fragment fragment;
	struct fl_address from, to;

	read_addresses(frame + packet->at_ip, packet->flags & PACKET_IPV6, &from, &to);
	if (!peers_has(peers, &from))
		return VERDICT_PEER_UNKNOWN;
	if (mbuf->data_len < mbuf->pkt_len)
		return VERDICT_SEGMENTED;
	if (udp_len > (uint32_t)(end - udp) || udp_len < FL_UDP_LEN ||
	    !fl_fragment_parse(gue, udp + udp_len, &fragment))
		return VERDICT_PEER_MALFORMED;
	head = fl_fragment_len(fragment.flags);
	if (peers->deal.tag_flags &&
	    !has_right_tag(peers, &fragment, &from, &to, gue + head, udp_len - (uint32_t)FL_UDP_LEN - head))
		return VERDICT_PEER_UNTRUSTED;
	uncover(mbuf, (uint32_t)(gue - frame) + head,
		fragment.inner_protocol == FL_LIST_GUE_IPV4 ? FL_TYPE_IPV4 : FL_TYPE_IPV6);
	return VERDICT_PEER;
}

/*
 * The largest packet that fits the way to a server, if that is as wide as the one between muxes, whatever its service and
 * with room for the longest list.
 */
static uint32_t room_to_servers(const struct lookup *lookup, const struct backend *line, uint8_t flags)
{
	uint32_t longest = lookup_overhead(lookup, &line->outer, flags);
	uint32_t own = (line->outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE) - ENCAP_AT_IP + fl_fragment_len(flags);

	return encap_room(longest > own ? longest : own, line->mtu);
}

/* Behind the outer header, which is at ip, and in front of the inner packet, which lies there already. */
static void write_fragment(uint8_t *gue, const uint8_t *ip, const struct peers_deal *deal, const struct packet *packet)
{
	struct fl_fragment fragment = {
	    .inner_protocol = packet->flags & PACKET_IPV6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4,
	    .flags = deal->tag_flags,
	};
	struct fl_address from, to;

	read_addresses(ip, ip[0] >> 4 == 6, &from, &to);
	if (fragment.flags)
		fragment.tag = fl_fragment_tag(&deal->keys[!!(fragment.flags & FL_LIST_KEY)], fragment.flags, &from,
					       &to, gue + fl_fragment_len(fragment.flags), packet->ip_len);
	fl_fragment_write(&fragment, gue);
}

enum verdict mux_to_mux_wrap(const struct lookup *lookup, const struct peer *peer, struct rte_mbuf *mbuf,
			     struct packet *packet)
{
	const struct backend *line = &peer->line;
	uint8_t flags = lookup->peers->deal.tag_flags & FL_LIST_TAG;
	uint32_t vlan_len = line->vlan ? FL_VLAN_LEN : 0, at_gue = line->outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE;
	uint32_t len = at_gue + fl_fragment_len(flags), prepend = vlan_len + len - packet->at_ip;
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
			fl_fragment_len(flags) + packet->ip_len);
	write_fragment(out + vlan_len + at_gue, out + vlan_len + ENCAP_AT_IP, &lookup->peers->deal, packet);
	if (vlan_len)
		encap_write_vlan(out, line->vlan);
	packet->port = line->port;
	return VERDICT_FRAGMENT_FORWARDED;
}
