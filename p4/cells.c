/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <fairlead/othello.h>

/* As headers.p4 has them. */
enum { CELLS_SIPHASH = 0x01, CELLS_B = 0x02 };

/* cells_h of headers.p4: in network byte order. */
struct cells_input {
	uint8_t hash[8];
	uint8_t seed[8];
	uint8_t nb[4], na[4];
	uint8_t kind;
};

_Static_assert(sizeof(struct cells_input) == P4_CELLS_LEN, "cells_h");

static uint64_t load_be64(const uint8_t *bytes)
{
	return (uint64_t)fl_load_be32(bytes) << 32 | fl_load_be32(bytes + 4);
}

uint32_t p4_cells(const void *input)
{
	const struct cells_input *in = input;
	uint32_t na = fl_load_be32(in->na), nb = fl_load_be32(in->nb);
	enum fl_hash_kind hash = in->kind & CELLS_SIPHASH ? FL_HASH_SIPHASH : FL_HASH_CRC32;
	struct fl_othello_key key = fl_othello_key_make(hash, load_be64(in->hash), load_be64(in->seed));

	return in->kind & CELLS_B ? na + fl_othello_index(key.high, nb) : fl_othello_index(key.low, na);
}
