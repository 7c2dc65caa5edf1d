/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP and UDP headers: checks them and finds their service. Inline, since this is the packet path.
 */
#ifndef FAIRLEAD_MUX_PACKET_TRANSPORT_H
#define FAIRLEAD_MUX_PACKET_TRANSPORT_H

#include <netinet/in.h>
#include <string.h>

#include "flow/packet.h"
#include "flow/transport.h"
#include "service/lookup.h"
#include "packet/quic.h"
#include "flow/service.h"

/* len: bytes in the buffer; l4_len: bytes according to IP. */
static inline enum verdict transport_tcp(const uint8_t *tcp, uint32_t len, uint32_t l4_len)
{
	uint32_t header;

	if (l4_len < FL_TCP_LEN)
		return VERDICT_TCP_TRUNCATED;
	if (len < FL_TCP_LEN)
		return VERDICT_SEGMENTED;
	header = (tcp[12] >> 4) * 4U;
	if (header < FL_TCP_LEN || header > l4_len)
		return VERDICT_TCP_OFFSET;
	if (!tcp[0] && !tcp[1])
		return VERDICT_TCP_PORT_ZERO;
	return VERDICT_SERVICE;
}

static inline enum verdict transport_udp(const uint8_t *udp, uint32_t len, uint32_t l4_len)
{
	uint32_t said;

	if (l4_len < FL_UDP_LEN)
		return VERDICT_UDP_TRUNCATED;
	if (len < FL_UDP_LEN)
		return VERDICT_SEGMENTED;
	said = fl_load_be16(udp + 4);
	if (said < FL_UDP_LEN || said > l4_len)
		return VERDICT_UDP_LENGTH;
	return VERDICT_SERVICE;
}

/* Finds the service of a port in host order, and the backend id if the port names one. */
static inline enum verdict transport_service(const struct lookup *lookup, const struct lookup_vip *vip,
					     uint8_t protocol, uint16_t port, struct packet *out)
{
	const struct lookup_port *at = lookup_port(lookup, vip, protocol, port);

	if (!at)
		return VERDICT_NO_SERVICE_PORT;
	out->service = at->service;
	__builtin_prefetch(at->service);
	if (lookup_is_by_id(at)) {
		out->flags |= PACKET_BY_ID;
		out->bucket = (uint16_t)(port - (uint16_t)at->first);
	}
	return VERDICT_SERVICE;
}

/* Of a datagram, a fragment of one or an ICMP error about one. */
static inline void transport_stateless(uint8_t protocol, struct packet *out)
{
	if (protocol == IPPROTO_UDP && __atomic_load_n(&out->service->stateless_udp, __ATOMIC_RELAXED))
		out->flags |= PACKET_STATELESS;
}

/* A UDP packet of a service whose QUIC connection ids may name backends. l4: l4_len bytes, all in the buffer. */
static inline void transport_quic(const uint8_t *l4, uint32_t l4_len, struct packet *out)
{
	struct quic_server_id where;
	uint16_t id;

	__atomic_load(&out->service->quic, &where, __ATOMIC_RELAXED);
	id = where.length ? quic_backend(&where, l4 + FL_UDP_LEN, l4_len - FL_UDP_LEN) : 0;
	if (!id)
		return;
	out->flags |= PACKET_BY_ID | PACKET_ELSE_BUCKET;
	out->bucket = id;
}

/*
 * Whether a datagram's source is a VIP or an address of this mux. No host sends from these, but a forged datagram could
 * make two services answer each other forever. TCP needs no such check: its answers to unexpected segments do not loop.
 */
static inline bool transport_source_loops(const struct lookup *lookup, const struct packet *packet)
{
	const uint8_t *source = packet->addresses6;

	if (packet->flags & PACKET_IPV6)
		return lookup_vip(lookup, transport_load64(source), transport_load64(source + 8));
	return lookup_may_have_ipv4(lookup, __builtin_bswap32((uint32_t)packet->key[0])) &&
	       lookup_vip(lookup, 0, lookup_low_of_ipv4((uint32_t)packet->key[0]));
}

/* Whether a service's datagrams are steered by addresses and ports alone: transport_stateless, transport_quic. */
static inline bool transport_is_plain_udp(const struct service *service)
{
	struct quic_server_id quic;

	__atomic_load(&service->quic, &quic, __ATOMIC_RELAXED);
	return !quic.length && !__atomic_load_n(&service->stateless_udp, __ATOMIC_RELAXED);
}

/* A whole TCP or UDP packet: flags, ports, service. out->flags is already set; len: bytes in the buffer, >= l4_len. */
static inline enum verdict transport_classify(const struct lookup *lookup, const struct lookup_vip *vip,
					      uint8_t protocol, const uint8_t *l4, uint32_t len, uint32_t l4_len,
					      struct packet *out)
{
	enum verdict verdict;

	if (protocol == IPPROTO_TCP) {
		verdict = transport_tcp(l4, len, l4_len);
		if (verdict != VERDICT_SERVICE)
			return verdict;
		if (l4[TRANSPORT_AT_TCP_FLAGS] & TRANSPORT_TCP_SYN)
			out->flags |= PACKET_SYN;
	} else if (protocol == IPPROTO_UDP) {
		verdict = transport_udp(l4, len, l4_len);
		if (verdict != VERDICT_SERVICE)
			return verdict;
		if (transport_source_loops(lookup, out))
			return VERDICT_IP_SOURCE;
	} else {
		return VERDICT_PROTOCOL;
	}
	out->key[1] = transport_load32(l4) | (uint64_t)protocol << 32;
	verdict = transport_service(lookup, vip, protocol, fl_load_be16(l4 + 2), out);
	if (verdict == VERDICT_SERVICE && protocol == IPPROTO_UDP) {
		transport_stateless(protocol, out);
		transport_quic(l4, l4_len, out);
	}
	return verdict;
}

#endif
