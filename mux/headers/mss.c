/* SPDX-License-Identifier: Apache-2.0 */
#include "headers/mss.h"

#include <fairlead/ip.h>

enum {
	AT_OFFSET = 12,
	AT_CHECKSUM = 16,
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_MSS = 2,
	OPTION_MSS_LEN = 4,
};

/* Offset of the MSS option's value; 0: there is none. */
static uint32_t find(const uint8_t *tcp, uint32_t header)
{
	uint32_t at = FL_TCP_LEN;

	while (at < header && tcp[at] != OPTION_END) {
		if (tcp[at] == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 2 > header || tcp[at + 1] < 2 || at + tcp[at + 1] > header)
			return 0;
		if (tcp[at] == OPTION_MSS)
			return tcp[at + 1] == OPTION_MSS_LEN ? at + 2 : 0;
		at += tcp[at + 1];
	}
	return 0;
}

/* Updates a one's-complement checksum for one changed byte of the header (RFC 1624). */
static uint32_t replaced(uint32_t sum, uint32_t at, uint8_t before, uint8_t after)
{
	uint32_t shift = at & 1 ? 0 : 8;

	return sum + (0xffffU - ((uint32_t)before << shift)) + ((uint32_t)after << shift);
}

void mss_clamp(uint8_t *tcp, uint16_t limit)
{
	uint32_t header = (tcp[AT_OFFSET] >> 4) * 4U, at = find(tcp, header), sum;

	if (!at || fl_load_be16(tcp + at) <= limit)
		return;
	/* the option may be at an odd offset: update byte by byte */
	sum = 0xffffU - fl_load_be16(tcp + AT_CHECKSUM);
	sum = replaced(sum, at, tcp[at], (uint8_t)(limit >> 8));
	sum = replaced(sum, at + 1, tcp[at + 1], (uint8_t)limit);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(tcp + AT_CHECKSUM, (uint16_t)~sum);
	fl_store_be16(tcp + at, limit);
}
