/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"

#include <netinet/in.h>

#include "encap.h"
#include "lookup.h"
#include "ring.h"

enum {
	ETHERNET_LEN = 14,
	IPV4_LEN = 20,
	TCP_LEN = 20,
	UDP_LEN = 8,
	FRAGMENT_BITS = 0x3fff, /* more fragments, or an offset */
};

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Whether an IPv4 header of words 32-bit words sums to 0xffff; the sum does not depend on the byte order. */
static inline bool checksum_right(const uint8_t *ip, uint32_t words)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < words; i++)
		sum += load32(ip + 4 * i);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* No host may send from these: this network, loopback, multicast and reserved; nor from the VIP itself (a loop). */
static inline bool source_forbidden(const uint8_t *ip)
{
	return ip[12] == 0 || ip[12] == 127 || ip[12] >= 224 || load32(ip + 12) == load32(ip + 16);
}

/* len, l4_len: bytes there in the buffer, and according to IP. */
static inline enum verdict classify_tcp(const uint8_t *tcp, uint32_t len, uint32_t l4_len)
{
	uint32_t header;

	if (l4_len < TCP_LEN)
		return VERDICT_TCP_TRUNCATED;
	if (len < TCP_LEN)
		return VERDICT_SEGMENTED;
	header = (tcp[12] >> 4) * 4U;
	if (header < TCP_LEN || header > l4_len)
		return VERDICT_TCP_OFFSET;
	if (!tcp[0] && !tcp[1])
		return VERDICT_TCP_PORT_ZERO;
	return VERDICT_SERVICE;
}

static inline enum verdict classify_udp(const uint8_t *udp, uint32_t len, uint32_t l4_len)
{
	uint32_t said;

	if (l4_len < UDP_LEN)
		return VERDICT_UDP_TRUNCATED;
	if (len < UDP_LEN)
		return VERDICT_SEGMENTED;
	said = fl_load_be16(udp + 4);
	if (said < UDP_LEN || said > l4_len)
		return VERDICT_UDP_LENGTH;
	return VERDICT_SERVICE;
}

/* What a packet to a VIP is: len and frame_len count from the IP header on. */
static inline enum verdict classify_vip(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
					uint32_t len, uint32_t frame_len, struct packet *out)
{
	uint32_t header = (ip[0] & 15) * 4U, total = fl_load_be16(ip + 2);
	const struct lookup_port *port;
	enum verdict verdict;
	const uint8_t *l4;

	if (header < IPV4_LEN)
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
	if (fl_load_be16(ip + 6) & FRAGMENT_BITS)
		return VERDICT_FRAGMENT;
	if (len < frame_len)
		return VERDICT_SEGMENTED;

	l4 = ip + header;
	if (ip[9] == IPPROTO_TCP)
		verdict = classify_tcp(l4, len - header, total - header);
	else if (ip[9] == IPPROTO_UDP)
		verdict = classify_udp(l4, len - header, total - header);
	else
		return VERDICT_PROTOCOL;
	if (verdict != VERDICT_SERVICE)
		return verdict;
	port = lookup_port(lookup, vip, ip[9], fl_load_be16(l4 + 2));
	if (!port)
		return VERDICT_NO_SERVICE_PORT;
	out->service = port->service;
	out->bucket = 0;
	if (lookup_is_by_id(port)) {
		out->bucket = FL_STEER_BUCKET_NONE;
		out->row = fl_row_make((uint16_t)(fl_load_be16(l4 + 2) - (uint16_t)port->first), 0, 0);
	}
	out->ip_len = (uint16_t)total;
	out->tos = ip[1];
	out->key[0] = load64(ip + 12);
	out->key[1] = load32(l4) | (uint64_t)ip[9] << 32;
	return VERDICT_SERVICE;
}

void classify(const struct lookup *lookup, uint64_t mac, const uint8_t *data, uint32_t len, uint32_t frame_len,
	      struct packet *out)
{
	const uint8_t *ip = data + ETHERNET_LEN;
	const struct lookup_vip *vip;

	out->verdict = VERDICT_NOT_OURS;
	if (len < ETHERNET_LEN + IPV4_LEN)
		return;
	if ((load64(data) & 0xffffffffffffULL) != mac || data[12] != 0x08 || data[13] != 0x00 || ip[0] >> 4 != 4)
		return;
	vip = lookup_vip(lookup, 0, lookup_low_of_ipv4(load32(ip + 16)));
	if (!vip)
		return;
	out->verdict = classify_vip(lookup, vip, ip, len - ETHERNET_LEN, frame_len - ETHERNET_LEN, out);
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICTS] = {
	    [VERDICT_SERVICE] = "service",
	    [VERDICT_NOT_OURS] = "not_ours",
	    [VERDICT_FROM_KERNEL] = "from_kernel",
	    [VERDICT_IP_TRUNCATED] = "ip_truncated",
	    [VERDICT_IP_HEADER_LENGTH] = "ip_header_length",
	    [VERDICT_IP_TOTAL_LENGTH] = "ip_total_length",
	    [VERDICT_IP_CHECKSUM] = "ip_checksum",
	    [VERDICT_IP_TTL] = "ip_ttl",
	    [VERDICT_IP_SOURCE] = "ip_source",
	    [VERDICT_TCP_TRUNCATED] = "tcp_truncated",
	    [VERDICT_TCP_OFFSET] = "tcp_offset",
	    [VERDICT_TCP_PORT_ZERO] = "tcp_port_zero",
	    [VERDICT_UDP_TRUNCATED] = "udp_truncated",
	    [VERDICT_UDP_LENGTH] = "udp_length",
	    [VERDICT_SEGMENTED] = "segmented",
	    [VERDICT_FRAGMENT] = "fragment",
	    [VERDICT_PROTOCOL] = "protocol",
	    [VERDICT_NO_SERVICE_PORT] = "no_service_port",
	    [VERDICT_NO_RING] = "no_ring",
	    [VERDICT_NO_BACKEND] = "no_backend",
	    [VERDICT_NO_BACKEND_ID] = "no_backend_id",
	    [VERDICT_NO_NEIGHBOUR] = "no_neighbour",
	    [VERDICT_TOO_BIG] = "too_big",
	    [VERDICT_NO_HEADROOM] = "no_headroom",
	    [VERDICT_PORT_FULL] = "port_full",
	    [VERDICT_EXCEPTION_FULL] = "exception_full",
	};

	return verdict < VERDICTS ? names[verdict] : "unknown";
}
