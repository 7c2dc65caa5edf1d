/* SPDX-License-Identifier: Apache-2.0 */
/* TCP and UDP headers. */
#ifndef FAIRLEAD_MUX_FLOW_TRANSPORT_H
#define FAIRLEAD_MUX_FLOW_TRANSPORT_H

#include <stdint.h>
#include <string.h>

#include <fairlead/ip.h>

enum transport_numbers {
	TRANSPORT_PORTS_LEN = 4,
	TRANSPORT_AT_TCP_FLAGS = 13,
	TRANSPORT_TCP_FIN = 0x01,
	TRANSPORT_TCP_SYN = 0x02,
	TRANSPORT_TCP_RST = 0x04,
};

static inline uint64_t transport_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t transport_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
