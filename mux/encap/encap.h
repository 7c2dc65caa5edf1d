/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer header: a backend's template with the packet's own fields.
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv4 20		total length 16, DSCP and ECN 15, checksum 24	| DF, TTL 64, id 0 (RFC 6864: atomic)
 *	   or IPv6 40		traffic class, flow label, payload length	| hop limit 64
 *	   UDP 8		source port, length				| port 6080, checksum 0 (RFC 6936)
 *	   GUE 4		length in words, protocol 4 or 41
 *	   steer 12		flags, bucket, generation			| version 1, service
 *	   MOVED 8 or 20	since, previous					only while a move is news
 *	   TAG 8								only with the cluster's key
 *
 * What stands left of | differs by packet, the rest is the template's. The IPv4 checksum is exact: the template's sum
 * plus the two words that differ, folded. Outer and inner family have nothing to do with each other.
 *
 * A service may have the paper's own encapsulation instead: IPv4 in IPv4 with an option of 16 bytes.
 */
#ifndef FAIRLEAD_MUX_ENCAP_H
#define FAIRLEAD_MUX_ENCAP_H

#include <string.h>

#include <fairlead/hash.h>
#include <fairlead/ipip.h>
#include <fairlead/steer.h>

#include "ring/backend.h"

enum encap_numbers {
	ENCAP_AT_IP = 14,
	ENCAP_IPV4_LEN = 20,
	ENCAP_IPV6_LEN = 40,
	ENCAP_UDP_LEN = 8,
	ENCAP_AT_UDP = ENCAP_AT_IP + ENCAP_IPV4_LEN,  /* over IPv4 */
	ENCAP_AT_GUE = ENCAP_AT_UDP + ENCAP_UDP_LEN,  /* over IPv4 */
	ENCAP_AT_UDP6 = ENCAP_AT_IP + ENCAP_IPV6_LEN, /* over IPv6 */
	ENCAP_AT_GUE6 = ENCAP_AT_UDP6 + ENCAP_UDP_LEN,
	ENCAP_PLAIN_LEN = ENCAP_AT_GUE + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN, /* over IPv4, without MOVED and TAG */
	ENCAP_MOVED_LEN = ENCAP_PLAIN_LEN + FL_STEER_MOVED4_LEN, /* the same with MOVED and an IPv4 address */
	ENCAP_LEN_MAX = ENCAP_AT_GUE6 + FL_GUE_BASE_LEN + FL_STEER_MAX_LEN,
	ENCAP_IPIP_LEN = ENCAP_AT_IP + FL_IPIP_LEN,
	ENCAP_TTL = 64,
	ENCAP_VLAN_LEN = 4,
};

_Static_assert(BACKEND_HEAD_LEN == ENCAP_AT_GUE + FL_STEER_AT_BUCKET, "the template ends before the bucket");
_Static_assert(FL_STEER_AT_GENERATION == FL_STEER_AT_BUCKET + 4, "they are written as one word");

/* What of a header differs by packet. */
struct encap_fields {
	uint16_t inner_len;     /* the inner IP packet's */
	uint8_t inner_protocol; /* FL_GUE_PROTO_* */
	uint8_t tos;
	uint8_t flags; /* enum fl_steer_flags */
	uint32_t hash;
	uint32_t bucket;
	uint32_t generation;
	uint32_t since;                       /* if MOVED */
	struct fl_address previous;           /* if MOVED; PREVIOUS6 says its family */
	const struct fl_siphash_key *tag_key; /* if TAG: the tag is of the inner packet behind the header */
};

/* Fills a template for a backend of a service that is reached by hop. */
void encap_template(struct backend *backend, uint16_t service, const struct fl_address *address,
		    const struct next_hop *hop);

/* The address that a template sends to. */
struct fl_address encap_destination(const struct backend *backend);

/* The outer IPv4 header's, of three terms below 2^16: one fold leaves at most 0xffff + 1, the second settles it. */
static inline uint16_t encap_checksum(const struct backend *backend, uint8_t tos, uint32_t ip_len)
{
	uint32_t sum = backend->sum + tos + ip_len;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Bytes from the outer Ethernet header, without a VLAN tag, to the inner IP header. flags: enum fl_steer_flags. */
static inline uint32_t encap_len(const struct backend *backend, uint8_t flags)
{
	uint32_t len = backend->ipv6 ? ENCAP_AT_GUE6 : ENCAP_AT_GUE;

	return len + FL_GUE_BASE_LEN + (flags ? fl_steer_len(flags) : (uint32_t)FL_STEER_BASE_LEN);
}

/* The largest inner packet that fits the port's MTU; 0 if none does. */
static inline uint32_t encap_room(const struct backend *backend, uint8_t flags)
{
	uint32_t len = encap_len(backend, flags) - ENCAP_AT_IP;

	return backend->mtu > len ? backend->mtu - len : 0;
}

/*
 * The header of most packets: over IPv4, without flags, ENCAP_PLAIN_LEN bytes; len is more where flags follow. Inline
 * and without struct encap_fields, since every packet pays for it. Bucket and generation are one store: of two, the
 * compiler makes one by a chain of 22 instructions (hash.h has made sure that the machine is little-endian).
 */
static inline void encap_write_plain(uint8_t *out, const struct backend *backend, uint32_t len, uint32_t inner_len,
				     uint8_t inner_protocol, uint8_t tos, uint32_t hash, uint32_t bucket,
				     uint32_t generation)
{
	uint32_t ip_len = len - ENCAP_AT_IP + inner_len;
	uint8_t *udp = out + ENCAP_AT_UDP, *gue = out + ENCAP_AT_GUE;
	uint64_t both;

	memcpy(out, backend->head, BACKEND_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, encap_checksum(backend, tos, ip_len));
	fl_store_be16(udp, fl_outer_source_port(hash));
	fl_store_be16(udp + 4, (uint16_t)(ip_len - ENCAP_IPV4_LEN));
	gue[1] = inner_protocol;
	both = __builtin_bswap64((uint64_t)bucket << 32 | generation);
	memcpy(gue + FL_STEER_AT_BUCKET, &both, sizeof(both));
}

/* MOVED for a header of ENCAP_MOVED_LEN that encap_write_plain has begun: after a big change, that is most packets. */
static inline void encap_write_moved(uint8_t *out, const struct backend *previous, uint32_t since)
{
	uint8_t *gue = out + ENCAP_AT_GUE;

	gue[0] = (FL_STEER_BASE_LEN + FL_STEER_MOVED4_LEN) / 4;
	gue[FL_STEER_AT_FLAGS] = FL_STEER_MOVED;
	fl_store_be32(gue + FL_STEER_AT_SINCE, since);
	memcpy(gue + FL_STEER_AT_PREVIOUS, previous->head + ENCAP_AT_IP + 16, 4);
}

/* Any header: encap_len(backend, fields->flags) bytes at out; the inner packet stands behind them. */
void encap_write(uint8_t *out, const struct backend *backend, const struct encap_fields *fields);

/*
 * The paper's header instead (fairlead/ipip.h): ENCAP_IPIP_LEN bytes at out. The backend is reached by IPv4; of the
 * fields hash and bucket are not told, nor a previous owner with an IPv6 address.
 */
void encap_write_ipip(uint8_t *out, const struct backend *backend, const struct encap_fields *fields);

/* Puts a VLAN tag behind the MAC addresses of a frame that begins ENCAP_VLAN_LEN bytes behind out. */
void encap_write_vlan(uint8_t *out, uint16_t vlan);

#endif
