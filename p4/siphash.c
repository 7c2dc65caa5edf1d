/* SPDX-License-Identifier: Apache-2.0 */
#include "siphash.h"

#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include <fairlead/hash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "SWX keeps metadata as the machine's numbers; this reads them as little-endian"
#endif

enum { KIND_IPV6 = 0x01, KIND_CLIENT = 0x02 };

/* As HASH_SIPHASH of arch_pna.p4 lists them, without gaps. Addresses are numbers, an IPv4 address is the low word. */
struct siphash_input {
	uint64_t k0, k1;
	uint64_t source_high, source_low;
	uint16_t source_port;
	uint64_t destination_high, destination_low;
	uint16_t destination_port;
	uint8_t protocol;
	uint8_t kind;
} __attribute__((packed));

_Static_assert(sizeof(struct siphash_input) == 54, "HASH_SIPHASH");

/* The word that SipHash makes of an address's bytes on the wire. */
static uint64_t word_of(uint64_t number)
{
	return __builtin_bswap64(number);
}

/* The same of two IPv4 addresses. */
static uint64_t word_of_ipv4(const struct siphash_input *in)
{
	return __builtin_bswap64(in->source_low << 32 | (uint32_t)in->destination_low);
}

/* The last bytes of a key: ports and protocol. */
static uint64_t rest_of(const struct siphash_input *in)
{
	return (uint64_t)__builtin_bswap16(in->source_port) | (uint64_t)__builtin_bswap16(in->destination_port) << 16 |
	       (uint64_t)in->protocol << 32;
}

uint32_t p4_siphash(const void *input, uint32_t length, uint32_t seed)
{
	struct fl_siphash_key key;
	struct fl_siphash_state state;
	struct siphash_input in;
	bool client;

	(void)seed;
	if (length != sizeof(in))
		abort(); /* mux.spec is of other sources */
	memcpy(&in, input, sizeof(in));
	key = (struct fl_siphash_key){in.k0, in.k1};
	client = in.kind & KIND_CLIENT;
	state = fl_siphash_begin(&key);
	if (in.kind & KIND_IPV6) {
		fl_siphash_word(&state, word_of(in.source_high));
		fl_siphash_word(&state, word_of(in.source_low));
		fl_siphash_word(&state, word_of(in.destination_high));
		fl_siphash_word(&state, word_of(in.destination_low));
		return (uint32_t)fl_siphash_end(&state, client ? 0 : rest_of(&in), client ? 32 : FL_KEY_IPV6_LEN);
	}
	fl_siphash_word(&state, word_of_ipv4(&in));
	return (uint32_t)fl_siphash_end(&state, client ? 0 : rest_of(&in), client ? 8 : FL_KEY_IPV4_LEN);
}

int p4_siphash_register(struct rte_swx_pipeline *pipeline)
{
	return rte_swx_pipeline_hash_func_register(pipeline, "siphash", p4_siphash);
}
