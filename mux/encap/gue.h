/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic UDP Encapsulation with a steer header (protocol/README.md, section 1).
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv4 20		total length 16, DSCP and ECN 15, checksum 24	| DF, TTL 64, id 0 (RFC 6864: atomic)
 *	   or IPv6 40		traffic class, flow label, payload length	| hop limit 64
 *	   UDP 8		source port, length				| port 6080, checksum 0 (RFC 6936)
 *	   GUE 4		length in words, protocol 4 or 41
 *	   steer 12		flags, bucket, generation			| version 1, service
 *	   SECOND 8 or 20	second bucket, its owner			only if the method gives one
 *	   MOVED2 8 or 20	since, previous	of the second bucket		only while that move is news
 *	   MOVED 8 or 20	since, previous					only while a move is news
 *	   TAG 8								only with the cluster's key
 *
 * Or with the list header of version 2 (fairlead/list.h) in place of steer:
 *
 *	   list 8		left, count and flags, generation		| version 2, service
 *	   candidates 4 or 16	former owners and the second bucket's		each
 *	   TAG 8								only with the cluster's key
 *
 * The fields left of | differ by packet; the others come from the template. The IPv4 checksum is exact: the template's
 * sum plus the two words that differ, folded.
 */
#ifndef FAIRLEAD_MUX_GUE_H
#define FAIRLEAD_MUX_GUE_H

#include <string.h>

#include <fairlead/hash.h>
#include <fairlead/steer.h>

#include "encap/encap.h"

enum gue_numbers {
	GUE_UDP_LEN = 8,
	GUE_AT_UDP = ENCAP_AT_IP + ENCAP_IPV4_LEN,  /* over IPv4 */
	GUE_AT_GUE = GUE_AT_UDP + GUE_UDP_LEN,      /* over IPv4 */
	GUE_AT_UDP6 = ENCAP_AT_IP + ENCAP_IPV6_LEN, /* over IPv6 */
	GUE_AT_GUE6 = GUE_AT_UDP6 + GUE_UDP_LEN,
	GUE_PLAIN_LEN = GUE_AT_GUE + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN, /* over IPv4, without MOVED and TAG */
	GUE_MOVED_LEN = GUE_PLAIN_LEN + FL_STEER_MOVED4_LEN,              /* the same with MOVED and an IPv4 address */
	GUE_SECOND_LEN = GUE_PLAIN_LEN + FL_STEER_MOVED4_LEN,             /* the same with SECOND instead */
	GUE_LISTED_LEN =
	    GUE_AT_GUE + FL_LIST_AT_CANDIDATES, /* over IPv4, with a list header of no address and no tag */
	GUE_LEN_MAX = GUE_AT_GUE6 + FL_LIST_MAX_LEN,
};

_Static_assert((int)FL_LIST_MAX_LEN >= (int)FL_GUE_BASE_LEN + (int)FL_STEER_MAX_LEN, "the longest header");
_Static_assert((int)FL_LIST_AT_GENERATION == (int)FL_STEER_AT_BUCKET, "templates of both versions end there");

_Static_assert((int)ENCAP_HEAD_LEN == (int)GUE_AT_GUE + (int)FL_STEER_AT_BUCKET, "the template ends before the bucket");
_Static_assert(FL_STEER_AT_GENERATION == FL_STEER_AT_BUCKET + 4, "they are written as one word");

/* encap_gue.overhead and encap_gue.write, for muxes' own packets to each other. */
uint32_t gue_overhead(const struct encap_template *template, uint8_t flags);
void gue_write(uint8_t *out, const struct encap_template *template, const struct encap_fields *fields);

/* The outer IPv4 header's checksum, of three terms below 2^16: one fold leaves at most 0x10000, so two suffice. */
static inline uint16_t gue_checksum(const struct encap_template *template, uint8_t tos, uint32_t ip_len)
{
	uint32_t sum = template->sum + tos + ip_len;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/*
 * The header of most packets: over IPv4, without flags, GUE_PLAIN_LEN bytes; len is larger if flags follow. Inline and
 * without struct encap_fields, since every packet pays for it. Bucket and generation are written by one store: from
 * two, the compiler makes one through a chain of 22 instructions (flow_hash.h checks that the machine is
 * little-endian). Their bytes are swapped before they are joined: joined first, the bucket was spilled as 32 bits and
 * read back as 64, which waits for the store (1.9 ns).
 */
static inline void gue_write_plain(uint8_t *out, const struct encap_template *template, uint32_t len,
				   uint32_t inner_len, uint8_t inner_protocol, uint8_t tos, uint32_t hash,
				   uint32_t bucket, uint32_t generation)
{
	uint32_t ip_len = len - ENCAP_AT_IP + inner_len;
	uint8_t *udp = out + GUE_AT_UDP, *gue = out + GUE_AT_GUE;
	uint64_t both;

	memcpy(out, template->head, ENCAP_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, gue_checksum(template, tos, ip_len));
	fl_store_be16(udp, fl_outer_source_port(hash));
	fl_store_be16(udp + 4, (uint16_t)(ip_len - ENCAP_IPV4_LEN));
	gue[1] = inner_protocol;
	both = (uint64_t)__builtin_bswap32(generation) << 32 | __builtin_bswap32(bucket);
	memcpy(gue + FL_STEER_AT_BUCKET, &both, sizeof(both));
}

/*
 * The same with the list header: over IPv4, without a tag. ready: the byte of count and flags; addresses: `bytes` of
 * candidates as in headers.
 */
static inline void gue_write_listed(uint8_t *out, const struct encap_template *template, uint32_t inner_len,
				    uint8_t inner_protocol, uint8_t tos, uint32_t hash, uint8_t ready,
				    uint32_t generation, const uint8_t *addresses, uint32_t bytes)
{
	uint32_t ip_len = GUE_LISTED_LEN + bytes - ENCAP_AT_IP + inner_len;
	uint8_t *udp = out + GUE_AT_UDP, *gue = out + GUE_AT_GUE;

	memcpy(out, template->head, ENCAP_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, gue_checksum(template, tos, ip_len));
	fl_store_be16(udp, fl_outer_source_port(hash));
	fl_store_be16(udp + 4, (uint16_t)(ip_len - ENCAP_IPV4_LEN));
	gue[0] = (uint8_t)((FL_LIST_BASE_LEN + bytes) / 4);
	gue[1] = inner_protocol;
	gue[FL_LIST_AT_VERSION] = (uint8_t)(FL_LIST_VERSION << 4 | ready >> 4);
	gue[FL_LIST_AT_FLAGS] = ready;
	fl_store_be32(gue + FL_LIST_AT_GENERATION, generation);
	memcpy(gue + FL_LIST_AT_CANDIDATES, addresses, bytes);
}

/* Writes a word and a backend's IPv4 address, as SECOND, MOVED2 and MOVED have; returns what is behind them. */
static inline uint8_t *gue_write_owner(uint8_t *at, uint32_t word, const struct encap_template *owner)
{
	fl_store_be32(at, word);
	memcpy(at + 4, owner->head + ENCAP_AT_IP + 16, 4);
	return at + FL_STEER_MOVED4_LEN;
}

/* Completes a header of len bytes, after gue_write_plain, whose parts behind the generation these flags name. */
static inline void gue_set_flags(uint8_t *out, uint32_t len, uint8_t flags)
{
	out[GUE_AT_GUE] = (uint8_t)((len - GUE_AT_GUE - FL_GUE_BASE_LEN) / 4);
	out[GUE_AT_GUE + FL_STEER_AT_FLAGS] = flags;
}

/* Adds MOVED to a header of GUE_MOVED_LEN after gue_write_plain: most packets have it after a large change. */
static inline void gue_write_moved(uint8_t *out, const struct encap_template *previous, uint32_t since)
{
	gue_write_owner(out + GUE_PLAIN_LEN, since, previous);
	gue_set_flags(out, GUE_MOVED_LEN, FL_STEER_MOVED);
}

#endif
