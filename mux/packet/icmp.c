/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/icmp.h"

#include "flow/hash.h"
#include "flow/ipv6_extensions.h"
#include "packet/transport.h"

/* The quoted ports, the client's first: the quoted packet went the other way. */
static uint64_t swapped_ports(const uint8_t *l4, uint8_t protocol)
{
	uint32_t ports = transport_load32(l4);

	return (ports << 16 | ports >> 16) | (uint64_t)protocol << 32;
}

/* The service that sent from the quoted port, if any; l4: the quoted transport header, len bytes. */
static enum verdict quoted_service(const struct lookup *lookup, const struct lookup_vip *vip, uint8_t protocol,
				   const uint8_t *l4, uint32_t len, struct packet *out)
{
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return VERDICT_ICMP_QUOTE;
	if (len < 8)
		return VERDICT_ICMP_TRUNCATED;
	out->flags |= PACKET_QUOTE;
	out->key[1] = swapped_ports(l4, protocol);
	if (transport_service(lookup, vip, protocol, fl_load_be16(l4), out) != VERDICT_SERVICE)
		return VERDICT_ICMP_QUOTE;
	transport_stateless(protocol, out);
	return VERDICT_SERVICE;
}

static enum verdict quote_ipv4(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
			       const uint8_t *quote, uint32_t len, struct packet *out)
{
	uint32_t header;

	if (len < FL_IPV4_LEN)
		return VERDICT_ICMP_TRUNCATED;
	header = (quote[0] & 15) * 4U;
	if (quote[0] >> 4 != 4 || header < FL_IPV4_LEN || transport_load32(quote + 12) != transport_load32(ip + 16) ||
	    fl_load_be16(quote + 6) & FL_IPV4_OFFSET)
		return VERDICT_ICMP_QUOTE;
	if (len < header)
		return VERDICT_ICMP_TRUNCATED;
	out->key[0] = transport_load32(quote + 16) | (uint64_t)transport_load32(quote + 12) << 32;
	return quoted_service(lookup, vip, quote[9], quote + header, len - header, out);
}

/* The walk ends where the quote ends, as with a whole packet. */
static enum verdict quote_ipv6(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
			       const uint8_t *quote, uint32_t len, struct packet *out)
{
	uint8_t addresses[32];
	struct ipv6_walk walk;
	enum verdict verdict;

	if (len < FL_IPV6_LEN)
		return VERDICT_ICMP_TRUNCATED;
	if (quote[0] >> 4 != 6 || memcmp(quote + 8, ip + 24, 16))
		return VERDICT_ICMP_QUOTE;
	if (ipv6_walk(quote, len, len, &walk) != VERDICT_SERVICE || (walk.fragment && walk.offset))
		return VERDICT_ICMP_QUOTE;
	verdict = quoted_service(lookup, vip, walk.protocol, quote + walk.at, len - walk.at, out);
	if (verdict != VERDICT_SERVICE)
		return verdict;
	/* the packet does not contain the swapped addresses: hash a copy here */
	memcpy(addresses, quote + 24, 16);
	memcpy(addresses + 16, quote + 8, 16);
	out->hash = flow_hash_ipv6(out->service, addresses, out->key[1]);
	out->flags |= PACKET_HASHED;
	return VERDICT_SERVICE;
}

/* A request from a VIP or the mux itself is not answered: the answer would come back here. */
static enum verdict echo_for(const struct lookup *lookup, uint64_t high, uint64_t low)
{
	return lookup_vip(lookup, high, low) ? VERDICT_IP_SOURCE : VERDICT_ECHO;
}

enum verdict icmp_classify_ipv4(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
				const uint8_t *icmp, uint32_t len, struct packet *out)
{
	if (len < FL_ICMP_LEN)
		return VERDICT_ICMP_TRUNCATED;
	switch (icmp[0]) {
	case ICMP_ECHO_REQUEST:
		/* an answer would have to reverse IP options (RFC 1122, 3.2.2.6) */
		if (icmp[1] || (ip[0] & 15) != 5)
			return VERDICT_ICMP_TYPE;
		return echo_for(lookup, 0, lookup_low_of_ipv4(transport_load32(ip + 12)));
	case ICMP_UNREACHABLE:
	case ICMP_TIME:
	case ICMP_PARAMETER:
		return quote_ipv4(lookup, vip, ip, icmp + FL_ICMP_LEN, len - FL_ICMP_LEN, out);
	default:
		return VERDICT_ICMP_TYPE;
	}
}

enum verdict icmp_classify_ipv6(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
				const uint8_t *icmp, uint32_t len, struct packet *out)
{
	if (len < FL_ICMP_LEN)
		return VERDICT_ICMP_TRUNCATED;
	if (icmp[0] < ICMPV6_INFORMATIONAL)
		return quote_ipv6(lookup, vip, ip, icmp + FL_ICMP_LEN, len - FL_ICMP_LEN, out);
	if (icmp[0] != ICMPV6_ECHO_REQUEST || icmp[1] || ip[6] != IPPROTO_ICMPV6)
		return VERDICT_ICMP_TYPE;
	return echo_for(lookup, transport_load64(ip + 8), transport_load64(ip + 16));
}
