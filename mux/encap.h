/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer header: a backend's template with the packet's own fields.
 *
 *	 0 Ethernet 14	destination, source, 0x0800
 *	14 IPv4 20	total length 16, DSCP and ECN 15, checksum 24	| DF, TTL 64, id 0 (RFC 6864: atomic)
 *	34 UDP 8	source port 34, length 38			| destination port 6080, checksum 0
 *	42 GUE 4	length in words 42				| protocol 4
 *	46 steer 12	flags 47, bucket 50, generation 54		| version 1, service
 *	58 MOVED 8	since 58, previous 62				only while a move is news
 *
 * What stands left of | differs by packet, the rest is the template's. The IPv4 checksum is exact: the template's sum
 * plus the two words that differ, folded.
 */
#ifndef FAIRLEAD_MUX_ENCAP_H
#define FAIRLEAD_MUX_ENCAP_H

#include <string.h>

#include <fairlead/hash.h>
#include <fairlead/steer.h>

#include "backend.h"

enum encap_numbers {
	ENCAP_AT_IP = 14,
	ENCAP_AT_UDP = ENCAP_AT_IP + 20,
	ENCAP_AT_GUE = ENCAP_AT_UDP + 8,
	ENCAP_MOVED_LEN = BACKEND_HEAD_LEN + FL_STEER_MOVED4_LEN,
	ENCAP_PREPEND_MAX = ENCAP_MOVED_LEN - ENCAP_AT_IP, /* the inner Ethernet header is written over */
	ENCAP_TTL = 64,
};

_Static_assert(BACKEND_HEAD_LEN == ENCAP_AT_GUE + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN, "the template ends with steer");

/* What of a header differs by packet. */
struct encap_fields {
	uint16_t inner_len; /* the inner IP packet's */
	uint8_t tos;
	uint32_t hash;
	uint32_t bucket;
	uint32_t generation;
	bool moved;
	uint32_t since;
	uint8_t previous[4];
};

/* Fills a template for a backend of a service that is reached by hop; the address must be IPv4. */
void encap_template(struct backend *backend, uint16_t service, const struct fl_address *address,
		    const struct next_hop *hop);

/* Bytes from the outer Ethernet header to the inner IP header. */
static inline uint32_t encap_len(bool moved)
{
	return moved ? ENCAP_MOVED_LEN : BACKEND_HEAD_LEN;
}

/* Whether the packet would exceed the port's MTU. */
static inline bool encap_too_big(const struct backend *backend, uint32_t inner_len, bool moved)
{
	return inner_len + encap_len(moved) - ENCAP_AT_IP > backend->mtu;
}

/* Writes encap_len(fields->moved) bytes at out. */
static inline void encap_write(uint8_t *out, const struct backend *backend, const struct encap_fields *fields)
{
	uint32_t udp_len = encap_len(fields->moved) - ENCAP_AT_UDP + fields->inner_len;
	uint32_t ip_len = udp_len + ENCAP_AT_UDP - ENCAP_AT_IP;
	uint32_t sum = backend->sum + fields->tos + ip_len;

	memcpy(out, backend->head, BACKEND_HEAD_LEN);
	out[ENCAP_AT_IP + 1] = fields->tos;
	fl_store_be16(out + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	/* three terms below 2^16: one fold leaves at most 0xffff + 1, the second settles it */
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(out + ENCAP_AT_IP + 10, (uint16_t)~sum);
	fl_store_be16(out + ENCAP_AT_UDP, fl_outer_source_port(fields->hash));
	fl_store_be16(out + ENCAP_AT_UDP + 4, (uint16_t)udp_len);
	fl_store_be32(out + ENCAP_AT_GUE + FL_STEER_AT_BUCKET, fields->bucket);
	fl_store_be32(out + ENCAP_AT_GUE + FL_STEER_AT_GENERATION, fields->generation);
	if (fields->moved) {
		out[ENCAP_AT_GUE] = (FL_STEER_BASE_LEN + FL_STEER_MOVED4_LEN) / 4;
		out[ENCAP_AT_GUE + FL_STEER_AT_FLAGS] = FL_STEER_MOVED;
		fl_store_be32(out + ENCAP_AT_GUE + FL_STEER_AT_SINCE, fields->since);
		memcpy(out + ENCAP_AT_GUE + FL_STEER_AT_PREVIOUS, fields->previous, 4);
	}
}

/* The IPv4 address that a template sends to. */
static inline const uint8_t *encap_destination(const struct backend *backend)
{
	return backend->head + ENCAP_AT_IP + 16;
}

#endif
