/* SPDX-License-Identifier: Apache-2.0 */
/* The hash function `siphash` of the P4 mux: SWX has none that a client can't compute. */
#ifndef FAIRLEAD_P4_SIPHASH_H
#define FAIRLEAD_P4_SIPHASH_H

#include <stdint.h>

#include <fairlead/hash.h>

struct rte_swx_pipeline;

/* flow_h of headers.p4. An IPv4 address is the last 4 bytes, behind any others. */
enum { SIPHASH_IPV6 = 0x01, SIPHASH_CLIENT = 0x02, SIPHASH_HIGH = 0x04 }; /* bits of kind */

/* Registers it, before the pipeline is built from mux.spec. 0 or a negative errno. */
int p4_siphash_register(struct rte_swx_pipeline *pipeline);

/*
 * A half of SipHash-2-4 of flow_h, which also says which. The same function gives places of cells by cells_h (cells.h),
 * since the compiler has one word for all functions that it does not know. length: 54 or P4_CELLS_LEN, which says of which of
 * both; seed: unused.
 */
uint32_t p4_siphash(const void *input, uint32_t length, uint32_t seed);

/* The same of its fields, as numbers. */
static inline __attribute__((always_inline)) uint32_t p4_siphash_fields(uint64_t k0, uint64_t k1, uint64_t source_high,
									uint64_t source_low, uint64_t destination_high,
									uint64_t destination_low, uint16_t source_port,
									uint16_t destination_port, uint8_t protocol,
									uint8_t kind)
{
	const struct fl_siphash_key key = {k0, k1};
	struct fl_siphash_state state = fl_siphash_begin(&key);
	uint64_t rest = 0, hash;
	uint32_t len;

	if (kind & SIPHASH_IPV6) {
		fl_siphash_word(&state, __builtin_bswap64(source_high));
		fl_siphash_word(&state, __builtin_bswap64(source_low));
		fl_siphash_word(&state, __builtin_bswap64(destination_high));
		fl_siphash_word(&state, __builtin_bswap64(destination_low));
		len = kind & SIPHASH_CLIENT ? 32 : FL_KEY_IPV6_LEN;
	} else {
		fl_siphash_word(&state, __builtin_bswap64(source_low << 32 | (uint32_t)destination_low));
		len = kind & SIPHASH_CLIENT ? 8 : FL_KEY_IPV4_LEN;
	}
	if (!(kind & SIPHASH_CLIENT))
		rest = (uint64_t)protocol << 32 | __builtin_bswap32((uint32_t)source_port << 16 | destination_port);
	hash = fl_siphash_end(&state, rest, len);
	return (uint32_t)(kind & SIPHASH_HIGH ? hash >> 32 : hash);
}

#endif
