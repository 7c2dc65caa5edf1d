/* SPDX-License-Identifier: Apache-2.0 */
/* What the control plane fills in so that the P4 mux computes CRC-32: README.md, "CRC". */
#ifndef FAIRLEAD_P4_CRC_H
#define FAIRLEAD_P4_CRC_H

#include <fairlead/types.h>

enum p4_crc_numbers {
	P4_CRC_SOURCES = 16, /* registers crc_s0 to crc_s15 */
	P4_CRC_PORTS = 2,    /* registers crc_p0 and crc_p1 */
	P4_CRC_CLIENT = 1,   /* a variant is one of four, by these bits */
	P4_CRC_IPV6 = 2,
	P4_CRC_VARIANTS = 4,
	P4_CRC_ENTRIES = P4_CRC_VARIANTS * 256, /* of a register; index: variant * 256 + byte */
};

/* An entry of crc_s0 (at 0) to crc_s15 (15), crc_p0 (16) and crc_p1 (17). 0: the variant's key has no such byte. */
uint32_t p4_crc_part(unsigned at, unsigned variant, uint8_t byte);

/* The argument `crc` of `serve` for a VIP, a protocol and a port in host order. */
uint32_t p4_crc_constant(unsigned variant, const struct fl_address *vip, uint8_t protocol, uint16_t port);

#endif
