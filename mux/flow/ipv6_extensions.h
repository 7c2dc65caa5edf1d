/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through IPv6's extension headers, with a bound: at most IPV6_EXTENSIONS_MAX of them (RFC 8200: hop-by-hop
 * first, destination options, routing at its end, authentication, fragment), all in the first buffer.
 */
#ifndef FAIRLEAD_MUX_FLOW_IPV6_EXTENSIONS_H
#define FAIRLEAD_MUX_FLOW_IPV6_EXTENSIONS_H

#include <fairlead/ip.h>
#include <fairlead/types.h>

#include "flow/verdict.h"

enum ipv6_numbers {
	IPV6_EXTENSIONS_MAX = 8,
};

/* Where the walk through the extension headers ended. */
struct ipv6_walk {
	uint8_t protocol; /* of the header at `at`; of a later fragment: as its fragment header says */
	bool fragment;    /* has a fragment header and is not an atomic fragment (RFC 6946) */
	bool more;
	uint16_t offset; /* of the fragment, in bytes */
	uint32_t id;
	uint32_t at; /* in bytes from the start of the IPv6 header */
};

/*
 * Walks from the IPv6 header at ip; len: bytes in the buffer, total: bytes of the IP packet. Returns VERDICT_SERVICE
 * and fills *out, or returns why the headers can't be walked. A later fragment ends the walk.
 */
enum verdict ipv6_walk(const uint8_t *ip, uint32_t len, uint32_t total, struct ipv6_walk *out);

#endif
