/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIRLEAD_MUX_MAC_H
#define FAIRLEAD_MUX_MAC_H

#include <stdint.h>

/* A MAC address as the first six bytes of a word in memory, for one comparison. */
static inline uint64_t mac_word(const uint8_t mac[6])
{
	uint64_t word = 0;

	__builtin_memcpy(&word, mac, 6);
	return word;
}

#endif
