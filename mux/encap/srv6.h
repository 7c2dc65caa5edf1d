/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list as a Segment Routing Header (fairlead/list_srv6.h), over IPv6 alone.
 *
 *	 0 Ethernet 14		destination, source, type
 *	14 IPv6 40		traffic class, flow label, payload length	| next header 43, hop limit 64
 *	54 SRH 8		units, segments left, last segment		| service
 *	62 segments 16		the destination; in front of it candidates, the last one first
 *	   TLV 8		flags, generation
 *	   TAG 8							only with the cluster's key
 */
#ifndef FAIRLEAD_MUX_SRV6_H
#define FAIRLEAD_MUX_SRV6_H

#include <fairlead/list_srv6.h>

#include "encap/encap.h"

enum srv6_numbers {
	SRV6_PROTOCOL = 43, /* a routing header */
	SRV6_AT_SRH = ENCAP_AT_IP + FL_IPV6_LEN,
	SRV6_AT_SEGMENT = SRV6_AT_SRH + FL_LIST_SRV6_AT_SEGMENTS,
	SRV6_AT_TLV = SRV6_AT_SEGMENT + FL_LIST_SRV6_SEGMENT_LEN, /* without candidates, as below */
	SRV6_PLAIN_LEN = SRV6_AT_TLV + FL_LIST_SRV6_TLV_LEN,      /* without a tag */
};

#endif
