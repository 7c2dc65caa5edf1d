/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/ipv6.h"

#include "packet/icmp.h"
#include "flow/ipv6_extensions.h"
#include "packet/transport.h"
#include "headers/mux_to_mux.h"

static inline bool is_mapped(uint64_t high, uint64_t low)
{
	return !high && (uint32_t)low == 0xffff0000U;
}

/* Sources that no host may use: unspecified, loopback, mapped IPv4, link-local, multicast; and the VIP itself. */
static inline bool source_forbidden(const uint8_t *ip)
{
	uint64_t high = transport_load64(ip + 8), low = transport_load64(ip + 16);

	if (!high && (!low || low == (uint64_t)1 << 56 || is_mapped(high, low)))
		return true;
	if (ip[8] == 0xff || (ip[8] == 0xfe && (ip[9] & 0xc0) == 0x80))
		return true;
	return high == transport_load64(ip + 24) && low == transport_load64(ip + 32);
}

/* Classifies a packet to a VIP; len and frame_len count from the IP header. */
static enum verdict classify_vip(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
				 uint32_t len, uint32_t frame_len, struct packet *out)
{
	uint32_t total = FL_IPV6_LEN + fl_load_be16(ip + 4);
	struct ipv6_walk walk = {.protocol = ip[6], .at = FL_IPV6_LEN};
	enum verdict verdict;

	if (total > frame_len || total > UINT16_MAX)
		return VERDICT_IP_TOTAL_LENGTH;
	if (!ip[7])
		return VERDICT_IP_TTL;
	if (source_forbidden(ip))
		return VERDICT_IP_SOURCE;
	if (walk.protocol != IPPROTO_TCP && walk.protocol != IPPROTO_UDP) {
		verdict = ipv6_walk(ip, len < total ? len : total, total, &walk);
		if (verdict != VERDICT_SERVICE)
			return verdict;
	}
	out->flags = PACKET_IPV6;
	out->ip_len = (uint16_t)total;
	out->tos = (uint8_t)(fl_load_be16(ip) >> 4);
	out->at_l4 = (uint16_t)(out->at_ip + walk.at);
	out->addresses6 = ip + 8;
	if (walk.fragment)
		return VERDICT_FRAGMENT;
	if (len < frame_len)
		return VERDICT_SEGMENTED;
	if (walk.protocol == IPPROTO_ICMPV6)
		return icmp_classify_ipv6(lookup, vip, ip, ip + walk.at, total - walk.at, out);
	return transport_classify(lookup, vip, walk.protocol, ip + walk.at, len - walk.at, total - walk.at, out);
}

enum verdict ipv6_classify(const struct lookup *lookup, const uint8_t *data, uint32_t at_ip, uint32_t len,
			   uint32_t frame_len, struct packet *out)
{
	const uint8_t *ip = data + at_ip;
	const struct lookup_vip *vip;
	uint64_t high, low;

	if (len < at_ip + FL_IPV6_LEN || ip[0] >> 4 != 6)
		return VERDICT_NOT_OURS;
	high = transport_load64(ip + 24);
	low = transport_load64(ip + 32);
	/* the table holds IPv4 VIPs as mapped addresses, which IPv6 packets must not use */
	vip = is_mapped(high, low) ? NULL : lookup_vip(lookup, high, low);
	if (!vip)
		return VERDICT_NOT_OURS;
	out->at_ip = (uint8_t)at_ip;
	if (vip->self)
		return mux_to_mux_classify(ip, len - at_ip, out);
	return classify_vip(lookup, vip, ip, len - at_ip, frame_len - at_ip, out);
}
