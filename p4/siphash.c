/* SPDX-License-Identifier: Apache-2.0 */
#include "siphash.h"

#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include <fairlead/hash.h>

#include "cells.h"

/* As headers.p4 has them. */
enum { FLOW_IPV6 = 0x01, FLOW_CLIENT = 0x02, FLOW_HIGH = 0x04 };

/* flow_h of headers.p4: in network byte order. An IPv4 address is the last 4 bytes, behind any others. */
struct siphash_input {
	uint8_t key[16]; /* two numbers, of which the packet knows nothing */
	uint8_t source[16];
	uint8_t destination[16];
	uint8_t ports[4];
	uint8_t protocol;
	uint8_t kind;
};

_Static_assert(sizeof(struct siphash_input) == 54, "flow_h");

static uint64_t load_be64(const uint8_t *bytes)
{
	return (uint64_t)fl_load_be32(bytes) << 32 | fl_load_be32(bytes + 4);
}

static void add_addresses(struct fl_siphash_state *state, const struct siphash_input *in)
{
	uint8_t ipv4[8];

	if (in->kind & FLOW_IPV6) {
		fl_siphash_word(state, fl_load_le64(in->source));
		fl_siphash_word(state, fl_load_le64(in->source + 8));
		fl_siphash_word(state, fl_load_le64(in->destination));
		fl_siphash_word(state, fl_load_le64(in->destination + 8));
		return;
	}
	memcpy(ipv4, in->source + 12, 4);
	memcpy(ipv4 + 4, in->destination + 12, 4);
	fl_siphash_word(state, fl_load_le64(ipv4));
}

uint32_t p4_siphash(const void *input, uint32_t length, uint32_t seed)
{
	const struct siphash_input *in = input;
	struct fl_siphash_key key;
	struct fl_siphash_state state;
	uint64_t rest, hash;
	uint32_t len;

	(void)seed;
	if (length == P4_CELLS_LEN)
		return p4_cells(input);
	if (length != sizeof(*in))
		abort(); /* mux.spec is of other sources */
	key = (struct fl_siphash_key){load_be64(in->key), load_be64(in->key + 8)};
	state = fl_siphash_begin(&key);
	add_addresses(&state, in);
	if (in->kind & FLOW_CLIENT) {
		rest = 0;
		len = in->kind & FLOW_IPV6 ? 32 : 8;
	} else {
		rest = fl_load_le32(in->ports) | (uint64_t)in->protocol << 32;
		len = in->kind & FLOW_IPV6 ? FL_KEY_IPV6_LEN : FL_KEY_IPV4_LEN;
	}
	hash = fl_siphash_end(&state, rest, len);
	return (uint32_t)(in->kind & FLOW_HIGH ? hash >> 32 : hash);
}

int p4_siphash_register(struct rte_swx_pipeline *pipeline)
{
	return rte_swx_pipeline_hash_func_register(pipeline, "siphash", p4_siphash);
}
