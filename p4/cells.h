/* SPDX-License-Identifier: Apache-2.0 */
/* Places of cells for the P4 mux: SWX has no products of 64 bits. */
#ifndef FAIRLEAD_P4_CELLS_H
#define FAIRLEAD_P4_CELLS_H

#include <stdint.h>

#include <fairlead/othello.h>

/* cells_h of headers.p4: its bytes, and bits of kind. */
enum { P4_CELLS_LEN = 25, CELLS_SIPHASH = 0x01, CELLS_B = 0x02 };

/* A cell's number in its set, A before B, by cells_h. */
uint32_t p4_cells(const void *input);

/* The same of its fields, as numbers. */
static inline __attribute__((always_inline)) uint32_t p4_cells_fields(uint64_t hash, uint64_t seed, uint64_t sizes,
								      uint8_t kind)
{
	uint32_t na = (uint32_t)sizes, nb = (uint32_t)(sizes >> 32);
	struct fl_othello_key key =
	    fl_othello_key_make(kind & CELLS_SIPHASH ? FL_HASH_SIPHASH : FL_HASH_CRC32, hash, seed);

	return kind & CELLS_B ? na + fl_othello_index(key.high, nb) : fl_othello_index(key.low, na);
}

#endif
