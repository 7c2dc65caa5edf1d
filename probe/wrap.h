/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe's packet to a backend: what the kernel sent to a VIP, behind the header that a mux would write, but without a
 * candidate (protocol/README.md, 13). So servers deliver it, and never send it on.
 *
 * The inner packet's TTL becomes 1. A server that lacks the VIP would route the packet on, and a mux would give it to a
 * server that has it, which answers: so a probe would find the first one fine.
 */
#ifndef FAIRLEAD_PROBE_WRAP_H
#define FAIRLEAD_PROBE_WRAP_H

#include <fairlead/hash.h>

#include "encap/encap.h"

enum wrap_numbers {
	WRAP_HEADROOM = 160, /* Ethernet and the longest header in front of a packet */
	WRAP_MTU = 1280,     /* of packets to be wrapped: the least that IPv6 allows */
	WRAP_TTL = 1,        /* of the inner packet */
};

/* What a probe's packets have in common. */
struct wrap {
	const struct encap *encap;
	uint16_t service; /* short id */
	enum fl_hash_kind hash;
	const struct fl_siphash_key *key; /* of the hash, which spreads flows in the network */
	uint32_t generation;
	struct fl_address source; /* outer; of the backend's family */
	struct fl_address backend;
	const struct fl_siphash_key *tag_key; /* NULL: no tags */
};

/* The head of a TCP or UDP packet; addresses as 16 bytes. */
struct wrap_flow {
	struct fl_address source, destination;
	uint8_t protocol;
	uint8_t traffic_class;
	bool is_ipv6;
	uint16_t source_port, destination_port;
};

/* Whether len bytes are a whole packet of TCP or UDP, without fragments and IPv6 extension headers; fills in *out. */
bool wrap_flow_read(const uint8_t *packet, size_t len, struct wrap_flow *out);

/*
 * Writes the header in front of a packet that wrap_flow_read() has accepted and that has WRAP_HEADROOM bytes before it.
 * Returns how many bytes the header has from the outer IP header on.
 */
uint32_t wrap_write(const struct wrap *wrap, const struct wrap_flow *flow, uint8_t *packet, size_t len);

#endif
