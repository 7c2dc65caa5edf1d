/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/classify.h"

#include <rte_branch_prediction.h>

#include "packet/icmp.h"
#include "packet/ipv6.h"
#include "packet/transport.h"
#include "headers/mux_to_mux.h"

/*
 * Whether an IPv4 header of that many 32-bit words has the one's-complement sum 0xffff: its plain sum is a multiple of
 * it (and not 0, since the version comes first). The sum does not depend on the byte order.
 */
static inline bool checksum_right(const uint8_t *ip, uint32_t words)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < FL_IPV4_LEN / 4; i++) /* unrolled: most have no options */
		sum += transport_load32(ip + 4 * i);
	for (uint32_t i = FL_IPV4_LEN / 4; i < words; i++)
		sum += transport_load32(ip + 4 * i);
	return sum % 0xffff == 0;
}

/* Sources that no host may use: this network, loopback, multicast, reserved; and the VIP itself (a loop). */
static inline bool source_forbidden(const uint8_t *ip)
{
	return ip[12] == 0 || ip[12] == 127 || ip[12] >= 224 || transport_load32(ip + 12) == transport_load32(ip + 16);
}

/* Classifies a packet to a VIP; len and frame_len count from the IP header. */
static inline enum verdict classify_vip(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
					uint32_t len, uint32_t frame_len, struct packet *out)
{
	uint32_t header = (ip[0] & 15) * 4U, total = fl_load_be16(ip + 2);

	if (header < FL_IPV4_LEN)
		return VERDICT_IP_HEADER_LENGTH;
	if (header > frame_len)
		return VERDICT_IP_TRUNCATED;
	if (header > len)
		return VERDICT_SEGMENTED;
	if (total < header || total > frame_len)
		return VERDICT_IP_TOTAL_LENGTH;
	if (!checksum_right(ip, header / 4))
		return VERDICT_IP_CHECKSUM;
	if (!ip[8])
		return VERDICT_IP_TTL;
	if (source_forbidden(ip))
		return VERDICT_IP_SOURCE;
	out->flags = 0;
	out->ip_len = (uint16_t)total;
	out->tos = ip[1];
	out->at_l4 = (uint16_t)(out->at_ip + header);
	out->key[0] = transport_load64(ip + 12);
	if (fl_load_be16(ip + 6) & FL_IPV4_FRAGMENT)
		return VERDICT_FRAGMENT;
	if (len < frame_len)
		return VERDICT_SEGMENTED;
	if (ip[9] == IPPROTO_ICMP)
		return icmp_classify_ipv4(lookup, vip, ip, ip + header, total - header, out);
	return transport_classify(lookup, vip, ip[9], ip + header, len - header, total - header, out);
}

/* The verdict of a packet with IPv4 type and our MAC, at_ip bytes into the frame. */
static inline enum verdict classify_ipv4(const struct lookup *lookup, const uint8_t *data, uint32_t at_ip, uint32_t len,
					 uint32_t frame_len, struct packet *out)
{
	const uint8_t *ip = data + at_ip;
	const struct lookup_vip *vip;

	if (len < at_ip + FL_IPV4_LEN || ip[0] >> 4 != 4)
		return VERDICT_NOT_OURS;
	vip = lookup_vip(lookup, 0, lookup_low_of_ipv4(transport_load32(ip + 16)));
	if (!vip)
		return VERDICT_NOT_OURS;
	out->at_ip = (uint8_t)at_ip;
	if (unlikely(vip->self))
		return mux_to_mux_classify(ip, len - at_ip, out);
	return classify_vip(lookup, vip, ip, len - at_ip, frame_len - at_ip, out);
}

/* Everything but plain IPv4: out of line, so that plain IPv4 does not pay for it. */
static __attribute__((noinline)) enum verdict classify_other(const struct lookup *lookup, const uint8_t *data,
							     uint32_t len, uint32_t frame_len, struct packet *out)
{
	uint32_t at = FL_ETHERNET_LEN;
	uint16_t type = fl_load_be16(data + at - 2);

	for (int i = 0; i < FL_VLANS_MAX && (type == FL_TYPE_VLAN || type == FL_TYPE_SERVICE_VLAN); i++) {
		at += FL_VLAN_LEN;
		if (len < at)
			return VERDICT_NOT_OURS;
		type = fl_load_be16(data + at - 2);
	}
	if (type == FL_TYPE_IPV6)
		return ipv6_classify(lookup, data, at, len, frame_len, out);
	return type == FL_TYPE_IPV4 ? classify_ipv4(lookup, data, at, len, frame_len, out) : VERDICT_NOT_OURS;
}

void classify(const struct lookup *lookup, uint64_t mac, const uint8_t *data, uint32_t len, uint32_t frame_len,
	      struct packet *out)
{
	if (len < FL_ETHERNET_LEN || (transport_load64(data) & 0xffffffffffffULL) != mac)
		out->verdict = VERDICT_NOT_OURS;
	else if (data[12] == 0x08 && data[13] == 0x00)
		out->verdict = (uint8_t)classify_ipv4(lookup, data, FL_ETHERNET_LEN, len, frame_len, out);
	else
		out->verdict = (uint8_t)classify_other(lookup, data, len, frame_len, out);
}
