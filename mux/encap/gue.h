/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic UDP Encapsulation with a list header (fairlead/list.h; protocol/README.md, section 2).
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv4 20		total length 16, DSCP and ECN 15, checksum 24	| DF, TTL 64, id 0 (RFC 6864: atomic)
 *	   or IPv6 40		traffic class, flow label, payload length	| hop limit 64
 *	   UDP 8		source port, length				| port 6080, checksum 0 (RFC 6936)
 *	   GUE 4		length in words, protocol 4 or 41
 *	   list 8		left, count and flags, generation		| version, service
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

#include "encap/encap.h"

enum gue_numbers {
	GUE_AT_UDP = ENCAP_AT_IP + FL_IPV4_LEN,  /* over IPv4 */
	GUE_AT_GUE = GUE_AT_UDP + FL_UDP_LEN,    /* over IPv4 */
	GUE_AT_UDP6 = ENCAP_AT_IP + FL_IPV6_LEN, /* over IPv6 */
	GUE_AT_GUE6 = GUE_AT_UDP6 + FL_UDP_LEN,
	GUE_PLAIN_LEN = GUE_AT_GUE + FL_LIST_AT_CANDIDATES, /* over IPv4, without candidates and tag */
	GUE_LEN_MAX = GUE_AT_GUE6 + FL_LIST_MAX_LEN,
};

_Static_assert((int)ENCAP_HEAD_LEN == (int)GUE_AT_GUE + (int)FL_LIST_AT_GENERATION,
	       "the template ends before the generation");

/* Ethernet and all up to GUE, whose base follows: of muxes' packets to each other. len: of what is behind UDP. */
void gue_write_outer(uint8_t *out, const struct encap_template *template, uint8_t tos, uint32_t hash, uint32_t len);

/* The outer IPv4 header's checksum, of three terms below 2^16: one fold leaves at most 0x10000, so two suffice. */
static inline uint16_t gue_checksum(const struct encap_template *template, uint8_t tos, uint32_t ip_len)
{
	uint32_t sum = template->sum + tos + ip_len;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/*
 * The header of most packets, without the candidates behind it: over IPv4, without a tag. ready: the byte of count and
 * flags; bytes: those of the candidates. Inline and without struct encap_fields, since every packet pays for it.
 */
static inline void gue_write_plain(uint8_t *out, const struct encap_template *template, uint32_t inner_len,
				   uint8_t inner_protocol, uint8_t tos, uint32_t hash, uint8_t ready,
				   uint32_t generation, uint32_t bytes)
{
	uint32_t ip_len = GUE_PLAIN_LEN + bytes - ENCAP_AT_IP + inner_len;
	uint8_t *udp = out + GUE_AT_UDP, *gue = out + GUE_AT_GUE;

	memcpy(out, template->head, ENCAP_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(out + ENCAP_AT_IP + 10, gue_checksum(template, tos, ip_len));
	fl_store_be16(udp, fl_outer_source_port(hash));
	fl_store_be16(udp + 4, (uint16_t)(ip_len - FL_IPV4_LEN));
	gue[0] = (uint8_t)((FL_LIST_BASE_LEN + bytes) / 4);
	gue[1] = inner_protocol;
	gue[FL_LIST_AT_VERSION] = (uint8_t)(FL_LIST_VERSION << 4 | ready >> 4);
	gue[FL_LIST_AT_FLAGS] = ready;
	fl_store_be32(gue + FL_LIST_AT_GENERATION, generation);
}

#endif
