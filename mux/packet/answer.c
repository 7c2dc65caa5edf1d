/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/answer.h"

#include <netinet/in.h>
#include <string.h>

#include "packet/icmp.h"
#include "flow/ipv6_extensions.h"

enum {
	L2_MAX = 22,
	TOKEN = 1000,
};

bool limiter_pass(struct limiter *limiter, uint64_t now_ms)
{
	uint64_t back = (now_ms - limiter->at_ms) * ANSWER_PER_SECOND;

	limiter->spent = limiter->spent > back ? limiter->spent - back : 0;
	limiter->at_ms = now_ms;
	if (limiter->spent + TOKEN > (uint64_t)ANSWER_BURST * TOKEN)
		return false;
	limiter->spent += TOKEN;
	return true;
}

/* Adds bytes to a one's-complement sum; an odd last byte is padded with a zero. */
static uint64_t sum_add(uint64_t sum, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += fl_load_be16(bytes + i);
	return len & 1 ? sum + ((uint32_t)bytes[len - 1] << 8) : sum;
}

static uint16_t sum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Replaces one word under a checksum (RFC 1624). */
static void sum_replace(uint8_t *checksum, uint16_t before, uint16_t after)
{
	uint64_t sum = (uint16_t)~fl_load_be16(checksum);

	fl_store_be16(checksum, sum_fold(sum + (uint16_t)~before + after));
}

static void swap(uint8_t *a, uint8_t *b, uint32_t len)
{
	uint8_t kept[16];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

static bool from_a_host(const uint8_t *frame)
{
	return !(frame[FL_MAC_LEN] & 1);
}

bool answer_echo(struct rte_mbuf *mbuf, const struct packet *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), *ip = frame + packet->at_ip, *icmp = frame + packet->at_l4;

	if (!from_a_host(frame))
		return false;
	swap(frame, frame + FL_MAC_LEN, FL_MAC_LEN);
	if (packet->flags & PACKET_IPV6) {
		swap(ip + 8, ip + 24, 16);
		ip[7] = ANSWER_TTL;
		icmp[0] = ICMPV6_ECHO_REPLY;
		sum_replace(icmp + 2, ICMPV6_ECHO_REQUEST << 8, ICMPV6_ECHO_REPLY << 8);
	} else {
		uint16_t before = fl_load_be16(ip + 8);

		swap(ip + 12, ip + 16, 4);
		ip[8] = ANSWER_TTL;
		sum_replace(ip + 10, before, fl_load_be16(ip + 8));
		icmp[0] = ICMP_ECHO_REPLY;
		sum_replace(icmp + 2, ICMP_ECHO_REQUEST << 8, ICMP_ECHO_REPLY << 8);
	}
	/* drop Ethernet's padding */
	mbuf->data_len = (uint16_t)(packet->at_ip + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	return true;
}

/* ip: room for the header in front of ICMP; quote: the packet that the error is about. */
static void write_ipv4(uint8_t *ip, const uint8_t *quote, uint32_t quoted, uint16_t mtu)
{
	uint8_t *icmp = ip + FL_IPV4_LEN;

	memset(ip, 0, FL_IPV4_LEN + FL_ICMP_LEN);
	ip[0] = 0x45;
	fl_store_be16(ip + 2, (uint16_t)(FL_IPV4_LEN + FL_ICMP_LEN + quoted));
	ip[8] = ANSWER_TTL;
	ip[9] = IPPROTO_ICMP;
	memcpy(ip + 12, quote + 16, 4);
	memcpy(ip + 16, quote + 12, 4);
	fl_store_be16(ip + 10, sum_fold(sum_add(0, ip, FL_IPV4_LEN)));
	icmp[0] = ICMP_UNREACHABLE;
	icmp[1] = ICMP_FRAGMENTATION_NEEDED;
	fl_store_be16(icmp + 6, mtu);
	fl_store_be16(icmp + 2, sum_fold(sum_add(0, icmp, FL_ICMP_LEN + quoted)));
}

static void write_ipv6(uint8_t *ip, const uint8_t *quote, uint32_t quoted, uint16_t mtu)
{
	uint8_t *icmp = ip + FL_IPV6_LEN;
	uint32_t len = FL_ICMP_LEN + quoted;

	memset(ip, 0, FL_IPV6_LEN + FL_ICMP_LEN);
	ip[0] = 0x60;
	fl_store_be16(ip + 4, (uint16_t)len);
	ip[6] = IPPROTO_ICMPV6;
	ip[7] = ANSWER_TTL;
	memcpy(ip + 8, quote + 24, 16);
	memcpy(ip + 24, quote + 8, 16);
	icmp[0] = ICMPV6_TOO_BIG;
	fl_store_be32(icmp + 4, mtu);
	/* the pseudo-header: both addresses, length, protocol */
	fl_store_be16(icmp + 2, sum_fold(sum_add(sum_add(len + IPPROTO_ICMPV6, ip + 8, 32), icmp, len)));
}

bool answer_too_big(struct rte_mbuf *mbuf, const struct packet *packet)
{
	bool ipv6 = packet->flags & PACKET_IPV6;
	uint32_t head = ipv6 ? FL_IPV6_LEN + FL_ICMP_LEN : FL_IPV4_LEN + FL_ICMP_LEN;
	uint32_t quoted = (ipv6 ? ANSWER_IPV6_MAX : ANSWER_IPV4_MAX) - head;
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), l2[L2_MAX];

	if (quoted > packet->ip_len)
		quoted = packet->ip_len;
	if (!from_a_host(frame) || packet->at_ip > L2_MAX || rte_pktmbuf_headroom(mbuf) < head)
		return false;
	memcpy(l2, frame, packet->at_ip);
	swap(l2, l2 + FL_MAC_LEN, FL_MAC_LEN);
	mbuf->data_off = (uint16_t)(mbuf->data_off - head);
	mbuf->data_len = (uint16_t)(packet->at_ip + head + quoted);
	mbuf->pkt_len = mbuf->data_len;
	frame -= head;
	memcpy(frame, l2, packet->at_ip);
	if (ipv6)
		write_ipv6(frame + packet->at_ip, frame + packet->at_ip + head, quoted, packet->mtu);
	else
		write_ipv4(frame + packet->at_ip, frame + packet->at_ip + head, quoted, packet->mtu);
	return true;
}
